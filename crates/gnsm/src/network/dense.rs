//! Matrix products, and the layer y = x·W + b with its gradients.
//!
//! Weights are stored [inputs, outputs], row by row. The products are the `gemm` crate's, called on one thread with
//! shapes that do not depend on how many threads there are: that is what keeps results the same, bit for bit.

/// How a matrix is read: as stored, or transposed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// As stored.
    Plain,
    /// Rows and columns exchanged.
    Transposed,
}

/// `c = a·b`, or `c += a·b` with `accumulate`; c is [m, n], a is [m, k] and b is [k, n] after the reading.
///
/// `a_width` and `b_width` are the lengths of the stored rows, so that a slice of columns can be used in place.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    pub m: usize,
    pub k: usize,
    pub n: usize,
    pub a: (Read, usize),
    pub b: (Read, usize),
    pub accumulate: bool,
}

impl Product {
    /// Computes it. Panics if a slice is too short for its shape, which would be a mistake in this crate.
    pub fn run(self, c: &mut [f32], a: &[f32], b: &[f32]) {
        let Self { m, k, n, .. } = self;
        if m == 0 || n == 0 {
            return;
        }
        let strides = |(read, width): (Read, usize)| match read {
            Read::Plain => (1, width as isize),
            Read::Transposed => (width as isize, 1),
        };
        let needed = |(read, width): (Read, usize), rows: usize, columns: usize| {
            let (rows, columns) = if read == Read::Plain { (rows, columns) } else { (columns, rows) };
            assert!(columns <= width, "a stored row holds every column read");
            if rows == 0 || columns == 0 { 0 } else { (rows - 1) * width + columns }
        };
        assert!(c.len() >= m * n && a.len() >= needed(self.a, m, k) && b.len() >= needed(self.b, k, n));
        let (a_column, a_row) = strides(self.a);
        let (b_column, b_row) = strides(self.b);
        // SAFETY: the lengths were checked against the shapes and strides above, and `c` is not aliased.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                c.as_mut_ptr(),
                1,
                n as isize,
                self.accumulate,
                a.as_ptr(),
                a_column,
                a_row,
                b.as_ptr(),
                b_column,
                b_row,
                1.0f32,
                1.0f32,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    }
}

/// `y = x·w + bias`; x is [rows, inputs], w is [inputs, outputs].
pub(crate) fn forward(y: &mut [f32], x: &[f32], w: &[f32], bias: &[f32], inputs: usize) {
    let outputs = bias.len();
    let rows = y.len() / outputs;
    for row in y.chunks_exact_mut(outputs) {
        row.copy_from_slice(bias);
    }
    Product { m: rows, k: inputs, n: outputs, a: (Read::Plain, inputs), b: (Read::Plain, outputs), accumulate: true }
        .run(y, x, w);
}

/// `y = x·w`; x is [rows, inputs], w is [inputs, outputs].
pub(crate) fn forward_without_bias(y: &mut [f32], x: &[f32], w: &[f32], (inputs, outputs): (usize, usize)) {
    let (a, b) = ((Read::Plain, inputs), (Read::Plain, outputs));
    Product { m: y.len() / outputs, k: inputs, n: outputs, a, b, accumulate: false }.run(y, x, w);
}

/// `dx = dy·wᵀ`.
pub(crate) fn backward_input(dx: &mut [f32], dy: &[f32], w: &[f32], inputs: usize, outputs: usize) {
    Product {
        m: dy.len() / outputs,
        k: outputs,
        n: inputs,
        a: (Read::Plain, outputs),
        b: (Read::Transposed, outputs),
        accumulate: false,
    }
    .run(dx, dy, w);
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
    Product {
        m: dw.len() / outputs,
        k: dy.len() / outputs,
        n: outputs,
        a: (Read::Transposed, inputs),
        b: (Read::Plain, outputs),
        accumulate,
    }
    .run(dw, x.get(first..).unwrap_or_default(), dy);
}

/// `dbias += Σ rows of dy`.
pub(crate) fn backward_bias(dbias: &mut [f32], dy: &[f32]) {
    super::math::simd(
        #[inline(always)]
        || {
            for row in dy.chunks_exact(dbias.len()) {
                super::math::add(dbias, row);
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
