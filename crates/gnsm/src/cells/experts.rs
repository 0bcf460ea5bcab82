//! The five experts, and the evidence that they give in a row.

use rayon::prelude::*;

use super::ROWS_PER_TASK;
use super::classes::{self, Classes};
use super::combine::{Evidence, KINDS, Kinds, Shares};
use super::conditional::{self, Conditional, Opinion};
use super::neighbours::{self, Differences, Neighbours};
use super::recipe::Recipe;
use super::rows::{Batch, NO_PART, RowSlots};
use super::usual::Usual;
use super::walk::Walk;
use crate::error::stop_point;

/// What is known of each column, of columns given each other, of the nearest rows, of whole rows, and of values.
#[derive(Debug, Clone)]
pub(super) struct Experts {
    pub conditional: Conditional,
    pub neighbours: Neighbours,
    pub classes: Classes,
    pub walk: Walk,
    pub usual: Usual,
    /// How much their figures count in this table.
    pub shares: Shares,
}

/// What the evidence of a row is made in.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    conditional: conditional::Scratch,
    neighbours: neighbours::Scratch,
    classes: classes::Scratch,
    evidence: Evidence,
}

impl Experts {
    pub fn new(
        recipe: &Recipe,
        conditional: Conditional,
        neighbours: Neighbours,
        classes: Classes,
        walk: Walk,
        usual: Usual,
    ) -> Self {
        let shares = Shares::new(recipe, &conditional.columns, walk.has_values(), usual.is_known());
        Self { conditional, neighbours, classes, walk, usual, shares }
    }

    pub fn n_cells(&self) -> usize {
        self.conditional.columns.len()
    }

    /// The evidence in a row.
    pub fn evidence<'s>(&self, row: RowSlots<'_>, scratch: &'s mut Scratch) -> &'s Evidence {
        self.evidence_with(row, scratch, |_, _, _| ())
    }

    /// The same, where what the rest of the row tells about each cell that takes part, and how odd that is, is wanted
    /// too.
    #[inline]
    pub fn evidence_with<'s>(
        &self,
        row: RowSlots<'_>,
        scratch: &'s mut Scratch,
        mut of_cell: impl FnMut(usize, &Opinion<'_>, f64),
    ) -> &'s Evidence {
        let Scratch { conditional, neighbours, classes, evidence } = scratch;
        let columns = &self.conditional.columns;
        let differences = self.neighbours.ask(columns, row, neighbours);
        evidence.kinds.clear();
        evidence.kinds.resize(columns.len(), Kinds::from_array([f32::NAN; KINDS]));
        evidence.odd.clear();
        evidence.odd.resize(columns.len(), 0.0);
        for cell in (0..columns.len()).filter(|cell| row.slots[*cell] != NO_PART) {
            let opinion = self.conditional.ask(row, cell, conditional);
            let odd = opinion.odd();
            evidence.kinds[cell] = kinds(cell, &opinion, &differences);
            evidence.odd[cell] = odd;
            of_cell(cell, &opinion, odd);
        }
        evidence.whole = if self.shares.categories > 0.0 { self.classes.ask(columns, row, classes) } else { 0.0 };
        evidence.values = self.walk.ask(columns, row);
        evidence.core = if self.shares.core > 0.0 { self.usual.ask(row, neighbours) } else { 0.0 };
        evidence
    }

    /// Something for each row, in parallel, with scratch that a thread's rows share.
    pub fn map_rows<S: Default, T: Send>(
        &self,
        batch: &Batch<'_>,
        value: impl Fn(RowSlots<'_>, &mut S) -> T + Sync + Send,
    ) -> Vec<T> {
        let of_row = |scratch: &mut S, row: usize| {
            stop_point();
            value(batch.row(row), scratch)
        };
        (0..batch.n_rows()).into_par_iter().with_min_len(ROWS_PER_TASK).map_init(S::default, of_row).collect()
    }
}

/// The evidence in a cell that takes part.
fn kinds(cell: usize, opinion: &Opinion<'_>, differences: &Differences<'_>) -> Kinds<f32> {
    let given_the_rest = opinion.surprise();
    let is_number = opinion.column.bins.is_some();
    Kinds {
        given_the_rest: given_the_rest as f32,
        near: differences.near(cell) as f32,
        local: differences.local(cell) as f32,
        alone: if is_number { f32::NAN } else { opinion.surprise_alone() as f32 },
        // Where nothing stands, no value can be beyond what is usual.
        beyond_usual: if opinion.lacks_value() { f32::NAN } else { (given_the_rest - opinion.usual_surprise()) as f32 },
    }
}
