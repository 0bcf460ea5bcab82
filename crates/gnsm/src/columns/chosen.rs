//! Rows chosen by a hash of their content, in one pass, in room that does not grow with the rows.
//!
//! Of all different rows, those with the smallest hashes are kept, each once, together with the number of its copies.
//! So the same rows are kept whatever their order, and however the table is cut into files and batches. At the end rows
//! are repeated in proportion to their copies, as far as there is room:
//!
//! - If there is room for all different rows, the table is thinned evenly: a row that makes up a tenth of the table
//!   makes up a tenth of the chosen rows.
//! - Otherwise a row is kept with all its copies or with none, and no row may be more than a thousandth of the chosen
//!   ones: one that is kept by chance would stand for too much. So a row that makes up a large share of such a table is
//!   underestimated. That takes a table without keys, times or amounts that still has more different rows than there is
//!   room for.

use super::survey::{ByHash, Survey};
use crate::error::Result;
use crate::table::{Table, joined};

/// Rows that are held before the surplus is dropped, in quarters of those that are to be kept.
const QUARTERS: usize = 5;
/// One in how many of the chosen rows may be a copy of the same row, where not all different rows are kept.
const LARGEST_SHARE: u64 = 1000;

/// The rows of the smallest hashes.
#[derive(Debug, Clone)]
pub(crate) struct ChosenRows {
    most: usize,
    /// The largest hash that is kept.
    limit: u64,
    /// The kept rows, in the order in which they came.
    batches: Vec<Table>,
    /// The hash of each.
    hashes: Vec<u64>,
    /// How often each occurs.
    copies: ByHash<u64>,
}

impl ChosenRows {
    /// None yet, and `most` at the end.
    pub(crate) fn new(most: usize) -> Self {
        Self::below(most, u64::MAX)
    }

    /// No rows yet, and `most` at the end, where the largest hash that will be kept is known already.
    pub(crate) fn below(most: usize, limit: u64) -> Self {
        Self { most: most.max(1), limit, batches: Vec::new(), hashes: Vec::new(), copies: ByHash::default() }
    }

    /// Takes in these rows of a batch, whose hashes are given.
    pub(crate) fn add(&mut self, table: &Table, rows: &[usize], hashes: &[u64]) -> Result<()> {
        let mut new = Vec::new();
        for (&row, &hash) in rows.iter().zip(hashes).filter(|(_, hash)| **hash <= self.limit) {
            let copies = self.copies.entry(hash).or_insert(0);
            *copies += 1;
            if *copies == 1 {
                new.push(row);
                self.hashes.push(hash);
            }
        }
        if !new.is_empty() {
            let mut batch = table.select(&new);
            if let Some(first) = self.batches.first() {
                batch.file.clone_from(&first.file);
            }
            self.batches.push(batch);
        }
        if 4 * self.hashes.len() > QUARTERS * self.most { self.settle() } else { Ok(()) }
    }

    /// The chosen rows in the order of their hashes, with their copies; `None` if there is no row.
    pub(crate) fn finish(mut self, survey: &Survey) -> Result<Option<Table>> {
        self.settle()?;
        let Some(table) = self.batches.pop() else { return Ok(None) };
        let table = table.select(&self.with_copies());
        survey.retyped(table).map(Some)
    }

    /// Drops the surplus; one batch is left, in the order of the hashes.
    fn settle(&mut self) -> Result<()> {
        let mut order: Vec<usize> = (0..self.hashes.len()).collect();
        order.sort_unstable_by_key(|&row| self.hashes[row]);
        if order.len() > self.most {
            order.truncate(self.most);
            self.limit = self.hashes[order[self.most - 1]];
            let limit = self.limit;
            self.copies.retain(|hash, _| *hash <= limit);
        }
        if let Some(table) = joined(std::mem::take(&mut self.batches))? {
            self.batches.push(table.select(&order));
        }
        self.hashes = order.into_iter().map(|row| self.hashes[row]).collect();
        Ok(())
    }

    /// The rows, each as often as it is to be learned from.
    fn with_copies(&self) -> Vec<usize> {
        let most = self.most as u64;
        let largest = if self.limit == u64::MAX { u64::MAX } else { (most / LARGEST_SHARE).max(1) };
        let copies: Vec<u64> = self.hashes.iter().map(|hash| self.copies[hash].min(largest)).collect();
        let total: u64 = copies.iter().sum();
        // How many of the copies up to here are taken: their share of all, rounded down.
        let taken = |so_far: u64| {
            if total <= most { so_far } else { (u128::from(so_far) * u128::from(most) / u128::from(total)) as u64 }
        };
        let mut rows = Vec::with_capacity(self.most);
        let mut so_far = 0;
        for (row, copies) in copies.into_iter().enumerate() {
            let before = taken(so_far);
            so_far += copies;
            rows.extend((before..taken(so_far)).map(|_| row));
        }
        rows
    }
}

/// The smallest hashes of rows: what tells which rows of a table in many parts would be chosen.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallestHashes {
    most: usize,
    hashes: Vec<u64>,
}

impl SmallestHashes {
    /// None yet, and `most` at the end.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), hashes: Vec::new() }
    }

    /// How many rows are chosen at the most.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Takes in more.
    pub fn add(&mut self, hashes: &[u64]) {
        self.hashes.extend(hashes);
        if self.hashes.len() > 4 * self.most {
            self.settle();
        }
    }

    /// Takes in those of other rows.
    pub fn merge(&mut self, other: &Self) {
        self.add(&other.hashes);
    }

    /// Keeps the smallest, ascending, each once, and one more than needed: that one tells that there were more.
    pub fn settle(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.hashes.truncate(self.most + 1);
    }

    /// The largest hash of a chosen row; the largest possible one if all rows are chosen.
    pub fn limit(mut self) -> u64 {
        self.settle();
        if self.hashes.len() > self.most { self.hashes[self.most - 1] } else { u64::MAX }
    }
}

#[cfg(test)]
mod tests;
