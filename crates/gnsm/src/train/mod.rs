//! The training loop, for anything that has weights and a gradient.
//!
//! What is trained is a [`Learner`]: GNSM's denoising network (`denoising.rs`) or another deep method
//! ([`crate::detectors`]). Every step draws its random numbers from streams that are named by the seed and the step
//! ([`crate::noise`]). So the loop has no hidden state. A resumed run needs only the weights, the optimiser's moments
//! and the number of the step, and reaches the same result, bit for bit.
//!
//! Validation uses the averaged weights on rows and noise that never change. The best averaged weights are the result.

mod config;
mod denoising;
mod rows;

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::columns::Schema;
use crate::error::{Error, Result, stop_point};
use crate::network::Optimiser;

pub use config::TrainingConfig;
pub use denoising::train_denoiser;
pub use rows::FitReport;
pub(crate) use rows::{FEWEST_ROWS, check_rows, deal, halve};

/// The curve has room for this many points from the start, so that the loop allocates nothing.
const MOST_RESERVED: u64 = 1 << 16;

/// What the loop can train.
pub trait Learner {
    /// The current weights.
    fn parameters(&self) -> &[f32];

    /// Replaces the weights by as many others.
    fn set_parameters(&mut self, parameters: &[f32]);

    /// Computes the gradient of a step's batch at the current weights; returns the batch's loss per row.
    fn compute_gradient(&mut self, step: u64) -> f64;

    /// Moves the weights along that gradient.
    fn update(&mut self, optimiser: &mut Optimiser, learning_rate: f32);

    /// The loss of the held-out rows under these weights, per row.
    fn validate(&mut self, parameters: &[f32]) -> f64;

    /// Whether a loss that is NaN ends training with the best weights so far, if there are any, and not with an error.
    fn keeps_best_if_it_diverges(&self) -> bool {
        false
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
    /// Mean validation loss of a row.
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

/// Watches training from outside; from one of the threads that train.
pub trait Watcher: Send {
    /// Called once, when the columns are understood and the rows dealt out, before training.
    fn begin(&mut self, _schema: &Schema, _report: &FitReport) {}

    /// Called after every step.
    fn progress(&mut self, _progress: &Progress) {}

    /// Called now and then after training, while the trained network is applied to usual rows to calibrate its scores:
    /// how many of all are done.
    fn measured(&mut self, _done: usize, _total: usize) {}

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
    /// A loss was no number, and the best weights so far were kept.
    Diverged,
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
    /// At least this many seconds lie between two saved states; a state can only be saved after a validation.
    pub seconds: f64,
    /// Puts a state in a safe place.
    pub save: &'a mut (dyn FnMut(&TrainingState) -> Result<()> + Send),
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
#[derive(Debug, Clone)]
pub struct Trained {
    /// The best averaged weights.
    pub parameters: Vec<f32>,
    /// The training curve.
    pub curve: Vec<CurvePoint>,
    /// Why training ended.
    pub ending: Ending,
}

/// Trains with batches out of `n_rows` rows, until the loop's end or one of its limits.
///
/// The loop runs on one of the pool's threads. From outside, each piece of parallel work would have to be handed over,
/// which takes time and sometimes memory.
pub fn train(
    learner: &mut (impl Learner + Send),
    config: &TrainingConfig,
    n_rows: usize,
    run: &mut Run<'_>,
) -> Result<Trained> {
    config.validate()?;
    rayon::scope(|_| train_here(learner, &config.for_rows(n_rows), run))
}

fn train_here(learner: &mut impl Learner, config: &TrainingConfig, run: &mut Run<'_>) -> Result<Trained> {
    let Run { seed: _, max_seconds, resume, save, watcher } = run;
    let mut optimiser = Optimiser::new(config.optimiser, learner.parameters());
    let (mut best, mut since_best, mut curve) = (None::<(f64, Vec<f32>)>, 0, Vec::new());
    if let Some(state) = resume.take() {
        if state.parameters.len() != learner.parameters().len() {
            return Err(Error::fit("the checkpoint is of another network", "remove it and start over"));
        }
        learner.set_parameters(&state.parameters);
        (optimiser, best, since_best, curve) = (state.optimiser, state.best, state.since_best, state.curve);
    }
    curve.reserve((config.steps / config.validate_every).min(MOST_RESERVED) as usize + 1);
    let first_step = optimiser.step;
    let (start, mut last_saved) = (Instant::now(), Instant::now());
    let (mut sum, mut steps_in_sum) = (0.0, 0u64);
    let mut ending = Ending::Completed;

    while optimiser.step < config.steps {
        stop_point();
        let step = optimiser.step;
        let step_loss = learner.compute_gradient(step);
        if !step_loss.is_finite() {
            if best.is_some() && learner.keeps_best_if_it_diverges() {
                ending = Ending::Diverged;
                break;
            }
            return Err(diverged(step, "loss", step_loss));
        }
        learner.update(&mut optimiser, config.learning_rate_at(step));
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
            let validation = learner.validate(&optimiser.average);
            if !validation.is_finite() {
                if best.is_some() && learner.keeps_best_if_it_diverges() {
                    ending = Ending::Diverged;
                    break;
                }
                return Err(diverged(done, "validation loss", validation));
            }
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
        if let Some(saver) = save
            && steps_in_sum == 0
            && last_saved.elapsed().as_secs_f64() >= saver.seconds
        {
            let parameters = learner.parameters().to_vec();
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
    let parameters = best.map_or(optimiser.average, |(_, parameters)| parameters);
    Ok(Trained { parameters, curve, ending })
}

fn diverged(step: u64, what: &str, loss: f64) -> Error {
    Error::fit(format!("training diverged at step {step}: the {what} is {loss}"), "lower training.learning_rate")
}

#[cfg(test)]
mod tests;
