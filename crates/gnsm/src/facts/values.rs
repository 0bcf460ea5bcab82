//! Facts about the values of single columns: keys that repeat, cells of another kind, numbers as text, units, spellings, times,
//! columns with one value or none.

use std::collections::{BTreeMap, HashMap};

use super::coded::Coded;
use super::codes::codes_of;
use super::{Advice, Fact, FactKind, View, count, counted, listed, quoted};
use crate::columns::{DateFormat, Kind, mark_of, parse_number};
use crate::table::{MISSING, Values};

/// Of keys, at least this share occurs once; where fewer do, a value that occurs twice is nothing.
const KEYS: f64 = 0.98;
/// The share of texts that are numbers, for a column of texts to be one of numbers.
const MOSTLY: f64 = 0.9;
/// Texts of another kind that are shown.
const SHOWN: usize = 3;
/// Distinct values from which on texts that are plain numbers are no names.
const MANY: usize = 20;

/// Keys that occur more than once.
pub(super) fn keys(view: &View<'_>) -> Vec<Fact> {
    let is_key = |column: &&Coded<'_>| matches!(column.schema.kind, Kind::Identifier { by_chance: false, .. });
    let repeated = view.columns.iter().filter(is_key).filter_map(|column| {
        let marks: Vec<bool> = column.counts.iter().map(|count| *count > 1).collect();
        let values = marks.iter().filter(|mark| **mark).count();
        let once = (column.distinct() - values) as f64;
        if values == 0 || once < KEYS * column.distinct() as f64 {
            return None;
        }
        let rows: usize = column.counts.iter().filter(|count| **count > 1).sum();
        let texts: Vec<_> = (0..column.distinct()).filter(|code| marks[*code]).map(|code| column.text(code)).collect();
        let text = format!(
            "{} of {} more than once, in {}: {}",
            counted(values, "value"),
            quoted(column.name()) + if values == 1 { " occurs" } else { " occur" },
            counted(rows, "row"),
            listed(texts.iter().map(AsRef::as_ref))
        );
        let rows_of = view.rows_with(&[(column, marks)]);
        Some(fact(FactKind::RepeatedKeys, [column.name()], rows, text, rows_of))
    });
    repeated.collect()
}

pub(super) fn facts(view: &View<'_>) -> Vec<Fact> {
    let mut facts: Vec<Fact> = view.columns.iter().filter_map(|column| strays(view, column)).collect();
    facts.extend(numbers_as_text(view));
    facts.extend(view.columns.iter().filter_map(|column| units(view, column)));
    facts.extend(view.columns.iter().filter_map(|column| spellings(view, column)));
    facts.extend(times(view));
    facts
}

/// Columns with one value in all rows, and columns with none.
pub(super) fn constants(view: &View<'_>) -> Vec<Fact> {
    if view.n_rows < 2 {
        return Vec::new();
    }
    let used = || {
        view.columns.iter().filter(|column| column.is_used() && !matches!(column.values, Values::Unsupported { .. }))
    };
    let mut facts = Vec::new();
    let constant: Vec<&Coded<'_>> =
        used().filter(|column| column.distinct() == 1 && column.present() == view.n_rows).collect();
    if !constant.is_empty() {
        let values: Vec<String> =
            constant.iter().map(|column| format!("{} = {}", column.name(), column.text(0))).collect();
        let have = if values.len() == 1 { "has" } else { "have" };
        let text = format!(
            "{} {have} one value: {}",
            counted(values.len(), "column"),
            listed(values.iter().map(String::as_str))
        );
        facts.push(fact(
            FactKind::Constants,
            constant.iter().map(|column| column.name()),
            values.len(),
            text,
            Vec::new(),
        ));
    }
    let empty: Vec<&str> = used().filter(|column| column.distinct() == 0).map(Coded::name).collect();
    if !empty.is_empty() {
        let is = if empty.len() == 1 { "is" } else { "are" };
        let text = format!("{} {is} empty: {}", counted(empty.len(), "column"), listed(empty.iter().copied()));
        facts.push(fact(FactKind::EmptyColumns, empty.iter().copied(), empty.len(), text, Vec::new()));
    }
    facts
}

pub(super) fn fact<'a>(
    kind: FactKind,
    columns: impl IntoIterator<Item = &'a str>,
    n: usize,
    text: String,
    rows: Vec<u64>,
) -> Fact {
    let columns = columns.into_iter().map(str::to_owned).collect();
    Fact { kind, columns, count: n as u64, text, rows, advice: None }
}

/// The numbers of values that are none of their column's kind, where most are.
pub(super) fn stray_codes(column: &Coded<'_>) -> Vec<usize> {
    let is_right: Vec<bool> = match (&column.schema.kind, column.values) {
        (_, Values::Number { .. } | Values::Time { .. } | Values::Unsupported { .. }) => return Vec::new(),
        (Kind::Numeric { format, .. }, _) => column.texts().map(|text| format.parse(&text).is_some()).collect(),
        (Kind::Date { format, .. }, _) => column.texts().map(|text| format.parse(&text).is_some()).collect(),
        _ => return Vec::new(),
    };
    (0..is_right.len()).filter(|code| !is_right[*code]).collect()
}

/// Cells that are no numbers, or dates, in a column of these. Those that stand for a missing value are a fact of their own.
fn strays(view: &View<'_>, column: &Coded<'_>) -> Option<Fact> {
    let none = codes_of(column);
    let mut codes = stray_codes(column);
    codes.retain(|code| none.binary_search(code).is_err());
    // In another unit is another fact.
    if let Kind::Numeric { format, .. } = &column.schema.kind {
        codes.retain(|code| format.other_unit(&column.text(*code)).is_none());
    }
    let n: usize = codes.iter().map(|code| column.counts[*code]).sum();
    if n == 0 {
        return None;
    }
    codes.sort_by_key(|code| std::cmp::Reverse(column.counts[*code]));
    let texts: Vec<_> = codes.iter().take(SHOWN).map(|code| quoted(&column.text(*code))).collect();
    let what = match &column.schema.kind {
        Kind::Date { format, .. } if format.is_time_of_day() => "times",
        Kind::Date { .. } => "dates",
        _ => "numbers",
    };
    let are = if n == 1 { "cell is none" } else { "cells are none" };
    let dots = if codes.len() > SHOWN { ", …" } else { "" };
    let text = format!("{} holds {what}, and {} {are}: {}{dots}", quoted(column.name()), count(n), texts.join(", "));
    let rows = view.rows_with(&[(column, marks(column, &codes))]);
    Some(fact(FactKind::Strays, [column.name()], n, text, rows))
}

pub(super) fn marks(column: &Coded<'_>, codes: &[usize]) -> Vec<bool> {
    let mut marks = vec![false; column.distinct()];
    codes.iter().for_each(|code| marks[*code] = true);
    marks
}

/// Numbers that other programs read as text: in cells that are written so, and in columns that are declared as texts.
fn numbers_as_text(view: &View<'_>) -> Option<Fact> {
    let mut found: Vec<(&Coded<'_>, Vec<usize>)> = Vec::new();
    for column in view.columns {
        let codes: Vec<usize> = match (&column.schema.kind, column.values) {
            (Kind::Numeric { format, .. }, Values::Text(_)) => {
                let is_other = |text: &str| parse_number(text).is_none() && format.parse(text).is_some();
                (0..column.distinct()).filter(|code| is_other(&column.text(*code))).collect()
            }
            (Kind::Numeric { format, .. }, Values::Category { .. }) => {
                (0..column.distinct()).filter(|code| format.parse(&column.text(*code)).is_some()).collect()
            }
            // Whole numbers that are declared as texts are names and keys; those with decimals are amounts.
            (Kind::Categorical { .. } | Kind::Identifier { .. }, Values::Category { .. })
                if column.distinct() > MANY =>
            {
                let is_number = |text: &str| text.contains('.') && parse_number(text).is_some();
                let codes: Vec<usize> = (0..column.distinct()).filter(|code| is_number(&column.text(*code))).collect();
                if codes.len() as f64 >= MOSTLY * column.distinct() as f64 { codes } else { Vec::new() }
            }
            _ => Vec::new(),
        };
        if !codes.is_empty() {
            found.push((column, codes));
        }
    }
    let n = found.iter().map(|(column, codes)| codes.iter().map(|code| column.counts[*code]).sum::<usize>()).sum();
    let (first, codes) = found.first()?;
    let names = || found.iter().map(|(column, _)| column.name());
    let cells = if n == 1 { "number is" } else { "numbers are" };
    let example = codes.first().map(|code| quoted(&first.text(*code))).unwrap_or_default();
    let text = format!("{} {cells} text to most programs, such as {example}, in {}", count(n), listed(names()));
    let marked: Vec<_> = found.iter().map(|(column, codes)| (*column, marks(column, codes))).collect();
    Some(fact(FactKind::NumbersAsText, names(), n, text, view.rows_with(&marked)))
}

/// Amounts of which some are in another unit, or currency, than most.
fn units(view: &View<'_>, column: &Coded<'_>) -> Option<Fact> {
    let Kind::Numeric { format, .. } = &column.schema.kind else { return None };
    if !matches!(column.values, Values::Text(_) | Values::Category { .. }) {
        return None;
    }
    let mut units: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (code, text) in column.texts().enumerate() {
        let unit = format.other_unit(&text).or_else(|| format.parse(&text).map(|_| mark_of(&text)));
        if let Some(unit) = unit.filter(|unit| !unit.is_empty()) {
            units.entry(unit).or_default().push(code);
        }
    }
    let size = |codes: &[usize]| codes.iter().map(|code| column.counts[*code]).sum::<usize>();
    let mut units: Vec<(String, Vec<usize>)> = units.into_iter().collect();
    units.sort_by_key(|(_, codes)| std::cmp::Reverse(size(codes)));
    let others = units.get(1..).filter(|others| !others.is_empty())?;
    let codes: Vec<usize> = others.iter().flat_map(|(_, codes)| codes.iter().copied()).collect();
    let shown: Vec<String> = units
        .iter()
        .take(4)
        .map(|(unit, codes)| format!("{} in {}", quoted(unit), counted(size(codes), "cell")))
        .collect();
    let text = format!("{} is in several units: {}", quoted(column.name()), shown.join(", "));
    let rows = view.rows_with(&[(column, marks(column, &codes))]);
    Some(fact(FactKind::MixedUnits, [column.name()], size(&codes), text, rows))
}

/// Values that differ from a more common one in case and blanks alone.
fn spellings(view: &View<'_>, column: &Coded<'_>) -> Option<Fact> {
    if !matches!(column.schema.kind, Kind::Categorical { .. }) {
        return None;
    }
    let mut groups: HashMap<String, Vec<usize>> = HashMap::new();
    for (code, text) in column.texts().enumerate() {
        // A letter or two in another case may be another code.
        if text.chars().filter(|c| c.is_alphabetic()).count() > 2 {
            let plain = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            groups.entry(plain).or_default().push(code);
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|codes| codes.len() > 1).collect();
    let order = |code: &usize| (std::cmp::Reverse(column.counts[*code]), *code);
    groups.iter_mut().for_each(|codes| codes.sort_by_key(order));
    groups.sort_by_key(|codes| order(&codes[0]));
    let rarer: Vec<usize> = groups.iter().flat_map(|codes| codes[1..].iter().copied()).collect();
    let n: usize = rarer.iter().map(|code| column.counts[*code]).sum();
    let first = groups.first()?;
    let texts: Vec<String> = first.iter().take(SHOWN).map(|code| quoted(&column.text(*code))).collect();
    let more = if groups.len() > 1 { format!(" and {} more", count(groups.len() - 1)) } else { String::new() };
    let words = if groups.len() == 1 { "value of" } else { "values of" };
    let text = format!(
        "{} {words} {} written in several ways, by case or blanks alone: {}{more}",
        count(groups.len()),
        quoted(column.name()) + if groups.len() == 1 { " is" } else { " are" },
        texts.join(" and "),
    );
    let rows = view.rows_with(&[(column, marks(column, &rarer))]);
    Some(fact(FactKind::Spellings, [column.name()], n, text, rows))
}

/// Columns whose numbers are hours and minutes.
fn times(view: &View<'_>) -> Option<Fact> {
    let is_time =
        |column: &&Coded<'_>| matches!(column.schema.kind, Kind::Date { format: DateFormat::HoursMinutes, .. });
    let columns: Vec<&Coded<'_>> = view.columns.iter().filter(is_time).collect();
    let first = columns.first()?;
    let row = first.codes.iter().position(|code| *code != MISSING && first.counts[*code as usize] > 0)?;
    let names = || columns.iter().map(|column| column.name());
    let example = quoted(&first.values.text(row).unwrap_or_default());
    let hold = if columns.len() == 1 { "holds" } else { "hold" };
    let text = format!("{} {hold} times of day, hours and minutes in one number, such as {example}", listed(names()));
    let mut fact = fact(FactKind::Times, names(), columns.len(), text, Vec::new());
    fact.advice = Some(Advice::Times(names().map(str::to_owned).collect()));
    Some(fact)
}
