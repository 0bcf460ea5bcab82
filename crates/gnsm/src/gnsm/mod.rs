//! Gumbel Noise Score Matching, assembled: noise, network, training, embedding and a head that turns the embedding into one score.
//!
//! Two heads:
//!
//! - [`Head::Norms`], the paper's: the score norms of a row over all levels, standardised, under a density that was fitted to
//!   training rows. The score is the negative log-likelihood (or the distance to a neighbour), plus log(n + 1) for every
//!   category that n training rows never showed.
//! - [`Head::Surprise`], the default. Two surprises of each cell ([`crate::embed`]): the denoising one, averaged over the levels, which
//!   knows how rare the cell's value is and what surrounds it; and the one given the rest of the row with the cell itself hidden,
//!   which knows what does not go together. Each is summed over the cells, turned into the nats of its tail among held-out rows, and the
//!   two are added. A row is odd if it is rare, or if it does not fit together, or both.
//!
//! A cell's part of the score is its share of either sum, times the nats of that sum; how a density's anomaly is split stands in
//! `norms.rs`. A category that n training rows never showed has the surprise log(n + 1).

mod bins;
mod config;
mod norms;
mod tails;

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
use crate::noise::objective::Loss;
use crate::noise::{Levels, stream};
use crate::train::{CurvePoint, Ending, Run, Trained, train_denoiser};
use bins::Bins;
use norms::{NormsHead, NormsOfRows};
use tails::Tail;

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
    Surprise(Box<[Tail; 2]>),
    Norms(Box<NormsHead>),
}

/// What the network says about some rows.
struct Seen {
    embedding: Embedding,
    /// The surprise of each cell given the rest of its row, [rows, cells]; only for [`Head::Surprise`].
    rest: Vec<f32>,
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
    tails: Option<Box<[Tail; 2]>>,
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
        let held_out = validation;
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
        let (network, Trained { curve, ending, .. }) =
            train_denoiser(network, &config.training, &loss, training, validation, run)?;
        let mut gnsm = Self {
            config: *config,
            outer: outer.clone(),
            bins,
            layout: layout.clone(),
            network,
            spread: vec![1.0; levels.count() * layout.n_numbers()],
            levels,
            n_training_rows: (training.n_rows() + validation.n_rows()) as u64,
            head: FittedHead::Surprise(Box::new([Tail::fit(Vec::new()), Tail::fit(Vec::new())])),
            curve,
            ending,
        };
        gnsm.spread = gnsm.measure_spread(validation);
        gnsm.head = match config.head {
            Head::Surprise => FittedHead::Surprise(Box::new(gnsm.fit_tails(held_out))),
            Head::Norms { density, .. } => {
                FittedHead::Norms(Box::new(gnsm.fit_norms(density, training, validation, seed)?))
            }
        };
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

    /// Learns how large the sums of surprises of usual rows are.
    fn fit_tails(&self, held_out: &Encoded) -> [Tail; 2] {
        let (firsts, of_row) = held_out.distinct();
        let mut sums = Vec::with_capacity(firsts.len());
        for block in firsts.chunks(BLOCK) {
            let rows = held_out.select(block);
            let seen = self.look(&rows);
            sums.extend(
                (0..block.len()).map(|row| self.surprises(&seen, row, &rows).map(|cells| cells.iter().sum::<f64>())),
            );
        }
        [0, 1].map(|kind| Tail::fit(of_row.iter().map(|&which| sums[which as usize][kind]).collect()))
    }

    /// Shows rows to the network.
    fn look(&self, rows: &Encoded) -> Seen {
        let inner = binned(self.bins.as_ref(), rows);
        let embedder = self.embedder(self.point());
        let rest = match self.config.head {
            Head::Surprise => embedder.surprises_from_the_rest(&inner),
            Head::Norms { .. } => Vec::new(),
        };
        Seen { embedding: embedder.embed(&inner), rest }
    }

    /// The surprises of a row's cells: denoising, averaged over the levels; and each given the rest of the row.
    fn surprises(&self, seen: &Seen, row: usize, rows: &Encoded) -> [Vec<f64>; 2] {
        let n_cells = n_cells(&self.layout);
        let share = 1.0 / self.levels.count() as f64;
        let by_level = seen.embedding.surprises(row);
        let mean = |cell| by_level.iter().skip(cell).step_by(n_cells).map(|s| f64::from(*s)).sum::<f64>() * share;
        let mut denoising: Vec<f64> = (0..n_cells).map(mean).collect();
        let mut rest: Vec<f64> = seen.rest[row * n_cells..][..n_cells].iter().map(|s| f64::from(*s)).collect();
        if let Some(bins) = &self.bins {
            for (number, z) in rows.numbers(row).iter().enumerate() {
                let excess = bins.excess(number, *z);
                denoising[number] += excess;
                rest[number] += excess;
            }
        }
        [denoising, rest]
    }

    /// Base and parts of one row, the parts in the order of the cells.
    fn split_row(&self, seen: &Seen, row: usize, rows: &Encoded, parts: &mut Vec<f64>) -> f64 {
        let (n_cells, start) = (n_cells(&self.layout), parts.len());
        match &self.head {
            FittedHead::Surprise(tails) => {
                parts.resize(start + n_cells, 0.0);
                for (cells, tail) in self.surprises(seen, row, rows).iter().zip(tails.iter()) {
                    let sum: f64 = cells.iter().sum();
                    let nats_per_surprise = if sum > 0.0 { tail.nats(sum) / sum } else { 0.0 };
                    for (part, cell) in parts[start..].iter_mut().zip(cells) {
                        *part += cell * nats_per_surprise;
                    }
                }
                0.0
            }
            FittedHead::Norms(head) => {
                let base = head.integrate(seen.embedding.norms(row), n_cells, parts);
                for group in unseen_groups(rows.codes(row)) {
                    parts[start + self.outer.n_numbers() + group] += self.unseen_surprise();
                }
                base
            }
        }
    }

    /// The score of one row.
    fn score_row(&self, seen: &Seen, row: usize, rows: &Encoded) -> f64 {
        match &self.head {
            FittedHead::Surprise(_) => {
                let mut parts = Vec::new();
                self.split_row(seen, row, rows, &mut parts) + parts.iter().sum::<f64>()
            }
            FittedHead::Norms(head) => {
                let unseen = unseen_groups(rows.codes(row)).count() as f64;
                head.anomaly_of(seen.embedding.norms(row), n_cells(&self.layout)) + unseen * self.unseen_surprise()
            }
        }
    }

    pub(crate) fn save(&self, tensors: &mut Tensors) -> serde_json::Result<serde_json::Value> {
        tensors.put("network.parameters", self.network.parameters().to_vec());
        tensors.put("network.frequencies", self.network.frequencies().to_vec());
        tensors.put("spread", self.spread.clone());
        let (tails, standardizer, density) = match &self.head {
            FittedHead::Surprise(tails) => (Some(tails.clone()), None, None),
            FittedHead::Norms(head) => {
                tensors.put("mean_norms", head.mean_norms.clone());
                (None, Some(head.standardizer.clone()), Some(head.density.clone()))
            }
        };
        serde_json::to_value(Stored {
            config: self.config,
            n_training_rows: self.n_training_rows,
            curve: self.curve.clone(),
            ending: self.ending,
            bins: self.bins.clone(),
            tails,
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
        let head = match (config.head, stored.tails, stored.standardizer, stored.density) {
            (Head::Surprise, Some(tails), None, None) => {
                tails.iter().try_for_each(Tail::validate)?;
                FittedHead::Surprise(tails)
            }
            (Head::Norms { .. }, None, Some(standardizer), Some(density)) => {
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
            let seen = self.look(&rows);
            scores.par_extend((0..block.len()).into_par_iter().map(|row| self.score_row(&seen, row, &rows)));
        }
        scores
    }

    fn split(&self, rows: &Encoded) -> Split {
        let n_cells = n_cells(&self.layout);
        let (mut base, mut parts) = (Vec::new(), Vec::with_capacity(rows.n_rows() * n_cells));
        let seen = self.look(rows);
        for row in 0..rows.n_rows() {
            base.push(self.split_row(&seen, row, rows, &mut parts));
        }
        Split { base, parts, n_cells }
    }

    fn expected(&self, rows: &Encoded) -> Option<Expected> {
        let embedder = self.embedder(Point::Centre);
        let inner = binned(self.bins.as_ref(), rows);
        // Only a posterior can be asked about a cell that is not shown.
        let hidden = self.config.head == Head::Surprise;
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

/// Which groups of a row show a category that training never did.
fn unseen_groups(codes: &[u32]) -> impl Iterator<Item = usize> + '_ {
    codes.iter().enumerate().filter(|(_, code)| **code == UNSEEN).map(|(group, _)| group)
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
