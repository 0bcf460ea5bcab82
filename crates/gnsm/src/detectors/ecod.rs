//! How far out in the tails of its columns a row lies (Li, Zhao, Hu, Botta, Ionescu and Chen, *ECOD: Unsupervised
//! Outlier Detection Using Empirical Cumulative Distribution Functions*, IEEE TKDE, 2022).
//!
//! For a column with n training values, and the row's own x among them,
//!
//! left = −log((#{xᵢ ≤ x} + 1)/(n + 1)), right = −log((#{xᵢ ≥ x} + 1)/(n + 1)), part = max(left, right, skewed).
//!
//! *Skewed* is the left tail for a column skewed to the left (a negative third moment), the right one for a column
//! skewed to the right, and their sum for a column that is not skewed at all. The score is the sum over all columns of
//! the encoding, numbers and one-hot places alike.
//!
//! This is PyOD's score, and differs from the paper in one thing. The paper takes the largest of the three sums. PyOD
//! takes the largest in each column, and sums those. That makes the score a sum over cells. It also makes the skewness
//! matter only where it is 0.
//!
//! PyOD adds all rows that it is to score to the distribution, so a score there depends on the batch. Here only the one
//! row is added. So the scores are PyOD's for rows given one at a time, and no tail is empty.
//!
//! A one-hot place with m ones among the n rows is log((n + 1)/(m + 1)) for a one and log((n + 1)/(n − m + 1)) for a
//! zero, whatever its skewness, since one of the two tails is everything. The part of a group is the sum over its
//! places, which is known for every category beforehand.
//!
//! - A missing number has no part; its absence is a category of its group.
//! - An unseen category is a one in a place where training has only zeros: it adds log(n + 1).
//!
//! The model keeps the sorted distinct values of each number with their counts. That is no row, but it tells something
//! about the rows.

use serde::{Deserialize, Serialize};

use super::{NoSettings, ScoreByCell, category_counts, check_rows, take_category_counts, unseen_surprise};
use crate::columns::{Encoded, Layout};
use crate::detectors::Expected;
use crate::error::Result;
use crate::files::{Loaded, Store, Tensors};
use crate::train::Run;

/// The distribution of every column.
#[derive(Debug, Clone)]
pub struct Ecod {
    layout: Layout,
    n_rows: f64,
    numbers: Vec<Distribution>,
    /// Rows of each category, `[width]`; 0 in the places of numbers.
    counts: Vec<f64>,
    /// The part of each category, `[width]`.
    parts: Vec<f64>,
    /// The part of an unseen category of each group.
    unseen_parts: Vec<f64>,
}

/// The values of a number.
#[derive(Debug, Clone, Default)]
struct Distribution {
    /// Distinct values, ascending.
    values: Vec<f32>,
    /// For each of them how many rows have it or a smaller one.
    at_most: Vec<f64>,
    /// The part of each of them.
    parts: Vec<f64>,
    /// Σ(x − mean)² and Σ(x − mean)³, and the mean.
    mean: f64,
    square: f64,
    cube: f64,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredEcod {
    n_rows: f64,
}

impl Ecod {
    /// Sorts the columns.
    pub fn fit(_: &NoSettings, layout: &Layout, rows: [&Encoded; 2], _: Run<'_>) -> Result<Self> {
        let n_rows = check_rows(rows)?;
        let rows = rows[0].concat(rows[1]);
        let counts = category_counts(layout, &rows, &vec![1.0; n_rows]);
        let numbers = (0..layout.n_numbers()).map(|number| {
            let of_rows = (0..n_rows).map(|row| rows.numbers(row)[number]);
            let mut values: Vec<f32> = of_rows.filter(|value| !value.is_nan()).collect();
            values.sort_unstable_by(f32::total_cmp);
            let mut distribution = Distribution::default();
            let mut at_most = 0.0;
            for equal in values.chunk_by(|a, b| a == b) {
                at_most += equal.len() as f64;
                distribution.values.push(equal[0]);
                distribution.at_most.push(at_most);
            }
            distribution.ready()
        });
        Ok(Self::from_counts(layout, n_rows as f64, numbers.collect(), counts))
    }

    /// There are no settings.
    pub fn config(&self) -> &NoSettings {
        &NoSettings {}
    }

    fn from_counts(layout: &Layout, n_rows: f64, numbers: Vec<Distribution>, counts: Vec<f64>) -> Self {
        let mut parts = vec![0.0; layout.width()];
        let mut unseen_parts = Vec::new();
        let tail = |m: f64| ((n_rows + 1.0) / (m + 1.0)).ln();
        for places in layout.groups() {
            let zeros: f64 = counts[places.clone()].iter().map(|&count| tail(n_rows - count)).sum();
            for place in places {
                parts[place] = zeros - tail(n_rows - counts[place]) + tail(counts[place]);
            }
            unseen_parts.push(zeros + unseen_surprise(n_rows));
        }
        Self { layout: layout.clone(), n_rows, numbers, counts, parts, unseen_parts }
    }
}

impl Store for Ecod {
    type Document = StoredEcod;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredEcod> {
        tensors.put("counts", self.counts.clone());
        for (number, distribution) in self.numbers.iter().enumerate() {
            tensors.put(&format!("values.{number}"), distribution.values.clone());
            tensors.put(&format!("at_most.{number}"), distribution.at_most.clone());
        }
        Ok(StoredEcod { n_rows: self.n_rows })
    }

    fn read(StoredEcod { n_rows }: StoredEcod, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        let counts = take_category_counts(layout, n_rows, tensors)?;
        let number = |number: usize| {
            let values: Vec<f32> = tensors.take_any(&format!("values.{number}"))?;
            let at_most: Vec<f64> = tensors.take(&format!("at_most.{number}"), values.len())?;
            let ascending = values.is_sorted_by(|a, b| a < b) && at_most.is_sorted_by(|a, b| a < b);
            if !ascending || at_most.first().is_some_and(|n| *n < 1.0) || at_most.last().is_some_and(|n| *n > n_rows) {
                return Err(format!("the values of number {number} are not in order").into());
            }
            Ok(Distribution { values, at_most, ..Distribution::default() }.ready())
        };
        let numbers = (0..layout.n_numbers()).map(number).collect::<Loaded<_>>()?;
        Ok(Self::from_counts(layout, n_rows, numbers, counts))
    }
}

impl Distribution {
    /// The values with their counts.
    fn counted(&self) -> impl Iterator<Item = (f64, f64)> {
        let before = std::iter::once(0.0).chain(self.at_most.iter().copied());
        self.values.iter().zip(&self.at_most).zip(before).map(|((value, at_most), b)| (f64::from(*value), at_most - b))
    }

    /// What follows from the values and their counts.
    fn ready(mut self) -> Self {
        let total = self.total().max(1.0);
        self.mean = self.counted().map(|(value, count)| value * count).sum::<f64>() / total;
        let sum = |power: i32| self.counted().map(|(value, count)| count * (value - self.mean).powi(power)).sum();
        (self.square, self.cube) = (sum(2), sum(3));
        self.parts = self.values.iter().map(|value| self.tails(*value)).collect();
        self
    }

    /// Rows that have the number.
    fn total(&self) -> f64 {
        self.at_most.last().copied().unwrap_or(0.0)
    }

    /// The smallest value that at least this share of the rows does not exceed; 0 where all are missing.
    fn quantile(&self, share: f64) -> f32 {
        let index = self.at_most.partition_point(|at_most| *at_most < share * self.total());
        self.values.get(index).copied().unwrap_or(0.0)
    }

    /// The part of a number.
    fn part(&self, number: f32) -> f64 {
        match self.values.binary_search_by(|value| value.total_cmp(&number)) {
            Ok(at) => self.parts[at],
            Err(_) => self.tails(number),
        }
    }

    /// The part of a number, computed.
    fn tails(&self, number: f32) -> f64 {
        let index = self.values.partition_point(|value| *value <= number);
        let at_most = if index == 0 { 0.0 } else { self.at_most[index - 1] };
        let first_equal = if index > 0 && self.values[index - 1] == number { index - 1 } else { index };
        let below = if first_equal == 0 { 0.0 } else { self.at_most[first_equal - 1] };
        let n = self.total() + 1.0;
        let left = (n / (at_most + 1.0)).ln();
        let right = (n / (n - below)).ln();
        if self.is_skewed(f64::from(number)) { left.max(right) } else { left + right }
    }

    /// Whether the rows and one more have a third moment.
    fn is_skewed(&self, number: f64) -> bool {
        let n = self.total();
        // Pébay's update of the central moments by one value.
        let step = (number - self.mean) / (n + 1.0);
        let square = self.square + step * step * n * (n + 1.0);
        let cube = self.cube + step.powi(3) * n * (n + 1.0) * (n - 1.0) - 3.0 * step * self.square;
        // Rounding leaves this much of a moment that is 0.
        let variance = square / (n + 1.0);
        let rounding = 1e-12 * (n + 1.0) * variance * variance.sqrt();
        cube.abs() > rounding
    }
}

impl ScoreByCell for Ecod {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn split_row(&self, codes: &[u32], numbers: &[f32], parts: &mut [f64]) -> f64 {
        let (of_numbers, of_groups) = parts.split_at_mut(numbers.len());
        for ((part, distribution), number) in of_numbers.iter_mut().zip(&self.numbers).zip(numbers) {
            *part = if number.is_nan() { 0.0 } else { distribution.part(*number) };
        }
        for (group, (part, code)) in of_groups.iter_mut().zip(codes).enumerate() {
            let known = self.parts[self.layout.group(group)].get(*code as usize);
            *part = known.copied().unwrap_or(self.unseen_parts[group]);
        }
        0.0
    }

    fn is_quick(&self) -> bool {
        true
    }

    fn expected_cells(&self, rows: &Encoded) -> Option<Expected> {
        // The same for every row: nine tenths of the numbers, and the shares of the categories.
        let ranges: Vec<[f32; 2]> =
            self.numbers.iter().map(|number| [0.05, 0.95].map(|q| number.quantile(q))).collect();
        let shares: Vec<f32> = self.counts.iter().map(|count| (count / self.n_rows) as f32).collect();
        Some(Expected {
            ranges: ranges.repeat(rows.n_rows()),
            probabilities: shares[self.layout.n_numbers()..].repeat(rows.n_rows()),
            seen: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::UNSEEN;
    use crate::detectors::Detector;
    use crate::detectors::tests::{assert_close, fit_on, mixed_queries, mixed_rows, rows_of};

    /// Values from `reference/baselines.py` in the benchmarks.
    #[test]
    fn scores_agree_with_pyod_given_one_row_at_a_time() -> Result<()> {
        let (layout, rows) = mixed_rows(60);
        let detector = fit_on(&rows, |all, run| Ecod::fit(&NoSettings {}, &layout, all, run))?;
        let expected = [10.226_961_393_356_248, 10.348_759_168_596_299, 14.104_367_027_464_692, 6.212_930_071_527_845];
        assert_close(&detector.score(&mixed_queries()), &expected, 1e-12);
        Ok(())
    }

    #[test]
    fn an_unseen_category_costs_the_rule_of_succession_and_a_missing_number_nothing() -> Result<()> {
        let layout = Layout::new(1, vec![1]);
        let rows = Encoded::new(9, vec![0; 9], (0..9).map(|row| row as f32).collect());
        let detector = fit_on(&rows, |all, run| Ecod::fit(&NoSettings {}, &layout, all, run))?;
        let queries = rows_of(&[(&[UNSEEN], &[f32::NAN]), (&[0], &[f32::NAN]), (&[0], &[100.0])]);
        // The place of the one category is 0 for the first row, where all others have 1: log 10 twice.
        assert_close(&detector.score(&queries), &[2.0 * 10.0f64.ln(), 0.0, 10.0f64.ln()], 1e-12);
        Ok(())
    }
}
