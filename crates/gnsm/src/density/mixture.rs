//! A mixture of Gaussians with full covariances, and what it says about a row.
//!
//! p(x) = Σₖ wₖ N(x; μₖ, Σₖ). With the whitening matrix W of a component (L⁻¹ where Σ = L Lᵀ),
//! ln N(x; μ, Σ) = −½ ‖W (x − μ)‖² + Σⱼ ln Wⱼⱼ − ½ d ln 2π. The responsibilities rₖ = wₖ N(x; μₖ, Σₖ) / p(x) also
//! give the gradient, ∇ ln p(x) = −Σₖ rₖ Wₖᵀ Wₖ (x − μₖ). The model follows scikit-learn's `GaussianMixture`.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use super::check_numbers;
use super::lanes::{LANES, block, log_sum_exp, map_rows};

/// A fitted mixture of Gaussians.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianMixture {
    /// The number of values in a row.
    pub(crate) dimension: usize,
    /// The components' shares, which sum to 1: `[components]`.
    pub(crate) weights: Vec<f64>,
    /// `[components, dimension]`.
    pub(crate) means: Vec<f64>,
    /// Inverses of the covariances' lower Cholesky factors: `[components, dimension, dimension]`.
    pub(crate) whitening: Vec<f64>,
}

impl GaussianMixture {
    /// The number of values in a row.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number of components, which may be smaller than what was asked for.
    pub fn components(&self) -> usize {
        self.weights.len()
    }

    /// ln p(row); −∞ where the row is so far away that p is 0.
    pub fn log_likelihood(&self, row: &[f64]) -> f64 {
        log_sum_exp(&self.joint(&block::<1>(row, self.dimension), &self.offsets()))[0]
    }

    /// [`GaussianMixture::log_likelihood`] of every row, with the same bits.
    pub fn log_likelihoods(&self, rows: &[f64]) -> Vec<f64> {
        let offsets = self.offsets();
        map_rows(rows, self.dimension, |block: &[[f64; LANES]]| log_sum_exp(&self.joint(block, &offsets)))
    }

    /// The probability that each component produced the row; all 0 where p(row) is 0.
    pub fn responsibilities(&self, row: &[f64]) -> Vec<f64> {
        let joint = self.joint(&block::<1>(row, self.dimension), &self.offsets());
        let total = log_sum_exp(&joint)[0];
        joint.iter().map(|[term]| if *term == f64::NEG_INFINITY { 0.0 } else { (term - total).exp() }).collect()
    }

    /// d ln p(row) / d row.
    pub fn gradient(&self, row: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; self.dimension];
        for (k, share) in self.responsibilities(row).into_iter().enumerate() {
            let (mean, whitening) = self.component(k);
            for (j, factors) in whitening.chunks_exact(self.dimension).enumerate() {
                let factors = &factors[..=j];
                let whitened: f64 = factors.iter().zip(row.iter().zip(mean)).map(|(w, (x, m))| w * (x - m)).sum();
                for (slope, w) in gradient.iter_mut().zip(factors) {
                    *slope -= share * w * whitened;
                }
            }
        }
        gradient
    }

    /// The share of each value of the row in the squares of its log-density: ½ Σₖ rₖ (x − μₖ)ⱼ (Σₖ⁻¹ (x − μₖ))ⱼ.
    pub fn shares_of_squares(&self, row: &[f64]) -> Vec<f64> {
        let mut shares = vec![0.0; self.dimension];
        for (k, responsibility) in self.responsibilities(row).into_iter().enumerate() {
            let (mean, whitening) = self.component(k);
            let centred: Vec<f64> = row.iter().zip(mean).map(|(x, m)| x - m).collect();
            for (j, factors) in whitening.chunks_exact(self.dimension).enumerate() {
                let factors = &factors[..=j];
                let whitened: f64 = factors.iter().zip(&centred).map(|(w, d)| w * d).sum();
                for (share, (w, d)) in shares.iter_mut().zip(factors.iter().zip(&centred)) {
                    *share += 0.5 * responsibility * w * whitened * d;
                }
            }
        }
        shares
    }

    /// Checks lengths and ranges after reading from a file; says what is wrong.
    pub fn validate(&self) -> Result<(), String> {
        let (components, dimension) = (self.weights.len(), self.dimension);
        let in_means = components.checked_mul(dimension);
        check_numbers("weights", &self.weights, Some(components))?;
        check_numbers("means", &self.means, in_means)?;
        check_numbers("whitening", &self.whitening, in_means.and_then(|size| size.checked_mul(dimension)))?;
        if components == 0 || dimension == 0 {
            return Err("a mixture needs a component and a dimension".into());
        }
        if self.weights.iter().any(|&weight| weight <= 0.0) || (self.weights.iter().sum::<f64>() - 1.0).abs() > 1e-6 {
            return Err("`weights` must be positive and sum to 1".into());
        }
        for k in 0..components {
            let (_, whitening) = self.component(k);
            for (j, factors) in whitening.chunks_exact(dimension).enumerate() {
                if factors[j] <= 0.0 || factors[j + 1..].iter().any(|&factor| factor != 0.0) {
                    return Err("`whitening` must be lower triangular with a positive diagonal".into());
                }
            }
        }
        Ok(())
    }

    /// A component's log-density without the square: ln wₖ + Σⱼ ln Wⱼⱼ − ½ d ln 2π.
    pub(super) fn offsets(&self) -> Vec<f64> {
        let dimension = self.dimension;
        (0..self.components())
            .map(|k| {
                let (_, whitening) = self.component(k);
                let half_log_determinant: f64 = (0..dimension).map(|j| whitening[j * dimension + j].ln()).sum();
                self.weights[k].ln() + half_log_determinant - 0.5 * dimension as f64 * TAU.ln()
            })
            .collect()
    }

    /// ln wₖ N(x; μₖ, Σₖ) of every component and every row of a block: `[components][N]`.
    pub(super) fn joint<const N: usize>(&self, block: &[[f64; N]], offsets: &[f64]) -> Vec<[f64; N]> {
        let mut centred = vec![[0.0; N]; self.dimension];
        let joint = |(k, &offset): (usize, &f64)| {
            let (mean, whitening) = self.component(k);
            for ((centred, column), &mean) in centred.iter_mut().zip(block).zip(mean) {
                *centred = column.map(|value| value - mean);
            }
            let mut squares = [0.0; N];
            for (j, factors) in whitening.chunks_exact(self.dimension).enumerate() {
                let mut whitened = [0.0; N];
                for (factor, column) in factors[..=j].iter().zip(&centred) {
                    for (sum, value) in whitened.iter_mut().zip(column) {
                        *sum += factor * value;
                    }
                }
                for (sum, value) in squares.iter_mut().zip(whitened) {
                    *sum += value * value;
                }
            }
            squares.map(|square| offset - 0.5 * square)
        };
        offsets.iter().enumerate().map(joint).collect()
    }

    /// Mean and whitening matrix of component `k`.
    pub(super) fn component(&self, k: usize) -> (&[f64], &[f64]) {
        let dimension = self.dimension;
        (
            &self.means[k * dimension..][..dimension],
            &self.whitening[k * dimension * dimension..][..dimension * dimension],
        )
    }
}
