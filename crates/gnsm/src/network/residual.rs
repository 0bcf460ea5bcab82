//! The paper's residual network (appendix, "GNSM Networks"), forward.
//!
//! ```text
//! t         = SiLU(Linear(SiLU(Linear(fourier(level)))))
//! x         = Linear(input)
//! x         = x + Linear(FiLM(Linear(GELU(LayerNorm(x))), t))      once per block
//! logits    = Linear(LeakyReLU(LayerNorm(x)))
//! fourier(i)= (sin 2π·i·w, cos 2π·i·w),  w ~ N(0, 1), fixed
//! FiLM(h,t) = γ(t)·h + β(t)
//! ```
//!
//! Only L levels exist, so γ and β are computed once per level and looked up for each row, and the weights are put in the order of
//! their use once ([`super::panels`]); for scoring, a block's two layers are one ([`super::folded`]). Rows go through in tiles
//! of [`TILE`]: a tile is what one thread works on, small enough for its activations to stay in the cache. Every
//! product over rows has exactly that shape, whatever the size of the batch or the number of threads.

use std::sync::OnceLock;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::conditioning::Conditioning;
use super::folded::Folded;
use super::norm::{self, Activation};
use super::panels::{Panels, Start};
use super::parameters::{Ends, NetworkSize, Slots};
use super::tile::Tile;
use crate::error::stop_point;
use crate::math::simd;

/// Rows that go through the network together.
pub const TILE: usize = 128;

/// The network's weights, ready to compute logits.
#[derive(Debug, Clone)]
pub struct ResidualNetwork {
    size: NetworkSize,
    ends: Ends,
    pub(super) slots: Slots,
    /// The fixed frequencies of the level embedding, [embedding / 2].
    pub(super) frequencies: Vec<f32>,
    pub(super) parameters: Vec<f32>,
    /// γ and β of every block and level, [depth, levels, 2·width]; follows from the parameters.
    pub(super) films: Vec<f32>,
    /// How γ and β came about.
    pub(super) conditioning: Conditioning,
    /// The dense weights in the order in which [`Self::forward`] uses them; follows from the parameters.
    panels: Vec<Panels>,
    /// The blocks at each level, once scoring has asked for it; nothing if the network is too large for that.
    folded: Vec<OnceLock<Folded>>,
}

impl ResidualNetwork {
    /// A network with fresh weights: uniform with variance 1/mean(inputs, outputs) of each layer, biases zero, FiLM
    /// starting as the identity.
    ///
    /// With `head_bias`, the last layer starts at these logits and zero weights, so that training starts from what
    /// the bias says (the marginals) instead of from noise.
    pub fn new(size: NetworkSize, ends: Ends, head_bias: Option<&[f32]>, rng: &mut ChaCha8Rng) -> Self {
        let slots = Slots::new(size, ends);
        let (width, embedding) = (size.width, size.embedding);
        let mut parameters = vec![0.0; slots.total];
        let mut fill = |range: std::ops::Range<usize>, fan_in: usize, fan_out: usize| {
            let bound = (6.0 / (fan_in + fan_out) as f32).sqrt();
            for weight in &mut parameters[range] {
                *weight = (2.0 * uniform(rng) - 1.0) * bound;
            }
        };
        fill(slots.embed_1.clone(), embedding, embedding);
        fill(slots.embed_2.clone(), embedding, embedding);
        fill(slots.projection.clone(), ends.inputs, width);
        for block in &slots.blocks {
            fill(block.film_weight.clone(), embedding, 2 * width);
            fill(block.dense_1.clone(), width, width);
            fill(block.dense_2.clone(), width, width);
        }
        if head_bias.is_none() {
            fill(slots.head.clone(), width, ends.outputs);
        }
        if let Some(bias) = head_bias {
            parameters[slots.head_bias.clone()].copy_from_slice(bias);
        }
        for block in &slots.blocks {
            parameters[block.gain.clone()].fill(1.0);
            parameters[block.film_bias.start..block.film_bias.start + width].fill(1.0);
        }
        parameters[slots.head_gain.clone()].fill(1.0);
        let frequencies = (0..embedding / 2).map(|_| normal(rng)).collect();
        Self::from_parts(size, ends, frequencies, parameters)
    }

    /// A network from stored weights. The lengths must fit: see [`Self::n_parameters`].
    pub fn from_parts(size: NetworkSize, ends: Ends, frequencies: Vec<f32>, parameters: Vec<f32>) -> Self {
        let slots = Slots::new(size, ends);
        let mut network = Self {
            size,
            ends,
            conditioning: Conditioning::new(size, ends, &frequencies),
            panels: slots.dense(size, ends).map(|(slot, outputs)| Panels::new(slot, outputs, false)).collect(),
            slots,
            frequencies,
            parameters,
            films: vec![0.0; size.depth * ends.levels * 2 * size.width],
            folded: if Folded::fits(size.depth, ends.levels, size.width) {
                vec![OnceLock::new(); ends.levels]
            } else {
                Vec::new()
            },
        };
        network.refresh();
        network
    }

    /// How many weights a network of this size has; an error if they could not be counted.
    pub fn n_parameters(size: NetworkSize, ends: Ends) -> Result<usize, String> {
        let square = size.width.max(ends.inputs).max(ends.outputs).max(size.embedding).max(ends.levels) as u128;
        if square * square * 6 * (size.depth as u128 + 2) > isize::MAX as u128 / 8 {
            return Err("the network is too large for this machine".into());
        }
        Ok(Slots::new(size, ends).total)
    }

    /// The network's size.
    pub fn size(&self) -> NetworkSize {
        self.size
    }

    /// What goes in and out.
    pub fn ends(&self) -> Ends {
        self.ends
    }

    /// The fixed frequencies of the level embedding.
    pub fn frequencies(&self) -> &[f32] {
        &self.frequencies
    }

    /// All trained weights.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// Replaces the weights and what follows from them.
    pub fn set_parameters(&mut self, parameters: &[f32]) {
        self.parameters.copy_from_slice(parameters);
        self.refresh();
    }

    /// Recomputes what follows from the weights after they changed.
    pub(super) fn refresh(&mut self) {
        let parameters = &self.parameters;
        self.conditioning.forward(&self.slots, parameters, &mut self.films);
        self.panels.par_iter_mut().with_max_len(1).for_each(|panels| panels.fill(parameters));
        self.folded.iter_mut().for_each(|folded| drop(folded.take()));
    }

    /// The blocks at `level` with one layer each, if the network is small enough.
    pub(super) fn folded(&self, level: usize) -> Option<&Folded> {
        Some(self.folded.get(level)?.get_or_init(|| Folded::new(self, level)))
    }

    /// The logits of one tile of rows, all filled in by the caller in `tile.inputs` and `tile.levels`; by the blocks of `folded`, if given.
    pub(super) fn forward(&self, tile: &mut Tile, folded: Option<&Folded>) {
        let weights = |range: &std::ops::Range<usize>| &self.parameters[range.clone()];
        let (slots, NetworkSize { width, depth, .. }) = (&self.slots, self.size);
        let bias = Start::Bias(weights(&slots.projection_bias));
        self.panels[0].multiply(&mut tile.stream, &tile.inputs, bias);
        for (index, block) in slots.blocks.iter().enumerate() {
            let kept = tile.kept_block(index);
            let kept = &mut tile.blocks[kept];
            norm::forward(
                Activation::Gelu,
                &mut kept.activated,
                &tile.stream,
                weights(&block.gain),
                weights(&block.shift),
                &mut kept.norm,
            );
            if let Some(folded) = folded {
                let stream_and_bias = Start::ResultAndBias(&folded.biases[index * width..][..width]);
                folded.panels[index].multiply(&mut tile.stream, &kept.activated, stream_and_bias);
                continue;
            }
            let bias = Start::Bias(weights(&block.bias_1));
            self.panels[1 + 2 * index].multiply(&mut kept.hidden, &kept.activated, bias);
            film(&mut tile.scratch, &kept.hidden, &tile.levels, self.films_of(index));
            let stream_and_bias = Start::ResultAndBias(weights(&block.bias_2));
            self.panels[2 + 2 * index].multiply(&mut tile.stream, &tile.scratch, stream_and_bias);
        }
        norm::forward(
            Activation::LeakyRelu,
            &mut tile.head_activated,
            &tile.stream,
            weights(&slots.head_gain),
            weights(&slots.head_shift),
            &mut tile.head_norm,
        );
        let bias = Start::Bias(weights(&slots.head_bias));
        self.panels[1 + 2 * depth].multiply(&mut tile.logits, &tile.head_activated, bias);
    }

    /// γ and β of a block, [levels, 2·width].
    pub(super) fn films_of(&self, block: usize) -> &[f32] {
        let length = self.ends.levels * 2 * self.size.width;
        &self.films[block * length..][..length]
    }

    /// Walks over rows in tiles, in parallel, and over these levels of each tile while its weights are warm.
    ///
    /// `out` holds `per_row` results for each row. `fill` writes the inputs of a row at a level; `take` receives the results
    /// of one row, the row, the level and its logits, which it may overwrite. A tile that is not full is padded with its first row.
    pub fn for_each_row(
        &self,
        out: &mut [f32],
        per_row: usize,
        levels: std::ops::Range<usize>,
        fill: impl Fn(usize, usize, &mut [f32]) + Sync,
        take: impl Fn(&mut [f32], usize, usize, &mut [f32]) + Sync,
    ) {
        let Ends { inputs, outputs, .. } = self.ends;
        // Before the tiles, which would wait for each other.
        levels.clone().into_par_iter().for_each(|level| _ = self.folded(level));
        out.par_chunks_mut(TILE * per_row).enumerate().for_each_init(
            || Tile::for_inference(self.size, self.ends),
            |tile, (index, out)| {
                stop_point();
                let first = index * TILE;
                let n_rows = out.len() / per_row;
                for level in levels.clone() {
                    tile.levels.fill(level as u32);
                    simd(
                        #[inline(always)]
                        || {
                            for (position, input) in tile.inputs.chunks_exact_mut(inputs).enumerate() {
                                fill(first + if position < n_rows { position } else { 0 }, level, input);
                            }
                        },
                    );
                    self.forward(tile, self.folded(level));
                    simd(
                        #[inline(always)]
                        || {
                            for (position, out) in out.chunks_exact_mut(per_row).enumerate() {
                                take(out, first + position, level, &mut tile.logits[position * outputs..][..outputs]);
                            }
                        },
                    );
                }
            },
        );
    }
}

/// `out = γ(level)·hidden + β(level)`, row by row.
pub(super) fn film(out: &mut [f32], hidden: &[f32], levels: &[u32], films: &[f32]) {
    let width = hidden.len() / levels.len();
    simd(
        #[inline(always)]
        || {
            for ((out, hidden), &level) in out.chunks_exact_mut(width).zip(hidden.chunks_exact(width)).zip(levels) {
                let (gamma, beta) = films[level as usize * 2 * width..][..2 * width].split_at(width);
                for (((out, hidden), gamma), beta) in out.iter_mut().zip(hidden).zip(gamma).zip(beta) {
                    *out = hidden.mul_add(*gamma, *beta);
                }
            }
        },
    );
}

/// A uniform number in (0, 1).
pub(super) fn uniform(rng: &mut ChaCha8Rng) -> f32 {
    ((rng.next_u32() >> 8) as f32 + 0.5) / 16_777_216.0
}

/// A standard normal number (Box and Muller).
fn normal(rng: &mut ChaCha8Rng) -> f32 {
    let (u, v) = (f64::from(uniform(rng)), f64::from(uniform(rng)));
    ((-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()) as f32
}
