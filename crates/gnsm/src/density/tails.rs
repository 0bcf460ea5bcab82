//! How far out a number lies among those that were learned from: −log of the share of numbers that are at least as far
//! out. The unit of natural logarithms is called a nat.
//!
//! Nats of different figures are comparable, whatever their scales, and add up like independent evidence (Fisher 1925).
//! All laws count how many of the learned numbers are farther out; they differ in what is far, and in what is beyond
//! all of them.
//!
//! | law | what is far out | beyond what was counted |
//! |---|---|---|
//! | [`TwoSidedTail`] | small and large numbers | no farther than the last one |
//! | [`ExponentialTail`] | large numbers | nats grow with the distance, from nine tenths of the numbers on; far out with its logarithm |
//! | [`HeavyTail`] | large numbers | nats grow with the logarithm of the distance, from the largest number on |
//! | [`BulkTail`] | the largest 2.5 % | nats grow with the distance; the rate comes from quantiles, which a few odd numbers do not move |

use serde::{Deserialize, Serialize};

/// Knots of a [`HeavyTail`], at the most.
const MOST_KNOTS: usize = 200;
/// A mean excess below which the top tenth counts as one value.
const SMALLEST_UNIT: f64 = 1e-12;

/// The share of numbers below a [`BulkTail`].
pub const BULK: f64 = 0.975;
/// Numbers of the top tenth of which half should be distinct.
const MANY: u64 = 40;
/// With fewer numbers than this in the top tenth, their mean excess is not trusted.
const ENOUGH: usize = 5;
/// An exponential tail grows with the distance up to this many nats, and then with the distance's logarithm.
const MOST_LINEAR: f64 = 100.0;

/// Numbers in ascending order.
#[derive(Debug, Clone, PartialEq)]
struct Ascending(Vec<f64>);

impl Ascending {
    fn new(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        Self(values)
    }

    /// How many are x or more.
    fn at_least(&self, x: f64) -> usize {
        self.0.len() - self.0.partition_point(|value| *value < x)
    }

    /// How many are x or less.
    fn at_most(&self, x: f64) -> usize {
        self.0.partition_point(|value| *value <= x)
    }
}

/// The mean distance of some numbers from the first of them; 0 where there are none.
fn mean_excess(top: &[f64]) -> f64 {
    top.first().map_or(0.0, |first| top.iter().map(|value| value - first).sum::<f64>() / top.len() as f64)
}

/// Tails on both sides, by counting.
#[derive(Debug, Clone, PartialEq)]
pub struct TwoSidedTail(Ascending);

impl TwoSidedTail {
    /// Learns from these numbers.
    pub fn fit(values: Vec<f64>) -> Self {
        Self(Ascending::new(values))
    }

    /// From [`Self::values`]; `None` where they do not ascend.
    pub fn from_sorted(values: Vec<f64>) -> Option<Self> {
        values.is_sorted().then_some(Self(Ascending(values)))
    }

    /// The numbers, ascending.
    pub fn values(&self) -> &[f64] {
        &self.0.0
    }

    /// −log of 2 min(P(X ≤ x), P(X ≥ x)), where this is at most 1 and each P is (1 + how many) / (1 + n). It is 0 in
    /// the middle, and log((n + 1) / 2) beyond all that was seen.
    pub fn nats(&self, x: f64) -> f64 {
        let fewer = self.0.at_most(x).min(self.0.at_least(x));
        let tail = 2.0 * (1 + fewer) as f64 / (1 + self.values().len()) as f64;
        -tail.min(1.0).ln()
    }
}

/// A tail of large numbers. Up to the 90 % point, numbers are counted. Beyond it there are too few to count, so the
/// tail is taken for exponential, with the mean excess of the numbers above that point. If these are few, the mean
/// excess of the upper half is used instead: for an exponential law it is the same wherever the tail starts. From a
/// hundred nats on, the tail becomes heavy. Otherwise a scale that was learned from a handful of numbers could make
/// scores of any size.
#[derive(Debug, Clone, PartialEq)]
pub struct ExponentialTail(Ascending);

impl ExponentialTail {
    /// Learns from these numbers; `None` where there are none.
    pub fn fit(values: Vec<f64>) -> Option<Self> {
        (!values.is_empty()).then(|| Self(Ascending::new(values)))
    }

    /// From [`Self::values`]; `None` where there are none or they do not ascend.
    pub fn from_sorted(values: Vec<f64>) -> Option<Self> {
        (!values.is_empty() && values.is_sorted()).then_some(Self(Ascending(values)))
    }

    /// The numbers, ascending.
    pub fn values(&self) -> &[f64] {
        &self.0.0
    }

    /// −log P(X ≥ x).
    pub fn nats(&self, x: f64) -> f64 {
        let n = self.values().len();
        let top = &self.values()[(9 * n / 10).min(n - 1)..];
        let start = ((n + 1) as f64 / top.len() as f64).ln();
        if x < top[0] {
            return ((n + 1) as f64 / (self.0.at_least(x) + 1) as f64).ln().min(start);
        }
        // A damaged network may give NaN, which counts as the number at which the tail starts.
        let distance = (x - top[0]).max(0.0) / self.unit(top);
        start + distance.min(MOST_LINEAR) + (distance - MOST_LINEAR).max(0.0).ln_1p()
    }

    /// The distance of one nat beyond the first of the top tenth.
    fn unit(&self, top: &[f64]) -> f64 {
        let values = self.values();
        let mut unit = mean_excess(top);
        if top.len() < ENOUGH || unit <= SMALLEST_UNIT {
            unit = unit.max(mean_excess(&values[values.len() / 2..]));
        }
        if unit > SMALLEST_UNIT {
            return unit;
        }
        // Equal numbers have no scale but their size.
        if top[0].abs() > SMALLEST_UNIT { top[0].abs() } else { 1.0 }
    }
}

/// A tail of large numbers as a piecewise linear curve. Beyond the largest one the probability falls with the distance,
/// in units of the mean excess of the top tenth: a heavy tail, so that no single figure outweighs all others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeavyTail {
    /// Numbers, ascending.
    at: Vec<f64>,
    /// −log P(X ≥ x) at each of them, ascending.
    nats: Vec<f64>,
    /// The distance beyond the last at which the probability is halved.
    unit: f64,
}

impl HeavyTail {
    /// Learns from these numbers.
    pub fn fit(values: Vec<f64>) -> Self {
        let values = Ascending::new(values);
        let n = values.0.len();
        let (mut at, mut nats) = (Vec::new(), Vec::new());
        let stride = n.div_ceil(MOST_KNOTS).max(1);
        // From the top down, so that the rare end keeps its knots.
        for position in (0..n).rev().step_by(stride) {
            let value = values.0[position];
            if at.last().is_none_or(|last: &f64| value < *last) {
                at.push(value);
                nats.push((n as f64 + 1.0).ln() - (values.at_least(value) as f64).ln());
            }
        }
        at.reverse();
        nats.reverse();
        let unit = mean_excess(&values.0[n - n.div_ceil(10).min(n)..]);
        Self { at, nats, unit: if unit > SMALLEST_UNIT { unit } else { 1.0 } }
    }

    /// −log P(X ≥ x).
    pub fn nats(&self, x: f64) -> f64 {
        let (Some(&first), Some(&last)) = (self.at.first(), self.at.last()) else { return x.max(0.0) };
        // A damaged network may give NaN, which counts as the largest number.
        if x.is_nan() || x >= last {
            return self.nats[self.nats.len() - 1] + ((x - last).max(0.0) / self.unit).ln_1p();
        }
        if x <= first {
            return self.nats[0] * if first > 0.0 { (x / first).max(0.0) } else { 1.0 };
        }
        let right = self.at.partition_point(|at| *at <= x);
        let (a, b) = (self.at[right - 1], self.at[right]);
        let share = (x - a) / (b - a);
        self.nats[right - 1] + share * (self.nats[right] - self.nats[right - 1])
    }

    /// Checks a curve that came from a file; says what is wrong.
    pub fn validate(&self) -> Result<(), String> {
        let finite = self.at.iter().chain(&self.nats).all(|value| value.is_finite());
        let ascending =
            self.at.windows(2).all(|pair| pair[0] < pair[1]) && self.nats.windows(2).all(|pair| pair[0] <= pair[1]);
        if self.at.len() == self.nats.len() && finite && ascending && self.unit.is_finite() && self.unit > 0.0 {
            Ok(())
        } else {
            Err("the curve of a tail is not usable".into())
        }
    }
}

/// The tail above the 97.5 % point.
///
/// The share of larger numbers falls by e with every step of one length: (q₉₇.₅ − q₉₀) / ln 4, or (q₉₉ − q₉₇.₅) / ln
/// 2.5 if that is longer. Odd numbers do not move these quantiles while they are fewer than one in a hundred.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BulkTail {
    /// Where it begins.
    pub from: f64,
    /// The length of its step; 0 where the numbers do not tell one.
    pub step: f64,
}

impl BulkTail {
    /// Asks for the quantiles that it needs.
    pub fn fit(quantile: impl Fn(f64) -> f64) -> Self {
        let [low, from, high] = [0.9, BULK, 0.99].map(quantile);
        let step = ((from - low) / 4f64.ln()).max((high - from) / 2.5f64.ln());
        Self { from, step: if step.is_finite() { step.max(0.0) } else { 0.0 } }
    }

    /// A tail whose step is (q − p) / ln 4. Below q lies the share `share` of the numbers, and above p lie four times
    /// as many as above q. So odd numbers cannot stretch the tail while they are fewer than those above q. The step is
    /// too short if the tail is heavier than the bulk tells.
    pub fn from_bulk(share: f64, quantile: impl Fn(f64) -> f64) -> Self {
        let [low, high] = [1.0 - 4.0 * (1.0 - share), share].map(quantile);
        let step = ((high - low) / 4f64.ln()).max(0.0);
        let step = if step.is_finite() { step } else { 0.0 };
        Self { from: high + step * ((1.0 - share) / (1.0 - BULK)).ln(), step }
    }

    /// Whether the largest tenth of the numbers can tell how a tail falls. If most of them are the same few numbers, it
    /// cannot.
    pub fn can_tell(tenth: u64, distinct: u64) -> bool {
        2 * distinct >= tenth.min(MANY)
    }

    /// Nats of a number in the tail.
    pub fn nats(&self, x: f64) -> Option<f64> {
        (x > self.from && self.step > 0.0).then(|| (x - self.from) / self.step - (1.0 - BULK).ln())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of the standard exponential distribution: −log survival is the value itself.
    fn exponential(n: u32) -> Vec<f64> {
        (0..n).map(|i| -(1.0 - (f64::from(i) + 0.5) / f64::from(n)).ln()).collect()
    }

    #[test]
    fn two_sided_tails_worked_out_by_hand() {
        let tail = TwoSidedTail::fit(vec![3.0, 1.0, 2.0, 2.0, 5.0, 4.0, 9.0]);
        // Of seven numbers, this many are on the thinner side, x itself included.
        for (x, fewer) in [(0.5, 0), (1.0, 1), (1.5, 1), (5.0, 2), (9.0, 1), (10.0, 0)] {
            let expected = -(2.0 * f64::from(1 + fewer) / 8.0).ln();
            assert_eq!(tail.nats(x), expected, "{x}");
        }
        for middle in [2.0, 3.0, 4.0] {
            assert_eq!(tail.nats(middle), 0.0, "{middle}");
        }
    }

    #[test]
    fn an_exponential_tail_comes_back_as_its_own_nats() {
        let heavy = HeavyTail::fit(exponential(5000));
        for value in [0.5, 2.0, 5.0] {
            assert!((heavy.nats(value) - value).abs() < 0.07 * value + 0.05, "{value}: {}", heavy.nats(value));
        }
        let numbers = exponential(2000);
        let bulk = BulkTail::fit(|share| numbers[(share * 2000.0) as usize]);
        for value in [4.0, 8.0, 30.0] {
            let nats = bulk.nats(value).expect("beyond the bulk");
            assert!((nats - value).abs() < 0.03 * value, "{value}: {nats}");
        }
        assert_eq!(bulk.nats(3.0), None);
        assert_eq!(BulkTail::fit(|_| 1.0).nats(9.0), None);
        let stretched = |share: f64| if share > 0.96 { 1e6 } else { numbers[(share * 2000.0) as usize] };
        let bulk = BulkTail::from_bulk(0.95, stretched);
        for value in [4.0, 8.0, 30.0] {
            let nats = bulk.nats(value).expect("beyond the bulk");
            assert!((nats - value).abs() < 0.03 * value, "{value}: {nats}, whatever one in twenty-five is");
        }
        assert!(BulkTail::fit(stretched).step > 1e5);
        let light = ExponentialTail::fit(exponential(2000)).expect("a tail");
        for value in [0.5, 2.0, 5.0, 9.0] {
            assert!((light.nats(value) - value).abs() < 0.05 * value, "{value}: {}", light.nats(value));
        }
    }

    #[test]
    fn few_or_equal_numbers_do_not_make_an_exponential_tail_steep() {
        // Of three numbers the largest alone is the top tenth: its mean excess is 0. The upper half is 0.3 and 0.5.
        let tail = ExponentialTail::fit(vec![0.5, 0.1, 0.3]).expect("a tail");
        assert!((tail.nats(0.7) - (4f64.ln() + 2.0)).abs() < 1e-9, "{}", tail.nats(0.7));
        let equal = ExponentialTail::fit(vec![0.25; 8]).expect("a tail");
        assert!((equal.nats(0.5) - equal.nats(0.25) - 1.0).abs() < 1e-9);
        for values in [vec![0.2], vec![0.0; 4], vec![0.3; 60], vec![0.1, 0.1 + 1e-13]] {
            let tail = ExponentialTail::fit(values.clone()).expect("a tail");
            assert!(tail.nats(1e6) < 200.0, "{values:?}: {}", tail.nats(1e6));
            assert!(tail.nats(2e6) > tail.nats(1e6), "{values:?}");
        }
    }

    #[test]
    fn beyond_everything_seen_the_nats_of_a_heavy_tail_grow_with_the_logarithm_of_the_distance() {
        let tail = HeavyTail::fit((1..=100).map(f64::from).collect());
        // The top tenth is 91 to 100: its mean excess is 4.5.
        assert!((tail.nats(100.0 + 9.0) - tail.nats(100.0) - 3.0f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn nats_never_fall_and_ties_are_no_trouble() {
        for values in [vec![1.0; 50], vec![], vec![3.0], (0..40).map(|i| f64::from(i % 3)).collect()] {
            let heavy = HeavyTail::fit(values.clone());
            heavy.validate().expect("usable");
            let check = |nats: &dyn Fn(f64) -> f64| {
                assert!(nats(f64::NAN).is_finite());
                let all: Vec<f64> = (0..100).map(|i| nats(f64::from(i) * 0.1)).collect();
                assert!(all.windows(2).all(|pair| pair[0] <= pair[1]) && all[99].is_finite(), "{all:?}");
            };
            check(&|x| heavy.nats(x));
            match ExponentialTail::fit(values.clone()) {
                Some(light) => check(&|x| light.nats(x)),
                None => assert!(values.is_empty()),
            }
        }
    }
}
