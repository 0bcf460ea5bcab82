//! Dates after today, and dates before 1900, where most are neither.

use super::codes::codes_of;
use super::values::{fact, marks};
use super::{Fact, FactKind, View, counted, quoted};
use crate::table::TimeKind;

/// Seconds of a day, and those from 1970 back to 1900.
const DAY: f64 = 86_400.0;
const FROM_1900: f64 = -25_567.0 * DAY;

pub(super) fn facts(view: &View<'_>, now: f64) -> Vec<Fact> {
    let mut facts = Vec::new();
    for column in view.columns {
        let Some(dates) = column.dates() else { continue };
        let codes = codes_of(column);
        let is_code = |code: &usize| codes.binary_search(code).is_ok();
        let mut tell = |kind: FactKind, is_out: &dyn Fn(f64) -> bool, words: &str| {
            let out = |code: &usize| dates[*code].is_some_and(is_out);
            let codes: Vec<usize> = (0..dates.len()).filter(|code| out(code) && !is_code(code)).collect();
            let n: usize = codes.iter().map(|code| column.counts[*code]).sum();
            // Where most dates are so, the table is about the future, or the past.
            if n == 0 || 2 * n > column.present() {
                return;
            }
            let found = || codes.iter().filter_map(|code| dates[*code]);
            let (first, last) = (found().fold(f64::INFINITY, f64::min), found().fold(f64::NEG_INFINITY, f64::max));
            let [first, last] = [first, last].map(|seconds| TimeKind::Date.text(seconds));
            let range = if first == last { first } else { format!("{first} to {last}") };
            let is = if n == 1 { "is" } else { "are" };
            let text = format!("{} of {} {is} {words}: {range}", counted(n, "date"), quoted(column.name()));
            let rows = view.rows_with(&[(column, marks(column, &codes))]);
            facts.push(fact(kind, [column.name()], n, text, rows));
        };
        // Today may have begun earlier elsewhere.
        tell(FactKind::FutureDates, &|date| date > now + DAY, "in the future");
        tell(FactKind::OldDates, &|date| date < FROM_1900, "before 1900");
    }
    facts
}
