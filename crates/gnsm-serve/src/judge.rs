//! Judges the rows of a body: scores, p-values, flags, and reasons where they are asked for.

use gnsm::{Decision, DriftReport, Explanation, Judge, Model, Rule, Scored, Table};

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
    let judge = judge_without(model, report.as_ref());
    let batch = judge.read(table).map_err(Problem::unfit)?;
    let explanations = if question.reasons > 0 { batch.explain_all(question.reasons) } else { Vec::new() };
    let mut explanations = explanations.into_iter();
    let mut decision = Decision::new(question.rule).map_err(|error| Problem::bad(error.to_string()))?;
    decision.add(batch.scores());
    let flags = decision.finish();
    served.recent.add(model, &drift, flags.flagged()).map_err(Problem::unfit)?;
    let bad = body.bad.len() as u64;
    let verdict =
        |scored: &Scored| Verdict { scored: *scored, anomaly: flags.flags(scored), explanation: explanations.next() };
    let verdicts = batch.scores().iter().map(verdict);
    let good = body.rows.iter().zip(verdicts).map(|(row, verdict)| JudgedRow { row: *row, result: Ok(verdict) });
    let mut rows: Vec<JudgedRow> = good.collect();
    rows.extend(body.bad.iter().map(|(row, problem)| JudgedRow { row: *row, result: Err(problem.clone()) }));
    if bad > 0 {
        rows.sort_by_key(|judged| judged.row);
    }
    let aside = report.iter().flat_map(|report| &report.columns).filter(|column| column.set_aside);
    let set_aside = aside.map(|column| column.column.clone()).collect();
    Ok(Judged { rows, set_aside, flagged: flags.flagged(), bad })
}

/// What judges rows without what is new in most of them.
pub fn judge_without<'m>(model: &'m Model, report: Option<&DriftReport>) -> Judge<'m> {
    report.map_or_else(|| model.judge(), |report| model.judge_without(report))
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
