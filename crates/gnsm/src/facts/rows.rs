//! Rows in which nothing stands, and rows that repeat.

use std::collections::HashSet;

use super::coded::Coded;
use super::{Fact, FactKind, View, counted, listed};
use crate::columns::{Kind, mix};
use crate::table::MISSING;

/// Rows that repeat but for a row number tell something only where they are fewer than one in so many.
const FEW: usize = 5;
/// Columns that must be the same in them.
const ENOUGH_COLUMNS: usize = 3;

pub(super) fn facts(view: &View<'_>) -> Vec<Fact> {
    let used: Vec<&Coded<'_>> = view.columns.iter().filter(|column| column.is_used()).collect();
    let is_empty = |row: usize| used.iter().all(|column| column.codes[row] == MISSING);
    let mut facts = Vec::new();
    let n_empty = (0..view.n_rows).filter(|row| is_empty(*row)).count();
    if n_empty > 0 && !used.is_empty() {
        let is = if n_empty == 1 { "is" } else { "are" };
        let text = format!("{} {is} empty", counted(n_empty, "row"));
        facts.push(fact(FactKind::EmptyRows, n_empty, text, view.rows(is_empty)));
    }
    // A number for each row hides that the rest of it repeats.
    let is_row_number = |column: &Coded<'_>| {
        matches!(column.schema.kind, Kind::Identifier { .. }) && column.distinct() == view.n_rows && is_count(column)
    };
    let (numbers, others): (Vec<&Coded<'_>>, Vec<&Coded<'_>>) = used.iter().partition(|column| is_row_number(column));
    let repeats = repeats(view, &others);
    let n = repeats.iter().filter(|repeats| **repeats).count();
    let words = if n == 1 { "row repeats" } else { "rows repeat" };
    let rows = || view.rows(|row| repeats.get(row).copied().unwrap_or(false));
    if n > 0 && numbers.is_empty() {
        facts.push(fact(
            FactKind::RepeatedRows,
            n,
            format!("{} {words} an earlier one in full", super::count(n)),
            rows(),
        ));
    } else if n > 0 && FEW * n < view.n_rows && others.len() >= ENOUGH_COLUMNS {
        let but = listed(numbers.iter().map(|column| column.name()));
        let text = format!("{} {words} an earlier one in everything but {but}", super::count(n));
        facts.push(fact(FactKind::RepeatedRows, n, text, rows()));
    }
    facts
}

fn fact(kind: FactKind, n: usize, text: String, rows: Vec<u64>) -> Fact {
    Fact { kind, columns: Vec::new(), count: n as u64, text, rows, advice: None }
}

/// Whether the values are whole numbers that lie together as closely as rows.
fn is_count(column: &Coded<'_>) -> bool {
    let mut ends: Option<(i64, i64)> = None;
    for text in column.texts() {
        let Ok(number) = text.parse::<i64>() else { return false };
        ends = Some(ends.map_or((number, number), |(low, high)| (low.min(number), high.max(number))));
    }
    ends.is_some_and(|(low, high)| high.saturating_sub(low) < 2 * column.distinct() as i64)
}

/// For each row whether an earlier one is the same in these columns. Rows are compared by hashes of their numbers; empty ones
/// are told apart from those that repeat.
fn repeats(view: &View<'_>, columns: &[&Coded<'_>]) -> Vec<bool> {
    let mut hashes = vec![0u64; view.n_rows];
    for column in columns {
        for (hash, code) in hashes.iter_mut().zip(&column.codes) {
            *hash = mix(*hash ^ u64::from(*code));
        }
    }
    let is_empty = |row: usize| columns.iter().all(|column| column.codes[row] == MISSING);
    let mut seen: HashSet<u64> = HashSet::with_capacity(view.n_rows);
    let hashes = hashes.into_iter().enumerate();
    hashes.map(|(row, hash)| !seen.insert(hash) && !is_empty(row)).collect()
}
