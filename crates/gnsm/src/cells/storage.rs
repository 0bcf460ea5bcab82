//! A model's arrays: each expert writes, reads and checks its own.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::calibrate::Tails;
use super::classes::Classes;
use super::conditional::Conditional;
use super::neighbours::Neighbours;
use super::recipe::Recipe;
use super::sample::Limits;
use super::usual::Usual;
use super::walk::Walk;
use super::{Cells, CellsSettings, Experts};
use crate::columns::Layout;
use crate::files::{Loaded, Store, Tensors};

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredCells {
    /// The largest keys of counted rows, of calibrated ones and of references.
    limits: [u64; 3],
    /// Where it is not the usual one.
    #[serde(default, skip_serializing_if = "Recipe::is_usual")]
    recipe: Recipe,
}

impl Store for Cells {
    type Document = StoredCells;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredCells> {
        let Experts { conditional, neighbours, classes, walk, usual, .. } = &self.experts;
        conditional.write(tensors);
        neighbours.write(tensors);
        classes.write(tensors);
        walk.write(tensors);
        usual.write(tensors);
        self.tails.write(tensors);
        let Limits { counted, calibrated, references } = self.limits;
        Ok(StoredCells { limits: [counted, calibrated, references], recipe: self.recipe().clone() })
    }

    fn read(document: StoredCells, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        let [counted, calibrated, references] = document.limits;
        let limits = Limits { counted, calibrated, references };
        let conditional = Conditional::read(&document.recipe, layout, tensors)?;
        let neighbours = Neighbours::read(&document.recipe, layout, &conditional.columns, tensors)?;
        let classes = Classes::read(&document.recipe, &conditional.columns, tensors)?;
        let walk = Walk::read(&conditional.columns, tensors)?;
        let usual = Usual::read(&document.recipe, layout, &neighbours, tensors)?;
        let experts = Experts::new(&document.recipe, conditional, neighbours, classes, walk, usual);
        let tails = Tails::read(layout, tensors)?;
        Ok(Self::new(CellsSettings { recipe: document.recipe }, limits, experts, tails))
    }
}

/// Pieces of these lengths, one behind the other.
pub(super) fn pieces(lengths: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut end = 0usize;
    let piece = |length: usize| {
        let start = end;
        end = end.saturating_add(length);
        start..end
    };
    lengths.map(piece).collect()
}

/// Where the last piece ends.
pub(super) fn end(pieces: &[Range<usize>]) -> usize {
    pieces.last().map_or(0, |piece| piece.end)
}

/// The first N of some numbers, of which there are enough.
pub(super) fn fixed<const N: usize, T: Copy + Default>(values: &[T]) -> [T; N] {
    let mut array = [T::default(); N];
    array.iter_mut().zip(values).for_each(|(to, from)| *to = *from);
    array
}
