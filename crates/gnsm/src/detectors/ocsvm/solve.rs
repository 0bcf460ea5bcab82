//! Sequential minimal optimisation of the one-class problem, with the working sets of Fan, Chen and Lin (*Working Set
//! Selection Using Second Order Information*, JMLR, 2005), as in libsvm.
//!
//! Two of the α are changed at a time, one up and one down, so that Σα stays the same. Columns of the kernel are
//! computed when they are needed: on codes that is quicker than keeping them.

use super::super::stored_rows::StoredRows;
use crate::error::{Error, Result, stop_point};

/// Moves for each distinct row, at the most.
const MOVES_PER_ROW: usize = 1000;
/// Moves at least, however few rows there are.
const FEWEST_MOVES: usize = 100_000;
/// A curvature below this is rounding error: equal rows.
const FLAT: f64 = 1e-12;

/// The α of every row, and ρ.
pub(super) struct Solution {
    pub alphas: Vec<f64>,
    pub rho: f64,
}

/// Solves for rows with counts.
pub(super) fn solve(rows: &StoredRows, gamma: f64, nu: f64, tolerance: f64) -> Result<Solution> {
    let limits = &rows.counts;
    let mut left = nu * limits.iter().sum::<f64>();
    let mut alphas: Vec<f64> = limits
        .iter()
        .map(|limit| {
            let alpha = limit.min(left);
            left -= alpha;
            alpha
        })
        .collect();
    let mut gradient = vec![0.0; rows.len()]; // Kα
    for (row, alpha) in alphas.iter().enumerate().filter(|(_, alpha)| **alpha > 0.0) {
        stop_point();
        for (slope, similarity) in gradient.iter_mut().zip(kernel_column(rows, gamma, row)) {
            *slope += alpha * similarity;
        }
    }
    for _ in 0..(MOVES_PER_ROW * rows.len()).max(FEWEST_MOVES) {
        stop_point();
        // The row for which the objective falls most if its α grows, and the row whose α may shrink with which it falls
        // most.
        let can_take = (0..rows.len()).filter(|row| alphas[*row] < limits[*row]);
        let Some(taker) = can_take.min_by(|a, b| gradient[*a].total_cmp(&gradient[*b])) else { break };
        let of_taker = kernel_column(rows, gamma, taker);
        let mut giver: Option<(f64, usize)> = None;
        let mut violation = 0.0f64;
        for row in (0..rows.len()).filter(|row| alphas[*row] > 0.0) {
            let difference = gradient[row] - gradient[taker];
            violation = violation.max(difference);
            if difference > 0.0 {
                let fall = difference * difference / (2.0 - 2.0 * of_taker[row]).max(FLAT);
                if giver.is_none_or(|(best, _)| fall > best) {
                    giver = Some((fall, row));
                }
            }
        }
        let Some((_, giver)) = giver.filter(|_| violation >= tolerance) else {
            return Ok(Solution { rho: border(&alphas, limits, &gradient), alphas });
        };
        let step = (gradient[giver] - gradient[taker]) / (2.0 - 2.0 * of_taker[giver]).max(FLAT);
        let step = step.min(limits[taker] - alphas[taker]).min(alphas[giver]);
        // A limit that is met is met exactly.
        alphas[taker] = if step == limits[taker] - alphas[taker] { limits[taker] } else { alphas[taker] + step };
        alphas[giver] = if step == alphas[giver] { 0.0 } else { alphas[giver] - step };
        let of_giver = kernel_column(rows, gamma, giver);
        for (slope, (taken, given)) in gradient.iter_mut().zip(of_taker.iter().zip(&of_giver)) {
            *slope += step * (taken - given);
        }
    }
    if alphas.iter().zip(limits).all(|(alpha, limit)| alpha >= limit) {
        return Ok(Solution { rho: border(&alphas, limits, &gradient), alphas });
    }
    Err(Error::fit("the support vectors were not found in time", "raise `tolerance`, or lower `most_rows`"))
}

/// exp(−γ‖x − xᵢ‖²) of a stored row x and every row.
fn kernel_column(rows: &StoredRows, gamma: f64, row: usize) -> Vec<f64> {
    let (codes, numbers) = rows.row(row);
    let mut column = vec![0.0; rows.len()];
    rows.squared_distances(0, &codes, &numbers, &mut column);
    for value in &mut column {
        *value = (-gamma * *value).exp();
    }
    column
}

/// ρ: the mean of Kα over rows on the border, whose α is not at a limit. If there is none, it lies between the rows at
/// one limit and those at the other.
fn border(alphas: &[f64], limits: &[f64], gradient: &[f64]) -> f64 {
    let (mut sum, mut n_free) = (0.0, 0.0);
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for ((alpha, limit), slope) in alphas.iter().zip(limits).zip(gradient) {
        if alpha >= limit {
            low = low.max(*slope);
        } else if *alpha <= 0.0 {
            high = high.min(*slope);
        } else {
            sum += slope;
            n_free += 1.0;
        }
    }
    match (n_free > 0.0, low.is_finite(), high.is_finite()) {
        (true, _, _) => sum / n_free,
        (false, true, true) => 0.5 * (low + high),
        (false, true, false) => low,
        (false, false, _) => high,
    }
}
