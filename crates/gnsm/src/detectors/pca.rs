//! How far a row lies from the mean, measured by how much training rows vary in each direction.
//!
//! The encoding of a row (scaled numbers and one-hot categories) minus its mean μ is projected on the eigenvectors uᵢ
//! of the covariance: tᵢ = uᵢᵀ(x − μ). The *components* are the eigenvectors with the largest variances λᵢ, as many as
//! hold more than 99 % of the variance. With σ² the mean variance of the other directions,
//!
//! score(x) = Σ over components tᵢ²/λᵢ + Σ over the others tᵢ²/σ².
//!
//! This is the squared Mahalanobis distance under probabilistic principal component analysis (Tipping and Bishop 1999).
//! The first sum finds rows that differ in the usual directions, but too far. The second is the reconstruction error.
//! By the second alone, a table of a few numbers would have one score for all rows, because all its directions are
//! components.
//!
//! - σ² leaves out directions in which nothing varies. It is at least a thousandth of the mean variance of a place.
//!   Otherwise rounding would decide about tables that are nearly linear.
//! - With the setting `residual_only` the score is the squared reconstruction error, Σ over the others tᵢ² (Jolliffe,
//!   *Principal Component Analysis*, 2002), as one computes it with scikit-learn.
//! - Only U and Uᵀμ are kept. A category is one row of U, so a row of g groups costs g additions of rows.
//! - With W the weights 1/λᵢ and 1/σ², the vector r = U W^½ Uᵀ(x − μ) has ‖r‖² = score(x). A cell's part is the sum of
//!   the squares of r over its places.
//! - Numbers enter as the encoder scaled them. A missing one is the mean, 0, and its absence is a category of its
//!   group.
//! - An unseen category is a 1 in a place that no training row uses and no component reaches. Its group's other places
//!   are 0, and it adds 1/σ² to the score (1 with `residual_only`).

use serde::{Deserialize, Serialize};

use super::{ScoreByCell, check_width, map_rows, places, rows_to_fit};
use crate::columns::{Encoded, Layout, UNSEEN};
use crate::error::{Error, Result};
use crate::files::{Loaded, Store, Tensors};
use crate::math::eigen;
use crate::train::Run;

/// The settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PcaConfig {
    /// The share of the variance that the components hold.
    pub variance: f64,
    /// Whether only what lies outside of the components counts.
    pub residual_only: bool,
}

impl Default for PcaConfig {
    fn default() -> Self {
        Self { variance: 0.99, residual_only: false }
    }
}

impl PcaConfig {
    /// Checks the settings.
    pub fn validate(&self) -> Result<()> {
        if self.variance > 0.0 && self.variance < 1.0 {
            return Ok(());
        }
        Err(Error::config("variance", format!("{} is not between 0 and 1", self.variance)))
    }
}

/// σ² is at least this share of the mean variance of a place.
const SMALLEST_VARIANCE: f64 = 1e-3;
/// A direction with less than this share of the mean variance of a place counts as one in which nothing varies.
const NO_VARIANCE: f64 = 1e-9;

/// The directions that count.
#[derive(Debug, Clone)]
pub struct Pca {
    config: PcaConfig,
    layout: Layout,
    /// The number of those directions.
    directions: usize,
    /// U: [width, directions].
    basis: Vec<f64>,
    /// Uᵀμ: `[directions]`.
    offset: Vec<f64>,
    /// W: `[directions]`.
    weights: Vec<f64>,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredPca {
    config: PcaConfig,
    directions: usize,
}

impl Pca {
    /// Finds the components.
    pub fn fit(config: &PcaConfig, layout: &Layout, rows: [&Encoded; 2], _: Run<'_>) -> Result<Self> {
        config.validate()?;
        check_width(layout)?;
        let width = layout.width();
        let (rows, counts) = rows_to_fit(rows)?;
        let (mean, covariance) = moments(layout, &rows, &counts);
        let (variances, vectors) = eigen::symmetric(&covariance, width).ok_or_else(|| {
            Error::fit("the principal components cannot be computed", "look for absurd numbers in the rows")
        })?;
        let left_over = width - n_components(&variances, config.variance);
        // Ascending variances: the directions left over come first.
        let directions = if config.residual_only { left_over } else { width };
        let weights = if config.residual_only { vec![1.0; directions] } else { weights(&variances, left_over) };
        let basis = (0..width).flat_map(|place| vectors.iter().skip(place).step_by(width).take(directions)).copied();
        let offset = Vec::new();
        let mut pca =
            Self { config: *config, layout: layout.clone(), directions, basis: basis.collect(), offset, weights };
        let mut offset = vec![0.0; directions];
        for (place, mean) in mean.iter().enumerate() {
            add_scaled(&mut offset, pca.direction(place), *mean);
        }
        pca.offset = offset;
        Ok(pca)
    }

    /// The settings.
    pub fn config(&self) -> &PcaConfig {
        &self.config
    }

    /// A place's row of U.
    fn direction(&self, place: usize) -> &[f64] {
        &self.basis[place * self.directions..][..self.directions]
    }

    /// Uᵀ(x − μ), and how many categories are unseen.
    fn project(&self, codes: &[u32], numbers: &[f32]) -> (Vec<f64>, usize) {
        let mut projection: Vec<f64> = self.offset.iter().map(|value| -value).collect();
        for (place, value) in places(&self.layout, codes, numbers) {
            add_scaled(&mut projection, self.direction(place), value);
        }
        (projection, codes.iter().filter(|code| **code == UNSEEN).count())
    }

    /// What an unseen category adds: the weight of a direction in which nothing varies, or 1 if there is no such
    /// direction.
    fn of_unseen(&self) -> f64 {
        self.weights.first().copied().unwrap_or(1.0)
    }
}

impl Store for Pca {
    type Document = StoredPca;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredPca> {
        tensors.put("basis", self.basis.clone());
        tensors.put("offset", self.offset.clone());
        tensors.put("weights", self.weights.clone());
        Ok(StoredPca { config: self.config, directions: self.directions })
    }

    fn read(StoredPca { config, directions }: StoredPca, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        config.validate()?;
        if directions > layout.width() {
            return Err(format!("{directions} directions do not fit in {} places", layout.width()).into());
        }
        let basis = tensors.take("basis", directions * layout.width())?;
        let offset = tensors.take("offset", directions)?;
        let weights: Vec<f64> = tensors.take("weights", directions)?;
        if weights.iter().any(|weight| *weight <= 0.0) {
            return Err("tensor `weights` holds numbers that are not positive".into());
        }
        Ok(Self { config, layout: layout.clone(), directions, basis, offset, weights })
    }
}

fn add_scaled(to: &mut [f64], from: &[f64], factor: f64) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

/// The mean and the covariance of the encoded rows.
fn moments(layout: &Layout, rows: &Encoded, counts: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let width = layout.width();
    let (mut mean, mut products) = (vec![0.0; width], vec![0.0; width * width]);
    for (row, count) in counts.iter().enumerate() {
        let places: Vec<(usize, f64)> = places(layout, rows.codes(row), rows.numbers(row)).collect();
        for (index, &(place, value)) in places.iter().enumerate() {
            mean[place] += count * value;
            for &(other, other_value) in &places[..=index] {
                products[place * width + other] += count * value * other_value;
            }
        }
    }
    let total: f64 = counts.iter().sum();
    for sum in &mut mean {
        *sum /= total;
    }
    for place in 0..width {
        for other in 0..=place {
            let covariance = products[place * width + other] / total - mean[place] * mean[other];
            products[place * width + other] = covariance;
            products[other * width + place] = covariance;
        }
    }
    (mean, products)
}

/// The fewest components, largest variances first, that hold more than `share` of the variance, as scikit-learn counts
/// them.
fn n_components(ascending: &[f64], share: f64) -> usize {
    let total: f64 = ascending.iter().rev().map(|variance| variance.max(0.0)).sum();
    if total <= 0.0 {
        return 0;
    }
    let mut held = 0.0;
    for (index, variance) in ascending.iter().rev().enumerate() {
        held += variance.max(0.0) / total;
        if held > share {
            return index + 1;
        }
    }
    ascending.len()
}

/// 1/λ of each component and 1/σ² of the directions `left_over`, which come first.
fn weights(ascending: &[f64], left_over: usize) -> Vec<f64> {
    let mean = ascending.iter().map(|variance| variance.max(0.0)).sum::<f64>() / ascending.len().max(1) as f64;
    if mean <= 0.0 {
        // Nothing varies: all distances are in the units of the encoding.
        return vec![1.0; ascending.len()];
    }
    let varies = |variance: &&f64| **variance > NO_VARIANCE * mean;
    let (sum, n) = ascending[..left_over].iter().filter(varies).fold((0.0, 0u32), |(sum, n), v| (sum + v, n + 1));
    let noise = (sum / f64::from(n.max(1))).max(SMALLEST_VARIANCE * mean);
    let variance = |(index, variance): (usize, &f64)| if index < left_over { noise } else { variance.max(noise) };
    ascending.iter().enumerate().map(variance).map(f64::recip).collect()
}

impl ScoreByCell for Pca {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn split_row(&self, codes: &[u32], numbers: &[f32], parts: &mut [f64]) -> f64 {
        let (mut projection, _) = self.project(codes, numbers);
        projection.iter_mut().zip(&self.weights).for_each(|(t, weight)| *t *= weight.sqrt());
        let residual =
            |place: usize| -> f64 { self.direction(place).iter().zip(&projection).map(|(u, t)| u * t).sum() };
        let of_unseen = self.of_unseen();
        let (of_numbers, of_groups) = parts.split_at_mut(numbers.len());
        for (place, part) in of_numbers.iter_mut().enumerate() {
            *part = residual(place).powi(2);
        }
        for ((part, places), code) in of_groups.iter_mut().zip(self.layout.groups()).zip(codes) {
            *part = places.map(|place| residual(place).powi(2)).sum();
            if *code == UNSEEN {
                *part += of_unseen;
            }
        }
        0.0
    }

    fn scores(&self, rows: &Encoded) -> Option<Vec<f64>> {
        Some(map_rows(rows, |codes, numbers| {
            let (projection, unseen) = self.project(codes, numbers);
            let of_cells: f64 = projection.iter().zip(&self.weights).map(|(t, weight)| t * t * weight).sum();
            of_cells + unseen as f64 * self.of_unseen()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detectors::Detector;
    use crate::detectors::tests::{assert_close, fit_on, mixed_queries, mixed_rows, rows_of};

    /// Values from `reference/baselines.py` in the benchmarks.
    #[test]
    fn errors_agree_with_scikit_learn() -> Result<()> {
        let (layout, rows) = mixed_rows(60);
        for (variance, expected) in [
            (
                0.9,
                [0.010_919_041_782_005_482, 0.127_780_972_020_896_4, 0.317_778_732_136_978_8, 0.017_777_722_507_826_54],
            ),
            (0.6, [1.138_509_358_183_314_3, 1.874_607_550_807_673_6, 1.267_964_860_554_617_2, 1.384_444_678_974_320_6]),
        ] {
            let config = PcaConfig { variance, residual_only: true };
            let detector = fit_on(&rows, |all, run| Pca::fit(&config, &layout, all, run))?;
            assert_close(&detector.score(&mixed_queries()), &expected, 1e-12);
        }
        Ok(())
    }

    /// Values from `reference/baselines.py` in the benchmarks.
    #[test]
    fn distances_agree_with_numpy() -> Result<()> {
        let (layout, rows) = mixed_rows(60);
        for (variance, expected) in [
            (0.9, [8.773_336_051_378_397, 13.100_698_598_422_94, 30.747_259_282_333_534, 5.576_928_548_346_485]),
            (0.6, [9.011_766_058_021_148, 13.171_198_394_196_24, 30.644_838_826_366_115, 5.990_317_603_507_667]),
        ] {
            let config = PcaConfig { variance, ..PcaConfig::default() };
            let detector = fit_on(&rows, |all, run| Pca::fit(&config, &layout, all, run))?;
            assert_close(&detector.score(&mixed_queries()), &expected, 1e-10);
        }
        Ok(())
    }

    // The variances are 1 and 4, and both directions are components: 3²/1, 4²/4, and parts by number.
    #[test]
    fn a_few_numbers_that_are_not_correlated_have_a_score() -> Result<()> {
        let layout = Layout::new(2, vec![]);
        let rows = rows_of(&[(&[], &[1.0, 2.0]), (&[], &[1.0, -2.0]), (&[], &[-1.0, 2.0]), (&[], &[-1.0, -2.0])]);
        let detector = fit_on(&rows, |all, run| Pca::fit(&PcaConfig::default(), &layout, all, run))?;
        let queries = rows_of(&[(&[], &[0.0, 0.0]), (&[], &[3.0, 0.0]), (&[], &[0.0, 4.0]), (&[], &[3.0, 4.0])]);
        assert_close(&detector.score(&queries), &[0.0, 9.0, 4.0, 13.0], 1e-12);
        assert_close(detector.split(&queries).parts(3), &[9.0, 4.0], 1e-12);
        Ok(())
    }

    // λ = 2 along (1, 1)/√2 and 0 across it: σ² is a thousandth of the mean variance, 1. (1, −1) lies √2 across.
    #[test]
    fn rows_on_a_line_keep_a_finite_measure_across_it() -> Result<()> {
        let layout = Layout::new(2, vec![]);
        let rows = rows_of(&[(&[], &[1.0, 1.0]), (&[], &[-1.0, -1.0])]);
        let config = PcaConfig { variance: 0.999, ..PcaConfig::default() };
        let detector = fit_on(&rows, |all, run| Pca::fit(&config, &layout, all, run))?;
        let queries = rows_of(&[(&[], &[2.0, 2.0]), (&[], &[1.0, -1.0])]);
        assert_close(&detector.score(&queries), &[4.0, 2000.0], 1e-12);
        Ok(())
    }

    #[test]
    fn a_row_inside_the_components_has_no_error_and_an_unseen_category_adds_one_and_more() -> Result<()> {
        let layout = Layout::new(0, vec![2, 2]);
        let rows = rows_of(&[(&[0, 0], &[]), (&[1, 1], &[])]);
        let config = PcaConfig { residual_only: true, ..PcaConfig::default() };
        let detector = fit_on(&rows, |all, run| Pca::fit(&config, &layout, all, run))?;
        let queries = rows_of(&[(&[0, 0], &[]), (&[1, 1], &[]), (&[0, 1], &[]), (&[UNSEEN, 0], &[])]);
        let scores = detector.score(&queries);
        assert!(scores[0] < 1e-25 && scores[1] < 1e-25, "{scores:?}");
        // x − μ = ½(1, −1, −1, 1), orthogonal to the one component (1, −1, 1, −1)/2.
        assert!((scores[2] - 1.0).abs() < 1e-12, "{scores:?}");
        assert!(scores[3] > 1.4, "{scores:?}");
        Ok(())
    }
}
