//! Why a row is odd, in words: for every column its part of the score, what was there and what was expected.
//!
//! A column may be looked at in several ways (`columns/features.rs`). Its part of the score is the sum over them, and the words are
//! those of the strongest. A column that holds what was expected is never a reason.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::columns::{
    Aspect, DatePart, Encoded, Encoder, Feature, Kind, UNSEEN, WEEKDAYS, length_text, month_name, nearest,
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
        let mut columns: Vec<(f64, Vec<&Feature>)> = Vec::new();
        for feature in self.encoder.features() {
            match columns.iter_mut().find(|(_, features)| features[0].column == feature.column) {
                Some((sum, features)) => {
                    *sum += part_of(feature);
                    features.push(feature);
                }
                None => columns.push((part_of(feature), vec![feature])),
            }
        }
        let total: f64 = columns.iter().map(|(part, _)| part.abs()).sum();
        columns.sort_by(|a, b| b.0.total_cmp(&a.0));
        let odd = columns.into_iter().filter(|(part, _)| *part > 0.0);
        odd.filter_map(|(part, mut features)| {
            features.retain(|feature| part_of(feature) > 0.0);
            features.sort_by(|a, b| self.says_more(b).cmp(&self.says_more(a)).then(part_of(b).total_cmp(&part_of(a))));
            features.iter().find_map(|feature| self.reason(feature, part, part / total))
        })
        .take(most)
        .collect()
    }

    /// Whether a feature's words come first, whatever its part: that a date is none or is far outside, and the value that
    /// should stand there say more than what is usual of a shape, an hour or a weekday.
    fn says_more(&self, feature: &Feature) -> bool {
        let code = self.rows.codes(self.row)[feature.group];
        match feature.aspect {
            Aspect::Position | Aspect::Fits(_) => code == UNSEEN || feature.is_stray(code),
            Aspect::Value => {
                let name = &self.encoder.schema_of(feature).name;
                let cell = self.table.column(name).and_then(|cells| cells.values.text(self.source));
                cell.is_none() || self.expected_code(feature).is_some_and(|(_, p)| p >= LIKELIER)
            }
            _ => false,
        }
    }

    /// The words for a feature; `None` if it is as expected.
    fn reason(&self, feature: &Feature, part: f64, share: f64) -> Option<Reason> {
        let schema = self.encoder.schema_of(feature);
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
            }
            Aspect::Number => {
                let (z, [low, high]) = (z?, range?);
                if low <= z && z <= high {
                    return None;
                }
                reason.expected = Some(self.range_text(feature, [low, high], short));
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
            Aspect::Shape => {
                reason.note = Some(if unseen { "a shape never seen" } else { "an unusual shape" }.into());
                reason.expected = self.expected_code(feature).map(|(code, _)| self.code_name(feature, code));
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
                if usual.contains(&code) {
                    return None;
                }
                let usual: Vec<u32> = usual.iter().filter_map(|code| feature.value(*code)).collect();
                // Not every method tells what is usual.
                reason.expected = (!usual.is_empty()).then(|| runs(part, &usual));
            }
            Aspect::After(from) => {
                let seconds = self.encoder.seconds_after(self.table, self.source, feature.column, from)?;
                let name = self.encoder.schema().columns[from].name.clone();
                let limits = range.map(|limits| self.limits(feature, limits));
                if let (Some([low, high]), false) = (limits, unseen)
                    && low <= seconds
                    && seconds <= high
                {
                    return None;
                }
                reason.note = Some(after_text(seconds, &name));
                reason.expected = limits.map(|[low, high]| span_text(low, high));
                reason.other = Some(name);
                reason.seen_probability = None;
            }
            Aspect::Repeats => reason.note = Some("occurs more than once".into()),
            Aspect::Fits(at) => {
                if !(unseen || feature.is_stray(code)) {
                    return None;
                }
                let schema = self.encoder.schema();
                let relation = &schema.relations[at];
                let result = self.encoder.result_of(self.table, self.source, at)?;
                reason.note = Some(format!("not {}", relation.words(&schema.columns)));
                reason.expected = Some(relation.text(result));
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
fn after_text(seconds: f64, other: &str) -> String {
    match seconds {
        _ if seconds < 0.0 => format!("{} before {other}", length_text(seconds)),
        _ if seconds > 0.0 => format!("{} after {other}", length_text(seconds)),
        _ => format!("the same as {other}"),
    }
}

/// `0 to 5 days after`.
fn span_text(low: f64, high: f64) -> String {
    let side = |seconds: f64| if seconds < 0.0 { "before" } else { "after" };
    let (a, b) = (length_text(low), length_text(high));
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
        (reason.note, reason.expected) =
            (Some(after_text(-1100.0 * 86_400.0, "admit")), Some(span_text(0.0, 5.0 * 86_400.0)));
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
        assert_eq!(span_text(-3.0 * day, -day), "1 to 3 days before");
        assert_eq!(span_text(-3.0 * day, 2.0 * day), "3 days before to 2 days after");
        assert_eq!(span_text(30.0 * day, 30.0 * day), "30 days after");
    }
}
