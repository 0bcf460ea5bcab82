//! The settings of the training loop, and what follows from them for a number of rows and a step.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::network::OptimiserConfig;

/// Steps that a limit on epochs leaves at the least.
const FEWEST_STEPS: u64 = 1000;

/// The loop's settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TrainingConfig {
    /// Rows per step.
    pub batch: usize,
    /// Steps at the most; the learning rate's cosine spans them.
    pub steps: u64,
    /// How many times training goes over its rows at the most; 0 means no limit. It always takes at least 1,000 steps.
    ///
    /// The network knows a small table by heart, odd rows included, long before the validation loss shows it.
    pub epochs: u64,
    /// The share of category cells that are hidden from the network and asked for all the same.
    ///
    /// Otherwise the network would never have met a row with an unknown cell, and could not be asked what to expect
    /// there.
    pub hidden: f32,
    /// Learning rate at the start.
    pub learning_rate: f32,
    /// Learning rate at the end.
    pub final_learning_rate: f32,
    /// Steps between validations; 0 means once in each epoch, after as many steps as it takes to go over the rows.
    pub validate_every: u64,
    /// Validations without improvement after which training stops; 0 means never.
    pub patience: u64,
    /// Held-out rows used for validation, at the most.
    pub validation_rows: usize,
    /// The optimiser.
    pub optimiser: OptimiserConfig,
}

impl Default for TrainingConfig {
    fn default() -> Self {
        Self {
            batch: 512,
            steps: 3000,
            epochs: 100,
            hidden: 0.15,
            learning_rate: 1e-3,
            final_learning_rate: 1e-5,
            validate_every: 100,
            patience: 5,
            validation_rows: 1024,
            optimiser: OptimiserConfig::default(),
        }
    }
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
    pub(super) fn for_rows(mut self, n_rows: usize) -> Self {
        if self.epochs > 0 {
            let enough = self.epochs.saturating_mul(n_rows as u64) / self.batch as u64;
            self.steps = self.steps.min(enough.max(FEWEST_STEPS));
        }
        if self.validate_every == 0 {
            self.validate_every = (n_rows.div_ceil(self.batch) as u64).max(1);
        }
        self
    }

    pub(super) fn learning_rate_at(&self, step: u64) -> f32 {
        let progress = step as f64 / self.steps as f64;
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * progress).cos());
        let (first, last) = (f64::from(self.learning_rate), f64::from(self.final_learning_rate));
        (last + (first - last) * cosine) as f32
    }
}
