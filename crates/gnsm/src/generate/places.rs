//! Writes a number that others of its row give, in the way of its column.

use serde::{Deserialize, Serialize};

use super::date_pattern::{self, DAY};
use super::manner::{Manner, Style};
use crate::columns::{Aspect, Encoder, Kind, Moment, number_of_text, parse_number};

/// Seconds from 1970 to the furthest date that is written.
const FURTHEST: f64 = 1e11;

/// How a number becomes one that its column can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rounding {
    /// The nearest one.
    Nearest,
    /// The last one that is full.
    Down,
    /// The first one that has begun.
    Up,
}

impl Rounding {
    /// A number with so many decimals.
    fn round(self, value: f64, decimals: u8) -> f64 {
        let shift = 10f64.powi(i32::from(decimals));
        let scaled = value * shift;
        // A tiny error in a sum of seconds must not make 24 years of 25.
        let open = 1e-9 * scaled.abs().max(1.0);
        let whole = match self {
            Self::Nearest => scaled.round(),
            Self::Down => (scaled + open).floor(),
            Self::Up => (scaled - open).ceil(),
        };
        // Nothing is written `-0`.
        whole / shift + 0.0
    }
}

/// What the columns can hold.
pub(crate) struct Places<'a> {
    pub encoder: &'a Encoder,
    pub manner: &'a Manner,
    /// For each column of categories those that are numbers, and how many decimals they have at the most.
    categories: Vec<(Vec<(f64, &'a str)>, u8)>,
    /// Columns that never had a number below zero.
    no_negatives: Vec<bool>,
}

impl<'a> Places<'a> {
    pub fn new(encoder: &'a Encoder, manner: &'a Manner) -> Self {
        let columns = &encoder.schema().columns;
        let categories = columns.iter().map(|column| match &column.kind {
            Kind::Categorical { categories, rare, .. } => numbers_among(categories.iter().chain(rare.iter().flatten())),
            _ => (Vec::new(), 0),
        });
        let mut no_negatives = vec![false; columns.len()];
        for feature in encoder.features().iter().filter(|feature| feature.aspect == Aspect::Number) {
            let ladder = feature.number.and_then(|number| manner.ladders.get(number));
            let least = ladder.and_then(|ladder| ladder.values.iter().copied().min_by(f64::total_cmp));
            no_negatives[feature.column] = least.is_some_and(|least| least >= 0.0);
        }
        Self { encoder, manner, categories: categories.collect(), no_negatives }
    }

    /// A number as a cell of a column, and the number that this cell stands for; `None` if the column cannot hold it.
    pub fn write(&self, column: usize, value: f64, rounding: Rounding) -> Option<(String, f64)> {
        let kind = &self.encoder.schema().columns[column].kind;
        let (text, meant) = match (kind, &self.manner.columns[column].style) {
            (Kind::Numeric { decimals, .. }, Style::Number(style)) => {
                let rounded = rounding.round(value, *decimals);
                if rounded < 0.0 && self.no_negatives[column] {
                    return None;
                }
                (style.write(rounded), rounded)
            }
            (Kind::Categorical { .. }, _) => {
                let (numbers, decimals) = &self.categories[column];
                let rounded = rounding.round(value, *decimals);
                let (number, text) = numbers.iter().find(|(number, _)| is_same(*number, rounded))?;
                ((*text).to_owned(), *number)
            }
            (Kind::Date { times, .. }, Style::Date(pattern)) if times.is_empty() => {
                let step = date_pattern::step(pattern);
                let local = (value / step).round() * step;
                if local.abs() > FURTHEST {
                    return None;
                }
                let moment = Moment { local, ahead: 0.0, has_time: step < DAY };
                (date_pattern::write(pattern, &moment), local)
            }
            _ => return None,
        };
        // What is read again must be what was meant.
        let read = number_of_text(kind, &text).filter(|read| is_same(*read, meant))?;
        Some((text, read))
    }
}

fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(1.0)
}

/// The categories that are numbers, and how many decimals they have at the most.
fn numbers_among<'a>(categories: impl Iterator<Item = &'a String>) -> (Vec<(f64, &'a str)>, u8) {
    let numbers: Vec<(f64, &str)> = categories
        .filter_map(|text| Some((parse_number(text).filter(|number| number.is_finite())?, text.as_str())))
        .collect();
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, decimals)| decimals.len().min(9) as u8);
    let most = numbers.iter().map(|(_, text)| decimals(text)).max().unwrap_or(0);
    (numbers, most)
}
