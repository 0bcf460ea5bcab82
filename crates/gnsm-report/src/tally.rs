//! Counts the values of every column, in memory that does not grow with the rows, beside those of training.

use gnsm::internals::columns::{Aspect, DatePart, Encoded, Encoder, Feature, UNSEEN};
use gnsm::internals::decision::short;
use gnsm::internals::method::Fitted;
use gnsm::internals::table::TimeKind;
use gnsm::{DateFormat, Kind, Model};

use crate::chart::{self, Bar, Bars, Chart, HEIGHT, Histogram};
use crate::words::{count, percent, shown};

/// Scaled numbers are counted in steps of a tenth of a deviation. They end at ±20.
const STEPS: usize = 400;
const PER_DEVIATION: f64 = 10.0;
/// The share of numbers at each end that may fall into the outer bars.
const OUTER: f64 = 0.0025;
/// Bars of a histogram, and of categories, at the most.
const MOST_BARS: usize = 32;
const MOST_CATEGORIES: usize = 8;
/// Charts of a column, at the most.
const MOST_CHARTS: usize = 4;
/// Characters of a label.
const LABEL: usize = 40;
const DAY: f64 = 86_400.0;

/// How the cells of a feature fall.
#[derive(Debug, Clone)]
struct Counts {
    /// Rows of each code; then those of values never seen.
    codes: Vec<f64>,
    /// Rows by their scaled number; empty where there is none.
    numbers: Vec<f64>,
}

impl Counts {
    fn new(size: usize, has_number: bool) -> Self {
        Self { codes: vec![0.0; size + 1], numbers: vec![0.0; if has_number { STEPS } else { 0 }] }
    }

    /// How the rows fell that were learned from.
    fn of_training(model: &Model, feature: &Feature) -> Self {
        // This method has finer bins of numbers than the model itself.
        let Fitted::Cells(cells) = model.fitted() else { return Self::of_reference(model, feature) };
        let layout = model.encoder().layout();
        let mut counts = Self::new(layout.group(feature.group).len(), feature.number.is_some());
        let group = cells.training_counts(layout.n_numbers() + feature.group);
        for (to, from) in counts.codes.iter_mut().zip(group.rows) {
            *to = f64::from(*from);
        }
        if let Some(code) = group.missing {
            counts.codes[code as usize] = f64::from(group.n_missing);
        }
        if let Some(number) = feature.number {
            let bins = cells.training_counts(number);
            for (knots, rows) in bins.knots.iter().zip(bins.rows) {
                counts.spread(*knots, f64::from(*rows));
            }
        }
        counts
    }

    fn of_reference(model: &Model, feature: &Feature) -> Self {
        let (layout, reference) = (model.encoder().layout(), model.reference());
        let places = layout.group(feature.group);
        let mut counts = Self::new(places.len(), feature.number.is_some());
        let codes = &reference.codes()[places.start - layout.n_numbers()..places.end - layout.n_numbers()];
        for (to, from) in counts.codes.iter_mut().zip(codes.iter().copied().chain([reference.unseen(feature.group)])) {
            *to = from as f64;
        }
        for ([low, high], rows) in feature.number.iter().flat_map(|number| reference.bins(*number)) {
            let twentieth = (high - low) / 20.0;
            counts.spread([low, low + twentieth, high - twentieth, high], rows as f64);
        }
        counts
    }

    /// Spreads the rows of a bin evenly between its knots: 0, 5, 95 and 100 % of them lie below these.
    fn spread(&mut self, knots: [f32; 4], rows: f64) {
        const PIECES: usize = 20;
        for piece in 0..PIECES {
            let share = (piece as f64 + 0.5) / PIECES as f64;
            let (low, high, inside) = match share {
                _ if share < 0.05 => (knots[0], knots[1], share / 0.05),
                _ if share < 0.95 => (knots[1], knots[2], (share - 0.05) / 0.9),
                _ => (knots[2], knots[3], (share - 0.95) / 0.05),
            };
            let z = f64::from(low) + (f64::from(high) - f64::from(low)) * inside;
            self.numbers[step_of(z)] += rows / PIECES as f64;
        }
    }
}

fn step_of(z: f64) -> usize {
    let at = (z * PER_DEVIATION).floor() + STEPS as f64 / 2.0;
    (at.max(0.0) as usize).min(STEPS - 1)
}

/// How the cells of a file fall.
#[derive(Debug)]
pub struct Tally {
    rows: u64,
    here: Vec<Counts>,
}

impl Tally {
    /// Nothing so far.
    pub fn new(encoder: &Encoder) -> Self {
        let layout = encoder.layout();
        let counts = |feature: &Feature| Counts::new(layout.group(feature.group).len(), feature.number.is_some());
        Self { rows: 0, here: encoder.features().iter().map(counts).collect() }
    }

    /// Counts the rows of a batch.
    pub fn add(&mut self, encoder: &Encoder, batch: &Encoded) {
        self.rows += batch.n_rows() as u64;
        for row in 0..batch.n_rows() {
            let (codes, numbers) = (batch.codes(row), batch.numbers(row));
            for (counts, feature) in self.here.iter_mut().zip(encoder.features()) {
                let last = counts.codes.len() - 1;
                counts.codes[(codes[feature.group] as usize).min(last)] += 1.0;
                if let Some(z) = feature.number.map(|number| numbers[number]).filter(|z| !z.is_nan()) {
                    counts.numbers[step_of(f64::from(z))] += 1.0;
                }
            }
        }
    }

    /// The share of rows whose value in a column was never seen in training, and the share without a value.
    pub fn new_and_missing(&self, encoder: &Encoder, column: usize) -> (f64, f64) {
        let Some(feature) = encoder.features().iter().find(|feature| feature.column == column) else {
            return (0.0, 0.0);
        };
        let (counts, rows) = (&self.here[feature.group], self.rows.max(1) as f64);
        let missing = encoder.layout().missing(feature.group).map_or(0.0, |code| counts.codes[code as usize]);
        let new = if feature.aspect == Aspect::Value { counts.codes[counts.codes.len() - 1] } else { 0.0 };
        (new / rows, missing / rows)
    }

    /// The charts of a column. `is_own` says that the rows are those that the model learned from.
    pub fn charts(&self, model: &Model, column: usize, is_own: bool) -> Vec<Chart> {
        let encoder = model.encoder();
        let of_column = encoder.features().iter().filter(|feature| feature.column == column);
        let chart = |feature: &Feature| {
            let training = (!is_own).then(|| Counts::of_training(model, feature));
            let here = &self.here[feature.group];
            match feature.aspect {
                Aspect::Key | Aspect::Repeat | Aspect::Lead | Aspect::Mark | Aspect::Fits(_) => None,
                Aspect::Position if feature.number.is_none() => None,
                _ if feature.number.is_some() => histogram(encoder, feature, here, training.as_ref()),
                Aspect::Part(_) => parts(encoder, feature, here, training.as_ref()),
                _ => categories(encoder, feature, here, training.as_ref()),
            }
        };
        of_column.filter_map(chart).take(MOST_CHARTS).collect()
    }
}

fn title(encoder: &Encoder, feature: &Feature) -> String {
    match feature.aspect {
        Aspect::Value if matches!(encoder.schema_of(feature).kind, Kind::Date { .. }) => "times that repeat".into(),
        Aspect::Value
        | Aspect::Number
        | Aspect::Key
        | Aspect::Repeat
        | Aspect::Lead
        | Aspect::Mark
        | Aspect::Fits(_) => String::new(),
        Aspect::Shape => "shape (A: a letter, 9: a digit, x: a digit or a to f)".into(),
        Aspect::Length => "number of characters".into(),
        Aspect::Position => "when".into(),
        Aspect::Part(DatePart::Hour) => "hour of the day".into(),
        Aspect::Part(DatePart::Weekday) => "day of the week".into(),
        Aspect::Part(DatePart::Day) => "day of the month".into(),
        Aspect::Part(DatePart::Month) => "month".into(),
        Aspect::After(from) => format!("days after {}", shown(&encoder.schema().columns[from].name, LABEL)),
    }
}

/// A scaled number as it is written.
fn label(encoder: &Encoder, feature: &Feature, z: f64) -> String {
    let Some(scale) = feature.scale else { return String::new() };
    let value = scale.unscaled(z);
    match (feature.aspect, &encoder.schema_of(feature).kind) {
        (Aspect::Position, Kind::Date { format: DateFormat::TimeOfDay, .. }) => TimeKind::TimeOfDay.text(value.round()),
        (Aspect::Position, _) => TimeKind::Date.text(value),
        (Aspect::After(_), _) => short(value / DAY),
        (Aspect::Length, _) => format!("{:.0}", value.max(0.0)),
        _ => short(value),
    }
}

fn histogram(encoder: &Encoder, feature: &Feature, here: &Counts, training: Option<&Counts>) -> Option<Chart> {
    let total = |numbers: &[f64]| numbers.iter().sum::<f64>();
    let all = [Some(here), training].into_iter().flatten();
    let sums: Vec<(f64, &Counts)> = all.map(|counts| (total(&counts.numbers), counts)).collect();
    if sums.iter().all(|(sum, _)| *sum == 0.0) {
        return None;
    }
    // The range in which nearly all numbers lie, here and in training.
    let (mut low, mut high) = (STEPS - 1, 0);
    for (sum, counts) in sums.iter().filter(|(sum, _)| *sum > 0.0) {
        let mut below = 0.0;
        for (step, rows) in counts.numbers.iter().enumerate().filter(|(_, rows)| **rows > 0.0) {
            below += rows;
            if below >= OUTER * sum {
                low = low.min(step);
            }
            if below - rows <= (1.0 - OUTER) * sum {
                high = high.max(step);
            }
        }
    }
    let group = (high + 1 - low.min(high)).div_ceil(MOST_BARS).max(1);
    let n_bars = (high + 1 - low).div_ceil(group);
    let shares = |counts: &Counts| {
        let sum = total(&counts.numbers).max(1.0);
        let mut shares = vec![0.0; n_bars];
        for (step, rows) in counts.numbers.iter().enumerate() {
            shares[(step.max(low) - low).min(n_bars * group - 1) / group] += rows / sum;
        }
        shares
    };
    let (bars_here, bars_training) = (shares(here), training.map(shares));
    let z = |step: usize| (step as f64 - STEPS as f64 / 2.0) / PER_DEVIATION;
    let (low_z, high_z) = (z(low), z(low + n_bars * group));
    let labels = [low_z, f64::midpoint(low_z, high_z), high_z].map(|z| label(encoder, feature, z));
    let [first, _, last] = &labels;
    let words = format!("{} numbers, nearly all from {first} to {last}", count(total(&here.numbers) as u64));
    Some(drawn(title(encoder, feature), &bars_here, bars_training.as_deref(), labels, words))
}

/// Shares as bars, with those of training as an outline on the same scale.
fn drawn(title: String, here: &[f64], training: Option<&[f64]>, labels: [String; 3], words: String) -> Chart {
    let all = here.iter().chain(training.into_iter().flatten());
    let top = all.copied().fold(f64::MIN_POSITIVE, f64::max);
    let training = training.map(|shares| chart::outline(shares, top, HEIGHT));
    Chart::Histogram(Histogram { title, here: chart::bars(here, top, HEIGHT), training, labels, words })
}

/// The parts of a date, in the order of the calendar.
fn parts(encoder: &Encoder, feature: &Feature, here: &Counts, training: Option<&Counts>) -> Option<Chart> {
    let Aspect::Part(part) = feature.aspect else { return None };
    let n = here.codes.len() - 1;
    let share = |counts: &Counts| {
        let sum = counts.codes[..n].iter().sum::<f64>().max(1.0);
        counts.codes[..n].iter().map(|rows| rows / sum).collect::<Vec<_>>()
    };
    let (bars_here, bars_training) = (share(here), training.map(share));
    let name = |code: usize| feature.value(code as u32).map_or_else(String::new, |value| part_name(part, value));
    let labels = [0, n / 2, n.max(1) - 1].map(name);
    let most = bars_here.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(code, _)| code);
    let words = format!("most often {}, in {} of the rows", name(most), percent(bars_here[most]));
    Some(drawn(title(encoder, feature), &bars_here, bars_training.as_deref(), labels, words))
}

fn part_name(part: DatePart, value: u32) -> String {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    match part {
        DatePart::Hour => format!("{value} h"),
        DatePart::Weekday => DAYS[value as usize % 7].into(),
        DatePart::Day => value.to_string(),
        DatePart::Month => MONTHS[value.saturating_sub(1) as usize % 12].into(),
    }
}

fn categories(encoder: &Encoder, feature: &Feature, here: &Counts, training: Option<&Counts>) -> Option<Chart> {
    let n = here.codes.len() - 1;
    let total = |counts: &Counts| counts.codes.iter().sum::<f64>().max(1.0);
    let (all_here, all_training) = (total(here), training.map_or(1.0, total));
    let share_here = |code: usize| here.codes[code] / all_here;
    let share_training = |code: usize| training.map_or(0.0, |counts| counts.codes[code] / all_training);
    let missing = encoder.layout().missing(feature.group).map(|code| code as usize);
    let mut order: Vec<usize> = (0..n).filter(|code| Some(*code) != missing).collect();
    let weight = |code: usize| share_here(code) + share_training(code);
    order.sort_by(|a, b| weight(*b).total_cmp(&weight(*a)));
    let with_text = |share: f64| (share, percent(share));
    let bar = |label: String, is_note: bool, here: f64, training: f64| Bar {
        label,
        is_note,
        here: with_text(here),
        training: with_text(training),
    };
    let own = |code: &usize| {
        let name = shown(&encoder.code_name(feature, *code as u32), LABEL);
        let is_note = name.starts_with("one of ") && name.ends_with(" rare values");
        bar(name, is_note, share_here(*code), share_training(*code))
    };
    let mut bars: Vec<Bar> = order.iter().take(MOST_CATEGORIES).map(own).collect();
    let others = order.get(MOST_CATEGORIES..).unwrap_or_default();
    let sum = |share: &dyn Fn(usize) -> f64| others.iter().map(|code| share(*code)).sum::<f64>();
    if !others.is_empty() {
        bars.push(bar(format!("{} others", count(others.len() as u64)), true, sum(&share_here), sum(&share_training)));
    }
    if let Some(code) = missing {
        bars.push(bar("missing".into(), true, share_here(code), share_training(code)));
    }
    if here.codes[n] > 0.0 {
        bars.push(bar("never seen in training".into(), true, share_here(n), 0.0));
    }
    (!bars.is_empty()).then(|| {
        Chart::Bars(Bars { title: title(encoder, feature), categories: bars, has_training: training.is_some() })
    })
}

const _: () = assert!(UNSEEN as usize > STEPS, "a code that was never seen is beyond all others");
