//! The score network: from a noisy row and its level to logits, and a training step from the logits' gradient.
//!
//! A network knows widths, not columns, and nothing about noise: [`Task`] brings the inputs and the loss. The engine is
//! written out by hand for one architecture, the paper's residual network, because that is several times
//! faster on a CPU than a general framework (`ARCHITECTURE.md` has the measurement).

mod conditioning;
mod dense;
pub(crate) mod math;
mod norm;
mod optimiser;
mod parameters;
mod residual;
mod step;
mod tile;

pub use optimiser::{Optimiser, OptimiserConfig};
pub use parameters::{Ends, NetworkSize};
pub use residual::{ResidualNetwork, TILE};
pub use step::{Evaluator, Task, Trainer};
pub use tile::Tile;

#[cfg(test)]
mod tests;
