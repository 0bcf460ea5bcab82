//! What Deep SVDD asks of its centre and its codes, for rows as for masks (Ruff et al. 2018).
//!
//! A network that maps everything to one point has a loss of 0: the sphere *collapses*. Zero weights map everything to
//! 0, so no coordinate of the centre may lie there. The variance of the codes of held-out samples, before and after
//! training, tells whether the sphere collapsed all the same.

/// Coordinates of the centre are at least this far from 0.
const SMALLEST_COORDINATE: f64 = 0.1;
/// The variance of codes relative to the start, below which the sphere has collapsed.
const COLLAPSED: f64 = 1e-4;

/// A coordinate of the mean code as one of the centre.
pub fn away_from_zero(coordinate: f64) -> f64 {
    if coordinate < 0.0 { coordinate.min(-SMALLEST_COORDINATE) } else { coordinate.max(SMALLEST_COORDINATE) }
}

/// A warning if the sphere collapsed, judged by the variance of the codes before and after training. `samples` names
/// what is scored, `advice` says what to do.
pub fn collapse([before, after]: [f64; 2], samples: &str, advice: &str) -> Option<String> {
    // Samples that are all alike had no variance to lose.
    (before > 0.0 && after < COLLAPSED * before).then(|| {
        format!(
            "the sphere collapsed: training took the variance of the codes from {before:.1e} to {after:.1e}, \
             so scores hardly tell {samples} apart; {advice}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_coordinate_of_the_centre_is_near_zero() {
        assert_eq!([-0.3, -0.01, 0.0, 0.05, 2.0].map(away_from_zero), [-0.3, -0.1, 0.1, 0.1, 2.0]);
    }

    #[test]
    fn a_ten_thousandth_of_the_variance_is_a_collapse() {
        assert_eq!(collapse([0.0, 0.0], "rows", "stop"), None);
        assert_eq!(collapse([2.0, 2e-4], "rows", "stop"), None);
        let warning = collapse([2.0, 1e-4], "rows", "stop").expect("a warning");
        assert!(warning.ends_with("from 2.0e0 to 1.0e-4, so scores hardly tell rows apart; stop"), "{warning}");
    }
}
