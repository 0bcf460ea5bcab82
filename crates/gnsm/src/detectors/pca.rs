//! What is left of a row outside of the directions in which training rows vary.
//!
//! The encoding of a row (scaled numbers and one-hot categories) minus its mean is projected on the eigenvectors of the covariance. The
//! largest ones that together hold more than 99 % of the variance are what rows usually do; with U the others,
//!
//! score(x) = ‖Uᵀ(x − μ)‖²,
//!
//! the squared reconstruction error of principal component analysis (Jolliffe, *Principal Component Analysis*, 2002). Only U and Uᵀμ
//! are kept: a category is one row of U, so that a row of g groups costs g additions of rows, whatever the width.
//!
//! The parts are the squared residuals r = U Uᵀ(x − μ) of each cell's places, since ‖r‖² = ‖Uᵀ(x − μ)‖².
//!
//! - Numbers enter as the encoder scaled them; a missing one is the mean, 0, and its absence is a category of its group.
//! - An unseen category is a 1 in a place that no training row uses and no component reaches: its group's other places are 0, and
//!   it adds 1 to the score.

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
pub struct PcaConfig {
    /// The share of the variance that the components hold.
    pub variance: f64,
}

impl Default for PcaConfig {
    fn default() -> Self {
        Self { variance: 0.99 }
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

/// The directions in which training rows hardly vary.
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
        let directions = width - n_components(&variances, config.variance);
        // Ascending variances: the directions left over come first.
        let basis = (0..width).flat_map(|place| vectors.iter().skip(place).step_by(width).take(directions)).copied();
        let offset = Vec::new();
        let mut pca = Self { config: *config, layout: layout.clone(), directions, basis: basis.collect(), offset };
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
}

impl Store for Pca {
    type Document = StoredPca;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredPca> {
        tensors.put("basis", self.basis.clone());
        tensors.put("offset", self.offset.clone());
        Ok(StoredPca { config: self.config, directions: self.directions })
    }

    fn read(StoredPca { config, directions }: StoredPca, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        config.validate()?;
        if directions > layout.width() {
            return Err(format!("{directions} directions do not fit in {} places", layout.width()).into());
        }
        let basis = tensors.take("basis", directions * layout.width())?;
        let offset = tensors.take("offset", directions)?;
        Ok(Self { config, layout: layout.clone(), directions, basis, offset })
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

/// The fewest components, largest variances first, that hold more than `share` of the variance, as scikit-learn counts them.
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

impl ScoreByCell for Pca {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn split_row(&self, codes: &[u32], numbers: &[f32], parts: &mut [f64]) -> f64 {
        let (projection, _) = self.project(codes, numbers);
        let residual =
            |place: usize| -> f64 { self.direction(place).iter().zip(&projection).map(|(u, t)| u * t).sum() };
        let (of_numbers, of_groups) = parts.split_at_mut(numbers.len());
        for (place, part) in of_numbers.iter_mut().enumerate() {
            *part = residual(place).powi(2);
        }
        for ((part, places), code) in of_groups.iter_mut().zip(self.layout.groups()).zip(codes) {
            *part = places.map(|place| residual(place).powi(2)).sum::<f64>() + f64::from(*code == UNSEEN);
        }
        0.0
    }

    fn scores(&self, rows: &Encoded) -> Option<Vec<f64>> {
        Some(map_rows(rows, |codes, numbers| {
            let (projection, unseen) = self.project(codes, numbers);
            projection.iter().map(|value| value * value).sum::<f64>() + unseen as f64
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
            let config = PcaConfig { variance };
            let detector = fit_on(&rows, |all, run| Pca::fit(&config, &layout, all, run))?;
            assert_close(&detector.score(&mixed_queries()), &expected, 1e-12);
        }
        Ok(())
    }

    #[test]
    fn a_row_inside_the_components_has_no_error_and_an_unseen_category_adds_one_and_more() -> Result<()> {
        let layout = Layout::new(0, vec![2, 2]);
        let rows = rows_of(&[(&[0, 0], &[]), (&[1, 1], &[])]);
        let detector = fit_on(&rows, |all, run| Pca::fit(&PcaConfig::default(), &layout, all, run))?;
        let queries = rows_of(&[(&[0, 0], &[]), (&[1, 1], &[]), (&[0, 1], &[]), (&[UNSEEN, 0], &[])]);
        let scores = detector.score(&queries);
        assert!(scores[0] < 1e-25 && scores[1] < 1e-25, "{scores:?}");
        // x − μ = ½(1, −1, −1, 1), orthogonal to the one component (1, −1, 1, −1)/2.
        assert!((scores[2] - 1.0).abs() < 1e-12, "{scores:?}");
        assert!(scores[3] > 1.4, "{scores:?}");
        Ok(())
    }
}
