//! Blocks with one layer instead of two, for scoring.
//!
//! Between the two layers of a block there is no nonlinearity. FiLM only scales and shifts. So for one level the block
//! is
//!
//! (a·W₁ + b₁)·diag γ·W₂ + β·W₂ + b₂ = a·(W₁·diag γ·W₂) + ((b₁·γ + β)·W₂ + b₂),
//!
//! one layer with weights and a bias of that level. Scoring sees many rows of a level and does half the work this way.
//! Training sees few of them before the weights change, so it keeps two layers.

use super::panels::{Panels, Start, Strided, multiply};
use super::residual::ResidualNetwork;

/// Larger networks keep their two layers: 64 MB of folded weights. The size of the network decides, never the number of rows, so that a row
/// has the same score in every company.
const MOST_WEIGHTS: usize = 1 << 24;

/// The blocks at one level.
#[derive(Debug, Clone)]
pub(super) struct Folded {
    /// The weights of each block.
    pub panels: Vec<Panels>,
    /// The biases, block after block, [depth, width].
    pub biases: Vec<f32>,
}

impl Folded {
    /// Whether a network of so many blocks, levels and units is small enough.
    pub fn fits(depth: usize, levels: usize, width: usize) -> bool {
        depth.saturating_mul(levels).saturating_mul(width).saturating_mul(width) <= MOST_WEIGHTS
    }

    /// The blocks of `network` at `level`.
    pub fn new(network: &ResidualNetwork, level: usize) -> Self {
        let width = network.size().width;
        let weights = |range: &std::ops::Range<usize>| &network.parameters[range.clone()];
        let mut folded = Self { panels: Vec::new(), biases: Vec::new() };
        let (mut product, mut bias) = (vec![0.0; width * width], vec![0.0; width]);
        for (index, block) in network.slots.blocks.iter().enumerate() {
            let (gamma, beta) = network.films_of(index)[level * 2 * width..][..2 * width].split_at(width);
            let (second, bias_2) = (weights(&block.dense_2), weights(&block.bias_2));
            let rows = second.chunks_exact(width).zip(gamma);
            let scaled: Vec<f32> = rows.flat_map(|(row, gamma)| row.iter().map(move |weight| gamma * weight)).collect();
            let (first, scaled) = (Strided::plain(weights(&block.dense_1), width), Strided::plain(&scaled, width));
            multiply(&mut product, width, first, scaled, width, Start::Zero);
            let mut panels = Panels::new(&(0..width * width), width, false);
            panels.fill(&product);
            folded.panels.push(panels);

            let shifts = weights(&block.bias_1).iter().zip(gamma).zip(beta);
            let shift: Vec<f32> = shifts.map(|((bias, gamma), beta)| bias.mul_add(*gamma, *beta)).collect();
            let (shift, second) = (Strided::plain(&shift, width), Strided::plain(second, width));
            multiply(&mut bias, width, shift, second, width, Start::Bias(bias_2));
            folded.biases.extend(&bias);
        }
        folded
    }
}
