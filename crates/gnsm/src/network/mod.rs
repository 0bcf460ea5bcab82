//! Networks on the CPU, written by hand: the score network of GNSM, and plain perceptrons for the deep methods it is
//! compared with.
//!
//! The score network turns a noisy row and its level into logits, and makes a training step from the gradient of the
//! logits. It knows widths, but neither columns nor noise: a [`Task`] brings the inputs and the loss. It is written for
//! one architecture, the paper's residual network. That makes it several times faster than a general framework
//! (`ARCHITECTURE.md` has the measurement).
//!
//! Perceptrons ([`Perceptron`]) share its dense layers, normalisation, optimiser and the fixed pieces of the gradient.
//! A [`Stack`] puts some of them together.

mod conditioning;
mod dense;
mod folded;
mod norm;
mod optimiser;
mod panels;
mod parameters;
mod perceptron;
mod pieces;
mod residual;
mod stack;
mod step;
mod tile;

pub use norm::Activation;
pub use optimiser::{Optimiser, OptimiserConfig};
pub use parameters::{Ends, NetworkSize};
pub use perceptron::{Layer, Perceptron, PerceptronTile};
pub use residual::{ResidualNetwork, TILE};
pub use stack::{Stack, StackReader, StackTile, StackTrainer, sum_input_gradients};
pub use step::{Evaluator, Task, Trainer};
pub use tile::Tile;

#[cfg(test)]
mod tests;
