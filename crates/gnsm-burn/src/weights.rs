//! The weights of a network: one flat vector for the training loop, tensors for the network.

use burn_tensor::{Device, Gradients, Tensor, TensorData};
use gnsm::internals::math::{fill_normal, stream};

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
    weights: Vec<(usize, WeightStart)>,
}

impl Plan {
    /// One more weight of so many numbers; returns its place.
    pub fn add(&mut self, length: usize, start: WeightStart) -> usize {
        self.weights.push((length, start));
        self.weights.len() - 1
    }

    /// The numbers of all weights.
    pub fn total(&self) -> usize {
        self.weights.iter().map(|(length, _)| length).sum()
    }

    /// Weights to start from.
    pub fn start(&self, seed: u64) -> Vec<f32> {
        /// The name of the random stream.
        const START: u64 = 11;
        let mut values = vec![0.0; self.total()];
        let mut rest = values.as_mut_slice();
        for (place, (length, start)) in self.weights.iter().enumerate() {
            let own;
            (own, rest) = rest.split_at_mut(*length);
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

/// The weights of a network on a device.
#[derive(Debug)]
pub struct Weights(Vec<Tensor<1>>);

impl Weights {
    /// Puts a flat vector on a device; with gradients if the device has them.
    pub fn new(plan: &Plan, values: &[f32], device: &Device) -> Self {
        let mut rest = values;
        let tensors = plan.weights.iter().map(|(length, _)| {
            let own;
            (own, rest) = rest.split_at(*length);
            let tensor = Tensor::from_data(TensorData::new(own.to_vec(), [*length]), device);
            if device.is_autodiff() { tensor.require_grad() } else { tensor }
        });
        Self(tensors.collect())
    }

    /// The weight at a place, in this shape.
    pub fn get<const D: usize>(&self, place: usize, shape: [usize; D]) -> Tensor<D> {
        self.0[place].clone().reshape(shape)
    }

    /// The gradient of every weight as a flat vector; 0 where there is none.
    pub fn flat_gradient(&self, gradients: &Gradients) -> Vec<f32> {
        let mut flat = Vec::new();
        for tensor in &self.0 {
            match tensor.grad(gradients) {
                Some(gradient) => flat.extend(floats(gradient)),
                None => flat.resize(flat.len() + tensor.dims()[0], 0.0),
            }
        }
        flat
    }
}

/// The numbers of a tensor.
pub fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().expect("networks are in single precision")
}
