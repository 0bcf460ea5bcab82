//! A mask as a detector sees it: void is background, every class is one of K, and the size is the model's.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::grid::{Image, Mask};
use super::read::{MaskFolder, check_pair};
use super::{BACKGROUND, VOID};
use crate::error::{Advice, Error, Place, Result};

/// What a detector learns from and scores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The mask.
    pub mask: Mask,
    /// Its image, of the same size, if there is a folder for images.
    pub image: Option<Image>,
}

/// How masks become samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Preparation {
    /// The label that becomes background.
    pub void: Option<u8>,
    /// The number of classes; a label that is not below it is an error. `None` takes all labels for classes.
    pub classes: Option<u32>,
    /// The height and width that masks are resized to, by nearest neighbour; `None` keeps them as they are stored.
    pub size: Option<u32>,
}

impl Default for Preparation {
    fn default() -> Self {
        Self { void: Some(VOID), classes: None, size: None }
    }
}

impl Preparation {
    /// Names the setting that is out of its range.
    pub fn validate(&self) -> Result<()> {
        if let Some(classes) = self.classes
            && !(2..=256).contains(&classes)
        {
            return Err(Error::config("classes", format!("is {classes}, must lie between 2 and 256")));
        }
        if let Some(size) = self.size
            && !(1..=4096).contains(&size)
        {
            return Err(Error::config("size", format!("is {size}, must lie between 1 and 4096")));
        }
        Ok(())
    }

    /// Reads the samples of these names, on all threads. If one name fails, the others do not. A picture has one
    /// sample, a volume one for each slice.
    pub fn read(&self, folder: &MaskFolder, names: &[String]) -> Vec<Result<Vec<Sample>>> {
        let read = |name: &String| -> Result<Vec<Sample>> {
            let pairs = folder.read(name)?.into_iter();
            pairs.map(|(mask, image)| self.prepare(mask, image, &folder.file(name).display().to_string())).collect()
        };
        names.par_iter().map(read).collect()
    }

    /// A sample from a mask and its image, which must be of the same size; errors call them `name`.
    pub fn prepare(&self, mut mask: Mask, mut image: Option<Image>, name: &str) -> Result<Sample> {
        check_pair(&mask, image.as_ref(), name)?;
        for label in mask.cells_mut() {
            if Some(*label) == self.void {
                *label = BACKGROUND;
            }
        }
        let highest = mask.cells().iter().copied().max().unwrap_or(BACKGROUND);
        if let Some(classes) = self.classes
            && u32::from(highest) >= classes
        {
            let place = Place { file: name.to_owned(), ..Place::default() };
            let problem = format!("holds class {highest}, and classes are 0 to {}", classes - 1);
            return Err(Error::data(
                place,
                problem,
                Advice::from("mend the mask, or fit with more classes, by ").setting("classes", None),
            ));
        }
        if let Some(size) = self.size {
            let shape = [size as usize; 2];
            mask = mask.resized(shape).unwrap_or(mask);
            image = image.map(|image| image.averaged(shape).unwrap_or(image));
        }
        Ok(Sample { mask, image })
    }
}
