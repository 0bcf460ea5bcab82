//! Reads the one file inside a tar, as a stream.
//!
//! Data sets are often published as `.tar.xz` with a single member. Only what is needed for that is here: 512-byte
//! headers (POSIX.1-1988 `ustar`, and GNU's sizes beyond 8 GiB) and the `size` of POSIX.1-2001 extended headers. Long
//! names are skipped. A second regular file is an error, which can only be found when the first was read.

use std::io::{self, Read};

use crate::error::{Error, Place, Result};
use crate::table::input::source::{Source, read_error};

/// The unit of a tar.
pub(in crate::table) const BLOCK: usize = 512;

/// An extended header larger than this is not one.
const MAX_EXTENDED_HEADER: u64 = 1 << 20;

/// How many files an error names.
const MAX_NAMED: usize = 5;

/// Whether `block` is a tar header, by its checksum: old tars carry no other mark.
pub(in crate::table) fn is_header(block: &[u8]) -> bool {
    let Some(block) = block.first_chunk::<BLOCK>() else {
        return false;
    };
    let Some(expected) = number(&block[148..156]) else {
        return false;
    };
    let sum: u64 = block.iter().map(|&b| u64::from(b)).sum();
    let checksum_field: u64 = block[148..156].iter().map(|&b| u64::from(b)).sum();
    block[0] != 0 && sum - checksum_field + 8 * u64::from(b' ') == expected
}

/// The source of the only regular file in the tar.
pub(in crate::table) fn open(source: Source) -> Result<Source> {
    let (name, place) = (source.name.clone(), source.place());
    let mut member =
        Member { archive: source, place: place.clone(), name: String::new(), left: 0, padding: 0, finished: false };
    match member.next_file().map_err(|error| read_error(&name, error))? {
        Some(entry) => {
            (member.left, member.padding) = (entry.size, padding(entry.size));
            member.name.clone_from(&entry.name);
            let mut inner = Source::new(&name, Box::new(member));
            inner.inner_name = entry.name;
            Ok(inner)
        }
        None => {
            Err(Error::data(place, "is a tar without a file in it", "give the table itself, or a tar that holds it"))
        }
    }
}

struct Member {
    archive: Source,
    place: Place,
    name: String,
    left: u64,
    padding: u64,
    finished: bool,
}

struct Entry {
    name: String,
    size: u64,
}

impl Member {
    /// Walks to the next regular file and stops at its first byte.
    fn next_file(&mut self) -> io::Result<Option<Entry>> {
        let mut size_from_extended = None;
        loop {
            let mut block = [0; BLOCK];
            match read_full(&mut self.archive, &mut block)? {
                // A missing end-of-archive mark is tolerated by every tar.
                0 => return Ok(None),
                BLOCK => {}
                _ => return Err(self.damaged("the tar is cut short")),
            }
            if block.iter().all(|&b| b == 0) {
                return Ok(None);
            }
            if !is_header(&block) {
                return Err(self.damaged("the tar is damaged: a header's checksum is wrong"));
            }
            let kind = block[156];
            let own_size =
                number(&block[124..136]).ok_or_else(|| self.damaged("the tar is damaged: a size is not a number"))?;
            let extended = matches!(kind, b'x' | b'g' | b'X' | b'L' | b'K');
            let size = if extended { own_size } else { size_from_extended.take().unwrap_or(own_size) };
            match kind {
                b'0' | 0 | b'7' => {
                    let name = text(&block[..100]);
                    // What macOS puts beside each file for its attributes.
                    let is_attribute_file = name.rsplit('/').next().is_some_and(|base| base.starts_with("._"));
                    if !is_attribute_file {
                        return Ok(Some(Entry { name, size }));
                    }
                    self.skip(size.saturating_add(padding(size)))?;
                }
                b'x' => {
                    if size > MAX_EXTENDED_HEADER {
                        return Err(self.damaged("the tar is damaged: an extended header is too large"));
                    }
                    let mut records = vec![0; size as usize];
                    if read_full(&mut self.archive, &mut records)? < records.len() {
                        return Err(self.damaged("the tar is cut short"));
                    }
                    self.skip(padding(size))?;
                    size_from_extended = extended_size(&records);
                }
                b'S' => return Err(self.damaged("the tar holds a sparse file")),
                // Links, devices and folders have no bytes, whatever their size field says.
                b'1'..=b'6' => {}
                _ => self.skip(size.saturating_add(padding(size)))?,
            }
        }
    }

    fn skip(&mut self, n: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.archive).take(n), &mut io::sink())?;
        if skipped < n { Err(self.damaged("the tar is cut short")) } else { Ok(()) }
    }

    /// Past the member: there must be no second one.
    fn finish(&mut self) -> io::Result<()> {
        self.skip(self.padding)?;
        let mut names = vec![format!("`{}`", self.name)];
        while let Some(entry) = self.next_file()? {
            if names.len() == MAX_NAMED {
                names.push("…".to_owned());
                break;
            }
            names.push(format!("`{}`", entry.name));
            self.skip(entry.size.saturating_add(padding(entry.size)))?;
        }
        if names.len() > 1 {
            return Err(io::Error::other(Error::data(
                self.place.clone(),
                format!("the tar holds more than one file: {}", names.join(", ")),
                "unpack it and give one of them",
            )));
        }
        Ok(())
    }

    fn damaged(&self, problem: &str) -> io::Error {
        io::Error::other(Error::data(self.place.clone(), problem, "unpack it with tar and give the table itself"))
    }
}

impl Read for Member {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.finished {
            return Ok(0);
        }
        if self.left == 0 {
            self.finished = true;
            self.finish()?;
            return Ok(0);
        }
        let n = self.left.min(buffer.len() as u64) as usize;
        let read = self.archive.read(&mut buffer[..n])?;
        if read == 0 {
            return Err(self.damaged("the tar is cut short"));
        }
        self.left -= read as u64;
        Ok(read)
    }
}

fn padding(size: u64) -> u64 {
    (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64
}

fn read_full(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Octal text, or, where the first bit is set, GNU's big-endian binary.
fn number(field: &[u8]) -> Option<u64> {
    if let [0x80, digits @ ..] = field {
        let fits = digits.iter().rev().skip(8).all(|&b| b == 0);
        return fits.then(|| digits.iter().fold(0, |number, &b| number << 8 | u64::from(b)));
    }
    let digits = text(field);
    u64::from_str_radix(digits.trim(), 8).ok()
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// The `size` among the records `length key=value\n` of an extended header.
fn extended_size(records: &[u8]) -> Option<u64> {
    String::from_utf8_lossy(records)
        .lines()
        .filter_map(|record| record.split_once(' '))
        .find_map(|(_, record)| record.strip_prefix("size=")?.parse().ok())
}

#[cfg(test)]
pub(in crate::table) mod tests {
    use super::*;

    /// A tar entry, header and padded content.
    pub(crate) fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        block[156] = kind;
        block[257..262].copy_from_slice(b"ustar");
        block[148..156].fill(b' ');
        let sum: u64 = block.iter().map(|&b| u64::from(b)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        block.extend_from_slice(content);
        block.resize(block.len().next_multiple_of(BLOCK), 0);
        block
    }

    fn member(archive: Vec<u8>) -> Result<(String, Vec<u8>)> {
        let source = Source::new("t.tar", Box::new(io::Cursor::new(archive)));
        let inner = open(source)?;
        Ok((inner.inner_name.clone(), inner.read_all()?))
    }

    #[test]
    fn the_one_file_is_read_past_folders_and_extended_headers() {
        let archive = [
            entry("data/", b'5', b""),
            entry("pax", b'x', b"19 path=data/a.arff\n"),
            entry("././@LongLink", b'L', b"data/a-long-name.arff\0"),
            entry("data/._a.arff", b'0', b"attributes"),
            entry("data/a.arff", b'0', &[b'x'; 600]),
            vec![0; 2 * BLOCK],
        ]
        .concat();
        assert!(is_header(&archive));
        let (name, bytes) = member(archive).unwrap();
        assert_eq!((name.as_str(), bytes.len()), ("data/a.arff", 600));
    }

    #[test]
    fn two_files_are_named() {
        let archive = [entry("a.csv", b'0', b"x"), entry("b.csv", 0, b"y"), vec![0; BLOCK]].concat();
        let error = member(archive).unwrap_err().to_string();
        assert_eq!(error, "t.tar: the tar holds more than one file: `a.csv`, `b.csv`; unpack it and give one of them");
    }

    #[test]
    fn a_tar_cut_short_or_damaged_is_an_error() {
        let whole = entry("a.csv", b'0', &[b'x'; 600]);
        for n in BLOCK..whole.len() {
            assert!(member(whole[..n].to_vec()).unwrap_err().to_string().contains("cut short"), "{n}");
        }
        let error = member([entry("a", b'5', b""), vec![7; BLOCK]].concat()).unwrap_err().to_string();
        assert!(error.contains("checksum"), "{error}");
        let error = member([entry("a", b'5', b""), vec![0; BLOCK]].concat()).unwrap_err().to_string();
        assert!(error.contains("without a file"), "{error}");
    }

    #[test]
    fn sizes_are_octal_binary_or_extended() {
        assert_eq!(number(b"00000000017\0"), Some(15));
        assert_eq!(number(&[0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1]), Some((2 << 32) + 1));
        assert_eq!(number(&[0x80, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1]), None);
        assert_eq!(extended_size(b"12 path=a\n21 size=9000000000\n"), Some(9_000_000_000));
    }
}
