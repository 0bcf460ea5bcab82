//! Kernel density: a Gaussian on every stored point.
//!
//! p(x) = Σᵢ (cᵢ / n) N(x; xᵢ, h² I) with counts cᵢ that sum to n. The bandwidth is Scott's rule for standardised
//! columns, h = n^(−1/(d + 4)) (Scott, *Multivariate Density Estimation*, 1992). A fit keeps a limited number of
//! points. If there are more rows, it keeps a sample in proportion to the counts.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use super::check_numbers;
use super::lanes::{LANES, block, log_sum_exp, map_rows, squared_distances};
use super::rows::Rows;
use crate::error::{Error, Result};

/// A fitted kernel density.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelDensity {
    /// The number of values in a row.
    pub(crate) dimension: usize,
    /// The standard deviation of the kernel.
    pub(crate) bandwidth: f64,
    /// `[points, dimension]`.
    pub(crate) points: Vec<f64>,
    /// ln cᵢ / n: `[points]`.
    pub(crate) log_weights: Vec<f64>,
}

impl KernelDensity {
    /// Stores the rows, or a sample of `most_points` of them.
    pub fn fit(rows: Rows<'_>, most_points: usize, seed: u64) -> Result<Self> {
        if most_points == 0 {
            return Err(Error::config("most_points", "must be at least 1"));
        }
        let sample = rows.sample(most_points, seed);
        let total = sample.as_rows().total();
        Ok(Self {
            dimension: sample.dimension,
            bandwidth: total.powf(-1.0 / (sample.dimension as f64 + 4.0)),
            points: sample.values,
            log_weights: sample.counts.iter().map(|count| (count / total).ln()).collect(),
        })
    }

    /// The number of values in a row.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// ln p(row); −∞ where the row is so far away that p is 0.
    pub fn log_likelihood(&self, row: &[f64]) -> f64 {
        log_sum_exp(&self.joint(&block::<1>(row, self.dimension)))[0]
    }

    /// [`KernelDensity::log_likelihood`] of every row, with the same bits.
    pub fn log_likelihoods(&self, rows: &[f64]) -> Vec<f64> {
        map_rows(rows, self.dimension, |block: &[[f64; LANES]]| log_sum_exp(&self.joint(block)))
    }

    /// d ln p(row) / d row = Σᵢ rᵢ (xᵢ − row) / h², with rᵢ the share of point i in p(row).
    pub fn gradient(&self, row: &[f64]) -> Vec<f64> {
        let joint = self.joint(&block::<1>(row, self.dimension));
        let total = log_sum_exp(&joint)[0];
        let mut gradient = vec![0.0; self.dimension];
        if total == f64::NEG_INFINITY {
            return gradient;
        }
        for (point, [term]) in self.points.chunks_exact(self.dimension).zip(joint) {
            let share = (term - total).exp() / (self.bandwidth * self.bandwidth);
            for ((slope, value), coordinate) in gradient.iter_mut().zip(row).zip(point) {
                *slope += share * (coordinate - value);
            }
        }
        gradient
    }

    /// Checks lengths and ranges after reading from a file; says what is wrong.
    pub fn validate(&self) -> std::result::Result<(), String> {
        let points = self.log_weights.len();
        check_numbers("log_weights", &self.log_weights, Some(points))?;
        check_numbers("points", &self.points, points.checked_mul(self.dimension))?;
        if points == 0 || self.dimension == 0 {
            return Err("a kernel density needs a point and a dimension".into());
        }
        if !(self.bandwidth > 0.0 && self.bandwidth.is_finite()) {
            return Err("`bandwidth` must be a positive number".into());
        }
        Ok(())
    }

    /// ln (cᵢ / n) N(x; xᵢ, h² I) of every point and every row of a block: `[points][N]`.
    fn joint<const N: usize>(&self, block: &[[f64; N]]) -> Vec<[f64; N]> {
        let offset = -(self.dimension as f64) * (self.bandwidth.ln() + 0.5 * TAU.ln());
        let factor = -0.5 / (self.bandwidth * self.bandwidth);
        let mut terms = squared_distances(&self.points, block);
        for (terms, weight) in terms.iter_mut().zip(&self.log_weights) {
            *terms = terms.map(|square| weight + offset + factor * square);
        }
        terms
    }
}
