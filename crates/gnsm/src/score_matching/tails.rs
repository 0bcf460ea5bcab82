//! How far out in its tail a sum of surprises lies: −log P(a usual row is at least as surprising), in nats.
//!
//! Sums of different kinds have different scales and spreads. Their tails are comparable, and add up like independent
//! evidence (Fisher 1925). Between the sums of held-out rows the probability is interpolated. Beyond the largest one it
//! falls with the distance, in units of the mean excess of the top tenth. That is a heavy tail, so that no single
//! figure outweighs all others.

use serde::{Deserialize, Serialize};

/// Knots of the curve, at the most.
const MOST_KNOTS: usize = 200;
/// A mean excess below which the top tenth counts as one value.
const SMALLEST_UNIT: f64 = 1e-12;

/// −log survival of a sum of surprises, as a piecewise linear curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tail {
    /// Surprises, ascending.
    at: Vec<f64>,
    /// −log P(at least as surprising) at each of them, ascending.
    nats: Vec<f64>,
    /// The distance beyond the last at which the probability is halved.
    unit: f64,
}

impl Tail {
    /// Learns the curve from the sums of held-out rows.
    pub fn fit(mut sums: Vec<f64>) -> Self {
        sums.sort_unstable_by(f64::total_cmp);
        let n = sums.len();
        let (mut at, mut nats) = (Vec::new(), Vec::new());
        let stride = n.div_ceil(MOST_KNOTS).max(1);
        // From the top down, so that the rare end keeps its knots.
        for position in (0..n).rev().step_by(stride) {
            let sum = sums[position];
            if at.last().is_none_or(|last: &f64| sum < *last) {
                let at_least = n - sums.partition_point(|other| *other < sum);
                at.push(sum);
                nats.push((n as f64 + 1.0).ln() - (at_least as f64).ln());
            }
        }
        at.reverse();
        nats.reverse();
        let top = &sums[n - n.div_ceil(10).min(n)..];
        let mean_excess =
            top.first().map_or(0.0, |first| top.iter().map(|sum| sum - first).sum::<f64>() / top.len() as f64);
        Self { at, nats, unit: if mean_excess > SMALLEST_UNIT { mean_excess } else { 1.0 } }
    }

    /// The nats of a sum.
    pub fn nats(&self, sum: f64) -> f64 {
        let (Some(&first), Some(&last)) = (self.at.first(), self.at.last()) else { return sum.max(0.0) };
        // A damaged network may say NaN; it lies nowhere, and counts as the last.
        if sum.is_nan() || sum >= last {
            return self.nats[self.nats.len() - 1] + ((sum - last).max(0.0) / self.unit).ln_1p();
        }
        if sum <= first {
            return self.nats[0] * if first > 0.0 { (sum / first).max(0.0) } else { 1.0 };
        }
        let right = self.at.partition_point(|at| *at <= sum);
        let (a, b) = (self.at[right - 1], self.at[right]);
        let share = (sum - a) / (b - a);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exponential_tail_comes_back_as_its_own_nats() {
        // Quantiles of the standard exponential distribution: −log survival is the value itself.
        let sums: Vec<f64> = (0..5000).map(|i| -(1.0 - (f64::from(i) + 0.5) / 5000.0).ln()).collect();
        let tail = Tail::fit(sums);
        for value in [0.5, 2.0, 5.0] {
            assert!((tail.nats(value) - value).abs() < 0.07 * value + 0.05, "{value}: {}", tail.nats(value));
        }
    }

    #[test]
    fn beyond_everything_seen_the_nats_grow_with_the_logarithm_of_the_distance() {
        let tail = Tail::fit((1..=100).map(f64::from).collect());
        // The top tenth is 91 to 100: its mean excess is 4.5.
        assert!((tail.nats(100.0 + 9.0) - tail.nats(100.0) - 3.0f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn nats_never_fall_and_ties_are_no_trouble() {
        for sums in [vec![1.0; 50], vec![], vec![3.0], (0..40).map(|i| f64::from(i % 3)).collect()] {
            let tail = Tail::fit(sums);
            tail.validate().expect("usable");
            assert!(tail.nats(f64::NAN).is_finite());
            let nats: Vec<f64> = (0..100).map(|i| tail.nats(f64::from(i) * 0.1)).collect();
            assert!(nats.windows(2).all(|pair| pair[0] <= pair[1]), "{nats:?}");
        }
    }
}
