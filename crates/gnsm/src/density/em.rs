//! Fits a mixture by expectation-maximisation (Dempster, Laird and Rubin, 1977).
//!
//! The expectation step computes rₙₖ, the share of component k in row n. Let cₙ be the count of the row and Nₖ = Σₙ cₙ
//! rₙₖ. The maximisation step sets wₖ = Nₖ / Σₙ cₙ, μₖ = Σₙ cₙ rₙₖ xₙ / Nₖ and Σₖ = ε I + Σₙ cₙ rₙₖ (xₙ − μₖ)(xₙ − μₖ)ᵀ /
//! Nₖ. A component that sits on repeated rows, or on a constant column, would collapse to a point of infinite
//! density; the ε prevents that. It stops when the mean log-likelihood changes by less than the tolerance, as
//! scikit-learn does.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::kmeans;
use super::lanes::{LANES, block, log_sum_exp};
use super::mixture::GaussianMixture;
use super::rows::{CHUNK, Rows, Stream, generator};
use super::sparse::SparseRows;
use crate::error::{Error, Result, stop_point};
use crate::math::linalg;

/// A component with less than this share of the rows has died out and is taken away.
const SMALLEST_SHARE: f64 = 1e-12;

/// At most this many partial sums are kept in the maximisation step.
const MOST_PARTIAL_SUMS: usize = 64;

/// Values in all of them together, beyond which fewer are kept.
const MOST_PARTIAL_VALUES: usize = 1 << 22;

/// Values that a task adds up over them.
const PARTIAL_VALUES_PER_TASK: usize = 1 << 14;

/// Rows whose outer products are summed at once; a few hundred stay in the cache.
const BLOCK_ROWS: usize = 256;

/// How a mixture is fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct MixtureConfig {
    /// The number of components; fewer are used where there are fewer distinct rows.
    pub components: usize,
    /// The most iterations of one start.
    pub max_iterations: usize,
    /// Iterating stops when the mean log-likelihood changes by less than this.
    pub tolerance: f64,
    /// What is added to the variances; meant for standardised columns.
    pub regularisation: f64,
    /// How often fitting starts afresh; the most likely result is kept.
    pub starts: usize,
}

impl Default for MixtureConfig {
    fn default() -> Self {
        Self { components: 5, max_iterations: 100, tolerance: 1e-3, regularisation: 1e-6, starts: 1 }
    }
}

impl MixtureConfig {
    /// Names the first setting that is out of its range.
    pub fn validate(&self) -> Result<()> {
        if self.components == 0 {
            return Err(Error::config("components", "must be at least 1"));
        }
        if self.max_iterations == 0 {
            return Err(Error::config("max_iterations", "must be at least 1"));
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(Error::config("tolerance", "must be 0 or a positive number"));
        }
        if !(self.regularisation > 0.0 && self.regularisation.is_finite()) {
            return Err(Error::config("regularisation", "must be a positive number, such as 1e-6"));
        }
        if self.starts == 0 {
            return Err(Error::config("starts", "must be at least 1"));
        }
        Ok(())
    }
}

/// What expectation-maximisation has to know of rows, whether they are stored densely or sparsely: each has a count.
pub(super) trait Points: Copy + Sync {
    /// How often each row occurs.
    fn counts(&self) -> &[f64];

    /// The number of values in a row.
    fn dimension(&self) -> usize;

    /// Adds a row times `factor` to `sums`.
    fn add_to(&self, index: usize, factor: f64, sums: &mut [f64]);

    /// The squared distance of a row from a centre, whose squared norm is given.
    fn squared_distance(&self, index: usize, centre: &[f64], squared_norm: f64) -> f64;

    /// Fills `shares` with cₙ rₙₖ, `[rows, components]`; gives the mean log-likelihood.
    fn expect(self, mixture: &GaussianMixture, shares: &mut Vec<f64>) -> f64;

    /// The moments of each component under given shares.
    fn moments(self, shares: &[f64], components: usize) -> Moments;
}

/// What the rows of each component come to.
pub(super) struct Moments {
    /// Nₖ: `[components]`.
    pub sizes: Vec<f64>,
    /// μₖ: `[components, dimension]`.
    pub means: Vec<f64>,
    /// The lower triangles of Σₙ cₙ rₙₖ (xₙ − μₖ)(xₙ − μₖ)ᵀ: `[components, dimension, dimension]`.
    pub squares: Vec<f64>,
}

impl GaussianMixture {
    /// Fits a mixture; the same rows and seed give the same bits.
    pub fn fit(rows: Rows<'_>, config: &MixtureConfig, seed: u64) -> Result<Self> {
        fit(rows, config, seed)
    }

    /// Fits a mixture on rows that are mostly 0; the same rows and seed give the same bits.
    pub fn fit_sparse(rows: SparseRows<'_>, config: &MixtureConfig, seed: u64) -> Result<Self> {
        fit(rows, config, seed)
    }
}

fn fit(rows: impl Points, config: &MixtureConfig, seed: u64) -> Result<GaussianMixture> {
    config.validate()?;
    let (mut best, mut likelihood) = run(rows, config, seed, 0)?;
    for start in 1..config.starts {
        let (other, others_likelihood) = run(rows, config, seed, start)?;
        if others_likelihood > likelihood {
            (best, likelihood) = (other, others_likelihood);
        }
    }
    Ok(best)
}

/// One start: the mixture, and the mean log-likelihood in its last expectation step.
fn run(rows: impl Points, config: &MixtureConfig, seed: u64, start: usize) -> Result<(GaussianMixture, f64)> {
    let (clusters, components) = kmeans::cluster(rows, config.components, &mut generator(seed, Stream::Start(start)));
    let mut shares = vec![0.0; clusters.len() * components]; // cₙ rₙₖ: [rows, components]
    for ((shares, &cluster), &count) in shares.chunks_exact_mut(components).zip(&clusters).zip(rows.counts()) {
        shares[cluster] = count;
    }
    let mut mixture = maximise(rows, &shares, components, config.regularisation)?;
    let mut likelihood = f64::NEG_INFINITY;
    for _ in 0..config.max_iterations {
        let before = likelihood;
        likelihood = rows.expect(&mixture, &mut shares);
        mixture = maximise(rows, &shares, mixture.components(), config.regularisation)?;
        if (likelihood - before).abs() < config.tolerance {
            break;
        }
    }
    Ok((mixture, likelihood))
}

/// The mixture that is most likely under given shares; components without rows are left out.
pub(super) fn maximise(
    rows: impl Points,
    shares: &[f64],
    components: usize,
    regularisation: f64,
) -> Result<GaussianMixture> {
    let dimension = rows.dimension();
    let Moments { sizes, means, squares } = rows.moments(shares, components);
    let total: f64 = sizes.iter().sum();
    let alive: Vec<usize> = (0..components).filter(|k| sizes[*k] > SMALLEST_SHARE * total).collect();
    let whitening = |&k: &usize| {
        let squares = &squares[k * dimension * dimension..][..dimension * dimension];
        let covariance: Vec<f64> = squares.iter().map(|sum| sum / sizes[k]).collect();
        linalg::whitening(&covariance, dimension, regularisation)
    };
    Ok(GaussianMixture {
        dimension,
        weights: alive.iter().map(|k| sizes[*k] / total).collect(),
        means: alive.iter().flat_map(|k| &means[k * dimension..][..dimension]).copied().collect(),
        whitening: alive.par_iter().map(whitening).collect::<Result<Vec<_>>>()?.concat(),
    })
}

impl Points for Rows<'_> {
    fn counts(&self) -> &[f64] {
        self.counts
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn add_to(&self, index: usize, factor: f64, sums: &mut [f64]) {
        sums.iter_mut().zip(self.row(index)).for_each(|(sum, value)| *sum += factor * value);
    }

    fn squared_distance(&self, index: usize, centre: &[f64], _: f64) -> f64 {
        self.row(index).iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum()
    }

    fn expect(self, mixture: &GaussianMixture, shares: &mut Vec<f64>) -> f64 {
        let (dimension, components) = (self.dimension, mixture.components());
        let offsets = mixture.offsets();
        shares.resize(self.len() * components, 0.0);
        let sums: Vec<f64> = shares
            .par_chunks_mut(CHUNK * components)
            .zip(self.values.par_chunks(CHUNK * dimension))
            .zip(self.counts.par_chunks(CHUNK))
            .map(|((shares, values), counts)| {
                stop_point();
                let mut sum = 0.0;
                for ((shares, values), counts) in shares
                    .chunks_mut(LANES * components)
                    .zip(values.chunks(LANES * dimension))
                    .zip(counts.chunks(LANES))
                {
                    let joint = mixture.joint(&block::<LANES>(values, dimension), &offsets);
                    let total = log_sum_exp(&joint);
                    for (lane, (shares, count)) in shares.chunks_exact_mut(components).zip(counts).enumerate() {
                        sum += count * total[lane];
                        for (share, terms) in shares.iter_mut().zip(&joint) {
                            *share = count * (terms[lane] - total[lane]).exp();
                        }
                    }
                }
                sum
            })
            .collect();
        sums.iter().sum::<f64>() / self.total()
    }

    fn moments(self, shares: &[f64], components: usize) -> Moments {
        let (dimension, width) = (self.dimension, self.dimension + 1);
        // For each component Σ cₙ rₙₖ, then Σ cₙ rₙₖ xₙ.
        let first = sum_over_pieces(self.len(), components * width, |piece, sums| {
            let (values, shares) = self.piece(shares, components, piece);
            for (row, shares) in values.chunks_exact(dimension).zip(shares.chunks_exact(components)) {
                for (sums, &share) in sums.chunks_exact_mut(width).zip(shares) {
                    sums[0] += share;
                    for (sum, value) in sums[1..].iter_mut().zip(row) {
                        *sum += share * value;
                    }
                }
            }
        });
        let means: Vec<f64> = first
            .chunks_exact(width)
            .flat_map(|sums| sums[1..].iter().map(|sum| sum / sums[0].max(f64::MIN_POSITIVE)))
            .collect();
        let second = sum_over_pieces(self.len(), components * dimension * dimension, |piece, sums| {
            let (values, shares) = self.piece(shares, components, piece);
            for (values, shares) in values.chunks(BLOCK_ROWS * dimension).zip(shares.chunks(BLOCK_ROWS * components)) {
                for (k, sums) in sums.chunks_exact_mut(dimension * dimension).enumerate() {
                    let mean = &means[k * dimension..][..dimension];
                    add_outer_products(values, shares.iter().skip(k).step_by(components), mean, sums);
                }
            }
        });
        Moments { sizes: first.iter().step_by(width).copied().collect(), means, squares: second }
    }
}

impl Rows<'_> {
    /// The values and the shares of a range of rows.
    fn piece<'a>(&'a self, shares: &'a [f64], components: usize, rows: Range<usize>) -> (&'a [f64], &'a [f64]) {
        let cells = |per_row: usize| rows.start * per_row..rows.end * per_row;
        (&self.values[cells(self.dimension)], &shares[cells(components)])
    }
}

/// Sums over rows, in parallel, of what `add` adds for a range of them. The ranges depend on the number of rows and of
/// sums alone.
pub(super) fn sum_over_pieces<F>(n_rows: usize, length: usize, add: F) -> Vec<f64>
where
    F: Fn(Range<usize>, &mut [f64]) + Sync,
{
    let pieces = (MOST_PARTIAL_VALUES / length.max(1)).clamp(2, MOST_PARTIAL_SUMS);
    let piece = n_rows.div_ceil(pieces).max(CHUNK);
    let partial: Vec<Vec<f64>> = (0..n_rows.div_ceil(piece))
        .into_par_iter()
        .map(|index| {
            stop_point();
            let mut sums = vec![0.0; length];
            add(index * piece..((index + 1) * piece).min(n_rows), &mut sums);
            sums
        })
        .collect();
    let mut sums = vec![0.0; length];
    sums.par_chunks_mut(PARTIAL_VALUES_PER_TASK).enumerate().for_each(|(task, sums)| {
        for partial in &partial {
            let partial = &partial[task * PARTIAL_VALUES_PER_TASK..];
            sums.iter_mut().zip(partial).for_each(|(sum, value)| *sum += value);
        }
    });
    sums
}

/// Adds Σₙ shareₙ (xₙ − μ)(xₙ − μ)ᵀ to the lower triangle of `sums`.
fn add_outer_products<'a>(values: &[f64], shares: impl Iterator<Item = &'a f64>, mean: &[f64], sums: &mut [f64]) {
    let dimension = mean.len();
    let length = (values.len() / dimension).next_multiple_of(DOT_LANES);
    let mut centred = vec![0.0; length * dimension]; // [dimension, rows]
    let mut weighted = vec![0.0; length * dimension];
    for (n, (row, &share)) in values.chunks_exact(dimension).zip(shares).enumerate() {
        for (j, (value, mean)) in row.iter().zip(mean).enumerate() {
            centred[j * length + n] = value - mean;
            weighted[j * length + n] = share * (value - mean);
        }
    }
    for (i, weighted) in weighted.chunks_exact(length).enumerate() {
        for (sum, centred) in sums[i * dimension..][..=i].iter_mut().zip(centred.chunks_exact(length)) {
            *sum += dot(weighted, centred);
        }
    }
}

const DOT_LANES: usize = 8;

/// The inner product, in a fixed number of interleaved sums so that it becomes vector instructions.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; DOT_LANES];
    for (a, b) in a.chunks_exact(DOT_LANES).zip(b.chunks_exact(DOT_LANES)) {
        for lane in 0..DOT_LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{mixture_rows, two_clusters};
    use super::*;

    #[test]
    fn every_iteration_raises_the_likelihood() -> Result<()> {
        let (values, counts) = mixture_rows(2000, 11);
        let rows = Rows::new(&values, 3, &counts)?;
        let shares: Vec<f64> =
            (0..2000).flat_map(|n| [f64::from(n % 3 == 0), f64::from(n % 3 == 1), f64::from(n % 3 == 2)]).collect();
        let mut mixture = maximise(rows, &shares, 3, 1e-12)?;
        let mut shares = Vec::new();
        let mut before = f64::NEG_INFINITY;
        for iteration in 0..60 {
            let likelihood = rows.expect(&mixture, &mut shares);
            assert!(likelihood >= before - 1e-10, "iteration {iteration}: {before} to {likelihood}");
            before = likelihood;
            mixture = maximise(rows, &shares, mixture.components(), 1e-12)?;
        }
        Ok(())
    }

    #[test]
    fn a_component_without_rows_is_left_out() -> Result<()> {
        let (values, counts) = two_clusters();
        let rows = Rows::new(&values, 2, &counts)?;
        let shares: Vec<f64> = counts
            .iter()
            .enumerate()
            .flat_map(|(n, &count)| if n % 2 == 0 { [count, 0.0, 0.0] } else { [0.0, 0.0, count] })
            .collect();
        let mixture = maximise(rows, &shares, 3, 1e-6)?;
        assert_eq!(mixture.components(), 2);
        assert_eq!(mixture.validate(), Ok(()));
        Ok(())
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let good = MixtureConfig::default();
        for (field, bad) in [
            ("components", MixtureConfig { components: 0, ..good.clone() }),
            ("max_iterations", MixtureConfig { max_iterations: 0, ..good.clone() }),
            ("tolerance", MixtureConfig { tolerance: f64::NAN, ..good.clone() }),
            ("regularisation", MixtureConfig { regularisation: 0.0, ..good.clone() }),
            ("starts", MixtureConfig { starts: 0, ..good.clone() }),
        ] {
            assert!(matches!(bad.validate(), Err(Error::Config { field: named, .. }) if named == field), "{field}");
        }
    }
}
