//! Attention of every pixel of an image to every other.
//!
//! With S = Q·Kᵀ/√c and A = softmax(S) by rows, Y = A·V. Backward, with G the gradient of Y: ∂V = Aᵀ·G, D = G·Vᵀ, ∂S =
//! A∘(D − the sum over each row of A∘D), ∂Q = ∂S·K/√c and ∂K = ∂Sᵀ·Q/√c.

use gnsm::internals::math::{exp, simd};
use rayon::prelude::*;

use super::kernel::{Kernel, Numbers, Shape};
use super::product::{Product, Read};

/// The operation; its inputs are query, key and value.
#[derive(Debug, Clone, Copy)]
pub struct Attention;

/// The sizes of an image.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    pixels: usize,
    channels: usize,
}

impl Kernel<3> for Attention {
    fn forward(self, inputs: [Numbers<'_>; 3]) -> (Vec<f32>, Shape) {
        let sizes = Sizes { pixels: inputs[0].pixels(), channels: inputs[0].shape[3] };
        let images: Vec<Vec<f32>> = (0..inputs[0].shape[0])
            .into_par_iter()
            .map(|image| {
                let [query, key, value] = inputs.map(|input| of_image(input, image));
                sizes.pixels_by_channels(&sizes.attention(query, key), Read::Plain, value, 1.0)
            })
            .collect();
        (images.concat(), inputs[2].shape)
    }

    fn backward(self, inputs: [Numbers<'_>; 3], gradient: &[f32], wanted: [bool; 3]) -> [Option<Vec<f32>>; 3] {
        let sizes = Sizes { pixels: inputs[0].pixels(), channels: inputs[0].shape[3] };
        let images: Vec<[Vec<f32>; 3]> = (0..inputs[0].shape[0])
            .into_par_iter()
            .map(|image| {
                let gradient = &gradient[image * inputs[0].per_image()..][..inputs[0].per_image()];
                sizes.gradients(inputs.map(|input| of_image(input, image)), gradient)
            })
            .collect();
        std::array::from_fn(|which| {
            wanted[which].then(|| images.iter().flat_map(|image| &image[which]).copied().collect())
        })
    }
}

fn of_image(input: Numbers<'_>, image: usize) -> &[f32] {
    &input.values[image * input.per_image()..][..input.per_image()]
}

impl Sizes {
    fn scale(self) -> f32 {
        (self.channels as f32).sqrt().recip()
    }

    /// How much each pixel looks at each other one, [pixels, pixels].
    fn attention(self, query: &[f32], key: &[f32]) -> Vec<f32> {
        let mut attention = self.pixels_by_pixels(query, key);
        let scale = self.scale();
        simd(
            #[inline(always)]
            || {
                for row in attention.chunks_exact_mut(self.pixels) {
                    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    for value in row.iter_mut() {
                        *value = exp((*value - most) * scale);
                    }
                    let share = row.iter().sum::<f32>().recip();
                    for value in row.iter_mut() {
                        *value *= share;
                    }
                }
            },
        );
        attention
    }

    fn gradients(self, [query, key, value]: [&[f32]; 3], gradient: &[f32]) -> [Vec<f32>; 3] {
        let attention = self.attention(query, key);
        let of_value = self.pixels_by_channels(&attention, Read::Transposed, gradient, 1.0);
        let mut of_scores = self.pixels_by_pixels(gradient, value);
        simd(
            #[inline(always)]
            || {
                let rows = of_scores.chunks_exact_mut(self.pixels).zip(attention.chunks_exact(self.pixels));
                for (row, attention) in rows {
                    let mean: f32 = row.iter().zip(attention).map(|(own, share)| own * share).sum();
                    for (own, share) in row.iter_mut().zip(attention) {
                        *own = (*own - mean) * share;
                    }
                }
            },
        );
        let of_query = self.pixels_by_channels(&of_scores, Read::Plain, key, self.scale());
        let of_key = self.pixels_by_channels(&of_scores, Read::Transposed, query, self.scale());
        [of_query, of_key, of_value]
    }

    /// a·bᵀ, [pixels, pixels].
    fn pixels_by_pixels(self, a: &[f32], b: &[f32]) -> Vec<f32> {
        let Self { pixels, channels } = self;
        let mut product = vec![0.0; pixels * pixels];
        Product { m: pixels, k: channels, n: pixels, a: Read::Plain, b: Read::Transposed }.add_to(&mut product, a, b);
        product
    }

    /// a·b times a number, [pixels, channels].
    fn pixels_by_channels(self, a: &[f32], read: Read, b: &[f32], times: f32) -> Vec<f32> {
        let Self { pixels, channels } = self;
        let mut product = vec![0.0; pixels * channels];
        Product { m: pixels, k: pixels, n: channels, a: read, b: Read::Plain }.add_to(&mut product, a, b);
        if times != 1.0 {
            product.iter_mut().for_each(|value| *value *= times);
        }
        product
    }
}
