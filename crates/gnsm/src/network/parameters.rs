//! Where each weight of the residual network lies in its one flat vector.
//!
//! The order suits the training step. First come the weights that belong to the level: they are small, and their
//! gradient needs its own pass. Then come the dense weights, one matrix product each. Last come the vectors (biases,
//! gains and shifts), which every tile of rows sums for itself.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The size of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NetworkSize {
    /// Units of every hidden layer.
    pub width: usize,
    /// Residual blocks.
    pub depth: usize,
    /// Length of the level embedding; even.
    pub embedding: usize,
}

impl Default for NetworkSize {
    fn default() -> Self {
        Self { width: 128, depth: 3, embedding: 64 }
    }
}

/// What goes in and out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// Inputs of a row.
    pub inputs: usize,
    /// Outputs of a row.
    pub outputs: usize,
    /// Noise levels.
    pub levels: usize,
}

/// The offsets of one residual block.
#[derive(Debug, Clone)]
pub(crate) struct BlockSlots {
    pub film_weight: Range<usize>,
    pub film_bias: Range<usize>,
    pub dense_1: Range<usize>,
    pub dense_2: Range<usize>,
    pub gain: Range<usize>,
    pub shift: Range<usize>,
    pub bias_1: Range<usize>,
    pub bias_2: Range<usize>,
}

/// The offsets of every tensor.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    pub embed_1: Range<usize>,
    pub embed_bias_1: Range<usize>,
    pub embed_2: Range<usize>,
    pub embed_bias_2: Range<usize>,
    pub projection: Range<usize>,
    pub projection_bias: Range<usize>,
    pub blocks: Vec<BlockSlots>,
    pub head: Range<usize>,
    pub head_gain: Range<usize>,
    pub head_shift: Range<usize>,
    pub head_bias: Range<usize>,
    /// All film weights and biases, block after block.
    pub films: Range<usize>,
    /// Where the vectors start; they reach to the end.
    pub vectors: usize,
    pub total: usize,
}

impl Slots {
    pub fn new(size: NetworkSize, ends: Ends) -> Self {
        let NetworkSize { width, depth, embedding } = size;
        let mut next = 0;
        let mut take = |n: usize| {
            next += n;
            next - n..next
        };
        let (embed_1, embed_bias_1) = (take(embedding * embedding), take(embedding));
        let (embed_2, embed_bias_2) = (take(embedding * embedding), take(embedding));
        let films: Vec<_> = (0..depth).map(|_| (take(embedding * 2 * width), take(2 * width))).collect();
        let projection = take(ends.inputs * width);
        let dense: Vec<_> = (0..depth).map(|_| (take(width * width), take(width * width))).collect();
        let head = take(width * ends.outputs);
        let projection_bias = take(width);
        let blocks = films
            .iter()
            .zip(dense)
            .map(|(film, (dense_1, dense_2))| BlockSlots {
                film_weight: film.0.clone(),
                film_bias: film.1.clone(),
                dense_1,
                dense_2,
                gain: take(width),
                shift: take(width),
                bias_1: take(width),
                bias_2: take(width),
            })
            .collect();
        let (head_gain, head_shift, head_bias) = (take(width), take(width), take(ends.outputs));
        Self {
            films: embed_bias_2.end..projection.start,
            vectors: projection_bias.start,
            total: head_bias.end,
            embed_1,
            embed_bias_1,
            embed_2,
            embed_bias_2,
            projection,
            projection_bias,
            blocks,
            head,
            head_gain,
            head_shift,
            head_bias,
        }
    }

    /// The dense weights in the order of the forward pass, and their outputs: projection, both of each block, head.
    pub fn dense(&self, size: NetworkSize, ends: Ends) -> impl Iterator<Item = (&Range<usize>, usize)> {
        let blocks = self.blocks.iter().flat_map(|block| [&block.dense_1, &block.dense_2]);
        let hidden = std::iter::once(&self.projection).chain(blocks).map(move |slot| (slot, size.width));
        hidden.chain(std::iter::once((&self.head, ends.outputs)))
    }
}
