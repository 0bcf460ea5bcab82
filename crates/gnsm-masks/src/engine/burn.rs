//! The operations made of burn's, for GPUs.

use burn_tensor::activation::{sigmoid, silu, softmax};
use burn_tensor::module::{conv_transpose2d, conv2d};
use burn_tensor::ops::{ConvOptions, ConvTransposeOptions};
use burn_tensor::{Device, Gradients, Tensor as BurnTensor, TensorData};

use super::group_norm::EPSILON;
use super::kernel::Shape;
use super::resampling::FILTER;
use super::{Direction, Operation, Tensor};

/// The name of a device, for people.
pub fn name(device: &Device) -> String {
    let text = format!("{device:?}");
    text.strip_prefix("Device<").and_then(|rest| rest.strip_suffix('>')).unwrap_or(&text).to_owned()
}

/// Puts numbers on a device.
pub fn put(values: Vec<f32>, shape: Shape, learned: bool, device: &Device) -> BurnTensor<4> {
    let data = TensorData::new(values, shape);
    if learned {
        return BurnTensor::from_data(data, &device.clone().autodiff()).require_grad();
    }
    BurnTensor::from_data(data, device)
}

/// The numbers of a tensor.
pub fn values<const D: usize>(tensor: BurnTensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().expect("networks are in single precision")
}

/// The gradients of everything learned, from that of some sum by these numbers.
pub fn backward(tensor: BurnTensor<4>, gradient: Vec<f32>) -> Gradients {
    let gradient = BurnTensor::from_data(TensorData::new(gradient, tensor.dims()), &tensor.device());
    (tensor * gradient).sum().backward()
}

/// The result of an operation, if its inputs are burn's.
pub fn apply(operation: Operation, inputs: &[&Tensor]) -> Option<Tensor> {
    let burns = |tensor: &&Tensor| match tensor {
        Tensor::Burn(tensor) => Some(tensor.clone()),
        Tensor::Cpu(_) => None,
    };
    let mut inputs: Vec<BurnTensor<4>> = inputs.iter().map(burns).collect::<Option<_>>()?;
    // What is learned lives on a device that keeps gradients; all inputs of an operation have to.
    if inputs.iter().any(BurnTensor::is_autodiff) {
        let all =
            inputs.into_iter().map(|input| if input.is_autodiff() { input } else { BurnTensor::from_inner(input) });
        inputs = all.collect();
    }
    Some(Tensor::Burn(run(operation, inputs)))
}

fn run(operation: Operation, inputs: Vec<BurnTensor<4>>) -> BurnTensor<4> {
    let mut inputs = inputs.into_iter();
    let mut next = || inputs.next().expect("an operation has as many inputs as it takes");
    let x = next();
    let [images, height, width, channels] = x.dims();
    match operation {
        Operation::Convolve { side } => {
            let (weight, bias) = (next(), next());
            let outputs = weight.dims()[3];
            let weight = weight.reshape([side, side, channels, outputs]).permute([3, 2, 0, 1]);
            let options = ConvOptions::new([1, 1], [side / 2, side / 2], [1, 1], 1);
            conv2d(x.permute([0, 3, 1, 2]), weight, None, options).permute([0, 2, 3, 1]) + bias
        }
        Operation::LookAround => {
            let options = ConvOptions::new([1, 1], [1, 1], [1, 1], channels);
            conv2d(x.permute([0, 3, 1, 2]), next(), None, options).permute([0, 2, 3, 1])
        }
        Operation::Normalise { groups } => {
            let (gain, shift) = (next(), next());
            let grouped = x.reshape([images, height * width, groups, channels / groups]);
            let mean = grouped.clone().mean_dim(1).mean_dim(3);
            let centred = grouped - mean;
            let variance = centred.clone().powi_scalar(2).mean_dim(1).mean_dim(3);
            let scaled = centred / (variance + EPSILON).sqrt();
            silu(scaled.reshape([images, height, width, channels]) * gain + shift)
        }
        Operation::Resample(direction) => {
            let line = BurnTensor::<1>::from_floats(FILTER, &x.device());
            let window = line.clone().reshape([1, 1, 4, 1]) * line.reshape([1, 1, 1, 4]);
            let window = window.repeat_dim(0, channels);
            let x = x.permute([0, 3, 1, 2]);
            let y = match direction {
                Direction::Down => conv2d(x, window, None, ConvOptions::new([2, 2], [1, 1], [1, 1], channels)),
                Direction::Up => {
                    let options = ConvTransposeOptions::new([2, 2], [1, 1], [0, 0], [1, 1], channels);
                    conv_transpose2d(x, window, None, options) * 4.0
                }
            };
            y.permute([0, 2, 3, 1])
        }
        Operation::Attend => {
            let flat = |x: BurnTensor<4>| x.reshape([images, height * width, channels]);
            let (key, value) = (flat(next()), flat(next()));
            let likeness = flat(x).matmul(key.transpose()) * (channels as f64).powf(-0.5);
            softmax(likeness, 2).matmul(value).reshape([images, height, width, channels])
        }
        Operation::Add { times } => (x + next()) * times,
        Operation::Join => BurnTensor::cat(vec![x, next()], 3),
        Operation::Fold { side } => {
            let squares = x.reshape([images, height / side, side, width / side, side, channels]);
            let squares = squares.permute([0, 1, 3, 2, 4, 5]);
            squares.reshape([images, height / side, width / side, side * side * channels])
        }
        Operation::Unfold { side } => {
            let squares = x.reshape([images, height, width, side, side, channels / (side * side)]);
            let squares = squares.permute([0, 1, 3, 2, 4, 5]);
            squares.reshape([images, height * side, width * side, channels / (side * side)])
        }
        Operation::Silu => silu(x),
        Operation::Sigmoid => sigmoid(x),
        Operation::Pool => x.mean_dim(1).mean_dim(2),
        Operation::Weigh => x * next(),
    }
}
