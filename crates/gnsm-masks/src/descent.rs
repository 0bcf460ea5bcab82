//! Makes a network for masks trainable by the library's loop. A batch is cut into parts, each with its own pass on its
//! own thread.

use std::ops::Range;

use gnsm::internals::math::add;
use gnsm::internals::network::Optimiser;
use gnsm::internals::train::Learner;
use rayon::prelude::*;

/// Pictures whose gradient is computed in one go, by one thread.
const PART: usize = 4;

/// What a network learns.
pub trait LearningTask: Sync {
    /// Pictures of a step.
    fn batch(&self) -> usize;

    /// The share that some pictures of a step's batch have in its loss, and the gradient of it.
    fn gradient(&self, parameters: &[f32], step: u64, pictures: Range<usize>) -> (f64, Vec<f32>);

    /// The loss of held-out pictures.
    fn held_out_loss(&self, parameters: &[f32]) -> f64;
}

/// A task, and the weights that learn it.
pub struct Descent<T> {
    task: T,
    parameters: Vec<f32>,
    gradient: Vec<f32>,
}

impl<T: LearningTask> Descent<T> {
    /// Starts from these weights.
    pub fn new(task: T, parameters: Vec<f32>) -> Self {
        Self { task, parameters, gradient: Vec::new() }
    }
}

impl<T: LearningTask> Learner for Descent<T> {
    fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    fn set_parameters(&mut self, parameters: &[f32]) {
        self.parameters.copy_from_slice(parameters);
    }

    /// The parts are summed from first to last, so that the sum does not depend on how many threads there are.
    fn compute_gradient(&mut self, step: u64) -> f64 {
        let batch = self.task.batch();
        let part = |i: usize| i * PART..batch.min((i + 1) * PART);
        let parts: Vec<(f64, Vec<f32>)> = (0..batch.div_ceil(PART))
            .into_par_iter()
            .map(|i| self.task.gradient(&self.parameters, step, part(i)))
            .collect();
        let sum = |(loss, mut sum): (f64, Vec<f32>), (more, gradient): (f64, Vec<f32>)| {
            add(&mut sum, &gradient);
            (loss + more, sum)
        };
        let loss;
        (loss, self.gradient) = parts.into_iter().reduce(sum).unwrap_or_default();
        loss
    }

    fn update(&mut self, optimiser: &mut Optimiser, learning_rate: f32) {
        optimiser.update(&mut self.parameters, &self.gradient, learning_rate);
    }

    fn validate(&mut self, parameters: &[f32]) -> f64 {
        self.task.held_out_loss(parameters)
    }
}
