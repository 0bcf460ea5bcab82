//! The fourth expert: how odd are a row's values by themselves and by the company they keep, wherever they stand? That
//! is where a walker between values is found (coupled biased random walks, Pang, Cao and Chen 2016).
//!
//! In a table of animals, `venomous = yes` is rare, and so are most values that go with it. The walker moves from a
//! value u to a value v of another column with a probability proportional to
//!
//! n(u, v)·g(v), g(v) = δ(v)/n(v), δ(v) = ½ ((n(m) − n(v))/n(m) + 1 − n(m)/n),
//!
//! where n are rows and m is the most common value of v's column. With probability 1 − α it jumps to any value. Where
//! it is found in the long run, π, is how odd a value is; a column weighs as much as all its values, and a row has
//!
//! Σ_f w_f·π(x_f), w_f = Σ_{v ∈ f} π(v).
//!
//! `detectors/value_graph.rs` walks with a matrix of all pairs. Here a step goes over the rows instead: n(u, v) summed
//! over all v is, for each row that has u, the sum over its other cells. So memory does not grow with the pairs of
//! values.
//!
//! Only categories take part. A missing one has no value. What was never seen is twice as odd as the oddest value; so
//! is a value that no other row has, when its row is left out. All else stays as it is then: one row moves the walker
//! little.

use super::conditional::{Column, Training};
use super::rows::{NO_PART, NO_VALUE, RowSlots};
use crate::error::stop_point;
use crate::files::{Loaded, Tensors};

/// A change of π that ends the walk.
const TOLERANCE: f64 = 1e-12;
/// Steps, at the most; α¹⁰⁰⁰ is far below the tolerance.
const MOST_STEPS: usize = 1000;
/// How odd the values of a table are; nothing where fewer than two columns are choices.
#[derive(Debug, Clone, Default)]
pub(super) struct Walk {
    /// [cells + 1]: where the values of a column begin; a column without any takes no part.
    starts: Vec<usize>,
    /// w_f·π(v) of each value, and behind them that of one that was never seen.
    pub parts: Vec<f64>,
}

impl Walk {
    /// Walks over the rows that tails are learned from.
    pub fn learn(training: &Training<'_>) -> Self {
        let Training { recipe, columns, slots, sample, .. } = *training;
        let starts = starts(columns);
        let n_values = starts[columns.len()];
        let mut rows = Rows { ends: Vec::new(), values: Vec::new(), copies: Vec::new() };
        let mut counts = vec![0.0; n_values];
        for &(row, copies) in &sample.calibrated {
            for (bounds, slots) in starts.windows(2).zip(slots) {
                let value = bounds[0] + usize::from(slots[row]);
                if value < bounds[1] {
                    rows.values.push(value);
                    counts[value] += f64::from(copies);
                }
            }
            rows.ends.push(rows.values.len());
            rows.copies.push(f64::from(copies));
        }
        let found = rows.walk(recipe.damping, &pulls(&starts, &counts));
        let mut parts = found.clone();
        for bounds in starts.windows(2) {
            let weight: f64 = found[bounds[0]..bounds[1]].iter().sum();
            parts[bounds[0]..bounds[1]].iter_mut().for_each(|part| *part *= weight);
        }
        let seen = parts.iter().zip(&counts).filter(|(_, count)| **count > 0.0);
        let unseen = recipe.unseen * seen.map(|(part, _)| *part).fold(0.0, f64::max);
        // Values that only rows beyond the sample have are as good as never seen.
        for (part, _) in parts.iter_mut().zip(&counts).filter(|(_, count)| **count == 0.0) {
            *part = unseen;
        }
        parts.push(unseen);
        Self { starts, parts }
    }

    pub fn write(&self, tensors: &mut Tensors) {
        tensors.put("value_parts", self.parts.clone());
    }

    pub fn read(columns: &[Column], tensors: &mut Tensors) -> Loaded<Self> {
        let starts = starts(columns);
        let parts: Vec<f64> = tensors.take("value_parts", starts[columns.len()] + 1)?;
        if !parts.iter().all(|part| (0.0..=1e9).contains(part)) {
            return Err("tensor `value_parts` holds what does not tell how odd a value is".into());
        }
        Ok(Self { starts, parts })
    }

    /// Whether any values take part.
    pub fn has_values(&self) -> bool {
        self.starts.last().is_some_and(|end| *end > 0)
    }

    /// How odd the values of a row are.
    pub fn ask(&self, columns: &[Column], row: RowSlots<'_>) -> f64 {
        let of_cell = |(cell, bounds): (usize, &[usize])| {
            if bounds[0] == bounds[1] || matches!(row.slots[cell], NO_VALUE | NO_PART) {
                return 0.0;
            }
            let own = row.own(&columns[cell], cell);
            let slot = own.map_or(usize::from(row.slots[cell]), |(_, left_out)| left_out.slot);
            let value = bounds[0] + slot;
            self.parts[if value < bounds[1] { value } else { self.parts.len() - 1 }]
        };
        self.starts.windows(2).enumerate().map(of_cell).sum()
    }
}

/// Where the values of each column begin, and where the last one's end.
fn starts(columns: &[Column]) -> Vec<usize> {
    let takes_part = |column: &&Column| column.bins.is_none() && column.tells_others && column.varies();
    let enough = columns.iter().filter(takes_part).count() > 1;
    let mut starts = vec![0];
    let mut end = 0;
    for column in columns {
        end += if enough && takes_part(&column) { column.n_slots() } else { 0 };
        starts.push(end);
    }
    starts
}

/// g(v) of each value, by the rows that have it.
fn pulls(starts: &[usize], counts: &[f64]) -> Vec<f64> {
    let mut pulls = Vec::with_capacity(counts.len());
    for bounds in starts.windows(2) {
        let counts = &counts[bounds[0]..bounds[1]];
        let (all, most) = (counts.iter().sum::<f64>(), counts.iter().copied().fold(0.0, f64::max));
        let bias = |count: f64| 0.5 * ((most - count) / most + 1.0 - most / all);
        pulls.extend(counts.iter().map(|count| if *count > 0.0 { bias(*count) / count } else { 0.0 }));
    }
    pulls
}

/// The values of the rows that the walker goes over.
struct Rows {
    /// Where each row ends in `values`.
    ends: Vec<usize>,
    values: Vec<usize>,
    copies: Vec<f64>,
}

impl Rows {
    /// π, where the walker is found in the long run, by how much each value pulls it.
    fn walk(&self, damping: f64, pulls: &[f64]) -> Vec<f64> {
        let n = pulls.len();
        let even = 1.0 / n.max(1) as f64;
        // Σᵥ n(u, v)·g(v), by which what u gives away is divided. Where it is 0, the walker goes anywhere.
        let given = self.to_others(pulls);
        let mut here = vec![even; n];
        for _ in 0..MOST_STEPS {
            stop_point();
            let flows: Vec<f64> =
                here.iter().zip(&given).map(|(here, given)| if *given > 0.0 { here / given } else { 0.0 }).collect();
            let lost: f64 = here.iter().zip(&given).filter(|(_, given)| **given <= 0.0).map(|(here, _)| here).sum();
            let jumps = (1.0 - damping + damping * lost) * even;
            let come = self.to_others(&flows);
            let next: Vec<f64> = come.iter().zip(pulls).map(|(come, pull)| jumps + damping * pull * come).collect();
            let moved = here.iter().zip(&next).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            here = next;
            if moved < TOLERANCE {
                break;
            }
        }
        here
    }

    /// Σᵥ n(u, v)·y(v) for each value u: over its rows, what the other cells of the row have.
    fn to_others(&self, y: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; y.len()];
        let mut start = 0;
        for (end, copies) in self.ends.iter().zip(&self.copies) {
            let values = &self.values[start..*end];
            let all: f64 = values.iter().map(|value| y[*value]).sum();
            for value in values {
                // Rounding may leave a little less than nothing.
                sums[*value] += copies * (all - y[*value]).max(0.0);
            }
            start = *end;
        }
        sums
    }
}

#[cfg(test)]
mod tests;
