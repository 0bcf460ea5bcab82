//! What is learned about a column of categories, keys, text or numbers, once its kind is decided.

use super::counted::Counted;
use super::number::NumberFormat;
use super::scale::Scale;
use super::schema::Kind;
use super::spelling::{loose_shape, shape};

/// Categories of a column that get a place of their own.
pub(super) const MOST_CATEGORIES: usize = 500;
/// Shapes of a column that are kept; where there are more, shapes tell nothing.
const MOST_SHAPES: usize = 50;
/// The share of codes that must have a digit in them.
const MOSTLY: f64 = 0.9;

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
    // Where more than one cell in a hundred is the only one of its value, a new value says little, and its shape says more.
    // So it is with codes of which none is expected much, such as `1h 15m`.
    let commonest = by_count.first().map_or(0, |(_, count)| *count);
    let has_digit = |text: &str| f64::from(u8::from(text.contains(|letter: char| letter.is_ascii_digit())));
    let are_codes = || 10 * commonest < counted.present && counted.mean(has_digit) >= MOSTLY;
    let says_little = 100 * counted.singles() > counted.all_present() || are_codes();
    let shapes = if says_little { shapes_of(counted, shape) } else { Vec::new() };
    Kind::Categorical { categories: names(common), rare, missing: counted.has_missing(), shapes }
}

/// The shapes of a column's values, sorted; none where there are so many that they tell nothing.
fn shapes_of(counted: &Counted, shape: fn(&str) -> String) -> Vec<String> {
    let mut shapes: Vec<String> = counted.cells().map(|(text, _)| shape(text)).collect();
    shapes.sort_unstable();
    shapes.dedup();
    if shapes.len() <= MOST_SHAPES && 5 * shapes.len() <= counted.counts.len() { shapes } else { Vec::new() }
}

pub(super) fn identifier(counted: &Counted) -> Kind {
    let exact = shapes_of(counted, shape);
    let loose = exact.len() != 1;
    let shapes = if loose { shapes_of(counted, loose_shape) } else { exact };
    Kind::Identifier { shapes, loose, missing: counted.has_missing(), repeats: counted.repeats() }
}

pub(super) fn text(counted: &Counted) -> Kind {
    let lengths = counted.cells().map(|(text, count)| (text.chars().count() as f64, count));
    Kind::Text { length: Scale::learn(&sorted(lengths)), missing: counted.has_missing() }
}

pub(super) fn numeric(counted: &Counted, format: NumberFormat) -> Kind {
    let mut numbers = numbers_of(counted, &format);
    let n: usize = numbers.iter().map(|(_, count)| count).sum();
    // Whether a logarithm is possible depends on the smallest number of all.
    if let (Some((least, largest)), Some((first, _)), Some((last, _))) =
        (counted.ends(&format), numbers.first().copied(), numbers.last().copied())
    {
        let outside = [least, largest].into_iter().filter(|end| *end < first || *end > last).map(|end| (end, 1));
        numbers = sorted(numbers.into_iter().chain(outside));
    }
    Kind::Numeric { scale: Scale::learn(&numbers), missing: counted.has_missing(), stray: n < counted.present, format }
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
