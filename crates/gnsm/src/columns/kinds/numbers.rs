//! What a column of numbers is: amounts, counts, codes, keys, years or moments.

use super::super::counted::{CellsToLearn, Counted, NEARLY_ALL};
use super::super::dated::date;
use super::super::learned::{categorical, identifier, numeric};
use super::super::number::NumberFormat;
use super::super::schema::Kind;
use super::forms::{
    are_file_modes, are_whole, epoch_format, is_epoch, leaves_hardly_a_gap, lie_far_apart, moves_with_rows,
    repeat_less_than_chance, same_length, some_lie_far_outside,
};
use super::names::{CODE_WORDS, TIME_WORDS, names_a_key, says};
use super::{MOSTLY, strays};
use crate::table::Values;

/// Whole numbers with at most this many distinct values are taken for categories.
const FEW_INTEGERS: usize = 20;
/// Values that may occur only once among few whole numbers.
const FEW_SINGLES: usize = 4;
/// Whole numbers that follow each other from here to there are years.
const YEARS: (f64, f64) = (1500.0, 2100.0);
/// Digits of one length, from which on numbers that all differ are codes: no amounts have one length.
const LONG_CODE: usize = 9;

/// The kind of a column of numbers, and why.
pub(super) fn number_found(
    cells: CellsToLearn<'_>,
    counted: &Counted,
    format: NumberFormat,
    n_numbers: usize,
) -> (Kind, String) {
    let column = cells.column;
    let distinct = counted.distinct();
    let values = counted.values();
    let strays = strays(counted, n_numbers);
    if distinct == 1 {
        return (categorical(counted), "one single number".into());
    }
    let of_numbers = |n: usize| n as f64 >= MOSTLY * n_numbers as f64;
    let is_whole = |text: &str| {
        let whole = format.parse(text).is_some_and(|number| number.fract() == 0.0 && number.abs() < 1e15);
        whole && (!text.contains('.') || format.decimal_comma)
    };
    let declared_real = matches!(column.values, Values::Number { integer: false, .. });
    let n_whole: usize = counted.cells().filter(|(text, _)| is_whole(text)).map(|(_, n)| n).sum();
    // Whole numbers beside missing ones become reals in many programs.
    let were_whole = counted.has_missing() && are_whole(counted, &format);
    let integers = were_whole || (!declared_real && of_numbers(n_whole));
    let mut numbers: Vec<f64> = counted.cells().filter_map(|(text, _)| format.parse(text)).collect();
    numbers.sort_by(f64::total_cmp);
    if let Some(found) = moments(cells, counted, &numbers, integers) {
        return found;
    }
    // What has a currency, a unit or marks between its thousands is an amount.
    let is_bare = |text: &str| text.strip_suffix(".0").unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    let n_bare: usize = counted.cells().filter(|(text, _)| is_bare(text)).map(|(_, n)| n).sum();
    let bare = of_numbers(n_bare);
    if integers {
        if counted.nearly_all_differ()
            && distinct > FEW_INTEGERS
            && let Some(found) = key(cells, counted, &numbers, &format, bare)
        {
            return found;
        }
        // What has marks between its thousands is an amount.
        let mark = if format.decimal_comma { '.' } else { ',' };
        let has_thousands = counted.cells().any(|(text, _)| text.contains(mark) && is_whole(text));
        if are_file_modes(counted) {
            return (categorical(counted), format!("modes of files, with {values}{strays}"));
        }
        let singles = counted.singles();
        let repeat = 2 * singles <= distinct || (singles <= FEW_SINGLES && 3 * distinct <= counted.all_present());
        if distinct <= FEW_INTEGERS && repeat && !has_thousands && !some_lie_far_outside(counted, &format) {
            return (categorical(counted), format!("whole numbers with {values}"));
        }
        if let Some(why) = code(&column.name, counted, &numbers, bare) {
            return (categorical(counted), format!("{why}, with {values}{strays}"));
        }
    }
    let written = match (&format.unit, format.decimal_comma) {
        (Some(unit), _) => format!(" in {unit}"),
        (None, true) if integers => " with points between thousands".to_owned(),
        (None, true) => " with a decimal comma".to_owned(),
        (None, false) => String::new(),
    };
    (numeric(counted, format), format!("numbers{written} with {values}{strays}"))
}

/// Numbers that count seconds or milliseconds since 1970. With decimals, only the name tells.
fn moments(cells: CellsToLearn<'_>, counted: &Counted, numbers: &[f64], integers: bool) -> Option<(Kind, String)> {
    let named = says(&cells.column.name, &TIME_WORDS);
    let moves = || integers && cells.in_order() && moves_with_rows(cells.column, cells.rows);
    if !is_epoch(numbers) || !(named || (counted.nearly_all_differ() && moves())) {
        return None;
    }
    let kind = date(cells, counted, epoch_format(counted))?;
    let what = if integers { "whole numbers" } else { "numbers" };
    Some((kind, format!("{what} that count seconds or milliseconds since 1970")))
}

/// Whole numbers of which nearly all differ, where they are keys or years.
fn key(
    cells: CellsToLearn<'_>,
    counted: &Counted,
    numbers: &[f64],
    format: &NumberFormat,
    bare: bool,
) -> Option<(Kind, String)> {
    let name = &cells.column.name;
    let (values, n_rows) = (counted.values(), counted.all_present());
    let is_named = names_a_key(name) || says(name, &CODE_WORDS);
    let ends = counted.ends(format).or_else(|| Some((*numbers.first()?, *numbers.last()?)));
    if leaves_hardly_a_gap(ends, (numbers.len() as f64 * counted.of_one()) as usize) {
        let (least, most) = YEARS;
        if !is_named && ends.is_some_and(|(first, last)| first >= least && last <= most) {
            return Some((numeric(counted, format.clone()), format!("years, {values}")));
        }
        let n = counted.about(counted.distinct().to_string());
        return Some((identifier(counted), format!("a row number: {n} whole numbers with hardly a gap")));
    }
    if is_named {
        return Some((identifier(counted), format!("an identifier by its name: {values} in {n_rows} rows")));
    }
    let are_long = || {
        let (length, share) = same_length(counted);
        length >= LONG_CODE && share >= NEARLY_ALL && !are_rounded(numbers, 20)
    };
    if bare && are_long() {
        return Some((identifier(counted), format!("an identifier: digits of one length, {values} in {n_rows} rows")));
    }
    let by_chance = bare && repeat_less_than_chance(numbers, counted);
    let why = || format!("an identifier: {values} in {n_rows} rows, where chance would repeat more");
    by_chance.then(|| (identifier(counted), why()))
}

/// Why whole numbers are codes, if they are.
fn code(name: &str, counted: &Counted, numbers: &[f64], bare: bool) -> Option<&'static str> {
    let (distinct, present) = (counted.distinct(), counted.all_present());
    let rounded = are_rounded(numbers, 2);
    let half = 2 * distinct <= present;
    if (names_a_key(name) && half) || (says(name, &CODE_WORDS) && (half || same_length(counted).1 >= MOSTLY)) {
        return Some("codes by their name");
    }
    let apart = 5 * distinct <= present && bare && !rounded && lie_far_apart(numbers, counted.of_one());
    apart.then_some("codes of one length that repeat")
}

/// Whether more than one number in so many is rounded to hundreds: then these are amounts.
fn are_rounded(numbers: &[f64], one_in: usize) -> bool {
    one_in * numbers.iter().filter(|number| *number % 100.0 == 0.0).count() > numbers.len()
}
