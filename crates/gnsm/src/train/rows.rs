//! Decides which rows train, which validate and which calibrate.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::math::stream;

/// The names of the random streams that deal out rows.
const DEAL: u64 = 4;
const HALVES: u64 = 5;
/// Rows that calibrate, at the most; more would not change a p-value worth printing.
const MOST_CALIBRATION_ROWS: usize = 20_000;
/// Rows that validate, at the most.
const MOST_VALIDATION_ROWS: usize = 10_000;
/// Fewer rows than this say nothing about what is usual.
pub(crate) const FEWEST_ROWS: usize = 20;

/// What a fit was done on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitReport {
    /// Rows that trained, validated and calibrated.
    pub rows: [u64; 3],
    /// Rows left out because their label says anomaly.
    pub labelled_anomalies: u64,
    /// If not all rows were learned from: how many there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_from: Option<u64>,
    /// The column that held labels and was not learned from.
    pub label: Option<String>,
    /// The seed.
    pub seed: u64,
    /// A hash of the rows that were learned from, in their order.
    pub fingerprint: String,
}

/// Refuses to train without rows, or without rows to validate on, which tell when to stop.
pub(crate) fn check_rows(n_rows: [usize; 2]) -> Result<()> {
    let what = match n_rows {
        [0, _] => "to learn from",
        [_, 0] => "to validate on",
        _ => return Ok(()),
    };
    Err(Error::fit(format!("there are no rows {what}"), "give at least one"))
}

/// Shuffles rows and deals them out to train, validate and calibrate.
pub(crate) fn deal(mut rows: Vec<usize>, seed: u64) -> [Vec<usize>; 3] {
    shuffle(&mut rows, seed, DEAL);
    let tenth = rows.len() / 10;
    let calibration = rows.split_off(rows.len() - tenth.clamp(1, MOST_CALIBRATION_ROWS));
    let validation = rows.split_off(rows.len() - tenth.clamp(1, MOST_VALIDATION_ROWS));
    [rows, validation, calibration]
}

/// Shuffles rows and deals them into two halves.
pub(crate) fn halve(mut rows: Vec<usize>, seed: u64) -> [Vec<usize>; 2] {
    shuffle(&mut rows, seed, HALVES);
    let second = rows.split_off(rows.len() / 2);
    [rows, second]
}

fn shuffle(rows: &mut [usize], seed: u64, purpose: u64) {
    use rand::Rng;
    let mut rng = stream(seed, purpose, 0, 0);
    for i in (1..rows.len()).rev() {
        rows.swap(i, (rng.next_u64() % (i as u64 + 1)) as usize);
    }
}
