//! Whether rows follow a relation, and how far rounding may take them from it.
//!
//! A number of a relation may have been rounded when it was written: 50 conversions of 1,492 clicks are a rate of 3.351
//! %, which is shown as `3.4%`. Then 50 is not 3.4 % of 1,492, but it is within the limits that half a last digit of
//! the rate allows. A quantity, however, is exact, and a price has all its digits. The rows tell which of these a
//! number is. Let h be half a last digit of the result, and r how much the result changes with half a last digit of the
//! other number.
//!
//! | the other number | the result is off by | rows that are off by more than h |
//! |---|---|---|
//! | is exact | h at the most | none |
//! | was made of the result, and rounded | r | 1 − h/r where r > h |
//! | was rounded, and so was the result | h + r | r/4h up to r = 2h, and 1 − h/r beyond |
//!
//! The last column is the chance that a uniform error, or the sum of two, exceeds h.

use std::collections::HashSet;

use super::{FEWEST, MOSTLY, NEARLY_ALL, Relation, RelationKind, TRIED};

/// Distinct results that are needed: a column of few numbers fits by chance.
const FEWEST_RESULTS: usize = 10;
/// Decimals that are looked for, at the most.
pub(super) const MOST_DECIMALS: u32 = 6;
/// If fewer rows than this are expected to be off, they do not tell whether a number was rounded. Then it may have
/// been.
const FEWEST_OFF: f64 = 5.0;
/// The share of them that must be off.
const ENOUGH_OFF: f64 = 0.3;

/// What became of one of the others before it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Nothing.
    Exact,
    /// It was computed from the result and rounded, or the rows do not tell this from other cases.
    Rounded,
    /// It was rounded, and so was the result.
    BothRounded,
}

/// Columns of numbers, with the decimals that each is written with.
pub(super) struct Numbers {
    pub columns: Vec<Vec<f64>>,
    decimals: Vec<u32>,
}

/// How many rows have all numbers of a relation (`rows`), and how many of these follow it (`held`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Followed {
    pub rows: usize,
    pub held: usize,
}

impl Numbers {
    pub fn new(columns: Vec<Vec<f64>>) -> Self {
        let decimals = columns.iter().map(|numbers| decimals(numbers)).collect();
        Self { columns, decimals }
    }

    /// Half a last digit of a column.
    fn half(&self, column: usize) -> f64 {
        0.5 * 0.1f64.powi(self.decimals[column] as i32)
    }

    /// The rows that have all numbers of a relation: the number, the others and what they give; as long as `visit` goes
    /// on.
    fn visit(&self, relation: &Relation, mut visit: impl FnMut(f64, &[f64], f64) -> bool) {
        let mut terms = vec![0.0; relation.terms.len()];
        for (row, number) in self.columns[relation.of].iter().enumerate() {
            terms.iter_mut().zip(&relation.terms).for_each(|(term, at)| *term = self.columns[*at][row]);
            let result = relation.result(&terms);
            if !number.is_nan() && result.is_finite() && !visit(*number, &terms, result) {
                return;
            }
        }
    }

    /// How many rows follow a relation.
    pub fn followed(&self, relation: &Relation) -> Followed {
        let mut followed = Followed::default();
        self.visit(relation, |number, terms, _| {
            followed.rows += 1;
            followed.held += usize::from(relation.holds(number, terms));
            true
        });
        followed
    }

    /// A candidate with the decimals of its column, and with the slack that it has while it is tried.
    pub fn to_try(&self, candidate: Relation) -> Relation {
        let decimals = self.decimals[candidate.of];
        match candidate.by {
            RelationKind::Multiple => {
                let rounding = vec![self.half(candidate.terms[0]), 0.0];
                let multiple = Relation { decimals, rounding, ..candidate };
                let factor = self.open_factor(&multiple);
                Relation { rounding: vec![multiple.rounding[0], factor], ..multiple }
            }
            // Begun units are counted by some, and left out by others.
            RelationKind::Elapsed => Relation { decimals, slack: self.half(candidate.of), ..candidate },
            _ => Relation { decimals, ..candidate },
        }
    }

    /// How far off the factor of a multiple may be, as far as the row allows that tells most about it; 0 if that is
    /// little beside the factor's last digit.
    fn open_factor(&self, multiple: &Relation) -> f64 {
        let mut open = f64::INFINITY;
        self.visit(multiple, |number, terms, _| {
            if multiple.holds(number, terms) {
                let size = terms.iter().map(|term| term.abs()).sum::<f64>();
                open = open.min((self.half(multiple.of) + multiple.slack_at(terms)) / size);
            }
            true
        });
        // Another number comes this near to one with few digits in one case of twenty by chance.
        if open <= 0.025 * last_digit(multiple.factor) || !open.is_finite() { 0.0 } else { open }
    }

    /// Whether the rows follow a relation, of all or of a few that are tried first.
    pub fn fit(&self, relation: &Relation, are_all: bool) -> bool {
        let is_plain = !matches!(relation.by, RelationKind::Multiple | RelationKind::Elapsed);
        let (mut n, mut held, mut as_before) = (0usize, 0usize, 0usize);
        // Rows in which a term matters, and how many of these follow.
        let mut mattering = vec![Followed::default(); if is_plain { relation.terms.len() } else { 0 }];
        let mut before = f64::NAN;
        let mut results = HashSet::new();
        self.visit(relation, |number, terms, result| {
            let slack = relation.slack_at(terms);
            let holds = relation.is_near(number, result, slack);
            n += 1;
            held += usize::from(holds);
            as_before += usize::from(relation.is_near(number, before, slack));
            for (at, mattering) in mattering.iter_mut().enumerate() {
                // A factor of 1 and an addend of 0 do not matter: such a row says nothing for or against the relation.
                if !relation.is_near(relation.without(at, terms), result, slack) {
                    mattering.rows += 1;
                    mattering.held += usize::from(holds);
                }
            }
            before = result;
            if results.len() < FEWEST_RESULTS {
                results.insert(number.to_bits());
            }
            // Most candidates are wrong from the first rows on.
            n != FEWEST / 2 || 2 * held >= n
        });
        // Among the few that are tried, a term may matter in none.
        let (fewest, share) = if are_all { (FEWEST.min(n / 2), MOSTLY) } else { (0, 0.5) };
        let matters = |of: &Followed| of.rows >= fewest && of.held as f64 >= share * of.rows as f64;
        n >= FEWEST
            && held as f64 >= needed(relation, n) * n as f64
            && mattering.iter().all(matters)
            // The slack must not allow nearly any number: 29 times a number of rooms, give or take half a room, is near
            // any area.
            && (is_plain || often(relation) * as_before <= n)
            && results.len() == FEWEST_RESULTS
    }

    /// A relation that the rows follow, with the rounding of its numbers, and with whether some rows break it.
    pub fn settled(&self, relation: Relation) -> Relation {
        let mut settled = if relation.by == RelationKind::Elapsed { relation.clone() } else { self.rounded(&relation) };
        let followed = self.followed(&settled);
        if (followed.held as f64) < needed(&relation, followed.rows) * followed.rows as f64 {
            settled = relation;
        }
        let followed = self.followed(&settled);
        Relation { broken: followed.held < followed.rows, ..settled }
    }

    /// A relation with the rounding of its numbers. The number whose rounding matters most is decided first: rows that
    /// are off because of it say nothing about the next one.
    fn rounded(&self, relation: &Relation) -> Relation {
        let n = relation.terms.len();
        let mut settled = Relation { rounded_once: true, ..relation.clone() };
        settled.rounding.resize(relation.rounding.len().max(n), 0.0);
        settled.rounding[..n].fill(0.0);
        let halves: Vec<f64> = relation.terms.iter().map(|term| self.half(*term)).collect();
        let mut order: Vec<(f64, usize)> = (0..n).map(|at| (self.reach(relation, at) * halves[at], at)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, at) in order {
            let origin = self.origin(&settled, at, halves[at]);
            settled.rounding[at] = if origin == Origin::Exact { 0.0 } else { halves[at] };
            settled.rounded_once &= origin != Origin::BothRounded;
        }
        settled
    }

    /// How much the result changes with one of the terms, summed over all rows.
    fn reach(&self, relation: &Relation, at: usize) -> f64 {
        let mut sum = 0.0;
        self.visit(relation, |_, terms, _| {
            sum += relation.weight(at, terms);
            true
        });
        sum
    }

    /// What happened to one of the terms before it was written, judged by how many rows are off.
    fn origin(&self, exact: &Relation, at: usize, half: f64) -> Origin {
        let own = self.half(exact.of);
        let (mut once, mut twice) = (Off::default(), Off::default());
        self.visit(exact, |number, terms, result| {
            let (slack, reach) = (exact.slack_at(terms), exact.weight(at, terms) * half);
            let own = own + slack;
            let is_off =
                |more: f64| !exact.is_near(number, result, slack) && exact.is_near(number, result, slack + more);
            let beyond = (1.0 - own / reach).max(0.0);
            once.add(beyond, is_off((reach - own).max(0.0)));
            twice.add(if reach <= 2.0 * own { reach / (4.0 * own) } else { beyond }, is_off(reach));
            true
        });
        let shows = once.expected >= FEWEST_OFF;
        if shows && once.seen < ENOUGH_OFF * once.expected {
            return Origin::Exact;
        }
        let differ = twice.expected - once.expected >= FEWEST_OFF;
        let as_twice = twice.seen > 0.5 * (once.expected + twice.expected);
        if (differ && as_twice) || (!differ && shows) { Origin::BothRounded } else { Origin::Rounded }
    }
}

/// Rows that are off, as many as are expected and as were seen.
#[derive(Default)]
struct Off {
    expected: f64,
    seen: f64,
}

impl Off {
    fn add(&mut self, expected: f64, is_off: bool) {
        self.expected += expected;
        self.seen += f64::from(u8::from(is_off));
    }
}

/// One in how many rows may agree with the result of the row before. Days between two dates are often the same.
fn often(relation: &Relation) -> usize {
    if relation.by == RelationKind::Elapsed { 2 } else { 10 }
}

/// The share of rows that must follow a relation.
fn needed(relation: &Relation, n: usize) -> f64 {
    let is_plain = !matches!(relation.by, RelationKind::Multiple | RelationKind::Elapsed);
    if is_plain || n <= TRIED { MOSTLY } else { NEARLY_ALL }
}

/// What one is in the last digit of a number: a hundredth in 1.19, ten in 60.
fn last_digit(number: f64) -> f64 {
    let written = format!("{number:e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, ""));
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    10f64.powi(exponent.parse::<i32>().unwrap_or(0) - decimals as i32)
}

/// The decimals that nearly all of some numbers are written with.
pub(super) fn decimals(numbers: &[f64]) -> u32 {
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
    use super::*;

    #[test]
    fn the_last_digit_of_a_factor() {
        let written = [1.19, 60.0, 12.0, 0.007, -2.5].map(|factor| format!("{:.4}", last_digit(factor)));
        assert_eq!(written, ["0.0100", "10.0000", "1.0000", "0.0010", "0.1000"]);
    }
}
