//! What is learned about a column of categories, keys, text or numbers, once its kind is decided.

use super::counted::{Counted, NEARLY_ALL};
use super::number::{NumberFormat, mark};
use super::scale::Scale;
use super::schema::Kind;
use super::spelling::{is_hex, is_mixed_hex, key_shape, lead, shape};

/// Categories of a column that get a place of their own.
pub(super) const MOST_CATEGORIES: usize = 500;
/// Shapes of a column that are kept; where there are more, shapes tell nothing.
const MOST_SHAPES: usize = 50;
/// Beginnings of codes that are kept; where there are more, they tell nothing.
const MOST_LEADS: usize = 100;
/// A beginning of codes counts as one if at least this many codes have it.
const FEWEST_ALIKE: usize = 5;
/// Marks of numbers that are kept; where there are more, they tell nothing.
const MOST_MARKS: usize = 20;
/// Keys repeat by chance if they do so between a quarter and four times as often as random ones would.
const AS_BY_CHANCE: f64 = 4.0;
/// The share of codes that must have a digit in them.
const MOSTLY: f64 = 0.9;
/// The share of keys that must have one shape for the number of their digits to be part of it.
const OF_ONE_LENGTH: f64 = 0.99;
const HALF: f64 = 0.5;
/// The most decimals that are counted, and how many values are looked at to count them.
const MOST_DECIMALS: usize = 17;
const ENOUGH_VALUES: usize = 1000;

pub(super) fn categorical(counted: &Counted) -> Kind {
    let mut by_count: Vec<&(String, usize)> = counted.counts.iter().collect();
    by_count.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
    let names = |part: &[&(String, usize)]| {
        let mut names: Vec<String> = part.iter().map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    };
    let (common, others) = by_count.split_at(by_count.len().min(MOST_CATEGORIES));
    // Those of like counts, up to a factor of two, share a place.
    let rare = others.chunk_by(|(_, a), (_, b)| a.ilog2() == b.ilog2()).map(names).collect();
    // If more than one cell in a hundred has a value that no other has, a new value tells little, and its shape tells
    // more. The same holds for codes none of which is common, such as `1h 15m`.
    let commonest = by_count.first().map_or(0, |(_, count)| *count);
    let has_digit = |text: &str| f64::from(u8::from(text.contains(|letter: char| letter.is_ascii_digit())));
    let are_codes = || 10 * commonest < counted.present && counted.mean(has_digit) >= MOSTLY;
    let says_little = 100 * counted.singles() > counted.all_present() || are_codes();
    let shapes = if says_little { shapes_of(counted, shape) } else { Vec::new() };
    let leads = if says_little { leads_of(counted, lead) } else { Vec::new() };
    Kind::Categorical { categories: names(common), rare, missing: counted.has_missing(), shapes, leads }
}

/// What codes begin with, the most common first; none if that tells nothing. Nearly all codes must share their
/// beginning with several others. Otherwise it is random letters.
fn leads_of(counted: &Counted, lead: fn(&str) -> &str) -> Vec<String> {
    let has_digit = |text: &str| f64::from(u8::from(text.contains(|letter: char| letter.is_ascii_digit())));
    if counted.mean(has_digit) < MOSTLY {
        return Vec::new();
    }
    let leads = by_frequency(counted, |text| Some(lead(text).to_owned()));
    let single: usize = leads.iter().map(|(_, count)| *count).filter(|count| *count < FEWEST_ALIKE).sum();
    let begins = leads.first().is_some_and(|(lead, _)| !lead.is_empty());
    if !begins || leads.len() > MOST_LEADS || 100 * single > counted.present {
        return Vec::new();
    }
    leads.into_iter().map(|(lead, _)| lead).collect()
}

/// What `of` makes of the cells, and how often each occurs; the most common first.
fn by_frequency(counted: &Counted, of: impl Fn(&str) -> Option<String>) -> Vec<(String, usize)> {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for (text, count) in counted.cells() {
        if let Some(made) = of(text) {
            *counts.entry(made).or_default() += count;
        }
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// The shapes of a column's values, sorted; none where there are so many that they tell nothing.
fn shapes_of(counted: &Counted, shape: impl Fn(&str) -> String) -> Vec<String> {
    let mut shapes: Vec<String> = counted.cells().map(|(text, _)| shape(text)).collect();
    shapes.sort_unstable();
    shapes.dedup();
    if shapes.len() <= MOST_SHAPES && 5 * shapes.len() <= counted.counts.len() { shapes } else { Vec::new() }
}

pub(super) fn identifier(counted: &Counted) -> Kind {
    let hex = are_hex(counted);
    // Among codes of thirteen digits, one of nine is odd. But where keys are counted up, many have one digit more than
    // others.
    let exact =
        commonest_shape(counted, hex, false).is_some_and(|(_, n)| n as f64 >= OF_ONE_LENGTH * counted.present as f64);
    let loose = !exact;
    let shapes = shapes_of(counted, |text| key_shape(text, hex, loose));
    let commonest = commonest_shape(counted, hex, loose);
    let usual = commonest.and_then(|(shape, _)| shapes.binary_search(&shape).ok()).unwrap_or(0) as u32;
    let by_chance = repeat_by_chance(counted);
    let repeats = counted.repeats() && !by_chance;
    // Digits of keys go on; their letters do not.
    let leads = leads_of(counted, |text| if text.starts_with(char::is_alphabetic) { lead(text) } else { "" });
    Kind::Identifier { shapes, loose, hex, missing: counted.has_missing(), repeats, by_chance, usual, leads }
}

/// The most common shape of keys, and how many have it.
fn commonest_shape(counted: &Counted, hex: bool, loose: bool) -> Option<(String, usize)> {
    by_frequency(counted, |text| Some(key_shape(text, hex, loose))).into_iter().next()
}

/// Whether keys are hexadecimal numbers: their letters are a to f, digits stand between them, and not in the same
/// places.
fn are_hex(counted: &Counted) -> bool {
    let share = |of: fn(&str) -> bool| counted.mean(|text| f64::from(u8::from(of(text))));
    let has_one_shape = || commonest_shape(counted, false, true).is_some_and(|(_, n)| 2 * n >= counted.present);
    share(is_hex) >= MOSTLY && share(is_mixed_hex) >= HALF && !has_one_shape()
}

/// Whether keys repeat as often as keys that are drawn at random do. Of n keys among m possible ones, n(n − 1)/2m pairs
/// are equal on average. What is possible is what the characters at each place allow. Keys that are counted up repeat
/// far less.
fn repeat_by_chance(counted: &Counted) -> bool {
    let pairs: f64 = counted.cells().map(|(_, n)| n as f64 * (n as f64 - 1.0) / 2.0).sum();
    let mut places: Vec<std::collections::HashSet<char>> = Vec::new();
    for (text, _) in counted.cells() {
        for (at, c) in text.chars().enumerate() {
            if at == places.len() {
                places.push(std::collections::HashSet::new());
            }
            places[at].insert(c);
        }
    }
    let possible: f64 = places.iter().map(|place| place.len() as f64).product();
    let n = counted.present as f64;
    let by_chance = n * (n - 1.0) / 2.0 / possible.max(1.0);
    pairs > 0.0 && pairs <= AS_BY_CHANCE * by_chance && by_chance <= AS_BY_CHANCE * pairs
}

pub(super) fn text(counted: &Counted) -> Kind {
    let lengths = counted.cells().map(|(text, count)| (text.chars().count() as f64, count));
    Kind::Text { length: Scale::learn(&sorted(lengths)), missing: counted.has_missing() }
}

pub(super) fn numeric(counted: &Counted, format: NumberFormat) -> Kind {
    let mut numbers = numbers_of(counted, &format);
    let n: usize = numbers.iter().map(|(_, count)| count).sum();
    // The ends of the whole column are put in: whether a logarithm is possible depends on the smallest number.
    if let (Some((least, largest)), Some((first, _)), Some((last, _))) =
        (counted.ends(&format), numbers.first().copied(), numbers.last().copied())
    {
        let outside = [least, largest].into_iter().filter(|end| *end < first || *end > last).map(|end| (end, 1));
        numbers = sorted(numbers.into_iter().chain(outside));
    }
    let marks = marks_of(counted, &format);
    let scale = Scale::learn(&numbers);
    let decimals = decimals_of(counted, &format);
    Kind::Numeric { scale, missing: counted.has_missing(), stray: n < counted.present, decimals, format, marks }
}

/// The number of decimals that nearly no number of a column exceeds, as some of its values tell.
fn decimals_of(counted: &Counted, format: &NumberFormat) -> u8 {
    let mark = if format.decimal_comma { ',' } else { '.' };
    let decimals = |text: &str| {
        let (_, after) = text.rsplit_once(mark)?;
        Some(after.chars().take_while(char::is_ascii_digit).count())
    };
    let mut counts = [0; MOST_DECIMALS + 1];
    let step = counted.counts.len() / ENOUGH_VALUES + 1;
    for (text, n) in counted.cells().step_by(step).filter(|(text, _)| format.parse(text).is_some()) {
        counts[decimals(text).unwrap_or(0).min(MOST_DECIMALS)] += n;
    }
    let all: usize = counts.iter().sum();
    let mut so_far = 0;
    let reaches = |n: &usize| {
        so_far += n;
        so_far as f64 >= NEARLY_ALL * all as f64
    };
    counts.iter().position(reaches).unwrap_or(0) as u8
}

/// The marks of a column's numbers, the most common first; none where no number has one.
fn marks_of(counted: &Counted, format: &NumberFormat) -> Vec<String> {
    let marks = by_frequency(counted, |text| format.parse(text).map(|_| mark(text)));
    if marks.len() > MOST_MARKS || marks.iter().all(|(mark, _)| mark.is_empty()) {
        return Vec::new();
    }
    marks.into_iter().map(|(mark, _)| mark).collect()
}

/// The numbers of a column with their counts, ascending.
pub(super) fn numbers_of(counted: &Counted, format: &NumberFormat) -> Vec<(f64, usize)> {
    sorted(counted.cells().filter_map(|(text, count)| Some((format.parse(text)?, count))))
}

pub(super) fn sorted(values: impl Iterator<Item = (f64, usize)>) -> Vec<(f64, usize)> {
    let mut values: Vec<(f64, usize)> = values.collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    values
}
