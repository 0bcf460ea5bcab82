//! Segmentation masks: reading them, measuring them against the truth, and finding odd ones without it.
//!
//! A mask gives every pixel a class; class 0 is the background. It goes through these modules, in this order:
//!
//! 1. `list`, `read`, `nifti`: the names of a list, and the mask and image of each, pictures or volumes.
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
//! **Volumes.** Metrics are computed in three dimensions, with the distances between voxels. A detector sees the slices
//! of a volume one by one. A volume is as odd as its oddest slice, and it is learned from, held out and calibrated as a
//! whole.

mod grid;
mod list;
mod read;
mod nifti;
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
pub use distance::{spaced_distances, squared_distances};
pub use foreground_share::ForegroundShare;
pub use grid::{Grid, Image, Mask};
pub use largest_component::LargestComponent;
pub use list::read_list;
pub use model::{MaskFitOptions, MaskModel, MaskReport, Verdict};
pub use nifti::Volume;
pub use quality::{Distances, Quality, compare, compare_spaced};
pub use ranking::{Association, ImageTable, associate};
pub use read::{
    MaskFolder, image_file, image_from_bytes, is_volume, mask_from_bytes, png_of_image, read_image, read_mask,
    volume_file,
};
pub use sample::{Preparation, Sample};

/// The label of void pixels unless told otherwise.
pub const VOID: u8 = 255;
/// The class of the background.
pub const BACKGROUND: u8 = 0;
