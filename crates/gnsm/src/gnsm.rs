//! Gumbel Noise Score Matching, assembled: noise, network, training, embedding and a head that turns the embedding into one score.
//!
//! Two heads:
//!
//! - [`Head::Norms`], the paper's: the score norms of a row over all levels, standardised, under a density that was fitted to
//!   training rows. The score is the negative log-likelihood (or the distance to a neighbour), plus log(n + 1) for every
//!   category that n training rows never showed.
//! - [`Head::Surprise`], the default: the denoising surprise of each cell, averaged over the levels and summed over the
//!   cells ([`crate::embed`]). It is in nats, and additive by construction.
//!
//! # The parts of a score
//!
//! The surprise of a cell is its part. For the norms, the negative log-likelihood A(η) is split by integrated gradients
//! (Sundararajan et al. 2017): along the straight line from the mean cell norms of the training rows to those of the row, the part of
//! cell c is Σᵢ (u_{i,c} − ū_{i,c})·∫ ∂A/∂ηᵢ dt. The parts and the score of the mean row (the base) sum to the score.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::container::Tensors;
use crate::density::{
    Criterion, Density, GaussianMixture, KernelDensity, MixtureConfig, NearestNeighbours, Rows, SelectionConfig,
    Standardizer,
};
use crate::detector::{Detector, Split};
use crate::embed::{Embedder, Embedding, Point, n_cells};
use crate::encode::Encoded;
use crate::error::{Error, Result};
use crate::layout::{Layout, UNSEEN};
use crate::network::{Ends, NetworkSize, OptimiserConfig, ResidualNetwork};
use crate::noise::objective::{Loss, Objective, Parameterisation};
use crate::noise::{Levels, LevelsConfig, Smoothing, stream};
use crate::train::{CurvePoint, Ending, Run, Trained, TrainingConfig, train};

/// Names of the random streams.
const INITIAL_WEIGHTS: u64 = 3;
/// Rows embedded at a time.
const BLOCK: usize = 1024;
/// Distinct rows that a density is fitted to, at the most.
const DENSITY_ROWS: usize = 50_000;
/// Points that a kernel or neighbour density keeps.
const DENSITY_POINTS: usize = 2_000;
/// Points of the line along which gradients are integrated.
const PATH_POINTS: usize = 32;
/// The smallest variance of a number's denoising distance.
const SMALLEST_SPREAD: f32 = 1e-6;

/// All settings. `fast` is the default preset; `paper` is the paper's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GnsmConfig {
    /// The noise levels.
    pub levels: LevelsConfig,
    /// What the network's outputs mean.
    pub parameterisation: Parameterisation,
    /// How they are compared with the truth.
    pub objective: Objective,
    /// Whether category losses are multiplied by λ²K².
    pub weighted: bool,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Head {
    /// The surprise of the cells.
    Surprise,
    /// A density over the score norms.
    Norms {
        /// Where the norms are taken.
        point: Point,
        /// Which density.
        density: DensityKind,
    },
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
            levels: LevelsConfig {
                count: 10,
                lambda_min: 2.0,
                lambda_max: 20.0,
                sigma_min: 0.1,
                sigma_max: 1.0,
                smoothing: Smoothing::Growing { first: 0.95, last: 0.05 },
            },
            parameterisation: Parameterisation::Posterior,
            objective: Objective::CrossEntropy,
            weighted: false,
            start_at_marginals: true,
            network: NetworkSize { width: 128, depth: 3, embedding: 64 },
            training: TrainingConfig {
                batch: 512,
                steps: 3000,
                learning_rate: 1e-3,
                final_learning_rate: 1e-5,
                validate_every: 100,
                patience: 5,
                validation_rows: 1024,
                optimiser: OptimiserConfig {
                    beta_1: 0.9,
                    beta_2: 0.999,
                    weight_decay: 1e-4,
                    clip: 1.0,
                    average: 0.995,
                    average_warmup: true,
                },
            },
            head: Head::Surprise,
        }
    }

    /// The paper's configuration to the letter: a day on a GPU.
    pub fn paper() -> Self {
        let mut config = Self::fast().with_paper_head();
        config.network = NetworkSize { width: 1024, depth: 20, embedding: 128 };
        config.training.batch = 2048;
        config.training.steps = 1_000_000;
        config.training.validate_every = 10_000;
        config.training.patience = 0;
        config.training.validation_rows = usize::MAX;
        config.training.optimiser.average = 0.999;
        config.training.optimiser.average_warmup = false;
        config
    }

    /// The paper's noise, objective and head, with this configuration's network and training.
    pub fn with_paper_head(mut self) -> Self {
        self.levels.count = 20;
        self.levels.smoothing = Smoothing::Fixed { delta: 1e-5 };
        self.parameterisation = Parameterisation::Noise;
        self.objective = Objective::Kl;
        self.weighted = true;
        self.start_at_marginals = false;
        self.head = Head::Norms { point: Point::Clean, density: DensityKind::Mixture };
        self
    }

    /// Checks every setting.
    pub fn validate(&self) -> Result<()> {
        Levels::new(&self.levels)?;
        self.training.validate()?;
        if self.objective == Objective::CrossEntropy && self.parameterisation == Parameterisation::Noise {
            return Err(Error::config("objective", "cross-entropy needs parameterisation = \"posterior\""));
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

/// A trained detector.
#[derive(Debug, Clone)]
pub struct Gnsm {
    config: GnsmConfig,
    levels: Levels,
    layout: Layout,
    network: ResidualNetwork,
    /// Mean squared distance between numbers and their denoised values, [levels, numbers].
    spread: Vec<f32>,
    n_training_rows: u64,
    head: FittedHead,
    curve: Vec<CurvePoint>,
    ending: Ending,
}

#[derive(Debug, Clone)]
enum FittedHead {
    Surprise,
    Norms(Box<NormsHead>),
}

#[derive(Debug, Clone)]
struct NormsHead {
    standardizer: Standardizer,
    density: Density,
    /// Mean cell norms of the training rows, [levels, cells].
    mean_norms: Vec<f32>,
}

/// What of a trained detector is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    config: GnsmConfig,
    n_training_rows: u64,
    curve: Vec<CurvePoint>,
    ending: Ending,
    standardizer: Option<Standardizer>,
    density: Option<Density>,
}

impl Gnsm {
    /// Trains on `training` rows; `validation` rows stop the training and, together with the others, shape the density.
    pub fn fit(
        config: &GnsmConfig,
        layout: &Layout,
        training: &Encoded,
        validation: &Encoded,
        run: Run<'_>,
    ) -> Result<Self> {
        config.validate()?;
        let levels = Levels::new(&config.levels)?;
        let loss = Loss {
            layout,
            levels: &levels,
            parameterisation: config.parameterisation,
            objective: config.objective,
            weighted: config.weighted,
        };
        let seed = run.seed;
        let bias = config.start_at_marginals.then(|| log_marginals(layout, training));
        let mut rng = stream(seed, INITIAL_WEIGHTS, 0, 0);
        let network = ResidualNetwork::new(config.network, config.ends(layout), bias.as_deref(), &mut rng);
        let Trained { network, curve, ending } = train(network, &config.training, &loss, training, validation, run)?;
        let mut gnsm = Self {
            config: *config,
            layout: layout.clone(),
            network,
            spread: vec![1.0; levels.count() * layout.n_numbers()],
            levels,
            n_training_rows: (training.n_rows() + validation.n_rows()) as u64,
            head: FittedHead::Surprise,
            curve,
            ending,
        };
        gnsm.spread = gnsm.measure_spread(validation);
        if let Head::Norms { density, .. } = config.head {
            gnsm.head = FittedHead::Norms(Box::new(gnsm.fit_density(density, training, validation, seed)?));
        }
        Ok(gnsm)
    }

    /// The training curve.
    pub fn curve(&self) -> &[CurvePoint] {
        &self.curve
    }

    /// Why training ended.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// The settings.
    pub fn config(&self) -> &GnsmConfig {
        &self.config
    }

    fn embedder(&self, point: Point) -> Embedder<'_> {
        Embedder {
            network: &self.network,
            levels: &self.levels,
            layout: &self.layout,
            parameterisation: self.config.parameterisation,
            point,
            spread: &self.spread,
            unseen: self.unseen_surprise() as f32,
        }
    }

    /// The point at which this head looks at rows.
    fn point(&self) -> Point {
        match self.config.head {
            Head::Surprise => Point::Centre,
            Head::Norms { point, .. } => point,
        }
    }

    /// −log of the rule of succession's probability for something that n rows never showed.
    fn unseen_surprise(&self) -> f64 {
        (self.n_training_rows as f64 + 1.0).ln()
    }

    fn measure_spread(&self, rows: &Encoded) -> Vec<f32> {
        let (distinct, counts) = rows.counted();
        let sums = self.embedder(self.point()).squared_corrections(&distinct, &counts);
        let n = rows.n_rows().max(1) as f64;
        sums.iter().map(|sum| ((sum / n) as f32).max(SMALLEST_SPREAD)).collect()
    }

    /// Fits the density to the score norms of training and validation rows.
    fn fit_density(&self, kind: DensityKind, training: &Encoded, validation: &Encoded, seed: u64) -> Result<NormsHead> {
        let (n_levels, n_cells) = (self.levels.count(), n_cells(&self.layout));
        let (distinct, counts) = training.concat(validation).counted();
        // A stride keeps the order, and with it the mix, of the distinct rows.
        let stride = distinct.n_rows().div_ceil(DENSITY_ROWS).max(1);
        let kept: Vec<usize> = (0..distinct.n_rows()).step_by(stride).collect();
        let counts: Vec<f64> = kept.iter().map(|&row| counts[row]).collect();
        let mut norms = Vec::with_capacity(kept.len() * n_levels);
        let mut mean = vec![0.0f64; n_levels * n_cells];
        for (block, counts) in kept.chunks(BLOCK).zip(counts.chunks(BLOCK)) {
            let embedding = self.embedder(self.point()).embed(&distinct.select(block));
            for (row, count) in counts.iter().enumerate() {
                let cells = embedding.norms(row);
                norms.extend(level_norms(cells, n_cells));
                for (mean, cell) in mean.iter_mut().zip(cells) {
                    *mean += f64::from(*cell) * count;
                }
            }
        }
        let total: f64 = counts.iter().sum();
        let standardizer = Standardizer::fit(Rows::new(&norms, n_levels, &counts)?);
        standardizer.transform(&mut norms);
        let rows = Rows::new(&norms, n_levels, &counts)?;
        let density = match kind {
            DensityKind::Mixture => {
                let selection = SelectionConfig { criterion: Criterion::LowestTenth, ..SelectionConfig::default() };
                let mixture = MixtureConfig { starts: 3, ..MixtureConfig::default() };
                Density::Mixture(GaussianMixture::fit_best(rows, &selection, &mixture, seed)?)
            }
            DensityKind::Kernel => Density::Kernel(KernelDensity::fit(rows, DENSITY_POINTS, seed)?),
            DensityKind::Neighbours => Density::Neighbours(NearestNeighbours::fit(rows, 5, DENSITY_POINTS, seed)?),
        };
        let mean_norms = mean.iter().map(|sum| (sum / total) as f32).collect();
        Ok(NormsHead { standardizer, density, mean_norms })
    }

    /// Base and parts of one row of an embedding, the parts in the order of the cells.
    fn split_row(&self, embedding: &Embedding, row: usize, codes: &[u32], parts: &mut Vec<f64>) -> f64 {
        let n_cells = n_cells(&self.layout);
        match &self.head {
            FittedHead::Surprise => {
                let share = 1.0 / self.levels.count() as f64;
                let surprises = embedding.surprises(row);
                parts.extend((0..n_cells).map(|cell| {
                    surprises.iter().skip(cell).step_by(n_cells).map(|s| f64::from(*s)).sum::<f64>() * share
                }));
                0.0
            }
            FittedHead::Norms(head) => {
                let start = parts.len();
                let base = head.integrate(embedding.norms(row), n_cells, parts);
                for (group, _) in codes.iter().enumerate().filter(|(_, code)| **code == UNSEEN) {
                    parts[start + self.layout.n_numbers() + group] += self.unseen_surprise();
                }
                base
            }
        }
    }

    /// The score of one row of an embedding.
    fn score_row(&self, embedding: &Embedding, row: usize, codes: &[u32], parts: &mut Vec<f64>) -> f64 {
        match &self.head {
            FittedHead::Surprise => {
                parts.clear();
                self.split_row(embedding, row, codes, parts);
                parts.iter().sum()
            }
            FittedHead::Norms(head) => {
                let unseen = codes.iter().filter(|code| **code == UNSEEN).count() as f64;
                let norms: Vec<f64> = level_norms(embedding.norms(row), n_cells(&self.layout)).collect();
                head.anomaly(norms) + unseen * self.unseen_surprise()
            }
        }
    }

    pub(crate) fn save(&self, tensors: &mut Tensors) -> serde_json::Result<serde_json::Value> {
        tensors.put("network.parameters", self.network.parameters().to_vec());
        tensors.put("network.frequencies", self.network.frequencies().to_vec());
        tensors.put("spread", self.spread.clone());
        let (standardizer, density) = match &self.head {
            FittedHead::Surprise => (None, None),
            FittedHead::Norms(head) => {
                tensors.put("mean_norms", head.mean_norms.clone());
                (Some(head.standardizer.clone()), Some(head.density.clone()))
            }
        };
        serde_json::to_value(Stored {
            config: self.config,
            n_training_rows: self.n_training_rows,
            curve: self.curve.clone(),
            ending: self.ending,
            standardizer,
            density,
        })
    }

    pub(crate) fn load(
        content: serde_json::Value,
        layout: &Layout,
        tensors: &mut Tensors,
    ) -> std::result::Result<Self, String> {
        let stored: Stored = serde_json::from_value(content).map_err(|error| error.to_string())?;
        let config = stored.config;
        config.validate().map_err(|error| error.to_string())?;
        let levels = Levels::new(&config.levels).map_err(|error| error.to_string())?;
        let ends = config.ends(layout);
        let n_parameters = ResidualNetwork::n_parameters(config.network, ends)?;
        let parameters = tensors.take("network.parameters", n_parameters)?;
        let frequencies = tensors.take("network.frequencies", config.network.embedding / 2)?;
        let spread = tensors.take("spread", levels.count() * layout.n_numbers())?;
        if spread.iter().any(|value| *value <= 0.0) {
            return Err("tensor `spread` holds numbers that are not positive".into());
        }
        let head = match (config.head, stored.standardizer, stored.density) {
            (Head::Surprise, None, None) => FittedHead::Surprise,
            (Head::Norms { .. }, Some(standardizer), Some(density)) => {
                standardizer.validate()?;
                density.validate()?;
                if standardizer.dimension() != levels.count() || density.dimension() != levels.count() {
                    return Err("the density does not have as many dimensions as there are levels".into());
                }
                let mean_norms = tensors.take("mean_norms", levels.count() * n_cells(layout))?;
                FittedHead::Norms(Box::new(NormsHead { standardizer, density, mean_norms }))
            }
            _ => return Err("the head and its density do not fit together".into()),
        };
        Ok(Self {
            network: ResidualNetwork::from_parts(config.network, ends, frequencies, parameters),
            config,
            levels,
            layout: layout.clone(),
            spread,
            n_training_rows: stored.n_training_rows,
            head,
            curve: stored.curve,
            ending: stored.ending,
        })
    }
}

impl Detector for Gnsm {
    fn score(&self, rows: &Encoded) -> Vec<f64> {
        let mut scores = Vec::with_capacity(rows.n_rows());
        let all: Vec<usize> = (0..rows.n_rows()).collect();
        for block in all.chunks(BLOCK) {
            let rows = rows.select(block);
            let embedding = self.embedder(self.point()).embed(&rows);
            scores.par_extend(
                (0..block.len())
                    .into_par_iter()
                    .map_init(Vec::new, |parts, row| self.score_row(&embedding, row, rows.codes(row), parts)),
            );
        }
        scores
    }

    fn split(&self, rows: &Encoded) -> Split {
        let n_cells = n_cells(&self.layout);
        let (mut base, mut parts) = (Vec::new(), Vec::with_capacity(rows.n_rows() * n_cells));
        let embedding = self.embedder(self.point()).embed(rows);
        for row in 0..rows.n_rows() {
            base.push(self.split_row(&embedding, row, rows.codes(row), &mut parts));
        }
        Split { base, parts, n_cells }
    }

    fn expectations(&self, rows: &Encoded) -> Option<Vec<f32>> {
        Some(self.embedder(Point::Centre).expectations(rows))
    }

    fn number_spread(&self, number: usize) -> Option<f64> {
        self.spread.get(number).map(|spread| f64::from(*spread).sqrt())
    }
}

impl NormsHead {
    fn anomaly(&self, mut norms: Vec<f64>) -> f64 {
        self.standardizer.transform(&mut norms);
        self.density.anomaly(&norms)
    }

    /// Appends each cell's part of the anomaly, returns the base.
    fn integrate(&self, cells: &[f32], n_cells: usize, parts: &mut Vec<f64>) -> f64 {
        let to: Vec<f64> = level_norms(cells, n_cells).collect();
        let from: Vec<f64> = level_norms(&self.mean_norms, n_cells).collect();
        let mut slope = vec![0.0; to.len()];
        for point in 0..PATH_POINTS {
            let t = (point as f64 + 0.5) / PATH_POINTS as f64;
            let mut on_the_way: Vec<f64> = from.iter().zip(&to).map(|(a, b)| a + t * (b - a)).collect();
            self.standardizer.transform(&mut on_the_way);
            for (slope, gradient) in slope.iter_mut().zip(self.density.gradient(&on_the_way)) {
                *slope += gradient / PATH_POINTS as f64;
            }
        }
        let start = parts.len();
        parts.extend((0..n_cells).map(|cell| {
            let levels = slope.iter().zip(self.standardizer.scale()).enumerate();
            levels
                .map(|(level, (slope, scale))| {
                    let at = level * n_cells + cell;
                    f64::from(cells[at] - self.mean_norms[at]) * slope / scale
                })
                .sum::<f64>()
        }));
        let base = self.anomaly(from);
        // What the quadrature missed is shared out in proportion, so that the parts sum exactly.
        let parts = &mut parts[start..];
        let missed = self.anomaly(to) - base - parts.iter().sum::<f64>();
        let total: f64 = parts.iter().map(|part| part.abs()).sum();
        for part in parts.iter_mut() {
            *part += missed * if total > 0.0 { part.abs() / total } else { 1.0 / n_cells as f64 };
        }
        base
    }
}

/// η: the squared norm of the whole score at each level.
fn level_norms(cells: &[f32], n_cells: usize) -> impl Iterator<Item = f64> + '_ {
    cells.chunks_exact(n_cells).map(|cells| cells.iter().map(|cell| f64::from(*cell)).sum())
}

/// log of each category's share of the rows, with half a row added; zero for numbers.
fn log_marginals(layout: &Layout, rows: &Encoded) -> Vec<f32> {
    let mut bias = vec![0.0; layout.width()];
    for (group, places) in layout.groups().enumerate() {
        let mut counts = vec![0.5f64; places.len()];
        for row in 0..rows.n_rows() {
            if let Some(count) = counts.get_mut(rows.codes(row)[group] as usize) {
                *count += 1.0;
            }
        }
        let total: f64 = counts.iter().sum();
        for (bias, count) in bias[places].iter_mut().zip(counts) {
            *bias = (count / total).ln() as f32;
        }
    }
    bias
}
