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
//! The surprise of a cell is its part of the score; how a density's anomaly is split stands in `norms.rs`.

mod bins;
mod config;
mod norms;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use config::{DensityKind, GnsmConfig, Head};

use crate::container::Tensors;
use crate::density::{Density, Standardizer};
use crate::detector::{Detector, Expected, Split};
use crate::embed::{Embedder, Embedding, Point, n_cells};
use crate::encode::Encoded;
use crate::error::Result;
use crate::layout::{Layout, UNSEEN};
use crate::network::ResidualNetwork;
use crate::noise::objective::{Loss, Parameterisation};
use crate::noise::{Levels, stream};
use crate::train::{CurvePoint, Ending, Run, Trained, train};
use bins::Bins;
use norms::{NormsHead, NormsOfRows};

/// Names of the random streams.
const INITIAL_WEIGHTS: u64 = 3;
/// Rows embedded at a time.
const BLOCK: usize = 1024;
/// Distinct rows that a density is fitted to, at the most.
const DENSITY_ROWS: usize = 50_000;
/// How many spreads around the denoised number its expected range reaches to each side.
const RANGE: f32 = 2.0;
/// The smallest variance of a number's denoising distance.
const SMALLEST_SPREAD: f32 = 1e-6;

/// A trained detector.
#[derive(Debug, Clone)]
pub struct Gnsm {
    config: GnsmConfig,
    levels: Levels,
    /// Numbers and groups as rows bring them.
    outer: Layout,
    /// The bins of the numbers, unless they get Gaussian noise.
    bins: Option<Bins>,
    /// What the network sees.
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

/// What of a trained detector is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    config: GnsmConfig,
    n_training_rows: u64,
    curve: Vec<CurvePoint>,
    ending: Ending,
    bins: Option<Bins>,
    standardizer: Option<Standardizer>,
    density: Option<Density>,
}

impl Gnsm {
    /// Trains on `training` rows; `validation` rows stop the training and, together with the others, shape the density.
    pub fn fit(
        config: &GnsmConfig,
        outer: &Layout,
        training: &Encoded,
        validation: &Encoded,
        run: Run<'_>,
    ) -> Result<Self> {
        config.validate()?;
        let levels = Levels::new(&config.levels)?;
        let bins = config.bins.then(|| Bins::fit(&training.concat(validation), outer.n_numbers()));
        let (training, validation) = (&binned(bins.as_ref(), training), &binned(bins.as_ref(), validation));
        let layout = &bins.as_ref().map_or_else(|| outer.clone(), |bins| bins.layout(outer));
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
            outer: outer.clone(),
            bins,
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
            gnsm.head = FittedHead::Norms(Box::new(gnsm.fit_norms(density, training, validation, seed)?));
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
    fn fit_norms(&self, kind: DensityKind, training: &Encoded, validation: &Encoded, seed: u64) -> Result<NormsHead> {
        let (distinct, counts) = training.concat(validation).counted();
        // A stride keeps the order, and with it the mix, of the distinct rows.
        let stride = distinct.n_rows().div_ceil(DENSITY_ROWS).max(1);
        let kept: Vec<usize> = (0..distinct.n_rows()).step_by(stride).collect();
        let mut norms = NormsOfRows::new(self.levels.count(), n_cells(&self.layout));
        for block in kept.chunks(BLOCK) {
            let embedding = self.embedder(self.point()).embed(&distinct.select(block));
            for (row, &source) in block.iter().enumerate() {
                norms.add(embedding.norms(row), counts[source]);
            }
        }
        norms.fit(kind, seed)
    }

    /// Base and parts of one row of an embedding, the parts in the order of the cells.
    fn split_row(&self, embedding: &Embedding, row: usize, rows: &Encoded, parts: &mut Vec<f64>) -> f64 {
        let (n_cells, start) = (n_cells(&self.layout), parts.len());
        let base = match &self.head {
            FittedHead::Surprise => {
                let share = 1.0 / self.levels.count() as f64;
                let surprises = embedding.surprises(row);
                parts.extend((0..n_cells).map(|cell| {
                    surprises.iter().skip(cell).step_by(n_cells).map(|s| f64::from(*s)).sum::<f64>() * share
                }));
                0.0
            }
            FittedHead::Norms(head) => head.integrate(embedding.norms(row), n_cells, parts),
        };
        self.add_evidence(rows, row, &mut parts[start..]);
        base
    }

    /// The score of one row of an embedding.
    fn score_row(&self, embedding: &Embedding, row: usize, rows: &Encoded, parts: &mut Vec<f64>) -> f64 {
        parts.clear();
        match &self.head {
            FittedHead::Surprise => self.split_row(embedding, row, rows, parts) + parts.iter().sum::<f64>(),
            FittedHead::Norms(head) => {
                parts.resize(n_cells(&self.layout), 0.0);
                self.add_evidence(rows, row, parts);
                head.anomaly_of(embedding.norms(row), parts.len()) + parts.iter().sum::<f64>()
            }
        }
    }

    /// What the embedding does not hold: how far a number is outside of the training values, and, for norms, that a category was never seen.
    fn add_evidence(&self, rows: &Encoded, row: usize, parts: &mut [f64]) {
        if let Some(bins) = &self.bins {
            for (number, z) in rows.numbers(row).iter().enumerate() {
                parts[number] += bins.excess(number, *z);
            }
        }
        if matches!(self.head, FittedHead::Norms(_)) {
            for (group, _) in rows.codes(row).iter().enumerate().filter(|(_, code)| **code == UNSEEN) {
                parts[self.outer.n_numbers() + group] += self.unseen_surprise();
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
            bins: self.bins.clone(),
            standardizer,
            density,
        })
    }

    pub(crate) fn load(
        content: serde_json::Value,
        outer: &Layout,
        tensors: &mut Tensors,
    ) -> std::result::Result<Self, String> {
        let stored: Stored = serde_json::from_value(content).map_err(|error| error.to_string())?;
        let config = stored.config;
        config.validate().map_err(|error| error.to_string())?;
        let levels = Levels::new(&config.levels).map_err(|error| error.to_string())?;
        if stored.bins.is_some() != config.bins {
            return Err("the bins and the settings do not fit together".into());
        }
        if let Some(bins) = &stored.bins {
            bins.validate(outer)?;
        }
        let layout = &stored.bins.as_ref().map_or_else(|| outer.clone(), |bins| bins.layout(outer));
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
            outer: outer.clone(),
            layout: layout.clone(),
            bins: stored.bins,
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
            let embedding = self.embedder(self.point()).embed(&binned(self.bins.as_ref(), &rows));
            scores.par_extend(
                (0..block.len())
                    .into_par_iter()
                    .map_init(Vec::new, |parts, row| self.score_row(&embedding, row, &rows, parts)),
            );
        }
        scores
    }

    fn split(&self, rows: &Encoded) -> Split {
        let n_cells = n_cells(&self.layout);
        let (mut base, mut parts) = (Vec::new(), Vec::with_capacity(rows.n_rows() * n_cells));
        let embedding = self.embedder(self.point()).embed(&binned(self.bins.as_ref(), rows));
        for row in 0..rows.n_rows() {
            base.push(self.split_row(&embedding, row, rows, &mut parts));
        }
        Split { base, parts, n_cells }
    }

    fn expected(&self, rows: &Encoded) -> Option<Expected> {
        let embedder = self.embedder(Point::Centre);
        let inner = binned(self.bins.as_ref(), rows);
        // Only a posterior can be asked about a cell that is not shown.
        let hidden = self.config.parameterisation == Parameterisation::Posterior && self.bins.is_some();
        let all = if hidden { embedder.expectations_from_the_rest(&inner) } else { embedder.expectations(&inner, 0) };
        let n_numbers = self.outer.n_numbers();
        let (mut ranges, mut probabilities) = (Vec::new(), Vec::new());
        for row in all.chunks_exact(self.layout.width()) {
            for number in 0..n_numbers {
                let reach = RANGE * self.spread.get(number).map_or(0.0, |spread| spread.sqrt());
                ranges.push(self.bins.as_ref().map_or_else(
                    || [row[number] - reach, row[number] + reach],
                    |bins| bins.expected_range(number, &row[self.layout.group(number)]),
                ));
            }
            probabilities.extend_from_slice(&row[self.layout.width() + n_numbers - self.outer.width()..]);
        }
        Some(Expected { ranges, probabilities })
    }
}

/// Rows as the network sees them.
fn binned(bins: Option<&Bins>, rows: &Encoded) -> Encoded {
    bins.map_or_else(|| rows.clone(), |bins| bins.encode(rows))
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
