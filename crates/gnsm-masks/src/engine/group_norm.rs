//! Group norm and SiLU in one.
//!
//! With x̂ = (x − μ)/√(v + ε) over the pixels and channels of a group, u = γx̂ + β and y = u·sigmoid(u). Backward, with d = ∂y/∂u times the
//! gradient of y: ∂γ = Σ d·x̂, ∂β = Σ d, and ∂x = (γd − mean(γd) − x̂·mean(γd·x̂))/√(v + ε), the means over the group.

use gnsm::internals::math::{silu, simd};
use rayon::prelude::*;

use super::convolution::sum_rows;
use super::kernel::{Kernel, Numbers, Shape};

/// What keeps the division finite.
pub const EPSILON: f32 = 1e-6;

/// Group norm with so many groups, then SiLU.
#[derive(Debug, Clone, Copy)]
pub struct GroupNorm {
    pub groups: usize,
}

/// The mean and the reciprocal deviation of each channel's group.
struct Scales {
    mean: Vec<f32>,
    scale: Vec<f32>,
}

impl Kernel<3> for GroupNorm {
    fn forward(self, [x, gain, shift]: [Numbers<'_>; 3]) -> (Vec<f32>, Shape) {
        let (per_image, channels) = (x.per_image(), gain.values.len());
        let mut y = vec![0.0; x.values.len()];
        y.par_chunks_exact_mut(per_image).zip(x.values.par_chunks_exact(per_image)).for_each(|(y, x)| {
            let Scales { mean, scale } = self.scales(x, channels);
            let slope: Vec<f32> = scale.iter().zip(gain.values).map(|(scale, gain)| scale * gain).collect();
            let start: Vec<f32> = (0..channels).map(|c| shift.values[c] - mean[c] * slope[c]).collect();
            simd(
                #[inline(always)]
                || {
                    for (y, x) in y.chunks_exact_mut(channels).zip(x.chunks_exact(channels)) {
                        for (((y, x), slope), start) in y.iter_mut().zip(x).zip(&slope).zip(&start) {
                            *y = silu(x.mul_add(*slope, *start)).0;
                        }
                    }
                },
            );
        });
        (y, x.shape)
    }

    fn backward(
        self,
        [x, gain, shift]: [Numbers<'_>; 3],
        gradient: &[f32],
        wanted: [bool; 3],
    ) -> [Option<Vec<f32>>; 3] {
        let (per_image, channels) = (x.per_image(), gain.values.len());
        let mut d_x = vec![0.0; x.values.len()];
        // Per image and channel: the gradient of the gain, then of the shift.
        let mut sums = vec![0.0; x.shape[0] * 2 * channels];
        d_x.par_chunks_exact_mut(per_image)
            .zip(sums.par_chunks_exact_mut(2 * channels))
            .zip(x.values.par_chunks_exact(per_image).zip(gradient.par_chunks_exact(per_image)))
            .for_each(|((d_x, sums), (x, gradient))| {
                self.image_gradient(x, gain.values, shift.values, gradient, d_x, sums);
            });
        let sums = sum_rows(&sums, 2 * channels);
        let (d_gain, d_shift) = sums.split_at(channels);
        [wanted[0].then_some(d_x), wanted[1].then(|| d_gain.to_vec()), wanted[2].then(|| d_shift.to_vec())]
    }
}

impl GroupNorm {
    fn scales(self, x: &[f32], channels: usize) -> Scales {
        let count = (x.len() / self.groups) as f64;
        let mean = self.group_means(count, &channel_sums(x, &vec![0.0; channels], |x| x));
        let variance = self.group_means(count, &channel_sums(x, &mean, |x| x * x));
        let scale = variance.iter().map(|variance| 1.0 / (variance + EPSILON).sqrt()).collect();
        Scales { mean, scale }
    }

    /// For each channel the mean over its group, from the sums of each channel.
    fn group_means(self, count: f64, sums: &[f64]) -> Vec<f32> {
        let per_group = sums.len() / self.groups;
        let groups = sums.chunks_exact(per_group);
        groups.flat_map(|sums| std::iter::repeat_n((sums.iter().sum::<f64>() / count) as f32, per_group)).collect()
    }

    fn image_gradient(
        self,
        x: &[f32],
        gain: &[f32],
        shift: &[f32],
        gradient: &[f32],
        d_x: &mut [f32],
        sums: &mut [f32],
    ) {
        let channels = gain.len();
        let Scales { mean, scale } = self.scales(x, channels);
        let (d_gain, d_shift) = sums.split_at_mut(channels);
        simd(
            #[inline(always)]
            || {
                let pixels = x.chunks_exact(channels).zip(gradient.chunks_exact(channels));
                for (d_x, (x, gradient)) in d_x.chunks_exact_mut(channels).zip(pixels) {
                    let sums = d_gain.iter_mut().zip(d_shift.iter_mut());
                    let weights = mean.iter().zip(&scale).zip(gain.iter().zip(shift));
                    let pixel = d_x.iter_mut().zip(x.iter().zip(gradient));
                    for (((d_x, (x, gradient)), ((mean, scale), (gain, shift))), (d_gain, d_shift)) in
                        pixel.zip(weights).zip(sums)
                    {
                        let scaled = (x - mean) * scale;
                        let d = gradient * silu(scaled.mul_add(*gain, *shift)).1;
                        *d_gain = d.mul_add(scaled, *d_gain);
                        *d_shift += d;
                        *d_x = d * gain;
                    }
                }
            },
        );
        let count = (x.len() / self.groups) as f64;
        let times_gain = |sums: &[f32]| -> Vec<f64> {
            sums.iter().zip(gain).map(|(sum, gain)| f64::from(*sum) * f64::from(*gain)).collect()
        };
        let along = self.group_means(count, &times_gain(d_gain));
        let level = self.group_means(count, &times_gain(d_shift));
        simd(
            #[inline(always)]
            || {
                for (d_x, x) in d_x.chunks_exact_mut(channels).zip(x.chunks_exact(channels)) {
                    let weights = mean.iter().zip(&scale).zip(level.iter().zip(&along));
                    for ((d_x, x), ((mean, scale), (level, along))) in d_x.iter_mut().zip(x).zip(weights) {
                        *d_x = (*d_x - level - (x - mean) * scale * along) * scale;
                    }
                }
            },
        );
    }
}

/// The sum over pixels of what `f` makes of each channel's distance from its centre, [channels].
fn channel_sums(x: &[f32], centre: &[f32], f: impl Fn(f32) -> f32) -> Vec<f64> {
    /// Pixels that are summed in single precision.
    const RUN: usize = 64;
    let channels = centre.len();
    let (mut sums, mut run) = (vec![0.0; channels], vec![0.0f32; channels]);
    for pixels in x.chunks(RUN * channels) {
        run.fill(0.0);
        simd(
            #[inline(always)]
            || {
                for pixel in pixels.chunks_exact(channels) {
                    for ((run, x), centre) in run.iter_mut().zip(pixel).zip(centre) {
                        *run += f(x - centre);
                    }
                }
            },
        );
        for (sum, run) in sums.iter_mut().zip(&run) {
            *sum += f64::from(*run);
        }
    }
    sums
}
