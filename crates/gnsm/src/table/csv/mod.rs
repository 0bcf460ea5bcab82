//! Reads CSV and its relatives (tab, semicolon, bar), by RFC 4180.
//!
//! A cell may be quoted with `"`, and may then hold delimiters, line breaks and doubled quotes. Lines end with `\n` or
//! `\r\n`, also mixed. Blank lines are skipped, and so are comments, where the user says how they begin. Every row must
//! have as many cells as the first record. Delimiter and header are found in the first block ([`dialect`]) or given. A
//! first line `sep=;`, which tells spreadsheets the delimiter, is taken for that and not for a row.
//!
//! Nearly every line of nearly every file is plain: it is whole in the buffer, and no cell has a line break or quote.
//! Plain lines go straight from the buffer into the columns. The first line that is not plain, or not right, is left to
//! a slower walk over records. Only that walk reports errors.
//!
//! We split lines ourselves and do not use the `csv` crate. That crate silently ends an unclosed quote at the end of
//! the file, which swallows every row after it. It also counts lines wrongly after blank lines and `\r\n`. The tests
//! compare with it.

pub(in crate::table) mod dialect;
mod plain;

use std::io::{BufRead, BufReader};

use rayon::prelude::*;

use self::dialect::{Dialect, SAMPLE};
use self::plain::{PIECE, pieces, plain_rows};
use crate::error::{Error, Place, Result, stop_point};
use crate::table::input::encoding::Foreign;
use crate::table::input::lines::{Lines, MAX_LINE, without_ending};
use crate::table::input::open::ending;
use crate::table::input::source::Source;
use crate::table::names::numbered;
use crate::table::{Column, LeftOut, ReadOptions, ReadRows, Table, TextCells, Values};

/// Bytes that are read at a time.
const BLOCK: usize = 1 << 20;

/// One record: its cells, unquoted.
#[derive(Default)]
pub(in crate::table) struct Record {
    /// The cells.
    pub(in crate::table) cells: TextCells,
    /// The line on which it begins.
    pub(in crate::table) line: u64,
}

/// A walk over the records.
pub(in crate::table) struct Records<R> {
    lines: Lines<R>,
    delimiter: u8,
    /// What a line begins with that is no row.
    comment: Option<u8>,
    /// The columns' names, once known, for messages.
    names: Vec<String>,
    /// Room for what is split in parallel, used again by each block.
    pieces: Vec<Piece>,
    /// Whether the last error was one of a line, behind which the next one can be read.
    is_line_bad: bool,
    /// Whether the last rows were plain up to the end of their block, so that splitting the next one in parallel is worth it.
    is_plain: bool,
}

/// The plain rows at the beginning of a piece of a block.
#[derive(Default)]
struct Piece {
    n_rows: usize,
    n_bytes: usize,
    /// The rows that are not UTF-8, numbered from 1.
    foreign: Foreign,
    columns: Vec<TextCells>,
}

impl<R: BufRead> Records<R> {
    pub(in crate::table) fn new(file: &str, input: R, delimiter: u8, comment: Option<u8>) -> Self {
        let lines = Lines::new(file, input);
        Self { lines, delimiter, comment, names: Vec::new(), pieces: Vec::new(), is_line_bad: false, is_plain: true }
    }

    /// Reads the next record into `record`; `false` at the end.
    pub(in crate::table) fn read(&mut self, record: &mut Record) -> Result<bool> {
        record.cells.clear();
        self.is_line_bad = false;
        loop {
            if !self.lines.advance()? {
                return Ok(false);
            }
            let line = without_ending(self.lines.valid_text());
            let is_comment = self.comment.is_some_and(|mark| line.as_bytes().first() == Some(&mark));
            if !line.is_empty() && !is_comment {
                break;
            }
            // A blank line, or one whose first byte is no text, which is reported here.
            if line.is_empty() {
                self.is_line_bad = true;
                self.text(0)?;
                self.is_line_bad = false;
            }
        }
        record.line = self.lines.number();
        let mut quote_opened = None;
        let mut text = String::new();
        loop {
            match self.split_line(record, &mut text, &mut quote_opened) {
                Ok(false) => {}
                Ok(true) => return Ok(true),
                Err(error) => {
                    self.is_line_bad = true;
                    return Err(error);
                }
            }
            let too_long = text.len() + record.cells.bytes.len() > MAX_LINE;
            if too_long || !self.lines.advance()? {
                let place = self.place(quote_opened.unwrap_or(record.line), record.cells.len());
                let within = format!("within {} MiB", MAX_LINE >> 20);
                let end = if too_long { &within } else { "before the end of the file" };
                return Err(Error::data(
                    place,
                    format!("the quote opened here is not closed {end}"),
                    "close it, or double it (\"\") if it belongs to the text",
                ));
            }
        }
    }

    /// Splits the present line. Between lines, an open quote is in `quote_opened` and its text so far in `text`.
    /// Returns whether the record is complete.
    fn split_line(&self, record: &mut Record, text: &mut String, quote_opened: &mut Option<u64>) -> Result<bool> {
        let delimiter = char::from(self.delimiter);
        let line = self.text(record.cells.len())?;
        let mut rest = line;
        loop {
            if quote_opened.is_none() && !rest.starts_with('"') {
                let Some((cell, after)) = rest.split_once(delimiter) else {
                    let cell = without_ending(rest);
                    self.refuse_bare_return(cell, record)?;
                    record.cells.push(cell);
                    return Ok(true);
                };
                self.refuse_bare_return(cell, record)?;
                record.cells.push(cell);
                rest = after;
                continue;
            }
            if quote_opened.is_none() {
                *quote_opened = Some(self.lines.number());
                rest = &rest[1..];
            }
            // Inside quotes, up to the closing one.
            loop {
                let Some((piece, after)) = rest.split_once('"') else {
                    text.push_str(rest);
                    return Ok(false);
                };
                text.push_str(piece);
                rest = after;
                match rest.strip_prefix('"') {
                    Some(after) => {
                        text.push('"');
                        rest = after;
                    }
                    None => break,
                }
            }
            let tail = rest.split_once(delimiter);
            let between = tail.map_or_else(|| without_ending(rest), |(between, _)| between);
            if !between.bytes().all(|b| b == b' ') {
                // A stray quote takes in everything up to the next one, so the error says where it began.
                let opened = quote_opened.filter(|&line| line != self.lines.number());
                let opened = opened.map_or_else(String::new, |line| format!(" (the quote was opened on line {line})"));
                return Err(Error::data(
                    self.place(self.lines.number(), record.cells.len()),
                    format!("text after a closing quote: `{}`{opened}", shortened(between)),
                    "double the quotes (\"\") that belong to the text",
                ));
            }
            record.cells.push(text);
            text.clear();
            *quote_opened = None;
            match tail {
                Some((_, after)) => rest = after,
                None => return Ok(true),
            }
        }
    }

    /// Takes rows into `columns` for as long as their lines are plain, and notes their line numbers.
    ///
    /// A large block is cut into pieces at line ends, and the pieces are split in parallel. A line end may lie within a
    /// quoted cell. That does not matter: a piece counts only if all pieces before it were plain to their ends, and
    /// then no cell is open. If the last rows were not plain, one thread goes on alone. It would stop at the next such
    /// row, and most of the parallel work would be lost.
    fn take_plain(&mut self, columns: &mut [TextCells], lines: &mut Vec<u64>, max_rows: usize) -> Result<()> {
        stop_point();
        if lines.len() == max_rows {
            // Nobody may have to wait for a row that was not asked for.
            return Ok(());
        }
        let (number, marks, most) = (self.lines.number(), (self.delimiter, self.comment), max_rows - lines.len());
        let n_columns = columns.len();
        let mut foreign = Foreign::default();
        let block = self.lines.buffered()?;
        let (first, rest) = if self.is_plain { pieces(block, most) } else { (block, Vec::new()) };
        let (mut n_rows, mut n_bytes) = (0, 0);
        if rest.is_empty() {
            (n_rows, n_bytes) = plain_rows(first, marks, columns, most, &mut foreign);
        } else {
            self.pieces.resize_with(self.pieces.len().max(rest.len()), Piece::default);
            let more = &mut self.pieces[..rest.len()];
            rayon::join(
                || (n_rows, n_bytes) = plain_rows(first, marks, columns, most, &mut foreign),
                || {
                    more.par_iter_mut().zip(&rest).for_each(|(piece, bytes)| {
                        piece.columns.resize_with(n_columns, TextCells::default);
                        piece.columns.iter_mut().for_each(TextCells::clear);
                        piece.foreign = Foreign::default();
                        (piece.n_rows, piece.n_bytes) =
                            plain_rows(bytes, marks, &mut piece.columns, most, &mut piece.foreign);
                    });
                },
            );
            let mut whole = n_bytes == first.len();
            let mut n_pieces = 0;
            for (piece, bytes) in more.iter().zip(rest) {
                if !whole {
                    break;
                }
                foreign.append(piece.foreign, n_rows as u64);
                n_rows += piece.n_rows;
                n_bytes += piece.n_bytes;
                n_pieces += 1;
                whole = piece.n_bytes == bytes.len();
            }
            columns.par_iter_mut().enumerate().for_each(|(index, column)| {
                more[..n_pieces].iter().for_each(|piece| column.append(&piece.columns[index]));
            });
        }
        self.is_plain = n_rows == most || n_bytes + PIECE > block.len();
        lines.extend((1..=n_rows as u64).map(|row| number + row));
        self.lines.skip(n_bytes, n_rows as u64, foreign);
        Ok(())
    }

    fn refuse_bare_return(&self, cell: &str, record: &Record) -> Result<()> {
        if !cell.as_bytes().contains(&b'\r') {
            return Ok(());
        }
        Err(Error::data(
            self.place(self.lines.number(), record.cells.len()),
            "a carriage return within a line",
            "end lines with a newline, for example with `tr '\\r' '\\n'`, or quote the cell",
        ))
    }

    /// The present line, or an error that names the column where it stops being text.
    fn text(&self, first_column: usize) -> Result<&str> {
        self.lines.text().map_err(|mut error| {
            if let Error::Data { place, .. } = &mut error {
                let delimiters = self.lines.valid_text().bytes().filter(|&b| b == self.delimiter).count();
                place.column = self.names.get(first_column + delimiters).cloned();
            }
            error
        })
    }

    fn place(&self, line: u64, column: usize) -> Place {
        Place { file: self.lines.file().to_owned(), line: Some(line), column: self.names.get(column).cloned() }
    }
}

/// The CSV reader.
pub(in crate::table) struct CsvReader {
    records: Records<BufReader<Source>>,
    dialect: Dialect,
    record: Record,
    /// Whether `record` holds a row that was not given out yet: the first one, if there is no header.
    pending: bool,
    /// Columns of batches that came back.
    spare: Vec<TextCells>,
    /// Whether lines that are no rows are left out.
    skips: bool,
    left_out: LeftOut,
    /// What was noticed about the header.
    note: Option<String>,
}

impl CsvReader {
    pub(in crate::table) fn open(mut source: Source, options: &ReadOptions) -> Result<Self> {
        let file = source.name.clone();
        let empty = |file| {
            let place = Place { file, ..Place::default() };
            Error::data(place, "is empty", "give a file with a header and rows")
        };
        let is_tab = matches!(ending(&source.inner_name).to_ascii_lowercase().as_str(), "tsv" | "tab");
        let mut sample = source.peek(SAMPLE)?;
        if sample.len() == SAMPLE {
            // The last line of the block is most likely cut.
            let end = sample.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
            sample = &sample[..end];
        }
        let told = dialect::told_delimiter(sample);
        if let Some((length, _)) = told {
            sample = &sample[length..];
        }
        let given = options.delimiter.or(told.map(|(_, delimiter)| delimiter)).or(is_tab.then_some(b'\t'));
        let dialect = dialect::find(sample, given, options.header, options.comment)?;
        let input = BufReader::with_capacity(BLOCK, source);
        let mut records = Records::new(&file, input, dialect.delimiter, options.comment);
        if told.is_some() {
            records.lines.advance()?;
        }
        let mut record = Record::default();
        if !records.read(&mut record)? {
            return Err(empty(file));
        }
        let (names, note) = numbered(&file, column_names(&record, dialect.header));
        records.names = names;
        let (spare, left_out, skips) = (Vec::new(), LeftOut::default(), options.skip_bad_lines);
        Ok(Self { records, dialect, record, pending: !dialect.header, spare, skips, left_out, note })
    }

    /// Goes to the next row; lines that are none are an error, or are left out.
    fn next_record(&mut self) -> Result<bool> {
        loop {
            self.records.is_line_bad = false;
            match self.next_line() {
                Err(error) if self.skips && self.records.is_line_bad => self.left_out.add(error)?,
                result => return result,
            }
        }
    }

    fn next_line(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.pending) {
            return Ok(true);
        }
        if !self.records.read(&mut self.record)? {
            return Ok(false);
        }
        let (expected, found) = (self.records.names.len(), self.record.cells.len());
        if expected != found {
            self.records.is_line_bad = true;
            let mut place = self.records.place(self.record.line, found.min(expected));
            // A row that is too long has its error after the last column, so no column is named.
            place.column = place.column.filter(|_| found < expected);
            let fields = if expected == 1 { "field" } else { "fields" };
            let mark = self.record.cells.get(0).chars().next().filter(|mark| "#%!/".contains(*mark));
            let advice = if let Some(mark) = mark.filter(|_| self.records.comment.is_none()) {
                format!("if lines that begin with `{mark}` are comments, say so")
            } else {
                let delimiter = dialect::delimiter_name(self.dialect.delimiter);
                format!("complete or quote the row, or name the delimiter if it is not {delimiter}")
            };
            return Err(Error::data(place, format!("expected {expected} {fields}, found {found}"), advice));
        }
        Ok(true)
    }
}

impl ReadRows for CsvReader {
    fn next_rows(&mut self, max_rows: usize) -> Result<Option<Table>> {
        let mut cells = std::mem::take(&mut self.spare);
        cells.resize_with(self.records.names.len(), TextCells::default);
        let mut lines = Vec::new();
        while lines.len() < max_rows && self.next_record()? {
            lines.push(self.record.line);
            for (column, cell) in cells.iter_mut().zip(self.record.cells.iter()) {
                column.push(cell);
            }
            self.records.take_plain(&mut cells, &mut lines, max_rows)?;
        }
        if lines.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.table(cells, lines)))
    }

    fn recycle(&mut self, batch: Table) {
        self.spare.clear();
        for column in batch.columns {
            if let Values::Text(mut cells) = column.values {
                cells.clear();
                self.spare.push(cells);
            }
        }
    }

    fn no_rows(&self) -> Table {
        self.table(vec![TextCells::default(); self.records.names.len()], Vec::new())
    }

    fn dialect(&self) -> Option<Dialect> {
        Some(self.dialect)
    }

    fn notes(&self) -> Vec<String> {
        let left_out = self.left_out.note();
        self.note.clone().into_iter().chain(self.records.lines.notes()).chain(left_out).collect()
    }

    fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }
}

impl CsvReader {
    fn table(&self, cells: Vec<TextCells>, lines: Vec<u64>) -> Table {
        let names = self.records.names.iter().cloned();
        let columns = names.zip(cells).map(|(name, cells)| Column { name, values: Values::Text(cells) });
        Table {
            file: self.records.lines.file().to_owned(),
            columns: columns.collect(),
            lines,
            rows_may_omit_columns: false,
            parts: Vec::new(),
        }
    }
}

/// The names in the first record, or `column_1`… where there is no header or a name is empty.
fn column_names(first: &Record, header: bool) -> Vec<String> {
    let name = |(i, cell): (usize, &str)| {
        let cell = cell.trim();
        if header && !cell.is_empty() { cell.to_owned() } else { format!("column_{}", i + 1) }
    };
    first.cells.iter().enumerate().map(name).collect()
}

/// The beginning of a text, for messages.
fn shortened(text: &str) -> String {
    text.chars().take(20).collect()
}

#[cfg(test)]
mod tests;
