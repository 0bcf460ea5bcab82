//! A plain multi-layer perceptron: dense layers one after another, forward and backward, on a tile of rows.
//!
//! A layer is h ← dropout(act(norm(h·W + b))). The bias b, the layer normalisation and the dropout are there if the
//! layer asks for them. Several perceptrons share one flat vector of parameters ([`super::stack`]). Each has its dense
//! weights first, then its vectors (biases, gains and shifts), which every tile of rows sums for itself.

use std::ops::Range;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::dense;
use super::norm::{self, Activation, Kept};
use super::pieces::{Piece, RUN, SLICE};
use super::residual::{TILE, uniform};
use crate::math;

/// One layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layer {
    /// Its units.
    pub outputs: usize,
    /// Whether it has a bias.
    pub bias: bool,
    /// Whether its sums are normalised before the activation.
    pub norm: bool,
    /// What follows.
    pub activation: Activation,
    /// The share of its units that are 0 in a training step; the others are scaled up.
    pub dropout: f32,
}

/// The shape of a perceptron, and where its weights lie.
#[derive(Debug, Clone)]
pub struct Perceptron {
    inputs: usize,
    layers: Vec<Slots>,
    /// All of its parameters.
    range: Range<usize>,
    /// Where its vectors start.
    vectors: usize,
}

/// The offsets of one layer; of what it does not have, an empty range.
#[derive(Debug, Clone)]
struct Slots {
    layer: Layer,
    inputs: usize,
    weight: Range<usize>,
    bias: Range<usize>,
    gain: Range<usize>,
    shift: Range<usize>,
}

/// Where the sum of a piece of the gradient comes from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Rows from `first` of a layer's weights.
    Weight { layer: usize, first: usize },
    /// The tiles' own sums, from there on.
    Vectors { first: usize },
}

impl Perceptron {
    /// These layers on `inputs` inputs, with weights from `start` on.
    pub fn new(inputs: usize, layers: &[Layer], start: usize) -> Self {
        let mut next = start;
        let mut take = |n: usize| {
            next += n;
            next - n..next
        };
        let widths = || std::iter::once(inputs).chain(layers.iter().map(|layer| layer.outputs));
        let weights: Vec<_> = widths().zip(layers).map(|(inputs, layer)| take(inputs * layer.outputs)).collect();
        let vectors = weights.last().map_or(start, |last| last.end);
        let layers = widths()
            .zip(layers)
            .zip(weights)
            .map(|((inputs, layer), weight)| {
                let mut vector = |wanted: bool| take(if wanted { layer.outputs } else { 0 });
                let (bias, gain, shift) = (vector(layer.bias), vector(layer.norm), vector(layer.norm));
                Slots { layer: *layer, inputs, weight, bias, gain, shift }
            })
            .collect();
        Self { inputs, layers, range: start..next, vectors }
    }

    /// Where its parameters lie.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Inputs of a row.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Outputs of a row.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(self.inputs, |last| last.layer.outputs)
    }

    /// Fresh weights: uniform with variance 1/mean(inputs, outputs) of each layer (Glorot and Bengio 2010), gains 1, the rest 0.
    pub fn initialise(&self, parameters: &mut [f32], rng: &mut ChaCha8Rng) {
        parameters[self.range.clone()].fill(0.0);
        for slots in &self.layers {
            let bound = (6.0 / (slots.inputs + slots.layer.outputs) as f32).sqrt();
            for weight in &mut parameters[slots.weight.clone()] {
                *weight = (2.0 * uniform(rng) - 1.0) * bound;
            }
            parameters[slots.gain.clone()].fill(1.0);
        }
    }

    /// From the tile's inputs to its outputs; units are dropped where there is a stream to draw from.
    pub fn forward(&self, parameters: &[f32], tile: &mut PerceptronTile, mut dropout: Option<&mut ChaCha8Rng>) {
        let weights = |range: &Range<usize>| &parameters[range.clone()];
        for (index, slots) in self.layers.iter().enumerate() {
            let (before, from_here) = tile.layers.split_at_mut(index);
            let x = before.last().map_or(&tile.inputs, |layer| &layer.outputs);
            let LayerKept { outputs, kept, .. } = &mut from_here[0];
            let width = slots.layer.outputs;
            let sums = &mut tile.scratch[..TILE * width];
            if slots.layer.bias {
                dense::forward(sums, x, weights(&slots.weight), weights(&slots.bias), slots.inputs);
            } else {
                dense::forward_without_bias(sums, x, weights(&slots.weight), (slots.inputs, width));
            }
            if slots.layer.norm {
                norm::forward(slots.layer.activation, outputs, sums, weights(&slots.gain), weights(&slots.shift), kept);
            } else {
                norm::activate(slots.layer.activation, outputs, sums, &mut kept.slope);
            }
            if let (Some(rng), true) = (&mut dropout, slots.layer.dropout > 0.0) {
                drop_units(slots.layer.dropout, outputs, &mut kept.slope, rng);
            }
        }
    }

    /// From the gradient of the outputs, `tile.d_outputs`, to what the weights' gradients need; with `to_inputs` on to `tile.d_inputs`.
    pub fn backward(&self, parameters: &[f32], tile: &mut PerceptronTile, to_inputs: bool) {
        let weights = |range: &Range<usize>| &parameters[range.clone()];
        let local = |range: &Range<usize>| range.start - self.vectors..range.end - self.vectors;
        tile.sums.fill(0.0);
        for (index, slots) in self.layers.iter().enumerate().rev() {
            let (inputs, width) = (slots.inputs, slots.layer.outputs);
            let LayerKept { kept, d_sums, .. } = &mut tile.layers[index];
            let is_last = index + 1 == self.layers.len();
            let d_outputs = if is_last { &mut tile.d_outputs } else { &mut tile.scratch[..TILE * width] };
            if slots.layer.norm {
                let vectors = &mut tile.sums[slots.gain.start - self.vectors..][..2 * width];
                let (d_gain, d_shift) = vectors.split_at_mut(width);
                norm::backward(d_sums, d_outputs, None, weights(&slots.gain), kept, d_gain, d_shift);
            } else {
                multiply(d_sums, d_outputs, &kept.slope);
            }
            if slots.layer.bias {
                dense::backward_bias(&mut tile.sums[local(&slots.bias)], d_sums);
            }
            if index > 0 {
                let d_x = &mut tile.scratch[..TILE * inputs];
                dense::backward_input(d_x, d_sums, weights(&slots.weight), inputs, width);
            } else if to_inputs {
                dense::backward_input(&mut tile.d_inputs, d_sums, weights(&slots.weight), inputs, width);
            }
        }
    }

    /// Its part of the gradient vector, in pieces.
    pub(super) fn pieces(&self) -> Vec<Piece<Source>> {
        let mut pieces = Vec::new();
        for (layer, slots) in self.layers.iter().enumerate() {
            for first in (0..slots.inputs).step_by(SLICE) {
                let start = slots.weight.start + first * slots.layer.outputs;
                pieces.push(Piece { start, source: Source::Weight { layer, first } });
            }
        }
        for start in (self.vectors..self.range.end).step_by(RUN) {
            pieces.push(Piece { start, source: Source::Vectors { first: start - self.vectors } });
        }
        pieces
    }

    /// Adds what one tile has of a piece, or begins with it.
    pub(super) fn sum_piece(&self, source: Source, tile: &PerceptronTile, gradient: &mut [f32], add: bool) {
        match source {
            Source::Weight { layer, first } => {
                let shape = (self.layers[layer].inputs, self.layers[layer].layer.outputs);
                let x = if layer == 0 { &tile.inputs } else { &tile.layers[layer - 1].outputs };
                dense::backward_weight(gradient, x, &tile.layers[layer].d_sums, shape, first, add);
            }
            Source::Vectors { first } => {
                if !add {
                    gradient.fill(0.0);
                }
                math::simd(
                    #[inline(always)]
                    || math::add(gradient, &tile.sums[first..]),
                );
            }
        }
    }
}

/// The buffers of one tile of rows in one perceptron.
pub struct PerceptronTile {
    /// [TILE, inputs].
    pub inputs: Vec<f32>,
    /// The gradient of the loss with respect to the outputs, [TILE, outputs]; overwritten on the way back.
    pub d_outputs: Vec<f32>,
    /// The same for the inputs, [TILE, inputs].
    pub d_inputs: Vec<f32>,
    layers: Vec<LayerKept>,
    scratch: Vec<f32>,
    /// This tile's sums for the vectors.
    sums: Vec<f32>,
}

/// What is kept of one layer.
struct LayerKept {
    /// [TILE, outputs].
    outputs: Vec<f32>,
    kept: Kept,
    /// The gradient of h·W + b, [TILE, outputs].
    d_sums: Vec<f32>,
}

impl PerceptronTile {
    /// Room for a tile, with or without its way back.
    pub fn new(network: &Perceptron, with_gradient: bool) -> Self {
        let for_gradient = |n: usize| vec![0.0; if with_gradient { n } else { 0 }];
        let widest = network.layers.iter().map(|slots| slots.layer.outputs).max().unwrap_or(0);
        let layer = |slots: &Slots| {
            let width = slots.layer.outputs;
            LayerKept {
                outputs: vec![0.0; TILE * width],
                kept: if slots.layer.norm { Kept::new(TILE, width) } else { Kept::of_activation(TILE, width) },
                d_sums: for_gradient(TILE * width),
            }
        };
        Self {
            inputs: vec![0.0; TILE * network.inputs],
            d_outputs: for_gradient(TILE * network.outputs()),
            d_inputs: for_gradient(TILE * network.inputs),
            layers: network.layers.iter().map(layer).collect(),
            scratch: vec![0.0; TILE * widest],
            sums: for_gradient(network.range.end - network.vectors),
        }
    }

    /// [TILE, outputs].
    pub fn outputs(&self) -> &[f32] {
        self.layers.last().map_or(&self.inputs, |last| &last.outputs)
    }
}

/// Puts out a share of the units and scales the others, with their slopes.
fn drop_units(share: f32, outputs: &mut [f32], slopes: &mut [f32], rng: &mut ChaCha8Rng) {
    let (limit, scale) = ((f64::from(share) * f64::from(u32::MAX)) as u32, 1.0 / (1.0 - share));
    for (output, slope) in outputs.iter_mut().zip(slopes) {
        let factor = if rng.next_u32() < limit { 0.0 } else { scale };
        *output *= factor;
        *slope *= factor;
    }
}

fn multiply(to: &mut [f32], a: &[f32], b: &[f32]) {
    math::simd(
        #[inline(always)]
        || {
            for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
                *to = a * b;
            }
        },
    );
}

#[cfg(test)]
mod tests;
