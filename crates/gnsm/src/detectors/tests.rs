//! What the tests of the detectors share.

use crate::columns::{Encoded, Layout};
use crate::train::{Run, Silent};

/// Rows from codes and numbers.
pub(super) fn rows_of(rows: &[(&[u32], &[f32])]) -> Encoded {
    let codes = rows.iter().flat_map(|(codes, _)| *codes).copied().collect();
    let numbers = rows.iter().flat_map(|(_, numbers)| *numbers).copied().collect();
    Encoded::new(rows.len(), codes, numbers)
}

/// Calls `fit` with training rows, no validation rows and a run of seed 1.
pub(super) fn fit_on<T>(rows: &Encoded, fit: impl FnOnce([&Encoded; 2], Run<'_>) -> T) -> T {
    fit([rows, &rows.select(&[])], Run { seed: 1, max_seconds: None, resume: None, save: None, watcher: &mut Silent })
}

/// Two numbers and three groups that hang together a little; `reference/baselines.py` in the benchmarks makes the same
/// rows.
pub(super) fn mixed_rows(n_rows: u32) -> (Layout, Encoded) {
    let codes = (0..n_rows).flat_map(|row| [row % 3, (row * row + row % 5) % 4, u32::from(row % 7 > 2)]).collect();
    let number = |value: u32, centre: f32| (value as f32 - centre) / 4.0;
    let numbers = (0..n_rows).flat_map(|row| [number(row * 7 % 11, 5.0), number(row * row % 13, 4.0)]).collect();
    (Layout::new(2, vec![3, 4, 2]), Encoded::new(n_rows as usize, codes, numbers))
}

/// Four rows to score, of which `mixed_rows` shows none.
pub(super) fn mixed_queries() -> Encoded {
    rows_of(&[
        (&[0, 0, 0], &[0.25, -1.5]),
        (&[1, 3, 1], &[2.0, 0.5]),
        (&[2, 2, 0], &[-3.0, 4.0]),
        (&[0, 1, 1], &[0.0, 0.0]),
    ])
}

/// Whether two lists agree to within `tolerance`, relative to numbers above 1.
pub(super) fn assert_close(values: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(values.len(), expected.len());
    for (value, expected) in values.iter().zip(expected) {
        assert!((value - expected).abs() <= tolerance * expected.abs().max(1.0), "{values:?}, expected {expected}");
    }
}
