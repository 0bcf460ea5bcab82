//! Texts that reasons are made of: probabilities, numbers, parts of dates, lengths of time.

use crate::columns::{DatePart, WEEKDAYS, length_in, length_text, month_name};

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

/// Values of a part, those that follow each other together: `Monday to Friday`, `7 h to 18 h, 20 h`.
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

/// `1,100 days before admit`.
pub(super) fn after_text(seconds: f64, limits: Option<[f64; 2]>, other: &str) -> String {
    let text = |length: f64| limits.map_or_else(|| length_text(length), |[low, high]| lengths(low, high, length).2);
    match seconds {
        _ if seconds < 0.0 => format!("{} before {other}", text(seconds)),
        _ if seconds > 0.0 => format!("{} after {other}", text(seconds)),
        _ => format!("the same as {other}"),
    }
}

/// The limits of a range and a length outside of it, in units in which the length is seen to be outside.
fn lengths(low: f64, high: f64, length: f64) -> (String, String, String) {
    let texts = |text: &dyn Fn(f64) -> String| [low, high, length].map(text);
    let tells = |[a, b, own]: &[String; 3]| (own != a && own != b) || (low <= length && length <= high);
    // A smaller unit shows what a larger one rounds away.
    let finer = [86_400.0, 3600.0, 60.0, 1.0].into_iter().map(|unit| texts(&|length| length_in(length, unit)));
    let [a, b, own] = [texts(&length_text)].into_iter().chain(finer).find(tells).unwrap_or_else(|| texts(&length_text));
    (a, b, own)
}

/// `0 to 5 days after`, beside a length that is outside.
pub(super) fn span_text(low: f64, high: f64, length: f64) -> String {
    let side = |seconds: f64| if seconds < 0.0 { "before" } else { "after" };
    let (a, b, _) = lengths(low, high, length);
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

/// The digits with which a number outside of a range is seen to be outside: four where they do.
pub(super) fn digits_that_tell(value: f64, [low, high]: [f64; 2]) -> usize {
    let rounded = |limit: f64, digits: usize| with_digits(limit, digits).parse::<f64>().unwrap_or(limit);
    let tells = |digits: &usize| value < rounded(low, *digits) || value > rounded(high, *digits);
    (4..=7).find(tells).unwrap_or(4)
}

/// A number with so many significant digits.
pub(super) fn with_digits(value: f64, digits: usize) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        let text = format!("{value:.*e}", digits - 1);
        let Some((digits, exponent)) = text.split_once('e') else { return text };
        let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
        return format!("{digits}e{exponent}");
    }
    let places = digits as i32 - 1;
    let decimals = if value == 0.0 { 0 } else { (places - size.log10().floor() as i32).max(0) as usize };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
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
    fn a_number_outside_is_seen_to_be_outside() {
        let shown = |value: f64, range: [f64; 2]| range.map(|limit| with_digits(limit, digits_that_tell(value, range)));
        assert_eq!(shown(6052.92, [550.66, 6052.7]), ["550.66", "6052.7"], "6053 would hold it");
        assert_eq!(shown(98.79, [98.793, 110.0]), ["98.793", "110"]);
        assert_eq!(shown(9.0, [1.0, 5.0]), ["1", "5"]);
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
        assert_eq!(span_text(-3.0 * day, -day, 0.0), "1 to 3 days before");
        assert_eq!(span_text(-3.0 * day, 2.0 * day, 9.0 * day), "3 days before to 2 days after");
        assert_eq!(span_text(30.0 * day, 30.0 * day, 0.0), "30 days after");
        // Rounded to hours, 2.52 would be 2.5, which is the end of the range.
        let (low, high, own) = (7200.0, 2.48 * 3600.0, 2.52 * 3600.0);
        assert_eq!(span_text(39.0 * 3600.0, 49.6 * 3600.0, 50.2 * 3600.0), "2,340 to 2,976 minutes after");
        assert_eq!(span_text(low, high, own), "120 to 149 minutes after");
        assert_eq!(after_text(own, Some([low, high]), "opened"), "151 minutes after opened");
    }
}
