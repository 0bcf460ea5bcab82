//! Writes what was judged, in the kind that was asked for.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt8Array, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gnsm::Reason;
use serde::Serialize;
use utoipa::ToSchema;

use crate::body::Media;
use crate::judge::Judged;
use crate::problem::Problem;

/// An answer as JSON.
#[derive(Debug, Serialize, ToSchema)]
pub struct Answer<'a> {
    /// The model.
    model: &'a str,
    /// Its hash.
    hash: Option<&'a str>,
    /// How many rows are flagged.
    flagged: u64,
    /// How many rows could not be read.
    bad: u64,
    /// What is said of each row, in the order of the request.
    rows: Vec<Said<'a>>,
}

/// What is said of a row. One that could not be read has an error and nothing else.
#[derive(Debug, Serialize, ToSchema)]
pub struct Said<'a> {
    /// Its number in the request, from 0.
    row: u64,
    /// Higher is odder.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    /// The share of usual rows that are at least as odd.
    #[serde(skip_serializing_if = "Option::is_none")]
    p_value: Option<f64>,
    /// 1 if the row is flagged.
    #[serde(skip_serializing_if = "Option::is_none")]
    anomaly: Option<u8>,
    /// The part of the score that no column is responsible for.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<f64>,
    /// The part of all columns that are not among the reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<f64>,
    /// The strongest reasons, strongest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    reasons: Option<&'a [Reason]>,
    /// Why the row could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl<'a> Said<'a> {
    fn new(judged: &'a Judged) -> Self {
        let verdict = judged.result.as_ref().ok();
        let explanation = verdict.and_then(|verdict| verdict.explanation.as_ref());
        Self {
            row: judged.row,
            score: verdict.map(|verdict| verdict.scored.score),
            p_value: verdict.map(|verdict| verdict.scored.p_value),
            anomaly: verdict.map(|verdict| u8::from(verdict.anomaly)),
            base: explanation.map(|explanation| explanation.base),
            rest: explanation.map(|explanation| explanation.rest),
            reasons: explanation.map(|explanation| explanation.reasons.as_slice()),
            error: judged.result.as_ref().err().map(String::as_str),
        }
    }
}

/// How many rows are flagged, and how many could not be read.
pub fn counts(judged: &[Judged]) -> (u64, u64) {
    let flagged = judged.iter().filter(|row| row.result.as_ref().is_ok_and(|verdict| verdict.anomaly)).count();
    (flagged as u64, judged.iter().filter(|row| row.result.is_err()).count() as u64)
}

/// The answer. `n_reasons` is how many columns of reasons a table has at the most.
pub fn write(
    media: Media,
    model: &str,
    hash: Option<&str>,
    judged: &[Judged],
    n_reasons: usize,
) -> Result<Response, Problem> {
    let longest = |row: &Judged| {
        let explanation = row.result.as_ref().ok().and_then(|verdict| verdict.explanation.as_ref());
        explanation.map_or(0, |explanation| explanation.reasons.len())
    };
    let n_reasons = n_reasons.min(judged.iter().map(longest).max().unwrap_or(0));
    let failed = |error: String| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error);
    let bytes = match media {
        Media::Json => {
            let (flagged, bad) = counts(judged);
            let rows = judged.iter().map(Said::new).collect();
            serde_json::to_vec(&Answer { model, hash, flagged, bad, rows })
                .map_err(|error| failed(error.to_string()))?
        }
        Media::Lines => {
            let mut text = Vec::new();
            for row in judged {
                serde_json::to_writer(&mut text, &Said::new(row)).map_err(|error| failed(error.to_string()))?;
                text.push(b'\n');
            }
            text
        }
        Media::Csv => csv(judged, n_reasons).into_bytes(),
        Media::Arrow => arrow(judged, n_reasons).map_err(|error| failed(error.to_string()))?,
    };
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static(media.name()))], bytes).into_response())
}

fn names(judged: &[Judged], n_reasons: usize) -> Vec<String> {
    let fixed = ["row", "score", "p_value", "anomaly"].map(str::to_owned);
    let error = counts(judged).1 > 0;
    fixed
        .into_iter()
        .chain((1..=n_reasons).map(|k| format!("reason_{k}")))
        .chain(error.then(|| "error".to_owned()))
        .collect()
}

/// As `gnsm score` writes it; with a column `error` where a row could not be read.
fn csv(judged: &[Judged], n_reasons: usize) -> String {
    let names = names(judged, n_reasons);
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text = names.join(",") + "\n";
    for row in judged.iter().map(Said::new) {
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let anomaly = row.anomaly.map(|anomaly| anomaly.to_string()).unwrap_or_default();
        let _ = write!(text, "{},{},{},{anomaly}", row.row, number(row.score), number(row.p_value));
        for k in 0..n_reasons {
            let reason = row.reasons.and_then(|reasons| reasons.get(k));
            text.push(',');
            text += &reason.map(|reason| quoted(&reason.to_string())).unwrap_or_default();
        }
        if names.len() > 4 + n_reasons {
            text.push(',');
            text += &row.error.map(quoted).unwrap_or_default();
        }
        text.push('\n');
    }
    text
}

fn arrow(judged: &[Judged], n_reasons: usize) -> Result<Vec<u8>, ArrowError> {
    let names = names(judged, n_reasons);
    let rows: Vec<Said<'_>> = judged.iter().map(Said::new).collect();
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| Some(row.row)).collect::<UInt64Array>()),
        Arc::new(rows.iter().map(|row| row.score).collect::<Float64Array>()),
        Arc::new(rows.iter().map(|row| row.p_value).collect::<Float64Array>()),
        Arc::new(rows.iter().map(|row| row.anomaly).collect::<UInt8Array>()),
    ];
    for k in 0..n_reasons {
        let text = |row: &Said<'_>| row.reasons.and_then(|reasons| reasons.get(k)).map(ToString::to_string);
        columns.push(Arc::new(rows.iter().map(text).collect::<StringArray>()));
    }
    if names.len() > columns.len() {
        columns.push(Arc::new(rows.iter().map(|row| row.error).collect::<StringArray>()));
    }
    let types = [DataType::UInt64, DataType::Float64, DataType::Float64, DataType::UInt8];
    let types = types.into_iter().chain(std::iter::repeat(DataType::Utf8));
    let fields: Vec<Field> = names.into_iter().zip(types).map(|(name, kind)| Field::new(name, kind, true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &schema)?;
    writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
    writer.finish()?;
    drop(writer);
    Ok(bytes)
}
