//! Compares the rows of a file with those that a model learned from, and sets aside what is new in most of them.

use super::Model;
use crate::columns::Encoded;
use crate::drift::{DriftCounter, DriftCounts, DriftReport, Judge, Reference};
use crate::error::{Error, Result};

impl Model {
    /// Starts to compare the rows of a file with those that were learned from.
    pub fn drift(&self) -> DriftCounter<'_> {
        DriftCounter::new(self.judge(), &self.reference)
    }

    /// Goes on to compare with what was counted before, by a counter of this model or of one with the same columns and values.
    pub fn drift_from(&self, counts: DriftCounts) -> Result<DriftCounter<'_>> {
        DriftCounter::from_counts(self.judge(), &self.reference, counts)
            .ok_or_else(|| Error::config("counts", "are of a model with other columns; start with new ones"))
    }

    fn judge(&self) -> Judge<'_> {
        Judge { encoder: &self.encoder, fitted: &self.fitted, calibration: &self.calibration }
    }

    /// How the rows fell that were learned from.
    #[doc(hidden)]
    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Sets aside what is new in most rows, as the report says, and takes back what was set aside before.
    ///
    /// What is set aside is no part of any score and no reason, in all that this model scores or explains from now on. The
    /// default method then judges rows as if they did not have it, and compares them with learned rows that lack it too.
    /// Other methods leave its part out of the score; their p-values compare with rows that had all parts, so they become
    /// larger. The model's file does not keep it.
    pub fn set_aside(&mut self, report: &DriftReport) {
        self.encoder.set_aside(&report.aside);
        self.fitted.get_used_to(&self.encoder.lacking());
    }

    /// The scores of rows without what is set aside; distinct rows are computed once.
    pub(super) fn scores_without_aside(&self, rows: &Encoded) -> Vec<f64> {
        let (firsts, of_row) = rows.distinct();
        let mut split = self.fitted.detector().split(&rows.select(&firsts));
        self.encoder.clear_aside(&mut split.parts);
        let scores = split.sums();
        of_row.into_iter().map(|which| scores[which as usize]).collect()
    }
}
