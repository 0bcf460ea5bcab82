//! Makes pictures half or twice the size, through a filter.
//!
//! Down, output i takes inputs 2i − 1 to 2i + 2 with the weights of [`FILTER`], zeros beyond the border, along both
//! axes. Up is the adjoint, times 4 so that a constant stays one. So each is the other's gradient but for that factor.

use gnsm::internals::math::simd;
use rayon::prelude::*;

use super::kernel::{Kernel, Numbers, Shape};

/// The weights along an axis.
pub const FILTER: [f32; 4] = [0.125, 0.375, 0.375, 0.125];

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Half the size; both sides must be even.
    Down,
    /// Twice the size.
    Up,
}

/// Resampling one way.
#[derive(Debug, Clone, Copy)]
pub struct Resampling {
    pub direction: Direction,
}

impl Kernel<1> for Resampling {
    fn forward(self, [x]: [Numbers<'_>; 1]) -> (Vec<f32>, Shape) {
        let [images, height, width, channels] = x.shape;
        match self.direction {
            Direction::Down => {
                (down(x.values, height, width, channels, 1.0), [images, height / 2, width / 2, channels])
            }
            Direction::Up => (up(x.values, height, width, channels, 4.0), [images, 2 * height, 2 * width, channels]),
        }
    }

    fn backward(self, [x]: [Numbers<'_>; 1], gradient: &[f32], wanted: [bool; 1]) -> [Option<Vec<f32>>; 1] {
        let [_, height, width, channels] = x.shape;
        [wanted[0].then(|| match self.direction {
            Direction::Down => up(gradient, height / 2, width / 2, channels, 1.0),
            Direction::Up => down(gradient, 2 * height, 2 * width, channels, 4.0),
        })]
    }
}

/// The filter's sums over an image of height × width, times `gain`.
fn down(x: &[f32], height: usize, width: usize, channels: usize, gain: f32) -> Vec<f32> {
    let line = width * channels;
    let mut y = vec![0.0; x.len() / 4];
    let images = x.par_chunks_exact(height * line);
    y.par_chunks_exact_mut(height * line / 4).zip(images).for_each_init(
        || vec![0.0; line],
        |sum, (y, x)| {
            simd(
                #[inline(always)]
                || {
                    for (row, y) in y.chunks_exact_mut(line / 2).enumerate() {
                        sum.fill(0.0);
                        for (above, weight) in near(row, height) {
                            add_times(sum, &x[above * line..][..line], gain * weight);
                        }
                        for (column, y) in y.chunks_exact_mut(channels).enumerate() {
                            for (beside, weight) in near(column, width) {
                                add_times(y, &sum[beside * channels..][..channels], weight);
                            }
                        }
                    }
                },
            );
        },
    );
    y
}

/// The adjoint of [`down`] for an image of height × width, times `gain`.
fn up(x: &[f32], height: usize, width: usize, channels: usize, gain: f32) -> Vec<f32> {
    let line = 2 * width * channels;
    let mut y = vec![0.0; 4 * x.len()];
    let images = x.par_chunks_exact(height * line / 2);
    y.par_chunks_exact_mut(2 * height * line).zip(images).for_each_init(
        || vec![0.0; line],
        |spread, (y, x)| {
            simd(
                #[inline(always)]
                || {
                    for (row, x) in x.chunks_exact(line / 2).enumerate() {
                        spread.fill(0.0);
                        for (column, x) in x.chunks_exact(channels).enumerate() {
                            for (beside, weight) in near(column, 2 * width) {
                                add_times(&mut spread[beside * channels..][..channels], x, gain * weight);
                            }
                        }
                        for (above, weight) in near(row, 2 * height) {
                            add_times(&mut y[above * line..][..line], spread, weight);
                        }
                    }
                },
            );
        },
    );
    y
}

/// The places on the long side that belong to a place on the short one, with their weights.
#[inline(always)]
fn near(place: usize, long: usize) -> impl Iterator<Item = (usize, f32)> {
    // The first place is 2i − 1, which for i = 0 lies beyond the border.
    let skipped = usize::from(place == 0);
    (2 * place + skipped..=2 * place + 3)
        .map(|shifted| shifted - 1)
        .zip(FILTER.into_iter().skip(skipped))
        .take_while(move |(place, _)| *place < long)
}

#[inline(always)]
fn add_times(to: &mut [f32], from: &[f32], weight: f32) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = weight.mul_add(*from, *to);
    }
}
