//! CSV bodies. Rows around those that cannot be read are read piece by piece.

use std::io::{Cursor, Read};
use std::ops::Range;

use axum::body::Bytes;
use gnsm::{Dialect, Error, Format, ReadOptions, Table, TableReader};

use crate::body::{Body, MOST_COLUMNS, NAME, Wanted, count_lines, problem_of, read_all, too_wide};
use crate::problem::Problem;

/// How many bytes may be looked at to find more bad lines. A quote that is never closed costs all bytes after it, and
/// any other bad line about one block of the reader.
const BUDGET: usize = 1 << 30;
const BLOCK: usize = 1 << 20;

/// Reads a body.
pub fn read(bytes: &Bytes, wanted: Wanted<'_>) -> Result<Body, Problem> {
    let first_line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if first_line.iter().filter(|byte| matches!(byte, b',' | b';' | b'\t' | b'|')).count() >= MOST_COLUMNS {
        return Err(problem_of(too_wide()));
    }
    match read_all(Box::new(Cursor::new(bytes.clone())), Format::Csv, None, wanted) {
        Ok(table) => Ok(Body::whole(table)),
        Err(error) => match Pieces::new(bytes, wanted) {
            Some(pieces) => pieces.read(),
            None => Err(problem_of(error)),
        },
    }
}

/// A body that is read piece by piece.
struct Pieces<'a> {
    bytes: &'a Bytes,
    wanted: Wanted<'a>,
    dialect: Dialect,
    /// Where the record with the names stands.
    header: Range<usize>,
    table: Option<Table>,
    /// Bad lines, and what is wrong with them.
    bad: Vec<(u64, String)>,
    /// Where the next piece begins, and on which line.
    start: usize,
    line: u64,
    budget: usize,
}

impl<'a> Pieces<'a> {
    /// `None` if there is no header, without which nothing can be read, or if no single byte ends a line.
    fn new(bytes: &'a Bytes, wanted: Wanted<'a>) -> Option<Self> {
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || bytes.contains(&0) {
            return None;
        }
        let mut options = ReadOptions::default();
        options.format = Some(Format::Csv);
        let input = Box::new(Cursor::new(bytes.clone()));
        let dialect = TableReader::from_reader(NAME, input, &options).ok()?.dialect()?;
        let mut start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let is_no_record =
            |line: &[u8]| line.trim_ascii().is_empty() || line[..line.len().min(4)].eq_ignore_ascii_case(b"sep=");
        while start < bytes.len() && is_no_record(&bytes[start..line_end(bytes, start)]) {
            start = line_end(bytes, start);
        }
        let header = start..record_end(bytes, start, dialect.delimiter)?;
        let (start, line) = (header.end, 1 + count_lines(&bytes[..header.end]));
        let (table, bad, budget) = (None, Vec::new(), BUDGET);
        dialect.header.then_some(Self { bytes, wanted, dialect, header, table, bad, start, line, budget })
    }

    fn read(mut self) -> Result<Body, Problem> {
        loop {
            let error = match self.piece(self.bytes.len()) {
                Ok(table) => {
                    self.take(table).map_err(problem_of)?;
                    return Ok(self.finish());
                }
                Err(error) => error,
            };
            let (line, good) = self.before(&error)?;
            self.take(good).map_err(problem_of)?;
            self.bad.push((line, error.to_string()));
            if self.table.as_ref().map_or(0, Table::n_rows) + self.bad.len() > self.wanted.most {
                return Ok(self.finish());
            }
            self.pass(line, &error)?;
        }
    }

    /// The line from which on nothing can be read, and the rows before it. Where the error is about a quote that was
    /// opened earlier, that is the line.
    fn before(&self, error: &Error) -> Result<(u64, Option<Table>), Problem> {
        let refused = || Problem::bad(error.to_string());
        let mut line = line_of(error).filter(|line| *line >= self.line).ok_or_else(refused)?;
        loop {
            match self.piece(self.start_of(line)) {
                Ok(table) => return Ok((line, table)),
                Err(earlier) => {
                    let is_earlier = |earlier: &u64| (self.line..line).contains(earlier);
                    line = line_of(&earlier).filter(is_earlier).ok_or_else(refused)?;
                }
            }
        }
    }

    /// Skips the record that begins on a bad line. If a quote in it is never closed, or only in another row, it skips
    /// just the line.
    fn pass(&mut self, line: u64, error: &Error) -> Result<(), Problem> {
        let from = self.start_of(line);
        let end = record_end(self.bytes, from, self.dialect.delimiter).filter(|_| line_of(error) == Some(line));
        let left = self.bytes.len() - from;
        let cost = end.map_or(left, |end| left.min(end - from + BLOCK));
        let too_many = || Problem::bad(format!("{error}; too many other lines cannot be read either"));
        self.budget = self.budget.checked_sub(cost).ok_or_else(too_many)?;
        let end = end.unwrap_or_else(|| line_end(self.bytes, from));
        (self.start, self.line) = (end, line + count_lines(&self.bytes[from..end]));
        Ok(())
    }

    /// Where a line begins that is not before the next piece.
    fn start_of(&self, line: u64) -> usize {
        (self.line..line).fold(self.start, |start, _| line_end(self.bytes, start))
    }

    /// Reads from the start of the next piece up to `end`, under the header, with the line numbers of the body.
    fn piece(&self, end: usize) -> gnsm::Result<Option<Table>> {
        let blank = self.line - 1 - count_lines(&self.bytes[self.header.clone()]);
        let input = Cursor::new(self.bytes.slice(self.header.clone()))
            .chain(Cursor::new(vec![b'\n'; blank as usize]))
            .chain(Cursor::new(self.bytes.slice(self.start..end)));
        read_all(Box::new(input), Format::Csv, Some(self.dialect), self.wanted)
    }

    fn take(&mut self, more: Option<Table>) -> gnsm::Result<()> {
        match (&mut self.table, more) {
            (Some(table), Some(more)) => table.append(more)?,
            (None, more) => self.table = more,
            (Some(_), None) => {}
        }
        Ok(())
    }

    /// Numbers rows by their lines.
    fn finish(self) -> Body {
        let good = self.table.as_ref().map_or(&[][..], |table| &table.lines);
        let mut lines: Vec<u64> = good.iter().copied().chain(self.bad.iter().map(|(line, _)| *line)).collect();
        lines.sort_unstable();
        let row_of = |line: u64| lines.partition_point(|other| *other < line) as u64;
        let rows = good.iter().map(|line| row_of(*line)).collect();
        let bad = self.bad.into_iter().map(|(line, problem)| (row_of(line), problem)).collect();
        Body { table: self.table, rows, bad }
    }
}

fn line_of(error: &Error) -> Option<u64> {
    match error {
        Error::Data { place, .. } => place.line,
        _ => None,
    }
}

/// Where the line ends that begins at `start`, with its line break.
fn line_end(bytes: &[u8], start: usize) -> usize {
    bytes[start..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| start + at + 1)
}

/// Where the record ends that begins at `start`; `None` if a quote in it is never closed.
fn record_end(bytes: &[u8], start: usize, delimiter: u8) -> Option<usize> {
    let (mut at, mut in_quotes, mut is_start) = (start, false, true);
    while at < bytes.len() {
        let byte = bytes[at];
        at += 1;
        match byte {
            b'"' if in_quotes && bytes.get(at) == Some(&b'"') => at += 1,
            b'"' if in_quotes => in_quotes = false,
            b'"' if is_start => in_quotes = true,
            b'\n' if !in_quotes => return Some(at),
            _ => {}
        }
        is_start = byte == delimiter && !in_quotes;
    }
    (!in_quotes).then_some(at)
}
