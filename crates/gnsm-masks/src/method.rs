//! A method with a network, as `gnsm::mask` asks for it: what all of them have in common.

use gnsm::Result;
use gnsm::internals::files::{Loaded, Store, Tensors};
use gnsm::internals::train::{Run, TrainingConfig};
use gnsm::mask::{MaskDetector, MaskMethod, Sample, Setup};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::pictures::check_images;

/// The settings of a method, and how it is fitted with them.
pub trait NetworkSettings: Serialize + DeserializeOwned + Sync {
    /// The name on the command line and in files.
    const NAME: &'static str;
    /// What is fitted.
    type Fitted: MaskDetector + Store<Shape = Setup> + 'static;

    /// The side of the pictures unless told otherwise.
    fn size(&self) -> u32;

    /// The training loop.
    fn training(&self) -> &TrainingConfig;

    /// Fits on `training` pairs, all of which have an image; `validation` pairs stop the training.
    fn fit(&self, training: &[Sample], validation: &[Sample], setup: &Setup, run: Run<'_>) -> Result<Self::Fitted>;
}

/// A method with its settings.
#[derive(Debug, Clone, Default)]
pub struct NetworkMethod<C> {
    /// The settings.
    pub config: C,
}

impl<C: NetworkSettings> MaskMethod for NetworkMethod<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn default_size(&self) -> Option<u32> {
        Some(self.config.size())
    }

    fn needs_images(&self) -> bool {
        true
    }

    fn settings(&self) -> Value {
        serde_json::json!(self.config)
    }

    fn set(&mut self, settings: Value) -> std::result::Result<(), String> {
        self.config = serde_json::from_value(settings).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn training(&self) -> Option<&TrainingConfig> {
        Some(self.config.training())
    }

    fn fit(
        &self,
        training: &[Sample],
        validation: &[Sample],
        setup: &Setup,
        run: Run<'_>,
    ) -> Result<Box<dyn MaskDetector>> {
        check_images(&[training, validation])?;
        Ok(Box::new(self.config.fit(training, validation, setup, run)?))
    }

    fn load(&self, document: Value, setup: &Setup, tensors: &mut Tensors) -> Loaded<Box<dyn MaskDetector>> {
        Ok(Box::new(C::Fitted::load(document, setup, tensors)?))
    }
}
