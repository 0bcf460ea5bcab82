//! Columns that another column gives: copies, the same in other words, and functions.
//!
//! A column is a function of another if each value of that one has one value beside it. Columns are tried from the one with
//! the fewest values on, and a column is told by the first that gives it. Chance may do it too: with r rows whose value of the
//! other column came up before, and a chance of p that two rows agree, the odds are p^r. The commonest value does not count:
//! columns that are mostly zero in the same rows do not give each other for it. Nor do rows count in which the giving column
//! misses its cell. A pair that does not hold fails after a few rows, and the work on all is bounded by the number of cells.

use std::collections::BTreeMap;

use super::coded::Coded;
use super::values::fact;
use super::{Fact, FactKind, View, count, listed, quoted};
use crate::columns::Kind;
use crate::table::MISSING;

/// Columns that are compared, at the most.
const MOST_COLUMNS: usize = 300;
/// Walks over all cells that the comparisons may take together.
const MOST_WALKS: usize = 20;
/// The odds against chance, as a logarithm.
const ODDS: f64 = 30.0;
/// Where one value is more common than this, a column says too little for another to give it.
const ONE_VALUE: f64 = 0.98;

pub(super) fn facts(view: &View<'_>) -> Vec<Fact> {
    let mut columns: Vec<&Coded<'_>> =
        view.columns.iter().filter(|column| column.is_used() && column.distinct() > 1).take(MOST_COLUMNS).collect();
    columns.sort_by_key(|column| column.distinct());
    let mut facts = Vec::new();
    let mut given = vec![false; columns.len()];
    for (at, column) in columns.iter().enumerate() {
        if given[at] {
            continue;
        }
        let is_twin =
            |other: &usize| columns[*other].distinct() == column.distinct() && columns[*other].codes == column.codes;
        let twins: Vec<usize> = (at + 1..columns.len()).filter(is_twin).collect();
        let (copies, renamed): (Vec<usize>, Vec<usize>) =
            twins.into_iter().partition(|other| same_texts(column, columns[*other]));
        tell_twins(&mut facts, column, &copies.iter().map(|other| columns[*other]).collect::<Vec<_>>(), true);
        copies.iter().for_each(|other| given[*other] = true);
        // Of keys each has its own; that they go together says nothing.
        if repeats(column) * chance(column, |_| true) >= ODDS {
            tell_twins(&mut facts, column, &renamed.iter().map(|other| columns[*other]).collect::<Vec<_>>(), false);
            renamed.iter().for_each(|other| given[*other] = true);
        }
    }
    facts.extend(functions(view, &columns, &mut given));
    facts
}

/// Whether two columns with the same pattern have the same texts, or numbers.
fn same_texts(a: &Coded<'_>, b: &Coded<'_>) -> bool {
    let is_same = |a: &str, b: &str| a == b || matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a == b);
    (0..a.distinct()).all(|code| is_same(&a.text(code), &b.text(code)))
}

fn tell_twins(facts: &mut Vec<Fact>, column: &Coded<'_>, others: &[&Coded<'_>], are_copies: bool) {
    if others.is_empty() {
        return;
    }
    let names = || others.iter().map(|other| other.name());
    let is = if others.len() == 1 { "is" } else { "are" };
    let (kind, text) = if are_copies {
        let copies = if others.len() == 1 { "a copy" } else { "copies" };
        (FactKind::Copies, format!("{} {is} {copies} of {}", listed(names()), quoted(column.name())))
    } else {
        let n = count(column.distinct());
        let says = if others.len() == 1 { "says" } else { "say" };
        let text =
            format!("{} {says} the same as {}, in other words ({n} values)", listed(names()), quoted(column.name()));
        (FactKind::Functions, text)
    };
    facts.push(fact(kind, names().chain([column.name()]), others.len(), text, Vec::new()));
}

/// The columns that others give.
fn functions(view: &View<'_>, columns: &[&Coded<'_>], given: &mut [bool]) -> Vec<Fact> {
    let mut left = MOST_WALKS * view.n_rows * columns.len();
    let most = columns.iter().map(|column| column.distinct()).max().unwrap_or(0);
    // For each value of the giving column what stands beside it, and in which comparison that was seen.
    let mut beside: Vec<(u32, u32)> = vec![(0, 0); most];
    let mut comparison = 0;
    let mut by_giver: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let chances: Vec<f64> = columns.iter().map(|column| chance(column, |_| true)).collect();
    for (from, giver) in columns.iter().enumerate() {
        let repeats = repeats(giver);
        if given[from] || 2 * giver.distinct() > giver.present() || matches!(giver.schema.kind, Kind::Text { .. }) {
            continue;
        }
        for to in 0..from {
            if given[to] || chances[to] <= 0.0 || repeats * chances[to] < ODDS || left == 0 {
                continue;
            }
            comparison += 1;
            let seen = gives(giver, columns[to], &mut beside, comparison);
            left = left.saturating_sub(seen.unwrap_or(view.n_rows));
            let is_there = |row: usize| giver.codes[row] != MISSING;
            if seen.is_none() && repeats * chance(columns[to], is_there) >= ODDS {
                given[to] = true;
                by_giver.entry(from).or_default().push(to);
            }
        }
    }
    let fact_of = |(from, to): (usize, Vec<usize>)| {
        let giver = columns[from];
        let names = || to.iter().map(|to| columns[*to].name());
        let is = if to.len() == 1 { "is" } else { "are" };
        let n = count(giver.distinct());
        let text = format!("{} {is} given by {}: one value for each of its {n}", listed(names()), quoted(giver.name()));
        fact(FactKind::Functions, names().chain([giver.name()]), to.len(), text, Vec::new())
    };
    by_giver.into_iter().map(fact_of).collect()
}

/// Rows whose value came up before, but for those of the commonest value.
fn repeats(column: &Coded<'_>) -> f64 {
    let commonest = column.counts.iter().max().copied().unwrap_or(0);
    (column.present() - commonest).saturating_sub(column.distinct().saturating_sub(1)) as f64
}

/// How much it says that two of some rows agree in a column: the logarithm of one in the chance; 0 where one value is nearly all
/// there is.
fn chance(column: &Coded<'_>, is_used: impl Fn(usize) -> bool) -> f64 {
    let mut counts = vec![0usize; column.distinct() + 1];
    for (_, code) in column.codes.iter().enumerate().filter(|(row, _)| is_used(*row)) {
        counts[(*code as usize).min(column.distinct())] += 1;
    }
    let n = counts.iter().sum::<usize>() as f64;
    let shares = || counts.iter().map(|count| *count as f64 / n);
    let is_one = counts.iter().any(|count| *count as f64 > ONE_VALUE * n);
    if is_one || n == 0.0 { 0.0 } else { -shares().map(|share| share * share).sum::<f64>().ln() }
}

/// Whether each value of a column has one value of another beside it: `None`; otherwise the row up to which that holds. A
/// missing cell is a value like others of the one that is given, and says nothing of the one that gives.
fn gives(giver: &Coded<'_>, other: &Coded<'_>, beside: &mut [(u32, u32)], comparison: u32) -> Option<usize> {
    for (row, (code, value)) in giver.codes.iter().zip(&other.codes).enumerate() {
        if *code == MISSING {
            continue;
        }
        let place = &mut beside[*code as usize];
        if place.0 != comparison {
            *place = (comparison, *value);
        } else if place.1 != *value {
            return Some(row + 1);
        }
    }
    None
}
