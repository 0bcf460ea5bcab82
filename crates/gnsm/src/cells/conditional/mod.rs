//! The first expert: how likely is each value of a cell, given the rest of its row?
//!
//! Each column is a choice among slots (`column.rs`), bins for numbers (`bins.rs`). How often values of two columns
//! occur together (`link.rs`) is pooled into the probability of each value that a cell could have (`pool.rs`,
//! `log_terms.rs`), with weights that predict held-out cells best (`weights.rs`, `learn.rs`). Whether a value is
//! missing is a choice of its own (`absence.rs`). The answer is an [`Opinion`] (`opinion.rs`).

mod absence;
mod bins;
mod column;
mod learn;
mod link;
mod log_terms;
mod opinion;
mod pool;
mod storage;
mod strongest;
mod weights;
#[cfg(test)]
mod tests;

pub(super) use bins::tame;
pub(super) use column::{Column, LeftOut, MOST_SLOTS};
pub(super) use learn::{Training, learn_columns, slots_by_column};
pub(super) use opinion::Opinion;

use absence::Absence;
use pool::{PoolScratch, Pooled, Target};

use super::rows::{NO_PART, NO_VALUE, RowSlots};
use crate::columns::Layout;

/// What is known of columns given each other.
#[derive(Debug, Clone)]
pub(super) struct Conditional {
    pub layout: Layout,
    /// Numbers first, then groups.
    pub columns: Vec<Column>,
    /// [cells].
    targets: Vec<Target>,
    /// [cells]: of those that can miss their value.
    absences: Vec<Option<Absence>>,
}

/// What an opinion is made in.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    values: PoolScratch,
    absence: PoolScratch,
}

impl RowSlots<'_> {
    /// Of a cell that was counted its slot, and the probabilities without it.
    pub(super) fn own(&self, column: &Column, cell: usize) -> Option<(usize, LeftOut)> {
        let slot = self.slots[cell] as usize;
        (self.learned_from.counted && slot < column.n_slots()).then(|| (slot, column.leave_out(slot)))
    }
}

impl Conditional {
    /// What the rest of a row tells about a cell.
    pub fn ask<'s>(&'s self, row: RowSlots<'_>, cell: usize, scratch: &'s mut Scratch) -> Opinion<'s> {
        let (column, slot) = (&self.columns[cell], row.slots[cell]);
        let (counted, number) = (row.learned_from.counted, row.number(cell));
        let own = row.own(column, cell);
        let mut pooled = self.targets[cell].pool(column, row.slots, own, &mut scratch.values);
        if let Some(bins) = column.bins.as_ref().filter(|bins| (slot as usize) < bins.len()) {
            pooled = pooled.blend(slot as usize, bins.beside(number));
        }
        let left_out = (counted && slot != NO_PART).then_some(slot == NO_VALUE);
        let absence = self.absences[cell].as_ref();
        let missing = absence.map_or(0.0, |absence| absence.probability(row.slots, left_out, &mut scratch.absence));
        let slot = own.map_or(slot, |(_, left_out)| left_out.slot as u16);
        let Pooled { prior, pool, mixed } = pooled;
        Opinion { column, prior, pool, mixed, missing, slot, number, counted }
    }

    /// The same without the strongest context for what was seen; none of a number, of a cell without a value that was
    /// seen before, and where no context makes the value likelier.
    pub fn ask_without_strongest<'s>(
        &'s self,
        row: RowSlots<'_>,
        cell: usize,
        opinion: &Opinion<'s>,
        scratch: &'s mut Scratch,
    ) -> Option<Opinion<'s>> {
        let (column, value) = (&self.columns[cell], opinion.slot as usize);
        if column.bins.is_some() || value >= column.n_slots() {
            return None;
        }
        let (own, with) = (row.own(column, cell), (opinion.prior, opinion.pool));
        let of_row = (&self.layout, column, row.slots);
        let without = self.targets[cell].pool_without_strongest(of_row, value, own, with, &mut scratch.values)?;
        Some(Opinion { pool: without.pool, mixed: without.mixed, ..*opinion })
    }

    /// The probabilities of a cell's slots in a row that is known in part, if it has a value, and that of a missing
    /// one. What is known may count for what is not (`is_raised`).
    pub fn ask_in_part<'s>(
        &self,
        slots: &[u16],
        cell: usize,
        is_raised: bool,
        scratch: &'s mut Scratch,
    ) -> (&'s [f32], f64) {
        let column = &self.columns[cell];
        let absence = self.absences[cell].as_ref();
        let missing = absence.map_or(0.0, |absence| absence.probability(slots, None, &mut scratch.absence));
        let pooled = self.targets[cell].pool_in_part(column, slots, is_raised, &mut scratch.values);
        (&pooled.mixed[..column.n_slots()], missing)
    }

    /// How many columns tell something about a cell.
    #[cfg(test)]
    pub fn n_links(&self, cell: usize) -> usize {
        self.targets[cell].links.len()
    }

    /// The nats that each column tells about the others and they about it, on average.
    pub fn information(&self) -> Vec<f64> {
        let mut told = vec![0.0; self.columns.len()];
        for (cell, target) in self.targets.iter().enumerate() {
            for link in &target.links {
                let information = link.information();
                told[cell] += information;
                told[link.context] += information;
            }
        }
        told
    }
}
