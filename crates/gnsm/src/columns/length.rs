//! Lengths of time in words: `1,100 days`, `5 hours`, `40 seconds`.

use super::date::DAY;

/// A year, in seconds.
const YEAR: f64 = 365.25 * DAY;

/// A length of time in the largest unit that leaves at least two of it: `1,100 days`, `5 hours`, `40 seconds`. Ten years and
/// more are years: `76 years`.
pub fn length_text(seconds: f64) -> String {
    let size = seconds.abs();
    // Nearly whole days are days: a quantile of days is seldom one to the second.
    let days = size / DAY;
    let is_days = days >= 1.0 - 1e-2 && (days - days.round()).abs() <= 1e-2;
    let (number, unit) = if size >= 10.0 * YEAR {
        (size / YEAR, "year")
    } else if size >= 2.0 * DAY || is_days || size == 0.0 {
        (size / DAY, "day")
    } else if size >= 7200.0 {
        (size / 3600.0, "hour")
    } else if size >= 120.0 {
        (size / 60.0, "minute")
    } else {
        (size, "second")
    };
    number_of(number, unit)
}

/// A length of time in a unit of so many seconds.
pub fn length_in(seconds: f64, unit: f64) -> String {
    number_of(seconds.abs() / unit, unit_name(unit))
}

/// The name of a unit of so many seconds.
fn unit_name(unit: f64) -> &'static str {
    match unit {
        _ if unit >= DAY => "day",
        _ if unit >= 3600.0 => "hour",
        _ if unit >= 60.0 => "minute",
        _ => "second",
    }
}

/// A length of time with so many decimals, in a unit of so many seconds.
pub fn length_with(seconds: f64, unit: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", seconds.abs() / unit);
    let short = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{short} {}{}", unit_name(unit), if short == "1" { "" } else { "s" })
}

/// `1,100 days`, `2.5 hours`.
fn number_of(number: f64, unit: &str) -> String {
    let number = if number >= 10.0 { number.round() } else { (10.0 * number).round() / 10.0 };
    let whole = format!("{}", number as i64);
    let mut digits = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            digits.push(',');
        }
        digits.push(digit);
    }
    let shown = if number.fract() == 0.0 { digits } else { format!("{number}") };
    format!("{shown} {unit}{}", if number == 1.0 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_well() {
        let shown = [1100.0 * DAY, DAY, 1.999 * DAY, 2.5 * DAY, 5.0 * 3600.0, 300.0, 40.0, 0.0].map(length_text);
        assert_eq!(
            shown,
            ["1,100 days", "1 day", "2 days", "2.5 days", "5 hours", "5 minutes", "40 seconds", "0 days"]
        );
    }
}
