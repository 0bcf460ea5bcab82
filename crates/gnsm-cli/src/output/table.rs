//! Writes whole tables, batch by batch: csv, jsonl or parquet.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use gnsm::Table;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::{Map, Value as Json};

use super::kept::{Type, Value, type_of, value};
use super::{Destination, OutputFormat, ROW_GROUP, csv_cell};
use crate::display;

/// Writes tables that have the same columns.
pub struct TableWriter {
    name: String,
    /// The columns, once the first rows are there.
    columns: Vec<(String, Type)>,
    format: OutputFormat,
    state: State,
}

enum State {
    /// Nothing is written so far.
    Waiting(Option<Destination>),
    Lines(Destination),
    Parquet(Box<ArrowWriter<Destination>>),
}

impl TableWriter {
    /// Starts a file; its ending tells the format.
    pub fn create(path: &Path) -> Result<Self> {
        let format = OutputFormat::of_file(path).ok();
        let can_write =
            |format: &OutputFormat| matches!(format, OutputFormat::Csv | OutputFormat::Jsonl | OutputFormat::Parquet);
        let Some(format) = format.filter(can_write) else {
            bail!(
                "{}: this command writes csv, jsonl and parquet; name a file that ends in .csv, .jsonl or .parquet",
                path.display()
            );
        };
        let state = State::Waiting(Some(Destination::create(Some(path))?));
        Ok(Self { name: path.display().to_string(), columns: Vec::new(), format, state })
    }

    /// Writes the rows of a table.
    pub fn write(&mut self, table: &Table) -> Result<()> {
        self.write_on(table).with_context(|| self.name.clone())
    }

    fn write_on(&mut self, table: &Table) -> Result<()> {
        if let State::Waiting(destination) = &mut self.state {
            let Some(mut destination) = destination.take() else { bail!("an earlier error ended the output") };
            self.columns = table
                .columns
                .iter()
                .map(|column| (column.name.clone(), type_of(column, table.rows_may_omit_columns)))
                .collect();
            self.state = match self.format {
                OutputFormat::Parquet => State::Parquet(Box::new(self.parquet(destination)?)),
                OutputFormat::Csv => {
                    let header: Vec<String> = self.columns.iter().map(|(name, _)| csv_cell(name)).collect();
                    writeln!(destination, "{}", header.join(","))?;
                    State::Lines(destination)
                }
                _ => State::Lines(destination),
            };
        }
        let cell = |at: usize, row: usize| value(&table.columns[at].values, row);
        let n_columns = self.columns.len();
        match &mut self.state {
            State::Waiting(_) => {}
            State::Lines(out) if self.format == OutputFormat::Csv => {
                for row in 0..table.n_rows() {
                    let cells: Vec<String> = (0..n_columns).map(|at| csv_cell(&cell(at, row).text())).collect();
                    // A line without anything would be no row.
                    let line = if cells.iter().all(String::is_empty) && n_columns == 1 {
                        "\"\"".into()
                    } else {
                        cells.join(",")
                    };
                    writeln!(out, "{line}")?;
                }
            }
            State::Lines(out) => {
                for row in 0..table.n_rows() {
                    let fields =
                        self.columns.iter().enumerate().map(|(at, (name, _))| (name.clone(), json(cell(at, row))));
                    serde_json::to_writer(&mut *out, &Json::Object(fields.collect::<Map<_, _>>()))
                        .map_err(io::Error::from)?;
                    out.write_all(b"\n")?;
                }
            }
            State::Parquet(writer) => {
                let arrays = self.columns.iter().enumerate().map(|(at, (name, kind))| {
                    array(name, *kind, &(0..table.n_rows()).map(|row| cell(at, row)).collect::<Vec<Value>>())
                });
                let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
                writer.write(&RecordBatch::try_new(schema(&self.columns), arrays)?)?;
            }
        }
        Ok(())
    }

    fn parquet(&self, destination: Destination) -> Result<ArrowWriter<Destination>> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .build();
        Ok(ArrowWriter::try_new(destination, schema(&self.columns), Some(properties))?)
    }

    /// Everything is written: the file may appear.
    pub fn finish(self) -> Result<()> {
        match self.state {
            State::Waiting(_) => Ok(()),
            State::Lines(out) => out.finish(),
            State::Parquet(writer) => writer.into_inner()?.finish(),
        }
        .with_context(|| self.name)
    }
}

fn schema(columns: &[(String, Type)]) -> Arc<Schema> {
    let field = |(name, kind): &(String, Type)| {
        let data_type = match kind {
            Type::Text => DataType::Utf8,
            Type::Number => DataType::Float64,
            Type::Integer => DataType::Int64,
        };
        Field::new(name, data_type, true)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// A cell as JSON has it; an empty text is none.
fn json(value: Value) -> Json {
    match value {
        Value::Text(text) if text.is_empty() => Json::Null,
        value => value.json(),
    }
}

fn array(name: &str, kind: Type, values: &[Value]) -> Result<ArrayRef> {
    let number = |(row, value): (usize, &Value)| match value {
        Value::Missing => Ok(None),
        Value::Number(number) => Ok(Some(*number)),
        Value::Text(text) => bail!(
            "column `{name}` held numbers at first and `{}` in row {row}; write csv or jsonl",
            display::plain(text)
        ),
    };
    let numbers = || values.iter().enumerate().map(number);
    let text = |value: &Value| Some(value.text()).filter(|text| !text.is_empty());
    Ok(match kind {
        Type::Text => Arc::new(values.iter().map(text).collect::<StringArray>()),
        Type::Number => Arc::new(numbers().collect::<Result<Float64Array>>()?),
        Type::Integer => {
            let whole = numbers().map(|number| Ok(number?.map(|number| number as i64)));
            Arc::new(whole.collect::<Result<Int64Array>>()?)
        }
    })
}
