//! Turns scores into decisions: p-values and thresholds, why a row is odd, and which cells are likely wrong.

pub(crate) mod odd_cells;
pub(crate) mod reason;
mod threshold;

pub use odd_cells::OddCell;
pub(crate) use reason::runs;
pub use reason::{Explanation, Reason, percent, short, visible};
pub use threshold::{Calibration, FdrCounter, Rule, Scored, TailOfScores};
