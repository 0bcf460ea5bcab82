use super::*;
use crate::reference::devices;

/// Numbers that look random, the same every time.
fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| (((i * 7919 + seed * 104_729 + 13) % 2003) as f32 / 1001.5 - 1.0) * 1.3).collect()
}

fn tensor(shape: Shape, seed: usize) -> Tensor {
    Tensor::new(numbers(shape.iter().product(), seed), shape, &Device::Cpu)
}

/// Every operation with inputs of several shapes.
fn cases() -> Vec<(Operation, Vec<Shape>)> {
    let convolve = |side: usize, [images, height, width, inputs]: Shape, outputs: usize, biases: usize| {
        let weight = [1, 1, side * side * inputs, outputs];
        (Operation::Convolve { side }, vec![[images, height, width, inputs], weight, [biases, 1, 1, outputs]])
    };
    let normalise =
        |x: Shape, groups: usize| (Operation::Normalise { groups }, vec![x, [1, 1, 1, x[3]], [1, 1, 1, x[3]]]);
    let mut cases = vec![
        convolve(3, [3, 5, 6, 4], 7, 3),
        convolve(3, [1, 1, 1, 3], 2, 1),
        convolve(1, [2, 4, 3, 5], 6, 1),
        convolve(3, [9, 2, 40, 60], 3, 9),
        convolve(1, [4, 1, 1, 5], 1, 1),
        normalise([3, 5, 6, 8], 4),
        normalise([1, 1, 1, 6], 2),
        normalise([2, 9, 9, 3], 1),
        (Operation::LookAround, vec![[2, 4, 5, 3], [3, 1, 3, 3]]),
        (Operation::LookAround, vec![[1, 1, 1, 2], [2, 1, 3, 3]]),
        (Operation::Attend, vec![[2, 3, 4, 5]; 3]),
        (Operation::Add { times: 0.7 }, vec![[2, 3, 4, 5]; 2]),
        (Operation::Add { times: 1.0 }, vec![[3, 1, 1, 5], [1, 1, 1, 5]]),
        (Operation::Join, vec![[2, 3, 2, 4], [2, 3, 2, 1]]),
        (Operation::Fold { side: 3 }, vec![[2, 6, 3, 2]]),
        (Operation::Unfold { side: 2 }, vec![[2, 3, 2, 8]]),
        (Operation::Silu, vec![[2, 2, 3, 4]]),
        (Operation::Sigmoid, vec![[3, 1, 1, 4]]),
        (Operation::Pool, vec![[2, 3, 5, 4]]),
        (Operation::Weigh, vec![[2, 3, 4, 5], [2, 1, 1, 5]]),
    ];
    for shape in [[2, 4, 6, 3], [1, 2, 2, 1], [3, 8, 2, 5]] {
        cases.extend([Direction::Down, Direction::Up].map(|way| (Operation::Resample(way), vec![shape])));
    }
    cases
}

/// The result of an operation, and the gradient by each input of its sum with fixed weights.
fn run(operation: Operation, inputs: &[Tensor]) -> (Vec<f32>, Vec<Vec<f32>>) {
    let y = match inputs {
        [x] => Tensor::of(operation, [x]),
        [a, b] => Tensor::of(operation, [a, b]),
        [a, b, c] => Tensor::of(operation, [a, b, c]),
        _ => unreachable!("operations have one to three inputs"),
    };
    let values = y.values();
    let mut gradients = y.backward(numbers(values.len(), 4));
    (values, inputs.iter().map(|input| gradients.of(input).expect("a gradient")).collect())
}

fn put(shapes: &[Shape], device: &Device) -> Vec<Tensor> {
    let inputs = shapes.iter().enumerate();
    inputs.map(|(i, shape)| Tensor::learned(numbers(shape.iter().product(), i + 1), *shape, device)).collect()
}

#[test]
fn gradients_are_those_of_small_steps() {
    const STEP: f32 = 1e-2;
    for (operation, shapes) in cases() {
        let inputs = put(&shapes, &Device::Cpu);
        let (_, gradients) = run(operation, &inputs);
        for (which, gradient) in gradients.iter().enumerate() {
            // The whole gradient along one direction, from both sides.
            let direction = numbers(gradient.len(), 9);
            let sum_at = |step: f32| -> f64 {
                let mut moved = inputs.clone();
                let values: Vec<f32> =
                    moved[which].values().iter().zip(&direction).map(|(x, d)| x + step * d).collect();
                moved[which] = Tensor::learned(values, shapes[which], &Device::Cpu);
                let y = run(operation, &moved).0;
                y.iter().zip(numbers(y.len(), 4)).map(|(y, weight)| f64::from(*y) * f64::from(weight)).sum()
            };
            let found = (sum_at(STEP) - sum_at(-STEP)) / f64::from(2.0 * STEP);
            let expected: f64 = gradient.iter().zip(&direction).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
            let size: f64 = gradient.iter().zip(&direction).map(|(g, d)| f64::from(g * d).abs()).sum();
            assert!(
                (found - expected).abs() < 4e-3 * (1.0 + size),
                "{operation:?} {shapes:?}, input {which}: {found} {expected}"
            );
        }
    }
}

/// On the CPU with itself, and with burn's operations where they are built in (`make check-gpu`).
#[test]
fn devices_agree() {
    for (operation, shapes) in cases() {
        let [expected, found] = {
            let devices = devices();
            [&devices[0], &devices[devices.len() - 1]].map(|device| run(operation, &put(&shapes, device)))
        };
        let near = |a: &[f32], b: &[f32]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 2e-4 * (1.0 + b.abs()))
        };
        assert!(near(&found.0, &expected.0), "{operation:?} {shapes:?}");
        for (which, (found, expected)) in found.1.iter().zip(&expected.1).enumerate() {
            assert!(near(found, expected), "{operation:?} {shapes:?}, gradient {which}");
        }
    }
}

#[test]
fn attention_is_that_of_the_formula() {
    // Two pixels of one channel: the first looks at the second with e^(1·3) of e^(1·2) + e^(1·3).
    let row = |values: [f32; 2]| Tensor::new(values.to_vec(), [1, 1, 2, 1], &Device::Cpu);
    let y = Tensor::of(Operation::Attend, [&row([1.0, 0.0]), &row([2.0, 3.0]), &row([10.0, 20.0])]).values();
    let share = 1.0 / (1.0 + (-1.0f32).exp());
    assert!((y[0] - (10.0 + 10.0 * share)).abs() < 1e-4 && (y[1] - 15.0).abs() < 1e-4, "{y:?}");
}

#[test]
fn a_tensor_that_is_used_twice_has_the_sum_of_both_gradients() {
    let x = Tensor::learned(vec![2.0, -1.0], [1, 1, 1, 2], &Device::Cpu);
    let twice = Tensor::of(Operation::Add { times: 1.0 }, [&x, &x]);
    let y = Tensor::of(Operation::Weigh, [&twice, &x]);
    // y = 2x², so its slope is 4x.
    assert_eq!(y.values(), [8.0, 2.0]);
    assert_eq!(y.backward(vec![1.0, 1.0]).of(&x).expect("a gradient"), [8.0, -4.0]);
}

#[test]
fn a_constant_stays_one_inside_the_border() {
    let x = Tensor::new(vec![1.0; 64], [1, 8, 8, 1], &Device::Cpu);
    for direction in [Direction::Down, Direction::Up] {
        let y = Tensor::of(Operation::Resample(direction), [&x]);
        let ([_, height, width, _], values) = (y.shape(), y.values());
        for line in 1..height - 1 {
            let inner = &values[line * width + 1..(line + 1) * width - 1];
            assert!(inner.iter().all(|value| (value - 1.0).abs() < 1e-6), "{direction:?}");
        }
    }
}

#[test]
fn folding_and_back_is_nothing() {
    let x = tensor([2, 6, 6, 3], 1);
    let folded = Tensor::of(Operation::Fold { side: 3 }, [&x]);
    assert_eq!(folded.shape(), [2, 2, 2, 27]);
    assert_eq!(folded.values()[..9], x.values()[..9], "a line of a square stays together");
    assert_eq!(Tensor::of(Operation::Unfold { side: 3 }, [&folded]).values(), x.values());
}

#[test]
fn an_image_does_not_depend_on_its_neighbours_nor_on_threads() {
    let run = |images: usize| {
        let shape = [images, 8, 8, 6];
        let x = Tensor::new(numbers(5 * 384, 1)[..images * 384].to_vec(), shape, &Device::Cpu);
        let (weight, bias) = (tensor([1, 1, 54, 8], 2), tensor([1, 1, 1, 8], 3));
        let y = Tensor::of(Operation::Convolve { side: 3 }, [&x, &weight, &bias]);
        let (gain, shift) = (tensor([1, 1, 1, 8], 4), tensor([1, 1, 1, 8], 5));
        let y = Tensor::of(Operation::Normalise { groups: 2 }, [&y, &gain, &shift]);
        let y = Tensor::of(Operation::Attend, [&y, &y, &y]);
        Tensor::of(Operation::Resample(Direction::Down), [&y]).values()
    };
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let all = run(5);
    assert_eq!(one_thread.install(|| run(5)), all);
    assert_eq!(run(2), all[..2 * all.len() / 5]);
}
