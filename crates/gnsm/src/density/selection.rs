//! How many components a mixture should have, by cross-validation.
//!
//! Each candidate is fitted on all folds but one and judged by the log-likelihoods of the rows left out. The usual
//! figure is their mean. The authors of the method take the 10 % quantile, which looks at the rows that are hardest to
//! explain. Folds are dealt from the repeated rows, as if rows had not been counted.

use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::em::MixtureConfig;
use super::mixture::GaussianMixture;
use super::rows::{Rows, SampledRows, Stream, generator};
use crate::error::{Error, Result};

/// The figure by which candidates are compared, from the log-likelihoods of rows left out. The highest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// Their mean.
    Mean,
    /// Their 10 % quantile.
    LowestTenth,
}

/// How the number of components is chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectionConfig {
    /// The numbers of components to try.
    pub candidates: Vec<usize>,
    /// The number of folds.
    pub folds: usize,
    /// What makes a candidate good.
    pub criterion: Criterion,
    /// With more rows than this, candidates are compared on a sample of so many; the winner is fitted on all rows.
    pub most_rows: usize,
}

impl Default for SelectionConfig {
    fn default() -> Self {
        Self { candidates: vec![3, 5, 7, 9], folds: 5, criterion: Criterion::Mean, most_rows: 20_000 }
    }
}

impl SelectionConfig {
    /// Names the first setting that is out of its range.
    pub fn validate(&self) -> Result<()> {
        if self.candidates.is_empty() || self.candidates.contains(&0) {
            return Err(Error::config("candidates", "must hold numbers of components, each at least 1"));
        }
        if self.folds < 2 {
            return Err(Error::config("folds", "must be at least 2"));
        }
        if self.most_rows < self.folds {
            return Err(Error::config("most_rows", "must be at least the number of folds"));
        }
        Ok(())
    }
}

impl GaussianMixture {
    /// Fits the number of components that explains unseen rows best. `config.components` is not used.
    ///
    /// A single row leaves nothing to compare, and gets the smallest candidate.
    pub fn fit_best(rows: Rows<'_>, selection: &SelectionConfig, config: &MixtureConfig, seed: u64) -> Result<Self> {
        selection.validate()?;
        let mut candidates = selection.candidates.clone();
        candidates.sort_unstable();
        candidates.dedup();
        let sample = rows.sample(selection.most_rows, seed);
        let folds = deal(sample.as_rows(), selection.folds, seed);
        let tasks: Vec<(usize, usize)> =
            (0..candidates.len()).flat_map(|candidate| (0..folds.len()).map(move |fold| (candidate, fold))).collect();
        let judged: Vec<f64> = tasks
            .into_par_iter()
            .map(|(candidate, fold)| {
                let config = MixtureConfig { components: candidates[candidate], ..config.clone() };
                let (learn, held_out) = &folds[fold];
                let mixture = Self::fit(learn.as_rows(), &config, seed)?;
                Ok(judge(&mixture, held_out.as_rows(), selection.criterion))
            })
            .collect::<Result<_>>()?;
        let mut best = (candidates[0], f64::NEG_INFINITY);
        for (&candidate, judged) in candidates.iter().zip(judged.chunks(folds.len().max(1))) {
            let mean = judged.iter().sum::<f64>() / judged.len() as f64;
            if mean > best.1 {
                best = (candidate, mean);
            }
        }
        Self::fit(rows, &MixtureConfig { components: best.0, ..config.clone() }, seed)
    }
}

/// For each fold the rows to learn from and the rows held out; no folds where that would leave one side empty.
///
/// A row's count is divided equally among the folds. What is left of it goes to single folds, in a random order that
/// goes on from row to row, so that folds are of equal size.
fn deal(rows: Rows<'_>, folds: usize, seed: u64) -> Vec<(SampledRows, SampledRows)> {
    let mut rng = generator(seed, Stream::Folds);
    let mut order: Vec<usize> = (0..folds).collect();
    let mut position = 0;
    let mut held_out = vec![0.0; rows.len() * folds]; // [rows, folds]
    for (counts, &count) in held_out.chunks_exact_mut(folds).zip(rows.counts) {
        let even = (count / folds as f64).floor();
        counts.fill(even);
        let mut left = count - even * folds as f64;
        while left > 0.0 {
            if position == 0 {
                for last in (1..folds).rev() {
                    order.swap(last, rng.random_range(0..=last));
                }
            }
            counts[order[position]] += 1.0;
            position = (position + 1) % folds;
            left -= 1.0;
        }
    }
    let part = |fold: usize, learn: bool| {
        let mut part = SampledRows { values: Vec::new(), dimension: rows.dimension, counts: Vec::new() };
        for ((row, count), held_out) in rows.iter().zip(held_out.chunks_exact(folds)) {
            let count = if learn { count - held_out[fold] } else { held_out[fold] };
            if count > 0.0 {
                part.values.extend_from_slice(row);
                part.counts.push(count);
            }
        }
        part
    };
    (0..folds)
        .map(|fold| (part(fold, true), part(fold, false)))
        .filter(|(learn, held_out)| !learn.counts.is_empty() && !held_out.counts.is_empty())
        .collect()
}

/// The criterion on the rows held out.
fn judge(mixture: &GaussianMixture, rows: Rows<'_>, criterion: Criterion) -> f64 {
    let likelihoods = mixture.log_likelihoods(rows.values);
    let mut counted: Vec<(f64, f64)> = likelihoods.into_iter().zip(rows.counts.iter().copied()).collect();
    let total = rows.total();
    match criterion {
        Criterion::Mean => counted.iter().map(|(likelihood, count)| likelihood * count).sum::<f64>() / total,
        Criterion::LowestTenth => {
            counted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let mut passed = 0.0;
            for &(likelihood, count) in &counted {
                passed += count;
                if passed >= 0.1 * total {
                    return likelihood;
                }
            }
            f64::NEG_INFINITY
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_hold_every_row_once_and_are_of_equal_size() -> Result<()> {
        let values: Vec<f64> = (0..23).map(f64::from).collect();
        let counts: Vec<f64> = (0..23).map(|row| f64::from(1 + row % 7)).collect();
        let rows = Rows::new(&values, 1, &counts)?;
        let folds = deal(rows, 5, 3);
        assert_eq!(folds.len(), 5);
        let mut seen = vec![0.0; 23];
        for (learn, held_out) in &folds {
            assert_eq!(learn.as_rows().total() + held_out.as_rows().total(), rows.total());
            assert!((held_out.as_rows().total() - rows.total() / 5.0).abs() <= 1.0);
            for (row, count) in held_out.as_rows().iter() {
                seen[row[0] as usize] += count;
            }
        }
        assert_eq!(seen, counts);
        assert!(deal(Rows::new(&[1.0], 1, &[1.0])?, 5, 3).is_empty());
        Ok(())
    }
}
