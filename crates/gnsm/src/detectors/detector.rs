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
}

/// What was expected in the cells of some rows, given the rest of each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// The limits of each scaled number, [rows, numbers].
    pub ranges: Vec<[f32; 2]>,
    /// The probabilities of each group's categories, [rows, places of all groups].
    pub probabilities: Vec<f32>,
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
