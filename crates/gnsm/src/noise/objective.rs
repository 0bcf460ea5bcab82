//! What the network is asked, how its answer is read, and how wrong it was.
//!
//! Two parameterisations of the network's logits z for a category group:
//!
//! - [`Parameterisation::Noise`], the paper's: softmax(z) estimates softmax(ε) with ε = log α − λx̃, and the score is
//!   −λ + λK·softmax(z). For a number the output is the score itself.
//! - [`Parameterisation::Posterior`]: π = softmax(z) estimates the category given the noisy row, from which E[softmax(ε) | x̃] and
//!   so the exact score follow (`concrete::expected_softmax`). For a number the output estimates z in x̃ = x + σz.
//!   The network sees λ·x̃ with its mean taken out, so that its inputs keep one scale over all levels.
//!
//! Three objectives, summed over the columns of a row: the paper's squared error between softmaxes (`gnsm_obj`), its
//! Kullback–Leibler divergence (`kl_obj`), both times λ²K² if `weighted`, and for the posterior the cross-entropy of the category.
//! Numbers add half the squared error of the score (`eq:dsm`), or of z, which is σ² times it.

use serde::{Deserialize, Serialize};

use super::{Levels, concrete, gaussian};
use crate::columns::{ABSENT, Layout, UNSEEN};
use crate::math::{exp, ln};

/// What the network's outputs mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parameterisation {
    /// The logit noise ε.
    Noise,
    /// The category's posterior.
    Posterior,
}

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

    /// Turns raw noise (normal numbers, then Gumbel numbers) into a noisy row: z stays for the numbers, x̃ takes the groups' places.
    #[inline(always)]
    pub fn perturb(&self, noisy: &mut [f32], codes: &[u32], level: usize) {
        for (group, places) in self.layout.groups().enumerate() {
            let alpha = self.levels.log_alpha(level, places.len());
            let x = &mut noisy[places];
            match codes[group] {
                UNSEEN | ABSENT => concrete::unknown(x),
                code => concrete::sample(x, code as usize, alpha, self.levels.lambda(level)),
            }
        }
    }

    /// What the network sees of a noisy row.
    #[inline(always)]
    pub fn input(&self, input: &mut [f32], noisy: &[f32], numbers: &[f32], level: usize) {
        let sigma = self.levels.sigma(level);
        for ((input, z), number) in input.iter_mut().zip(noisy).zip(numbers) {
            *input = sigma.mul_add(*z, if number.is_nan() { 0.0 } else { *number });
        }
        for places in self.layout.groups() {
            let (input, x) = (&mut input[places.clone()], &noisy[places]);
            Self::group_input(self.parameterisation, self.levels, input, x, level);
        }
    }

    /// What the network sees of x̃ in one group.
    #[inline(always)]
    pub fn group_input(
        parameterisation: Parameterisation,
        levels: &Levels,
        input: &mut [f32],
        x: &[f32],
        level: usize,
    ) {
        match parameterisation {
            Parameterisation::Noise => input.copy_from_slice(x),
            Parameterisation::Posterior => {
                let mean = x.iter().sum::<f32>() / x.len() as f32;
                let lambda = levels.lambda(level);
                for (input, x) in input.iter_mut().zip(x) {
                    *input = lambda * (x - mean);
                }
            }
        }
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
mod tests {
    use super::super::{LevelsConfig, Smoothing};
    use super::*;
    use crate::math::{fill_gumbel, stream};

    const COMBINATIONS: [(Parameterisation, Objective); 5] = [
        (Parameterisation::Noise, Objective::Mse),
        (Parameterisation::Noise, Objective::Kl),
        (Parameterisation::Posterior, Objective::Mse),
        (Parameterisation::Posterior, Objective::Kl),
        (Parameterisation::Posterior, Objective::CrossEntropy),
    ];

    fn levels(smoothing: Smoothing) -> Levels {
        Levels::new(&LevelsConfig {
            count: 5,
            lambda_min: 2.0,
            lambda_max: 20.0,
            sigma_min: 0.1,
            sigma_max: 1.0,
            smoothing,
        })
        .expect("a valid schedule")
    }

    // crates/gnsm-bench/reference/noise.py, PyTorch autograd in float64.
    #[test]
    fn losses_and_gradients_agree_with_pytorch() {
        let levels = levels(Smoothing::Fixed { delta: 1e-5 });
        let layout = Layout::new(0, vec![3]);
        let mut x = [0.4, -1.0, 0.1];
        concrete::normalise(&mut x);
        let expected: [(f64, [f64; 3]); 5] = [
            (27.623_681_475_6, [-17.281_793_638_7, 1.125_303_356_9, 16.156_490_281_7]),
            (1.160_655_092_9, [-0.687_076_254_6, 0.171_471_547_1, 0.515_604_707_5]),
            (27.625_954_195_2, [-17.279_543_323_2, 1.126_397_520_2, 16.153_145_803_0]),
            (1.160_828_235_6, [-0.687_066_922_9, 0.171_471_307_1, 0.515_595_615_8]),
            (1.162_379_545_8, [-0.687_258_887_0, 0.171_635_961_9, 0.515_622_925_2]),
        ];
        for ((parameterisation, objective), (value, slope)) in COMBINATIONS.into_iter().zip(expected) {
            let weighted = objective == Objective::Mse;
            let loss = Loss { layout: &layout, levels: &levels, parameterisation, objective, weighted };
            let (mut gradient, mut scratch) = ([0.0; 3], [0.0; 12]);
            let actual = loss.row(&[0], &[], 4, &x, &[0.2, -0.4, 0.7], 1.0, &mut gradient, &mut scratch);
            assert!((actual - value).abs() < 1e-4 * value, "{objective:?}: {actual} {value}");
            for (g, s) in gradient.iter().zip(slope) {
                assert!((f64::from(*g) - s).abs() < 1e-4 * value.max(1.0), "{objective:?}: {g} {s}");
            }
        }
    }

    #[test]
    fn gradients_agree_with_finite_differences_on_mixed_rows() {
        let layout = Layout::new(2, vec![1, 2, 6]);
        let width = layout.width();
        for smoothing in [Smoothing::Fixed { delta: 1e-3 }, Smoothing::Growing { first: 0.95, last: 0.05 }] {
            let levels = levels(smoothing);
            for (parameterisation, objective) in COMBINATIONS {
                for (level, weighted) in [(0, false), (4, true)] {
                    let loss = Loss { layout: &layout, levels: &levels, parameterisation, objective, weighted };
                    let (codes, numbers) = ([0, 1, 4], [0.3, -1.2]);
                    let mut noisy = vec![0.0; width];
                    fill_gumbel(&mut stream(1, 1, 1, 1), &mut noisy);
                    loss.perturb(&mut noisy, &codes, level);
                    let logits: Vec<f32> = (0..width).map(|i| (i as f32 * 1.9).sin()).collect();
                    let mut scratch = vec![0.0; Loss::scratch_length(&layout)];
                    let mut gradient = vec![0.0; width];
                    let value = loss.row(&codes, &numbers, level, &noisy, &logits, 1.0, &mut gradient, &mut scratch);
                    for i in 0..width {
                        let mut at = |h: f32| {
                            let mut logits = logits.clone();
                            logits[i] += h;
                            let mut unused = vec![0.0; width];
                            loss.row(&codes, &numbers, level, &noisy, &logits, 1.0, &mut unused, &mut scratch)
                        };
                        let numeric = (at(1e-2) - at(-1e-2)) / 2e-2;
                        let error = (numeric - f64::from(gradient[i])).abs();
                        assert!(error < 2e-3 * value.max(1.0), "{parameterisation:?} {objective:?} {i}: {error}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_missing_number_and_an_unseen_category_ask_nothing() {
        let levels = levels(Smoothing::Growing { first: 0.95, last: 0.05 });
        let layout = Layout::new(1, vec![3]);
        let loss = Loss {
            layout: &layout,
            levels: &levels,
            parameterisation: Parameterisation::Posterior,
            objective: Objective::CrossEntropy,
            weighted: false,
        };
        let mut noisy = [0.5; 4];
        loss.perturb(&mut noisy, &[UNSEEN], 0);
        let mut input = [9.0; 4];
        loss.input(&mut input, &noisy, &[f32::NAN], 0);
        assert!(input[1..].iter().all(|x| x.abs() < 1e-5), "an unseen category tells the network nothing");
        let mut gradient = [9.0; 4];
        let value = loss.row(&[UNSEEN], &[f32::NAN], 0, &noisy, &[1.0; 4], 1.0, &mut gradient, &mut [0.0; 16]);
        assert_eq!((value, gradient), (0.0, [0.0; 4]));
    }
}
