//! What only all rows of a table can tell, from one pass over them in batches, in room that does not grow with the
//! rows.
//!
//! A table that does not fit into memory is learned from some of its rows (`chosen.rs`), but what its columns are is
//! learned from all of them. A [`Survey`] of each part of a table can be made anywhere, and surveys can be merged. The
//! result depends on the rows alone, not on their order or on how they were cut into parts.
//!
//! | of a column | up to 32,768 distinct values | beyond |
//! |---|---|---|
//! | its type; how many cells are missing | exact | exact |
//! | the smallest and the largest number | exact | exact, where numbers are plain (`1234.5`, not `1.234,50 €`) |
//! | the distinct values, and how often each occurs | exact | 32,768 of them, chosen by hash, with exact counts |
//! | how many distinct values there are | exact | within a percent or two, from the hashes of those |
//! | how many values occur once, whether a key repeats | exact | told by those values |
//! | quantiles; the share of cells that are numbers, dates, words; which categories are the most common | exact | from the chosen rows |
//!
//! So the kind of a column, its categories, scale and dates are the same as if the whole table were in memory, unless
//! the column has more distinct values than that. Two things are never surveyed. How long one date is after another is
//! learned from the chosen rows. And whether numbers grow from row to row is not asked, because that depends on the
//! order of rows.

mod hash;
mod value;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::table::{Column, MISSING, Table, TextCells, TimeKind, Values};
use value::{SmallestValues, SurveyedValue};

pub(super) use value::ByHash;

/// Distinct values of a column that are counted.
const MOST_VALUES: usize = 1 << 15;

/// What was seen of all rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survey {
    /// How many rows there are to learn from.
    pub rows: u64,
    /// Rows left out because their label says anomaly.
    pub labelled_anomalies: u64,
    columns: Vec<SurveyedColumn>,
}

/// What was seen of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SurveyedColumn {
    name: String,
    cell_type: CellType,
    /// Whether the column had cells of a date type and others too, so that the values cannot be used.
    mixed: bool,
    present: u64,
    values: SmallestValues,
    /// The smallest and the largest number, as bits. If there is no number, they are +∞ and −∞.
    range: [u64; 2],
}

/// The type of a column's cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CellType {
    /// Nothing but missing cells so far.
    Open,
    Text,
    Category,
    Number {
        integer: bool,
    },
    Date,
    DateTime,
    TimeOfDay,
    Unsupported(String),
}

/// What a survey says of a column.
pub(super) enum Surveyed {
    /// Each distinct value once, and its count; the missing cells as one more value.
    Whole(Column, Vec<usize>),
    /// There are too many.
    Beyond(Beyond),
}

/// What is known of a column with too many distinct values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Beyond {
    /// Cells that are there, of all rows.
    pub present: usize,
    /// Cells that are missing, of all rows.
    pub missing: usize,
    /// Distinct values, about.
    pub distinct: usize,
    /// Values that occur once, about.
    pub singles: usize,
    /// Whether a value is known to occur twice.
    pub repeats: bool,
    /// The smallest and the largest plain number.
    pub range: Option<(f64, f64)>,
}

impl Survey {
    /// Takes in these rows of a batch; gives the hash of each.
    pub(crate) fn add(&mut self, table: &Table, rows: &[usize]) -> Vec<u64> {
        self.rows += rows.len() as u64;
        for column in &table.columns {
            if !self.columns.iter().any(|known| known.name == column.name) {
                self.columns.push(SurveyedColumn::new(column.name.clone()));
            }
        }
        let untyped = table.rows_may_omit_columns;
        let hashes = self.columns.par_iter_mut().filter_map(|surveyed| {
            let column = table.column(&surveyed.name)?;
            Some((column.name.as_str(), surveyed.add(&column.values, rows, untyped)))
        });
        summed(hashes, rows.len())
    }

    /// Takes in the survey of other rows of the same table.
    pub fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.labelled_anomalies += other.labelled_anomalies;
        for column in other.columns {
            match self.columns.iter_mut().find(|known| known.name == column.name) {
                Some(known) => known.merge(column),
                None => self.columns.push(column),
            }
        }
    }

    /// Drops everything that is not needed. Only then does the result not depend on the order of the rows.
    pub fn settled(mut self) -> Self {
        self.columns.iter_mut().for_each(|column| column.values.settle());
        self
    }

    /// The chosen rows, with all columns that any row had and with the types that these have over all rows.
    pub(super) fn retyped(&self, mut table: Table) -> Result<Table> {
        let n_rows = table.n_rows();
        for surveyed in &self.columns {
            if table.column(&surveyed.name).is_none() {
                table.columns.push(Column { name: surveyed.name.clone(), values: Values::missing(n_rows) });
            }
        }
        for column in &mut table.columns {
            if let Some(surveyed) = self.columns.iter().find(|surveyed| surveyed.name == column.name) {
                let values = std::mem::replace(&mut column.values, Values::missing(0));
                column.values = surveyed.cell_type.taken_by(values)?;
            }
        }
        if table.rows_may_omit_columns {
            // In such a format columns come in the order in which rows first have them; sorted, they do not depend on
            // the order of rows.
            table.columns.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Ok(table)
    }

    /// What is known of a column, of which `chosen` are the cells of the chosen rows.
    pub(super) fn column(&self, chosen: &Column) -> Option<Surveyed> {
        let surveyed = self.columns.iter().find(|surveyed| surveyed.name == chosen.name)?;
        let missing = self.rows - surveyed.present;
        Some(if surveyed.values.is_exact() && !surveyed.mixed {
            surveyed.whole(chosen, missing)
        } else {
            Surveyed::Beyond(surveyed.beyond(missing))
        })
    }
}

/// The hashes of these rows of a table, by their content.
pub(crate) fn row_hashes(table: &Table, rows: &[usize]) -> Vec<u64> {
    let untyped = table.rows_may_omit_columns;
    let columns = table.columns.par_iter();
    summed(columns.map(|column| (column.name.as_str(), hash::of_cells(&column.values, rows, untyped))), rows.len())
}

/// The hashes of rows from those of their cells, column by column.
fn summed<'a>(columns: impl ParallelIterator<Item = (&'a str, Vec<u64>)>, n_rows: usize) -> Vec<u64> {
    let nothing = || vec![0u64; n_rows];
    let sums = columns.fold(nothing, |mut sums, (name, cells)| {
        let name = hash::of_text(name);
        sums.iter_mut().zip(cells).for_each(|(sum, cell)| *sum = sum.wrapping_add(hash::in_row(cell, name)));
        sums
    });
    let sums = sums.reduce(nothing, |mut sums, others| {
        sums.iter_mut().zip(others).for_each(|(sum, other)| *sum = sum.wrapping_add(other));
        sums
    });
    sums.into_iter().map(hash::of_row).collect()
}

impl SurveyedColumn {
    fn new(name: String) -> Self {
        let range = [f64::INFINITY, f64::NEG_INFINITY].map(f64::to_bits);
        let values = SmallestValues::new(MOST_VALUES);
        Self { name, cell_type: CellType::Open, mixed: false, present: 0, values, range }
    }

    /// Takes in cells; gives the hash of each.
    fn add(&mut self, values: &Values, rows: &[usize], untyped: bool) -> Vec<u64> {
        self.become_also(CellType::of(values));
        let hashes = hash::of_cells(values, rows, untyped);
        self.present += hashes.iter().filter(|hash| **hash != hash::NOTHING).count() as u64;
        let cells = || rows.iter().zip(&hashes).filter(|(_, hash)| **hash != hash::NOTHING);
        match values {
            Values::Text(texts) => {
                for (&row, &hash) in cells() {
                    self.stretch(plain_number(texts.get(row)));
                    self.values.add(hash, 1, || hash::value_of(texts.get(row), untyped));
                }
            }
            Values::Category { codes, names } => {
                let mut counts = vec![(0u64, 0u64); names.len()];
                for (&row, &hash) in cells() {
                    let (count, of_name) = &mut counts[codes[row] as usize];
                    (*count, *of_name) = (*count + 1, hash);
                }
                for (name, (count, hash)) in names.iter().zip(counts).filter(|(_, (count, _))| *count > 0) {
                    self.stretch(plain_number(name));
                    self.values.add(hash, count, || hash::value_of(name, untyped));
                }
            }
            Values::Number { values, .. } | Values::Time { seconds: values, .. } => {
                for (&row, &hash) in cells() {
                    self.stretch(Some(values[row]));
                    self.values.add(hash, 1, || SurveyedValue::Number(values[row] + 0.0));
                }
            }
            Values::Unsupported { .. } => {}
        }
        hashes
    }

    fn stretch(&mut self, number: Option<f64>) {
        let Some(number) = number else { return };
        let [least, largest] = self.range.map(f64::from_bits);
        if number < least {
            self.range[0] = number.to_bits();
        }
        if number > largest {
            self.range[1] = number.to_bits();
        }
    }

    fn become_also(&mut self, other: CellType) {
        if self.cell_type == other {
            return;
        }
        let both = self.cell_type.with(&other);
        // Beside cells that are no dates, a date's seconds cannot be used.
        self.mixed |= [&self.cell_type, &other].iter().any(|one| one.is_time() && **one != both);
        self.cell_type = both;
    }

    fn merge(&mut self, other: Self) {
        self.become_also(other.cell_type);
        self.mixed |= other.mixed;
        self.present += other.present;
        other
            .range
            .map(f64::from_bits)
            .into_iter()
            .filter(|end| end.is_finite())
            .for_each(|end| self.stretch(Some(end)));
        self.values.merge(other.values);
    }

    fn whole(&self, chosen: &Column, missing: u64) -> Surveyed {
        let mut weights = Vec::new();
        let mut cells: Vec<Option<SurveyedValue>> = Vec::new();
        for (value, count) in self.values.in_order() {
            cells.push(Some(value));
            weights.push(count as usize);
        }
        if missing > 0 {
            cells.push(None);
            weights.push(missing as usize);
        }
        Surveyed::Whole(Column { name: self.name.clone(), values: column_of(&chosen.values, cells) }, weights)
    }

    fn beyond(&self, missing: u64) -> Beyond {
        // The estimate may be too large: there cannot be more values than cells.
        let distinct = self.values.distinct().min(self.present);
        let singles = self.values.singles();
        let [least, largest] = self.range.map(f64::from_bits);
        Beyond {
            present: self.present as usize,
            missing: missing as usize,
            distinct: distinct as usize,
            singles: (singles * distinct as f64) as usize,
            repeats: singles < 1.0,
            range: (least <= largest).then_some((least, largest)),
        }
    }
}

/// A column of these cells, of the type of another one.
fn column_of(like: &Values, cells: Vec<Option<SurveyedValue>>) -> Values {
    let number = |cell: Option<SurveyedValue>| match cell {
        Some(SurveyedValue::Number(number)) => number,
        _ => f64::NAN,
    };
    match like.emptied() {
        Values::Text(mut texts) => {
            cells.iter().for_each(|cell| texts.push(&cell.as_ref().map_or_else(String::new, SurveyedValue::text)));
            Values::Text(texts)
        }
        Values::Category { .. } => {
            let codes = cells.iter().zip(0..).map(|(cell, code)| if cell.is_some() { code } else { MISSING }).collect();
            Values::Category { codes, names: cells.iter().flatten().map(SurveyedValue::text).collect() }
        }
        Values::Number { integer, .. } => Values::Number { values: cells.into_iter().map(number).collect(), integer },
        Values::Time { kind, .. } => Values::Time { seconds: cells.into_iter().map(number).collect(), kind },
        Values::Unsupported { type_name, .. } => Values::Unsupported { type_name, n_rows: cells.len() },
    }
}

/// A number as programs write it.
fn plain_number(text: &str) -> Option<f64> {
    let is_start = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.');
    text.as_bytes().first().filter(|byte| is_start(byte))?;
    text.parse().ok()
}

impl CellType {
    fn of(values: &Values) -> Self {
        match values {
            Values::Text(_) => Self::Text,
            Values::Category { names, .. } if names.is_empty() => Self::Open,
            Values::Category { .. } => Self::Category,
            Values::Number { integer, .. } => Self::Number { integer: *integer },
            Values::Time { kind: TimeKind::Date, .. } => Self::Date,
            Values::Time { kind: TimeKind::DateTime, .. } => Self::DateTime,
            Values::Time { kind: TimeKind::TimeOfDay, .. } => Self::TimeOfDay,
            Values::Unsupported { type_name, .. } => Self::Unsupported(type_name.clone()),
        }
    }

    fn is_time(&self) -> bool {
        matches!(self, Self::Date | Self::DateTime | Self::TimeOfDay)
    }

    /// The type of a column that has cells of both types, by the rule for batches that are put together.
    fn with(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Unsupported(_), _) | (_, Self::Open) => self.clone(),
            (_, Self::Unsupported(_)) | (Self::Open, _) => other.clone(),
            (Self::Number { integer }, Self::Number { integer: also }) => Self::Number { integer: *integer && *also },
            _ if self == other => self.clone(),
            _ => Self::Text,
        }
    }

    /// Cells with this type, which is theirs or wider.
    fn taken_by(&self, values: Values) -> Result<Values> {
        let n_rows = values.len();
        match (self, values) {
            (Self::Text, values) if !matches!(values, Values::Text(_)) => {
                Values::Text(TextCells::default()).followed_by(values)
            }
            (Self::Number { integer }, Values::Number { values, .. }) => {
                Ok(Values::Number { values, integer: *integer })
            }
            (Self::Number { integer }, values @ Values::Category { .. }) => {
                values.followed_by(Values::Number { values: Vec::new(), integer: *integer })
            }
            (Self::Date | Self::DateTime | Self::TimeOfDay, values @ Values::Category { .. }) => {
                let kind = match self {
                    Self::Date => TimeKind::Date,
                    Self::DateTime => TimeKind::DateTime,
                    _ => TimeKind::TimeOfDay,
                };
                values.followed_by(Values::Time { seconds: Vec::new(), kind })
            }
            (Self::Unsupported(type_name), _) => Ok(Values::Unsupported { type_name: type_name.clone(), n_rows }),
            (_, values) => Ok(values),
        }
    }
}

#[cfg(test)]
mod tests;
