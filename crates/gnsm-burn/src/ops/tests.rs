use burn_tensor::{Device, Tensor, TensorData};

use super::*;

/// Numbers that look random, the same every time.
fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| (((i * 7919 + seed * 104_729 + 13) % 2003) as f32 / 1001.5 - 1.0) * 1.3).collect()
}

fn tensor<const D: usize>(shape: [usize; D], seed: usize, device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(numbers(shape.iter().product(), seed), shape), device)
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().expect("single precision")
}

fn assert_near(a: &[f32], b: &[f32], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= 2e-4 * (1.0 + b.abs()), "{what}, place {i}: {a} {b}");
    }
}

/// Outputs and all gradients of a kernel and of what burn makes of the same operation.
fn assert_agree<const A: usize, const B: usize, const C: usize>(
    shapes: ([usize; A], [usize; B], [usize; C]),
    ours: impl Fn(Tensor<A>, Tensor<B>, Tensor<C>) -> Tensor<4>,
    burns: impl Fn(Tensor<A>, Tensor<B>, Tensor<C>) -> Tensor<4>,
    what: &str,
) {
    let device = Device::flex().autodiff();
    let run = |operation: &dyn Fn(Tensor<A>, Tensor<B>, Tensor<C>) -> Tensor<4>| {
        let inputs = (
            tensor(shapes.0, 1, &device).require_grad(),
            tensor(shapes.1, 2, &device).require_grad(),
            tensor(shapes.2, 3, &device).require_grad(),
        );
        let y = operation(inputs.0.clone(), inputs.1.clone(), inputs.2.clone());
        let weights = Tensor::from_data(TensorData::new(numbers(y.shape().num_elements(), 4), y.shape()), &device);
        let gradients = (y.clone() * weights).sum().backward();
        let none = "every input has a gradient";
        [
            values(y),
            values(inputs.0.grad(&gradients).expect(none)),
            values(inputs.1.grad(&gradients).expect(none)),
            values(inputs.2.grad(&gradients).expect(none)),
        ]
    };
    for (place, (a, b)) in run(&ours).iter().zip(&run(&burns)).enumerate() {
        assert_near(a, b, &format!("{what}, {}", ["output", "first", "second", "third"][place]));
    }
}

#[test]
fn convolution_agrees_with_burns() {
    for (side, shape, outputs, biases) in
        [(3, [3, 5, 6, 4], 7, 3), (3, [1, 1, 1, 3], 2, 1), (1, [2, 4, 3, 5], 6, 1), (3, [9, 2, 40, 60], 3, 9)]
    {
        let shapes = (shape, [side * side * shape[3], outputs], [biases, outputs]);
        assert_agree(shapes, convolve, |x, w, b| convolve_by_burn(x, w, b, side), &format!("{shape:?}"));
    }
}

#[test]
fn normalisation_agrees_with_burns() {
    for (shape, groups) in [([3, 5, 6, 8], 4), ([1, 1, 1, 6], 2), ([2, 9, 9, 3], 1)] {
        let shapes = (shape, [shape[3]], [shape[3]]);
        let ours = |x, gain, shift| normalise(x, gain, shift, groups);
        assert_agree(shapes, ours, |x, gain, shift| normalise_by_burn(x, gain, shift, groups), &format!("{shape:?}"));
    }
}

#[test]
fn resampling_agrees_with_burns() {
    for shape in [[2, 4, 6, 3], [1, 2, 2, 1], [3, 8, 2, 5]] {
        for direction in [Direction::Down, Direction::Up] {
            let ours = |x, a: Tensor<1>, b: Tensor<1>| {
                resample(x, direction) * a.sum().reshape([1, 1, 1, 1]) + b.reshape([1, 1, 1, 1])
            };
            let burns = |x, a: Tensor<1>, b: Tensor<1>| {
                resample_by_burn(x, direction) * a.sum().reshape([1, 1, 1, 1]) + b.reshape([1, 1, 1, 1])
            };
            assert_agree((shape, [2], [1]), ours, burns, &format!("{shape:?} {direction:?}"));
        }
    }
}

#[test]
fn a_constant_stays_one_inside_the_border() {
    let x = Tensor::<4>::ones([1, 8, 8, 1], &Device::flex());
    for direction in [Direction::Down, Direction::Up] {
        let y = resample(x.clone(), direction);
        let [_, height, width, _] = y.dims();
        let inner = y.slice([0..1, 1..height - 1, 1..width - 1, 0..1]);
        assert!(values(inner).iter().all(|value| (value - 1.0).abs() < 1e-6), "{direction:?}");
    }
}

#[test]
fn an_image_does_not_depend_on_its_neighbours_nor_on_threads() {
    let device = Device::flex();
    let run = |images: usize| {
        let x = tensor([5, 8, 8, 6], 1, &device).slice([0..images, 0..8, 0..8, 0..6]);
        let y = convolve(x, tensor([54, 8], 2, &device), tensor([1, 8], 3, &device));
        values(resample(normalise(y, tensor([8], 4, &device), tensor([8], 5, &device), 2), Direction::Down))
    };
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let all = run(5);
    assert_eq!(one_thread.install(|| run(5)), all);
    assert_eq!(run(2), all[..2 * all.len() / 5]);
}
