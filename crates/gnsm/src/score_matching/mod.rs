//! Gumbel Noise Score Matching, assembled: noise, network, training, embedding, and a *head* that turns the embedding
//! into one score.
//!
//! There are three heads:
//!
//! - [`Head::Evidence`], the default: rare values, unusual combinations and rows that match no common pattern, weighted
//!   by what the table shows (`evidence.rs`).
//! - [`Head::Surprise`]: how surprised the network is by each cell (`embed.rs`), averaged over the levels and summed
//!   over the cells. A category that n training rows never showed has the surprise log(n + 1).
//! - [`Head::Norms`], the paper's: the score norms of a row over all levels, standardised, under a density that was
//!   fitted to training rows. The score is the negative log-likelihood (or the distance to a neighbour), plus log(n +
//!   1) for every category that n training rows never showed. `norms.rs` says how it is split over the cells.

mod bins;
mod config;
mod draw;
pub mod embed;
mod evidence;
mod norms;

use std::ops::Add;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use config::{DensityKind, GnsmConfig, Head, NormKind, NormsConfig};

use self::embed::{Embedder, Embedding, Point};
use crate::columns::{Encoded, Layout, UNSEEN};
use crate::density::{Density, Standardizer};
use crate::detectors::{Blanks, Detector, Expected, Guess, Split};
use crate::error::Result;
use crate::files::{Loaded, Store, Tensors};
use crate::math::stream;
use crate::network::ResidualNetwork;
use crate::noise::{Levels, Loss};
use crate::train::{CurvePoint, Ending, Run, Trained, check_rows, train_denoiser};
use bins::QuantileBins;
pub use evidence::EvidenceWeights;
use evidence::{EvidenceHead, StoredEvidence};
pub use norms::{NormsHead, NormsOfRows};

/// Names of the random streams.
const INITIAL_WEIGHTS: u64 = 3;
/// Rows embedded at a time.
const BLOCK: usize = 1024;
/// Held-out rows that are asked what the couplings explain, at the most.
const ASKED_ROWS: usize = 1024;
/// Cells of each of them that are hidden and asked about, at the most.
const ASKED_CELLS: usize = 256;
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
    bins: Option<QuantileBins>,
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
    Evidence(Box<EvidenceHead>),
    Surprise,
    Norms(Box<NormsHead>),
}

/// What of a trained detector is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredGnsm {
    config: GnsmConfig,
    n_training_rows: u64,
    curve: Vec<CurvePoint>,
    ending: Ending,
    bins: Option<QuantileBins>,
    evidence: Option<StoredEvidence>,
    standardizer: Option<Standardizer>,
    density: Option<Density>,
}

impl Gnsm {
    /// Trains on `training` rows; `validation` rows stop the training and, together with the others, shape the density.
    pub fn fit(config: &GnsmConfig, outer: &Layout, rows: [&Encoded; 2], run: Run<'_>) -> Result<Self> {
        config.validate()?;
        check_rows(rows.map(Encoded::n_rows))?;
        let levels = Levels::new(&config.levels)?;
        let [training, validation] = rows;
        let all = &training.concat(validation);
        let bins = config.bins.then(|| QuantileBins::fit(all, outer.n_numbers()));
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
            head: FittedHead::Surprise,
            curve,
            ending,
        };
        gnsm.spread = gnsm.measure_spread(validation);
        gnsm.head = match config.head {
            Head::Evidence { weights } => {
                let weigh = |saving| weights.unwrap_or_else(|| gnsm.weigh(validation, all.n_rows(), saving));
                let doubts = gnsm.embedder(gnsm.point()).doubts(validation);
                FittedHead::Evidence(Box::new(EvidenceHead::fit(weigh, outer, rows, &doubts)?))
            }
            Head::Surprise => FittedHead::Surprise,
            Head::Norms(norms) => FittedHead::Norms(Box::new(gnsm.fit_norms(&norms, training, validation, seed)?)),
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

    /// What the score is made of; only for [`Head::Evidence`].
    pub fn weights(&self) -> Option<EvidenceWeights> {
        match &self.head {
            FittedHead::Evidence(head) => Some(head.weights()),
            FittedHead::Surprise | FittedHead::Norms(_) => None,
        }
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
            Head::Evidence { .. } | Head::Surprise => Point::Centre,
            Head::Norms(norms) => norms.point,
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
    fn fit_norms(
        &self,
        config: &NormsConfig,
        training: &Encoded,
        validation: &Encoded,
        seed: u64,
    ) -> Result<NormsHead> {
        let (distinct, counts) = training.concat(validation).counted();
        // A stride keeps the order, and with it the mix, of the distinct rows.
        let stride = distinct.n_rows().div_ceil(config.most_rows).max(1);
        let kept: Vec<usize> = (0..distinct.n_rows()).step_by(stride).collect();
        let mut norms = NormsOfRows::new(self.levels.count(), self.layout.n_cells());
        for block in kept.chunks(BLOCK) {
            let embedding = self.embedder(self.point()).norms(&distinct.select(block));
            for (row, &source) in block.iter().enumerate() {
                norms.add(embedding.row(row), counts[source]);
            }
        }
        norms.fit(config, seed)
    }

    /// Asks the network what the couplings of a table of `n_rows` explain, on `held_out` rows as it sees them; patterns
    /// save the share `saving`.
    fn weigh(&self, held_out: &Encoded, n_rows: usize, saving: f64) -> EvidenceWeights {
        let embedder = self.embedder(self.point());
        let rows: Vec<usize> = (0..held_out.n_rows().min(ASKED_ROWS)).collect();
        let rows = &held_out.select(&rows);
        let n_cells = self.layout.n_cells();
        let n_asked = n_cells.min(ASKED_CELLS);
        let asked: Vec<(usize, usize)> =
            (0..rows.n_rows()).flat_map(|row| asked_cells(row, n_cells).map(move |cell| (row, cell))).collect();
        let from_the_rest = embedder.surprises_from_the_rest(rows, &asked);
        // At the noisiest level.
        let at_a_glance = embedder.surprises(rows, 1);
        let at_a_glance: Vec<f32> = asked.iter().map(|(row, cell)| at_a_glance.row(*row)[*cell]).collect();
        let all = n_cells as f64 / n_asked as f64;
        let [at_a_glance, from_the_rest] =
            [&at_a_glance, &from_the_rest].map(|cells| cells.chunks_exact(n_asked).map(|row| all * evidence::sum(row)));
        let surprises: Vec<[f64; 2]> = at_a_glance.zip(from_the_rest).map(|(glance, rest)| [glance, rest]).collect();
        let of_categories = (0..self.outer.n_groups()).map(|group| self.outer.size(group).saturating_sub(1));
        let free: Vec<usize> = std::iter::repeat_n(1, self.outer.n_numbers()).chain(of_categories).collect();
        EvidenceWeights::new(&surprises, n_rows, &free, saving)
    }

    /// What the rest of the rows says about the cells that are `asked` for, [rows, width]; 0 elsewhere.
    fn expected_from_the_rest(&self, embedder: &Embedder<'_>, rows: &Encoded, asked: &[bool]) -> Vec<f32> {
        let (width, n_cells) = (self.layout.width(), self.layout.n_cells());
        let asked: Vec<(usize, usize)> =
            (0..asked.len()).filter(|which| asked[*which]).map(|which| (which / n_cells, which % n_cells)).collect();
        let mut expected = vec![0.0; rows.n_rows() * width];
        embedder.ask_the_rest(rows, &asked, |which, probabilities| {
            let (row, cell) = asked[which];
            expected[row * width..][self.layout.group(cell)].copy_from_slice(probabilities);
        });
        expected
    }

    /// Scores some rows and takes the scores apart.
    fn split_block(&self, rows: &Encoded) -> (Vec<f64>, Split) {
        let (n_cells, inner) = (self.layout.n_cells(), &binned(self.bins.as_ref(), rows));
        let embedder = self.embedder(self.point());
        let by_cells = |split: Split| (split.sums(), split);
        match &self.head {
            FittedHead::Evidence(head) => by_cells(head.split(rows, n_cells, || embedder.doubts(inner))),
            FittedHead::Surprise => {
                let embedding = embedder.surprises(inner, self.levels.count());
                let parts = (0..rows.n_rows()).flat_map(|row| self.mean_surprises(&embedding, row, rows)).collect();
                by_cells(Split { base: vec![0.0; rows.n_rows()], parts, n_cells })
            }
            FittedHead::Norms(head) => {
                let embedding = embedder.norms(inner);
                let (mut base, mut parts) = (Vec::new(), Vec::new());
                for row in 0..rows.n_rows() {
                    base.push(head.integrate(embedding.row(row), n_cells, &mut parts));
                    for group in unseen_groups(rows.codes(row)) {
                        parts[row * n_cells + self.outer.n_numbers() + group] += self.unseen_surprise();
                    }
                }
                (self.anomalies(head, &embedding, rows), Split { base, parts, n_cells })
            }
        }
    }

    /// Scores some rows, and no more than that.
    fn score_block(&self, rows: &Encoded) -> Vec<f64> {
        let (n_cells, inner) = (self.layout.n_cells(), &binned(self.bins.as_ref(), rows));
        let embedder = self.embedder(self.point());
        match &self.head {
            FittedHead::Evidence(head) => head.score(rows, n_cells, || embedder.doubts(inner)),
            FittedHead::Surprise => {
                let embedding = embedder.surprises(inner, self.levels.count());
                let score = |row| self.mean_surprises(&embedding, row, rows).into_iter().fold(0.0, f64::add);
                (0..rows.n_rows()).map(score).collect()
            }
            FittedHead::Norms(head) => self.anomalies(head, &embedder.norms(inner), rows),
        }
    }

    /// The scores of rows by their norms.
    fn anomalies(&self, head: &NormsHead, embedding: &Embedding, rows: &Encoded) -> Vec<f64> {
        let score = |row: usize| {
            let unseen = unseen_groups(rows.codes(row)).count() as f64;
            head.anomaly_of(embedding.row(row), self.layout.n_cells()) + unseen * self.unseen_surprise()
        };
        (0..rows.n_rows()).into_par_iter().map(score).collect()
    }

    /// The surprise of each cell of a row, averaged over the levels.
    fn mean_surprises(&self, embedding: &Embedding, row: usize, rows: &Encoded) -> Vec<f64> {
        let n_cells = self.layout.n_cells();
        let share = 1.0 / self.levels.count() as f64;
        let by_level = embedding.row(row);
        let mean = |cell| by_level.iter().skip(cell).step_by(n_cells).map(|s| f64::from(*s)).sum::<f64>() * share;
        let mut surprises: Vec<f64> = (0..n_cells).map(mean).collect();
        if let Some(bins) = &self.bins {
            for (number, z) in rows.numbers(row).iter().enumerate() {
                surprises[number] += bins.excess(number, *z);
            }
        }
        surprises
    }
}

impl Store for Gnsm {
    type Document = StoredGnsm;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredGnsm> {
        tensors.put("network.parameters", self.network.parameters().to_vec());
        tensors.put("network.frequencies", self.network.frequencies().to_vec());
        tensors.put("spread", self.spread.clone());
        let (evidence, standardizer, density) = match &self.head {
            FittedHead::Evidence(head) => (Some(head.write(tensors)?), None, None),
            FittedHead::Surprise => (None, None, None),
            FittedHead::Norms(head) => {
                let (standardizer, density) = head.write(tensors)?;
                (None, Some(standardizer), Some(density))
            }
        };
        Ok(StoredGnsm {
            config: self.config,
            n_training_rows: self.n_training_rows,
            curve: self.curve.clone(),
            ending: self.ending,
            bins: self.bins.clone(),
            evidence,
            standardizer,
            density,
        })
    }

    fn read(stored: StoredGnsm, outer: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        let config = stored.config;
        config.validate()?;
        let levels = Levels::new(&config.levels)?;
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
        let head = match (config.head, stored.evidence, stored.standardizer, stored.density) {
            (Head::Evidence { .. }, Some(evidence), None, None) => {
                FittedHead::Evidence(Box::new(EvidenceHead::read(evidence, outer, tensors)?))
            }
            (Head::Surprise, None, None, None) => FittedHead::Surprise,
            (Head::Norms(norms), None, Some(standardizer), Some(density)) => {
                let shape = ([levels.count(), layout.n_cells()], norms.norm);
                FittedHead::Norms(Box::new(NormsHead::read((standardizer, density), &shape, tensors)?))
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
        let all: Vec<usize> = (0..rows.n_rows()).collect();
        all.chunks(BLOCK).flat_map(|block| self.score_block(&rows.select(block))).collect()
    }

    fn split(&self, rows: &Encoded) -> Split {
        self.split_block(rows).1
    }

    fn score_and_split(&self, rows: &Encoded) -> (Vec<f64>, Split) {
        self.split_block(rows)
    }

    fn expected(&self, rows: &Encoded, asked: &[bool]) -> Option<Expected> {
        let embedder = self.embedder(Point::Centre);
        let inner = binned(self.bins.as_ref(), rows);
        // Only a posterior can be asked about a cell that is not shown.
        let hidden = !matches!(self.config.head, Head::Norms(_));
        let all = if hidden {
            self.expected_from_the_rest(&embedder, &inner, asked)
        } else {
            embedder.expectations(&inner, 0)
        };
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
        Some(Expected { ranges, probabilities, seen: Vec::new() })
    }

    fn draw(&self, blanks: &Blanks<'_>) -> Option<Encoded> {
        self.draw_blanks(blanks)
    }

    fn guess(&self, blanks: &Blanks<'_>) -> Option<Vec<(usize, usize, Guess)>> {
        self.guess_blanks(blanks)
    }
}

/// The cells that a row is asked about: all of them if they are few, otherwise some at equal distances, other ones in the next row.
fn asked_cells(row: usize, n_cells: usize) -> impl Iterator<Item = usize> {
    let n_asked = n_cells.min(ASKED_CELLS);
    let shift = row % (n_cells / n_asked.max(1)).max(1);
    (0..n_asked).map(move |i| i * n_cells / n_asked + shift)
}

/// Which groups of a row show a category that training never did.
fn unseen_groups(codes: &[u32]) -> impl Iterator<Item = usize> + '_ {
    codes.iter().enumerate().filter(|(_, code)| **code == UNSEEN).map(|(group, _)| group)
}

/// Rows as the network sees them.
fn binned(bins: Option<&QuantileBins>, rows: &Encoded) -> Encoded {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_cells_are_all_asked_about_and_of_many_each_has_its_turn() {
        for n_cells in [0, 1, ASKED_CELLS] {
            assert!(asked_cells(3, n_cells).eq(0..n_cells));
        }
        let n_cells = 4 * ASKED_CELLS + 3;
        let mut turns = vec![0; n_cells];
        for row in 0..40 {
            assert_eq!(asked_cells(row, n_cells).count(), ASKED_CELLS);
            asked_cells(row, n_cells).for_each(|cell| turns[cell] += 1);
        }
        assert!(turns.iter().filter(|turns| **turns == 10).count() == 4 * ASKED_CELLS, "{turns:?}");
    }
}
