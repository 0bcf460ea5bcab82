//! Rows as read from a file; nothing is learned here.
//!
//! Seven formats are read: CSV and its relatives, JSON lines, Parquet, Arrow IPC, ARFF, and the spreadsheets xlsx and
//! ods. They may be inside gzip, zstd, xz, tar or zip, and come from paths, folders or standard input. Whatever the
//! format, the result is a [`Table`]: a batch of rows, column by column. A whole file is read by [`read_table`]; a file
//! larger than memory is walked with [`TableReader::next_batch`].
//!
//! ```no_run
//! use gnsm::{ReadOptions, TableReader, read_table};
//!
//! let whole = read_table("adult.csv.gz")?;
//!
//! let mut reader = TableReader::open("-", &ReadOptions::default())?; // standard input
//! while let Some(batch) = reader.next_batch(10_000)? {
//!     assert!(batch.n_rows() > 0);
//! }
//! # Ok::<(), gnsm::Error>(())
//! ```
//!
//! A cell is text, a declared category or a number. What a column of text *means* is decided in
//! [`crate::columns`], not here: a reader only knows whether its format declared a type.
//!
//! A file is read from the outside in: its bytes (`source`), compression and a tar or zip around them (`compression`,
//! `tar`, `zip`), its encoding (`encoding`), its format (`open`), then one of the readers, each a file here. Several
//! files are read one after the other (`several`). Two columns of the same name are an error in every format. No input
//! makes a reader panic: it gives rows, or an error that says where and what to do.

// In a test, a panic is the report.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod input;
mod csv;
mod jsonl;
mod left_out;
mod missing;
mod names;
mod arff;
mod arrow;
mod parquet;
mod spreadsheet;
mod categories;
mod time;
mod zone;
mod append;
mod select;

pub use arrow::columns::RecordBatches;
pub use csv::dialect::Dialect;
pub use input::open::{Format, ReadOptions, TableReader, read_table, read_table_with};
pub use left_out::{LeftOut, LeftOutLine};
pub use missing::{MISSING_TEXTS, is_missing};
pub(crate) use missing::{MissingTexts, NONE, default_missing, is_default_missing};
pub(crate) use select::joined;
pub use time::{TimeKind, civil_of_days, days_of};
pub use zone::look_for_zones_in;

use std::sync::Arc;

use crate::error::{Place, Result};

/// What each format's reader does.
trait ReadRows: Send {
    /// The next rows: at least one, at most `max_rows` (which is at least one); `None` at the end.
    fn next_rows(&mut self, max_rows: usize) -> Result<Option<Table>>;

    /// The columns as far as they are known before the first row.
    fn no_rows(&self) -> Table;

    /// Takes back a batch that is done with.
    fn recycle(&mut self, _batch: Table) {}

    /// How the file is written, where that was to be found out.
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    /// If there are several files: those that were read so far, and how many rows each had.
    fn parts(&self) -> Vec<(String, u64)> {
        Vec::new()
    }

    /// What the user should know about the rows so far.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The lines that were left out so far, where that was asked for.
    fn left_out(&self) -> LeftOut {
        LeftOut::default()
    }
}

/// The code of a missing cell in [`Values::Category`].
pub const MISSING: u32 = u32::MAX;

/// A batch of rows, by columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The file's name as the user gave it, `standard input`, or `a.csv and 2 more files`.
    pub file: String,
    /// The columns, all of the same length, names all different.
    pub columns: Vec<Column>,
    /// For each row the line it starts on (text formats) or its number in the file (binary ones), from 1.
    pub lines: Vec<u64>,
    /// Whether the format lets each row leave columns out (JSON lines), so that a batch may lack one.
    pub rows_may_omit_columns: bool,
    /// If the rows come from several files, the first row and the name of each; otherwise empty.
    pub parts: Vec<(usize, String)>,
}

/// A named column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The name in the header.
    pub name: String,
    /// The cells.
    pub values: Values,
}

/// The cells of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Text whose meaning the format leaves open (CSV cells).
    Text(TextCells),
    /// Categories declared by the format (ARFF nominal and string, Parquet, Arrow and JSON strings and booleans).
    Category {
        /// For each row an index into `names`, or [`MISSING`].
        codes: Vec<u32>,
        /// The distinct categories, in order of first appearance or declaration; some may be unused.
        names: Vec<String>,
    },
    /// Numbers declared by the format; NaN is missing.
    Number {
        /// For each row its number.
        values: Vec<f64>,
        /// Whether the format's type holds whole numbers only.
        integer: bool,
    },
    /// Dates and times declared by the format, by the clock of their zone; NaN is missing.
    Time {
        /// For each row its time in seconds.
        seconds: Vec<f64>,
        /// Since when they count.
        kind: TimeKind,
    },
    /// A type that has no use here (a list, a map, raw bytes); an error only if the column is used.
    Unsupported {
        /// The format's own name of the type.
        type_name: String,
        /// How many rows there are.
        n_rows: usize,
    },
}

/// Texts one after another in one allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextCells {
    bytes: String,
    ends: Vec<usize>,
    /// The texts that mean "no value", where they are not [`MISSING_TEXTS`].
    missing: Option<Arc<MissingTexts>>,
}

impl TextCells {
    /// Appends a cell.
    pub fn push(&mut self, text: &str) {
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len());
    }

    /// Appends the cells of another.
    pub fn append(&mut self, other: &Self) {
        let before = self.bytes.len();
        self.bytes.push_str(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| before + end));
    }

    /// The texts that mean "no value", where they are not [`MISSING_TEXTS`].
    pub(crate) fn missing(&self) -> Option<&MissingTexts> {
        self.missing.as_deref()
    }

    /// Takes these texts for "no value", and no others.
    pub(crate) fn set_missing(&mut self, missing: Arc<MissingTexts>) {
        self.missing = Some(missing);
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text of a cell.
    pub fn get(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }

    /// Removes all cells and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.missing = None;
    }

    /// All cells, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|row| self.get(row))
    }
}

impl Values {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(cells) => cells.len(),
            Self::Category { codes, .. } => codes.len(),
            Self::Number { values, .. } | Self::Time { seconds: values, .. } => values.len(),
            Self::Unsupported { n_rows, .. } => *n_rows,
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Table {
    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.lines.len()
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The file that a row is from.
    pub fn file_of(&self, row: usize) -> &str {
        let part = self.parts.partition_point(|(first, _)| *first <= row).checked_sub(1);
        part.and_then(|at| self.parts.get(at)).map_or(&self.file, |(_, file)| file)
    }

    /// Where a cell stands, for messages.
    pub fn place(&self, row: usize, column: &str) -> Place {
        Place {
            file: self.file_of(row).to_owned(),
            line: self.lines.get(row).copied(),
            column: Some(column.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
