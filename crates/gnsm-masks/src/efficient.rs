//! A network from an image and its mask to a code, after EfficientNetV2 (Tan and Le 2021).
//!
//! A residual block widens the channels fourfold, looks at neighbouring pixels, and narrows the channels again. Where
//! the picture is large, *fused* blocks do the first two at once with a 3 × 3 convolution. The other blocks widen point
//! by point, look around in each channel by itself, and weigh the channels by what the whole picture shows (*squeeze
//! and excitation*). Group norm takes the place of batch norm, so that a score does not depend on a batch.
//!
//! As Ruff et al. 2018 ask of a network for Deep SVDD, nothing in it can produce a constant: there is no bias, and
//! norms learn neither gain nor shift.

use serde::{Deserialize, Serialize};

use crate::engine::{Direction, Operation, Tensor};
use crate::layers::{Convolution, Norm, sum};
use crate::weights::{Plan, WeightStart, Weights};

/// How much wider a block is inside.
const EXPANSION: usize = 4;
/// How much narrower the weighing of channels is inside.
const SQUEEZE: usize = 4;

/// The size of the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderSize {
    /// Channels of each stage; each has half the picture's side of the one before, the first half of the picture's own.
    pub channels: Vec<usize>,
    /// Blocks of each stage.
    pub blocks: Vec<usize>,
    /// Stages, from the first on, whose blocks are fused.
    pub fused: usize,
    /// The length of a code.
    pub code: usize,
}

/// The network: what it is made of, without its weights.
#[derive(Debug, Clone)]
pub struct PictureEncoder {
    plan: Plan,
    stem: Convolution,
    stages: Vec<Vec<Block>>,
    narrowing: Vec<Convolution>,
    code: Convolution,
}

#[derive(Debug, Clone)]
struct Block {
    expand: Convolution,
    norm: Norm,
    inside: Option<Inside>,
    project: Convolution,
}

/// What a block that is not fused does between widening and narrowing.
#[derive(Debug, Clone)]
struct Inside {
    window: usize,
    norm: Norm,
    squeeze: Convolution,
    excite: Convolution,
}

impl PictureEncoder {
    /// For pictures with so many channels.
    pub fn new(size: &EncoderSize, inputs: usize) -> Self {
        let mut plan = Plan::default();
        let stem = Convolution::unbiased(&mut plan, 3, inputs, size.channels[0]);
        let (mut stages, mut narrowing) = (Vec::new(), Vec::new());
        let mut before = size.channels[0];
        for (index, (&channels, &blocks)) in size.channels.iter().zip(&size.blocks).enumerate() {
            narrowing.push(Convolution::unbiased(&mut plan, 1, before, channels));
            let fused = index < size.fused;
            stages.push((0..blocks).map(|_| Block::new(&mut plan, channels, fused)).collect());
            before = channels;
        }
        let code = Convolution::unbiased(&mut plan, 1, before, size.code);
        Self { plan, stem, stages, narrowing, code }
    }

    /// What its weights are.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// From pictures [images, side, side, inputs] to codes [images, 1, 1, code].
    pub fn forward(&self, weights: &Weights, x: &Tensor) -> Tensor {
        let mut h = self.stem.forward(weights, x);
        for (blocks, narrowing) in self.stages.iter().zip(&self.narrowing) {
            h = narrowing.forward(weights, &Tensor::of(Operation::Resample(Direction::Down), [&h]));
            for block in blocks {
                h = block.forward(weights, &h);
            }
        }
        self.code.forward(weights, &Tensor::of(Operation::Pool, [&h]))
    }
}

impl Block {
    fn new(plan: &mut Plan, channels: usize, fused: bool) -> Self {
        let wide = EXPANSION * channels;
        Self {
            expand: Convolution::unbiased(plan, if fused { 3 } else { 1 }, channels, wide),
            norm: Norm::fixed(wide),
            inside: (!fused).then(|| Inside {
                window: plan.add([wide, 1, 3, 3], WeightStart::Normal(1.0 / 9.0)),
                norm: Norm::fixed(wide),
                squeeze: Convolution::unbiased(plan, 1, wide, channels / SQUEEZE),
                excite: Convolution::unbiased(plan, 1, channels / SQUEEZE, wide),
            }),
            project: Convolution::unbiased(plan, 1, wide, channels),
        }
    }

    fn forward(&self, weights: &Weights, x: &Tensor) -> Tensor {
        let mut h = self.norm.forward(weights, &self.expand.forward(weights, x));
        if let Some(inside) = &self.inside {
            h = inside.forward(weights, &h);
        }
        sum(x, &self.project.forward(weights, &h), 1.0)
    }
}

impl Inside {
    fn forward(&self, weights: &Weights, x: &Tensor) -> Tensor {
        let h = Tensor::of(Operation::LookAround, [x, weights.get(self.window)]);
        let h = self.norm.forward(weights, &h);
        let seen = self.squeeze.forward(weights, &Tensor::of(Operation::Pool, [&h]));
        let weighed = self.excite.forward(weights, &Tensor::of(Operation::Silu, [&seen]));
        Tensor::of(Operation::Weigh, [&h, &Tensor::of(Operation::Sigmoid, [&weighed])])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{Expected, assert_agrees, pictures};

    // A stage of fused blocks and one of the others. Values from `reference/mask_networks.py` in the benchmarks.
    #[test]
    fn codes_and_gradient_agree_with_pytorch() {
        let size = EncoderSize { channels: vec![8, 16], blocks: vec![1, 2], fused: 1, code: 6 };
        let encoder = PictureEncoder::new(&size, 5);
        let expected = Expected {
            weights: 9480,
            outputs: [-0.026_047_92, -0.027_990_026, 0.006_619_344, -0.108_222_48, 0.008_323_784, -0.048_671_067],
            loss: 0.088_076_450,
            gradient: [-0.175_398_58, 0.015_409_721, 0.020_866_31, -0.101_798_47, 0.013_716_133, 0.063_719_65],
            gradient_sum: 1.146_595_053,
        };
        assert_agrees(encoder.plan(), &expected, |weights, device| {
            encoder.forward(weights, &pictures([2, 16, 16, 5], device))
        });
    }
}
