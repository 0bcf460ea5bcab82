//! The rows that lead the lists, and how far each is from a row.

#![allow(clippy::needless_range_loop, reason = "loops by index become vector instructions; zipped ones may not")]

use super::compared::{Compared, TERMS};
use super::screen::{CHUNK, add_squares, chunk_of};
use crate::columns::{ABSENT, Layout};

/// The rows that lead the lists, in chunks, the last one filled up; none where there is one list.
#[derive(Debug, Clone, Default)]
pub(super) struct Leaders {
    n_rows: usize,
    /// The numbers in deviations, [chunks, numbers].
    standardised: Vec<[f32; CHUNK]>,
    /// [chunks, groups].
    codes: Vec<[u32; CHUNK]>,
    /// Half of what the category of each costs, [chunks, groups].
    costs: Vec<[f32; CHUNK]>,
}

impl Leaders {
    /// The first of some rows.
    pub fn new(compared: &Compared, n_rows: usize, layout: &Layout) -> Self {
        let (n_numbers, n_groups) = (layout.n_numbers(), layout.n_groups());
        let stride = n_groups.next_multiple_of(TERMS);
        let (codes, costs) = (compared.codes.as_flattened(), compared.costs.as_flattened());
        let mut leaders = Self { n_rows, ..Self::default() };
        for first in (0..n_rows).step_by(CHUNK) {
            let rows = first..(first + CHUNK).min(n_rows);
            let numbers =
                (0..n_numbers).map(|number| chunk_of(&compared.standardised, n_numbers, number, &rows, |x| x));
            leaders.standardised.extend(numbers);
            leaders.codes.extend((0..n_groups).map(|group| chunk_of(codes, stride, group, &rows, |code| code)));
            leaders.costs.extend((0..n_groups).map(|group| chunk_of(costs, stride, group, &rows, |cost| cost)));
        }
        leaders
    }

    /// The bits of the squared distance to each leader, and its number. Distances are not negative, so their bits are
    /// in their order.
    #[inline(always)]
    pub fn distances(&self, row: &[f32], codes: &[u32], costs: &[f32], lists: &mut Vec<u64>) {
        for (chunk, first) in (0..self.n_rows).step_by(CHUNK).enumerate() {
            let mut sums = [0.0; CHUNK];
            let numbers = &self.standardised[chunk * row.len()..][..row.len()];
            for number in 0..row.len() {
                add_squares(&mut sums, &numbers[number], row[number]);
            }
            let others = &self.codes[chunk * codes.len()..][..codes.len()];
            let other_costs = &self.costs[chunk * codes.len()..][..codes.len()];
            for group in 0..codes.len() {
                if codes[group] != ABSENT {
                    add_mismatches(&mut sums, &others[group], &other_costs[group], codes[group], costs[group]);
                }
            }
            let here = sums.iter().zip(first as u64..self.n_rows as u64);
            lists.extend(here.map(|(sum, list)| u64::from(sum.to_bits()) << 32 | list));
        }
    }
}

/// Adds what a category costs wherever another one stands.
#[inline(always)]
fn add_mismatches(sums: &mut [f32; CHUNK], others: &[u32; CHUNK], costs: &[f32; CHUNK], code: u32, own: f32) {
    for at in 0..CHUNK {
        sums[at] += if others[at] == code { 0.0 } else { own + costs[at] };
    }
}
