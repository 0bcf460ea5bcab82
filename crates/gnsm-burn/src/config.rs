//! The settings of GNSM for masks, and its presets.

use gnsm::internals::network::OptimiserConfig;
use gnsm::internals::noise::{Levels, LevelsConfig, Objective, Parameterisation, Smoothing};
use gnsm::internals::train::TrainingConfig;
use gnsm::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::ncsn::NcsnSize;

/// All settings. `fast` is the default preset; `paper` is the paper's configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MaskGnsmConfig {
    /// The side of the pictures unless told otherwise.
    pub size: u32,
    /// The noise levels.
    pub levels: LevelsConfig,
    /// What the network's outputs mean.
    pub parameterisation: Parameterisation,
    /// How they are compared with the truth.
    pub objective: Objective,
    /// Whether losses are multiplied by λ²K².
    pub weighted: bool,
    /// The network.
    pub network: NcsnSize,
    /// The training loop; `hidden` is the share of masks of which the network sees nothing but the image.
    pub training: TrainingConfig,
    /// How what the network says becomes a score.
    pub head: MaskHead,
}

/// How what the network says becomes a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MaskHead {
    /// How surprising each class's pixels are, and the size of its largest piece.
    Evidence,
    /// A density over the score norms: the paper's.
    Norms,
}

impl Default for MaskGnsmConfig {
    fn default() -> Self {
        Self::fast()
    }
}

impl MaskGnsmConfig {
    /// Minutes on a laptop.
    pub fn fast() -> Self {
        Self {
            size: 64,
            levels: LevelsConfig {
                count: 6,
                lambda_min: 2.0,
                lambda_max: 20.0,
                sigma_min: 0.1,
                sigma_max: 1.0,
                smoothing: Smoothing::Growing { first: 0.995, last: 0.5 },
            },
            parameterisation: Parameterisation::Posterior,
            objective: Objective::CrossEntropy,
            weighted: false,
            network: NcsnSize { channels: 32, multipliers: vec![1, 2, 3], blocks: 1, fold: 2 },
            training: TrainingConfig {
                batch: 16,
                steps: 1600,
                epochs: 0,
                hidden: 0.1,
                learning_rate: 1e-3,
                final_learning_rate: 1e-5,
                validate_every: 100,
                patience: 0,
                validation_rows: 128,
                optimiser: OptimiserConfig {
                    beta_1: 0.9,
                    beta_2: 0.999,
                    weight_decay: 1e-4,
                    clip: 1.0,
                    average: 0.995,
                    average_warmup: true,
                },
            },
            head: MaskHead::Evidence,
        }
    }

    /// The paper's configuration: days on a GPU.
    pub fn paper() -> Self {
        let mut config = Self::fast().with_paper_head();
        config.size = 256;
        config.network = NcsnSize { channels: 64, multipliers: vec![1, 2, 2, 2, 4, 4], blocks: 2, fold: 1 };
        config.training.batch = 64;
        config.training.steps = 1_000_000;
        config.training.validate_every = 5_000;
        config.training.learning_rate = 2e-4;
        config.training.optimiser.average = 0.999;
        config
    }

    /// The paper's noise, objective and head, with this configuration's network and training.
    pub fn with_paper_head(mut self) -> Self {
        self.levels.count = 20;
        self.levels.smoothing = Smoothing::Fixed { delta: 1e-5 };
        self.parameterisation = Parameterisation::Noise;
        self.objective = Objective::Kl;
        self.weighted = true;
        self.training.hidden = 0.0;
        self.head = MaskHead::Norms;
        self
    }

    /// The default noise, objective and head, with this configuration's network and training.
    pub fn with_default_head(mut self) -> Self {
        let fast = Self::fast();
        self.training.hidden = fast.training.hidden;
        Self { size: self.size, network: self.network, training: self.training, ..fast }
    }

    /// Checks every setting for pictures of this side.
    pub fn validate(&self, side: usize) -> Result<()> {
        Levels::new(&self.levels)?;
        self.training.validate()?;
        self.network.validate(side)?;
        if self.parameterisation == Parameterisation::Noise && self.objective == Objective::CrossEntropy {
            return Err(Error::config("objective", "cross-entropy needs parameterisation = \"posterior\""));
        }
        if self.parameterisation == Parameterisation::Noise && self.head == MaskHead::Evidence {
            return Err(Error::config("head", "evidence needs parameterisation = \"posterior\""));
        }
        Ok(())
    }
}
