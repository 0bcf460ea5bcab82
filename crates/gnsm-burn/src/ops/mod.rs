//! What the networks are made of, on pictures [images, rows, columns, channels]: convolution, group norm, resampling.
//!
//! On a CPU each is a [`Kernel`] of our own with its own gradient. Channels are contiguous, so a convolution is a
//! matrix product over gathered neighbours, and an activation costs no pass of its own. On any other device each is
//! made of burn's operations. The tests compare the kernels with those.
//!
//! A kernel treats every image by itself and sums over images in a fixed order. So its results do not depend on the
//! number of threads, and the output of an image does not depend on the images beside it.

mod convolution;
mod group_norm;
mod kernel;
mod product;
mod resampling;

use burn_tensor::Tensor;
use burn_tensor::activation::silu;
use burn_tensor::module::{conv_transpose2d, conv2d};
use burn_tensor::ops::{ConvOptions, ConvTransposeOptions};

use convolution::ConvolutionKernel;
use group_norm::GroupNorm;
use kernel::apply;
pub use resampling::Direction;
use resampling::Resampling;

/// Convolution with a square window of side 1 or 3, stride 1, zeros beyond the border.
///
/// `weight` is [side² · inputs, outputs], the window's rows first; `bias` is [1, outputs], or [images, outputs] for one of each image's own.
pub fn convolve(x: Tensor<4>, weight: Tensor<2>, bias: Tensor<2>) -> Tensor<4> {
    let [_, _, _, inputs] = x.dims();
    let side = if weight.dims()[0] == inputs { 1 } else { 3 };
    if kernel::runs_on(&x) {
        return apply(ConvolutionKernel { side }, [x.into(), weight.into(), bias.into()]);
    }
    convolve_by_burn(x, weight, bias, side)
}

fn convolve_by_burn(x: Tensor<4>, weight: Tensor<2>, bias: Tensor<2>, side: usize) -> Tensor<4> {
    let ([_, _, _, inputs], [_, outputs], [images, _]) = (x.dims(), weight.dims(), bias.dims());
    let weight = weight.reshape([side, side, inputs, outputs]).permute([3, 2, 0, 1]);
    let options = ConvOptions::new([1, 1], [side / 2, side / 2], [1, 1], 1);
    let y = conv2d(x.permute([0, 3, 1, 2]), weight, None, options).permute([0, 2, 3, 1]);
    y + bias.reshape([images, 1, 1, outputs])
}

/// Group norm (Wu and He 2018) with gain and shift per channel, then SiLU.
pub fn normalise(x: Tensor<4>, gain: Tensor<1>, shift: Tensor<1>, groups: usize) -> Tensor<4> {
    if kernel::runs_on(&x) {
        return apply(GroupNorm { groups }, [x.into(), gain.into(), shift.into()]);
    }
    normalise_by_burn(x, gain, shift, groups)
}

fn normalise_by_burn(x: Tensor<4>, gain: Tensor<1>, shift: Tensor<1>, groups: usize) -> Tensor<4> {
    let [images, height, width, channels] = x.dims();
    let grouped = x.reshape([images, height * width, groups, channels / groups]);
    let mean = grouped.clone().mean_dim(1).mean_dim(3);
    let centred = grouped - mean;
    let variance = centred.clone().powi_scalar(2).mean_dim(1).mean_dim(3);
    let scaled = centred / (variance + group_norm::EPSILON).sqrt();
    let scaled = scaled.reshape([images, height, width, channels]);
    silu(scaled * gain.reshape([1, 1, 1, channels]) + shift.reshape([1, 1, 1, channels]))
}

/// Half or twice the height and width through the filter (1, 3, 3, 1), as Song et al. 2021 do after Zhang 2019: no aliasing.
pub fn resample(x: Tensor<4>, direction: Direction) -> Tensor<4> {
    if kernel::runs_on(&x) {
        return apply(Resampling { direction }, [x.into()]);
    }
    resample_by_burn(x, direction)
}

fn resample_by_burn(x: Tensor<4>, direction: Direction) -> Tensor<4> {
    let channels = x.dims()[3];
    let line = Tensor::<1>::from_floats(resampling::FILTER, &x.device());
    let window = line.clone().reshape([1, 1, 4, 1]) * line.reshape([1, 1, 1, 4]);
    let window = window.repeat_dim(0, channels);
    let x = x.permute([0, 3, 1, 2]);
    let y = match direction {
        Direction::Down => conv2d(x, window, None, ConvOptions::new([2, 2], [1, 1], [1, 1], channels)),
        Direction::Up => {
            let options = ConvTransposeOptions::new([2, 2], [1, 1], [0, 0], [1, 1], channels);
            conv_transpose2d(x, window, None, options) * 4.0
        }
    };
    y.permute([0, 2, 3, 1])
}

#[cfg(test)]
mod tests;
