//! The cells of a batch, read once for all that is looked at in them.

use super::date::Moment;
use super::features::{Aspect, Feature};
use super::relations::number_in;
use super::schema::Schema;
use crate::table::Values;

/// A cell that was read for what its column is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell<T> {
    /// There is nothing.
    Missing,
    /// There is something else.
    Stray,
    /// There is this.
    Value(T),
}

impl Cell<f64> {
    pub fn of(number: f64) -> Self {
        if number.is_nan() { Self::Missing } else { Self::Value(number) }
    }
}

impl<T> Cell<T> {
    pub fn value(&self) -> Option<&T> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }
}

/// The cells of a column in a batch.
pub(super) enum Parsed<'a> {
    /// No row has it, or it is not used.
    Absent,
    /// And the texts they were read from.
    Numbers(Vec<Cell<f64>>, &'a Values),
    /// And the texts they were read from.
    Moments(Vec<Cell<Moment>>, &'a Values),
    /// Whether each key occurs more than once, and the keys.
    Keys(Vec<bool>, &'a Values),
    /// Categories by their index, and their codes in the model.
    Named { codes: &'a [u32], translated: Vec<u32>, values: &'a Values },
    /// Categories as text, or as numbers.
    Words(&'a Values),
}

/// The number of a feature before it is scaled.
pub(super) fn unscaled_number(feature: &Feature, parsed: &[Parsed<'_>], row: usize) -> Option<f64> {
    match (feature.aspect, &parsed[feature.column]) {
        (Aspect::Number, Parsed::Numbers(cells, _)) => cells[row].value().copied(),
        (Aspect::Length, Parsed::Words(values)) => values.text(row).map(|text| text.chars().count() as f64),
        (Aspect::Position, Parsed::Moments(moments, _)) => moments[row].value().map(|moment| moment.local),
        (Aspect::After(from), Parsed::Moments(..)) => after(feature, parsed, from, row),
        _ => None,
    }
}

/// Whether a number is what others of the row give; `None` if one of them is missing.
pub(super) fn fits(schema: &Schema, at: usize, parsed: &[Parsed<'_>], row: usize) -> Option<bool> {
    let relation = &schema.relations[at];
    let number = |column: &usize| match &parsed[*column] {
        Parsed::Numbers(cells, _) => cells[row].value().copied(),
        Parsed::Moments(cells, _) => cells[row].value().map(Moment::utc),
        Parsed::Words(values) | Parsed::Named { values, .. } => number_in(&schema.columns[*column].kind, values, row),
        _ => None,
    };
    let terms: Vec<f64> = relation.terms.iter().map(number).collect::<Option<_>>()?;
    let number = number(&relation.of)?;
    relation.result(&terms).is_finite().then(|| relation.holds(number, &terms))
}

/// How long the date of a feature is after that of another column. Nothing is measured from a date far outside:
/// otherwise the other date would be odd as well.
pub(super) fn after(feature: &Feature, parsed: &[Parsed<'_>], from: usize, row: usize) -> Option<f64> {
    let moment = |at: usize| match &parsed[at] {
        Parsed::Moments(moments, _) => moments[row].value(),
        _ => None,
    };
    let from = moment(from).filter(|moment| feature.range.contains(&moment.local))?;
    Some(moment(feature.column)?.utc() - from.utc())
}
