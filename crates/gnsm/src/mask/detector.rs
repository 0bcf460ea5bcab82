//! What a detector of odd masks can do, and the list of the detectors that need no network.
//!
//! A method is a value that carries its settings. Whoever fits or loads a model says which methods there are. So
//! another crate, such as the one with networks, can bring its own. Higher scores mean odder masks. A score depends on
//! the model, the mask and its image alone.

use serde_json::Value;

use super::foreground_share::ForegroundShare;
use super::grid::Grid;
use super::largest_component::LargestComponent;
use super::sample::Sample;
use crate::error::{Error, Result};
use crate::files::{Loaded, Tensors};
use crate::train::{CurvePoint, Ending, Run, TrainingConfig};

/// A way to find odd masks, with its settings.
pub trait MaskMethod: Sync {
    /// The name on the command line and in files.
    fn name(&self) -> &'static str;

    /// The side in pixels that masks are resized to unless the user says otherwise; `None` keeps them as they are
    /// stored.
    fn default_size(&self) -> Option<u32> {
        None
    }

    /// Whether it looks at images.
    fn needs_images(&self) -> bool {
        false
    }

    /// Its settings, if it has any. A checkpoint must have been made with the same ones.
    fn settings(&self) -> Value {
        Value::Null
    }

    /// Takes settings of the shape that [`Self::settings`] has; says what is wrong with them.
    fn set(&mut self, _settings: Value) -> std::result::Result<(), String> {
        Err(format!("{} has no settings", self.name()))
    }

    /// The settings of its training loop, if it has one.
    fn training(&self) -> Option<&TrainingConfig> {
        None
    }

    /// Fits on `training` samples. `validation` samples serve to choose settings; if there is nothing to choose, they
    /// are trained on as well.
    fn fit(
        &self,
        training: &[Sample],
        validation: &[Sample],
        setup: &Setup,
        run: Run<'_>,
    ) -> Result<Box<dyn MaskDetector>>;

    /// Reads what [`MaskDetector::save`] made of a detector; says what is wrong with it.
    fn load(&self, document: Value, setup: &Setup, tensors: &mut Tensors) -> Loaded<Box<dyn MaskDetector>>;
}

/// What every fit is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// The number of classes, the background included.
    pub classes: usize,
    /// The side in pixels that masks were resized to; `None` if they were kept as stored.
    pub size: Option<u32>,
    /// Where all randomness comes from.
    pub seed: u64,
}

/// A fitted detector.
pub trait MaskDetector: std::fmt::Debug + Send + Sync {
    /// A score for each sample, from the sample alone.
    fn score(&self, samples: &[Sample]) -> Vec<f64>;

    /// [`Self::score`], and how much of each score is due to each pixel, if the method can tell.
    fn score_with_maps(&self, samples: &[Sample]) -> Vec<(f64, Option<Grid<f32, 2>>)> {
        self.score(samples).into_iter().map(|score| (score, None)).collect()
    }

    /// The settings it was fitted with, if there are any.
    fn settings(&self) -> Value {
        Value::Null
    }

    /// The training curve, and why it ended, of a detector that was trained.
    fn training(&self) -> Option<(&[CurvePoint], Ending)> {
        None
    }

    /// What went wrong in a fit that came to its end all the same.
    fn warning(&self) -> Option<String> {
        None
    }

    /// Puts what was learned into arrays and a JSON document.
    fn save(&self, tensors: &mut Tensors) -> serde_json::Result<Value>;
}

/// The plain references: what a network has to beat.
pub fn references() -> Vec<Box<dyn MaskMethod>> {
    vec![Box::new(ForegroundShare), Box::new(LargestComponent)]
}

/// The method of that name among `methods`.
pub fn method_named(methods: Vec<Box<dyn MaskMethod>>, name: &str) -> Result<Box<dyn MaskMethod>> {
    let names: Vec<&str> = methods.iter().map(|method| method.name()).collect();
    let problem = Error::config("method", format!("`{name}` is not one of {}", names.join(", ")));
    methods.into_iter().find(|method| method.name() == name).ok_or(problem)
}
