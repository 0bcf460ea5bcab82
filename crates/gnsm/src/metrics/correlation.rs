//! How two lists of numbers go together.
//!
//! - Pearson's r = Σ (x − x̄)(y − ȳ) / √(Σ (x − x̄)² Σ (y − ȳ)²).
//! - Its interval, by Fisher's transformation: tanh(artanh r ± z / √(n − 3)), with z the normal quantile of 0.975.
//! - Spearman's coefficient: Pearson's of the ranks, where equal numbers share the mean of their ranks.
//!
//! None is defined where one list is constant, and the interval not below four pairs.

/// The normal quantile of 0.975.
const Z: f64 = 1.959_963_984_540_054;

/// Pearson's r; `None` where it is not defined.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let n = x.len();
    if n != y.len() || n < 2 {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n as f64;
    let (mean_x, mean_y) = (mean(x), mean(y));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        let (dx, dy) = (x - mean_x, y - mean_y);
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    // The roots one by one: their product may be too large or too small for a float where they are not.
    let r = xy / xx.sqrt() / yy.sqrt();
    r.is_finite().then(|| r.clamp(-1.0, 1.0))
}

/// The 95 % interval of a Pearson's r over `n` pairs.
pub fn pearson_interval(r: f64, n: usize) -> Option<[f64; 2]> {
    if n < 4 {
        return None;
    }
    let half = Z / ((n - 3) as f64).sqrt();
    Some([-half, half].map(|shift| (r.atanh() + shift).tanh()))
}

/// Spearman's coefficient; `None` where it is not defined.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    pearson(&ranks(x), &ranks(y))
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut passed = 0;
    // Equality, not the order's own idea of it: −0 and 0 are one value.
    for group in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = passed as f64 + (group.len() + 1) as f64 / 2.0;
        for &index in group {
            ranks[index] = rank;
        }
        passed += group.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [f64; 8] = [0.3, 2.5, 2.5, 4.0, 1.0, 7.25, 6.0, 3.5];
    const Y: [f64; 8] = [0.9, 0.5, 0.4, 0.45, 0.8, 0.1, 0.45, 0.6];

    /// Values from `reference/masks.py` in the benchmarks.
    #[test]
    fn coefficients_agree_with_scipy() {
        let r = pearson(&X, &Y).expect("defined");
        assert!((r - -0.869_084_140_986_954_4).abs() < 1e-14, "{r}");
        let [low, high] = pearson_interval(r, 8).expect("enough pairs");
        assert!((low - -0.976_021_758_806_891_3).abs() < 1e-14, "{low}");
        assert!((high - -0.424_199_496_463_709_75).abs() < 1e-14, "{high}");
        let rho = spearman(&X, &Y).expect("defined");
        assert!((rho - -0.771_084_337_349_397_5).abs() < 1e-14, "{rho}");
    }

    #[test]
    fn what_is_not_defined_is_none() {
        assert_eq!(pearson(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(pearson(&[1.0], &[2.0]), None);
        assert_eq!(pearson(&[1.0, 2.0], &[2.0]), None);
        assert_eq!(pearson(&[1.0, f64::NAN], &[2.0, 3.0]), None);
        assert_eq!(pearson(&[1.0, f64::INFINITY], &[2.0, 3.0]), None);
        assert_eq!(pearson_interval(0.5, 3), None);
        assert_eq!(pearson_interval(1.0, 10), Some([1.0, 1.0]));
    }

    #[test]
    fn huge_and_tiny_numbers_do_not_overflow() {
        for scale in [1e-150, 1e150] {
            let [x, y] = [X, Y].map(|values| values.map(|value| value * scale));
            let r = pearson(&x, &y).expect("defined");
            assert!((r - -0.869_084_140_986_954_4).abs() < 1e-12, "{scale}: {r}");
        }
        assert_eq!(ranks(&[0.0, -0.0, -1.0, 5.0]), [2.5, 2.5, 1.0, 4.0]);
    }
}
