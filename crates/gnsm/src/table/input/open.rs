//! Opens a file: finds its format, and makes the reader for it.
//!
//! The content decides where it is unmistakable (the marks of Parquet and Arrow, a spreadsheet's parts, an ARFF
//! declaration, a JSON object). Otherwise the ending decides, without `.gz` and the like. Otherwise it is CSV.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::error::{Error, Result};
use crate::table::arff::ArffReader;
use crate::table::arrow::columns::{ArrowRows, RecordBatches};
use crate::table::arrow::open_arrow;
use crate::table::csv::CsvReader;
use crate::table::csv::dialect::{Dialect, SAMPLE};
use crate::table::input::source::Source;
use crate::table::input::{compression, encoding, several};
use crate::table::jsonl::JsonlReader;
use crate::table::parquet::open_parquet;
use crate::table::{LeftOut, MissingTexts, ReadRows, Table, is_default_missing, spreadsheet};

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Comma-separated values, also with semicolons, tabs or bars, quoted by RFC 4180. All cells are text.
    Csv,
    /// One JSON object a line, or an array of objects. Strings and booleans are categories, numbers numbers; a column with both is text, a
    /// column with a nested value unsupported. The strings that mean "no value" in CSV mean it here too.
    Jsonl,
    /// Apache Parquet. Strings, dictionaries of strings and booleans are categories; integers, floats and decimals
    /// are numbers, and so are dates (days since 1970), timestamps (seconds since 1970, UTC), times of day and
    /// durations (seconds); anything else is unsupported.
    Parquet,
    /// Apache Arrow IPC, the file format (Feather version 2) or the stream format, with types as in Parquet.
    Arrow,
    /// Weka's attribute-relation file format, dense or sparse. Nominal, string and date attributes are categories;
    /// weights of rows are left out; relational attributes are an error.
    Arff,
    /// A sheet of an Excel file. Numbers are numbers, dates and times are times, booleans categories; a column of texts,
    /// or of some of each, is text. It is held in memory: at most 50 million cells and 1 GiB of text.
    Xlsx,
    /// A sheet of an OpenDocument file, with types and limits as in [`Format::Xlsx`].
    Ods,
}

impl Format {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Arff => "arff",
            Self::Xlsx => "xlsx",
            Self::Ods => "ods",
        }
    }

    /// Whether rows stand on lines that an editor or a spreadsheet shows.
    pub fn has_lines(self) -> bool {
        !matches!(self, Self::Parquet | Self::Arrow)
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Jsonl | Self::Arff)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    /// By the name or a usual ending; `tsv` is [`Format::Csv`], whose delimiter is found in the file.
    fn from_str(name: &str) -> Result<Self> {
        match name.to_ascii_lowercase().as_str() {
            "csv" | "tsv" | "tab" | "psv" | "txt" => Ok(Self::Csv),
            "jsonl" | "ndjson" | "json" => Ok(Self::Jsonl),
            "parquet" | "pq" => Ok(Self::Parquet),
            "arrow" | "arrows" | "feather" | "ipc" => Ok(Self::Arrow),
            "arff" => Ok(Self::Arff),
            "xlsx" | "xlsm" => Ok(Self::Xlsx),
            "ods" => Ok(Self::Ods),
            _ => {
                let known = "csv, jsonl, parquet, arrow, arff, xlsx, ods";
                Err(Error::config("format", format!("`{name}` is not one of {known}")))
            }
        }
    }
}

/// What the user says about a file. Whatever is not said is found out from the file.
#[derive(Default, Clone, Debug)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The format.
    pub format: Option<Format>,
    /// What stands between the cells of a CSV file. Found among `,` `;` tab `|` otherwise; a tab if the file ends in `.tsv`.
    pub delimiter: Option<u8>,
    /// Whether the first record of a CSV file holds the names. See [`Dialect`] for what is found.
    pub header: Option<bool>,
    /// What lines of a CSV file begin with that are comments. There are none otherwise.
    pub comment: Option<u8>,
    /// The name of the encoding of a text format, such as `windows-1252` or `shift_jis`. Otherwise UTF-16 is recognised,
    /// lines that are not UTF-8 are read as Windows-1252, and [`TableReader::notes`] tells of it.
    pub encoding: Option<String>,
    /// Whether lines of a CSV or JSON lines file that are no rows are left out, and told by [`TableReader::notes`] and
    /// [`TableReader::left_out`]. Otherwise the first is an error.
    pub skip_bad_lines: bool,
    /// The sheet of a spreadsheet. The first otherwise.
    pub sheet: Option<String>,
    /// The texts that mean "no value", instead of the usual ones such as `NA`; the empty text always does. A model keeps
    /// its own list ([`crate::Schema::missing`]). Give that one to read rows for it.
    pub missing: Option<Vec<String>>,
}

/// Walks over the rows of one file or several, batch by batch.
///
/// Memory is bounded by the batch, except for spreadsheets, which are held whole. Parquet and zip have their index at
/// their end: through a pipe or inside compression they are first written to a temporary file.
pub struct TableReader {
    rows: Box<dyn ReadRows>,
    format: Format,
    finished: bool,
    /// What was noticed when it was opened.
    notes: Vec<String>,
    /// The texts that mean "no value", where they are not the usual ones.
    missing: Option<Arc<MissingTexts>>,
}

impl fmt::Debug for TableReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableReader").field("format", &self.format).finish_non_exhaustive()
    }
}

impl TableReader {
    /// Opens the file at `path`; `-` is standard input, and a folder is all files in it.
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        Self::open_all([path], options)
    }

    /// Opens several files as one table. Their columns must be the same; the order of columns may differ. A folder
    /// stands for the files in it that have the ending of a format, sorted by name.
    pub fn open_all<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>, options: &ReadOptions) -> Result<Self> {
        let files = several::listed(paths)?;
        if let [file] = files.as_slice() {
            return Self::open_one(file, options);
        }
        let (rows, format) = several::Several::open(files, options)?;
        Ok(Self::of(Box::new(rows), format, Vec::new(), options))
    }

    pub(in crate::table) fn open_one(path: &Path, options: &ReadOptions) -> Result<Self> {
        Self::from_source(Source::open(path)?, options)
    }

    fn of(rows: Box<dyn ReadRows>, format: Format, notes: Vec<String>, options: &ReadOptions) -> Self {
        let missing = options.missing.as_ref().filter(|texts| !is_default_missing(texts));
        let missing = missing.map(|texts| Arc::new(MissingTexts::new(texts.clone())));
        Self { rows, format, finished: false, notes, missing }
    }

    /// Reads from anything; `name` stands for it in messages, and its ending may tell the format.
    pub fn from_reader(name: &str, input: Box<dyn Read + Send>, options: &ReadOptions) -> Result<Self> {
        Self::from_source(Source::new(name, input), options)
    }

    /// Reads record batches that are in memory already; `name` stands for them in messages. Rows come out as they would from an
    /// Arrow file that holds the same batches.
    #[doc(hidden)]
    pub fn from_batches(name: &str, schema: SchemaRef, batches: RecordBatches) -> Result<Self> {
        let rows = Box::new(ArrowRows::new(name, schema, batches)?);
        Ok(Self::of(rows, Format::Arrow, Vec::new(), &ReadOptions::default()))
    }

    fn from_source(source: Source, options: &ReadOptions) -> Result<Self> {
        let mut source = compression::unwrap(source)?;
        if source.peek(1)?.is_empty() {
            return Err(Error::data(source.place(), "is empty", "give a file with a header and rows"));
        }
        let is_binary = match options.format {
            Some(format) => !format.is_text(),
            None => source.format.is_some() || binary_format(source.peek(6)?).is_some(),
        };
        let mut notes = Vec::new();
        if !is_binary {
            let (decoded, note) = encoding::decoded(source, options.encoding.as_deref())?;
            source = decoded;
            notes.extend(note);
        }
        let format = match options.format.or(source.format) {
            Some(format) => format,
            None => find_format(&mut source)?,
        };
        let is_spreadsheet = matches!(format, Format::Xlsx | Format::Ods);
        if options.sheet.is_some() && !is_spreadsheet {
            let problem = format!("is for spreadsheets, and {} is {format}; leave it out", source.name);
            return Err(Error::config("sheet", problem));
        }
        let rows: Box<dyn ReadRows> = match format {
            Format::Csv => Box::new(CsvReader::open(source, options)?),
            Format::Jsonl => Box::new(JsonlReader::open(source, options)?),
            Format::Arff => Box::new(ArffReader::open(source)?),
            Format::Parquet => Box::new(open_parquet(source)?),
            Format::Arrow => Box::new(open_arrow(source)?),
            Format::Xlsx | Format::Ods => Box::new(spreadsheet::open(source, format, options)?),
        };
        Ok(Self::of(rows, format, notes, options))
    }

    /// The next rows, at least one and at most `max_rows`; `None` at the end, and after an error.
    pub fn next_batch(&mut self, max_rows: usize) -> Result<Option<Table>> {
        if self.finished {
            return Ok(None);
        }
        let mut batch = self.rows.next_rows(max_rows.max(1));
        self.finished = !matches!(batch, Ok(Some(_)));
        if let (Ok(Some(batch)), Some(missing)) = (&mut batch, &self.missing) {
            batch.mark_missing(missing);
        }
        batch
    }

    /// Takes back a batch that is done with; the next one may use its memory again.
    pub fn recycle(&mut self, batch: Table) {
        self.rows.recycle(batch);
    }

    /// The format, given or found.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The delimiter and header of a CSV file, given or found.
    pub fn dialect(&self) -> Option<Dialect> {
        self.rows.dialect()
    }

    /// Sentences about the rows so far that the user should know: which lines were not UTF-8, which sheet was read.
    pub fn notes(&self) -> Vec<String> {
        self.notes.iter().cloned().chain(self.rows.notes()).collect()
    }

    /// The lines that were left out so far, with [`ReadOptions::skip_bad_lines`].
    pub fn left_out(&self) -> LeftOut {
        self.rows.left_out()
    }

    /// The files so far, and how many rows each has given; empty if there is only one file.
    pub fn parts(&self) -> Vec<(String, u64)> {
        self.rows.parts()
    }

    pub(in crate::table) fn no_rows(&self) -> Table {
        self.rows.no_rows()
    }

    /// The columns' names as far as the file declares them before its rows: none for JSON lines.
    pub fn columns(&self) -> Vec<String> {
        self.rows.no_rows().columns.into_iter().map(|column| column.name).collect()
    }
}

/// The whole file as one table, or all files of a folder. A file that declares columns and has no rows gives a table with these columns.
pub fn read_table(path: impl AsRef<Path>) -> Result<Table> {
    read_table_with(path, &ReadOptions::default())
}

/// The whole file as one table, read with options.
pub fn read_table_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    read_all(TableReader::open(path, options)?)
}

/// All rows of a reader that was just opened.
pub(in crate::table) fn read_all(mut reader: TableReader) -> Result<Table> {
    // A single batch of any size, so that nothing has to be put together. No reader allocates by `max_rows`.
    if let Some(table) = reader.next_batch(usize::MAX)? {
        return Ok(table);
    }
    let table = reader.rows.no_rows();
    if table.columns.is_empty() {
        let place = crate::error::Place { file: table.file, ..Default::default() };
        return Err(Error::data(place, "holds no rows", "give a file with rows"));
    }
    Ok(table)
}

fn find_format(source: &mut Source) -> Result<Format> {
    let ending = ending(&source.inner_name);
    let by_ending = ending.parse::<Format>().ok();
    let place = source.place();
    let head = source.peek(SAMPLE)?;
    if let Some(problem) = known_but_unreadable(head) {
        let (problem, advice) = problem;
        return Err(Error::data(place, problem, advice));
    }
    if let Some(format) = binary_format(head) {
        return Ok(format);
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut lines = text.split_inclusive(|&b| b == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let first = lines.clone().next().unwrap_or_default();
    if lines.find(|line| line[0] != b'%').is_some_and(is_arff_declaration) {
        return Ok(Format::Arff);
    }
    let looks_like_object =
        first.strip_prefix(b"{").is_some_and(|rest| matches!(rest.trim_ascii_start(), [b'"' | b'}', ..]));
    let is_object = || serde_json::from_slice::<serde::de::IgnoredAny>(first).is_ok();
    if looks_like_object && (by_ending.is_none() || is_object()) {
        return Ok(Format::Jsonl);
    }
    if first.starts_with(b"[")
        && matches!(by_ending, None | Some(Format::Jsonl))
        && first[1..].trim_ascii_start().first().is_none_or(|&b| b == b'{')
    {
        return Ok(Format::Jsonl);
    }
    Ok(by_ending.unwrap_or(Format::Csv))
}

/// The format that a mark at the beginning tells.
fn binary_format(head: &[u8]) -> Option<Format> {
    if head.starts_with(b"PAR1") {
        return Some(Format::Parquet);
    }
    (head.starts_with(b"ARROW1") || head.starts_with(&[0xff; 4])).then_some(Format::Arrow)
}

/// Files that people have, and what to do with them.
fn known_but_unreadable(head: &[u8]) -> Option<(&'static str, &'static str)> {
    match head {
        [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, ..] => Some((
            "is an old Excel file (.xls), or one with a password; neither is read",
            "save it as .xlsx without a password",
        )),
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', ..] => Some((
            "is compressed with bzip2, which is not read",
            "decompress it with `bunzip2`, or use gzip, zstd or xz",
        )),
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            Some(("is UTF-32 text", "save the file as UTF-8, for example with `iconv -f utf-32 -t utf-8`"))
        }
        [b'F', b'E', b'A', b'1', ..] => {
            Some(("is in the first version of Feather, which is not read", "write it again as Arrow, Parquet or CSV"))
        }
        _ => None,
    }
}

fn is_arff_declaration(line: &[u8]) -> bool {
    ["@relation", "@attribute", "@data"]
        .iter()
        .any(|word| line.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes())))
}

/// The ending that tells the format: `csv` of `a.csv.gz`.
pub(in crate::table) fn ending(name: &str) -> &str {
    let mut name = name;
    while let Some((stem, last)) = name.rsplit_once('.') {
        match last.to_ascii_lowercase().as_str() {
            "gz" | "zst" | "zstd" | "xz" | "tar" | "zip" => name = stem,
            _ => return last,
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, content: &[u8]) -> Result<Format> {
        find_format(&mut Source::new(name, Box::new(std::io::Cursor::new(content.to_vec()))))
    }

    #[test]
    fn content_decides_before_the_ending() {
        assert_eq!(found("a.csv", b"PAR1...").unwrap(), Format::Parquet);
        assert_eq!(found("a.csv", b"ARROW1\0\0").unwrap(), Format::Arrow);
        assert_eq!(found("a", b"\xff\xff\xff\xff\x10\0\0\0").unwrap(), Format::Arrow);
        assert_eq!(found("a.csv", b"% hello\n\n@RELATION x\n").unwrap(), Format::Arff);
        assert_eq!(found("a.csv", b"{\"a\": 1}\n").unwrap(), Format::Jsonl);
        assert_eq!(found("-", b"\xef\xbb\xbf{ \"a\": \n").unwrap(), Format::Jsonl);
        assert_eq!(found("a.csv", b"{\"a\": 1},x\n").unwrap(), Format::Csv);
        assert_eq!(found("a", b"[{\"a\": 1}]").unwrap(), Format::Jsonl);
        assert_eq!(found("a.json", b"[\n  {\n\"a\": 1}]").unwrap(), Format::Jsonl);
        assert_eq!(found("a.txt", b"a,b\n").unwrap(), Format::Csv);
        assert_eq!(found("a", b"a,b\n").unwrap(), Format::Csv);
        assert_eq!(found("a.ndjson.gz", b"oops\n").unwrap(), Format::Jsonl);
        assert_eq!(found("a.parquet", b"oops\n").unwrap(), Format::Parquet);
        assert_eq!(found("a.tar.xz", b"oops\n").unwrap(), Format::Csv);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let problem = |content: &[u8]| found("a", content).unwrap_err().to_string();
        assert!(problem(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1").contains("old Excel file (.xls)"));
        assert!(problem(b"BZh91AY&SY").contains("bzip2"));
        assert!(problem(b"\xff\xfe\0\0a\0\0\0").contains("UTF-32"));
        assert!(problem(b"FEA1").contains("Feather"));
    }

    #[test]
    fn names_of_formats() {
        assert_eq!((ending("a.b/c.TSV.gz"), ending("a.tar.xz"), ending("a.csv.tsv-old")), ("TSV", "", "tsv-old"));
        for format in
            [Format::Csv, Format::Jsonl, Format::Parquet, Format::Arrow, Format::Arff, Format::Xlsx, Format::Ods]
        {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        assert_eq!("TSV".parse::<Format>().unwrap(), Format::Csv);
        let error = "xls".parse::<Format>().unwrap_err().to_string();
        assert_eq!(error, "setting `format`: `xls` is not one of csv, jsonl, parquet, arrow, arff, xlsx, ods");
    }
}
