//! How typical a row of numbers is, judged by the rows that a density was fitted on.
//!
//! Three densities have one interface, [`Density`]: a [`GaussianMixture`] (the paper's choice), a [`KernelDensity`],
//! and the distance to the k-th of the [`NearestNeighbours`]. All work in `f64` on row-major slices of up to some 64
//! columns, on data that a [`Standardizer`] brought to mean 0 and variance 1.
//!
//! Tables repeat rows. So a distinct row is given once with its count ([`Rows`]), and every fit equals the fit on the
//! repeated rows. A result depends on the data and the seed alone. To this end, work is cut into pieces whose size does
//! not depend on the number of threads, pieces are summed in order, and a row goes through the same operations whether
//! it is scored alone or in a batch.

mod rows;
mod standardizer;

mod lanes;

mod mixture;
mod sparse;

mod em;
mod kmeans;
mod selection;

mod kernel;
mod neighbours;

mod tails;

use serde::{Deserialize, Serialize};

pub use em::MixtureConfig;
pub use kernel::KernelDensity;
pub use mixture::GaussianMixture;
pub use neighbours::NearestNeighbours;
pub use rows::Rows;
pub use selection::{Criterion, SelectionConfig};
pub(crate) use sparse::ByColumn;
pub use sparse::SparseRows;
pub use standardizer::Standardizer;
pub use tails::{BULK, BulkTail, ExponentialTail, HeavyTail, TwoSidedTail};

/// A fitted density of any kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Density {
    /// A Gaussian mixture; the anomaly is the negative log-likelihood.
    Mixture(GaussianMixture),
    /// A Gaussian kernel on each stored point; the anomaly is the negative log-likelihood.
    Kernel(KernelDensity),
    /// The distance to the k-th nearest stored point; that distance is the anomaly.
    Neighbours(NearestNeighbours),
}

impl Density {
    /// The number of values in a row.
    pub fn dimension(&self) -> usize {
        match self {
            Self::Mixture(mixture) => mixture.dimension(),
            Self::Kernel(kernel) => kernel.dimension(),
            Self::Neighbours(neighbours) => neighbours.dimension(),
        }
    }

    /// How odd `row` is; higher means odder. Infinite for a row so far away that its likelihood is 0.
    pub fn anomaly(&self, row: &[f64]) -> f64 {
        match self {
            Self::Mixture(mixture) => -mixture.log_likelihood(row),
            Self::Kernel(kernel) => -kernel.log_likelihood(row),
            Self::Neighbours(neighbours) => neighbours.distance(row),
        }
    }

    /// [`Density::anomaly`] of every row, with the same bits.
    pub fn anomalies(&self, rows: &[f64]) -> Vec<f64> {
        let mut anomalies = match self {
            Self::Mixture(mixture) => mixture.log_likelihoods(rows),
            Self::Kernel(kernel) => kernel.log_likelihoods(rows),
            Self::Neighbours(neighbours) => return neighbours.distances(rows),
        };
        for anomaly in &mut anomalies {
            *anomaly = -*anomaly;
        }
        anomalies
    }

    /// The derivative of [`Density::anomaly`] with respect to each value of `row`; it tells which values make the row
    /// odd.
    pub fn gradient(&self, row: &[f64]) -> Vec<f64> {
        let mut gradient = match self {
            Self::Mixture(mixture) => mixture.gradient(row),
            Self::Kernel(kernel) => kernel.gradient(row),
            Self::Neighbours(neighbours) => return neighbours.gradient(row),
        };
        for slope in &mut gradient {
            *slope = -*slope;
        }
        gradient
    }

    /// Checks lengths and ranges of a density that came from a file; says what is wrong.
    pub fn validate(&self) -> Result<(), String> {
        match self {
            Self::Mixture(mixture) => mixture.validate(),
            Self::Kernel(kernel) => kernel.validate(),
            Self::Neighbours(neighbours) => neighbours.validate(),
        }
    }
}

/// Says what is wrong unless `values` has `expected` finite numbers.
fn check_numbers(name: &str, values: &[f64], expected: Option<usize>) -> Result<(), String> {
    if expected != Some(values.len()) {
        return Err(format!("`{name}` has {} values, which does not fit the other arrays", values.len()));
    }
    if values.iter().any(|value| !value.is_finite()) {
        return Err(format!("`{name}` holds a value that is not finite"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
