//! Learning classes: how many there are, and what each holds.

use rayon::prelude::*;

use super::{Classes, LEAST};
use crate::cells::combine::share_of_categories;
use crate::cells::conditional::Training;
use crate::cells::rows::{NO_PART, NO_VALUE};
use crate::error::stop_point;
use crate::math::{exp, simd, stream, uniform_share};

/// Numbers of all classes together, at the most.
const MOST_COUNTS: usize = 500_000;
/// Cells times classes that one step of learning may look at.
const MOST_WORK: usize = 200_000_000;
/// Nats a row by which a step has to be better than the one before.
const LEAST_GAIN: f64 = 1e-4;
/// Of how many rows one is held out to choose the number of classes.
const HELD_OUT: f64 = 5.0;
/// Rows for each class, at the least.
const ROWS_OF_A_CLASS: usize = 4;
/// The name of the random stream.
const START: u64 = 23;

/// Distinct rows that classes are learned from.
struct Rows<'a> {
    /// [cells][rows of the sample].
    slots: &'a [Vec<u16>],
    /// Which rows of the sample.
    chosen: &'a [(usize, u32)],
}

impl Classes {
    /// Learns the classes of a sample; none where no column is a choice.
    pub fn learn(training: &Training<'_>) -> Self {
        let Training { recipe, columns, slots, sample, .. } = *training;
        if share_of_categories(columns) == 0.0 {
            return Self::default();
        }
        let rows = Rows { slots, chosen: &sample.references };
        let all: Vec<f32> = rows.chosen.iter().map(|(_, copies)| *copies as f32).collect();
        let held_out: Vec<f32> = rows
            .chosen
            .iter()
            .enumerate()
            .map(|(row, (_, copies))| {
                let share = uniform_share(&mut stream(0, START, 0, row as u64));
                (f64::from(*copies) / HELD_OUT + share).floor() as f32
            })
            .collect();
        let rest: Vec<f32> = all.iter().zip(&held_out).map(|(all, held_out)| all - held_out).collect();
        let empty = Self::empty(columns);
        let n_rows = all.iter().sum::<f32>() as usize;
        let n_entries = empty.alone.len().max(1);
        let most = recipe
            .most_classes
            .min(MOST_COUNTS / n_entries)
            .min(MOST_WORK / (rows.chosen.len() * columns.len()).max(1))
            .min(n_rows / ROWS_OF_A_CLASS)
            .max(1);
        let (mut best, mut highest) = (1, f64::NEG_INFINITY);
        let mut n_classes = 1;
        while n_classes <= most && n_classes <= 4 * best {
            let likelihood = empty.fitted(&rows, &rest, n_classes, recipe.class_steps).likelihood(&rows, &held_out);
            if likelihood > highest {
                (best, highest) = (n_classes, likelihood);
            }
            n_classes *= 2;
        }
        empty.fitted(&rows, &all, best, recipe.class_steps)
    }

    /// Learns so many classes from rows that count so often.
    fn fitted(&self, rows: &Rows<'_>, weights: &[f32], n_classes: usize, steps: usize) -> Self {
        let mut classes = self.clone();
        let mut within: Vec<f32> = vec![1.0; weights.len() * n_classes]; // [rows, classes]
        if n_classes > 1 {
            within.par_chunks_exact_mut(n_classes).enumerate().for_each(|(row, within)| {
                let mut random = stream(0, START, n_classes as u64, row as u64);
                within.iter_mut().for_each(|share| *share = uniform_share(&mut random).powi(4) as f32 + LEAST);
                let total: f32 = within.iter().sum();
                within.iter_mut().for_each(|share| *share /= total);
            });
        }
        let mut last = f64::NEG_INFINITY;
        for _ in 0..steps {
            classes.maximise(rows, weights, &within, n_classes);
            if n_classes == 1 {
                break;
            }
            let likelihood = classes.expect(rows, weights, &mut within);
            if likelihood - last < LEAST_GAIN {
                break;
            }
            last = likelihood;
        }
        classes
    }

    /// The shares from how much of each row is in each class.
    fn maximise(&mut self, rows: &Rows<'_>, weights: &[f32], within: &[f32], n_classes: usize) {
        let of_rows = || within.chunks_exact(n_classes).zip(weights);
        self.rows = vec![0.0; n_classes];
        for (within, weight) in of_rows() {
            add_scaled(&mut self.rows, within, *weight);
        }
        self.counts = vec![0.0; self.alone.len() * n_classes];
        let mut of_columns = Vec::new();
        let mut left = self.counts.as_mut_slice();
        for cell in 0..self.starts.len() - 1 {
            let (own, others) = left.split_at_mut((self.starts[cell + 1] - self.starts[cell]) * n_classes);
            of_columns.push(own);
            left = others;
        }
        of_columns.into_par_iter().zip(rows.slots).for_each(|(counts, slots)| {
            stop_point();
            let n_entries = counts.len() / n_classes;
            for ((row, _), (within, weight)) in rows.chosen.iter().zip(of_rows()) {
                let entry = match slots[*row] {
                    NO_PART => continue,
                    NO_VALUE => n_entries - 1,
                    slot => slot as usize,
                };
                add_scaled(&mut counts[entry * n_classes..][..n_classes], within, *weight);
            }
        });
        self.finish();
    }

    /// How much of each row is in each class; returns the mean of ln of the rows' probabilities.
    fn expect(&self, rows: &Rows<'_>, weights: &[f32], within: &mut [f32]) -> f64 {
        let n = self.rows.len();
        let of_row = |scratch: &mut (Vec<u16>, Vec<f32>), (row, within): (usize, &mut [f32])| {
            let (slots, joint) = scratch;
            rows.fill(row, slots);
            let total = self.join(slots, joint);
            simd(
                #[inline(always)]
                || {
                    for (within, joint) in within.iter_mut().zip(joint.iter()) {
                        *within = exp(joint - total as f32);
                    }
                },
            );
            total
        };
        let scratch = <(Vec<u16>, Vec<f32>)>::default;
        let totals: Vec<f64> = within.par_chunks_exact_mut(n).enumerate().map_init(scratch, of_row).collect();
        weighted_mean(&totals, weights)
    }

    /// The mean of ln of the rows' probabilities.
    fn likelihood(&self, rows: &Rows<'_>, weights: &[f32]) -> f64 {
        let of_row = |scratch: &mut (Vec<u16>, Vec<f32>), row: usize| {
            rows.fill(row, &mut scratch.0);
            self.join(&scratch.0, &mut scratch.1)
        };
        let scratch = <(Vec<u16>, Vec<f32>)>::default;
        let totals: Vec<f64> = (0..weights.len()).into_par_iter().map_init(scratch, of_row).collect();
        weighted_mean(&totals, weights)
    }
}

impl Rows<'_> {
    /// The slots of a row.
    fn fill(&self, row: usize, slots: &mut Vec<u16>) {
        slots.clear();
        slots.extend(self.slots.iter().map(|slots| slots[self.chosen[row].0]));
    }
}

fn add_scaled(to: &mut [f32], from: &[f32], scale: f32) {
    if scale > 0.0 {
        simd(
            #[inline(always)]
            || {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = from.mul_add(scale, *to);
                }
            },
        );
    }
}

fn weighted_mean(values: &[f64], weights: &[f32]) -> f64 {
    let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
    values.iter().zip(weights).map(|(value, weight)| value * f64::from(*weight)).sum::<f64>() / total.max(1.0)
}
