//! Turns scores into decisions: p-values and thresholds, why a row is odd, and which cells are likely wrong.

mod blame;
mod flags;
pub(crate) mod odd_cells;
mod phrases;
pub(crate) mod reason;
mod threshold;

pub use flags::{Decision, Flags};
pub use odd_cells::OddCell;
pub(crate) use phrases::runs;
pub use phrases::{percent, short, visible};
pub(crate) use reason::Case;
pub use reason::{Explanation, Reason, Side};
pub use threshold::{Calibration, Rule, Scored, TailOfScores};
