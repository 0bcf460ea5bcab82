//! Why a row is odd, in words: for every column its part of the score, what was there and what was expected.
//!
//! A column may be looked at in several ways (`columns/features.rs`). Its part of the score is the sum over them, and the words are
//! those of the strongest. A column that holds what was expected is never a reason.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::columns::{
    Aspect, DatePart, Encoded, Encoder, Feature, Kind, UNSEEN, WEEKDAYS, length_in, length_text, month_name, nearest,
};
use crate::detectors::{Detector, Expected, Split};
use crate::table::{Table, TimeKind};

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
    /// The part of the score.
    pub part: f64,
    /// The part as a share of all parts' sizes.
    pub share: f64,
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
        match (&self.note, self.seen_probability) {
            (Some(note), _) => words += &format!(", {note}"),
            (None, Some(p)) if self.probability.is_some() => {
                words += &format!(" (seen {} of the time in such rows)", percent(p));
            }
            _ => {}
        }
        if let Some(similar) = &self.similar {
            words += &format!("; {}?", visible(similar));
        }
        if let Some(expected) = &self.expected {
            let lead = if self.note.is_some() && self.probability.is_none() { "; usual: " } else { ", expected " };
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

/// A text whose blanks at its ends can be seen.
pub fn visible(text: &str) -> String {
    if text.trim() == text && !text.is_empty() { text.to_owned() } else { format!("'{text}'") }
}

/// A probability in per cent: `91 %`, `0.4 %`, `under 0.01 %`, `over 99.9 %`.
pub fn percent(probability: f64) -> String {
    let percent = 100.0 * probability;
    match percent {
        _ if percent >= 99.95 => "over 99.9 %".into(),
        _ if percent >= 10.0 => format!("{percent:.0} %"),
        _ if percent >= 0.1 => format!("{percent:.1} %"),
        _ if percent >= 0.01 => format!("{percent:.2} %"),
        _ => "under 0.01 %".into(),
    }
}

/// Nats by which one column has to be odder than another to be blamed for both.
const CLEARLY: f64 = 3.0;
/// From here on the likeliest value is likelier than all others together.
const LIKELIER: f64 = 0.5;

/// Distinct rows explained at a time: the parts of all their cells at all levels are held at once.
const BLOCK: usize = 1024;

/// Scores encoded rows and explains them by `most` reasons each, each distinct row once; `sources` says which row of the
/// table each one is. Where `left_out`, the detector judges rows that it learned from as if it had not.
pub(crate) fn score_and_explain(
    encoder: &Encoder,
    detector: &dyn Detector,
    table: &Table,
    rows: &Encoded,
    sources: &[usize],
    most: usize,
    left_out: bool,
) -> Vec<(f64, Explanation)> {
    let (firsts, of_row) = rows.distinct();
    let mut repetitions: Vec<Vec<usize>> = vec![Vec::new(); firsts.len()];
    for (place, &which) in of_row.iter().enumerate() {
        repetitions[which as usize].push(place);
    }
    let n_numbers = encoder.layout().n_numbers();
    let mut explanations: Vec<Option<(f64, Explanation)>> = vec![None; rows.n_rows()];
    for (block, repetitions) in firsts.chunks(BLOCK).zip(repetitions.chunks(BLOCK)) {
        let rows = &rows.select(block);
        let left_out_split = if left_out { detector.split_left_out(rows) } else { None };
        let (scores, split) = match left_out_split {
            Some(split) => (split.sums(), split),
            None if !left_out && encoder.sets_aside() => {
                let mut split = detector.split(rows);
                encoder.clear_aside(&mut split.parts);
                (split.sums(), split)
            }
            None => detector.score_and_split(rows),
        };
        let mut asked = vec![true; split.parts.len()];
        // Asking costs; only what can become a reason is asked about.
        for (part, asked) in split.parts.iter().zip(&mut asked) {
            *asked = *part > 0.0;
        }
        let mut expected = if left_out { detector.expected_left_out(rows, &asked) } else { None };
        if expected.is_none() {
            expected = detector.expected(rows, &asked);
        }
        for (row, places) in repetitions.iter().enumerate() {
            let base = split.base[row];
            let score = base + split.parts(row).iter().sum::<f64>();
            for &place in places {
                let view = RowView {
                    encoder,
                    table,
                    rows,
                    row,
                    source: sources[place],
                    expected: expected.as_ref(),
                    split: &split,
                    n_numbers,
                };
                let reasons = view.reasons(most);
                let rest = score - base - reasons.iter().map(|reason| reason.part).sum::<f64>();
                explanations[place] = Some((scores[row], Explanation { score, base, rest, reasons }));
            }
        }
    }
    explanations.into_iter().flatten().collect()
}

struct RowView<'a> {
    encoder: &'a Encoder,
    table: &'a Table,
    rows: &'a Encoded,
    row: usize,
    source: usize,
    expected: Option<&'a Expected>,
    split: &'a Split,
    n_numbers: usize,
}

impl RowView<'_> {
    /// The columns with the largest parts, the largest first.
    fn reasons(&self, most: usize) -> Vec<Reason> {
        let parts = self.split.parts(self.row);
        let part_of = |feature: &Feature| {
            parts[self.n_numbers + feature.group] + feature.number.map_or(0.0, |number| parts[number])
        };
        let blamed = self.blamed(&part_of);
        let mut columns: Vec<(usize, f64, Vec<&Feature>)> = Vec::new();
        for (feature, column) in self.encoder.features().iter().zip(blamed) {
            match columns.iter_mut().find(|(at, ..)| *at == column) {
                Some((_, sum, features)) => {
                    *sum += part_of(feature);
                    features.push(feature);
                }
                None => columns.push((column, part_of(feature), vec![feature])),
            }
        }
        let total: f64 = columns.iter().map(|(_, part, _)| part.abs()).sum();
        columns.sort_by(|a, b| b.1.total_cmp(&a.1));
        let odd = columns.into_iter().filter(|(_, part, _)| *part > 0.0);
        odd.filter_map(|(column, part, mut features)| {
            features.retain(|feature| part_of(feature) > 0.0);
            features.sort_by(|a, b| {
                self.says_more(b, column).cmp(&self.says_more(a, column)).then(part_of(b).total_cmp(&part_of(a)))
            });
            features.iter().find_map(|feature| self.reason(feature, column, part, part / total))
        })
        .take(most)
        .collect()
    }

    /// The column that each feature speaks against: its own, but for what ties columns together. How long a date is after
    /// another speaks against the other where that one is odd besides. A relation that is broken speaks against the
    /// number that no relation which holds has, or against the one that is odd besides.
    fn blamed(&self, part_of: &impl Fn(&Feature) -> f64) -> Vec<usize> {
        let (features, schema) = (self.encoder.features(), self.encoder.schema());
        let ties = |feature: &Feature| matches!(feature.aspect, Aspect::After(_) | Aspect::Fits(_));
        // What speaks against each column besides, with how far dates are apart.
        let mut dated = vec![0.0; schema.columns.len()];
        for feature in features.iter().filter(|feature| !ties(feature)) {
            dated[feature.column] += part_of(feature);
        }
        for feature in features {
            if let Aspect::After(from) = feature.aspect {
                dated[feature.column] += part_of(feature).max(0.0);
                dated[from] += part_of(feature).max(0.0);
            }
        }
        let members = |at: usize| schema.relations[at].terms.iter().copied().chain([schema.relations[at].of]);
        let broken: Vec<usize> = features.iter().filter_map(|feature| self.broken(feature)).collect();
        let holds = |at: &usize| !broken.contains(at) && self.encoder.result_of(self.table, self.source, *at).is_some();
        let cleared: Vec<usize> = (0..schema.relations.len()).filter(holds).flat_map(members).collect();
        features
            .iter()
            .map(|feature| match (feature.aspect, self.broken(feature)) {
                (Aspect::After(from), _) if dated[from] > dated[feature.column] + CLEARLY => from,
                (_, Some(at)) => {
                    let is_left = |column: &usize| {
                        !cleared.contains(column) && broken.iter().all(|other| members(*other).any(|m| m == *column))
                    };
                    let odder = |a: &usize, b: &usize| dated[*a].total_cmp(&dated[*b]);
                    let left: Vec<usize> = members(at).filter(is_left).collect();
                    match left.iter().copied().max_by(odder) {
                        Some(other) if !left.contains(&feature.column) => other,
                        Some(other) if dated[other] > dated[feature.column] + CLEARLY => other,
                        _ => feature.column,
                    }
                }
                _ => feature.column,
            })
            .collect()
    }

    /// The relation that a feature tells to be broken.
    fn broken(&self, feature: &Feature) -> Option<usize> {
        let code = self.rows.codes(self.row)[feature.group];
        match feature.aspect {
            Aspect::Fits(at) if code == UNSEEN || feature.is_stray(code) => Some(at),
            _ => None,
        }
    }

    /// Whether a feature's words come first, whatever its part: that a date is none or is far outside, and the value that
    /// should stand there say more than what is usual of a shape, an hour or a weekday.
    fn says_more(&self, feature: &Feature, column: usize) -> bool {
        let code = self.rows.codes(self.row)[feature.group];
        match feature.aspect {
            Aspect::Fits(_) if feature.column != column => false,
            Aspect::Position | Aspect::Fits(_) => code == UNSEEN || feature.is_stray(code),
            // That there is a key where none is expected says more than its shape.
            Aspect::Key => self.expected_code(feature).is_some_and(|(expected, p)| expected != code && p >= LIKELIER),
            Aspect::Value => {
                let name = &self.encoder.schema_of(feature).name;
                let cell = self.table.column(name).and_then(|cells| cells.values.text(self.source));
                cell.is_none() || self.expected_code(feature).is_some_and(|(_, p)| p >= LIKELIER)
            }
            _ => false,
        }
    }

    /// The words for a feature; `None` if it is as expected.
    fn reason(&self, feature: &Feature, column: usize, part: f64, share: f64) -> Option<Reason> {
        let schema = &self.encoder.schema().columns[column];
        let code = self.rows.codes(self.row)[feature.group];
        let cell = self.table.column(&schema.name).and_then(|cells| cells.values.text(self.source));
        let missing = cell.is_none();
        let saw = cell.map_or_else(|| "(missing)".to_owned(), std::borrow::Cow::into_owned);
        let z = feature.number.map(|number| self.rows.numbers(self.row)[number]).filter(|z| !z.is_nan());
        let mut reason = Reason {
            column: schema.name.clone(),
            other: None,
            saw,
            note: None,
            similar: None,
            expected: None,
            probability: None,
            seen_probability: self.seen(feature, z.is_some()),
            part,
            share,
        };
        let range = self.range(feature);
        let unseen = code == UNSEEN;
        if missing {
            reason.note = unseen.then(|| "never missing before".to_owned());
            if feature.aspect == Aspect::Value {
                (reason.expected, reason.probability) = self.expected_category(feature);
            }
            return Some(reason);
        }
        match feature.aspect {
            Aspect::Value => {
                (reason.expected, reason.probability) = self.expected_category(feature);
                if unseen {
                    reason.note = Some("never seen".into());
                    reason.similar = self.similar(feature, &reason.saw);
                } else if self.expected_code(feature).is_some_and(|(expected, _)| expected == code) {
                    return None;
                }
                if reason.similar.is_some() && reason.similar == reason.expected {
                    reason.similar = None;
                }
            }
            Aspect::Number | Aspect::Length if z.is_none() => {
                let what = if feature.aspect == Aspect::Number { "not a number" } else { "not text" };
                reason.note = Some(what.into());
                if let Kind::Numeric { format, .. } = &schema.kind
                    && let (Some(own), Some(unit)) = (format.other_unit(&reason.saw), &format.unit)
                {
                    reason.note = Some(format!("in {own}"));
                    reason.expected = Some(unit.clone());
                }
            }
            Aspect::Number => {
                let (z, [low, high]) = (z?, range?);
                if low <= z && z <= high {
                    return None;
                }
                let value = feature.scale.map_or(0.0, |scale| scale.unscaled(f64::from(z)));
                let digits = digits_that_tell(value, self.limits(feature, [low, high]));
                reason.expected = Some(self.range_text(feature, [low, high], |value| with_digits(value, digits)));
                reason.seen_probability = None;
            }
            Aspect::Length => {
                let (z, [low, high]) = (z?, range?);
                if low <= z && z <= high {
                    return None;
                }
                reason.note = Some(format!("{} characters long", reason.saw.chars().count()));
                reason.saw = cut(&reason.saw, 40);
                reason.expected = Some(self.range_text(feature, [low, high], |length| format!("{length:.0}")));
            }
            Aspect::Lead => {
                let own = self.encoder.lead(feature, &reason.saw).to_owned();
                reason.note = Some(format!("begins with {}", if own.is_empty() { "neither" } else { &own }));
                (reason.expected, reason.probability) = self.expected_category(feature);
                if !unseen && reason.expected.as_ref() == Some(&self.code_name(feature, code)) {
                    return None;
                }
                if own.is_empty() {
                    reason.note = Some("begins otherwise".into());
                }
            }
            Aspect::Mark => {
                let name = |mark: String| if mark.is_empty() { "no mark".to_owned() } else { mark };
                reason.note = Some(if unseen { "with a mark never seen" } else { "with an unusual mark" }.into());
                let (expected, probability) = self.expected_category(feature);
                (reason.expected, reason.probability) = (expected.map(name), probability);
                if self.expected_code(feature).is_some_and(|(expected, _)| expected == code) {
                    return None;
                }
            }
            Aspect::Shape => {
                reason.note = Some(if unseen { "a shape never seen" } else { "an unusual shape" }.into());
                reason.expected = self.expected_shape(feature);
                let own = self.rows.codes(self.row)[feature.group];
                if !unseen && reason.expected.as_deref() == Some(&self.code_name(feature, own)) {
                    return None;
                }
            }
            Aspect::Position => self.position(feature, code, &mut reason)?,
            Aspect::Part(part) => {
                let name = |code: u32| part_name(part, feature.value(code).unwrap_or(0));
                let own = if unseen { self.part_of_date(feature, part) } else { name(code) };
                reason.note = Some(own.clone());
                let usual = self.usual_codes(feature);
                // Where all hours or days are about as likely, none is a reason.
                let is_even = reason.seen_probability.is_some_and(|p| p * feature.values().len() as f64 > EVEN);
                if usual.contains(&code) || (!unseen && is_even) {
                    return None;
                }
                let usual: Vec<u32> = usual.iter().filter_map(|code| feature.value(*code)).collect();
                // Not every method tells what is usual.
                reason.expected = (!usual.is_empty()).then(|| runs(part, &usual));
            }
            Aspect::After(from) => {
                let seconds = self.encoder.seconds_after(self.table, self.source, feature.column, from)?;
                let limits = range.map(|limits| self.limits(feature, limits));
                if let (Some([low, high]), false) = (limits, unseen)
                    && low <= seconds
                    && seconds <= high
                {
                    return None;
                }
                if limits.is_none()
                    && !unseen
                    && self.expected_code(feature).is_none_or(|(expected, _)| expected == code)
                {
                    return None;
                }
                // Told from the date that is odd.
                let turned = column != feature.column;
                let other = if turned { feature.column } else { from };
                let name = self.encoder.schema().columns[other].name.clone();
                let seconds = if turned { -seconds } else { seconds };
                let limits = limits.map(|[low, high]| if turned { [-high, -low] } else { [low, high] });
                reason.note = Some(after_text(seconds, limits, &name));
                reason.expected = limits.map(|[low, high]| span_text(low, high, seconds));
                reason.other = Some(name);
                reason.seen_probability = None;
            }
            Aspect::Key if unseen || feature.is_stray(code) => reason.note = Some("occurs more than once".into()),
            Aspect::Key => {
                (reason.expected, reason.probability) = self.expected_category(feature);
                if self.expected_code(feature).is_none_or(|(expected, _)| expected == code) {
                    return None;
                }
            }
            Aspect::Fits(at) => {
                if !(unseen || feature.is_stray(code)) {
                    return None;
                }
                let schema = self.encoder.schema();
                let relation = &schema.relations[at];
                let result = self.encoder.result_of(self.table, self.source, at)?;
                let words = relation.words(&schema.columns);
                if column == relation.of {
                    reason.note = Some(format!("not {words}"));
                    reason.expected = Some(relation.text(result));
                } else {
                    // The number that is odd is one of those that should give the result.
                    let name = &schema.columns[relation.of].name;
                    reason.note = Some(format!("by which {name} is not {words}"));
                    let number = self.encoder.features().iter().find(|f| f.column == column && f.number.is_some());
                    let odd = number.and_then(|number| self.reason(number, column, part, share));
                    reason.expected = odd.and_then(|odd| odd.expected);
                    reason.other = Some(name.clone());
                    return Some(reason);
                }
                reason.probability = self.expected_code(feature).map(|(_, p)| p);
            }
        }
        Some(reason)
    }

    /// A date far outside, or something that is none.
    fn position(&self, feature: &Feature, code: u32, reason: &mut Reason) -> Option<()> {
        let Kind::Date { range, .. } = &self.encoder.schema_of(feature).kind else { return None };
        let date = |seconds: f64| TimeKind::Date.text(seconds);
        let of_number = feature.number.map(|number| self.rows.numbers(self.row)[number]).filter(|z| !z.is_nan());
        if code == UNSEEN && self.is_date(feature) {
            reason.note = Some("far outside of the usual dates".into());
            reason.expected = Some(format!("{} to {}", date(range[0]), date(range[1])));
        } else if !self.is_date(feature) {
            reason.note = Some("not a date".into());
        } else {
            let (z, [low, high]) = (of_number?, self.range(feature)?);
            if low <= z && z <= high {
                return None;
            }
            reason.expected = Some(self.range_text(feature, [low, high], date));
            reason.seen_probability = None;
        }
        Some(())
    }

    fn is_date(&self, feature: &Feature) -> bool {
        self.encoder.moment(self.table, self.source, feature.column).is_some()
    }

    /// The name of the part that a date has.
    fn part_of_date(&self, feature: &Feature, part: DatePart) -> String {
        let moment = self.encoder.moment(self.table, self.source, feature.column);
        moment.map_or_else(String::new, |moment| part_name(part, part.of(&moment)))
    }

    /// The limits of what was expected, as z.
    fn range(&self, feature: &Feature) -> Option<[f32; 2]> {
        Some(self.expected?.ranges[self.row * self.n_numbers + feature.number?])
    }

    fn limits(&self, feature: &Feature, limits: [f32; 2]) -> [f64; 2] {
        let scale = feature.scale;
        limits.map(|limit| {
            scale.map_or(0.0, |scale| {
                let value = scale.unscaled(f64::from(limit));
                // A limit is a 32-bit z, and what that leaves of a zero is no number to show.
                if value.abs() < ROUNDING * scale.unscaled(1.0).abs().max(scale.unscaled(-1.0).abs()) {
                    0.0
                } else {
                    value
                }
            })
        })
    }

    fn range_text(&self, feature: &Feature, limits: [f32; 2], text: impl Fn(f64) -> String) -> String {
        let [low, high] = self.limits(feature, limits).map(text);
        if low == high { low } else { format!("{low} to {high}") }
    }

    /// The probability of what was seen.
    fn seen(&self, feature: &Feature, is_number: bool) -> Option<f64> {
        let cell = if is_number { feature.number? } else { self.n_numbers + feature.group };
        self.expected?.seen.get(self.row * self.encoder.layout().n_cells() + cell).map(|p| f64::from(*p))
    }

    fn probabilities(&self, feature: &Feature) -> Option<&[f32]> {
        let layout = self.encoder.layout();
        let places = layout.group(feature.group);
        let of_row = &self.expected?.probabilities[self.row * (layout.width() - self.n_numbers)..];
        Some(&of_row[places.start - self.n_numbers..places.end - self.n_numbers])
    }

    /// The likeliest code and its probability.
    fn expected_code(&self, feature: &Feature) -> Option<(u32, f64)> {
        let probabilities = self.probabilities(feature)?;
        let best = probabilities.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        best.filter(|(_, p)| **p > 0.0).map(|(code, p)| (code as u32, f64::from(*p)))
    }

    fn expected_category(&self, feature: &Feature) -> (Option<String>, Option<f64>) {
        let best = self.expected_code(feature);
        (best.map(|(code, _)| self.code_name(feature, code)), best.map(|(_, p)| p))
    }

    /// The likeliest shape, given that there is something.
    fn expected_shape(&self, feature: &Feature) -> Option<String> {
        let missing = self.encoder.layout().missing(feature.group);
        let probabilities = self.probabilities(feature)?.iter().enumerate();
        let present = probabilities.filter(|(code, p)| Some(*code as u32) != missing && **p > 0.0);
        present.max_by(|a, b| a.1.total_cmp(b.1)).map(|(code, _)| self.code_name(feature, code as u32))
    }

    fn code_name(&self, feature: &Feature, code: u32) -> String {
        self.encoder.code_name(feature, code)
    }

    /// The likeliest codes that together have nine tenths.
    fn usual_codes(&self, feature: &Feature) -> Vec<u32> {
        let Some(probabilities) = self.probabilities(feature) else { return Vec::new() };
        let mut order: Vec<usize> = (0..probabilities.len()).collect();
        order.sort_by(|a, b| probabilities[*b].total_cmp(&probabilities[*a]));
        let mut sum = 0.0;
        let mut usual: Vec<u32> = Vec::new();
        for code in order {
            if sum >= USUAL {
                break;
            }
            sum += probabilities[code];
            usual.push(code as u32);
        }
        usual.sort_unstable();
        usual
    }

    /// A common category that is spelled nearly like this.
    fn similar(&self, feature: &Feature, saw: &str) -> Option<String> {
        match &self.encoder.schema_of(feature).kind {
            Kind::Categorical { categories, .. } => {
                nearest(saw, categories.iter().map(String::as_str)).map(str::to_owned)
            }
            _ => None,
        }
    }
}

/// The error of a number that went through its z, in deviations.
const ROUNDING: f64 = 1e-5;
/// The share of its even part from which on an hour or a day is as likely as others.
const EVEN: f64 = 0.5;
/// What the usual parts of a date have together.
const USUAL: f32 = 0.9;

/// `a Sunday`, `3 h`, `day 31`, `March`.
fn part_name(part: DatePart, value: u32) -> String {
    match part {
        DatePart::Hour => format!("at {value} h"),
        DatePart::Weekday => format!("a {}", WEEKDAYS[value as usize % 7]),
        DatePart::Day => format!("on day {value} of the month"),
        DatePart::Month => format!("in {}", month_name(value)),
    }
}

/// Values of a part, those that follow each other together: `Monday to Friday`, `7 h to 18 h, 20 h`.
pub(crate) fn runs(part: DatePart, values: &[u32]) -> String {
    let name = |value: u32| match part {
        DatePart::Hour => format!("{value} h"),
        DatePart::Weekday => WEEKDAYS[value as usize % 7].to_owned(),
        DatePart::Day => format!("day {value}"),
        DatePart::Month => month_name(value),
    };
    let run = |run: &[u32]| match run {
        [one] => name(*one),
        [first, .., last] => format!("{} to {}", name(*first), name(*last)),
        [] => String::new(),
    };
    values.chunk_by(|a, b| a + 1 == *b).map(run).collect::<Vec<_>>().join(", ")
}

/// `1,100 days before admit`.
fn after_text(seconds: f64, limits: Option<[f64; 2]>, other: &str) -> String {
    let text = |length: f64| limits.map_or_else(|| length_text(length), |[low, high]| lengths(low, high, length).2);
    match seconds {
        _ if seconds < 0.0 => format!("{} before {other}", text(seconds)),
        _ if seconds > 0.0 => format!("{} after {other}", text(seconds)),
        _ => format!("the same as {other}"),
    }
}

/// The limits of a range and a length outside of it, in units in which the length is seen to be outside.
fn lengths(low: f64, high: f64, length: f64) -> (String, String, String) {
    let texts = |text: &dyn Fn(f64) -> String| [low, high, length].map(text);
    let tells = |[a, b, own]: &[String; 3]| (own != a && own != b) || (low <= length && length <= high);
    // A smaller unit shows what a larger one rounds away.
    let finer = [86_400.0, 3600.0, 60.0, 1.0].into_iter().map(|unit| texts(&|length| length_in(length, unit)));
    let [a, b, own] = [texts(&length_text)].into_iter().chain(finer).find(tells).unwrap_or_else(|| texts(&length_text));
    (a, b, own)
}

/// `0 to 5 days after`, beside a length that is outside.
fn span_text(low: f64, high: f64, length: f64) -> String {
    let side = |seconds: f64| if seconds < 0.0 { "before" } else { "after" };
    let (a, b, _) = lengths(low, high, length);
    if low < 0.0 && high > 0.0 {
        return format!("{a} before to {b} after");
    }
    let (a, b) = if low < 0.0 { (b, a) } else { (a, b) };
    let side = side(if low < 0.0 { low } else { high });
    if a == b {
        return format!("{a} {side}");
    }
    match (a.split_once(' '), b.split_once(' ')) {
        (Some((number, x)), Some((_, y))) if x.trim_end_matches('s') == y.trim_end_matches('s') => {
            format!("{number} to {b} {side}")
        }
        _ => format!("{a} to {b} {side}"),
    }
}

/// The first characters of a text.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most).chain(['…']).collect() }
}

/// A number with four significant digits.
pub fn short(value: f64) -> String {
    with_digits(value, 4)
}

/// The digits with which a number outside of a range is seen to be outside: four where they do.
fn digits_that_tell(value: f64, [low, high]: [f64; 2]) -> usize {
    let rounded = |limit: f64, digits: usize| with_digits(limit, digits).parse::<f64>().unwrap_or(limit);
    let tells = |digits: &usize| value < rounded(low, *digits) || value > rounded(high, *digits);
    (4..=7).find(tells).unwrap_or(4)
}

/// A number with so many significant digits.
fn with_digits(value: f64, digits: usize) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        let text = format!("{value:.*e}", digits - 1);
        let Some((digits, exponent)) = text.split_once('e') else { return text };
        let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
        return format!("{digits}e{exponent}");
    }
    let places = digits as i32 - 1;
    let decimals = if value == 0.0 { 0 } else { (places - size.log10().floor() as i32).max(0) as usize };
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
    fn a_number_outside_is_seen_to_be_outside() {
        let shown = |value: f64, range: [f64; 2]| range.map(|limit| with_digits(limit, digits_that_tell(value, range)));
        assert_eq!(shown(6052.92, [550.66, 6052.7]), ["550.66", "6052.7"], "6053 would hold it");
        assert_eq!(shown(98.79, [98.793, 110.0]), ["98.793", "110"]);
        assert_eq!(shown(9.0, [1.0, 5.0]), ["1", "5"]);
    }

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
            part: 3.0,
            share: 0.64,
        };
        assert_eq!(
            reason.to_string(),
            "department = Finance (seen 0.4 % of the time in such rows), expected Marketing (91 %), 64 % of the score"
        );
        (reason.column, reason.saw) = ("country".into(), "Gemany ".into());
        (reason.note, reason.similar) = (Some("never seen".into()), Some("Germany".into()));
        (reason.expected, reason.probability) = (None, None);
        assert_eq!(reason.to_string(), "country = 'Gemany ', never seen; Germany?, 64 % of the score");
        (reason.column, reason.saw, reason.similar) = ("discharge".into(), "2021-02-03".into(), None);
        (reason.note, reason.expected) = (
            Some(after_text(-1100.0 * 86_400.0, None, "admit")),
            Some(span_text(0.0, 5.0 * 86_400.0, -1100.0 * 86_400.0)),
        );
        assert_eq!(
            reason.to_string(),
            "discharge = 2021-02-03, 1,100 days before admit; usual: 0 to 5 days after, 64 % of the score"
        );
    }

    #[test]
    fn parts_of_dates_are_named_in_runs() {
        assert_eq!(runs(DatePart::Weekday, &[0, 1, 2, 3, 4]), "Monday to Friday");
        assert_eq!(runs(DatePart::Hour, &[7, 8, 9, 12]), "7 h to 9 h, 12 h");
        assert_eq!(part_name(DatePart::Weekday, 6), "a Sunday");
    }

    #[test]
    fn spans_of_time_read_well() {
        let day = 86_400.0;
        assert_eq!(span_text(-3.0 * day, -day, 0.0), "1 to 3 days before");
        assert_eq!(span_text(-3.0 * day, 2.0 * day, 9.0 * day), "3 days before to 2 days after");
        assert_eq!(span_text(30.0 * day, 30.0 * day, 0.0), "30 days after");
        // Rounded to hours, 2.52 would be 2.5, which is the end of the range.
        let (low, high, own) = (7200.0, 2.48 * 3600.0, 2.52 * 3600.0);
        assert_eq!(span_text(39.0 * 3600.0, 49.6 * 3600.0, 50.2 * 3600.0), "2,340 to 2,976 minutes after");
        assert_eq!(span_text(low, high, own), "120 to 149 minutes after");
        assert_eq!(after_text(own, Some([low, high]), "opened"), "151 minutes after opened");
    }
}
