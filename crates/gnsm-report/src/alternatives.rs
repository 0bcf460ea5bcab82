//! How likely what was seen is, and what else could stand there: the bars of a reason.

use gnsm::internals::columns::{Aspect, Encoded, Encoder, Feature};
use gnsm::internals::detectors::Expected;
use gnsm::{Kind, Reason};

use crate::collect::OddRow;
use crate::page::Report;

/// Values that a cell could have: each with its probability, and whether it is what was seen.
pub type Alternatives = Vec<(String, f64, bool)>;

/// Other values that are shown, at the most.
const MOST: usize = 3;
/// The probability of the range that a method expects, if the method can tell how likely a number is.
const RANGE: f64 = 0.9;

/// For each row and reason: what was seen and what is likelier, with probabilities, where the method can tell.
pub fn alternatives(report: &Report<'_>) -> Vec<Vec<Alternatives>> {
    let encoder = report.model.encoder();
    let codes = report.odd.iter().flat_map(|row| row.codes.iter().copied()).collect();
    let numbers = report.odd.iter().flat_map(|row| row.numbers.iter().copied()).collect();
    let rows = Encoded::new(report.odd.len(), codes, numbers);
    let n_cells = encoder.layout().n_cells();
    let mut asked = vec![false; report.odd.len() * n_cells];
    for (at, row) in report.odd.iter().enumerate() {
        for feature in row.explanation.reasons.iter().filter_map(|reason| feature_of(encoder, reason)) {
            asked[at * n_cells + cell_of(encoder, feature)] = true;
        }
    }
    let expected = report.judge.expected(&rows, &asked, report.is_own);
    let of_row = |(at, row): (usize, &OddRow)| {
        let view = OddRowView { encoder, expected: expected.as_ref(), at, row };
        row.explanation.reasons.iter().map(|reason| view.alternatives(reason).unwrap_or_else(|| told(reason))).collect()
    };
    report.odd.iter().enumerate().map(of_row).collect()
}

/// What a reason is about: a category, or a number or a date that is out of its range.
fn feature_of<'a>(encoder: &'a Encoder, reason: &Reason) -> Option<&'a Feature> {
    let is_about = |feature: &&Feature| {
        let schema = encoder.schema_of(feature);
        let is_range = reason.note.is_none() && reason.expected.is_some();
        schema.name == reason.column
            && match feature.aspect {
                Aspect::Value => matches!(schema.kind, Kind::Categorical { .. }),
                Aspect::Number | Aspect::Position => is_range && feature.number.is_some(),
                _ => false,
            }
    };
    encoder.features().iter().find(is_about)
}

/// The place of its cell: numbers come first, then groups.
fn cell_of(encoder: &Encoder, feature: &Feature) -> usize {
    let group = encoder.layout().n_numbers() + feature.group;
    if feature.aspect == Aspect::Value { group } else { feature.number.unwrap_or(group) }
}

/// What the reason itself tells.
fn told(reason: &Reason) -> Alternatives {
    let Some(p) = reason.seen_probability else { return Vec::new() };
    let seen = (reason.note.clone().unwrap_or_else(|| reason.saw.clone()), p, true);
    let other = reason.expected.clone().zip(reason.probability).map(|(name, p)| (name, p, false));
    [seen].into_iter().chain(other).collect()
}

struct OddRowView<'a> {
    encoder: &'a Encoder,
    expected: Option<&'a Expected>,
    at: usize,
    row: &'a OddRow,
}

impl OddRowView<'_> {
    fn alternatives(&self, reason: &Reason) -> Option<Alternatives> {
        let (expected, feature) = (self.expected?, feature_of(self.encoder, reason)?);
        if feature.aspect == Aspect::Value {
            return self.categories(expected, feature, reason);
        }
        let seen = (format!("{} or further out", reason.saw), self.seen(expected, feature)?, true);
        Some(vec![seen, (reason.expected.clone()?, RANGE, false)])
    }

    /// The probability of what was seen.
    fn seen(&self, expected: &Expected, feature: &Feature) -> Option<f64> {
        let cell = self.at * self.encoder.layout().n_cells() + cell_of(self.encoder, feature);
        expected.seen.get(cell).map(|p| f64::from(*p))
    }

    fn categories(&self, expected: &Expected, feature: &Feature, reason: &Reason) -> Option<Alternatives> {
        let layout = self.encoder.layout();
        let places = layout.group(feature.group);
        let start = self.at * (layout.width() - layout.n_numbers()) + places.start - layout.n_numbers();
        let probabilities = expected.probabilities.get(start..start + places.len())?;
        let own = self.row.codes[feature.group] as usize;
        // As the words have it, where they do.
        let of_code = || probabilities.get(own).map_or(0.0, |p| f64::from(*p));
        let own_p = reason.seen_probability.or_else(|| self.seen(expected, feature)).unwrap_or_else(of_code);
        let mut order: Vec<usize> = (0..probabilities.len()).filter(|code| *code != own).collect();
        order.sort_by(|a, b| probabilities[*b].total_cmp(&probabilities[*a]));
        let likely = order.into_iter().take(MOST).filter(|code| probabilities[*code] > 0.0);
        let name = |code: usize| self.encoder.code_name(feature, code as u32);
        let likely = likely.map(|code| (name(code), f64::from(probabilities[code]), false));
        Some([(reason.saw.clone(), own_p, true)].into_iter().chain(likely).collect())
    }
}
