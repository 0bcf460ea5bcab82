//! The layers of the networks. Each knows where its weights are in the flat vector.

use std::f64::consts::FRAC_1_SQRT_2;

use burn_tensor::activation::softmax;
use burn_tensor::{Device, Tensor};

use crate::ops::{Direction, convolve, normalise, resample};
use crate::weights::{Plan, WeightStart, Weights};

/// Channels of a group, at the least.
const PER_GROUP: usize = 4;
/// Groups, at the most.
const MOST_GROUPS: usize = 32;

/// Convolution with a window of side 1 or 3; on rows instead of pictures, a dense layer.
#[derive(Debug, Clone)]
pub struct Convolution {
    weight: usize,
    bias: Option<usize>,
    inputs: usize,
    outputs: usize,
}

impl Convolution {
    /// One that starts at random, keeping the size of what it is given.
    pub fn new(plan: &mut Plan, side: usize, inputs: usize, outputs: usize) -> Self {
        let inputs = side * side * inputs;
        Self::starting(plan, inputs, outputs, WeightStart::Normal(1.0 / inputs as f32))
    }

    /// One that says 0 at first.
    pub fn silent(plan: &mut Plan, side: usize, inputs: usize, outputs: usize) -> Self {
        Self::starting(plan, side * side * inputs, outputs, WeightStart::Constant(0.0))
    }

    /// One without a bias, which starts at random.
    pub fn unbiased(plan: &mut Plan, side: usize, inputs: usize, outputs: usize) -> Self {
        let inputs = side * side * inputs;
        let weight = plan.add(inputs * outputs, WeightStart::Normal(1.0 / inputs as f32));
        Self { weight, bias: None, inputs, outputs }
    }

    fn starting(plan: &mut Plan, inputs: usize, outputs: usize, start: WeightStart) -> Self {
        let (weight, bias) = (plan.add(inputs * outputs, start), plan.add(outputs, WeightStart::Constant(0.0)));
        Self { weight, bias: Some(bias), inputs, outputs }
    }

    /// On pictures.
    pub fn forward(&self, weights: &Weights, x: Tensor<4>) -> Tensor<4> {
        let bias = self.bias(weights, &x.device());
        convolve(x, self.weight(weights), bias)
    }

    /// On pictures, with a further bias [images, outputs] for each.
    fn forward_with(&self, weights: &Weights, x: Tensor<4>, bias: Tensor<2>) -> Tensor<4> {
        let bias = bias + self.bias(weights, &x.device());
        convolve(x, self.weight(weights), bias)
    }

    /// On rows.
    pub fn forward_rows(&self, weights: &Weights, x: Tensor<2>) -> Tensor<2> {
        let bias = self.bias(weights, &x.device());
        x.matmul(self.weight(weights)) + bias
    }

    fn weight(&self, weights: &Weights) -> Tensor<2> {
        weights.get(self.weight, [self.inputs, self.outputs])
    }

    fn bias(&self, weights: &Weights, device: &Device) -> Tensor<2> {
        let shape = [1, self.outputs];
        self.bias.map_or_else(|| Tensor::zeros(shape, device), |place| weights.get(place, shape))
    }
}

/// Group norm, then SiLU.
#[derive(Debug, Clone)]
pub struct Norm {
    /// The places of gain and shift, where they are learned; otherwise they are 1 and 0.
    learned: Option<[usize; 2]>,
    channels: usize,
    groups: usize,
}

impl Norm {
    /// For so many channels: groups of at least four, at most 32 of them.
    pub fn new(plan: &mut Plan, channels: usize) -> Self {
        let learned = [1.0, 0.0].map(|start| plan.add(channels, WeightStart::Constant(start)));
        Self { learned: Some(learned), ..Self::fixed(channels) }
    }

    /// One that learns nothing.
    pub fn fixed(channels: usize) -> Self {
        let most = (channels / PER_GROUP).clamp(1, MOST_GROUPS);
        let groups = (1..=most).rev().find(|groups| channels.is_multiple_of(*groups)).unwrap_or(1);
        Self { learned: None, channels, groups }
    }

    /// On pictures.
    pub fn forward(&self, weights: &Weights, x: Tensor<4>) -> Tensor<4> {
        let [gain, shift] = match self.learned {
            Some(places) => places.map(|place| weights.get(place, [self.channels])),
            None => [Tensor::ones([self.channels], &x.device()), Tensor::zeros([self.channels], &x.device())],
        };
        normalise(x, gain, shift, self.groups)
    }
}

/// A residual block, after BigGAN's: norm, resampling, convolution with the level's embedding as its bias, norm, convolution; beside it a
/// shortcut; the sum over √2 keeps the variance.
#[derive(Debug, Clone)]
pub struct Block {
    first_norm: Norm,
    first: Convolution,
    level: Convolution,
    second_norm: Norm,
    second: Convolution,
    shortcut: Option<Convolution>,
    direction: Option<Direction>,
}

impl Block {
    /// From so many channels to so many; `embedding` is the length of a level's embedding.
    pub fn new(plan: &mut Plan, inputs: usize, outputs: usize, embedding: usize, direction: Option<Direction>) -> Self {
        Self {
            first_norm: Norm::new(plan, inputs),
            first: Convolution::new(plan, 3, inputs, outputs),
            level: Convolution::new(plan, 1, embedding, outputs),
            second_norm: Norm::new(plan, outputs),
            second: Convolution::silent(plan, 3, outputs, outputs),
            shortcut: (inputs != outputs || direction.is_some()).then(|| Convolution::new(plan, 1, inputs, outputs)),
            direction,
        }
    }

    /// On pictures, with the embedding [images, embedding] of each one's level.
    pub fn forward(&self, weights: &Weights, x: Tensor<4>, levels: &Tensor<2>) -> Tensor<4> {
        let mut x = x;
        let mut h = self.first_norm.forward(weights, x.clone());
        if let Some(direction) = self.direction {
            (h, x) = (resample(h, direction), resample(x, direction));
        }
        let bias = self.level.forward_rows(weights, levels.clone());
        h = self.first.forward_with(weights, h, bias);
        h = self.second.forward(weights, self.second_norm.forward(weights, h));
        if let Some(shortcut) = &self.shortcut {
            x = shortcut.forward(weights, x);
        }
        (x + h) * FRAC_1_SQRT_2
    }
}

/// Attention of every pixel to every other, as one more residual block.
#[derive(Debug, Clone)]
pub struct Attention {
    norm: Norm,
    query: Convolution,
    key: Convolution,
    value: Convolution,
    output: Convolution,
}

impl Attention {
    /// For so many channels.
    pub fn new(plan: &mut Plan, channels: usize) -> Self {
        Self {
            norm: Norm::new(plan, channels),
            query: Convolution::new(plan, 1, channels, channels),
            key: Convolution::new(plan, 1, channels, channels),
            value: Convolution::new(plan, 1, channels, channels),
            output: Convolution::silent(plan, 1, channels, channels),
        }
    }

    /// On pictures.
    pub fn forward(&self, weights: &Weights, x: Tensor<4>) -> Tensor<4> {
        let [images, height, width, channels] = x.dims();
        let h = self.norm.forward(weights, x.clone());
        let project =
            |layer: &Convolution| layer.forward(weights, h.clone()).reshape([images, height * width, channels]);
        let likeness = project(&self.query).matmul(project(&self.key).transpose()) * (channels as f64).powf(-0.5);
        let seen = softmax(likeness, 2).matmul(project(&self.value)).reshape([images, height, width, channels]);
        (x + self.output.forward(weights, seen)) * FRAC_1_SQRT_2
    }
}
