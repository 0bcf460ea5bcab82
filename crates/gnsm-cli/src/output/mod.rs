//! Writes scores to files or to standard output: csv, jsonl, parquet, xlsx, or a table to read on a terminal.
//!
//! Nothing is written before the first records are there: a run that fails early leaves no header behind.

pub mod kept;
mod spool;
mod table;
mod xlsx;

use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt8Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use clap::ValueEnum;
use gnsm::Reason;
use gnsm::internals::files::AtomicFile;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::{Map, Value as Json};

use crate::display;
use kept::{Kept, KeptColumn, Type, Value};
pub use spool::Spool;
pub use table::TableWriter;
use xlsx::XlsxWriter;

/// Rows of a Parquet row group: they are held until it is full.
const ROW_GROUP: usize = 1 << 16;

/// What is written about a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The row, counted from 0.
    pub row: u64,
    /// Higher is odder.
    pub score: f64,
    /// The share of usual rows that are at least as odd.
    pub p_value: f64,
    /// Whether it is flagged.
    pub anomaly: bool,
    /// The strongest reasons, if asked for.
    pub reasons: Vec<Reason>,
    /// Cells of the input that are passed through.
    pub kept: Vec<Value>,
    /// For each of them its column's share of the score, where the format shows it.
    pub shares: Vec<f64>,
}

/// The formats that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Comma-separated values with a header.
    Csv,
    /// One JSON object per line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
    /// A workbook for Excel and its like.
    Xlsx,
    /// Columns of a fixed width, for reading on a terminal.
    Table,
}

impl OutputFormat {
    /// The format that a file's ending asks for.
    pub fn of_file(path: &Path) -> Result<Self> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("csv") => Ok(Self::Csv),
            Some("jsonl" | "ndjson") => Ok(Self::Jsonl),
            Some("parquet" | "pq") => Ok(Self::Parquet),
            Some("xlsx") => Ok(Self::Xlsx),
            _ => bail!(
                "{}: the ending does not tell a format; use .csv, .jsonl, .parquet or .xlsx, or say --output-format",
                path.display()
            ),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
            Self::Xlsx => "xlsx",
            Self::Table => "a table",
        }
    }

    /// Whether it is made of bytes that a terminal cannot show.
    pub fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Xlsx)
    }
}

/// Where scores go.
pub enum Destination {
    /// Standard output.
    Stdout(BufWriter<Stdout>),
    /// A file that appears when it is complete, and its path.
    File(AtomicFile, PathBuf),
}

impl Destination {
    /// Standard output, or the file at `path`. If that cannot be written, it is found out here.
    pub fn create(path: Option<&Path>) -> Result<Self> {
        Ok(match path {
            None => Self::Stdout(BufWriter::new(io::stdout())),
            Some(path) => Self::File(crate::commands::create_file(path)?, path.to_path_buf()),
        })
    }

    fn name(&self) -> String {
        match self {
            Self::Stdout(_) => "standard output".into(),
            Self::File(_, path) => path.display().to_string(),
        }
    }

    /// Everything is written: the file may appear.
    pub fn finish(self) -> Result<()> {
        match self {
            Self::Stdout(mut stdout) => Ok(stdout.flush()?),
            Self::File(file, _) => Ok(file.finish()?),
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(file, _) => file.flush(),
        }
    }
}

/// Writes records in one of the formats.
pub struct ScoreWriter {
    /// What stands for the destination in messages.
    name: String,
    format: OutputFormat,
    n_reasons: usize,
    kept: Kept,
    state: State,
}

enum State {
    /// Nothing is written so far.
    Waiting(Destination),
    Writing(Writer),
    /// An error came between.
    Broken,
}

enum Writer {
    Csv(Destination),
    Jsonl(Destination),
    Table(Destination),
    Parquet(Box<ArrowWriter<Destination>>),
    Xlsx(Box<XlsxWriter>),
}

impl ScoreWriter {
    /// `n_reasons` is how many reasons a record has at the most.
    pub fn new(format: OutputFormat, destination: Destination, n_reasons: usize) -> Self {
        let (name, kept) = (destination.name(), Kept::default());
        Self { name, format, n_reasons, kept, state: State::Waiting(destination) }
    }

    /// The names of the columns that the output has without any that are kept.
    pub fn own_names(&self) -> Vec<String> {
        own_names(self.n_reasons)
    }

    /// Says which columns are passed through, before the first record.
    pub fn keep(&mut self, kept: Kept) {
        self.kept = kept;
    }

    /// The columns that are passed through.
    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Whether records need the shares of the score.
    pub fn shows_shares(&self) -> bool {
        self.format == OutputFormat::Xlsx && !self.kept.columns.is_empty()
    }

    /// Writes records, and hands them on to whoever reads the output.
    pub fn write(&mut self, records: &[Record]) -> Result<()> {
        self.write_on(records).with_context(|| self.name.clone())
    }

    fn write_on(&mut self, records: &[Record]) -> Result<()> {
        let mut writer = match std::mem::replace(&mut self.state, State::Broken) {
            State::Waiting(destination) => Writer::new(self.format, destination, self.n_reasons, &self.kept)?,
            State::Writing(writer) => writer,
            State::Broken => bail!("an earlier error ended the output"),
        };
        writer.write(records, self.n_reasons, &self.kept)?;
        self.state = State::Writing(writer);
        Ok(())
    }

    /// Everything is written.
    pub fn finish(mut self) -> Result<()> {
        if matches!(self.state, State::Waiting(_)) {
            self.write(&[])?;
        }
        match self.state {
            State::Writing(writer) => writer.finish().with_context(|| self.name.clone()),
            State::Waiting(_) | State::Broken => Ok(()),
        }
    }
}

impl Writer {
    fn new(format: OutputFormat, mut destination: Destination, n_reasons: usize, kept: &Kept) -> Result<Self> {
        Ok(match format {
            OutputFormat::Csv => {
                let names: Vec<String> = column_names(n_reasons, kept).iter().map(|name| csv_cell(name)).collect();
                writeln!(destination, "{}", names.join(","))?;
                Writer::Csv(destination)
            }
            OutputFormat::Jsonl => Writer::Jsonl(destination),
            OutputFormat::Table => {
                let reasons = if n_reasons > 0 { "  reasons" } else { "" };
                writeln!(destination, "{:>10}  {:>12}  {:>10}  anomaly{reasons}", "row", "score", "p_value")?;
                Writer::Table(destination)
            }
            OutputFormat::Parquet => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::ZSTD(ZstdLevel::default()))
                    .set_max_row_group_row_count(Some(ROW_GROUP))
                    .build();
                let schema = parquet_schema(n_reasons, kept);
                Writer::Parquet(Box::new(ArrowWriter::try_new(destination, schema, Some(properties))?))
            }
            OutputFormat::Xlsx => Writer::Xlsx(Box::new(XlsxWriter::new(destination, n_reasons, kept)?)),
        })
    }

    fn write(&mut self, records: &[Record], n_reasons: usize, kept: &Kept) -> Result<()> {
        match self {
            Writer::Csv(out) => {
                records.iter().try_for_each(|record| write_csv(out, record, n_reasons, kept.has_id))?;
                out.flush()?;
            }
            Writer::Jsonl(out) => {
                for record in records {
                    // Makes an error of writing of it, so that a closed pipe is recognised.
                    let object = json_record(record, n_reasons > 0, kept);
                    serde_json::to_writer(&mut *out, &object).map_err(io::Error::from)?;
                    out.write_all(b"\n")?;
                }
                out.flush()?;
            }
            Writer::Table(out) => {
                records.iter().try_for_each(|record| write_line(out, record, kept))?;
                out.flush()?;
            }
            Writer::Parquet(writer) => writer.write(&record_batch(records, n_reasons, kept)?)?,
            Writer::Xlsx(writer) => writer.write(records)?,
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        match self {
            Writer::Csv(out) | Writer::Jsonl(out) | Writer::Table(out) => out.finish(),
            Writer::Parquet(writer) => writer.into_inner()?.finish(),
            Writer::Xlsx(writer) => writer.finish(),
        }
    }
}

fn own_names(n_reasons: usize) -> Vec<String> {
    let fixed = ["row", "score", "p_value", "anomaly"].map(str::to_owned);
    fixed.into_iter().chain((1..=n_reasons).map(|k| format!("reason_{k}"))).collect()
}

/// All columns of the output: what names the rows, ours, then what is passed through.
fn column_names(n_reasons: usize, kept: &Kept) -> Vec<String> {
    in_order(own_names(n_reasons), kept.columns.iter().map(|kept| kept.title.clone()), kept.has_id)
}

/// Puts our columns between what names the rows and the others.
fn in_order<T>(own: Vec<T>, kept: impl IntoIterator<Item = T>, has_id: bool) -> Vec<T> {
    let mut kept = kept.into_iter();
    let mut all: Vec<T> = kept.by_ref().take(usize::from(has_id)).collect();
    all.extend(own);
    all.extend(kept);
    all
}

/// A cell of csv, in quotes where it needs them.
pub fn csv_cell(text: &str) -> String {
    let is_plain = text.trim() == text && !text.contains([',', '"', '\n', '\r']);
    if is_plain { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn write_csv(out: &mut impl Write, record: &Record, n_reasons: usize, has_id: bool) -> io::Result<()> {
    let Record { row, score, p_value, anomaly, reasons, kept, .. } = record;
    let ids = usize::from(has_id).min(kept.len());
    for id in &kept[..ids] {
        write!(out, "{},", csv_cell(&id.text()))?;
    }
    // The shortest digits that read back as the same number.
    write!(out, "{row},{score},{p_value},{}", u8::from(*anomaly))?;
    for k in 0..n_reasons {
        out.write_all(b",")?;
        if let Some(reason) = reasons.get(k) {
            out.write_all(quoted(&reason.to_string()).as_bytes())?;
        }
    }
    for value in &kept[ids..] {
        write!(out, ",{}", csv_cell(&value.text()))?;
    }
    out.write_all(b"\n")
}

fn json_record(record: &Record, with_reasons: bool, kept: &Kept) -> Json {
    let own = [
        ("row", Json::from(record.row)),
        ("score", record.score.into()),
        ("p_value", record.p_value.into()),
        ("anomaly", u8::from(record.anomaly).into()),
    ];
    let mut own: Vec<(String, Json)> = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    if with_reasons {
        // Reasons are texts and numbers: they always serialise.
        own.push(("reasons".to_owned(), serde_json::to_value(&record.reasons).unwrap_or_default()));
    }
    let passed = kept.columns.iter().zip(&record.kept).map(|(column, value)| (column.title.clone(), value.json()));
    Json::Object(in_order(own, passed, kept.has_id).into_iter().collect::<Map<_, _>>())
}

/// A record with its reasons as JSON.
pub fn to_json(record: &Record, kept: &Kept) -> Json {
    json_record(record, true, kept)
}

fn write_line(out: &mut impl Write, record: &Record, kept: &Kept) -> io::Result<()> {
    let Record { row, score, p_value, anomaly, reasons, .. } = record;
    let mut more: Vec<String> = reasons.iter().map(|reason| display::plain(&reason.to_string())).collect();
    more.extend(
        kept.columns
            .iter()
            .zip(&record.kept)
            .map(|(column, value)| format!("{} = {}", display::plain(&column.name), display::value(&value.text()))),
    );
    let p_value = display::p_value(*p_value);
    let line = format!("{row:>10}  {score:>12.4}  {p_value:>10}  {:>7}  {}", u8::from(*anomaly), more.join("; "));
    writeln!(out, "{}", line.trim_end())
}

fn parquet_schema(n_reasons: usize, kept: &Kept) -> Arc<Schema> {
    let types = [DataType::UInt64, DataType::Float64, DataType::Float64, DataType::UInt8];
    let own = own_names(n_reasons).into_iter().enumerate().map(|(at, name)| match types.get(at) {
        Some(data_type) => Field::new(name, data_type.clone(), false),
        None => Field::new(name, DataType::Utf8, true),
    });
    let passed = kept.columns.iter().map(|column| {
        let data_type = match column.kind {
            Type::Text => DataType::Utf8,
            Type::Number => DataType::Float64,
            Type::Integer => DataType::Int64,
        };
        Field::new(&column.title, data_type, true)
    });
    Arc::new(Schema::new(in_order(own.collect(), passed, kept.has_id)))
}

fn record_batch(records: &[Record], n_reasons: usize, kept: &Kept) -> Result<RecordBatch> {
    let mut own: Vec<ArrayRef> = vec![
        Arc::new(records.iter().map(|record| Some(record.row)).collect::<UInt64Array>()),
        Arc::new(records.iter().map(|record| Some(record.score)).collect::<Float64Array>()),
        Arc::new(records.iter().map(|record| Some(record.p_value)).collect::<Float64Array>()),
        Arc::new(records.iter().map(|record| Some(u8::from(record.anomaly))).collect::<UInt8Array>()),
    ];
    for k in 0..n_reasons {
        let texts = records.iter().map(|record| record.reasons.get(k).map(ToString::to_string));
        own.push(Arc::new(texts.collect::<StringArray>()));
    }
    let passed = kept.columns.iter().enumerate().map(|(at, column)| passed_array(records, at, column));
    let passed = passed.collect::<Result<Vec<ArrayRef>>>()?;
    Ok(RecordBatch::try_new(parquet_schema(n_reasons, kept), in_order(own, passed, kept.has_id))?)
}

fn passed_array(records: &[Record], at: usize, column: &KeptColumn) -> Result<ArrayRef> {
    let number = |record: &Record| match &record.kept[at] {
        Value::Missing => Ok(None),
        Value::Number(number) => Ok(Some(*number)),
        Value::Text(text) => bail!(
            "column `{}` held numbers at first and `{}` in row {}; keep it in csv or jsonl",
            column.name,
            display::plain(text),
            record.row
        ),
    };
    let numbers = || records.iter().map(number);
    Ok(match column.kind {
        Type::Text => {
            let text = |record: &Record| match &record.kept[at] {
                Value::Missing => None,
                value => Some(value.text()),
            };
            Arc::new(records.iter().map(text).collect::<StringArray>())
        }
        Type::Number => Arc::new(numbers().collect::<Result<Float64Array>>()?),
        Type::Integer => {
            let whole = numbers().map(|number| Ok(number?.map(|number| number as i64)));
            Arc::new(whole.collect::<Result<Int64Array>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let reason = Reason {
            column: "job".into(),
            saw: "a \"b\"\n".into(),
            other: None,
            note: None,
            similar: None,
            seen_probability: None,
            expected: None,
            probability: None,
            side: None,
            is_new: false,
            part: 1.0,
            share: 1.0,
        };
        let kept = vec![Value::Text("C 7".into()), Value::Text(" a,b".into()), Value::Missing];
        let (score, p_value) = (0.1 + 0.2, 1.0 / 3.0);
        Record { row: 3, score, p_value, anomaly: true, reasons: vec![reason], kept, shares: Vec::new() }
    }

    fn kept() -> Kept {
        let column = |name: &str| KeptColumn { name: name.into(), title: name.into(), kind: Type::Text };
        Kept { columns: ["id", "x", "y"].map(column).to_vec(), has_id: true, ..Kept::default() }
    }

    #[test]
    fn csv_quotes_reasons_and_keeps_all_digits() -> Result<()> {
        let mut out = Vec::new();
        write_csv(&mut out, &record(), 2, true)?;
        assert_eq!(
            String::from_utf8(out)?,
            "C 7,3,0.30000000000000004,0.3333333333333333,1,\"job = 'a \"\"b\"\"\n', 100 % of the score\",,\" a,b\",\n"
        );
        Ok(())
    }

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(["2007_000033", "a,\"b\"", "x "].map(csv_cell), ["2007_000033", "\"a,\"\"b\"\"\"", "\"x \""]);
    }

    #[test]
    fn json_has_reasons_as_objects() {
        let record = record();
        assert_eq!(
            json_record(&record, false, &kept()).to_string(),
            "{\"id\":\"C 7\",\"row\":3,\"score\":0.30000000000000004,\"p_value\":0.3333333333333333,\"anomaly\":1,\
             \"x\":\" a,b\",\"y\":null}"
        );
        assert_eq!(to_json(&record, &Kept::default())["reasons"][0]["saw"], "a \"b\"\n");
    }

    #[test]
    fn endings_tell_the_format() {
        assert_eq!(OutputFormat::of_file(Path::new("a.b.CSV")).ok(), Some(OutputFormat::Csv));
        assert_eq!(OutputFormat::of_file(Path::new("x.xlsx")).ok(), Some(OutputFormat::Xlsx));
        let problem = OutputFormat::of_file(Path::new("a.doc")).expect_err("unknown").to_string();
        assert!(problem.starts_with("a.doc: the ending does not tell a format; use .csv"), "{problem}");
    }
}
