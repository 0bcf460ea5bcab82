//! Brings columns to mean 0 and variance 1, with the counts of the rows as weights.

use serde::{Deserialize, Serialize};

use super::check_numbers;
use super::rows::Rows;

/// A standard deviation below this share of a column's largest value is taken for rounding error, and the column for
/// constant.
const CONSTANT: f64 = 1e-12;

/// The mean and the scale of every column; a constant column has scale 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standardizer {
    pub(crate) mean: Vec<f64>,
    pub(crate) scale: Vec<f64>,
}

impl Standardizer {
    /// Learns means and standard deviations (of the population: divided by n).
    pub fn fit(rows: Rows<'_>) -> Self {
        let total = rows.total();
        let (mean, scale) = (0..rows.dimension)
            .map(|column| {
                let values = || rows.iter().map(move |(row, count)| (row[column], count / total));
                let mean: f64 = values().map(|(value, share)| share * value).sum();
                let largest = values().fold(0.0, |largest: f64, (value, _)| largest.max(value.abs()));
                // Deviations are divided by their largest before they are squared, which could overflow.
                let widest = values().fold(0.0, |widest: f64, (value, _)| widest.max((value - mean).abs()));
                let variance: f64 = values().map(|(value, share)| share * ((value - mean) / widest).powi(2)).sum();
                let deviation = widest * variance.sqrt();
                // A constant column has NaN here, which is not larger than anything.
                let varies = deviation > CONSTANT * largest && deviation.is_normal();
                (mean, if varies { deviation } else { 1.0 })
            })
            .unzip();
        Self { mean, scale }
    }

    /// The number of columns.
    pub fn dimension(&self) -> usize {
        self.mean.len()
    }

    /// What each column is divided by; a gradient with respect to the raw columns is divided by it too.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// Standardises rows in place.
    pub fn transform(&self, rows: &mut [f64]) {
        for row in rows.chunks_exact_mut(self.dimension()) {
            for ((value, mean), scale) in row.iter_mut().zip(&self.mean).zip(&self.scale) {
                *value = (*value - mean) / scale;
            }
        }
    }

    /// Checks lengths and ranges after reading from a file; says what is wrong.
    pub fn validate(&self) -> Result<(), String> {
        check_numbers("mean", &self.mean, Some(self.mean.len()))?;
        check_numbers("scale", &self.scale, Some(self.mean.len()))?;
        if self.mean.is_empty() || self.scale.iter().any(|&scale| scale <= 0.0) {
            return Err("`scale` must hold a positive number for each column".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;

    #[test]
    fn columns_get_mean_zero_and_variance_one_and_constant_ones_only_move() -> Result<()> {
        let mut values = [1.0, 0.1, 1e200, 3.0, 0.1, -1e200, 5.0, 0.1, 0.0];
        let counts = [1.0, 2.0, 1.0];
        let standardizer = Standardizer::fit(Rows::new(&values, 3, &counts)?);
        assert_eq!(standardizer.mean[0], 3.0);
        assert!((standardizer.scale[0] - 2.0_f64.sqrt()).abs() < 1e-15);
        assert_eq!(standardizer.scale[1], 1.0);
        assert!(standardizer.scale[2].is_finite());
        assert_eq!(standardizer.validate(), Ok(()));
        standardizer.transform(&mut values);
        assert!((values[0] + 2.0_f64.sqrt()).abs() < 1e-15);
        assert!(values[1].abs() < 1e-15);
        Ok(())
    }

    #[test]
    fn one_row_is_constant_in_every_column() -> Result<()> {
        let standardizer = Standardizer::fit(Rows::new(&[4.0, -1.0], 2, &[1.0])?);
        assert_eq!(standardizer.scale, [1.0, 1.0]);
        Ok(())
    }
}
