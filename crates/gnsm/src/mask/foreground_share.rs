//! `foreground-share`: a mask is odd if its foreground takes up an unusual share of the image.
//!
//! The score is −log of the two-sided tail of the share among the training masks, in nats. It sees neither the image
//! nor any shape. So it only finds segmenters that fail by marking nothing, or everything. The model keeps the sorted
//! shares.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::BACKGROUND;
use super::detector::{MaskDetector, MaskMethod, Setup};
use super::grid::Mask;
use super::sample::Sample;
use super::tail::Tail;
use crate::error::Result;
use crate::files::Tensors;
use crate::train::Run;

/// The method; it has no settings.
#[derive(Debug, Clone, Copy)]
pub struct ForegroundShare;

#[derive(Debug)]
struct Fitted {
    shares: Tail,
    masks: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    masks: usize,
}

impl MaskMethod for ForegroundShare {
    fn name(&self) -> &'static str {
        "foreground-share"
    }

    fn fit(&self, training: &[Sample], validation: &[Sample], _: &Setup, _: Run<'_>) -> Result<Box<dyn MaskDetector>> {
        let shares: Vec<f64> = training.iter().chain(validation).map(|sample| share(&sample.mask)).collect();
        Ok(Box::new(Fitted { masks: shares.len(), shares: Tail::fit(shares) }))
    }

    fn load(
        &self,
        content: serde_json::Value,
        tensors: &mut Tensors,
        _: &Setup,
    ) -> std::result::Result<Box<dyn MaskDetector>, String> {
        let Stored { masks } = serde_json::from_value(content).map_err(|error| error.to_string())?;
        Ok(Box::new(Fitted { shares: Tail::load(tensors, "shares", masks)?, masks }))
    }
}

impl MaskDetector for Fitted {
    fn score(&self, samples: &[Sample]) -> Vec<f64> {
        samples.par_iter().map(|sample| self.shares.surprise(share(&sample.mask))).collect()
    }

    fn save(&self, tensors: &mut Tensors) -> serde_json::Value {
        self.shares.save(tensors, "shares");
        serde_json::json!(Stored { masks: self.masks })
    }
}

fn share(mask: &Mask) -> f64 {
    let foreground = mask.cells().iter().filter(|label| **label != BACKGROUND).count();
    foreground as f64 / mask.cells().len() as f64
}
