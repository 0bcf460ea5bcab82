//! Numbers as categories, for the detectors that only know categories.
//!
//! A number falls into one of at most ten bins that hold about as many training rows each (deciles). Equal numbers
//! always share a bin. A missing number is a category of its own. A number that lies more than one standard deviation
//! outside of everything training showed is [`UNSEEN`], like a category that training never saw.

use serde::{Deserialize, Serialize};

use crate::columns::{Encoded, Layout, UNSEEN};

/// Bins of a number, at the most.
const BINS: usize = 10;
/// A number this far outside of the training rows, in their standard deviations, counts as never seen.
const MARGIN: f64 = 1.0;

/// The bins of every number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecileBins {
    numbers: Vec<Deciles>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Deciles {
    /// Where each bin but the first starts, ascending.
    starts: Vec<f64>,
    /// The smallest and the largest number; `None` where all are missing.
    range: Option<[f64; 2]>,
}

impl DecileBins {
    /// Learns bins from distinct rows and their counts.
    pub fn fit(layout: &Layout, rows: &Encoded, counts: &[f64]) -> Self {
        Self { numbers: (0..layout.n_numbers()).map(|number| Deciles::fit(number, rows, counts)).collect() }
    }

    /// The number of categories of each cell.
    pub fn sizes(&self, layout: &Layout) -> Vec<usize> {
        let of_numbers = self.numbers.iter().map(|bins| bins.starts.len() + 2);
        of_numbers.chain((0..layout.n_groups()).map(|group| layout.size(group))).collect()
    }

    /// A category for each cell of a row: numbers first, then groups.
    pub fn categories(&self, codes: &[u32], numbers: &[f32], categories: &mut Vec<u32>) {
        categories.clear();
        categories.extend(self.numbers.iter().zip(numbers).map(|(bins, number)| bins.category(*number)));
        categories.extend_from_slice(codes);
    }

    /// [`DecileBins::categories`] of all rows.
    pub fn all_categories(&self, layout: &Layout, rows: &Encoded) -> Vec<u32> {
        let mut all = Vec::with_capacity(rows.n_rows() * layout.n_cells());
        let mut categories = Vec::new();
        for row in 0..rows.n_rows() {
            self.categories(rows.codes(row), rows.numbers(row), &mut categories);
            all.extend_from_slice(&categories);
        }
        all
    }

    /// Checks bins that came from a file; says what is wrong.
    pub fn validate(&self, layout: &Layout) -> Result<(), String> {
        let ascending = |bins: &Deciles| bins.starts.windows(2).all(|pair| pair[0] < pair[1]);
        if self.numbers.len() != layout.n_numbers() || !self.numbers.iter().all(ascending) {
            return Err("the bins do not fit the numbers".into());
        }
        Ok(())
    }
}

impl Deciles {
    fn fit(number: usize, rows: &Encoded, counts: &[f64]) -> Self {
        let all = counts.iter().enumerate().map(|(row, count)| (f64::from(rows.numbers(row)[number]), *count));
        let mut counted: Vec<(f64, f64)> = all.filter(|(value, _)| !value.is_nan()).collect();
        counted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = counted.iter().map(|(_, count)| count).sum();
        let mut starts = Vec::new();
        let mut below = 0.0; // rows with a smaller number
        for (index, &(value, count)) in counted.iter().enumerate() {
            let is_new = index == 0 || counted[index - 1].0 < value;
            if is_new && below * BINS as f64 >= total * (starts.len() + 1) as f64 {
                starts.push(value);
            }
            below += count;
        }
        let range = counted.first().zip(counted.last()).map(|(low, high)| [low.0, high.0]);
        Self { starts, range }
    }

    fn category(&self, number: f32) -> u32 {
        let value = f64::from(number);
        match self.range {
            _ if value.is_nan() => self.starts.len() as u32 + 1,
            Some([low, high]) if (low - MARGIN..=high + MARGIN).contains(&value) => {
                self.starts.partition_point(|start| *start <= value) as u32
            }
            _ => UNSEEN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_equal_shares_and_equal_numbers_share_one() {
        let layout = Layout::new(1, vec![2]);
        let values: Vec<f32> = (0..100).map(|row| if row < 40 { 0.0 } else { row as f32 / 10.0 }).collect();
        let rows = Encoded::new(101, vec![0; 101], values.into_iter().chain([f32::NAN]).collect());
        let bins = DecileBins::fit(&layout, &rows, &[1.0; 101]);
        assert_eq!(bins.numbers[0].range, Some([0.0, f64::from(9.9_f32)]));
        let category = |value: f32| bins.numbers[0].category(value);
        let mut sizes = vec![0; bins.sizes(&layout)[0]];
        (0..100).for_each(|row| sizes[category(rows.numbers(row)[0]) as usize] += 1);
        // Forty zeros fill one bin; each of the others takes what is left of its tenth.
        assert_eq!(sizes.iter().sum::<i32>(), 100);
        assert_eq!(sizes[0], 40);
        assert_eq!(category(f32::NAN) as usize, sizes.len() - 1);
        assert_eq!([category(-0.5), category(10.5)], [0, sizes.len() as u32 - 2]);
        assert_eq!([category(-1.5), category(11.0), category(20.0)], [UNSEEN; 3]);
        assert_eq!(bins.validate(&layout), Ok(()));
        assert!(bins.validate(&Layout::new(2, vec![2])).is_err());
    }
}
