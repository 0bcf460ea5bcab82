//! What the tests share that compare a network with PyTorch's: the weights and pictures of `reference/mask_networks.py` in the benchmarks.

use crate::engine::{Device, Tensor};
use crate::weights::{Plan, Weights};

/// What PyTorch says of a network.
pub struct Expected {
    /// How many weights it has.
    pub weights: usize,
    /// Six outputs at equal distances.
    pub outputs: [f32; 6],
    /// The sum of all outputs y(i)·cos(0.53·i).
    pub loss: f64,
    /// Six places of that sum's gradient by the weights, at equal distances.
    pub gradient: [f32; 6],
    /// The sum of all gradient(i)·cos(i).
    pub gradient_sum: f64,
}

/// Number i is sin(0.91·i).
pub fn pictures(shape: [usize; 4], device: &Device) -> Tensor {
    let values: Vec<f32> = (0..shape.iter().product()).map(|i: usize| (0.91 * i as f64).sin() as f32).collect();
    Tensor::new(values, shape, device)
}

/// Compares outputs and gradient on every device there is. Weight i is 0.2·sin(0.37·i² + 0.1·i).
pub fn assert_agrees(plan: &Plan, expected: &Expected, forward: impl Fn(&Weights, &Device) -> Tensor) {
    assert_eq!(plan.total(), expected.weights);
    for device in devices() {
        assert_agrees_on(&device, plan, expected, &forward);
    }
}

/// The CPU, and burn's where it is built in.
pub fn devices() -> Vec<Device> {
    vec![
        Device::Cpu,
        #[cfg(feature = "burn-on-cpu")]
        Device::Burn(burn_tensor::Device::flex()),
    ]
}

fn assert_agrees_on(device: &Device, plan: &Plan, expected: &Expected, forward: impl Fn(&Weights, &Device) -> Tensor) {
    let weight = |i: usize| (0.2 * (0.37 * i as f64 * i as f64 + 0.1 * i as f64).sin()) as f32;
    let weights = Weights::learned(plan, &(0..plan.total()).map(weight).collect::<Vec<f32>>(), device);
    let y = forward(&weights, device);
    let outputs = y.values();
    let factors: Vec<f32> = (0..outputs.len()).map(|i| (0.53 * i as f64).cos() as f32).collect();
    let gradient = weights.flat_gradient(y.backward(factors));

    assert_near(&outputs, &expected.outputs, "output");
    assert_near(&gradient, &expected.gradient, "gradient");
    let sum = |values: &[f32], step: f64| -> f64 {
        values.iter().enumerate().map(|(i, value)| f64::from(*value) * (step * i as f64).cos()).sum()
    };
    for (what, found, expected) in
        [("outputs", sum(&outputs, 0.53), expected.loss), ("gradient", sum(&gradient, 1.0), expected.gradient_sum)]
    {
        assert!((found - expected).abs() < 2e-4, "sum over the {what}: {found} and {expected}");
    }
}

fn assert_near(values: &[f32], expected: &[f32; 6], what: &str) {
    for (which, expected) in expected.iter().enumerate() {
        let place = which * (values.len() - 1) / 5;
        assert!((values[place] - expected).abs() < 2e-5, "{what} {place}: {} and {expected}", values[place]);
    }
}
