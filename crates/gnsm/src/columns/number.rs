//! Numbers as people write them.
//!
//! `$4,219.50`, `1.234,56 €`, `1 234`, `1'234`, `12 %`, `12.0 oz`, `(5.00)` and `5.00-` are numbers. Whether a comma
//! marks decimals or thousands is decided once for a column (`written.rs`), never cell by cell. `007` is not a number:
//! its zeros matter.

use serde::{Deserialize, Serialize};

use super::written::Written;

/// How the numbers of a column are written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NumberFormat {
    /// Whether a comma marks the decimals, as in `1.234,56`.
    pub decimal_comma: bool,
    /// The unit that follows the numbers, as in `12.0 oz`; a currency or a percent sign is no unit.
    pub unit: Option<String>,
}

/// Signs of currencies, and codes and abbreviations that stand for one.
const CURRENCY_SIGNS: [char; 12] = ['$', '€', '£', '¥', '₹', '₽', '₩', '₺', '₴', '₪', '฿', '₫'];
const CURRENCY_CODES: [&str; 30] = [
    "USD", "EUR", "GBP", "JPY", "CHF", "CAD", "AUD", "NZD", "CNY", "INR", "BRL", "MXN", "SEK", "NOK", "DKK", "PLN",
    "CZK", "HUF", "RUB", "TRY", "ZAR", "SGD", "HKD", "KRW", "ILS", "AED", "US$", "R$", "kr", "zł",
];
/// The longest unit, in characters; what is longer is text.
const LONGEST_UNIT: usize = 12;

impl NumberFormat {
    /// The format under which most of these cells are numbers, and how many of them are (`written.rs` has the rule).
    pub fn find<'a>(cells: impl Iterator<Item = (&'a str, usize)> + Clone) -> (Self, usize) {
        Written::of(cells).format(None)
    }

    /// The number that a text stands for; infinities are numbers, NaN is not.
    pub fn parse(&self, text: &str) -> Option<f64> {
        let text = text.trim();
        if !self.decimal_comma
            && let Some(number) = parse_number(text)
        {
            return Some(number);
        }
        // Most texts are ruled out quickly, since this is asked of every cell: a number has a digit.
        if !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let (text, in_brackets) = match text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            Some(inner) => (inner.trim(), true),
            None => (text, false),
        };
        let (text, sign_before) = strip_sign(text);
        let text = strip_currency(text);
        let (text, sign_between) = strip_sign(text);
        let text = text.strip_suffix('%').map_or(text, str::trim_end);
        let text = match &self.unit {
            Some(unit) => text.strip_suffix(unit.as_str()).map_or(text, str::trim_end),
            None => text,
        };
        let (text, sign_after) = match text.strip_suffix(['-', '−']) {
            Some(rest) => (rest.trim_end(), true),
            None => (text, false),
        };
        let number = self.parse_digits(text)?;
        let negative = [in_brackets, sign_before, sign_between, sign_after].into_iter().filter(|sign| *sign).count();
        match negative {
            0 => Some(number),
            1 => Some(-number),
            _ => None,
        }
    }

    /// The unit of a number that is not written in the unit of the column.
    pub(crate) fn other_unit(&self, text: &str) -> Option<String> {
        let unit = self.unit.as_ref()?;
        let own = text.trim_start_matches(|c: char| !c.is_alphabetic() && c != '°').trim_end();
        let other = Self { unit: Some(own.to_owned()), ..*self };
        (!own.is_empty() && own != unit && self.parse(text).is_none() && other.parse(text).is_some())
            .then(|| own.to_owned())
    }

    /// Digits with marks between thousands and before decimals, nothing else.
    fn parse_digits(&self, text: &str) -> Option<f64> {
        let (decimal, mark) = if self.decimal_comma { (',', '.') } else { ('.', ',') };
        let (whole, decimals) = match text.split_once(decimal) {
            Some((whole, decimals)) => (whole, decimals),
            None => (text, ""),
        };
        let (decimals, exponent) = match decimals.split_once(['e', 'E']) {
            Some((decimals, exponent)) => (decimals, exponent.parse::<i32>().ok()?.to_string()),
            None => (decimals, String::new()),
        };
        if !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let is_mark = |c: char| c == mark || matches!(c, '\'' | '’' | ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}');
        let mut plain = String::with_capacity(text.len());
        let mut groups = whole.split(is_mark);
        let first = groups.next()?;
        plain.push_str(first);
        let mut marks = 0;
        for group in groups {
            if group.len() != 3 {
                return None;
            }
            plain.push_str(group);
            marks += 1;
        }
        let first_is_right = if marks > 0 { (1..=3).contains(&first.len()) } else { true };
        let leading_zero = plain.len() > 1 && plain.starts_with('0');
        let has_digits = !plain.is_empty() || !decimals.is_empty();
        if !first_is_right || leading_zero || !has_digits || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        // Where there are marks, they are all of one kind.
        if marks > 1 {
            let mut seen = whole.chars().filter(|c| is_mark(*c));
            let first = seen.next();
            if seen.any(|c| Some(c) != first) {
                return None;
            }
        }
        plain.push('.');
        plain.push_str(decimals);
        if !exponent.is_empty() {
            plain.push('e');
            plain.push_str(&exponent);
        }
        plain.parse().ok()
    }
}

/// What stands around the digits of a number: `$`, `EUR`, `%`, `oz`; nothing for a number as programs write it.
pub(crate) fn mark(text: &str) -> String {
    if parse_number(text).is_some() {
        return String::new();
    }
    let is_part = |c: &char| !(c.is_numeric() || c.is_whitespace() || ".,'’-−+()".contains(*c));
    text.chars().filter(is_part).collect()
}

/// A number as programs write it; `007` and `1_000` are not numbers.
pub fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let leading_zero = digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
    if leading_zero || text.to_ascii_lowercase().contains("nan") {
        return None;
    }
    text.parse().ok()
}

/// A leading sign taken off, and whether it was a minus.
fn strip_sign(text: &str) -> (&str, bool) {
    match text.strip_prefix(['-', '−']) {
        Some(rest) => (rest.trim_start(), true),
        None => (text.strip_prefix('+').map_or(text, str::trim_start), false),
    }
}

/// A currency before or after the number taken off.
fn strip_currency(text: &str) -> &str {
    for code in CURRENCY_CODES {
        if let Some(rest) = text.strip_prefix(code) {
            return rest.trim_start();
        }
        if let Some(rest) = text.strip_suffix(code) {
            return rest.trim_end();
        }
    }
    if let Some(rest) = text.strip_prefix(CURRENCY_SIGNS) {
        return rest.trim_start();
    }
    text.strip_suffix(CURRENCY_SIGNS).map_or(text, str::trim_end)
}

/// The unit that follows most numbers of a column, if one does.
pub(super) fn common_unit<'a>(cells: impl Iterator<Item = (&'a str, usize)>) -> Option<String> {
    let mut counts: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    let mut total = 0;
    for (text, n) in cells {
        let text = text.trim();
        total += n;
        // Points of a number, as in `24/30`.
        let of = text.split_once('/').filter(|(_, of)| !of.is_empty() && of.bytes().all(|byte| byte.is_ascii_digit()));
        if let Some((points, of)) = of.filter(|(points, _)| points.ends_with(|c: char| c.is_ascii_digit())) {
            *counts.entry(&text[points.len()..points.len() + 1 + of.len()]).or_default() += n;
            continue;
        }
        let end = text.rfind(|c: char| c.is_ascii_digit()).map_or(0, |at| at + 1);
        let unit = text[end..].trim_start_matches(['.', ',']).trim();
        let is_unit = end > 0 && !unit.is_empty() && unit.chars().count() <= LONGEST_UNIT && unit != "%";
        if is_unit && unit.chars().all(|c| c.is_alphabetic() || matches!(c, '/' | '°' | '²' | '³' | '.' | 'µ')) {
            *counts.entry(unit).or_default() += n;
        }
    }
    let (unit, n) = counts.into_iter().max_by_key(|(_, n)| *n)?;
    (2 * n > total && !CURRENCY_CODES.contains(&unit)).then(|| unit.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(cells: &[&str]) -> (NumberFormat, usize) {
        NumberFormat::find(cells.iter().map(|cell| (*cell, 1)))
    }

    #[test]
    fn money_percent_brackets_and_trailing_minus_are_numbers() {
        let american = NumberFormat::default();
        for (text, number) in [
            ("$4,219.50", 4219.5),
            ("-$5.25", -5.25),
            ("$-5.25", -5.25),
            ("($1,000)", -1000.0),
            ("12 %", 12.0),
            ("12.5%", 12.5),
            ("5.00-", -5.0),
            ("EUR 7", 7.0),
            ("7 CHF", 7.0),
            ("1 234", 1234.0),
            ("1'234.5", 1234.5),
            ("1\u{a0}234", 1234.0),
            ("−3", -3.0),
            ("1e300", 1e300),
            (".5", 0.5),
        ] {
            assert_eq!(american.parse(text), Some(number), "{text}");
        }
        let european = NumberFormat { decimal_comma: true, unit: None };
        for (text, number) in [("1.234,56", 1234.56), ("€ 5", 5.0), ("12,5 €", 12.5), ("-0,5", -0.5), ("1.234", 1234.0)]
        {
            assert_eq!(european.parse(text), Some(number), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_number_is_none() {
        let american = NumberFormat::default();
        for text in [
            "",
            "unknown",
            "007",
            "1,23",
            "12,34,567",
            "--5",
            "(-5)",
            "$",
            "%",
            "1.2.3",
            "12 oz",
            "nan",
            "1,234 567",
            "0,123",
            "5-5",
            "2024-01-03",
            "€",
        ] {
            assert_eq!(american.parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_column_decides_what_a_comma_means() {
        assert_eq!(find(&["1.234,56", "7,10", "12"]), (NumberFormat { decimal_comma: true, unit: None }, 3));
        assert_eq!(find(&["1,234.56", "7.10", "x"]), (NumberFormat::default(), 2));
        // Nothing tells: a comma before three digits marks thousands.
        assert_eq!(find(&["1,234", "5,678"]), (NumberFormat::default(), 2));
    }

    #[test]
    fn marks_are_what_stands_around_the_digits() {
        for (text, expected) in [
            ("$4,219.50", "$"),
            ("EUR 7", "EUR"),
            ("-1.234,56 €", "€"),
            ("12 %", "%"),
            ("12.0 oz", "oz"),
            ("R$ 5", "R$"),
            ("1e300", ""),
            ("(5.00)", ""),
            ("1'234", ""),
        ] {
            assert_eq!(mark(text), expected, "{text}");
        }
    }

    #[test]
    fn points_of_a_number_are_a_unit() {
        let (format, n) = find(&["24/30", "18/30", "30/30", "25"]);
        assert_eq!((format.unit.as_deref(), n), (Some("/30"), 4));
        assert_eq!((format.parse("31/30"), format.parse("5/10")), (Some(31.0), None));
        assert_eq!(find(&["137/89", "120/80", "110/85", "131/70"]).1, 0, "two numbers are not one");
    }

    #[test]
    fn another_unit_is_named() {
        let (format, _) = find(&["12.0 oz", "16 oz", "5.5 oz", "3 kg"]);
        assert_eq!(format.other_unit("8 kg").as_deref(), Some("kg"));
        assert_eq!(
            (format.other_unit("8 oz"), format.other_unit("unknown"), format.other_unit("8")),
            (None, None, None)
        );
    }

    #[test]
    fn a_unit_belongs_to_the_column() {
        let (format, n) = find(&["12.0 oz", "16 oz", "5.5 oz", "3 kg"]);
        assert_eq!((format.unit.as_deref(), n), (Some("oz"), 3));
        assert_eq!(format.parse("8 oz"), Some(8.0));
        assert_eq!(format.parse("8 kg"), None);
    }
}
