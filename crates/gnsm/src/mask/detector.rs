//! What a detector of odd masks can do, and the list of those that need no network.
//!
//! A method is an object that carries its settings, so that a crate with networks can bring its own; whoever fits or loads a model says which
//! methods there are. Higher scores mean odder masks, and a score depends on the model and the mask alone.

use super::foreground_share::ForegroundShare;
use super::largest_component::LargestComponent;
use super::sample::Sample;
use crate::container::Tensors;
use crate::error::{Error, Result};

/// A way to find odd masks, with its settings.
pub trait MaskMethod: Sync {
    /// The name on the command line and in files.
    fn name(&self) -> &'static str;

    /// Fits on `training` samples; `validation` samples are for what has to be chosen, and where nothing has, they train too.
    fn fit(&self, training: &[Sample], validation: &[Sample], setup: &Setup) -> Result<Box<dyn MaskDetector>>;

    /// Reads what [`MaskDetector::save`] made of a detector; says what is wrong with it.
    fn load(
        &self,
        content: serde_json::Value,
        tensors: &mut Tensors,
        setup: &Setup,
    ) -> std::result::Result<Box<dyn MaskDetector>, String>;
}

/// What every fit is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// The number of classes, the background included.
    pub classes: usize,
    /// Where all randomness comes from.
    pub seed: u64,
}

/// A fitted detector.
pub trait MaskDetector: std::fmt::Debug + Send + Sync {
    /// A score for each sample, from the sample alone.
    fn score(&self, samples: &[Sample]) -> Vec<f64>;

    /// Puts what was learned into arrays and a JSON document.
    fn save(&self, tensors: &mut Tensors) -> serde_json::Value;
}

/// The plain references: what a network has to beat.
pub const REFERENCES: [&dyn MaskMethod; 2] = [&ForegroundShare, &LargestComponent];

/// The method of that name among `methods`.
pub fn method_named<'a>(methods: &[&'a dyn MaskMethod], name: &str) -> Result<&'a dyn MaskMethod> {
    methods.iter().copied().find(|method| method.name() == name).ok_or_else(|| {
        let names: Vec<&str> = methods.iter().map(|method| method.name()).collect();
        Error::config("method", format!("`{name}` is not one of {}", names.join(", ")))
    })
}
