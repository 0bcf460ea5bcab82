use super::*;
use crate::columns::Encoded;
use crate::columns::{Layout, UNSEEN};
use crate::detectors::Detector;
use crate::detectors::WalkConfig;
use crate::detectors::tests::{assert_close, fit_on, rows_of};
use crate::error::Result;

/// The example of the paper: gender, education, marriage, income of twelve people, of whom the first one cheats. Values
/// from `reference/cbrw.py` in the benchmarks, which writes the walk out with numpy.
#[test]
fn the_papers_example() -> Result<()> {
    let layout = Layout::new(0, vec![2, 3, 3, 3]);
    let people: [[u32; 4]; 12] = [
        [0, 0, 0, 0],
        [1, 0, 1, 1],
        [0, 0, 2, 2],
        [0, 1, 1, 1],
        [1, 0, 0, 2],
        [0, 2, 1, 2],
        [0, 0, 2, 2],
        [1, 2, 2, 1],
        [0, 2, 1, 1],
        [0, 1, 2, 0],
        [1, 2, 1, 1],
        [0, 0, 2, 0],
    ];
    let rows = Encoded::new(12, people.as_flattened().to_vec(), vec![]);
    let detector = fit_on(&rows, |all, run| Cbrw::fit(&WalkConfig::default(), &layout, all, run))?;
    let scores = detector.score(&rows);
    assert_close(
        &scores,
        &[
            0.105_763_323_188_089_81,
            0.079_574_374_842_779_78,
            0.074_203_765_259_895_85,
            0.080_341_006_403_575_47,
            0.099_262_494_190_976_96,
            0.075_066_487_878_162_46,
            0.074_203_765_259_895_85,
            0.081_350_973_201_677_83,
            0.072_596_825_531_934_97,
            0.098_065_645_416_658_67,
            0.080_894_035_331_362_12,
            0.089_001_804_056_435_85,
        ],
        1e-12,
    );
    assert!(scores[1..].iter().all(|score| *score < scores[0]));
    Ok(())
}

#[test]
fn constant_columns_and_unseen_values() -> Result<()> {
    let layout = Layout::new(0, vec![2, 1]);
    let rows = rows_of(&[(&[0, 0], &[]), (&[0, 0], &[]), (&[1, 0], &[])]);
    let detector = fit_on(&rows, |all, run| Cbrw::fit(&WalkConfig::default(), &layout, all, run))?;
    let split = detector.split(&rows_of(&[(&[1, 0], &[]), (&[1, UNSEEN], &[])]));
    assert_eq!(split.parts(0)[1], 0.0);
    assert!(split.parts(1)[1] > split.parts(1)[0] && split.parts(0)[0] > 0.0);
    Ok(())
}
