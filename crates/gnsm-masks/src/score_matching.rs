//! `gnsm` for masks: Gumbel noise score matching with a convolutional network that sees the image and a noisy mask.
//!
//! Training is that of tables (`denoiser`). There are two ways to turn what the network says about a mask into a score:
//!
//! - **Evidence** (`evidence`): how surprising the pixels of each class are, and how large its pieces are.
//! - **Norms**, the paper's: the score norms of the whole mask at every level, at the clean logits, and a density over
//!   them.
//!
//! The noise for scoring is drawn once per level from the model's seed, the same for every mask. So a score depends on
//! the model, the mask and its image alone.

use gnsm::internals::columns::Layout;
use gnsm::internals::density::{Density, Standardizer};
use gnsm::internals::files::{Loaded, Store, Tensors};
use gnsm::internals::math::{exp, ln, simd, stream};
use gnsm::internals::noise::{Levels, Loss, Parameterisation, concrete};
use gnsm::internals::score_matching::{NormKind, NormsConfig, NormsHead, NormsOfRows};
use gnsm::internals::train::{Run, TrainingConfig, train};
use gnsm::mask::{Grid, MaskDetector, Sample, Setup};
use gnsm::{CurvePoint, Ending, Result, Watcher};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::config::{MaskGnsmConfig, MaskHead};
use crate::denoiser::{MaskDenoising, Noisy, Presenter};
use crate::descent::Descent;
use crate::engine::Device;
use crate::evidence::Evidence;
use crate::method::{NetworkMethod, NetworkSettings};
use crate::ncsn::Ncsn;
use crate::pictures::{Picture, checked_side};
use crate::weights::Weights;

/// The name of the random stream of scoring.
const SCORING: u64 = 14;
/// Held-out pairs that the network is shown at a time.
const AT_A_TIME: usize = 8;

/// The method with its settings.
pub type MaskGnsm = NetworkMethod<MaskGnsmConfig>;

/// A trained network and its head.
#[derive(Debug)]
pub struct FittedMaskGnsm {
    machine: Machine,
    parameters: Vec<f32>,
    head: FittedHead,
    curve: Vec<CurvePoint>,
    ending: Ending,
}

#[derive(Debug)]
enum FittedHead {
    Evidence(Evidence),
    Norms(Box<NormsHead>),
}

/// What is stored as JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredMaskGnsm {
    config: MaskGnsmConfig,
    curve: Vec<CurvePoint>,
    ending: Ending,
    evidence: Option<serde_json::Value>,
    norms: Option<(Standardizer, Density)>,
}

/// Everything that follows from the settings.
#[derive(Debug)]
struct Machine {
    config: MaskGnsmConfig,
    setup: Setup,
    side: usize,
    layout: Layout,
    levels: Levels,
    network: Ncsn,
}

impl Machine {
    fn new(config: &MaskGnsmConfig, setup: &Setup) -> Result<Self> {
        let side = checked_side(setup)?;
        config.validate(side)?;
        let classes = setup.classes;
        Ok(Self {
            config: config.clone(),
            setup: *setup,
            side,
            layout: Layout::new(0, vec![classes; side * side]),
            levels: Levels::new(&config.levels)?,
            network: Ncsn::new(&config.network, side, 3 + classes, classes),
        })
    }

    fn loss(&self) -> Loss<'_> {
        let MaskGnsmConfig { parameterisation, objective, weighted, .. } = self.config;
        Loss { layout: &self.layout, levels: &self.levels, parameterisation, objective, weighted }
    }

    fn presenter<'a>(&'a self, loss: &'a Loss<'a>) -> Presenter<'a> {
        Presenter { network: &self.network, loss, side: self.side }
    }

    fn weights(&self, parameters: &[f32]) -> Weights {
        Weights::fixed(self.network.plan(), parameters, &Device::chosen())
    }

    /// How surprising each pixel is with the mask hidden and through the noise of every level, [1 + levels, pixels].
    fn surprises(&self, weights: &Weights, sample: &Sample) -> Vec<f32> {
        let (loss, classes) = (self.loss(), self.setup.classes);
        let presenter = self.presenter(&loss);
        let picture = Picture::whole(sample);
        let mut views = vec![presenter.hidden(picture.clone())];
        views.extend((0..self.levels.count()).map(|level| {
            let mut noise = stream(self.setup.seed, SCORING, level as u64, 0);
            presenter.noisy(picture.clone(), level, &mut noise)
        }));
        let logits = presenter.logits(weights, &views, &Device::chosen()).values();
        let mut surprises = vec![0.0; views.len() * picture.codes.len()];
        simd(
            #[inline(always)]
            || {
                let codes = picture.codes.iter().cycle();
                for (surprise, (logits, code)) in surprises.iter_mut().zip(logits.chunks_exact(classes).zip(codes)) {
                    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    let log_sum = largest + ln(logits.iter().map(|logit| exp(logit - largest)).sum());
                    *surprise = log_sum - logits[*code as usize];
                }
            },
        );
        surprises
    }

    /// The squared norm of the score at each pixel and level, at the clean logits, [levels, pixels].
    fn norms(&self, weights: &Weights, sample: &Sample) -> Vec<f32> {
        let (loss, classes) = (self.loss(), self.setup.classes);
        let presenter = self.presenter(&loss);
        let picture = Picture::whole(sample);
        let clean = (0..self.levels.count()).map(|level| {
            let alpha = self.levels.log_alpha(level, classes);
            let mut mask = vec![0.0; self.layout.width()];
            for (x, code) in mask.chunks_exact_mut(classes).zip(&picture.codes) {
                concrete::clean(x, *code as usize, alpha);
            }
            Noisy { picture: picture.clone(), mask, level }
        });
        let clean: Vec<Noisy> = clean.collect();
        let logits = presenter.logits(weights, &clean, &Device::chosen()).values();
        let rows = logits.chunks_exact(self.layout.width()).zip(&clean);
        rows.flat_map(|(logits, Noisy { mask, level, .. })| {
            let mut norms = vec![0.0; picture.codes.len()];
            simd(
                #[inline(always)]
                || {
                    let (lambda, alpha) = (self.levels.lambda(*level), self.levels.log_alpha(*level, classes));
                    let mut scratch = vec![0.0; 4 * classes];
                    let (posterior, rest) = scratch.split_at_mut(classes);
                    let (score, rest) = rest.split_at_mut(classes);
                    let (e, inverse) = rest.split_at_mut(classes);
                    let pixels = logits.chunks_exact(classes).zip(mask.chunks_exact(classes));
                    for (norm, (logits, x)) in norms.iter_mut().zip(pixels) {
                        posterior.copy_from_slice(logits);
                        concrete::softmax(posterior);
                        match self.config.parameterisation {
                            Parameterisation::Noise => score.copy_from_slice(posterior),
                            Parameterisation::Posterior => {
                                concrete::expected_softmax(score, x, posterior, alpha, lambda, e, inverse);
                            }
                        }
                        concrete::score_from_softmax(score, lambda);
                        *norm = score.iter().map(|s| s * s).sum();
                    }
                },
            );
            norms
        })
        .collect()
    }
}

impl NetworkSettings for MaskGnsmConfig {
    const NAME: &'static str = "gnsm";
    type Fitted = FittedMaskGnsm;

    fn size(&self) -> u32 {
        self.size
    }

    fn training(&self) -> &TrainingConfig {
        &self.training
    }

    fn fit(
        &self,
        training: &[Sample],
        validation: &[Sample],
        setup: &Setup,
        mut run: Run<'_>,
    ) -> Result<FittedMaskGnsm> {
        let machine = Machine::new(self, setup)?;
        let config = &machine.config.training;
        let loss = machine.loss();
        let parameters = machine.network.plan().start(run.seed);
        let seed = run.seed;
        let denoising = MaskDenoising {
            presenter: machine.presenter(&loss),
            training,
            validation: &validation[..validation.len().min(config.validation_rows)],
            seed,
            batch: config.batch,
            hidden: config.hidden,
            device: Device::chosen(),
        };
        let mut learner = Descent::new(denoising, parameters);
        let trained = train(&mut learner, config, training.len(), &mut run)?;
        let weights = machine.weights(&trained.parameters);
        let head = match machine.config.head {
            MaskHead::Evidence => {
                let samples: Vec<&Sample> = validation.iter().collect();
                let mut surprises = Vec::new();
                measure(
                    &samples,
                    run.watcher,
                    |sample| machine.surprises(&weights, sample),
                    |found| surprises.push(found),
                );
                FittedHead::Evidence(Evidence::fit(training, validation, &surprises, setup)?)
            }
            MaskHead::Norms => {
                let samples: Vec<&Sample> = validation.iter().chain(training).take(self.most_pairs).collect();
                let mut norms = NormsOfRows::new(machine.levels.count(), machine.side * machine.side);
                measure(
                    &samples,
                    run.watcher,
                    |sample| machine.norms(&weights, sample),
                    |found| norms.add(&found, 1.0),
                );
                let mut config = NormsConfig::paper();
                config.criterion = self.criterion;
                FittedHead::Norms(Box::new(norms.fit(&config, seed)?))
            }
        };
        let (curve, ending) = (trained.curve, trained.ending);
        Ok(FittedMaskGnsm { machine, parameters: trained.parameters, head, curve, ending })
    }
}

impl Store for FittedMaskGnsm {
    type Document = StoredMaskGnsm;
    type Shape = Setup;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredMaskGnsm> {
        tensors.put("parameters", self.parameters.clone());
        let (evidence, norms) = match &self.head {
            FittedHead::Evidence(head) => (Some(head.write(tensors)?), None),
            FittedHead::Norms(head) => (None, Some(head.write(tensors)?)),
        };
        let (config, curve) = (self.machine.config.clone(), self.curve.clone());
        Ok(StoredMaskGnsm { config, curve, ending: self.ending, evidence, norms })
    }

    fn read(stored: StoredMaskGnsm, setup: &Setup, tensors: &mut Tensors) -> Loaded<Self> {
        let machine = Machine::new(&stored.config, setup)?;
        let parameters = tensors.take("parameters", machine.network.plan().total())?;
        let n_levels = machine.levels.count();
        let head = match (stored.config.head, stored.evidence, stored.norms) {
            (MaskHead::Evidence, Some(evidence), None) => {
                FittedHead::Evidence(Evidence::read(evidence, &(1 + n_levels, *setup), tensors)?)
            }
            (MaskHead::Norms, None, Some(norms)) => {
                let shape = ([n_levels, machine.side * machine.side], NormKind::Squared);
                FittedHead::Norms(Box::new(NormsHead::read(norms, &shape, tensors)?))
            }
            _ => return Err("the head and the settings do not fit together".into()),
        };
        Ok(Self { machine, parameters, head, curve: stored.curve, ending: stored.ending })
    }
}

/// What the network says of each sample, on all threads, taken in their order; few are in memory at a time.
fn measure(
    samples: &[&Sample],
    watcher: &mut dyn Watcher,
    ask: impl Fn(&Sample) -> Vec<f32> + Sync,
    mut take: impl FnMut(Vec<f32>),
) {
    let mut done = 0;
    for part in samples.chunks(AT_A_TIME) {
        let found: Vec<Vec<f32>> = part.par_iter().map(|sample| ask(sample)).collect();
        found.into_iter().for_each(&mut take);
        done += part.len();
        watcher.measured(done, samples.len());
    }
}

impl MaskDetector for FittedMaskGnsm {
    fn score(&self, samples: &[Sample]) -> Vec<f64> {
        let weights = self.machine.weights(&self.parameters);
        let pixels = self.machine.side * self.machine.side;
        let score = |sample: &Sample| match &self.head {
            FittedHead::Evidence(head) => head.score(&self.machine.surprises(&weights, sample), sample),
            FittedHead::Norms(head) => head.anomaly_of(&self.machine.norms(&weights, sample), pixels),
        };
        samples.par_iter().map(score).collect()
    }

    fn score_with_maps(&self, samples: &[Sample]) -> Vec<(f64, Option<Grid<f32, 2>>)> {
        let weights = self.machine.weights(&self.parameters);
        let pixels = self.machine.side * self.machine.side;
        let read = |sample: &Sample| {
            let (score, map) = match &self.head {
                FittedHead::Evidence(head) => head.score_with_map(&self.machine.surprises(&weights, sample), sample),
                FittedHead::Norms(head) => {
                    let norms = self.machine.norms(&weights, sample);
                    let mut parts = Vec::new();
                    head.integrate(&norms, pixels, &mut parts);
                    (head.anomaly_of(&norms, pixels), parts.into_iter().map(|part| part as f32).collect())
                }
            };
            (score, Grid::new([self.machine.side; 2], map))
        };
        samples.par_iter().map(read).collect()
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::json!(self.machine.config)
    }

    fn training(&self) -> Option<(&[CurvePoint], Ending)> {
        Some((&self.curve, self.ending))
    }

    fn save(&self, tensors: &mut Tensors) -> serde_json::Result<serde_json::Value> {
        Store::save(self, tensors)
    }
}
