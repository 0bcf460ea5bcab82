//! What a row is judged by: five kinds of evidence in each cell, and six figures of the row.

use serde::{Deserialize, Serialize};

/// How many kinds of evidence there are.
pub(in crate::cells) const KINDS: usize = 5;
/// How many figures a row has.
pub(in crate::cells) const FIGURES: usize = 6;

/// Something of each kind of evidence that a cell has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kinds<T> {
    /// −ln of the probability of the cell's value given the rest of its row; as a density for a number.
    pub given_the_rest: T,
    /// How it differs from the nearest rows.
    pub near: T,
    /// The same, relative to how far these rows are from their own neighbours.
    pub local: T,
    /// −ln of a category's probability by itself.
    pub alone: T,
    /// By how much *given the rest* is more than was to be expected.
    pub beyond_usual: T,
}

/// Something of each figure of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures<T> {
    /// The soft sum over all cells and kinds.
    pub sum: T,
    /// The odd cell with the most evidence.
    pub largest: T,
    /// The distance to the nearest rows.
    pub distance: T,
    /// −ln of the probability of the row as a whole.
    pub whole: T,
    /// How odd its values are, wherever they stand.
    pub values: T,
    /// The distance to the most usual rows.
    pub core: T,
}

/// What a row is judged by, before it is known how much of it is usual.
#[derive(Debug, Clone, Default)]
pub(in crate::cells) struct Evidence {
    /// [cells]; NaN where there is none.
    pub kinds: Vec<Kinds<f32>>,
    /// [cells]: how odd each is; 0 where it is as expected.
    pub odd: Vec<f64>,
    /// −ln of the probability of the row as a whole, where that counts.
    pub whole: f64,
    /// How odd its values are, wherever they stand.
    pub values: f64,
    /// How far it is from the most usual rows, where that counts.
    pub core: f64,
}

impl<T> Kinds<T> {
    pub(in crate::cells) fn from_array([given_the_rest, near, local, alone, beyond_usual]: [T; KINDS]) -> Self {
        Self { given_the_rest, near, local, alone, beyond_usual }
    }

    /// In the order of the fields.
    pub(in crate::cells) fn each(&self) -> [&T; KINDS] {
        [&self.given_the_rest, &self.near, &self.local, &self.alone, &self.beyond_usual]
    }
}

impl<T> Figures<T> {
    pub(in crate::cells) fn from_array([sum, largest, distance, whole, values, core]: [T; FIGURES]) -> Self {
        Self { sum, largest, distance, whole, values, core }
    }

    /// In the order of the fields.
    pub(in crate::cells) fn each(&self) -> [&T; FIGURES] {
        [&self.sum, &self.largest, &self.distance, &self.whole, &self.values, &self.core]
    }

    /// What becomes of each figure and of what belongs to it.
    #[inline]
    pub(in crate::cells) fn zip<U, V>(&self, others: &Figures<U>, both: impl Fn(&T, &U) -> V) -> Figures<V> {
        Figures {
            sum: both(&self.sum, &others.sum),
            largest: both(&self.largest, &others.largest),
            distance: both(&self.distance, &others.distance),
            whole: both(&self.whole, &others.whole),
            values: both(&self.values, &others.values),
            core: both(&self.core, &others.core),
        }
    }
}
