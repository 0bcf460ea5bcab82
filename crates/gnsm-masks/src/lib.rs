//! The networks of gnsm for segmentation masks. They run on a CPU by default, and on GPUs with the features `cuda`, `metal`
//! and `vulkan`.
//!
//! 1. `engine`: tensors, what can be done with them, and gradients.
//! 2. `weights`, `layers`: what networks are made of.
//! 3. `ncsn`, `efficient`: the score network, and the one of Deep SVDD.
//! 4. `pictures`: an image and its mask as numbers. `descent`: how a network learns. `denoiser`: what the score network
//!    learns.
//! 5. `score_matching` with its head in `evidence`, `dsvdd`: the methods. `method`: the methods as `gnsm::mask` asks
//!    for them.
//!
//! Noise, loss, training loop, densities, calibration and model files are the library's.

mod config;
mod denoiser;
mod descent;
mod dsvdd;
mod efficient;
mod engine;
mod evidence;
mod layers;
mod method;
mod ncsn;
mod pictures;
#[cfg(test)]
mod reference;
mod score_matching;
mod weights;

use gnsm::mask::{MaskMethod, references};

pub use config::{MaskGnsmConfig, MaskHead};
pub use dsvdd::{MaskDsvdd, MaskDsvddConfig};
pub use efficient::EncoderSize;
pub use method::NetworkMethod;
pub use ncsn::NcsnSize;
pub use score_matching::MaskGnsm;

/// All methods for masks with their default settings, the default first; each reads the models of any settings.
pub fn methods() -> Vec<Box<dyn MaskMethod>> {
    let mut methods: Vec<Box<dyn MaskMethod>> = vec![Box::new(MaskGnsm::default()), Box::new(MaskDsvdd::default())];
    methods.extend(references());
    methods
}

/// The name of the device on which networks run, for people.
pub fn device_name() -> String {
    engine::Device::chosen().name()
}
