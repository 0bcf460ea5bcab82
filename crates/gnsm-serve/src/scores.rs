//! What is answered about scores.

use gnsm::Reason;
use serde::Serialize;
use utoipa::ToSchema;

use crate::judge::{Judged, JudgedRow};
use crate::sheet::{Answer, Cells, Sheet, write_lines};

/// Scores.
#[derive(Debug, Serialize, ToSchema)]
pub struct Scores<'a> {
    /// The model.
    model: &'a str,
    /// Its hash.
    hash: Option<&'a str>,
    /// How many rows are flagged.
    flagged: u64,
    /// How many rows could not be read.
    bad: u64,
    /// The columns that are set aside, because something in them is new in most rows. They are no part of the scores.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    set_aside: &'a [String],
    /// What is said of each row, in the order of the request.
    rows: Vec<Said<'a>>,
    #[serde(skip)]
    #[schema(ignore)]
    n_reasons: usize,
}

/// The answer about a row. One that could not be read has an error and nothing else.
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
    fn new(judged: &'a JudgedRow) -> Self {
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

impl<'a> Scores<'a> {
    /// What is answered. A table has `n_reasons` columns of reasons.
    pub fn new(model: &'a str, hash: Option<&'a str>, judged: &'a Judged, n_reasons: usize) -> Self {
        let Judged { flagged, bad, set_aside, rows } = judged;
        let rows = rows.iter().map(Said::new).collect();
        Self { model, hash, flagged: *flagged, bad: *bad, set_aside, rows, n_reasons }
    }
}

impl Answer for Scores<'_> {
    fn lines(&self, text: &mut Vec<u8>) -> serde_json::Result<()> {
        write_lines(text, &self.rows)
    }

    /// As `gnsm score` writes it; with a column `error` where a row could not be read.
    fn sheet(&self) -> Sheet {
        let rows = &self.rows;
        let mut sheet = Sheet::default()
            .column("row", Cells::Count(rows.iter().map(|row| Some(row.row)).collect()))
            .column("score", Cells::Number(rows.iter().map(|row| row.score).collect()))
            .column("p_value", Cells::Number(rows.iter().map(|row| row.p_value).collect()))
            .column("anomaly", Cells::Flag(rows.iter().map(|row| row.anomaly).collect()));
        for k in 0..self.n_reasons {
            let text = |row: &Said<'_>| row.reasons.and_then(|reasons| reasons.get(k)).map(ToString::to_string);
            sheet = sheet.column(format!("reason_{}", k + 1), Cells::Text(rows.iter().map(text).collect()));
        }
        if self.bad > 0 {
            let error = |row: &Said<'_>| row.error.map(str::to_owned);
            sheet = sheet.column("error", Cells::Text(rows.iter().map(error).collect()));
        }
        sheet
    }
}
