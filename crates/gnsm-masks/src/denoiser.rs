//! What the score network learns: to undo the noise on a mask, while it sees the image.
//!
//! A mask is a row whose categorical columns lie on a grid. So noise, loss and gradient are those of tables. Only the
//! network is another.

use std::ops::Range;

use gnsm::internals::columns::Layout;
use gnsm::internals::error::stop_point;
use gnsm::internals::math::{fill_gumbel, simd, stream};
use gnsm::internals::noise::{Loss, concrete, perturb};
use gnsm::mask::Sample;
use rand::Rng;
use rayon::prelude::*;

use crate::descent::LearningTask;
use crate::engine::{Device, Tensor};
use crate::ncsn::Ncsn;
use crate::pictures::Picture;
use crate::weights::Weights;

/// Names of the random streams.
const TRAINING: u64 = 12;
const VALIDATION: u64 = 13;
/// Levels at which a held-out pair is asked about.
const VALIDATED_LEVELS: usize = 2;

/// A noisy mask before the network.
pub struct Noisy {
    pub picture: Picture,
    /// The noisy mask, [pixels, classes].
    pub mask: Vec<f32>,
    pub level: usize,
}

/// What turns pairs into what the network sees.
#[derive(Debug, Clone, Copy)]
pub struct Presenter<'a> {
    pub network: &'a Ncsn,
    pub loss: &'a Loss<'a>,
    pub side: usize,
}

impl Presenter<'_> {
    fn layout(&self) -> &Layout {
        self.loss.layout
    }

    /// Runs the network on some noisy masks: logits [pictures, side, side, classes].
    pub fn logits(&self, weights: &Weights, noisy: &[Noisy], device: &Device) -> Tensor {
        stop_point();
        let Loss { layout, levels, parameterisation, .. } = *self.loss;
        let n_classes = layout.width() / layout.n_groups();
        let (pixels, channels) = (self.side * self.side, 3 + n_classes);
        let mut inputs = vec![0.0; noisy.len() * pixels * channels];
        for (input, noisy) in inputs.chunks_exact_mut(pixels * channels).zip(noisy) {
            let mut mask = vec![0.0; noisy.mask.len()];
            simd(
                #[inline(always)]
                || parameterisation.present(layout, levels, noisy.level, &noisy.mask, &[], &mut mask),
            );
            let pixels = noisy.picture.colours.iter().zip(mask.chunks_exact(n_classes));
            for (input, (colour, mask)) in input.chunks_exact_mut(channels).zip(pixels) {
                input[..3].copy_from_slice(colour);
                input[3..].copy_from_slice(mask);
            }
        }
        let shape = [noisy.len(), self.side, self.side, channels];
        let inputs = Tensor::new(inputs, shape, device);
        let log_lambdas: Vec<f32> = noisy.iter().map(|noisy| levels.lambda(noisy.level).ln()).collect();
        self.network.forward(weights, &inputs, &log_lambdas)
    }

    /// A mask with noise from a stream of its own.
    pub fn noisy(&self, picture: Picture, level: usize, rng: &mut rand_chacha::ChaCha8Rng) -> Noisy {
        let mut mask = vec![0.0; self.layout().width()];
        fill_gumbel(rng, &mut mask);
        simd(
            #[inline(always)]
            || perturb(self.layout(), self.loss.levels, level, &picture.codes, &mut mask),
        );
        Noisy { picture, mask, level }
    }

    /// A mask of which nothing can be seen.
    pub fn hidden(&self, picture: Picture) -> Noisy {
        let mut mask = vec![0.0; self.layout().width()];
        self.layout().groups().for_each(|places| concrete::unknown(&mut mask[places]));
        Noisy { picture, mask, level: 0 }
    }

    /// The loss of each picture, and its gradient times `scale` in place of the logits.
    fn losses(&self, noisy: &[Noisy], logits: &mut [f32], scale: f32) -> Vec<f64> {
        let width = self.layout().width();
        let rows = logits.chunks_exact_mut(width).zip(noisy);
        rows.map(|(logits, noisy)| {
            let (mut gradient, mut scratch) = (vec![0.0; width], vec![0.0; Loss::scratch_length(self.layout())]);
            let loss = simd(
                #[inline(always)]
                || {
                    let Noisy { picture, mask, level } = noisy;
                    self.loss.row(&picture.codes, &[], *level, mask, logits, scale, &mut gradient, &mut scratch)
                },
            );
            logits.copy_from_slice(&gradient);
            loss
        })
        .collect()
    }
}

/// A network that learns to denoise masks.
pub struct MaskDenoising<'a> {
    pub presenter: Presenter<'a>,
    pub training: &'a [Sample],
    pub validation: &'a [Sample],
    pub seed: u64,
    pub batch: usize,
    /// The share of masks that are hidden altogether.
    pub hidden: f32,
    /// Where the network runs.
    pub device: Device,
}

impl MaskDenoising<'_> {
    fn draw(&self, step: u64, position: usize, shift: u64) -> Noisy {
        let mut rng = stream(self.seed, TRAINING, step, position as u64);
        let sample = &self.training[(rng.next_u64() % self.training.len() as u64) as usize];
        let picture = Picture::drawn(sample, &mut rng);
        let level = ((position as u64 + shift) % self.presenter.loss.levels.count() as u64) as usize;
        if (rng.next_u32() as f32) < self.hidden * u32::MAX as f32 {
            return self.presenter.hidden(picture);
        }
        self.presenter.noisy(picture, level, &mut rng)
    }

    fn pixels(&self) -> f64 {
        self.presenter.layout().n_groups() as f64
    }

    /// The loss of one held-out picture at one of its levels.
    fn loss_at(&self, weights: &Weights, index: usize) -> f64 {
        let levels = self.presenter.loss.levels.count();
        let picture = Picture::whole(&self.validation[index / VALIDATED_LEVELS]);
        let level = (index / VALIDATED_LEVELS + index % VALIDATED_LEVELS * levels / VALIDATED_LEVELS) % levels;
        let noisy = [self.presenter.noisy(picture, level, &mut stream(self.seed, VALIDATION, 0, index as u64))];
        let mut logits = self.presenter.logits(weights, &noisy, &self.device).values();
        self.presenter.losses(&noisy, &mut logits, 0.0)[0]
    }
}

impl LearningTask for MaskDenoising<'_> {
    fn batch(&self) -> usize {
        self.batch
    }

    fn gradient(&self, parameters: &[f32], step: u64, pictures: Range<usize>) -> (f64, Vec<f32>) {
        let shift = stream(self.seed, TRAINING, step, u64::MAX).next_u64();
        let noisy: Vec<Noisy> = pictures.map(|position| self.draw(step, position, shift)).collect();
        let weights = Weights::learned(self.presenter.network.plan(), parameters, &self.device);
        let logits = self.presenter.logits(&weights, &noisy, &self.device);
        let mut gradient = logits.values();
        let scale = 1.0 / (self.batch as f64 * self.pixels());
        let losses = self.presenter.losses(&noisy, &mut gradient, scale as f32);
        (losses.iter().sum::<f64>() * scale, weights.flat_gradient(logits.backward(gradient)))
    }

    fn held_out_loss(&self, parameters: &[f32]) -> f64 {
        let weights = Weights::fixed(self.presenter.network.plan(), parameters, &self.device);
        let asked = self.validation.len() * VALIDATED_LEVELS;
        let losses: Vec<f64> = (0..asked).into_par_iter().map(|index| self.loss_at(&weights, index)).collect();
        losses.iter().sum::<f64>() / (asked as f64 * self.pixels())
    }
}
