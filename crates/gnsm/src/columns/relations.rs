//! Numbers that other cells of the row give: `total` is `quantity × price`, `gross` is `net + tax`, `annual` is `12 × monthly`,
//! `nights` is `departure − arrival in days`.
//!
//! A relation is found by trying: each number of the table against the sums of two or three others, against their products
//! and quotients, against multiples of one other, and against the time between two dates. It counts where at least 90 % of the rows that have all its numbers follow it, to the last decimal that the
//! result is written with. It must need all of the others: without one of them, most rows have another result. A row that
//! breaks a relation is odd, however usual each of its numbers is.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::date::{DAY, DateFormat};
use super::dated::moment;
use super::number::parse_number;
use super::schema::{ColumnSchema, Kind};
use crate::error::stop_point;
use crate::table::{Table, Values};

/// The share of rows that must follow a relation, as that of numbers in a column of numbers.
const MOSTLY: f64 = 0.9;
/// Columns that are tried, at the most; among more, too many would fit by chance or take too long.
const MOST_COLUMNS: usize = 24;
/// Relations of a table, at the most.
const MOST_RELATIONS: usize = 12;
/// Rows that a relation is first tried on, and the fewest that can show one.
const TRIED: usize = 64;
const FEWEST: usize = 30;
/// Distinct results that are needed: a column of few numbers fits by chance.
const FEWEST_RESULTS: usize = 10;
/// Decimals that are looked for, at the most.
const MOST_DECIMALS: u32 = 6;

/// Columns of dates that are tried, at the most.
const MOST_DATES: usize = 6;
/// The share of rows that must be a multiple, or the time between two dates: these have one number less to tell them.
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
    /// What a multiple is multiplied with; one over the seconds of the unit of a time.
    pub factor: f64,
    /// How far from the result the number may be, beside its own rounding: what the rounding of the others leaves open.
    pub slack: f64,
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

    /// Whether a number is that result, rounded.
    pub fn holds(&self, number: f64, result: f64) -> bool {
        let half = 0.5 * 0.1f64.powi(self.decimals as i32);
        (number - result).abs() <= 1.01 * (half + self.slack) + 1e-9 * number.abs()
    }

    /// A result as the column has it; with two decimals where those of the column would not show it.
    pub fn text(&self, result: f64) -> String {
        let decimals = self.decimals as usize;
        let rounded: f64 = format!("{result:.decimals$}").parse().unwrap_or(result);
        let is_exact = (rounded - result).abs() <= 1e-9 * result.abs();
        format!("{result:.*}", if is_exact { decimals } else { decimals.max(2) })
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
    pub(super) fn is_usable(&self, columns: &[ColumnSchema]) -> bool {
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
    }
}

/// Small whole numbers are categories, and can be counted with all the same.
fn may_hold_numbers(kind: &Kind) -> bool {
    matches!(kind, Kind::Numeric { .. } | Kind::Categorical { .. })
}

fn is_date(kind: &Kind) -> bool {
    matches!(kind, Kind::Date { format, .. } if *format != DateFormat::TimeOfDay)
}

/// A factor as it is shown.
fn rounded(factor: f64) -> String {
    format!("{}", (factor * 1e6).round() / 1e6)
}

/// The number that a cell holds; the seconds since 1970 of a date.
pub(super) fn number_in(kind: &Kind, values: &Values, row: usize) -> Option<f64> {
    match (kind, values) {
        (Kind::Date { format, .. }, values) => moment(values, row, *format).map(|moment| moment.utc()),
        (_, Values::Number { values, .. }) => Some(values[row]).filter(|number| number.is_finite()),
        (Kind::Numeric { format, .. }, values) => format.parse(&values.text(row)?),
        (Kind::Categorical { .. }, values) => parse_number(&values.text(row)?),
        _ => None,
    }
}

/// Finds the relations among the numbers of a table.
pub(super) fn learn_relations(table: &Table, rows: &[usize], columns: &[ColumnSchema]) -> Vec<Relation> {
    let holds_numbers = |column: &ColumnSchema| match &column.kind {
        Kind::Numeric { .. } => true,
        Kind::Categorical { categories, .. } => categories.iter().all(|name| parse_number(name).is_some()),
        _ => false,
    };
    let all = (0..columns.len()).filter(|at| holds_numbers(&columns[*at]));
    let all: Vec<(usize, &Values)> =
        all.filter_map(|at| Some((at, &table.column(&columns[at].name)?.values))).take(MOST_COLUMNS).collect();
    let n_numbers = all.len();
    let dates = (0..columns.len()).filter(|at| is_date(&columns[*at].kind));
    let dates = dates.filter_map(|at| Some((at, &table.column(&columns[at].name)?.values))).take(MOST_DATES);
    let all: Vec<(usize, &Values)> = all.into_iter().chain(dates).collect();
    if rows.len() < FEWEST {
        return Vec::new();
    }
    let read = |rows: &[usize]| -> Vec<Vec<f64>> {
        let of_column = |(at, values): &(usize, &Values)| {
            let number = |row: &usize| number_in(&columns[*at].kind, values, *row).unwrap_or(f64::NAN);
            rows.iter().map(number).collect()
        };
        all.iter().map(of_column).collect()
    };
    let some: Vec<usize> = (0..TRIED.min(rows.len())).map(|at| rows[at * rows.len() / TRIED.min(rows.len())]).collect();
    let (tried, every) = (read(&some), read(rows));
    let mut found: Vec<Relation> = Vec::new();
    let mut known: HashSet<Vec<usize>> = HashSet::new();
    let times = elapsed(n_numbers, all.len());
    let multiples = multiples(&tried[..n_numbers]);
    for candidate in multiples.into_iter().chain(times).chain(candidates(n_numbers)) {
        stop_point();
        let mut members = candidate.terms.clone();
        members.push(candidate.of);
        members.sort_unstable();
        let is_numeric = matches!(columns[all[candidate.of].0].kind, Kind::Numeric { .. });
        if !is_numeric || known.contains(&members) || found.len() == MOST_RELATIONS {
            continue;
        }
        let candidate = with_rounding(candidate, &tried);
        if fit(&candidate, &tried).is_none() {
            continue;
        }
        let candidate = with_rounding(candidate, &every);
        if let Some(broken) = fit(&candidate, &every) {
            known.insert(members);
            let place = |at: usize| all[at].0;
            let terms = candidate.terms.iter().map(|at| place(*at)).collect();
            found.push(Relation { of: place(candidate.of), terms, broken, ..candidate });
        }
    }
    found
}

/// A candidate with the decimals of its column, and what the rounding of the others leaves open.
fn with_rounding(candidate: Relation, columns: &[Vec<f64>]) -> Relation {
    let half = |at: usize| 0.5 * 0.1f64.powi(decimals(&columns[at]) as i32);
    let slack = match (candidate.by, candidate.terms.first()) {
        (RelationKind::Multiple, Some(term)) => candidate.factor.abs() * half(*term),
        // Begun units are counted by some, and left out by others.
        (RelationKind::Elapsed, _) => half(candidate.of),
        _ => 0.0,
    };
    Relation { decimals: decimals(&columns[candidate.of]), slack, ..candidate }
}

/// Multiples that may be: the factor is the median of the ratios, or the round number near it.
fn multiples(columns: &[Vec<f64>]) -> Vec<Relation> {
    let n = columns.len();
    let mut found = Vec::new();
    for (of, term) in (0..n).flat_map(|of| (0..n).map(move |term| (of, term))).filter(|(of, term)| of != term) {
        let pairs = columns[of].iter().zip(&columns[term]).filter(|(_, term)| **term != 0.0);
        let mut ratios: Vec<f64> = pairs.map(|(of, term)| of / term).filter(|ratio| ratio.is_finite()).collect();
        if ratios.len() < FEWEST {
            continue;
        }
        ratios.sort_unstable_by(f64::total_cmp);
        let [low, median, high] = [1, 2, 3].map(|quarter| ratios[quarter * ratios.len() / 4]);
        // Ratios that differ are of no one factor, but for what rounding does to small numbers. Of the two ways to say the
        // same, the larger number is told by the smaller one.
        let is_larger = median.abs() > 1.0 || (median.abs() == 1.0 && of > term);
        if !is_larger || high - low > 0.2 * median.abs() {
            continue;
        }
        let places = |places: i32| (median * 10f64.powi(places)).round() / 10f64.powi(places);
        let mut factors = vec![places(0), places(2), places(4)];
        factors.retain(|factor| (factor / median - 1.0).abs() < 0.05);
        factors.push(median);
        let relation = |factor: f64| Relation {
            of,
            terms: vec![term],
            by: RelationKind::Multiple,
            decimals: 0,
            broken: false,
            factor,
            slack: 0.0,
        };
        found.extend(factors.into_iter().map(relation));
    }
    found
}

/// Times between two dates that may be; the dates come after `n` numbers.
fn elapsed(n: usize, all: usize) -> impl Iterator<Item = Relation> {
    let orders = (n..all).flat_map(move |from| (n..all).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let in_units = orders.flat_map(|(from, to)| UNITS.iter().map(move |(seconds, _)| (from, to, 1.0 / seconds)));
    in_units.flat_map(move |(from, to, factor)| {
        (0..n).map(move |of| Relation {
            of,
            terms: vec![from, to],
            by: RelationKind::Elapsed,
            decimals: 0,
            broken: false,
            factor,
            slack: 0.0,
        })
    })
}

/// All that may be, in terms of the columns that are tried: plain ones first.
fn candidates(n: usize) -> impl Iterator<Item = Relation> {
    let pairs = move || (0..n).flat_map(move |a| (0..a).map(move |b| vec![b, a]));
    let orders = move || pairs().flat_map(|pair| [vec![pair[0], pair[1]], vec![pair[1], pair[0]]]);
    let triples = move || pairs().flat_map(move |pair| (pair[1] + 1..n).map(move |c| vec![pair[0], pair[1], c]));
    let sums = pairs().map(|terms| (terms, RelationKind::Sum));
    let products = pairs().map(|terms| (terms, RelationKind::Product));
    let percents = orders().map(|terms| (terms, RelationKind::Percent));
    let quotients = orders().map(|terms| (terms, RelationKind::Quotient));
    let long_sums = triples().map(|terms| (terms, RelationKind::Sum));
    let all = sums.chain(products).chain(percents).chain(quotients).chain(long_sums);
    all.flat_map(move |(terms, by)| {
        let others = (0..n).filter(|of| !terms.contains(of)).collect::<Vec<_>>();
        others.into_iter().map(move |of| {
            let terms = terms.clone();
            Relation { of, terms, by, decimals: 0, broken: false, factor: 0.0, slack: 0.0 }
        })
    })
}

/// Whether the rows, column by column, follow a relation; then whether some break it.
fn fit(relation: &Relation, columns: &[Vec<f64>]) -> Option<bool> {
    let is_plain = !matches!(relation.by, RelationKind::Multiple | RelationKind::Elapsed);
    let mut terms = vec![0.0; relation.terms.len()];
    let (mut n, mut held) = (0usize, 0usize);
    // How often the result is there without one of the terms; for those with a slack, how often that of the row before.
    let mut without = vec![0usize; if is_plain { terms.len() } else { 1 }];
    let mut before = f64::NAN;
    let mut results = HashSet::new();
    for (row, number) in columns[relation.of].iter().enumerate() {
        terms.iter_mut().zip(&relation.terms).for_each(|(term, at)| *term = columns[*at][row]);
        let result = relation.result(&terms);
        if number.is_nan() || !result.is_finite() {
            continue;
        }
        n += 1;
        held += usize::from(relation.holds(*number, result));
        if is_plain {
            for (n, term) in without.iter_mut().zip(&terms) {
                let others = if relation.by == RelationKind::Sum { result - term } else { *term };
                *n += usize::from(relation.holds(*number, others));
            }
        } else {
            without[0] += usize::from(relation.holds(*number, before));
        }
        before = result;
        if results.len() < FEWEST_RESULTS {
            results.insert(number.to_bits());
        }
        // Most candidates are wrong from the first rows on.
        if n == FEWEST / 2 && 2 * held < n {
            return None;
        }
    }
    let needed = if is_plain || n <= TRIED { MOSTLY } else { NEARLY_ALL };
    let is_one = n >= FEWEST
        && held as f64 >= needed * n as f64
        && without.iter().all(|held| 2 * held <= n)
        && results.len() == FEWEST_RESULTS;
    is_one.then_some(held < n)
}

/// The decimals that nearly all of some numbers are written with.
fn decimals(numbers: &[f64]) -> u32 {
    let present: Vec<f64> = numbers.iter().copied().filter(|number| !number.is_nan()).collect();
    let is_written = |places: u32| {
        let whole = |number: &&f64| {
            let scaled = **number * 10f64.powi(places as i32);
            (scaled - scaled.round()).abs() <= 1e-6 * scaled.abs().max(1.0)
        };
        present.iter().filter(whole).count() as f64 >= MOSTLY * present.len() as f64
    };
    (0..MOST_DECIMALS).find(|places| is_written(*places)).unwrap_or(MOST_DECIMALS)
}

#[cfg(test)]
mod tests {
    use super::super::schema::{ColumnChoices, Schema};
    use super::*;
    use crate::table::{ReadOptions, TableReader};

    fn relations(csv: &str) -> Vec<String> {
        let input = Box::new(std::io::Cursor::new(csv.to_owned()));
        let mut reader = TableReader::from_reader("t.csv", input, &ReadOptions::default()).expect("opened");
        let table = reader.next_batch(usize::MAX).expect("read").expect("rows");
        let rows: Vec<usize> = (0..table.n_rows()).collect();
        let schema = Schema::learn(&table, &rows, &ColumnChoices::default()).expect("a schema");
        let text = |relation: &Relation| {
            let broken = if relation.broken { ", broken" } else { "" };
            format!("{} = {}{broken}", schema.columns[relation.of].name, relation.words(&schema.columns))
        };
        schema.relations.iter().map(text).collect()
    }

    /// Numbers without a pattern, from 0 to 999.
    fn noise(row: u64, column: u64) -> f64 {
        let mixed = (row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ column.wrapping_mul(0xd1b5_4a32_d192_ed03));
        ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 % 1000.0
    }

    #[test]
    fn sums_products_and_quotients_are_found() {
        let mut csv = "quantity,price,total,discount,net,rate,tax,gross,share,other\n".to_owned();
        for row in 0..200 {
            let quantity = noise(row, 1) % 9.0 + 1.0;
            let price = (noise(row, 2) * 7.0).round() / 100.0 + 1.0;
            let total = (quantity * price * 100.0).round() / 100.0 + if row == 7 { 10.0 } else { 0.0 };
            let discount = noise(row, 3) / 100.0;
            let net = total - discount;
            let rate = [7.0, 19.0][row as usize % 2];
            let tax = (net * rate).round() / 100.0;
            let share = discount / total;
            let other = noise(row, 4);
            csv += &format!(
                "{quantity},{price:.2},{total:.2},{discount:.2},{net:.2},{rate},{tax:.2},{:.2},{share:.3},{other}\n",
                net + tax
            );
        }
        let found = relations(&csv);
        for expected in [
            "total = discount + net",
            "gross = net + tax",
            "total = quantity × price, broken",
            "tax = net × rate %",
            "share = discount / total",
        ] {
            assert!(found.iter().any(|relation| relation == expected), "{expected} is not in {found:?}");
        }
    }

    #[test]
    fn multiples_and_times_between_dates_are_found() {
        let mut csv = "opened,closed,born,hours,minutes,age,monthly,annual,rate\n".to_owned();
        for row in 0..300u64 {
            let start = 19_000.0 * 86_400.0 + row as f64 * 7200.0;
            let minutes = (noise(row, 1) * 3.7).round();
            let moment = |seconds: f64| {
                let (year, month, day) = crate::table::civil_of_days((seconds / 86_400.0).floor() as i64);
                let within = seconds.rem_euclid(86_400.0) / 60.0;
                format!("{year}-{month:02}-{day:02} {:02}:{:02}", (within / 60.0) as u32, within as u32 % 60)
            };
            let born = start - (20.0 * 365.0 + noise(row, 2) * 17.0) * 86_400.0;
            let age = ((start - born) / (365.25 * 86_400.0)).floor();
            let hours = minutes / 60.0 + if row == 9 { 40.0 } else { 0.0 };
            let monthly = 20.0 + noise(row, 3) / 7.0;
            let monthly = (monthly * 100.0).round() / 100.0;
            csv += &format!(
                "{},{},{},{hours:.1},{minutes},{age},{monthly:.2},{:.2},{}\n",
                moment(start),
                moment(start + minutes * 60.0),
                &moment(born)[..10],
                12.0 * monthly,
                noise(row, 4)
            );
        }
        let found = relations(&csv);
        for expected in [
            "minutes = closed − opened in minutes",
            "hours = closed − opened in hours, broken",
            "age = opened − born in years",
            "annual = 12 × monthly",
        ] {
            assert!(found.iter().any(|relation| relation == expected), "{expected} is not in {found:?}");
        }
        assert!(!found.iter().any(|relation| relation.contains("rate")), "{found:?}");
    }

    #[test]
    fn results_are_written_as_the_column_is() {
        let by = RelationKind::Product;
        let relation = Relation { of: 0, terms: vec![1, 2], by, decimals: 0, broken: false, factor: 0.0, slack: 0.0 };
        assert_eq!([relation.text(266.0), relation.text(7.52)], ["266", "7.52"]);
        let cents = Relation { decimals: 2, ..relation };
        assert_eq!([cents.text(266.0), cents.text(195.6949)], ["266.00", "195.69"]);
    }

    #[test]
    fn nothing_is_found_in_noise_nor_in_zeros_and_ones() {
        let mut csv = "a,b,c,one,zero,double\n".to_owned();
        let mut with_price = "before,used,after,price\n".to_owned();
        for row in 0..200 {
            let [a, b, c] = [1, 2, 3].map(|column| noise(row, column));
            csv += &format!("{a},{b},{c},1,{},{}\n", u8::from(row == 3), 2.0 * a);
            with_price += &format!("{a},{b},{},{}\n", a + b, 0.3 + c / 1e4);
        }
        assert_eq!(relations(&csv), ["double = 2 × a"]);
        // A price below ½ vanishes in a sum of whole numbers, and is no part of it.
        assert_eq!(relations(&with_price), ["after = before + used"]);
    }
}
