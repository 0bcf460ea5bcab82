//! How likely a row is as a whole: a mixture of classes, in each of which cells are independent (latent class analysis,
//! Lazarsfeld and Henry 1968).
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

use rayon::prelude::*;

use super::column::{Column, LeftOut, MISSING, NOTHING};
use super::sample::Sample;
use crate::error::stop_point;
use crate::math::{add, exp, ln, simd, stream, sum_by, uniform_share};

/// Classes, at the most.
pub(super) const MOST_CLASSES: usize = 64;
/// Numbers of all classes together, at the most.
const MOST_COUNTS: usize = 500_000;
/// Cells times classes that one step of learning may look at.
const MOST_WORK: usize = 200_000_000;
/// Steps of learning.
const STEPS: usize = 20;
/// Nats a row by which a step has to be better than the one before.
const LEAST_GAIN: f64 = 1e-4;
/// Of how many rows one is held out to choose the number of classes.
const HELD_OUT: f64 = 5.0;
/// Rows for each class, at the least.
const ROWS_OF_A_CLASS: usize = 4;
/// The smallest probability.
const LEAST: f32 = 1e-12;
/// The name of the random stream.
const START: u64 = 23;

/// The classes of a table; none where no column is a choice.
#[derive(Debug, Clone, Default)]
pub(super) struct Classes {
    /// [classes]: rows of each.
    pub rows: Vec<f32>,
    /// [places, classes]: rows of each class in each slot; those of a column are followed by "new" and "missing".
    pub counts: Vec<f32>,
    /// [cells + 1]: where the places of a column begin.
    starts: Vec<usize>,
    /// [places]: P(slot).
    alone: Vec<f32>,
    /// [cells, classes]: rows that have something in a column, and one more.
    present: Vec<f32>,
    /// [places, classes]: ln P(slot | class).
    logs: Vec<f32>,
    /// [classes]: ln of the share of each.
    shares: Vec<f32>,
}

/// Room for one row.
#[derive(Debug, Clone, Default)]
pub(super) struct ClassScratch {
    /// [classes]: ln of the probability of the row and the class.
    joint: Vec<f32>,
    /// [classes]: how much of the row is in each.
    within: Vec<f32>,
}

/// The share of the columns that are categories, of those that vary.
pub(super) fn share_of_categories(columns: &[Column]) -> f64 {
    let varying = || columns.iter().filter(|column| column.speaks && column.varies());
    let categories = varying().filter(|column| column.bins.is_none()).count();
    if categories == 0 { 0.0 } else { categories as f64 / varying().count() as f64 }
}

/// Distinct rows that classes are learned from.
struct Rows<'a> {
    /// [cells][rows of the sample].
    slots: &'a [Vec<u16>],
    /// Which rows of the sample.
    chosen: &'a [(usize, u32)],
}

impl Classes {
    /// Learns the classes of a sample; `slots` are [cells][rows].
    pub fn learn(columns: &[Column], slots: &[Vec<u16>], sample: &Sample) -> Self {
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
        let n_places = empty.alone.len().max(1);
        let most = MOST_CLASSES
            .min(MOST_COUNTS / n_places)
            .min(MOST_WORK / (rows.chosen.len() * columns.len()).max(1))
            .min(n_rows / ROWS_OF_A_CLASS)
            .max(1);
        let (mut best, mut highest) = (1, f64::NEG_INFINITY);
        let mut n_classes = 1;
        while n_classes <= most && n_classes <= 4 * best {
            let likelihood = empty.fitted(&rows, &rest, n_classes).likelihood(&rows, &held_out);
            if likelihood > highest {
                (best, highest) = (n_classes, likelihood);
            }
            n_classes *= 2;
        }
        empty.fitted(&rows, &all, best)
    }

    /// From what was kept.
    pub fn restored(columns: &[Column], rows: Vec<f32>, counts: Vec<f32>) -> Self {
        let mut classes = Self { rows, counts, ..Self::empty(columns) };
        classes.finish();
        classes
    }

    /// The places of all columns.
    pub fn n_places(columns: &[Column]) -> usize {
        columns.iter().map(places_of).sum()
    }

    /// −ln of the probability of a row's slots [cells], without itself if it was learned from.
    ///
    /// `own` has, for a row that was counted, the probabilities without it.
    pub fn surprise(
        &self,
        slots: &[u16],
        learned_from: bool,
        own: impl Fn(usize) -> Option<LeftOut>,
        scratch: &mut ClassScratch,
    ) -> f64 {
        if self.rows.is_empty() {
            return 0.0;
        }
        let total = self.join(slots, &mut scratch.joint);
        if !learned_from {
            return -total;
        }
        let n = self.rows.len();
        let ClassScratch { joint, within } = scratch;
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
        for (cell, slot) in slots.iter().enumerate() {
            let Some(place) = self.place(cell, *slot) else { continue };
            // Where the row's value becomes new, the row is no part of what is counted there.
            let (place, alone, own) = match own(cell) {
                Some(left) if left.slot == *slot as usize => (place, left.own as f32, 1.0),
                Some(left) => (self.starts[cell] + left.slot, left.new as f32, 0.0),
                None => (place, self.alone[place], 1.0),
            };
            let alone = alone.max(LEAST);
            let (counts, present) = (&self.counts[place * n..][..n], &self.present[cell * n..][..n]);
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

    /// How much of a row is in each class, by the cells that are known: [classes]. Blank ones hold [`NOTHING`].
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
        let place = self.starts[cell] + slot;
        let logs = &self.logs[place * within.len()..][..within.len()];
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

    /// The place of a slot, if something is said of it.
    fn place(&self, cell: usize, slot: u16) -> Option<usize> {
        match slot {
            NOTHING => None,
            MISSING => Some(self.starts[cell + 1] - 1),
            _ => Some(self.starts[cell] + slot as usize),
        }
    }

    /// Learns so many classes from rows that count so often.
    fn fitted(&self, rows: &Rows<'_>, weights: &[f32], n_classes: usize) -> Self {
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
        for _ in 0..STEPS {
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
            let n_places = counts.len() / n_classes;
            for ((row, _), (within, weight)) in rows.chosen.iter().zip(of_rows()) {
                let place = match slots[*row] {
                    NOTHING => continue,
                    MISSING => n_places - 1,
                    slot => slot as usize,
                };
                add_scaled(&mut counts[place * n_classes..][..n_classes], within, *weight);
            }
        });
        self.finish();
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
            let places = self.starts[cell]..self.starts[cell + 1];
            for place in places.clone() {
                add(present, &self.counts[place * n..][..n]);
            }
            for place in places {
                let (logs, counts) = (&mut self.logs[place * n..][..n], &self.counts[place * n..][..n]);
                for ((log, count), present) in logs.iter_mut().zip(counts).zip(present.iter()) {
                    *log = ((count + self.alone[place]) / present).ln();
                }
            }
        }
    }

    /// How much of each row is in each class; returns the mean of ln of the rows' probabilities.
    fn expect(&self, rows: &Rows<'_>, weights: &[f32], within: &mut [f32]) -> f64 {
        let n = self.rows.len();
        let of_row = |room: &mut (Vec<u16>, Vec<f32>), (row, within): (usize, &mut [f32])| {
            let (slots, joint) = room;
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
        let room = <(Vec<u16>, Vec<f32>)>::default;
        let totals: Vec<f64> = within.par_chunks_exact_mut(n).enumerate().map_init(room, of_row).collect();
        weighted_mean(&totals, weights)
    }

    /// The mean of ln of the rows' probabilities.
    fn likelihood(&self, rows: &Rows<'_>, weights: &[f32]) -> f64 {
        let of_row = |room: &mut (Vec<u16>, Vec<f32>), row: usize| {
            rows.fill(row, &mut room.0);
            self.join(&room.0, &mut room.1)
        };
        let room = <(Vec<u16>, Vec<f32>)>::default;
        let totals: Vec<f64> = (0..weights.len()).into_par_iter().map_init(room, of_row).collect();
        weighted_mean(&totals, weights)
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
                    if let Some(place) = self.place(cell, *slot) {
                        add(joint, &self.logs[place * n..][..n]);
                    }
                }
            },
        );
        ln_sum_exp(joint)
    }
}

impl Rows<'_> {
    /// The slots of a row.
    fn fill(&self, row: usize, slots: &mut Vec<u16>) {
        slots.clear();
        slots.extend(self.slots.iter().map(|slots| slots[self.chosen[row].0]));
    }
}

/// The places of a column: its slots, "new" and "missing".
fn places_of(column: &Column) -> usize {
    column.n_slots() + 2
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

fn weighted_mean(values: &[f64], weights: &[f32]) -> f64 {
    let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
    values.iter().zip(weights).map(|(value, weight)| value * f64::from(*weight)).sum::<f64>() / total.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{Encoded, Layout};

    /// Columns of three categories each, their slots, and the sample they come from.
    fn table(rows: &[[u32; 3]]) -> (Vec<Column>, Vec<Vec<u16>>, Sample) {
        let layout = Layout::new(0, vec![3; 3]);
        let all = Encoded::new(rows.len(), rows.concat(), vec![]);
        let sample = Sample::new(&all, 3);
        let column = |group: usize| {
            let mut counts = vec![0; 3];
            for (row, copies) in sample.counts.iter().enumerate() {
                counts[sample.rows.codes(row)[group] as usize] += copies;
            }
            Column::group(&layout, group, counts)
        };
        let columns: Vec<Column> = (0..3).map(column).collect();
        let slot = |group: usize, row: usize| columns[group].slot_of_code(sample.rows.codes(row)[group]);
        let slots = (0..3).map(|group| (0..sample.rows.n_rows()).map(|row| slot(group, row)).collect()).collect();
        (columns, slots, sample)
    }

    fn surprise(classes: &Classes, slots: [u16; 3]) -> f64 {
        classes.surprise(&slots, false, |_| None, &mut ClassScratch::default())
    }

    /// In 300 rows the first two cells are the same, and the third is 0, 1 or 2 in turn.
    fn coupled() -> Vec<[u32; 3]> {
        (0..300).map(|row| [row / 7 % 2, row / 7 % 2, row % 3]).collect()
    }

    #[test]
    fn the_probabilities_of_all_rows_sum_to_one() {
        let (columns, slots, sample) = table(&coupled());
        let classes = Classes::learn(&columns, &slots, &sample);
        let mut total = 0.0;
        for a in 0..4 {
            for b in 0..4 {
                for c in 0..4 {
                    total += (-surprise(&classes, [a, b, c])).exp();
                }
            }
        }
        assert!((total - 1.0).abs() < 1e-4, "{total}");
    }

    #[test]
    fn a_part_of_a_row_tells_the_chances_of_the_rest() {
        let (columns, slots, sample) = table(&coupled());
        let classes = Classes::learn(&columns, &slots, &sample);
        // P(cell | known) = Σ P(row) / Σ P(row), over all rows that have what is known.
        let share = |fits: &dyn Fn([u16; 3]) -> bool| {
            let mut total = 0.0;
            for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
                let rows = (0..4).map(|c| [a, b, c]).filter(|row| fits(*row));
                total += rows.map(|row| (-surprise(&classes, row)).exp()).sum::<f64>();
            }
            total
        };
        let within = classes.within(&[1, NOTHING, NOTHING]);
        for slot in 0..3 {
            let expected = share(&|row| row[0] == 1 && row[1] == slot) / share(&|row| row[0] == 1);
            let chance = classes.chance(1, slot as usize, &within);
            assert!((chance - expected).abs() < 1e-4, "{slot}: {chance}, not {expected}");
        }
        assert!(classes.chance(1, 1, &within) > 0.9);
        assert!(Classes::default().within(&[1, 0]).is_empty());
    }

    #[test]
    fn classes_are_found_where_cells_go_together_and_not_where_they_do_not() {
        let (columns, slots, sample) = table(&coupled());
        let classes = Classes::learn(&columns, &slots, &sample);
        assert!(classes.rows.len() > 1);
        // Half of the rows have 0 and 0, a third of these a 0 behind them; 0 and 1 never stand together.
        assert!((surprise(&classes, [0, 0, 0]) - 6.0f64.ln()).abs() < 0.1);
        assert!(surprise(&classes, [0, 1, 0]) > 4.0);
        let independent: Vec<[u32; 3]> = (0..300).map(|row| [row % 2, row / 2 % 3, row / 6 % 2]).collect();
        let (columns, slots, sample) = table(&independent);
        assert_eq!(Classes::learn(&columns, &slots, &sample).rows.len(), 1);
    }

    #[test]
    fn one_class_is_the_product_of_shares_and_a_row_can_be_left_out() {
        let rows: Vec<[u32; 3]> = vec![[0, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1], [2, 1, 0]];
        let (columns, slots, sample) = table(&rows);
        let classes = Classes::learn(&columns, &slots, &sample);
        assert_eq!(classes.rows, [5.0]);
        // By hand. P(new) of the first column is (2 + ½)/6, so P(0) = (7/12)·3/5 = 0.35, and in the class (3 + 0.35)/6.
        // Both others have no value that occurs once: P(new) = ½/6, P(0) = (11/12)·3/5 = 0.55, and (3 + 0.55)/6.
        let expected = -(3.35f64 / 6.0).ln() - 2.0 * (3.55f64 / 6.0).ln();
        assert!((surprise(&classes, [0, 0, 0]) - expected).abs() < 1e-5);
        let own = |cell: usize| Some(columns[cell].leave_out([0, 0, 1][cell]));
        let left_out = classes.surprise(&[0, 0, 1], true, own, &mut ClassScratch::default());
        let others: Vec<[u32; 3]> = rows.iter().copied().filter(|row| *row != [0, 0, 1]).collect();
        let (columns, slots, sample) = table(&others);
        let without = Classes::learn(&columns, &slots, &sample);
        // The third column then has one value that occurs once; 1 is that value, so it counts as what it is.
        assert!((left_out - surprise(&without, [0, 0, 1])).abs() < 1e-5, "{left_out}");
    }
}
