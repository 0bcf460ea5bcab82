//! The layer y = x·W + b and its gradients.
//!
//! It is for weights that are used once or twice per step, so that putting them into panels ([`super::panels`]) would
//! not pay. Weights are stored [inputs, outputs], row by row.

use super::panels::{Start, Strided, multiply};

/// `y = x·w + bias`; x is [rows, inputs], w is [inputs, outputs].
pub(crate) fn forward(y: &mut [f32], x: &[f32], w: &[f32], bias: &[f32], inputs: usize) {
    let outputs = bias.len();
    multiply(y, outputs, Strided::plain(x, inputs), Strided::plain(w, outputs), inputs, Start::Bias(bias));
}

/// `y = x·w`; x is [rows, inputs], w is [inputs, outputs].
pub(crate) fn forward_without_bias(y: &mut [f32], x: &[f32], w: &[f32], (inputs, outputs): (usize, usize)) {
    multiply(y, outputs, Strided::plain(x, inputs), Strided::plain(w, outputs), inputs, Start::Zero);
}

/// `dx = dy·wᵀ`.
pub(crate) fn backward_input(dx: &mut [f32], dy: &[f32], w: &[f32], inputs: usize, outputs: usize) {
    multiply(dx, inputs, Strided::plain(dy, outputs), Strided::transposed(w, outputs), outputs, Start::Zero);
}

/// `dw[first..first + n, :] (+)= x[:, first..first + n]ᵀ·dy`, a slice of the rows of dw.
pub(crate) fn backward_weight(
    dw: &mut [f32],
    x: &[f32],
    dy: &[f32],
    (inputs, outputs): (usize, usize),
    first: usize,
    accumulate: bool,
) {
    let x = Strided::transposed(x.get(first..).unwrap_or_default(), inputs);
    let start = if accumulate { Start::Result } else { Start::Zero };
    multiply(dw, outputs, x, Strided::plain(dy, outputs), dy.len() / outputs, start);
}

/// `dbias += Σ rows of dy`.
pub(crate) fn backward_bias(dbias: &mut [f32], dy: &[f32]) {
    crate::math::simd(
        #[inline(always)]
        || {
            for row in dy.chunks_exact(dbias.len()) {
                crate::math::add(dbias, row);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: f32) -> Vec<f32> {
        (0..n).map(|i| (i as f32 * 0.71 + seed).sin()).collect()
    }

    fn slow(
        a: impl Fn(usize, usize) -> f32,
        b: impl Fn(usize, usize) -> f32,
        (m, k, n): (usize, usize, usize),
    ) -> Vec<f32> {
        let mut c = Vec::new();
        for i in 0..m {
            for j in 0..n {
                c.push((0..k).map(|p| f64::from(a(i, p)) * f64::from(b(p, j))).sum::<f64>() as f32);
            }
        }
        c
    }

    fn assert_close(a: &[f32], b: &[f32]) {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
    }

    #[test]
    fn products_agree_with_the_definition() {
        let (rows, inputs, outputs) = (19, 37, 23);
        let (x, w, dy) = (numbers(rows * inputs, 0.1), numbers(inputs * outputs, 0.2), numbers(rows * outputs, 0.3));
        let bias = numbers(outputs, 0.4);
        let mut y = vec![9.0; rows * outputs];
        forward(&mut y, &x, &w, &bias, inputs);
        let mut expected = slow(|i, p| x[i * inputs + p], |p, j| w[p * outputs + j], (rows, inputs, outputs));
        for (i, value) in expected.iter_mut().enumerate() {
            *value += bias[i % outputs];
        }
        assert_close(&y, &expected);

        forward_without_bias(&mut y, &x, &w, (inputs, outputs));
        for (i, value) in y.iter_mut().enumerate() {
            *value += bias[i % outputs];
        }
        assert_close(&y, &expected);

        let mut dx = vec![9.0; rows * inputs];
        backward_input(&mut dx, &dy, &w, inputs, outputs);
        assert_close(&dx, &slow(|i, p| dy[i * outputs + p], |p, j| w[j * outputs + p], (rows, outputs, inputs)));

        let full = slow(|i, p| x[p * inputs + i], |p, j| dy[p * outputs + j], (inputs, rows, outputs));
        let mut dw = vec![1.0; 10 * outputs];
        backward_weight(&mut dw, &x, &dy, (inputs, outputs), 20, true);
        let expected: Vec<f32> = full[20 * outputs..30 * outputs].iter().map(|v| v + 1.0).collect();
        assert_close(&dw, &expected);
    }
}
