//! Relations to try, in terms of the columns that are tried.

use super::{FEWEST, Relation, RelationKind, UNITS};

/// A candidate, of which nothing is known yet.
fn candidate(of: usize, terms: Vec<usize>, by: RelationKind, factor: f64) -> Relation {
    Relation {
        of,
        terms,
        by,
        decimals: 0,
        broken: false,
        factor,
        slack: 0.0,
        rounding: Vec::new(),
        rounded_once: false,
    }
}

/// Multiples to try. Those with the fewest digits in their factors come first: people would write these.
pub(super) fn multiples(columns: &[Vec<f64>]) -> Vec<Relation> {
    let n = columns.len();
    let mut found: Vec<(usize, Relation)> = Vec::new();
    for (of, term) in (0..n).flat_map(|of| (0..n).map(move |term| (of, term))).filter(|(of, term)| of != term) {
        let pairs = columns[of].iter().zip(&columns[term]).filter(|(_, term)| **term != 0.0);
        let mut ratios: Vec<f64> = pairs.map(|(of, term)| of / term).filter(|ratio| ratio.is_finite()).collect();
        if ratios.len() < FEWEST {
            continue;
        }
        ratios.sort_unstable_by(f64::total_cmp);
        let [low, median, high] = [1, 2, 3].map(|quarter| ratios[quarter * ratios.len() / 4]);
        // If ratios differ from row to row, there is no one factor, unless rounding explains it.
        if median == 0.0 || high - low > 0.2 * median.abs() {
            continue;
        }
        // Of two factors with equally many digits, the one is taken that gives the larger number from the smaller.
        let is_larger = median.abs() > 1.0 || (median.abs() == 1.0 && of > term);
        let multiple = |(digits, factor): (usize, f64)| {
            (2 * digits + usize::from(!is_larger), candidate(of, vec![term], RelationKind::Multiple, factor))
        };
        found.extend(factors(median, is_larger).into_iter().map(multiple));
    }
    found.sort_by_key(|(digits, _)| *digits);
    found.into_iter().map(|(_, multiple)| multiple).collect()
}

/// Factors near a ratio, with the digits that it takes to write each.
fn factors(ratio: f64, is_larger: bool) -> Vec<(usize, f64)> {
    let digits = (1..=ROUND).map(|digits| (digits, with_digits(ratio, digits)));
    let mut factors: Vec<(usize, f64)> = digits.filter(|(_, factor)| (factor / ratio - 1.0).abs() < 0.05).collect();
    if is_larger {
        let places = |places: i32| (ratio * 10f64.powi(places)).round() / 10f64.powi(places);
        factors.extend([(ROUND, places(0)), (ROUND, places(2)), (ROUND + 1, places(4)), (ROUND + 2, ratio)]);
    }
    factors.retain(|(_, factor)| (factor / ratio - 1.0).abs() < 0.05);
    factors.dedup_by_key(|(_, factor)| *factor);
    factors
}

/// Digits that a round factor has at the most.
const ROUND: usize = 3;

/// A number rounded to this many digits.
fn with_digits(number: f64, digits: usize) -> f64 {
    format!("{number:.*e}", digits - 1).parse().unwrap_or(number)
}

/// Whether people would write a factor: it has few digits, or few decimals.
pub(super) fn is_round(factor: f64) -> bool {
    with_digits(factor, ROUND) == factor || (factor * 100.0).round() / 100.0 == factor
}

/// Times between two dates to try; the columns of dates come after `n` columns of numbers.
pub(super) fn elapsed(n: usize, all: usize) -> impl Iterator<Item = Relation> {
    let orders = (n..all).flat_map(move |from| (n..all).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let in_units = orders.flat_map(|(from, to)| UNITS.iter().map(move |(seconds, _)| (from, to, 1.0 / seconds)));
    in_units.flat_map(move |(from, to, factor)| {
        (0..n).map(move |of| candidate(of, vec![from, to], RelationKind::Elapsed, factor))
    })
}

/// All others that may be: plain ones first.
pub(super) fn plain(n: usize) -> impl Iterator<Item = Relation> {
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
        others.into_iter().map(move |of| candidate(of, terms.clone(), by, 0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_with_few_digits_come_first() {
        let tax: Vec<f64> = (0..50).map(|row| 10.0 + f64::from(row)).collect();
        let net: Vec<f64> = tax.iter().map(|tax| tax / 0.19).collect();
        let found: Vec<(usize, f64)> = multiples(&[net, tax]).iter().map(|one| (one.of, one.factor)).collect();
        let place = |of: usize, factor: f64| found.iter().position(|one| *one == (of, factor)).expect("found");
        assert!(place(1, 0.19) < place(0, 5.26) && place(0, 5.26) < place(0, 5.2632), "{found:?}");
        assert!(is_round(0.19) && is_round(3600.0) && is_round(365.25) && is_round(1024.0));
        assert!(!is_round(5.2632) && !is_round(0.8403));
    }
}
