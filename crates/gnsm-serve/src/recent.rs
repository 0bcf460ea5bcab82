//! What the last rows were like, for the metrics: how many were flagged, and how they differ from those learned from.
//!
//! Rows are counted in two halves. When the newer half is full it becomes the older one, and a new one begins. So there
//! are always the last 10,000 to 20,000 rows, or all if there were fewer, in memory that does not grow.

use std::sync::{Mutex, PoisonError};

use gnsm::{DriftCounter, DriftCounts, DriftReport, Model};

/// Rows of a half. A request with more is one half.
const HALF: u64 = 10_000;

/// The last rows.
#[derive(Debug, Default)]
pub struct Recent(Mutex<[Half; 2]>);

/// One half, the older or the newer.
#[derive(Debug, Default, Clone)]
struct Half {
    counts: DriftCounts,
    flagged: u64,
}

/// What there is to say about the last rows.
#[derive(Debug)]
pub struct Summary {
    /// How many of them were flagged.
    pub flagged: u64,
    /// How they differ from the rows that were learned from.
    pub drift: DriftReport,
}

impl Recent {
    /// Adds the rows of a request.
    pub fn add(&self, model: &Model, rows: &DriftCounter<'_>, flagged: u64) -> gnsm::Result<()> {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if halves[1].counts.rows() >= HALF {
            halves.rotate_left(1);
            halves[1] = Half::default();
        }
        let newer = &mut halves[1];
        let mut counter = model.drift_from(std::mem::take(&mut newer.counts))?;
        counter.merge(rows);
        newer.counts = counter.into_counts();
        newer.flagged += flagged;
        Ok(())
    }

    /// Sums up.
    pub fn summary(&self, model: &Model) -> gnsm::Result<Summary> {
        let [older, newer] = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut counter = model.drift_from(older.counts)?;
        counter.merge(&model.drift_from(newer.counts)?);
        Ok(Summary { flagged: older.flagged + newer.flagged, drift: counter.report() })
    }
}
