//! Noise on rows: the levels, the noise of categories and numbers, and the losses.
//!
//! A *level* is a strength of noise, a triple (λ, σ, δ). A category becomes a one-hot vector that is smoothed by δ, and
//! gets [`concrete`] noise of temperature λ. A number gets [`gaussian`] noise of deviation σ. Training takes three
//! steps with a row: [`perturb`] adds the noise. [`Parameterisation::present`] turns the noisy row into what a network
//! sees. [`Loss`] compares what the network says with what the noise was, and gives the gradient with respect to the
//! network's logits. Nothing here knows what a network is.

pub mod concrete;
pub mod gaussian;
mod loss;
mod perturb;
mod present;

use serde::{Deserialize, Serialize};

pub use loss::{Loss, Objective};
pub use perturb::perturb;
pub use present::Parameterisation;

use crate::error::{Error, Result};

/// How the one-hot of a category becomes the positive α of the Concrete distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Smoothing {
    /// α = one-hot + δ at every level, as in the paper.
    Fixed {
        /// The paper's 1e-5.
        delta: f64,
    },
    /// α = (1 − δᵢ)·one-hot + δᵢ/K, with δᵢ falling evenly from `first` at the noisiest level to `last`.
    ///
    /// The Gumbel-max of such an α is the true category with probability 1 − δᵢ + δᵢ/K, whatever K is: the noisiest level hides
    /// almost every cell, the last one almost none.
    Growing {
        /// δ of the noisiest level.
        first: f64,
        /// δ of the least noisy level.
        last: f64,
    },
}

/// The settings of the level schedule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LevelsConfig {
    /// L, the number of levels.
    pub count: usize,
    /// λ of the least noisy level.
    pub lambda_min: f64,
    /// λ of the noisiest level.
    pub lambda_max: f64,
    /// σ of the least noisy level.
    pub sigma_min: f64,
    /// σ of the noisiest level.
    pub sigma_max: f64,
    /// How α is made.
    pub smoothing: Smoothing,
}

impl Default for LevelsConfig {
    fn default() -> Self {
        Self {
            count: 10,
            lambda_min: 2.0,
            lambda_max: 20.0,
            sigma_min: 0.1,
            sigma_max: 1.0,
            smoothing: Smoothing::Growing { first: 0.95, last: 0.05 },
        }
    }
}

/// The L levels, noisiest first, as the authors order them.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    lambda: Vec<f32>,
    sigma: Vec<f32>,
    smoothing: Vec<LevelSmoothing>,
    /// log α of groups of 1 to [`KEPT`] categories, [levels, KEPT].
    log_alphas: Vec<LogAlpha>,
}

/// Categories up to which log α is kept; it is asked for again and again, once for each cell of a noisy row.
const KEPT: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq)]
enum LevelSmoothing {
    Added(f64),
    Mixed(f64),
}

/// log α of a smoothed one-hot: one value for the category, one for all the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogAlpha {
    /// log α of the category itself.
    pub on: f32,
    /// log α of each other category.
    pub off: f32,
}

impl Levels {
    /// The geometric schedule of `config`.
    pub fn new(config: &LevelsConfig) -> Result<Self> {
        let positive = |field, value: f64| {
            if value.is_finite() && value > 0.0 {
                Ok(())
            } else {
                Err(Error::config(field, format!("{value} is not a positive number")))
            }
        };
        if !(1..=1000).contains(&config.count) {
            return Err(Error::config("levels.count", format!("{} is not between 1 and 1000", config.count)));
        }
        positive("levels.lambda_min", config.lambda_min)?;
        positive("levels.lambda_max", config.lambda_max)?;
        positive("levels.sigma_min", config.sigma_min)?;
        positive("levels.sigma_max", config.sigma_max)?;
        let within = |field, delta: f64, low: f64, high: f64| {
            if delta.is_finite() && delta > low && delta < high {
                Ok(())
            } else {
                Err(Error::config(field, format!("{delta} is not strictly between {low} and {high}")))
            }
        };
        match config.smoothing {
            Smoothing::Fixed { delta } => within("levels.smoothing.delta", delta, 0.0, 1.0)?,
            Smoothing::Growing { first, last } => {
                within("levels.smoothing.first", first, 0.0, 1.0)?;
                within("levels.smoothing.last", last, 0.0, 1.0)?;
            }
        }
        let at = |i: usize| if config.count == 1 { 0.0 } else { i as f64 / (config.count - 1) as f64 };
        let geometric = |first: f64, last: f64, i: usize| (first.ln() + at(i) * (last.ln() - first.ln())).exp() as f32;
        let smoothing: Vec<LevelSmoothing> = (0..config.count)
            .map(|i| match config.smoothing {
                Smoothing::Fixed { delta } => LevelSmoothing::Added(delta),
                Smoothing::Growing { first, last } => LevelSmoothing::Mixed(first + at(i) * (last - first)),
            })
            .collect();
        Ok(Self {
            lambda: (0..config.count).map(|i| geometric(config.lambda_max, config.lambda_min, i)).collect(),
            sigma: (0..config.count).map(|i| geometric(config.sigma_max, config.sigma_min, i)).collect(),
            log_alphas: smoothing.iter().flat_map(|level| (1..=KEPT).map(|k| level.log_alpha(k))).collect(),
            smoothing,
        })
    }

    /// L.
    pub fn count(&self) -> usize {
        self.lambda.len()
    }

    /// λ of a level.
    pub fn lambda(&self, level: usize) -> f32 {
        self.lambda[level]
    }

    /// σ of a level.
    pub fn sigma(&self, level: usize) -> f32 {
        self.sigma[level]
    }

    /// δ of a level.
    pub fn delta(&self, level: usize) -> f64 {
        match self.smoothing[level] {
            LevelSmoothing::Added(delta) | LevelSmoothing::Mixed(delta) => delta,
        }
    }

    /// log α of a one-hot among `k` categories at a level.
    pub fn log_alpha(&self, level: usize, k: usize) -> LogAlpha {
        let kept = &self.log_alphas[level * KEPT..][..KEPT];
        kept.get(k.wrapping_sub(1)).copied().unwrap_or_else(|| self.smoothing[level].log_alpha(k))
    }
}

impl LevelSmoothing {
    fn log_alpha(self, k: usize) -> LogAlpha {
        let (on, off) = match self {
            Self::Added(delta) => (1.0 + delta, delta),
            Self::Mixed(delta) => (1.0 - delta + delta / k as f64, delta / k as f64),
        };
        LogAlpha { on: on.ln() as f32, off: off.ln() as f32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn config(smoothing: Smoothing) -> LevelsConfig {
        LevelsConfig { count: 20, lambda_min: 2.0, lambda_max: 20.0, sigma_min: 0.1, sigma_max: 1.0, smoothing }
    }

    // numpy.geomspace(20, 2, 20)[1], numpy.geomspace(1, 0.1, 20)[10].
    #[test]
    fn levels_are_geometric_and_noisiest_first() {
        let levels = Levels::new(&config(Smoothing::Fixed { delta: 1e-5 })).expect("a valid schedule");
        assert_eq!(levels.count(), 20);
        assert!((levels.lambda(0) - 20.0).abs() < 1e-5);
        assert!((levels.lambda(1) - 17.717_336).abs() < 1e-5);
        assert!((levels.lambda(19) - 2.0).abs() < 1e-6);
        assert!((levels.sigma(10) - 0.297_635_14).abs() < 1e-6);
        let alpha = levels.log_alpha(7, 4);
        assert!((alpha.off - -11.512_925).abs() < 1e-5);
        assert!(alpha.on.abs() < 2e-5);
    }

    #[test]
    fn growing_smoothing_is_a_distribution_at_every_level() {
        let levels = Levels::new(&config(Smoothing::Growing { first: 0.95, last: 0.05 })).expect("a valid schedule");
        for level in 0..20 {
            for k in [1, 2, 7, 50] {
                let alpha = levels.log_alpha(level, k);
                let total = alpha.on.exp() + (k - 1) as f32 * alpha.off.exp();
                assert!((total - 1.0).abs() < 1e-5);
            }
        }
        assert!((levels.log_alpha(0, 4).on.exp() - 0.2875).abs() < 1e-6);
        assert!((levels.log_alpha(19, 4).on.exp() - 0.9625).abs() < 1e-6);
    }

    #[test]
    fn bad_settings_are_named() {
        let mut bad = config(Smoothing::Fixed { delta: 1e-5 });
        bad.lambda_min = -1.0;
        let message = Levels::new(&bad).expect_err("a negative temperature").to_string();
        assert_eq!(message, "setting `levels.lambda_min`: -1 is not a positive number");
    }
}
