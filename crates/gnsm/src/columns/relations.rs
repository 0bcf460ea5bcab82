//! Numbers that other numbers of the row give: `total` is `quantity × price`, `gross` is `net + tax`.
//!
//! A relation is found by trying: each number of the table against the sums of two or three others, and against their products
//! and quotients. It counts where at least 90 % of the rows that have all its numbers follow it, to the last decimal that the
//! result is written with. It must need all of the others: without one of them, most rows have another result. A row that
//! breaks a relation is odd, however usual each of its numbers is.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

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
        }
    }

    /// Whether a number is that result, rounded.
    pub fn holds(&self, number: f64, result: f64) -> bool {
        let half = 0.5 * 0.1f64.powi(self.decimals as i32);
        (number - result).abs() <= 1.01 * half + 1e-9 * number.abs()
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
        }
    }

    /// Checks a relation that came from a file.
    pub(super) fn is_usable(&self, columns: &[ColumnSchema]) -> bool {
        let is_number = |at: &usize| columns.get(*at).is_some_and(|column| may_hold_numbers(&column.kind));
        let n_terms = self.terms.len();
        is_number(&self.of)
            && self.terms.iter().all(is_number)
            && if self.by == RelationKind::Sum { (2..=3).contains(&n_terms) } else { n_terms == 2 }
            && self.decimals <= MOST_DECIMALS
    }
}

/// Small whole numbers are categories, and can be counted with all the same.
fn may_hold_numbers(kind: &Kind) -> bool {
    matches!(kind, Kind::Numeric { .. } | Kind::Categorical { .. })
}

/// The number that a cell holds.
pub(super) fn number_in(kind: &Kind, values: &Values, row: usize) -> Option<f64> {
    match (kind, values) {
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
    if all.len() < 3 || rows.len() < FEWEST {
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
    for candidate in candidates(all.len()) {
        stop_point();
        let mut members = candidate.terms.clone();
        members.push(candidate.of);
        members.sort_unstable();
        let is_numeric = matches!(columns[all[candidate.of].0].kind, Kind::Numeric { .. });
        if !is_numeric || known.contains(&members) || found.len() == MOST_RELATIONS {
            continue;
        }
        let candidate = Relation { decimals: decimals(&tried[candidate.of]), ..candidate };
        if fit(&candidate, &tried).is_none() {
            continue;
        }
        let candidate = Relation { decimals: decimals(&every[candidate.of]), ..candidate };
        if let Some(broken) = fit(&candidate, &every) {
            known.insert(members);
            let place = |at: usize| all[at].0;
            let terms = candidate.terms.iter().map(|at| place(*at)).collect();
            found.push(Relation { of: place(candidate.of), terms, broken, ..candidate });
        }
    }
    found
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
        others.into_iter().map(move |of| Relation { of, terms: terms.clone(), by, decimals: 0, broken: false })
    })
}

/// Whether the rows, column by column, follow a relation; then whether some break it.
fn fit(relation: &Relation, columns: &[Vec<f64>]) -> Option<bool> {
    let mut terms = vec![0.0; relation.terms.len()];
    let (mut n, mut held) = (0usize, 0usize);
    // How often the result is there without one of the terms.
    let mut without = vec![0usize; terms.len()];
    let mut results = HashSet::new();
    for (row, number) in columns[relation.of].iter().enumerate() {
        terms.iter_mut().zip(&relation.terms).for_each(|(term, at)| *term = columns[*at][row]);
        let result = relation.result(&terms);
        if number.is_nan() || !result.is_finite() {
            continue;
        }
        n += 1;
        held += usize::from(relation.holds(*number, result));
        for (n, term) in without.iter_mut().zip(&terms) {
            let others = if relation.by == RelationKind::Sum { result - term } else { *term };
            *n += usize::from(relation.holds(*number, others));
        }
        if results.len() < FEWEST_RESULTS {
            results.insert(number.to_bits());
        }
        // Most candidates are wrong from the first rows on.
        if n == FEWEST / 2 && 2 * held < n {
            return None;
        }
    }
    let is_one = n >= FEWEST
        && held as f64 >= MOSTLY * n as f64
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
    fn results_are_written_as_the_column_is() {
        let relation = Relation { of: 0, terms: vec![1, 2], by: RelationKind::Product, decimals: 0, broken: false };
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
        assert_eq!(relations(&csv), [""; 0]);
        // A price below ½ vanishes in a sum of whole numbers, and is no part of it.
        assert_eq!(relations(&with_price), ["after = before + used"]);
    }
}
