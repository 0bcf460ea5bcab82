//! The bytes of an input, before anything is known about them.
//!
//! Compression, format and delimiter are decided by the first bytes. But the input may be a pipe, which cannot be
//! rewound. So a [`Source`] lets a reader look at the first bytes before it reads them.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use crate::error::{Error, Place, Result};
use crate::table::input::open::Format;

/// The most that is written to a temporary file.
const MAX_COPY: u64 = 64 << 30;

/// The name of standard input in messages.
pub(in crate::table) const STANDARD_INPUT: &str = "standard input";

/// An input whose first bytes can be looked at before they are read.
pub(in crate::table) struct Source {
    /// The file's name as the user gave it.
    pub(in crate::table) name: String,
    /// The name whose ending counts: that of the file, or of the one file inside a tar.
    pub(in crate::table) inner_name: String,
    /// The file itself, for formats that do not read from front to back, if it is a plain file and neither a pipe nor
    /// compressed.
    pub(in crate::table) file: Option<File>,
    /// The format, if the container tells it: a zip that is a spreadsheet.
    pub(in crate::table) format: Option<Format>,
    head: Vec<u8>,
    read: usize,
    rest: Box<dyn Read + Send>,
}

impl Source {
    /// Opens the file at `path`; `-` is standard input.
    pub(in crate::table) fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::new(STANDARD_INPUT, Box::new(io::stdin())));
        }
        let file = File::open(path).map_err(|source| Error::io(path, source))?;
        let metadata = file.metadata().map_err(|source| Error::io(path, source))?;
        let name = path.display().to_string();
        if metadata.is_dir() {
            let place = Place { file: name, ..Place::default() };
            return Err(Error::data(place, "is a folder", "give the path of one file in it"));
        }
        if metadata.is_file() { Self::of_file(&name, file) } else { Ok(Self::new(&name, Box::new(file))) }
    }

    /// An input from a plain file, from its beginning.
    pub(in crate::table) fn of_file(name: &str, mut file: File) -> Result<Self> {
        file.rewind().map_err(|error| Error::io(name, error))?;
        let again = file.try_clone().map_err(|error| Error::io(name, error))?;
        let mut source = Self::new(name, Box::new(file));
        source.file = Some(again);
        Ok(source)
    }

    /// An input from anything that can be read.
    pub(in crate::table) fn new(name: &str, input: Box<dyn Read + Send>) -> Self {
        let (name, inner_name, head) = (name.to_owned(), name.to_owned(), Vec::new());
        Self { name, inner_name, file: None, format: None, head, read: 0, rest: input }
    }

    /// The same input seen through `wrap`, a decoder.
    pub(in crate::table) fn through(self, wrap: impl FnOnce(Self) -> Result<Box<dyn Read + Send>>) -> Result<Self> {
        let (name, inner_name) = (self.name.clone(), self.inner_name.clone());
        let mut source = Self::new(&name, wrap(self)?);
        source.inner_name = inner_name;
        Ok(source)
    }

    /// The next `n` bytes, fewer only at the end of the input, without reading past them.
    pub(in crate::table) fn peek(&mut self, n: usize) -> Result<&[u8]> {
        self.head.drain(..self.read);
        self.read = 0;
        let missing = n.saturating_sub(self.head.len());
        if missing > 0 {
            (&mut self.rest)
                .take(missing as u64)
                .read_to_end(&mut self.head)
                .map_err(|source| read_error(&self.name, source))?;
        }
        Ok(&self.head[..n.min(self.head.len())])
    }

    /// Everything that is left.
    #[cfg(test)]
    pub(in crate::table) fn read_all(mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(source) => Err(read_error(&self.name, source)),
        }
    }

    /// A file with these bytes, for formats that do not read from front to back: the file itself, or a temporary one
    /// without a name.
    pub(in crate::table) fn into_file(mut self) -> Result<File> {
        if let Some(file) = self.file.take() {
            return Ok(file);
        }
        let mut copy = tempfile::tempfile().map_err(|error| Error::io("a temporary file", error))?;
        let length = io::copy(&mut (&mut self).take(MAX_COPY + 1), &mut copy);
        if length.map_err(|source| read_error(&self.name, source))? > MAX_COPY {
            let problem = format!("is longer than {} GiB when unpacked", MAX_COPY >> 30);
            return Err(Error::data(self.place(), problem, "unpack it first, and give the table itself"));
        }
        Ok(copy)
    }

    /// Where the input as a whole stands, for messages.
    pub(in crate::table) fn place(&self) -> Place {
        Place { file: self.name.clone(), ..Place::default() }
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let head = &self.head[self.read..];
        if head.is_empty() {
            return self.rest.read(buffer);
        }
        let n = head.len().min(buffer.len());
        buffer[..n].copy_from_slice(&head[..n]);
        self.read += n;
        Ok(n)
    }
}

/// The error for a failed read of the input called `name`.
///
/// A decoder behind a [`Read`] can only fail with an [`io::Error`]. If it wrapped an [`Error`] into one, this unwraps
/// it.
pub(in crate::table) fn read_error(name: &str, source: io::Error) -> Error {
    match source.downcast::<Error>() {
        Ok(error) => error,
        Err(source) => Error::io(name, source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_at_is_still_read() {
        let mut source = Source::new("x", Box::new(&b"abcdef"[..]));
        assert_eq!(source.peek(2).unwrap(), b"ab");
        let mut first = [0; 1];
        source.read_exact(&mut first).unwrap();
        assert_eq!(source.peek(3).unwrap(), b"bcd");
        assert_eq!(source.peek(100).unwrap(), b"bcdef");
        assert_eq!(source.read_all().unwrap(), b"bcdef");
    }

    #[test]
    fn a_folder_and_an_absent_file_are_errors() {
        let folder = Source::open(Path::new(env!("CARGO_MANIFEST_DIR"))).err().unwrap();
        assert!(folder.to_string().contains("is a folder"), "{folder}");
        let absent = Source::open(Path::new("no/such/file.csv")).err().unwrap();
        assert!(absent.to_string().starts_with("no/such/file.csv: "), "{absent}");
    }
}
