//! What networks compute with: tensors of four axes [images, rows, columns, channels], operations on them, and the
//! gradient of a result by what is learned.
//!
//! On a CPU every operation is a [`Kernel`] of our own with its own gradient. Channels are contiguous, so a convolution
//! is a matrix product over gathered neighbours, and an activation costs no pass of its own. A tensor knows what it was
//! made of, as long as something that is learned is among it, so that [`Tensor::backward`] can go back from a result.
//! On any other device the operations are made of burn's (`burn.rs`, with the features for GPUs). The tests compare the
//! two.
//!
//! A kernel treats every image by itself and sums over images in a fixed order. So its results do not depend on the
//! number of threads, and the output of an image does not depend on the images beside it.

mod around;
mod attention;
#[cfg(feature = "burn")]
mod burn;
mod convolution;
mod group_norm;
mod kernel;
mod plain;
mod product;
mod resampling;
mod tensor;

pub use kernel::Shape;
pub use resampling::Direction;
pub use tensor::{Device, Gradients, Tensor};

/// What can be done with tensors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operation {
    /// Convolution of x with a square window of side 1 or 3, stride 1, zeros beyond the border. The weight is [1, 1,
    /// side² · inputs, outputs], the window's rows first; the bias [1, 1, 1, outputs], or [images, 1, 1, outputs] for
    /// one of each image's own.
    Convolve { side: usize },
    /// Convolution of each channel by itself with a window of its own, [channels, 1, 3, 3].
    LookAround,
    /// Group norm (Wu and He 2018) with gain and shift per channel, [1, 1, 1, channels], then SiLU.
    Normalise { groups: usize },
    /// Half or twice the height and width through the filter (1, 3, 3, 1), as Song et al. 2021 do after Zhang 2019: no
    /// aliasing.
    Resample(Direction),
    /// Attention of every pixel to every other: softmax(query · keyᵀ / √channels) · value.
    Attend,
    /// (a + b) times a number. b may be one image for all.
    Add { times: f32 },
    /// The channels of a, then those of b.
    Join,
    /// Squares of pixels become single places with more channels.
    Fold { side: usize },
    /// The way back.
    Unfold { side: usize },
    /// x · sigmoid(x).
    Silu,
    /// 1 / (1 + e^−x).
    Sigmoid,
    /// The mean over the picture, [images, 1, 1, channels].
    Pool,
    /// Each channel of an image times a number of its own, [images, 1, 1, channels].
    Weigh,
}

#[cfg(test)]
mod tests;
