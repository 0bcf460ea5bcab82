//! How far out a cell's evidence lies in its own column: −ln of the share of held-out cells that have at least as much.
//!
//! T(e) = −ln((k + 1)/(n + 1)), where k of n held-out cells have evidence of e or more. Evidence of different kinds and
//! columns becomes comparable that way, and adds up like independent evidence (Fisher 1925). Beyond the largest, T
//! grows in units of the mean excess of the top twentieth, by 10 nats at the most. The curve is kept as knots, a
//! twentieth of a nat apart, with straight lines between them.

use crate::density::BulkTail;

/// Nats between two knots, at the least.
const STEP: f64 = 0.05;
/// Nats that distance beyond the largest can add.
const MOST_BEYOND: f64 = 10.0;
/// Numbers that describe the top: n, its size m, where it begins, the sum of its excesses, and the two largest.
pub(super) const TOP: usize = 6;

/// The curve of one kind of evidence in one column.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tail {
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

    /// Learns from evidence and how many cells have it.
    pub fn learn(mut cells: Vec<(f64, u32)>) -> Self {
        cells.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let n: f64 = cells.iter().map(|(_, count)| f64::from(*count)).sum();
        let Some(&(largest, count)) = cells.first() else { return Self::default() };
        let second = if count > 1 { largest } else { cells.get(1).map_or(largest, |cell| cell.0) };
        let size = (n * 0.05).floor().max(5.0).min(n);
        let (mut passed, mut begins, mut sum) = (0.0, largest, 0.0);
        for &(evidence, count) in &cells {
            if passed >= size {
                break;
            }
            let taken = f64::from(count).min(size - passed);
            (passed, begins, sum) = (passed + taken, evidence, sum + taken * evidence);
        }
        let (at, nats) = knots(&cells, n);
        Self::new(at, nats, [n, size, begins, (sum - size * begins).max(0.0), largest, second])
    }

    /// T of some evidence; with itself left out if it was `counted` among the held-out cells.
    pub fn nats(&self, evidence: f64, counted: bool) -> f64 {
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
            return grown.clamp(least, least + MOST_BEYOND);
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

/// Figures of a row.
pub(super) const FIGURES: usize = 5;

/// How much evidence is usual.
#[derive(Debug, Clone, Default)]
pub(super) struct Tails {
    /// [cells, kinds].
    pub of_cells: Vec<Tail>,
    /// Of a row's sum, of its largest cell, of its distance, of the whole row, and of its values.
    pub of_rows: [RowTail; FIGURES],
}

/// How far out a whole row's figure lies among held-out rows: −ln of the share of rows that have at least as much, and
/// beyond the bulk of them a [`BulkTail`]. Where nearly all rows have one figure there is no such tail. Figures are nats
/// themselves, so beyond the largest one they count as they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RowTail {
    /// Figures, ascending.
    pub at: Vec<f64>,
    /// Nats at each of them, ascending.
    pub nats: Vec<f64>,
    pub top: BulkTail,
}

impl RowTail {
    /// Learns from figures and how many rows have them. Those beyond a share of all rows cannot stretch the tail.
    pub fn learn(share: f64, mut rows: Vec<(f64, u32)>) -> Self {
        rows.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let n: f64 = rows.iter().map(|(_, count)| f64::from(*count)).sum();
        let quantile = |share: f64| {
            let mut above = 0.0;
            let found = rows.iter().find(|(_, count)| {
                above += f64::from(*count);
                above > (1.0 - share) * n
            });
            found.map_or(0.0, |row| row.0)
        };
        let (at, nats) = knots(&rows, n);
        let from = quantile(0.9);
        let (tenth, kinds) = count_kinds(rows.iter().copied().take_while(|(figure, _)| *figure >= from));
        let can_tell = BulkTail::can_tell(tenth, kinds);
        let top = if can_tell { BulkTail::from_bulk(share, quantile) } else { BulkTail::default() };
        Self { at, nats, top }
    }

    /// Nats of a figure.
    pub fn nats(&self, figure: f64) -> f64 {
        self.top.nats(figure).unwrap_or_else(|| {
            let beyond = self.at.last().map_or(0.0, |largest| (figure - largest).max(0.0));
            let right = self.at.partition_point(|at| *at < figure);
            between(&self.at, &self.nats, right, figure) + beyond
        })
    }

    /// Checks a curve that came from a file.
    pub fn is_usable(&self) -> bool {
        self.at.len() == self.nats.len()
            && self.at.windows(2).all(|pair| pair[0] < pair[1])
            && self.nats.windows(2).all(|pair| pair[0] <= pair[1])
            && self.nats.first().is_none_or(|nats| *nats >= 0.0)
            && self.top.from.is_finite()
            && self.top.step >= 0.0
    }
}

/// How many rows there are, and how many distinct figures they have; the figures descend.
fn count_kinds(rows: impl Iterator<Item = (f64, u32)>) -> (u64, u64) {
    let (mut n, mut distinct, mut last) = (0, 0, f64::NAN);
    for (figure, count) in rows {
        n += u64::from(count);
        distinct += u64::from(figure != last);
        last = figure;
    }
    (n, distinct)
}

/// Where a curve has its knots, and T at each, from evidence that descends and the cells that have it, `n` in all.
fn knots(cells: &[(f64, u32)], n: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut at, mut nats) = (Vec::new(), Vec::new());
    let mut at_least = 0.0;
    for equal in cells.chunk_by(|a, b| a.0 == b.0) {
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

/// Where to begin to look for a knot: steps of equal length from the first to the last, and the first knot from each on.
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
fn between(at: &[f64], nats: &[f64], right: usize, evidence: f64) -> f64 {
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
    use crate::density::BULK;

    #[test]
    fn nats_are_those_of_counting() {
        let cells: Vec<(f64, u32)> = (1..=100).map(|i| (f64::from(i), 1)).collect();
        let tail = Tail::learn(cells);
        assert!(tail.is_usable());
        let counting = |at_least: f64, n: f64| -((at_least + 1.0) / (n + 1.0)).ln();
        for i in [1, 20, 50, 90, 99, 100] {
            let expected = counting(f64::from(101 - i), 100.0);
            assert!((tail.nats(f64::from(i), false) - expected).abs() < 0.002, "{i}");
            // Left out: one less that is at least as large, of one less.
            if i < 100 {
                let expected = counting(f64::from(100 - i), 99.0);
                assert!(
                    (tail.nats(f64::from(i), true) - expected).abs() < 0.03,
                    "{i}: {}",
                    tail.nats(f64::from(i), true)
                );
            }
        }
        // The top five are 96 to 100, with a mean excess of 2: ln(101/6) + (104 − 96)/2.
        assert!((tail.nats(104.0, false) - ((101.0f64 / 6.0).ln() + 4.0)).abs() < 1e-12);
        assert_eq!(tail.nats(1e9, false), 101.0f64.ln() + 10.0);
        // Without itself the largest is beyond all others: four remain, with a mean excess of 1.5.
        let expected = (100.0f64 / 5.0).ln() + (100.0 - 96.0) / 1.5;
        assert!((tail.nats(100.0, true) - expected.max(100.0f64.ln())).abs() < 1e-12);
    }

    #[test]
    fn a_row_is_far_out_by_counting_and_then_by_steps() {
        // An exponential law: −ln of the share above x is x.
        let rows: Vec<(f64, u32)> = (0..4000).map(|i| (-(1.0 - (f64::from(i) + 0.5) / 4000.0).ln(), 1)).collect();
        let tail = RowTail::learn(BULK, rows.clone());
        assert!(tail.is_usable());
        for x in [0.5, 1.0, 2.0, 3.0, 5.0, 9.0, 30.0] {
            assert!((tail.nats(x) - x).abs() < 0.05 + 0.03 * x, "{x}: {}", tail.nats(x));
        }
        // Rows far outside do not stretch it.
        let spoiled = RowTail::learn(BULK, [rows.as_slice(), &[(1e4, 40)]].concat());
        assert!(spoiled.nats(30.0) > 20.0, "{}", spoiled.nats(30.0));
        // Nothing, one figure, and ties tell no step; what is beyond ties counts as it is.
        assert_eq!(RowTail::learn(BULK, vec![]).nats(7.0), 0.0);
        let ties = RowTail::learn(BULK, vec![(2.0, 30)]);
        assert_eq!([1.0, 2.0, 9.0].map(|x| ties.nats(x)), [0.0, 0.0, 7.0]);
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
            let tail = Tail::learn(cells.clone());
            assert!(tail.is_usable(), "{tail:?}");
            for counted in [false, true] {
                let nats: Vec<f64> = (-20..60).map(|i| tail.nats(f64::from(i) * 0.1, counted)).collect();
                assert!(nats.iter().all(|nats| nats.is_finite() && *nats >= 0.0), "{cells:?}");
                assert!(counted || nats.windows(2).all(|pair| pair[0] <= pair[1]), "{cells:?}: {nats:?}");
            }
        }
        assert_eq!(Tail::learn(vec![(1.0, 50)]).nats(1.0, true), 0.0);
    }
}
