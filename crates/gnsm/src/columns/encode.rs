//! Turns a table into category codes and scaled numbers. A one-hot vector is never stored.
//!
//! - A categorical column is one group of the [`Layout`]: its categories, then "(rare)" and "(missing)" if training had
//!   them. A category that training never saw gets the code [`UNSEEN`]. Detectors treat it as evidence (see
//!   [`crate::score_matching`]).
//! - A numeric column is a number z = (x − mean)/scale, and a group that says whether it was there. A missing number is
//!   NaN: it tells the network nothing. Its absence counts as a category of the group, seen or unseen.
//! - Beyond ±10, z grows only with its logarithm, and it stops at ±20. So one absurd cell, or an infinity, is extreme
//!   without drowning every other column.
//!
//! Columns are found by name, so their order in the file does not matter.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::codes::Codes;
use super::layout::{Layout, UNSEEN};
use super::schema::{ColumnSchema, Kind, Schema, list, not_a_number, parse_number};
use crate::error::{Error, Result};
use crate::table::{Column, Table, Values, is_missing};

/// |z| up to which a number stays as it is.
const STRAIGHT: f64 = 10.0;
/// The largest |z|.
const LARGEST: f64 = 20.0;
/// Rows that one thread puts together at a time.
const PIECE: usize = 4096;
/// Rows needed before a change of a column's kind is called one.
const ENOUGH_TO_JUDGE: usize = 20;

/// Encoded rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    n_rows: usize,
    n_groups: usize,
    n_numbers: usize,
    codes: Vec<u32>,
    numbers: Vec<f32>,
}

impl Encoded {
    /// Rows from their parts, both row by row.
    pub fn new(n_rows: usize, codes: Vec<u32>, numbers: Vec<f32>) -> Self {
        let per_row = |n: usize| n.checked_div(n_rows).unwrap_or(0);
        Self { n_rows, n_groups: per_row(codes.len()), n_numbers: per_row(numbers.len()), codes, numbers }
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The category codes of a row, one per group.
    pub fn codes(&self, row: usize) -> &[u32] {
        &self.codes[row * self.n_groups..][..self.n_groups]
    }

    /// The scaled numbers of a row; NaN where missing.
    pub fn numbers(&self, row: usize) -> &[f32] {
        &self.numbers[row * self.n_numbers..][..self.n_numbers]
    }

    /// These rows, in this order.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            n_rows: rows.len(),
            n_groups: self.n_groups,
            n_numbers: self.n_numbers,
            codes: rows.iter().flat_map(|&row| self.codes(row)).copied().collect(),
            numbers: rows.iter().flat_map(|&row| self.numbers(row)).copied().collect(),
        }
    }

    /// These rows, then those of `other`, which come from the same encoder.
    pub fn concat(&self, other: &Self) -> Self {
        Self {
            n_rows: self.n_rows + other.n_rows,
            n_groups: self.n_groups.max(other.n_groups),
            n_numbers: self.n_numbers.max(other.n_numbers),
            codes: [self.codes.as_slice(), &other.codes].concat(),
            numbers: [self.numbers.as_slice(), &other.numbers].concat(),
        }
    }

    /// The distinct rows, in order of first appearance, and for each row which of them it is.
    pub fn distinct(&self) -> (Vec<usize>, Vec<u32>) {
        let mut seen: HashMap<(&[u32], &[u32]), u32> = HashMap::with_capacity(self.n_rows.min(1 << 16));
        let mut firsts = Vec::new();
        let of_row = (0..self.n_rows)
            .map(|row| {
                let key = (self.codes(row), bytemuck::cast_slice(self.numbers(row)));
                *seen.entry(key).or_insert_with(|| {
                    firsts.push(row);
                    firsts.len() as u32 - 1
                })
            })
            .collect();
        (firsts, of_row)
    }

    /// The distinct rows, in order of first appearance, and how often each occurs.
    pub fn counted(&self) -> (Self, Vec<f64>) {
        let (firsts, of_row) = self.distinct();
        let mut counts = vec![0.0; firsts.len()];
        for which in of_row {
            counts[which as usize] += 1.0;
        }
        (self.select(&firsts), counts)
    }

    /// A hash of the rows and their order.
    pub fn fingerprint(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.n_rows as u64).to_le_bytes());
        hasher.update(bytemuck::cast_slice(&self.codes));
        hasher.update(bytemuck::cast_slice(&self.numbers));
        hasher.finalize()
    }
}

/// What is different between a file's columns and the model's, short of an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnReport {
    /// Columns that the model does not know; they are not used.
    pub extra: Vec<String>,
    /// Whether the known columns come in another order.
    pub reordered: bool,
    /// Columns that no row of this batch has, in a format where rows may leave columns out.
    pub absent: Vec<String>,
}

/// Turns tables into [`Encoded`] rows.
#[derive(Debug, Clone)]
pub struct Encoder {
    schema: Schema,
    layout: Layout,
    columns: Vec<EncodedColumn>,
}

/// Where a used column lies in an encoded row.
#[derive(Debug, Clone)]
pub struct EncodedColumn {
    /// Its index in the schema.
    pub column: usize,
    /// Its group: the categories, or whether the number is there.
    pub group: usize,
    /// Its number, for a numeric column.
    pub number: Option<usize>,
    codes: Codes,
    /// The code of a missing cell.
    missing: u32,
}

/// What the group of a numeric column is made of.
const PRESENT: u32 = 0;

impl Encoder {
    /// The encoder of a schema.
    pub fn new(schema: Schema) -> Self {
        let mut sizes = Vec::new();
        let mut n_numbers = 0;
        let mut columns = Vec::new();
        for (index, column) in schema.columns.iter().enumerate() {
            let (codes, number, size, missing) = match &column.kind {
                Kind::Ignored => continue,
                Kind::Categorical { categories, rare, missing } => {
                    let own = categories.len() as u32;
                    let shared = u32::from(!rare.is_empty());
                    let mut codes: Codes = categories.iter().cloned().zip(0..).collect();
                    codes.extend(rare.iter().map(|name| (name.clone(), own)));
                    let last = own + shared;
                    (codes, None, last + u32::from(*missing), if *missing { last } else { UNSEEN })
                }
                Kind::Numeric { missing, .. } => {
                    n_numbers += 1;
                    let absent = if *missing { PRESENT + 1 } else { UNSEEN };
                    (Codes::default(), Some(n_numbers - 1), 1 + u32::from(*missing), absent)
                }
            };
            columns.push(EncodedColumn { column: index, group: sizes.len(), number, codes, missing });
            sizes.push(size as usize);
        }
        Self { layout: Layout::new(n_numbers, sizes), schema, columns }
    }

    /// The schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The shape of an encoded row.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The used columns, in the order of their groups.
    pub fn columns(&self) -> &[EncodedColumn] {
        &self.columns
    }

    /// The schema of a used column.
    pub fn schema_of(&self, column: &EncodedColumn) -> &ColumnSchema {
        &self.schema.columns[column.column]
    }

    /// The name of a category of a used column.
    pub fn category_name(&self, column: &EncodedColumn, code: u32) -> &str {
        match &self.schema_of(column).kind {
            Kind::Categorical { categories, rare, .. } => match categories.get(code as usize) {
                Some(name) => name,
                None if code as usize == categories.len() && !rare.is_empty() => "(rare)",
                None => "(missing)",
            },
            _ if code == PRESENT => "(present)",
            _ => "(missing)",
        }
    }

    /// Compares a batch's columns with the schema. Called once per file, on its first batch.
    pub fn check(&self, table: &Table) -> Result<ColumnReport> {
        let mut report = ColumnReport::default();
        let mut positions = Vec::new();
        let mut absent = Vec::new();
        for column in &self.columns {
            let schema = self.schema_of(column);
            match table.columns.iter().position(|column| column.name == schema.name) {
                None => absent.push(schema.name.clone()),
                Some(position) => {
                    positions.push(position);
                    check_kind(table, &table.columns[position], schema, column)?;
                }
            }
        }
        let known: HashSet<&str> = self.schema.columns.iter().map(|column| column.name.as_str()).collect();
        let others = table.columns.iter().filter(|column| !known.contains(column.name.as_str()));
        report.extra = others.map(|column| column.name.clone()).collect();
        report.reordered = positions.windows(2).any(|pair| pair[0] > pair[1]);
        if table.rows_may_omit_columns {
            report.absent = absent;
        } else if !absent.is_empty() {
            let extra = if report.extra.is_empty() {
                String::from("give a file with the columns of the training data")
            } else {
                format!("the file has {} instead; rename them back", list(report.extra.iter().map(String::as_str), 10))
            };
            let names = list(absent.iter().map(String::as_str), 10);
            return Err(Error::schema(format!("{} lacks the model's column {names}", table.file), extra));
        }
        Ok(report)
    }

    /// Encodes all rows of a batch.
    pub fn encode(&self, table: &Table) -> Result<Encoded> {
        let (n_rows, n_groups, n_numbers) = (table.n_rows(), self.layout.n_groups(), self.layout.n_numbers());
        let columns: Vec<Cells<'_>> =
            self.columns.iter().map(|column| self.cells(table, column)).collect::<Result<_>>()?;
        let numeric: Vec<&Cells<'_>> =
            self.columns.iter().zip(&columns).filter(|(column, _)| column.number.is_some()).map(|(_, c)| c).collect();
        let numbers = row_by_row(n_rows, n_numbers, |number, row| numeric[number].number(table, row))?;
        let codes = row_by_row(n_rows, n_groups, |group, row| {
            let column = &self.columns[group];
            Ok(match column.number {
                Some(number) if numbers[row * n_numbers + number].is_nan() => column.missing,
                Some(_) => PRESENT,
                None => columns[group].code(column, row),
            })
        })?;
        Ok(Encoded { n_rows, n_groups, n_numbers, codes, numbers })
    }

    /// The cells of a used column.
    fn cells<'a>(&self, table: &'a Table, column: &EncodedColumn) -> Result<Cells<'a>> {
        let schema = self.schema_of(column);
        let Some(cells) = table.column(&schema.name) else { return Ok(Cells::Absent) };
        Ok(match (&schema.kind, &cells.values) {
            (_, Values::Unsupported { type_name, .. }) => {
                let problem = format!("type {type_name} cannot be scored");
                return Err(Error::data(table.place(0, &cells.name), problem, "give it the type it had in training"));
            }
            (Kind::Numeric { mean, scale, .. }, _) => Cells::Numeric { cells, mean: *mean, scale: *scale },
            (_, Values::Category { codes, names }) => {
                // Each distinct name is looked up once, not once per row.
                Cells::Named { codes, translated: names.iter().map(|name| column.code_of(name)).collect() }
            }
            (_, values) => Cells::Words(values),
        })
    }
}

impl EncodedColumn {
    #[inline(always)]
    fn code_of(&self, text: &str) -> u32 {
        self.codes.get(text).copied().unwrap_or(UNSEEN)
    }
}

/// The cells of a used column in a batch.
enum Cells<'a> {
    /// No row has it.
    Absent,
    /// Numbers.
    Numeric { cells: &'a Column, mean: f64, scale: f64 },
    /// Categories by their index, and their codes in the model.
    Named { codes: &'a [u32], translated: Vec<u32> },
    /// Categories as text, or as numbers.
    Words(&'a Values),
}

impl Cells<'_> {
    /// The code of a category.
    #[inline(always)]
    fn code(&self, column: &EncodedColumn, row: usize) -> u32 {
        match self {
            Self::Named { codes, translated } => translated.get(codes[row] as usize).copied().unwrap_or(column.missing),
            Self::Words(Values::Text(cells)) if is_missing(cells.get(row)) => column.missing,
            Self::Words(Values::Text(cells)) => column.code_of(cells.get(row)),
            Self::Words(values) => values.text(row).map_or(column.missing, |text| column.code_of(&text)),
            Self::Numeric { .. } | Self::Absent => column.missing,
        }
    }

    /// A scaled number, NaN if it is missing.
    fn number(&self, table: &Table, row: usize) -> Result<f32> {
        let Self::Numeric { cells, mean, scale } = self else { return Ok(f32::NAN) };
        let value = match &cells.values {
            Values::Number { values, .. } => values[row],
            values => match values.text(row) {
                None => f64::NAN,
                Some(text) => parse_number(&text).ok_or_else(|| not_a_number(table, cells, row, &text))?,
            },
        };
        Ok(if value.is_nan() { f32::NAN } else { scaled(value, *mean, *scale) })
    }
}

/// A cell for each row and column, row by row, in parallel; the error of the first rows that have one.
fn row_by_row<T: Clone + Default + Send>(
    n_rows: usize,
    n_columns: usize,
    cell: impl Fn(usize, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let mut cells = vec![T::default(); n_rows * n_columns];
    let pieces = cells.par_chunks_mut((PIECE * n_columns).max(1)).enumerate().map(|(piece, cells)| {
        for column in 0..n_columns {
            for (place, row) in cells[column..].iter_mut().step_by(n_columns).zip(piece * PIECE..) {
                *place = cell(column, row)?;
            }
        }
        Ok(())
    });
    pieces.collect::<Vec<Result<()>>>().into_iter().collect::<Result<()>>()?;
    Ok(cells)
}

/// A column of words that now holds nothing but unknown numbers is not a file full of anomalies but another file.
fn check_kind(table: &Table, column: &Column, schema: &ColumnSchema, encoded: &EncodedColumn) -> Result<()> {
    let Kind::Categorical { categories, .. } = &schema.kind else { return Ok(()) };
    if categories.is_empty() || categories.iter().any(|name| parse_number(name).is_some()) {
        return Ok(());
    }
    let mut cells = (0..table.n_rows()).filter_map(|row| column.values.text(row)).peekable();
    let Some(first) = cells.peek().map(ToString::to_string) else { return Ok(()) };
    let mut n = 0;
    let all_new = cells.all(|text| {
        n += 1;
        !encoded.codes.contains_key(&*text) && parse_number(&text).is_some()
    });
    if n >= ENOUGH_TO_JUDGE && all_new {
        return Err(Error::data(
            table.place(0, &column.name),
            format!(
                "this column held categories ({}) in training and now holds numbers, `{first}` for one",
                list(categories.iter().map(String::as_str), 3)
            ),
            "check that the file's columns are the training data's",
        ));
    }
    Ok(())
}

/// z, straight up to ±10, logarithmic from there, at most ±20.
pub(crate) fn scaled(value: f64, mean: f64, scale: f64) -> f32 {
    // Halves first: the difference of two finite numbers may not be finite.
    let z = 2.0 * (value / 2.0 - mean / 2.0) / scale;
    let size = z.abs();
    let limited = if size <= STRAIGHT { size } else { (STRAIGHT + (size - STRAIGHT).ln_1p()).min(LARGEST) };
    (limited.copysign(z)) as f32
}

/// The number that a z stands for.
pub(crate) fn unscaled(z: f64, mean: f64, scale: f64) -> f64 {
    let size = z.abs();
    let size = if size <= STRAIGHT { size } else { STRAIGHT + (size.min(LARGEST) - STRAIGHT).exp_m1() };
    mean + scale * size.copysign(z)
}

#[cfg(test)]
mod tests;
