//! The figures of the rule at the head of this room.

/// The quantile 99.95 % of the standard normal distribution: both sides together are one in a thousand.
const TWO_SIDED: f64 = 3.290_527;
/// The quantile 99.9 %.
const ONE_SIDED: f64 = 3.090_232;
/// The least difference of two shares that matters.
const LEAST_DIFFERENCE: f64 = 0.1;
/// The least population stability index that matters.
const LEAST_SHIFT: f64 = 0.25;

/// A share, as a number of rows among others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Share {
    pub part: f64,
    pub of: f64,
}

impl Share {
    pub fn new(part: u64, of: u64) -> Self {
        Self { part: part as f64, of: of as f64 }
    }

    pub fn value(self) -> f64 {
        if self.of > 0.0 { self.part / self.of } else { 0.0 }
    }

    /// Whether this is another share than `other`, by as much as matters and beyond what chance does.
    pub fn differs(self, other: Self) -> bool {
        (self.value() - other.value()).abs() > LEAST_DIFFERENCE && self.is_beyond_chance(other)
    }

    /// Whether the two shares differ by more than chance does.
    pub fn is_beyond_chance(self, other: Self) -> bool {
        if self.of == 0.0 || other.of == 0.0 {
            return false;
        }
        let difference = (self.value() - other.value()).abs();
        let both = (self.part + other.part) / (self.of + other.of);
        let error = (both * (1.0 - both) * (1.0 / self.of + 1.0 / other.of)).sqrt();
        difference > TWO_SIDED * error
    }
}

/// The population stability index of two sets of rows over the same bins.
pub(super) fn psi(before: &[u64], now: &[u64]) -> f64 {
    let half = 0.5 * before.len() as f64;
    let total = |counts: &[u64]| counts.iter().sum::<u64>() as f64 + half;
    let (n, m) = (total(before), total(now));
    let parts = before.iter().zip(now).map(|(before, now)| {
        let (q, p) = ((*before as f64 + 0.5) / n, (*now as f64 + 0.5) / m);
        (p - q) * (p / q).ln()
    });
    parts.sum()
}

/// The index that chance exceeds once in a thousand times.
pub(super) fn chance(bins: usize, n: u64, m: u64) -> f64 {
    chi_squared(bins.saturating_sub(1) as f64) * (1.0 / n.max(1) as f64 + 1.0 / m.max(1) as f64)
}

/// Whether an index means that a column has shifted.
pub(super) fn shifted(psi: f64, bins: usize, n: u64, m: u64) -> bool {
    n > 0 && m > 0 && psi > LEAST_SHIFT && psi > chance(bins, n, m)
}

/// The quantile 99.9 % of a χ² distribution (Wilson and Hilferty, *Proceedings of the National Academy of Sciences*,
/// 1931).
fn chi_squared(freedom: f64) -> f64 {
    if freedom < 1.0 {
        return 0.0;
    }
    let step = 2.0 / (9.0 * freedom);
    freedom * (1.0 - step + ONE_SIDED * step.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of `reference/drift.py` in the benchmarks.
    #[test]
    fn the_index_is_that_of_its_formula() {
        assert!((psi(&[100, 200, 300, 400], &[50, 60, 40, 50]) - 0.287_087_522_642).abs() < 1e-9);
        assert!((psi(&[1000, 0], &[0, 10]) - 10.156_701_456_097).abs() < 1e-9);
        assert_eq!(psi(&[5, 5], &[5, 5]), 0.0);
    }

    /// Quantiles from a table of the χ² distribution; the approximation is within four in a hundred.
    #[test]
    fn chance_is_that_of_the_chi_squared_distribution() {
        for (bins, quantile) in [(2, 10.828), (5, 18.467), (10, 27.877), (20, 43.820)] {
            let found = chance(bins, 1000, 250) / (1.0 / 1000.0 + 1.0 / 250.0);
            assert!((found / quantile - 1.0).abs() < 0.04, "{bins}: {found}");
        }
        assert!(!shifted(0.3, 10, 100, 20) && shifted(0.3, 10, 10_000, 1000) && !shifted(0.2, 10, 10_000, 1000));
    }

    #[test]
    fn shares_differ_beyond_chance_only() {
        assert!(Share::new(300, 1000).differs(Share::new(100, 1000)));
        assert!(!Share::new(180, 1000).differs(Share::new(100, 1000)), "too small to matter");
        assert!(!Share::new(3, 10).differs(Share::new(100, 1000)), "too few rows");
        assert!(!Share::new(0, 0).differs(Share::new(100, 1000)));
    }
}
