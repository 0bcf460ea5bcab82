//! Rows as detectors see them: category codes and scaled numbers.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

use rayon::prelude::*;

use super::hashing::Quick;
use super::layout::{ABSENT, Layout, UNSEEN};
use crate::error::stop_point;

/// Rows that are hashed or copied in one task.
const ROWS_PER_TASK: usize = 4096;
/// Rows are dealt into this many parts by their hashes, and the parts are searched for equal rows at the same time.
const PARTS: u64 = 16;

/// Encoded rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    pub(super) n_rows: usize,
    pub(super) n_groups: usize,
    pub(super) n_numbers: usize,
    pub(super) codes: Vec<u32>,
    pub(super) numbers: Vec<f32>,
}

/// A row's categories and the bits of its numbers, with their hash.
#[derive(Clone, Copy, PartialEq, Eq)]
struct HashedRow<'a> {
    hash: u64,
    cells: (&'a [u32], &'a [u32]),
}

impl Hash for HashedRow<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// Copies these rows one after the other.
fn copy_rows<'a, T: Copy + Send + Sync + 'a>(
    to: &mut [T],
    width: usize,
    rows: &[usize],
    row_of: impl Fn(usize) -> &'a [T] + Sync,
) {
    let pieces = to.par_chunks_mut((width * ROWS_PER_TASK).max(1)).zip(rows.par_chunks(ROWS_PER_TASK));
    pieces.for_each(|(to, rows)| {
        for (to, row) in to.chunks_exact_mut(width).zip(rows) {
            to.copy_from_slice(row_of(*row));
        }
    });
}

impl Encoded {
    /// Rows from their parts, both row by row.
    pub fn new(n_rows: usize, codes: Vec<u32>, numbers: Vec<f32>) -> Self {
        let per_row = |n: usize| n.checked_div(n_rows).unwrap_or(0);
        Self { n_rows, n_groups: per_row(codes.len()), n_numbers: per_row(numbers.len()), codes, numbers }
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The category codes of a row, one per group.
    pub fn codes(&self, row: usize) -> &[u32] {
        &self.codes[row * self.n_groups..][..self.n_groups]
    }

    /// The scaled numbers of a row; NaN where missing.
    pub fn numbers(&self, row: usize) -> &[f32] {
        &self.numbers[row * self.n_numbers..][..self.n_numbers]
    }

    /// Marks a cell as absent in all rows; numbers come first, then groups.
    pub(crate) fn take_out(&mut self, cell: usize) {
        match cell.checked_sub(self.n_numbers) {
            None => self.numbers.iter_mut().skip(cell).step_by(self.n_numbers).for_each(|z| *z = f32::NAN),
            Some(group) => self.codes.iter_mut().skip(group).step_by(self.n_groups).for_each(|code| *code = ABSENT),
        }
    }

    /// These rows, in this order.
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut codes = vec![0; rows.len() * self.n_groups];
        let mut numbers = vec![0.0; rows.len() * self.n_numbers];
        copy_rows(&mut codes, self.n_groups, rows, |row| self.codes(row));
        copy_rows(&mut numbers, self.n_numbers, rows, |row| self.numbers(row));
        Self { n_rows: rows.len(), n_groups: self.n_groups, n_numbers: self.n_numbers, codes, numbers }
    }

    /// These rows, then those of `other`, which come from the same encoder.
    pub fn concat(&self, other: &Self) -> Self {
        Self {
            n_rows: self.n_rows + other.n_rows,
            n_groups: self.n_groups.max(other.n_groups),
            n_numbers: self.n_numbers.max(other.n_numbers),
            codes: [self.codes.as_slice(), &other.codes].concat(),
            numbers: [self.numbers.as_slice(), &other.numbers].concat(),
        }
    }

    /// The same rows, with [`UNSEEN`] for every category that the `learned` rows do not have.
    ///
    /// All rows of one table share its categories. But a detector that learned from some of the rows has to judge the
    /// others as it would judge rows of another table.
    pub fn unseen_by(mut self, layout: &Layout, learned: &Self) -> Self {
        let mut seen = vec![false; layout.width()];
        for row in 0..learned.n_rows {
            for (places, code) in layout.groups().zip(learned.codes(row)) {
                if let Some(seen) = seen[places].get_mut(*code as usize) {
                    *seen = true;
                }
            }
        }
        for codes in self.codes.chunks_exact_mut(self.n_groups.max(1)) {
            for (places, code) in layout.groups().zip(codes) {
                if seen[places].get(*code as usize) == Some(&false) {
                    *code = UNSEEN;
                }
            }
        }
        self
    }

    /// Whether no row differs from the first.
    pub fn all_equal(&self) -> bool {
        let bits = |row: usize| (self.codes(row), bytemuck::cast_slice::<f32, u32>(self.numbers(row)));
        (1..self.n_rows).all(|row| bits(row) == bits(0))
    }

    /// The distinct rows, in order of first appearance, and for each row which of them it is.
    pub fn distinct(&self) -> (Vec<usize>, Vec<u32>) {
        let quick = Quick::default();
        let hashed = |row: usize| {
            stop_point();
            let cells = (self.codes(row), bytemuck::cast_slice(self.numbers(row)));
            HashedRow { hash: quick.hash_one(cells), cells }
        };
        let rows: Vec<HashedRow<'_>> =
            (0..self.n_rows).into_par_iter().with_min_len(ROWS_PER_TASK).map(hashed).collect();
        // Equal rows have equal hashes, so they are in the same part.
        let parts = if self.n_rows > ROWS_PER_TASK { PARTS } else { 1 };
        let first_in_part = |part: u64| {
            let mut seen: HashMap<HashedRow<'_>, usize, Quick> = HashMap::with_hasher(quick);
            let of_part = rows.iter().enumerate().filter(|(_, cells)| cells.hash % parts == part);
            of_part.map(|(row, cells)| (row, *seen.entry(*cells).or_insert(row))).collect()
        };
        let first_of_rows: Vec<Vec<(usize, usize)>> = (0..parts).into_par_iter().map(first_in_part).collect();
        let mut first_of_row = vec![0; self.n_rows];
        for (row, first) in first_of_rows.into_iter().flatten() {
            first_of_row[row] = first;
        }
        let (mut firsts, mut of_row) = (Vec::new(), Vec::with_capacity(self.n_rows));
        for (row, first) in first_of_row.into_iter().enumerate() {
            of_row.push(if first == row { firsts.len() as u32 } else { of_row[first] });
            if first == row {
                firsts.push(row);
            }
        }
        (firsts, of_row)
    }

    /// The distinct rows, in order of first appearance, and how often each occurs.
    pub fn counted(&self) -> (Self, Vec<f64>) {
        let (firsts, of_row) = self.distinct();
        let mut counts = vec![0.0; firsts.len()];
        for which in of_row {
            counts[which as usize] += 1.0;
        }
        (self.select(&firsts), counts)
    }

    /// A hash of all rows that does not depend on their order, since it is made of the sum of their hashes.
    pub fn fingerprint_in_any_order(&self) -> blake3::Hash {
        let of_row = |row: usize| {
            stop_point();
            let mut hasher = blake3::Hasher::new();
            hasher.update(bytemuck::cast_slice(self.codes(row)));
            hasher.update(bytemuck::cast_slice(self.numbers(row)));
            let mut words = [0; 4];
            let bytes = hasher.finalize();
            let chunks = bytes.as_bytes().as_chunks::<8>().0;
            words.iter_mut().zip(chunks).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
            words
        };
        let sum = |mut a: [u64; 4], b: [u64; 4]| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a = a.wrapping_add(b));
            a
        };
        let rows = (0..self.n_rows).into_par_iter().with_min_len(ROWS_PER_TASK);
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.n_rows as u64).to_le_bytes());
        hasher.update(bytemuck::cast_slice(&rows.map(of_row).reduce(|| [0; 4], sum)));
        hasher.finalize()
    }

    /// A hash of the rows and their order.
    pub fn fingerprint(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.n_rows as u64).to_le_bytes());
        hasher.update(bytemuck::cast_slice(&self.codes));
        hasher.update(bytemuck::cast_slice(&self.numbers));
        hasher.finalize()
    }
}
