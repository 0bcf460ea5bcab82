//! DAGMM, the Deep Autoencoding Gaussian Mixture Model (Zong et al., ICLR 2018), with the repairs of the GNSM paper.
//!
//! An autoencoder compresses a row x to a code c of one or two numbers and reconstructs it as x̂. The latent row is z =
//! (c, ‖x − x̂‖/‖x‖, x·x̂/(‖x‖ ‖x̂‖)): what the row is, and how badly the autoencoder did. An estimation network turns
//! z into memberships γ = softmax(…) in K components, which with the other rows of the batch give a Gaussian mixture
//! without iterations. All three networks are trained together to minimise
//!
//! (1/n) Σᵢ ‖xᵢ − x̂ᵢ‖² + (λ₁/n) Σᵢ E(zᵢ) + λ₂ Σₖ Σⱼ 1/(Σₖ)ⱼⱼ,
//!
//! with the energy E(z) = −log Σₖ φₖ N(z; μₖ, Σₖ) of the batch's own mixture; the last term keeps variances from
//! vanishing. After training, the mixture of all training rows is kept, and the score of a row is its energy.
//! `energy.rs` has the mixture with its gradient.
//!
//! Published implementations often end in NaN. The paper's appendix repairs one, and so does this:
//!
//! - Layer normalisation before each hidden activation (tanh), and weights drawn to the size of their layers.
//! - Validation on held-out rows (their own mixture, no dropout), the best weights kept, early stopping.
//! - The mixture in double precision, by Cholesky factors of Σₖ + εI; where one does not exist, ε grows until it does.
//! - Memberships are (1 − δ)·softmax + δ/K with δ = 1e-6: a component that no row belongs to keeps the covariance of
//!   all rows.
//! - The gradient is clipped to norm 1.
//!
//! - If the loss becomes NaN before the first validation, training starts over with other weights, up to `restarts`
//!   times. If it does later, the best weights so far are kept.
//!
//! The appendix has settings for each data set ([`DagmmConfig::paper`]). For probe and u2r it takes the estimation
//! network's outputs for memberships, without a softmax ([`Memberships::Logits`]). Then nothing bounds the objective
//! from below: outputs that are twice as large give the same means and covariances and a φ twice as large, so the
//! energy falls by log 2. And if the outputs of a component sum to less than 0, it has no density, and the loss is NaN.
//! The score is the energy with φ divided by its sum, which changes all scores by the same amount.
//!
//! How numbers, missing values and reasons are handled stands in `deep.rs`. An unseen category adds log(n + 1) to the
//! score, for n rows that never showed it.

mod energy;
mod latent;

use serde::{Deserialize, Serialize};

use super::deep::{self, DeepTraining, Inputs};
use super::{PaperSet, check_row_count, put_mixture, take_mixture, unseen_surprise};
use crate::columns::{Encoded, Layout};
use crate::density::GaussianMixture;
use crate::detectors::{Detector, Split};
use crate::error::{Error, Result};
use crate::files::{Loaded, Store, Tensors};
use crate::network::{Activation, Perceptron, Stack, StackTile};
use crate::train::{CurvePoint, Ending, Run, Trained, check_rows};
use energy::{EnergyWeights, Members};
use latent::{Comparison, Slopes};

/// What every component has of every row, in all.
const SHARED: f64 = 1e-6;
/// How often training may start over with the paper's settings. The paper names no limit.
const RESTARTS: u32 = 20;

/// The settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DagmmConfig {
    /// Units of the encoder's hidden layers; the decoder has them in reverse.
    pub layers: Vec<usize>,
    /// Numbers of the code.
    pub code: usize,
    /// Hidden units of the estimation network.
    pub estimation: usize,
    /// The share of those that are dropped in training.
    pub dropout: f32,
    /// Components of the mixture.
    pub components: usize,
    /// The weight λ₁ of the energy.
    pub energy: f64,
    /// The weight λ₂ of the inverse variances.
    pub covariance: f64,
    /// What is added to variances, ε.
    pub regularisation: f64,
    /// What the estimation network's outputs become.
    pub memberships: Memberships,
    /// How often training may start over with other weights because its loss was NaN.
    pub restarts: u32,
    /// The training loop.
    pub training: DeepTraining,
}

/// How the estimation network's outputs become memberships.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memberships {
    /// By a softmax: they are positive and sum to 1.
    Softmax,
    /// They are taken as they are.
    Logits,
}

impl Default for DagmmConfig {
    fn default() -> Self {
        Self {
            layers: vec![120, 60, 30],
            code: 2,
            estimation: 10,
            dropout: 0.5,
            components: 4,
            energy: 0.1,
            covariance: 0.005,
            regularisation: 1e-6,
            memberships: Memberships::Softmax,
            restarts: 0,
            training: DeepTraining {
                batch: 512,
                steps: 3000,
                epochs: 200,
                learning_rate: 1e-3,
                final_learning_rate: 1e-5,
                weight_decay: 1e-4,
                validate_every: 100,
                patience: 5,
                validation_rows: deep::validation_rows(),
                average: deep::average(),
            },
        }
    }
}

impl DagmmConfig {
    /// The settings of the paper's appendix for one of its sets: a constant learning rate, and an end after ten epochs
    /// without improvement.
    pub fn paper(set: PaperSet) -> Self {
        let (layers, estimation, batch, learning_rate) = match set {
            PaperSet::Any | PaperSet::Cmc => ([1024, 512, 256], 128, 256, 1e-4),
            PaperSet::Bank => ([64, 32, 16], 10, 4096, 1e-5),
            PaperSet::Census => ([256, 128, 64], 10, 256, 1e-5),
            PaperSet::Probe => ([120, 60, 30], 10, 1024, 1e-5),
        };
        let (code, components, memberships) = match set {
            PaperSet::Probe => (1, 4, Memberships::Logits),
            _ => (2, 2, Memberships::Softmax),
        };
        let training = DeepTraining {
            batch,
            steps: u64::MAX,
            epochs: 1000,
            learning_rate,
            final_learning_rate: learning_rate,
            weight_decay: 0.0,
            validate_every: 0,
            patience: 10,
            validation_rows: usize::MAX,
            average: 0.0,
        };
        let layers = layers.to_vec();
        Self { layers, code, estimation, components, memberships, restarts: RESTARTS, training, ..Self::default() }
    }

    /// Checks the settings.
    pub fn validate(&self) -> Result<()> {
        deep::check_widths("layers", &self.layers)?;
        for (field, value) in [("code", self.code), ("components", self.components)] {
            if !(1..=64).contains(&value) {
                return Err(Error::config(field, format!("{value} is not between 1 and 64")));
            }
        }
        deep::check_widths("estimation", &[self.estimation])?;
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(Error::config("dropout", format!("{} is not in [0, 1)", self.dropout)));
        }
        for (field, value) in [("energy", self.energy), ("covariance", self.covariance)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::config(field, format!("{value} is not a weight")));
            }
        }
        if self.restarts > 1000 {
            return Err(Error::config("restarts", format!("{} is more than 1000", self.restarts)));
        }
        if !(self.regularisation.is_finite() && self.regularisation > 0.0) {
            return Err(Error::config("regularisation", format!("{} is not a positive number", self.regularisation)));
        }
        self.training.config().validate()
    }
}

/// Encoder, decoder and estimation network. For a row it gives z, the estimation network's logits and the squared error
/// of the reconstruction.
#[derive(Debug, Clone)]
struct Compression {
    networks: [Perceptron; 3],
    weights: EnergyWeights,
    memberships: Memberships,
}

impl Compression {
    fn new(config: &DagmmConfig, width: usize) -> Self {
        let tanh = |widths: &mut dyn Iterator<Item = usize>| deep::layers(widths, true, true, Activation::Tanh);
        let mut encoder = tanh(&mut config.layers.iter().copied());
        encoder.push(deep::linear(config.code));
        let mut decoder = tanh(&mut config.layers.iter().rev().copied());
        decoder.push(deep::linear(width));
        let mut estimator = tanh(&mut std::iter::once(config.estimation));
        for layer in &mut estimator {
            layer.dropout = config.dropout;
        }
        estimator.push(deep::linear(config.components));
        let encoder = Perceptron::new(width, &encoder, 0);
        let decoder = Perceptron::new(config.code, &decoder, encoder.range().end);
        let estimator = Perceptron::new(config.code + 2, &estimator, decoder.range().end);
        let DagmmConfig { energy, covariance, regularisation, memberships, .. } = *config;
        let weights = EnergyWeights { energy, covariance, regularisation };
        Self { networks: [encoder, decoder, estimator], weights, memberships }
    }

    fn code(&self) -> usize {
        self.networks[0].outputs()
    }

    /// Numbers of z.
    fn dimension(&self) -> usize {
        self.code() + 2
    }

    fn components(&self) -> usize {
        self.networks[2].outputs()
    }

    /// z of all rows, and γ.
    fn members(&self, results: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut latent, mut memberships) = (Vec::new(), Vec::new());
        for row in results.chunks_exact(self.n_results()) {
            let (z, logits) = row[..row.len() - 1].split_at(self.dimension());
            latent.extend_from_slice(z);
            let floor = SHARED / logits.len() as f64;
            match self.memberships {
                Memberships::Softmax => memberships.extend(softmax(logits).map(|share| (1.0 - SHARED) * share + floor)),
                Memberships::Logits => memberships.extend_from_slice(logits),
            }
        }
        (latent, memberships)
    }

    fn as_members<'a>(&self, latent: &'a [f64], memberships: &'a [f64]) -> Members<'a> {
        Members { latent, memberships, dimension: self.dimension(), components: self.components() }
    }
}

/// The share of each logit.
fn softmax(logits: &[f64]) -> impl Iterator<Item = f64> {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = logits.iter().map(|logit| (logit - largest).exp()).sum();
    logits.iter().map(move |logit| (logit - largest).exp() / total)
}

impl Stack for Compression {
    fn networks(&self) -> &[Perceptron] {
        &self.networks
    }

    fn n_results(&self) -> usize {
        self.dimension() + self.components() + 1
    }

    fn forward(&self, parameters: &[f32], tile: &mut StackTile, results: &mut [f64]) {
        let [encoder, decoder, estimator] = &self.networks;
        let [encoding, decoding, estimation] = tile.parts.as_mut_slice() else { return };
        let (width, code, dimension) = (encoder.inputs(), self.code(), self.dimension());
        encoder.forward(parameters, encoding, None);
        decoding.inputs.copy_from_slice(encoding.outputs());
        decoder.forward(parameters, decoding, None);
        let rows = encoding.inputs.chunks_exact(width).zip(decoding.outputs().chunks_exact(width));
        let latent = estimation.inputs.chunks_exact_mut(dimension).zip(encoding.outputs().chunks_exact(code));
        let mut results_of_rows = results.chunks_exact_mut(self.n_results());
        for ((z, c), (x, seen)) in latent.zip(rows) {
            let comparison = Comparison::new(x, seen);
            z[..code].copy_from_slice(c);
            (z[code], z[code + 1]) = (comparison.distance as f32, comparison.cosine as f32);
            // The rows of a tile that is not full have no results.
            if let Some(results) = results_of_rows.next() {
                results.iter_mut().zip(c).for_each(|(result, c)| *result = f64::from(*c));
                (results[code], results[code + 1]) = (comparison.distance, comparison.cosine);
                results[dimension + self.components()] = comparison.squared_error;
            }
        }
        estimator.forward(parameters, estimation, tile.dropout.as_mut());
        let logits = estimation.outputs().chunks_exact(self.components());
        for (results, logits) in results.chunks_exact_mut(self.n_results()).zip(logits) {
            results[dimension..].iter_mut().zip(logits).for_each(|(result, logit)| *result = f64::from(*logit));
        }
    }

    fn backward(&self, parameters: &[f32], tile: &mut StackTile, d_results: &[f64], to_inputs: bool) {
        let [encoder, decoder, estimator] = &self.networks;
        let [encoding, decoding, estimation] = tile.parts.as_mut_slice() else { return };
        let (width, code, dimension, components) = (encoder.inputs(), self.code(), self.dimension(), self.components());
        let slopes = d_results.chunks_exact(self.n_results());
        estimation.d_outputs.fill(0.0);
        for (d, slopes) in estimation.d_outputs.chunks_exact_mut(components).zip(slopes.clone()) {
            d.iter_mut().zip(&slopes[dimension..]).for_each(|(d, slope)| *d = *slope as f32);
        }
        estimator.backward(parameters, estimation, true);

        let slopes_of = |d_z: &[f32], slopes: &[f64]| Slopes {
            distance: slopes[code] + f64::from(d_z[code]),
            cosine: slopes[code + 1] + f64::from(d_z[code + 1]),
            squared_error: slopes[dimension + components],
        };
        let mut d_seen = std::mem::take(&mut decoding.d_outputs);
        d_seen.fill(0.0);
        let rows = encoding.inputs.chunks_exact(width).zip(decoding.outputs().chunks_exact(width));
        let rows = rows.zip(estimation.d_inputs.chunks_exact(dimension)).zip(slopes.clone());
        for ((((x, seen), d_z), slopes), d_seen) in rows.clone().zip(d_seen.chunks_exact_mut(width)) {
            Comparison::new(x, seen).backward_seen(x, seen, slopes_of(d_z, slopes), d_seen);
        }
        decoding.d_outputs = d_seen;
        decoder.backward(parameters, decoding, true);

        encoding.d_outputs.copy_from_slice(&decoding.d_inputs);
        let d_latent = estimation.d_inputs.chunks_exact(dimension).zip(slopes.clone());
        for (d, (d_z, slopes)) in encoding.d_outputs.chunks_exact_mut(code).zip(d_latent) {
            d.iter_mut().zip(d_z).zip(slopes).for_each(|((d, d_z), slope)| *d += d_z + *slope as f32);
        }
        encoder.backward(parameters, encoding, to_inputs);
        if to_inputs {
            let mut d_x = std::mem::take(&mut encoding.d_inputs);
            let rows = encoding.inputs.chunks_exact(width).zip(decoding.outputs().chunks_exact(width));
            let rows = rows.zip(estimation.d_inputs.chunks_exact(dimension)).zip(slopes);
            for ((((x, seen), d_z), slopes), d_x) in rows.zip(d_x.chunks_exact_mut(width)) {
                Comparison::new(x, seen).backward_row(x, seen, slopes_of(d_z, slopes), d_x);
            }
            encoding.d_inputs = d_x;
        }
    }

    /// NaN if the batch has no mixture, which the loop reports.
    fn loss(&self, results: &[f64], d_results: &mut [f64]) -> f64 {
        let (n_results, dimension, components) = (self.n_results(), self.dimension(), self.components());
        let (latent, memberships) = self.members(results);
        let with_gradient = !d_results.is_empty();
        let room = |n: usize| vec![0.0; if with_gradient { n } else { 0 }];
        let (mut d_latent, mut d_memberships) = (room(latent.len()), room(memberships.len()));
        let members = self.as_members(&latent, &memberships);
        let Ok(objective) = members.objective(self.weights, &mut d_latent, &mut d_memberships) else { return f64::NAN };
        let share = 1.0 / (results.len() / n_results) as f64;
        let d_rows = d_latent.chunks_exact(dimension).zip(d_memberships.chunks_exact(components));
        for ((row, d), (d_z, d_shares)) in
            results.chunks_exact(n_results).zip(d_results.chunks_exact_mut(n_results)).zip(d_rows)
        {
            d[..dimension].copy_from_slice(d_z);
            let logits = &row[dimension..dimension + components];
            d[n_results - 1] = share;
            if self.memberships == Memberships::Logits {
                d[dimension..dimension + components].copy_from_slice(d_shares);
                continue;
            }
            let mean: f64 = softmax(logits).zip(d_shares).map(|(share, d)| share * d).sum();
            for ((d, share), d_share) in d[dimension..].iter_mut().zip(softmax(logits)).zip(d_shares) {
                *d = (1.0 - SHARED) * share * (d_share - mean);
            }
        }
        objective + share * results.iter().skip(n_results - 1).step_by(n_results).sum::<f64>()
    }
}

/// A trained model.
#[derive(Debug, Clone)]
pub struct Dagmm {
    config: DagmmConfig,
    inputs: Inputs,
    compression: Compression,
    parameters: Vec<f32>,
    mixture: GaussianMixture,
    /// The mean training row, where reasons start from.
    mean: Vec<f32>,
    n_rows: f64,
    curve: Vec<CurvePoint>,
    ending: Ending,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredDagmm {
    config: DagmmConfig,
    n_rows: f64,
    curve: Vec<CurvePoint>,
    ending: Ending,
}

impl Dagmm {
    /// Trains on `training` rows, whose mixture is kept; `validation` rows stop the training.
    pub fn fit(config: &DagmmConfig, layout: &Layout, rows: [&Encoded; 2], run: Run<'_>) -> Result<Self> {
        config.validate()?;
        let [training, validation] = rows;
        check_rows(rows.map(Encoded::n_rows))?;
        let compression = Compression::new(config, layout.width());
        let inputs = Inputs::plain(layout);
        let seed = run.seed;
        let start = |attempt: u32| deep::initial_parameters(&compression, seed, attempt.into());
        let attempts = 1 + config.restarts;
        let starts = (0..attempts).map(start);
        let loop_config = config.training.config();
        let Trained { parameters, curve, ending } =
            deep::learn(&compression, starts, &loop_config, &inputs, rows, run)?;
        let (mut latent, mut memberships) = (Vec::new(), Vec::new());
        deep::read_rows(&compression, &parameters, &inputs, training, |results| {
            let (block, block_memberships) = compression.members(results);
            latent.extend(block);
            memberships.extend(block_memberships);
        });
        let (mut mixture, _) = compression.as_members(&latent, &memberships).mixture(config.regularisation)?;
        if config.memberships == Memberships::Logits {
            let total: f64 = mixture.weights.iter().sum();
            mixture.weights.iter_mut().for_each(|weight| *weight /= total);
        }
        Ok(Self {
            config: config.clone(),
            mean: inputs.mean(training),
            inputs,
            compression,
            parameters,
            mixture,
            n_rows: (training.n_rows() + validation.n_rows()) as f64,
            curve,
            ending,
        })
    }

    /// The settings.
    pub fn config(&self) -> &DagmmConfig {
        &self.config
    }

    /// The training curve.
    pub fn curve(&self) -> &[CurvePoint] {
        &self.curve
    }

    /// Why training ended.
    pub fn ending(&self) -> Ending {
        self.ending
    }
}

impl Store for Dagmm {
    type Document = StoredDagmm;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredDagmm> {
        tensors.put("network.parameters", self.parameters.clone());
        put_mixture(&self.mixture, tensors);
        tensors.put("mean", self.mean.clone());
        let (config, curve) = (self.config.clone(), self.curve.clone());
        Ok(StoredDagmm { config, n_rows: self.n_rows, curve, ending: self.ending })
    }

    fn read(
        StoredDagmm { config, n_rows, curve, ending }: StoredDagmm,
        layout: &Layout,
        tensors: &mut Tensors,
    ) -> Loaded<Self> {
        config.validate()?;
        check_row_count(n_rows)?;
        let compression = Compression::new(&config, layout.width());
        let mixture = take_mixture(compression.components(), compression.dimension(), tensors)?;
        let parameters = tensors.take("network.parameters", deep::n_parameters(&compression))?;
        let mean = tensors.take("mean", layout.width())?;
        Ok(Self {
            config,
            inputs: Inputs::plain(layout),
            compression,
            parameters,
            mixture,
            mean,
            n_rows,
            curve,
            ending,
        })
    }
}

impl Detector for Dagmm {
    fn score(&self, rows: &Encoded) -> Vec<f64> {
        let mut scores = Vec::with_capacity(rows.n_rows());
        let (n_results, dimension) = (self.compression.n_results(), self.compression.dimension());
        deep::read_rows(&self.compression, &self.parameters, &self.inputs, rows, |results| {
            let latent: Vec<f64> = results.chunks_exact(n_results).flat_map(|row| &row[..dimension]).copied().collect();
            scores.extend(self.mixture.log_likelihoods(&latent).into_iter().map(|likelihood| -likelihood));
        });
        deep::add_unseen(&mut scores, rows, unseen_surprise(self.n_rows));
        scores
    }

    fn split(&self, rows: &Encoded) -> Split {
        self.score_and_split(rows).1
    }

    fn score_and_split(&self, rows: &Encoded) -> (Vec<f64>, Split) {
        let dimension = self.compression.dimension();
        let slope = |results: &[f64], d: &mut [f64]| {
            d.fill(0.0);
            let gradient = self.mixture.gradient(&results[..dimension]);
            d.iter_mut().zip(gradient).for_each(|(d, slope)| *d = -slope);
        };
        let parts = deep::parts(&self.compression, &self.parameters, &self.inputs, &self.mean, rows, slope);
        let scores = self.score(rows);
        let split = deep::split(&scores, parts, &self.inputs.layout, rows, unseen_surprise(self.n_rows));
        (scores, split)
    }
}

#[cfg(test)]
mod tests;
