//! `foreground-share`: a mask is odd if its foreground takes up an unusual share of the image.
//!
//! The score is −log of the two-sided tail of the share among the training masks, in nats. It sees neither the image
//! nor any shape. So it only finds segmenters that fail by marking nothing, or everything. The model keeps the sorted
//! shares.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::BACKGROUND;
use super::detector::{MaskDetector, MaskMethod, Setup};
use super::grid::Mask;
use super::sample::Sample;
use crate::density::TwoSidedTail;
use crate::error::Result;
use crate::files::{Loaded, Store, Tensors};
use crate::train::Run;

/// The method; it has no settings.
#[derive(Debug, Clone, Copy)]
pub struct ForegroundShare;

/// The shares of the training masks.
#[derive(Debug)]
pub struct SharesOfMasks {
    shares: TwoSidedTail,
}

/// What is stored as JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredShares {
    masks: usize,
}

impl MaskMethod for ForegroundShare {
    fn name(&self) -> &'static str {
        "foreground-share"
    }

    fn fit(&self, training: &[Sample], validation: &[Sample], _: &Setup, _: Run<'_>) -> Result<Box<dyn MaskDetector>> {
        let shares = training.iter().chain(validation).map(|sample| share(&sample.mask)).collect();
        Ok(Box::new(SharesOfMasks { shares: TwoSidedTail::fit(shares) }))
    }

    fn load(&self, document: Value, setup: &Setup, tensors: &mut Tensors) -> Loaded<Box<dyn MaskDetector>> {
        Ok(Box::new(SharesOfMasks::load(document, setup, tensors)?))
    }
}

impl MaskDetector for SharesOfMasks {
    fn score(&self, samples: &[Sample]) -> Vec<f64> {
        samples.par_iter().map(|sample| self.shares.nats(share(&sample.mask))).collect()
    }

    fn save(&self, tensors: &mut Tensors) -> serde_json::Result<Value> {
        Store::save(self, tensors)
    }
}

impl Store for SharesOfMasks {
    type Document = StoredShares;
    type Shape = Setup;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredShares> {
        tensors.put("shares", self.shares.values().to_vec());
        Ok(StoredShares { masks: self.shares.values().len() })
    }

    fn read(StoredShares { masks }: StoredShares, _: &Setup, tensors: &mut Tensors) -> Loaded<Self> {
        Ok(Self { shares: take_tail("shares", masks, tensors)? })
    }
}

/// Takes the numbers of a tail out of a file.
pub(super) fn take_tail(name: &str, length: usize, tensors: &mut Tensors) -> Loaded<TwoSidedTail> {
    Ok(TwoSidedTail::from_sorted(tensors.take(name, length)?)
        .ok_or_else(|| format!("tensor `{name}` does not ascend"))?)
}

fn share(mask: &Mask) -> f64 {
    let foreground = mask.cells().iter().filter(|label| **label != BACKGROUND).count();
    foreground as f64 / mask.cells().len() as f64
}
