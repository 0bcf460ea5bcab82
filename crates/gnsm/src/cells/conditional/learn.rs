//! Learning what the columns tell about each other: columns, links between them, their weights and their share.

use rayon::prelude::*;

use super::Conditional;
use super::absence::Absence;
use super::bins::{Bins, tame};
use super::column::{Column, LeftOut};
use super::link::Link;
use super::pool::{PoolScratch, Target};
use super::weights::{HeldOut, best_share};
use crate::cells::recipe::Recipe;
use crate::cells::rows::NO_PART;
use crate::cells::sample::Sample;
use crate::columns::{Encoded, Layout};
use crate::error::stop_point;

/// Pairs of values in all links together, at the most.
const MOST_PAIRS: usize = 10_000_000;
/// A weight below which a link does not count.
const SMALLEST_WEIGHT: f64 = 1e-3;

/// What experts learn from: the columns, and where the rows of the sample are in them.
#[derive(Clone, Copy)]
pub(in crate::cells) struct Training<'a> {
    pub recipe: &'a Recipe,
    pub layout: &'a Layout,
    pub columns: &'a [Column],
    /// [cells][rows].
    pub slots: &'a [Vec<u16>],
    pub sample: &'a Sample,
}

/// What is known of each column by itself.
pub(in crate::cells) fn learn_columns(recipe: &Recipe, layout: &Layout, sample: &Sample) -> Vec<Column> {
    let rows = || sample.counts.iter().enumerate().map(|(row, copies)| (row, *copies));
    let number = |number: usize| {
        let numbers = rows().map(|(row, copies)| (sample.rows.numbers(row)[number], copies));
        let mut values: Vec<(f32, u32)> =
            numbers.filter(|(x, _)| !x.is_nan()).map(|(x, copies)| (tame(x), copies)).collect();
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let repeated = values.chunk_by(|a, b| a.0 == b.0);
        let distinct: Vec<(f32, u32)> =
            repeated.map(|same| (same[0].0, same.iter().map(|(_, copies)| copies).sum())).collect();
        let (bins, counts) = Bins::learn(recipe, &distinct).unzip();
        Column::number(recipe, bins, counts.unwrap_or_default())
    };
    let group = |group: usize| {
        let mut counts = vec![0; layout.size(group)];
        for (row, copies) in rows() {
            if let Some(count) = counts.get_mut(sample.rows.codes(row)[group] as usize) {
                *count += copies;
            }
        }
        Column::group(layout, group, counts)
    };
    let of_cell = |cell: usize| if cell < layout.n_numbers() { number(cell) } else { group(cell - layout.n_numbers()) };
    (0..layout.n_cells()).into_par_iter().map(of_cell).collect()
}

/// The slots of all rows, [cells][rows].
pub(in crate::cells) fn slots_by_column(layout: &Layout, columns: &[Column], rows: &Encoded) -> Vec<Vec<u16>> {
    let slot = |cell: usize, row: usize| match cell.checked_sub(layout.n_numbers()) {
        None => columns[cell].slot_of_number(rows.numbers(row)[cell]),
        Some(group) => columns[cell].slot_of_code(rows.codes(row)[group]),
    };
    let of_cell = |cell: usize| (0..rows.n_rows()).map(|row| slot(cell, row)).collect();
    (0..columns.len()).into_par_iter().map(of_cell).collect()
}

impl Conditional {
    /// Learns from the rows of the sample what its columns tell about each other.
    pub fn learn(training: &Training<'_>) -> Self {
        let Training { layout, columns, slots, .. } = *training;
        let target = |cell: usize| training.target(cell, &columns[cell], &slots[cell]);
        let absence = |cell: usize| {
            let column = columns[cell].presence()?;
            let target = training.target(cell, &column, &Absence::slots(&columns[cell], &slots[cell]));
            Some(Absence { column, target })
        };
        Self {
            layout: layout.clone(),
            columns: columns.to_vec(),
            targets: (0..columns.len()).into_par_iter().map(target).collect(),
            absences: (0..columns.len()).into_par_iter().map(absence).collect(),
        }
    }
}

impl Training<'_> {
    /// What the other columns tell about a cell, or about whether it is missing; `own` are the slots of all rows in it.
    fn target(&self, cell: usize, column: &Column, own: &[u16]) -> Target {
        let left_out: Vec<Option<LeftOut>> =
            (0..column.n_slots()).map(|slot| (column.counts[slot] > 0).then(|| column.leave_out(slot))).collect();
        let mut links = self.links(cell, (column, own), &left_out);
        links.iter_mut().for_each(|link| link.finish(column));
        let mut held_out = HeldOut::new(self.recipe, links.len());
        let mut at_slot = Vec::new();
        let mut n_weighed = 0;
        let mut row_slots = vec![NO_PART; self.columns.len()];
        for &(row, copies) in &self.sample.calibrated {
            let slot = own[row] as usize;
            let Some(Some(left_out)) = left_out.get(slot) else { continue };
            if links.is_empty() || n_weighed == self.recipe.most_weighed {
                break;
            }
            self.fill_row(&links, row, &mut row_slots);
            held_out.push(column, &links, &row_slots, (slot, *left_out), copies, &mut at_slot);
            n_weighed += 1;
        }
        for (link, weight) in links.iter_mut().zip(held_out.best_weights()) {
            link.weight = weight;
        }
        drop(held_out);
        links.retain(|link| link.weight >= SMALLEST_WEIGHT);
        links.iter_mut().for_each(|link| link.finish(column));
        let mut target = Target::new(links, 0.0);
        let mut scratch = PoolScratch::default();
        let mut likelihoods = Vec::new();
        for &(row, copies) in &self.sample.calibrated {
            let slot = own[row] as usize;
            let Some(Some(left_out)) = left_out.get(slot) else { continue };
            if target.links.is_empty() {
                break;
            }
            self.fill_row(&target.links, row, &mut row_slots);
            let pooled = target.pool(column, &row_slots, Some((slot, *left_out)), &mut scratch);
            let of_slot = |ps: &[f32]| f64::from(ps[left_out.slot]);
            likelihoods.push((of_slot(pooled.prior), of_slot(pooled.pool), f64::from(copies)));
        }
        if !likelihoods.is_empty() {
            target.share = best_share(&likelihoods);
        }
        target
    }

    /// The links of the columns that predict the cell best by themselves, best first.
    fn links(&self, cell: usize, own: (&Column, &[u16]), left_out: &[Option<LeftOut>]) -> Vec<Link> {
        let is_context =
            |d: &usize| self.layout.may_tell(*d, cell) && self.columns[*d].tells_others && self.columns[*d].varies();
        let mut contexts: Vec<usize> = (0..self.columns.len()).filter(is_context).collect();
        if !own.0.varies() {
            return Vec::new();
        }
        if contexts.len() > self.recipe.most_links {
            // First on fewer rows.
            let some = || self.sample.calibrated.iter().copied();
            let gained =
                |d: usize| Some((self.link(own, d, some())?.choose_prior(&self.recipe.prior_rows, left_out), d));
            let mut gains: Vec<(f64, usize)> = contexts.into_iter().filter_map(gained).collect();
            gains.sort_by(|a, b| b.0.total_cmp(&a.0));
            contexts = gains.into_iter().take(self.recipe.most_links).map(|(_, d)| d).collect();
        }
        let every = || self.sample.counts.iter().copied().enumerate();
        let mut gains = Vec::new();
        for d in contexts {
            if let Some(mut link) = self.link(own, d, every()) {
                gains.push((link.choose_prior(&self.recipe.prior_rows, left_out), link));
            }
        }
        gains.retain(|(gain, _)| *gain > 0.0);
        gains.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut n_pairs = 0;
        let most_pairs = MOST_PAIRS / self.columns.len();
        gains.retain(|(_, link)| {
            let fits = n_pairs + link.slots.len() <= most_pairs;
            n_pairs += if fits { link.slots.len() } else { 0 };
            fits
        });
        gains.into_iter().map(|(_, link)| link).collect()
    }

    fn link(&self, own: (&Column, &[u16]), d: usize, rows: impl Iterator<Item = (usize, u32)>) -> Option<Link> {
        stop_point();
        Link::count(own, (d, &self.columns[d], &self.slots[d]), rows)
    }

    /// The slots of a row in the columns that links ask for.
    fn fill_row(&self, links: &[Link], row: usize, slots: &mut [u16]) {
        for link in links {
            slots[link.context] = self.slots[link.context][row];
        }
    }
}
