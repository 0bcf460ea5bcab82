//! Which rows are learned from, chosen by what the rows hold and by nothing else.
//!
//! Each copy of a row has a key: a hash of its content for the first copy, a hash of that and the copy's number for the
//! others. Tables are counted from the copies with the smallest keys, tails from fewer of them, and neighbours are
//! looked for among fewer still. So neither the order of the rows nor a seed matters, and whether a row was learned
//! from can be told from the row alone.

use super::recipe::Recipe;
use crate::columns::{Encoded, hash_row, mix};

/// Where rows have many cells, so many of them together are held out to learn tails from, but as many rows at the
/// least.
const CALIBRATED_CELLS: usize = 2_000_000;
const FEWEST_CALIBRATED: usize = 2_000;

/// The largest key that takes part in each of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub counted: u64,
    pub calibrated: u64,
    pub references: u64,
}

/// In which of the three a row that is to be judged takes part itself, and has to be left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Membership {
    pub counted: bool,
    pub calibrated: bool,
    /// Its hash there.
    pub references: Option<u64>,
}

impl Limits {
    /// Where a training row with this hash takes part.
    pub fn membership(&self, hash: u64) -> Membership {
        Membership {
            counted: hash <= self.counted,
            calibrated: hash <= self.calibrated,
            references: (hash <= self.references).then_some(hash),
        }
    }
}

/// Distinct training rows in the order of their hashes.
pub(super) struct Sample {
    pub rows: Encoded,
    /// How many copies of each row are counted, at least one.
    pub counts: Vec<u32>,
    /// The rows that the tails are learned from, with their copies.
    pub calibrated: Vec<(usize, u32)>,
    /// The rows among which neighbours are looked for, with their copies.
    pub references: Vec<(usize, u32)>,
    pub limits: Limits,
}

impl Sample {
    pub fn new(recipe: &Recipe, all: &Encoded, n_cells: usize) -> Self {
        let (distinct, counts) = all.counted();
        let hashes: Vec<u64> =
            (0..distinct.n_rows()).map(|row| hash_row(distinct.codes(row), distinct.numbers(row))).collect();
        let keys = |row: usize| {
            let hash = hashes[row];
            (0..counts[row] as u64).map(move |copy| copy_key(hash, copy))
        };
        let every: Vec<u64> = (0..distinct.n_rows()).flat_map(keys).collect();
        let smallest: Vec<u64> = (0..distinct.n_rows()).filter_map(|row| keys(row).min()).collect();
        let n_calibrated = (CALIBRATED_CELLS / n_cells.max(1)).max(FEWEST_CALIBRATED).min(recipe.most_calibrated);
        let limits = Limits {
            counted: nth_smallest(every.clone(), recipe.most_counted),
            calibrated: nth_smallest(every, n_calibrated),
            references: nth_smallest(smallest, recipe.most_references),
        };
        let limits = Limits { references: limits.references.min(limits.counted), ..limits };
        let copies = |row: usize, limit: u64| keys(row).filter(|key| *key <= limit).count() as u32;
        let mut order: Vec<usize> = (0..distinct.n_rows()).filter(|row| copies(*row, limits.counted) > 0).collect();
        let content = |row: usize| (distinct.codes(row), bytemuck::cast_slice::<f32, u32>(distinct.numbers(row)));
        order.sort_unstable_by(|&a, &b| hashes[a].cmp(&hashes[b]).then_with(|| content(a).cmp(&content(b))));
        let chosen = |limit: u64| {
            let of_row = order.iter().map(|&row| copies(row, limit)).enumerate();
            of_row.filter(|(_, copies)| *copies > 0).collect()
        };
        Self {
            rows: distinct.select(&order),
            counts: order.iter().map(|&row| copies(row, limits.counted)).collect(),
            calibrated: chosen(limits.calibrated),
            references: chosen(limits.references),
            limits,
        }
    }
}

/// The largest of the `most` smallest keys; all keys where there are no more.
fn nth_smallest(mut keys: Vec<u64>, most: usize) -> u64 {
    if keys.len() <= most {
        return u64::MAX;
    }
    *keys.select_nth_unstable(most - 1).1
}

fn copy_key(hash: u64, copy: u64) -> u64 {
    if copy == 0 { hash } else { mix(hash ^ mix(copy)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_rows_does_not_matter_and_limits_hold() {
        let (n_rows, recipe) = (5_000, Recipe::default());
        let codes: Vec<u32> = (0..n_rows as u32).map(|row| row * row % 3001).collect();
        let rows = Encoded::new(n_rows, codes, vec![]);
        let backwards = rows.select(&(0..n_rows).rev().collect::<Vec<_>>());
        let (one, other) = (Sample::new(&recipe, &rows, 10_000), Sample::new(&recipe, &backwards, 10_000));
        assert_eq!((&one.rows, &one.counts, one.limits), (&other.rows, &other.counts, other.limits));
        assert_eq!(one.counts.iter().sum::<u32>(), n_rows as u32);
        assert_eq!(one.calibrated.iter().map(|(_, copies)| copies).sum::<u32>(), FEWEST_CALIBRATED as u32);
        assert!(one.references.len() <= recipe.most_references);
        assert_eq!((&one.calibrated, &one.references), (&other.calibrated, &other.references));
        // A row that occurs once takes part exactly if its own hash says so.
        for (row, count) in one.counts.iter().enumerate().filter(|(_, count)| **count == 1) {
            let membership = one.limits.membership(hash_row(one.rows.codes(row), one.rows.numbers(row)));
            assert!(membership.counted, "{count}");
            assert_eq!(membership.calibrated, one.calibrated.iter().any(|(other, _)| *other == row));
            assert_eq!(membership.references.is_some(), one.references.iter().any(|(other, _)| *other == row));
        }
    }
}
