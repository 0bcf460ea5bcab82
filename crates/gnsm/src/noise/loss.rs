//! How wrong the network's answer was.
//!
//! There are three objectives, summed over the columns of a row:
//!
//! - the paper's squared error between softmaxes (`gnsm_obj`), times λ²K² if `weighted`;
//! - the paper's Kullback–Leibler divergence (`kl_obj`), times λ²K² if `weighted`;
//! - for the posterior, the cross-entropy of the category.
//!
//! Numbers add half the squared error of the score (`eq:dsm`), or of z, which is σ² times it.

use serde::{Deserialize, Serialize};

use super::{Levels, Parameterisation, concrete, gaussian};
use crate::columns::{ABSENT, Layout, UNSEEN};
use crate::math::{exp, ln};

/// How the network's answer is compared with the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// ‖softmax(ε̂) − softmax(ε)‖².
    Mse,
    /// KL(softmax(ε) ‖ softmax(ε̂)).
    Kl,
    /// −log π of the category; only for the posterior.
    CrossEntropy,
}

/// The loss of a row, and its gradient.
#[derive(Debug, Clone)]
pub struct Loss<'a> {
    /// The row's shape.
    pub layout: &'a Layout,
    /// The schedule.
    pub levels: &'a Levels,
    /// What the outputs mean.
    pub parameterisation: Parameterisation,
    /// How they are compared.
    pub objective: Objective,
    /// Whether the categories' losses are multiplied by λ²K².
    pub weighted: bool,
}

impl Loss<'_> {
    /// Floats of scratch that [`Self::row`] needs.
    pub fn scratch_length(layout: &Layout) -> usize {
        4 * layout.width()
    }

    /// The loss of one row; `gradient` receives its gradient with respect to `logits`, times `scale`.
    ///
    /// A missing number, an absent cell and an unseen category ask nothing of the network.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "a row in its parts, without a copy")]
    pub fn row(
        &self,
        codes: &[u32],
        numbers: &[f32],
        level: usize,
        noisy: &[f32],
        logits: &[f32],
        scale: f32,
        gradient: &mut [f32],
        scratch: &mut [f32],
    ) -> f64 {
        let mut loss = 0.0;
        let sigma = self.levels.sigma(level);
        for (i, number) in numbers.iter().enumerate() {
            let target = match self.parameterisation {
                Parameterisation::Noise => gaussian::score(noisy[i], sigma),
                Parameterisation::Posterior => noisy[i],
            };
            let error = if number.is_nan() { 0.0 } else { logits[i] - target };
            gradient[i] = scale * error;
            loss += 0.5 * f64::from(error) * f64::from(error);
        }
        if self.objective == Objective::CrossEntropy {
            gradient[numbers.len()..].copy_from_slice(&logits[numbers.len()..]);
            concrete::softmax_of_groups(gradient, self.layout);
        }
        for (group, places) in self.layout.groups().enumerate() {
            let gradient = &mut gradient[places.clone()];
            if matches!(codes[group], UNSEEN | ABSENT) {
                gradient.fill(0.0);
                continue;
            }
            let code = codes[group] as usize;
            loss += if self.objective == Objective::CrossEntropy {
                let probability = gradient[code];
                gradient[code] -= 1.0;
                -f64::from(ln(probability.max(f32::MIN_POSITIVE)))
            } else {
                self.group(code, level, &noisy[places.clone()], &logits[places], gradient, scratch)
            };
            for g in gradient {
                *g *= scale;
            }
        }
        loss
    }

    /// The loss of one group and its gradient, by any objective but cross-entropy.
    #[inline(always)]
    fn group(
        &self,
        code: usize,
        level: usize,
        x: &[f32],
        logits: &[f32],
        gradient: &mut [f32],
        scratch: &mut [f32],
    ) -> f64 {
        let k = x.len();
        let (lambda, alpha) = (self.levels.lambda(level), self.levels.log_alpha(level, k));
        let weight = if self.weighted { lambda * lambda * (k * k) as f32 } else { 1.0 };
        let (target, rest) = scratch.split_at_mut(k);
        concrete::noise_softmax(target, x, code, alpha, lambda);
        let (probability, rest) = rest.split_at_mut(k);
        probability.copy_from_slice(logits);
        concrete::softmax(probability);
        match self.parameterisation {
            Parameterisation::Noise => {
                let loss = distance(self.objective, target, probability, weight, gradient);
                if self.objective == Objective::Kl {
                    // Through the softmax the divergence's gradient is simply the difference.
                    for i in 0..k {
                        gradient[i] = weight * (probability[i] - target[i]);
                    }
                } else {
                    through_softmax(gradient, probability);
                }
                loss
            }
            Parameterisation::Posterior => {
                let (e, rest) = rest.split_at_mut(k);
                let inverse = &mut rest[..k];
                // The estimate takes the gradient's place until its own gradient does.
                concrete::expected_softmax(gradient, x, probability, alpha, lambda, e, inverse);
                let loss = distance_in_place(self.objective, target, gradient, weight);
                let excess = exp(alpha.on - alpha.off) - 1.0;
                let shared: f32 = gradient.iter().zip(&*e).map(|(g, e)| g * e).sum();
                for i in 0..k {
                    gradient[i] = inverse[i] * (excess * gradient[i]).mul_add(e[i], shared);
                }
                through_softmax(gradient, probability);
                loss
            }
        }
    }
}

/// The distance of an estimate from its target, and its gradient.
#[inline(always)]
fn distance(objective: Objective, target: &[f32], estimate: &[f32], weight: f32, gradient: &mut [f32]) -> f64 {
    gradient.copy_from_slice(estimate);
    distance_in_place(objective, target, gradient, weight)
}

#[inline(always)]
fn distance_in_place(objective: Objective, target: &[f32], estimate: &mut [f32], weight: f32) -> f64 {
    let mut loss = 0.0;
    for (estimate, target) in estimate.iter_mut().zip(target) {
        if objective == Objective::Mse {
            let error = *estimate - target;
            loss += f64::from(weight * error * error);
            *estimate = 2.0 * weight * error;
        } else {
            let (e, t) = (estimate.max(f32::MIN_POSITIVE), target.max(f32::MIN_POSITIVE));
            loss += f64::from(weight * t * (ln(t) - ln(e)));
            *estimate = -weight * t / e;
        }
    }
    loss
}

/// From the gradient with respect to p = softmax(z) to the one with respect to z.
#[inline(always)]
fn through_softmax(gradient: &mut [f32], p: &[f32]) {
    let mean: f32 = gradient.iter().zip(p).map(|(g, p)| g * p).sum();
    for (g, p) in gradient.iter_mut().zip(p) {
        *g = p * (*g - mean);
    }
}

#[cfg(test)]
mod tests;
