//! How much each link counts, and how much the pool does: what predicts held-out cells best.
//!
//! The weights β of a target's links maximise Σᵢ ln pool₋ᵢ(vᵢ) − Σ_d β_d² over 0 ≤ β ≤ 2, where pool₋ᵢ leaves row i
//! out. The sum is concave, and few links have a target, so that Newton's method on the weights that are free to move,
//! projected onto the bounds (Bertsekas, *Projected Newton Methods*, SIAM J. Control Optim., 1982), ends after a few
//! steps. The share w of the pool comes from expectation and maximisation on the same held-out cells.

use super::column::{Column, LeftOut};
use super::link::Link;
use super::link::{lifts_left_out, own_lift};
use crate::cells::recipe::Recipe;
use crate::error::stop_point;
use crate::math::linalg::whitening;

/// Newton steps, at the most.
const MOST_STEPS: usize = 25;
/// Halvings of a step, at the most.
const MOST_HALVINGS: usize = 12;
/// Nats per row that a step has to promise.
const SMALLEST_GAIN: f64 = 1e-7;

/// Held-out cells of one target and what each link tells about each of their values.
#[derive(Debug, Default)]
pub(in crate::cells) struct HeldOut {
    n_links: usize,
    /// The largest weight.
    largest: f64,
    /// What a squared weight costs.
    ridge: f64,
    rows: Vec<Row>,
    /// x of each value that any link knows, [values of all rows, links].
    lifts: Vec<f32>,
    /// P of each of these values.
    priors: Vec<f32>,
}

#[derive(Debug)]
struct Row {
    /// Its values in `priors`.
    values: std::ops::Range<usize>,
    /// The value that it has, if a link knows it.
    own: Option<usize>,
    /// P of all values that no link knows.
    rest: f64,
    copies: f64,
}

impl HeldOut {
    pub fn new(recipe: &Recipe, n_links: usize) -> Self {
        Self { n_links, largest: recipe.largest_weight, ridge: recipe.ridge, ..Self::default() }
    }

    /// Adds a row, whose cell is in the slot `own`.
    pub fn push(
        &mut self,
        column: &Column,
        links: &[Link],
        row: &[u16],
        own: (usize, LeftOut),
        copies: u32,
        at_slot: &mut Vec<Option<usize>>,
    ) {
        let (slot, left_out) = own;
        let start = self.priors.len();
        let mut terms = Vec::new();
        let mut touched = Vec::new();
        at_slot.resize(column.prior.len(), None);
        for (index, link) in links.iter().enumerate() {
            let Some(u) = link.context_slot(row) else { continue };
            let pairs = link.pairs(u);
            lifts_left_out(&link.ratios[pairs.clone()], &left_out, &mut terms);
            for (v, term) in link.slots[pairs].iter().map(|v| *v as usize).zip(&terms) {
                let (term, p) = if v == slot {
                    (own_lift(link, u, slot, &left_out) as f32, left_out.own)
                } else {
                    (*term, f64::from(column.prior[v]) * left_out.others)
                };
                if p <= 0.0 {
                    continue;
                }
                let at = *at_slot[v].get_or_insert_with(|| {
                    touched.push(v);
                    self.priors.push(p as f32);
                    self.lifts.resize(self.lifts.len() + self.n_links, 0.0);
                    self.priors.len() - 1
                });
                self.lifts[at * self.n_links + index] = term;
            }
        }
        let own = at_slot.get(left_out.slot).copied().flatten();
        touched.iter().for_each(|v| at_slot[*v] = None);
        let values = start..self.priors.len();
        let known: f64 = self.priors[values.clone()].iter().map(|p| f64::from(*p)).sum();
        if !values.is_empty() {
            self.rows.push(Row { values, own, rest: (1.0 - known).max(0.0), copies: f64::from(copies) });
        }
    }

    /// The weights that predict best.
    pub fn best_weights(&self) -> Vec<f64> {
        let n = self.n_links;
        let total: f64 = self.rows.iter().map(|row| row.copies).sum();
        let mut weights = vec![(2.0 / n.max(1) as f64).min(1.0); n];
        for _ in 0..MOST_STEPS {
            stop_point();
            let (value, slope, curvature) = self.derivatives(&weights);
            let is_free =
                |d: usize| !(weights[d] <= 0.0 && slope[d] <= 0.0 || weights[d] >= self.largest && slope[d] >= 0.0);
            let free: Vec<usize> = (0..n).filter(|d| is_free(*d)).collect();
            let Some(step) = newton_step(&slope, &curvature, &free, n) else { break };
            let promised: f64 = free.iter().zip(&step).map(|(d, step)| slope[*d] * step).sum();
            if promised <= SMALLEST_GAIN * total.max(1.0) {
                break;
            }
            let moved = (0..MOST_HALVINGS).find_map(|halvings| {
                let length = 0.5f64.powi(halvings as i32);
                let mut next = weights.clone();
                for (d, step) in free.iter().zip(&step) {
                    next[*d] = (next[*d] + length * step).clamp(0.0, self.largest);
                }
                let linear: f64 = (0..n).map(|d| slope[d] * (next[d] - weights[d])).sum();
                (self.value(&next) >= value + 1e-4 * linear).then_some(next)
            });
            match moved {
                Some(next) => weights = next,
                None => break,
            }
        }
        weights
    }

    fn value(&self, weights: &[f64]) -> f64 {
        let mut odds = Vec::new();
        let of_rows: f64 = self.rows.iter().map(|row| row.copies * self.row_value(row, weights, &mut odds).0).sum();
        of_rows - self.ridge * weights.iter().map(|weight| weight * weight).sum::<f64>()
    }

    /// ln of what the row's own value is multiplied with, less ln of the sum; and that sum. Leaves each value's term of
    /// the sum in `odds`.
    fn row_value(&self, row: &Row, weights: &[f64], odds: &mut Vec<f64>) -> (f64, f64) {
        odds.clear();
        odds.extend(row.values.clone().map(|value| {
            let lifts = &self.lifts[value * self.n_links..][..self.n_links];
            lifts.iter().zip(weights).map(|(lift, weight)| f64::from(*lift) * weight).sum::<f64>()
        }));
        let own = row.own.map_or(0.0, |own| odds[own - row.values.start]);
        let largest = odds.iter().copied().fold(0.0, f64::max);
        let mut sum = row.rest * (-largest).exp();
        for (odds, prior) in odds.iter_mut().zip(&self.priors[row.values.clone()]) {
            *odds = f64::from(*prior) * (*odds - largest).exp();
            sum += *odds;
        }
        (own - largest - sum.ln(), sum)
    }

    /// The value, its slope and its negated second derivatives.
    fn derivatives(&self, weights: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
        let n = self.n_links;
        let mut value = 0.0;
        let (mut slope, mut curvature) = (vec![0.0; n], vec![0.0; n * n]);
        let (mut odds, mut mean, mut square) = (Vec::new(), vec![0.0; n], vec![0.0; n * n]);
        for row in &self.rows {
            let (row_value, sum) = self.row_value(row, weights, &mut odds);
            value += row.copies * row_value;
            mean.fill(0.0);
            square.fill(0.0);
            for (at, odds) in row.values.clone().zip(&odds) {
                let p = odds / sum;
                let lifts = &self.lifts[at * n..][..n];
                for (d, lift) in lifts.iter().enumerate() {
                    let weighted = p * f64::from(*lift);
                    mean[d] += weighted;
                    for (total, other) in square[d * n..].iter_mut().zip(&lifts[..=d]) {
                        *total += weighted * f64::from(*other);
                    }
                }
            }
            let own = row.own.map(|own| &self.lifts[own * n..][..n]);
            for d in 0..n {
                slope[d] += row.copies * (own.map_or(0.0, |own| f64::from(own[d])) - mean[d]);
                for e in 0..=d {
                    curvature[d * n + e] += row.copies * (square[d * n + e] - mean[d] * mean[e]);
                }
            }
        }
        for d in 0..n {
            value -= self.ridge * weights[d] * weights[d];
            slope[d] -= 2.0 * self.ridge * weights[d];
            curvature[d * n + d] += 2.0 * self.ridge;
            for e in 0..d {
                curvature[e * n + d] = curvature[d * n + e];
            }
        }
        (value, slope, curvature)
    }
}

/// Solves for the step of the free weights.
fn newton_step(slope: &[f64], curvature: &[f64], free: &[usize], n: usize) -> Option<Vec<f64>> {
    let size = free.len();
    let matrix: Vec<f64> = free.iter().flat_map(|d| free.iter().map(move |e| curvature[d * n + e])).collect();
    let whitening = whitening(&matrix, size, 0.0).ok().filter(|_| size > 0)?;
    let whitened = |i: usize| (0..=i).map(|j| whitening[i * size + j] * slope[free[j]]).sum::<f64>();
    let whitened: Vec<f64> = (0..size).map(whitened).collect();
    Some((0..size).map(|j| (j..size).map(|i| whitening[i * size + j] * whitened[i]).sum()).collect())
}

/// The share of the second of two likelihoods in the mixture that predicts best; each likelihood comes with its copies.
pub(in crate::cells) fn best_share(likelihoods: &[(f64, f64, f64)]) -> f64 {
    let total: f64 = likelihoods.iter().map(|(.., copies)| copies).sum();
    let mut share = 0.5;
    for _ in 0..60 {
        let second: f64 = likelihoods
            .iter()
            .map(|(first, second, copies)| {
                let (first, second) = ((1.0 - share) * first, share * second);
                if first + second > 0.0 { copies * second / (first + second) } else { 0.5 * copies }
            })
            .sum();
        share = (second + 1.0) / (total + 2.0);
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_out() -> HeldOut {
        let mut held_out = HeldOut::new(&Recipe::default(), 3);
        let noise = |i: usize| ((i * 7919 + 13) % 101) as f32 / 101.0;
        for row in 0..40 {
            let values = 3 * row..3 * row + 3;
            held_out.priors.extend(values.clone().map(|value| 0.1 + 0.2 * noise(value)));
            held_out.lifts.extend((0..9).map(|i| 3.0 * noise(9 * row + i) * f32::from(i % 4 != 0)));
            let own = (row % 5 > 0).then_some(3 * row + row % 2);
            let known: f64 = held_out.priors[values.clone()].iter().map(|p| f64::from(*p)).sum();
            held_out.rows.push(Row { values, own, rest: 1.0 - known, copies: 1.0 + (row % 3) as f64 });
        }
        held_out
    }

    #[test]
    fn slopes_and_curvatures_agree_with_finite_differences() {
        let held_out = held_out();
        let weights = vec![0.3, 0.9, 0.1];
        let (value, slope, curvature) = held_out.derivatives(&weights);
        assert!((value - held_out.value(&weights)).abs() < 1e-9);
        let at = |d: usize, by: f64| {
            let mut weights = weights.clone();
            weights[d] += by;
            weights
        };
        let h = 1e-5;
        for d in 0..3 {
            let difference = (held_out.value(&at(d, h)) - held_out.value(&at(d, -h))) / (2.0 * h);
            assert!((slope[d] - difference).abs() < 1e-5, "{} and {difference}", slope[d]);
            let (up, down) = (held_out.derivatives(&at(d, h)).1, held_out.derivatives(&at(d, -h)).1);
            for e in 0..3 {
                let difference = (down[e] - up[e]) / (2.0 * h);
                assert!((curvature[d * 3 + e] - difference).abs() < 1e-4, "{d} {e}");
            }
        }
    }

    #[test]
    fn no_weight_near_the_best_ones_is_better() {
        let held_out = held_out();
        let best = held_out.best_weights();
        let value = held_out.value(&best);
        for d in 0..3 {
            for by in [-0.01, 0.01] {
                let mut weights = best.clone();
                weights[d] = (weights[d] + by).clamp(0.0, held_out.largest);
                assert!(held_out.value(&weights) <= value + 1e-4, "{best:?}, {d} by {by}");
            }
        }
    }

    #[test]
    fn the_share_of_a_mixture_predicts_best() {
        let likelihoods: Vec<(f64, f64, f64)> =
            (0..200).map(|i| (0.3, if i % 4 == 0 { 0.05 } else { 0.6 }, 1.0)).collect();
        let share = best_share(&likelihoods);
        let value = |share: f64| likelihoods.iter().map(|(a, b, _)| ((1.0 - share) * a + share * b).ln()).sum::<f64>();
        assert!(value(share) >= value(share + 0.02) - 0.05 && value(share) >= value(share - 0.02) - 0.05, "{share}");
    }
}
