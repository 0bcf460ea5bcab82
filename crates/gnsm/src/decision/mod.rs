//! Turns scores into decisions: p-values and thresholds, and why a row is odd.

pub(crate) mod reason;
mod threshold;

pub use reason::{Explanation, Reason, short, visible};
pub use threshold::{Calibration, FdrCounter, Rule, Scored};
