//! Learning: columns, links between them, their weights, neighbours and tails, in that order.

use rayon::prelude::*;

use super::absence::Absence;
use super::bins::{Bins, tame};
use super::classes::{Classes, share_of_categories};
use super::column::{Column, LeftOut, MOST_SLOTS, NOTHING};
use super::evidence::{Evidence, Figures, KINDS, LARGEST, ONE_IN_TWENTY, View, figures};
use super::link::Link;
use super::neighbours::References;
use super::pool::{Scratch, Target};
use super::sample::{Membership, Sample};
use super::tail::{FIGURES, RowTail, Tail, Tails};
use super::walk::{Walk, share_of_values};
use super::weights::{HeldOut, best_share};
use super::without::Without;
use super::{Cells, ROWS_PER_TASK};
use crate::columns::{Encoded, Layout, hash_row};
use crate::density::BULK;
use crate::error::{Error, Result, stop_point};

/// Links of a column, at the most.
const MOST_LINKS: usize = 16;
/// Pairs of values in all links together, at the most.
const MOST_PAIRS: usize = 10_000_000;
/// Rows that weights are chosen by, at the most.
const MOST_WEIGHED: usize = 1500;
/// How often tails are learned anew without odd rows, at the most.
const MOST_ROUNDS: usize = 5;
/// The share of rows that may be odd in many ways; more are none.
const MOST_ODD: f64 = 0.1;
/// A weight below which a word does not count.
const SMALLEST_WEIGHT: f64 = 1e-3;

pub(super) fn fit(layout: &Layout, all: &Encoded) -> Result<Cells> {
    if all.n_rows() == 0 {
        return Err(Error::fit("there are no rows to learn from", "give at least one"));
    }
    if let Some(group) = (0..layout.n_groups()).find(|group| layout.size(*group) > MOST_SLOTS) {
        return Err(Error::fit(
            format!("a column has {} categories, and this method takes at most {MOST_SLOTS}", layout.size(group)),
            "leave it out with --ignore, or use another method",
        ));
    }
    let sample = Sample::new(all, layout.n_cells());
    let columns = columns(layout, &sample);
    let slots: Vec<Vec<u16>> =
        (0..layout.n_cells()).into_par_iter().map(|cell| slots(&columns, cell, &sample.rows)).collect();
    let learner = Learner { layout, columns: &columns, slots: &slots, sample: &sample };
    let target = |cell: usize| learner.target(cell, &columns[cell], &slots[cell]);
    let targets = (0..columns.len()).into_par_iter().map(target).collect();
    let absence = |cell: usize| {
        let column = columns[cell].presence()?;
        let target = learner.target(cell, &column, &Absence::slots(&columns[cell], &slots[cell]));
        Some(Absence { column, target })
    };
    let absences = (0..columns.len()).into_par_iter().map(absence).collect();
    let references = References::learn(layout, &columns, &sample);
    let (classes, walk) = (Classes::learn(&columns, &slots, &sample), Walk::learn(&columns, &slots, &sample));
    let categories = share_of_categories(&columns);
    let by_values = share_of_values(&columns, categories);
    let tails = Tails { of_cells: vec![Tail::default(); layout.n_cells() * KINDS], ..Tails::default() };
    let (layout, limits) = (layout.clone(), sample.limits);
    let mut cells = Cells {
        layout,
        limits,
        columns,
        targets,
        absences,
        references,
        classes,
        walk,
        categories,
        by_values,
        tails,
        without: Without::default(),
        balance: std::sync::OnceLock::new(),
    };
    let chosen: Vec<usize> = sample.calibrated.iter().map(|(row, _)| *row).collect();
    let copies: Vec<u32> = sample.calibrated.iter().map(|(_, copies)| *copies).collect();
    let rows = sample.rows.select(&chosen);
    let hashes: Vec<u64> = (0..rows.n_rows()).map(|row| hash_row(rows.codes(row), rows.numbers(row))).collect();
    cells.tails = tails_of(&cells, &rows, &hashes, &copies);
    Ok(cells)
}

/// What is known of each column by itself.
fn columns(layout: &Layout, sample: &Sample) -> Vec<Column> {
    let rows = || sample.counts.iter().enumerate().map(|(row, copies)| (row, *copies));
    let number = |number: usize| {
        let numbers = rows().map(|(row, copies)| (sample.rows.numbers(row)[number], copies));
        let mut values: Vec<(f32, u32)> =
            numbers.filter(|(x, _)| !x.is_nan()).map(|(x, copies)| (tame(x), copies)).collect();
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let repeated = values.chunk_by(|a, b| a.0 == b.0);
        let distinct: Vec<(f32, u32)> =
            repeated.map(|same| (same[0].0, same.iter().map(|(_, copies)| copies).sum())).collect();
        let (bins, counts) = Bins::learn(&distinct).unzip();
        Column::number(bins, counts.unwrap_or_default())
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

/// The slots of all rows in one column.
fn slots(columns: &[Column], cell: usize, rows: &Encoded) -> Vec<u16> {
    let n_numbers = columns.iter().take_while(|column| column.bins.is_some()).count();
    let slot = |row: usize| match cell.checked_sub(n_numbers) {
        None => columns[cell].slot_of_number(rows.numbers(row)[cell]),
        Some(group) => columns[cell].slot_of_code(rows.codes(row)[group]),
    };
    (0..rows.n_rows()).map(slot).collect()
}

struct Learner<'a> {
    layout: &'a Layout,
    columns: &'a [Column],
    /// [cells][rows].
    slots: &'a [Vec<u16>],
    sample: &'a Sample,
}

impl Learner<'_> {
    /// What the other columns say about a cell, or about whether it is missing; `own` are the slots of all rows in it.
    fn target(&self, cell: usize, column: &Column, own: &[u16]) -> Target {
        let left_out: Vec<Option<LeftOut>> =
            (0..column.n_slots()).map(|slot| (column.counts[slot] > 0).then(|| column.leave_out(slot))).collect();
        let mut links = self.links(cell, (column, own), &left_out);
        links.iter_mut().for_each(|link| link.finish(column));
        let mut held_out = HeldOut::new(links.len());
        let mut places = Vec::new();
        let mut n_weighed = 0;
        let mut row_slots = vec![NOTHING; self.columns.len()];
        for &(row, copies) in &self.sample.calibrated {
            let slot = own[row] as usize;
            let Some(Some(left_out)) = left_out.get(slot) else { continue };
            if links.is_empty() || n_weighed == MOST_WEIGHED {
                break;
            }
            self.fill_row(&links, row, &mut row_slots);
            held_out.push(column, &links, &row_slots, (slot, *left_out), copies, &mut places);
            n_weighed += 1;
        }
        for (link, weight) in links.iter_mut().zip(held_out.best_weights()) {
            link.weight = weight;
        }
        drop(held_out);
        links.retain(|link| link.weight >= SMALLEST_WEIGHT);
        links.iter_mut().for_each(|link| link.finish(column));
        let mut target = Target::new(links, 0.0);
        let mut scratch = Scratch::default();
        let mut likelihoods = Vec::new();
        for &(row, copies) in &self.sample.calibrated {
            let slot = own[row] as usize;
            let Some(Some(left_out)) = left_out.get(slot) else { continue };
            if target.links.is_empty() {
                break;
            }
            self.fill_row(&target.links, row, &mut row_slots);
            target.fill(column, &row_slots, Some((slot, *left_out)), &mut scratch);
            let of_slot = |ps: &[f32]| f64::from(ps[left_out.slot]);
            likelihoods.push((of_slot(&scratch.prior), of_slot(&scratch.pool), f64::from(copies)));
        }
        if !likelihoods.is_empty() {
            target.share = best_share(&likelihoods);
        }
        target
    }

    /// The links of the columns that predict the cell best by themselves, best first.
    fn links(&self, cell: usize, own: (&Column, &[u16]), left_out: &[Option<LeftOut>]) -> Vec<Link> {
        let is_context =
            |d: &usize| self.layout.may_tell(*d, cell) && self.columns[*d].speaks && self.columns[*d].varies();
        let mut contexts: Vec<usize> = (0..self.columns.len()).filter(is_context).collect();
        if !own.0.varies() {
            return Vec::new();
        }
        if contexts.len() > MOST_LINKS {
            // First on fewer rows.
            let some = || self.sample.calibrated.iter().copied();
            let gained = |d: usize| Some((self.link(own, d, some())?.choose_prior(left_out), d));
            let mut gains: Vec<(f64, usize)> = contexts.into_iter().filter_map(gained).collect();
            gains.sort_by(|a, b| b.0.total_cmp(&a.0));
            contexts = gains.into_iter().take(MOST_LINKS).map(|(_, d)| d).collect();
        }
        let every = || self.sample.counts.iter().copied().enumerate();
        let mut gains = Vec::new();
        for d in contexts {
            if let Some(mut link) = self.link(own, d, every()) {
                gains.push((link.choose_prior(left_out), link));
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

/// The tails of all kinds of evidence in all cells and of the rows' figures. Each row was learned from, and is judged
/// without itself; `hashes` are those of the rows as they were learned.
pub(super) fn tails_of(cells: &Cells, rows: &Encoded, hashes: &[u64], copies: &[u32]) -> Tails {
    let judge = |view: &mut View<'_>, row: usize| {
        stop_point();
        let own = Membership { counted: true, calibrated: true, references: Some(hashes[row]) };
        view.look(rows.codes(row), rows.numbers(row), own);
        view.evidence().clone()
    };
    let tasks = (0..rows.n_rows()).into_par_iter().with_min_len(ROWS_PER_TASK);
    let judged: Vec<Evidence> = tasks.map_init(|| View::new(cells), judge).collect();
    // Odd rows would hide each other. Of three wrong cells in a column, each would be as usual as the other two. And where one
    // row in fifty has a wrong cell, in whatever column, these would stretch the tails of the rows' figures. So tails are
    // learned without odd rows. More than one in forty are not odd but a kind of rows of their own, such as those of small
    // suppliers; then the search begins anew from where fewer are.
    let (mut learned, odd) = tails_without_odd_rows(cells, &judged, copies, 0.95);
    if odd.in_one_way > 1.0 - BULK || odd.all > MOST_ODD {
        learned = tails_without_odd_rows(cells, &judged, copies, BULK).0;
    }
    learned.tails
}

/// How many rows are odd.
struct Odd {
    /// The share of all rows.
    all: f64,
    /// The largest share that is odd by one and the same cell, or by one and the same figure of the whole row.
    in_one_way: f64,
}

/// The tails without the rows that are so odd that one table in twenty has such a row by chance, and the share of these.
/// Which ones they are is asked first by tails that the rows beyond a share of all cannot stretch, then by the tails
/// without them, until no row is added. Those that were left out once stay out: a few that are just not odd enough would
/// stretch the tails for the next ones, and so on.
fn tails_without_odd_rows(cells: &Cells, judged: &[Evidence], copies: &[u32], share: f64) -> (Learned, Odd) {
    let n = copies.iter().map(|copies| f64::from(*copies)).sum::<f64>();
    let mut kept = copies.to_vec();
    let mut learned = learn_tails(cells, judged, &kept, share);
    let mut ways = vec![0.0; cells.columns.len() + FIGURES];
    for round in 0..MOST_ROUNDS {
        // The way in which a row is odd, if it is.
        let way = |row: usize| {
            let Figures { all, largest } = &learned.figures[row];
            let is_odd = |which: &usize| learned.tails.of_rows[*which].nats(all[*which]) > n.ln() + ONE_IN_TWENTY;
            let which = (0..FIGURES).filter(|_| kept[row] > 0).rfind(is_odd)?;
            Some((row, if is_odd(&LARGEST) { *largest } else { cells.columns.len() + which }))
        };
        let odd: Vec<(usize, usize)> = (0..kept.len()).filter_map(way).collect();
        if odd.is_empty() && round > 0 {
            break;
        }
        for (row, way) in odd {
            ways[way] += f64::from(std::mem::take(&mut kept[row]));
        }
        learned = learn_tails(cells, judged, &kept, BULK);
    }
    let share = |rows: f64| rows / n;
    let odd = Odd { all: share(ways.iter().sum()), in_one_way: share(ways.iter().copied().fold(0.0, f64::max)) };
    (learned, odd)
}

struct Learned {
    tails: Tails,
    /// The figures of each row.
    figures: Vec<Figures>,
}

/// The tails from the evidence in each row; rows that count 0 times take no part, and those beyond a share of all cannot
/// stretch the tails of figures.
fn learn_tails(cells: &Cells, judged: &[Evidence], copies: &[u32], share: f64) -> Learned {
    let tail = |kind: usize| {
        let usual = judged.iter().zip(copies).filter(|(_, copies)| **copies > 0);
        let evidence = usual.map(|(evidence, copies)| (f64::from(evidence.kinds[kind]), *copies));
        Tail::learn(evidence.filter(|(evidence, _)| !evidence.is_nan()).collect())
    };
    let of_cells: Vec<Tail> = (0..cells.tails.of_cells.len()).into_par_iter().map(tail).collect();
    let figures: Vec<Figures> = judged.iter().map(|evidence| figures(evidence, &of_cells, true)).collect();
    let of_rows = std::array::from_fn(|which| {
        let usual = figures.iter().zip(copies).filter(|(_, copies)| **copies > 0);
        RowTail::learn(share, usual.map(|(own, copies)| (own.all[which], *copies)).collect())
    });
    Learned { tails: Tails { of_cells, of_rows }, figures }
}
