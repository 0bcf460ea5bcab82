//! The training loop, top to bottom.
//!
//! Every step draws rows, levels and noise from streams that are named by the seed and the step ([`crate::noise`]), so the loop has
//! no hidden state: the weights, the optimiser's moments and the step number are all that a resumed run needs to reach the
//! same result, bit for bit. Validation uses the averaged weights, all levels and noise that never changes; the
//! best averaged weights are the result.

use std::time::Instant;

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::encode::Encoded;
use crate::error::{Error, Result};
use crate::model::FitReport;
use crate::network::math::simd;
use crate::network::{Evaluator, Optimiser, OptimiserConfig, ResidualNetwork, TILE, Task, Tile, Trainer};
use crate::noise::objective::Loss;
use crate::noise::{concrete, fill_gumbel, fill_normal, stream};
use crate::schema::Schema;

/// Names of the random streams.
const TRAINING: u64 = 1;
const VALIDATION: u64 = 2;

/// Steps that a limit on epochs leaves at the least.
const FEWEST_STEPS: u64 = 1000;

/// The loop's settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingConfig {
    /// Rows per step.
    pub batch: usize,
    /// Steps at the most; the learning rate's cosine spans them.
    pub steps: u64,
    /// Times that training goes over its rows, at the most, though never fewer than 1,000 steps; 0 means any number.
    ///
    /// A small table is known by heart long before its validation loss says so, odd rows included.
    pub epochs: u64,
    /// The share of category cells that are hidden from the network and asked for all the same.
    ///
    /// Without it the network has never met a row with a cell it knows nothing about, and cannot be asked what the others make it expect.
    pub hidden: f32,
    /// Learning rate at the start.
    pub learning_rate: f32,
    /// Learning rate at the end.
    pub final_learning_rate: f32,
    /// Steps between validations.
    pub validate_every: u64,
    /// Validations without improvement after which training stops; 0 means never.
    pub patience: u64,
    /// Held-out rows used for validation, at the most.
    pub validation_rows: usize,
    /// The optimiser.
    pub optimiser: OptimiserConfig,
}

impl TrainingConfig {
    /// Checks every setting.
    pub fn validate(&self) -> Result<()> {
        let positive = |field, value: f32| {
            if value.is_finite() && value > 0.0 {
                Ok(())
            } else {
                Err(Error::config(field, format!("{value} is not a positive number")))
            }
        };
        let at_least_one = |field, value: u64| {
            if value > 0 { Ok(()) } else { Err(Error::config(field, "must be at least 1")) }
        };
        at_least_one("training.batch", self.batch as u64)?;
        at_least_one("training.steps", self.steps)?;
        at_least_one("training.validate_every", self.validate_every)?;
        at_least_one("training.validation_rows", self.validation_rows as u64)?;
        if self.batch > 1 << 20 {
            return Err(Error::config("training.batch", "must be at most 1,048,576"));
        }
        positive("training.learning_rate", self.learning_rate)?;
        positive("training.final_learning_rate", self.final_learning_rate)?;
        positive("training.optimiser.clip", self.optimiser.clip)?;
        for (field, value) in [
            ("training.optimiser.beta_1", self.optimiser.beta_1),
            ("training.optimiser.beta_2", self.optimiser.beta_2),
            ("training.optimiser.average", self.optimiser.average),
            ("training.optimiser.weight_decay", self.optimiser.weight_decay),
            ("training.hidden", self.hidden),
        ] {
            if !(0.0..1.0).contains(&value) {
                return Err(Error::config(field, format!("{value} is not in [0, 1)")));
            }
        }
        Ok(())
    }

    /// These settings for so many training rows.
    fn for_rows(mut self, n_rows: usize) -> Self {
        if self.epochs > 0 {
            let enough = self.epochs.saturating_mul(n_rows as u64) / self.batch as u64;
            self.steps = self.steps.min(enough.max(FEWEST_STEPS));
        }
        self
    }

    fn learning_rate_at(&self, step: u64) -> f32 {
        let progress = step as f64 / self.steps as f64;
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * progress).cos());
        let (first, last) = (f64::from(self.learning_rate), f64::from(self.final_learning_rate));
        (last + (first - last) * cosine) as f32
    }
}

/// A point of the training curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurvePoint {
    /// Steps taken.
    pub step: u64,
    /// Mean training loss of a row since the point before.
    pub training: f64,
    /// Mean validation loss of a row, over all levels.
    pub validation: f64,
}

/// How far training is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Steps taken.
    pub step: u64,
    /// Steps planned.
    pub steps: u64,
    /// Training loss of the last step, per row.
    pub loss: f64,
    /// Best validation loss so far.
    pub best: Option<f64>,
    /// Seconds since the start.
    pub seconds: f64,
    /// Seconds left at this pace, if training neither stops early nor meets its time limit.
    pub seconds_left: f64,
}

/// Watches training from outside.
pub trait Watcher {
    /// Called once, when the columns are understood and the rows dealt out, before training.
    fn begin(&mut self, _schema: &Schema, _report: &FitReport) {}

    /// Called after every step.
    fn progress(&mut self, _progress: &Progress) {}

    /// Whether to stop now and keep the best so far.
    fn stop(&mut self) -> bool {
        false
    }
}

/// A watcher that does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Watcher for Silent {}

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// All steps were taken.
    Completed,
    /// Validation stopped improving.
    StoppedEarly,
    /// The time limit was reached.
    TimeLimit,
    /// The watcher asked for it.
    Interrupted,
}

/// Everything a run in progress consists of.
#[derive(Debug, Clone)]
pub struct TrainingState {
    /// The current weights.
    pub parameters: Vec<f32>,
    /// The optimiser's moments, the weight average and the step.
    pub optimiser: Optimiser,
    /// The best averaged weights, and their validation loss.
    pub best: Option<(f64, Vec<f32>)>,
    /// Validations since then.
    pub since_best: u64,
    /// The curve so far.
    pub curve: Vec<CurvePoint>,
}

/// Saves states so that a later run can continue from them.
pub struct Saver<'a> {
    /// Seconds between two states, at the least; a state is only complete after a validation.
    pub seconds: f64,
    /// Puts a state in a safe place.
    pub save: &'a mut dyn FnMut(&TrainingState) -> Result<()>,
}

/// What a run needs beside its settings.
pub struct Run<'a> {
    /// Where all randomness comes from.
    pub seed: u64,
    /// Seconds after which the loop ends.
    pub max_seconds: Option<f64>,
    /// A state to continue from.
    pub resume: Option<TrainingState>,
    /// Saves states now and then.
    pub save: Option<Saver<'a>>,
    /// Watches.
    pub watcher: &'a mut dyn Watcher,
}

/// What comes out of training.
pub struct Trained {
    /// The network with the best averaged weights.
    pub network: ResidualNetwork,
    /// The training curve.
    pub curve: Vec<CurvePoint>,
    /// Why training ended.
    pub ending: Ending,
}

/// Trains `network` on `training` rows, validated on `validation` rows.
pub fn train(
    network: ResidualNetwork,
    config: &TrainingConfig,
    loss: &Loss<'_>,
    training: &Encoded,
    validation: &Encoded,
    run: Run<'_>,
) -> Result<Trained> {
    config.validate()?;
    let config = &config.for_rows(training.n_rows());
    let Run { seed, max_seconds, resume, mut save, watcher } = run;
    let hidden = config.hidden;
    let task = Denoising { rows: training, loss, seed, hidden, scale: 1.0 / config.batch as f32 };
    let n_rows = validation.n_rows().min(config.validation_rows);
    let held_out = FixedNoise { rows: validation, n_rows, loss, seed, hidden };
    let mut evaluator = Evaluator::new(&network, held_out.n_tiles());
    let mut averaged = network.clone();
    let mut trainer = Trainer::new(network, config.batch);
    let mut optimiser = Optimiser::new(config.optimiser, trainer.network.parameters());
    let (mut best, mut since_best, mut curve) = (None::<(f64, Vec<f32>)>, 0, Vec::new());
    if let Some(state) = resume {
        if state.parameters.len() != trainer.network.parameters().len() {
            return Err(Error::fit("the checkpoint is of another network", "remove it and start over"));
        }
        trainer.network.set_parameters(&state.parameters);
        (optimiser, best, since_best, curve) = (state.optimiser, state.best, state.since_best, state.curve);
    }
    let first_step = optimiser.step;
    let (start, mut last_saved) = (Instant::now(), Instant::now());
    let (mut sum, mut steps_in_sum) = (0.0, 0u64);
    let mut ending = Ending::Completed;

    while optimiser.step < config.steps {
        let step = optimiser.step;
        let step_loss = trainer.compute_gradient(step, &task) / config.batch as f64;
        if !step_loss.is_finite() {
            return Err(Error::fit(
                format!("training diverged at step {step}: the loss is {step_loss}"),
                "lower training.learning_rate",
            ));
        }
        trainer.update(&mut optimiser, config.learning_rate_at(step));
        sum += step_loss;
        steps_in_sum += 1;

        let done = optimiser.step;
        let seconds = start.elapsed().as_secs_f64();
        let stop = if watcher.stop() {
            Some(Ending::Interrupted)
        } else if max_seconds.is_some_and(|limit| seconds >= limit) {
            Some(Ending::TimeLimit)
        } else {
            None
        };
        if done.is_multiple_of(config.validate_every) || done == config.steps || stop.is_some() {
            averaged.set_parameters(&optimiser.average);
            let validation = evaluator.loss(&averaged, &held_out) / held_out.n_losses();
            curve.push(CurvePoint { step: done, training: sum / steps_in_sum as f64, validation });
            (sum, steps_in_sum) = (0.0, 0);
            if best.as_ref().is_none_or(|(loss, _)| validation < *loss) {
                match &mut best {
                    Some((loss, parameters)) => {
                        *loss = validation;
                        parameters.copy_from_slice(&optimiser.average);
                    }
                    None => best = Some((validation, optimiser.average.clone())),
                }
                since_best = 0;
            } else {
                since_best += 1;
            }
        }
        watcher.progress(&Progress {
            step: done,
            steps: config.steps,
            loss: step_loss,
            best: best.as_ref().map(|(loss, _)| *loss),
            seconds,
            seconds_left: seconds / (done - first_step) as f64 * (config.steps - done) as f64,
        });
        if let Some(reason) = stop {
            ending = reason;
            break;
        }
        if config.patience > 0 && since_best >= config.patience {
            ending = Ending::StoppedEarly;
            break;
        }
        if let Some(saver) = &mut save
            && steps_in_sum == 0
            && last_saved.elapsed().as_secs_f64() >= saver.seconds
        {
            let parameters = trainer.network.parameters().to_vec();
            (saver.save)(&TrainingState {
                parameters,
                optimiser: optimiser.clone(),
                best: best.clone(),
                since_best,
                curve: curve.clone(),
            })?;
            last_saved = Instant::now();
        }
    }
    if let Some((_, parameters)) = best {
        averaged.set_parameters(&parameters);
    }
    Ok(Trained { network: averaged, curve, ending })
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
            // 64 random bits: the bias of the remainder is far below any count of rows.
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
    let width = loss.layout.width();
    let hidden = (f64::from(hidden) * f64::from(u32::MAX)) as u32;
    simd(
        #[inline(always)]
        || {
            for position in 0..tile.rows {
                let (row, level) = (tile.sources[position] as usize, tile.levels[position] as usize);
                let noisy = &mut tile.noisy[position * width..][..width];
                loss.perturb(noisy, rows.codes(row), level);
                if hidden > 0 {
                    for places in loss.layout.groups() {
                        if rng.next_u32() < hidden {
                            concrete::unknown(&mut noisy[places]);
                        }
                    }
                }
                loss.input(&mut tile.inputs[position * width..][..width], noisy, rows.numbers(row), level);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use crate::network::{Ends, NetworkSize};
    use crate::noise::objective::{Objective, Parameterisation};
    use crate::noise::{Levels, LevelsConfig, Smoothing};

    fn config(steps: u64) -> TrainingConfig {
        TrainingConfig {
            batch: 150,
            steps,
            epochs: 0,
            hidden: 0.1,
            learning_rate: 3e-3,
            final_learning_rate: 1e-4,
            validate_every: 10,
            patience: 0,
            validation_rows: 100,
            optimiser: OptimiserConfig {
                beta_1: 0.9,
                beta_2: 0.999,
                weight_decay: 1e-4,
                clip: 1.0,
                average: 0.9,
                average_warmup: true,
            },
        }
    }

    /// Asks for a stop after so many steps.
    struct After(u64);
    impl Watcher for After {
        fn stop(&mut self) -> bool {
            self.0 -= 1;
            self.0 == 0
        }
    }

    /// The second column repeats the first; the number is its double.
    fn rows(n: u32) -> Encoded {
        let codes = (0..n).flat_map(|i| [i % 3, i % 3]).collect();
        Encoded::new(n as usize, codes, (0..n).map(|i| (i % 3) as f32 * 2.0 - 2.0).collect())
    }

    fn run_with(config: &TrainingConfig, run: Run<'_>) -> Result<Trained> {
        let layout = Layout::new(1, vec![3, 3]);
        let levels = Levels::new(&LevelsConfig {
            count: 4,
            lambda_min: 2.0,
            lambda_max: 20.0,
            sigma_min: 0.1,
            sigma_max: 1.0,
            smoothing: Smoothing::Growing { first: 0.95, last: 0.05 },
        })?;
        let loss = Loss {
            layout: &layout,
            levels: &levels,
            parameterisation: Parameterisation::Posterior,
            objective: Objective::CrossEntropy,
            weighted: false,
        };
        let ends = Ends { inputs: 7, outputs: 7, levels: 4 };
        let size = NetworkSize { width: 32, depth: 2, embedding: 8 };
        let network = ResidualNetwork::new(size, ends, None, &mut stream(run.seed, 9, 0, 0));
        train(network, config, &loss, &rows(300), &rows(100), run)
    }

    fn plain(watcher: &mut Silent) -> Run<'_> {
        Run { seed: 5, max_seconds: None, resume: None, save: None, watcher }
    }

    #[test]
    fn training_lowers_the_validation_loss_and_keeps_the_best() {
        let trained = run_with(&config(120), plain(&mut Silent)).expect("trained");
        let first = trained.curve[0].validation;
        let best = trained.curve.iter().map(|point| point.validation).fold(f64::INFINITY, f64::min);
        assert!(best < 0.7 * first, "{first} {best}");
        assert_eq!(trained.curve.len(), 12);
        assert_eq!(trained.ending, Ending::Completed);
    }

    #[test]
    fn a_resumed_run_ends_with_the_same_bits() {
        let whole = run_with(&config(60), plain(&mut Silent)).expect("trained");
        // Stopped between two validations, as a killed run would be.
        let mut states = Vec::new();
        let mut save = |state: &TrainingState| {
            states.push(state.clone());
            Ok(())
        };
        let saver = Saver { seconds: 0.0, save: &mut save };
        let run = Run { seed: 5, max_seconds: None, resume: None, save: Some(saver), watcher: &mut After(35) };
        run_with(&config(60), run).expect("trained");
        let state = states.pop().expect("one checkpoint");
        assert_eq!(state.optimiser.step, 30);
        let run = Run { seed: 5, max_seconds: None, resume: Some(state), save: None, watcher: &mut Silent };
        let resumed = run_with(&config(60), run).expect("trained");
        assert_eq!(whole.network.parameters(), resumed.network.parameters());
        assert_eq!(whole.curve, resumed.curve);
    }

    #[test]
    fn training_stops_early_on_time_and_on_request() {
        let mut stagnant = config(1000);
        (stagnant.learning_rate, stagnant.final_learning_rate, stagnant.patience) = (1e-12, 1e-12, 2);
        stagnant.optimiser.average = 0.0;
        let trained = run_with(&stagnant, plain(&mut Silent)).expect("trained");
        assert_eq!(trained.ending, Ending::StoppedEarly);

        let mut silent = Silent;
        let run = Run { max_seconds: Some(0.0), ..plain(&mut silent) };
        let trained = run_with(&config(1000), run).expect("trained");
        assert_eq!((trained.ending, trained.curve.len()), (Ending::TimeLimit, 1));

        let run = Run { seed: 5, max_seconds: None, resume: None, save: None, watcher: &mut After(1) };
        assert_eq!(run_with(&config(1000), run).expect("trained").ending, Ending::Interrupted);
    }

    #[test]
    fn small_tables_take_fewer_steps() {
        let mut limited = config(3000);
        (limited.batch, limited.epochs) = (512, 100);
        assert_eq!([50, 10_240, 1_000_000].map(|n| limited.for_rows(n).steps), [1000, 2000, 3000]);
        limited.steps = 10;
        assert_eq!(limited.for_rows(50).steps, 10);
    }

    #[test]
    fn bad_settings_are_named() {
        let mut bad = config(10);
        bad.optimiser.beta_2 = 1.5;
        let message = run_with(&bad, plain(&mut Silent)).err().expect("refused").to_string();
        assert_eq!(message, "setting `training.optimiser.beta_2`: 1.5 is not in [0, 1)");
    }

    // torch.optim.lr_scheduler.CosineAnnealingLR(T_max=1000, eta_min=1e-5) from 1e-3, after 250 steps.
    #[test]
    fn the_learning_rate_follows_a_cosine() {
        let mut cosine = config(1000);
        (cosine.learning_rate, cosine.final_learning_rate) = (1e-3, 1e-5);
        assert!((cosine.learning_rate_at(250) - 8.550_178_6e-4).abs() < 1e-9);
        assert!((cosine.learning_rate_at(1000) - 1e-5).abs() < 1e-10);
    }
}
