//! One-class support vector machine: a smooth region that holds most training rows, and how far outside of it a row
//! lies (Schölkopf, Platt, Shawe-Taylor, Smola and Williamson, *Estimating the Support of a High-Dimensional
//! Distribution*, Neural Computation, 2001).
//!
//! score(x) = ρ − Σᵢ αᵢ exp(−γ‖x − xᵢ‖²): minus the decision value of a ν-SVM of one class with a Gaussian kernel. α
//! minimises ½ αᵀKα where Σαᵢ = νn and 0 ≤ αᵢ ≤ cᵢ, the count of the distinct row i. That is the problem of all n rows
//! with equal ones taken together. About a share ν of the training rows score above 0. Scale and signs are those of
//! libsvm and scikit-learn.
//!
//! Distances are Euclid's on the encoding, computed on codes ([`super::stored_rows`]). By default γ is 1/(width ·
//! variance of all its places), scikit-learn's `scale`.
//!
//! The score is not a sum over cells. Each support vector lacks some similarity, 1 − K(x, xᵢ). It is divided among the
//! cells in proportion to what they add to the squared distance. The base is ρ − Σαᵢ, the score of a row that is equal
//! to all support vectors at once.
//!
//! - A missing number is the mean, 0, and its absence is a category of its group.
//! - An unseen category differs from every training row's.
//! - Like [`super::Knn`], the model holds training rows: those that have an α. If there are more than `most_rows`
//!   distinct rows, a sample in proportion to the counts stands for them.

mod solve;

use serde::{Deserialize, Serialize};

use super::stored_rows::{DIFFERENT, StoredRows, squared_difference};
use super::{ScoreByCell, map_rows, places, rows_to_fit, sample_rows};
use crate::columns::{Encoded, Layout};
use crate::error::{Error, Result};
use crate::files::{Loaded, Store, Tensors};
use crate::train::Run;

/// The settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct OcSvmConfig {
    /// ν: about the share of training rows outside of the region.
    pub nu: f64,
    /// γ of the kernel; without one, 1/(width · variance).
    pub gamma: Option<f64>,
    /// How far the solution may violate its conditions.
    pub tolerance: f64,
    /// Distinct rows learned from, at the most.
    pub most_rows: usize,
}

impl Default for OcSvmConfig {
    fn default() -> Self {
        Self { nu: 0.5, gamma: None, tolerance: 1e-3, most_rows: 10_000 }
    }
}

impl OcSvmConfig {
    /// Checks the settings.
    pub fn validate(&self) -> Result<()> {
        if !(self.nu > 0.0 && self.nu <= 1.0) {
            return Err(Error::config("nu", format!("{} is not in (0, 1]", self.nu)));
        }
        if self.gamma.is_some_and(|gamma| !(gamma > 0.0 && gamma.is_finite())) {
            return Err(Error::config("gamma", "must be a positive number"));
        }
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return Err(Error::config("tolerance", "must be a positive number, such as 0.001"));
        }
        if self.most_rows == 0 {
            return Err(Error::config("most_rows", "must be at least 1"));
        }
        Ok(())
    }
}

/// The support vectors.
#[derive(Debug, Clone)]
pub struct OcSvm {
    config: OcSvmConfig,
    layout: Layout,
    gamma: f64,
    rho: f64,
    rows: StoredRows,
    alphas: Vec<f64>,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredOcSvm {
    config: OcSvmConfig,
    gamma: f64,
    rho: f64,
}

impl OcSvm {
    /// Finds the support vectors.
    pub fn fit(config: &OcSvmConfig, layout: &Layout, rows: [&Encoded; 2], _: Run<'_>) -> Result<Self> {
        config.validate()?;
        let (rows, counts) = rows_to_fit(rows)?;
        let gamma = config.gamma.unwrap_or_else(|| scale(layout, &rows, &counts));
        let (rows, counts) = sample_rows(&rows, &counts, config.most_rows);
        let stored = StoredRows::new(layout, &rows, counts);
        let solution = solve::solve(&stored, gamma, config.nu, config.tolerance)?;
        let support: Vec<usize> = (0..stored.len()).filter(|row| solution.alphas[*row] > 0.0).collect();
        let counts = support.iter().map(|row| stored.counts[*row]).collect();
        Ok(Self {
            config: *config,
            layout: layout.clone(),
            gamma,
            rho: solution.rho,
            rows: StoredRows::new(layout, &rows.select(&support), counts),
            alphas: support.iter().map(|row| solution.alphas[*row]).collect(),
        })
    }

    /// The settings.
    pub fn config(&self) -> &OcSvmConfig {
        &self.config
    }

    fn squared_distances(&self, codes: &[u32], numbers: &[f32]) -> Vec<f64> {
        let mut squares = vec![0.0; self.rows.len()];
        self.rows.squared_distances(0, codes, numbers, &mut squares);
        squares
    }
}

impl Store for OcSvm {
    type Document = StoredOcSvm;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredOcSvm> {
        self.rows.put(tensors);
        tensors.put("alphas", self.alphas.clone());
        Ok(StoredOcSvm { config: self.config, gamma: self.gamma, rho: self.rho })
    }

    fn read(StoredOcSvm { config, gamma, rho }: StoredOcSvm, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        config.validate()?;
        if !(gamma > 0.0 && gamma.is_finite() && rho.is_finite()) {
            return Err("the kernel has no usable width or the region no usable border".into());
        }
        let rows = StoredRows::take(layout, tensors)?;
        let alphas = tensors.take("alphas", rows.len())?;
        Ok(Self { config, layout: layout.clone(), gamma, rho, rows, alphas })
    }
}

/// 1/(width · variance of all places of all rows); 1 where nothing varies.
fn scale(layout: &Layout, rows: &Encoded, counts: &[f64]) -> f64 {
    let (mut sum, mut square) = (0.0, 0.0);
    for (row, count) in counts.iter().enumerate() {
        for (_, value) in places(layout, rows.codes(row), rows.numbers(row)) {
            sum += count * value;
            square += count * value * value;
        }
    }
    let n_values = counts.iter().sum::<f64>() * layout.width() as f64;
    let variance = square / n_values - (sum / n_values).powi(2);
    if variance > 0.0 { 1.0 / (layout.width() as f64 * variance) } else { 1.0 }
}

impl ScoreByCell for OcSvm {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn split_row(&self, codes: &[u32], numbers: &[f32], parts: &mut [f64]) -> f64 {
        let (of_numbers, of_groups) = parts.split_at_mut(numbers.len());
        for (row, square) in self.squared_distances(codes, numbers).into_iter().enumerate() {
            // α (1 − K) for each unit of squared distance.
            let share = if square > 0.0 { -self.alphas[row] * (-self.gamma * square).exp_m1() / square } else { 0.0 };
            for (number, (part, value)) in of_numbers.iter_mut().zip(numbers).enumerate() {
                *part += share * squared_difference(*value, self.rows.number(row, number));
            }
            for (group, (part, code)) in of_groups.iter_mut().zip(codes).enumerate() {
                if self.rows.code(row, group) != *code {
                    *part += share * DIFFERENT;
                }
            }
        }
        self.rho - self.alphas.iter().sum::<f64>()
    }

    fn scores(&self, rows: &Encoded) -> Option<Vec<f64>> {
        Some(map_rows(rows, |codes, numbers| {
            let squares = self.squared_distances(codes, numbers);
            self.rho - squares.iter().zip(&self.alphas).map(|(s, alpha)| alpha * (-self.gamma * s).exp()).sum::<f64>()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detectors::Detector;
    use crate::detectors::tests::{assert_close, fit_on, mixed_queries, mixed_rows};

    fn fit(config: OcSvmConfig, layout: &Layout, rows: &Encoded) -> Result<OcSvm> {
        fit_on(rows, |all, run| OcSvm::fit(&config, layout, all, run))
    }

    /// Values from `reference/baselines.py` in the benchmarks.
    #[test]
    fn decision_values_agree_with_scikit_learn() -> Result<()> {
        let (layout, rows) = mixed_rows(60);
        for (nu, gamma, expected) in [
            (
                0.1,
                0.1,
                [
                    0.058_656_093_433_251_844,
                    0.221_685_815_485_255_68,
                    1.785_544_881_372_811_6,
                    -0.460_367_392_088_808_7,
                ],
            ),
            (
                0.5,
                0.5,
                [0.821_033_292_444_288_9, 1.127_565_885_717_151_3, 2.119_538_212_325_296_4, -0.047_197_531_092_234_346],
            ),
        ] {
            let config = OcSvmConfig { nu, gamma: Some(gamma), tolerance: 1e-10, ..OcSvmConfig::default() };
            assert_close(&fit(config, &layout, &rows)?.score(&mixed_queries()), &expected, 1e-7);
        }
        Ok(())
    }

    // 1 / (11 · rows.var()) of `reference/baselines.py`.
    #[test]
    fn the_width_of_the_kernel_is_scikit_learns_scale() {
        let (layout, rows) = mixed_rows(60);
        assert_close(&[scale(&layout, &rows, &[1.0; 60])], &[0.256_286_212_157_739], 1e-12);
    }

    #[test]
    fn counted_rows_are_repeated_rows() -> Result<()> {
        let (layout, rows) = mixed_rows(40);
        let all: Vec<usize> = (0..40).chain(0..10).chain(0..10).collect();
        let config = OcSvmConfig { tolerance: 1e-10, ..OcSvmConfig::default() };
        let svm = fit(config, &layout, &rows.select(&all))?;
        // Σα = νn with n = 60 repeated rows, and no α above its count.
        assert!((svm.alphas.iter().sum::<f64>() - 30.0).abs() < 1e-9);
        assert!(svm.alphas.iter().zip(&svm.rows.counts).all(|(alpha, count)| alpha <= count));
        let outside = svm.score(&rows.select(&all)).iter().filter(|score| **score > 1e-9).count();
        assert!(outside <= 30, "{outside}");
        Ok(())
    }
}
