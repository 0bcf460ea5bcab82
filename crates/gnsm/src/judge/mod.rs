//! From the rows of a table to what is said of them.
//!
//! A [`Judge`] is a model and what is set aside of it. It reads a table into a [`Batch`]: missing values are marked, rows
//! are encoded, and equal rows are found, each once. Whoever asks for scores, reasons, wrong cells or counts of drift asks
//! the batch. A [`Fit`] is a model together with the rows that it was fitted on; these rows are a batch too, in which each is
//! judged as if it had not been learned from (`own.rs`). [`Oddest`] keeps the oddest rows of many batches, [`Groups`] tells flagged rows with the same
//! reason as one finding.
//!
//! ```text
//! fit ──── model ──── judge ──── batch ──── scores, reasons, wrong cells, drift
//!   └─── own rows ────────────────┘            └─ decision ─ flags
//! ```

mod batch;
mod groups;
mod oddest;
mod own;

use crate::columns::{Aside, Encoded};
use crate::decision::{Explanation, Scored};
use crate::detectors::{Detector, Expected};
use crate::drift::DriftReport;
use crate::error::Result;
use crate::model::Model;
use crate::table::Table;

pub use batch::Batch;
use batch::{PValues, Rows};
pub use groups::{Group, Groups};
pub use oddest::{Alike, Oddest};
pub use own::Fit;

/// A model that judges rows, and what does not count of them.
pub struct Judge<'m> {
    model: &'m Model,
    aside: Aside,
    /// The model's detector, used to rows without what is set aside.
    used_to: Option<Box<dyn Detector + 'm>>,
    goes_beyond: bool,
}

impl Model {
    /// Judges rows by this model.
    pub fn judge(&self) -> Judge<'_> {
        Judge { model: self, aside: Aside::nothing(&self.encoder), used_to: None, goes_beyond: false }
    }

    /// The same without what is new in most rows, as the report says.
    ///
    /// What is set aside is no part of any score and no reason. The default method then judges rows as if they did not have
    /// it, and compares them with learned rows that lack it too. Other methods leave its part out of the score; their
    /// p-values compare with rows that had all parts, so they become larger.
    pub fn judge_without(&self, report: &DriftReport) -> Judge<'_> {
        let aside = Aside::of(&self.encoder, &report.aside);
        let lacking = aside.lacking(&self.encoder);
        let used_to = if aside.is_empty() { None } else { self.fitted.detector().used_to(&lacking) };
        Judge { model: self, aside, used_to, goes_beyond: false }
    }

    /// A score and p-value for each row of a batch; distinct rows are computed once.
    pub fn score(&self, table: &Table) -> Result<Vec<Scored>> {
        Ok(self.judge().read(table)?.scores().to_vec())
    }

    /// The `most` strongest reasons for each of these rows of a batch; distinct rows are computed once.
    pub fn explain(&self, table: &Table, rows: &[usize], most: usize) -> Result<Vec<Explanation>> {
        Ok(self.judge().read(table)?.explain(rows, most))
    }
}

impl<'m> Judge<'m> {
    /// p-values that go on beyond the bulk of the rows that were learned from, as those of these rows themselves do
    /// ([`Model::tail`]).
    pub fn beyond_the_bulk(mut self) -> Self {
        self.goes_beyond = true;
        self
    }

    /// The model.
    pub fn model(&self) -> &'m Model {
        self.model
    }

    /// Whether something is set aside.
    pub fn sets_aside(&self) -> bool {
        !self.aside.is_empty()
    }

    /// Reads the rows of a batch, as new rows.
    pub fn read<'a>(&'a self, table: &'a Table) -> Result<Batch<'a>> {
        let table = self.model.marked(table);
        let rows = Rows::of_batch(&self.model.encoder, &self.aside, &table)?;
        let p_values = if self.goes_beyond {
            PValues::BeyondTheBulk(self.model.tail())
        } else {
            PValues::Counted(&self.model.calibration)
        };
        Ok(Batch::new(&self.model.encoder, self.detector(), &self.aside, table, rows, p_values))
    }

    /// Reads all rows of a table, so that it is known which keys repeat among them. Where these are the rows that the model
    /// was fitted on, in whatever order, each is judged as if it had not been learned from.
    pub fn read_whole<'a>(&'a self, table: &'a Table) -> Result<Batch<'a>> {
        let table = self.model.marked(table);
        let encoded = self.model.encoder.encode_whole(&table)?;
        let is_own = encoded.fingerprint_in_any_order().to_hex().as_str() == self.model.report.fingerprint;
        let p_values = PValues::BeyondTheBulk(self.model.tail());
        let batch =
            Batch::new(&self.model.encoder, self.detector(), &self.aside, table, Rows::whole(encoded), p_values);
        Ok(if is_own { batch.left_out() } else { batch })
    }

    /// What was expected in the cells of encoded rows that are `asked` about, [rows, cells]; of `own` rows as if they had not
    /// been learned from.
    #[doc(hidden)]
    pub fn expected(&self, rows: &Encoded, asked: &[bool], own: bool) -> Option<Expected> {
        let left_out = if own { self.detector().expected_left_out(rows, asked) } else { None };
        left_out.or_else(|| self.detector().expected(rows, asked))
    }

    fn detector(&self) -> &dyn Detector {
        self.used_to.as_deref().unwrap_or(self.model.fitted.detector())
    }
}
