//! What the tests of the detectors share.

use crate::encode::Encoded;
use crate::train::{Run, Silent};

/// Rows from codes and numbers.
pub(super) fn rows_of(rows: &[(&[u32], &[f32])]) -> Encoded {
    let codes = rows.iter().flat_map(|(codes, _)| *codes).copied().collect();
    let numbers = rows.iter().flat_map(|(_, numbers)| *numbers).copied().collect();
    Encoded::new(rows.len(), codes, numbers)
}

/// Calls `fit` with no validation rows and a run of seed 1.
pub(super) fn fit_on<T>(rows: &Encoded, fit: impl FnOnce(&Encoded, Run<'_>) -> T) -> T {
    fit(&rows.select(&[]), Run { seed: 1, max_seconds: None, resume: None, save: None, watcher: &mut Silent })
}
