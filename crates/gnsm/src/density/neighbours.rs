//! The distance to the k-th nearest stored point (Ramaswamy, Rastogi and Shim, 2000).
//!
//! A point that stands for c equal rows counts as c neighbours. A fit keeps a limited number of points. If there are
//! more rows, it keeps a sample in proportion to the counts, and k counts within that sample. A row that was fitted on
//! finds itself among its neighbours.

use serde::{Deserialize, Serialize};

use super::check_numbers;
use super::lanes::{LANES, block, map_rows, squared_distances};
use super::rows::Rows;
use crate::error::{Error, Result};

/// Stored points, and which neighbour's distance counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearestNeighbours {
    /// The number of values in a row.
    pub(crate) dimension: usize,
    /// The k of the k-th neighbour, counted from 1.
    pub(crate) neighbour: usize,
    /// `[points, dimension]`.
    pub(crate) points: Vec<f64>,
    /// How many rows a point stands for: `[points]`.
    pub(crate) counts: Vec<f64>,
}

impl NearestNeighbours {
    /// Stores the rows, or a sample of `most_points` of them. Where there are fewer rows than `neighbour`, the
    /// farthest counts.
    pub fn fit(rows: Rows<'_>, neighbour: usize, most_points: usize, seed: u64) -> Result<Self> {
        if neighbour == 0 {
            return Err(Error::config("neighbour", "must be at least 1"));
        }
        if most_points == 0 {
            return Err(Error::config("most_points", "must be at least 1"));
        }
        let sample = rows.sample(most_points, seed);
        Ok(Self { dimension: sample.dimension, neighbour, points: sample.values, counts: sample.counts })
    }

    /// The number of values in a row.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The Euclidean distance to the k-th neighbour.
    pub fn distance(&self, row: &[f64]) -> f64 {
        let squares = squared_distances(&self.points, &block::<1>(row, self.dimension));
        self.kth(squares.iter().map(|[square]| *square)).0
    }

    /// [`NearestNeighbours::distance`] of every row, with the same bits.
    pub fn distances(&self, rows: &[f64]) -> Vec<f64> {
        map_rows(rows, self.dimension, |block: &[[f64; LANES]]| {
            let squares = squared_distances(&self.points, block);
            std::array::from_fn(|lane| self.kth(squares.iter().map(|squares| squares[lane])).0)
        })
    }

    /// d distance / d row: the unit vector away from the k-th neighbour; 0 at the neighbour itself.
    pub fn gradient(&self, row: &[f64]) -> Vec<f64> {
        let squares = squared_distances(&self.points, &block::<1>(row, self.dimension));
        let (distance, index) = self.kth(squares.iter().map(|[square]| *square));
        let point = &self.points[index * self.dimension..][..self.dimension];
        let slope = |(value, coordinate): (&f64, &f64)| {
            if distance > 0.0 && distance.is_finite() { (value - coordinate) / distance } else { 0.0 }
        };
        row.iter().zip(point).map(slope).collect()
    }

    /// Checks lengths and ranges after reading from a file; says what is wrong.
    pub fn validate(&self) -> std::result::Result<(), String> {
        let points = self.counts.len();
        check_numbers("counts", &self.counts, Some(points))?;
        check_numbers("points", &self.points, points.checked_mul(self.dimension))?;
        if points == 0 || self.dimension == 0 || self.neighbour == 0 {
            return Err("nearest neighbours need a point, a dimension and a neighbour of at least 1".into());
        }
        if self.counts.iter().any(|&count| count < 1.0) {
            return Err("`counts` must be at least 1".into());
        }
        Ok(())
    }

    /// Distance and index of the k-th neighbour, given the squared distances to all points. Equally far points
    /// are taken in the order they are stored.
    fn kth(&self, squares: impl Iterator<Item = f64>) -> (f64, usize) {
        let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        let mut nearest: Vec<(f64, usize)> = squares.enumerate().map(|(index, square)| (square, index)).collect();
        // Every point counts at least once, so that k points are enough.
        if self.neighbour < nearest.len() {
            nearest.select_nth_unstable_by(self.neighbour - 1, order);
            nearest.truncate(self.neighbour);
        }
        nearest.sort_unstable_by(order);
        let mut seen = 0.0;
        let mut kth = (0.0, 0);
        for (square, index) in nearest {
            kth = (square.sqrt(), index);
            seen += self.counts[index];
            if seen >= self.neighbour as f64 {
                break;
            }
        }
        kth
    }
}
