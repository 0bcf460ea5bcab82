//! The settings of GNSM for masks, and its presets.

use gnsm::internals::noise::Levels;
use gnsm::settings::{Criterion, LevelsConfig, Objective, Parameterisation, Smoothing, TrainingConfig};
use gnsm::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::ncsn::NcsnSize;

/// Pairs that a limit leaves at the least.
const FEWEST_PAIRS: usize = 10;

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
    /// Pairs from which a density over norms is learned, at the most.
    pub most_pairs: usize,
    /// By what the number of components of that density is chosen.
    pub criterion: Criterion,
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
        let mut levels = LevelsConfig::default();
        levels.count = 6;
        levels.smoothing = Smoothing::Growing { first: 0.995, last: 0.5 };
        let mut training = TrainingConfig::default();
        (training.batch, training.steps, training.epochs) = (16, 1600, 0);
        (training.hidden, training.patience, training.validation_rows) = (0.1, 0, 128);
        Self {
            size: 64,
            levels,
            parameterisation: Parameterisation::Posterior,
            objective: Objective::CrossEntropy,
            weighted: false,
            network: NcsnSize { channels: 32, multipliers: vec![1, 2, 3], blocks: 1, fold: 2 },
            training,
            head: MaskHead::Evidence,
            most_pairs: 512,
            criterion: Criterion::LowestTenth,
        }
    }

    /// Fewer steps, for a first try.
    pub fn quick() -> Self {
        let mut config = Self::fast();
        config.training.steps = 320;
        config
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
        config.training.validation_rows = usize::MAX;
        (config.most_pairs, config.criterion) = (usize::MAX, Criterion::Mean);
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
        if self.most_pairs < FEWEST_PAIRS {
            let problem = format!("{} is not at least {FEWEST_PAIRS}", self.most_pairs);
            return Err(Error::config("most_pairs", problem));
        }
        if self.parameterisation == Parameterisation::Noise && self.objective == Objective::CrossEntropy {
            return Err(Error::config("objective", "cross-entropy needs parameterisation = \"posterior\""));
        }
        if self.parameterisation == Parameterisation::Noise && self.head == MaskHead::Evidence {
            return Err(Error::config("head", "evidence needs parameterisation = \"posterior\""));
        }
        Ok(())
    }
}
