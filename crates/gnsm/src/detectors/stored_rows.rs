//! Training rows that a detector keeps, column by column, and the distance of another row from each of them.
//!
//! On one-hot vectors the squared Euclidean distance of two rows is 2·(cells whose categories differ) + Σⱼ (xⱼ − yⱼ)²,
//! with 0 for a missing number. It is computed on the codes, without ever making a one-hot vector. An unseen category
//! differs from every stored one.

use std::ops::AddAssign;

use crate::columns::{Encoded, Layout};
use crate::files::{Loaded, Tensors};
use crate::math::simd;

/// Stored rows compared at a time; their distances stay in the nearest cache.
pub(super) const CHUNK: usize = 1024;

/// What two different categories add to a squared distance.
pub(super) const DIFFERENT: f64 = 2.0;

/// Categories of a group, and groups, that fit in a byte; the byte itself stands for all codes beyond.
const WIDE: usize = 255;

/// Distinct rows and how often each occurs.
#[derive(Debug, Clone)]
pub(super) struct StoredRows {
    /// How often each row occurs.
    pub counts: Vec<f64>,
    /// [groups, rows].
    codes: Vec<u32>,
    /// The same with one byte for each code, so that an instruction compares four times as many; empty if a group has
    /// more than [`WIDE`] categories.
    bytes: Vec<u8>,
    /// [numbers, rows]; NaN where missing.
    numbers: Vec<f32>,
}

impl StoredRows {
    pub fn new(layout: &Layout, rows: &Encoded, counts: Vec<f64>) -> Self {
        let all = 0..rows.n_rows();
        let codes = (0..layout.n_groups()).flat_map(|group| all.clone().map(move |row| rows.codes(row)[group]));
        let numbers = (0..layout.n_numbers()).flat_map(|number| all.clone().map(move |row| rows.numbers(row)[number]));
        Self { codes: codes.collect(), bytes: Vec::new(), numbers: numbers.collect(), counts }.with_bytes(layout)
    }

    fn with_bytes(mut self, layout: &Layout) -> Self {
        if layout.n_groups() <= WIDE && (0..layout.n_groups()).all(|group| layout.size(group) <= WIDE) {
            self.bytes = self.codes.iter().map(|code| to_byte(*code)).collect();
        }
        self
    }

    /// The number of distinct rows.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// The category of a row.
    pub fn code(&self, row: usize, group: usize) -> u32 {
        self.codes[group * self.len() + row]
    }

    /// A number of a row; NaN where missing.
    pub fn number(&self, row: usize, number: usize) -> f32 {
        self.numbers[number * self.len() + row]
    }

    /// All rows' values of a number, from row `start` on.
    pub fn numbers_from(&self, start: usize, number: usize) -> &[f32] {
        &self.numbers[number * self.len() + start..(number + 1) * self.len()]
    }

    /// The codes and numbers of a row.
    pub fn row(&self, row: usize) -> (Vec<u32>, Vec<f32>) {
        let codes = self.codes.iter().skip(row).step_by(self.len());
        let numbers = self.numbers.iter().skip(row).step_by(self.len());
        (codes.copied().collect(), numbers.copied().collect())
    }

    /// How many cells of each row from `start` on have another category.
    pub fn count_differences(&self, start: usize, codes: &[u32], differences: &mut [u32]) {
        if self.bytes.is_empty() {
            return simd(
                #[inline(always)]
                || {
                    differences.fill(0);
                    count_into(&self.codes, self.len(), start, codes.iter().copied(), differences);
                },
            );
        }
        let mut counts = [0u8; CHUNK];
        for (chunk, differences) in differences.chunks_mut(CHUNK).enumerate() {
            simd(
                #[inline(always)]
                || {
                    let counts = &mut counts[..differences.len()];
                    counts.fill(0);
                    let codes = codes.iter().map(|code| to_byte(*code));
                    count_into(&self.bytes, self.len(), start + chunk * CHUNK, codes, counts);
                    differences.iter_mut().zip(counts).for_each(|(difference, count)| *difference = u32::from(*count));
                },
            );
        }
    }

    /// Squared Euclidean distances to each row from `start` on, as many as `squares` has places.
    pub fn squared_distances(&self, start: usize, codes: &[u32], numbers: &[f32], squares: &mut [f64]) {
        let mut differences = [0; CHUNK];
        for (chunk, squares) in squares.chunks_mut(CHUNK).enumerate() {
            let start = start + chunk * CHUNK;
            let differences = &mut differences[..squares.len()];
            self.count_differences(start, codes, differences);
            simd(
                #[inline(always)]
                || {
                    for (square, difference) in squares.iter_mut().zip(differences) {
                        *square = DIFFERENT * f64::from(*difference);
                    }
                    for (number, value) in numbers.iter().enumerate() {
                        for (square, other) in squares.iter_mut().zip(self.numbers_from(start, number)) {
                            *square += squared_difference(*value, *other);
                        }
                    }
                },
            );
        }
    }

    /// Puts the rows into a file.
    pub fn put(&self, tensors: &mut Tensors) {
        tensors.put("counts", self.counts.clone());
        tensors.put("codes", self.codes.clone());
        // Numbers as bits, since a missing number is NaN, which an array in a file may not hold.
        tensors.put("numbers", self.numbers.iter().map(|number| number.to_bits()).collect::<Vec<u32>>());
    }

    /// Takes what [`StoredRows::put`] put into a file.
    pub fn take(layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        let counts: Vec<f64> = tensors.take_any("counts")?;
        if counts.is_empty() || counts.iter().any(|count| *count < 1.0) {
            return Err("tensor `counts` holds what is not a number of rows".into());
        }
        let too_many = || format!("{} rows are too many", counts.len());
        let n_codes = counts.len().checked_mul(layout.n_groups()).ok_or_else(too_many)?;
        let n_numbers = counts.len().checked_mul(layout.n_numbers()).ok_or_else(too_many)?;
        let codes = tensors.take("codes", n_codes)?;
        let bits: Vec<u32> = tensors.take("numbers", n_numbers)?;
        let numbers: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
        if numbers.iter().any(|number| number.is_infinite()) {
            return Err("tensor `numbers` holds numbers that are not finite".into());
        }
        Ok(Self { counts, codes, bytes: Vec::new(), numbers }.with_bytes(layout))
    }
}

fn to_byte(code: u32) -> u8 {
    code.min(WIDE as u32) as u8
}

/// Adds 1 for every cell of each row from `start` on that has another category; `stored` is [groups, rows].
#[inline(always)]
fn count_into<T: PartialEq + Copy, N: AddAssign + From<bool>>(
    stored: &[T],
    n_rows: usize,
    start: usize,
    codes: impl Iterator<Item = T>,
    differences: &mut [N],
) {
    for (column, code) in stored.chunks_exact(n_rows).zip(codes) {
        for (difference, other) in differences.iter_mut().zip(&column[start..]) {
            *difference += N::from(*other != code);
        }
    }
}

/// What two numbers add to a squared distance.
#[inline(always)]
pub(super) fn squared_difference(a: f32, b: f32) -> f64 {
    let filled = |value: f32| if value.is_nan() { 0.0 } else { f64::from(value) };
    (filled(a) - filled(b)).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::UNSEEN;

    /// More rows than a chunk, counted in bytes and, with a group too wide for them, in words.
    #[test]
    fn differences_are_counted_alike_in_bytes_and_words() {
        let n_rows = CHUNK + 300;
        let codes: Vec<u32> = (0..n_rows as u32).flat_map(|row| [row % 5, row * row % 254, row % 3]).collect();
        let rows = Encoded::new(n_rows, codes, vec![]);
        for sizes in [vec![5, 255, 3], vec![5, 300, 3]] {
            let layout = Layout::new(0, sizes);
            let stored = StoredRows::new(&layout, &rows, vec![1.0; n_rows]);
            assert_eq!(stored.bytes.is_empty(), layout.size(1) > WIDE);
            for query in [[0, 4, 1], [4, 253, UNSEEN], [UNSEEN, 254, 2]] {
                let mut differences = vec![9; n_rows - 7];
                stored.count_differences(7, &query, &mut differences);
                for (row, difference) in (7..).zip(differences) {
                    let expected = rows.codes(row).iter().zip(query).filter(|(a, b)| *a != b).count();
                    assert_eq!(difference, expected as u32, "row {row}");
                }
            }
        }
    }
}
