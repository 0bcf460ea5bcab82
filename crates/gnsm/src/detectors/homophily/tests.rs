use super::*;
use crate::columns::Encoded;
use crate::columns::{Layout, UNSEEN};
use crate::detectors::Detector;
use crate::detectors::tests::{assert_close, fit_on, rows_of};
use crate::detectors::{Cbrw, WalkConfig};
use crate::error::Result;

/// Four values: a triangle of weights 3, 3, 3, and one that hangs on it by 1.
#[test]
fn densities_by_hand() {
    #[rustfmt::skip]
    let homophily = [
        0.0, 3.0, 3.0, 1.0,
        3.0, 0.0, 3.0, 0.0,
        3.0, 3.0, 0.0, 0.0,
        1.0, 0.0, 0.0, 0.0,
    ];
    // All: 10/4. Without the last: 9/3, and these hang equally on each other.
    assert_close(&densities(&homophily, 4), &[3.0, 3.0, 3.0, 2.5], 1e-15);
    assert!(densities(&[], 0).is_empty());
}

/// Twelve rows of common values, and two of rare ones that keep to each other. Values from `reference/cbrw.py` in the benchmarks, which
/// writes the walk out with numpy.
#[test]
fn odd_values_in_odd_company() -> Result<()> {
    let layout = Layout::new(0, vec![3, 3, 4]);
    let common = (0..12).flat_map(|row| [row % 2, row / 2 % 2, row % 3]);
    let rows = Encoded::new(14, common.chain([2, 2, 3, 2, 2, 3]).collect(), vec![]);
    let detector = fit_on(&rows, |all, run| Homophily::fit(&WalkConfig::default(), &layout, all, run))?;
    assert_close(
        &detector.score(&rows),
        &[
            0.101_295_829_014_254_1,
            0.101_295_829_014_254_1,
            0.101_295_829_014_254_13,
            0.101_295_829_014_254_13,
            0.101_295_829_014_254_1,
            0.101_295_829_014_254_1,
            0.101_295_829_014_254_13,
            0.101_295_829_014_254_13,
            0.101_295_829_014_254_1,
            0.101_295_829_014_254_1,
            0.101_295_829_014_254_13,
            0.101_295_829_014_254_13,
            0.099_970_552_072_924_75,
            0.099_970_552_072_924_75,
        ],
        1e-12,
    );
    Ok(())
}

/// In two columns that mirror each other all sets are alike, and the walk is `cbrw`'s.
#[test]
fn with_equal_densities_it_is_cbrw() -> Result<()> {
    let layout = Layout::new(0, vec![2, 2]);
    let rows = rows_of(&[(&[0, 0], &[]), (&[1, 1], &[]), (&[0, 0], &[]), (&[1, 1], &[])]);
    let ours = fit_on(&rows, |all, run| Homophily::fit(&WalkConfig::default(), &layout, all, run))?;
    let other = fit_on(&rows, |all, run| Cbrw::fit(&WalkConfig::default(), &layout, all, run))?;
    let queries = rows_of(&[(&[0, 0], &[]), (&[0, 1], &[]), (&[UNSEEN, 1], &[])]);
    assert_close(&ours.score(&queries), &other.score(&queries), 1e-12);
    Ok(())
}
