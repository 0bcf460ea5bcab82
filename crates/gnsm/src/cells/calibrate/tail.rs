//! How far out a cell's evidence lies in its own column: −ln of the share of held-out cells that have at least as much.
//!
//! T(e) = −ln((k + 1)/(n + 1)), where k of n held-out cells have evidence of e or more. Evidence of different kinds and
//! columns becomes comparable that way, and adds up like independent evidence (Fisher 1925). The curve is kept as
//! knots, a twentieth of a nat apart, with straight lines between them.
//!
//! Beyond the largest, T grows in units of the mean excess x of the top twentieth, of m cells that begin at b: T(e) =
//! ln((n + 1)/(m + 1)) + (e − b)/x, at least ln(n + 1) and by 10 nats more at the most.
//!
//! A held-out cell is judged without itself. If it is the largest, n, m and x are those of the others. Else k + 1 = (n
//! + 1)· e^−T has itself, so that T = −ln(k/n). What lies beyond all held-out cells is none of them.

use crate::cells::recipe::Recipe;

/// Nats between two knots, at the least.
const STEP: f64 = 0.05;
/// Numbers that describe the top: n, its size m, where it begins, the sum of its excesses, and the two largest.
pub(in crate::cells) const TOP: usize = 6;

/// The curve of one kind of evidence in one column.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::cells) struct Tail {
    /// Evidence, ascending.
    pub at: Vec<f64>,
    /// T at each of them, ascending.
    pub nats: Vec<f64>,
    pub top: [f64; TOP],
    steps: Steps,
}

impl Tail {
    /// From knots and what describes the top.
    pub fn new(at: Vec<f64>, nats: Vec<f64>, top: [f64; TOP]) -> Self {
        let steps = Steps::new(&at);
        Self { at, nats, top, steps }
    }

    /// Learns from evidence, each with how many held-out cells have it.
    pub fn learn(recipe: &Recipe, mut held_out: Vec<(f64, u32)>) -> Self {
        held_out.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let n: f64 = held_out.iter().map(|(_, count)| f64::from(*count)).sum();
        let Some(&(largest, count)) = held_out.first() else { return Self::default() };
        let second = if count > 1 { largest } else { held_out.get(1).map_or(largest, |next| next.0) };
        let size = (n * recipe.top).floor().max(recipe.fewest_top).min(n);
        let (mut passed, mut begins, mut sum) = (0.0, largest, 0.0);
        for &(evidence, count) in &held_out {
            if passed >= size {
                break;
            }
            let taken = f64::from(count).min(size - passed);
            (passed, begins, sum) = (passed + taken, evidence, sum + taken * evidence);
        }
        let (at, nats) = knots(&held_out, n);
        Self::new(at, nats, [n, size, begins, (sum - size * begins).max(0.0), largest, second])
    }

    /// T of some evidence; with itself left out if it was `counted` among the held-out cells.
    pub fn nats(&self, recipe: &Recipe, evidence: f64, counted: bool) -> f64 {
        let [n, size, begins, sum, largest, second] = self.top;
        if n < 1.0 || evidence.is_nan() || (counted && n < 2.0) {
            return 0.0;
        }
        // What lies beyond all held-out cells is none of them: the rows that are odd themselves are no part of a tail.
        let counted = counted && evidence <= largest;
        let (left, largest) = if counted && evidence == largest { (n - 1.0, second) } else { (n, largest) };
        if evidence > largest {
            let (size, sum) = if left < n { (size - 1.0, sum - (evidence - begins)) } else { (size, sum) };
            let least = (left + 1.0).ln();
            if size < 1.0 || sum <= 0.0 {
                return least;
            }
            let grown = ((left + 1.0) / (size + 1.0)).ln() + (evidence - begins) / (sum / size);
            return grown.clamp(least, least + recipe.most_beyond);
        }
        let nats = between(&self.at, &self.nats, self.steps.first_above(&self.at, evidence), evidence);
        if !counted {
            return nats;
        }
        let at_least = ((n + 1.0) * (-nats).exp() - 1.0).clamp(1.0, n);
        (n / at_least).ln()
    }

    /// Checks a curve that came from a file.
    pub fn is_usable(&self) -> bool {
        let [n, size, begins, sum, largest, second] = self.top;
        let ascending = |values: &[f64]| values.windows(2).all(|pair| pair[0] < pair[1]);
        let empty = self.at.is_empty() && n == 0.0;
        let filled = n >= 1.0 && size >= 1.0 && size <= n && sum >= 0.0 && begins <= largest && second <= largest;
        self.at.len() == self.nats.len()
            && ascending(&self.at)
            && self.nats.windows(2).all(|pair| pair[0] <= pair[1])
            && self.nats.first().is_none_or(|nats| *nats >= 0.0)
            && (empty || (filled && !self.at.is_empty()))
    }
}

/// Where a curve has its knots, and T at each, from evidence that descends and how many have it, `n` in all.
pub(super) fn knots(held_out: &[(f64, u32)], n: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut at, mut nats) = (Vec::new(), Vec::new());
    let mut at_least = 0.0;
    for equal in held_out.chunk_by(|a, b| a.0 == b.0) {
        at_least += equal.iter().map(|(_, count)| f64::from(*count)).sum::<f64>();
        let nat = ((n + 1.0) / (at_least + 1.0)).ln();
        if nats.last().is_none_or(|last| nat <= last - STEP) || at_least == n {
            at.push(equal[0].0);
            nats.push(nat);
        }
    }
    at.reverse();
    nats.reverse();
    (at, nats)
}

/// Where to begin to look for a knot: steps of equal length from the first to the last, and the first knot from each
/// on.
#[derive(Debug, Clone, Default, PartialEq)]
struct Steps {
    from: f64,
    per_unit: f64,
    knots: Vec<u16>,
}

impl Steps {
    fn new(at: &[f64]) -> Self {
        let (Some(first), Some(last)) = (at.first(), at.last()) else { return Self::default() };
        let n_steps = at.len().min(usize::from(u16::MAX));
        let per_unit = n_steps as f64 / (last - first);
        if !(per_unit.is_finite() && per_unit > 0.0) {
            return Self { from: *first, per_unit: 0.0, knots: vec![0] };
        }
        let begins = |step: usize| first + step as f64 / per_unit;
        let knot = |step: usize| at.partition_point(|at| *at < begins(step)).min(n_steps) as u16;
        Self { from: *first, per_unit, knots: (0..n_steps).map(knot).collect() }
    }

    /// The first knot that is not below; the number of knots if all are.
    fn first_above(&self, at: &[f64], evidence: f64) -> usize {
        let step = (((evidence - self.from) * self.per_unit) as usize).min(self.knots.len().saturating_sub(1));
        let mut knot = self.knots.get(step).map_or(0, |knot| *knot as usize);
        while knot > 0 && at[knot - 1] >= evidence {
            knot -= 1;
        }
        while knot < at.len() && at[knot] < evidence {
            knot += 1;
        }
        knot
    }
}

/// T between the knots, by straight lines; `right` is the first knot that is not below.
pub(super) fn between(at: &[f64], nats: &[f64], right: usize, evidence: f64) -> f64 {
    match (right.checked_sub(1), at.get(right)) {
        (None, _) => nats.first().copied().unwrap_or(0.0),
        (Some(left), None) => nats[left],
        (Some(left), Some(&next)) => {
            let share = (evidence - at[left]) / (next - at[left]);
            nats[left] + share * (nats[right] - nats[left])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nats(tail: &Tail, evidence: f64, counted: bool) -> f64 {
        tail.nats(&Recipe::default(), evidence, counted)
    }

    #[test]
    fn nats_are_those_of_counting() {
        let cells: Vec<(f64, u32)> = (1..=100).map(|i| (f64::from(i), 1)).collect();
        let tail = Tail::learn(&Recipe::default(), cells);
        assert!(tail.is_usable());
        let counting = |at_least: f64, n: f64| -((at_least + 1.0) / (n + 1.0)).ln();
        for i in [1, 20, 50, 90, 99, 100] {
            let expected = counting(f64::from(101 - i), 100.0);
            assert!((nats(&tail, f64::from(i), false) - expected).abs() < 0.002, "{i}");
            // Left out: one less that is at least as large, of one less.
            if i < 100 {
                let expected = counting(f64::from(100 - i), 99.0);
                assert!(
                    (nats(&tail, f64::from(i), true) - expected).abs() < 0.03,
                    "{i}: {}",
                    nats(&tail, f64::from(i), true)
                );
            }
        }
        // The top five are 96 to 100, with a mean excess of 2: ln(101/6) + (104 − 96)/2.
        assert!((nats(&tail, 104.0, false) - ((101.0f64 / 6.0).ln() + 4.0)).abs() < 1e-12);
        assert_eq!(nats(&tail, 1e9, false), 101.0f64.ln() + 10.0);
        // Without itself the largest is beyond all others: four remain, with a mean excess of 1.5.
        let expected = (100.0f64 / 5.0).ln() + (100.0 - 96.0) / 1.5;
        assert!((nats(&tail, 100.0, true) - expected.max(100.0f64.ln())).abs() < 1e-12);
    }

    #[test]
    fn steps_lead_to_the_knot_that_a_search_finds() {
        let curves: [Vec<f64>; 5] = [
            vec![],
            vec![2.0],
            vec![-1.0, f64::MAX],
            (0..300).map(|i| f64::from(i).powi(3) * 1e-4).collect(),
            vec![1.0, 1.0 + f64::EPSILON, 1.5, 1e9],
        ];
        for at in curves {
            let steps = Steps::new(&at);
            let between = at.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]));
            let asked = between.chain(at.iter().copied()).chain([-1e300, 0.3, 1e300, f64::INFINITY, f64::NEG_INFINITY]);
            for evidence in asked.collect::<Vec<_>>() {
                let expected = at.partition_point(|at| *at < evidence);
                assert_eq!(steps.first_above(&at, evidence), expected, "{evidence} in {at:?}");
            }
        }
    }

    #[test]
    fn ties_and_few_cells_are_no_trouble() {
        for cells in [vec![], vec![(3.0, 1)], vec![(1.0, 50)], vec![(0.0, 9), (2.0, 1)], vec![(-1.0, 2), (4.0, 2)]] {
            let tail = Tail::learn(&Recipe::default(), cells.clone());
            assert!(tail.is_usable(), "{tail:?}");
            for counted in [false, true] {
                let nats: Vec<f64> = (-20..60).map(|i| nats(&tail, f64::from(i) * 0.1, counted)).collect();
                assert!(nats.iter().all(|nats| nats.is_finite() && *nats >= 0.0), "{cells:?}");
                assert!(counted || nats.windows(2).all(|pair| pair[0] <= pair[1]), "{cells:?}: {nats:?}");
            }
        }
        assert_eq!(nats(&Tail::learn(&Recipe::default(), vec![(1.0, 50)]), 1.0, true), 0.0);
    }
}
