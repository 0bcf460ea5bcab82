//! Convolution as matrix products over gathered neighbours.
//!
//! A band of rows of an image is gathered into a matrix: one row per pixel, with the pixel's window in it. Its product
//! with the weights is the band of the output. The matrix of a band stays in the cache. The gradient of the input is a
//! convolution too, of the output's gradient with the window turned round. The gradient of the weights is a product of
//! the same matrix, transposed, with the output's gradient.

use rayon::prelude::*;

use super::kernel::{Kernel, Numbers, Shape};
use super::product::{Product, Read};

/// Numbers of a gathered band, about: half a megabyte.
const BAND: usize = 1 << 17;
/// Parts into which the images of a batch are divided where a sum runs over them; fixed, so that the sum is.
const PARTS: usize = 8;

/// Convolution with a square window, stride 1.
#[derive(Debug, Clone, Copy)]
pub struct ConvolutionKernel {
    pub side: usize,
}

/// The sizes of a batch.
#[derive(Clone, Copy)]
struct Sizes {
    images: usize,
    height: usize,
    width: usize,
    channels: usize,
}

impl Sizes {
    fn of(block: Numbers<'_>) -> Self {
        let [images, height, width, channels] = block.shape;
        Self { images, height, width, channels }
    }

    fn pixels(self) -> usize {
        self.height * self.width
    }
}

impl Kernel<3> for ConvolutionKernel {
    fn forward(self, [x, weight, bias]: [Numbers<'_>; 3]) -> (Vec<f32>, Shape) {
        let (sizes, outputs) = (Sizes::of(x), weight.shape[3]);
        let own_bias = bias.shape[0] > 1;
        let y = self.run(x.values, sizes, weight.values, outputs, |image| {
            let start = if own_bias { image * outputs } else { 0 };
            &bias.values[start..start + outputs]
        });
        (y, [sizes.images, sizes.height, sizes.width, outputs])
    }

    fn backward(
        self,
        [x, weight, bias]: [Numbers<'_>; 3],
        gradient: &[f32],
        wanted: [bool; 3],
    ) -> [Option<Vec<f32>>; 3] {
        let (sizes, outputs) = (Sizes::of(x), weight.shape[3]);
        let d_x = wanted[0].then(|| {
            let turned = self.turned(weight.values, sizes.channels, outputs);
            let zeros = vec![0.0; sizes.channels];
            self.run(gradient, Sizes { channels: outputs, ..sizes }, &turned, sizes.channels, |_| &zeros)
        });
        let d_weight = wanted[1].then(|| self.weight_gradient(x.values, sizes, gradient, outputs));
        let d_bias = wanted[2].then(|| {
            let mut sums = vec![0.0; sizes.images * outputs];
            let images = gradient.par_chunks_exact(sizes.pixels() * outputs);
            sums.par_chunks_exact_mut(outputs).zip(images).for_each(|(sums, image)| {
                for pixel in image.chunks_exact(outputs) {
                    gnsm::internals::math::add(sums, pixel);
                }
            });
            if bias.shape[0] == 1 { sum_rows(&sums, outputs) } else { sums }
        });
        [d_x, d_weight, d_bias]
    }
}

impl ConvolutionKernel {
    fn run<'b>(
        self,
        x: &[f32],
        sizes: Sizes,
        weight: &[f32],
        outputs: usize,
        bias: impl Fn(usize) -> &'b [f32] + Sync,
    ) -> Vec<f32> {
        let mut y = vec![0.0; sizes.images * sizes.pixels() * outputs];
        let images = x.par_chunks_exact(sizes.pixels() * sizes.channels);
        y.par_chunks_exact_mut(sizes.pixels() * outputs).zip(images).enumerate().for_each_init(
            Vec::new,
            |gathered, (index, (y, image))| {
                for pixel in y.chunks_exact_mut(outputs) {
                    pixel.copy_from_slice(bias(index));
                }
                self.for_each_band(image, sizes, gathered, |pixels, band, window| {
                    let product = Product { m: pixels.len(), k: window, n: outputs, a: Read::Plain, b: Read::Plain };
                    product.add_to(&mut y[pixels.start * outputs..pixels.end * outputs], band, weight);
                });
            },
        );
        y
    }

    /// Weights for the gradient of the input: the window turned round, inputs and outputs exchanged.
    fn turned(self, weight: &[f32], inputs: usize, outputs: usize) -> Vec<f32> {
        let places = self.side * self.side;
        let mut turned = vec![0.0; weight.len()];
        for place in 0..places {
            let from = &weight[(places - 1 - place) * inputs * outputs..][..inputs * outputs];
            let to = &mut turned[place * inputs * outputs..][..inputs * outputs];
            for input in 0..inputs {
                for output in 0..outputs {
                    to[output * inputs + input] = from[input * outputs + output];
                }
            }
        }
        turned
    }

    fn weight_gradient(self, x: &[f32], sizes: Sizes, gradient: &[f32], outputs: usize) -> Vec<f32> {
        let window = self.side * self.side * sizes.channels;
        let (in_image, out_image) = (sizes.pixels() * sizes.channels, sizes.pixels() * outputs);
        let per_part = sizes.images.div_ceil(PARTS);
        let parts = x.par_chunks(per_part * in_image).zip(gradient.par_chunks(per_part * out_image));
        let sums: Vec<Vec<f32>> = parts
            .map(|(x, gradient)| {
                let (mut sum, mut gathered) = (vec![0.0; window * outputs], Vec::new());
                for (image, gradient) in x.chunks_exact(in_image).zip(gradient.chunks_exact(out_image)) {
                    self.for_each_band(image, sizes, &mut gathered, |pixels, band, window| {
                        let product =
                            Product { m: window, k: pixels.len(), n: outputs, a: Read::Transposed, b: Read::Plain };
                        product.add_to(&mut sum, band, &gradient[pixels.start * outputs..pixels.end * outputs]);
                    });
                }
                sum
            })
            .collect();
        let sum = |mut sum: Vec<f32>, part: Vec<f32>| {
            gnsm::internals::math::add(&mut sum, &part);
            sum
        };
        sums.into_iter().reduce(sum).unwrap_or_default()
    }

    /// Calls `work` with the pixels of each band of an image, their windows as the rows of a matrix, and the length of such a row.
    fn for_each_band(
        self,
        image: &[f32],
        sizes: Sizes,
        gathered: &mut Vec<f32>,
        mut work: impl FnMut(std::ops::Range<usize>, &[f32], usize),
    ) {
        let Sizes { height, width, channels, .. } = sizes;
        if self.side == 1 {
            return work(0..sizes.pixels(), image, channels);
        }
        let window = 9 * channels;
        let rows = (BAND / (width * window)).clamp(1, height);
        gathered.resize(rows * width * window, 0.0);
        for first in (0..height).step_by(rows) {
            let rows = rows.min(height - first);
            let band = &mut gathered[..rows * width * window];
            for (row, lines) in band.chunks_exact_mut(width * window).enumerate() {
                for third in 0..3 {
                    let line = (first + row + third).checked_sub(1).filter(|line| *line < height);
                    let source = line.map(|line| &image[line * width * channels..][..width * channels]);
                    gather_line(lines, source, third, width, channels);
                }
            }
            work(first * width..(first + rows) * width, band, window);
        }
    }
}

/// Copies each pixel's three neighbours on one line of the image, or zeros, to their third of the pixel's window.
fn gather_line(lines: &mut [f32], source: Option<&[f32]>, third: usize, width: usize, channels: usize) {
    let (window, three) = (9 * channels, 3 * channels);
    let targets = lines.chunks_exact_mut(window).map(|pixel| &mut pixel[third * three..(third + 1) * three]);
    let Some(source) = source else { return targets.for_each(|target| target.fill(0.0)) };
    for (x, target) in targets.enumerate() {
        if x > 0 && x + 1 < width {
            target.copy_from_slice(&source[(x - 1) * channels..][..three]);
            continue;
        }
        for (place, target) in target.chunks_exact_mut(channels).enumerate() {
            match (x + place).checked_sub(1).filter(|x| *x < width) {
                Some(x) => target.copy_from_slice(&source[x * channels..][..channels]),
                None => target.fill(0.0),
            }
        }
    }
}

/// The sum of rows of this length, from first to last.
pub fn sum_rows(rows: &[f32], length: usize) -> Vec<f32> {
    let mut sum = vec![0.0; length];
    for row in rows.chunks_exact(length) {
        gnsm::internals::math::add(&mut sum, row);
    }
    sum
}
