//! Convolution of each channel by itself, with a window of 3 × 3 of its own and zeros beyond the border.

use gnsm::internals::math::simd;
use rayon::prelude::*;

use super::convolution::sum_rows;
use super::kernel::{Kernel, Numbers, Shape};

/// Places of a window.
const PLACES: usize = 9;

/// The operation; its inputs are x, and the windows [channels, 1, 3, 3].
#[derive(Debug, Clone, Copy)]
pub struct Around;

impl Kernel<2> for Around {
    fn forward(self, [x, windows]: [Numbers<'_>; 2]) -> (Vec<f32>, Shape) {
        (run(x.values, x.shape, &by_place(windows.values, |place| place)), x.shape)
    }

    fn backward(self, [x, windows]: [Numbers<'_>; 2], gradient: &[f32], wanted: [bool; 2]) -> [Option<Vec<f32>>; 2] {
        // The gradient of x is a convolution of the output's with the windows turned round.
        let of_x = wanted[0].then(|| run(gradient, x.shape, &by_place(windows.values, |place| PLACES - 1 - place)));
        let of_windows = wanted[1].then(|| {
            let [_, height, width, channels] = x.shape;
            let images = x.values.par_chunks_exact(x.per_image()).zip(gradient.par_chunks_exact(x.per_image()));
            let sums: Vec<Vec<f32>> = images
                .map(|(x, gradient)| {
                    let mut sums = vec![0.0; PLACES * channels];
                    simd(
                        #[inline(always)]
                        || {
                            for (pixel, other, place) in pairs(height, width) {
                                let (x, gradient) = (&x[other * channels..], &gradient[pixel * channels..]);
                                let sums = &mut sums[place * channels..][..channels];
                                for ((sum, x), gradient) in sums.iter_mut().zip(x).zip(gradient) {
                                    *sum = x.mul_add(*gradient, *sum);
                                }
                            }
                        },
                    );
                    sums
                })
                .collect();
            let sums = sum_rows(&sums.concat(), PLACES * channels);
            (0..channels * PLACES).map(|i| sums[i % PLACES * channels + i / PLACES]).collect()
        });
        [of_x, of_windows]
    }
}

/// Windows [places, channels] from [channels, places]: for each place the weights of one.
fn by_place(windows: &[f32], which: impl Fn(usize) -> usize) -> Vec<f32> {
    (0..PLACES).flat_map(|place| windows.iter().skip(which(place)).step_by(PLACES)).copied().collect()
}

fn run(x: &[f32], [_, height, width, channels]: Shape, windows: &[f32]) -> Vec<f32> {
    let mut y = vec![0.0; x.len()];
    let per_image = height * width * channels;
    y.par_chunks_exact_mut(per_image).zip(x.par_chunks_exact(per_image)).for_each(|(y, x)| {
        simd(
            #[inline(always)]
            || {
                for (pixel, other, place) in pairs(height, width) {
                    let (x, window) = (&x[other * channels..], &windows[place * channels..]);
                    for ((y, x), weight) in y[pixel * channels..][..channels].iter_mut().zip(x).zip(window) {
                        *y = x.mul_add(*weight, *y);
                    }
                }
            },
        );
    });
    y
}

/// Every pixel with each of its neighbours inside the image, and the neighbour's place in the window.
#[inline(always)]
fn pairs(height: usize, width: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..height * width * PLACES).filter_map(move |i| {
        let (pixel, place) = (i / PLACES, i % PLACES);
        let line = (pixel / width + place / 3).checked_sub(1).filter(|line| *line < height)?;
        let column = (pixel % width + place % 3).checked_sub(1).filter(|column| *column < width)?;
        Some((pixel, line * width + column, place))
    })
}
