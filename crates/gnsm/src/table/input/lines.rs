//! Splits a text format into lines, with their numbers.
//!
//! Every text format here is split at `\n` first, so a line number is always exact. What is not text is refused in this
//! one place: bytes that are not UTF-8, NUL, a line without end.

use std::io::{BufRead, Read};

use crate::error::{Error, Place, Result};
use crate::table::input::source::read_error;

/// Longer lines (and quoted cells) are refused, so that memory stays bounded whatever the input is.
pub(in crate::table) const MAX_LINE: usize = if cfg!(test) { 2 << 20 } else { 64 << 20 };

/// A walk over lines.
pub(in crate::table) struct Lines<R> {
    input: R,
    file: String,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(in crate::table) fn new(file: &str, input: R) -> Self {
        Self { input, file: file.to_owned(), line: Vec::new(), number: 0 }
    }

    /// Goes to the next line; `false` at the end of the input.
    pub(in crate::table) fn advance(&mut self) -> Result<bool> {
        self.line.clear();
        let mut limited = (&mut self.input).take(MAX_LINE as u64 + 1);
        limited.read_until(b'\n', &mut self.line).map_err(|source| read_error(&self.file, source))?;
        self.number += 1;
        if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
            self.line.drain(..3);
        }
        if self.line.len() > MAX_LINE {
            let problem = format!("the line is longer than {} MiB", MAX_LINE >> 20);
            return Err(Error::data(self.place(), problem, "check that this is a text file with one row a line"));
        }
        if self.line.contains(&0) {
            return Err(Error::data(
                self.place(),
                "holds a NUL byte",
                "save the file as UTF-8 text; it may be UTF-16, or not a text file at all",
            ));
        }
        Ok(!self.line.is_empty())
    }

    /// What the input's buffer holds after the line just read, most likely with a cut line at its end.
    pub(in crate::table) fn buffered(&mut self) -> Result<&[u8]> {
        self.input.fill_buf().map_err(|source| read_error(&self.file, source))
    }

    /// Goes on over these first bytes of the buffer, which are this many whole lines.
    pub(in crate::table) fn skip(&mut self, n_bytes: usize, n_lines: u64) {
        self.input.consume(n_bytes);
        self.number += n_lines;
    }

    /// The line just read, with its ending.
    pub(in crate::table) fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.line).map_err(|error| {
            Error::data(
                self.place(),
                format!("byte {} of the line is not UTF-8", error.valid_up_to() + 1),
                "save the file as UTF-8, for example with `iconv -f latin1 -t utf-8`",
            )
        })
    }

    /// As much of the line as is UTF-8.
    pub(in crate::table) fn valid_text(&self) -> &str {
        self.line.utf8_chunks().next().map_or("", |chunk| chunk.valid())
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
    fn what_is_not_text_is_refused_with_its_line() {
        assert_eq!(
            error_of(b"a\nb\xe9c\n"),
            "f, line 2: byte 2 of the line is not UTF-8; save the file as UTF-8, for example with `iconv -f latin1 -t utf-8`"
        );
        assert!(error_of(b"a\n\0\n").starts_with("f, line 2: holds a NUL byte; "));
        let long = vec![b'a'; MAX_LINE + 2];
        assert!(error_of(&long).starts_with("f, line 1: the line is longer than 2 MiB"));
    }
}
