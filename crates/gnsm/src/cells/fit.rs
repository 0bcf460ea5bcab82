//! Learning: columns, then the experts, then how much evidence is usual.

use super::calibrate::Tails;
use super::classes::Classes;
use super::conditional::{Conditional, MOST_SLOTS, Training, learn_columns, slots_by_column};
use super::neighbours::Neighbours;
use super::rows::Batch;
use super::sample::Sample;
use super::usual::Usual;
use super::walk::Walk;
use super::{Cells, CellsSettings, Experts};
use crate::columns::{Encoded, Layout, hash_row};
use crate::error::{Advice, Error, Result};

pub(super) fn fit(settings: &CellsSettings, layout: &Layout, all: &Encoded) -> Result<Cells> {
    if all.n_rows() == 0 {
        return Err(Error::fit("there are no rows to learn from", "give at least one"));
    }
    if let Some(group) = (0..layout.n_groups()).find(|group| layout.size(*group) > MOST_SLOTS) {
        return Err(Error::fit(
            format!("a column has {} categories, and this method takes at most {MOST_SLOTS}", layout.size(group)),
            Advice::from("leave it out with ").setting("ignore", None).and(", or use another method"),
        ));
    }
    let sample = Sample::new(&settings.recipe, all, layout.n_cells());
    let columns = learn_columns(&settings.recipe, layout, &sample);
    let slots = slots_by_column(layout, &columns, &sample.rows);
    let training = Training { recipe: &settings.recipe, layout, columns: &columns, slots: &slots, sample: &sample };
    let conditional = Conditional::learn(&training);
    let neighbours = Neighbours::learn(&training);
    let (classes, walk) = (Classes::learn(&training), Walk::learn(&training));
    let usual = Usual::learn(&settings.recipe, layout, &neighbours)?;
    let experts = Experts::new(&settings.recipe, conditional, neighbours, classes, walk, usual);
    let chosen: Vec<usize> = sample.calibrated.iter().map(|(row, _)| *row).collect();
    let copies: Vec<u32> = sample.calibrated.iter().map(|(_, copies)| *copies).collect();
    let rows = sample.rows.select(&chosen);
    let hashes: Vec<u64> = (0..rows.n_rows()).map(|row| hash_row(rows.codes(row), rows.numbers(row))).collect();
    let tails = tails_of(settings, &experts, &rows, &hashes, &copies);
    Ok(Cells::new(settings.clone(), sample.limits, experts, tails))
}

/// How much evidence is usual in rows that were learned from, each judged without itself; `hashes` are those of the
/// rows as they were learned.
pub(super) fn tails_of(
    settings: &CellsSettings,
    experts: &Experts,
    rows: &Encoded,
    hashes: &[u64],
    copies: &[u32],
) -> Tails {
    let batch = Batch::calibrated(&experts.conditional.columns, rows, hashes);
    let held_out = experts.map_rows(&batch, |row, scratch| experts.evidence(row, scratch).clone());
    Tails::learn(&settings.recipe, experts.n_cells(), &held_out, copies)
}
