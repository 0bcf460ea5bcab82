//! Against a slow twin that really leaves rows out.

use super::link::Link;
use super::*;
use crate::cells::recipe::Recipe;
use crate::cells::rows::Batch;
use crate::cells::sample::Sample;
use crate::cells::tests::{expected, fit, mixed};
use crate::columns::Encoded;

/// What is learned of a table.
fn learned(layout: &Layout, rows: &Encoded) -> Conditional {
    fit(layout, rows).experts.conditional
}

/// Asks in each cell of rows that are left out.
fn for_each_cell(
    conditional: &Conditional,
    rows: &Encoded,
    mut asked: impl FnMut(usize, usize, RowSlots<'_>, &mut Scratch),
) {
    let limits = Sample::new(&Recipe::default(), rows, conditional.columns.len()).limits;
    let batch = Batch::left_out(&conditional.columns, rows, &limits);
    let mut scratch = Scratch::default();
    for row in 0..rows.n_rows() {
        let slots = batch.row(row);
        for cell in (0..conditional.columns.len()).filter(|cell| slots.slots[*cell] != NO_PART) {
            asked(row, cell, slots, &mut scratch);
        }
    }
}

fn assert_near(found: &[f32], expected: &[f64], row: usize, cell: usize) {
    for (p, expected) in found.iter().zip(expected) {
        assert!((f64::from(*p) - expected).abs() < 2e-5, "row {row}, cell {cell}: {p} and {expected}");
    }
}

fn without(rows: &Encoded, row: usize) -> Encoded {
    rows.select(&(0..rows.n_rows()).filter(|other| *other != row).collect::<Vec<_>>())
}

/// The slot of a cell, by the model's own bins.
fn slot(conditional: &Conditional, rows: &Encoded, row: usize, cell: usize) -> u16 {
    match cell.checked_sub(conditional.layout.n_numbers()) {
        None => conditional.columns[cell].slot_of_number(rows.numbers(row)[cell]),
        Some(group) => conditional.columns[cell].slot_of_code(rows.codes(row)[group]),
    }
}

/// The probabilities of a cell's slots, from formulas and loops over all other rows; and what each link adds for the
/// value that was seen.
fn slow(
    conditional: &Conditional,
    rows: &Encoded,
    row: usize,
    cell: usize,
    without: Option<u32>,
) -> (Vec<f64>, Vec<f64>) {
    let own = |row: usize| slot(conditional, rows, row, cell) as usize;
    slow_choice(conditional, rows, row, (&conditional.columns[cell], &conditional.targets[cell]), own, without)
}

/// The probability that the cell is missing.
fn slow_absence(conditional: &Conditional, rows: &Encoded, row: usize, cell: usize) -> f64 {
    let Some(absence) = &conditional.absences[cell] else { return 0.0 };
    let own = |row: usize| usize::from(slot(conditional, rows, row, cell) == NO_VALUE);
    let (mixed, _) = slow_choice(conditional, rows, row, (&absence.column, &absence.target), own, None);
    1.0 - mixed[0]
}

fn slow_choice(
    conditional: &Conditional,
    rows: &Encoded,
    row: usize,
    (column, target): (&Column, &Target),
    own: impl Fn(usize) -> usize,
    without: Option<u32>,
) -> (Vec<f64>, Vec<f64>) {
    let others: Vec<usize> = (0..rows.n_rows()).filter(|other| *other != row).collect();
    let k = column.n_slots();
    let count = |v: usize| others.iter().filter(|other| own(**other) == v).count() as f64;
    let n: f64 = (0..k).map(count).sum();
    let once = (0..k).filter(|v| count(*v) == 1.0).count() as f64;
    let new = (once + 0.5) / (n + 1.0);
    let prior: Vec<f64> = if column.bins.is_some() {
        (0..k).map(|v| (count(v) + 0.5) / (n + 0.5 * k as f64)).collect()
    } else {
        (0..k).map(|v| (1.0 - new) * count(v) / n).chain([new]).collect()
    };
    let mut pool = prior.clone();
    let mut terms = vec![0.0; target.links.len()];
    for (link, term) in target.links.iter().zip(&mut terms) {
        let u = slot(conditional, rows, row, link.context);
        if u as usize >= conditional.columns[link.context].n_slots()
            || without == conditional.layout.family(link.context)
        {
            continue;
        }
        let same: Vec<usize> =
            others.iter().copied().filter(|other| slot(conditional, rows, *other, link.context) == u).collect();
        for (v, p) in pool.iter_mut().enumerate().filter(|(v, _)| prior[*v] > 0.0) {
            let together = same.iter().filter(|other| own(**other) == v).count() as f64;
            *p *= (together / prior[v] + link.prior_rows).powf(link.weight);
            if v == own(row) {
                let present = same.iter().filter(|other| own(**other) < k).count() as f64;
                *term = link.weight * ((together / prior[v] + link.prior_rows) / (present + link.prior_rows)).ln();
            }
        }
    }
    let total: f64 = pool.iter().sum();
    let mixed = prior.iter().zip(pool).map(|(prior, pool)| (1.0 - target.share) * prior + target.share * pool / total);
    (mixed.collect(), terms)
}

/// Every count with the row left out is what counting the other rows gives.
#[test]
fn leaving_a_row_out_is_counting_without_it() {
    let (layout, rows) = mixed(150);
    let conditional = learned(&layout, &rows);
    assert!((0..layout.n_cells()).map(|cell| conditional.n_links(cell)).sum::<usize>() > 5);
    for_each_cell(&conditional, &rows, |row, cell, slots, scratch| {
        let (column, target) = (&conditional.columns[cell], &conditional.targets[cell]);
        // As it is before a number's bin and the one beside it share.
        let pooled = target.pool(column, slots.slots, slots.own(column, cell), &mut scratch.values);
        let (expected, _) = slow(&conditional, &rows, row, cell, None);
        assert_near(pooled.mixed, &expected, row, cell);
        assert!((pooled.pool.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!((pooled.mixed.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        let opinion = conditional.ask(slots, cell, scratch);
        let missing = slow_absence(&conditional, &rows, row, cell);
        assert!((opinion.missing - missing).abs() < 2e-5, "row {row}, cell {cell}: {} and {missing}", opinion.missing);
        if column.bins.is_none() {
            assert_near(opinion.mixed, &expected, row, cell);
        }
        assert!((opinion.mixed.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    });
}

/// Without the terms of the strongest context the pool is what counting without that column gives.
#[test]
fn the_strongest_context_can_be_left_out() {
    let (layout, rows) = mixed(150);
    let layout = layout.with_families(vec![Some(0), Some(1), Some(0), Some(2), Some(1)]);
    let conditional = learned(&layout, &rows);
    let mut second = Scratch::default();
    let mut n_without = [0; 3];
    for_each_cell(&conditional, &rows, |row, cell, slots, scratch| {
        let has_value = (slots.slots[cell] as usize) < conditional.columns[cell].n_slots();
        let opinion = conditional.ask(slots, cell, scratch);
        let without = conditional.ask_without_strongest(slots, cell, &opinion, &mut second);
        if cell < 2 || !has_value || opinion.slot != slots.slots[cell] {
            assert!(cell >= 2 && has_value || without.is_none());
            return;
        }
        let (_, terms) = slow(&conditional, &rows, row, cell, None);
        let term = |family: u32| {
            let links = conditional.targets[cell].links.iter().zip(&terms);
            let of_family = links.filter(|(link, _)| layout.family(link.context) == Some(family));
            of_family.map(|(_, term)| *term).sum::<f64>()
        };
        let strongest = (0..3).fold(0, |best, family| if term(family) > term(best) { family } else { best });
        assert_eq!(without.is_some(), term(strongest) > 0.0, "row {row}, cell {cell}");
        let Some(without) = without else { return };
        n_without[strongest as usize] += 1;
        let (expected, _) = slow(&conditional, &rows, row, cell, Some(strongest));
        assert_near(without.mixed, &expected, row, cell);
        assert_near(opinion.mixed, &slow(&conditional, &rows, row, cell, None).0, row, cell);
    });
    assert!(n_without.iter().filter(|n| **n > 10).count() > 1, "{n_without:?}");
}

/// Judged by a model that has not seen it, with the same weights, a row gets the probabilities that it gets when left
/// out.
#[test]
fn what_is_expected_of_a_row_left_out_is_what_a_model_without_it_expects() {
    let (layout, rows) = mixed(120);
    let cells = fit(&layout, &rows);
    let conditional = &cells.experts.conditional;
    let asked = vec![true; layout.n_cells()];
    for row in [0, 5, 17, 60] {
        let others = without(&rows, row);
        let mut without_it = cells.clone();
        let apart = &mut without_it.experts.conditional;
        let of_cell =
            |cell: usize| (0..others.n_rows()).map(|row| slot(conditional, &others, row, cell)).collect::<Vec<u16>>();
        let slots: Vec<Vec<u16>> = (0..layout.n_cells()).map(of_cell).collect();
        for (cell, column) in apart.columns.iter_mut().enumerate().skip(layout.n_numbers()) {
            let mut counts = vec![0; column.n_slots()];
            slots[cell].iter().for_each(|slot| {
                let code = if *slot == NO_VALUE { column.missing.expect("a code") as usize } else { *slot as usize };
                counts[code] += 1;
            });
            *column = Column::group(&layout, cell - layout.n_numbers(), counts);
        }
        let learn_anew = |target: &mut Target, column: &Column, own: &[u16]| {
            for link in &mut target.links {
                let d = link.context;
                let rows = (0..others.n_rows()).map(|row| (row, 1));
                let counted = Link::count((column, own), (d, &conditional.columns[d], &slots[d]), rows);
                let counted = counted.expect("a link");
                *link = Link { prior_rows: link.prior_rows, weight: link.weight, ..counted };
                link.finish(column);
            }
            *target = Target::new(std::mem::take(&mut target.links), target.share);
        };
        for (cell, target) in apart.targets.iter_mut().enumerate() {
            learn_anew(target, &apart.columns[cell], &slots[cell]);
        }
        for (cell, absence) in apart.absences.iter_mut().enumerate() {
            let Some(Absence { column, target }) = absence else { continue };
            *column = apart.columns[cell].presence().expect("a choice");
            learn_anew(target, column, &Absence::slots(&apart.columns[cell], &slots[cell]));
        }
        let one = rows.select(&[row]);
        let (left_out, apart) = (expected(&cells, &one, &asked, true), expected(&without_it, &one, &asked, false));
        for (a, b) in left_out.probabilities.iter().zip(&apart.probabilities) {
            assert!((a - b).abs() < 2e-5, "row {row}: {left_out:?} and {apart:?}");
        }
        for (a, b) in left_out.seen[layout.n_numbers()..].iter().zip(&apart.seen[layout.n_numbers()..]) {
            assert!((a - b).abs() < 2e-5, "row {row}: {left_out:?} and {apart:?}");
        }
    }
}

#[test]
fn a_bin_and_the_one_beside_it_share_what_is_likelier() {
    let prior = [0.5, 0.3, 0.2];
    let blended = |beside: Option<(usize, f64)>| {
        let mut mixed = [0.0, 0.9, 0.1];
        Pooled { prior: &prior, pool: &[], mixed: &mut mixed }.blend(0, beside);
        mixed
    };
    assert_eq!(blended(None), [0.0, 0.9, 0.1]);
    // By hand: 0 and 3 times as likely as alone; at a quarter, ¾ and 2¼, so 0.375 and 0.675, made to sum to 0.9.
    let expected = [0.375 * 0.9 / 1.05, 0.675 * 0.9 / 1.05, 0.1];
    let found = blended(Some((1, 0.25)));
    assert!(found.iter().zip(expected).all(|(p, expected)| (p - expected).abs() < 1e-6), "{found:?}");
}
