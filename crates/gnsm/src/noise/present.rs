//! What the network sees of a noisy row, and what its answer means.
//!
//! There are two parameterisations of the network's logits z for a category group:
//!
//! - [`Parameterisation::Noise`], the paper's: softmax(z) estimates softmax(ε) with ε = log α − λx̃, and the score is
//!   −λ + λK·softmax(z). For a number the output is the score itself. The network sees x̃.
//! - [`Parameterisation::Posterior`]: π = softmax(z) estimates the category given the noisy row. E[softmax(ε) | x̃]
//!   follows from it, and so does the exact score (`concrete::expected_softmax`). For a number the output estimates z
//!   in x̃ = x + σz. The network sees λ·x̃ with its mean taken out, so that its inputs keep one scale over all levels.

use serde::{Deserialize, Serialize};

use super::Levels;
use crate::columns::Layout;

/// What the network's outputs mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parameterisation {
    /// The logit noise ε.
    Noise,
    /// The category's posterior.
    Posterior,
}

impl Parameterisation {
    /// Writes what the network sees of a noisy row; a missing number is shown as the mean.
    #[inline(always)]
    pub fn present(
        self,
        layout: &Layout,
        levels: &Levels,
        level: usize,
        noisy: &[f32],
        numbers: &[f32],
        input: &mut [f32],
    ) {
        let sigma = levels.sigma(level);
        for ((input, z), number) in input.iter_mut().zip(noisy).zip(numbers) {
            *input = sigma.mul_add(*z, if number.is_nan() { 0.0 } else { *number });
        }
        for places in layout.groups() {
            self.present_group(levels, level, &noisy[places.clone()], &mut input[places]);
        }
    }

    /// Writes what the network sees of x̃ in one group.
    #[inline(always)]
    pub fn present_group(self, levels: &Levels, level: usize, x: &[f32], input: &mut [f32]) {
        match self {
            Self::Noise => input.copy_from_slice(x),
            Self::Posterior => {
                let mean = x.iter().sum::<f32>() / x.len() as f32;
                let lambda = levels.lambda(level);
                for (input, x) in input.iter_mut().zip(x) {
                    *input = lambda * (x - mean);
                }
            }
        }
    }
}
