//! Takes a JSON array of objects apart into lines, one object each, as it is read.
//!
//! Only strings and brackets are looked at; whether an object is right is left to the reader of lines. Where each object begins
//! on a line of its own, it keeps the number of that line. Otherwise it has its own number, from 1.

use std::io::{self, Read};

use crate::error::Error;
use crate::table::input::source::Source;

/// Bytes that are read at a time.
const BLOCK: usize = 1 << 16;

/// The objects of an array, as lines.
pub(super) struct Objects {
    source: Source,
    block: Vec<u8>,
    /// What is written and not yet read.
    out: Vec<u8>,
    read: usize,
    /// Open brackets, that of the array included.
    depth: usize,
    in_string: bool,
    after_backslash: bool,
    /// Whether the array is closed.
    closed: bool,
    /// Line ends that were read, and that were written.
    lines_in: u64,
    lines_out: u64,
}

impl Objects {
    /// The objects of a source that begins with an array.
    pub fn new(source: Source) -> Self {
        let (block, out) = (vec![0; BLOCK], Vec::new());
        let (in_string, after_backslash, closed) = (false, false, false);
        let (lines_in, lines_out) = (0, 0);
        Self { source, block, out, read: 0, depth: 0, in_string, after_backslash, closed, lines_in, lines_out }
    }

    fn take(&mut self, byte: u8) {
        self.lines_in += u64::from(byte == b'\n');
        if self.in_string {
            self.in_string = self.after_backslash || byte != b'"';
            self.after_backslash = byte == b'\\' && !self.after_backslash;
            self.put(byte);
            return;
        }
        match byte {
            b'[' if self.depth == 0 && !self.closed => self.depth = 1,
            b']' if self.depth == 1 => (self.depth, self.closed) = (0, true),
            b'{' | b'[' => {
                if self.depth == 1 {
                    self.go_to_line();
                }
                self.depth += 1;
                self.put(byte);
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.put(byte);
            }
            b',' if self.depth == 1 => self.end_line(),
            b'"' => {
                self.in_string = true;
                self.put(byte);
            }
            b' ' | b'\t' | b'\r' | b'\n' if self.depth < 2 => {}
            _ => self.put(byte),
        }
    }

    fn put(&mut self, byte: u8) {
        self.out.push(if byte == b'\n' || byte == b'\r' { b' ' } else { byte });
    }

    fn end_line(&mut self) {
        self.out.push(b'\n');
        self.lines_out += 1;
    }

    /// Blank lines up to the one on which the object begins.
    fn go_to_line(&mut self) {
        while self.lines_out < self.lines_in {
            self.end_line();
        }
    }
}

impl Read for Objects {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.out.len() {
            self.out.clear();
            self.read = 0;
            let mut block = std::mem::take(&mut self.block);
            let n = self.source.read(&mut block)?;
            block[..n].iter().for_each(|byte| self.take(*byte));
            self.block = block;
            if n == 0 && !self.closed {
                self.closed = true;
                let problem = "the JSON array is not closed before the end of the file";
                let error = Error::data(self.source.place(), problem, "fetch or write the file again");
                return Err(io::Error::other(error));
            }
            if n == 0 {
                return Ok(0);
            }
        }
        let n = buffer.len().min(self.out.len() - self.read);
        buffer[..n].copy_from_slice(&self.out[self.read..self.read + n]);
        self.read += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use crate::table::tests::{read, texts};
    use crate::table::{ReadOptions, TableReader};

    fn table(content: &str) -> crate::Table {
        read(content.as_bytes(), &ReadOptions::default()).unwrap()
    }

    #[test]
    fn an_array_is_its_objects() {
        let of_lines = table("{\"a\": \"x,]\\\"}\", \"b\": 1}\n{\"a\": \"y\", \"b\": 2}\n");
        for content in [
            "[{\"a\": \"x,]\\\"}\", \"b\": 1}, {\"a\": \"y\", \"b\": 2}]",
            "[\n{\"a\": \"x,]\\\"}\", \"b\": 1},\n{\"a\": \"y\", \"b\": 2}\n]\n",
            " [\r\n  {\r\n \"a\": \"x,]\\\"}\",\r\n \"b\": 1\r\n },\r\n {\"a\":\"y\",\"b\":2}\r\n]",
        ] {
            let of_array = table(content);
            assert_eq!(texts(&of_array, "a"), ["x,]\"}", "y"], "{content}");
            assert_eq!(of_array.columns, of_lines.columns, "{content}");
        }
    }

    #[test]
    fn objects_keep_their_lines() {
        assert_eq!(table("[\n{\"a\": 1},\n{\n\"a\": 2\n},\n{\"a\": 3}]").lines, [2, 3, 6]);
        assert_eq!(table("[{\"a\": 1}, {\"a\": 2}]").lines, [1, 2]);
    }

    #[test]
    fn what_is_no_array_of_objects_is_told() {
        let problem = |content: &'static str| {
            let options = ReadOptions { format: Some(crate::Format::Jsonl), ..ReadOptions::default() };
            let mut reader = TableReader::from_reader("input", Box::new(content.as_bytes()), &options).unwrap();
            loop {
                match reader.next_batch(1) {
                    Err(error) => return error.to_string(),
                    Ok(None) => return "none".to_owned(),
                    Ok(Some(_)) => {}
                }
            }
        };
        assert!(problem("[{\"a\": 1},").starts_with("input: the JSON array is not closed"));
        assert!(problem("[{\"a\": 1").starts_with("input: the JSON array is not closed"));
        assert!(problem("[{\"a\": 1}, 2]").contains("each line must be one JSON object"));
        assert!(problem("[{\"a\": 1}] x").contains("invalid JSON"));
        assert_eq!(problem("[]"), "none");
    }
}
