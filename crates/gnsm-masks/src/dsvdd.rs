//! `dsvdd` for masks: Deep SVDD (Ruff et al. 2018) with a convolutional network, the paper's rival in its case study.
//!
//! A network φ ([`PictureEncoder`]) maps an image and its one-hot mask to a code. It is trained to bring the codes of
//! usual pairs near a centre c. The score is ‖φ(x) − c‖². The centre is the mean code of training pairs at the first
//! weights. Coordinates nearer to 0 than 0.1 are moved to ±0.1, since zero weights map everything to 0.
//!
//! A network that maps every pair to c tells nothing about them; the sphere has *collapsed*. So the variance of the
//! codes of held-out pairs is measured before and after training. If less than a ten-thousandth is left, the model
//! carries a warning.

use std::ops::Range;

use gnsm::internals::detectors::{away_from_zero, collapse};
use gnsm::internals::error::stop_point;
use gnsm::internals::files::{Loaded, Store, Tensors};
use gnsm::internals::math::stream;
use gnsm::internals::train::{Run, train};
use gnsm::mask::{MaskDetector, Sample, Setup};
use gnsm::settings::TrainingConfig;
use gnsm::{CurvePoint, Ending, Error, Result};
use rand::Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::descent::{Descent, LearningTask};
use crate::efficient::{EncoderSize, PictureEncoder};
use crate::engine::{Device, Tensor};
use crate::method::{NetworkMethod, NetworkSettings};
use crate::pictures::{Picture, checked_side};
use crate::weights::Weights;

/// The name of the random stream.
const TRAINING: u64 = 15;

/// The settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MaskDsvddConfig {
    /// The side of the pictures unless told otherwise.
    pub size: u32,
    /// The network.
    pub network: EncoderSize,
    /// The training loop.
    pub training: TrainingConfig,
}

impl Default for MaskDsvddConfig {
    /// A network as large as GNSM's, trained for as long as its loss falls.
    fn default() -> Self {
        let mut training = TrainingConfig::default();
        (training.batch, training.steps, training.epochs) = (16, 400, 0);
        (training.hidden, training.patience, training.validation_rows) = (0.0, 0, 256);
        training.validate_every = 50;
        training.optimiser.average = 0.99;
        Self {
            size: 64,
            network: EncoderSize { channels: vec![32, 64, 128, 192], blocks: vec![1, 2, 3, 3], fused: 2, code: 64 },
            training,
        }
    }
}

/// The method with its settings.
pub type MaskDsvdd = NetworkMethod<MaskDsvddConfig>;

/// A trained network and its centre.
#[derive(Debug)]
pub struct FittedSphere {
    sphere: PictureSphere,
    parameters: Vec<f32>,
    stored: StoredSphere,
}

/// What is stored as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredSphere {
    config: MaskDsvddConfig,
    curve: Vec<CurvePoint>,
    ending: Ending,
    /// The variance of the codes of held-out pairs, before and after training.
    spread: [f64; 2],
}

/// The network and the centre.
#[derive(Debug)]
struct PictureSphere {
    encoder: PictureEncoder,
    classes: usize,
    side: usize,
    centre: Vec<f32>,
}

impl NetworkSettings for MaskDsvddConfig {
    const NAME: &'static str = "dsvdd";
    type Fitted = FittedSphere;

    fn size(&self) -> u32 {
        self.size
    }

    fn training(&self) -> &TrainingConfig {
        &self.training
    }

    fn fit(&self, training: &[Sample], validation: &[Sample], setup: &Setup, mut run: Run<'_>) -> Result<FittedSphere> {
        self.validate()?;
        let mut sphere = PictureSphere::new(self, setup)?;
        let parameters = sphere.encoder.plan().start(run.seed);
        let codes = sphere.codes(&parameters, training);
        let middle = mean(&codes, self.network.code).into_iter();
        sphere.centre = middle.map(|coordinate| away_from_zero(f64::from(coordinate)) as f32).collect();
        let before = sphere.spread(&parameters, validation);
        let shrinking = Shrinking {
            sphere: &sphere,
            training,
            validation: &validation[..validation.len().min(self.training.validation_rows)],
            seed: run.seed,
            batch: self.training.batch,
            device: Device::chosen(),
        };
        let mut learner = Descent::new(shrinking, parameters);
        let trained = train(&mut learner, &self.training, training.len(), &mut run)?;
        let spread = [before, sphere.spread(&trained.parameters, validation)];
        let stored = StoredSphere { config: self.clone(), curve: trained.curve, ending: trained.ending, spread };
        Ok(FittedSphere { sphere, parameters: trained.parameters, stored })
    }
}

impl Store for FittedSphere {
    type Document = StoredSphere;
    type Shape = Setup;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredSphere> {
        tensors.put("parameters", self.parameters.clone());
        tensors.put("centre", self.sphere.centre.clone());
        Ok(self.stored.clone())
    }

    fn read(stored: StoredSphere, setup: &Setup, tensors: &mut Tensors) -> Loaded<Self> {
        stored.config.validate()?;
        let mut sphere = PictureSphere::new(&stored.config, setup)?;
        sphere.centre = tensors.take("centre", stored.config.network.code)?;
        let parameters = tensors.take("parameters", sphere.encoder.plan().total())?;
        Ok(Self { sphere, parameters, stored })
    }
}

impl MaskDsvddConfig {
    /// Checks every setting.
    pub fn validate(&self) -> Result<()> {
        self.training.validate()?;
        let EncoderSize { channels, blocks, code, .. } = &self.network;
        let within = |sizes: &[usize], most: usize| sizes.iter().all(|size| (1..=most).contains(size));
        if !(1..=8).contains(&channels.len()) || !within(channels, 4096) {
            return Err(Error::config("network.channels", "must be 1 to 8 numbers between 1 and 4096"));
        }
        // What is squeezed must have a channel left.
        if channels.iter().any(|channels| *channels < 4) {
            return Err(Error::config("network.channels", "must each be at least 4"));
        }
        if blocks.len() != channels.len() || !within(blocks, 64) {
            return Err(Error::config("network.blocks", "must be as many as network.channels, between 1 and 64 each"));
        }
        if !(1..=4096).contains(code) {
            return Err(Error::config("network.code", format!("{code} is not between 1 and 4096")));
        }
        Ok(())
    }
}

impl PictureSphere {
    fn new(config: &MaskDsvddConfig, setup: &Setup) -> Result<Self> {
        let side = checked_side(setup)?;
        let unit = 1 << config.network.channels.len();
        if !side.is_multiple_of(unit) {
            let problem = format!(
                "is {side}, and a network of {} stages needs a multiple of {unit}",
                config.network.channels.len()
            );
            return Err(Error::config("size", problem));
        }
        let encoder = PictureEncoder::new(&config.network, 3 + setup.classes);
        Ok(Self { encoder, classes: setup.classes, side, centre: Vec::new() })
    }

    fn forward(&self, weights: &Weights, pictures: &[Picture], device: &Device) -> Tensor {
        stop_point();
        let channels = 3 + self.classes;
        let mut inputs = vec![0.0; pictures.len() * self.side * self.side * channels];
        let images = inputs.chunks_exact_mut(self.side * self.side * channels);
        for (input, picture) in images.zip(pictures) {
            let pixels = picture.colours.iter().zip(&picture.codes);
            for (input, (colour, code)) in input.chunks_exact_mut(channels).zip(pixels) {
                input[..3].copy_from_slice(colour);
                // A class that training never had is none of them.
                if let Some(place) = input[3..].get_mut(*code as usize) {
                    *place = 1.0;
                }
            }
        }
        let shape = [pictures.len(), self.side, self.side, channels];
        self.encoder.forward(weights, &Tensor::new(inputs, shape, device))
    }

    /// The code of each pair, one after the other.
    fn codes(&self, parameters: &[f32], samples: &[Sample]) -> Vec<f32> {
        let device = Device::chosen();
        let weights = Weights::fixed(self.encoder.plan(), parameters, &device);
        let read = |sample: &Sample| self.forward(&weights, &[Picture::whole(sample)], &device).values();
        samples.par_iter().flat_map_iter(read).collect()
    }

    fn distances(&self, parameters: &[f32], samples: &[Sample]) -> Vec<f64> {
        let codes = self.codes(parameters, samples);
        codes.chunks_exact(self.centre.len()).map(|code| squared_distance(code, &self.centre)).collect()
    }

    /// The mean squared distance of the codes from their own mean.
    fn spread(&self, parameters: &[f32], samples: &[Sample]) -> f64 {
        let codes = self.codes(parameters, samples);
        let middle = mean(&codes, self.centre.len());
        let distances = codes.chunks_exact(self.centre.len()).map(|code| squared_distance(code, &middle));
        distances.sum::<f64>() / samples.len() as f64
    }
}

fn mean(rows: &[f32], length: usize) -> Vec<f32> {
    let mut sums = vec![0.0; length];
    for row in rows.chunks_exact(length) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += f64::from(*value);
        }
    }
    let n = (rows.len() / length) as f64;
    sums.into_iter().map(|sum| (sum / n) as f32).collect()
}

fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum()
}

/// A sphere that is shrunk.
struct Shrinking<'a> {
    sphere: &'a PictureSphere,
    training: &'a [Sample],
    validation: &'a [Sample],
    seed: u64,
    batch: usize,
    /// Where the network runs.
    device: Device,
}

impl LearningTask for Shrinking<'_> {
    fn batch(&self) -> usize {
        self.batch
    }

    fn gradient(&self, parameters: &[f32], step: u64, pictures: Range<usize>) -> (f64, Vec<f32>) {
        let draw = |position: usize| {
            let mut rng = stream(self.seed, TRAINING, step, position as u64);
            let sample = &self.training[(rng.next_u64() % self.training.len() as u64) as usize];
            Picture::drawn(sample, &mut rng)
        };
        let pictures: Vec<Picture> = pictures.map(draw).collect();
        let weights = Weights::learned(self.sphere.encoder.plan(), parameters, &self.device);
        let codes = self.sphere.forward(&weights, &pictures, &self.device);
        let mut away = codes.values();
        for (away, centre) in away.iter_mut().zip(self.sphere.centre.iter().cycle()) {
            *away -= centre;
        }
        let share = 1.0 / self.batch as f64;
        let loss = away.iter().map(|away| f64::from(*away).powi(2)).sum::<f64>() * share;
        let gradient = away.into_iter().map(|away| 2.0 * share as f32 * away).collect();
        (loss, weights.flat_gradient(codes.backward(gradient)))
    }

    fn held_out_loss(&self, parameters: &[f32]) -> f64 {
        let distances = self.sphere.distances(parameters, self.validation);
        distances.iter().sum::<f64>() / distances.len() as f64
    }
}

impl MaskDetector for FittedSphere {
    fn score(&self, samples: &[Sample]) -> Vec<f64> {
        self.sphere.distances(&self.parameters, samples)
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::json!(self.stored.config)
    }

    fn training(&self) -> Option<(&[CurvePoint], Ending)> {
        Some((&self.stored.curve, self.stored.ending))
    }

    fn warning(&self) -> Option<String> {
        collapse(self.stored.spread, "masks", "train for fewer steps")
    }

    fn save(&self, tensors: &mut Tensors) -> serde_json::Result<serde_json::Value> {
        Store::save(self, tensors)
    }
}
