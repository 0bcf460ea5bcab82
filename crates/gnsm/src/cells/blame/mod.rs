//! From opinions to reasons: how much each cell is to blame, and what was to be expected there.
//!
//! A cell is to blame by how odd it is (`conditional/opinion.rs`). Mistakes come together: who copies a wrong departure
//! copies the wrong arrival with it, and each explains the other. So reasons ask once more, without the strongest
//! context of what was seen (`conditional/strongest.rs`). A category is to blame by how odd it is, or by a quarter of
//! how odd it is without that context, if that is more; what is expected comes from the same opinion. The score does
//! not ask this.
//!
//! The score is shared out in proportion to the blame. A cell that holds what was expected has none, and where all
//! cells do, the whole score is the base.

use rayon::prelude::*;

use super::calibrate::Tails;
use super::conditional::{Conditional, Opinion, Scratch};
use super::experts;
use super::recipe::Recipe;
use super::rows::{Batch, RowSlots};
use super::{Cells, ROWS_PER_TASK};
use crate::detectors::{Expected, Split};
use crate::error::stop_point;

/// A cell that is to blame, and the opinion that says so.
struct Blame<'a> {
    amount: f64,
    opinion: Opinion<'a>,
}

/// How much a cell is to blame that is so odd by an opinion; another one may be formed in `scratch`.
fn blame<'s>(
    recipe: &Recipe,
    conditional: &'s Conditional,
    (row, cell): (RowSlots<'_>, usize),
    (opinion, odd): (&Opinion<'s>, f64),
    scratch: &'s mut Scratch,
) -> Blame<'s> {
    if let Some(without) = conditional.ask_without_strongest(row, cell, opinion, scratch) {
        let amount = recipe.without_strongest * without.odd();
        if amount > odd {
            return Blame { amount, opinion: without };
        }
    }
    Blame { amount: odd, opinion: *opinion }
}

/// What reasons for a row are made in.
#[derive(Default)]
struct ForReasons {
    experts: experts::Scratch,
    without: Scratch,
}

/// The score of each row, and its base and parts.
pub(super) fn split(cells: &Cells, tails: &Tails, batch: &Batch<'_>) -> (Vec<f64>, Split) {
    let (recipe, experts) = (cells.recipe(), &cells.experts);
    let of_row = |row: RowSlots<'_>, scratch: &mut ForReasons| {
        let ForReasons { experts: of_experts, without } = scratch;
        let mut parts = vec![0.0; experts.n_cells()];
        let evidence = experts.evidence_with(row, of_experts, |cell, opinion, odd| {
            parts[cell] = blame(recipe, &experts.conditional, (row, cell), (opinion, odd), without).amount;
        });
        let (score, total) = (cells.score_of(tails, row, evidence), parts.iter().sum::<f64>());
        if total > 0.0 {
            parts.iter_mut().for_each(|part| *part *= score / total);
            (score, 0.0, parts)
        } else {
            (score, score, parts)
        }
    };
    let split = experts.map_rows(batch, of_row);
    let (scores, base) = split.iter().map(|(score, base, _)| (*score, *base)).unzip();
    let parts = split.into_iter().flat_map(|(_, _, parts)| parts).collect();
    (scores, Split { base, parts, n_cells: experts.n_cells() })
}

/// What was to be expected in the cells that are asked for, [rows, cells].
pub(super) fn expected(cells: &Cells, batch: &Batch<'_>, asked: &[bool]) -> Expected {
    let (conditional, layout) = (&cells.experts.conditional, cells.layout());
    let (n_cells, n_numbers) = (layout.n_cells(), layout.n_numbers());
    let of_row = |(with, without): &mut (Scratch, Scratch), row: usize| {
        stop_point();
        let slots = batch.row(row);
        let mut ranges = vec![[0.0; 2]; n_numbers];
        let mut probabilities = vec![0.0; layout.width() - n_numbers];
        let mut seen = vec![0.0; n_cells];
        for cell in (0..n_cells).filter(|cell| asked[row * n_cells + cell]) {
            let opinion = conditional.ask(slots, cell, with);
            if cell < n_numbers {
                (ranges[cell], seen[cell]) = opinion.range();
                continue;
            }
            let places = layout.group(cell - n_numbers);
            let opinion = if opinion.takes_part() {
                let odd = opinion.odd();
                blame(cells.recipe(), conditional, (slots, cell), (&opinion, odd), without).opinion
            } else {
                opinion
            };
            opinion.categories(&mut probabilities[places.start - n_numbers..places.end - n_numbers]);
            seen[cell] = opinion.seen() as f32;
        }
        (ranges, probabilities, seen)
    };
    let rows = (0..batch.n_rows()).into_par_iter().with_min_len(ROWS_PER_TASK);
    let all: Vec<_> = rows.map_init(<(Scratch, Scratch)>::default, of_row).collect();
    let mut expected = Expected { ranges: Vec::new(), probabilities: Vec::new(), seen: Vec::new() };
    for (ranges, probabilities, seen) in all {
        expected.ranges.extend(ranges);
        expected.probabilities.extend(probabilities.into_iter().map(share));
        expected.seen.extend(seen.into_iter().map(share));
    }
    expected
}

/// A probability as it is shown. Rounding may leave one a little above 1, and a column without a single value has none.
fn share(p: f32) -> f32 {
    if p.is_nan() { 0.0 } else { p.clamp(0.0, 1.0) }
}
