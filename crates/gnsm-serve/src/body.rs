//! The rows of a body, as one table. A row that cannot be read does not lose the others.

use std::io::{Cursor, Read};

use axum::body::Bytes;
use axum::http::StatusCode;
use gnsm::{Column, Dialect, Error, Format, Place, ReadOptions, Table, TableReader, Values};
use serde_json::value::RawValue;

use crate::csv;
use crate::media::{Media, compressed};
use crate::problem::Problem;

/// The body's name in messages that would name a file.
pub const NAME: &str = "body";
/// Columns of a body, at the most: more are no columns.
pub const MOST_COLUMNS: usize = 1 << 16;
/// With more cells than this, columns that the model does not use are dropped. A column that one row of many has is
/// missing in all others, and takes memory there too.
const MOST_CELLS: usize = 1 << 23;
/// Rows of JSON that are read at a time, so that such columns never take much memory.
const JSON_ROWS: usize = 512;

/// What the model and the limits say about a body.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Rows, at the most.
    pub most: usize,
    /// Whether a column is used: then its cells must be texts or numbers.
    pub used: &'a dyn Fn(&str) -> bool,
    /// The texts that mean "no value".
    pub missing: &'a [String],
}

/// Rows of a body.
#[derive(Debug, Default)]
pub struct Body {
    /// The rows that can be read, if there are any.
    pub table: Option<Table>,
    /// Their numbers in the body, from 0.
    pub rows: Vec<u64>,
    /// Rows that cannot be read, and why.
    pub bad: Vec<(u64, String)>,
}

impl Body {
    /// Reads a body.
    pub fn read(bytes: &Bytes, media: Media, wanted: Wanted<'_>) -> Result<Self, Problem> {
        let body = match media {
            Media::Json => Self::of_json(bytes, wanted),
            Media::Lines => Self::of_lines(bytes, wanted),
            Media::Csv => {
                refuse_compressed(bytes)?;
                csv::read(bytes, wanted)
            }
            Media::Arrow => {
                refuse_compressed(bytes)?;
                let input = Box::new(Cursor::new(bytes.clone()));
                read_all(input, Format::Arrow, None, wanted).map(Self::whole).map_err(problem_of)
            }
        }?;
        if body.table.is_none() && body.bad.is_empty() {
            return Err(Problem::bad("the body holds no rows; send at least one"));
        }
        check_rows(body.rows.len() + body.bad.len(), wanted.most)?;
        Ok(body)
    }

    /// All rows, none of them bad.
    pub fn whole(table: Option<Table>) -> Self {
        let n_rows = table.as_ref().map_or(0, Table::n_rows);
        Self { table, rows: (0..n_rows as u64).collect(), bad: Vec::new() }
    }

    /// The table; or that no row can be read.
    pub fn table(&self) -> Result<&Table, Problem> {
        self.table.as_ref().ok_or_else(|| {
            let first = self.bad.first().map_or("", |(_, problem)| problem.as_str());
            Problem::bad(format!("no row can be read; {first}"))
        })
    }

    fn of_json(bytes: &[u8], wanted: Wanted<'_>) -> Result<Self, Problem> {
        let problem = |error: serde_json::Error| {
            let text = error.to_string();
            let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
            let (line, byte) = (error.line(), error.column());
            Problem::bad(format!("{NAME}, line {line}, byte {byte}: {text}; send an object, or a list of objects"))
        };
        let is_list = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        let rows: Vec<&RawValue> = if is_list {
            serde_json::from_slice(bytes).map_err(problem)?
        } else {
            vec![serde_json::from_slice(bytes).map_err(problem)?]
        };
        Self::of_objects(&rows.into_iter().map(RawValue::get).collect::<Vec<_>>(), bytes, wanted)
    }

    fn of_lines(bytes: &[u8], wanted: Wanted<'_>) -> Result<Self, Problem> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = 1 + count_lines(&bytes[..error.valid_up_to()]);
            Problem::bad(format!("{NAME}, line {line}: is not UTF-8; save the text as UTF-8"))
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self::of_objects(&text.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>(), bytes, wanted)
    }

    /// Reads objects, which are pieces of `whole`. If some cannot be read, they are found by halving.
    fn of_objects(objects: &[&str], whole: &[u8], wanted: Wanted<'_>) -> Result<Self, Problem> {
        check_rows(objects.len(), wanted.most)?;
        if objects.is_empty() {
            return Ok(Self::default());
        }
        if let Ok(table) = read_objects(objects, wanted) {
            return Ok(Self::whole(Some(table)));
        }
        let mut bad = Vec::new();
        let everything = 0..objects.len();
        let mut todo = vec![everything];
        while let Some(part) = todo.pop() {
            let Err(unread) = read_objects(&objects[part.clone()], wanted) else { continue };
            if part.len() == 1 {
                bad.push((part.start, unread));
            } else {
                let middle = part.start + part.len() / 2;
                todo.extend([middle..part.end, part.start..middle]);
            }
        }
        let is_bad = |row: &usize| bad.binary_search_by_key(row, |(row, _)| *row).is_ok();
        let rows: Vec<usize> = (0..objects.len()).filter(|row| !is_bad(row)).collect();
        let good: Vec<&str> = rows.iter().map(|row| objects[*row]).collect();
        let table = if good.is_empty() { None } else { Some(read_objects(&good, wanted).map_err(Unread::problem)?) };
        let (mut passed, mut line) = (0, 1);
        let place = |(row, unread): (usize, Unread)| {
            let start = objects[row].as_ptr() as usize - whole.as_ptr() as usize;
            line += count_lines(&whole[passed..start]);
            passed = start;
            (row as u64, unread.at(line))
        };
        let bad = bad.into_iter().map(place).collect();
        Ok(Self { table, rows: rows.into_iter().map(|row| row as u64).collect(), bad })
    }
}

/// Why objects cannot be read.
enum Unread {
    /// Something is no object.
    NoObject,
    /// A column that is used holds lists or objects.
    Nested(String),
    /// What the reader says.
    Error(Error),
}

impl Unread {
    /// In words, with the line of the body where the object begins.
    fn at(self, line: u64) -> String {
        let place = |column: Option<String>| Place { file: NAME.into(), line: Some(line), column };
        match self {
            Self::NoObject => format!("{}: is no object; send one such as {{\"age\": 31}}", place(None)),
            Self::Nested(column) => {
                format!("{}: holds a list or an object; send a text or a number", place(Some(column)))
            }
            Self::Error(Error::Data { place: found, problem, advice }) => {
                format!("{}: {problem}; {advice}", place(found.column))
            }
            Self::Error(error) => format!("{}: {error}", place(None)),
        }
    }

    fn problem(self) -> Problem {
        match self {
            Self::Error(error) => problem_of(error),
            other => Problem::bad(other.at(1)),
        }
    }
}

/// A table of objects, if all can be read.
fn read_objects(objects: &[&str], wanted: Wanted<'_>) -> Result<Table, Unread> {
    let mut text = String::with_capacity(objects.iter().map(|object| object.len() + 1).sum());
    for object in objects {
        if !object.trim_start().starts_with('{') {
            return Err(Unread::NoObject);
        }
        // Outside of strings a line break counts as a blank, and strings hold none.
        if object.contains(['\n', '\r']) {
            text += &object.replace(['\n', '\r'], " ");
        } else {
            text += object;
        }
        text.push('\n');
    }
    let input = Box::new(Cursor::new(text.into_bytes()));
    let table = read_all(input, Format::Jsonl, None, wanted).map_err(Unread::Error)?.ok_or(Unread::NoObject)?;
    // One list or object makes its column unusable in all rows.
    let is_nested =
        |column: &&Column| matches!(column.values, Values::Unsupported { .. }) && (wanted.used)(&column.name);
    match table.columns.iter().find(is_nested) {
        Some(column) => Err(Unread::Nested(column.name.clone())),
        None => Ok(table),
    }
}

/// All rows of an input, or one more than are allowed.
pub fn read_all(
    input: Box<dyn Read + Send>,
    format: Format,
    dialect: Option<Dialect>,
    wanted: Wanted<'_>,
) -> gnsm::Result<Option<Table>> {
    let mut options = ReadOptions::default();
    (options.format, options.missing) = (Some(format), Some(wanted.missing.to_vec()));
    if let Some(dialect) = dialect {
        (options.delimiter, options.header) = (Some(dialect.delimiter), Some(dialect.header));
    }
    let mut reader = TableReader::from_reader(NAME, input, &options)?;
    let (columns, most) = (reader.columns().len(), wanted.most.saturating_add(1));
    if columns > MOST_COLUMNS {
        return Err(too_wide());
    }
    let batch = if format == Format::Jsonl { JSON_ROWS } else { (MOST_CELLS / columns.max(1)).max(1) };
    let mut table: Option<Table> = None;
    let mut is_narrow = false;
    while let left @ 1.. = most - table.as_ref().map_or(0, Table::n_rows) {
        let Some(mut more) = reader.next_batch(batch.min(left))? else { break };
        let narrow = |table: &mut Table| table.columns.retain(|column| (wanted.used)(&column.name));
        if is_narrow {
            narrow(&mut more);
        }
        let table = match &mut table {
            Some(table) => {
                table.append(more)?;
                table
            }
            None => table.insert(more),
        };
        if !is_narrow && table.columns.len().saturating_mul(table.n_rows()) > MOST_CELLS {
            is_narrow = true;
            narrow(table);
        }
    }
    Ok(table)
}

/// There are more columns than can be meant.
pub fn too_wide() -> Error {
    Error::schema(format!("the body has more than {MOST_COLUMNS} columns"), "send those that the model has")
}

/// What a client is told of an error of the library.
pub fn problem_of(error: Error) -> Problem {
    match error {
        Error::Schema { .. } => Problem::unfit(error),
        error => Problem::bad(error.to_string()),
    }
}

/// How many lines end here.
pub fn count_lines(bytes: &[u8]) -> u64 {
    bytes.split(|byte| *byte == b'\n').count() as u64 - 1
}

fn check_rows(rows: usize, most: usize) -> Result<(), Problem> {
    if rows <= most {
        return Ok(());
    }
    let problem = format!("the body has more than {most} rows; send them in several requests");
    Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, problem))
}

/// The library's readers would unpack compressed bodies of any size, so these are refused.
fn refuse_compressed(bytes: &[u8]) -> Result<(), Problem> {
    let is_compressed = matches!(
        bytes,
        [0x1f, 0x8b, ..]
            | [0x28, 0xb5, 0x2f, 0xfd, ..]
            | [0xfd, b'7', b'z', b'X', b'Z', 0, ..]
            // A frame that zstd skips, and the beginnings of a zip.
            | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
            | [b'P', b'K', 3 | 5, 4 | 6, ..]
    );
    if is_compressed { Err(compressed()) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
