//! Networks on the CPU, written out by hand: the score network of GNSM, and plain perceptrons for its deep rivals.
//!
//! The score network goes from a noisy row and its level to logits, and makes a training step from the logits' gradient. It knows widths, not
//! columns, and nothing about noise: [`Task`] brings the inputs and the loss. Written out for one architecture, the paper's residual
//! network, it is several times faster than a general framework (`ARCHITECTURE.md` has the measurement). Perceptrons ([`Perceptron`]) share its
//! dense layers, normalisation, optimiser and fixed pieces of the gradient; a [`Stack`] puts some together.

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
