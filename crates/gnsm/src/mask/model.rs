//! A mask model: how masks are prepared, the fitted detector and its calibration. This is what is saved, loaded and
//! given masks to score.
//!
//! The file is the container of table models with another format name. `docs/format.md` has its contents.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::BACKGROUND;
use super::detector::{MaskDetector, MaskMethod, Setup, method_named};
use super::grid::Grid;
use super::read::MaskFolder;
use super::sample::{Preparation, Sample};
use crate::decision::{Calibration, Scored};
use crate::error::{Advice, Error, Result};
use crate::files::Loaded;
use crate::files::checkpoint::{self, Checkpoint};
use crate::files::container::{self, Contents, MASK_MODEL, NO_FILE, Tensors, unusable};
use crate::train::{FEWEST_ROWS, Run, Watcher, deal};

/// A fitted model.
#[derive(Debug)]
pub struct MaskModel {
    preparation: Preparation,
    method: &'static str,
    detector: Box<dyn MaskDetector>,
    calibration: Calibration,
    report: MaskReport,
    hash: Option<String>,
}

/// How to fit, beside the method.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MaskFitOptions {
    /// Where all randomness comes from.
    pub seed: u64,
    /// Seconds after which training ends with the best so far.
    pub max_seconds: Option<f64>,
    /// Where the state of training is saved now and then.
    pub checkpoint: Option<PathBuf>,
    /// Whether to continue from that checkpoint if there is one.
    pub resume: bool,
}

/// What a fit was done on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaskReport {
    /// Masks that trained, validated and calibrated.
    pub masks: [u64; 3],
    /// The seed.
    pub seed: u64,
}

/// What a model says of a mask.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The score and p-value: those of the oddest slice, where it is a volume.
    pub scored: Scored,
    /// Which slice that is, counted from 0.
    pub oddest: usize,
    /// How much of each slice's score is due to each of its pixels, at the size that the model works with; empty if the
    /// method cannot tell or was not asked.
    pub maps: Vec<Grid<f32, 2>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    preparation: Preparation,
    method: String,
    detector: serde_json::Value,
    calibration: Calibration,
    report: MaskReport,
}

impl MaskModel {
    /// Learns from samples that were read with `preparation`. Those of one volume stay together, and a volume is as odd
    /// as its oddest slice.
    ///
    /// A tenth is held out for what a method has to choose, another tenth to calibrate p-values. Where the preparation
    /// leaves the number of classes open, it is one more than the highest class of any sample.
    pub fn fit(
        samples: Vec<Vec<Sample>>,
        preparation: Preparation,
        method: &dyn MaskMethod,
        options: &MaskFitOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<Self> {
        preparation.validate()?;
        let seed = options.seed;
        if samples.len() < FEWEST_ROWS {
            return Err(Error::fit(
                format!("there are {} masks to learn from", samples.len()),
                format!("give at least {FEWEST_ROWS}"),
            ));
        }
        let cells = samples.iter().flatten().flat_map(|sample| sample.mask.cells());
        let highest = cells.copied().max().unwrap_or(BACKGROUND);
        if highest == BACKGROUND {
            return Err(Error::fit(
                "no mask has any foreground",
                Advice::from("give other masks; if 255 is a class of yours and not void, say ")
                    .setting("void", Some("none")),
            ));
        }
        let classes = preparation.classes.unwrap_or(u32::from(highest) + 1).max(u32::from(highest) + 1);
        let preparation = Preparation { classes: Some(classes), ..preparation };
        let order = deal((0..samples.len()).collect(), seed);
        let masks = [0, 1, 2].map(|part| order[part].len() as u64);
        let mut samples: Vec<Option<Vec<Sample>>> = samples.into_iter().map(Some).collect();
        let [training, validation, calibration] =
            order.map(|part| part.into_iter().filter_map(|index| samples[index].take()).collect::<Vec<_>>());
        let [training, validation] =
            [training, validation].map(|part| part.into_iter().flatten().collect::<Vec<Sample>>());
        let setup = Setup { classes: classes as usize, size: preparation.size, seed };
        let run = Run { seed, max_seconds: options.max_seconds, resume: None, save: None, watcher };
        let checkpoint = options.checkpoint.as_deref().zip(method.training()).map(|(path, config)| Checkpoint {
            path,
            fingerprint: fingerprint(method, &setup, &[&training, &validation]),
            resume: options.resume,
            optimiser: config.optimiser,
        });
        let detector = checkpoint::run(checkpoint, run, |run| method.fit(&training, &validation, &setup, run))?;
        let counts: Vec<usize> = calibration.iter().map(Vec::len).collect();
        let slices: Vec<Sample> = calibration.into_iter().flatten().collect();
        let mut scores = detector.score(&slices).into_iter();
        let of_masks = counts.into_iter().map(|count| oddest(&scores.by_ref().take(count).collect::<Vec<f64>>()).1);
        let calibration = Calibration::new(of_masks.map(|score| (score, 1)))?;
        let report = MaskReport { masks, seed };
        Ok(Self { preparation, method: method.name(), detector, calibration, report, hash: None })
    }

    /// A score and p-value for each name, on all threads. If one fails, the others do not.
    pub fn score(&self, folder: &MaskFolder, names: &[String]) -> Vec<Result<Scored>> {
        let verdicts = self.judge(folder, names, false).into_iter();
        verdicts.map(|verdict| verdict.map(|verdict| verdict.scored)).collect()
    }

    /// A score and p-value for each sample that was prepared as this model's [`Self::preparation`] says.
    pub fn score_samples(&self, samples: &[Sample]) -> Vec<Scored> {
        self.detector.score(samples).into_iter().map(|score| self.scored(score)).collect()
    }

    /// How much of the score of each sample is due to each pixel, if the method can tell.
    pub fn maps(&self, samples: &[Sample]) -> Vec<Option<Grid<f32, 2>>> {
        self.detector.score_with_maps(samples).into_iter().map(|(_, map)| map).collect()
    }

    fn scored(&self, score: f64) -> Scored {
        Scored { score, p_value: self.calibration.p_value(score) }
    }

    /// The score, p-value and, if asked for, map of each name. If one fails, the others do not.
    pub fn judge(&self, folder: &MaskFolder, names: &[String], with_maps: bool) -> Vec<Result<Verdict>> {
        let mut samples = Vec::new();
        let outcomes = self.preparation.read(folder, names).into_iter();
        let outcomes: Vec<Result<usize>> = outcomes
            .map(|slices| {
                slices.map(|slices| {
                    let count = slices.len();
                    samples.extend(slices);
                    count
                })
            })
            .collect();
        let mut found = if with_maps {
            self.detector.score_with_maps(&samples)
        } else {
            self.detector.score(&samples).into_iter().map(|score| (score, None)).collect()
        }
        .into_iter();
        let mut verdict = |count| self.verdict(found.by_ref().take(count).collect());
        outcomes.into_iter().map(|outcome| outcome.map(&mut verdict)).collect()
    }

    fn verdict(&self, slices: Vec<(f64, Option<Grid<f32, 2>>)>) -> Verdict {
        let scores: Vec<f64> = slices.iter().map(|(score, _)| *score).collect();
        let (oddest, score) = oddest(&scores);
        Verdict { scored: self.scored(score), oddest, maps: slices.into_iter().filter_map(|(_, map)| map).collect() }
    }

    /// Writes a model file, beside, then renamed.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let (content, tensors) = self.contents(path)?;
        self.hash = Some(container::write(path, MASK_MODEL, &content, &tensors)?);
        Ok(())
    }

    /// The bytes of this model's file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let path = Path::new(NO_FILE);
        let (content, tensors) = self.contents(path)?;
        Ok(container::to_bytes(path, MASK_MODEL, &content, &tensors)?.0)
    }

    fn contents(&self, path: &Path) -> Result<(Content, Tensors)> {
        let mut tensors = Tensors::default();
        let content = Content {
            preparation: self.preparation,
            method: self.method.to_owned(),
            detector: self.detector.save(&mut tensors).map_err(|error| Error::io(path, error.into()))?,
            calibration: self.calibration.clone(),
            report: self.report.clone(),
        };
        Ok((content, tensors))
    }

    /// Reads a model file of one of these methods.
    pub fn load(path: impl AsRef<Path>, methods: Vec<Box<dyn MaskMethod>>) -> Result<Self> {
        let path = path.as_ref();
        let contents = container::read(path, MASK_MODEL)?;
        Self::from_contents(contents, methods).map_err(|damage| unusable(path, &damage))
    }

    /// A model of one of these methods from the bytes of a model file.
    pub fn from_bytes(bytes: &[u8], methods: Vec<Box<dyn MaskMethod>>) -> Result<Self> {
        let path = Path::new(NO_FILE);
        let contents = container::read_bytes(path, bytes, MASK_MODEL)?;
        Self::from_contents(contents, methods).map_err(|damage| unusable(path, &damage))
    }

    fn from_contents(contents: Contents, methods: Vec<Box<dyn MaskMethod>>) -> Loaded<Self> {
        let Contents { content, mut tensors, blake3 } = contents;
        let content: Content = serde_json::from_str(&content)?;
        content.calibration.validate()?;
        content.preparation.validate()?;
        let classes = content.preparation.classes.ok_or("the number of classes is missing")? as usize;
        let method = method_named(methods, &content.method)?;
        let setup = Setup { classes, size: content.preparation.size, seed: content.report.seed };
        let detector = method.load(content.detector, &setup, &mut tensors)?;
        Ok(Self {
            preparation: content.preparation,
            method: method.name(),
            detector,
            calibration: content.calibration,
            report: content.report,
            hash: Some(blake3),
        })
    }

    /// How masks are prepared; the number of classes is set.
    pub fn preparation(&self) -> Preparation {
        self.preparation
    }

    /// The method's name.
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// The fitted detector.
    pub fn detector(&self) -> &dyn MaskDetector {
        &*self.detector
    }

    /// The held-out scores.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// What the fit was done on.
    pub fn report(&self) -> &MaskReport {
        &self.report
    }

    /// The hash of the file this model was read from or written to.
    pub fn hash(&self) -> Option<&str> {
        self.hash.as_deref()
    }
}

/// What a checkpoint must agree with to be continued: the settings, the seed and the samples.
fn fingerprint(method: &dyn MaskMethod, setup: &Setup, parts: &[&[Sample]]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{} {} {setup:?}", method.name(), method.settings()).as_bytes());
    for part in parts {
        hasher.update(&part.len().to_le_bytes());
        for sample in *part {
            hasher.update(format!("{:?}", sample.mask.shape()).as_bytes()).update(sample.mask.cells());
            if let Some(image) = &sample.image {
                hasher.update(bytemuck::cast_slice(image.cells()));
            }
        }
    }
    hasher.finalize().to_hex().to_string()
}

/// The place and the value of the largest score; of equal ones, the first.
fn oddest(scores: &[f64]) -> (usize, f64) {
    let first = (0, scores.first().copied().unwrap_or(f64::NEG_INFINITY));
    scores.iter().copied().enumerate().fold(first, |best, next| if next.1 > best.1 { next } else { best })
}

#[cfg(test)]
mod tests;
