//! How the numbers of a column are written: `$4,219.50`, `1.234,56 €`, `12`.
//!
//! What stands before and after the digits, and the mark between thousands, is as in most cells. A number gets at most
//! as many decimals as the cell with the most; if all cells have the same number of decimals, so has every made one. If
//! all cells are multiples of 100, so are made ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Distinct numbers other than zero that are needed to tell what all are multiples of.
const ENOUGH_FOR_A_GRAIN: usize = 10;
/// Decimals, at the most.
const MOST_DECIMALS: usize = 12;

/// A way to write numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberStyle {
    /// What stands before the digits, such as `$`.
    before: String,
    /// What stands behind them, such as ` €`.
    after: String,
    /// What stands between thousands.
    thousands: Option<char>,
    /// Whether a comma marks the decimals.
    decimal_comma: bool,
    /// Decimals.
    decimals: usize,
    /// Whether all cells have so many.
    fixed: bool,
    /// What all numbers are multiples of, in units of their last decimal; 1 if they are not.
    grain: u64,
}

/// A written number taken apart.
struct Parts<'a> {
    before: &'a str,
    after: &'a str,
    thousands: Option<char>,
    has_thousands: bool,
    decimals: usize,
}

impl NumberStyle {
    /// Learns from cells that are numbers.
    pub fn learn<'a>(cells: impl Iterator<Item = &'a str>, decimal_comma: bool) -> Self {
        let parts: Vec<Parts<'_>> = cells.filter_map(|text| take_apart(text.trim(), decimal_comma)).collect();
        let around = most_common(parts.iter().map(|parts| (parts.before, parts.after))).unwrap_or_default();
        let large = parts.iter().filter(|parts| parts.has_thousands).map(|parts| parts.thousands);
        let decimals = parts.iter().map(|parts| parts.decimals).max().unwrap_or(0).min(MOST_DECIMALS);
        Self {
            before: around.0.to_owned(),
            after: around.1.to_owned(),
            thousands: most_common(large).flatten(),
            decimal_comma,
            decimals,
            fixed: parts.iter().all(|parts| parts.decimals == decimals),
            grain: 1,
        }
    }

    /// The same for a column that has these numbers, with what all of them are multiples of.
    pub fn with_grain(mut self, numbers: impl Iterator<Item = f64>) -> Self {
        let shift = 10f64.powi(self.decimals as i32);
        let mut units: Vec<u64> =
            numbers.map(|number| (number * shift).abs().round() as u64).filter(|n| *n > 0).collect();
        units.sort_unstable();
        units.dedup();
        let grain = units.iter().fold(0, |grain, unit| greatest_common_divisor(grain, *unit));
        // A handful of numbers have a divisor in common by chance.
        self.grain = if units.len() >= ENOUGH_FOR_A_GRAIN { grain.max(1) } else { 1 };
        self
    }

    /// A made number rounded as the column's are: to a multiple of what all are multiples of.
    pub fn write_made(&self, value: f64) -> String {
        let unit = self.grain.max(1) as f64 / 10f64.powi(self.decimals as i32);
        self.write(if self.grain > 1 { (value / unit).round() * unit } else { value })
    }

    /// A number as the column has them.
    pub fn write(&self, value: f64) -> String {
        let text = format!("{:.*}", self.decimals, value.abs());
        let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
        let decimals = if self.fixed { decimals } else { decimals.trim_end_matches('0') };
        let is_zero = !text.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
        let mut written = String::from(if value < 0.0 && !is_zero { "-" } else { "" });
        written += &self.before;
        for (place, digit) in whole.chars().enumerate() {
            if let Some(mark) = self.thousands.filter(|_| place > 0 && (whole.len() - place).is_multiple_of(3)) {
                written.push(mark);
            }
            written.push(digit);
        }
        if !decimals.is_empty() {
            written.push(if self.decimal_comma { ',' } else { '.' });
            written += decimals;
        }
        written + &self.after
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

fn take_apart(text: &str, decimal_comma: bool) -> Option<Parts<'_>> {
    let is_digit = |c: char| c.is_ascii_digit();
    let (start, end) = (text.find(is_digit)?, text.rfind(is_digit)? + 1);
    // `.5` begins with its point.
    let point = if decimal_comma { ',' } else { '.' };
    let start = if text[..start].ends_with(point) { start - 1 } else { start };
    let core = &text[start..end];
    // 1e300 and (5.00) are written another way.
    if core.contains(['e', 'E']) || text.starts_with('(') {
        return None;
    }
    let (whole, decimals) = core.split_once(point).unwrap_or((core, ""));
    let thousands = whole.chars().find(|c| !c.is_ascii_digit());
    let n_digits = whole.chars().filter(char::is_ascii_digit).count();
    let (before, after) = (text[..start].trim_start_matches(['-', '−', '+']), text[end..].trim_end_matches(['-', '−']));
    Some(Parts { before, after, thousands, has_thousands: n_digits > 3, decimals: decimals.len() })
}

/// What occurs most often; the first in order of several.
pub(super) fn most_common<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    let most = counts.values().copied().max()?;
    counts.into_iter().find(|(_, count)| *count == most).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(cells: &[&str], decimal_comma: bool) -> NumberStyle {
        NumberStyle::learn(cells.iter().copied(), decimal_comma)
    }

    #[test]
    fn numbers_are_written_as_the_column_has_them() {
        let money = style(&["$4,219.50", "$7.10", "-$12.00", "($3.00)"], false);
        assert_eq!([1234.5, -7.0, 1_234_567.891].map(|x| money.write(x)), ["$1,234.50", "-$7.00", "$1,234,567.89"]);
        let euro = style(&["1.234,56 €", "7,10 €"], true);
        assert_eq!([1234.5, -0.5, -0.001].map(|x| euro.write(x)), ["1.234,50 €", "-0,50 €", "0,00 €"]);
        let plain = style(&["12", "1500", "-3"], false);
        assert_eq!([1499.6, -2.2, 0.0].map(|x| plain.write(x)), ["1500", "-2", "0"]);
        let loose = style(&["0.5", "12", "0.125", ".75"], false);
        assert_eq!([0.5, 12.0, 0.1251].map(|x| loose.write(x)), ["0.5", "12", "0.125"]);
        assert_eq!(style(&["12.0 oz", "16.5 oz"], false).write(3.0), "3.0 oz");
        assert_eq!(style(&[], false).write(2.6), "3");
    }

    #[test]
    fn a_grain_is_kept_where_all_numbers_have_it() {
        let salaries = || (0..30).map(|i| 30_000.0 + 700.0 * f64::from(i));
        let made = |numbers: &mut dyn Iterator<Item = f64>| {
            style(&["30,000 EUR"], false).with_grain(numbers).write_made(41_234.0)
        };
        assert_eq!(made(&mut salaries()), "41,200 EUR");
        // One that is no multiple of 100, or too few of them.
        assert_eq!(made(&mut salaries().chain([30_001.0])), "41,234 EUR");
        assert_eq!(made(&mut salaries().take(5)), "41,234 EUR");
        let quarters = style(&["0.25", "1.50"], false).with_grain((1..40).map(|i| f64::from(i) / 4.0));
        assert_eq!(
            [quarters.write_made(1.3), quarters.write_made(-2.4), quarters.write(1.3)],
            ["1.25", "-2.50", "1.30"]
        );
    }
}
