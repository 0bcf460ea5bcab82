//! The cells of a column that is learned, and how often each distinct value occurs.

use std::borrow::Cow;
use std::collections::HashMap;

use super::hashing::Quick;
use super::number::NumberFormat;
use super::schema::{KindChoice, number_text, plural};
use super::survey::Beyond;
use crate::error::stop_point;
use crate::table::{Column, MISSING, NONE, TimeKind, Values};

/// The share of cells that must be different in a column of keys.
pub(super) const NEARLY_ALL: f64 = 0.95;
/// Fewer cells than this do not show that a column is one of keys.
pub(super) const FEWEST_KEYS: usize = 20;

/// The cells that a column is learned from.
#[derive(Clone, Copy)]
pub(super) struct CellsToLearn<'a> {
    pub column: &'a Column,
    pub rows: &'a [usize],
    /// How many cells each row stands for; one if this is `None`. With weights, the rows are in no order.
    pub weights: Option<&'a [usize]>,
    /// What is known of other rows of the table, where these are not all.
    pub beyond: Option<Beyond>,
}

impl<'a> CellsToLearn<'a> {
    /// All that there are.
    pub fn all(column: &'a Column, rows: &'a [usize]) -> Self {
        Self { column, rows, weights: None, beyond: None }
    }

    /// Each row with the number of cells that it stands for.
    pub fn weighted(&self) -> impl Iterator<Item = (usize, usize)> {
        let weights = self.weights;
        self.rows.iter().enumerate().map(move |(at, row)| (*row, weights.map_or(1, |weights| weights[at])))
    }

    pub fn n_cells(&self) -> usize {
        self.weights.map_or(self.rows.len(), |weights| weights.iter().sum())
    }

    /// Whether the order of the rows is that of the table.
    pub fn in_order(&self) -> bool {
        self.weights.is_none() && self.beyond.is_none()
    }
}

/// What the cells of a column are, counted.
#[derive(Clone)]
pub(super) struct Counted {
    /// Each distinct value as text with its count, in the order of the texts.
    pub counts: Vec<(String, usize)>,
    pub present: usize,
    pub missing: usize,
    /// Missing cells that are written `None`.
    pub nones: usize,
    /// What is known of other rows, where not all are counted.
    pub beyond: Option<Beyond>,
}

impl Counted {
    pub fn cells(&self) -> impl Iterator<Item = (&str, usize)> + Clone {
        self.counts.iter().map(|(text, count)| {
            stop_point();
            (text.as_str(), *count)
        })
    }

    /// How many distinct values the whole column has.
    pub fn distinct(&self) -> usize {
        self.beyond.map_or(self.counts.len(), |beyond| beyond.distinct.max(self.counts.len()))
    }

    /// The same, in words.
    pub fn values(&self) -> String {
        self.about(plural(self.distinct(), "distinct value"))
    }

    /// What is only known about, where not all is counted.
    pub fn about(&self, what: String) -> String {
        if self.beyond.is_some() { format!("about {what}") } else { what }
    }

    /// How many cells the whole column has.
    pub fn all_present(&self) -> usize {
        self.beyond.map_or(self.present, |beyond| beyond.present)
    }

    pub fn has_missing(&self) -> bool {
        self.missing > 0 || self.beyond.is_some_and(|beyond| beyond.missing > 0)
    }

    /// How many values the whole column has once.
    pub fn singles(&self) -> usize {
        let counted = || self.counts.iter().filter(|(_, count)| *count == 1).count();
        self.beyond.map_or_else(counted, |beyond| beyond.singles)
    }

    pub fn repeats(&self) -> bool {
        self.beyond.is_some_and(|beyond| beyond.repeats) || self.counts.iter().any(|(_, count)| *count > 1)
    }

    /// The smallest and the largest number of the whole column, if not all numbers are counted but these two are known.
    pub fn ends(&self, format: &NumberFormat) -> Option<(f64, f64)> {
        self.beyond.filter(|_| *format == NumberFormat::default()).and_then(|beyond| beyond.range)
    }

    /// How many distinct values of the whole column there are for each one that is counted.
    pub fn of_one(&self) -> f64 {
        self.distinct() as f64 / self.counts.len().max(1) as f64
    }

    /// The mean over all cells of what `of` makes of a cell's text.
    pub fn mean(&self, of: impl Fn(&str) -> f64) -> f64 {
        self.cells().map(|(text, count)| of(text) * count as f64).sum::<f64>() / self.present.max(1) as f64
    }

    /// The same, with `None` as a category where it is one: where cells are also missing in another way, or where no value is
    /// more common.
    pub fn with_none_as_category(&self) -> Cow<'_, Self> {
        let commonest = self.counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
        if self.nones == 0 || self.present == 0 || (self.nones == self.missing && self.nones < commonest) {
            return Cow::Borrowed(self);
        }
        let mut counted = self.clone();
        counted.counts.push((NONE.to_owned(), self.nones));
        counted.counts.sort_unstable();
        counted.present += self.nones;
        counted.missing -= self.nones;
        counted.nones = 0;
        Cow::Owned(counted)
    }

    pub fn nearly_all_differ(&self) -> bool {
        let present = self.all_present();
        present >= FEWEST_KEYS && self.distinct() as f64 >= NEARLY_ALL * present as f64
    }
}

/// Counts the cells of a column. Times of day, and dates that are to be taken for something else, are counted by the texts that
/// rows are later looked up by.
pub(super) fn count(cells: CellsToLearn<'_>, choice: Option<KindChoice>) -> Counted {
    let column = cells.column;
    let mut counts: HashMap<String, usize, Quick> = HashMap::default();
    let mut missing = 0;
    let mut nones = 0;
    match &column.values {
        Values::Text(texts) => {
            for (row, n) in cells.weighted() {
                stop_point();
                let text = texts.get(row);
                if texts.is_missing(row) {
                    missing += n;
                    nones += if texts.may_be_category(row) { n } else { 0 };
                } else if let Some(count) = counts.get_mut(text) {
                    *count += n;
                } else {
                    counts.insert(text.to_owned(), n);
                }
            }
        }
        Values::Category { codes, names } => {
            let mut by_code = vec![0usize; names.len()];
            for (row, n) in cells.weighted() {
                match codes[row] {
                    MISSING => missing += n,
                    code => by_code[code as usize] += n,
                }
            }
            for (name, count) in names.iter().zip(by_code).filter(|(_, count)| *count > 0) {
                *counts.entry(name.clone()).or_default() += count;
            }
        }
        Values::Number { values, .. } | Values::Time { seconds: values, .. } => {
            let mut by_bits: HashMap<u64, usize, Quick> = HashMap::default();
            for (row, n) in cells.weighted() {
                stop_point();
                if values[row].is_nan() {
                    missing += n;
                } else {
                    *by_bits.entry((values[row] + 0.0).to_bits()).or_default() += n;
                }
            }
            let as_text = |kind: TimeKind| match choice {
                Some(choice) => choice != KindChoice::Numeric,
                None => kind == TimeKind::TimeOfDay,
            };
            let text = |value: f64| match &column.values {
                Values::Time { kind, .. } if as_text(*kind) => kind.text(value),
                _ => number_text(value),
            };
            for (bits, count) in by_bits {
                stop_point();
                *counts.entry(text(f64::from_bits(bits))).or_default() += count;
            }
        }
        Values::Unsupported { .. } => {}
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    // Sorted so that nothing depends on a hash map's order.
    counts.sort_unstable();
    Counted { counts, present: cells.n_cells() - missing, missing, nones, beyond: cells.beyond }
}
