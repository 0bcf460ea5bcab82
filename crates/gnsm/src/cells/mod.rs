//! A score made of cells: how surprising each cell is given the rest of its row, and how it differs from similar rows.
//!
//! In a table of employees, `department = Finance` beside `floor = 3` and `manager = Ana` is odd where all others with
//! that floor and manager are in Marketing. A row passes through in this order:
//!
//! ```text
//! rows ─ experts ────── evidence ─ calibrate ─ combine ─ score
//! slots  conditional               how much    six figures,
//!        neighbours                is usual    one recipe
//!        classes          └────── blame ─ reasons
//!        walk
//!        usual
//! ```
//!
//! - `rows` finds the slot of each cell, once for a batch.
//! - The experts answer one question each: how likely is each value of a cell given the rest of its row
//!   (`conditional`); what sets the row apart from the nearest ones (`neighbours`); how likely is the row as a whole
//!   (`classes`); how odd are its values wherever they stand (`walk`); how far is it from the most usual rows (`usual`).
//! - `experts` gathers their answers as the evidence of a row.
//! - `calibrate` tells how few held-out cells and rows have as much evidence. It leaves odd rows out of what is usual.
//! - `combine` makes the score of that.
//! - `recipe` has every constant that changes a score.
//! - `blame` shares the score out among the cells, by the same opinions.
//!
//! - A missing number tells nothing; its absence is a category of its group. A missing category has a probability of
//!   its own, and tells nothing about other cells.
//! - A category that training never saw has the probability of a new one, as often as values occurred once; it tells
//!   nothing about other cells.
//! - Rows that were trained on can be judged as if they had not been: every count, neighbour and tail is then without
//!   the row itself. What all rows together have chosen, the bins and the weights, stays.
//!
//! The same probabilities fill blank cells, with draws or with the likeliest values (`draw`).
//!
//! What is set aside in all rows (`crate::drift`) would leave the other cells with less to explain them than usual. So
//! how much evidence is usual is then learned anew from rows that lack it too (`calibrate/without.rs`).
//!
//! The model is a function of the rows, not of their order nor of a seed: where there are too many, a hash of a row's
//! content chooses (`sample`).
//!
//! # Training rows in the model
//!
//! Up to 8,000 distinct training rows are kept as codes and scaled numbers, for neighbours, and can be read back
//! together with the schema, as with `knn`. All else that is kept are counts of single values and of pairs of values,
//! and for each number its bins and its extremes.

mod recipe;
mod rows;
mod sample;
mod conditional;
mod neighbours;
mod classes;
mod walk;
mod usual;
mod experts;
mod calibrate;
mod combine;
mod blame;
mod draw;
mod fit;
mod storage;

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

#[doc(hidden)]
pub use combine::{Figures, Kinds};
#[doc(hidden)]
pub use recipe::Recipe;

use calibrate::{Tails, Without};
use combine::Evidence;
use conditional::Column;
use draw::Balance;
use experts::Experts;
use rows::{Batch, RowSlots};
use sample::Limits;

use crate::columns::{Encoded, Layout};
use crate::density::BulkTail;
use crate::detectors::{Blanks, Detector, Expected, Guess, Split};
use crate::error::Result;
use crate::train::Run;

/// Rows that a thread takes at a time.
const ROWS_PER_TASK: usize = 64;

/// There is nothing to set, but for experiments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CellsSettings {
    /// The constants of the score. To change one is to leave what was measured.
    #[serde(skip_serializing_if = "Recipe::is_usual")]
    #[doc(hidden)]
    pub recipe: Recipe,
}

impl CellsSettings {
    /// There is nothing to check.
    pub fn validate(&self) -> Result<()> {
        Ok(())
    }
}

/// What experts know, and how much of their evidence is usual.
#[derive(Debug, Clone)]
pub struct Cells {
    settings: CellsSettings,
    limits: Limits,
    experts: Experts,
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
    pub fn fit(
        settings: &CellsSettings,
        layout: &Layout,
        [training, validation]: [&Encoded; 2],
        _: Run<'_>,
    ) -> Result<Self> {
        fit::fit(settings, layout, &training.concat(validation))
    }

    fn new(settings: CellsSettings, limits: Limits, experts: Experts, tails: Tails) -> Self {
        Self { settings, limits, experts, tails, without: Without::default(), balance: OnceLock::new() }
    }

    /// The settings it was fitted with.
    pub fn config(&self) -> &CellsSettings {
        &self.settings
    }

    /// How the training rows fell in a cell: numbers first, then groups.
    pub fn training_counts(&self, cell: usize) -> TrainingCounts<'_> {
        let Column { counts, bins, missing, n_missing, .. } = &self.columns()[cell];
        let knots = bins.as_ref().map_or(&[][..], |bins| &bins.knots);
        TrainingCounts { rows: counts, knots, missing: *missing, n_missing: *n_missing }
    }

    fn recipe(&self) -> &Recipe {
        &self.settings.recipe
    }

    fn layout(&self) -> &Layout {
        &self.experts.conditional.layout
    }

    /// Numbers first, then groups.
    fn columns(&self) -> &[Column] {
        &self.experts.conditional.columns
    }

    /// Rows to judge, each as if it had not been learned from if it is to be left out.
    fn batch<'a>(&self, rows: &'a Encoded, left_out: bool) -> Batch<'a> {
        if left_out { Batch::left_out(self.columns(), rows, &self.limits) } else { Batch::new(self.columns(), rows) }
    }

    /// The scores of rows whose usual evidence these tails tell.
    fn scores(&self, tails: &Tails, batch: &Batch<'_>) -> Vec<f64> {
        let score = |row: RowSlots<'_>, scratch: &mut _| self.score_of(tails, row, self.experts.evidence(row, scratch));
        self.experts.map_rows(batch, score)
    }

    /// The score of a row with this evidence.
    fn score_of(&self, tails: &Tails, row: RowSlots<'_>, evidence: &Evidence) -> f64 {
        let totals = tails.figures(self.recipe(), evidence, row.learned_from.calibrated);
        combine::score(self.recipe(), self.experts.shares, &tails.nats(&totals.figures))
    }

    /// How much evidence is usual in rows that lack these cells: in those among which neighbours are looked for.
    fn tails_without(&self, lacking: &[bool]) -> Tails {
        let (mut rows, hashes, copies) = self.experts.neighbours.rows();
        lacking.iter().enumerate().filter(|(_, lacking)| **lacking).for_each(|(cell, _)| rows.take_out(cell));
        fit::tails_of(&self.settings, &self.experts, &rows, &hashes, &copies)
    }
}

impl Detector for Cells {
    fn score(&self, rows: &Encoded) -> Vec<f64> {
        self.scores(&self.tails, &self.batch(rows, false))
    }

    fn split(&self, rows: &Encoded) -> Split {
        self.score_and_split(rows).1
    }

    fn score_and_split(&self, rows: &Encoded) -> (Vec<f64>, Split) {
        blame::split(self, &self.tails, &self.batch(rows, false))
    }

    fn expected(&self, rows: &Encoded, asked: &[bool]) -> Option<Expected> {
        Some(blame::expected(self, &self.batch(rows, false), asked))
    }

    fn category_counts(&self) -> Option<Vec<u32>> {
        let of_group = |column: &Column| {
            let mut counts = column.counts.clone();
            if let Some(missing) = column.missing {
                counts[missing as usize] = column.n_missing;
            }
            counts
        };
        Some(self.columns()[self.layout().n_numbers()..].iter().flat_map(of_group).collect())
    }

    fn knows_absent(&self) -> bool {
        true
    }

    fn used_to(&self, lacking: &[bool]) -> Option<Box<dyn Detector + '_>> {
        let tails = self.without.tails(lacking, || self.tails_without(lacking));
        Some(Box::new(UsedTo { cells: self, tails }))
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
        Some(self.recipe().tail())
    }

    fn score_left_out(&self, rows: &Encoded) -> Option<Vec<f64>> {
        Some(self.scores(&self.tails, &self.batch(rows, true)))
    }

    fn split_left_out(&self, rows: &Encoded) -> Option<(Vec<f64>, Split)> {
        Some(blame::split(self, &self.tails, &self.batch(rows, true)))
    }

    fn expected_left_out(&self, rows: &Encoded, asked: &[bool]) -> Option<Expected> {
        Some(blame::expected(self, &self.batch(rows, true), asked))
    }
}

/// The same detector, used to rows that lack some cells.
struct UsedTo<'a> {
    cells: &'a Cells,
    tails: Arc<Tails>,
}

impl Detector for UsedTo<'_> {
    fn score(&self, rows: &Encoded) -> Vec<f64> {
        self.cells.scores(&self.tails, &self.cells.batch(rows, false))
    }

    fn split(&self, rows: &Encoded) -> Split {
        self.score_and_split(rows).1
    }

    fn score_and_split(&self, rows: &Encoded) -> (Vec<f64>, Split) {
        blame::split(self.cells, &self.tails, &self.cells.batch(rows, false))
    }

    fn expected(&self, rows: &Encoded, asked: &[bool]) -> Option<Expected> {
        self.cells.expected(rows, asked)
    }

    fn category_counts(&self) -> Option<Vec<u32>> {
        self.cells.category_counts()
    }

    fn knows_absent(&self) -> bool {
        true
    }

    fn known_tail(&self) -> Option<BulkTail> {
        self.cells.known_tail()
    }
}

#[cfg(test)]
mod tests;
