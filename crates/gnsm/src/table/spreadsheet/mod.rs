//! Reads one sheet of a spreadsheet: Excel's `.xlsx`, and `.ods` of LibreOffice and others.
//!
//! The first row that holds something has the names, by the same rule as in CSV ([`super::csv::dialect`]). Empty rows are
//! skipped, and so are empty columns without a name. A row's line is the number that the spreadsheet shows beside it.
//!
//! | a column of | is read as |
//! |---|---|
//! | numbers, also as currency or percent; durations, in seconds | numbers |
//! | dates, dates with times, or times of day | times |
//! | booleans | categories `true` and `false` |
//! | texts, or some of each | text, whose meaning is found out as in CSV; an error such as `#DIV/0!` is text |
//!
//! A sheet is held in memory as columns, 8 bytes a number. More than [`MAX_CELLS`] cells, [`MAX_TEXT`] bytes of text or
//! [`MAX_XML`] bytes of XML are refused, before they take memory.

mod ods;
mod xlsx;

use std::borrow::Cow;
use std::io::{self, Read};

use crate::error::{Error, Place, Result};
use crate::table::arrow::columns::undamaged;
use crate::table::csv::Record;
use crate::table::csv::dialect::is_header;
use crate::table::input::open::{Format, ReadOptions};
use crate::table::input::source::Source;
use crate::table::input::zip::{archive, damaged};
use crate::table::names::numbered;
use crate::table::{Column, ReadRows, Table, TextCells, TimeKind, Values};

/// Cells of a sheet, with the empty ones between them.
const MAX_CELLS: usize = if cfg!(test) { 1 << 16 } else { 50_000_000 };
/// Bytes of text of a sheet.
const MAX_TEXT: usize = if cfg!(test) { 1 << 20 } else { 1 << 30 };
/// Bytes of all files inside, unpacked.
const MAX_XML: u64 = if cfg!(test) { 1 << 24 } else { 2 << 30 };
/// Rows by which it is decided whether the first has the names.
const SAMPLED_ROWS: usize = 100;
/// Seconds of a day.
const DAY: f64 = 86_400.0;
/// 1899-12-30, where spreadsheets begin to count days: a time of day is a time on this day.
const FIRST_DAY: f64 = -25_569.0 * DAY;

/// What a cell holds.
#[derive(Debug, Clone, PartialEq)]
enum Cell<'a> {
    Empty,
    Number(f64),
    Text(Cow<'a, str>),
    Bool(bool),
    /// Seconds since 1970; a time of day is on [`FIRST_DAY`].
    Time(f64),
}

impl Cell<'_> {
    fn values(&self) -> Values {
        match self {
            Self::Empty => Values::missing(1),
            Self::Number(value) => Values::Number { values: vec![*value], integer: value.fract() == 0.0 },
            Self::Text(text) => {
                let mut cells = TextCells::default();
                cells.push(text);
                Values::Text(cells)
            }
            Self::Bool(value) => Values::Category { codes: vec![0], names: vec![value.to_string()] },
            Self::Time(seconds) => Values::Time { seconds: vec![*seconds], kind: TimeKind::DateTime },
        }
    }

    fn owned(self) -> Cell<'static> {
        match self {
            Self::Text(text) => Cell::Text(Cow::Owned(text.into_owned())),
            Self::Empty => Cell::Empty,
            Self::Number(value) => Cell::Number(value),
            Self::Bool(value) => Cell::Bool(value),
            Self::Time(seconds) => Cell::Time(seconds),
        }
    }

    /// The cell as a CSV file would have it.
    fn text(&self) -> String {
        self.values().text(0).map_or_else(String::new, Cow::into_owned)
    }
}

/// The reader of a sheet.
pub(super) struct SheetReader {
    table: Table,
    /// Rows that were given out.
    n_given: usize,
    notes: Vec<String>,
}

/// Opens a spreadsheet and reads the sheet that was asked for, or the first.
pub(super) fn open(source: Source, format: Format, options: &ReadOptions) -> Result<SheetReader> {
    let name = source.name.clone();
    let file = source.into_file()?;
    let again = || file.try_clone().map_err(|error| Error::io(&name, error));
    check_size(&name, again()?)?;
    let mut rows = Rows::new(&name, options.header);
    let wanted = options.sheet.as_deref();
    let sheets = undamaged(&name, || match format {
        Format::Ods => ods::read(&name, again()?, wanted, &mut rows),
        _ => xlsx::read(&name, again()?, wanted, &mut rows),
    })?;
    let listed = || sheets.iter().map(|sheet| format!("`{sheet}`")).collect::<Vec<_>>().join(", ");
    let place = || Place { file: name.clone(), ..Place::default() };
    let read = match (wanted, sheets.first()) {
        (_, None) => return Err(Error::data(place(), "has no sheets", "give a file with a table")),
        (Some(wanted), _) if !sheets.iter().any(|sheet| sheet == wanted) => {
            let problem = format!("has no sheet `{wanted}`");
            return Err(Error::data(place(), problem, format!("its sheets are {}", listed())));
        }
        (Some(wanted), _) => wanted,
        (None, Some(first)) => first,
    };
    let Some((table, names)) = rows.finish()? else {
        let advice = match sheets.len() {
            1 => "give a file with a table".to_owned(),
            _ => format!("name another of its sheets: {}", listed()),
        };
        return Err(Error::data(place(), format!("the sheet `{read}` is empty"), advice));
    };
    let several = wanted.is_none() && sheets.len() > 1;
    let note = format!("{name}: read the sheet `{read}`; its sheets are {}", listed());
    Ok(SheetReader { table, n_given: 0, notes: several.then_some(note).into_iter().chain(names).collect() })
}

/// Refuses a file whose parts are too long, whatever its index says about them.
fn check_size(name: &str, file: std::fs::File) -> Result<()> {
    let mut archive = archive(name, file)?;
    let mut left = MAX_XML;
    for index in 0..archive.len() {
        let part = archive.by_index(index).map_err(|error| damaged(name, &error.to_string()))?;
        let length = io::copy(&mut part.take(left + 1), &mut io::sink());
        let length = length.map_err(|error| damaged(name, &error.to_string()))?;
        left = left.checked_sub(length).ok_or_else(|| {
            let place = Place { file: name.to_owned(), ..Place::default() };
            let problem = format!("holds more than {} MiB when unpacked", MAX_XML >> 20);
            Error::data(place, problem, "save the sheet as csv")
        })?;
    }
    Ok(())
}

impl ReadRows for SheetReader {
    fn next_rows(&mut self, max_rows: usize) -> Result<Option<Table>> {
        let (from, n_rows) = (self.n_given, self.table.n_rows());
        let until = from.saturating_add(max_rows).min(n_rows);
        if from >= until {
            return Ok(None);
        }
        self.n_given = until;
        if (from, until) == (0, n_rows) {
            let empty = self.table.rows(0..0);
            return Ok(Some(std::mem::replace(&mut self.table, empty)));
        }
        Ok(Some(self.table.rows(from..until)))
    }

    fn no_rows(&self) -> Table {
        self.table.rows(0..0)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

impl Table {
    /// These rows.
    fn rows(&self, rows: std::ops::Range<usize>) -> Self {
        let columns = self.columns.iter().map(|column| {
            let values = match &column.values {
                Values::Text(cells) => {
                    let mut some = TextCells::default();
                    rows.clone().for_each(|row| some.push(cells.get(row)));
                    Values::Text(some)
                }
                Values::Category { codes, names } => {
                    Values::Category { codes: codes[rows.clone()].to_vec(), names: names.clone() }
                }
                Values::Number { values, integer } => {
                    Values::Number { values: values[rows.clone()].to_vec(), integer: *integer }
                }
                Values::Time { seconds, kind } => Values::Time { seconds: seconds[rows.clone()].to_vec(), kind: *kind },
                Values::Unsupported { type_name, .. } => {
                    Values::Unsupported { type_name: type_name.clone(), n_rows: rows.len() }
                }
            };
            Column { name: column.name.clone(), values }
        });
        Self { columns: columns.collect(), lines: self.lines[rows.clone()].to_vec(), ..self.without_rows() }
    }

    fn without_rows(&self) -> Self {
        Self {
            file: self.file.clone(),
            columns: Vec::new(),
            lines: Vec::new(),
            rows_may_omit_columns: self.rows_may_omit_columns,
            parts: Vec::new(),
        }
    }
}

/// Rows on their way to a table.
struct Rows {
    file: String,
    header: Option<bool>,
    /// The first rows, until it is known whether there is a header.
    sample: Option<Vec<(u64, Vec<Cell<'static>>)>>,
    names: Vec<String>,
    columns: Vec<Values>,
    lines: Vec<u64>,
    n_text: usize,
}

impl Rows {
    fn new(file: &str, header: Option<bool>) -> Self {
        let (names, columns, lines) = (Vec::new(), Vec::new(), Vec::new());
        Self { file: file.to_owned(), header, sample: Some(Vec::new()), names, columns, lines, n_text: 0 }
    }

    /// Takes a row; `line` is its number in the sheet, from 1.
    fn push(&mut self, line: u64, cells: Vec<Cell<'_>>) -> Result<()> {
        if cells.iter().all(|cell| *cell == Cell::Empty) {
            return Ok(());
        }
        if let Some(sample) = &mut self.sample {
            sample.push((line, cells.into_iter().map(Cell::owned).collect()));
            if sample.len() > SAMPLED_ROWS {
                self.decide()?;
            }
            return Ok(());
        }
        self.add(line, cells)
    }

    /// Decides whether the first row has the names.
    fn decide(&mut self) -> Result<()> {
        let mut sample = self.sample.take().unwrap_or_default().into_iter().peekable();
        let records: Vec<Record> = sample.clone().map(|(line, cells)| record(line, &cells)).collect();
        if self.header.unwrap_or_else(|| is_header(&records))
            && let Some((_, cells)) = sample.next()
        {
            self.names = cells.iter().map(|cell| cell.text().trim().to_owned()).collect();
        }
        sample.try_for_each(|(line, cells)| self.add(line, cells))
    }

    fn add(&mut self, line: u64, cells: Vec<Cell<'_>>) -> Result<()> {
        let n_rows = self.lines.len();
        for (at, cell) in cells.into_iter().enumerate().filter(|(_, cell)| *cell != Cell::Empty) {
            if at >= self.columns.len() {
                self.columns.resize_with(at + 1, || Values::missing(0));
            }
            let values = &mut self.columns[at];
            pad(values, n_rows)?;
            if let Cell::Text(text) = &cell {
                self.n_text += text.len();
            }
            match (&mut *values, &cell) {
                (Values::Number { values, integer }, Cell::Number(value)) => {
                    values.push(*value);
                    *integer &= value.fract() == 0.0;
                }
                (Values::Text(cells), Cell::Text(text)) => cells.push(text),
                (Values::Time { seconds, .. }, Cell::Time(time)) => seconds.push(*time),
                _ => {
                    let before = std::mem::replace(values, Values::missing(0));
                    *values = before.followed_by(cell.values())?;
                }
            }
        }
        self.lines.push(line);
        if self.lines.len().saturating_mul(self.columns.len()) > MAX_CELLS || self.n_text > MAX_TEXT {
            let place = Place { file: self.file.clone(), line: Some(line), column: None };
            let problem = format!("the sheet has more than {MAX_CELLS} cells, or {} MiB of text", MAX_TEXT >> 20);
            return Err(Error::data(place, problem, "save the sheet as csv"));
        }
        Ok(())
    }

    /// The table, and a note on its names; `None` if the sheet is empty.
    fn finish(mut self) -> Result<Option<(Table, Option<String>)>> {
        if self.sample.is_some() {
            self.decide()?;
        }
        let n_columns = self.names.len().max(self.columns.len());
        self.names.resize(n_columns, String::new());
        self.columns.resize_with(n_columns, || Values::missing(0));
        let given = self.names.into_iter().zip(self.columns).enumerate();
        let used = given.filter(|(_, (name, values))| !name.is_empty() || !values.is_empty());
        let named = used
            .map(|(at, (name, values))| (if name.is_empty() { format!("column_{}", at + 1) } else { name }, values));
        let (names, cells): (Vec<String>, Vec<Values>) = named.unzip();
        let (names, note) = numbered(&self.file, names);
        let mut columns = Vec::new();
        for (name, mut values) in names.into_iter().zip(cells) {
            pad(&mut values, self.lines.len())?;
            columns.push(Column { name, values: with_kind_of_time(values) });
        }
        let table =
            Table { file: self.file, columns, lines: self.lines, rows_may_omit_columns: false, parts: Vec::new() };
        Ok((!table.columns.is_empty()).then_some((table, note)))
    }
}

/// Missing cells up to `n_rows`.
fn pad(values: &mut Values, n_rows: usize) -> Result<()> {
    if values.len() < n_rows {
        let before = std::mem::replace(values, Values::missing(0));
        let n_missing = n_rows - before.len();
        *values = before.followed_by(Values::missing(n_missing))?;
    }
    Ok(())
}

fn record(line: u64, cells: &[Cell<'_>]) -> Record {
    let mut record = Record { line, ..Record::default() };
    cells.iter().for_each(|cell| record.cells.push(&cell.text()));
    record
}

/// Dates without a time are dates, times on the day zero are times of day.
fn with_kind_of_time(values: Values) -> Values {
    let Values::Time { mut seconds, .. } = values else { return values };
    let present = || seconds.iter().filter(|seconds| !seconds.is_nan());
    let kind = if present().all(|seconds| (0.0..DAY).contains(&(seconds - FIRST_DAY))) {
        TimeKind::TimeOfDay
    } else if present().all(|seconds| seconds.rem_euclid(DAY) == 0.0) {
        TimeKind::Date
    } else {
        TimeKind::DateTime
    };
    if kind == TimeKind::TimeOfDay {
        seconds.iter_mut().for_each(|seconds| *seconds -= FIRST_DAY);
    }
    Values::Time { seconds, kind }
}

#[cfg(test)]
mod tests;
