//! What every detector can do.

use crate::columns::Encoded;

/// A fitted detector.
pub trait Detector: Send + Sync {
    /// A score for each row, from the row alone.
    fn score(&self, rows: &Encoded) -> Vec<f64>;

    /// Each row's score as a base and a part for each cell; they sum to the score.
    fn split(&self, rows: &Encoded) -> Split;

    /// What was expected in the cells that are `asked` about, [rows, cells], if the method can say; what it says of other cells is of no use.
    fn expected(&self, _rows: &Encoded, _asked: &[bool]) -> Option<Expected> {
        None
    }

    /// Whether rows that it was fitted on can be judged as if it had not been: whether the two functions below say anything.
    fn leaves_out(&self) -> bool {
        false
    }

    /// [`Detector::split`] of rows of the training table, each as if it had not been learned from.
    fn split_left_out(&self, _rows: &Encoded) -> Option<Split> {
        None
    }

    /// [`Detector::expected`] of rows of the training table, each as if it had not been learned from.
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
    /// The probability of what was seen, [rows, cells]: of the category, or of a number at least as far out. Empty where the method cannot say.
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
}

/// Scores all rows, computing each distinct one once.
pub(crate) fn score_distinct(detector: &dyn Detector, rows: &Encoded) -> Vec<f64> {
    let (firsts, of_row) = rows.distinct();
    let scores = detector.score(&rows.select(&firsts));
    of_row.into_iter().map(|which| scores[which as usize]).collect()
}
