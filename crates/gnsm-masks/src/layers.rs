//! The layers of the networks. Each knows where its weights are in the flat vector.

use std::f32::consts::FRAC_1_SQRT_2;

use crate::engine::{Direction, Operation, Tensor};
use crate::weights::{Plan, WeightStart, Weights};

/// Channels of a group, at the least.
const PER_GROUP: usize = 4;
/// Groups, at the most.
const MOST_GROUPS: usize = 32;

/// Convolution with a window of side 1 or 3; on rows instead of pictures, a dense layer.
#[derive(Debug, Clone)]
pub struct Convolution {
    side: usize,
    outputs: usize,
    weight: usize,
    bias: Option<usize>,
}

impl Convolution {
    /// One that starts at random, keeping the size of what it is given.
    pub fn new(plan: &mut Plan, side: usize, inputs: usize, outputs: usize) -> Self {
        Self::unbiased(plan, side, inputs, outputs).with_bias(plan)
    }

    /// One that says 0 at first.
    pub fn silent(plan: &mut Plan, side: usize, inputs: usize, outputs: usize) -> Self {
        Self::starting(plan, side, [inputs, outputs], WeightStart::Constant(0.0)).with_bias(plan)
    }

    /// One without a bias, which starts at random.
    pub fn unbiased(plan: &mut Plan, side: usize, inputs: usize, outputs: usize) -> Self {
        let start = WeightStart::Normal(1.0 / (side * side * inputs) as f32);
        Self::starting(plan, side, [inputs, outputs], start)
    }

    fn starting(plan: &mut Plan, side: usize, [inputs, outputs]: [usize; 2], start: WeightStart) -> Self {
        Self { side, outputs, weight: plan.add([1, 1, side * side * inputs, outputs], start), bias: None }
    }

    fn with_bias(self, plan: &mut Plan) -> Self {
        Self { bias: Some(plan.add([1, 1, 1, self.outputs], WeightStart::Constant(0.0))), ..self }
    }

    /// On pictures, or on rows [images, 1, 1, inputs].
    pub fn forward(&self, weights: &Weights, x: &Tensor) -> Tensor {
        match self.bias {
            Some(place) => self.convolve(weights, x, weights.get(place)),
            None => {
                self.convolve(weights, x, &Tensor::new(vec![0.0; self.outputs], [1, 1, 1, self.outputs], &x.device()))
            }
        }
    }

    /// On pictures, with a further bias [images, 1, 1, outputs] for each.
    fn forward_with(&self, weights: &Weights, x: &Tensor, bias: Tensor) -> Tensor {
        let bias = match self.bias {
            Some(place) => sum(&bias, weights.get(place), 1.0),
            None => bias,
        };
        self.convolve(weights, x, &bias)
    }

    fn convolve(&self, weights: &Weights, x: &Tensor, bias: &Tensor) -> Tensor {
        Tensor::of(Operation::Convolve { side: self.side }, [x, weights.get(self.weight), bias])
    }
}

/// The sum of two tensors, times a number.
pub fn sum(a: &Tensor, b: &Tensor, times: f32) -> Tensor {
    Tensor::of(Operation::Add { times }, [a, b])
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
        let learned = [1.0, 0.0].map(|start| plan.add([1, 1, 1, channels], WeightStart::Constant(start)));
        Self { learned: Some(learned), ..Self::fixed(channels) }
    }

    /// One that learns nothing.
    pub fn fixed(channels: usize) -> Self {
        let most = (channels / PER_GROUP).clamp(1, MOST_GROUPS);
        let groups = (1..=most).rev().find(|groups| channels.is_multiple_of(*groups)).unwrap_or(1);
        Self { learned: None, channels, groups }
    }

    /// On pictures.
    pub fn forward(&self, weights: &Weights, x: &Tensor) -> Tensor {
        let normalise =
            |gain: &Tensor, shift: &Tensor| Tensor::of(Operation::Normalise { groups: self.groups }, [x, gain, shift]);
        if let Some([gain, shift]) = self.learned {
            return normalise(weights.get(gain), weights.get(shift));
        }
        let same = |value: f32| Tensor::new(vec![value; self.channels], [1, 1, 1, self.channels], &x.device());
        normalise(&same(1.0), &same(0.0))
    }
}

/// A residual block, after BigGAN's: norm, resampling, convolution with the level's embedding as its bias, norm,
/// convolution; beside it a shortcut; the sum over √2 keeps the variance.
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

    /// On pictures, with the embedding [images, 1, 1, embedding] of each one's level.
    pub fn forward(&self, weights: &Weights, x: &Tensor, levels: &Tensor) -> Tensor {
        let resample = |x: &Tensor| match self.direction {
            Some(direction) => Tensor::of(Operation::Resample(direction), [x]),
            None => x.clone(),
        };
        let h = resample(&self.first_norm.forward(weights, x));
        let h = self.first.forward_with(weights, &h, self.level.forward(weights, levels));
        let h = self.second.forward(weights, &self.second_norm.forward(weights, &h));
        let mut x = resample(x);
        if let Some(shortcut) = &self.shortcut {
            x = shortcut.forward(weights, &x);
        }
        sum(&x, &h, FRAC_1_SQRT_2)
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
    pub fn forward(&self, weights: &Weights, x: &Tensor) -> Tensor {
        let h = self.norm.forward(weights, x);
        let [query, key, value] = [&self.query, &self.key, &self.value].map(|layer| layer.forward(weights, &h));
        let seen = Tensor::of(Operation::Attend, [&query, &key, &value]);
        sum(x, &self.output.forward(weights, &seen), FRAC_1_SQRT_2)
    }
}
