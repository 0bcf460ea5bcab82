//! Arrow arrays to columns: what Parquet and Arrow IPC share.
//!
//! | Arrow | here |
//! |---|---|
//! | strings of any kind, also in dictionaries; booleans | categories |
//! | integers, floats, decimals, also in dictionaries | numbers |
//! | dates, timestamps | times: seconds since 1970-01-01 00:00 by the clock of the type's zone (`zone.rs`) |
//! | timestamps in a zone that this machine does not know | unsupported |
//! | times of day | times: seconds since midnight |
//! | durations | numbers: seconds |
//! | null | categories, all missing |
//! | anything else | unsupported |
//!
//! A dictionary is turned into codes once, not row by row. Only values that occur in the rows become categories.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int32Type, Int64Type,
};
use arrow_array::{AnyDictionaryArray, Array, RecordBatch, downcast_integer, make_array};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef, TimeUnit};
use num_traits::ToPrimitive;
use rayon::prelude::*;

use crate::error::{Error, Place, Result, stop_point};
use crate::table::categories::CategoryCells;
use crate::table::zone::Zone;
use crate::table::{Column, MISSING, ReadRows, Table, TimeKind, Values};

/// Record batches of a file, whichever format they come from.
pub type RecordBatches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Gives out the rows of record batches in portions of any size.
pub(in crate::table) struct ArrowRows {
    file: String,
    schema: SchemaRef,
    batches: RecordBatches,
    /// The rest of a record batch that was larger than asked for.
    pending: Option<RecordBatch>,
    n_rows: u64,
}

impl ArrowRows {
    pub(in crate::table) fn new(file: &str, schema: SchemaRef, batches: RecordBatches) -> Result<Self> {
        let place = || Place { file: file.to_owned(), ..Place::default() };
        let mut seen = HashSet::new();
        if let Some(twice) = schema.fields().iter().find(|field| !seen.insert(field.name())) {
            let place = Place { column: Some(twice.name().clone()), ..place() };
            return Err(Error::data(place, "two columns have this name", "rename one of them"));
        }
        if schema.fields().is_empty() {
            return Err(Error::data(place(), "has no columns", "give a table with columns"));
        }
        Ok(Self { file: file.to_owned(), schema, batches, pending: None, n_rows: 0 })
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(pending) = self.pending.take() {
            return Ok(Some(pending));
        }
        let file = &self.file;
        let batches = &mut self.batches;
        let batch = undamaged(file, || batches.next().transpose())?;
        match &batch {
            // Every type but null takes at least a bit for each row; a damaged length claims more rows than there are
            // bits.
            Some(batch) if batch.num_rows() > (1 << 20) + 8 * batch.get_array_memory_size() => {
                Err(damaged(file, "a batch has more rows than bytes"))
            }
            _ => Ok(batch),
        }
    }

    fn table(&self, cells: Vec<Cells>, n_rows: u64) -> Table {
        let names = self.schema.fields().iter().map(|field| field.name().clone());
        let columns = names.zip(cells).map(|(name, cells)| Column { name, values: cells.finish() }).collect();
        Table {
            file: self.file.clone(),
            columns,
            lines: (self.n_rows - n_rows + 1..=self.n_rows).collect(),
            rows_may_omit_columns: false,
            parts: Vec::new(),
        }
    }
}

impl ReadRows for ArrowRows {
    fn next_rows(&mut self, max_rows: usize) -> Result<Option<Table>> {
        let mut cells = Cells::of(&self.schema);
        let mut n_rows = 0;
        while n_rows < max_rows {
            stop_point();
            let Some(batch) = self.next_batch()? else {
                break;
            };
            let n = batch.num_rows().min(max_rows - n_rows);
            if n < batch.num_rows() {
                self.pending = Some(batch.slice(n, batch.num_rows() - n));
            }
            undamaged(&self.file, || {
                let batch = batch.slice(0, n);
                let columns = cells.par_iter_mut().zip(batch.columns());
                // All columns are tried, so that the error is always that of the first bad one.
                let pushed: Vec<Result<()>> =
                    columns.map(|(cells, array)| cells.push(array.as_ref(), &self.file)).collect();
                pushed.into_iter().collect::<Result<()>>()
            })?;
            n_rows += n;
            self.n_rows += n as u64;
        }
        Ok((n_rows > 0).then(|| self.table(cells, n_rows as u64)))
    }

    fn no_rows(&self) -> Table {
        let mut table = self.table(Cells::of(&self.schema), 0);
        table.lines.clear();
        table
    }
}

/// Cells under construction.
enum Cells {
    Category(CategoryCells),
    Number { values: Vec<f64>, integer: bool },
    Time { seconds: Vec<f64>, kind: TimeKind, zone: Option<Arc<Zone>> },
    Unsupported { type_name: String, n_rows: usize },
}

impl Cells {
    fn of(schema: &Schema) -> Vec<Self> {
        schema.fields().iter().map(|field| Self::for_type(field.data_type())).collect()
    }

    fn for_type(data_type: &DataType) -> Self {
        use DataType::{Boolean, Dictionary, LargeUtf8, Null, Utf8, Utf8View};
        let unsupported = || Self::Unsupported { type_name: data_type.to_string(), n_rows: 0 };
        let times = |kind, zone| Self::Time { seconds: Vec::new(), kind, zone };
        match data_type {
            Utf8 | LargeUtf8 | Utf8View | Boolean | Null => Self::Category(CategoryCells::default()),
            Dictionary(_, value) => match Self::for_type(value) {
                _ if matches!(**value, Boolean | Null | Dictionary(..)) => unsupported(),
                Self::Unsupported { .. } => unsupported(),
                cells => cells,
            },
            DataType::Date32 | DataType::Date64 => times(TimeKind::Date, None),
            DataType::Timestamp(_, None) => times(TimeKind::DateTime, None),
            DataType::Timestamp(_, Some(name)) => match Zone::named(name) {
                Some(zone) => times(TimeKind::DateTime, Some(zone)),
                None => Self::Unsupported {
                    type_name: format!("{data_type}, a time zone that this machine does not know,"),
                    n_rows: 0,
                },
            },
            DataType::Time32(_) | DataType::Time64(_) => times(TimeKind::TimeOfDay, None),
            numeric if numeric.is_integer() => Self::Number { values: Vec::new(), integer: true },
            other if other.is_numeric() || steps_per_unit(other).is_some() => {
                Self::Number { values: Vec::new(), integer: steps_per_unit(other) == Some(1.0) }
            }
            _ => unsupported(),
        }
    }

    fn push(&mut self, array: &dyn Array, file: &str) -> Result<()> {
        match self {
            Self::Category(cells) => push_categories(cells, array),
            Self::Number { values, .. } => {
                push_numbers(values, array).map_err(|error| damaged(file, &error.to_string()))
            }
            Self::Time { seconds, zone, .. } => {
                let before = seconds.len();
                push_numbers(seconds, array).map_err(|error| damaged(file, &error.to_string()))?;
                if let Some(zone) = zone {
                    seconds[before..].iter_mut().for_each(|moment| *moment = zone.local(*moment));
                }
                Ok(())
            }
            Self::Unsupported { n_rows, .. } => {
                *n_rows += array.len();
                Ok(())
            }
        }
    }

    fn finish(self) -> Values {
        match self {
            Self::Category(cells) => cells.finish(),
            Self::Number { values, integer } => Values::Number { values, integer },
            Self::Time { seconds, kind, .. } => Values::Time { seconds, kind },
            Self::Unsupported { type_name, n_rows } => Values::Unsupported { type_name, n_rows },
        }
    }
}

fn push_categories(cells: &mut CategoryCells, array: &dyn Array) -> Result<()> {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().try_for_each(|text| cells.push(said(text))),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().try_for_each(|text| cells.push(said(text))),
        DataType::Utf8View => array.as_string_view().iter().try_for_each(|text| cells.push(said(text))),
        DataType::Boolean => {
            let text = |value| if value { "true" } else { "false" };
            array.as_boolean().iter().try_for_each(|value| cells.push(value.map(text)))
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            // Each value that occurs is looked up once, in the order in which rows have it.
            let mut code_of: Vec<Option<u32>> = vec![None; dictionary.values().len()];
            let categories = &mut cells.categories;
            let mut code = |key: usize| {
                if let Some(code) = code_of[key] {
                    return Ok(code);
                }
                let name = said(text(dictionary.values().as_ref(), key));
                let code = name.map_or(Ok(MISSING), |name| categories.code(name))?;
                code_of[key] = Some(code);
                Ok(code)
            };
            cells.codes.reserve(dictionary.len());
            for key in keys(dictionary) {
                cells.codes.push(key.map_or(Ok(MISSING), &mut code)?);
            }
            Ok(())
        }
        // `Cells::for_type` lets nothing else through but null.
        _ => {
            cells.codes.extend(std::iter::repeat_n(MISSING, array.len()));
            Ok(())
        }
    }
}

/// A text that says something: an empty one is missing, as in every other format.
fn said(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim_ascii().is_empty())
}

/// A text of an array of strings; `None` is missing.
fn text(array: &dyn Array, row: usize) -> Option<&str> {
    if array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        DataType::LargeUtf8 => array.as_string::<i64>().value(row),
        DataType::Utf8View => array.as_string_view().value(row),
        _ => array.as_string::<i32>().value(row),
    })
}

fn push_numbers(values: &mut Vec<f64>, array: &dyn Array) -> std::result::Result<(), ArrowError> {
    macro_rules! push {
        ($type:ty) => {
            push_primitives::<$type>(values, array, 1.0)
        };
    }
    let decimal = |scale: i8| 10f64.powi(scale.into());
    match array.data_type() {
        DataType::Dictionary(..) => push_number_dictionary(values, array)?,
        DataType::Decimal32(_, scale) => push_primitives::<Decimal32Type>(values, array, decimal(*scale)),
        DataType::Decimal64(_, scale) => push_primitives::<Decimal64Type>(values, array, decimal(*scale)),
        DataType::Decimal128(_, scale) => push_primitives::<Decimal128Type>(values, array, decimal(*scale)),
        DataType::Decimal256(_, scale) => push_primitives::<Decimal256Type>(values, array, decimal(*scale)),
        DataType::Date32 | DataType::Time32(_) => push_steps::<Int32Type>(values, array)?,
        other if steps_per_unit(other).is_some() => push_steps::<Int64Type>(values, array)?,
        // `Cells::for_type` lets nothing else through but integers and floats.
        other => downcast_integer! {
            other => (push),
            DataType::Float16 => push!(Float16Type),
            DataType::Float32 => push!(Float32Type),
            _ => push!(Float64Type),
        },
    }
    Ok(())
}

/// A count of steps of time is a plain integer `T` of the same width.
fn push_steps<T>(values: &mut Vec<f64>, array: &dyn Array) -> std::result::Result<(), ArrowError>
where
    T: ArrowPrimitiveType<Native: ToPrimitive>,
{
    let per_unit = steps_per_unit(array.data_type()).unwrap_or(1.0);
    let steps = array.to_data().into_builder().data_type(T::DATA_TYPE).build()?;
    push_primitives::<T>(values, &make_array(steps), per_unit);
    Ok(())
}

fn push_primitives<T: ArrowPrimitiveType<Native: ToPrimitive>>(
    values: &mut Vec<f64>,
    array: &dyn Array,
    per_unit: f64,
) {
    let number = |number: T::Native| number.to_f64().unwrap_or(f64::NAN) / per_unit;
    values.extend(array.as_primitive::<T>().iter().map(|cell| cell.map_or(f64::NAN, number)));
}

fn push_number_dictionary(values: &mut Vec<f64>, array: &dyn Array) -> std::result::Result<(), ArrowError> {
    let dictionary = array.as_any_dictionary();
    let mut numbers = Vec::new();
    push_numbers(&mut numbers, dictionary.values().as_ref())?;
    values.extend(keys(dictionary).map(|key| key.map_or(f64::NAN, |key| numbers[key])));
    Ok(())
}

/// Where each row's value stands among a dictionary's values; `None` is missing.
fn keys(dictionary: &dyn AnyDictionaryArray) -> impl Iterator<Item = Option<usize>> {
    // Without values every row is null, and the keys cannot be asked for.
    let empty = dictionary.values().is_empty();
    let keys = if empty { vec![0; dictionary.len()] } else { dictionary.normalized_keys() };
    let nulls = dictionary.nulls();
    let is_missing = move |row| empty || nulls.is_some_and(|nulls| nulls.is_null(row));
    keys.into_iter().enumerate().map(move |(row, key)| (!is_missing(row)).then_some(key))
}

/// For types that count time: how many of their steps make one second.
fn steps_per_unit(data_type: &DataType) -> Option<f64> {
    match data_type {
        DataType::Date32 => Some(1.0 / 86_400.0),
        DataType::Date64 => Some(1000.0),
        DataType::Time32(unit) | DataType::Time64(unit) | DataType::Timestamp(unit, _) | DataType::Duration(unit) => {
            Some(match unit {
                TimeUnit::Second => 1.0,
                TimeUnit::Millisecond => 1e3,
                TimeUnit::Microsecond => 1e6,
                TimeUnit::Nanosecond => 1e9,
            })
        }
        _ => None,
    }
}

/// The error for a file that is not what its format says.
pub(in crate::table) fn damaged(file: &str, what: &str) -> Error {
    let place = Place { file: file.to_owned(), ..Place::default() };
    Error::data(place, format!("the file is damaged or cut short ({what})"), "fetch or write the file again")
}

/// Runs `read`, and turns a panic into an error.
///
/// The Parquet and Arrow crates check most of what they read and panic on some of the rest. What a panic prints is
/// decided by the process's panic hook, which belongs to the binary: a library must not replace it.
pub(in crate::table) fn undamaged<T>(file: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    // A reader that failed gives no more rows, so nothing that is left half-done is used.
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        Err(damaged(file, what.unwrap_or("the reader gave up")))
    })
}

#[cfg(test)]
mod tests;
