//! From codes and scaled numbers to the texts of a table.

use rand_chacha::ChaCha8Rng;

use super::date_pattern::{self, DAY};
use super::manner::{Holds, Manner, Style};
use crate::columns::{Aspect, DatePart, Encoded, Encoder, Feature, Kind, Moment, parse_number};
use crate::math::{stream, uniform_share};
use crate::table::{Column, TextCells, Values};

/// The name of the random streams.
const WRITING: u64 = 22;
/// By how many days a date may be moved to get the drawn weekday and the like: a date that follows from another, and
/// one that does not.
const REACH: [i64; 2] = [3, 183];

/// Whether nothing can be written into a column of this kind.
pub(crate) fn unwritten(kind: &Kind) -> bool {
    matches!(kind, Kind::Text { .. } | Kind::Ignored)
}

/// Writes rows.
pub(crate) struct Pages<'a> {
    pub encoder: &'a Encoder,
    pub manner: &'a Manner,
    /// The first and the last of each column of dates or keys.
    pub spans: &'a [Option<[f64; 2]>],
    pub seed: u64,
    /// The number of each row, which names its draws.
    pub ids: &'a [u64],
}

impl Pages<'_> {
    /// The texts of a row's columns, `None` for an empty cell; `known` has those that are given.
    pub fn row(&self, rows: &Encoded, row: usize, known: &[Option<String>]) -> Vec<Option<String>> {
        let schema = self.encoder.schema();
        let mut texts = known.to_vec();
        let given = known.iter().zip(&schema.columns);
        let mut dates: Vec<Option<Moment>> =
            given.map(|(text, column)| text.as_deref().and_then(|text| moment_of(&column.kind, text))).collect();
        // A date of birth is computed from the age at another date, so the other dates are written first.
        let is_late = |kind: &Kind| matches!(kind, Kind::Date { scale: Some(_), .. });
        let columns = || schema.columns.iter().enumerate().filter(|(at, _)| known[*at].is_none());
        let early = columns().filter(|(_, column)| !is_late(&column.kind));
        for (at, column) in early.chain(columns().filter(|(_, column)| is_late(&column.kind))) {
            texts[at] = match &column.kind {
                Kind::Categorical { categories, rare, .. } => self.category(rows, row, at, categories, rare),
                Kind::Numeric { .. } => self.number(rows, row, at),
                Kind::Date { times, .. } if !times.is_empty() => {
                    let code = self.feature(at, Aspect::Value).map(|feature| rows.codes(row)[feature.group]);
                    code.and_then(|code| times.get(code as usize)).cloned()
                }
                Kind::Date { .. } => {
                    dates[at] = self.date(rows, row, at, &dates);
                    let pattern = match &self.manner.columns[at].style {
                        Style::Date(pattern) => pattern.as_str(),
                        _ => "%Y-%m-%d",
                    };
                    dates[at].map(|moment| date_pattern::write(pattern, &moment))
                }
                Kind::Identifier { .. } => Some(self.key(row, at)),
                Kind::Text { .. } | Kind::Ignored => None,
            };
        }
        texts
    }

    /// A number of a column, as it is written there.
    pub fn number_text(&self, column: usize, value: f64) -> String {
        match &self.manner.columns[column].style {
            Style::Number(style) => style.write_made(value),
            _ => value.to_string(),
        }
    }

    /// The texts of one column as the format had them.
    pub fn column(&self, at: usize, texts: impl Iterator<Item = Option<String>>) -> Column {
        let name = self.encoder.schema().columns[at].name.clone();
        let texts: Vec<Option<String>> = texts.collect();
        let number = |text: &Option<String>| text.as_deref().map_or(Some(f64::NAN), parse_number);
        let holds = self.manner.columns[at].holds;
        if holds != Holds::Text
            && let Some(values) = texts.iter().map(number).collect::<Option<Vec<f64>>>()
        {
            return Column { name, values: Values::Number { values, integer: holds == Holds::Integer } };
        }
        let mut cells = TextCells::default();
        texts.iter().for_each(|text| cells.push(text.as_deref().unwrap_or_default()));
        Column { name, values: Values::Text(cells) }
    }

    fn random(&self, row: usize, column: usize) -> ChaCha8Rng {
        stream(self.seed, WRITING, self.ids[row], column as u64)
    }

    fn feature(&self, column: usize, aspect: Aspect) -> Option<&Feature> {
        self.encoder.features().iter().find(|feature| feature.column == column && feature.aspect == aspect)
    }

    fn category(&self, rows: &Encoded, row: usize, at: usize, own: &[String], rare: &[Vec<String>]) -> Option<String> {
        let code = rows.codes(row)[self.feature(at, Aspect::Value)?.group] as usize;
        if let Some(name) = own.get(code) {
            return Some(name.clone());
        }
        let names = rare.get(code.checked_sub(own.len())?)?;
        let which = uniform_share(&mut self.random(row, at)) * names.len() as f64;
        names.get(which as usize).cloned()
    }

    fn number(&self, rows: &Encoded, row: usize, at: usize) -> Option<String> {
        let number = self.feature(at, Aspect::Number)?.number?;
        let z = rows.numbers(row)[number];
        (!z.is_nan()).then(|| self.number_text(at, self.manner.ladders[number].value(z)))
    }

    /// A date with the drawn weekday, hour and so on, at the drawn distance from another date.
    fn date(&self, rows: &Encoded, row: usize, at: usize, dates: &[Option<Moment>]) -> Option<Moment> {
        let position = self.feature(at, Aspect::Position)?;
        if Some(rows.codes(row)[position.group]) == self.encoder.layout().missing(position.group) {
            return None;
        }
        let mut random = self.random(row, at);
        let step = match &self.manner.columns[at].style {
            Style::Date(pattern) => date_pattern::step(pattern),
            _ => DAY,
        };
        let of_number = |number: usize| {
            let z = rows.numbers(row)[number];
            (!z.is_nan()).then(|| self.manner.ladders[number].value(z))
        };
        let beside = self.encoder.features().iter().filter_map(|feature| {
            let Aspect::After(from) = feature.aspect else { return None };
            let (other, sign) = match (feature.column, from) {
                (of, from) if of == at => (dates[from]?, 1.0),
                (of, from) if from == at => (dates[of]?, -1.0),
                _ => return None,
            };
            let spread = feature.scale.map_or(f64::INFINITY, |scale| scale.unscaled(1.0) - scale.unscaled(-1.0));
            Some((spread, other.utc(), other.utc() + sign * of_number(feature.number?)?))
        });
        // Of several dates the one that tells most.
        let beside = beside.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, other, moment)| (other, moment));
        let scored = position.number.and_then(of_number);
        let share = uniform_share(&mut random);
        let free = || self.spans[at].map(|[first, last]| first + share * (last - first));
        let base = beside.map(|(_, moment)| moment).or(scored).or_else(free)?;
        let whole = |seconds: f64| (seconds / step).floor() * step;
        // A sum of seconds may be a tiny bit less than the second it stands for.
        let rounded = |seconds: f64| if beside.is_some() { (seconds / step).round() * step } else { whole(seconds) };
        let is_date =
            !matches!(&self.encoder.schema().columns[at].kind, Kind::Date { format, .. } if format.is_time_of_day());
        let free = beside.is_none() && scored.is_none();
        let mut local = rounded(base);
        if is_date {
            let on_its_side = |moved: f64| {
                beside.is_none_or(|(other, plain)| moved == plain || (moved - other) * (plain - other) > 0.0)
            };
            local += DAY * self.shift(rows, row, at, local, REACH[usize::from(free)], on_its_side) as f64;
        }
        if free && let Some(hour) = self.part(rows, row, at, DatePart::Hour) {
            let within = uniform_share(&mut random) * 3600.0;
            local = (local / DAY).floor() * DAY + f64::from(hour) * 3600.0 + whole(within);
        }
        Some(Moment { local, ahead: 0.0, has_time: step < DAY })
    }

    /// The part of a date that was drawn.
    fn part(&self, rows: &Encoded, row: usize, at: usize, part: DatePart) -> Option<u32> {
        let feature = self.feature(at, Aspect::Part(part))?;
        feature.value(rows.codes(row)[feature.group])
    }

    /// The smallest number of days by which a date has to move to get the drawn parts, the most important first.
    fn shift(&self, rows: &Encoded, row: usize, at: usize, local: f64, reach: i64, fits: impl Fn(f64) -> bool) -> i64 {
        // The weekday counts most: a shop that is closed on Sundays sells nothing on one, whatever the day of the
        // month.
        let parts = [(DatePart::Weekday, 4), (DatePart::Month, 2), (DatePart::Day, 1)];
        let parts: Vec<(DatePart, u32, u32)> = parts
            .into_iter()
            .filter_map(|(part, counts)| Some((part, self.part(rows, row, at, part)?, counts)))
            .collect();
        let span = self.spans[at].unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        let right = |days: i64| {
            let moved = local + DAY * days as f64;
            let moment = Moment { local: moved, ahead: 0.0, has_time: false };
            let inside = fits(moved) && (days == 0 || (span[0] <= moved && moved <= span[1]));
            let right = parts.iter().filter(|(part, value, _)| part.of(&moment) == *value);
            inside.then(|| right.map(|(.., counts)| counts).sum::<u32>())
        };
        let days = (0..=reach).flat_map(|days| [days, -days]);
        let mut best = (right(0), 0);
        for days in days {
            let found = right(days);
            if found > best.0 {
                best = (found, days);
            }
        }
        best.1
    }

    /// A key that no row had.
    fn key(&self, row: usize, at: usize) -> String {
        let number = self.ids[row] + 1;
        match (&self.manner.columns[at].style, self.spans[at]) {
            (Style::Key(before, width), Some([_, last])) => {
                let width = *width;
                format!("{before}{:0width$}", last as u64 + number)
            }
            _ => format!("new-{number}"),
        }
    }
}

/// The date that a given text stands for.
fn moment_of(kind: &Kind, text: &str) -> Option<Moment> {
    if let Kind::Date { format, .. } = kind { format.parse(text) } else { None }
}
