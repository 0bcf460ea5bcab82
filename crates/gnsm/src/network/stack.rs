//! Perceptrons put together: the gradient of their loss over a batch, and their results for any rows.
//!
//! A [`Stack`] turns a row into a few results in double precision, such as a distance, a code or an error. Its loss
//! sees the results of the whole batch at once. So it can depend on statistics of the batch. It gives back the gradient
//! of the results. One step has four phases:
//!
//! 1. Each tile of rows goes forward on its own.
//! 2. One thread computes the loss of all results, and its gradient, in a fixed order.
//! 3. Each tile goes backward on its own.
//! 4. The gradient vector is summed over the tiles in fixed pieces.
//!
//! As in the step of the residual network, nothing depends on the number of threads, and everything is allocated before
//! the first step.

use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::perceptron::{Perceptron, PerceptronTile, Source};
use super::pieces::{Piece, run_pieces};
use super::residual::TILE;
use crate::error::stop_point;

/// Tiles that are looked at side by side.
const LANES: usize = 16;

/// Perceptrons, how rows go through them, and what is made of the results.
pub trait Stack: Sync {
    /// The perceptrons, in the order of their parameters; rows come in at the first.
    fn networks(&self) -> &[Perceptron];

    /// Numbers that tell a row.
    fn n_results(&self) -> usize;

    /// From the inputs of the first perceptron to the results of a tile's rows, [rows, results].
    fn forward(&self, parameters: &[f32], tile: &mut StackTile, results: &mut [f64]);

    /// From the gradient of the results to those of all perceptrons; with `to_inputs` on to the inputs of the first.
    fn backward(&self, parameters: &[f32], tile: &mut StackTile, d_results: &[f64], to_inputs: bool);

    /// The loss of a batch per row, and its gradient unless there is no room for it.
    fn loss(&self, results: &[f64], d_results: &mut [f64]) -> f64;
}

/// A tile of rows in all perceptrons of a stack.
pub struct StackTile {
    /// How many rows are real; the gradient of the others is zero.
    pub rows: usize,
    /// The buffers of each perceptron.
    pub parts: Vec<PerceptronTile>,
    /// Where dropout is drawn from, in a training step.
    pub dropout: Option<ChaCha8Rng>,
}

impl StackTile {
    fn new(stack: &impl Stack, rows: usize, with_gradient: bool) -> Self {
        let parts = stack.networks().iter().map(|network| PerceptronTile::new(network, with_gradient)).collect();
        Self { rows, parts, dropout: None }
    }

    /// The inputs of a row.
    pub fn input(&mut self, position: usize) -> &mut [f32] {
        let inputs = &mut self.parts[0].inputs;
        let width = inputs.len() / TILE;
        &mut inputs[position * width..][..width]
    }
}

/// Computes gradients of batches.
pub struct StackTrainer {
    tiles: Vec<StackTile>,
    results: Vec<f64>,
    d_results: Vec<f64>,
    gradient: Vec<f32>,
    pieces: Vec<Piece<(usize, Source)>>,
}

impl StackTrainer {
    /// Room for batches of `batch` rows.
    pub fn new(stack: &impl Stack, batch: usize) -> Self {
        let tiles =
            (0..batch).step_by(TILE).map(|first| StackTile::new(stack, TILE.min(batch - first), true)).collect();
        let of_network = |(index, network): (usize, &Perceptron)| {
            let pieces = network.pieces().into_iter();
            pieces.map(move |piece| Piece { start: piece.start, source: (index, piece.source) }).collect::<Vec<_>>()
        };
        Self {
            tiles,
            results: vec![0.0; batch * stack.n_results()],
            d_results: vec![0.0; batch * stack.n_results()],
            gradient: vec![0.0; stack.networks().last().map_or(0, |network| network.range().end)],
            pieces: stack.networks().iter().enumerate().flat_map(of_network).collect(),
        }
    }

    /// The gradient of the last [`Self::compute_gradient`].
    pub fn gradient(&self) -> &[f32] {
        &self.gradient
    }

    /// Computes the gradient of a batch; returns its loss per row. `fill` writes the inputs of tile number so-and-so.
    pub fn compute_gradient<S: Stack>(
        &mut self,
        stack: &S,
        parameters: &[f32],
        fill: impl Fn(usize, &mut StackTile) + Sync,
    ) -> f64 {
        let per_tile = TILE * stack.n_results();
        let results = self.results.par_chunks_mut(per_tile);
        self.tiles.par_iter_mut().zip(results).enumerate().with_max_len(1).for_each(|(index, (tile, results))| {
            stop_point();
            fill(index, tile);
            stack.forward(parameters, tile, results);
        });
        let loss = stack.loss(&self.results, &mut self.d_results);
        let d_results = self.d_results.par_chunks(per_tile);
        self.tiles.par_iter_mut().zip(d_results).with_max_len(1).for_each(|(tile, d_results)| {
            stack.backward(parameters, tile, d_results, false);
        });
        let (tiles, networks) = (&self.tiles, stack.networks());
        run_pieces(&self.pieces, &mut self.gradient, &|piece, gradient| {
            let (network, source) = piece.source;
            for (index, tile) in tiles.iter().enumerate() {
                networks[network].sum_piece(source, &tile.parts[network], gradient, index > 0);
            }
        });
        loss
    }
}

/// Computes results without gradients, in buffers of its own.
pub struct StackReader {
    lanes: Vec<StackTile>,
    results: Vec<f64>,
    n_results: usize,
}

impl StackReader {
    /// Room for `n_rows` rows.
    pub fn new(stack: &impl Stack, n_rows: usize) -> Self {
        let lanes = LANES.min(n_rows.div_ceil(TILE));
        Self {
            lanes: (0..lanes).map(|_| StackTile::new(stack, TILE, false)).collect(),
            results: vec![0.0; n_rows * stack.n_results()],
            n_results: stack.n_results(),
        }
    }

    /// The results of all rows, [rows, results]; `fill` writes the inputs of a row.
    pub fn read<S: Stack>(&mut self, stack: &S, parameters: &[f32], fill: impl Fn(usize, &mut [f32]) + Sync) -> &[f64] {
        let (lanes, per_tile) = (self.lanes.len(), TILE * self.n_results);
        for (round, results) in self.results.chunks_mut((lanes * per_tile).max(1)).enumerate() {
            let tiles = results.par_chunks_mut(per_tile).zip(&mut self.lanes).enumerate().with_max_len(1);
            tiles.for_each(|(lane, (results, tile))| {
                stop_point();
                let first = (round * lanes + lane) * TILE;
                tile.rows = results.len() / stack.n_results();
                for position in 0..TILE {
                    // What is left of a tile that is not full goes through as its first row.
                    fill(first + if position < tile.rows { position } else { 0 }, tile.input(position));
                }
                stack.forward(parameters, tile, results);
            });
        }
        &self.results
    }
}

/// The gradient of a number that follows from a row's results, with respect to the row's inputs, summed over `points` inputs for each row:
/// [rows, inputs].
///
/// `fill` writes point so-and-so of a row; `slope` turns its results into their gradient. `points` must divide a tile.
pub fn sum_input_gradients<S: Stack>(
    stack: &S,
    parameters: &[f32],
    (n_rows, points): (usize, usize),
    fill: impl Fn(usize, usize, &mut [f32]) + Sync,
    slope: impl Fn(&[f64], &mut [f64]) + Sync,
) -> Vec<f64> {
    let (width, n_results, rows_per_tile) = (stack.networks()[0].inputs(), stack.n_results(), TILE / points);
    let mut sums = vec![0.0; n_rows * width];
    sums.par_chunks_mut(rows_per_tile * width).enumerate().for_each_init(
        || (StackTile::new(stack, TILE, true), vec![0.0; TILE * n_results], vec![0.0; TILE * n_results]),
        |(tile, results, d_results), (index, sums)| {
            stop_point();
            tile.rows = sums.len() / width * points;
            for position in 0..TILE {
                let row = if position < tile.rows { position / points } else { 0 };
                fill(index * rows_per_tile + row, position % points, tile.input(position));
            }
            let used = tile.rows * n_results;
            stack.forward(parameters, tile, &mut results[..used]);
            for (results, d_results) in results.chunks_exact(n_results).zip(d_results.chunks_exact_mut(n_results)) {
                slope(results, d_results);
            }
            stack.backward(parameters, tile, &d_results[..used], true);
            for (position, d_input) in tile.parts[0].d_inputs.chunks_exact(width).take(tile.rows).enumerate() {
                for (sum, slope) in sums[position / points * width..][..width].iter_mut().zip(d_input) {
                    *sum += f64::from(*slope);
                }
            }
        },
    );
    sums
}
