//! Where rows come from: a file, an Arrow stream, or columns that Python hands over piece by piece.
//!
//! Whatever it is, it becomes record batches, and these become a table as those of a Parquet file do. So a frame and its
//! file have the same scores.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, Date32Array, DurationMicrosecondArray, DurationMillisecondArray, DurationNanosecondArray,
    DurationSecondArray, Float64Array, Int64Array, RecordBatch, RecordBatchReader, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
    new_null_array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use gnsm::internals::error::{Error, Place};
use gnsm::{ReadOptions, Table, TableReader};
use pyo3::exceptions::{PyException, PyTypeError, PyUnicodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyIterator, PyTuple};

use crate::GnsmError;
use crate::model::problem;

/// Opens what Python calls a source: a tuple of a word and what belongs to it.
///
/// | word | then |
/// |---|---|
/// | `path` | the path |
/// | `stream` | a name for messages, an object with `__arrow_c_stream__` |
/// | `columns` | a name for messages, (name, type, categories) of each column, an iterator over pieces |
///
/// A column without a use has, in place of categories, the words for what stands in it.
pub fn open(source: &Bound<'_, PyAny>) -> PyResult<TableReader> {
    let source = source.cast::<PyTuple>()?;
    let word: String = source.get_item(0)?.extract()?;
    let reader = match word.as_str() {
        "path" => {
            let path: std::path::PathBuf = source.get_item(1)?.extract()?;
            source.py().detach(|| TableReader::open(path, &ReadOptions::default()))
        }
        "stream" => {
            let name: String = source.get_item(1)?.extract()?;
            let stream = stream(&source.get_item(2)?, &name)?;
            let schema = stream.schema();
            let file = name.clone();
            let batches = stream.map(move |batch| batch.map_err(|error| broken(&file, &error)));
            TableReader::from_batches(&name, schema, Box::new(batches))
        }
        _ => {
            let name: String = source.get_item(1)?.extract()?;
            let columns = source.get_item(2)?.extract::<Vec<(String, String, Vec<String>)>>();
            let columns = columns.map_err(|error| GnsmError::new_err(format!("{name}: {}", no_text(&error))))?;
            let pieces: Bound<'_, PyIterator> = source.get_item(3)?.try_iter()?;
            let schema = schema(&columns);
            let pieces = Pieces { name: name.clone(), schema: schema.clone(), columns, source: pieces.unbind() };
            TableReader::from_batches(&name, schema, Box::new(pieces))
        }
    };
    reader.map_err(|error| problem(&error))
}

/// What is wrong with a table without rows.
pub const NO_ROWS: &str = "the table holds no rows; give one with rows";

/// All rows of a reader; none are an error.
pub fn whole(reader: &mut TableReader) -> Result<Table, String> {
    let table = reader.next_batch(usize::MAX).map_err(|error| error.to_string())?;
    table.ok_or_else(|| NO_ROWS.into())
}

fn stream(object: &Bound<'_, PyAny>, name: &str) -> PyResult<ArrowArrayStreamReader> {
    let no_stream = |error: &dyn std::fmt::Display| {
        GnsmError::new_err(format!("{name}: is no stream of tables ({error}); give a data frame"))
    };
    let capsule = object.call_method0("__arrow_c_stream__").map_err(|error| {
        // Ctrl-C and the like stay what they are.
        if error.is_instance_of::<PyException>(object.py()) { no_stream(&error) } else { error }
    })?;
    let capsule = capsule.cast::<PyCapsule>().map_err(|error| no_stream(&error))?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a valid stream, by the Arrow PyCapsule interface. `from_raw` moves the stream
    // out and leaves a released one, which the capsule's destructor does not touch.
    let stream = unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr()) };
    stream.map_err(|error| no_stream(&error))
}

fn broken(name: &str, error: &dyn std::fmt::Display) -> Error {
    let place = Place { file: name.to_owned(), ..Place::default() };
    // Arrow adds the whole trace of a Python exception after this word.
    let error = error.to_string();
    let error = error.split(" Detail:").next().unwrap_or_default().trim();
    Error::data(place, format!("its rows cannot be read ({error})"), "look at what makes them")
}

/// Pieces of columns from Python: for each column its values, and a mask of what is missing.
struct Pieces {
    name: String,
    schema: SchemaRef,
    columns: Vec<(String, String, Vec<String>)>,
    source: Py<PyIterator>,
}

impl Iterator for Pieces {
    type Item = gnsm::Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = Python::attach(|py| -> PyResult<Option<RecordBatch>> {
            let Some(piece) = self.source.bind(py).clone().next() else { return Ok(None) };
            let piece: Vec<Bound<'_, PyTuple>> = piece?.extract()?;
            let mut arrays = Vec::with_capacity(piece.len());
            for (cells, (name, kind, categories)) in piece.iter().zip(&self.columns) {
                let (values, missing) = (cells.get_item(0)?, cells.get_item(1)?);
                let missing = missing.extract::<Option<Bound<'_, PyBytes>>>()?;
                let nulls = missing.map(|mask| nulls(mask.as_bytes()));
                let array = array(kind, categories, &values, nulls).map_err(|error| {
                    let is_text = error.is_instance_of::<PyUnicodeError>(py);
                    if is_text { GnsmError::new_err(format!("column `{name}`: {}", no_text(&error))) } else { error }
                })?;
                arrays.push(array);
            }
            let batch = RecordBatch::try_new(self.schema.clone(), arrays);
            Ok(Some(batch.map_err(|error| GnsmError::new_err(error.to_string()))?))
        });
        batch.map_err(|error| broken(&self.name, &error)).transpose()
    }
}

/// What is wrong with a text that Python holds and that is none.
fn no_text(error: &PyErr) -> String {
    format!("holds what is no text ({error}); replace it")
}

fn nulls(mask: &[u8]) -> NullBuffer {
    NullBuffer::new(mask.iter().map(|&missing| missing == 0).collect::<BooleanBuffer>())
}

fn schema(columns: &[(String, String, Vec<String>)]) -> SchemaRef {
    let field = |(name, kind, categories): &(String, String, Vec<String>)| {
        Field::new(name, data_type(kind, categories.first()), true)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

fn unit(kind: &str) -> TimeUnit {
    match kind.rsplit('-').next() {
        Some("s") => TimeUnit::Second,
        Some("ms") => TimeUnit::Millisecond,
        Some("us") => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

/// The type of a kind of column; what has no use is named.
fn data_type(kind: &str, name: Option<&String>) -> DataType {
    match kind {
        "float" => DataType::Float64,
        "integer" => DataType::Int64,
        "unsigned" => DataType::UInt64,
        "boolean" => DataType::Boolean,
        "text" => DataType::Utf8,
        "category" => DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into()),
        "date" => DataType::Date32,
        "time" => DataType::Time64(TimeUnit::Microsecond),
        _ if kind.starts_with("moment") => DataType::Timestamp(unit(kind), None),
        _ if kind.starts_with("span") => DataType::Duration(unit(kind)),
        _ => DataType::List(Field::new(name.map_or("item", String::as_str), DataType::Null, true).into()),
    }
}

/// Numbers of eight bytes each.
fn words<T>(values: &Bound<'_, PyAny>, number: impl Fn([u8; 8]) -> T) -> PyResult<Vec<T>> {
    let bytes = values.cast::<PyBytes>()?;
    Ok(bytes.as_bytes().as_chunks::<8>().0.iter().map(|word| number(*word)).collect())
}

fn array(
    kind: &str,
    categories: &[String],
    values: &Bound<'_, PyAny>,
    nulls: Option<NullBuffer>,
) -> PyResult<ArrayRef> {
    let integers = || words(values, i64::from_le_bytes);
    Ok(match data_type(kind, categories.first()) {
        DataType::Float64 => Arc::new(Float64Array::new(words(values, f64::from_le_bytes)?.into(), nulls)),
        DataType::Int64 => Arc::new(Int64Array::new(integers()?.into(), nulls)),
        DataType::UInt64 => Arc::new(UInt64Array::new(words(values, u64::from_le_bytes)?.into(), nulls)),
        DataType::Boolean => {
            let bytes = values.cast::<PyBytes>()?.as_bytes();
            let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            let mut builder = BooleanBuilder::with_capacity(bytes.len());
            bytes
                .iter()
                .enumerate()
                .for_each(|(row, &byte)| builder.append_option((!is_null(row)).then_some(byte != 0)));
            Arc::new(builder.finish())
        }
        DataType::Utf8 => {
            let mut builder = StringBuilder::new();
            for value in values.try_iter()? {
                builder.append_option(value?.extract::<Option<String>>()?);
            }
            Arc::new(builder.finish())
        }
        DataType::Dictionary(..) => {
            let mut builder = StringDictionaryBuilder::<Int32Type>::new();
            for code in integers()? {
                builder.append_option(usize::try_from(code).ok().and_then(|code| categories.get(code)));
            }
            Arc::new(builder.finish())
        }
        DataType::Date32 => {
            let days = integers()?.into_iter().map(|days| i32::try_from(days).unwrap_or(i32::MAX));
            Arc::new(Date32Array::new(days.collect(), nulls))
        }
        DataType::Time64(_) => Arc::new(Time64MicrosecondArray::new(integers()?.into(), nulls)),
        DataType::Timestamp(TimeUnit::Second, _) => Arc::new(TimestampSecondArray::new(integers()?.into(), nulls)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Arc::new(TimestampMillisecondArray::new(integers()?.into(), nulls))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Arc::new(TimestampMicrosecondArray::new(integers()?.into(), nulls))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            Arc::new(TimestampNanosecondArray::new(integers()?.into(), nulls))
        }
        DataType::Duration(TimeUnit::Second) => Arc::new(DurationSecondArray::new(integers()?.into(), nulls)),
        DataType::Duration(TimeUnit::Millisecond) => Arc::new(DurationMillisecondArray::new(integers()?.into(), nulls)),
        DataType::Duration(TimeUnit::Microsecond) => Arc::new(DurationMicrosecondArray::new(integers()?.into(), nulls)),
        DataType::Duration(TimeUnit::Nanosecond) => Arc::new(DurationNanosecondArray::new(integers()?.into(), nulls)),
        // What has no use here: only its length counts.
        other => match values.extract::<usize>() {
            Ok(length) => new_null_array(&other, length),
            Err(_) => return Err(PyTypeError::new_err("a column of an unknown type is given by its length")),
        },
    })
}
