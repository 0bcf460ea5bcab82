//! The distance to the k-th nearest training row (Ramaswamy, Rastogi and Shim, *Efficient Algorithms for Mining
//! Outliers from Large Data Sets*, SIGMOD 2000).
//!
//! There are two distances:
//!
//! - [`Distance::Euclidean`], on the encoding: √(2·(cells whose categories differ) + Σⱼ (xⱼ − yⱼ)²). That is the
//!   distance of one-hot vectors, computed on codes without ever making one. A missing number is the mean, 0.
//! - [`Distance::Gower`], on the columns (Gower, *A General Coefficient of Similarity*, Biometrics, 1971): a mean over
//!   columns. A category adds 0 or 1. A number adds |x − y| over the range of the training rows, at most 1. Without
//!   numbers it is the share of columns that differ, Hamming's distance. A missing number differs by its absence alone.
//!
//! A training row that occurs c times is c neighbours. A row that was trained on finds itself among them. An unseen
//! category differs from every training row's.
//!
//! The part of a cell is its share of the distance to the k-th neighbour; for Euclid, its share of the square, over the
//! distance. What was expected is what the k nearest rows have.
//!
//! # Training rows in the model
//!
//! This method *is* its training rows: up to `most_rows` distinct ones, as codes and scaled numbers. Together with the
//! schema they can be read back. So do not give away such a model if you may not give away the rows. If there are more
//! rows, a sample in proportion to the counts stands for them, and k counts within that sample.

use serde::{Deserialize, Serialize};

use super::stored_rows::{CHUNK, DIFFERENT, StoredRows, squared_difference};
use super::{ScoreByCell, map_rows, rows_to_fit, sample_rows};
use crate::columns::{Encoded, Layout};
use crate::detectors::Expected;
use crate::error::{Error, Result};
use crate::files::{Loaded, Store, Tensors};
use crate::train::Run;

/// The settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct KnnConfig {
    /// k: which neighbour's distance is the score.
    pub neighbour: usize,
    /// How far apart two rows are.
    pub distance: Distance,
    /// Distinct rows kept, at the most.
    pub most_rows: usize,
}

/// How far apart two rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distance {
    /// Euclid's, on scaled numbers and one-hots.
    Euclidean,
    /// Gower's, on columns; Hamming's where there are no numbers.
    Gower,
}

impl Default for KnnConfig {
    fn default() -> Self {
        Self { neighbour: 5, distance: Distance::Euclidean, most_rows: 50_000 }
    }
}

impl KnnConfig {
    /// Checks the settings.
    pub fn validate(&self) -> Result<()> {
        if !(1..=100_000).contains(&self.neighbour) {
            return Err(Error::config("neighbour", format!("{} is not between 1 and 100000", self.neighbour)));
        }
        if self.most_rows == 0 {
            return Err(Error::config("most_rows", "must be at least 1"));
        }
        Ok(())
    }
}

/// The rows that were trained on.
#[derive(Debug, Clone)]
pub struct Knn {
    config: KnnConfig,
    layout: Layout,
    rows: StoredRows,
    /// What a difference of each number is divided by.
    ranges: Vec<f64>,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredKnn {
    config: KnnConfig,
}

impl Knn {
    /// Keeps the rows.
    pub fn fit(config: &KnnConfig, layout: &Layout, rows: [&Encoded; 2], _: Run<'_>) -> Result<Self> {
        config.validate()?;
        let (rows, counts) = rows_to_fit(rows)?;
        let (rows, counts) = sample_rows(&rows, &counts, config.most_rows);
        Ok(Self::new(*config, layout, StoredRows::new(layout, &rows, counts)))
    }

    fn new(config: KnnConfig, layout: &Layout, rows: StoredRows) -> Self {
        let range = |number: usize| {
            let present = rows.numbers_from(0, number).iter().copied().filter(|value| !value.is_nan());
            let (low, high) = present.fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
            if low < high { f64::from(high) - f64::from(low) } else { 1.0 }
        };
        let ranges = (0..layout.n_numbers()).map(range).collect();
        Self { config, layout: layout.clone(), rows, ranges }
    }

    /// The settings.
    pub fn config(&self) -> &KnnConfig {
        &self.config
    }

    /// What two numbers add to the squared distance, or to the sum of Gower's.
    fn apart(&self, number: usize, a: f32, b: f32) -> f64 {
        match self.config.distance {
            Distance::Euclidean => squared_difference(a, b),
            Distance::Gower if a.is_nan() || b.is_nan() => 0.0,
            Distance::Gower => ((f64::from(a) - f64::from(b)).abs() / self.ranges[number]).min(1.0),
        }
    }

    /// What two different categories add.
    fn step(&self) -> f64 {
        match self.config.distance {
            Distance::Euclidean => DIFFERENT,
            Distance::Gower => 1.0,
        }
    }

    /// A distance from its sum over cells.
    fn distance(&self, sum: f64) -> f64 {
        match self.config.distance {
            Distance::Euclidean => sum.sqrt(),
            Distance::Gower => sum / self.layout.n_groups() as f64,
        }
    }

    /// What sets a row apart from each of the stored rows from `start` on, summed over cells.
    fn sums(&self, start: usize, codes: &[u32], numbers: &[f32], sums: &mut [f64]) {
        if self.config.distance == Distance::Euclidean {
            return self.rows.squared_distances(start, codes, numbers, sums);
        }
        let mut differences = [0; CHUNK];
        self.rows.count_differences(start, codes, &mut differences[..sums.len()]);
        for (sum, difference) in sums.iter_mut().zip(differences) {
            *sum = f64::from(difference);
        }
        for (number, value) in numbers.iter().enumerate() {
            for (sum, other) in sums.iter_mut().zip(self.rows.numbers_from(start, number)) {
                *sum += self.apart(number, *value, *other);
            }
        }
    }

    /// The nearest stored rows that make up k neighbours, nearest first, with their sums; rows equally far in the order
    /// they are stored.
    fn nearest(&self, codes: &[u32], numbers: &[f32]) -> Vec<(f64, usize)> {
        let counts = &self.rows.counts;
        let k = self.config.neighbour as f64;
        let mut nearest: Vec<(f64, usize)> = Vec::new();
        let mut found = 0.0; // neighbours among `nearest`
        let mut sums = [0.0; CHUNK];
        for start in (0..counts.len()).step_by(CHUNK) {
            let sums = &mut sums[..CHUNK.min(counts.len() - start)];
            self.sums(start, codes, numbers, sums);
            for (row, &sum) in (start..).zip(sums.iter()) {
                if found >= k && nearest.last().is_some_and(|last| sum >= last.0) {
                    continue;
                }
                let at = nearest.partition_point(|other| other.0 <= sum);
                nearest.insert(at, (sum, row));
                found += counts[row];
                // Whoever is not needed for k any more goes.
                while let Some(last) = nearest.last().filter(|last| found - counts[last.1] >= k) {
                    found -= counts[last.1];
                    nearest.pop();
                }
            }
        }
        nearest
    }
}

impl Store for Knn {
    type Document = StoredKnn;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredKnn> {
        self.rows.put(tensors);
        Ok(StoredKnn { config: self.config })
    }

    fn read(StoredKnn { config }: StoredKnn, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        config.validate()?;
        Ok(Self::new(config, layout, StoredRows::take(layout, tensors)?))
    }
}

impl ScoreByCell for Knn {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn split_row(&self, codes: &[u32], numbers: &[f32], parts: &mut [f64]) -> f64 {
        let Some(&(sum, row)) = self.nearest(codes, numbers).last() else { return 0.0 };
        let share = if sum > 0.0 { self.distance(sum) / sum } else { 0.0 };
        let (of_numbers, of_groups) = parts.split_at_mut(numbers.len());
        for (number, (part, value)) in of_numbers.iter_mut().zip(numbers).enumerate() {
            *part = share * self.apart(number, *value, self.rows.number(row, number));
        }
        for (group, (part, code)) in of_groups.iter_mut().zip(codes).enumerate() {
            *part = if self.rows.code(row, group) == *code { 0.0 } else { share * self.step() };
        }
        0.0
    }

    fn scores(&self, rows: &Encoded) -> Option<Vec<f64>> {
        Some(map_rows(rows, |codes, numbers| {
            self.nearest(codes, numbers).last().map_or(0.0, |last| self.distance(last.0))
        }))
    }

    fn expected_cells(&self, rows: &Encoded) -> Option<Expected> {
        let n_numbers = self.layout.n_numbers();
        let mut expected = Expected { ranges: Vec::new(), probabilities: Vec::new(), seen: Vec::new() };
        for row in 0..rows.n_rows() {
            let nearest = self.nearest(rows.codes(row), rows.numbers(row));
            let total: f64 = nearest.iter().map(|(_, row)| self.rows.counts[*row]).sum();
            expected.ranges.extend((0..n_numbers).map(|number| {
                let values = nearest.iter().map(|(_, row)| self.rows.number(*row, number)).filter(|z| !z.is_nan());
                let range = values.fold(None, |range: Option<[f32; 2]>, z| {
                    Some(range.map_or([z; 2], |[low, high]| [low.min(z), high.max(z)]))
                });
                range.unwrap_or_default()
            }));
            let mut shares = vec![0.0; self.layout.width()];
            for (_, row) in nearest {
                for (group, places) in self.layout.groups().enumerate() {
                    if let Some(share) = shares[places].get_mut(self.rows.code(row, group) as usize) {
                        *share += (self.rows.counts[row] / total) as f32;
                    }
                }
            }
            expected.probabilities.extend_from_slice(&shares[n_numbers..]);
        }
        Some(expected)
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::SQRT_2;

    use super::*;
    use crate::columns::UNSEEN;
    use crate::detectors::Detector;
    use crate::detectors::tests::{assert_close, fit_on, mixed_queries, mixed_rows, rows_of};

    fn fit(config: KnnConfig, layout: &Layout, rows: &Encoded) -> Result<Knn> {
        fit_on(rows, |all, run| Knn::fit(&config, layout, all, run))
    }

    /// Values from `reference/baselines.py` in the benchmarks.
    #[test]
    fn distances_agree_with_scikit_learn() -> Result<()> {
        let (layout, rows) = mixed_rows(60);
        for (neighbour, expected) in [
            (1, [1.581_138_830_084_189_8, 1.802_775_637_731_994_6, 3.010_398_644_698_074, SQRT_2]),
            (5, [1.952_562_418_976_663_5, 2.193_741_096_848_030_6, 3.774_917_217_635_375, 1.5]),
        ] {
            let detector = fit(KnnConfig { neighbour, ..KnnConfig::default() }, &layout, &rows)?;
            assert_close(&detector.score(&mixed_queries()), &expected, 1e-14);
        }
        Ok(())
    }

    #[test]
    fn gower_by_hand_with_counts_and_missing_numbers() -> Result<()> {
        let layout = Layout::new(1, vec![3, 2]);
        let nan = f32::NAN;
        // The row (0, 0), 1.0 occurs twice; the number's range is 2.
        let rows = rows_of(&[(&[0, 0], &[1.0]), (&[0, 0], &[1.0]), (&[1, 0], &[3.0]), (&[2, 1], &[nan])]);
        let queries = rows_of(&[(&[0, 0], &[1.5]), (&[UNSEEN, 0], &[1.0]), (&[2, 1], &[nan])]);
        for (neighbour, expected) in [(2, [0.125, 0.5, 1.0]), (3, [0.875, 1.0, 1.0]), (9, [1.0, 1.0, 1.0])] {
            let config = KnnConfig { neighbour, distance: Distance::Gower, ..KnnConfig::default() };
            assert_close(&fit(config, &layout, &rows)?.score(&queries), &expected, 1e-15);
        }
        Ok(())
    }

    #[test]
    fn neighbours_say_what_was_expected() -> Result<()> {
        let layout = Layout::new(0, vec![2, 2]);
        let rows = rows_of(&[(&[0, 0], &[]), (&[0, 0], &[]), (&[1, 1], &[])]);
        let detector = fit(KnnConfig { neighbour: 2, ..KnnConfig::default() }, &layout, &rows)?;
        let expected = Expected { ranges: vec![], probabilities: vec![1.0, 0.0, 1.0, 0.0], seen: Vec::new() };
        assert_eq!(detector.expected(&rows_of(&[(&[0, 1], &[])]), &[true; 2]), Some(expected));
        Ok(())
    }
}
