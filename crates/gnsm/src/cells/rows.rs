//! Rows under judgement, as all experts read them: found once for a batch.
//!
//! A cell is in a *slot* of its column: a bin, a category, or the one behind them for what was never seen. Two more
//! slots are of no column: [`NO_VALUE`] and [`NO_PART`].

use rayon::prelude::*;

use super::conditional::{Column, tame};
use super::sample::{Limits, Membership};
use crate::columns::{Encoded, hash_row};

/// The cell misses its value, which is a choice of its own.
pub(super) const NO_VALUE: u16 = u16::MAX;
/// The cell takes no part: it is blank or set aside, or a number that is not there, whose absence is its group's.
pub(super) const NO_PART: u16 = u16::MAX - 1;

/// Rows under judgement.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    rows: &'a Encoded,
    n_cells: usize,
    /// [rows, cells].
    slots: Vec<u16>,
    /// [rows, groups]: the categories that those of the rows count as; empty where they count as themselves.
    codes: Vec<u32>,
    /// [rows]; empty where no row was learned from.
    learned_from: Vec<Membership>,
}

/// A row of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowSlots<'a> {
    /// [cells].
    pub slots: &'a [u16],
    /// [groups]: the categories that its own count as.
    pub codes: &'a [u32],
    /// [numbers]; NaN where missing.
    pub numbers: &'a [f32],
    /// Where the row was learned from, and by which hash it is known there. There it is left out.
    pub learned_from: Membership,
}

impl<'a> Batch<'a> {
    /// Rows that were not learned from.
    pub fn new(columns: &[Column], rows: &'a Encoded) -> Self {
        let n_cells = columns.len();
        let n_groups = columns.iter().filter(|column| column.bins.is_none()).count();
        let (of_numbers, of_groups) = columns.split_at(n_cells - n_groups);
        let mut slots = vec![NO_PART; rows.n_rows() * n_cells];
        slots.par_chunks_exact_mut(n_cells.max(1)).with_min_len(super::ROWS_PER_TASK).enumerate().for_each(
            |(row, slots)| {
                let (numbers, groups) = slots.split_at_mut(of_numbers.len());
                for ((slot, column), x) in numbers.iter_mut().zip(of_numbers).zip(rows.numbers(row)) {
                    *slot = column.slot_of_number(*x);
                }
                for ((slot, column), code) in groups.iter_mut().zip(of_groups).zip(rows.codes(row)) {
                    *slot = column.slot_of_code(*code);
                }
            },
        );
        let mut codes = Vec::new();
        if of_groups.iter().any(Column::takes_new_as_known) {
            let count_as = |row: usize| of_groups.iter().zip(rows.codes(row)).map(|(column, code)| column.known(*code));
            codes.extend((0..rows.n_rows()).flat_map(count_as));
        }
        Self { rows, n_cells, slots, codes, learned_from: Vec::new() }
    }

    /// Rows that were all given to be learned from, each to be left out wherever the limits say that it takes part.
    pub fn left_out(columns: &[Column], rows: &'a Encoded, limits: &Limits) -> Self {
        let membership = |row: usize| limits.membership(hash_row(rows.codes(row), rows.numbers(row)));
        Self { learned_from: (0..rows.n_rows()).into_par_iter().map(membership).collect(), ..Self::new(columns, rows) }
    }

    /// Rows of the sample that tails are learned from, with the hashes that they had there.
    pub fn calibrated(columns: &[Column], rows: &'a Encoded, hashes: &[u64]) -> Self {
        let membership = |hash: &u64| Membership { counted: true, calibrated: true, references: Some(*hash) };
        Self { learned_from: hashes.iter().map(membership).collect(), ..Self::new(columns, rows) }
    }

    pub fn n_rows(&self) -> usize {
        self.rows.n_rows()
    }

    pub fn row(&self, row: usize) -> RowSlots<'_> {
        let (codes, numbers) = (self.rows.codes(row), self.rows.numbers(row));
        RowSlots {
            slots: &self.slots[row * self.n_cells..][..self.n_cells],
            codes: if self.codes.is_empty() { codes } else { &self.codes[row * codes.len()..][..codes.len()] },
            numbers,
            learned_from: self.learned_from.get(row).copied().unwrap_or_default(),
        }
    }
}

impl RowSlots<'_> {
    /// The number in a cell, such that arithmetic can rely on it; NaN where there is none.
    pub fn number(&self, cell: usize) -> f32 {
        self.numbers.get(cell).map_or(f32::NAN, |x| tame(*x))
    }
}
