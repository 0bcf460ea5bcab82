//! Turns scores into decisions: p-values and thresholds, why a row is odd, and which cells are likely wrong.

mod blame;
pub(crate) mod odd_cells;
mod phrases;
pub(crate) mod reason;
mod threshold;

pub use odd_cells::OddCell;
pub(crate) use phrases::runs;
pub use phrases::{percent, short, visible};
pub use reason::{Explanation, Reason};
pub use threshold::{Calibration, FdrCounter, Rule, Scored, TailOfScores};
