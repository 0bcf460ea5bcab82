//! One training step: forward, loss, backward, clip, `AdamW`, weight average. It has three parallel phases.
//!
//! 1. Each tile of rows goes forward and backward on its own, and keeps what the weight gradients need.
//! 2. The gradient vector is cut into fixed pieces (a slice of a weight matrix, a run of vectors). Each piece sums over
//!    the tiles in order.
//! 3. The optimiser updates the flat vectors in fixed pieces.
//!
//! The pieces do not depend on the number of threads, and no two threads write to one place. So the result does not
//! depend on it either. Everything is allocated before the first step.

use std::ops::Range;

use rayon::prelude::*;

use super::optimiser::Optimiser;
use super::panels::{Panels, Start};
use super::pieces::{Piece, RUN, SLICE, run_pieces};
use super::residual::{ResidualNetwork, TILE, film};
use super::tile::Tile;
use super::{dense, norm};
use crate::error::stop_point;
use crate::math;

/// What is to be learned: noise on the way in, a loss and its gradient on the way out.
pub trait Task: Sync {
    /// Fills `inputs`, `levels`, `noisy` and `sources` of the rows of a tile; may lower `rows`.
    fn perturb(&self, step: u64, tile_index: usize, tile: &mut Tile);
    /// Turns `logits` into `d_logits` and sets the tile's `loss`.
    fn loss(&self, tile: &mut Tile);
}

/// A network in training.
pub struct Trainer {
    /// The network with its current weights.
    pub network: ResidualNetwork,
    gradient: Vec<f32>,
    d_films: Vec<f32>,
    /// The dense weights transposed, as the backward pass uses them, in the forward order.
    transposed: Vec<Panels>,
    tiles: Vec<Tile>,
    pieces: Vec<Piece<Source>>,
}

/// Computes losses without gradients, in buffers of its own.
pub struct Evaluator {
    lanes: Vec<Tile>,
    losses: Vec<f64>,
}

/// Tiles that are evaluated side by side.
const EVALUATION_LANES: usize = 8;

impl Evaluator {
    /// Room for `tiles` tiles.
    pub fn new(network: &ResidualNetwork, tiles: usize) -> Self {
        let lanes = EVALUATION_LANES.min(tiles);
        Self {
            lanes: (0..lanes).map(|_| Tile::for_evaluation(network.size(), network.ends())).collect(),
            losses: vec![0.0; tiles],
        }
    }

    /// The sum of the losses of all tiles.
    pub fn loss(&mut self, network: &ResidualNetwork, task: &impl Task) -> f64 {
        let lanes = self.lanes.len();
        for (round, losses) in self.losses.chunks_mut(lanes.max(1)).enumerate() {
            losses.par_iter_mut().zip(&mut self.lanes).enumerate().with_max_len(1).for_each(|(lane, (loss, tile))| {
                stop_point();
                tile.rows = TILE;
                task.perturb(0, round * lanes + lane, tile);
                network.forward(tile, None);
                task.loss(tile);
                *loss = tile.loss;
            });
        }
        self.losses.iter().sum()
    }
}

/// Where the sum of a piece comes from.
#[derive(Clone, Copy)]
enum Source {
    /// Rows from `first` of the projection's gradient.
    Projection {
        first: usize,
    },
    /// Rows of a block's first or second dense layer.
    Dense1 {
        block: usize,
        first: usize,
    },
    Dense2 {
        block: usize,
        first: usize,
    },
    /// Rows of the head's.
    Head {
        first: usize,
    },
    /// Vectors: the tiles' own sums.
    Vectors,
}

impl Trainer {
    /// Room for batches of `batch` rows.
    pub fn new(network: ResidualNetwork, batch: usize) -> Self {
        let (size, ends) = (network.size(), network.ends());
        let tiles = (0..batch.div_ceil(TILE))
            .map(|index| {
                let mut tile = Tile::for_training(size, ends, &network.slots);
                tile.rows = TILE.min(batch - index * TILE);
                tile
            })
            .collect();
        Self {
            gradient: vec![0.0; network.slots.total],
            d_films: vec![0.0; network.films.len()],
            transposed: network
                .slots
                .dense(size, ends)
                .map(|(slot, outputs)| Panels::new(slot, outputs, true))
                .collect(),
            tiles,
            pieces: pieces(&network),
            network,
        }
    }

    /// The gradient of the last [`Self::compute_gradient`].
    pub fn gradient(&self) -> &[f32] {
        &self.gradient
    }

    /// Computes the gradient of `task` at the current weights; returns the sum of the losses of all rows.
    pub fn compute_gradient(&mut self, step: u64, task: &impl Task) -> f64 {
        self.network.refresh();
        let parameters = &self.network.parameters;
        // What comes before the projection has no gradient, so its transpose is of no use.
        self.transposed[1..].par_iter_mut().with_max_len(1).for_each(|panels| panels.fill(parameters));

        let transposed = &self.transposed;
        let network = &self.network;
        self.tiles.par_iter_mut().enumerate().with_max_len(1).for_each(|(index, tile)| {
            stop_point();
            task.perturb(step, index, tile);
            network.forward(tile, None);
            task.loss(tile);
            let used = tile.rows * network.ends().outputs;
            tile.d_logits[used..].fill(0.0);
            backward(network, transposed, tile);
        });

        let vectors = network.slots.total - network.slots.vectors;
        let tiles = &self.tiles;
        self.d_films.par_chunks_mut(RUN).enumerate().for_each(|(run, d_films)| {
            sum_tiles(d_films, tiles, vectors + run * RUN);
        });
        let (conditioning, rest) = self.gradient.split_at_mut(network.slots.projection.start);
        run_pieces(&self.pieces, rest, &|piece, gradient| sum_piece(network, tiles, piece, gradient));
        let ResidualNetwork { slots, parameters, conditioning: levels, .. } = &mut self.network;
        levels.backward(slots, parameters, &self.d_films, conditioning);
        self.tiles.iter().map(|tile| tile.loss).sum()
    }

    /// Moves the weights along the gradient.
    pub fn update(&mut self, optimiser: &mut Optimiser, learning_rate: f32) {
        optimiser.update(&mut self.network.parameters, &self.gradient, learning_rate);
    }
}

/// Cuts everything behind the conditioning weights into pieces.
fn pieces(network: &ResidualNetwork) -> Vec<Piece<Source>> {
    let (slots, width) = (&network.slots, network.size().width);
    let mut pieces = Vec::new();
    let mut matrix = |range: &Range<usize>, columns: usize, source: &dyn Fn(usize) -> Source| {
        let rows = range.len() / columns;
        for first in (0..rows).step_by(SLICE) {
            pieces.push(Piece { start: range.start + first * columns, source: source(first) });
        }
    };
    matrix(&slots.projection, width, &|first| Source::Projection { first });
    for (block, slots) in slots.blocks.iter().enumerate() {
        matrix(&slots.dense_1, width, &|first| Source::Dense1 { block, first });
        matrix(&slots.dense_2, width, &|first| Source::Dense2 { block, first });
    }
    matrix(&slots.head, network.ends().outputs, &|first| Source::Head { first });
    for start in (slots.vectors..slots.total).step_by(RUN) {
        pieces.push(Piece { start, source: Source::Vectors });
    }
    pieces
}

fn sum_piece(network: &ResidualNetwork, tiles: &[Tile], piece: &Piece<Source>, gradient: &mut [f32]) {
    let (width, ends) = (network.size().width, network.ends());
    for (index, tile) in tiles.iter().enumerate() {
        let mut add = |x: &[f32], inputs, first, dy: &[f32], outputs| {
            dense::backward_weight(gradient, x, dy, (inputs, outputs), first, index > 0);
        };
        match piece.source {
            Source::Projection { first } => add(&tile.inputs, ends.inputs, first, &tile.d_stream, width),
            Source::Dense1 { block, first } => {
                let kept = &tile.blocks[block];
                add(&kept.activated, width, first, &kept.d_hidden, width);
            }
            Source::Dense2 { block, first } => {
                let kept = &tile.blocks[block];
                add(&kept.hidden, width, first, &kept.d_output, width);
            }
            Source::Head { first } => add(&tile.head_activated, width, first, &tile.d_logits, ends.outputs),
            Source::Vectors => return sum_tiles(gradient, tiles, piece.start - network.slots.vectors),
        }
    }
}

/// Sums the tiles' own sums from `start` on.
fn sum_tiles(to: &mut [f32], tiles: &[Tile], start: usize) {
    to.fill(0.0);
    math::simd(
        #[inline(always)]
        || {
            for tile in tiles {
                math::add(to, &tile.sums[start..]);
            }
        },
    );
}

/// From `d_logits` back to the projection, for one tile.
fn backward(network: &ResidualNetwork, transposed: &[Panels], tile: &mut Tile) {
    let (size, ends, slots) = (network.size(), network.ends(), &network.slots);
    let width = size.width;
    let weights = |range: &Range<usize>| &network.parameters[range.clone()];
    tile.sums.fill(0.0);
    let (vectors, d_films) = tile.sums.split_at_mut(slots.total - slots.vectors);
    let local = |range: &Range<usize>| range.start - slots.vectors..range.end - slots.vectors;

    dense::backward_bias(&mut vectors[local(&slots.head_bias)], &tile.d_logits);
    transposed[1 + 2 * size.depth].multiply(&mut tile.scratch, &tile.d_logits, Start::Zero);
    let (d_gain, d_shift) = vectors[slots.head_gain.start - slots.vectors..][..2 * width].split_at_mut(width);
    let last = tile.blocks.last_mut().map_or(&mut tile.d_stream, |block| &mut block.d_output);
    norm::backward(last, &mut tile.scratch, None, weights(&slots.head_gain), &tile.head_norm, d_gain, d_shift);

    let film_length = ends.levels * 2 * width;
    for (index, block) in slots.blocks.iter().enumerate().rev() {
        let (earlier, from_here) = tile.blocks.split_at_mut(index);
        let kept = &mut from_here[0];
        dense::backward_bias(&mut vectors[local(&block.bias_2)], &kept.d_output);
        transposed[2 + 2 * index].multiply(&mut kept.d_hidden, &kept.d_output, Start::Zero);
        let films = network.films_of(index);
        film_backward(
            &mut kept.d_hidden,
            &kept.hidden,
            &tile.levels,
            films,
            &mut d_films[index * film_length..][..film_length],
        );
        // From here on `hidden` is what the second dense layer saw.
        film(&mut tile.scratch, &kept.hidden, &tile.levels, films);
        std::mem::swap(&mut tile.scratch, &mut kept.hidden);
        dense::backward_bias(&mut vectors[local(&block.bias_1)], &kept.d_hidden);
        transposed[1 + 2 * index].multiply(&mut tile.scratch, &kept.d_hidden, Start::Zero);
        let (d_gain, d_shift) = vectors[block.gain.start - slots.vectors..][..2 * width].split_at_mut(width);
        let before = earlier.last_mut().map_or(&mut tile.d_stream, |block| &mut block.d_output);
        norm::backward(
            before,
            &mut tile.scratch,
            Some(&kept.d_output),
            weights(&block.gain),
            &kept.norm,
            d_gain,
            d_shift,
        );
    }
    dense::backward_bias(&mut vectors[local(&slots.projection_bias)], &tile.d_stream);
}

/// Turns the gradient after FiLM into the one before it, and sums the gradients of γ and β by level.
fn film_backward(d: &mut [f32], hidden: &[f32], levels: &[u32], films: &[f32], d_films: &mut [f32]) {
    let width = d.len() / levels.len();
    math::simd(
        #[inline(always)]
        || {
            for ((d, hidden), &level) in d.chunks_exact_mut(width).zip(hidden.chunks_exact(width)).zip(levels) {
                let at = level as usize * 2 * width;
                let (d, hidden, gamma) = (&mut d[..width], &hidden[..width], &films[at..][..width]);
                let (d_gamma, d_beta) = d_films[at..][..2 * width].split_at_mut(width);
                let d_beta = &mut d_beta[..width];
                for i in 0..width {
                    d_gamma[i] = d[i].mul_add(hidden[i], d_gamma[i]);
                    d_beta[i] += d[i];
                    d[i] *= gamma[i];
                }
            }
        },
    );
}
