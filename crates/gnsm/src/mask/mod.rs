//! Segmentation masks: reading them, measuring them against the truth, and finding odd ones without it.
//!
//! A mask gives every pixel a class; class 0 is the background. It goes through these modules, in this order:
//!
//! 1. `list`, `read`: the names of a list, and the mask and image of each.
//! 2. `grid`: labels on a grid of any small dimension. `distance`, `components`: what is computed on it.
//! 3. `quality`: Dice, surface distances and the like, where the truth is known.
//! 4. `sample`: a mask as detectors see it. `detector`: what a detector of odd masks can do, and the list of those that
//!    need no network, one file each.
//! 5. `model`: the fitted detector and its calibration; saved, loaded, and given masks to score.
//! 6. `ranking`: whether high scores go with low quality.
//!
//! **Void.** Masks may mark pixels that nobody can judge, by default with label 255. To a detector they are background,
//! as in the paper's code. Predictions have no void pixels, so a detector that saw them in training would find their
//! absence odd. `quality` says what they are to the metrics.
//!
//! Everything but the readers is written for any number of axes. So volumes need a reader and nothing else.

mod grid;
mod list;
mod read;
mod distance;
mod components;
mod quality;
mod sample;
mod detector;
mod foreground_share;
mod largest_component;
mod model;
mod ranking;

pub use components::largest_components;
pub use detector::{MaskDetector, MaskMethod, Setup, method_named, references};
pub use distance::squared_distances;
pub use foreground_share::ForegroundShare;
pub use grid::{Grid, Image, Mask};
pub use largest_component::LargestComponent;
pub use list::read_list;
pub use model::{MaskFitOptions, MaskModel, MaskReport};
pub use quality::{Distances, Quality, compare};
pub use ranking::{Association, ImageTable, associate};
pub use read::{MaskFolder, image_file, image_from_bytes, mask_from_bytes, png_of_image, read_image, read_mask};
pub use sample::{Preparation, Sample};

/// The label of void pixels unless told otherwise.
pub const VOID: u8 = 255;
/// The class of the background.
pub const BACKGROUND: u8 = 0;
