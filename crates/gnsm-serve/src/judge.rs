//! Judges the rows of a body: scores, p-values, flags, and reasons where they are asked for.

use std::borrow::Cow;

use gnsm::{DriftReport, Explanation, FdrCounter, Model, Rule, Scored, Table};

use crate::body::Body;
use crate::models::Served;
use crate::problem::Problem;

/// What is asked about rows.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// What is flagged.
    pub rule: Rule,
    /// How many reasons a row gets at the most.
    pub reasons: usize,
    /// Whether columns are set aside in which something is new in most rows, as `gnsm score` does with a file.
    pub set_aside: bool,
}

/// What is said of the rows of a body.
#[derive(Debug)]
pub struct Judged {
    /// What is said of each row, in the order of the body.
    pub rows: Vec<JudgedRow>,
    /// The columns of which something was set aside.
    pub set_aside: Vec<String>,
    /// How many rows are flagged.
    pub flagged: u64,
    /// How many rows cannot be read.
    pub bad: u64,
}

/// What is said of a row.
#[derive(Debug)]
pub struct JudgedRow {
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

/// Judges all rows.
pub fn judge(served: &Served, body: Body, question: Question) -> Result<Judged, Problem> {
    let (model, table) = (&served.model, body.table()?);
    check(model, table)?;
    let mut drift = model.drift();
    drift.add(table).map_err(Problem::unfit)?;
    // One row is too few to tell what is new in most.
    let report = (question.set_aside && table.n_rows() > 1).then(|| drift.report());
    let report = report.filter(DriftReport::sets_aside);
    let model = without(model, report.as_ref());
    let mut verdicts = score(&model, table, question.reasons).map_err(Problem::unfit)?;
    let flagged = flag(&mut verdicts, question.rule)?;
    served.recent.add(&served.model, &drift, flagged).map_err(Problem::unfit)?;
    let bad = body.bad.len() as u64;
    let good = body.rows.iter().zip(verdicts).map(|(row, verdict)| JudgedRow { row: *row, result: Ok(verdict) });
    let mut rows: Vec<JudgedRow> = good.collect();
    rows.extend(body.bad.into_iter().map(|(row, problem)| JudgedRow { row, result: Err(problem) }));
    if bad > 0 {
        rows.sort_by_key(|judged| judged.row);
    }
    let aside = report.iter().flat_map(|report| &report.columns).filter(|column| column.set_aside);
    Ok(Judged { rows, set_aside: aside.map(|column| column.column.clone()).collect(), flagged, bad })
}

/// The model without what is new in most rows.
pub fn without<'m>(model: &'m Model, report: Option<&DriftReport>) -> Cow<'m, Model> {
    let mut model = Cow::Borrowed(model);
    if let Some(report) = report.filter(|report| report.sets_aside()) {
        model.to_mut().set_aside(report);
    }
    model
}

/// Whether the rows can be of the model's table.
pub fn check(model: &Model, table: &Table) -> Result<(), Problem> {
    let report = model.check(table).map_err(Problem::unfit)?;
    let used = model.schema().used().count();
    if report.absent.len() == used {
        let names: Vec<String> = model.schema().used().take(20).map(|column| format!("`{}`", column.name)).collect();
        let more = if used > names.len() { " and more" } else { "" };
        return Err(Problem::unfit(format!("no row has a column of the model; they are {}{more}", names.join(", "))));
    }
    Ok(())
}

fn score(model: &Model, table: &Table, reasons: usize) -> gnsm::Result<Vec<Verdict>> {
    let verdict = |(scored, explanation)| Verdict { scored, anomaly: false, explanation };
    if reasons == 0 {
        return Ok(model.score(table)?.into_iter().map(|scored| verdict((scored, None))).collect());
    }
    let explained = model.score_and_explain(table, reasons)?.into_iter();
    Ok(explained.map(|(scored, explanation)| verdict((scored, Some(explanation)))).collect())
}

/// Flags rows, and counts the flags.
fn flag(verdicts: &mut [Verdict], rule: Rule) -> Result<u64, Problem> {
    let cutoff = if let Rule::Fdr(level) = rule {
        let mut counter = FdrCounter::new(level).map_err(|error| Problem::bad(error.to_string()))?;
        verdicts.iter().for_each(|verdict| counter.add(verdict.scored.p_value));
        counter.cutoff()
    } else {
        None
    };
    let mut flagged = 0;
    for verdict in verdicts {
        verdict.anomaly = rule.flags(verdict.scored.score, verdict.scored.p_value, cutoff);
        flagged += u64::from(verdict.anomaly);
    }
    Ok(flagged)
}
