//! Keeps the values of each column as frequent in drawn rows as they were in those that were learned from.
//!
//! Cells are drawn from conditionals that were learned one by one (`draw`). These are those of no one distribution:
//! where several columns tell the same thing, such as two dates and the nights between them, each of them counts, and
//! the values that they make likelier become too frequent. More rounds make it worse.
//!
//! So some rows are drawn to see how frequent each value becomes, and the weight of each value is multiplied with a
//! factor,
//!
//! f(v) ← f(v) · (share of v that was learned / share of v that was drawn)^r,
//!
//! again and again. The step r is halved when the shares become worse, and the best factors are kept. This is iterative
//! proportional fitting (Deming and Stephan, 1940) with shares that are estimated by simulation. What pairs of values
//! tell about each other stays.

use rayon::prelude::*;

use super::{Chain, ROUNDS, rounds};
use crate::cells::Cells;
use crate::columns::{ABSENT, Encoded};
use crate::detectors::Blanks;

/// Rows that are drawn to see how frequent values become, and how often.
const ROWS: usize = 2048;
const FEWEST_ROWS: usize = 256;
const TIMES: usize = 12;
/// Cells that may be drawn in all.
const MOST_WORK: usize = 40_000_000;
/// Rows that a thread takes at a time.
const PIECE: usize = 64;
/// The first step, and the last one.
const STEP: f64 = 1.0;
const LEAST_STEP: f64 = 0.1;
/// How far off a column may be on the whole, beyond what chance does.
const ENOUGH: f64 = 1e-4;
/// The largest factor, and one over the smallest.
const LARGEST: f64 = 50.0;

/// The factors.
#[derive(Debug, Clone, Default)]
pub(in crate::cells) struct Balance {
    /// [cells][slots].
    factors: Vec<Vec<f64>>,
}

impl Balance {
    /// Learns the factors; of `blanks`, what is the same for all rows.
    pub fn learn(cells: &Cells, blanks: &Blanks<'_>) -> Self {
        let drawn: Vec<usize> = (0..cells.columns().len()).filter(|cell| blanks.drawn[*cell]).collect();
        let work = drawn.len() * drawn.len() * TIMES * 4;
        let n_rows = (MOST_WORK / work.max(1)).clamp(FEWEST_ROWS, ROWS);
        let mut best = Self { factors: cells.columns().iter().map(|column| vec![1.0; column.n_slots()]).collect() };
        let wanted: Vec<Vec<f64>> = (0..cells.columns().len()).map(|cell| wanted(cells, blanks, cell)).collect();
        let mut shares = best.shares(cells, blanks, n_rows);
        let mut off = total_off(&wanted, &shares, &drawn, n_rows);
        let mut step = STEP;
        for _ in 0..TIMES {
            let mut next = best.clone();
            for &cell in &drawn {
                let each = next.factors[cell].iter_mut().zip(wanted[cell].iter().zip(&shares[cell]));
                for (factor, (wanted, share)) in each {
                    let ratio = surely_off(*wanted, *share, n_rows);
                    *factor = (*factor * (step * ratio).exp()).clamp(1.0 / LARGEST, LARGEST);
                }
            }
            let new_shares = next.shares(cells, blanks, n_rows);
            let new_off = total_off(&wanted, &new_shares, &drawn, n_rows);
            if new_off < off {
                (best, shares, off) = (next, new_shares, new_off);
            } else {
                step *= 0.5;
            }
            if off < ENOUGH * drawn.len() as f64 || step < LEAST_STEP {
                break;
            }
        }
        best
    }

    /// Multiplies the weights of a cell's slots with their factors.
    pub fn tilt(&self, cell: usize, weights: &mut [f64]) {
        for (weight, factor) in weights.iter_mut().zip(&self.factors[cell]) {
            *weight *= factor;
        }
    }

    /// The shares of the slots of each cell in rows that are drawn from nothing.
    fn shares(&self, cells: &Cells, blanks: &Blanks<'_>, n_rows: usize) -> Vec<Vec<f64>> {
        let order = cells.order();
        let (n_groups, n_numbers) = (cells.layout().n_groups(), cells.layout().n_numbers());
        let n_cells = cells.columns().len();
        let starts: Vec<usize> = (0..n_rows).step_by(PIECE).collect();
        let of_piece = |start: usize| {
            crate::error::stop_point();
            let n = PIECE.min(n_rows - start);
            let rows = Encoded::new(n, vec![ABSENT; n * n_groups], vec![f32::NAN; n * n_numbers]);
            let blank = blanks.drawn.repeat(n);
            let ids: Vec<u64> = (start as u64..(start + n) as u64).collect();
            let blanks = Blanks { rows: &rows, blank: &blank, ids: &ids, seed: 0, may_miss: true, ..*blanks };
            let mut chain = Chain::balanced(cells, &blanks, self);
            let mut sums: Vec<Vec<f64>> = cells.columns().iter().map(|column| vec![0.0; column.n_slots()]).collect();
            for row in 0..n {
                chain.start(row);
                let blank = chain.blank_cells(row, &order);
                chain.round(&blank, true);
                for _ in 1..rounds(&blank, ROUNDS) {
                    chain.round(&blank, false);
                }
                for &cell in &blank {
                    chain.step(cell, false);
                    let weights = chain.weights.clone();
                    chain.set(cell);
                    let total: f64 = weights.iter().sum();
                    if total > 0.0 && chain.is_there(cell) {
                        sums[cell].iter_mut().zip(&weights).for_each(|(sum, weight)| *sum += weight / total);
                    }
                }
            }
            sums
        };
        let pieces: Vec<Vec<Vec<f64>>> = starts.into_par_iter().map(of_piece).collect();
        let mut shares: Vec<Vec<f64>> = cells.columns().iter().map(|column| vec![0.0; column.n_slots()]).collect();
        for piece in &pieces {
            for cell in 0..n_cells {
                shares[cell].iter_mut().zip(&piece[cell]).for_each(|(share, sum)| *share += sum);
            }
        }
        shares.iter_mut().for_each(|shares| normalise(shares));
        shares
    }
}

/// The shares that the slots of a cell had, of those that may be drawn.
fn wanted(cells: &Cells, blanks: &Blanks<'_>, cell: usize) -> Vec<f64> {
    let column = &cells.columns()[cell];
    let mut shares: Vec<f64> = column.counts.iter().map(|count| f64::from(*count)).collect();
    if let Some(group) = cell.checked_sub(cells.layout().n_numbers()) {
        if let Some(missing) = column.missing {
            shares[missing as usize] = f64::from(column.n_missing);
        }
        if let Some(barred) = blanks.barred[group].filter(|code| (*code as usize) < shares.len()) {
            shares[barred as usize] = 0.0;
        }
    }
    normalise(&mut shares);
    shares
}

fn normalise(shares: &mut [f64]) {
    let total: f64 = shares.iter().sum();
    if total > 0.0 {
        shares.iter_mut().for_each(|share| *share /= total);
    }
}

/// ln(wanted / share), less what chance does to a share among so many rows.
fn surely_off(wanted: f64, share: f64, n_rows: usize) -> f64 {
    let n = n_rows as f64;
    let ratio = ((n * wanted + 0.5) / (n * share + 0.5)).ln();
    let by_chance = ((1.0 - wanted) / (n * wanted + 0.5)).sqrt();
    ratio.signum() * (ratio.abs() - by_chance).max(0.0)
}

/// How far the shares are off in all.
fn total_off(wanted: &[Vec<f64>], shares: &[Vec<f64>], drawn: &[usize], n_rows: usize) -> f64 {
    let of_slot = |(wanted, share): (&f64, &f64)| wanted * surely_off(*wanted, *share, n_rows).abs();
    drawn.iter().flat_map(|cell| wanted[*cell].iter().zip(&shares[*cell])).map(of_slot).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_no_drift() {
        // Of 2,000 rows a fifth, ± √(0.8 / 400) = 4.5 % of it by chance.
        assert_eq!(surely_off(0.2, 0.205, 2000), 0.0);
        assert!((surely_off(0.2, 0.1, 2000) - (2.0f64.ln() - 0.0447)).abs() < 2e-3);
        assert!((surely_off(0.2, 0.4, 2000) + (2.0f64.ln() - 0.0447)).abs() < 2e-3);
        assert!(surely_off(0.0, 0.0, 2000) == 0.0 && surely_off(1.0, 1.0, 2000) == 0.0);
    }
}
