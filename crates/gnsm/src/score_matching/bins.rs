//! Numbers as categories of a special kind: bins of a column's training values.
//!
//! Gaussian noise sees a number through its distance from a mean. But money, counts and durations have several peaks,
//! long tails and heaps of zeros. With bins, the network's posterior is a whole distribution: what is usual *for this
//! kind of row*.
//!
//! - Bins end at the quantiles [`CUTS`] of the training values. They are finer towards the tails, so that a value in
//!   the last thousandth is as surprising as it is rare. In a table of few rows, only every second, third … quantile is
//!   used, so that there is a bin for every 200 rows.
//! - Equal values always share a bin. A column with few distinct values has a bin for each.
//! - A value outside of everything that training showed is [`UNSEEN`]. Beyond that, its surprise grows with the
//!   logarithm of the distance, as under a tail that falls with the square.
//! - A missing number is [`ABSENT`] here: its presence is a category of its own.

use serde::{Deserialize, Serialize};

use crate::columns::{ABSENT, Encoded, Layout, UNSEEN};

/// Quantiles at which bins end.
const CUTS: [f64; 19] = [
    0.002, 0.01, 0.03, 0.06, 0.1, 0.167, 0.25, 0.333, 0.417, 0.5, 0.583, 0.667, 0.75, 0.833, 0.9, 0.94, 0.97, 0.99,
    0.998,
];
/// Rows that a bin is worth.
const ROWS_PER_BIN: usize = 200;
/// The fewest bins of a number with that many distinct values.
const FEWEST_BINS: usize = 4;
/// The probability that an expected range leaves out at each side.
const LEFT_OUT: f32 = 0.05;

/// The bins of every number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct QuantileBins(Vec<Quantiles>);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quantiles {
    /// The upper ends of all bins but the last, ascending.
    uppers: Vec<f32>,
    /// Smallest and largest training value.
    range: [f32; 2],
    /// The distance between the quartiles, or 1 where they are equal.
    scale: f32,
}

impl QuantileBins {
    /// Learns bins from training rows.
    pub fn fit(rows: &Encoded, n_numbers: usize) -> Self {
        Self(
            (0..n_numbers)
                .map(|number| Quantiles::fit((0..rows.n_rows()).map(|row| rows.numbers(row)[number])))
                .collect(),
        )
    }

    /// The layout with each number's bins in its place, before the groups.
    pub fn layout(&self, outer: &Layout) -> Layout {
        let bins = self.0.iter().map(|bins| bins.uppers.len() + 1);
        Layout::new(0, bins.chain((0..outer.n_groups()).map(|group| outer.size(group))).collect())
    }

    /// Rows in that layout.
    pub fn encode(&self, rows: &Encoded) -> Encoded {
        let codes = (0..rows.n_rows())
            .flat_map(|row| {
                let bins = self.0.iter().zip(rows.numbers(row)).map(|(bins, z)| bins.code(*z));
                bins.chain(rows.codes(row).iter().copied())
            })
            .collect();
        Encoded::new(rows.n_rows(), codes, Vec::new())
    }

    /// What a number adds to its surprise for lying far outside of the training values.
    pub fn excess(&self, number: usize, z: f32) -> f64 {
        let bins = &self.0[number];
        let outside = (bins.range[0] - z).max(z - bins.range[1]).max(0.0);
        2.0 * f64::from(outside / bins.scale).ln_1p()
    }

    /// The values within which the distribution expects a number, and with which probability.
    pub fn expected_range(&self, number: usize, probabilities: &[f32]) -> [f32; 2] {
        let bins = &self.0[number];
        let (mut below, mut first, mut last) = (0.0, None, 0);
        for (bin, probability) in probabilities.iter().enumerate() {
            let reached = below + probability;
            if reached > LEFT_OUT && first.is_none() {
                first = Some(bin);
            }
            if below < 1.0 - LEFT_OUT {
                last = bin;
            }
            below = reached;
        }
        let first = first.unwrap_or(0);
        let low = if first == 0 { bins.range[0] } else { bins.uppers[first - 1] };
        [low, bins.uppers.get(last).copied().unwrap_or(bins.range[1])]
    }

    /// The limits of a bin: its numbers are at least the first and below the second.
    pub fn limits(&self, number: usize, bin: usize) -> [f32; 2] {
        let uppers = &self.0[number].uppers;
        let low = bin.checked_sub(1).and_then(|before| uppers.get(before));
        [low.map_or(f32::NEG_INFINITY, |upper| upper.next_up()), uppers.get(bin).map_or(f32::INFINITY, |u| u.next_up())]
    }

    /// Checks bins that came from a file; says what is wrong.
    pub fn validate(&self, outer: &Layout) -> Result<(), String> {
        let sound = |bins: &Quantiles| {
            let [low, high] = bins.range;
            bins.uppers.windows(2).all(|pair| pair[0] < pair[1])
                && bins.uppers.iter().chain(&bins.range).all(|value| value.is_finite())
                && low <= high
                && bins.scale.is_finite()
                && bins.scale > 0.0
        };
        if self.0.len() == outer.n_numbers() && self.0.iter().all(sound) {
            Ok(())
        } else {
            Err("the bins do not fit the numbers".into())
        }
    }
}

impl Quantiles {
    fn fit(values: impl Iterator<Item = f32>) -> Self {
        let mut sorted: Vec<f32> = values.filter(|value| !value.is_nan()).collect();
        sorted.sort_unstable_by(f32::total_cmp);
        let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else {
            return Self { uppers: Vec::new(), range: [0.0; 2], scale: 1.0 };
        };
        let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64).round() as usize];
        let mut distinct = sorted.clone();
        distinct.dedup();
        let most = (sorted.len() / ROWS_PER_BIN).clamp(FEWEST_BINS, CUTS.len() + 1);
        let mut uppers: Vec<f32> = if distinct.len() <= most {
            distinct
        } else {
            let stride = (CUTS.len() + 1).div_ceil(most);
            CUTS.iter().skip(stride - 1).step_by(stride).copied().map(at).collect()
        };
        uppers.dedup();
        uppers.retain(|upper| *upper < high);
        let quartiles = at(0.75) - at(0.25);
        Self { uppers, range: [low, high], scale: if quartiles > 0.0 { quartiles } else { 1.0 } }
    }

    fn code(&self, z: f32) -> u32 {
        if z.is_nan() {
            ABSENT
        } else if z < self.range[0] || z > self.range[1] {
            UNSEEN
        } else {
            self.uppers.partition_point(|upper| *upper < z) as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[f32]) -> Encoded {
        Encoded::new(values.len(), vec![0; values.len()], values.to_vec())
    }

    fn codes(bins: &QuantileBins, values: &[f32]) -> Vec<u32> {
        let encoded = bins.encode(&column(values));
        (0..values.len()).map(|row| encoded.codes(row)[0]).collect()
    }

    #[test]
    fn few_distinct_values_have_a_bin_each() {
        let bins = QuantileBins::fit(&column(&[1.0, 0.0, 2.0, 2.0, 0.0, f32::NAN]), 1);
        assert_eq!(bins.layout(&Layout::new(1, vec![1])).size(0), 3);
        assert_eq!(codes(&bins, &[0.0, 1.0, 2.0, 2.5, -0.5, f32::NAN]), [0, 1, 2, UNSEEN, UNSEEN, ABSENT]);
    }

    #[test]
    fn bins_end_at_quantiles_and_a_heap_of_zeros_keeps_together() {
        let values: Vec<f32> = (0..10_000).map(|i| if i < 6000 { 0.0 } else { i as f32 }).collect();
        let bins = QuantileBins::fit(&column(&values), 1);
        let of_values = codes(&bins, &values);
        assert!(of_values[..6000].iter().all(|code| *code == 0));
        assert!(of_values.windows(2).all(|pair| pair[0] <= pair[1]));
        let rarest = of_values.iter().filter(|code| **code == of_values[9999]).count();
        assert!((15..=25).contains(&rarest), "the last bin holds {rarest} of 10000");
    }

    #[test]
    fn few_rows_have_few_bins() {
        let bins_of = |n: usize| {
            let values: Vec<f32> = (0..n).map(|i| i as f32).collect();
            QuantileBins::fit(&column(&values), 1).layout(&Layout::new(1, vec![1])).size(0)
        };
        assert_eq!([50, 1000, 2000, 4000, 50_000].map(bins_of), [4, 5, 10, 20, 20]);
    }

    #[test]
    fn surprise_grows_outside_of_the_training_values() {
        let bins = QuantileBins::fit(&column(&[0.0, 1.0, 2.0, 3.0]), 1);
        assert_eq!(bins.excess(0, 2.5), 0.0);
        assert!(bins.excess(0, 10.0) > bins.excess(0, 4.0));
        assert!((bins.excess(0, 5.0) - 2.0 * 3.0f64.ln()).abs() < 1e-6, "twice the distance of the quartiles");
    }

    #[test]
    fn the_expected_range_holds_nine_tenths() {
        let bins = QuantileBins::fit(&column(&[0.0, 1.0, 2.0, 3.0]), 1);
        assert_eq!(bins.expected_range(0, &[0.04, 0.5, 0.44, 0.02]), [0.0, 2.0]);
        assert_eq!(bins.expected_range(0, &[0.97, 0.01, 0.01, 0.01]), [0.0, 0.0]);
    }
}
