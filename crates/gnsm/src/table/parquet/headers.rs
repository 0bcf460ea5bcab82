//! Checks the headers in a Parquet file for lengths that cannot be true.
//!
//! The Parquet crate reserves memory by some lengths before it reads what they announce, and a failed allocation ends
//! the process. So we walk over the footer and the header of each page before the crate sees them. Every list, map and
//! text in them must fit into the bytes that are there. They are in Thrift's compact protocol
//! (<https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>). We only skip over values.

use bytes::Bytes;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;

/// Deeper nesting than this is no header.
const MAX_DEPTH: usize = 16;

/// Where a page's header is expected to end; most take a few dozen bytes.
const HEADER_BYTES: u64 = 1 << 12;

/// Checks the footer. What is wrong in other ways is left to the Parquet crate.
pub(in crate::table) fn check_footer(input: &impl ChunkReader) -> Result<(), &'static str> {
    let n_bytes = input.len();
    let read = |start: u64, length: u64| input.get_bytes(start, length as usize).unwrap_or_default();
    let Some(tail_start) = n_bytes.checked_sub(8) else {
        return Ok(());
    };
    let tail = read(tail_start, 8);
    let Some((length, b"PAR1")) = tail.split_first_chunk::<4>() else {
        return Ok(());
    };
    let length = u64::from(u32::from_le_bytes(*length));
    let Some(start) = tail_start.checked_sub(length) else {
        return Ok(());
    };
    let footer = read(start, length);
    let mut walk = Walk { bytes: &footer, visit: &mut |_, _, _| {} };
    walk.structure(0, 0).ok_or("the footer holds an impossible length")
}

/// Checks the pages' headers of every column.
pub(in crate::table) fn check_pages(input: &impl ChunkReader, metadata: &ParquetMetaData) -> Result<(), &'static str> {
    for column in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let (start, length) = column.byte_range();
        let end = start + length;
        let mut position = start;
        let mut n_values = 0;
        // Some old writers leave bytes between the last page and the end, so the values are counted to know where to
        // stop.
        while position < end && n_values < column.num_values() {
            let at = |length: u64| -> Option<Page> {
                Page::read(&input.get_bytes(position, length.min(end - position) as usize).ok()?)
            };
            let page = at(HEADER_BYTES).or_else(|| at(u64::MAX)).ok_or("a page's header holds an impossible length")?;
            position = position.saturating_add(page.n_bytes);
            n_values = n_values.saturating_add(page.n_values);
        }
    }
    Ok(())
}

/// What a page's header says.
struct Page {
    /// Of header and page.
    n_bytes: u64,
    /// None in a dictionary.
    n_values: i64,
}

impl Page {
    fn read(bytes: &Bytes) -> Option<Self> {
        let (mut size, mut n_values) = (0, 0);
        // The fields' numbers are those of `PageHeader` in Parquet's parquet.thrift.
        let mut visit = |parent: i64, field: i64, value: i64| match (parent, field) {
            (0, 3) => size = value,
            // Of a data page, version 1 and 2.
            (5 | 8, 1) => n_values = value,
            _ => {}
        };
        let mut walk = Walk { bytes, visit: &mut visit };
        walk.structure(0, 0)?;
        let header = bytes.len() - walk.bytes.len();
        Some(Self { n_bytes: header as u64 + u64::try_from(size).ok()?, n_values: n_values.max(0) })
    }
}

/// A walk over Thrift's compact protocol; `None` where something does not fit.
struct Walk<'a> {
    bytes: &'a [u8],
    /// Called for each whole number with the field of the structure around it (0 outside), its own, and its value.
    visit: &'a mut dyn FnMut(i64, i64, i64),
}

impl Walk<'_> {
    fn structure(&mut self, parent: i64, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut field = 0_i64;
        loop {
            let header = self.byte()?;
            let kind = header & 0x0f;
            if kind == 0 {
                return Some(());
            }
            let step = i64::from(header >> 4);
            field = if step == 0 { unzigzag(self.varint()?) } else { field.checked_add(step)? };
            match kind {
                // A boolean field's value is its type.
                1 | 2 => {}
                4..=6 => {
                    let value = unzigzag(self.varint()?);
                    (self.visit)(parent, field, value);
                }
                12 => self.structure(field, depth + 1)?,
                _ => self.value(kind, depth)?,
            }
        }
    }

    /// A value in a list, or of a type whose content does not matter.
    fn value(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => {
                let header = self.byte()?;
                let length = if header >> 4 == 15 { self.varint()? } else { u64::from(header >> 4) };
                self.values(length, &[header & 0x0f], depth)
            }
            11 => {
                let length = self.varint()?;
                if length == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                self.values(length, &[kinds >> 4, kinds & 0x0f], depth)
            }
            // Skipped structures call no visitor that would take their fields for a page's: -1 is no field.
            12 => self.structure(-1, depth + 1),
            13 => self.skip(16),
            _ => None,
        }
    }

    /// `length` times one value of each kind; each takes a byte at least.
    fn values(&mut self, length: u64, kinds: &[u8], depth: usize) -> Option<()> {
        if length > self.bytes.len() as u64 {
            return None;
        }
        for _ in 0..length {
            kinds.iter().try_for_each(|&kind| self.value(kind, depth + 1))?;
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    fn skip(&mut self, n: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(n).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footer(thrift: &[u8]) -> Result<(), &'static str> {
        let length = (thrift.len() as u32).to_le_bytes();
        check_footer(&Bytes::from([b"PAR1", thrift, &length, b"PAR1"].concat()))
    }

    #[test]
    fn lengths_must_fit() {
        // Field 1 = 7, field 2 = the text "ab", field 4 = a list of one structure with a boolean.
        let good = [0x15, 14, 0x18, 2, b'a', b'b', 0x29, 0x1c, 0x11, 0, 0];
        assert_eq!(footer(&good), Ok(()));
        for n in 0..good.len() {
            assert!(footer(&good[..n]).is_err(), "{n}");
        }
        // A list of 2^31 - 1 row groups, for which the crate would reserve a quarter of a terabyte.
        assert!(footer(&[0x49, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0]).is_err());
        // A text of 2^40 bytes.
        assert!(footer(&[0x48, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0]).is_err());
        // Structures without end.
        assert!(footer(&[0x1c; 1000]).is_err());
        assert!(footer(&[0x19; 1000]).is_err());
    }

    #[test]
    fn a_page_says_its_length_and_values() {
        // type = 0, uncompressed = 100, compressed = 50, data_page_header { num_values = 3 }
        let header = [0x15, 0, 0x15, 200, 1, 0x15, 100, 0x2c, 0x15, 6, 0, 0];
        let page = Page::read(&Bytes::copy_from_slice(&header)).unwrap();
        assert_eq!((page.n_bytes, page.n_values), (12 + 50, 3));
    }
}
