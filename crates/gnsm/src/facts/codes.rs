//! Numbers, dates and texts that stand for a missing value.
//!
//! A number is one if it can only be that: the smallest or the largest of its column, by far, repeated, and written as such codes
//! are (nines, a round negative number, the largest number of a type). A date is one if it is the first or the last by years,
//! repeated, and one of those that programs write: 1900-01-01, 9999-12-31. A text is one if it says so, such as `.` or `n.a.`, or
//! if it stands again and again among numbers or dates.

use std::collections::BTreeMap;

use super::coded::Coded;
use super::values::{marks, stray_codes};
use super::{Advice, Fact, FactKind, View, count, counted, listed, quoted};
use crate::columns::Kind;
use crate::table::{Values, civil_of_days};

/// Marks that say that there is no value, beside those that are missing by default; and words, in small letters, which may be
/// names where they stand once or twice, or among keys.
const MARKS: [&str; 15] = [
    ".", "..", "--", "---", "n.a.", "n.a", "#n/a n/a", "<na>", "(null)", "[null]", "\\n", "#div/0!", "#ref!",
    "#value!", "#name?",
];
const WORDS: [&str; 7] = ["na.", "nil", "nat", "missing", "not available", "no data", "undefined"];
/// The largest numbers of types.
const LARGEST: [f64; 8] = [
    32_767.0,
    65_535.0,
    2_147_483_647.0,
    4_294_967_295.0,
    9_007_199_254_740_991.0,
    1e20,
    1e30,
    3.402_823_466_385_288_6e38,
];
/// Cells that a code must have at the least, and the share of its column.
const FEWEST: usize = 3;
const SMALLEST_SHARE: f64 = 0.0005;
/// The same for round numbers, which may be amounts.
const FEWEST_ROUND: usize = 10;
const SMALLEST_ROUND_SHARE: f64 = 0.005;
/// The share of -1 where it is a code, and the distinct values beside it.
const MINUS_ONE: f64 = 0.01;
const MANY: usize = 10;
/// Codes at each end of a column.
const MOST_AT_AN_END: usize = 3;
/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// A code of a column: the number of its value.
struct Found<'a> {
    column: &'a Coded<'a>,
    code: usize,
}

pub(super) fn facts(view: &View<'_>) -> Vec<Fact> {
    let mut by_text: BTreeMap<String, Vec<Found<'_>>> = BTreeMap::new();
    for column in view.columns {
        for code in codes_of(column) {
            let text = column.text(code).trim().to_owned();
            let key = text.parse::<f64>().map_or(text, |number| number.to_string());
            by_text.entry(key).or_default().push(Found { column, code });
        }
    }
    let mut facts: Vec<Fact> = by_text.into_values().map(|found| fact_of(view, &found)).collect();
    facts.sort_by_key(|fact| std::cmp::Reverse(fact.count));
    facts
}

fn fact_of(view: &View<'_>, found: &[Found<'_>]) -> Fact {
    let n: usize = found.iter().map(|found| found.column.counts[found.code]).sum();
    let mut names: Vec<&str> = found.iter().map(|found| found.column.name()).collect();
    names.dedup();
    let text = found.first().map(|found| found.column.text(found.code).trim().to_owned()).unwrap_or_default();
    let columns = if names.len() == 1 { String::new() } else { format!(" of {} columns", count(names.len())) };
    let cells = counted(n, "cell");
    let listed = listed(names.iter().copied());
    let mut words = format!("{} seems to mean a missing value in {cells}{columns}: {listed}", quoted(&text));
    // In other columns it may be a value like others.
    let is_elsewhere = view.columns.iter().any(|column| {
        let is_time = matches!(column.values, Values::Time { .. });
        !is_time && !names.contains(&column.name()) && column.texts().any(|other| is_same(&other, &text))
    });
    let typed = found.iter().any(|found| matches!(found.column.values, Values::Time { .. }));
    if is_elsewhere {
        words += "; other columns have it as a value";
    }
    let marked: Vec<_> = found.iter().map(|found| (found.column, marks(found.column, &[found.code]))).collect();
    Fact {
        kind: FactKind::MissingCode,
        columns: names.into_iter().map(str::to_owned).collect(),
        count: n as u64,
        text: words,
        rows: view.rows_with(&marked),
        advice: (!is_elsewhere && !typed).then_some(Advice::Missing(text)),
    }
}

/// Whether two texts are the same, or the same number.
fn is_same(a: &str, b: &str) -> bool {
    let numbers = (a.trim().parse::<f64>(), b.trim().parse::<f64>());
    a.trim() == b.trim() || matches!(numbers, (Ok(a), Ok(b)) if a == b)
}

/// The values of a column that stand for a missing one, ascending.
pub(super) fn codes_of(column: &Coded<'_>) -> Vec<usize> {
    if !column.is_used() {
        return Vec::new();
    }
    let mut codes = match &column.schema.kind {
        Kind::Numeric { .. } => column.numbers().map(|numbers| numbers_of(column, &numbers)).unwrap_or_default(),
        Kind::Date { .. } => column.dates().map(|dates| dates_of(column, &dates)).unwrap_or_default(),
        _ => Vec::new(),
    };
    let strays = stray_codes(column);
    let are_names = matches!(column.schema.kind, Kind::Identifier { .. } | Kind::Text { .. });
    let is_text = |code: &usize| {
        let text = column.text(*code).trim().to_lowercase();
        let may_be_word = !are_names && column.counts[*code] >= FEWEST;
        MARKS.contains(&text.as_str()) || (may_be_word && WORDS.contains(&text.as_str()))
    };
    match &column.schema.kind {
        Kind::Numeric { .. } | Kind::Date { .. } => codes.extend(strays.into_iter().filter(|code| {
            let text = column.text(*code);
            let is_word = text.chars().all(|c| !c.is_ascii_digit());
            is_text(code)
                || (is_word && column.counts[*code] >= FEWEST && !text.trim().is_empty())
                || text.starts_with("9999")
        })),
        _ => codes.extend((0..column.distinct()).filter(is_text)),
    }
    codes.sort_unstable();
    codes
}

/// The codes among numbers, at both ends.
fn numbers_of(column: &Coded<'_>, numbers: &[Option<f64>]) -> Vec<usize> {
    let mut order: Vec<(f64, usize)> =
        numbers.iter().zip(0..).filter_map(|(number, code)| Some(((*number)?, code))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let present = column.present() as f64;
    let mut codes = Vec::new();
    let mut rest = order.as_slice();
    for _ in 0..MOST_AT_AN_END {
        if let [(number, code), others @ ..] = rest
            && let [(next, _), .., (last, _)] = others
            && is_smallest(*number, (*next, *last), others.len(), column.counts[*code], present)
        {
            codes.push(*code);
            rest = others;
        }
    }
    for _ in 0..MOST_AT_AN_END {
        if let [others @ .., (number, code)] = rest
            && let [.., (next, _)] = others
            && others.len() >= 2
            && is_largest(*number, *next, column.counts[*code], present)
        {
            codes.push(*code);
            rest = others;
        }
    }
    codes
}

/// Whether nothing but nines are the digits of a whole number.
fn is_nines(number: f64) -> bool {
    let size = number.abs();
    size.fract() == 0.0 && size < 1e15 && format!("{size}").bytes().all(|digit| digit == b'9')
}

/// Whether the smallest number is a code. The others begin and end at `next` and `last`.
fn is_smallest(number: f64, (next, last): (f64, f64), others: usize, n: usize, present: f64) -> bool {
    if number >= 0.0 || number.fract() != 0.0 || last <= 0.0 {
        return false;
    }
    let is_common = |least: usize, share: f64| n >= least && n as f64 >= share * present;
    let is_round = number <= -100.0 && number % 100.0 == 0.0;
    let is_type = LARGEST.iter().any(|largest| number == -largest || number == -largest - 1.0);
    (is_nines(number) && number <= -99.0 && next > number / 2.0 && is_common(FEWEST, SMALLEST_SHARE))
        || (matches!(number as i64, -9..=-7) && next >= 0.0 && others >= MANY && is_common(FEWEST, MINUS_ONE))
        || (number == -1.0 && next >= 0.0 && others >= MANY && is_common(FEWEST_ROUND, MINUS_ONE))
        || (is_round && next > number / 5.0 && is_common(FEWEST_ROUND, SMALLEST_ROUND_SHARE))
        || (is_type && next > number / 10.0)
}

/// Whether the largest number is a code.
fn is_largest(number: f64, next: f64, n: usize, present: f64) -> bool {
    let is_common = n >= FEWEST && n as f64 >= SMALLEST_SHARE * present;
    let is_far = if number < 9999.0 { next < number / 2.0 } else { next < 0.9 * number };
    (number >= 99.0 && is_nines(number) && is_far && is_common) || (LARGEST.contains(&number) && next < number / 10.0)
}

/// The codes among dates, at both ends.
fn dates_of(column: &Coded<'_>, dates: &[Option<f64>]) -> Vec<usize> {
    let mut order: Vec<(f64, usize)> =
        dates.iter().zip(0..).filter_map(|(date, code)| Some(((*date)?, code))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let civil = |date: f64| civil_of_days((date / DAY).floor() as i64);
    let years = |a: f64, b: f64| (b - a) / (365.25 * DAY);
    let mut codes = Vec::new();
    if let [(first, code), (next, other), ..] = order.as_slice() {
        let is_known = matches!(
            civil(*first),
            (1900 | 1970 | 1753 | 1601 | 1000 | 1800, 1, 1) | (1899, 12, 30 | 31) | (1969, 12, 31)
        );
        let n = column.counts[*code];
        if is_known && n >= FEWEST && n > 3 * column.counts[*other] && years(*first, *next) > 1.0 {
            codes.push(*code);
        }
    }
    if let [.., (next, _), (last, code)] = order.as_slice() {
        let (year, month, day) = civil(*last);
        let is_known = year >= 2999 || ((month, day) == (12, 31) && matches!(year, 2099 | 2199 | 2299 | 2500 | 2999));
        if is_known && years(*next, *last) > 10.0 && column.counts[*code] >= FEWEST {
            codes.push(*code);
        }
    }
    codes
}
