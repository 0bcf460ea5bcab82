//! Matrix products of tiles of rows with a matrix that all tiles share.
//!
//! A product reads its right side 32 columns at a time, row after row. So a weight matrix is copied into that order
//! once per step ([`Panels`]), and transposed as well where the backward pass needs it. Every tile of rows then uses
//! the copy as it is. A general library would copy it again in every product.
//!
//! Each element of a product is one chain of fused multiply-adds over the inner dimension, in order. What it is added
//! to comes last. So the number of rows, the panels and the instruction set do not change a bit of it. Where both sides
//! are copied ([`multiply`]), a chain has at most 128 links, and the chains are summed in order.

use std::hint::black_box;
use std::ops::Range;

use super::pieces::SLICE;
use crate::math::{add, simd};

/// Columns of a panel: two AVX-512 registers, four of AVX2.
const PANEL: usize = 32;
/// Rows of a panel that are copied at a time where it was not made before.
const COPIED: usize = 128;
/// Rows of the left side that are copied at a time: a piece of a weight gradient, so that its right side is copied once.
const ROWS: usize = SLICE;

/// A matrix of any strides: element (i, j) is `values[i·row + j·column]`.
#[derive(Clone, Copy)]
pub(crate) struct Strided<'a> {
    pub values: &'a [f32],
    pub row: usize,
    pub column: usize,
}

impl<'a> Strided<'a> {
    /// A matrix as stored, row by row.
    pub fn plain(values: &'a [f32], width: usize) -> Self {
        Self { values, row: width, column: 1 }
    }

    /// The same with rows and columns exchanged.
    pub fn transposed(values: &'a [f32], width: usize) -> Self {
        Self { values, row: 1, column: width }
    }

    #[inline(always)]
    fn transpose(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    #[inline(always)]
    fn from(self, row: usize, column: usize) -> Self {
        let values = self.values.get(row * self.row + column * self.column..).unwrap_or_default();
        Self { values, ..self }
    }

    /// Copies the first `columns`, at most [`PANEL`], into a panel, as many rows as it has.
    #[inline(always)]
    fn copy_to(self, panel: &mut [f32], columns: usize) {
        let rows = panel.as_chunks_mut::<PANEL>().0;
        if self.column == 1 {
            for (i, to) in rows.iter_mut().enumerate() {
                let from = &self.values[i * self.row..];
                match from.first_chunk() {
                    Some(from) => *to = *from,
                    None => to[..from.len()].copy_from_slice(from),
                }
            }
        } else {
            for j in 0..columns {
                for (to, from) in rows.iter_mut().zip(self.values[j * self.column..].iter().step_by(self.row)) {
                    to[j] = *from;
                }
            }
        }
    }
}

/// A weight matrix in panels.
#[derive(Debug, Clone)]
pub(super) struct Panels {
    /// Where the weights lie among the parameters; stored [inputs, outputs].
    slot: Range<usize>,
    outputs: usize,
    transposed: bool,
    /// Panel after panel, each [rows, PANEL]; the last columns of the last one may be of no meaning.
    values: Vec<f32>,
}

impl Panels {
    /// Room for the weights [inputs, outputs] at `slot`.
    pub fn new(slot: &Range<usize>, outputs: usize, transposed: bool) -> Self {
        let mut panels = Self { slot: slot.clone(), outputs, transposed, values: Vec::new() };
        let (rows, columns) = panels.shape();
        panels.values = vec![0.0; rows * columns.next_multiple_of(PANEL)];
        panels
    }

    /// Rows and columns of what is multiplied with.
    fn shape(&self) -> (usize, usize) {
        let inputs = self.slot.len() / self.outputs;
        if self.transposed { (self.outputs, inputs) } else { (inputs, self.outputs) }
    }

    /// Copies the weights in.
    pub fn fill(&mut self, parameters: &[f32]) {
        let weights = &parameters[self.slot.clone()];
        let (rows, columns) = self.shape();
        let matrix = if self.transposed { Strided::transposed } else { Strided::plain }(weights, self.outputs);
        for (index, panel) in self.values.chunks_exact_mut(rows * PANEL).enumerate() {
            matrix.from(0, index * PANEL).copy_to(panel, PANEL.min(columns - index * PANEL));
        }
    }

    /// `c = start + a·w`, with w transposed if these are its panels; a is stored row by row.
    pub fn multiply(&self, c: &mut [f32], a: &[f32], start: Start<'_>) {
        let (inner, width) = self.shape();
        simd(
            #[inline(always)]
            || {
                for (index, panel) in self.values.chunks_exact(inner * PANEL).enumerate() {
                    let right = Panel { values: panel, inner };
                    multiply_panel(c, width, index * PANEL, Strided::plain(a, inner), right, start);
                }
            },
        );
    }
}

/// What a product is added to.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    /// Nothing.
    Zero,
    /// The result as it is.
    Result,
    /// A bias for each column.
    Bias(&'a [f32]),
    /// Both.
    ResultAndBias(&'a [f32]),
}

/// `c = start + a·b`; a is [m, inner], b is [inner, `width`], c is [m, `width`] and stored row by row.
///
/// Both sides are copied into panels on the way. The rows of a tile often lie a power of two apart, and would push each other out of the cache.
#[expect(clippy::large_stack_arrays, reason = "80 KB of a stack of megabytes, so that nothing is allocated")]
pub(crate) fn multiply(c: &mut [f32], width: usize, a: Strided<'_>, b: Strided<'_>, inner: usize, start: Start<'_>) {
    let (mut left, mut right) = ([0.0; ROWS * COPIED], [0.0; COPIED * PANEL]);
    simd(
        #[inline(always)]
        || {
            for (block, c) in c.chunks_mut(ROWS * width).enumerate() {
                let rows = c.len() / width;
                // Without an inner dimension there is still a start.
                for first in (0..inner.max(1)).step_by(COPIED) {
                    let inner = COPIED.min(inner - first);
                    for row in (0..rows).step_by(PANEL) {
                        let panel = &mut left[row * COPIED..][..inner * PANEL];
                        a.from(block * ROWS + row, first).transpose().copy_to(panel, PANEL.min(rows - row));
                    }
                    let start = if first == 0 { start } else { Start::Result };
                    for column in (0..width).step_by(PANEL) {
                        b.from(first, column).copy_to(&mut right[..inner * PANEL], PANEL.min(width - column));
                        let right = Panel { values: &right, inner };
                        for (c, left) in c.chunks_mut(PANEL * width).zip(left.chunks_exact(PANEL * COPIED)) {
                            // Strides that the compiler knows make it vectorise across rows, which is many times slower.
                            let left = Strided { values: left, row: black_box(1), column: black_box(PANEL) };
                            multiply_panel(c, width, column, left, right, start);
                        }
                    }
                }
            }
        },
    );
}

/// A panel of the right side, or its right half: element (p, j) is `values[p·PANEL + j]`.
#[derive(Clone, Copy)]
struct Panel<'a> {
    values: &'a [f32],
    inner: usize,
}

/// The columns of c from `column` on, as many as a panel has.
#[inline(always)]
fn multiply_panel(c: &mut [f32], width: usize, column: usize, left: Strided<'_>, right: Panel<'_>, start: Start<'_>) {
    let rows = c.len() / width;
    let mut row = 0;
    // Sixteen of the 32 registers of AVX-512 hold sums; elsewhere there are sixteen in all.
    if has_many_registers() {
        while row + 8 <= rows {
            multiply_block::<8, PANEL>(c, width, (row, column), left, right, start);
            row += 8;
        }
    }
    let half = Panel { values: right.values.get(PANEL / 2..).unwrap_or_default(), inner: right.inner };
    while row + 4 <= rows {
        multiply_block::<4, { PANEL / 2 }>(c, width, (row, column), left, right, start);
        multiply_block::<4, { PANEL / 2 }>(c, width, (row, column + PANEL / 2), left, half, start);
        row += 4;
    }
    while row < rows {
        multiply_block::<1, { PANEL / 2 }>(c, width, (row, column), left, right, start);
        multiply_block::<1, { PANEL / 2 }>(c, width, (row, column + PANEL / 2), left, half, start);
        row += 1;
    }
}

#[inline(always)]
fn has_many_registers() -> bool {
    #[cfg(target_arch = "x86_64")]
    return matches!(pulp::Arch::new(), pulp::Arch::V4(_));
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

#[inline(always)]
fn multiply_block<const ROWS: usize, const COLUMNS: usize>(
    c: &mut [f32],
    width: usize,
    (row, column): (usize, usize),
    left: Strided<'_>,
    right: Panel<'_>,
    start: Start<'_>,
) {
    if column >= width {
        return;
    }
    let sums = products::<ROWS, COLUMNS>(left.from(row, 0), right);
    for (i, sums) in sums.iter().enumerate() {
        let mut sums = *sums;
        let result = &mut c[(row + i) * width + column..];
        if matches!(start, Start::Result | Start::ResultAndBias(_)) {
            add(&mut sums, &load::<COLUMNS>(result));
        }
        if let Start::Bias(bias) | Start::ResultAndBias(bias) = start {
            add(&mut sums, &load::<COLUMNS>(&bias[column..]));
        }
        match result.first_chunk_mut() {
            Some(result) if column + COLUMNS <= width => *result = sums,
            _ => result[..width - column].copy_from_slice(&sums[..width - column]),
        }
    }
}

/// The first numbers; zeros where there are too few. Beyond the last column they are the next row's, and are not stored again.
#[inline(always)]
fn load<const COLUMNS: usize>(from: &[f32]) -> [f32; COLUMNS] {
    from.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0.0; COLUMNS];
        padded[..from.len()].copy_from_slice(from);
        padded
    })
}

/// The innermost loop; its sums stay in registers.
#[inline(always)]
fn products<const ROWS: usize, const COLUMNS: usize>(left: Strided<'_>, right: Panel<'_>) -> [[f32; COLUMNS]; ROWS] {
    let mut sums = [[0.0f32; COLUMNS]; ROWS];
    let Some(last) = right.inner.checked_sub(1) else { return sums };
    assert!(left.values.len() > (ROWS - 1) * left.row + last * left.column);
    assert!(right.values.len() >= last * PANEL + COLUMNS);
    let (a, b) = (left.values.as_ptr(), right.values.as_ptr());
    for p in 0..right.inner {
        // SAFETY: the lengths were checked above for the largest row and the largest p.
        let b = unsafe { b.add(p * PANEL).cast::<[f32; COLUMNS]>().read_unaligned() };
        for (i, sums) in sums.iter_mut().enumerate() {
            // SAFETY: as above.
            let a = unsafe { *a.add(i * left.row + p * left.column) };
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = a.mul_add(b, *sum);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: f32) -> Vec<f32> {
        (0..n).map(|i| (i as f32 * 0.71 + seed).sin()).collect()
    }

    /// One chain of multiply-adds an element, from the definition.
    fn chain(inner: usize, start: f32, a: impl Fn(usize) -> f32, b: impl Fn(usize) -> f32) -> f32 {
        (0..inner).fold(0.0, |sum, p| a(p).mul_add(b(p), sum)) + start
    }

    #[test]
    fn products_are_chains_of_multiply_adds() {
        for (rows, inputs, outputs) in [(1, 1, 1), (3, 5, 31), (13, 37, 53), (16, 32, 64), (128, 9, 33)] {
            let (x, w, dy) =
                (numbers(rows * inputs, 0.1), numbers(inputs * outputs, 0.2), numbers(rows * outputs, 0.3));
            let (bias, before) = (numbers(outputs, 0.4), numbers(rows * outputs, 0.5));
            let panels = |transposed| {
                let mut panels = Panels::new(&(0..w.len()), outputs, transposed);
                panels.fill(&w);
                panels
            };
            let plain = panels(false);
            for (start, first) in [
                (Start::Zero, &(|_| 0.0f32) as &dyn Fn(usize) -> f32),
                (Start::Result, &|at| before[at]),
                (Start::Bias(&bias), &|at| bias[at % outputs]),
                (Start::ResultAndBias(&bias), &|at| before[at] + bias[at % outputs]),
            ] {
                let mut y = before.clone();
                plain.multiply(&mut y, &x, start);
                for (at, y) in y.iter().enumerate() {
                    let (i, j) = (at / outputs, at % outputs);
                    let expected = chain(inputs, first(at), |p| x[i * inputs + p], |p| w[p * outputs + j]);
                    assert!((y - expected).abs() <= 2.0 * f32::EPSILON * expected.abs().max(1.0), "{y} {expected}");
                }
                let mut again = before.clone();
                let (a, b) = (Strided::plain(&x, inputs), Strided::plain(&w, outputs));
                multiply(&mut again, outputs, a, b, inputs, start);
                assert_eq!(y, again);
            }
            let mut dx = vec![9.0; rows * inputs];
            panels(true).multiply(&mut dx, &dy, Start::Zero);
            for (at, dx) in dx.iter().enumerate() {
                let (i, j) = (at / inputs, at % inputs);
                assert_eq!(*dx, chain(outputs, 0.0, |p| dy[i * outputs + p], |p| w[j * outputs + p]));
            }
            let mut dw = vec![1.0; inputs * outputs];
            let a = Strided::transposed(&x, inputs);
            multiply(&mut dw, outputs, a, Strided::plain(&dy, outputs), rows, Start::Result);
            for (at, dw) in dw.iter().enumerate() {
                let (i, j) = (at / outputs, at % outputs);
                assert_eq!(*dw, chain(rows, 1.0, |p| x[p * inputs + i], |p| dy[p * outputs + j]));
            }
        }
    }

    /// Longer than what is copied at a time: the pieces are summed one after the other.
    #[test]
    fn the_inner_dimension_can_be_long_or_nothing() {
        let (inner, width) = (300, 5);
        let (a, b) = (numbers(2 * inner, 0.1), numbers(inner * width, 0.2));
        let mut c = vec![9.0; 2 * width];
        multiply(&mut c, width, Strided::plain(&a, inner), Strided::plain(&b, width), inner, Start::Zero);
        for (at, c) in c.iter().enumerate() {
            let expected = chain(inner, 0.0, |p| a[at / width * inner + p], |p| b[p * width + at % width]);
            assert!((c - expected).abs() < 1e-4, "{c} {expected}");
        }
        multiply(&mut c, width, Strided::plain(&[], 0), Strided::plain(&[], width), 0, Start::Bias(&[1.5; 5]));
        assert_eq!(c, [1.5; 10]);
    }
}
