//! The operations that need no more than a loop.

use gnsm::internals::math::{exp, silu, simd};

use super::convolution::sum_rows;
use super::kernel::{Kernel, Numbers, Shape};

/// (a + b) times a number; b may be one image for all.
#[derive(Debug, Clone, Copy)]
pub struct Add {
    pub times: f32,
}

impl Kernel<2> for Add {
    fn forward(self, [a, b]: [Numbers<'_>; 2]) -> (Vec<f32>, Shape) {
        let mut y = Vec::with_capacity(a.values.len());
        for a in a.values.chunks_exact(b.values.len()) {
            y.extend(a.iter().zip(b.values).map(|(a, b)| (a + b) * self.times));
        }
        (y, a.shape)
    }

    fn backward(self, [_, b]: [Numbers<'_>; 2], gradient: &[f32], wanted: [bool; 2]) -> [Option<Vec<f32>>; 2] {
        let of_a: Vec<f32> = gradient.iter().map(|gradient| gradient * self.times).collect();
        let of_b = wanted[1].then(|| match b.values.len() {
            all if all == of_a.len() => of_a.clone(),
            one => sum_rows(&of_a, one),
        });
        [wanted[0].then_some(of_a), of_b]
    }
}

/// The channels of a, then those of b.
#[derive(Debug, Clone, Copy)]
pub struct Join;

impl Kernel<2> for Join {
    fn forward(self, [a, b]: [Numbers<'_>; 2]) -> (Vec<f32>, Shape) {
        let [images, height, width, left] = a.shape;
        let right = b.shape[3];
        let mut y = Vec::with_capacity(a.values.len() + b.values.len());
        for (a, b) in a.values.chunks_exact(left).zip(b.values.chunks_exact(right)) {
            y.extend_from_slice(a);
            y.extend_from_slice(b);
        }
        (y, [images, height, width, left + right])
    }

    fn backward(self, [a, b]: [Numbers<'_>; 2], gradient: &[f32], wanted: [bool; 2]) -> [Option<Vec<f32>>; 2] {
        let (left, right) = (a.shape[3], b.shape[3]);
        let part = |from: usize, to: usize| {
            gradient.chunks_exact(left + right).flat_map(|pixel| &pixel[from..to]).copied().collect()
        };
        [wanted[0].then(|| part(0, left)), wanted[1].then(|| part(left, left + right))]
    }
}

/// Squares of pixels become single places with more channels.
#[derive(Debug, Clone, Copy)]
pub struct Fold {
    pub side: usize,
}

/// The way back.
#[derive(Debug, Clone, Copy)]
pub struct Unfold {
    pub side: usize,
}

impl Kernel<1> for Fold {
    fn forward(self, [x]: [Numbers<'_>; 1]) -> (Vec<f32>, Shape) {
        let [images, height, width, channels] = x.shape;
        let shape = [images, height / self.side, width / self.side, self.side * self.side * channels];
        (gather(x.values, shape, self.side), shape)
    }

    fn backward(self, [x]: [Numbers<'_>; 1], gradient: &[f32], wanted: [bool; 1]) -> [Option<Vec<f32>>; 1] {
        let [images, height, width, channels] = x.shape;
        let folded = [images, height / self.side, width / self.side, self.side * self.side * channels];
        [wanted[0].then(|| scatter(gradient, folded, self.side))]
    }
}

impl Kernel<1> for Unfold {
    fn forward(self, [x]: [Numbers<'_>; 1]) -> (Vec<f32>, Shape) {
        let [images, height, width, channels] = x.shape;
        let shape = [images, height * self.side, width * self.side, channels / (self.side * self.side)];
        (scatter(x.values, x.shape, self.side), shape)
    }

    fn backward(self, [x]: [Numbers<'_>; 1], gradient: &[f32], wanted: [bool; 1]) -> [Option<Vec<f32>>; 1] {
        [wanted[0].then(|| gather(gradient, x.shape, self.side))]
    }
}

/// From pixels to places of this shape.
fn gather(pixels: &[f32], folded: Shape, side: usize) -> Vec<f32> {
    let mut places = vec![0.0; pixels.len()];
    for (place, pixel, length) in pieces(folded, side) {
        places[place..place + length].copy_from_slice(&pixels[pixel..pixel + length]);
    }
    places
}

/// From places of this shape to pixels.
fn scatter(places: &[f32], folded: Shape, side: usize) -> Vec<f32> {
    let mut pixels = vec![0.0; places.len()];
    for (place, pixel, length) in pieces(folded, side) {
        pixels[pixel..pixel + length].copy_from_slice(&places[place..place + length]);
    }
    pixels
}

/// The pieces that lie together both ways, the lines of the squares: where each begins in places and in pixels, and its
/// length.
fn pieces([images, height, width, channels]: Shape, side: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let length = channels / side;
    let square = move |square: usize| {
        let (line, column) = (square / width, square % width);
        (0..side).map(move |row| {
            let pixel = (line * side + row) * width * length + column * length;
            (square * channels + row * length, pixel, length)
        })
    };
    (0..images * height * width).flat_map(square)
}

/// x · sigmoid(x).
#[derive(Debug, Clone, Copy)]
pub struct Silu;

impl Kernel<1> for Silu {
    fn forward(self, [x]: [Numbers<'_>; 1]) -> (Vec<f32>, Shape) {
        (each(x.values, |x| silu(x).0), x.shape)
    }

    fn backward(self, [x]: [Numbers<'_>; 1], gradient: &[f32], wanted: [bool; 1]) -> [Option<Vec<f32>>; 1] {
        [wanted[0].then(|| times(each(x.values, |x| silu(x).1), gradient))]
    }
}

/// 1 / (1 + e^−x).
#[derive(Debug, Clone, Copy)]
pub struct Sigmoid;

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

impl Kernel<1> for Sigmoid {
    fn forward(self, [x]: [Numbers<'_>; 1]) -> (Vec<f32>, Shape) {
        (each(x.values, sigmoid), x.shape)
    }

    fn backward(self, [x]: [Numbers<'_>; 1], gradient: &[f32], wanted: [bool; 1]) -> [Option<Vec<f32>>; 1] {
        let slope = |x: f32| sigmoid(x) * (1.0 - sigmoid(x));
        [wanted[0].then(|| times(each(x.values, slope), gradient))]
    }
}

/// The mean over the picture.
#[derive(Debug, Clone, Copy)]
pub struct Pool;

impl Kernel<1> for Pool {
    fn forward(self, [x]: [Numbers<'_>; 1]) -> (Vec<f32>, Shape) {
        let channels = x.shape[3];
        let share = 1.0 / x.pixels() as f32;
        let images = x.values.chunks_exact(x.per_image());
        let means = images.flat_map(|image| sum_rows(image, channels)).map(|sum| sum * share);
        (means.collect(), [x.shape[0], 1, 1, channels])
    }

    fn backward(self, [x]: [Numbers<'_>; 1], gradient: &[f32], wanted: [bool; 1]) -> [Option<Vec<f32>>; 1] {
        let share = 1.0 / x.pixels() as f32;
        [wanted[0].then(|| {
            let of_images = gradient.chunks_exact(x.shape[3]).map(|own| each(own, |gradient| gradient * share));
            of_images.flat_map(|own| own.repeat(x.pixels())).collect()
        })]
    }
}

/// Each channel of an image times a number of its own.
#[derive(Debug, Clone, Copy)]
pub struct Weigh;

impl Kernel<2> for Weigh {
    fn forward(self, [x, weights]: [Numbers<'_>; 2]) -> (Vec<f32>, Shape) {
        let mut y = x.values.to_vec();
        weigh(&mut y, x, weights);
        (y, x.shape)
    }

    fn backward(self, [x, weights]: [Numbers<'_>; 2], gradient: &[f32], wanted: [bool; 2]) -> [Option<Vec<f32>>; 2] {
        let of_x = wanted[0].then(|| {
            let mut own = gradient.to_vec();
            weigh(&mut own, x, weights);
            own
        });
        let of_weights = wanted[1].then(|| {
            let products = times(x.values.to_vec(), gradient);
            products.chunks_exact(x.per_image()).flat_map(|image| sum_rows(image, x.shape[3])).collect()
        });
        [of_x, of_weights]
    }
}

fn weigh(values: &mut [f32], x: Numbers<'_>, weights: Numbers<'_>) {
    let images = values.chunks_exact_mut(x.per_image()).zip(weights.values.chunks_exact(x.shape[3]));
    for (image, weights) in images {
        for pixel in image.chunks_exact_mut(weights.len()) {
            for (value, weight) in pixel.iter_mut().zip(weights) {
                *value *= weight;
            }
        }
    }
}

fn each(values: &[f32], f: impl Fn(f32) -> f32) -> Vec<f32> {
    let mut results = values.to_vec();
    simd(
        #[inline(always)]
        || {
            for value in &mut results {
                *value = f(*value);
            }
        },
    );
    results
}

fn times(mut values: Vec<f32>, factors: &[f32]) -> Vec<f32> {
    for (value, factor) in values.iter_mut().zip(factors) {
        *value *= factor;
    }
    values
}
