//! Why a row is odd, in words: for every column its part of the score, what was there and what was expected.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::columns::{Encoded, EncodedColumn, Encoder, Kind, UNSEEN, unscaled};
use crate::detectors::{Detector, Expected, Split};
use crate::table::Table;

/// One column's part of a row's score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// The column.
    pub column: String,
    /// What the row has there.
    pub saw: String,
    /// Whether training never showed it.
    pub unseen: bool,
    /// What was expected there, given the rest of the row: a category, or a range of numbers.
    pub expected: Option<String>,
    /// The probability of the expected category.
    pub probability: Option<f64>,
    /// The part of the score.
    pub part: f64,
    /// The part as a share of all parts' sizes.
    pub share: f64,
}

/// A score and its strongest reasons. The base and the parts of all columns sum to the score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The score.
    pub score: f64,
    /// The part that no column is responsible for.
    pub base: f64,
    /// The reasons, strongest first.
    pub reasons: Vec<Reason>,
}

impl Reason {
    /// Whether the cell holds the likeliest category: its part is what doubt remained.
    pub fn is_as_expected(&self) -> bool {
        self.expected.as_ref() == Some(&self.saw)
    }

    /// The probability of the expected category for a sentence: `p = 0.31`, `p > 0.99`.
    pub fn probability_text(&self) -> Option<String> {
        self.probability.map(|p| if p >= 0.995 { "p > 0.99".to_owned() } else { format!("p = {p:.2}") })
    }
}

impl fmt::Display for Reason {
    /// `job = astronaut (never seen), expected admin. (p = 0.31), 64 %`; where nothing else was expected,
    /// `job = admin., as expected (p = 0.31), 5 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.column, self.saw)?;
        if self.unseen {
            f.write_str(" (never seen)")?;
        }
        match &self.expected {
            _ if self.is_as_expected() => f.write_str(", as expected")?,
            Some(expected) => write!(f, ", expected {expected}")?,
            None => {}
        }
        if let Some(probability) = self.probability_text() {
            write!(f, " ({probability})")?;
        }
        write!(f, ", {:.0} %", 100.0 * self.share)
    }
}

/// The error of a number that went through its z, in deviations.
const ROUNDING: f64 = 1e-5;

/// Distinct rows explained at a time: the parts of all their cells at all levels are held at once.
const BLOCK: usize = 1024;

/// Scores encoded rows and explains them by `most` reasons each, each distinct row once; `sources` says which row of the table
/// each one is.
pub(crate) fn score_and_explain(
    encoder: &Encoder,
    detector: &dyn Detector,
    table: &Table,
    rows: &Encoded,
    sources: &[usize],
    most: usize,
) -> Vec<(f64, Explanation)> {
    let (firsts, of_row) = rows.distinct();
    let mut repetitions: Vec<Vec<usize>> = vec![Vec::new(); firsts.len()];
    for (place, &which) in of_row.iter().enumerate() {
        repetitions[which as usize].push(place);
    }
    let mut explanations: Vec<Option<(f64, Explanation)>> = vec![None; rows.n_rows()];
    for (block, repetitions) in firsts.chunks(BLOCK).zip(repetitions.chunks(BLOCK)) {
        let rows = &rows.select(block);
        let (scores, split) = detector.score_and_split(rows);
        let strongest: Vec<Vec<Strong>> = (0..rows.n_rows()).map(|row| strongest(encoder, &split, row, most)).collect();
        let mut asked = vec![false; split.parts.len()];
        for (strongest, asked) in strongest.iter().zip(asked.chunks_exact_mut(split.n_cells.max(1))) {
            let n_numbers = encoder.layout().n_numbers();
            for Strong { column, .. } in strongest {
                asked[column.number.unwrap_or(n_numbers + column.group)] = true;
            }
        }
        let expected = detector.expected(rows, &asked);
        for (row, places) in repetitions.iter().enumerate() {
            let base = split.base[row];
            let score = base + split.parts(row).iter().sum::<f64>();
            for &place in places {
                let view = RowView { encoder, table, rows, row, source: sources[place], expected: expected.as_ref() };
                let reasons = strongest[row].iter().map(|strong| view.reason(strong)).collect();
                explanations[place] = Some((scores[row], Explanation { score, base, reasons }));
            }
        }
    }
    explanations.into_iter().flatten().collect()
}

/// A column that a reason is given for.
struct Strong<'a> {
    column: &'a EncodedColumn,
    part: f64,
    share: f64,
}

/// The columns of a row with the largest parts, the largest first.
fn strongest<'a>(encoder: &'a Encoder, split: &Split, row: usize, most: usize) -> Vec<Strong<'a>> {
    let parts = split.parts(row);
    debug_assert_eq!(parts.len(), encoder.layout().n_cells());
    let n_numbers = encoder.layout().n_numbers();
    let part_of = |column: &EncodedColumn| parts[n_numbers + column.group] + column.number.map_or(0.0, |n| parts[n]);
    let total: f64 = encoder.columns().iter().map(|column| part_of(column).abs()).sum();
    let strong = |column: &'a EncodedColumn| {
        let part = part_of(column);
        Strong { column, part, share: if total > 0.0 { part / total } else { 0.0 } }
    };
    let mut strongest: Vec<Strong<'a>> = encoder.columns().iter().map(strong).collect();
    strongest.sort_by(|a, b| b.part.total_cmp(&a.part));
    strongest.truncate(most);
    strongest
}

struct RowView<'a> {
    encoder: &'a Encoder,
    table: &'a Table,
    rows: &'a Encoded,
    row: usize,
    source: usize,
    expected: Option<&'a Expected>,
}

impl RowView<'_> {
    fn reason(&self, &Strong { column, part, share }: &Strong<'_>) -> Reason {
        let schema = self.encoder.schema_of(column);
        let code = self.rows.codes(self.row)[column.group];
        let cell = self.table.column(&schema.name).and_then(|cells| cells.values.text(self.source));
        let (expected, probability) = match schema.kind {
            Kind::Numeric { mean, scale, .. } => (self.expected_range(column, mean, scale), None),
            _ => self.expected_category(column),
        };
        Reason {
            column: schema.name.clone(),
            saw: cell.map_or_else(|| "(missing)".to_owned(), std::borrow::Cow::into_owned),
            unseen: code == UNSEEN,
            expected,
            probability,
            part,
            share,
        }
    }

    fn expected_category(&self, column: &EncodedColumn) -> (Option<String>, Option<f64>) {
        let Some(expected) = self.expected else { return (None, None) };
        let layout = self.encoder.layout();
        let (n_numbers, places) = (layout.n_numbers(), layout.group(column.group));
        let of_row = &expected.probabilities[self.row * (layout.width() - n_numbers)..];
        let probabilities = &of_row[places.start - n_numbers..places.end - n_numbers];
        let best = probabilities.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        match best {
            Some((code, probability)) => {
                let name = self.encoder.category_name(column, code as u32).to_owned();
                (Some(name), Some(f64::from(*probability)))
            }
            None => (None, None),
        }
    }

    fn expected_range(&self, column: &EncodedColumn, mean: f64, scale: f64) -> Option<String> {
        let [low, high] = self.expected?.ranges[self.row * self.encoder.layout().n_numbers() + column.number?];
        let [low, high] = [low, high].map(|limit| limit_text(limit, mean, scale));
        Some(if low == high { low } else { format!("{low} to {high}") })
    }
}

/// The limit of a range. It is a 32-bit z, and what that leaves of a zero is no number to show.
fn limit_text(limit: f32, mean: f64, scale: f64) -> String {
    let value = unscaled(f64::from(limit), mean, scale);
    short(if value.abs() < ROUNDING * scale { 0.0 } else { value })
}

/// A number with four significant digits.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        let text = format!("{value:.3e}");
        let Some((digits, exponent)) = text.split_once('e') else { return text };
        return format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let decimals = if size >= 1000.0 || value == 0.0 { 0 } else { (3 - size.log10().floor() as i32).max(0) as usize };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> =
            [0.0, 1.0, -2.5, 1234.567, 0.012_345, 1e9, 99.99, -1.25e-7, f64::INFINITY].map(short).to_vec();
        assert_eq!(shown, ["0", "1", "-2.5", "1235", "0.01235", "1e9", "99.99", "-1.25e-7", "inf"]);
    }

    #[test]
    fn a_limit_of_zero_is_zero() {
        let (mean, scale) = (39.8557, 13.4922);
        let limits = [0.0, 16.0, 0.25].map(|value: f64| limit_text(((value - mean) / scale) as f32, mean, scale));
        assert_eq!(limits, ["0", "16", "0.25"]);
    }

    #[test]
    fn a_reason_reads_like_a_sentence() {
        let mut reason = Reason {
            column: "job".into(),
            saw: "astronaut".into(),
            unseen: true,
            expected: Some("admin.".into()),
            probability: Some(0.314),
            part: 3.0,
            share: 0.64,
        };
        assert_eq!(reason.to_string(), "job = astronaut (never seen), expected admin. (p = 0.31), 64 %");
        (reason.unseen, reason.expected, reason.probability) = (false, Some("astronaut".into()), Some(0.996));
        assert_eq!(reason.to_string(), "job = astronaut, as expected (p > 0.99), 64 %");
        (reason.expected, reason.probability) = (None, None);
        assert_eq!(reason.to_string(), "job = astronaut, 64 %");
    }
}
