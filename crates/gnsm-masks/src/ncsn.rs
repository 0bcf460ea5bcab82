//! The score network for masks: NCSN++ (Song et al. 2021), as the paper adapts it to an image and its noisy mask.
//!
//! It is a U-Net of residual blocks ([`Block`]), with attention where the picture is 16 pixels high. The level reaches
//! it through random Fourier features. On the way down, the input itself is resized to every size and added in
//! (*progressive input*). On the way up, every size contributes to the output (*progressive output*). All resampling
//! goes through a filter.

use gnsm::internals::math::{fill_normal, stream};
use gnsm::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::engine::{Device, Direction, Operation, Tensor};
use crate::layers::{Attention, Block, Convolution, Norm, sum};
use crate::weights::{Plan, Weights};

/// The height at which there is attention.
const ATTENTION: usize = 16;
/// The scale of the Fourier features' frequencies.
const FOURIER_SCALE: f32 = 16.0;

/// The size of the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NcsnSize {
    /// Channels where the picture has its full size.
    pub channels: usize,
    /// Channels at each size, from the full one to the smallest, as a multiple of that; each size is half the one before.
    pub multipliers: Vec<usize>,
    /// Residual blocks at each size on the way down; there is one more on the way up.
    pub blocks: usize,
    /// Squares of so many pixels' side are one place with as many more channels to the network: each doubling leaves a quarter of the places.
    pub fold: usize,
}

impl NcsnSize {
    /// Checks it for pictures of this side.
    pub fn validate(&self, side: usize) -> Result<()> {
        if !(1..=1024).contains(&self.channels) {
            return Err(Error::config("network.channels", format!("{} is not between 1 and 1024", self.channels)));
        }
        if self.multipliers.is_empty()
            || self.multipliers.len() > 10
            || !self.multipliers.iter().all(|m| (1..=64).contains(m))
        {
            return Err(Error::config("network.multipliers", "must be 1 to 10 numbers between 1 and 64"));
        }
        if !(1..=16).contains(&self.blocks) {
            return Err(Error::config("network.blocks", format!("{} is not between 1 and 16", self.blocks)));
        }
        if !(1..=16).contains(&self.fold) {
            return Err(Error::config("network.fold", format!("{} is not between 1 and 16", self.fold)));
        }
        let (sizes, unit) = (self.multipliers.len(), self.fold << (self.multipliers.len() - 1));
        if !side.is_multiple_of(unit) {
            let problem = format!("is {side}, and a network of {sizes} sizes needs a multiple of {unit}");
            return Err(Error::config("size", problem));
        }
        Ok(())
    }
}

/// The network: what it is made of, without its weights.
#[derive(Debug, Clone)]
pub struct Ncsn {
    plan: Plan,
    fold: usize,
    frequencies: Vec<f32>,
    embed: [Convolution; 2],
    input: Convolution,
    down: Vec<Down>,
    middle: (Block, Attention, Block),
    up: Vec<Up>,
}

/// One size on the way down.
#[derive(Debug, Clone)]
struct Down {
    stages: Vec<Stage>,
    /// To the next size: the block, and what the input adds to it.
    shrink: Option<(Block, Convolution)>,
}

/// One size on the way up.
#[derive(Debug, Clone)]
struct Up {
    stages: Vec<Stage>,
    output_norm: Norm,
    output: Convolution,
    /// To the next size.
    grow: Option<Block>,
}

/// A block, and attention where the size has it.
#[derive(Debug, Clone)]
struct Stage {
    block: Block,
    attention: Option<Attention>,
}

impl Stage {
    fn forward(&self, weights: &Weights, x: &Tensor, levels: &Tensor) -> Tensor {
        let x = self.block.forward(weights, x, levels);
        match &self.attention {
            Some(attention) => attention.forward(weights, &x),
            None => x,
        }
    }
}

impl Ncsn {
    /// For square pictures of this side with so many channels in and out.
    pub fn new(size: &NcsnSize, side: usize, inputs: usize, outputs: usize) -> Self {
        let mut plan = Plan::default();
        let (side, folded) = (side / size.fold, size.fold * size.fold);
        let (inputs, outputs) = (inputs * folded, outputs * folded);
        let embedding = 4 * size.channels;
        let mut frequencies = vec![0.0; size.channels];
        fill_normal(&mut stream(0, 0, 0, 0), &mut frequencies);
        let embed = [
            Convolution::new(&mut plan, 1, 2 * size.channels, embedding),
            Convolution::new(&mut plan, 1, embedding, embedding),
        ];
        let input = Convolution::new(&mut plan, 3, inputs, size.channels);
        let stage = |plan: &mut Plan, from: usize, to: usize, side: usize| Stage {
            block: Block::new(plan, from, to, embedding, None),
            attention: (side == ATTENTION).then(|| Attention::new(plan, to)),
        };

        let widths: Vec<usize> = size.multipliers.iter().map(|multiplier| multiplier * size.channels).collect();
        let last = widths.len() - 1;
        let (mut channels, mut kept) = (size.channels, vec![size.channels]);
        let mut down = Vec::new();
        for (index, &width) in widths.iter().enumerate() {
            let mut stages = Vec::new();
            for _ in 0..size.blocks {
                stages.push(stage(&mut plan, channels, width, side >> index));
                channels = width;
                kept.push(width);
            }
            let shrink = (index < last).then(|| {
                kept.push(width);
                let block = Block::new(&mut plan, width, width, embedding, Some(Direction::Down));
                (block, Convolution::new(&mut plan, 1, inputs, width))
            });
            down.push(Down { stages, shrink });
        }
        let middle = (
            Block::new(&mut plan, channels, channels, embedding, None),
            Attention::new(&mut plan, channels),
            Block::new(&mut plan, channels, channels, embedding, None),
        );
        let mut up = Vec::new();
        for (index, &width) in widths.iter().enumerate().rev() {
            let mut stages = Vec::new();
            for _ in 0..=size.blocks {
                let from = channels + kept.pop().expect("as many blocks go up as were kept on the way down");
                stages.push(stage(&mut plan, from, width, side >> index));
                channels = width;
            }
            up.push(Up {
                stages,
                output_norm: Norm::new(&mut plan, width),
                output: Convolution::silent(&mut plan, 3, width, outputs),
                grow: (index > 0).then(|| {
                    channels = widths[index - 1];
                    Block::new(&mut plan, width, channels, embedding, Some(Direction::Up))
                }),
            });
        }
        Self { plan, fold: size.fold, frequencies, embed, input, down, middle, up }
    }

    /// What its weights are.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// From pictures [images, side, side, inputs], each at a level given as a number, to [images, side, side, outputs].
    pub fn forward(&self, weights: &Weights, x: &Tensor, levels: &[f32]) -> Tensor {
        let levels = self.embed_levels(weights, levels, &x.device());
        let resample = |x: &Tensor, direction: Direction| Tensor::of(Operation::Resample(direction), [x]);
        let mut input = Tensor::of(Operation::Fold { side: self.fold }, [x]);
        let mut h = self.input.forward(weights, &input);
        let mut kept = vec![h.clone()];
        for Down { stages, shrink } in &self.down {
            for stage in stages {
                h = stage.forward(weights, &h, &levels);
                kept.push(h.clone());
            }
            if let Some((block, add)) = shrink {
                input = resample(&input, Direction::Down);
                h = sum(&block.forward(weights, &h, &levels), &add.forward(weights, &input), 1.0);
                kept.push(h.clone());
            }
        }
        let (first, attention, second) = &self.middle;
        h = attention.forward(weights, &first.forward(weights, &h, &levels));
        h = second.forward(weights, &h, &levels);
        let mut output: Option<Tensor> = None;
        for Up { stages, output_norm, output: say, grow } in &self.up {
            for stage in stages {
                let beside = kept.pop().expect("as many blocks go up as were kept on the way down");
                h = stage.forward(weights, &Tensor::of(Operation::Join, [&h, &beside]), &levels);
            }
            let own = say.forward(weights, &output_norm.forward(weights, &h));
            output = Some(match output {
                Some(smaller) => sum(&resample(&smaller, Direction::Up), &own, 1.0),
                None => own,
            });
            if let Some(grow) = grow {
                h = grow.forward(weights, &h, &levels);
            }
        }
        let output = output.expect("there is at least one size");
        Tensor::of(Operation::Unfold { side: self.fold }, [&output])
    }

    fn embed_levels(&self, weights: &Weights, levels: &[f32], device: &Device) -> Tensor {
        let angle = |level: f32, frequency: f32| std::f32::consts::TAU * level * frequency * FOURIER_SCALE;
        let features: Vec<f32> = levels
            .iter()
            .flat_map(|level| {
                let sines = self.frequencies.iter().map(|frequency| angle(*level, *frequency).sin());
                sines.chain(self.frequencies.iter().map(|frequency| angle(*level, *frequency).cos()))
            })
            .collect();
        let mut embedding = Tensor::new(features, [levels.len(), 1, 1, 2 * self.frequencies.len()], device);
        for layer in &self.embed {
            embedding = Tensor::of(Operation::Silu, [&layer.forward(weights, &embedding)]);
        }
        embedding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{Expected, assert_agrees, pictures};

    // Two sizes of 16 and 8 places after folding, the first with attention. Values from `reference/mask_networks.py` in the benchmarks.
    #[test]
    fn outputs_and_gradient_agree_with_pytorch() {
        let size = NcsnSize { channels: 8, multipliers: vec![1, 2], blocks: 1, fold: 2 };
        let mut network = Ncsn::new(&size, 32, 5, 2);
        network.frequencies = (0..8).map(|i| (1.7 * f64::from(i) + 0.3).sin() as f32).collect();
        let expected = Expected {
            weights: 46_184,
            outputs: [-0.064_781_57, 0.167_454_77, 0.285_253_83, -0.594_215_4, 0.296_974_55, 0.220_664_19],
            loss: -1.203_356_931,
            gradient: [-0.013_355_419, 0.000_352_458, -0.009_139_074, -0.004_327_559, -0.003_348_194, -1.779_995],
            gradient_sum: -4.124_368_326,
        };
        assert_agrees(network.plan(), &expected, |weights, device| {
            network.forward(weights, &pictures([2, 32, 32, 5], device), &[0.3, 0.8])
        });
    }
}
