//! Cholesky factors of small symmetric matrices, row-major, on plain slices.
//!
//! A covariance Σ = L Lᵀ is kept as its whitening matrix W = L⁻¹, lower triangular, because that is what
//! evaluation needs: (x − μ)ᵀ Σ⁻¹ (x − μ) = ‖W (x − μ)‖² and −½ ln det Σ = Σⱼ ln Wⱼⱼ.

use crate::error::{Error, Result};

/// The whitening matrix of `covariance` with `regularisation` added to its diagonal.
///
/// Where rounding leaves the matrix indefinite (columns that repeat each other, values of very different scale),
/// what is added grows tenfold until a factor exists; at the scale of the rounding error one always does.
pub(crate) fn whitening(covariance: &[f64], dimension: usize, regularisation: f64) -> Result<Vec<f64>> {
    let largest = (0..dimension).map(|i| covariance[i * dimension + i]).fold(0.0, f64::max);
    let mut added = regularisation;
    while added.is_finite() && largest.is_finite() {
        let mut factor = covariance.to_vec();
        for i in 0..dimension {
            factor[i * dimension + i] += added;
        }
        if cholesky(&mut factor, dimension) {
            invert_lower(&mut factor, dimension);
            if factor.iter().all(|value| value.is_finite()) {
                return Ok(factor);
            }
        }
        added = (added * 10.0).max(largest * f64::EPSILON);
    }
    Err(Error::fit(
        "the covariance of the rows cannot be computed, since its numbers are too large",
        "standardise the columns, or look for absurd values",
    ))
}

/// Replaces the lower triangle of `matrix` by its Cholesky factor and the rest by 0; false where it has none.
fn cholesky(matrix: &mut [f64], dimension: usize) -> bool {
    for j in 0..dimension {
        let (above, rest) = matrix.split_at_mut(j * dimension);
        let row = &mut rest[..dimension]; // row j of L
        for k in 0..j {
            let other = &above[k * dimension..][..=k]; // row k of L
            let known: f64 = row[..k].iter().zip(other).map(|(a, b)| a * b).sum();
            row[k] = (row[k] - known) / other[k];
        }
        let known: f64 = row[..j].iter().map(|value| value * value).sum();
        let pivot = row[j] - known;
        // Below this the pivot is rounding error, and its sign is chance.
        if !pivot.is_finite() || pivot <= row[j].abs() * f64::EPSILON {
            return false;
        }
        row[j] = pivot.sqrt();
        row[j + 1..].fill(0.0);
    }
    true
}

/// Replaces a lower triangular matrix by its inverse.
fn invert_lower(matrix: &mut [f64], dimension: usize) {
    let mut sums = vec![0.0; dimension];
    for j in 0..dimension {
        let (above, rest) = matrix.split_at_mut(j * dimension);
        let row = &mut rest[..dimension];
        let pivot = row[j];
        // Row j of the inverse: −1/Lⱼⱼ · Σₖ Lⱼₖ (L⁻¹)ₖ. for k < j, whose rows are already inverted.
        sums[..j].fill(0.0);
        for k in 0..j {
            for (sum, value) in sums.iter_mut().zip(&above[k * dimension..][..=k]) {
                *sum += row[k] * value;
            }
        }
        for (value, sum) in row[..j].iter_mut().zip(&sums) {
            *value = -sum / pivot;
        }
        row[j] = 1.0 / pivot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// numpy's `inv(cholesky(covariance))`, from `reference/mixture.py` in the benchmarks.
    #[test]
    fn whitening_agrees_with_numpy() -> Result<()> {
        let covariance = [4.0, 2.0, 0.6, 2.0, 5.0, 1.0, 0.6, 1.0, 2.0];
        let whitening = whitening(&covariance, 3, 1e-300)?;
        let expected = [
            [0.5, 0.0, 0.0],
            [-0.25, 0.5, 0.0],
            [-0.046_747_349_500_422_856, -0.130_892_578_601_184, 0.747_957_592_006_765_7],
        ];
        for (value, expected) in whitening.iter().zip(expected.as_flattened()) {
            assert!((value - expected).abs() < 1e-12, "{value} {expected}");
        }
        Ok(())
    }

    #[test]
    fn a_singular_matrix_is_regularised_until_it_has_a_factor() -> Result<()> {
        for scale in [1e-12, 1.0, 1e12] {
            let covariance = [scale; 9];
            assert!(whitening(&covariance, 3, 1e-20)?.iter().all(|value| value.is_finite()));
        }
        assert!(whitening(&[0.0; 9], 3, 1e-6)?.iter().all(|value| value.is_finite()));
        assert!(whitening(&[f64::INFINITY; 1], 1, 1e-6).is_err());
        assert!(whitening(&[f64::NAN; 1], 1, 1e-6).is_err());
        Ok(())
    }
}
