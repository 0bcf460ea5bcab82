//! Splits a text format into lines, with their numbers.
//!
//! Every text format here is split at `\n` first, so line numbers are always exact. Input that is not text is refused
//! here, and only here: bytes of no known encoding, NUL, a line without end.

use std::io::{BufRead, Read};

use crate::error::{Error, Place, Result};
use crate::table::input::encoding::{Foreign, as_windows_1252};
use crate::table::input::source::read_error;

/// Longer lines (and quoted cells) are refused, so that memory stays bounded whatever the input is.
pub(in crate::table) const MAX_LINE: usize = if cfg!(test) { 2 << 20 } else { 64 << 20 };

/// A walk over lines.
pub(in crate::table) struct Lines<R> {
    input: R,
    file: String,
    /// The line, as far as it is text.
    line: String,
    /// Where the line stops being text, if it does.
    bad_byte: Option<usize>,
    number: u64,
    foreign: Foreign,
}

impl<R: BufRead> Lines<R> {
    pub(in crate::table) fn new(file: &str, input: R) -> Self {
        let (line, foreign) = (String::new(), Foreign::default());
        Self { input, file: file.to_owned(), line, bad_byte: None, number: 0, foreign }
    }

    /// Goes to the next line; `false` at the end of the input.
    pub(in crate::table) fn advance(&mut self) -> Result<bool> {
        let mut line = std::mem::take(&mut self.line).into_bytes();
        line.clear();
        let mut limited = (&mut self.input).take(MAX_LINE as u64 + 1);
        limited.read_until(b'\n', &mut line).map_err(|source| read_error(&self.file, source))?;
        self.number += 1;
        if self.number == 1 && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.len() > MAX_LINE {
            let problem = format!("the line is longer than {} MiB", MAX_LINE >> 20);
            return Err(Error::data(self.place(), problem, "check that this is a text file with one row a line"));
        }
        if line.contains(&0) {
            return Err(Error::data(
                self.place(),
                "holds a NUL byte",
                "save the file as UTF-8 text; it may be damaged, or not a text file at all",
            ));
        }
        let is_there = !line.is_empty();
        self.bad_byte = None;
        self.line = String::from_utf8(line).unwrap_or_else(|error| {
            if let Some(text) = as_windows_1252(error.as_bytes()) {
                self.foreign.add(self.number);
                return text;
            }
            self.bad_byte = Some(error.utf8_error().valid_up_to());
            let chunk = error.as_bytes().utf8_chunks().next();
            chunk.map_or_else(String::new, |chunk| chunk.valid().to_owned())
        });
        Ok(is_there)
    }

    /// What the input's buffer holds after the line just read, most likely with a cut line at its end.
    pub(in crate::table) fn buffered(&mut self) -> Result<&[u8]> {
        self.input.fill_buf().map_err(|source| read_error(&self.file, source))
    }

    /// Skips these first bytes of the buffer, which are this many whole lines; some of them may not be UTF-8.
    pub(in crate::table) fn skip(&mut self, n_bytes: usize, n_lines: u64, foreign: Foreign) {
        self.input.consume(n_bytes);
        self.foreign.append(foreign, self.number);
        self.number += n_lines;
    }

    /// The line just read, with its ending.
    pub(in crate::table) fn text(&self) -> Result<&str> {
        match self.bad_byte {
            None => Ok(&self.line),
            Some(byte) => Err(Error::data(
                self.place(),
                format!("byte {} of the line is neither UTF-8 nor Windows-1252", byte + 1),
                "name the encoding, or save the file as UTF-8",
            )),
        }
    }

    /// As much of the line as is text.
    pub(in crate::table) fn valid_text(&self) -> &str {
        &self.line
    }

    /// What the user should know about the lines so far.
    pub(in crate::table) fn notes(&self) -> Vec<String> {
        self.foreign.note(&self.file).into_iter().collect()
    }

    /// The number of the line just read, from 1.
    pub(in crate::table) fn number(&self) -> u64 {
        self.number
    }

    pub(in crate::table) fn file(&self) -> &str {
        &self.file
    }

    /// Where the line just read stands.
    pub(in crate::table) fn place(&self) -> Place {
        Place { file: self.file.clone(), line: Some(self.number), column: None }
    }
}

/// How many lines end in a block; a byte counts up to 255 of them, so that the compiler can count many side by side.
pub(in crate::table) fn n_lines(block: &[u8]) -> usize {
    block.chunks(255).map(|chunk| usize::from(chunk.iter().map(|b| u8::from(*b == b'\n')).sum::<u8>())).sum()
}

/// The line without `\n` or `\r\n`.
pub(in crate::table) fn without_ending(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(bytes: &[u8]) -> String {
        let mut lines = Lines::new("f", bytes);
        loop {
            match lines.advance() {
                Err(error) => return error.to_string(),
                Ok(false) => return "no error".to_owned(),
                Ok(true) => {}
            }
            if let Err(error) = lines.text() {
                return error.to_string();
            }
        }
    }

    #[test]
    fn endings_and_byte_order_mark() {
        let mut lines = Lines::new("f", &b"\xef\xbb\xbfa\r\nb\n\nc"[..]);
        let mut seen = Vec::new();
        while lines.advance().unwrap() {
            seen.push((lines.number(), without_ending(lines.text().unwrap()).to_owned()));
        }
        assert_eq!(seen, [(1, "a".into()), (2, "b".into()), (3, String::new()), (4, "c".into())]);
    }

    #[test]
    fn lines_of_windows_1252_are_read_and_noted() {
        let mut lines = Lines::new("f", &b"a\ncaf\xe9\n\xc3\xa9\n\x80\n"[..]);
        let mut seen = String::new();
        while lines.advance().unwrap() {
            seen += lines.text().unwrap();
        }
        assert_eq!(seen, "a\ncafé\né\n€\n");
        let note = "f: 2 lines are not UTF-8 (the first is line 2) and were read as Windows-1252";
        assert_eq!(lines.notes(), [format!("{note}; if that is wrong, name the encoding")]);
    }

    #[test]
    fn what_is_not_text_is_refused_with_its_line() {
        assert_eq!(
            error_of(b"a\nb\x9dc\n"),
            "f, line 2: byte 2 of the line is neither UTF-8 nor Windows-1252; name the encoding, or save the file as UTF-8"
        );
        assert!(error_of(b"a\n\0\n").starts_with("f, line 2: holds a NUL byte; "));
        let long = vec![b'a'; MAX_LINE + 2];
        assert!(error_of(&long).starts_with("f, line 1: the line is longer than 2 MiB"));
    }
}
