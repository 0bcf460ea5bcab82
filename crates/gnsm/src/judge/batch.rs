//! Rows under judgement.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::own::Halves;
use crate::columns::{Aside, Encoded, Encoder};
use crate::decision::odd_cells::Sought;
use crate::decision::{Calibration, Case, Explanation, OddCell, Scored, TailOfScores};
use crate::detectors::{Detector, score_distinct};
use crate::drift::DriftCounter;
use crate::error::{Error, Result};
use crate::table::Table;

/// Encoded rows.
pub(super) struct Rows<'a> {
    /// With all that is there.
    all: Cow<'a, Encoded>,
    /// As the detector sees them, where that differs.
    seen: Option<Encoded>,
}

impl<'a> Rows<'a> {
    pub fn of_batch(encoder: &Encoder, aside: &Aside, table: &Table) -> Result<Self> {
        let all = encoder.encode(table)?;
        let seen = aside.hide(encoder, &all);
        Ok(Self { all: Cow::Owned(all), seen })
    }

    pub fn whole(all: Encoded) -> Self {
        Self { all: Cow::Owned(all), seen: None }
    }

    pub fn own(all: &'a Encoded) -> Self {
        Self { all: Cow::Borrowed(all), seen: None }
    }

    fn seen(&self) -> &Encoded {
        self.seen.as_ref().unwrap_or(&self.all)
    }
}

/// How a score becomes a p-value.
pub(super) enum PValues<'a> {
    /// By counting held-out scores.
    Counted(&'a Calibration),
    /// The same, going on beyond their bulk.
    BeyondTheBulk(TailOfScores<'a>),
}

impl PValues<'_> {
    fn scored(&self, score: f64) -> Scored {
        let p_value = match self {
            Self::Counted(calibration) => calibration.p_value(score),
            Self::BeyondTheBulk(tail) => tail.p_value(score),
        };
        Scored { score, p_value }
    }
}

/// Rows of a table that were read to be judged.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/claims.rs")); }
/// # let (_folder, path) = example::claims();
/// let table = gnsm::read_table(&path)?;
/// let model = gnsm::Model::fit(&table)?;
/// let judge = model.judge();
/// let batch = judge.read(&table)?;
/// let oddest = (0..200).max_by(|a, b| batch.scores()[*a].score.total_cmp(&batch.scores()[*b].score)).unwrap();
/// println!("{}", batch.explain(&[oddest], 3)[0].reasons[0]);
/// # Ok::<(), gnsm::Error>(())
/// ```
pub struct Batch<'a> {
    encoder: &'a Encoder,
    detector: &'a dyn Detector,
    aside: &'a Aside,
    table: Cow<'a, Table>,
    rows: Rows<'a>,
    p_values: PValues<'a>,
    /// Whether the detector learned from these rows, and judges each as if it had not.
    left_out: bool,
    /// What judges rows that the detector learned from and cannot leave out.
    halves: Option<&'a Halves>,
    scores: OnceLock<Vec<Scored>>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(
        encoder: &'a Encoder,
        detector: &'a dyn Detector,
        aside: &'a Aside,
        table: Cow<'a, Table>,
        rows: Rows<'a>,
        p_values: PValues<'a>,
    ) -> Self {
        let scores = OnceLock::new();
        Self { encoder, detector, aside, table, rows, p_values, left_out: false, halves: None, scores }
    }

    /// Rows that were learned from, each to be judged as if it had not been.
    pub(super) fn left_out(mut self) -> Self {
        self.left_out = true;
        self
    }

    /// Rows each half of which is judged by what was fitted on the other.
    pub(super) fn judged_by(mut self, halves: Option<&'a Halves>) -> Self {
        self.halves = halves;
        self
    }

    /// The same with scores that are known.
    pub(super) fn with_scores(self, scores: Option<&[f64]>) -> Self {
        if let Some(scores) = scores {
            self.scores.get_or_init(|| scores.iter().map(|score| self.p_values.scored(*score)).collect());
        }
        self
    }

    /// The table, with the model's texts for missing values marked.
    pub fn table(&self) -> &Table {
        &self.table
    }

    pub(super) fn encoder(&self) -> &Encoder {
        self.encoder
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.rows.all.n_rows()
    }

    /// Whether these are the rows that the model was fitted on, each judged as if it had not been learned from.
    pub fn is_own(&self) -> bool {
        self.left_out
    }

    /// The rows as the encoder gives them, with what is set aside.
    #[doc(hidden)]
    pub fn encoded(&self) -> &Encoded {
        &self.rows.all
    }

    /// The rows as the detector sees them.
    #[doc(hidden)]
    pub fn seen(&self) -> &Encoded {
        self.rows.seen()
    }

    /// A score and p-value for each row; equal rows are computed once.
    pub fn scores(&self) -> &[Scored] {
        self.scores.get_or_init(|| self.compute_scores().into_iter().map(|score| self.p_values.scored(score)).collect())
    }

    fn compute_scores(&self) -> Vec<f64> {
        let rows = self.rows.seen();
        if let Some(halves) = self.halves {
            let every: Vec<usize> = (0..rows.n_rows()).collect();
            return halves.judge(self.encoder, rows, &every, |detector, rows, _| score_distinct(detector, rows));
        }
        if !self.left_out && self.aside.is_empty() {
            return score_distinct(self.detector, rows);
        }
        let (firsts, of_row) = rows.distinct();
        let distinct = rows.select(&firsts);
        let left_out = if self.left_out { self.detector.score_left_out(&distinct) } else { None };
        let scores = left_out.unwrap_or_else(|| self.case().split(&distinct).0);
        of_row.into_iter().map(|which| scores[which as usize]).collect()
    }

    /// The `most` strongest reasons for each of these rows; equal rows are computed once.
    pub fn explain(&self, rows: &[usize], most: usize) -> Vec<Explanation> {
        self.in_one_pass(rows, most).into_iter().map(|(_, explanation)| explanation).collect()
    }

    /// The `most` strongest reasons for all rows. Scores that were not asked for before are found in the same pass.
    pub fn explain_all(&self, most: usize) -> Vec<Explanation> {
        let all: Vec<usize> = (0..self.n_rows()).collect();
        let (scores, explanations): (Vec<f64>, Vec<Explanation>) = self.in_one_pass(&all, most).into_iter().unzip();
        self.scores.get_or_init(|| scores.into_iter().map(|score| self.p_values.scored(score)).collect());
        explanations
    }

    fn in_one_pass(&self, rows: &[usize], most: usize) -> Vec<(f64, Explanation)> {
        let seen = self.rows.seen();
        match self.halves {
            None => self.case().explain(&seen.select(rows), rows, most),
            Some(halves) => halves.judge(self.encoder, seen, rows, |detector, encoded, sources| {
                Case { detector, left_out: false, ..self.case() }.explain(encoded, sources, most)
            }),
        }
    }

    /// The cells that are likely wrong, the surest first. At most a share `rate` of them are expected to be right.
    pub fn odd_cells(&self, rate: f64) -> Result<Vec<OddCell>> {
        if !(rate > 0.0 && rate < 1.0) {
            return Err(Error::config("rate", format!("{rate} is not a share between 0 and 1")));
        }
        Sought { case: self.case(), rows: self.rows.seen() }.find(rate).ok_or_else(|| {
            Error::fit("the method does not tell which cells are wrong", "fit a model with the default method, `cells`")
        })
    }

    /// Counts these rows, to compare them with those that were learned from.
    pub fn drift_into(&self, counter: &mut DriftCounter<'_>) {
        counter.count(&self.table, &self.rows.all);
    }

    fn case(&self) -> Case<'_> {
        Case {
            encoder: self.encoder,
            detector: self.detector,
            table: &self.table,
            aside: self.aside,
            left_out: self.left_out,
        }
    }
}
