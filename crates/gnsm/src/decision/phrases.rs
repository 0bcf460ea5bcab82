//! Texts that reasons are made of: probabilities, numbers, parts of dates, lengths of time.

use crate::columns::{DatePart, WEEKDAYS, length_in, length_text, length_with, month_name};

const DAY: f64 = 86_400.0;
/// From this number on, a larger unit of time is used.
const MOST_OF_UNIT: f64 = 1000.0;
/// How far off a limit may be after it was scaled and back, in steps of the last decimal.
const NOISE: f64 = 1e-3;
/// Steps of the last decimal that a number holds exactly.
const MOST_STEPS: f64 = 1e15;
/// Decimals that may be added to those of a column.
const MORE_DECIMALS: usize = 8;
/// Smaller numbers are shown with an exponent.
const SMALLEST_IN_FULL: f64 = 1e-4;

/// A text whose blanks at its ends can be seen.
pub fn visible(text: &str) -> String {
    if text.trim() == text && !text.is_empty() { text.to_owned() } else { format!("'{text}'") }
}

/// A probability in per cent: `91 %`, `0.4 %`, `under 0.01 %`, `over 99.9 %`.
pub fn percent(probability: f64) -> String {
    let percent = 100.0 * probability;
    match percent {
        _ if percent >= 99.95 => "over 99.9 %".into(),
        _ if percent >= 10.0 => format!("{percent:.0} %"),
        _ if percent >= 0.1 => format!("{percent:.1} %"),
        _ if percent >= 0.01 => format!("{percent:.2} %"),
        _ => "under 0.01 %".into(),
    }
}

/// `a Sunday`, `3 h`, `day 31`, `March`.
pub(super) fn part_name(part: DatePart, value: u32) -> String {
    match part {
        DatePart::Hour => format!("at {value} h"),
        DatePart::Weekday => format!("a {}", WEEKDAYS[value as usize % 7]),
        DatePart::Day => format!("on day {value} of the month"),
        DatePart::Month => format!("in {}", month_name(value)),
    }
}

/// Values of a part of a date, with runs put together: `Monday to Friday`, `7 h to 18 h, 20 h`.
pub(crate) fn runs(part: DatePart, values: &[u32]) -> String {
    let name = |value: u32| match part {
        DatePart::Hour => format!("{value} h"),
        DatePart::Weekday => WEEKDAYS[value as usize % 7].to_owned(),
        DatePart::Day => format!("day {value}"),
        DatePart::Month => month_name(value),
    };
    let run = |run: &[u32]| match run {
        [one] => name(*one),
        [first, .., last] => format!("{} to {}", name(*first), name(*last)),
        [] => String::new(),
    };
    values.chunk_by(|a, b| a + 1 == *b).map(run).collect::<Vec<_>>().join(", ")
}

/// `1,100 days before admit`; beside the limits of what is usual, if they are given.
pub(super) fn after_text(seconds: f64, limits: Option<[f64; 2]>, in_days: bool, other: &str) -> String {
    let text = |length: f64| match limits {
        None => length_text(length),
        Some([low, high]) => lengths(low, high, length, in_days)[2].clone(),
    };
    match seconds {
        _ if seconds < 0.0 => format!("{} before {other}", text(seconds)),
        _ if seconds > 0.0 => format!("{} after {other}", text(seconds)),
        _ => format!("the same as {other}"),
    }
}

/// The limits of a range and a length outside of it, in a unit that is fine enough to show that the length is outside.
/// Dates without a time are whole days apart (`in_days`).
fn lengths(low: f64, high: f64, length: f64, in_days: bool) -> [String; 3] {
    let texts = |text: &dyn Fn(f64) -> String| [low, high, length].map(text);
    let tells = |[a, b, own]: &[String; 3]| (own != a && own != b) || (low <= length && length <= high);
    let largest = low.abs().max(high.abs()).max(length.abs());
    let are_years = [low, high, length].iter().all(|length| length_text(*length).contains("year"));
    let plainly = Some(texts(&length_text)).filter(tells);
    if in_days && !(are_years && plainly.is_some()) {
        let whole = Outside { value: length / DAY, is_below: length < low }.inside([low / DAY, high / DAY], 0);
        if let Some([low, high]) = whole {
            return [low * DAY, high * DAY, length].map(|length| length_in(length, DAY));
        }
    }
    // A smaller unit shows what a larger one rounds away. Where its numbers would be long, decimals are used.
    let is_short = |unit: &f64| largest / unit < MOST_OF_UNIT;
    let units = || [DAY, 3600.0, 60.0, 1.0].into_iter().filter(is_short);
    let finer = units().map(|unit| texts(&|length| length_in(length, unit)));
    let smallest = units().next_back().unwrap_or(DAY);
    let decimals = (1..=3).map(|decimals| texts(&|length| length_with(length, smallest, decimals)));
    plainly.or_else(|| finer.chain(decimals).find(tells)).unwrap_or_else(|| texts(&length_text))
}

/// `0 to 5 days after`, beside a length that is outside.
pub(super) fn span_text(low: f64, high: f64, length: f64, in_days: bool) -> String {
    let side = |seconds: f64| if seconds < 0.0 { "before" } else { "after" };
    let [a, b, _] = lengths(low, high, length, in_days);
    if low < 0.0 && high > 0.0 {
        return format!("{a} before to {b} after");
    }
    let (a, b) = if low < 0.0 { (b, a) } else { (a, b) };
    let side = side(if low < 0.0 { low } else { high });
    if a == b {
        return format!("{a} {side}");
    }
    match (a.split_once(' '), b.split_once(' ')) {
        (Some((number, x)), Some((_, y))) if x.trim_end_matches('s') == y.trim_end_matches('s') => {
            format!("{number} to {b} {side}")
        }
        _ => format!("{a} to {b} {side}"),
    }
}

/// The first characters of a text.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most).chain(['…']).collect() }
}

/// A number with four significant digits.
pub fn short(value: f64) -> String {
    with_digits(value, 4)
}

/// A number that is outside of a range, and on which side.
#[derive(Clone, Copy)]
pub(super) struct Outside {
    pub value: f64,
    pub is_below: bool,
}

impl Outside {
    /// The first and the last number with this many decimals between two limits; `None` if there is none. They are
    /// rounded so that the odd number is never between them.
    fn inside(self, [low, high]: [f64; 2], decimals: usize) -> Option<[f64; 2]> {
        let in_one = 10f64.powi(decimals as i32);
        let (mut first, mut last) = ((low * in_one - NOISE).ceil(), (high * in_one + NOISE).floor());
        if self.is_below {
            first = first.max((self.value * in_one + NOISE).floor() + 1.0);
        } else {
            last = last.min((self.value * in_one - NOISE).ceil() - 1.0);
        }
        (first <= last && first.abs().max(last.abs()) < MOST_STEPS).then(|| [first / in_one, last / in_one])
    }

    /// The range as it is shown beside the number, with the decimals of the column, or with more if nothing would be
    /// left of it.
    pub fn range_text(self, limits: [f64; 2], decimals: usize) -> String {
        let largest = limits[0].abs().max(limits[1].abs());
        // Four digits are enough, and for a large number two decimals.
        let enough = (3.0 - largest.max(f64::MIN_POSITIVE).log10().floor()).max(2.0) as usize;
        let from = decimals.min(enough);
        let shown = (from..from + MORE_DECIMALS).find_map(|decimals| Some((decimals, self.inside(limits, decimals)?)));
        let [low, high] = match shown.filter(|_| largest == 0.0 || largest >= SMALLEST_IN_FULL) {
            Some((decimals, limits)) => limits.map(|limit| without_zeros(format!("{limit:.decimals$}"))),
            None => limits.map(|limit| with_digits(limit, digits_that_tell(self.value, limits))),
        };
        if low == high { low } else { format!("{low} to {high}") }
    }
}

/// How many digits show that a number is outside of a range: at least four.
fn digits_that_tell(value: f64, [low, high]: [f64; 2]) -> usize {
    let rounded = |limit: f64, digits: usize| with_digits(limit, digits).parse::<f64>().unwrap_or(limit);
    let tells = |digits: &usize| value < rounded(low, *digits) || value > rounded(high, *digits);
    (4..=7).find(tells).unwrap_or(4)
}

/// A number as text without zeros that say nothing.
fn without_zeros(text: String) -> String {
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    if text == "-0" { "0".to_owned() } else { text }
}

/// A number with so many significant digits.
fn with_digits(value: f64, digits: usize) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        let text = format!("{value:.*e}", digits - 1);
        let Some((digits, exponent)) = text.split_once('e') else { return text };
        let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
        return format!("{digits}e{exponent}");
    }
    let places = digits as i32 - 1;
    let decimals = if value == 0.0 { 0 } else { (places - size.log10().floor() as i32).max(0) as usize };
    without_zeros(format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> =
            [0.0, 1.0, -2.5, 1234.567, 0.012_345, 1e9, 99.99, -1.25e-7, f64::INFINITY].map(short).to_vec();
        assert_eq!(shown, ["0", "1", "-2.5", "1235", "0.01235", "1e9", "99.99", "-1.25e-7", "inf"]);
    }

    #[test]
    fn a_range_never_holds_the_number_that_is_outside() {
        let shown = |value: f64, limits: [f64; 2], decimals: usize| {
            Outside { value, is_below: value < f64::midpoint(limits[0], limits[1]) }.range_text(limits, decimals)
        };
        assert_eq!(shown(6052.92, [550.66, 6052.7], 2), "550.66 to 6052.7", "6053 would hold it");
        assert_eq!(shown(10.22, [10.2204, 10.9699], 2), "10.23 to 10.96");
        assert_eq!(shown(10.22, [10.219_999, 10.97], 2), "10.23 to 10.97", "a limit went through a 32-bit z");
        assert_eq!(shown(1.9, [1.902, 4.2], 1), "2 to 4.2");
        assert_eq!(shown(35.0, [34.6, 175.2], 0), "36 to 175");
        assert_eq!(shown(9.0, [1.0, 5.0], 0), "1 to 5");
        assert_eq!(shown(98.79, [98.793, 98.8], 2), "98.8");
        assert_eq!(shown(5.0, [0.121, 0.962], 0), "0.2 to 0.9", "no whole number is within");
        assert_eq!(shown(70_880_001.0, [70_880_002.0, 70_889_999.0], 0), "70880002 to 70889999");
        assert_eq!(shown(-3.0, [0.0, 0.0], 0), "0");
        assert_eq!(shown(0.1, [1.2e-7, 3.4e-7], 9), "1.2e-7 to 3.4e-7");
        assert_eq!(shown(f64::INFINITY, [1.0, 2.0], 0), "1 to 2");
        assert_eq!(shown(f64::NAN, [f64::NAN, f64::INFINITY], 0), "NaN to inf");
    }

    #[test]
    fn parts_of_dates_are_named_in_runs() {
        assert_eq!(runs(DatePart::Weekday, &[0, 1, 2, 3, 4]), "Monday to Friday");
        assert_eq!(runs(DatePart::Hour, &[7, 8, 9, 12]), "7 h to 9 h, 12 h");
        assert_eq!(part_name(DatePart::Weekday, 6), "a Sunday");
    }

    #[test]
    fn spans_of_time_read_well() {
        let day = 86_400.0;
        for in_days in [false, true] {
            let span_text = |low: f64, high: f64, length: f64| span_text(low, high, length, in_days);
            assert_eq!(span_text(-3.0 * day, -day, 0.0), "1 to 3 days before");
            assert_eq!(span_text(-3.0 * day, 2.0 * day, 9.0 * day), "3 days before to 2 days after");
            assert_eq!(span_text(30.0 * day, 30.0 * day, 0.0), "30 days after");
        }
        // Rounded to hours, 2.52 would be 2.5, which is the end of the range.
        let (low, high, own) = (7200.0, 2.48 * 3600.0, 2.52 * 3600.0);
        assert_eq!(span_text(low, high, own, false), "120 to 149 minutes after");
        assert_eq!(after_text(own, Some([low, high]), false, "opened"), "151 minutes after opened");
        // Thousands of minutes are hard to read.
        let (low, high, own) = (39.0 * 3600.0, 49.6 * 3600.0, 50.2 * 3600.0);
        assert_eq!(span_text(low, high, own, false), "39 to 49.6 hours after");
        assert_eq!(after_text(own, Some([low, high]), false, "opened"), "50.2 hours after opened");
        // Dates without a time are whole days apart.
        let (low, high, own) = (480.0 * 3600.0, 2566.0 * 3600.0, 107.0 * day);
        assert_eq!(span_text(low, high, own, true), "20 to 106 days after");
        assert_eq!(after_text(own, Some([low, high]), true, "consent"), "107 days after consent");
        assert_eq!(span_text(-2566.0 * 3600.0, -480.0 * 3600.0, -107.0 * day, true), "20 to 106 days before");
    }
}
