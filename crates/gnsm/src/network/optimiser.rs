//! `AdamW` (Loshchilov and Hutter) with clipping by the global norm, and the moving average of the weights.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::math::{dot, simd};

/// Elements that are one piece of work.
const RUN: usize = 8192;
const EPSILON: f32 = 1e-8;

/// The optimiser's settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OptimiserConfig {
    /// Decay of the gradient's running mean.
    pub beta_1: f32,
    /// Decay of the squared gradient's running mean.
    pub beta_2: f32,
    /// Decoupled weight decay, per unit of learning rate.
    pub weight_decay: f32,
    /// Largest norm of the gradient; a longer one is scaled down.
    pub clip: f32,
    /// Decay of the average of the weights.
    pub average: f32,
    /// Whether the average forgets its start: decay min(average, (1 + step)/(10 + step)).
    pub average_warmup: bool,
}

impl Default for OptimiserConfig {
    fn default() -> Self {
        Self { beta_1: 0.9, beta_2: 0.999, weight_decay: 1e-4, clip: 1.0, average: 0.995, average_warmup: true }
    }
}

/// The optimiser's state: everything that a resumed run needs beside the weights.
#[derive(Debug, Clone)]
pub struct Optimiser {
    config: OptimiserConfig,
    /// Steps taken.
    pub step: u64,
    /// Running mean of the gradient.
    pub mean: Vec<f32>,
    /// Running mean of its square.
    pub square: Vec<f32>,
    /// The average of the weights.
    pub average: Vec<f32>,
    partial: Vec<f64>,
}

impl Optimiser {
    /// Starts at these weights.
    pub fn new(config: OptimiserConfig, parameters: &[f32]) -> Self {
        let n = parameters.len();
        Self {
            config,
            step: 0,
            mean: vec![0.0; n],
            square: vec![0.0; n],
            average: parameters.to_vec(),
            partial: vec![0.0; n.div_ceil(RUN)],
        }
    }

    /// One step.
    pub fn update(&mut self, parameters: &mut [f32], gradient: &[f32], learning_rate: f32) {
        self.step += 1;
        let config = self.config;
        let scale = config.clip / (self.norm(gradient) as f32 + 1e-6);
        let scale = scale.min(1.0);
        let steps = self.step as f64;
        let correction_1 = (1.0 - f64::from(config.beta_1).powf(steps)) as f32;
        let correction_2 = (1.0 - f64::from(config.beta_2).powf(steps)).sqrt() as f32;
        let step_size = learning_rate / correction_1;
        let decay = 1.0 - learning_rate * config.weight_decay;
        let average = if config.average_warmup {
            config.average.min(((1.0 + steps) / (10.0 + steps)) as f32)
        } else {
            config.average
        };
        parameters
            .par_chunks_mut(RUN)
            .zip(gradient.par_chunks(RUN))
            .zip(self.mean.par_chunks_mut(RUN))
            .zip(self.square.par_chunks_mut(RUN))
            .zip(self.average.par_chunks_mut(RUN))
            .for_each(|((((parameters, gradient), mean), square), averages)| {
                simd(
                    #[inline(always)]
                    || {
                        let n = parameters.len();
                        let (gradient, mean) = (&gradient[..n], &mut mean[..n]);
                        let (square, averages) = (&mut square[..n], &mut averages[..n]);
                        for i in 0..n {
                            let g = gradient[i] * scale;
                            mean[i] = config.beta_1.mul_add(mean[i] - g, g);
                            square[i] = config.beta_2.mul_add(square[i] - g * g, g * g);
                            let size = square[i].sqrt() / correction_2 + EPSILON;
                            parameters[i] = parameters[i] * decay - step_size * mean[i] / size;
                            averages[i] = average.mul_add(averages[i] - parameters[i], parameters[i]);
                        }
                    },
                );
            });
    }

    /// The gradient's Euclidean norm, summed in a fixed order.
    fn norm(&mut self, gradient: &[f32]) -> f64 {
        self.partial.par_iter_mut().zip(gradient.par_chunks(RUN)).for_each(|(partial, run)| {
            *partial = f64::from(simd(
                #[inline(always)]
                || dot(run, run),
            ));
        });
        self.partial.iter().sum::<f64>().sqrt()
    }
}
