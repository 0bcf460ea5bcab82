//! The buffers of one tile of rows: what goes in, what comes out, and what the backward pass needs again.

use super::norm::Kept;
use super::parameters::{Ends, NetworkSize, Slots};
use super::residual::TILE;

/// What is kept of one residual block.
pub(super) struct BlockKept {
    pub norm: Kept,
    /// GELU(LayerNorm(x)), [rows, width].
    pub activated: Vec<f32>,
    /// Before FiLM in the forward pass, after it once the backward pass has been through, [rows, width].
    pub hidden: Vec<f32>,
    /// Gradient of the block's output, [rows, width].
    pub d_output: Vec<f32>,
    /// Gradient of the hidden layer before FiLM, [rows, width].
    pub d_hidden: Vec<f32>,
}

/// A tile of rows on its way through the network.
///
/// A loss fills `inputs`, `levels` and whatever it wants to remember in `noisy`, and turns `logits` into `d_logits`.
pub struct Tile {
    /// How many rows are real; the rest is padding whose gradient stays zero.
    pub rows: usize,
    /// What the network sees, [TILE, inputs].
    pub inputs: Vec<f32>,
    /// Room for the noise drawn, [TILE, inputs].
    pub noisy: Vec<f32>,
    /// The level of each row, [TILE].
    pub levels: Vec<u32>,
    /// Which row of the training set each is, [TILE].
    pub sources: Vec<u32>,
    /// What the network says, [TILE, outputs].
    pub logits: Vec<f32>,
    /// The gradient of the loss with respect to `logits`, [TILE, outputs].
    pub d_logits: Vec<f32>,
    /// Scratch for the loss, [4·outputs].
    pub work: Vec<f32>,
    /// The sum of the losses of this tile's rows.
    pub loss: f64,
    pub(super) stream: Vec<f32>,
    pub(super) scratch: Vec<f32>,
    pub(super) blocks: Vec<BlockKept>,
    pub(super) head_norm: Kept,
    pub(super) head_activated: Vec<f32>,
    pub(super) d_stream: Vec<f32>,
    /// This tile's sums for the vectors of [`Slots`], then for γ and β of every block and level.
    pub(super) sums: Vec<f32>,
}

impl Tile {
    /// Buffers for computing logits only: one block's worth, used again by each block.
    pub(super) fn for_inference(size: NetworkSize, ends: Ends) -> Self {
        Self::with(size, ends, 1, 0, false)
    }

    /// Buffers for computing a loss without its gradient.
    pub(super) fn for_evaluation(size: NetworkSize, ends: Ends) -> Self {
        Self::with(size, ends, 1, 0, true)
    }

    /// Buffers for a training step.
    pub(super) fn for_training(size: NetworkSize, ends: Ends, slots: &Slots) -> Self {
        let sums = slots.total - slots.vectors + size.depth * ends.levels * 2 * size.width;
        Self::with(size, ends, size.depth, sums, true)
    }

    fn with(size: NetworkSize, ends: Ends, kept_blocks: usize, sums: usize, loss: bool) -> Self {
        let hidden = || vec![0.0; TILE * size.width];
        let trained_rows = if sums > 0 { TILE } else { 0 };
        let only_training = || vec![0.0; trained_rows * size.width];
        let only_loss = |n: usize| vec![0.0; if loss { n } else { 0 }];
        Self {
            rows: TILE,
            inputs: vec![0.0; TILE * ends.inputs],
            noisy: only_loss(TILE * ends.inputs),
            levels: vec![0; TILE],
            sources: vec![0; TILE],
            logits: vec![0.0; TILE * ends.outputs],
            d_logits: only_loss(TILE * ends.outputs),
            work: only_loss(4 * ends.outputs),
            loss: 0.0,
            stream: hidden(),
            scratch: hidden(),
            blocks: (0..kept_blocks)
                .map(|_| BlockKept {
                    norm: Kept::new(trained_rows, size.width),
                    activated: hidden(),
                    hidden: hidden(),
                    d_output: only_training(),
                    d_hidden: only_training(),
                })
                .collect(),
            head_norm: Kept::new(trained_rows, size.width),
            head_activated: hidden(),
            d_stream: only_training(),
            sums: vec![0.0; sums],
        }
    }

    /// Which of the kept blocks serves block `index`.
    pub(super) fn kept_block(&self, index: usize) -> usize {
        index % self.blocks.len()
    }
}
