//! The centre and the spread of a column of numbers, from quantiles: one absurd value moves neither.
//!
//! Values are cut at the quantiles 1 % and 99 % before their mean and deviation are taken. A column of positive numbers
//! whose logarithms are closer to a normal distribution than the numbers themselves (amounts, durations, counts) is
//! scaled by its logarithms.

use serde::{Deserialize, Serialize};

/// |z| up to which a number stays as it is.
const STRAIGHT: f64 = 10.0;
/// The largest |z|.
const LARGEST: f64 = 20.0;
/// The share of values that is cut at each end.
const CUT: f64 = 0.01;
/// The nats by which the logarithm has to fit better, per value, before it is used.
const GAIN: f64 = 0.1;

/// z = (t(x) − centre)/spread, where t is the number itself or its logarithm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// What z = 0 stands for.
    pub centre: f64,
    /// How much more than that z = 1 stands for.
    pub spread: f64,
    /// t(x) = log(x + this), if there is a logarithm.
    pub log_offset: Option<f64>,
}

impl Scale {
    /// From values in ascending order with their counts; those that are not finite do not count.
    pub fn learn(sorted: &[(f64, usize)]) -> Self {
        let finite: Vec<(f64, usize)> = sorted.iter().copied().filter(|(value, _)| value.is_finite()).collect();
        let plain = Self::of(&finite, None);
        let positive = finite.iter().find(|(value, _)| *value > 0.0);
        match (finite.first(), positive) {
            (Some((least, _)), Some((smallest, _))) if *least >= 0.0 && varies(&finite) => {
                // Zeros need room below the smallest positive number.
                let offset = if *least > 0.0 { 0.0 } else { *smallest };
                let logarithmic = Self::of(&finite, Some(offset));
                let n: f64 = finite.iter().map(|(_, count)| *count as f64).sum();
                let slope = finite.iter().map(|(value, count)| (value + offset).ln() * *count as f64).sum::<f64>() / n;
                // The log-likelihood of a normal distribution, per value and without what both have: −ln spread, less
                // the mean logarithm of the values where the logarithm is taken.
                let gain = plain.spread.ln() - (logarithmic.spread.ln() + slope);
                if gain > GAIN { logarithmic } else { plain }
            }
            _ => plain,
        }
    }

    fn of(sorted: &[(f64, usize)], log_offset: Option<f64>) -> Self {
        let moved = |value: f64| log_offset.map_or(value, |offset| (value + offset).ln());
        let total: usize = sorted.iter().map(|(_, count)| count).sum();
        if total == 0 {
            return Self { centre: 0.0, spread: 1.0, log_offset };
        }
        let cut = (CUT * total as f64).ceil() as usize;
        let (low, high) = (at_rank(sorted, cut.min(total - 1)), at_rank(sorted, total - 1 - cut.min(total - 1)));
        let (low, high) = if low <= high { (moved(low), moved(high)) } else { (moved(high), moved(low)) };
        let n = total as f64;
        let kept = || sorted.iter().map(|(value, count)| (moved(*value).clamp(low, high), *count as f64));
        // Each is divided before all are summed, since the sum of finite numbers may be infinite.
        let centre = kept().map(|(value, count)| value / n * count).sum::<f64>();
        let spread = kept().map(|(value, count)| (value - centre).powi(2) / n * count).sum::<f64>().sqrt();
        if low < high && spread > 0.0 && spread.is_finite() {
            return Self { centre, spread, log_offset };
        }
        // All but a few values are the same. The scale is then the lower quartile of how far the others are from it.
        let mut steps: Vec<f64> =
            sorted.iter().map(|(value, _)| (moved(*value) - low).abs()).filter(|step| *step > 0.0).collect();
        steps.sort_by(f64::total_cmp);
        let spread = steps.get(steps.len() / 4).copied().filter(|step| step.is_finite()).unwrap_or(1.0);
        Self { centre: low, spread, log_offset }
    }

    /// z, straight up to ±10, logarithmic from there, at most ±20.
    pub fn scaled(&self, value: f64) -> f32 {
        let moved = match self.log_offset {
            // A column of positive numbers never shows this.
            Some(offset) if value < 0.0 || value + offset <= 0.0 => return -LARGEST as f32,
            Some(offset) => (value + offset).ln(),
            None => value,
        };
        // Halved before they are subtracted, since the difference of finite numbers may be infinite.
        let z = 2.0 * (moved / 2.0 - self.centre / 2.0) / self.spread;
        let size = z.abs();
        let limited = if size <= STRAIGHT { size } else { (STRAIGHT + (size - STRAIGHT).ln_1p()).min(LARGEST) };
        limited.copysign(z) as f32
    }

    /// The number that a z stands for.
    pub fn unscaled(&self, z: f64) -> f64 {
        let size = z.abs();
        let size = if size <= STRAIGHT { size } else { STRAIGHT + (size.min(LARGEST) - STRAIGHT).exp_m1() };
        let moved = self.centre + self.spread * size.copysign(z);
        self.log_offset.map_or(moved, |offset| moved.exp() - offset)
    }

    /// Checks a scale that came from a file.
    pub fn is_usable(&self) -> bool {
        let offset = self.log_offset.is_none_or(|offset| offset.is_finite() && offset >= 0.0);
        self.centre.is_finite() && self.spread.is_finite() && self.spread > 0.0 && offset
    }
}

/// Whether the values differ between the quantiles at which they are cut.
fn varies(sorted: &[(f64, usize)]) -> bool {
    let total: usize = sorted.iter().map(|(_, count)| count).sum();
    let cut = (CUT * total as f64).ceil() as usize;
    2 * cut < total && at_rank(sorted, cut) < at_rank(sorted, total - 1 - cut)
}

/// The value at a rank, counted from 0.
pub(super) fn at_rank(sorted: &[(f64, usize)], rank: usize) -> f64 {
    let mut passed = 0;
    for (value, count) in sorted {
        passed += count;
        if rank < passed {
            return *value;
        }
    }
    sorted.last().map_or(0.0, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learn(values: &[f64]) -> Scale {
        let mut values: Vec<(f64, usize)> = values.iter().map(|value| (*value, 1)).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        Scale::learn(&values)
    }

    #[test]
    fn absurd_values_move_nothing() {
        let usual: Vec<f64> = (0..1000).map(|i| f64::from(i % 97) - 40.0).collect();
        let before = learn(&usual);
        for absurd in [1e300, -1e300, 999_999_999.0, f64::INFINITY] {
            let after = learn(&[usual.as_slice(), &[absurd]].concat());
            assert!((after.centre - before.centre).abs() < 0.1 && (after.spread / before.spread - 1.0).abs() < 0.01);
            assert!(after.scaled(absurd).abs() > 10.0);
        }
    }

    #[test]
    fn amounts_get_a_logarithm_and_measurements_do_not() {
        // Quantiles of a log-normal and of an even distribution.
        let amounts: Vec<f64> = (1..500).map(|i| (3.0 * (f64::from(i) / 500.0 - 0.5)).exp() * 100.0).collect();
        assert_eq!(learn(&amounts).log_offset, Some(0.0));
        assert_eq!(learn(&(0..500).map(f64::from).collect::<Vec<_>>()).log_offset, None);
        let with_zeros = learn(&[amounts.as_slice(), &[0.0; 20]].concat());
        assert!(with_zeros.log_offset.is_some_and(|offset| offset > 0.0));
        assert_eq!(with_zeros.scaled(-5.0), -20.0);
    }

    #[test]
    fn scaling_comes_back() {
        for scale in [
            Scale { centre: 3.0, spread: 2.0, log_offset: None },
            Scale { centre: 3.0, spread: 0.5, log_offset: Some(1.0) },
        ] {
            for value in [0.5, 3.0, 17.0, 400.0] {
                let back = scale.unscaled(f64::from(scale.scaled(value)));
                assert!((back / value - 1.0).abs() < 1e-4, "{value}: {back}");
            }
        }
    }

    #[test]
    fn a_column_that_hardly_changes_has_the_scale_of_its_changes() {
        let mut values = vec![5.0; 1000];
        values.extend([7.0, 1e300]);
        let scale = learn(&values);
        assert_eq!((scale.centre, scale.spread), (5.0, 2.0));
        assert_eq!(learn(&[4.0; 9]).scaled(4.0), 0.0);
        assert!(learn(&[]).is_usable());
    }
}
