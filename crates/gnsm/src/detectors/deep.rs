//! What the deep detectors share: settings of their training, rows as inputs, and reasons.
//!
//! They are trained by the same loop as GNSM ([`crate::train`]): batches of rows drawn at random, validation on
//! held-out rows with the averaged weights, early stopping, the best weights kept. If a loss is NaN before the first
//! validation, training may start over with other weights; see [`learn`].
//!
//! Inputs are scaled numbers and one-hot categories ([`Inputs`]), either as they are or with each place standardised. A
//! missing number is the mean, 0, and its absence is a category of its group. An unseen category leaves its group's
//! places at 0 (before they are standardised).
//!
//! A score s is not a sum over cells. So reasons are integrated gradients (Sundararajan, Taly and Yan 2017) from the
//! mean training row m to the row x. The part of place j is (xⱼ − mⱼ) ∫₀¹ ∂s/∂xⱼ(m + t(x − m)) dt, by the midpoint
//! rule, and a cell has the parts of its places. They sum to s(x) − s(m) up to the rule's error, which goes to the
//! base. A part is negative where a cell fits better than the mean row.

use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{Split, places};
use crate::columns::{Encoded, Layout, UNSEEN};
use crate::error::{Error, Result};
use crate::files::{Loaded, Tensors};
use crate::math::stream;
use crate::network::{
    Activation, Layer, Optimiser, OptimiserConfig, Stack, StackReader, StackTile, StackTrainer, TILE,
    sum_input_gradients,
};
use crate::train::{Learner, Run, Trained, TrainingConfig, train};

/// Names of the random streams.
const TRAINING: u64 = 1;
const INITIAL_WEIGHTS: u64 = 3;
/// Rows read at a time.
const BLOCK: usize = 4096;
/// Points on the way from the mean row; divides a tile.
const POINTS: usize = 8;
/// The widest layer.
const WIDEST: usize = 16_384;

/// How a deep detector is trained.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DeepTraining {
    /// Rows per step.
    pub batch: usize,
    /// Steps at the most; the learning rate's cosine spans them.
    pub steps: u64,
    /// How many times training goes over its rows at the most; 0 means no limit. It always takes at least 1,000 steps.
    pub epochs: u64,
    /// Learning rate at the start.
    pub learning_rate: f32,
    /// Learning rate at the end.
    pub final_learning_rate: f32,
    /// Decoupled weight decay, per unit of learning rate.
    pub weight_decay: f32,
    /// Steps between validations; 0 means once in each epoch.
    pub validate_every: u64,
    /// Validations without improvement after which training stops; 0 means never.
    pub patience: u64,
    /// Held-out rows used for validation, at the most.
    #[serde(default = "validation_rows")]
    pub validation_rows: usize,
    /// The share of the averaged weights that a step keeps; 0 means that weights are not averaged.
    #[serde(default = "average")]
    pub average: f32,
}

/// What models have whose settings do not say so.
pub(super) fn validation_rows() -> usize {
    1024
}

/// What models have whose settings do not say so.
pub(super) fn average() -> f32 {
    0.99
}

impl DeepTraining {
    /// The loop's settings.
    pub fn config(&self) -> TrainingConfig {
        TrainingConfig {
            batch: self.batch,
            steps: self.steps,
            epochs: self.epochs,
            hidden: 0.0,
            learning_rate: self.learning_rate,
            final_learning_rate: self.final_learning_rate,
            validate_every: self.validate_every,
            patience: self.patience,
            validation_rows: self.validation_rows,
            optimiser: OptimiserConfig {
                beta_1: 0.9,
                beta_2: 0.999,
                weight_decay: self.weight_decay,
                clip: 1.0,
                average: self.average,
                average_warmup: true,
            },
        }
    }
}

/// Checks the widths of layers.
pub(super) fn check_widths(field: &'static str, widths: &[usize]) -> Result<()> {
    if widths.is_empty() || widths.len() > 100 {
        return Err(Error::config(field, "must have 1 to 100 layers"));
    }
    match widths.iter().find(|width| !(1..=WIDEST).contains(*width)) {
        Some(width) => Err(Error::config(field, format!("{width} is not between 1 and {WIDEST}"))),
        None => Ok(()),
    }
}

/// Hidden layers of these widths, all of one kind.
pub(super) fn layers(
    widths: impl Iterator<Item = usize>,
    bias: bool,
    norm: bool,
    activation: Activation,
) -> Vec<Layer> {
    widths.map(|outputs| Layer { outputs, bias, norm, activation, dropout: 0.0 }).collect()
}

/// A last layer of a decoder or an estimate: linear, with a bias.
pub(super) fn linear(outputs: usize) -> Layer {
    Layer { outputs, bias: true, norm: false, activation: Activation::Linear, dropout: 0.0 }
}

/// Fresh weights of all networks, others for each attempt.
pub(super) fn initial_parameters(stack: &impl Stack, seed: u64, attempt: u64) -> Vec<f32> {
    let mut parameters = vec![0.0; n_parameters(stack)];
    let mut rng = stream(seed, INITIAL_WEIGHTS, attempt, 0);
    for network in stack.networks() {
        network.initialise(&mut parameters, &mut rng);
    }
    parameters
}

/// How many weights all networks have.
pub(super) fn n_parameters(stack: &impl Stack) -> usize {
    stack.networks().last().map_or(0, |network| network.range().end)
}

/// How rows are shown to the first network: (x − shift)·scale in each place.
#[derive(Debug, Clone)]
pub(super) struct Inputs {
    pub layout: Layout,
    shift: Vec<f32>,
    scale: Vec<f32>,
}

impl Inputs {
    /// Numbers and one-hots as they are.
    pub fn plain(layout: &Layout) -> Self {
        Self { layout: layout.clone(), shift: vec![0.0; layout.width()], scale: vec![1.0; layout.width()] }
    }

    /// Each place with mean 0 and deviation 1 over these rows; a place that never changes is only centred.
    pub fn standardised(layout: &Layout, rows: &Encoded) -> Self {
        let n = rows.n_rows().max(1) as f64;
        let (mut sums, mut squares) = (vec![0.0; layout.width()], vec![0.0; layout.width()]);
        for row in 0..rows.n_rows() {
            for (place, value) in places(layout, rows.codes(row), rows.numbers(row)) {
                sums[place] += value / n;
                squares[place] += value * value / n;
            }
        }
        let scale = |(mean, square): (&f64, &f64)| {
            let variance = square - mean * mean;
            if variance > 1e-12 { (1.0 / variance.sqrt()) as f32 } else { 1.0 }
        };
        Self {
            layout: layout.clone(),
            scale: sums.iter().zip(&squares).map(scale).collect(),
            shift: sums.iter().map(|mean| *mean as f32).collect(),
        }
    }

    /// Puts the scales into a file.
    pub fn put(&self, tensors: &mut Tensors) {
        tensors.put("inputs.shift", self.shift.clone());
        tensors.put("inputs.scale", self.scale.clone());
    }

    /// Takes what [`Inputs::put`] put into a file.
    pub fn take(layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        let width = layout.width();
        let (shift, scale) = (tensors.take("inputs.shift", width)?, tensors.take("inputs.scale", width)?);
        Ok(Self { layout: layout.clone(), shift, scale })
    }

    fn fill(&self, rows: &Encoded, row: usize, input: &mut [f32]) {
        input.fill(0.0);
        for (place, value) in places(&self.layout, rows.codes(row), rows.numbers(row)) {
            input[place] = value as f32;
        }
        for ((x, shift), scale) in input.iter_mut().zip(&self.shift).zip(&self.scale) {
            *x = (*x - shift) * scale;
        }
    }

    /// The mean row, as the networks see rows.
    pub fn mean(&self, rows: &Encoded) -> Vec<f32> {
        let (mut input, mut sums) = (vec![0.0; self.layout.width()], vec![0.0; self.layout.width()]);
        for row in 0..rows.n_rows() {
            self.fill(rows, row, &mut input);
            sums.iter_mut().zip(&input).for_each(|(sum, x)| *sum += f64::from(*x));
        }
        sums.iter().map(|sum| (sum / rows.n_rows().max(1) as f64) as f32).collect()
    }
}

/// Trains the weights. Without validation rows, the loss of the training rows decides which weights are best.
///
/// `starts` are the weights to begin with. If a loss is NaN before the first validation, the next ones are tried. If
/// there are several, a loss that is NaN later ends training with the best weights so far. All attempts have the same
/// batches, so a state to resume from need not say which attempt it is of.
pub(super) fn learn<S: Stack>(
    stack: &S,
    starts: impl ExactSizeIterator<Item = Vec<f32>>,
    config: &TrainingConfig,
    inputs: &Inputs,
    [training, validation]: [&Encoded; 2],
    mut run: Run<'_>,
) -> Result<Trained> {
    let held_out = if validation.n_rows() > 0 { validation } else { training };
    let n_held_out = held_out.n_rows().min(config.validation_rows);
    let mut learner = RowLearner {
        stack,
        parameters: Vec::new(),
        inputs,
        training,
        held_out,
        seed: run.seed,
        trainer: StackTrainer::new(stack, config.batch),
        reader: StackReader::new(stack, n_held_out),
        diverged: false,
        forgiving: starts.len() > 1,
    };
    let mut left = starts.len();
    for start in starts {
        left -= 1;
        (learner.parameters, learner.diverged) = (start, false);
        let trained = train(&mut learner, config, training.n_rows(), &mut run);
        if trained.is_ok() || !learner.diverged || left == 0 {
            return trained;
        }
    }
    Err(Error::fit("there are no weights to start from", "give `restarts` another value"))
}

/// A stack that learns from rows drawn at random.
struct RowLearner<'a, S> {
    stack: &'a S,
    parameters: Vec<f32>,
    inputs: &'a Inputs,
    training: &'a Encoded,
    held_out: &'a Encoded,
    seed: u64,
    trainer: StackTrainer,
    reader: StackReader,
    /// Whether a loss was no number.
    diverged: bool,
    forgiving: bool,
}

impl<S: Stack> Learner for RowLearner<'_, S> {
    fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    fn set_parameters(&mut self, parameters: &[f32]) {
        self.parameters.copy_from_slice(parameters);
    }

    fn compute_gradient(&mut self, step: u64) -> f64 {
        let Self { stack, parameters, inputs, training, seed, .. } = self;
        let fill = |index: usize, tile: &mut StackTile| {
            let mut rng = stream(*seed, TRAINING, step, index as u64);
            for position in 0..tile.rows {
                let row = (rng.next_u64() % training.n_rows() as u64) as usize;
                inputs.fill(training, row, tile.input(position));
            }
            tile.dropout = Some(rng);
        };
        let loss = self.trainer.compute_gradient(*stack, parameters, fill);
        self.diverged |= !loss.is_finite();
        loss
    }

    fn update(&mut self, optimiser: &mut Optimiser, learning_rate: f32) {
        optimiser.update(&mut self.parameters, self.trainer.gradient(), learning_rate);
    }

    fn validate(&mut self, parameters: &[f32]) -> f64 {
        let (inputs, rows) = (self.inputs, self.held_out);
        let results = self.reader.read(self.stack, parameters, |row, input| inputs.fill(rows, row, input));
        let loss = self.stack.loss(results, &mut []);
        self.diverged |= !loss.is_finite();
        loss
    }

    fn keeps_best_if_it_diverges(&self) -> bool {
        self.forgiving
    }
}

/// Runs rows through the networks, block by block; `take` gets the results of each block, [rows, results].
pub(super) fn read_rows(
    stack: &impl Stack,
    parameters: &[f32],
    inputs: &Inputs,
    rows: &Encoded,
    mut take: impl FnMut(&[f64]),
) {
    for first in (0..rows.n_rows()).step_by(BLOCK) {
        let mut reader = StackReader::new(stack, BLOCK.min(rows.n_rows() - first));
        take(reader.read(stack, parameters, |row, input| inputs.fill(rows, first + row, input)));
    }
}

/// The part of each cell of each row by integrated gradients, [rows, cells]; `slope` is the score's gradient in the
/// results.
pub(super) fn parts(
    stack: &impl Stack,
    parameters: &[f32],
    inputs: &Inputs,
    mean: &[f32],
    rows: &Encoded,
    slope: impl Fn(&[f64], &mut [f64]) + Sync,
) -> Vec<f64> {
    const { assert!(TILE.is_multiple_of(POINTS)) };
    let fill = |row: usize, point: usize, input: &mut [f32]| {
        inputs.fill(rows, row, input);
        let t = (point as f32 + 0.5) / POINTS as f32;
        for (x, m) in input.iter_mut().zip(mean) {
            *x = m + t * (*x - m);
        }
    };
    let sums = sum_input_gradients(stack, parameters, (rows.n_rows(), POINTS), fill, slope);
    let layout = &inputs.layout;
    let mut parts = Vec::with_capacity(rows.n_rows() * layout.n_cells());
    let mut input = vec![0.0; layout.width()];
    for (row, sums) in sums.chunks_exact(layout.width()).enumerate() {
        inputs.fill(rows, row, &mut input);
        let part = |place: usize| f64::from(input[place] - mean[place]) * sums[place] / POINTS as f64;
        parts.extend((0..layout.n_numbers()).map(part));
        parts.extend(layout.groups().map(|places| places.map(part).sum::<f64>()));
    }
    parts
}

/// Adds `amount` to the score of each row for every unseen category.
pub(super) fn add_unseen(scores: &mut [f64], rows: &Encoded, amount: f64) {
    for (row, score) in scores.iter_mut().enumerate() {
        *score += rows.codes(row).iter().filter(|code| **code == UNSEEN).count() as f64 * amount;
    }
}

/// Takes scores apart to which [`add_unseen`] was added. Its amounts are parts of the unseen cells; the base is the
/// score without all parts.
pub(super) fn split(scores: &[f64], mut parts: Vec<f64>, layout: &Layout, rows: &Encoded, amount: f64) -> Split {
    let n_cells = layout.n_cells();
    for (row, parts) in parts.chunks_exact_mut(n_cells).enumerate() {
        for (part, code) in parts[layout.n_numbers()..].iter_mut().zip(rows.codes(row)) {
            if *code == UNSEEN {
                *part += amount;
            }
        }
    }
    let rest = |(score, parts): (&f64, &[f64])| score - parts.iter().sum::<f64>();
    Split { base: scores.iter().zip(parts.chunks_exact(n_cells)).map(rest).collect(), parts, n_cells }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the number has mean 2 and variance 1, the first category half of the rows, the second group never
    /// changes.
    #[test]
    fn standardised_places_have_mean_0_and_deviation_1() {
        let layout = Layout::new(1, vec![2, 1]);
        let rows = Encoded::new(4, vec![0, 0, 1, 0, 0, 0, 1, 0], vec![1.0, 1.0, 3.0, 3.0]);
        let inputs = Inputs::standardised(&layout, &rows);
        let shown = |rows: &Encoded, row| {
            let mut input = [9.0; 4];
            inputs.fill(rows, row, &mut input);
            input
        };
        assert_eq!(shown(&rows, 0), [-1.0, 1.0, -1.0, 0.0]);
        assert_eq!(shown(&rows, 3), [1.0, -1.0, 1.0, 0.0]);
        assert_eq!(inputs.mean(&rows), [0.0; 4]);
        let strange = Encoded::new(1, vec![UNSEEN, 0], vec![f32::NAN]);
        assert_eq!(shown(&strange, 0), [-2.0, -1.0, -1.0, 0.0]);
    }
}
