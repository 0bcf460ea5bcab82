//! What GNSM learns: to undo the noise on rows that are drawn at random.
//!
//! The rows, levels and noise of a step come from random streams that are named by the seed and the step
//! ([`crate::noise`]). Validation uses all levels, and noise that never changes.

use rand::Rng;

use super::{Learner, Run, Trained, TrainingConfig, train};
use crate::columns::Encoded;
use crate::error::Result;
use crate::math::{fill_gumbel, fill_normal, simd, stream};
use crate::network::{Evaluator, Optimiser, ResidualNetwork, TILE, Task, Tile, Trainer};
use crate::noise::{Loss, concrete, perturb};

/// Names of the random streams.
const TRAINING: u64 = 1;
const VALIDATION: u64 = 2;

/// Trains `network` on `training` rows, validated on `validation` rows.
pub fn train_denoiser(
    network: ResidualNetwork,
    config: &TrainingConfig,
    loss: &Loss<'_>,
    training: &Encoded,
    validation: &Encoded,
    mut run: Run<'_>,
) -> Result<(ResidualNetwork, Trained)> {
    config.validate()?;
    let (seed, hidden) = (run.seed, config.hidden);
    let n_rows = validation.n_rows().min(config.validation_rows);
    let held_out = FixedNoise { rows: validation, n_rows, loss, seed, hidden };
    let mut learner = Denoiser {
        task: Denoising { rows: training, loss, seed, hidden, scale: 1.0 / config.batch as f32 },
        evaluator: Evaluator::new(&network, held_out.n_tiles()),
        held_out,
        averaged: network.clone(),
        trainer: Trainer::new(network, config.batch),
        batch: config.batch as f64,
    };
    let trained = train(&mut learner, config, training.n_rows(), &mut run)?;
    let mut network = learner.averaged;
    network.set_parameters(&trained.parameters);
    Ok((network, trained))
}

/// A residual network that learns to denoise.
struct Denoiser<'a> {
    task: Denoising<'a>,
    held_out: FixedNoise<'a>,
    trainer: Trainer,
    /// The network that is validated.
    averaged: ResidualNetwork,
    evaluator: Evaluator,
    batch: f64,
}

impl Learner for Denoiser<'_> {
    fn parameters(&self) -> &[f32] {
        self.trainer.network.parameters()
    }

    fn set_parameters(&mut self, parameters: &[f32]) {
        self.trainer.network.set_parameters(parameters);
    }

    fn compute_gradient(&mut self, step: u64) -> f64 {
        self.trainer.compute_gradient(step, &self.task) / self.batch
    }

    fn update(&mut self, optimiser: &mut Optimiser, learning_rate: f32) {
        self.trainer.update(optimiser, learning_rate);
    }

    fn validate(&mut self, parameters: &[f32]) -> f64 {
        self.averaged.set_parameters(parameters);
        self.evaluator.loss(&self.averaged, &self.held_out) / self.held_out.n_losses()
    }
}

/// Denoising rows drawn at random, at levels spread evenly over the batch.
struct Denoising<'a> {
    rows: &'a Encoded,
    loss: &'a Loss<'a>,
    seed: u64,
    hidden: f32,
    scale: f32,
}

impl Task for Denoising<'_> {
    fn perturb(&self, step: u64, tile_index: usize, tile: &mut Tile) {
        let mut rng = stream(self.seed, TRAINING, step, tile_index as u64);
        let n_levels = self.loss.levels.count() as u64;
        // The same shift for all tiles of a step keeps the levels balanced over the whole batch.
        let shift = stream(self.seed, TRAINING, step, u64::MAX).next_u64() % n_levels;
        let n_rows = self.rows.n_rows() as u64;
        for position in 0..tile.rows {
            // With 64 random bits, the remainder is practically uniform.
            tile.sources[position] = (rng.next_u64() % n_rows) as u32;
            tile.levels[position] = (((tile_index * TILE + position) as u64 + shift) % n_levels) as u32;
        }
        fill_noise(&mut rng, self.loss, tile);
        add_noise(&mut rng, self.rows, self.loss, self.hidden, tile);
    }

    fn loss(&self, tile: &mut Tile) {
        row_losses(self.rows, self.loss, self.scale, tile);
    }
}

/// The same rows, levels and noise every time: tile t holds a block of rows at level t mod L.
struct FixedNoise<'a> {
    rows: &'a Encoded,
    n_rows: usize,
    loss: &'a Loss<'a>,
    seed: u64,
    hidden: f32,
}

impl FixedNoise<'_> {
    fn n_tiles(&self) -> usize {
        self.n_rows.div_ceil(TILE) * self.loss.levels.count()
    }

    fn n_losses(&self) -> f64 {
        (self.n_rows * self.loss.levels.count()) as f64
    }
}

impl Task for FixedNoise<'_> {
    fn perturb(&self, _: u64, tile_index: usize, tile: &mut Tile) {
        let n_levels = self.loss.levels.count();
        let first = tile_index / n_levels * TILE;
        tile.rows = TILE.min(self.n_rows - first);
        tile.levels.fill((tile_index % n_levels) as u32);
        for position in 0..tile.rows {
            tile.sources[position] = (first + position) as u32;
        }
        let mut rng = stream(self.seed, VALIDATION, 0, tile_index as u64);
        fill_noise(&mut rng, self.loss, tile);
        add_noise(&mut rng, self.rows, self.loss, self.hidden, tile);
    }

    fn loss(&self, tile: &mut Tile) {
        row_losses(self.rows, self.loss, 0.0, tile);
    }
}

/// Raw noise for every place: Gumbel for categories, normal for numbers.
fn fill_noise(rng: &mut rand_chacha::ChaCha8Rng, loss: &Loss<'_>, tile: &mut Tile) {
    let (width, n_numbers) = (loss.layout.width(), loss.layout.n_numbers());
    if width > n_numbers {
        fill_gumbel(rng, &mut tile.noisy);
    }
    for row in tile.noisy.chunks_exact_mut(width) {
        fill_normal(rng, &mut row[..n_numbers]);
    }
}

fn add_noise(rng: &mut rand_chacha::ChaCha8Rng, rows: &Encoded, loss: &Loss<'_>, hidden: f32, tile: &mut Tile) {
    let Loss { layout, levels, parameterisation, .. } = *loss;
    let width = layout.width();
    let hidden = (f64::from(hidden) * f64::from(u32::MAX)) as u32;
    simd(
        #[inline(always)]
        || {
            for position in 0..tile.rows {
                let (row, level) = (tile.sources[position] as usize, tile.levels[position] as usize);
                let noisy = &mut tile.noisy[position * width..][..width];
                perturb(layout, levels, level, rows.codes(row), noisy);
                if hidden > 0 {
                    for places in layout.groups() {
                        if rng.next_u32() < hidden {
                            concrete::unknown(&mut noisy[places]);
                        }
                    }
                }
                let input = &mut tile.inputs[position * width..][..width];
                parameterisation.present(layout, levels, level, noisy, rows.numbers(row), input);
            }
        },
    );
}

fn row_losses(rows: &Encoded, loss: &Loss<'_>, scale: f32, tile: &mut Tile) {
    let width = loss.layout.width();
    tile.loss = simd(
        #[inline(always)]
        || {
            let mut total = 0.0;
            for position in 0..tile.rows {
                let (row, level) = (tile.sources[position] as usize, tile.levels[position] as usize);
                let places = position * width..(position + 1) * width;
                total += loss.row(
                    rows.codes(row),
                    rows.numbers(row),
                    level,
                    &tile.noisy[places.clone()],
                    &tile.logits[places.clone()],
                    scale,
                    &mut tile.d_logits[places],
                    &mut tile.work,
                );
            }
            total
        },
    );
}
