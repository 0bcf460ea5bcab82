//! Judges the rows of a body: scores, p-values, flags, and reasons where they are asked for.

use gnsm::{Explanation, FdrCounter, Model, Rule, Scored, Table};

use crate::body::Body;
use crate::problem::Problem;

/// What is said of a row.
#[derive(Debug)]
pub struct Judged {
    /// Its number in the body, from 0.
    pub row: u64,
    /// Its score, or why there is none.
    pub result: Result<Verdict, String>,
}

/// What is said of a row that can be scored.
#[derive(Debug)]
pub struct Verdict {
    /// Score and p-value.
    pub scored: Scored,
    /// Whether it is flagged.
    pub anomaly: bool,
    /// Why, if that was asked.
    pub explanation: Option<Explanation>,
}

/// Judges all rows, and gives them in the order of the body.
pub fn judge(model: &Model, body: Body, rule: Rule, explain: usize) -> Result<Vec<Judged>, Problem> {
    let bad = body.bad.into_iter().map(|(row, problem)| Judged { row, result: Err(problem) });
    let mut judged: Vec<Judged> = bad.collect();
    for (table, rows) in body.tables {
        check(model, &table)?;
        for (row, scored) in rows.iter().zip(score(model, &table, explain)) {
            let verdict = |(scored, explanation)| Verdict { scored, anomaly: false, explanation };
            judged.push(Judged { row: *row, result: scored.map(verdict) });
        }
    }
    judged.sort_by_key(|judged| judged.row);
    if judged.iter().all(|judged| judged.result.is_err()) {
        let first =
            judged.first().map(|judged| (judged.row, judged.result.as_ref().err().cloned().unwrap_or_default()));
        let (row, problem) = first.unwrap_or_default();
        return Err(Problem::bad(format!("no row can be read; body, row {row}: {problem}")));
    }
    let cutoff = cutoff(rule, &judged)?;
    for verdict in judged.iter_mut().filter_map(|judged| judged.result.as_mut().ok()) {
        verdict.anomaly = rule.flags(verdict.scored.score, verdict.scored.p_value, cutoff);
    }
    Ok(judged)
}

/// Whether the rows can be of the model's table.
pub fn check(model: &Model, table: &Table) -> Result<(), Problem> {
    let report = model.check(table).map_err(|error| Problem::unfit(error.to_string()))?;
    let used = model.schema().used().count();
    if report.absent.len() == used {
        let names: Vec<String> = model.schema().used().take(20).map(|column| format!("`{}`", column.name)).collect();
        let more = if used > names.len() { " and more" } else { "" };
        return Err(Problem::unfit(format!("no row has a column of the model; they are {}{more}", names.join(", "))));
    }
    Ok(())
}

type Result1 = Result<(Scored, Option<Explanation>), String>;

/// Scores a table; where that fails, each of its rows by itself.
fn score(model: &Model, table: &Table, explain: usize) -> Vec<Result1> {
    let scored: gnsm::Result<Vec<_>> = if explain == 0 {
        model.score(table).map(|scores| scores.into_iter().map(|scored| (scored, None)).collect())
    } else {
        let explained = model.score_and_explain(table, explain);
        explained.map(|rows| rows.into_iter().map(|(scored, explanation)| (scored, Some(explanation))).collect())
    };
    match scored {
        Ok(rows) => rows.into_iter().map(Ok).collect(),
        // A column of a type that cannot be scored is so in all its rows.
        Err(error) => vec![Err(error.to_string()); table.n_rows()],
    }
}

fn cutoff(rule: Rule, judged: &[Judged]) -> Result<Option<f64>, Problem> {
    let Rule::Fdr(level) = rule else { return Ok(None) };
    let mut counter = FdrCounter::new(level).map_err(|error| Problem::bad(error.to_string()))?;
    for verdict in judged.iter().filter_map(|judged| judged.result.as_ref().ok()) {
        counter.add(verdict.scored.p_value);
    }
    Ok(counter.cutoff())
}
