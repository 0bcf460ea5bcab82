//! The networks of gnsm for segmentation masks, on burn: on a CPU by default, on GPUs by the features `cuda`, `metal` and `vulkan`.
//!
//! 1. `ops`: convolution, group norm and resampling, by hand where the device is a CPU.
//! 2. `weights`, `layers`: what networks are made of.
//! 3. `ncsn`, `efficient`: the score network, and the one of Deep SVDD.
//! 4. `pictures`: pairs of an image and a mask as numbers; `denoiser`: how the score network learns.
//! 5. `score_matching` with its head in `evidence`, `dsvdd`: the methods, as `gnsm::mask` asks for them.
//!
//! Noise, loss, training loop, densities, calibration and model files are the library's.

mod config;
mod denoiser;
mod dsvdd;
mod efficient;
mod evidence;
mod layers;
mod ncsn;
mod ops;
mod pictures;
mod score_matching;
mod weights;

use std::sync::LazyLock;

use burn_tensor::Device;
use gnsm::mask::{MaskMethod, REFERENCES};

pub use config::{MaskGnsmConfig, MaskHead};
pub use dsvdd::{Dsvdd, DsvddConfig};
pub use efficient::EncoderSize;
pub use ncsn::NetworkSize;
pub use score_matching::Gnsm;

/// The names of all methods for masks, the default first.
pub const METHODS: [&str; 4] = ["gnsm", "dsvdd", "foreground-share", "largest-component"];

/// All methods for masks with their default settings, in the order of [`METHODS`]; each reads the models of any settings.
pub fn methods() -> Vec<&'static dyn MaskMethod> {
    static GNSM: LazyLock<Gnsm> = LazyLock::new(Gnsm::default);
    static DSVDD: LazyLock<Dsvdd> = LazyLock::new(Dsvdd::default);
    let networks: [&'static dyn MaskMethod; 2] = [&*GNSM, &*DSVDD];
    networks.into_iter().chain(REFERENCES).collect()
}

/// Where networks run: a GPU if one was built in, otherwise the CPU. The variable `BURN_DEVICE` names another.
fn device() -> Device {
    Device::default()
}
