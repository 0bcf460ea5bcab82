//! `largest-component`: a mask is odd if the largest piece of one of its classes is unusually large or small for that
//! class.
//!
//! For each foreground class of the mask, take the share of the image that its largest connected component covers. It
//! is compared with the shares in the training masks that have the class: −log of the two-sided tail, in nats. The
//! score is that of the oddest class.
//!
//! - Which class it is does not matter, unless no training mask has it. Then it costs log(n + 1), the rule of
//!   succession over all n masks.
//! - A mask without foreground costs −log((1 + m) / (1 + n)), where m training masks have none either.
//!
//! The model keeps the sorted sizes of each class.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::components::largest_components;
use super::detector::{MaskDetector, MaskMethod, Setup};
use super::foreground_share::take_tail;
use super::grid::Mask;
use super::sample::Sample;
use crate::density::TwoSidedTail;
use crate::error::Result;
use crate::files::{Loaded, Store, Tensors};
use crate::train::Run;

/// The method; it has no settings.
#[derive(Debug, Clone, Copy)]
pub struct LargestComponent;

/// The sizes of the largest pieces of the training masks.
#[derive(Debug)]
pub struct SizesOfPieces {
    /// The sizes of each foreground class, from class 1 on.
    sizes: Vec<TwoSidedTail>,
    stored: StoredSizes,
}

/// What is stored as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredSizes {
    /// Training masks.
    masks: usize,
    /// Those without foreground.
    empty: usize,
    /// Those that have each foreground class, from class 1 on.
    masks_of_class: Vec<usize>,
}

impl MaskMethod for LargestComponent {
    fn name(&self) -> &'static str {
        "largest-component"
    }

    fn fit(
        &self,
        training: &[Sample],
        validation: &[Sample],
        setup: &Setup,
        _: Run<'_>,
    ) -> Result<Box<dyn MaskDetector>> {
        let samples: Vec<&Sample> = training.iter().chain(validation).collect();
        let found: Vec<Vec<(usize, f64)>> = samples.par_iter().map(|sample| sizes(&sample.mask)).collect();
        let mut of_class = vec![Vec::new(); setup.classes - 1];
        for (class, size) in found.iter().flatten() {
            of_class[class - 1].push(*size);
        }
        let stored = StoredSizes {
            masks: samples.len(),
            empty: found.iter().filter(|sizes| sizes.is_empty()).count(),
            masks_of_class: of_class.iter().map(Vec::len).collect(),
        };
        Ok(Box::new(SizesOfPieces { sizes: of_class.into_iter().map(TwoSidedTail::fit).collect(), stored }))
    }

    fn load(&self, document: Value, setup: &Setup, tensors: &mut Tensors) -> Loaded<Box<dyn MaskDetector>> {
        Ok(Box::new(SizesOfPieces::load(document, setup, tensors)?))
    }
}

impl SizesOfPieces {
    fn surprise(&self, mask: &Mask) -> f64 {
        let masks = (1 + self.stored.masks) as f64;
        let of_class = |(class, size): (usize, f64)| match self.sizes.get(class - 1) {
            Some(tail) if !tail.values().is_empty() => tail.nats(size),
            _ => masks.ln(),
        };
        let empty = (masks / (1 + self.stored.empty) as f64).ln();
        sizes(mask).into_iter().map(of_class).reduce(f64::max).unwrap_or(empty)
    }
}

impl MaskDetector for SizesOfPieces {
    fn score(&self, samples: &[Sample]) -> Vec<f64> {
        samples.par_iter().map(|sample| self.surprise(&sample.mask)).collect()
    }

    fn save(&self, tensors: &mut Tensors) -> serde_json::Result<Value> {
        Store::save(self, tensors)
    }
}

impl Store for SizesOfPieces {
    type Document = StoredSizes;
    type Shape = Setup;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredSizes> {
        for (tail, class) in self.sizes.iter().zip(1..) {
            tensors.put(&tensor_name(class), tail.values().to_vec());
        }
        Ok(self.stored.clone())
    }

    fn read(stored: StoredSizes, setup: &Setup, tensors: &mut Tensors) -> Loaded<Self> {
        let counts = &stored.masks_of_class;
        if counts.len() + 1 != setup.classes || counts.iter().chain([&stored.empty]).any(|n| *n > stored.masks) {
            return Err("the numbers of masks of each class do not fit".into());
        }
        let sizes = counts.iter().zip(1..).map(|(n, class)| take_tail(&tensor_name(class), *n, tensors));
        Ok(Self { sizes: sizes.collect::<Loaded<_>>()?, stored })
    }
}

fn tensor_name(class: usize) -> String {
    format!("sizes.{class}")
}

/// The foreground classes of a mask, and the share of it that the largest component of each takes up.
fn sizes(mask: &Mask) -> Vec<(usize, f64)> {
    let largest = largest_components(mask);
    let present = largest.iter().enumerate().skip(1).filter(|(_, size)| **size > 0);
    present.map(|(class, size)| (class, *size as f64 / mask.cells().len() as f64)).collect()
}
