//! The settings of GNSM, and its presets.

use serde::{Deserialize, Serialize};

use super::evidence::EvidenceWeights;
use crate::columns::Layout;
use crate::density::Criterion;
use crate::detectors::PaperSet;
use crate::error::{Error, Result};
use crate::network::{Ends, NetworkSize};
use crate::noise::{Levels, LevelsConfig, Objective, Parameterisation, Smoothing};
use crate::score_matching::embed::Point;
use crate::train::TrainingConfig;

/// Rows that a limit leaves at the least.
const FEWEST_ROWS: usize = 100;

/// All settings. `fast` is the default preset; `paper` is the paper's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GnsmConfig {
    /// The noise levels.
    pub levels: LevelsConfig,
    /// What the network's outputs mean.
    pub parameterisation: Parameterisation,
    /// How they are compared with the truth.
    pub objective: Objective,
    /// Whether category losses are multiplied by λ²K².
    pub weighted: bool,
    /// Whether numbers are shown to the network in bins; otherwise with Gaussian noise, as in the paper.
    pub bins: bool,
    /// Whether the last layer starts at the marginals instead of at random.
    pub start_at_marginals: bool,
    /// The network.
    pub network: NetworkSize,
    /// The training loop.
    pub training: TrainingConfig,
    /// How the embedding becomes a score.
    pub head: Head,
}

/// How the embedding becomes a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Head {
    /// Rare values, odd couplings and patterns, each as far as the table shows it.
    Evidence {
        /// The weights, if not those that the table shows.
        weights: Option<EvidenceWeights>,
    },
    /// The denoising surprise of the cells.
    Surprise,
    /// A density over the score norms.
    Norms(NormsConfig),
}

/// How score norms become a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct NormsConfig {
    /// Where the norms are taken.
    pub point: Point,
    /// Which norms.
    pub norm: NormKind,
    /// Which density.
    pub density: DensityKind,
    /// By what the number of a mixture's components is chosen.
    pub criterion: Criterion,
    /// Distinct rows that the density is fitted to, at the most.
    pub most_rows: usize,
    /// Rows on which numbers of components are compared, at the most.
    pub most_compared: usize,
}

impl Default for NormsConfig {
    fn default() -> Self {
        Self {
            point: Point::Clean,
            norm: NormKind::Squared,
            density: DensityKind::Mixture,
            criterion: Criterion::LowestTenth,
            most_rows: 50_000,
            most_compared: 20_000,
        }
    }
}

impl NormsConfig {
    /// As the paper has it: all rows count, and the mixture with the best likelihood is taken.
    pub fn paper() -> Self {
        Self { criterion: Criterion::Mean, most_rows: usize::MAX, most_compared: usize::MAX, ..Self::default() }
    }

    fn validate(&self) -> Result<()> {
        for (field, rows) in [("head.most_rows", self.most_rows), ("head.most_compared", self.most_compared)] {
            if rows < FEWEST_ROWS {
                return Err(Error::config(field, format!("{rows} is not at least {FEWEST_ROWS}")));
            }
        }
        Ok(())
    }
}

/// Which norm of the score a level has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormKind {
    /// ‖s‖², as the paper writes it.
    Squared,
    /// ‖s‖, as the authors' code has it.
    Plain,
}

impl NormKind {
    pub(super) fn of_square(self, square: f64) -> f64 {
        match self {
            Self::Squared => square,
            Self::Plain => square.sqrt(),
        }
    }

    /// The derivative of [`Self::of_square`].
    pub(super) fn slope(self, square: f64) -> f64 {
        match self {
            Self::Squared => 1.0,
            // Where all scores are 0, none of them has a direction in which the norm grows.
            Self::Plain if square <= 0.0 => 0.0,
            Self::Plain => 0.5 / square.sqrt(),
        }
    }
}

/// The densities to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DensityKind {
    /// A Gaussian mixture of 3, 5, 7 or 9 components.
    Mixture,
    /// A Gaussian kernel density.
    Kernel,
    /// The distance to the fifth neighbour.
    Neighbours,
}

impl Default for GnsmConfig {
    fn default() -> Self {
        Self::fast()
    }
}

impl GnsmConfig {
    /// Seconds to a minute on a laptop, for a thousand rows as for three hundred thousand.
    pub fn fast() -> Self {
        Self {
            levels: LevelsConfig::default(),
            parameterisation: Parameterisation::Posterior,
            objective: Objective::CrossEntropy,
            weighted: false,
            bins: true,
            start_at_marginals: true,
            network: NetworkSize::default(),
            training: TrainingConfig::default(),
            head: Head::Evidence { weights: None },
        }
    }

    /// The paper's configuration for one of its sets: a day on a GPU. `docs/paper.md` goes through it point by point.
    pub fn paper(set: PaperSet) -> Self {
        let mut config = Self::fast().with_paper_head();
        config.head = Head::Norms(NormsConfig::paper());
        config.network = NetworkSize { width: 1024, depth: 20, embedding: 128 };
        (config.training.batch, config.training.steps) = match set {
            PaperSet::Bank => (2048, 2_000_000),
            PaperSet::Cmc => (512, 600_000),
            PaperSet::Any | PaperSet::Census | PaperSet::Probe => (2048, 1_000_000),
        };
        config.training.epochs = 0;
        config.training.validate_every = 10_000;
        config.training.patience = 0;
        config.training.validation_rows = usize::MAX;
        config.training.optimiser.average = 0.999;
        config.training.optimiser.average_warmup = false;
        config
    }

    /// The paper's noise, objective and head, with this configuration's network and training. A head that takes norms already is
    /// left as it is.
    pub fn with_paper_head(mut self) -> Self {
        self.levels.count = 20;
        self.levels.smoothing = Smoothing::Fixed { delta: 1e-5 };
        self.parameterisation = Parameterisation::Noise;
        self.objective = Objective::Kl;
        self.weighted = true;
        self.bins = false;
        self.start_at_marginals = false;
        self.training.hidden = 0.0;
        if !matches!(self.head, Head::Norms(_)) {
            self.head = Head::Norms(NormsConfig::default());
        }
        self
    }

    /// Checks every setting.
    pub fn validate(&self) -> Result<()> {
        Levels::new(&self.levels)?;
        self.training.validate()?;
        if self.objective == Objective::CrossEntropy && self.parameterisation == Parameterisation::Noise {
            return Err(Error::config("objective", "cross-entropy needs parameterisation = \"posterior\""));
        }
        if let Head::Norms(norms) = self.head {
            norms.validate()?;
        } else if !(self.bins && self.parameterisation == Parameterisation::Posterior) {
            let needed = "evidence and surprise need parameterisation = \"posterior\" and bins = true: a hidden cell must have a distribution";
            return Err(Error::config("head", needed));
        }
        if let Head::Evidence { weights: Some(weights) } = self.head {
            weights.validate().map_err(|problem| Error::config("head.weights", problem))?;
        }
        let NetworkSize { width, depth, embedding } = self.network;
        if !(1..=16_384).contains(&width) {
            return Err(Error::config("network.width", format!("{width} is not between 1 and 16384")));
        }
        if !(1..=1000).contains(&depth) {
            return Err(Error::config("network.depth", format!("{depth} is not between 1 and 1000")));
        }
        if !(2..=4096).contains(&embedding) || embedding % 2 == 1 {
            return Err(Error::config(
                "network.embedding",
                format!("{embedding} is not an even number between 2 and 4096"),
            ));
        }
        Ok(())
    }

    pub(crate) fn ends(&self, layout: &Layout) -> Ends {
        Ends { inputs: layout.width(), outputs: layout.width(), levels: self.levels.count }
    }
}
