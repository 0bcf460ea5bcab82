//! Rows as they are compared: numbers in deviations, and what it costs to differ in each category.

#![allow(clippy::needless_range_loop, reason = "loops by index become vector instructions; zipped ones may not")]

use crate::cells::conditional::Column;
use crate::cells::recipe::Recipe;

/// Columns whose differences are found together.
pub(super) const TERMS: usize = 8;
/// The smallest entropy, in nats.
const LEAST_ENTROPY: f64 = 0.1;

/// All rows as they are compared, row by row.
#[derive(Debug, Clone, Default)]
pub(super) struct Compared {
    /// The numbers in deviations, [rows, numbers]; 0 where missing.
    pub standardised: Vec<f32>,
    /// [rows, groups, filled up].
    pub codes: Vec<[u32; TERMS]>,
    /// Half of what the category of each row costs, [rows, groups, filled up].
    pub costs: Vec<[f32; TERMS]>,
}

/// What each category of a block costs where another one stands.
#[inline(always)]
pub(super) fn mismatches(
    codes: &[u32; TERMS],
    costs: &[f32; TERMS],
    others: &[u32; TERMS],
    other_costs: &[f32; TERMS],
) -> [f32; TERMS] {
    let mut terms = [0.0; TERMS];
    for at in 0..TERMS {
        let cost = costs[at] + other_costs[at];
        terms[at] = if codes[at] == others[at] { 0.0 } else { cost };
    }
    terms
}

/// Adds values in blocks, the last one filled up.
pub(super) fn fill<T: Copy>(blocks: &mut Vec<[T; TERMS]>, values: impl Iterator<Item = T>, rest: T) {
    let mut at = TERMS;
    for value in values {
        if at == TERMS {
            blocks.push([rest; TERMS]);
            at = 0;
        }
        if let Some(block) = blocks.last_mut() {
            block[at] = value;
        }
        at += 1;
    }
}

/// A number in deviations, 0 where it is missing.
#[inline]
pub(super) fn standard(column: &Column, x: f32) -> f32 {
    match &column.bins {
        Some(bins) if !x.is_nan() => bins.standardised(x),
        _ => 0.0,
    }
}

/// Half of what a category costs.
#[inline]
pub(super) fn cost(half_costs: &[f32], code: u32) -> f32 {
    let new = half_costs.len() - 1;
    half_costs[(code as usize).min(new)]
}

/// Half of what each category of a group costs, with a new one last.
pub(super) fn half_costs(recipe: &Recipe, column: &Column) -> Vec<f32> {
    let mut counts: Vec<f64> = column.counts.iter().map(|count| f64::from(*count)).collect();
    if let Some(missing) = column.missing {
        counts[missing as usize] = f64::from(column.n_missing);
    }
    let n = counts.iter().sum::<f64>().max(1.0);
    let once = counts.iter().filter(|count| **count == 1.0).count() as f64;
    let new = (once + 0.5) / (n + 1.0);
    let shares: Vec<f64> = counts.iter().map(|count| (1.0 - new) * count / n).chain([new]).collect();
    let surprise = |share: &f64| -share.max(0.5 / n).ln();
    let entropy: f64 = shares.iter().map(|share| share * surprise(share)).sum();
    let cost = |share: &f64| (surprise(share) / entropy.max(LEAST_ENTROPY)).min(recipe.highest_cost);
    shares.iter().map(|share| (0.5 * cost(share)) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Layout;

    #[test]
    fn a_rare_category_costs_no_more_than_two_usual_ones() {
        let of = |counts: Vec<u32>| {
            half_costs(&Recipe::default(), &Column::group(&Layout::new(0, vec![counts.len()]), 0, counts))
        };
        assert_eq!(of(vec![999, 1])[1..], [1.0, 1.0], "the rare one, and a new one");
        let even = of(vec![500, 500]);
        assert!((even[0] - 0.5).abs() < 0.01, "{even:?}");
    }
}
