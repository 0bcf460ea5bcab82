//! What every detector can do.

use rayon::prelude::*;

use super::blanks::{Blanks, Guess};
use crate::columns::{Encoded, Layout};
use crate::density::BulkTail;
use crate::error::stop_point;

/// Rows that a thread takes at a time.
pub(super) const ROWS_PER_TASK: usize = 256;

/// A fitted detector.
pub trait Detector: Send + Sync {
    /// A score for each row, from the row alone.
    fn score(&self, rows: &Encoded) -> Vec<f64>;

    /// Whether scoring a row takes less time than finding out whether it repeats another.
    fn is_quick(&self) -> bool {
        false
    }

    /// Each row's score as a base and a part for each cell; they sum to the score.
    fn split(&self, rows: &Encoded) -> Split;

    /// [`Self::score`] and [`Self::split`] with the same bits, in one pass where that saves work.
    fn score_and_split(&self, rows: &Encoded) -> (Vec<f64>, Split) {
        (self.score(rows), self.split(rows))
    }

    /// What was expected in the cells that are `asked` about, [rows, cells], if the method can say. What it returns for
    /// other cells has no meaning.
    fn expected(&self, _rows: &Encoded, _asked: &[bool]) -> Option<Expected> {
        None
    }

    /// The rows with their blanks filled by draws, if the method can do that.
    fn draw(&self, _blanks: &Blanks<'_>) -> Option<Encoded> {
        None
    }

    /// What most likely stands in each blank, with its row and cell, if the method can say.
    fn guess(&self, _blanks: &Blanks<'_>) -> Option<Vec<(usize, usize, Guess)>> {
        None
    }

    /// How many of the rows it was fitted on have each category, [places of all groups], if the method knows.
    fn category_counts(&self) -> Option<Vec<u32>> {
        None
    }

    /// Whether a cell may be left out ([`crate::columns::ABSENT`], NaN). It is then no part of the score, and no
    /// evidence about other cells.
    fn knows_absent(&self) -> bool {
        false
    }

    /// The same detector, used to rows that all lack these cells (numbers first, then groups), if it can get used to that.
    fn used_to(&self, _lacking: &[bool]) -> Option<Box<dyn Detector + '_>> {
        None
    }

    /// Whether a row that it was fitted on can be judged as if it had not been part of the fit, by `split_left_out` and
    /// `expected_left_out`.
    fn leaves_out(&self) -> bool {
        false
    }

    /// How fast scores become rare among usual rows, in the worst case. `None` if the method does not know; then it is
    /// estimated from the scores.
    fn known_tail(&self) -> Option<BulkTail> {
        None
    }

    /// The scores of rows that it learned from, each judged as if it had not; `None` if the method cannot do that.
    fn score_left_out(&self, _rows: &Encoded) -> Option<Vec<f64>> {
        None
    }

    /// The same scores, and these taken apart as `split` does.
    fn split_left_out(&self, _rows: &Encoded) -> Option<(Vec<f64>, Split)> {
        None
    }

    /// The same as `expected`, for rows that it learned from: each is judged as if it had not been part of the fit.
    fn expected_left_out(&self, _rows: &Encoded, _asked: &[bool]) -> Option<Expected> {
        None
    }
}

/// What was expected in the cells of some rows, given the rest of each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// The limits of each scaled number, [rows, numbers].
    pub ranges: Vec<[f32; 2]>,
    /// The probabilities of each group's categories, [rows, places of all groups].
    pub probabilities: Vec<f32>,
    /// The probability of what was seen, [rows, cells]: of the category, or of a number at least as far out. Empty
    /// where the method cannot say.
    pub seen: Vec<f32>,
}

/// Scores taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// For each row the part that no cell is responsible for.
    pub base: Vec<f64>,
    /// For each row a part for each cell: numbers first, then groups.
    pub parts: Vec<f64>,
    /// Cells of a row.
    pub n_cells: usize,
}

impl Split {
    /// The parts of a row.
    pub fn parts(&self, row: usize) -> &[f64] {
        &self.parts[row * self.n_cells..][..self.n_cells]
    }

    /// The base and all parts of each row, summed.
    pub fn sums(&self) -> Vec<f64> {
        self.base.iter().enumerate().map(|(row, base)| base + self.parts(row).iter().sum::<f64>()).collect()
    }
}

/// A detector whose score is a base and a part for each cell of the row.
pub trait ScoreByCell: Send + Sync {
    /// The shape of the rows.
    fn layout(&self) -> &Layout;

    /// Writes the part of each cell, numbers first, then groups; returns the base.
    fn split_row(&self, codes: &[u32], numbers: &[f32], parts: &mut [f64]) -> f64;

    /// The score of each row by a shorter way than the sum of its cells, if there is one.
    fn scores(&self, _rows: &Encoded) -> Option<Vec<f64>> {
        None
    }

    /// Whether to score a row takes less time than to find out whether it repeats another.
    fn is_quick(&self) -> bool {
        false
    }

    /// What was expected in each cell, if the method can say.
    fn expected_cells(&self, _rows: &Encoded) -> Option<Expected> {
        None
    }
}

impl<T: ScoreByCell> Detector for T {
    fn score(&self, rows: &Encoded) -> Vec<f64> {
        let row_score = |parts: &mut Vec<f64>, row: usize| {
            stop_point();
            parts.fill(0.0);
            self.split_row(rows.codes(row), rows.numbers(row), parts) + parts.iter().sum::<f64>()
        };
        let zeros = || vec![0.0; self.layout().n_cells()];
        let by_cell =
            || (0..rows.n_rows()).into_par_iter().with_min_len(ROWS_PER_TASK).map_init(zeros, row_score).collect();
        self.scores(rows).unwrap_or_else(by_cell)
    }

    fn is_quick(&self) -> bool {
        ScoreByCell::is_quick(self)
    }

    fn split(&self, rows: &Encoded) -> Split {
        let n_cells = self.layout().n_cells();
        let mut parts = vec![0.0; rows.n_rows() * n_cells];
        let split_row = |(row, parts): (usize, &mut [f64])| {
            stop_point();
            self.split_row(rows.codes(row), rows.numbers(row), parts)
        };
        let base = parts.par_chunks_mut(n_cells).enumerate().with_min_len(ROWS_PER_TASK).map(split_row).collect();
        Split { base, parts, n_cells }
    }

    fn score_and_split(&self, rows: &Encoded) -> (Vec<f64>, Split) {
        let split = self.split(rows);
        (self.scores(rows).unwrap_or_else(|| split.sums()), split)
    }

    fn expected(&self, rows: &Encoded, _asked: &[bool]) -> Option<Expected> {
        self.expected_cells(rows)
    }
}

/// Scores all rows, computing each distinct one once where that saves time.
pub(crate) fn score_distinct(detector: &dyn Detector, rows: &Encoded) -> Vec<f64> {
    if detector.is_quick() {
        return detector.score(rows);
    }
    let (firsts, of_row) = rows.distinct();
    let scores = detector.score(&rows.select(&firsts));
    of_row.into_iter().map(|which| scores[which as usize]).collect()
}
