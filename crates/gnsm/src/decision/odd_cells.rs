//! Which cells of a table are likely wrong, and what should stand there.
//!
//! In a table of patients, `city = birminghxm` is likely wrong where the rest of the row says `birmingham`. A rare name
//! among rare names is not. So a cell is judged by how much better "somebody made a mistake here" explains what stands
//! there than "this is how it is", the ratio r:
//!
//! - A category has the probability p given the rest of the row. A mistake writes something new, or a misspelling of
//!   the expected value, with probability ½, and else another value of the column as often as that occurs: r = ½ / p or
//!   ½ · share / p. What occurs nowhere else is new, and p is then the probability of anything new: in a column of codes
//!   most of which occur once, one more is no mistake.
//! - A number has the probability p of one at least as far out. No law of mistakes is known, so r is the largest ratio
//!   that p allows under the usual alternatives: −1 / (e p ln p) for p < 1/e (Sellke, Bayarri and Berger, *Calibration
//!   of p Values*, The American Statistician 2001).
//!
//! Some cells break the rule of their column: `unknown` among numbers, a date a century off, a key that occurs twice
//! where all others occur once. If k other cells of the column break the same rule, such a cell is wrong with
//! probability 1 / (1 + k) at least: one `unknown` is a mistake, but fifty are how this column says "missing".
//!
//! Let ε be the share of wrong cells in the table. A cell is then wrong with probability ε r / (1 − ε + ε r), and ε is
//! the mean of these, found by repeating both (EM). Cells that are more likely wrong than right are listed, the surest
//! first, as long as the mean probability that a listed cell is right is at most the rate that was asked for.
//!
//! What should stand in a new cell is chosen by probability and spelling: each letter that has to change costs e².

use std::collections::BTreeMap;

use serde::Serialize;

use super::reason::{Case, Reason};
use crate::columns::{Aspect, Encoded, Feature, Kind, UNSEEN, distance};
use crate::detectors::Expected;

/// Rows that are judged at a time: the probabilities of all their cells are held at once.
const BLOCK: usize = 256;
/// The probability that a mistake is something new.
const NEW: f64 = 0.5;
/// How sure the expected value has to be for a near spelling to count as misspelt, and how much more often it occurs.
const SURE: f64 = 0.5;
const MORE_OFTEN: f64 = 10.0;
/// What a letter costs, in nats, and how many count at the most.
const LETTER: f64 = 2.0;
const MOST_LETTERS: usize = 4;
/// Where the search for the share of wrong cells begins, and how often it goes on.
const FIRST_SHARE: f64 = 0.01;
const ROUNDS: usize = 100;

/// A cell that is likely wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OddCell {
    /// The row of the table, from 0.
    pub row: usize,
    /// What was seen and expected, with its part of the row's score.
    #[serde(flatten)]
    pub reason: Reason,
    /// The probability that the cell is wrong.
    pub wrong: f64,
    /// The share of the column's cells that are as odd or odder, this one included.
    pub p_value: f64,
    /// The value that should stand there, if it is one of the column's, with its probability.
    pub repair: Option<(String, f64)>,
}

impl OddCell {
    /// The value that belongs in the cell, and the probability that the cell is wrong and this value right; `None` if that
    /// is less than `at_least`.
    pub fn change(&self, at_least: f64) -> Option<(&str, f64)> {
        let (value, probability) = self.repair.as_ref()?;
        Some((value.as_str(), self.wrong * probability)).filter(|(_, sure)| *sure >= at_least)
    }
}

/// A cell that a mistake explains better.
struct Candidate {
    row: usize,
    column: usize,
    ratio: f64,
    /// The least probability that it is wrong.
    at_least: f64,
    repair: Option<(String, f64)>,
}

/// All rows of a table, and what judges them.
pub(crate) struct Sought<'a> {
    pub case: Case<'a>,
    pub rows: &'a Encoded,
}

impl Sought<'_> {
    /// The cells that are likely wrong, the surest first; at most a share `rate` of them are expected to be right. `None`
    /// if the method cannot say what it expected.
    pub fn find(&self, rate: f64) -> Option<Vec<OddCell>> {
        let counts = self.case.detector.category_counts()?;
        let columns = self.columns();
        let mut candidates = Vec::new();
        let every: Vec<usize> = (0..self.rows.n_rows()).collect();
        for block in every.chunks(BLOCK) {
            self.look(block, &columns, &counts, &mut candidates)?;
        }
        let share = share_of_wrong(&candidates, (self.rows.n_rows() * columns.len()) as f64);
        let wrong = |candidate: &Candidate| {
            let by_ratio = share * candidate.ratio / (1.0 - share + share * candidate.ratio);
            by_ratio.max(candidate.at_least)
        };
        candidates.sort_by(|a, b| wrong(b).total_cmp(&wrong(a)).then((a.row, a.column).cmp(&(b.row, b.column))));
        let mut right = 0.0;
        let n_listed = candidates
            .iter()
            .enumerate()
            .take_while(|(at, candidate)| {
                let wrong = wrong(candidate);
                right += 1.0 - wrong;
                wrong > 0.5 && right <= rate * (at + 1) as f64
            })
            .count();
        let mut before: BTreeMap<usize, usize> = BTreeMap::new();
        let listed = candidates.into_iter().take(n_listed).map(|candidate| {
            let as_odd = before.entry(candidate.column).or_default();
            *as_odd += 1;
            let p_value = (*as_odd + 1) as f64 / (self.rows.n_rows() + 1) as f64;
            (wrong(&candidate), p_value.min(1.0), candidate)
        });
        Some(self.explained(listed.collect()))
    }

    /// The columns that are looked at, with their features.
    fn columns(&self) -> BTreeMap<usize, Vec<&Feature>> {
        let mut columns: BTreeMap<usize, Vec<&Feature>> = BTreeMap::new();
        for feature in self.case.encoder.features() {
            columns.entry(feature.column).or_default().push(feature);
        }
        columns
    }

    /// Adds the cells of some rows that a mistake explains better.
    fn look(
        &self,
        block: &[usize],
        columns: &BTreeMap<usize, Vec<&Feature>>,
        counts: &[u32],
        candidates: &mut Vec<Candidate>,
    ) -> Option<()> {
        let rows = self.rows.select(block);
        let (_, split) = self.case.split(&rows);
        let asked: Vec<bool> = split.parts.iter().map(|part| *part > 0.0).collect();
        let expected = self.case.expected(&rows, &asked)?;
        if expected.seen.is_empty() {
            return None;
        }
        for (at, &row) in block.iter().enumerate() {
            let judge = Judge { sought: self, rows: &rows, at, row, expected: &expected, counts };
            let is_odd = |cell: usize| asked[at * split.n_cells + cell];
            for (&column, features) in columns {
                let odd = features.iter().filter_map(|feature| judge.feature(feature, &is_odd));
                let Some((ratio, repair)) = odd.max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
                let at_least = features.iter().filter_map(|feature| judge.breaks_rule(feature)).fold(0.0, f64::max);
                if ratio > 1.0 || at_least > 0.0 {
                    candidates.push(Candidate { row, column, ratio, at_least, repair });
                }
            }
        }
        Some(())
    }

    /// The cells with their reasons.
    fn explained(&self, listed: Vec<(f64, f64, Candidate)>) -> Vec<OddCell> {
        let mut rows: Vec<usize> = listed.iter().map(|(_, _, candidate)| candidate.row).collect();
        rows.sort_unstable();
        rows.dedup();
        let chosen = self.rows.select(&rows);
        let explanations = self.case.explain(&chosen, &rows, usize::MAX);
        let names = &self.case.encoder.schema().columns;
        let cell = |(wrong, p_value, candidate): (f64, f64, Candidate)| {
            let place = rows.binary_search(&candidate.row).ok()?;
            let name = &names[candidate.column].name;
            let mut reason = explanations[place].1.reasons.iter().find(|reason| reason.column == *name)?.clone();
            if let Some((value, probability)) = &candidate.repair {
                (reason.expected, reason.probability) = (Some(value.clone()), Some(*probability));
                reason.similar = reason.similar.filter(|similar| similar != value);
            }
            Some(OddCell { row: candidate.row, reason, wrong, p_value, repair: candidate.repair })
        };
        listed.into_iter().filter_map(cell).collect()
    }
}

/// A row under judgement.
struct Judge<'a> {
    sought: &'a Sought<'a>,
    rows: &'a Encoded,
    at: usize,
    row: usize,
    expected: &'a Expected,
    /// The training rows that have each category, [places of all groups].
    counts: &'a [u32],
}

impl Judge<'_> {
    /// The ratio r of an odd feature, and what should stand in the cell.
    fn feature(&self, feature: &Feature, is_odd: &dyn Fn(usize) -> bool) -> Option<(f64, Option<(String, f64)>)> {
        let layout = self.sought.case.encoder.layout();
        let (n_numbers, n_cells) = (layout.n_numbers(), layout.n_cells());
        let seen = |cell: usize| f64::from(self.expected.seen[self.at * n_cells + cell]);
        let number =
            feature.number.filter(|number| is_odd(*number)).map(|number| (ratio_of_number(seen(number)), None));
        let cell = n_numbers + feature.group;
        let category = is_odd(cell).then(|| self.category(feature, seen(cell)));
        number.into_iter().chain(category).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// How probable it is at least that a cell is wrong, because it breaks the rule of its column.
    fn breaks_rule(&self, feature: &Feature) -> Option<f64> {
        let code = self.rows.codes(self.at)[feature.group];
        let others = || {
            let all = self.counts[self.places(feature)].get(code as usize).copied().unwrap_or(0);
            f64::from(all.saturating_sub(u32::from(self.sought.case.left_out)))
        };
        match feature.aspect {
            Aspect::Number | Aspect::Length if feature.is_stray(code) => Some(1.0 / (1.0 + others())),
            Aspect::Position if feature.is_stray(code) || code == UNSEEN => Some(1.0 / (1.0 + others())),
            // A key has a twin.
            Aspect::Key | Aspect::Repeat if feature.is_stray(code) || code == UNSEEN => {
                Some(1.0 / (1.0 + (others() / 2.0).floor()))
            }
            _ => None,
        }
    }

    /// Where the probabilities and counts of a feature's categories stand.
    fn places(&self, feature: &Feature) -> std::ops::Range<usize> {
        let layout = self.sought.case.encoder.layout();
        let places = layout.group(feature.group);
        places.start - layout.n_numbers()..places.end - layout.n_numbers()
    }

    fn category(&self, feature: &Feature, seen: f64) -> (f64, Option<(String, f64)>) {
        let encoder = self.sought.case.encoder;
        let layout = encoder.layout();
        let places = self.places(feature);
        let of_row = self.at * (layout.width() - layout.n_numbers());
        let probabilities = &self.expected.probabilities[of_row + places.start..of_row + places.end];
        let counts = &self.counts[places];
        let start = layout.group(feature.group).start;
        let members: Vec<f64> = (0..counts.len()).map(|at| f64::from(layout.members(start + at).max(1))).collect();
        let values = Values { probabilities, counts, members: &members };
        let total = counts.iter().map(|count| f64::from(*count)).sum::<f64>().max(1.0);
        let code = self.rows.codes(self.at)[feature.group];
        let itself = f64::from(u8::from(self.sought.case.left_out));
        let own = values.rows_of_one(code as usize).map_or(0.0, |rows| (rows - itself).max(0.0));
        let is_new = code == UNSEEN || own == 0.0;
        let best = probabilities.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let text = self.text(feature);
        let misspelt = best.is_some_and(|(best, p)| {
            f64::from(*p) >= SURE
                && values.rows_of_one(best).is_some_and(|rows| rows >= MORE_OFTEN * own)
                && text.as_deref().is_some_and(|text| is_misspelt(text, &encoder.code_name(feature, best as u32)))
        });
        let mistake = if is_new || misspelt { NEW } else { NEW * own / total };
        let seen = if is_new { values.something_new(code as usize, seen) } else { seen };
        let ratio = mistake / seen.max(f64::MIN_POSITIVE);
        (ratio, self.repair(feature, code, probabilities, text.filter(|_| is_new)))
    }

    /// The text of the cell, if there is one and its values are texts.
    fn text(&self, feature: &Feature) -> Option<String> {
        let schema = self.sought.case.encoder.schema_of(feature);
        named_values(feature, &schema.kind)?;
        let cells = self.sought.case.table.column(&schema.name)?;
        cells.values.text(self.row).map(std::borrow::Cow::into_owned)
    }

    /// The likeliest other value of a column of texts; near spellings of `text` first, if that is given.
    fn repair(&self, feature: &Feature, own: u32, ps: &[f32], text: Option<String>) -> Option<(String, f64)> {
        let encoder = self.sought.case.encoder;
        let layout = encoder.layout();
        let names = named_values(feature, &encoder.schema_of(feature).kind)?;
        let start = layout.group(feature.group).start;
        let weight = |(code, p): (usize, &f32)| {
            let is_own = code == own as usize || layout.missing(feature.group) == Some(code as u32);
            let is_one = names.get(code).filter(|_| layout.members(start + code) == 1 && !is_own);
            let letters = match (&text, is_one) {
                (_, None) => return 0.0,
                (None, _) => 0,
                (Some(text), Some(name)) => distance(text, name, MOST_LETTERS).unwrap_or(MOST_LETTERS),
            };
            f64::from(*p) * (-LETTER * letters as f64).exp()
        };
        let weights: Vec<f64> = ps.iter().enumerate().map(weight).collect();
        let total: f64 = weights.iter().sum();
        let (best, weight) = weights.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
        (*weight > 0.0).then(|| (names[best].clone(), weight / total))
    }
}

/// The values that a cell could have.
struct Values<'a> {
    /// Of one value, where several share a place.
    probabilities: &'a [f32],
    /// The training rows that have each place.
    counts: &'a [u32],
    /// How many values share each place.
    members: &'a [f64],
}

impl Values<'_> {
    /// The training rows that have one value of a place.
    fn rows_of_one(&self, place: usize) -> Option<f64> {
        self.counts.get(place).map(|count| f64::from(*count) / self.members[place])
    }

    /// The probability of any new value, where the value that was seen is new and has the probability `seen`. Values
    /// that occur once may share a place; all of these count as new.
    fn something_new(&self, code: usize, seen: f64) -> f64 {
        let shares = |place: &usize| self.members[*place] > 1.0 && self.counts[*place] > 0;
        let is_of_new = |place: &usize| shares(place) && self.rows_of_one(*place) == Some(1.0);
        let of_place = |place: usize| f64::from(self.probabilities[place]) * self.members[place];
        let shared: f64 = (0..self.counts.len()).filter(is_of_new).map(of_place).sum();
        // What is alone in its place counts as new already.
        if self.counts.get(code).is_some() && shares(&code) { shared } else { shared + seen }
    }
}

/// The values of a column of categories, or of times of day that repeat.
fn named_values<'a>(feature: &Feature, kind: &'a Kind) -> Option<&'a [String]> {
    match (feature.aspect, kind) {
        (Aspect::Value, Kind::Categorical { categories: names, .. } | Kind::Date { times: names, .. }) => Some(names),
        _ => None,
    }
}

/// r of a number.
fn ratio_of_number(p: f64) -> f64 {
    let p = p.max(f64::MIN_POSITIVE);
    if p < (-1f64).exp() { -1.0 / (1f64.exp() * p * p.ln()) } else { 1.0 }
}

/// Whether one text is the other but for a letter in five.
fn is_misspelt(text: &str, of: &str) -> bool {
    let most = (text.chars().count() / 5).max(1);
    text != of && distance(text, of, most).is_some()
}

/// The share of wrong cells, by EM; cells that are no candidates count as right.
fn share_of_wrong(candidates: &[Candidate], n_cells: f64) -> f64 {
    let mut share = FIRST_SHARE;
    for _ in 0..ROUNDS {
        let wrong = |candidate: &Candidate| share * candidate.ratio / (1.0 - share + share * candidate.ratio);
        share = (candidates.iter().map(wrong).sum::<f64>() / n_cells.max(1.0)).clamp(1e-9, 0.5);
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_the_formulas() {
        assert!((ratio_of_number(0.01) - 1.0 / (1f64.exp() * 0.01 * 100f64.ln())).abs() < 1e-9);
        assert_eq!(ratio_of_number(0.5), 1.0);
        assert!(ratio_of_number(0.0).is_finite());
        assert!(is_misspelt("birminghxm", "birmingham") && !is_misspelt("birmingham", "birmingham"));
        assert!(is_misspelt("yes", "yex") && !is_misspelt("no", "yes"));
    }

    #[test]
    fn one_more_value_that_occurs_once_is_judged_by_all_of_them() {
        // 100 rows have one value, 300 have a value of their own that shares a place, and 2 share another with two rows each.
        let (probabilities, counts, members) = ([0.25, 0.0024, 0.005], [100, 300, 4], [1.0, 300.0, 2.0]);
        let values = Values { probabilities: &probabilities, counts: &counts, members: &members };
        assert_eq!([0, 1, 2, 3].map(|place| values.rows_of_one(place)), [Some(100.0), Some(1.0), Some(2.0), None]);
        assert!((values.something_new(1, 0.0024) - 0.72).abs() < 1e-6, "not the probability of this one value");
        assert!((values.something_new(UNSEEN as usize, 0.02) - 0.74).abs() < 1e-6);
        let few = Values { probabilities: &[0.99], counts: &[100], members: &[1.0] };
        assert!((few.something_new(UNSEEN as usize, 0.01) - 0.01).abs() < 1e-9, "a typo in an ordinary column");
    }

    #[test]
    fn the_share_of_wrong_cells_is_the_most_likely_one() {
        // 10 of 1,000 cells are a thousand times likelier by mistake, the rest cannot be mistakes.
        let candidate = |row: usize, ratio: f64| Candidate { row, column: 0, ratio, at_least: 0.0, repair: None };
        let candidates: Vec<Candidate> = (0..10).map(|row| candidate(row, 1000.0)).collect();
        let found = share_of_wrong(&candidates, 1000.0);
        let likelihood = |share: f64| {
            let odd: f64 = candidates.iter().map(|own| (1.0 - share + share * own.ratio).ln()).sum();
            odd + 990.0 * (1.0 - share).ln()
        };
        assert!(likelihood(found) >= likelihood(found * 1.01) && likelihood(found) >= likelihood(found * 0.99));
    }
}
