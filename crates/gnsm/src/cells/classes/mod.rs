//! The third expert: how likely is a row as a whole?
//!
//! Rows are a mixture of classes, in each of which cells are independent (latent class analysis, Lazarsfeld and Henry
//! 1968).
//!
//! In a table of animals, four legs, fur and milk go together, and so do two legs, feathers and eggs. Given the class,
//! no cell tells anything about another:
//!
//! P(row) = Σₖ π(k) · Πᵢ P(cell i | k), P(slot | k) = (n(k, slot) + P(slot)) / (n(k) + 1)
//!
//! where n are the rows of a class, P(slot) is the share of a slot by itself, and "new" and "missing" are slots too.
//! Shares come from expectation and maximisation (Dempster, Laird and Rubin 1977). The number of classes is 1, 2, 4 …,
//! whichever gives a fifth of the rows, held out, the highest likelihood. With one class nothing is left but how rare
//! values are by themselves; so a table decides how much combinations count.
//!
//! A row that was learned from is taken out of each class by the share that it has in it.

mod learn;
mod storage;
#[cfg(test)]
mod tests;

use super::conditional::Column;
use super::rows::{NO_PART, NO_VALUE, RowSlots};
use crate::math::{add, exp, ln, simd, sum_by};

/// The smallest probability.
const LEAST: f32 = 1e-12;

/// The classes of a table; none where no column is a choice.
#[derive(Debug, Clone, Default)]
pub(super) struct Classes {
    /// [classes]: rows of each.
    pub rows: Vec<f32>,
    /// [entries, classes]: rows of each class in each slot; those of a column are followed by "new" and "missing".
    pub counts: Vec<f32>,
    /// [cells + 1]: where the entries of a column begin.
    starts: Vec<usize>,
    /// [entries]: P(slot).
    alone: Vec<f32>,
    /// [cells, classes]: rows that have something in a column, and one more.
    present: Vec<f32>,
    /// [entries, classes]: ln P(slot | class).
    logs: Vec<f32>,
    /// [classes]: ln of the share of each.
    shares: Vec<f32>,
}

/// What an answer is made in.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    /// [classes]: ln of the probability of the row and the class.
    joint: Vec<f32>,
    /// [classes]: how much of the row is in each.
    within: Vec<f32>,
}

impl Classes {
    /// −ln of the probability of the whole row, as a density in its numbers, without itself if it was learned from.
    pub fn ask(&self, columns: &[Column], row: RowSlots<'_>, scratch: &mut Scratch) -> f64 {
        let mut whole = self.surprise(columns, row, scratch);
        for (cell, column) in columns.iter().enumerate() {
            let slot = row.own(column, cell).map_or(row.slots[cell] as usize, |(_, left_out)| left_out.slot);
            match &column.bins {
                Some(bins) if slot < bins.len() => {
                    whole += bins.ln_width(slot) + bins.beyond(row.number(cell), row.learned_from.counted);
                }
                _ => whole += column.members.get(slot).map_or(0.0, |members| f64::from(*members).ln()),
            }
        }
        whole
    }

    /// −ln of the probability of a row's slots.
    fn surprise(&self, columns: &[Column], row: RowSlots<'_>, scratch: &mut Scratch) -> f64 {
        if self.rows.is_empty() {
            return 0.0;
        }
        let total = self.join(row.slots, &mut scratch.joint);
        if row.learned_from.references.is_none() {
            return -total;
        }
        let n = self.rows.len();
        let Scratch { joint, within } = scratch;
        within.clear();
        within.extend_from_slice(joint);
        simd(
            #[inline(always)]
            || {
                for ((within, joint), rows) in within.iter_mut().zip(joint.iter_mut()).zip(&self.rows) {
                    *within = exp(*within - total as f32);
                    *joint = ln((rows - *within).max(0.0) + 1.0 / n as f32);
                }
            },
        );
        for (cell, slot) in row.slots.iter().enumerate() {
            let Some(entry) = self.entry(cell, *slot) else { continue };
            // Where the row's value becomes new, the row is no part of what is counted there.
            let (entry, alone, own) = match row.own(&columns[cell], cell).map(|(_, left)| left) {
                Some(left) if left.slot == *slot as usize => (entry, left.own as f32, 1.0),
                Some(left) => (self.starts[cell] + left.slot, left.new as f32, 0.0),
                None => (entry, self.alone[entry], 1.0),
            };
            let alone = alone.max(LEAST);
            let (counts, present) = (&self.counts[entry * n..][..n], &self.present[cell * n..][..n]);
            simd(
                #[inline(always)]
                || {
                    let known = counts.iter().zip(present).zip(within.iter());
                    for (joint, ((count, present), within)) in joint.iter_mut().zip(known) {
                        let count = (count - own * within).max(0.0) + alone;
                        *joint += ln(count / (present - within).max(1.0)).min(0.0);
                    }
                },
            );
        }
        let rows: f32 = self.rows.iter().sum::<f32>();
        f64::from(rows).max(1.0).ln() - ln_sum_exp(joint)
    }

    /// How much of a row is in each class, by the cells that are known: [classes]. Blank ones hold [`NO_PART`].
    pub fn within(&self, slots: &[u16]) -> Vec<f32> {
        let mut joint = Vec::new();
        if !self.rows.is_empty() {
            let total = self.join(slots, &mut joint) as f32;
            joint.iter_mut().for_each(|joint| *joint = exp(*joint - total));
        }
        joint
    }

    /// The probability of a slot in a row that is in the classes by these shares.
    pub fn chance(&self, cell: usize, slot: usize, within: &[f32]) -> f64 {
        let entry = self.starts[cell] + slot;
        let logs = &self.logs[entry * within.len()..][..within.len()];
        within.iter().zip(logs).map(|(within, log)| f64::from(within * exp(*log))).sum()
    }

    /// One without any classes, which knows the columns.
    fn empty(columns: &[Column]) -> Self {
        let mut starts = vec![0];
        let mut alone = Vec::new();
        for column in columns {
            let missing = column.missing.map_or(0.0, |_| column.missing_share(None)) as f32;
            alone.extend(column.prior.iter().map(|p| ((1.0 - missing) * p).max(LEAST)));
            // A number has no "new".
            alone.resize(starts[starts.len() - 1] + column.n_slots() + 1, LEAST);
            alone.push(missing.max(LEAST));
            starts.push(alone.len());
        }
        Self { starts, alone, ..Self::default() }
    }

    /// The entry of a slot, if the cell takes part.
    fn entry(&self, cell: usize, slot: u16) -> Option<usize> {
        match slot {
            NO_PART => None,
            NO_VALUE => Some(self.starts[cell + 1] - 1),
            _ => Some(self.starts[cell] + slot as usize),
        }
    }

    /// Computes what follows from the rows of the classes.
    fn finish(&mut self) {
        let n = self.rows.len();
        if n == 0 {
            return;
        }
        let total = self.rows.iter().sum::<f32>() + 1.0;
        self.shares = self.rows.iter().map(|rows| ((rows + 1.0 / n as f32) / total).ln()).collect();
        self.present = vec![1.0; (self.starts.len() - 1) * n];
        self.logs = vec![0.0; self.counts.len()];
        for (cell, present) in self.present.chunks_exact_mut(n).enumerate() {
            let entries = self.starts[cell]..self.starts[cell + 1];
            for entry in entries.clone() {
                add(present, &self.counts[entry * n..][..n]);
            }
            for entry in entries {
                let (logs, counts) = (&mut self.logs[entry * n..][..n], &self.counts[entry * n..][..n]);
                for ((log, count), present) in logs.iter_mut().zip(counts).zip(present.iter()) {
                    *log = ((count + self.alone[entry]) / present).ln();
                }
            }
        }
    }

    /// ln of the probability of the row and each class; returns that of the row.
    fn join(&self, slots: &[u16], joint: &mut Vec<f32>) -> f64 {
        let n = self.rows.len();
        joint.clear();
        joint.extend_from_slice(&self.shares);
        simd(
            #[inline(always)]
            || {
                for (cell, slot) in slots.iter().enumerate() {
                    if let Some(entry) = self.entry(cell, *slot) {
                        add(joint, &self.logs[entry * n..][..n]);
                    }
                }
            },
        );
        ln_sum_exp(joint)
    }
}

/// The entries of a column: its slots, "new" and "missing".
fn entries_of(column: &Column) -> usize {
    column.n_slots() + 2
}

fn ln_sum_exp(values: &[f32]) -> f64 {
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum = simd(
        #[inline(always)]
        || {
            sum_by(
                values,
                #[inline(always)]
                |value| exp(value - most),
            )
        },
    );
    f64::from(most) + f64::from(sum).ln()
}
