//! How odd values are by themselves and by the company they keep: where a walker between them is found (coupled biased
//! random walks, Pang, Cao and Chen 2016).
//!
//! In a table of animals, `venomous = yes` is rare, and so are most values that go with it. The walker moves from a value u
//! to a value v of another column with a probability proportional to
//!
//! n(u, v)·g(v), g(v) = δ(v)/n(v), δ(v) = ½ ((n(m) − n(v))/n(m) + 1 − n(m)/n),
//!
//! where n are rows and m is the most common value of v's column. With probability 1 − α it jumps to any value. Where it
//! is found in the long run, π, is how odd a value is; a column weighs as much as all its values, and a row has
//!
//! Σ_f w_f·π(x_f), w_f = Σ_{v ∈ f} π(v).
//!
//! `detectors/value_graph.rs` walks with a matrix of all pairs. Here a step goes over the rows instead: n(u, v) summed over
//! all v is, for each row that has u, the sum over its other cells. So memory does not grow with the pairs of values.
//!
//! Only categories take part. A missing one has no value. What was never seen is twice as odd as the oddest value; so is a
//! value that no other row has, when its row is left out. All else stays as it is then: one row moves the walker little.

use super::column::{Column, LeftOut, MISSING, NOTHING};
use super::sample::Sample;
use crate::error::stop_point;

/// α.
const DAMPING: f64 = 0.95;
/// A change of π that ends the walk.
const TOLERANCE: f64 = 1e-12;
/// Steps, at the most; α¹⁰⁰⁰ is far below the tolerance.
const MOST_STEPS: usize = 1000;
/// How much more odd than the oddest value one is that was never seen.
const UNSEEN: f64 = 2.0;
/// Rows with which values by themselves have half of the share that they have with fewest.
const FEW_ROWS: f64 = 5000.0;
/// The share that values by themselves have at the most: one of two views.
const HALF: f64 = 0.5;

/// How odd the values of a table are; nothing where fewer than two columns are choices.
#[derive(Debug, Clone, Default)]
pub(super) struct Walk {
    /// [cells + 1]: where the values of a column begin; a column without any takes no part.
    starts: Vec<usize>,
    /// w_f·π(v) of each value, and behind them that of one that was never seen.
    pub parts: Vec<f64>,
}

impl Walk {
    /// Walks over the rows that tails are learned from; `slots` are [cells][rows].
    pub fn learn(columns: &[Column], slots: &[Vec<u16>], sample: &Sample) -> Self {
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
        let found = rows.walk(&pulls(&starts, &counts));
        let mut parts = found.clone();
        for bounds in starts.windows(2) {
            let weight: f64 = found[bounds[0]..bounds[1]].iter().sum();
            parts[bounds[0]..bounds[1]].iter_mut().for_each(|part| *part *= weight);
        }
        let seen = parts.iter().zip(&counts).filter(|(_, count)| **count > 0.0);
        let unseen = UNSEEN * seen.map(|(part, _)| *part).fold(0.0, f64::max);
        // Values that only rows beyond the sample have are as good as never seen.
        for (part, _) in parts.iter_mut().zip(&counts).filter(|(_, count)| **count == 0.0) {
            *part = unseen;
        }
        parts.push(unseen);
        Self { starts, parts }
    }

    /// From what was kept: as many parts as [`Self::n_parts`].
    pub fn restored(columns: &[Column], parts: Vec<f64>) -> Self {
        Self { starts: starts(columns), parts }
    }

    /// The values of all columns that take part, and one more.
    pub fn n_parts(columns: &[Column]) -> usize {
        starts(columns)[columns.len()] + 1
    }

    /// How odd the values of a row are; `own` tells what becomes of a cell whose row is left out.
    pub fn oddness(&self, slots: &[u16], own: impl Fn(usize) -> Option<LeftOut>) -> f64 {
        let of_cell = |(cell, bounds): (usize, &[usize])| {
            if bounds[0] == bounds[1] || matches!(slots[cell], MISSING | NOTHING) {
                return 0.0;
            }
            let slot = own(cell).map_or(usize::from(slots[cell]), |left_out| left_out.slot);
            let value = bounds[0] + slot;
            self.parts[if value < bounds[1] { value } else { self.parts.len() - 1 }]
        };
        self.starts.windows(2).enumerate().map(of_cell).sum()
    }
}

/// The share of the score that values by themselves have: half of it where all columns are categories and rows are few, and
/// the less, the more rows there are to tell about combinations.
pub(super) fn share_of_values(columns: &[Column], categories: f64) -> f64 {
    let n_rows = columns.iter().map(Column::n_rows).fold(0.0, f64::max);
    let takes_part = starts(columns)[columns.len()] > 0;
    if takes_part { HALF * categories * categories * FEW_ROWS / (FEW_ROWS + n_rows) } else { 0.0 }
}

/// Where the values of each column begin, and where the last one's end.
fn starts(columns: &[Column]) -> Vec<usize> {
    let takes_part = |column: &&Column| column.bins.is_none() && column.speaks && column.varies();
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
    fn walk(&self, pulls: &[f64]) -> Vec<f64> {
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
            let jumps = (1.0 - DAMPING + DAMPING * lost) * even;
            let come = self.to_others(&flows);
            let next: Vec<f64> = come.iter().zip(pulls).map(|(come, pull)| jumps + DAMPING * pull * come).collect();
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
mod tests {
    use super::*;
    use crate::columns::{Encoded, Layout};

    /// The twelve people of the paper: gender, education, marriage and income.
    const PEOPLE: [[u32; 4]; 12] = [
        [0, 0, 0, 0],
        [1, 0, 1, 1],
        [0, 0, 2, 2],
        [0, 1, 1, 1],
        [1, 0, 0, 2],
        [0, 2, 1, 2],
        [0, 0, 2, 2],
        [1, 2, 2, 1],
        [0, 2, 1, 1],
        [0, 1, 2, 0],
        [1, 2, 1, 1],
        [0, 0, 2, 0],
    ];

    fn walk_of(rows: &[[u32; 4]]) -> (Vec<Column>, Walk) {
        let layout = Layout::new(0, vec![2, 3, 3, 3]);
        let sample = Sample::new(&Encoded::new(rows.len(), rows.as_flattened().to_vec(), vec![]), 4);
        let column = |group: usize| {
            let mut counts = vec![0; layout.size(group)];
            rows.iter().for_each(|row| counts[row[group] as usize] += 1);
            Column::group(&layout, group, counts)
        };
        let columns: Vec<Column> = (0..4).map(column).collect();
        let slots_of = |group: usize| {
            let slot = |row: usize| columns[group].slot_of_code(sample.rows.codes(row)[group]);
            (0..sample.rows.n_rows()).map(slot).collect()
        };
        let slots: Vec<Vec<u16>> = (0..4).map(slots_of).collect();
        let walk = Walk::learn(&columns, &slots, &sample);
        (columns, walk)
    }

    fn slots(columns: &[Column], row: [u32; 4]) -> Vec<u16> {
        row.iter().zip(columns).map(|(code, column)| column.slot_of_code(*code)).collect()
    }

    /// Values of `reference/cbrw.py` in the benchmarks, which writes the walk out with numpy.
    #[test]
    fn the_papers_example() {
        let (columns, walk) = walk_of(&PEOPLE);
        let expected = [(0, 0.105_763_323_188_089_81), (1, 0.079_574_374_842_779_78), (8, 0.072_596_825_531_934_97)];
        for (row, expected) in expected {
            let oddness = walk.oddness(&slots(&columns, PEOPLE[row]), |_| None);
            assert!((oddness - expected).abs() < 1e-9, "{row}: {oddness}, not {expected}");
        }
    }

    #[test]
    fn a_value_that_no_other_row_has_is_new_without_its_row() {
        let mut people = PEOPLE.to_vec();
        people[3][3] = 1;
        people.iter_mut().for_each(|row| row[1] = row[1].min(1));
        people[0][1] = 2;
        let (columns, walk) = walk_of(&people);
        let own = slots(&columns, people[0]);
        let left_out = |cell: usize| Some(columns[cell].leave_out(usize::from(own[cell])));
        let unseen = *walk.parts.last().expect("the part of a new value");
        let value = walk.parts[2 + 2];
        let gained = walk.oddness(&own, left_out) - walk.oddness(&own, |_| None);
        assert!((gained - (unseen - value)).abs() < 1e-12 && gained > 0.0, "{gained}");
        let mut new = own.clone();
        new[1] = 3;
        assert_eq!(walk.oddness(&new, |_| None), walk.oddness(&own, left_out));
        new[1] = MISSING;
        assert!(walk.oddness(&new, |_| None) < walk.oddness(&own, |_| None));
    }

    #[test]
    fn one_column_has_no_walk() {
        let people: Vec<[u32; 4]> = PEOPLE.iter().map(|row| [0, row[1], 0, 0]).collect();
        let (columns, walk) = walk_of(&people);
        assert_eq!(walk.oddness(&slots(&columns, people[0]), |_| None), 0.0);
        assert_eq!(share_of_values(&columns, 1.0), 0.0);
        let (columns, _) = walk_of(&PEOPLE);
        let half = 5000.0 / 5012.0 / 2.0;
        assert!((share_of_values(&columns, 1.0) - half).abs() < 1e-12);
        assert!((share_of_values(&columns, 0.5) - half / 4.0).abs() < 1e-12);
    }
}
