//! What of a row has to be drawn, and what follows from it.

use crate::columns::{ABSENT, Aspect, DatePart, Encoded, Encoder, Feature, Kind, Ladder};
use crate::detectors::Blanks;

/// The cells that are drawn where their column is not known.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// For each feature whether its group is drawn; if not, it is hidden.
    groups: Vec<bool>,
    /// For each number whether it is drawn, and the feature that it is of.
    numbers: Vec<(bool, usize)>,
    /// For each group a code that is never drawn: that of a cell that holds no value but is not missing.
    barred: Vec<Option<u32>>,
    /// For each number its group.
    presence: Vec<usize>,
    /// For each cell whether it is drawn: numbers first, then groups.
    drawn: Vec<bool>,
}

/// Rows with blanks, and which cells these are, [rows, cells].
pub(crate) struct Blanked {
    pub rows: Encoded,
    pub blank: Vec<bool>,
}

impl Plan {
    pub fn new(encoder: &Encoder) -> Self {
        let features = encoder.features();
        let of_number = features.iter().filter(|feature| feature.number.is_some());
        let is_stray = |feature: &Feature| match encoder.schema_of(feature).kind {
            Kind::Numeric { stray: true, .. } => Some(encoder.stray(feature)),
            Kind::Date { stray: true, .. } if feature.aspect == Aspect::Position => Some(encoder.stray(feature)),
            _ => None,
        };
        let groups: Vec<bool> = features.iter().map(|feature| draws_group(encoder, feature)).collect();
        let numbers: Vec<(bool, usize)> =
            of_number.clone().map(|feature| (draws_number(feature), feature.group)).collect();
        Self {
            drawn: numbers.iter().map(|(is_drawn, _)| *is_drawn).chain(groups.iter().copied()).collect(),
            groups,
            numbers,
            barred: features.iter().map(is_stray).collect(),
            presence: of_number.map(|feature| feature.group).collect(),
        }
    }

    /// Rows in which everything is blank but the columns that are known; `is_known` is asked for a row and a column.
    pub fn blank(&self, encoder: &Encoder, rows: &Encoded, is_known: impl Fn(usize, usize) -> bool) -> Blanked {
        let (n_rows, features) = (rows.n_rows(), encoder.features());
        let (mut codes, mut numbers, mut blank) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..n_rows {
            let known = |feature: &Feature| {
                let other = if let Aspect::After(from) = feature.aspect { from } else { feature.column };
                is_known(row, feature.column) && is_known(row, other)
            };
            let known: Vec<bool> = features.iter().map(known).collect();
            for ((is_drawn, feature), z) in self.numbers.iter().zip(rows.numbers(row)) {
                numbers.push(if known[*feature] { *z } else { f32::NAN });
                blank.push(*is_drawn && !known[*feature]);
            }
            for ((is_drawn, known), code) in self.groups.iter().zip(&known).zip(rows.codes(row)) {
                codes.push(if *known { *code } else { ABSENT });
                blank.push(*is_drawn && !known);
            }
        }
        Blanked { rows: Encoded::new(n_rows, codes, numbers), blank }
    }

    /// The blanks of rows.
    pub fn blanks<'a>(
        &'a self,
        blanked: &'a Blanked,
        ladders: &'a [Ladder],
        may_miss: bool,
        (seed, ids): (u64, &'a [u64]),
    ) -> Blanks<'a> {
        Blanks {
            rows: &blanked.rows,
            blank: &blanked.blank,
            presence: &self.presence,
            drawn: &self.drawn,
            ladders,
            barred: &self.barred,
            may_miss,
            seed,
            ids,
        }
    }
}

/// Whether the group of a feature is drawn. It says whether there is a value, or which one.
fn draws_group(encoder: &Encoder, feature: &Feature) -> bool {
    let Kind::Date { times, scale, .. } = &encoder.schema_of(feature).kind else {
        return matches!(
            (feature.aspect, &encoder.schema_of(feature).kind),
            (Aspect::Value, Kind::Categorical { .. }) | (Aspect::Number, Kind::Numeric { .. })
        );
    };
    match feature.aspect {
        Aspect::Position => times.is_empty(),
        // The time itself tells the hour.
        Aspect::Part(DatePart::Hour) => times.is_empty() && scale.is_none(),
        Aspect::Value | Aspect::Part(_) => true,
        _ => false,
    }
}

fn draws_number(feature: &Feature) -> bool {
    matches!(feature.aspect, Aspect::Number | Aspect::Position | Aspect::After(_))
}
