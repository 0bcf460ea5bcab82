//! Some of the counted rows, chosen by a hash of their content. So they are the same however the rows are cut into
//! batches, and in whatever order counters are merged.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::columns::{Encoded, hash_row};

/// Distinct rows that are kept.
const MOST: usize = 1000;
/// Rows that are hashed in one task.
const ROWS_PER_TASK: usize = 4096;

/// The distinct rows of the smallest hashes, each with the number of its copies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sample {
    kept: BTreeMap<u64, Kept>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Kept {
    copies: u64,
    codes: Vec<u32>,
    /// The bits of the numbers.
    numbers: Vec<u32>,
}

impl Sample {
    /// Takes in all rows.
    pub fn add(&mut self, rows: &Encoded) {
        let hash = |row: usize| hash_row(rows.codes(row), rows.numbers(row));
        let hashes: Vec<u64> = (0..rows.n_rows()).into_par_iter().with_min_len(ROWS_PER_TASK).map(hash).collect();
        for (row, hash) in hashes.into_iter().enumerate() {
            if self.kept.len() == MOST && self.kept.last_key_value().is_some_and(|(last, _)| hash > *last) {
                continue;
            }
            let kept = || Kept {
                copies: 0,
                codes: rows.codes(row).to_vec(),
                numbers: rows.numbers(row).iter().map(|number| number.to_bits()).collect(),
            };
            self.kept.entry(hash).or_insert_with(kept).copies += 1;
            self.shorten();
        }
    }

    /// Adds the rows of another sample.
    pub fn merge(&mut self, other: &Self) {
        for (hash, kept) in &other.kept {
            self.kept.entry(*hash).or_insert_with(|| Kept { copies: 0, ..kept.clone() }).copies += kept.copies;
        }
        self.shorten();
    }

    fn shorten(&mut self) {
        while self.kept.len() > MOST {
            self.kept.pop_last();
        }
    }

    /// The rows, and how many copies of each there are.
    pub fn rows(&self) -> (Encoded, Vec<u64>) {
        let codes = self.kept.values().flat_map(|kept| kept.codes.iter().copied()).collect();
        let numbers = self.kept.values().flat_map(|kept| kept.numbers.iter().map(|bits| f32::from_bits(*bits)));
        let copies = self.kept.values().map(|kept| kept.copies).collect();
        (Encoded::new(self.kept.len(), codes, numbers.collect()), copies)
    }

    /// Whether all rows have so many codes and numbers.
    pub fn has_shape(&self, groups: usize, numbers: usize) -> bool {
        self.kept.values().all(|kept| kept.codes.len() == groups && kept.numbers.len() == numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a code and a number; each of the last hundred stands there twice.
    fn rows(range: std::ops::Range<u32>) -> Encoded {
        let all: Vec<u32> = range.map(|row| if row < 5000 { row } else { row - 100 }).collect();
        Encoded::new(all.len(), all.clone(), all.iter().map(|row| *row as f32).collect())
    }

    #[test]
    fn batches_and_their_order_change_nothing() {
        let mut whole = Sample::default();
        whole.add(&rows(0..5100));
        let mut parts = [Sample::default(), Sample::default()];
        parts[0].add(&rows(3000..5100));
        parts[1].add(&rows(0..1700));
        parts[1].add(&rows(1700..3000));
        let [mut first, second] = parts;
        first.merge(&second);
        assert_eq!(first, whole);
        let (kept, copies) = whole.rows();
        assert_eq!((kept.n_rows(), copies.len()), (MOST, MOST));
        // Of the hundred that occur twice about a fifth is among the thousand of five thousand.
        let twice: Vec<usize> = (0..MOST).filter(|row| copies[*row] == 2).collect();
        assert!((5..40).contains(&twice.len()), "{}", twice.len());
        assert!(twice.iter().all(|row| kept.codes(*row)[0] >= 4900));
    }
}
