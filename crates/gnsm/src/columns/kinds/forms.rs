//! What the cells of a column look like together: digits of days, times without a mark, file modes, lists, codes of digits.

use super::super::counted::{Counted, FEWEST_KEYS, NEARLY_ALL};
use super::super::date::{DateFormat, EPOCH};
use super::super::learned::numbers_of;
use super::super::number::{NumberFormat, parse_number};
use super::super::scale::at_rank;
use super::MOSTLY;
use crate::table::Column;

/// Equal pairs that chance must give for few to be no chance.
const ENOUGH_PAIRS: f64 = 20.0;
/// Distinct times that show that digits are times, and hours that they must be of.
const TELLING_TIMES: usize = 20;
const FEWEST_HOURS: usize = 4;
/// Distinct modes of files that show that numbers are these.
const FEWEST_MODES: usize = 3;
/// Fewer numbers than this do not show where their middle ends.
const FEWEST_WITH_MIDDLE: usize = 20;

/// Whether whole numbers are digits of days: of eight digits, or of twelve or fourteen with the time.
pub(super) fn are_days_in_digits(counted: &Counted) -> bool {
    let fits = |text: &str| matches!(text.len(), 8 | 12 | 14) && DateFormat::YearFirst.parse(text).is_some();
    counted.mean(|text| f64::from(u8::from(fits(text)))) >= MOSTLY
}

/// Whether digits are codes and no numbers: they have one length and some begin with 0, or they begin with +.
pub(super) fn are_codes_by_form(counted: &Counted) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let share = |of: &dyn Fn(&str) -> bool| counted.mean(|text| f64::from(u8::from(of(text))));
    let has_zero = |text: &str| text.len() > 1 && text.starts_with('0') && digits(text);
    if share(&|text| text.strip_prefix('+').is_some_and(|rest| rest.len() > 6 && digits(rest))) >= MOSTLY {
        return true;
    }
    let Some(length) = counted.cells().find(|(text, _)| has_zero(text)).map(|(text, _)| text.len()) else {
        return false;
    };
    100.0 * share(&has_zero) >= 1.0 && share(&|text| text.len() == length && digits(text)) >= MOSTLY
}

/// The length that most cells have, and the share of those that have it.
pub(super) fn same_length(counted: &Counted) -> (usize, f64) {
    let mut lengths = std::collections::BTreeMap::<usize, usize>::new();
    for (text, n) in counted.cells() {
        *lengths.entry(text.strip_suffix(".0").unwrap_or(text).len()).or_default() += n;
    }
    let (length, n) = lengths.into_iter().max_by_key(|(_, n)| *n).unwrap_or((0, 0));
    (length, n as f64 / counted.present.max(1) as f64)
}

/// Whether all that are numbers are whole, and written without decimals, or with `.0`.
pub(super) fn are_whole(counted: &Counted, format: &NumberFormat) -> bool {
    let zero = if format.decimal_comma { ",0" } else { ".0" };
    counted.cells().all(|(text, _)| match format.parse(text) {
        Some(number) => number.fract() == 0.0 && (!text.contains(['.', ',']) || text.ends_with(zero)),
        None => true,
    })
}

/// Whether digits are hours and minutes: nearly no cell ends with 60 to 99, which four numbers in ten would by chance. Numbers
/// rounded to fifty never do, so only others count. A name of times needs fewer.
pub(super) fn are_hours_and_minutes(counted: &Counted, named: bool) -> bool {
    let mut wrong = 0;
    let mut telling = 0;
    let mut hours = std::collections::BTreeSet::new();
    for (text, n) in counted.cells() {
        match DateFormat::HoursMinutes.parse(text) {
            None => wrong += n,
            Some(moment) => {
                let [hour, minute] = [moment.hour(), (moment.local / 60.0) as u32 % 60];
                hours.insert(hour);
                telling += usize::from(hour > 0 && minute != 0 && minute != 50);
            }
        }
        if 100 * wrong > counted.present {
            return false;
        }
    }
    telling >= if named { TELLING_TIMES / 2 } else { TELLING_TIMES } && hours.len() >= FEWEST_HOURS
}

/// Whether numbers are the modes of files: the last three digits are octal, the owner may read, and nobody may what those before
/// may not. One number in twenty is so by chance.
pub(super) fn are_file_modes(counted: &Counted) -> bool {
    let is_mode = |text: &str| {
        let digits: Vec<u8> = text.bytes().map(|byte| byte.wrapping_sub(b'0')).collect();
        let (first, rest) = digits.split_at(digits.len().saturating_sub(3));
        let [owner, group, others] = *rest else { return false };
        let is_octal = digits.iter().all(|digit| *digit < 8) && first.first() != Some(&0);
        first.len() <= 1 && is_octal && owner & 4 != 0 && group & !owner == 0 && others & !group == 0
    };
    let share = counted.mean(|text| f64::from(u8::from(is_mode(text))));
    let is_open = |text: &str| text.bytes().last().is_some_and(|byte| byte != b'0');
    counted.present >= FEWEST_KEYS
        && counted.counts.len() >= FEWEST_MODES
        && share >= NEARLY_ALL
        && counted.cells().any(|(text, _)| is_mode(text) && is_open(text))
}

/// Whether cells are lists of codes: several with one mark between them, not always as many, and each with a digit. Marks
/// between thousands stand before three digits, so a comma or a blank must stand before something else as well.
pub(super) fn are_lists(counted: &Counted) -> bool {
    [',', ';', '|', ' '].into_iter().any(|mark| {
        let mut lists = 0;
        let mut no_thousands = 0;
        let mut sizes = std::collections::BTreeSet::new();
        for (text, n) in counted.cells() {
            let text = text.trim_matches(['[', ']', '{', '}', '(', ')', ' ']);
            let parts = || text.split(mark).map(|part| part.trim_matches([' ', '\'', '"']));
            let is_code = |part: &str| {
                let letters = if mark == ' ' { 0 } else { part.bytes().filter(u8::is_ascii_alphabetic).count() };
                let digits = part.bytes().filter(u8::is_ascii_digit).count();
                digits > 0 && letters <= digits && letters + digits == part.len()
            };
            if !parts().all(is_code) {
                continue;
            }
            lists += n;
            let size = parts().count();
            sizes.insert(size);
            let is_thousands = size > 1
                && parts().skip(1).all(|part| part.len() == 3)
                && parts().next().is_some_and(|part| part.len() < 4);
            no_thousands += if size > 1 && !is_thousands { n } else { 0 };
        }
        let all = counted.present as f64;
        lists as f64 >= MOSTLY * all && 10 * no_thousands > counted.present && sizes.len() > 2
    })
}

/// Whether at least half of the cells are right, and all others are one text.
pub(super) fn one_stands_for_none(counted: &Counted, n_right: usize, is_right: &dyn Fn(&str) -> bool) -> bool {
    let mut others = counted.cells().filter(|(text, _)| !is_right(text));
    n_right >= FEWEST_KEYS && 2 * n_right >= counted.present && others.next().is_some() && others.next().is_none()
}

/// Whether all but a few of `n` numbers between two ends follow each other.
pub(super) fn leaves_hardly_a_gap(ends: Option<(f64, f64)>, n: usize) -> bool {
    ends.is_some_and(|(first, last)| last - first < 1.5 * n as f64)
}

/// Whether whole numbers repeat at most a tenth as often as numbers that are drawn at random from where most of them lie.
/// Of n numbers among m, n(n − 1)/2m pairs are equal on average.
pub(super) fn repeat_less_than_chance(sorted: &[f64], counted: &Counted) -> bool {
    let cut = sorted.len() / 100;
    let (Some(first), Some(last)) = (sorted.get(cut), sorted.get(sorted.len().saturating_sub(1 + cut))) else {
        return false;
    };
    let n = counted.present as f64;
    let pairs: f64 = counted.cells().map(|(_, n)| n as f64 * (n as f64 - 1.0) / 2.0).sum();
    let by_chance = n * (n - 1.0) / 2.0 / (last - first + 1.0);
    counted.of_one() <= 1.0 && by_chance >= ENOUGH_PAIRS && 10.0 * pairs <= by_chance
}

/// Whether whole numbers have one length of at least four digits and cover less than a hundredth of their range. Each stands
/// for `of_one` numbers.
pub(super) fn lie_far_apart(sorted: &[f64], of_one: f64) -> bool {
    // A wrong digit or two must not decide.
    let kept = &sorted[sorted.len() / 50..sorted.len() - sorted.len() / 50];
    let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return false };
    let digits = |number: f64| number.abs().max(1.0).log10().floor();
    *first > 0.0
        && digits(*first) == digits(*last)
        && digits(*first) >= 3.0
        && last - first > 100.0 * of_one * kept.len() as f64
}

/// Whether some numbers are farther from the middle 99 % than these are apart: a grade of 42 among 1 to 10. Then the order
/// of the numbers says more than how rare each is.
pub(super) fn some_lie_far_outside(counted: &Counted, format: &NumberFormat) -> bool {
    let numbers = numbers_of(counted, format);
    let n: usize = numbers.iter().map(|(_, count)| count).sum();
    if n < FEWEST_WITH_MIDDLE {
        return false;
    }
    let cut = (n / 200).max(1);
    let (low, high) = (at_rank(&numbers, cut), at_rank(&numbers, n - 1 - cut));
    let span = high - low;
    span > 0.0 && numbers.iter().any(|(number, _)| *number < low - span || *number > high + span)
}

pub(super) fn is_epoch(sorted: &[f64]) -> bool {
    let inside = |unit: f64| sorted.iter().filter(|number| EPOCH.contains(&(*number / unit))).count();
    inside(1.0).max(inside(1000.0)) as f64 >= MOSTLY * sorted.len() as f64
}

pub(super) fn epoch_format(counted: &Counted) -> DateFormat {
    let is_large = |text: &str| f64::from(u8::from(parse_number(text).is_some_and(|number| number.abs() > 1e11)));
    if counted.mean(is_large) > 0.5 { DateFormat::EpochMilliseconds } else { DateFormat::EpochSeconds }
}

/// Whether numbers grow, or fall, from row to row nearly all the time.
pub(super) fn moves_with_rows(column: &Column, rows: &[usize]) -> bool {
    let number = |row: &usize| column.values.text(*row).and_then(|text| parse_number(&text));
    is_ordered(&rows.iter().filter_map(number).collect::<Vec<f64>>())
}

pub(super) fn is_ordered(numbers: &[f64]) -> bool {
    let up = numbers.windows(2).filter(|pair| pair[0] <= pair[1]).count() as f64;
    let steps = numbers.len().saturating_sub(1) as f64;
    up >= NEARLY_ALL * steps || up <= (1.0 - NEARLY_ALL) * steps
}
