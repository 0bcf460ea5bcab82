//! The weights of a network: one flat vector for the training loop, tensors for the network.

use gnsm::internals::math::{fill_normal, stream};

use crate::engine::{Device, Gradients, Shape, Tensor};

/// How a weight starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WeightStart {
    /// Normal numbers of this variance.
    Normal(f32),
    /// One value everywhere.
    Constant(f32),
}

/// What a network's weights are; each is known by its place.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    weights: Vec<(Shape, WeightStart)>,
}

impl Plan {
    /// One more weight of this shape; returns its place.
    pub fn add(&mut self, shape: Shape, start: WeightStart) -> usize {
        self.weights.push((shape, start));
        self.weights.len() - 1
    }

    /// The numbers of all weights.
    pub fn total(&self) -> usize {
        self.weights.iter().map(|(shape, _)| length(shape)).sum()
    }

    /// Weights to start from.
    pub fn start(&self, seed: u64) -> Vec<f32> {
        /// The name of the random stream.
        const START: u64 = 11;
        let mut values = vec![0.0; self.total()];
        let mut rest = values.as_mut_slice();
        for (place, (shape, start)) in self.weights.iter().enumerate() {
            let own;
            (own, rest) = rest.split_at_mut(length(shape));
            match start {
                WeightStart::Constant(value) => own.fill(*value),
                WeightStart::Normal(variance) => {
                    fill_normal(&mut stream(seed, START, place as u64, 0), own);
                    for value in own {
                        *value *= variance.sqrt();
                    }
                }
            }
        }
        values
    }
}

fn length(shape: &Shape) -> usize {
    shape.iter().product()
}

/// The weights of a network on a device.
#[derive(Debug)]
pub struct Weights(Vec<Tensor>);

impl Weights {
    /// Puts a flat vector on a device, to ask the network.
    pub fn fixed(plan: &Plan, values: &[f32], device: &Device) -> Self {
        Self::put(plan, values, |values, shape| Tensor::new(values, shape, device))
    }

    /// Puts a flat vector on a device, to learn it.
    pub fn learned(plan: &Plan, values: &[f32], device: &Device) -> Self {
        Self::put(plan, values, |values, shape| Tensor::learned(values, shape, device))
    }

    fn put(plan: &Plan, values: &[f32], put: impl Fn(Vec<f32>, Shape) -> Tensor) -> Self {
        let mut rest = values;
        let tensors = plan.weights.iter().map(|(shape, _)| {
            let own;
            (own, rest) = rest.split_at(length(shape));
            put(own.to_vec(), *shape)
        });
        Self(tensors.collect())
    }

    /// The weight at a place.
    pub fn get(&self, place: usize) -> &Tensor {
        &self.0[place]
    }

    /// The gradient of every weight as a flat vector; 0 where there is none.
    pub fn flat_gradient(&self, mut gradients: Gradients) -> Vec<f32> {
        let mut flat = Vec::new();
        for tensor in &self.0 {
            match gradients.of(tensor) {
                Some(gradient) => flat.extend(gradient),
                None => flat.resize(flat.len() + length(&tensor.shape()), 0.0),
            }
        }
        flat
    }
}
