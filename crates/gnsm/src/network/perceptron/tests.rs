//! A perceptron against PyTorch and against finite differences, and its independence of the number of threads.

use super::*;
use crate::network::{Stack, StackReader, StackTile, StackTrainer, sum_input_gradients};

const WIDTHS: [usize; 4] = [7, 9, 6, 4];
const ROWS: usize = 130;

/// Outputs as they are; the loss is their sum times fixed weights.
struct Weighted {
    networks: [Perceptron; 1],
}

fn stack(activations: [Activation; 3], dropout: f32) -> Weighted {
    let [first, second, third] = activations;
    let layers = [
        Layer { outputs: WIDTHS[1], bias: true, norm: true, activation: first, dropout },
        Layer { outputs: WIDTHS[2], bias: false, norm: false, activation: second, dropout: 0.0 },
        Layer { outputs: WIDTHS[3], bias: true, norm: false, activation: third, dropout: 0.0 },
    ];
    Weighted { networks: [Perceptron::new(WIDTHS[0], &layers, 0)] }
}

/// What an output of a row counts in the loss.
fn weight(row: usize, output: usize) -> f64 {
    (0.53 * (row * WIDTHS[3] + output) as f64).cos()
}

impl Stack for Weighted {
    fn networks(&self) -> &[Perceptron] {
        &self.networks
    }

    fn n_results(&self) -> usize {
        WIDTHS[3]
    }

    fn forward(&self, parameters: &[f32], tile: &mut StackTile, results: &mut [f64]) {
        self.networks[0].forward(parameters, &mut tile.parts[0], tile.dropout.as_mut());
        results.iter_mut().zip(tile.parts[0].outputs()).for_each(|(result, output)| *result = f64::from(*output));
    }

    fn backward(&self, parameters: &[f32], tile: &mut StackTile, d_results: &[f64], to_inputs: bool) {
        tile.parts[0].d_outputs.fill(0.0);
        tile.parts[0].d_outputs.iter_mut().zip(d_results).for_each(|(d, slope)| *d = *slope as f32);
        self.networks[0].backward(parameters, &mut tile.parts[0], to_inputs);
    }

    fn loss(&self, results: &[f64], d_results: &mut [f64]) -> f64 {
        let weights = || (0..results.len()).map(|i| weight(i / WIDTHS[3], i % WIDTHS[3]));
        d_results.iter_mut().zip(weights()).for_each(|(d, weight)| *d = weight);
        results.iter().zip(weights()).map(|(result, weight)| result * weight).sum()
    }
}

fn input(row: usize, input: &mut [f32]) {
    for (i, x) in input.iter_mut().enumerate() {
        *x = (0.91 * (row * WIDTHS[0] + i) as f64).sin() as f32;
    }
}

fn parameters(stack: &Weighted) -> Vec<f32> {
    (0..stack.networks[0].range().end).map(|i| (0.3 * (0.37 * i as f64 + 0.1).sin()) as f32).collect()
}

fn gradient(stack: &Weighted, parameters: &[f32]) -> (f64, Vec<f32>) {
    let mut trainer = StackTrainer::new(stack, ROWS);
    let loss = trainer.compute_gradient(stack, parameters, |index, tile| {
        tile.dropout = Some(crate::math::stream(1, 2, 3, index as u64));
        for position in 0..tile.rows {
            input(index * TILE + position, tile.input(position));
        }
    });
    (loss, trainer.gradient().to_vec())
}

const PAPER: [Activation; 3] = [Activation::Tanh, Activation::Swish, Activation::Linear];

// Values: crates/gnsm-bench/reference/deep.py, PyTorch 2.15, float64.
#[test]
fn outputs_loss_and_gradient_agree_with_pytorch() {
    let stack = stack(PAPER, 0.0);
    let parameters = parameters(&stack);
    let (loss, gradient) = gradient(&stack, &parameters);
    assert!((loss + 0.077_333_913_544_960_29).abs() < 1e-5, "{loss}");
    let check: f64 = gradient.iter().enumerate().map(|(i, g)| f64::from(*g) * (i as f64).cos()).sum();
    assert!((check + 0.529_867_108_032_946_1).abs() < 2e-5, "{check}");
    let mut reader = StackReader::new(&stack, 1);
    let outputs = reader.read(&stack, &parameters, input);
    let expected =
        [-0.162_489_964_244_939_33, -0.058_425_039_585_485_91, 0.053_547_440_097_610_324, 0.158_272_524_965_892_3];
    for (output, expected) in outputs.iter().zip(expected) {
        assert!((output - expected).abs() < 1e-6, "{outputs:?}");
    }
}

/// Dropout included: its stream is the same at each point.
#[test]
fn gradients_agree_with_finite_differences() {
    for (activations, dropout) in
        [(PAPER, 0.0), (PAPER, 0.5), ([Activation::Gelu, Activation::Tanh, Activation::Swish], 0.25)]
    {
        let stack = stack(activations, dropout);
        let base = parameters(&stack);
        let (_, analytic) = gradient(&stack, &base);
        for start in 0..7 {
            let direction = |i: usize| if i % 7 == start { (i as f32 * 2.3).sin() } else { 0.0 };
            let loss_at = |distance: f32| {
                let moved: Vec<f32> = base.iter().enumerate().map(|(i, p)| p + distance * direction(i)).collect();
                gradient(&stack, &moved).0
            };
            let step = 5e-3;
            let numeric = (8.0 * (loss_at(step) - loss_at(-step)) - (loss_at(2.0 * step) - loss_at(-2.0 * step)))
                / (12.0 * f64::from(step));
            let along: f64 = analytic.iter().enumerate().map(|(i, g)| f64::from(*g) * f64::from(direction(i))).sum();
            assert!((numeric - along).abs() < 0.01 * along.abs().max(0.3), "{activations:?}: {along} {numeric}");
        }
    }
}

#[test]
fn gradients_of_inputs_agree_with_finite_differences() {
    let stack = stack(PAPER, 0.0);
    let parameters = parameters(&stack);
    let slope = |_: &[f64], d: &mut [f64]| d.iter_mut().enumerate().for_each(|(i, d)| *d = 1.0 + i as f64);
    let (rows, points) = (40, 4);
    let fill = |row: usize, point: usize, x: &mut [f32]| input(row * points + point, x);
    let sums = sum_input_gradients(&stack, &parameters, (rows, points), fill, slope);
    for (row, place) in [(0, 0), (3, 6), (39, 2)] {
        let value = |distance: f32| -> f64 {
            let mut reader = StackReader::new(&stack, points);
            let moved = |point: usize, x: &mut [f32]| {
                fill(row, point, x);
                x[place] += distance;
            };
            let results = reader.read(&stack, &parameters, moved);
            results.iter().enumerate().map(|(i, result)| result * (1.0 + (i % WIDTHS[3]) as f64)).sum()
        };
        let numeric = (value(1e-2) - value(-1e-2)) / 2e-2;
        let analytic = sums[row * WIDTHS[0] + place];
        assert!((numeric - analytic).abs() < 2e-3, "{analytic} {numeric}");
    }
}

#[test]
fn results_and_gradients_have_the_same_bits_on_any_number_of_threads() {
    let stack = stack(PAPER, 0.5);
    let parameters = parameters(&stack);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a small pool");
        pool.install(|| {
            let results = StackReader::new(&stack, ROWS).read(&stack, &parameters, input).to_vec();
            (results, gradient(&stack, &parameters))
        })
    };
    assert!(run(1) == run(3));
}
