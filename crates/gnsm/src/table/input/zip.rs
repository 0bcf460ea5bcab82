//! Reads the one file inside a zip, as a stream.
//!
//! The index of a zip stands at its end. So a plain file is read in place, and what comes through a pipe or out of
//! compression is first written to a temporary file. Folders and what macOS puts beside a file do not count as files.
//! Spreadsheets are zips too: they are recognised here, and left to [`super::super::spreadsheet`].

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use crate::error::{Error, Place, Result};
use crate::table::arrow::columns::undamaged;
use crate::table::input::compression::Decoder;
use crate::table::input::open::Format;
use crate::table::input::source::Source;

/// How many files an error names.
const MAX_NAMED: usize = 5;

/// The content of the file `mimetype` of an OpenDocument spreadsheet.
const OPEN_DOCUMENT: &[u8] = b"application/vnd.oasis.opendocument.spreadsheet";

/// What is in a zip.
pub(in crate::table) enum Inside {
    /// The only file.
    File(Source),
    /// The zip itself is a spreadsheet.
    Spreadsheet(Source),
}

/// Whether an input that begins like this is a zip.
pub(in crate::table) fn is_zip(head: &[u8]) -> bool {
    matches!(head, [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..])
}

/// The zip's index.
pub(in crate::table) fn archive(file: &str, input: File) -> Result<ZipArchive<BufReader<File>>> {
    undamaged(file, || ZipArchive::new(BufReader::new(input)).map_err(|error| damaged(file, &error.to_string())))
}

/// The error for a zip that cannot be read.
pub(in crate::table) fn damaged(file: &str, what: &str) -> Error {
    let place = Place { file: file.to_owned(), ..Place::default() };
    Error::data(place, format!("the zip is damaged or cut short ({what})"), "fetch or pack it again")
}

/// Looks into a zip.
pub(in crate::table) fn open(source: Source) -> Result<Inside> {
    let (name, mut outer) = (source.name.clone(), source.inner_name.clone());
    let file = source.into_file()?;
    let again = || file.try_clone().map_err(|error| Error::io(&name, error));
    let mut archive = archive(&name, again()?)?;
    if let Some(format) = spreadsheet(&name, &mut archive)? {
        let mut sheet = Source::of_file(&name, again()?)?;
        (sheet.inner_name, sheet.format) = (outer, Some(format));
        return Ok(Inside::Spreadsheet(sheet));
    }
    let mut files = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_data(index).map_err(|error| damaged(&name, &error.to_string()))?;
        let path = entry.name().map_or_else(|_| format!("file {}", index + 1), std::borrow::Cow::into_owned);
        let base = path.rsplit('/').next().unwrap_or_default();
        if entry.is_file() && !path.starts_with("__MACOSX/") && !base.starts_with("._") && base != ".DS_Store" {
            files.push((index, path));
        }
    }
    let place = || Place { file: name.clone(), ..Place::default() };
    let [(index, path)] = files.as_slice() else {
        if files.is_empty() {
            let advice = "give the table itself, or a zip that holds it";
            return Err(Error::data(place(), "is a zip without a file in it", advice));
        }
        let mut names: Vec<String> = files.iter().take(MAX_NAMED).map(|(_, path)| format!("`{path}`")).collect();
        if files.len() > MAX_NAMED {
            names.push("…".to_owned());
        }
        let problem = format!("the zip holds {} files: {}", files.len(), names.join(", "));
        return Err(Error::data(place(), problem, "unpack it and give one of them, or all"));
    };
    outer.clone_from(path);
    let mut inner = Source::new(&name, Box::new(member(&name, again()?, &mut archive, *index)?));
    inner.inner_name = outer;
    Ok(Inside::File(inner))
}

/// Which kind of spreadsheet this is, if it is one.
fn spreadsheet(name: &str, archive: &mut ZipArchive<BufReader<File>>) -> Result<Option<Format>> {
    let paths: Vec<&[u8]> = archive.file_names_raw().collect();
    let has = |path: &[u8]| paths.contains(&path);
    if has(b"xl/workbook.bin") {
        let place = Place { file: name.to_owned(), ..Place::default() };
        return Err(Error::data(place, "is a binary Excel file (.xlsb), which is not read", "save it as .xlsx"));
    }
    if has(b"[Content_Types].xml") && paths.iter().any(|path| path.starts_with(b"xl/")) {
        return Ok(Some(Format::Xlsx));
    }
    if has(b"mimetype") && has(b"content.xml") {
        let mut kind = Vec::new();
        let read = archive.by_name("mimetype").map_err(io::Error::from);
        let read = read.and_then(|entry| entry.take(100).read_to_end(&mut kind));
        read.map_err(|error| damaged(name, &error.to_string()))?;
        return Ok(kind.starts_with(OPEN_DOCUMENT).then_some(Format::Ods));
    }
    Ok(None)
}

/// A file of the zip, unpacked as it is read.
fn member(
    name: &str,
    mut file: File,
    archive: &mut ZipArchive<BufReader<File>>,
    index: usize,
) -> Result<impl Read + Send + use<>> {
    let place = Place { file: name.to_owned(), ..Place::default() };
    let refused = |problem: String| Err(Error::data(place.clone(), problem, "unpack it and give the table itself"));
    let entry = archive.by_index_raw(index).map_err(|error| damaged(name, &error.to_string()))?;
    if entry.encrypted() {
        return refused("the zip has a password".to_owned());
    }
    let (size, packed, crc) = (entry.size(), entry.compressed_size(), entry.crc32());
    let Some(start) = entry.data_start() else { return Err(damaged(name, "a file's place is not known")) };
    file.seek(SeekFrom::Start(start)).map_err(|error| Error::io(name, error))?;
    let packed = BufReader::with_capacity(1 << 16, file).take(packed);
    let unpacked: Box<dyn Read + Send> = match entry.compression() {
        CompressionMethod::Stored => Box::new(packed),
        CompressionMethod::Deflated => Box::new(DeflateDecoder::new(packed)),
        other => return refused(format!("the zip is packed by a method that is not read ({other})")),
    };
    let checked = Checked { unpacked, left: size, crc, found: Crc::new(), finished: false };
    Ok(Decoder { inner: Box::new(checked), name: "zip", place })
}

/// Compares what comes out with the length and the checksum in the index.
struct Checked {
    unpacked: Box<dyn Read + Send>,
    left: u64,
    crc: u32,
    found: Crc,
    finished: bool,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.finished {
            return Ok(0);
        }
        let n = self.unpacked.read(buffer)?;
        self.found.update(&buffer[..n]);
        self.left = self.left.checked_sub(n as u64).ok_or_else(|| io::Error::other("it is longer than it says"))?;
        if n == 0 {
            self.finished = true;
            if self.left > 0 || self.found.sum() != self.crc {
                return Err(io::Error::other("the length or the checksum is wrong"));
            }
        }
        Ok(n)
    }
}

#[cfg(test)]
pub(in crate::table) mod tests {
    use std::io::{Cursor, Write};

    use proptest::prelude::*;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::table::input::compression::tests::gzip;
    use crate::table::tests::{error_of, read};
    use crate::table::{ReadOptions, Table};

    /// A zip of these files; names that end in `/` are folders.
    pub(crate) fn zip(files: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(method);
        for (name, content) in files {
            if let Some(folder) = name.strip_suffix('/') {
                writer.add_directory(folder, options).unwrap();
            } else {
                writer.start_file(*name, options).unwrap();
                writer.write_all(content).unwrap();
            }
        }
        writer.finish().unwrap().into_inner()
    }

    const TEXT: &[u8] = b"a,b\nx,1\ny,2\n";

    fn table(bytes: &[u8]) -> Result<Table> {
        read(bytes, &ReadOptions::default())
    }

    #[test]
    fn the_one_file_is_read_whatever_it_is() {
        let plain = table(TEXT).unwrap();
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let archive = zip(&[("data/", b""), ("data/t.csv", TEXT), ("__MACOSX/data/._t.csv", b"?")], method);
            assert_eq!(table(&archive).unwrap(), plain);
            assert_eq!(table(&gzip(&archive)).unwrap(), plain);
            assert_eq!(table(&zip(&[("t.csv.gz", &gzip(TEXT))], method)).unwrap(), plain);
            assert_eq!(table(&zip(&[("t.zip", &archive)], method)).unwrap(), plain);
            let tabs = table(&zip(&[("t.tsv", b"a,b\tc\n1,2\t3\n")], method)).unwrap();
            assert_eq!(tabs.columns[0].name, "a,b");
        }
    }

    #[test]
    fn several_files_or_none_are_an_error_that_names_them() {
        let problem =
            |files: &[(&str, &[u8])]| error_of(&zip(files, CompressionMethod::Stored), &ReadOptions::default());
        assert_eq!(
            problem(&[("a.csv", TEXT), ("b/c.csv", TEXT)]),
            "input: the zip holds 2 files: `a.csv`, `b/c.csv`; unpack it and give one of them, or all"
        );
        let names: Vec<String> = (0..9).map(|i| format!("{i}.csv")).collect();
        let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), TEXT)).collect();
        assert!(problem(&many).contains("holds 9 files: `0.csv`, `1.csv`, `2.csv`, `3.csv`, `4.csv`, …"));
        assert!(problem(&[]).starts_with("input: is a zip without a file in it; "));
        assert!(problem(&[("a/", b"")]).starts_with("input: is a zip without a file in it; "));
        assert!(problem(&[("xl/workbook.bin", b"")]).contains("binary Excel file"));
    }

    #[test]
    fn a_zip_cut_short_or_damaged_is_an_error() {
        let text = (0..500).fold("a,b\n".to_owned(), |text, i| text + &format!("{},{}\n", i, i * i));
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let whole = zip(&[("t.csv", text.as_bytes())], method);
            for n in (4..whole.len()).step_by(7) {
                let error = error_of(&whole[..n], &ReadOptions::default());
                assert!(error.starts_with("input: the zip is damaged or cut short"), "{n}: {error}");
            }
            // A flipped bit in the packed bytes.
            for at in (60..whole.len() - 120).step_by(11) {
                let mut copy = whole.clone();
                copy[at] ^= 1;
                assert!(table(&copy).is_err(), "{method} {at}");
            }
        }
    }

    #[test]
    fn a_bomb_is_read_as_far_as_a_line_may_be_long() {
        let bomb = zip(&[("t.csv", &vec![b'a'; 8 << 20])], CompressionMethod::Deflated);
        assert!(bomb.len() < 10_000);
        assert!(error_of(&bomb, &ReadOptions::default()).contains("the line is longer than 2 MiB"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn damage_is_an_error_or_the_same_rows(at in 0..200_usize, bit in 0..8_u8) {
            let mut archive = zip(&[("t.csv", TEXT)], CompressionMethod::Deflated);
            let at = at % archive.len();
            archive[at] ^= 1 << bit;
            if let Ok(found) = table(&archive) {
                prop_assert_eq!(found.lines, table(TEXT).unwrap().lines);
            }
        }
    }
}
