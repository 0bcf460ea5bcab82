//! What the counts say, in figures and in words.

use std::collections::BTreeSet;

use serde::Serialize;

use super::counter::Counts;
use super::odd::Basis;
use super::reference::Reference;
use super::sample::Sample;
use super::statistics::{Share, psi, shifted};
use crate::columns::{Aspect, DatePart, Encoder, Feature, Kind};
use crate::decision::{percent, runs, short, visible};
use crate::table::TimeKind;

/// Categories with a bin of their own, at the most, and the share of the learned rows that they need.
const MOST_BINS: usize = 19;
const LEAST_SHARE: f64 = 0.01;
/// Rows from which on something can be set aside, and the share of them that must be new.
const FEWEST_ROWS: u64 = 20;
const MOST: f64 = 0.5;

/// A share before and now.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// Of the rows that were learned from, or what they let expect.
    pub then: f64,
    /// Of the rows that were counted.
    pub now: f64,
}

/// What became of one column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnDrift {
    /// The column.
    pub column: String,
    /// The name of its kind.
    pub kind: &'static str,
    /// The share of missing values.
    pub missing: Change,
    /// The share of values that are new; of numbers and dates, the share of cells that are none.
    pub new: Option<Change>,
    /// The share of numbers below or above all learned ones.
    pub out_of_range: Option<f64>,
    /// The population stability index. If several things are looked at in the column, it is the largest.
    pub shift: Option<f64>,
    /// Whether it has moved, by the rule at the head of the room.
    pub moved: bool,
    /// Whether it is set aside: something of it is new in most rows, and should not count in any.
    pub set_aside: bool,
    /// What has moved, in words. Dates and keys that went on are named too.
    pub notes: Vec<String>,
}

/// How the rows of a file differ from those that a model learned from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriftReport {
    /// Rows that were counted.
    pub rows: u64,
    /// Rows that were learned from.
    pub learned_rows: u64,
    /// The columns that are used, in the order of the model.
    pub columns: Vec<ColumnDrift>,
    /// The features that are set aside.
    #[serde(skip)]
    pub(crate) aside: Vec<usize>,
}

impl DriftReport {
    pub(super) fn new(basis: Basis<'_>, reference: &Reference, now: &Counts, sample: &Sample) -> Self {
        let encoder = basis.encoder;
        let mut view = View { encoder, reference, now, goes_on: false };
        view.goes_on = (0..encoder.schema().columns.len()).any(|at| view.beyond_learned(at).is_some());
        let mut aside = Vec::new();
        let columns = encoder.schema().columns.iter().enumerate();
        let columns = columns.filter(|(_, column)| column.kind != Kind::Ignored);
        let mut columns: Vec<ColumnDrift> = columns.map(|(at, _)| view.column(at, &mut aside)).collect();
        take_all_of_a_value(encoder, &mut aside);
        if view.goes_on && now.rows >= FEWEST_ROWS {
            let mut odd = basis.makes_odd(sample, &aside);
            aside.extend(odd.iter().map(|(group, _)| *group));
            take_all_of_a_value(encoder, &mut aside);
            odd.sort_by(|a, b| b.1.total_cmp(&a.1));
            for (group, share) in odd {
                let name = &encoder.schema().columns[encoder.features()[group].column].name;
                let drift = columns.iter_mut().find(|drift| drift.column == *name && !drift.set_aside);
                if let Some(drift) = drift {
                    drift.set_aside = true;
                    drift.moves(format!("makes {} of the rows odd, 1 % would be usual", percent_of(share)));
                }
            }
        }
        Self { rows: now.rows, learned_rows: reference.counts.rows, columns, aside }
    }

    /// The columns that have moved.
    pub fn moved(&self) -> impl Iterator<Item = &ColumnDrift> {
        self.columns.iter().filter(|column| column.moved)
    }

    /// Whether something is new in most rows.
    pub fn sets_aside(&self) -> bool {
        !self.aside.is_empty()
    }
}

/// Whether more values are new than is usual. That fewer are new is no change: in the rows that were learned from, none
/// is.
fn more_are_new([usual, now]: [Share; 2]) -> bool {
    now.value() > usual.value() && now.differs(usual)
}

/// Sets aside everything that is looked at in a value if one thing is: a new number plate also begins with new letters.
pub(super) fn take_all_of_a_value(encoder: &Encoder, aside: &mut Vec<usize>) {
    let is_side = |feature: &&Feature| {
        matches!(feature.aspect, Aspect::Value | Aspect::Shape | Aspect::Lead | Aspect::Mark | Aspect::Number)
    };
    let sides = || encoder.features().iter().filter(is_side);
    let found: BTreeSet<usize> = sides().filter(|side| aside.contains(&side.group)).map(|side| side.column).collect();
    let others = sides().filter(|side| found.contains(&side.column)).map(|side| side.group);
    let others: Vec<usize> = others.filter(|group| !aside.contains(group)).collect();
    aside.extend(others);
}

struct View<'a> {
    encoder: &'a Encoder,
    reference: &'a Reference,
    now: &'a Counts,
    /// Whether the rows come after those that were learned from, or before them: most dates or keys of some column lie
    /// beyond the learned ones.
    goes_on: bool,
}

impl View<'_> {
    fn column(&self, at: usize, aside: &mut Vec<usize>) -> ColumnDrift {
        let (then, now, column) = (&self.reference.counts, self.now, &self.encoder.schema().columns[at]);
        let missing = self.missing(at);
        let mut drift = ColumnDrift {
            column: column.name.clone(),
            kind: column.kind.name(),
            missing: change(missing),
            new: None,
            out_of_range: None,
            shift: None,
            moved: false,
            set_aside: false,
            notes: Vec::new(),
        };
        if missing[1].differs(missing[0]) {
            let shares = [missing[1], missing[0]].map(|share| percent_of(share.value()));
            drift.moves(format!("missing in {} of the rows, was {}", shares[0], shares[1]));
        }
        if matches!(column.kind, Kind::Numeric { .. } | Kind::Date { .. }) {
            let strays = [then, now].map(|counts| Share::new(counts.strays[at], counts.rows - counts.missing[at]));
            let what = if matches!(column.kind, Kind::Numeric { .. }) { "no number" } else { "no date" };
            drift.new = Some(change(strays));
            if strays[1].differs(strays[0]) {
                drift.moves(format!("{what} in {} of the rows that have a value", percent_of(strays[1].value())));
            }
        }
        let goes_on = self.goes_on(at, &mut drift);
        for feature in self.encoder.features().iter().filter(|feature| feature.column == at) {
            self.feature(feature, goes_on, &mut drift);
            let new = self.new_rows(feature);
            if now.rows >= FEWEST_ROWS && (new as f64 > MOST * now.rows as f64 || self.moved_in_time(feature)) {
                aside.push(feature.group);
                drift.set_aside = true;
            }
        }
        drift
    }

    /// The share of rows that miss a column's value, before and now.
    fn missing(&self, column: usize) -> [Share; 2] {
        [&self.reference.counts, self.now].map(|counts| Share::new(counts.missing[column], counts.rows))
    }

    /// Rows that have something new in a feature.
    fn new_rows(&self, feature: &Feature) -> u64 {
        if matches!(feature.aspect, Aspect::Key | Aspect::Repeat | Aspect::Fits(_)) {
            return 0;
        }
        let beyond: u64 = feature.number.map_or(0, |number| self.now.beyond[number].iter().sum());
        let unseen: u64 = self.now.unseen[feature.group].iter().sum();
        // A row may have both, and counts once.
        beyond.max(unseen)
    }

    /// Whether a feature has changed while time went on. A number may have moved: a meter, a balance, a battery. New
    /// values may have come up: customers, devices. Rare ones may have become common: a version that was just out. Or
    /// more are missing: what was lent last is not back yet.
    fn moved_in_time(&self, feature: &Feature) -> bool {
        if !self.goes_on || matches!(feature.aspect, Aspect::Key | Aspect::Repeat | Aspect::Fits(_)) {
            return false;
        }
        let [then, now] = self.missing(feature.column);
        if now.value() > then.value() && now.differs(then) {
            return true;
        }
        if matches!(feature.aspect, Aspect::Value | Aspect::Shape | Aspect::Lead | Aspect::Mark) {
            return more_are_new(self.new_values(feature)) || more_are_new(self.rare_values(feature));
        }
        let Some(number) = feature.number.filter(|_| feature.aspect == Aspect::Number) else { return false };
        let (then, now) = (&self.reference.counts.bins[number], &self.now.bins[number]);
        let (n, m) = (then.iter().sum::<u64>(), now.iter().sum::<u64>());
        let beyond = Share::new(self.now.beyond[number].iter().sum(), m);
        beyond.differs(Share { part: 2f64.min(n as f64), of: n as f64 })
            || (n > 0 && m > 0 && shifted(psi(then, now), then.len(), n, m))
    }

    /// If most dates or keys of a column lie beyond the learned ones: how many there are, how many lie before and
    /// after, and the first and the last of the learned ones.
    fn beyond_learned(&self, at: usize) -> Option<([u64; 3], [f64; 2])> {
        let [all, before, after] = self.now.places[at];
        let span = self.reference.spans[at]?;
        let most = all >= FEWEST_ROWS && (before + after) as f64 > MOST * all as f64;
        most.then_some(([all, before, after], span))
    }

    /// Names dates and keys that lie beyond the learned ones; gives whether most do.
    fn goes_on(&self, at: usize, drift: &mut ColumnDrift) -> bool {
        let Some(([all, before, after], [first, last])) = self.beyond_learned(at) else { return false };
        let is_date = matches!(self.encoder.schema().columns[at].kind, Kind::Date { .. });
        let noun = if is_date { "dates" } else { "keys" };
        let (n, where_to) = match (before >= after, is_date) {
            (true, true) => (before, "earlier than"),
            (true, false) => (before, "before"),
            (false, true) => (after, "later than"),
            (false, false) => (after, "beyond"),
        };
        let which = share_of(n as f64 / all as f64, noun);
        drift.notes.push(if is_date {
            let text = |seconds: f64| TimeKind::Date.text(seconds);
            format!("{which} are {where_to} those learned ({} to {})", text(first), text(last))
        } else {
            format!("{which} are {where_to} those learned, as is usual for keys")
        });
        true
    }

    fn feature(&self, feature: &Feature, goes_on: bool, drift: &mut ColumnDrift) {
        let is_calendar = matches!(feature.aspect, Aspect::Part(DatePart::Month | DatePart::Day));
        match feature.aspect {
            Aspect::Key | Aspect::Repeat | Aspect::Fits(_) => {}
            Aspect::Value | Aspect::Shape | Aspect::Lead | Aspect::Mark | Aspect::Part(_) => {
                let new = self.new_values(feature);
                let is_value = feature.aspect == Aspect::Value;
                if is_value || drift.new.is_none() {
                    drift.new = Some(change(new));
                }
                let has_new = more_are_new(new);
                if goes_on && is_calendar {
                    return;
                }
                if has_new {
                    let what = match feature.aspect {
                        Aspect::Shape => "a shape never seen",
                        Aspect::Lead => "a beginning never seen",
                        Aspect::Mark => "a currency or unit never seen",
                        Aspect::Part(DatePart::Hour) => "an hour never seen",
                        Aspect::Part(DatePart::Weekday) => "a weekday never seen",
                        Aspect::Part(_) => "a day or month never seen",
                        _ => "a new value",
                    };
                    let [then, now] = new.map(|share| percent_of(share.value()));
                    drift.moves(format!("{what} in {now} of the rows that have a value, {then} would be usual"));
                }
                let (bins, names) = self.bins(feature);
                self.shift(&bins, &names, !has_new, drift);
            }
            Aspect::Number | Aspect::Length | Aspect::Position | Aspect::After(_) => {
                let Some(number) = feature.number else { return };
                if goes_on && feature.aspect == Aspect::Position {
                    return;
                }
                let (then, now) = (&self.reference.counts.bins[number], &self.now.bins[number]);
                let (n, m) = (then.iter().sum::<u64>(), now.iter().sum::<u64>());
                let beyond = Share::new(self.now.beyond[number].iter().sum(), m);
                if !matches!(feature.aspect, Aspect::After(_)) {
                    drift.out_of_range = Some(beyond.value());
                }
                let is_beyond = beyond.differs(Share { part: 2f64.min(n as f64), of: n as f64 });
                if is_beyond {
                    let [low, high] = self.reference.ends[number].map(|end| self.text(feature, end));
                    let noun = self.noun(feature);
                    drift.moves(format!(
                        "{} are outside of all that was learned ({low} to {high})",
                        share_of(beyond.value(), &noun)
                    ));
                }
                let names = self.bin_names(feature, number);
                let bins: Vec<[u64; 2]> = then.iter().zip(now).map(|(then, now)| [*then, *now]).collect();
                self.shift(&bins, &names, !is_beyond, drift);
            }
        }
    }

    /// The usual share of values that are new, and the share now.
    fn new_values(&self, feature: &Feature) -> [Share; 2] {
        let layout = self.encoder.layout();
        let (then, start) = (&self.reference.counts, layout.group(feature.group).start);
        let missing = layout.missing(feature.group);
        let mut once = 0;
        for place in layout.group(feature.group) {
            let (count, members) = (then.codes[place - layout.n_numbers()], u64::from(layout.members(place)));
            let is_value = missing != Some((place - start) as u32);
            // If a place is shared by as many values as it has rows, each of them occurred once.
            once += if is_value && count == members { members } else { 0 };
        }
        let present = |counts: &Counts| counts.rows - counts.missing[feature.column];
        [
            Share::new(once + then.unseen[feature.group][0], present(then)),
            Share::new(self.now.unseen[feature.group][0], present(self.now)),
        ]
    }

    /// The share of values that were rare or are new, among the learned rows and now.
    fn rare_values(&self, feature: &Feature) -> [Share; 2] {
        let layout = self.encoder.layout();
        let (then, now, places) = (&self.reference.counts, self.now, layout.group(feature.group));
        let missing = layout.missing(feature.group).map(|code| places.start + code as usize);
        let values = || places.clone().filter(|place| Some(*place) != missing).map(|place| place - layout.n_numbers());
        let total: u64 = values().map(|place| then.codes[place]).sum();
        let rare = || values().filter(|place| (then.codes[*place] as f64) < LEAST_SHARE * total as f64);
        [then, now].map(|counts| {
            let unseen = counts.unseen[feature.group][0];
            let all = values().map(|place| counts.codes[place]).sum::<u64>() + unseen;
            Share::new(rare().map(|place| counts.codes[place]).sum::<u64>() + unseen, all)
        })
    }

    /// The rows of each bin of a categorical feature, before and now, and what the bins are called.
    fn bins(&self, feature: &Feature) -> (Vec<[u64; 2]>, Vec<String>) {
        let layout = self.encoder.layout();
        let places = layout.group(feature.group);
        let missing = layout.missing(feature.group);
        let codes = |counts: &Counts, code: u32| counts.codes[places.start - layout.n_numbers() + code as usize];
        let both = |code: u32| [codes(&self.reference.counts, code), codes(self.now, code)];
        let mut all: Vec<u32> = (0..places.len() as u32).filter(|code| Some(*code) != missing).collect();
        // The most common first; among equals, in their own order.
        all.sort_by_key(|code| std::cmp::Reverse(both(*code)[0]));
        let total: u64 = all.iter().map(|code| both(*code)[0]).sum();
        let is_common = |code: &&u32| {
            layout.members(places.start + **code as usize) == 1 && both(**code)[0] as f64 >= LEAST_SHARE * total as f64
        };
        let own: Vec<u32> = all.iter().take(MOST_BINS).filter(is_common).copied().collect();
        let mut others = [0, self.now.unseen[feature.group][0]];
        for code in all.iter().filter(|code| !own.contains(code)) {
            let [then, now] = both(*code);
            others = [others[0] + then, others[1] + now];
        }
        let mut bins: Vec<[u64; 2]> = own.iter().map(|code| both(*code)).collect();
        let mut names: Vec<String> = own.iter().map(|code| self.code_text(feature, *code)).collect();
        if others != [0, 0] {
            bins.push(others);
            names.push("other values".into());
        }
        (bins, names)
    }

    /// Takes a shift into account; says in words where it is largest if `speaks`.
    fn shift(&self, bins: &[[u64; 2]], names: &[String], speaks: bool, drift: &mut ColumnDrift) {
        let [then, now]: [Vec<u64>; 2] = [0, 1].map(|at| bins.iter().map(|bin| bin[at]).collect());
        let (n, m) = (then.iter().sum::<u64>(), now.iter().sum::<u64>());
        if n == 0 || m == 0 {
            return;
        }
        let index = psi(&then, &now);
        drift.shift = Some(drift.shift.map_or(index, |other| other.max(index)));
        if !shifted(index, bins.len(), n, m) {
            return;
        }
        drift.moved = true;
        if speaks {
            let shares = |bin: &[u64; 2]| [bin[0] as f64 / n as f64, bin[1] as f64 / m as f64];
            let change = |bin: &[u64; 2]| (shares(bin)[1] - shares(bin)[0]).abs();
            let largest = bins.iter().zip(names).max_by(|a, b| change(a.0).total_cmp(&change(b.0)));
            if let Some((bin, name)) = largest {
                let [then, now] = shares(bin).map(percent_of);
                drift.notes.push(format!("has shifted (index {index:.2}): {name} in {now}, was {then}"));
            }
        }
    }

    /// The ends of a number's bins, as names.
    fn bin_names(&self, feature: &Feature, number: usize) -> Vec<String> {
        let edges: Vec<String> = self.reference.edges[number].iter().map(|edge| self.text(feature, *edge)).collect();
        (0..=edges.len())
            .map(|bin| match (bin.checked_sub(1).and_then(|before| edges.get(before)), edges.get(bin)) {
                (Some(low), Some(high)) => format!("over {low} to {high}"),
                (Some(low), None) => format!("over {low}"),
                (None, Some(high)) => format!("up to {high}"),
                (None, None) => "any".into(),
            })
            .collect()
    }

    fn text(&self, feature: &Feature, z: f32) -> String {
        let value = feature.scale.map_or(f64::from(z), |scale| scale.unscaled(z.into()));
        match feature.aspect {
            Aspect::Position => TimeKind::Date.text(value),
            Aspect::After(_) => format!("{} days", short((value / 86_400.0 * 10.0).round() / 10.0)),
            Aspect::Length => format!("{value:.0}"),
            _ => short(value),
        }
    }

    fn noun(&self, feature: &Feature) -> String {
        match feature.aspect {
            Aspect::Length => "lengths".into(),
            Aspect::Position => "dates".into(),
            Aspect::After(from) => {
                format!("differences to `{}`", self.encoder.schema().columns[from].name)
            }
            _ => "numbers".into(),
        }
    }

    fn code_text(&self, feature: &Feature, code: u32) -> String {
        match (feature.aspect, feature.value(code)) {
            (Aspect::Part(part), Some(value)) => runs(part, &[value]),
            _ => visible(&self.encoder.code_name(feature, code)),
        }
    }
}

impl ColumnDrift {
    fn moves(&mut self, note: String) {
        self.moved = true;
        self.notes.push(note);
    }
}

fn change([then, now]: [Share; 2]) -> Change {
    Change { then: then.value(), now: now.value() }
}

fn percent_of(share: f64) -> String {
    match share {
        0.0 => "none".into(),
        1.0 => "all".into(),
        _ => percent(share),
    }
}

/// `all dates`, `83 % of the dates`.
fn share_of(share: f64, noun: &str) -> String {
    if share == 1.0 { format!("all {noun}") } else { format!("{} of the {noun}", percent(share)) }
}
