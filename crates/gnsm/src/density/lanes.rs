//! Several rows at once, one per lane of a vector register.
//!
//! A block of `N` rows is stored column by column, `[dimension][N]`, so that a loop over the lanes becomes vector
//! instructions. A lane never mixes with its neighbours, and the order of operations within one does not depend on `N`.
//! So a row gives the same bits alone (`N` = 1) and in a batch (`N` = [`LANES`]).

use rayon::prelude::*;

use crate::error::stop_point;

/// Rows per block in a batch.
pub(super) const LANES: usize = 16;

/// Blocks that a thread takes at a time.
const BLOCKS_PER_TASK: usize = 16;

/// The rows, at most `N` of them, column by column; lanes without a row hold 0.
pub(super) fn block<const N: usize>(rows: &[f64], dimension: usize) -> Vec<[f64; N]> {
    let mut block = vec![[0.0; N]; dimension];
    for (lane, row) in rows.chunks_exact(dimension).enumerate() {
        for (column, &value) in block.iter_mut().zip(row) {
            column[lane] = value;
        }
    }
    block
}

/// One value for each row, computed in parallel by a function that maps blocks to values.
pub(super) fn map_rows<F>(rows: &[f64], dimension: usize, evaluate: F) -> Vec<f64>
where
    F: Fn(&[[f64; LANES]]) -> [f64; LANES] + Sync,
{
    let mut values = vec![0.0; rows.len() / dimension];
    values.par_chunks_mut(LANES * BLOCKS_PER_TASK).zip(rows.par_chunks(LANES * BLOCKS_PER_TASK * dimension)).for_each(
        |(values, rows)| {
            stop_point();
            for (values, rows) in values.chunks_mut(LANES).zip(rows.chunks(LANES * dimension)) {
                let result = evaluate(&block(rows, dimension));
                values.copy_from_slice(&result[..values.len()]);
            }
        },
    );
    values
}

/// Squared Euclidean distances between stored points and the rows of a block, `[points][N]`.
pub(super) fn squared_distances<const N: usize>(points: &[f64], block: &[[f64; N]]) -> Vec<[f64; N]> {
    points
        .chunks_exact(block.len())
        .map(|point| {
            let mut sum = [0.0; N];
            for (&coordinate, column) in point.iter().zip(block) {
                for (sum, value) in sum.iter_mut().zip(column) {
                    *sum += (value - coordinate) * (value - coordinate);
                }
            }
            sum
        })
        .collect()
}

/// ln Σᵢ exp(termsᵢ), lane by lane; −∞ where all terms are.
pub(super) fn log_sum_exp<const N: usize>(terms: &[[f64; N]]) -> [f64; N] {
    let mut largest = [f64::NEG_INFINITY; N];
    for term in terms {
        for (largest, &value) in largest.iter_mut().zip(term) {
            *largest = largest.max(value);
        }
    }
    let mut sum = [0.0; N];
    for term in terms {
        for lane in 0..N {
            sum[lane] += (term[lane] - largest[lane]).exp();
        }
    }
    std::array::from_fn(|lane| {
        if largest[lane] == f64::NEG_INFINITY { f64::NEG_INFINITY } else { largest[lane] + sum[lane].ln() }
    })
}
