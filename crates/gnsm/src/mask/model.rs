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
use crate::error::{Error, Result};
use crate::files::checkpoint::{self, Checkpoint};
use crate::files::container::{self, Contents, MASK_MODEL, Tensors};
use crate::files::{Damage, Loaded};
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
    /// Learns from samples that were read with `preparation`.
    ///
    /// A tenth is held out for what a method has to choose, another tenth to calibrate p-values. Where the preparation leaves the number of classes
    /// open, it is one more than the highest class of any sample.
    pub fn fit(
        samples: Vec<Sample>,
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
        let highest = samples.iter().flat_map(|sample| sample.mask.cells()).copied().max().unwrap_or(BACKGROUND);
        if highest == BACKGROUND {
            return Err(Error::fit(
                "no mask has any foreground",
                "give other masks; if 255 is a class of yours and not void, say --void none",
            ));
        }
        let classes = preparation.classes.unwrap_or(u32::from(highest) + 1).max(u32::from(highest) + 1);
        let preparation = Preparation { classes: Some(classes), ..preparation };
        let order = deal((0..samples.len()).collect(), seed);
        let mut samples: Vec<Option<Sample>> = samples.into_iter().map(Some).collect();
        let [training, validation, calibration] =
            order.map(|part| part.into_iter().filter_map(|index| samples[index].take()).collect::<Vec<Sample>>());
        let setup = Setup { classes: classes as usize, size: preparation.size, seed };
        let run = Run { seed, max_seconds: options.max_seconds, resume: None, save: None, watcher };
        let checkpoint = options.checkpoint.as_deref().zip(method.training()).map(|(path, config)| Checkpoint {
            path,
            fingerprint: fingerprint(method, &setup, &[&training, &validation]),
            resume: options.resume,
            optimiser: config.optimiser,
        });
        let detector = checkpoint::run(checkpoint, run, |run| method.fit(&training, &validation, &setup, run))?;
        let scores = detector.score(&calibration);
        let calibration_scores = Calibration::new(scores.into_iter().map(|score| (score, 1)))?;
        let masks = [training, validation, calibration].map(|part| part.len() as u64);
        let report = MaskReport { masks, seed };
        Ok(Self { preparation, method: method.name(), detector, calibration: calibration_scores, report, hash: None })
    }

    /// A score and p-value for each name, on all threads; each comes or fails by itself.
    pub fn score(&self, folder: &MaskFolder, names: &[String]) -> Vec<Result<Scored>> {
        self.for_each_name(folder, names, |samples| self.detector.score(samples), |score| self.scored(score))
    }

    /// [`Self::score`], and how much of the score is due to each pixel, at the size the model works with.
    pub fn score_with_maps(
        &self,
        folder: &MaskFolder,
        names: &[String],
    ) -> Vec<Result<(Scored, Option<Grid<f32, 2>>)>> {
        let scored = |(score, map)| (self.scored(score), map);
        self.for_each_name(folder, names, |samples| self.detector.score_with_maps(samples), scored)
    }

    fn scored(&self, score: f64) -> Scored {
        Scored { score, p_value: self.calibration.p_value(score) }
    }

    /// What becomes of each name whose sample can be read; `read` gives one thing for each sample.
    fn for_each_name<T, R>(
        &self,
        folder: &MaskFolder,
        names: &[String],
        read: impl Fn(&[Sample]) -> Vec<T>,
        become_of: impl Fn(T) -> R,
    ) -> Vec<Result<R>> {
        let mut samples = Vec::new();
        let outcomes = self.preparation.read(folder, names).into_iter();
        let outcomes: Vec<Result<()>> = outcomes.map(|sample| sample.map(|sample| samples.push(sample))).collect();
        let mut found = read(&samples).into_iter().map(become_of);
        let mut next = |()| found.next().ok_or_else(|| Error::fit("a mask has no score", "fit again"));
        outcomes.into_iter().map(|outcome| outcome.and_then(&mut next)).collect()
    }

    /// Writes a model file, beside, then renamed.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut tensors = Tensors::default();
        let content = Content {
            preparation: self.preparation,
            method: self.method.to_owned(),
            detector: self.detector.save(&mut tensors).map_err(|error| Error::io(path, error.into()))?,
            calibration: self.calibration.clone(),
            report: self.report.clone(),
        };
        self.hash = Some(container::write(path, MASK_MODEL, &content, &tensors)?);
        Ok(())
    }

    /// Reads a model file of one of these methods.
    pub fn load(path: impl AsRef<Path>, methods: Vec<Box<dyn MaskMethod>>) -> Result<Self> {
        let path = path.as_ref();
        let contents = container::read(path, MASK_MODEL)?;
        Self::from_contents(contents, methods).map_err(|Damage(problem)| Error::ModelFile {
            path: path.to_path_buf(),
            problem: format!("its contents do not fit together ({problem})"),
            advice: "fit again".into(),
        })
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

#[cfg(test)]
mod tests;
