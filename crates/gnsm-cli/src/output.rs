//! Writes scores to files or to standard output: csv, jsonl, parquet, or a table to read on a terminal.

use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt8Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use clap::ValueEnum;
use gnsm::Reason;
use gnsm::internals::files::AtomicFile;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde::Serialize;

use crate::display;

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
            _ => bail!(
                "{}: the ending does not tell a format; use .csv, .jsonl or .parquet, or say --output-format",
                path.display()
            ),
        }
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
    /// Standard output, or the file at `path`; that it can be written is found out here.
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
    n_reasons: usize,
    format: Writer,
}

enum Writer {
    Csv(Destination),
    Jsonl(Destination),
    Table(Destination),
    Parquet(Box<ArrowWriter<Destination>>),
}

impl ScoreWriter {
    /// Starts with the header, if the format has one. `n_reasons` is how many reasons a record has at the most.
    pub fn new(format: OutputFormat, destination: Destination, n_reasons: usize) -> Result<Self> {
        let name = destination.name();
        let format = Writer::new(format, destination, n_reasons).with_context(|| name.clone())?;
        Ok(Self { name, n_reasons, format })
    }

    /// Writes records, and hands them on to whoever reads the output.
    pub fn write(&mut self, records: &[Record]) -> Result<()> {
        self.format.write(records, self.n_reasons).with_context(|| self.name.clone())
    }

    /// Everything is written.
    pub fn finish(self) -> Result<()> {
        self.format.finish().with_context(|| self.name.clone())
    }
}

impl Writer {
    fn new(format: OutputFormat, mut destination: Destination, n_reasons: usize) -> Result<Self> {
        Ok(match format {
            OutputFormat::Csv => {
                writeln!(destination, "{}", column_names(n_reasons).join(","))?;
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
                let schema = parquet_schema(n_reasons);
                Writer::Parquet(Box::new(ArrowWriter::try_new(destination, schema, Some(properties))?))
            }
        })
    }

    fn write(&mut self, records: &[Record], n_reasons: usize) -> Result<()> {
        match self {
            Writer::Csv(out) => {
                records.iter().try_for_each(|record| write_csv(out, record, n_reasons))?;
                out.flush()?;
            }
            Writer::Jsonl(out) => {
                records.iter().try_for_each(|record| write_json(out, record, n_reasons))?;
                out.flush()?;
            }
            Writer::Table(out) => {
                records.iter().try_for_each(|record| write_line(out, record))?;
                out.flush()?;
            }
            Writer::Parquet(writer) => writer.write(&record_batch(records, n_reasons)?)?,
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        match self {
            Writer::Csv(out) | Writer::Jsonl(out) | Writer::Table(out) => out.finish(),
            Writer::Parquet(writer) => writer.into_inner()?.finish(),
        }
    }
}

fn column_names(n_reasons: usize) -> Vec<String> {
    let fixed = ["row", "score", "p_value", "anomaly"].map(str::to_owned);
    fixed.into_iter().chain((1..=n_reasons).map(|k| format!("reason_{k}"))).collect()
}

fn write_csv(out: &mut impl Write, record: &Record, n_reasons: usize) -> io::Result<()> {
    let Record { row, score, p_value, anomaly, reasons } = record;
    // The shortest digits that read back as the same number.
    write!(out, "{row},{score},{p_value},{}", u8::from(*anomaly))?;
    for k in 0..n_reasons {
        out.write_all(b",")?;
        if let Some(reason) = reasons.get(k) {
            write!(out, "\"{}\"", reason.to_string().replace('"', "\"\""))?;
        }
    }
    out.write_all(b"\n")
}

/// A record as JSON has it.
#[derive(Serialize)]
struct JsonRecord<'a> {
    row: u64,
    score: f64,
    p_value: f64,
    anomaly: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<&'a [Reason]>,
}

fn write_json(out: &mut impl Write, record: &Record, n_reasons: usize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &json_record(record, n_reasons > 0))?;
    out.write_all(b"\n")
}

fn json_record(record: &Record, with_reasons: bool) -> JsonRecord<'_> {
    JsonRecord {
        row: record.row,
        score: record.score,
        p_value: record.p_value,
        anomaly: u8::from(record.anomaly),
        reasons: with_reasons.then_some(&record.reasons),
    }
}

/// A record with its reasons as JSON.
pub fn to_json(record: &Record) -> serde_json::Result<serde_json::Value> {
    serde_json::to_value(json_record(record, true))
}

fn write_line(out: &mut impl Write, record: &Record) -> io::Result<()> {
    let Record { row, score, p_value, anomaly, reasons } = record;
    let reasons: Vec<String> = reasons.iter().map(|reason| display::plain(&reason.to_string())).collect();
    let p_value = display::p_value(*p_value);
    let line = format!("{row:>10}  {score:>12.4}  {p_value:>10}  {:>7}  {}", u8::from(*anomaly), reasons.join("; "));
    writeln!(out, "{}", line.trim_end())
}

fn parquet_schema(n_reasons: usize) -> Arc<Schema> {
    let types = [DataType::UInt64, DataType::Float64, DataType::Float64, DataType::UInt8];
    let types = types.into_iter().chain(std::iter::repeat_n(DataType::Utf8, n_reasons));
    let names = column_names(n_reasons).into_iter();
    let fields = names.zip(types).map(|(name, data_type)| {
        let nullable = data_type == DataType::Utf8;
        Field::new(name, data_type, nullable)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn record_batch(records: &[Record], n_reasons: usize) -> Result<RecordBatch> {
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(records.iter().map(|record| Some(record.row)).collect::<UInt64Array>()),
        Arc::new(records.iter().map(|record| Some(record.score)).collect::<Float64Array>()),
        Arc::new(records.iter().map(|record| Some(record.p_value)).collect::<Float64Array>()),
        Arc::new(records.iter().map(|record| Some(u8::from(record.anomaly))).collect::<UInt8Array>()),
    ];
    for k in 0..n_reasons {
        let texts = records.iter().map(|record| record.reasons.get(k).map(ToString::to_string));
        columns.push(Arc::new(texts.collect::<StringArray>()));
    }
    Ok(RecordBatch::try_new(parquet_schema(n_reasons), columns)?)
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
            part: 1.0,
            share: 1.0,
        };
        Record { row: 3, score: 0.1 + 0.2, p_value: 1.0 / 3.0, anomaly: true, reasons: vec![reason] }
    }

    #[test]
    fn csv_quotes_reasons_and_keeps_all_digits() -> Result<()> {
        let mut out = Vec::new();
        write_csv(&mut out, &record(), 2)?;
        assert_eq!(
            String::from_utf8(out)?,
            "3,0.30000000000000004,0.3333333333333333,1,\"job = 'a \"\"b\"\"\n', 100 % of the score\",\n"
        );
        Ok(())
    }

    #[test]
    fn json_has_reasons_as_objects() -> Result<()> {
        let mut out = Vec::new();
        write_json(&mut out, &record(), 0)?;
        assert_eq!(
            String::from_utf8(out)?,
            "{\"row\":3,\"score\":0.30000000000000004,\"p_value\":0.3333333333333333,\"anomaly\":1}\n"
        );
        assert_eq!(to_json(&record())?["reasons"][0]["saw"], "a \"b\"\n");
        Ok(())
    }

    #[test]
    fn endings_tell_the_format() {
        assert_eq!(OutputFormat::of_file(Path::new("a.b.CSV")).ok(), Some(OutputFormat::Csv));
        let problem = OutputFormat::of_file(Path::new("a.xlsx")).expect_err("unknown").to_string();
        assert!(problem.starts_with("a.xlsx: the ending does not tell a format; use .csv"), "{problem}");
    }
}
