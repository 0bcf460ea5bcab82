//! Why a row is odd, in words: for every column its part of the score, what was there and what was expected.
//!
//! A column may be looked at in several ways (`columns/features.rs`). Its part of the score is the sum over them, and the words are
//! those of the strongest. A column that holds what was expected is never a reason.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::blame::RowView;
use super::phrases::{percent, visible};
use crate::columns::{Aside, Encoded, Encoder};
use crate::detectors::{Detector, Expected, Split};
use crate::table::Table;

/// One column's part of a row's score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// The column.
    pub column: String,
    /// The column it is compared with, where two dates are.
    pub other: Option<String>,
    /// What the row has there.
    pub saw: String,
    /// What is odd about that, where it is not the value itself: `never seen`, `not a number`, `a Sunday`, `1,100 days before admit`.
    pub note: Option<String>,
    /// A common value that is spelled nearly the same.
    pub similar: Option<String>,
    /// What was expected there, given the rest of the row: a category, or a range of numbers.
    pub expected: Option<String>,
    /// The probability of the expected category.
    pub probability: Option<f64>,
    /// The probability of what was seen.
    pub seen_probability: Option<f64>,
    /// Of a number, a date or a length of time, on which side of what was expected it lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// Whether no learned row has this value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new: bool,
    /// The part of the score.
    pub part: f64,
    /// The part as a share of all parts' sizes.
    pub share: f64,
}

/// On which side of what was expected something lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Less, shorter or earlier.
    Below,
    /// More, longer or later.
    Above,
}

impl Side {
    /// The side of something that is below, or is not.
    pub(super) fn below(is_below: bool) -> Self {
        if is_below { Self::Below } else { Self::Above }
    }
}

/// A score and its strongest reasons. The base, the parts of the reasons and the rest sum to the score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The score.
    pub score: f64,
    /// The part that no column is responsible for.
    pub base: f64,
    /// The part of all columns that are no reason, or not among the strongest.
    pub rest: f64,
    /// The reasons, strongest first.
    pub reasons: Vec<Reason>,
}

impl Reason {
    /// What is odd, and what would be usual: `= Finance (seen 0.4 % of the time in such rows), expected Marketing (91 %)`.
    pub fn words(&self) -> String {
        let mut words = format!("= {}", visible(&self.saw));
        // For a missing cell, the reason says what should stand there if anything should, even if it is usually
        // missing.
        let is_usual = self.seen_probability.zip(self.probability).is_some_and(|(seen, expected)| seen > expected);
        match (&self.note, self.seen_probability) {
            (Some(note), _) => words += &format!(", {note}"),
            (None, Some(p)) if is_usual => words += &format!(", as in {} of such rows", percent(p)),
            (None, Some(p)) if self.probability.is_some() => {
                words += &format!(" (seen {} of the time in such rows)", percent(p));
            }
            _ => {}
        }
        if let Some(similar) = &self.similar {
            words += &format!("; {}?", visible(similar));
        }
        if let Some(expected) = &self.expected {
            let lead = match &self.note {
                Some(_) if self.probability.is_none() => "; usual: ",
                None if is_usual => "; a value would be ",
                _ => ", expected ",
            };
            words += &format!("{lead}{}", visible(expected));
        }
        if let Some(p) = self.probability.filter(|_| self.expected.is_some()) {
            words += &format!(" ({})", percent(p));
        }
        words
    }
}

impl fmt::Display for Reason {
    /// `job = astronaut, never seen, expected admin. (31 %), 64 % of the score`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, {:.0} % of the score", self.column, self.words(), 100.0 * self.share)
    }
}

/// Distinct rows that are explained at a time; few, since the parts of all their cells at all levels are in memory
/// together.
const BLOCK: usize = 1024;

/// Rows of a table, and what judges them.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub encoder: &'a Encoder,
    pub detector: &'a dyn Detector,
    pub table: &'a Table,
    /// What does not count.
    pub aside: &'a Aside,
    /// Whether the detector learned from these rows, and is to judge each as if it had not.
    pub left_out: bool,
}

impl Case<'_> {
    /// The scores of rows, and these taken apart, without what is set aside.
    pub fn split(&self, rows: &Encoded) -> (Vec<f64>, Split) {
        let left_out = if self.left_out { self.detector.split_left_out(rows) } else { None };
        match left_out {
            Some(split) => split,
            None if !self.aside.is_empty() => {
                let mut split = self.detector.split(rows);
                self.aside.clear(self.encoder, &mut split.parts);
                (split.sums(), split)
            }
            None => self.detector.score_and_split(rows),
        }
    }

    /// What was expected in the cells that are `asked` about, [rows, cells].
    pub fn expected(&self, rows: &Encoded, asked: &[bool]) -> Option<Expected> {
        let left_out = if self.left_out { self.detector.expected_left_out(rows, asked) } else { None };
        left_out.or_else(|| self.detector.expected(rows, asked))
    }

    /// Scores encoded rows and explains them by `most` reasons each, each distinct row once; `sources` says which row of the
    /// table each one is.
    pub fn explain(&self, rows: &Encoded, sources: &[usize], most: usize) -> Vec<(f64, Explanation)> {
        let (firsts, of_row) = rows.distinct();
        let mut repetitions: Vec<Vec<usize>> = vec![Vec::new(); firsts.len()];
        for (place, &which) in of_row.iter().enumerate() {
            repetitions[which as usize].push(place);
        }
        let mut explanations: Vec<Option<(f64, Explanation)>> = vec![None; rows.n_rows()];
        for (block, repetitions) in firsts.chunks(BLOCK).zip(repetitions.chunks(BLOCK)) {
            let rows = &rows.select(block);
            let (scores, split) = self.split(rows);
            // Asking costs; only what can become a reason is asked about.
            let asked: Vec<bool> = split.parts.iter().map(|part| *part > 0.0).collect();
            let expected = self.expected(rows, &asked);
            for (row, places) in repetitions.iter().enumerate() {
                let (score, base) = (scores[row], split.base[row]);
                for &place in places {
                    let source = sources[place];
                    let view = RowView { case: self, rows, row, source, expected: expected.as_ref(), split: &split };
                    let reasons = view.reasons(most);
                    let rest = score - base - reasons.iter().map(|reason| reason.part).sum::<f64>();
                    explanations[place] = Some((score, Explanation { score, base, rest, reasons }));
                }
            }
        }
        explanations.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::phrases::{after_text, span_text};
    use super::*;

    #[test]
    fn a_reason_reads_like_a_sentence() {
        let mut reason = Reason {
            column: "department".into(),
            other: None,
            saw: "Finance".into(),
            note: None,
            similar: None,
            expected: Some("Marketing".into()),
            probability: Some(0.914),
            seen_probability: Some(0.004),
            side: None,
            is_new: false,
            part: 3.0,
            share: 0.64,
        };
        assert_eq!(
            reason.to_string(),
            "department = Finance (seen 0.4 % of the time in such rows), expected Marketing (91 %), 64 % of the score"
        );
        (reason.column, reason.saw, reason.seen_probability) = ("time".into(), "(missing)".into(), Some(0.99));
        assert_eq!(
            reason.to_string(),
            "time = (missing), as in 99 % of such rows; a value would be Marketing (91 %), 64 % of the score"
        );
        (reason.column, reason.saw) = ("country".into(), "Gemany ".into());
        (reason.note, reason.similar) = (Some("never seen".into()), Some("Germany".into()));
        (reason.expected, reason.probability) = (None, None);
        assert_eq!(reason.to_string(), "country = 'Gemany ', never seen; Germany?, 64 % of the score");
        (reason.column, reason.saw, reason.similar) = ("discharge".into(), "2021-02-03".into(), None);
        (reason.note, reason.expected) = (
            Some(after_text(-1100.0 * 86_400.0, None, true, "admit")),
            Some(span_text(0.0, 5.0 * 86_400.0, -1100.0 * 86_400.0, true)),
        );
        assert_eq!(
            reason.to_string(),
            "discharge = 2021-02-03, 1,100 days before admit; usual: 0 to 5 days after, 64 % of the score"
        );
    }
}
