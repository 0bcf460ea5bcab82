//! Deep SVDD: a network maps usual rows close to one point, and the score is the distance from it (Ruff et al., *Deep
//! One-Class Classification*, ICML 2018).
//!
//! An encoder φ(x; W) is trained to map all training rows close to a centre c that was fixed before training. So it has
//! to find what they have in common. This is the variant with a decoder ψ, as PyOD has it and the GNSM paper used it
//! ("autoencoder variant", layers of 1024, 512 and 256 units, swish). Over the n rows of a batch it minimises
//!
//! (1/n) Σᵢ ‖φ(xᵢ) − c‖² + (ω/d) (1/n) Σᵢ ‖ψ(φ(xᵢ)) − xᵢ‖²,
//!
//! where d is the width of the encoding and ω the setting `reconstruction`. The score is the squared distance ‖φ(x) −
//! c‖² alone. As in the paper, the reconstruction takes no part in scoring. It only keeps φ from forgetting the row
//! while training.
//!
//! For a network that maps every row to c, the first term is 0. The sphere *collapses*, and scores mean nothing.
//! Against it:
//!
//! - The encoder has no biases, with which a constant map is easy (Ruff et al., proposition 2), and an unbounded
//!   activation (proposition 3). One-hot groups sum to 1, so a constant could still be learned. Therefore each place is
//!   standardised by the training rows, as PyOD does it, and the sum is no longer constant. It also makes a rare
//!   category a large number: 1/√p for a share p of the rows.
//! - c is the mean of φ over training rows at the first weights. A coordinate nearer to 0 than 0.1 is moved to ±0.1,
//!   since zero weights map everything to 0 (proposition 1).
//! - The decoder must tell rows apart from their codes.
//! - Collapse is measured: the variance of the codes of held-out rows, before and after training. Below a
//!   ten-thousandth of where it started, the model carries a warning, which `gnsm fit` and `gnsm inspect` show.
//!
//! The paper's other settings: Adam, learning rate 1e-3, batches of 512, 1,000 epochs ([`DsvddConfig::paper`]). The
//! default stops long before, and earlier if validation says so. `deep.rs` says how numbers, missing values and reasons
//! are handled. An unseen category adds log(n + 1), for n rows that never showed it, times the mean distance of
//! training rows.

use serde::{Deserialize, Serialize};

use super::deep::{self, DeepTraining, Inputs};
use super::sphere::{away_from_zero, collapse};
use super::{check_row_count, unseen_surprise};
use crate::columns::{Encoded, Layout};
use crate::detectors::{Detector, Split};
use crate::error::{Error, Result};
use crate::files::{Loaded, Store, Tensors};
use crate::network::{Activation, Perceptron, Stack, StackTile};
use crate::train::{CurvePoint, Ending, Run, Trained, check_rows};

/// The settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DsvddConfig {
    /// Units of the encoder's layers; the last is the code, and the decoder has them in reverse.
    pub layers: Vec<usize>,
    /// The weight ω of the reconstruction.
    pub reconstruction: f64,
    /// The training loop.
    pub training: DeepTraining,
}

impl Default for DsvddConfig {
    fn default() -> Self {
        Self {
            layers: vec![1024, 512, 256],
            reconstruction: 1.0,
            training: DeepTraining {
                batch: 256,
                steps: 1000,
                epochs: 100,
                learning_rate: 1e-3,
                final_learning_rate: 1e-5,
                weight_decay: 1e-6,
                validate_every: 50,
                patience: 5,
                validation_rows: deep::validation_rows(),
                average: deep::average(),
            },
        }
    }
}

impl DsvddConfig {
    /// The paper's training: 1,000 epochs in batches of 512, at one learning rate, to the end. The weights of the best
    /// epoch are kept, by the loss of all validation rows, as the paper does with its other networks.
    pub fn paper() -> Self {
        let training = DeepTraining {
            batch: 512,
            steps: u64::MAX,
            epochs: 1000,
            learning_rate: 1e-3,
            final_learning_rate: 1e-3,
            weight_decay: 0.0,
            validate_every: 0,
            patience: 0,
            validation_rows: usize::MAX,
            average: 0.0,
        };
        Self { training, ..Self::default() }
    }

    /// Checks the settings.
    pub fn validate(&self) -> Result<()> {
        deep::check_widths("layers", &self.layers)?;
        if !(self.reconstruction.is_finite() && self.reconstruction >= 0.0) {
            return Err(Error::config("reconstruction", format!("{} is not a weight", self.reconstruction)));
        }
        self.training.config().validate()
    }
}

/// Encoder and decoder. For a row it gives the code and the squared error of its reconstruction.
#[derive(Debug, Clone)]
struct Sphere {
    networks: [Perceptron; 2],
    centre: Vec<f64>,
    reconstruction: f64,
    /// Whether the decoder is asked, which scoring does not need.
    decode: bool,
}

impl Sphere {
    fn new(config: &DsvddConfig, width: usize, decode: bool) -> Self {
        let swish =
            |widths: &mut dyn Iterator<Item = usize>, bias| deep::layers(widths, bias, false, Activation::Swish);
        let encoder = Perceptron::new(width, &swish(&mut config.layers.iter().copied(), false), 0);
        // A bias after the code cannot pull codes together.
        let mut decoder = swish(&mut config.layers.iter().rev().skip(1).copied(), true);
        decoder.push(deep::linear(width));
        let decoder = Perceptron::new(encoder.outputs(), &decoder, encoder.range().end);
        let centre = vec![0.0; encoder.outputs()];
        Self { networks: [encoder, decoder], centre, reconstruction: config.reconstruction, decode }
    }

    fn n_codes(&self) -> usize {
        self.centre.len()
    }

    fn distance(&self, code: &[f64]) -> f64 {
        code.iter().zip(&self.centre).map(|(z, c)| (z - c) * (z - c)).sum()
    }
}

impl Stack for Sphere {
    fn networks(&self) -> &[Perceptron] {
        &self.networks
    }

    fn n_results(&self) -> usize {
        self.n_codes() + 1
    }

    fn forward(&self, parameters: &[f32], tile: &mut StackTile, results: &mut [f64]) {
        let [encoder, decoder] = &self.networks;
        let [encoding, decoding] = tile.parts.as_mut_slice() else { return };
        encoder.forward(parameters, encoding, None);
        if self.decode {
            decoding.inputs.copy_from_slice(encoding.outputs());
            decoder.forward(parameters, decoding, None);
        }
        let (codes, width) = (encoding.outputs().chunks_exact(self.n_codes()), encoder.inputs());
        let decoded = encoding.inputs.chunks_exact(width).zip(decoding.outputs().chunks_exact(width));
        for ((results, code), (x, seen)) in results.chunks_exact_mut(self.n_results()).zip(codes).zip(decoded) {
            results.iter_mut().zip(code).for_each(|(result, z)| *result = f64::from(*z));
            let error = || x.iter().zip(seen).map(|(x, seen)| f64::from(seen - x).powi(2)).sum();
            results[self.n_codes()] = if self.decode { error() } else { 0.0 };
        }
    }

    fn backward(&self, parameters: &[f32], tile: &mut StackTile, d_results: &[f64], to_inputs: bool) {
        let [encoder, decoder] = &self.networks;
        let [encoding, decoding] = tile.parts.as_mut_slice() else { return };
        let (width, n_codes, n_results) = (encoder.inputs(), self.n_codes(), self.n_results());
        encoding.d_outputs.fill(0.0);
        if self.decode {
            let slopes = d_results.iter().skip(n_codes).step_by(n_results).copied().chain(std::iter::repeat(0.0));
            let mut d_outputs = std::mem::take(&mut decoding.d_outputs);
            let rows = encoding.inputs.chunks_exact(width).zip(decoding.outputs().chunks_exact(width));
            for ((d, (x, seen)), slope) in d_outputs.chunks_exact_mut(width).zip(rows).zip(slopes) {
                for ((d, x), seen) in d.iter_mut().zip(x).zip(seen) {
                    *d = (2.0 * slope * f64::from(seen - x)) as f32;
                }
            }
            decoding.d_outputs = d_outputs;
            decoder.backward(parameters, decoding, true);
            encoding.d_outputs.copy_from_slice(&decoding.d_inputs);
        }
        for (d, slopes) in encoding.d_outputs.chunks_exact_mut(n_codes).zip(d_results.chunks_exact(n_results)) {
            d.iter_mut().zip(slopes).for_each(|(d, slope)| *d += *slope as f32);
        }
        encoder.backward(parameters, encoding, to_inputs);
    }

    fn loss(&self, results: &[f64], d_results: &mut [f64]) -> f64 {
        let (n_codes, n_results) = (self.n_codes(), self.n_results());
        let share = 1.0 / (results.len() / n_results) as f64;
        let of_error = share * self.reconstruction / self.networks[0].inputs() as f64;
        let row_loss = |row: &[f64]| share * self.distance(&row[..n_codes]) + of_error * row[n_codes];
        for (row, d) in results.chunks_exact(n_results).zip(d_results.chunks_exact_mut(n_results)) {
            for ((d, z), c) in d.iter_mut().zip(row).zip(&self.centre) {
                *d = 2.0 * share * (z - c);
            }
            d[n_codes] = of_error;
        }
        results.chunks_exact(n_results).map(row_loss).sum()
    }
}

/// A trained sphere.
#[derive(Debug, Clone)]
pub struct Dsvdd {
    config: DsvddConfig,
    inputs: Inputs,
    sphere: Sphere,
    parameters: Vec<f32>,
    /// The mean training row, where reasons start from.
    mean: Vec<f32>,
    /// The mean score of training rows.
    unit: f64,
    n_rows: f64,
    /// The variance of the codes of held-out rows, before and after training.
    spread: [f64; 2],
    curve: Vec<CurvePoint>,
    ending: Ending,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredDsvdd {
    config: DsvddConfig,
    unit: f64,
    n_rows: f64,
    spread: [f64; 2],
    curve: Vec<CurvePoint>,
    ending: Ending,
}

impl Dsvdd {
    /// Trains on `training` rows; `validation` rows stop the training and tell whether the sphere collapsed.
    pub fn fit(config: &DsvddConfig, layout: &Layout, rows: [&Encoded; 2], run: Run<'_>) -> Result<Self> {
        config.validate()?;
        let [training, validation] = rows;
        check_rows(rows.map(Encoded::n_rows))?;
        let mut sphere = Sphere::new(config, layout.width(), true);
        let parameters = deep::initial_parameters(&sphere, run.seed, 0);
        // Scoring does without the decoder.
        let mut scoring = Sphere::new(config, layout.width(), false);
        let inputs = Inputs::standardised(layout, training);
        let (centre, _) = code_moments(&scoring, &parameters, &inputs, training);
        scoring.centre = centre.into_iter().map(away_from_zero).collect();
        sphere.centre.clone_from(&scoring.centre);
        let held_out = if validation.n_rows() > 0 { validation } else { training };
        let spread = |parameters: &[f32]| code_moments(&scoring, parameters, &inputs, held_out).1;
        let before = spread(&parameters);
        let Trained { parameters, curve, ending } =
            deep::learn(&sphere, std::iter::once(parameters), &config.training.config(), &inputs, rows, run)?;
        let spread = [before, spread(&parameters)];
        let mut fitted = Self {
            config: config.clone(),
            mean: inputs.mean(training),
            inputs,
            sphere: scoring,
            parameters,
            unit: 0.0,
            n_rows: (training.n_rows() + validation.n_rows()) as f64,
            spread,
            curve,
            ending,
        };
        fitted.unit = fitted.distances(training).iter().sum::<f64>() / training.n_rows() as f64;
        Ok(fitted)
    }

    /// The settings.
    pub fn config(&self) -> &DsvddConfig {
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

    /// Says so if the sphere collapsed.
    pub fn warning(&self) -> Option<String> {
        collapse(self.spread, "rows", "raise `reconstruction` or train for fewer steps")
    }

    /// The squared distance of each row's code from the centre.
    fn distances(&self, rows: &Encoded) -> Vec<f64> {
        let mut distances = Vec::with_capacity(rows.n_rows());
        let (sphere, n_codes) = (&self.sphere, self.sphere.n_codes());
        deep::read_rows(sphere, &self.parameters, &self.inputs, rows, |results| {
            distances.extend(results.chunks_exact(n_codes + 1).map(|row| sphere.distance(&row[..n_codes])));
        });
        distances
    }

    fn of_unseen(&self) -> f64 {
        unseen_surprise(self.n_rows) * self.unit
    }
}

impl Store for Dsvdd {
    type Document = StoredDsvdd;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredDsvdd> {
        tensors.put("network.parameters", self.parameters.clone());
        tensors.put("centre", self.sphere.centre.clone());
        tensors.put("mean", self.mean.clone());
        self.inputs.put(tensors);
        Ok(StoredDsvdd {
            config: self.config.clone(),
            unit: self.unit,
            n_rows: self.n_rows,
            spread: self.spread,
            curve: self.curve.clone(),
            ending: self.ending,
        })
    }

    fn read(
        StoredDsvdd { config, unit, n_rows, spread, curve, ending }: StoredDsvdd,
        layout: &Layout,
        tensors: &mut Tensors,
    ) -> Loaded<Self> {
        config.validate()?;
        check_row_count(n_rows)?;
        if !(unit >= 0.0 && unit.is_finite()) {
            return Err(format!("{unit} is not a mean distance").into());
        }
        let mut sphere = Sphere::new(&config, layout.width(), false);
        let parameters = tensors.take("network.parameters", deep::n_parameters(&sphere))?;
        sphere.centre = tensors.take("centre", sphere.n_codes())?;
        let mean = tensors.take("mean", layout.width())?;
        let inputs = Inputs::take(layout, tensors)?;
        Ok(Self { config, inputs, sphere, parameters, mean, unit, n_rows, spread, curve, ending })
    }
}

/// The mean code of some rows, and the variance around it summed over the coordinates.
fn code_moments(sphere: &Sphere, parameters: &[f32], inputs: &Inputs, rows: &Encoded) -> (Vec<f64>, f64) {
    let (n_codes, n) = (sphere.n_codes(), rows.n_rows().max(1) as f64);
    let mut mean = vec![0.0; n_codes];
    deep::read_rows(sphere, parameters, inputs, rows, |results| {
        for row in results.chunks_exact(n_codes + 1) {
            mean.iter_mut().zip(row).for_each(|(mean, z)| *mean += z / n);
        }
    });
    let mut variance = 0.0;
    deep::read_rows(sphere, parameters, inputs, rows, |results| {
        for row in results.chunks_exact(n_codes + 1) {
            variance += row.iter().zip(&mean).map(|(z, mean)| (z - mean) * (z - mean)).sum::<f64>() / n;
        }
    });
    (mean, variance)
}

impl Detector for Dsvdd {
    fn score(&self, rows: &Encoded) -> Vec<f64> {
        let mut scores = self.distances(rows);
        deep::add_unseen(&mut scores, rows, self.of_unseen());
        scores
    }

    fn split(&self, rows: &Encoded) -> Split {
        self.score_and_split(rows).1
    }

    fn score_and_split(&self, rows: &Encoded) -> (Vec<f64>, Split) {
        let slope = |results: &[f64], d: &mut [f64]| {
            for ((d, z), c) in d.iter_mut().zip(results).zip(&self.sphere.centre) {
                *d = 2.0 * (z - c);
            }
        };
        let parts = deep::parts(&self.sphere, &self.parameters, &self.inputs, &self.mean, rows, slope);
        let scores = self.score(rows);
        let split = deep::split(&scores, parts, &self.inputs.layout, rows, self.of_unseen());
        (scores, split)
    }
}

#[cfg(test)]
mod tests;
