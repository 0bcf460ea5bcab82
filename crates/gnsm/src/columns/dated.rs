//! What is learned about a column of dates or times, and how long dates are after each other.

use super::counted::{CellsToLearn, Counted, FEWEST_KEYS};
use super::date::{DAY, DateFormat, Moment};
use super::learned::{MOST_CATEGORIES, sorted};
use super::scale::{Scale, at_rank};
use super::schema::{ColumnSchema, DatePart, Difference, Kind, PartOfDate};
use crate::table::{Table, TimeKind, Values};

/// With at most this many columns of dates, each is compared with each; with more, only columns beside each other.
const MOST_DATES: usize = 6;
/// Rows on average that share a date which belongs to several.
const SEVERAL: usize = 3;
/// Lengths before and after 0 that tell how common lengths near 0 are.
const AROUND: usize = 5;
/// A date that belongs to somebody, such as the day of being hired, goes back at least this many times as far as dates
/// of what is done.
const MUCH_FURTHER: f64 = 3.0;
/// A year, in seconds.
const YEAR: f64 = 366.0 * DAY;

/// The format that a type stands for: all types are seconds.
pub(super) fn of_type(kind: TimeKind) -> DateFormat {
    if kind == TimeKind::TimeOfDay { DateFormat::TimeOfDay } else { DateFormat::EpochSeconds }
}

/// The moment of a cell; `None` if it is missing or no date.
pub(super) fn moment(values: &Values, row: usize, format: DateFormat) -> Option<Moment> {
    match values {
        Values::Time { seconds, kind } => {
            let local = Some(seconds[row]).filter(|seconds| seconds.is_finite())?;
            Some(Moment { local, ahead: 0.0, has_time: *kind != TimeKind::Date })
        }
        Values::Number { values, .. } => format.of_number(values[row]),
        values => format.parse(&values.text(row)?),
    }
}

/// Learns a column of dates; `None` if there is none.
pub(super) fn date(cells: CellsToLearn<'_>, counted: &Counted, format: DateFormat) -> Option<Kind> {
    let values = &cells.column.values;
    let moments: Vec<(Moment, usize)> =
        cells.weighted().filter_map(|(row, n)| Some((moment(values, row, format)?, n))).collect();
    if moments.is_empty() {
        return None;
    }
    let positions = sorted(moments.iter().map(|(moment, n)| (moment.local, *n)));
    let n_moments: usize = moments.iter().map(|(_, n)| n).sum();
    let cut = n_moments / 200;
    let (low, high) = (at_rank(&positions, cut), at_rank(&positions, n_moments - 1 - cut));
    let span = high - low;
    let is_time = format.is_time_of_day();
    // A part is looked at where the column is long enough for all its values to have come up several times.
    let has_time = is_time || moments.iter().any(|(moment, _)| moment.has_time && moment.local.rem_euclid(DAY) != 0.0);
    let parts = [
        (DatePart::Hour, has_time && (is_time || span > 3.0 * DAY)),
        (DatePart::Weekday, !is_time && span > 28.0 * DAY),
        (DatePart::Day, !is_time && span > 93.0 * DAY),
        (DatePart::Month, !is_time && span > 2.0 * YEAR),
    ];
    let parts = parts.into_iter().filter(|(_, used)| *used).filter_map(|(part, _)| part_of_date(part, &moments));
    let ages = !is_time && span > 15.0 * YEAR;
    let margin = match (is_time, ages) {
        (true, _) => DAY,
        (_, true) => 0.25 * span,
        _ => span.max(2.0 * YEAR),
    };
    let times = if is_time { repeated_times(counted, format) } else { Vec::new() };
    let scored = ages || (is_time && times.is_empty());
    Some(Kind::Date {
        format,
        parts: parts.collect(),
        range: [low - margin, high + margin],
        seen: [low, high],
        scale: scored.then(|| Scale::learn(&positions)),
        by_age: false,
        times,
        missing: counted.has_missing(),
        stray: n_moments < counted.present,
    })
}

/// The values of a part, if it varies.
fn part_of_date(part: DatePart, moments: &[(Moment, usize)]) -> Option<PartOfDate> {
    let mut counts = [0usize; 32];
    for (moment, n) in moments {
        counts[part.of(moment) as usize & 31] += n;
    }
    let values: Vec<u32> = (0..32).filter(|value| counts[*value as usize] > 0).collect();
    let usual = (0..values.len()).max_by_key(|at| (counts[values[*at] as usize], std::cmp::Reverse(*at)))?;
    (values.len() > 1).then_some(PartOfDate { part, values, usual: usual as u32 })
}

impl DatePart {
    /// The part of a moment.
    pub(crate) fn of(self, moment: &Moment) -> u32 {
        match self {
            Self::Hour => moment.hour(),
            Self::Weekday => moment.weekday(),
            Self::Day => moment.civil().2,
            Self::Month => moment.civil().1,
        }
    }
}

/// Times of day, as written, where most cells hold one that repeats: a timetable.
fn repeated_times(counted: &Counted, format: DateFormat) -> Vec<String> {
    let repeated = |(_, count): &(&str, usize)| *count > 4;
    let n: usize = counted.cells().filter(repeated).map(|(_, count)| count).sum();
    if 2 * n < counted.present {
        return Vec::new();
    }
    let mut by_count: Vec<(&str, usize)> = counted.cells().filter(|(text, _)| format.parse(text).is_some()).collect();
    by_count.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
    let mut times: Vec<String> = by_count.iter().take(MOST_CATEGORIES).map(|(text, _)| (*text).to_owned()).collect();
    times.sort_unstable();
    times
}

/// Learns how long dates are after each other.
///
/// Dates that go back many years, such as dates of birth, are compared with the recent ones. If each row has its own,
/// the age is scored instead of the date. One age is enough: beside the other dates it only counts whether it is before
/// or after. If several rows share a date, such as the day on which somebody was hired, the date itself is scored,
/// since its age grows from row to row.
pub(super) fn learn_differences(table: &Table, rows: &[usize], columns: &mut [ColumnSchema]) -> Vec<Difference> {
    let format_of = |at: &usize| match columns[*at].kind {
        Kind::Date { format, .. } => Some(format),
        _ => None,
    };
    let is_time = |at: &usize| format_of(at).is_some_and(DateFormat::is_time_of_day);
    let all: Vec<usize> = (0..columns.len()).filter(|at| format_of(at).is_some()).collect();
    let (times, dates): (Vec<usize>, Vec<usize>) = all.into_iter().partition(is_time);
    let is_old = |at: usize| matches!(columns[at].kind, Kind::Date { scale: Some(_), .. }) && !is_time(&at);
    let spreads: Vec<Option<Spread>> = columns.iter().map(|column| spread(table, rows, column)).collect();
    // Whether the first of two dates belongs to somebody: it repeats, and goes back much further than the other.
    let belongs = |at: usize, other: usize| match (&spreads[at], &spreads[other]) {
        (Some(own), Some(other)) => own.repeats && own.span > MUCH_FURTHER * other.span,
        _ => false,
    };
    let mut differences: Vec<Difference> = Vec::new();
    let mut by_age: Vec<usize> = Vec::new();
    for group in [dates, times] {
        let n = group.len();
        let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b)));
        for (a, b) in pairs.filter(|(a, b)| n <= MOST_DATES || a + 1 == *b) {
            let (a, b) = (group[a], group[b]);
            let Some(mut difference) = learn_difference(table, rows, columns, b, a) else { continue };
            let old = if is_old(a) { a } else { b };
            let one_is_old = is_old(a) != is_old(b);
            if belongs(a, b) || belongs(b, a) || (one_is_old && by_age.contains(&old)) {
                difference.scale = None;
            } else if one_is_old {
                by_age.push(old);
            }
            differences.push(difference);
        }
    }
    for at in by_age {
        if let Kind::Date { by_age, .. } = &mut columns[at].kind {
            *by_age = true;
        }
    }
    differences
}

/// How the dates of a column lie.
struct Spread {
    /// The time between the first and the last, in seconds.
    span: f64,
    /// Whether each date is that of several rows.
    repeats: bool,
}

fn spread(table: &Table, rows: &[usize], column: &ColumnSchema) -> Option<Spread> {
    let Kind::Date { format, .. } = &column.kind else { return None };
    let cells = table.column(&column.name)?;
    let mut moments: Vec<f64> =
        rows.iter().filter_map(|row| moment(&cells.values, *row, *format)).map(|moment| moment.local).collect();
    let n = moments.len();
    moments.sort_unstable_by(f64::total_cmp);
    // A date far outside must not decide.
    let cut = n / 50;
    let span = moments.get(n.checked_sub(cut + 1)?)? - moments.get(cut)?;
    moments.dedup();
    Some(Spread { span, repeats: SEVERAL * moments.len() <= n })
}

fn learn_difference(
    table: &Table,
    rows: &[usize],
    columns: &[ColumnSchema],
    of: usize,
    from: usize,
) -> Option<Difference> {
    let cells = |at: usize| match columns[at].kind {
        Kind::Date { format, .. } => table.column(&columns[at].name).map(|column| (&column.values, format)),
        _ => None,
    };
    let (of_cells, from_cells) = (cells(of)?, cells(from)?);
    let mut present = [0usize; 2];
    let mut lengths = Vec::new();
    for row in rows {
        let dates = [of_cells, from_cells].map(|(values, format)| moment(values, *row, format));
        present.iter_mut().zip(dates).for_each(|(n, date)| *n += usize::from(date.is_some()));
        if let [Some(of), Some(from)] = dates {
            lengths.push(of.utc() - from.utc());
        }
    }
    // Most rows that have the rarer of the two dates have both.
    let rarer = present[0].min(present[1]);
    if 2 * lengths.len() < rarer || lengths.len() < FEWEST_KEYS.min(rows.len() / 2).max(1) {
        return None;
    }
    let mut counts = [0usize; 3];
    for length in &lengths {
        counts[sign(*length)] += 1;
    }
    let usual = (0..3).max_by_key(|sign| counts[*sign]).unwrap_or(2);
    // The later one is named.
    if usual == 0 && counts[2] * 10 < lengths.len() {
        return learn_difference(table, rows, columns, from, of);
    }
    let mut seen = counts.map(|count| count > 0);
    let has_one_side = [0, 2].iter().any(|side| counts[*side] * 10 < lengths.len());
    let lengths = sorted(lengths.into_iter().map(|length| (length, 1)));
    seen[1] &= has_one_side || stands_out(&lengths, counts[1]);
    let scale = Some(Scale::learn(&lengths));
    Some(Difference { of, from, scale, seen, usual: usual as u32 })
}

/// Whether two dates are equal so often that this means something. If a ship is often early and often late, it is on
/// time about as often as it is a minute early or late. That means nothing.
fn stands_out(lengths: &[(f64, usize)], same: usize) -> bool {
    let others = lengths.chunk_by(|a, b| a.0 == b.0).filter(|chunk| chunk[0].0 != 0.0);
    let (before, after): (Vec<_>, Vec<_>) = others.partition(|chunk| chunk[0].0 < 0.0);
    let around = before.iter().rev().take(AROUND).chain(after.iter().take(AROUND));
    let rows: usize = around.clone().map(|chunk| chunk.len()).sum();
    same * around.count() > 2 * rows
}

/// The sign of a length, as its place among the signs that training rows had. If they had both sides but no equal
/// dates, equal dates count as after.
pub(super) fn seen_sign(length: f64, seen: &[u32]) -> Option<usize> {
    let own = match sign(length) {
        1 if seen == [0, 2] => 2,
        own => own,
    };
    seen.binary_search(&(own as u32)).ok()
}

/// 0 for before, 1 for the same, 2 for after.
fn sign(length: f64) -> usize {
    if length < 0.0 {
        0
    } else if length > 0.0 {
        2
    } else {
        1
    }
}
