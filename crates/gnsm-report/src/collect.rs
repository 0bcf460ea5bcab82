//! Walks over the rows of a file once and keeps what the page shows, in memory that does not grow with the file.

use gnsm::{
    Batch, Calibration, ColumnReport, DriftCounter, DriftReport, Explanation, Flags, Judge, Result, Rule, Scored, Table,
};

use crate::nearest::UsualRows;
use crate::page::Report;
use crate::tally::Tally;
use crate::words::cut;

/// Rows of the page, at the most.
pub const MOST_ROWS: usize = 1000;
/// Rows of the page where fewer are flagged.
const FEWEST_ROWS: usize = 100;
/// Characters of a cell that are kept.
pub const CELL: usize = 300;
/// The p-value from which on a row is usual.
const USUAL: f64 = 0.5;
/// Bins of scores up to the highest of the usual rows, and beyond.
const BINS_USUAL: usize = 40;
const BINS: usize = 60;

/// A row for the page.
#[derive(Debug, Clone)]
pub struct OddRow {
    /// Its number in the file, from 0.
    pub row: u64,
    /// Its line in the file, or its number from 1 where the format has no lines.
    pub line: u64,
    /// Score and p-value.
    pub scored: Scored,
    /// Its cells by the page's columns, cut to a length that fits.
    pub cells: Vec<Option<String>>,
    /// Why it is odd.
    pub explanation: Explanation,
    /// What the detector sees.
    pub codes: Vec<u32>,
    /// What the detector sees.
    pub numbers: Vec<f32>,
}

/// Takes the rows of a file, batch by batch.
pub struct Collector<'m> {
    judge: &'m Judge<'m>,
    most: Option<usize>,
    is_own: bool,
    columns: Vec<String>,
    report: ColumnReport,
    /// Compares the rows with those learned from, as they come.
    drift: Option<DriftCounter<'m>>,
    compared: Option<DriftReport>,
    rows: u64,
    unread: u64,
    scores: ScoreBins,
    tally: Tally,
    odd: Vec<OddRow>,
    usual: UsualRows,
}

impl<'m> Collector<'m> {
    /// Starts with no rows.
    pub fn new(judge: &'m Judge<'m>) -> Self {
        let model = judge.model();
        Self {
            judge,
            most: None,
            is_own: false,
            columns: Vec::new(),
            report: ColumnReport::default(),
            drift: Some(model.drift()),
            compared: None,
            rows: 0,
            unread: 0,
            scores: ScoreBins::new(model.calibration()),
            tally: Tally::new(model.encoder()),
            odd: Vec::new(),
            usual: UsualRows::new(),
        }
    }

    /// Shows exactly the `most` oddest rows, 1,000 at the most. Without this, all flagged rows are shown, or a hundred.
    pub fn top(mut self, most: usize) -> Self {
        self.most = Some(most.min(MOST_ROWS));
        self
    }

    /// Shows how the file differs from what was learned by a `report` that was made of all rows before; `None` leaves
    /// the comparison out. Without this call, rows are compared as they come.
    pub fn compared(mut self, report: Option<DriftReport>) -> Self {
        (self.drift, self.compared) = (None, report);
        self
    }

    /// Tells of rows that could not be read.
    pub fn leave_out(&mut self, rows: u64) {
        self.unread += rows;
    }

    /// Takes the next rows of the file.
    pub fn add(&mut self, batch: &Batch<'_>) -> Result<()> {
        let (model, table) = (self.judge.model(), batch.table());
        if batch.is_own() {
            (self.is_own, self.drift) = (true, None);
        } else if self.rows == 0 {
            self.report = model.check(table)?;
        }
        if let Some(drift) = &mut self.drift {
            batch.drift_into(drift);
        }
        // Charts also show what is set aside.
        self.tally.add(model.encoder(), batch.encoded());
        if self.rows == 0 {
            self.columns = table.columns.iter().map(|column| column.name.clone()).collect();
            let used = model.schema().used().map(|column| &column.name);
            self.columns.extend(used.filter(|name| table.column(name).is_none()).cloned().collect::<Vec<_>>());
        }
        for (at, scored) in batch.scores().iter().enumerate() {
            self.scores.add(scored.score);
            if scored.p_value >= USUAL {
                let columns = &self.columns;
                self.usual.pass(self.rows + at as u64, batch.seen(), at, || cells(table, columns, at));
            }
        }
        self.keep_odd(batch);
        self.rows += batch.n_rows() as u64;
        Ok(())
    }

    /// Explains and keeps the rows of a batch that are among the oddest so far.
    fn keep_odd(&mut self, batch: &Batch<'_>) {
        let (table, scores, seen) = (batch.table(), batch.scores(), batch.seen());
        let floor = if self.odd.len() < MOST_ROWS { None } else { self.odd.last().map(|row| row.scored.score) };
        let mut candidates: Vec<usize> = (0..scores.len()).collect();
        candidates.retain(|&at| floor.is_none_or(|floor| order(scores[at].score) > order(floor)));
        candidates.sort_by(|&a, &b| order(scores[b].score).total_cmp(&order(scores[a].score)));
        candidates.truncate(MOST_ROWS);
        for (&at, explanation) in candidates.iter().zip(batch.explain(&candidates, usize::MAX)) {
            self.odd.push(OddRow {
                row: self.rows + at as u64,
                line: table.lines[at],
                scored: scores[at],
                cells: cells(table, &self.columns, at),
                explanation,
                codes: seen.codes(at).to_vec(),
                numbers: seen.numbers(at).to_vec(),
            });
        }
        // Stable: among equal scores, rows keep their order.
        self.odd.sort_by(|a, b| order(b.scored.score).total_cmp(&order(a.scored.score)));
        self.odd.truncate(MOST_ROWS);
    }

    /// The report. `flags` says which of the rows are flagged, `file` is the name of the table and `model` that of the model,
    /// as the page shows them.
    pub fn finish(mut self, flags: Flags, file: &str, model: &str) -> Report<'m> {
        let shown = self.most.unwrap_or_else(|| FEWEST_ROWS.max(flags.flagged() as usize));
        self.odd.truncate(shown);
        let threshold = self.threshold(flags);
        Report {
            judge: self.judge,
            model: self.judge.model(),
            model_name: model.to_owned(),
            file: file.to_owned(),
            flags,
            threshold,
            is_own: self.is_own,
            columns: self.columns,
            differences: self.report,
            drift: self.compared.or_else(|| self.drift.map(|drift| drift.report())),
            rows: self.rows,
            unread: self.unread,
            scores: self.scores,
            tally: self.tally,
            odd: self.odd,
            usual: self.usual,
        }
    }

    /// The score from which on rows are flagged, if any could be.
    fn threshold(&self, flags: Flags) -> Option<f64> {
        let limit = match flags.rule() {
            Rule::Threshold(score) => return Some(score),
            Rule::Contamination(part) => part,
            Rule::Fdr(_) => flags.cutoff()?,
        };
        let (calibration, tail) = (self.judge.model().calibration(), self.judge.model().tail());
        let p_value = |score: f64| if self.is_own { tail.p_value(score) } else { calibration.p_value(score) };
        lowest(|score| p_value(score) <= limit, calibration, self.scores.highest)
    }
}

/// The lowest score from which on `holds` is true for all higher scores, to within rounding.
fn lowest(holds: impl Fn(f64) -> bool, calibration: &Calibration, highest: f64) -> Option<f64> {
    let (mut low, mut high) = (calibration.quantile(0.0), highest.max(calibration.quantile(1.0)).next_up());
    if !low.is_finite() || !high.is_finite() || !holds(high) {
        return None;
    }
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if holds(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// A score that is not a number is no evidence.
fn order(score: f64) -> f64 {
    if score.is_nan() { f64::NEG_INFINITY } else { score }
}

fn cells(batch: &Table, columns: &[String], row: usize) -> Vec<Option<String>> {
    // The columns of a batch are mostly in the same places as those of the first batch.
    let column = |(at, name): (usize, &String)| {
        let same = batch.columns.get(at).filter(|column| column.name == *name);
        same.or_else(|| batch.column(name))
    };
    let text = |place| column(place).and_then(|column| column.values.text(row)).map(|text| cut(&text, CELL));
    columns.iter().enumerate().map(text).collect()
}

/// How many rows have about which score.
#[derive(Debug)]
pub struct ScoreBins {
    /// Where the first bin begins.
    pub low: f64,
    /// How wide a bin is.
    pub width: f64,
    /// Rows of each bin; then those beyond.
    pub rows: Vec<u64>,
    /// The highest score.
    pub highest: f64,
}

impl ScoreBins {
    fn new(calibration: &Calibration) -> Self {
        let (low, high) = (calibration.quantile(0.0), calibration.quantile(1.0));
        let width = (high - low) / BINS_USUAL as f64;
        let width = if width > 0.0 && width.is_finite() { width } else { 1.0 };
        Self {
            low: if low.is_finite() { low } else { 0.0 },
            width,
            rows: vec![0; BINS + 1],
            highest: f64::NEG_INFINITY,
        }
    }

    fn add(&mut self, score: f64) {
        if score.is_nan() {
            return;
        }
        self.highest = self.highest.max(score);
        let bin = ((score - self.low) / self.width).max(0.0) as usize;
        self.rows[bin.min(BINS)] += 1;
    }

    /// Where the bins end.
    pub fn high(&self) -> f64 {
        self.low + BINS as f64 * self.width
    }
}
