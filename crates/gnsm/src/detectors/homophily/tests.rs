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

/// Twelve rows of common values, and two `odd` ones.
fn company(odd: [u32; 6]) -> Encoded {
    let common = (0..12).flat_map(|row| [row % 2, row / 2 % 2, row % 3]);
    Encoded::new(14, common.chain(odd).collect(), vec![])
}

/// The scores of `homophily` and of `cbrw`.
fn scores(rows: &Encoded) -> Result<[Vec<f64>; 2]> {
    let layout = Layout::new(0, vec![3, 3, 4]);
    let ours = fit_on(rows, |all, run| Homophily::fit(&WalkConfig::default(), &layout, all, run))?;
    let other = fit_on(rows, |all, run| Cbrw::fit(&WalkConfig::default(), &layout, all, run))?;
    Ok([ours.score(rows), other.score(rows)])
}

/// Two rare values that go together, each time with a common one: the walker finds them, and more often than that of
/// `cbrw`. Values from `reference/cbrw.py` in the benchmarks, which writes the walk out with numpy.
#[test]
fn odd_values_in_odd_company() -> Result<()> {
    let [ours, other] = scores(&company([2, 2, 0, 2, 2, 1]))?;
    let common = [0.038_459_036_085_177_756, 0.038_459_036_085_177_756, 0.032_138_157_483_204_2];
    assert_close(&ours[..3], &common, 1e-10);
    assert_close(&ours[12..], &[0.296_550_421_562_381_26; 2], 1e-10);
    assert!(other[0] < other[12] && other[12] < ours[12]);
    Ok(())
}

/// Rare values that occur with nothing else are an island: no walker comes to it or leaves it. This is a limit of the
/// method, and of `cbrw` as well.
#[test]
fn values_on_an_island_are_not_found() -> Result<()> {
    let [ours, other] = scores(&company([2, 2, 3, 2, 2, 3]))?;
    assert_close(&[ours[0], ours[12]], &[0.101_295_829_014_254_1, 0.099_970_552_072_924_75], 1e-10);
    assert!(ours[12] < ours[0] && other[12] < other[0]);
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
