//! Answers in the kind that was asked for: JSON, lines of JSON, or a table as CSV or Arrow.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt8Array, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::media::Media;
use crate::problem::Problem;

/// The cells of a column of an answer.
#[derive(Debug)]
pub enum Cells {
    /// Whole numbers.
    Count(Vec<Option<u64>>),
    /// 0 and 1.
    Flag(Vec<Option<u8>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
    /// Texts.
    Text(Vec<Option<String>>),
}

/// An answer as a table.
#[derive(Debug, Default)]
pub struct Sheet(Vec<(String, Cells)>);

impl Sheet {
    /// Adds a column.
    pub fn column(mut self, name: impl Into<String>, cells: Cells) -> Self {
        self.0.push((name.into(), cells));
        self
    }

    /// As the command line writes it: numbers with the shortest digits that read back the same, texts in quotes.
    fn csv(&self) -> String {
        let mut text = self.0.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(",") + "\n";
        for row in 0..self.n_rows() {
            for (at, (_, cells)) in self.0.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                cells.write(row, &mut text);
            }
            text.push('\n');
        }
        text
    }

    /// As an Arrow stream.
    pub fn arrow(self) -> Result<Vec<u8>, ArrowError> {
        let field = |(name, cells): &(String, Cells)| Field::new(name, cells.data_type(), true);
        let schema = Arc::new(Schema::new(self.0.iter().map(field).collect::<Vec<_>>()));
        let columns = self.0.into_iter().map(|(_, cells)| cells.array()).collect();
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new(&mut bytes, &schema)?;
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
        writer.finish()?;
        drop(writer);
        Ok(bytes)
    }

    fn n_rows(&self) -> usize {
        self.0.first().map_or(0, |(_, cells)| cells.len())
    }
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Self::Count(cells) => cells.len(),
            Self::Flag(cells) => cells.len(),
            Self::Number(cells) => cells.len(),
            Self::Text(cells) => cells.len(),
        }
    }

    fn write(&self, row: usize, text: &mut String) {
        // Writing into a text does not fail.
        let _ = match self {
            Self::Count(cells) => cells[row].map_or(Ok(()), |cell| write!(text, "{cell}")),
            Self::Flag(cells) => cells[row].map_or(Ok(()), |cell| write!(text, "{cell}")),
            Self::Number(cells) => cells[row].map_or(Ok(()), |cell| write!(text, "{cell}")),
            Self::Text(cells) => {
                cells[row].as_ref().map_or(Ok(()), |cell| write!(text, "\"{}\"", cell.replace('"', "\"\"")))
            }
        };
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Count(_) => DataType::UInt64,
            Self::Flag(_) => DataType::UInt8,
            Self::Number(_) => DataType::Float64,
            Self::Text(_) => DataType::Utf8,
        }
    }

    fn array(self) -> ArrayRef {
        match self {
            Self::Count(cells) => Arc::new(UInt64Array::from(cells)),
            Self::Flag(cells) => Arc::new(UInt8Array::from(cells)),
            Self::Number(cells) => Arc::new(Float64Array::from(cells)),
            Self::Text(cells) => Arc::new(StringArray::from(cells)),
        }
    }
}

/// What can be answered in every kind.
pub trait Answer: Serialize {
    /// Writes an object a line.
    fn lines(&self, text: &mut Vec<u8>) -> serde_json::Result<()>;

    /// Makes a table.
    fn sheet(&self) -> Sheet;
}

/// Writes objects, one a line.
pub fn write_lines(text: &mut Vec<u8>, objects: impl IntoIterator<Item = impl Serialize>) -> serde_json::Result<()> {
    for object in objects {
        serde_json::to_writer(&mut *text, &object)?;
        text.push(b'\n');
    }
    Ok(())
}

/// An answer in the kind that was asked for.
pub fn respond(media: Media, answer: &impl Answer) -> Result<Response, Problem> {
    let failed = |error: &dyn std::error::Error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let mut bytes = Vec::new();
    match media {
        Media::Json => serde_json::to_writer(&mut bytes, answer).map_err(|error| failed(&error))?,
        Media::Lines => answer.lines(&mut bytes).map_err(|error| failed(&error))?,
        Media::Csv => bytes = answer.sheet().csv().into_bytes(),
        Media::Arrow => bytes = answer.sheet().arrow().map_err(|error| failed(&error))?,
    }
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static(media.name()))], bytes).into_response())
}
