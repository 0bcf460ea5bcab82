//! A score made of cells: how surprising each cell is given the rest of its row, and how it differs from similar rows.
//!
//! In a table of employees, `department = Finance` beside `floor = 3` and `manager = Ana` is odd where all others with
//! that floor and manager are in Marketing. Each column is a choice among slots, bins for numbers (`bins.rs`,
//! `column.rs`). How often values of two columns occur together (`link.rs`) is pooled into the probability of each
//! value a cell could have, given the rest of the row (`pool.rs`), with weights that predict held-out cells best
//! (`weights.rs`). Neighbours speak in cells too (`neighbours.rs`). Each kind of evidence counts by how few held-out
//! cells of its column have as much (`tail.rs`). The score comes from the sum over cells and kinds, from how likely the
//! row is as a whole (`classes.rs`), in small tables from how odd its values are wherever they stand (`walk.rs`), and from
//! the largest cell where that one stands out (`evidence.rs`).
//!
//! The parts share the score out in proportion to how much each cell is to blame by the same probabilities; a cell that
//! holds what was expected has none, and where all cells do, the whole score is the base.
//!
//! - A missing number says nothing; its absence is a category of its group. A missing category has a probability of its
//!   own (`absence.rs`), and says nothing about other cells.
//! - A category that training never saw has the probability of a new one, as often as values occurred once; it says
//!   nothing about other cells.
//! - Rows that were trained on can be judged as if they had not been: every count, neighbour and tail is then without
//!   the row itself. What all rows together have chosen, the bins and the weights, stays.
//!
//! The same probabilities fill blank cells, with draws or with the likeliest values (`draw.rs`).
//!
//! What is set aside in all rows (`crate::drift`) would leave the other cells with less to explain them than usual. So
//! how much evidence is usual is then learned anew from rows that lack it too (`without.rs`).
//!
//! The model is a function of the rows, not of their order nor of a seed: where there are too many, a hash of a row's
//! content chooses.
//!
//! # Training rows in the model
//!
//! Up to 8,000 distinct training rows are kept as codes and scaled numbers, for neighbours, and can be read back
//! together with the schema, as with `knn`. All else that is kept are counts of single values and of pairs of values,
//! and for each number its bins and its extremes.

mod absence;
mod balance;
mod bins;
mod classes;
mod column;
mod draw;
mod evidence;
mod fit;
mod link;
mod neighbours;
mod pool;
mod said;
mod sample;
mod screen;
mod storage;
mod tail;
mod walk;
mod weights;
mod without;

use std::sync::OnceLock;

use rayon::prelude::*;

use absence::Absence;
use balance::Balance;
use classes::Classes;
use column::Column;
use evidence::View;
use neighbours::References;
use pool::Target;
use sample::{Limits, Membership};
use tail::Tails;
use walk::Walk;
use without::Without;

use crate::columns::{Encoded, Layout, hash_row};
use crate::density::BulkTail;
use crate::detectors::{Blanks, Detector, Expected, Guess, NoSettings, Split};
use crate::error::{Result, stop_point};
use crate::train::Run;

/// Rows that a thread takes at a time.
const ROWS_PER_TASK: usize = 64;

/// What is known of each column, of columns given each other, and of the nearest rows.
#[derive(Debug, Clone)]
pub struct Cells {
    layout: Layout,
    limits: Limits,
    /// Numbers first, then groups.
    columns: Vec<Column>,
    targets: Vec<Target>,
    /// [cells]: of those that can miss their value.
    absences: Vec<Option<Absence>>,
    references: References,
    classes: Classes,
    walk: Walk,
    /// The share of the columns that are categories.
    categories: f64,
    /// The share of the score that values by themselves have.
    by_values: f64,
    /// How much evidence is usual in whole rows.
    tails: Tails,
    /// The same in rows that lack what is set aside.
    without: Without,
    /// What keeps columns as frequent as they were when rows are drawn; made when it is first needed.
    balance: OnceLock<Balance>,
}

/// How the training rows fell in a cell.
#[derive(Debug, Clone, Copy)]
pub struct TrainingCounts<'a> {
    /// Rows of each category, or of each bin of a number.
    pub rows: &'a [u32],
    /// Of each bin the smallest number, the 5 % and 95 % points, and the largest.
    pub knots: &'a [[f32; 4]],
    /// The category that means missing, where it is counted apart.
    pub missing: Option<u32>,
    /// Rows that miss their value, where they are counted apart.
    pub n_missing: u32,
}

impl Cells {
    /// Learns from all rows.
    pub fn fit(_: &NoSettings, layout: &Layout, [training, validation]: [&Encoded; 2], _: Run<'_>) -> Result<Self> {
        fit::fit(layout, &training.concat(validation))
    }

    /// There are no settings.
    pub fn config(&self) -> &NoSettings {
        &NoSettings {}
    }

    /// How the training rows fell in a cell: numbers first, then groups.
    pub fn training_counts(&self, cell: usize) -> TrainingCounts<'_> {
        let Column { counts, bins, missing, n_missing, .. } = &self.columns[cell];
        let knots = bins.as_ref().map_or(&[][..], |bins| &bins.knots);
        TrainingCounts { rows: counts, knots, missing: *missing, n_missing: *n_missing }
    }

    /// How much evidence is usual in the rows that are judged now.
    fn tails(&self) -> &Tails {
        self.without.tails().unwrap_or(&self.tails)
    }

    /// Where a row takes part, if it is a training row to be left out.
    fn membership(&self, codes: &[u32], numbers: &[f32], left_out: bool) -> Membership {
        if left_out { self.limits.membership(hash_row(codes, numbers)) } else { Membership::default() }
    }

    fn split_rows(&self, rows: &Encoded, left_out: bool) -> Split {
        let n_cells = self.layout.n_cells();
        let split = map_rows(
            rows,
            || View::for_reasons(self),
            |view, codes, numbers| {
                view.look(codes, numbers, self.membership(codes, numbers, left_out));
                let mut parts = view.blame().to_vec();
                let (score, total) = (view.score(), parts.iter().sum::<f64>());
                if total > 0.0 {
                    parts.iter_mut().for_each(|part| *part *= score / total);
                    (0.0, parts)
                } else {
                    (score, parts)
                }
            },
        );
        let base = split.iter().map(|(base, _)| *base).collect();
        Split { base, parts: split.into_iter().flat_map(|(_, parts)| parts).collect(), n_cells }
    }

    fn expected_in(&self, rows: &Encoded, asked: &[bool], left_out: bool) -> Expected {
        let (n_cells, n_numbers) = (self.layout.n_cells(), self.layout.n_numbers());
        let of_row = |view: &mut View<'_>, row: usize| {
            stop_point();
            let (codes, numbers) = (rows.codes(row), rows.numbers(row));
            view.show(codes, numbers, self.membership(codes, numbers, left_out));
            let mut ranges = vec![[0.0; 2]; n_numbers];
            let mut probabilities = vec![0.0; self.layout.width() - n_numbers];
            let mut seen = vec![0.0; n_cells];
            for cell in (0..n_cells).filter(|cell| asked[row * n_cells + cell]) {
                if cell < n_numbers {
                    (ranges[cell], seen[cell]) = view.range(cell);
                } else {
                    let places = self.layout.group(cell - n_numbers);
                    let places = places.start - n_numbers..places.end - n_numbers;
                    seen[cell] = view.categories(cell, &mut probabilities[places]);
                }
            }
            (ranges, probabilities, seen)
        };
        let rows = (0..rows.n_rows()).into_par_iter().with_min_len(ROWS_PER_TASK);
        let all: Vec<_> = rows.map_init(|| View::new(self), of_row).collect();
        let mut expected = Expected { ranges: Vec::new(), probabilities: Vec::new(), seen: Vec::new() };
        for (ranges, probabilities, seen) in all {
            expected.ranges.extend(ranges);
            expected.probabilities.extend(probabilities.into_iter().map(share));
            expected.seen.extend(seen.into_iter().map(share));
        }
        expected
    }
}

/// A probability as it is shown. Rounding may leave one a little above 1, and a column without a single value has none.
fn share(p: f32) -> f32 {
    if p.is_nan() { 0.0 } else { p.clamp(0.0, 1.0) }
}

impl Detector for Cells {
    fn score(&self, rows: &Encoded) -> Vec<f64> {
        map_rows(
            rows,
            || View::new(self),
            |view, codes, numbers| {
                view.look(codes, numbers, Membership::default());
                view.score()
            },
        )
    }

    fn split(&self, rows: &Encoded) -> Split {
        self.split_rows(rows, false)
    }

    fn expected(&self, rows: &Encoded, asked: &[bool]) -> Option<Expected> {
        Some(self.expected_in(rows, asked, false))
    }

    fn category_counts(&self) -> Option<Vec<u32>> {
        let of_group = |column: &Column| {
            let mut counts = column.counts.clone();
            if let Some(missing) = column.missing {
                counts[missing as usize] = column.n_missing;
            }
            counts
        };
        Some(self.columns[self.layout.n_numbers()..].iter().flat_map(of_group).collect())
    }

    fn knows_absent(&self) -> bool {
        true
    }

    fn used_to(&self, lacking: &[bool]) -> Option<Box<dyn Detector + '_>> {
        let mut own = self.clone();
        own.without = std::mem::take(&mut own.without).choose(&own, lacking);
        Some(Box::new(own))
    }

    fn draw(&self, blanks: &Blanks<'_>) -> Option<Encoded> {
        Some(self.draw_blanks(blanks))
    }

    fn guess(&self, blanks: &Blanks<'_>) -> Option<Vec<(usize, usize, Guess)>> {
        Some(self.guess_blanks(blanks))
    }

    fn leaves_out(&self) -> bool {
        true
    }

    fn known_tail(&self) -> Option<BulkTail> {
        Some(BulkTail { from: evidence::TAIL_FROM, step: evidence::TAIL_STEP })
    }

    fn split_left_out(&self, rows: &Encoded) -> Option<Split> {
        Some(self.split_rows(rows, true))
    }

    fn expected_left_out(&self, rows: &Encoded, asked: &[bool]) -> Option<Expected> {
        Some(self.expected_in(rows, asked, true))
    }
}

/// Something for each row, in parallel, with room that a thread's rows share.
fn map_rows<S, T: Send>(
    rows: &Encoded,
    room: impl Fn() -> S + Sync + Send,
    value: impl Fn(&mut S, &[u32], &[f32]) -> T + Sync + Send,
) -> Vec<T> {
    let of_row = |room: &mut S, row: usize| {
        stop_point();
        value(room, rows.codes(row), rows.numbers(row))
    };
    (0..rows.n_rows()).into_par_iter().with_min_len(ROWS_PER_TASK).map_init(room, of_row).collect()
}

#[cfg(test)]
mod tests;
