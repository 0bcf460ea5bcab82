//! One row under explanation: which of its columns are to blame, and what is said of each.

use super::phrases::{Outside, after_text, cut, part_name, runs, span_text};
use super::reason::{Case, Reason, Side};
use crate::columns::{Aspect, DatePart, Encoded, Feature, Kind, UNSEEN, nearest};
use crate::detectors::{Expected, Split};
use crate::table::TimeKind;

/// Characters of a number beyond which it is written with an exponent.
const MOST_DIGITS: usize = 25;
/// Nats by which one column has to be odder than another to be blamed for both.
const CLEARLY: f64 = 3.0;
/// From here on the likeliest value is likelier than all others together.
const LIKELIER: f64 = 0.5;
/// The error of a number that went through its z, in deviations.
const ROUNDING: f64 = 1e-5;
/// The share of its even part from which on an hour or a day is as likely as others.
const EVEN: f64 = 0.5;
/// What the usual parts of a date have together.
const USUAL: f32 = 0.9;

/// A row, and all that is known of it.
pub(super) struct RowView<'a> {
    pub case: &'a Case<'a>,
    pub rows: &'a Encoded,
    /// Its place among the rows.
    pub row: usize,
    /// Its place in the table.
    pub source: usize,
    pub expected: Option<&'a Expected>,
    pub split: &'a Split,
}

impl RowView<'_> {
    fn n_numbers(&self) -> usize {
        self.case.encoder.layout().n_numbers()
    }

    /// The columns with the largest parts, the largest first.
    pub fn reasons(&self, most: usize) -> Vec<Reason> {
        let parts = self.split.parts(self.row);
        let part_of = |feature: &Feature| {
            parts[self.n_numbers() + feature.group] + feature.number.map_or(0.0, |number| parts[number])
        };
        let blamed = self.blamed(&part_of);
        let mut columns: Vec<(usize, f64, Vec<&Feature>)> = Vec::new();
        for (feature, column) in self.case.encoder.features().iter().zip(blamed) {
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

    /// The column that each feature blames. It is the feature's own, with two exceptions. The time between two dates
    /// blames the other date, if that one is clearly odder by itself. A broken relation such as `total = nights × rate`
    /// blames one of its numbers. Numbers that are part of a relation that holds are cleared; of the others, the one is
    /// blamed that is odd by itself.
    fn blamed(&self, part_of: &impl Fn(&Feature) -> f64) -> Vec<usize> {
        let (features, schema) = (self.case.encoder.features(), self.case.encoder.schema());
        let ties = |feature: &Feature| matches!(feature.aspect, Aspect::After(_) | Aspect::Fits(_));
        // How odd each column is by itself, with the time between its dates and others.
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
        let holds = |at: &usize| {
            !broken.contains(at) && self.case.encoder.result_of(self.case.table, self.source, *at).is_some()
        };
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

    /// Whether a feature's words come first, however small its part. `not a date`, or the value that should stand
    /// there, tell more than an unusual shape, hour or weekday.
    fn says_more(&self, feature: &Feature, column: usize) -> bool {
        let code = self.rows.codes(self.row)[feature.group];
        match feature.aspect {
            Aspect::Fits(_) if feature.column != column => false,
            Aspect::Position | Aspect::Fits(_) => code == UNSEEN || feature.is_stray(code),
            // If no key is expected here, that there is one tells more than its shape.
            Aspect::Key => self.expected_code(feature).is_some_and(|(expected, p)| expected != code && p >= LIKELIER),
            Aspect::Value => {
                let name = &self.case.encoder.schema_of(feature).name;
                let cell = self.case.table.column(name).and_then(|cells| cells.values.text(self.source));
                cell.is_none() || self.expected_code(feature).is_some_and(|(_, p)| p >= LIKELIER)
            }
            _ => false,
        }
    }

    /// The words for a feature; `None` if it is as expected.
    fn reason(&self, feature: &Feature, column: usize, part: f64, share: f64) -> Option<Reason> {
        let schema = &self.case.encoder.schema().columns[column];
        let code = self.rows.codes(self.row)[feature.group];
        let cell = self.case.table.column(&schema.name).and_then(|cells| cells.values.text(self.source));
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
            side: None,
            is_new: code == UNSEEN && !missing,
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
                let Kind::Numeric { format, decimals, .. } = &schema.kind else { return None };
                let from_z = || feature.scale.map_or(0.0, |scale| scale.unscaled(f64::from(z)));
                let value = format.parse(&reason.saw).unwrap_or_else(from_z);
                let limits = self.limits(feature, [low, high]);
                let outside = Outside { value, is_below: z < low };
                reason.expected = Some(outside.range_text(limits, usize::from(*decimals)));
                reason.side = Some(Side::below(outside.is_below));
                reason.seen_probability = None;
                // 1e308 has 309 digits, which nobody counts.
                if reason.saw.len() > MOST_DIGITS {
                    reason.saw = format!("{value:e}");
                }
            }
            Aspect::Length => {
                let (z, [low, high]) = (z?, range?);
                if low <= z && z <= high {
                    return None;
                }
                let length = reason.saw.chars().count();
                reason.note = Some(format!("{length} characters long"));
                reason.saw = cut(&reason.saw, 40);
                let outside = Outside { value: length as f64, is_below: z < low };
                reason.expected = Some(outside.range_text(self.limits(feature, [low, high]), 0));
                reason.side = Some(Side::below(outside.is_below));
            }
            Aspect::Lead => {
                let own = self.case.encoder.lead(feature, &reason.saw).to_owned();
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
                let seconds = self.case.encoder.seconds_after(self.case.table, self.source, feature.column, from)?;
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
                let name = self.case.encoder.schema().columns[other].name.clone();
                let seconds = if turned { -seconds } else { seconds };
                let limits = limits.map(|[low, high]| if turned { [-high, -low] } else { [low, high] });
                let in_days = [feature.column, from].iter().all(|column| self.has_no_time(*column));
                reason.note = Some(after_text(seconds, limits, in_days, &name));
                reason.side = limits.map(|[low, _]| Side::below(seconds < low));
                reason.expected = limits.map(|[low, high]| span_text(low, high, seconds, in_days));
                reason.other = Some(name);
                reason.seen_probability = None;
            }
            Aspect::Key | Aspect::Repeat if unseen || feature.is_stray(code) => {
                reason.note = Some("occurs more than once".into());
            }
            // That a key occurs once is what keys are for.
            Aspect::Repeat => return None,
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
                let schema = self.case.encoder.schema();
                let relation = &schema.relations[at];
                let result = self.case.encoder.result_of(self.case.table, self.source, at)?;
                let words = relation.words(&schema.columns);
                if column == relation.of {
                    reason.note = Some(format!("not {words}"));
                    reason.expected = Some(relation.text(result));
                } else {
                    // The number that is odd is one of those that should give the result.
                    let name = &schema.columns[relation.of].name;
                    reason.note = Some(format!("by which {name} is not {words}"));
                    let number = self.case.encoder.features().iter().find(|f| f.column == column && f.number.is_some());
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
        let Kind::Date { seen: [first, last], .. } = &self.case.encoder.schema_of(feature).kind else { return None };
        let date = |seconds: f64| TimeKind::Date.text(seconds);
        let of_number = feature.number.map(|number| self.rows.numbers(self.row)[number]).filter(|z| !z.is_nan());
        if code == UNSEEN && self.is_date(feature) {
            reason.note = Some("far outside of the usual dates".into());
            // The first and the last date that were seen; what counts as far outside begins farther out.
            reason.expected = Some(format!("{} to {}", date(*first), date(*last)));
        } else if !self.is_date(feature) {
            reason.note = Some("not a date".into());
        } else {
            let (z, [low, high]) = (of_number?, self.range(feature)?);
            if low <= z && z <= high {
                return None;
            }
            reason.expected = Some(self.range_text(feature, [low, high], date));
            reason.side = Some(Side::below(z < low));
            reason.seen_probability = None;
        }
        Some(())
    }

    /// Whether the date of a column is one without a time of day.
    fn has_no_time(&self, column: usize) -> bool {
        self.case.encoder.moment(self.case.table, self.source, column).is_some_and(|moment| !moment.has_time)
    }

    fn is_date(&self, feature: &Feature) -> bool {
        self.case.encoder.moment(self.case.table, self.source, feature.column).is_some()
    }

    /// The name of the part that a date has.
    fn part_of_date(&self, feature: &Feature, part: DatePart) -> String {
        let moment = self.case.encoder.moment(self.case.table, self.source, feature.column);
        moment.map_or_else(String::new, |moment| part_name(part, part.of(&moment)))
    }

    /// The limits of what was expected, as z.
    fn range(&self, feature: &Feature) -> Option<[f32; 2]> {
        Some(self.expected?.ranges[self.row * self.n_numbers() + feature.number?])
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
        let cell = if is_number { feature.number? } else { self.n_numbers() + feature.group };
        self.expected?.seen.get(self.row * self.case.encoder.layout().n_cells() + cell).map(|p| f64::from(*p))
    }

    fn probabilities(&self, feature: &Feature) -> Option<&[f32]> {
        let layout = self.case.encoder.layout();
        let places = layout.group(feature.group);
        let of_row = &self.expected?.probabilities[self.row * (layout.width() - self.n_numbers())..];
        Some(&of_row[places.start - self.n_numbers()..places.end - self.n_numbers()])
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
        let missing = self.case.encoder.layout().missing(feature.group);
        let probabilities = self.probabilities(feature)?.iter().enumerate();
        let present = probabilities.filter(|(code, p)| Some(*code as u32) != missing && **p > 0.0);
        present.max_by(|a, b| a.1.total_cmp(b.1)).map(|(code, _)| self.code_name(feature, code as u32))
    }

    fn code_name(&self, feature: &Feature, code: u32) -> String {
        self.case.encoder.code_name(feature, code)
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
        match &self.case.encoder.schema_of(feature).kind {
            Kind::Categorical { categories, .. } => {
                nearest(saw, categories.iter().map(String::as_str)).map(str::to_owned)
            }
            _ => None,
        }
    }
}
