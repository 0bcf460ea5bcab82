//! How surely each number of a relation follows from the others.
//!
//! `total = nights × rate` gives the rate as well: it is total / nights. A date follows from another date and the time
//! between them. But from a rounded percentage, what it is a percentage of does not follow. The training rows tell
//! which numbers do: each is computed from the others, written as its column is, and compared with the cell that is
//! there.

use serde::{Deserialize, Serialize};

use super::manner::Manner;
use super::places::{Places, Rounding};
use crate::columns::{Encoder, Kind, Relation, learn_counts, number_in};
use crate::table::Table;

/// Rows that are looked at, and the fewest that tell something.
const MOST_ROWS: usize = 2000;
const FEWEST_ROWS: usize = 30;
/// The share of the rows in which the computed number has to be exact (`EXACT`), or at least near (`NEAR`).
const EXACT: f64 = 0.5;
const NEAR: f64 = 0.9;
/// What counts as near, as a share of the distance between the tenth and the ninetieth percentile.
const NEARNESS: f64 = 0.01;
/// If this share of the rows is right by rounding to the nearest, other ways of rounding are not tried.
const SURELY_NEAREST: f64 = 0.98;

/// What is known of a relation's numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tie {
    /// Of the rows that have all numbers of the relation, the share that keeps it.
    pub kept: f64,
    /// For the result and for each of the terms, how it follows from the rest; `None` if it does not.
    pub ways: Vec<Option<Way>>,
}

/// How a number follows from the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Way {
    /// The share of the rows in which it was right.
    pub right: f64,
    /// How it is rounded.
    pub rounding: Rounding,
}

impl Tie {
    /// Checks what came from a file.
    pub fn is_usable(&self, relation: &Relation) -> bool {
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        self.ways.len() == relation.terms.len() + 1
            && is_share(self.kept)
            && self.ways.iter().flatten().all(|way| is_share(way.right))
    }
}

/// The columns of a relation: that of the result first, then those of the terms.
pub(super) fn members(relation: &Relation) -> impl Iterator<Item = usize> {
    std::iter::once(relation.of).chain(relation.terms.iter().copied())
}

/// All relations that rows are to keep.
pub(super) fn relations<'a>(encoder: &'a Encoder, manner: &'a Manner) -> impl Iterator<Item = &'a Relation> {
    encoder.schema().relations.iter().chain(&manner.counts)
}

/// Learns the ties of all relations.
pub(super) fn learn(encoder: &Encoder, manner: &mut Manner, table: &Table, rows: &[usize]) {
    let step = rows.len().div_ceil(MOST_ROWS).max(1);
    let rows: Vec<usize> = rows.iter().copied().step_by(step).collect();
    manner.counts = learn_counts(table, &rows, &encoder.schema().columns);
    let places = Places::new(encoder, manner);
    let ties = relations(encoder, manner).map(|relation| tie(relation, &places, table, &rows)).collect();
    manner.ties = ties;
}

fn tie(relation: &Relation, places: &Places<'_>, table: &Table, rows: &[usize]) -> Tie {
    let columns = &places.encoder.schema().columns;
    let members: Vec<usize> = members(relation).collect();
    let number = |column: &usize, row: usize| {
        number_in(&columns[*column].kind, &table.column(&columns[*column].name)?.values, row)
    };
    let whole = |row: &usize| members.iter().map(|column| number(column, *row)).collect::<Option<Vec<f64>>>();
    let rows: Vec<Vec<f64>> = rows.iter().filter_map(whole).collect();
    if rows.len() < FEWEST_ROWS {
        return Tie { kept: 0.0, ways: vec![None; members.len()] };
    }
    let held = rows.iter().filter(|numbers| relation.holds(numbers[0], &numbers[1..])).count();
    let way = |at: usize| {
        let own: Vec<f64> = rows.iter().map(|numbers| numbers[at]).collect();
        let nearest = shares(relation, at, places, &rows, &own, Rounding::Nearest);
        let is_number = matches!(columns[members[at]].kind, Kind::Numeric { .. });
        let mut best = (nearest, Rounding::Nearest);
        if is_number && at == 0 && nearest.exact < SURELY_NEAREST {
            // An age counts full years; storage is paid for each day that has begun.
            for rounding in [Rounding::Down, Rounding::Up] {
                let shares = shares(relation, at, places, &rows, &own, rounding);
                if shares.exact > best.0.exact {
                    best = (shares, rounding);
                }
            }
        }
        let (Shares { exact, near }, rounding) = best;
        let right = if exact >= EXACT { Some(exact) } else { Some(near).filter(|near| is_number && *near >= NEAR) };
        right.map(|right| Way { right, rounding })
    };
    Tie { kept: held as f64 / rows.len() as f64, ways: (0..members.len()).map(way).collect() }
}

/// Of how many rows a number is told.
#[derive(Clone, Copy)]
struct Shares {
    /// To the last digit.
    exact: f64,
    /// Nearly.
    near: f64,
}

fn shares(
    relation: &Relation,
    at: usize,
    places: &Places<'_>,
    rows: &[Vec<f64>],
    own: &[f64],
    rounding: Rounding,
) -> Shares {
    let column = members(relation).nth(at).unwrap_or(relation.of);
    let mut sorted = own.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let spread = sorted[(sorted.len() - 1) * 9 / 10] - sorted[(sorted.len() - 1) / 10];
    let (mut exact, mut near) = (0usize, 0usize);
    for (numbers, own) in rows.iter().zip(own) {
        let told = relation.solved(at, numbers).and_then(|number| places.write(column, number, rounding));
        let off = told.map_or(f64::INFINITY, |(_, number)| (number - own).abs());
        exact += usize::from(off <= 1e-9 * own.abs().max(1.0));
        near += usize::from(off <= NEARNESS * spread);
    }
    let n = rows.len() as f64;
    Shares { exact: exact as f64 / n, near: near as f64 / n }
}
