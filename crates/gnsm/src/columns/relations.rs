//! Numbers that other cells of the row give: `total` is `quantity × price`, `gross` is `net + tax`, `annual` is `12 × monthly`,
//! `nights` is `departure − arrival in days`.
//!
//! A relation is found by trying: each number of the table against the sums of two or three others, against their
//! products and quotients, against multiples of one other, and against the time between two dates (`candidates`). It
//! holds for a table if at least 90 % of the rows that have all its numbers follow it, to the last decimal that the
//! result is written with. It must need all of its numbers: a factor of 1 and an addend of 0 do not matter, and of the
//! rows in which a number matters 90 % must follow the relation too. A row that breaks a relation is odd, however usual
//! each of its numbers is.
//!
//! Where numbers were rounded before they were written, a result is known only to within some limits (`fit`). Of
//! several relations of the same columns, the one is kept that most rows follow to the last digit: it is how the table
//! was made.

mod candidates;
mod fit;

use serde::{Deserialize, Serialize};

use super::date::DAY;
use super::dated::moment;
use super::number::parse_number;
use super::schema::{ColumnSchema, Kind};
use crate::error::stop_point;
use crate::table::{Table, Values};
use candidates::{elapsed, is_round, multiples, plain};
use fit::{Followed, MOST_DECIMALS, Numbers};

/// The share of rows that must follow a relation, as that of numbers in a column of numbers.
const MOSTLY: f64 = 0.9;
/// Columns that are tried, at the most; among more, too many would fit by chance or take too long.
const MOST_COLUMNS: usize = 24;
/// Relations of a table, at the most.
const MOST_RELATIONS: usize = 12;
/// Rows that a relation is first tried on, and the fewest that can show one.
const TRIED: usize = 64;
const FEWEST: usize = 30;
/// Columns of dates that are tried, at the most.
const MOST_DATES: usize = 6;
/// The share of rows that must follow a multiple, or a time between two dates. It is larger, since fewer numbers are
/// needed to fit by chance.
const NEARLY_ALL: f64 = 0.98;
/// Units of time with their seconds.
const UNITS: [(f64, &str); 6] = [
    (1.0, "seconds"),
    (60.0, "minutes"),
    (3600.0, "hours"),
    (DAY, "days"),
    (7.0 * DAY, "weeks"),
    (365.25 * DAY, "years"),
];

/// How the numbers of a relation are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RelationKind {
    /// The sum of all.
    Sum,
    /// The first times the second.
    Product,
    /// The first times the second, which is in percent.
    Percent,
    /// The first over the second.
    Quotient,
    /// The only one, times a factor.
    Multiple,
    /// The time from the first date to the second, in a unit.
    Elapsed,
}

/// A number that others of its row give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    /// The column that is given by the others.
    pub of: usize,
    /// The others.
    pub terms: Vec<usize>,
    /// How they are put together.
    pub by: RelationKind,
    /// The decimals that the result is written with.
    pub decimals: u32,
    /// Whether training rows broke it.
    pub broken: bool,
    /// The factor of a multiple; of a time, one over the seconds of its unit.
    pub factor: f64,
    /// How far from the result the number may be, besides what rounding explains.
    pub slack: f64,
    /// How far off each of the other numbers may be because it was rounded: half a last digit, or 0. After them comes
    /// the factor of a multiple.
    pub rounding: Vec<f64>,
    /// Whether the other numbers were computed from this one and rounded. Then the rounding of this one adds nothing to
    /// theirs.
    pub rounded_once: bool,
}

impl Relation {
    /// What the others give.
    pub fn result(&self, terms: &[f64]) -> f64 {
        let [first, second] = [0, 1].map(|at| terms.get(at).copied().unwrap_or(f64::NAN));
        match self.by {
            RelationKind::Sum => terms.iter().sum(),
            RelationKind::Product => first * second,
            RelationKind::Percent => first * second / 100.0,
            RelationKind::Quotient => first / second,
            RelationKind::Multiple => first * self.factor,
            RelationKind::Elapsed => (second - first) * self.factor,
        }
    }

    /// Computes one of the numbers from all others. Number 0 is the result, and the terms follow in their order. The
    /// number at the place `at` itself is not looked at.
    pub(crate) fn solved(&self, at: usize, numbers: &[f64]) -> Option<f64> {
        let (&given, terms) = numbers.split_first()?;
        let other = |at: usize| terms.get(at).copied().unwrap_or(f64::NAN);
        let solved = match (self.by, at) {
            (_, 0) => self.result(terms),
            (RelationKind::Sum, _) => {
                let others = terms.iter().enumerate().filter(|(other, _)| other + 1 != at);
                given - others.map(|(_, term)| term).sum::<f64>()
            }
            (RelationKind::Product, _) => given / other(2 - at),
            (RelationKind::Percent, _) => 100.0 * given / other(2 - at),
            (RelationKind::Quotient, 1) => given * other(1),
            (RelationKind::Quotient, _) => other(0) / given,
            (RelationKind::Multiple, _) => given / self.factor,
            (RelationKind::Elapsed, 1) => other(1) - given / self.factor,
            (RelationKind::Elapsed, _) => other(0) + given / self.factor,
        };
        solved.is_finite().then_some(solved)
    }

    /// Whether a number is the result of the others, rounded.
    pub fn holds(&self, number: f64, terms: &[f64]) -> bool {
        self.is_near(number, self.result(terms), self.slack_at(terms))
    }

    /// Whether a number equals a result, to within the number's own rounding and `slack`.
    fn is_near(&self, number: f64, result: f64, slack: f64) -> bool {
        (number - result).abs() <= 1.01 * (self.half() + slack) + 1e-9 * number.abs()
    }

    /// Half a last digit of the number.
    fn half(&self) -> f64 {
        0.5 * 0.1f64.powi(self.decimals as i32)
    }

    /// How far from the result the number may be, besides its own rounding.
    fn slack_at(&self, terms: &[f64]) -> f64 {
        let open = self.rounding.iter().enumerate().filter(|(_, open)| **open > 0.0);
        let own = if self.rounded_once { self.half() } else { 0.0 };
        self.slack + open.map(|(at, open)| (self.weight(at, terms) * open - own).max(0.0)).sum::<f64>()
    }

    /// How much the result changes with one of the terms: its derivative, without the sign.
    fn weight(&self, at: usize, terms: &[f64]) -> f64 {
        let [first, second] = [0, 1].map(|at| terms.get(at).copied().unwrap_or(f64::NAN));
        let other = if at == 0 { second } else { first };
        let weight = match self.by {
            RelationKind::Sum => 1.0,
            RelationKind::Product => other,
            RelationKind::Percent => other / 100.0,
            RelationKind::Quotient if at == 0 => 1.0 / second,
            RelationKind::Quotient => first / (second * second),
            RelationKind::Multiple if at == 0 => self.factor,
            RelationKind::Multiple => first,
            RelationKind::Elapsed => 0.0,
        };
        weight.abs()
    }

    /// What the others give without one of them.
    fn without(&self, at: usize, terms: &[f64]) -> f64 {
        let others = terms.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, term)| *term);
        if self.by == RelationKind::Sum { others.sum() } else { others.product() }
    }

    /// A result with the decimals of its column.
    pub fn text(&self, result: f64) -> String {
        let shift = 10f64.powi(self.decimals as i32);
        // Nothing is written `-0`.
        format!("{:.*}", self.decimals as usize, (result * shift).round() / shift + 0.0)
    }

    /// `quantity × price`.
    pub fn words(&self, columns: &[ColumnSchema]) -> String {
        let names: Vec<&str> = self.terms.iter().map(|at| columns[*at].name.as_str()).collect();
        match self.by {
            RelationKind::Sum => names.join(" + "),
            RelationKind::Product => names.join(" × "),
            RelationKind::Percent => names.join(" × ") + " %",
            RelationKind::Quotient => names.join(" / "),
            RelationKind::Multiple if self.factor == 1.0 => names.concat(),
            RelationKind::Multiple => format!("{} × {}", rounded(self.factor), names.concat()),
            RelationKind::Elapsed => {
                let of_unit = |(seconds, _): &&(f64, &str)| (self.factor * seconds - 1.0).abs() < 1e-9;
                let unit = UNITS.iter().find(of_unit).map_or("", |(_, name)| name);
                format!("{} in {unit}", names.into_iter().rev().collect::<Vec<_>>().join(" − "))
            }
        }
    }

    /// Checks a relation that came from a file.
    pub(crate) fn is_usable(&self, columns: &[ColumnSchema]) -> bool {
        let is_number = |at: &usize| columns.get(*at).is_some_and(|column| may_hold_numbers(&column.kind));
        let is_date = |at: &usize| columns.get(*at).is_some_and(|column| is_date(&column.kind));
        let terms = match self.by {
            RelationKind::Sum => 2..=3,
            RelationKind::Multiple => 1..=1,
            _ => 2..=2,
        };
        let fits = if self.by == RelationKind::Elapsed {
            self.terms.iter().all(is_date)
        } else {
            self.terms.iter().all(is_number)
        };
        is_number(&self.of)
            && fits
            && terms.contains(&self.terms.len())
            && self.decimals <= MOST_DECIMALS
            && self.factor.is_finite()
            && self.slack.is_finite()
            && self.rounding.len() <= self.terms.len() + 1
            && self.rounding.iter().all(|open| open.is_finite())
    }

    /// All its columns, in their order.
    fn members(&self) -> Vec<usize> {
        let mut members = self.terms.clone();
        members.push(self.of);
        members.sort_unstable();
        members
    }
}

/// Small whole numbers are categories, but one can compute with them.
fn may_hold_numbers(kind: &Kind) -> bool {
    matches!(kind, Kind::Numeric { .. } | Kind::Categorical { .. })
}

fn is_date(kind: &Kind) -> bool {
    matches!(kind, Kind::Date { format, .. } if !format.is_time_of_day())
}

/// A factor as it is shown.
fn rounded(factor: f64) -> String {
    format!("{}", (factor * 1e6).round() / 1e6)
}

/// The number in a cell; of a date, the seconds since 1970.
pub(crate) fn number_in(kind: &Kind, values: &Values, row: usize) -> Option<f64> {
    match (kind, values) {
        (Kind::Date { format, .. }, values) => moment(values, row, *format).map(|moment| moment.utc()),
        (_, Values::Number { values, .. }) => Some(values[row]).filter(|number| number.is_finite()),
        (Kind::Numeric { format, .. }, values) => format.parse(&values.text(row)?),
        (Kind::Categorical { .. }, values) => parse_number(&values.text(row)?),
        _ => None,
    }
}

/// The number that a text of a column stands for; of a date, the seconds since 1970.
pub(crate) fn number_of_text(kind: &Kind, text: &str) -> Option<f64> {
    match kind {
        Kind::Date { format, .. } => format.parse(text).map(|moment| moment.utc()),
        Kind::Numeric { format, .. } => format.parse(text),
        Kind::Categorical { .. } => parse_number(text),
        _ => None,
    }
}

/// Finds the relations among the numbers of a table.
pub(super) fn learn_relations(table: &Table, rows: &[usize], columns: &[ColumnSchema]) -> Vec<Relation> {
    found(table, rows, columns, |kind| matches!(kind, Kind::Numeric { .. }))
}

/// Finds categories that other cells of their row give: a column of few nights is one of categories, and yet each is
/// the time between two dates. A score does not need this, since categories are compared one by one, but made rows do.
pub(crate) fn learn_counts(table: &Table, rows: &[usize], columns: &[ColumnSchema]) -> Vec<Relation> {
    found(table, rows, columns, |kind| matches!(kind, Kind::Categorical { .. }))
}

/// Finds the relations that give a column of these kinds.
fn found(
    table: &Table,
    rows: &[usize],
    columns: &[ColumnSchema],
    can_be_given: impl Fn(&Kind) -> bool,
) -> Vec<Relation> {
    if rows.len() < FEWEST {
        return Vec::new();
    }
    let n_tried = TRIED.min(rows.len());
    let some: Vec<usize> = (0..n_tried).map(|at| rows[at * rows.len() / n_tried]).collect();
    let cells = |at: usize| Some((at, &table.column(&columns[at].name)?.values));
    let numbers = (0..columns.len()).filter_map(cells);
    let mut all: Vec<(usize, &Values)> =
        numbers.filter(|(at, values)| holds_numbers(&columns[*at].kind, values, &some)).take(MOST_COLUMNS).collect();
    let n_numbers = all.len();
    let dates = (0..columns.len()).filter(|at| is_date(&columns[*at].kind));
    all.extend(dates.filter_map(cells).take(MOST_DATES));
    let read = |rows: &[usize]| {
        let of_column = |(at, values): &(usize, &Values)| {
            let number = |row: &usize| number_in(&columns[*at].kind, values, *row).unwrap_or(f64::NAN);
            rows.iter().map(number).collect()
        };
        Numbers::new(all.iter().map(of_column).collect())
    };
    let (tried, every) = (read(&some), read(rows));
    let mut kept = Kept::default();
    let multiples = multiples(&tried.columns[..n_numbers]);
    for candidate in multiples.into_iter().chain(elapsed(n_numbers, all.len())).chain(plain(n_numbers)) {
        stop_point();
        if !can_be_given(&columns[all[candidate.of].0].kind) || !tried.fit(&tried.to_try(candidate.clone()), false) {
            continue;
        }
        let candidate = every.to_try(candidate);
        if every.fit(&candidate, true) {
            kept.offer(candidate, &every);
        }
    }
    kept.drop_second_best(&every);
    let place = |at: usize| all[at].0;
    let in_place = |relation: Relation| {
        let terms = relation.terms.iter().map(|at| place(*at)).collect();
        Relation { of: place(relation.of), terms, ..relation }
    };
    kept.relations.into_iter().map(|(relation, _)| in_place(every.settled(relation))).collect()
}

/// Whether nearly all cells that are there are numbers. A row with a stray word is then left out.
fn holds_numbers(kind: &Kind, values: &Values, rows: &[usize]) -> bool {
    match kind {
        Kind::Numeric { .. } => true,
        Kind::Categorical { .. } => {
            let present: Vec<&usize> = rows.iter().filter(|row| values.text(**row).is_some()).collect();
            let numbers = present.iter().filter(|row| number_in(kind, values, ***row).is_some()).count();
            numbers > 0 && numbers as f64 >= MOSTLY * present.len() as f64
        }
        _ => false,
    }
}

/// The relations that were found so far, each with the rows that follow it to the last digit.
#[derive(Default)]
struct Kept {
    relations: Vec<(Relation, usize)>,
}

impl Kept {
    /// Keeps a relation that the rows follow, unless a better one of the same columns is kept already.
    fn offer(&mut self, relation: Relation, numbers: &Numbers) {
        let members = relation.members();
        let exactly = numbers.followed(&Relation { rounding: Vec::new(), ..relation.clone() });
        let same = self.relations.iter_mut().find(|(kept, _)| kept.members() == members);
        if let Some((kept, held)) = same {
            // Two multiples that are inverse to each other are not compared this way: the smaller of two rounded
            // numbers always fits better, and need not be the one that was computed.
            let is_inverse = relation.by == RelationKind::Multiple && kept.of != relation.of;
            if !is_inverse && exactly.held > *held + exactly.rows / 100 {
                (*kept, *held) = (relation, exactly.held);
            }
        } else if self.relations.len() < MOST_RELATIONS && !self.follows(&relation) {
            self.relations.push((relation, exactly.held));
        }
    }

    /// Drops a relation if another one of the same number differs in one term only and holds more often: an age is that
    /// on the day of admission, and nearly as often that on the day of discharge.
    fn drop_second_best(&mut self, numbers: &Numbers) {
        let share = |relation: &Relation| {
            let Followed { rows, held } = numbers.followed(relation);
            held as f64 / rows.max(1) as f64
        };
        let all: Vec<(Relation, f64)> =
            self.relations.iter().map(|(relation, _)| (relation.clone(), share(relation))).collect();
        let is_second = |relation: &Relation, own: f64| {
            all.iter().any(|(other, better)| {
                let others = relation.terms.iter().filter(|term| !other.terms.contains(term)).count();
                let alike = (relation.of, relation.by) == (other.of, other.by) && relation.terms.len() > 1;
                alike && others == 1 && *better > own
            })
        };
        let mut shares = all.iter().map(|(_, share)| *share);
        self.relations.retain(|(relation, _)| shares.next().is_some_and(|own| !is_second(relation, own)));
    }

    /// Whether a multiple with an unlikely factor follows from others: gross = 6.2632 × tax follows from gross = 1.19 ×
    /// net and tax = 0.19 × net.
    fn follows(&self, relation: &Relation) -> bool {
        if relation.by != RelationKind::Multiple || is_round(relation.factor) {
            return false;
        }
        let multiples = || self.relations.iter().map(|(kept, _)| kept).filter(|kept| kept.by == RelationKind::Multiple);
        let mut joined = vec![relation.of];
        // Each pass reaches at least one more, or none is left.
        for _ in multiples() {
            let touches = |kept: &&Relation| joined.contains(&kept.of) || joined.contains(&kept.terms[0]);
            let reached: Vec<usize> = multiples().filter(touches).flat_map(|kept| [kept.of, kept.terms[0]]).collect();
            joined.extend(reached);
        }
        joined.contains(&relation.terms[0])
    }
}

#[cfg(test)]
mod tests;
