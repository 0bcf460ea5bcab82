//! Operations on CPU memory.

use std::fmt::Debug;

use super::Operation;
use super::around::Around;
use super::attention::Attention;
use super::convolution::ConvolutionKernel;
use super::group_norm::GroupNorm;
use super::plain::{Add, Fold, Join, Pool, Sigmoid, Silu, Unfold, Weigh};
use super::resampling::Resampling;

/// The lengths of the axes: images, rows, columns, channels.
pub type Shape = [usize; 4];

/// Numbers and how they lie: the last axis runs fastest.
#[derive(Debug, Clone, Copy)]
pub struct Numbers<'a> {
    pub values: &'a [f32],
    pub shape: Shape,
}

impl Numbers<'_> {
    /// The numbers of one image.
    pub fn per_image(&self) -> usize {
        self.shape[1..].iter().product()
    }

    /// The pixels of one image.
    pub fn pixels(&self) -> usize {
        self.shape[1] * self.shape[2]
    }
}

/// An operation with N inputs and one output.
pub trait Kernel<const N: usize>: Copy + Debug {
    /// The output and its shape.
    fn forward(self, inputs: [Numbers<'_>; N]) -> (Vec<f32>, Shape);

    /// The gradient of each input that is wanted, from the output's.
    fn backward(self, inputs: [Numbers<'_>; N], gradient: &[f32], wanted: [bool; N]) -> [Option<Vec<f32>>; N];
}

/// Hands the kernel of an operation to `$run`.
macro_rules! with_kernel {
    ($operation:expr, $run:ident($($argument:expr),*)) => {
        match $operation {
            Operation::Convolve { side } => $run(ConvolutionKernel { side }, $($argument),*),
            Operation::LookAround => $run(Around, $($argument),*),
            Operation::Normalise { groups } => $run(GroupNorm { groups }, $($argument),*),
            Operation::Resample(direction) => $run(Resampling { direction }, $($argument),*),
            Operation::Attend => $run(Attention, $($argument),*),
            Operation::Add { times } => $run(Add { times }, $($argument),*),
            Operation::Join => $run(Join, $($argument),*),
            Operation::Fold { side } => $run(Fold { side }, $($argument),*),
            Operation::Unfold { side } => $run(Unfold { side }, $($argument),*),
            Operation::Silu => $run(Silu, $($argument),*),
            Operation::Sigmoid => $run(Sigmoid, $($argument),*),
            Operation::Pool => $run(Pool, $($argument),*),
            Operation::Weigh => $run(Weigh, $($argument),*),
        }
    };
}

impl Operation {
    /// The output and its shape.
    pub(super) fn forward(self, inputs: &[Numbers<'_>]) -> (Vec<f32>, Shape) {
        with_kernel!(self, forward(inputs))
    }

    /// The gradient of each input that is wanted, from the output's.
    pub(super) fn backward(self, inputs: &[Numbers<'_>], gradient: &[f32], wanted: &[bool]) -> Vec<Option<Vec<f32>>> {
        with_kernel!(self, backward(inputs, gradient, wanted))
    }
}

fn forward<K: Kernel<N>, const N: usize>(kernel: K, inputs: &[Numbers<'_>]) -> (Vec<f32>, Shape) {
    kernel.forward(all(inputs))
}

fn backward<K: Kernel<N>, const N: usize>(
    kernel: K,
    inputs: &[Numbers<'_>],
    gradient: &[f32],
    wanted: &[bool],
) -> Vec<Option<Vec<f32>>> {
    kernel.backward(all(inputs), gradient, all(wanted)).into()
}

fn all<T: Copy, const N: usize>(values: &[T]) -> [T; N] {
    values.try_into().expect("an operation has as many inputs as it takes")
}
