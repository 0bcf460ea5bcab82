//! Tests that every method passes, and the references worked out by hand.

use super::super::detector::references;
use super::super::grid::Grid;
use super::*;
use crate::mask::{ForegroundShare, LargestComponent};
use crate::train::Silent;

/// A mask of 10 × 10 with a square of this side and class.
fn square(class: u8, side: usize) -> Sample {
    let cells = (0..100).map(|i| if i % 10 < side && i / 10 < side { class } else { 0 }).collect();
    Sample { mask: Grid::new([10, 10], cells).expect("a grid"), image: None }
}

/// Squares of side 3 to 6 of class 1 and 2.
fn squares(n: usize) -> Vec<Vec<Sample>> {
    (0..n).map(|i| vec![square(1 + (i % 2) as u8, 3 + i * 7 % 4)]).collect()
}

fn options() -> MaskFitOptions {
    MaskFitOptions { seed: 3, ..MaskFitOptions::default() }
}

fn fit(method: &dyn MaskMethod, samples: Vec<Vec<Sample>>) -> MaskModel {
    MaskModel::fit(samples, Preparation::default(), method, &options(), &mut Silent).expect("a model")
}

fn queries() -> Vec<Sample> {
    vec![square(1, 4), square(2, 9), square(1, 1), square(1, 0), square(2, 5), square(4, 4)]
}

#[test]
fn scores_survive_the_file_and_do_not_depend_on_the_batch() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("masks.gnsm");
    for method in references() {
        let mut model = fit(&*method, squares(60));
        model.save(&path).expect("written");
        let bytes = std::fs::read(&path).expect("read");
        let loaded = MaskModel::load(&path, references()).expect("loaded");
        let scores = model.detector.score(&queries());
        assert_eq!(scores, loaded.detector.score(&queries()), "{}", method.name());
        assert_eq!(model.to_bytes().expect("bytes"), bytes, "{}", method.name());
        let twin = MaskModel::from_bytes(&bytes, references()).expect("a model");
        assert_eq!(twin.score_samples(&queries()), model.score_samples(&queries()), "{}", method.name());
        let cut = MaskModel::from_bytes(&bytes[..bytes.len() / 2], references()).expect_err("cut short").to_string();
        assert!(cut.starts_with("model: "), "{cut}");
        let one_by_one: Vec<f64> = queries().into_iter().flat_map(|query| loaded.detector.score(&[query])).collect();
        assert_eq!(scores, one_by_one, "{}", method.name());
        assert!(scores.iter().all(|score| score.is_finite()), "{scores:?}");
        assert_eq!((loaded.method(), loaded.hash()), (method.name(), model.hash()));
        assert_eq!((loaded.report(), loaded.preparation()), (model.report(), model.preparation()));
        assert_eq!(loaded.calibration(), model.calibration());
        fit(&*method, squares(60)).save(&path).expect("written");
        assert_eq!(bytes, std::fs::read(&path).expect("read"), "the same seed and data give the same file");
    }
}

#[test]
fn damaged_models_are_refused() {
    for method in references() {
        let model = fit(&*method, squares(60));
        let setup = Setup { classes: 3, size: None, seed: 3 };
        let mut tensors = Tensors::default();
        let content = model.detector.save(&mut tensors).expect("saved");
        for array in tensors.names() {
            let (mut without, mut short) = (tensors.clone(), tensors.clone());
            without.remove(&array);
            assert!(short.shorten(&array));
            assert!(method.load(content.clone(), &setup, &mut without).is_err(), "{array}");
            assert!(method.load(content.clone(), &setup, &mut short).is_err(), "{array}");
            let mut descending = tensors.clone();
            let mut values: Vec<f64> = descending.take_any(&array).expect("an array");
            values.reverse();
            descending.put(&array, values);
            assert!(method.load(content.clone(), &setup, &mut descending).is_err(), "{array}");
        }
        assert!(method.load(serde_json::json!({}), &setup, &mut tensors.clone()).is_err());
        assert!(method.load(content, &setup, &mut tensors).is_ok());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("masks.gnsm");
    fit(&ForegroundShare, squares(30)).save(&path).expect("written");
    let error = MaskModel::load(&path, vec![Box::new(LargestComponent)]).expect_err("no such method").to_string();
    assert!(error.contains("`foreground-share` is not one of largest-component"), "{error}");
    let error = crate::model::Model::load(&path).expect_err("no table model").to_string();
    assert!(
        error.ends_with("this is a gnsm-mask-model file, not a gnsm-model file; give a file that `gnsm fit` wrote")
    );
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let refused = |samples, preparation: Preparation| {
        MaskModel::fit(samples, preparation, &ForegroundShare, &options(), &mut Silent)
            .map(drop)
            .expect_err("refused")
            .to_string()
    };
    let any = Preparation::default();
    assert_eq!(refused(squares(19), any), "there are 19 masks to learn from; give at least 20");
    assert!(refused(vec![vec![square(1, 0)]; 30], any).starts_with("no mask has any foreground; "));
    assert_eq!(
        refused(squares(30), Preparation { classes: Some(1), ..any }),
        "setting `classes`: is 1, must lie between 2 and 256"
    );
    assert_eq!(
        refused(squares(30), Preparation { size: Some(0), ..any }),
        "setting `size`: is 0, must lie between 1 and 4096"
    );
}

#[test]
fn classes_are_counted_unless_given() {
    assert_eq!(fit(&ForegroundShare, squares(30)).preparation().classes, Some(3));
    let more = Preparation { classes: Some(21), ..Preparation::default() };
    let model = MaskModel::fit(squares(30), more, &LargestComponent, &options(), &mut Silent).expect("a model");
    assert_eq!(model.preparation().classes, Some(21));
    assert_eq!(model.report().masks, [24, 3, 3]);
}

/// A volume of three slices is one mask: it is held out as a whole, and has the score of its oddest slice.
#[test]
fn a_volume_has_one_verdict() {
    let volumes = (0..30).map(|i| [4, 5, 3 + i % 4].map(|side| square(1, side)).to_vec()).collect();
    let model = fit(&ForegroundShare, volumes);
    assert_eq!((model.report().masks, model.calibration().rows()), ([24, 3, 3], 3));
    let verdict = model.verdict(vec![(0.5, None), (2.0, None), (2.0, None), (1.0, None)]);
    assert_eq!((verdict.scored.score, verdict.oddest), (2.0, 1));
    let alone = model.verdict(vec![(f64::NAN, None)]);
    assert!(alone.scored.score.is_nan());
}

/// Nine masks with class 1 of 4, 9, …, 64 and 1 %; the tails count with one more.
#[test]
fn references_worked_out_by_hand() {
    let samples: Vec<Sample> = (0..9).map(|side| square(1, side)).collect();
    let setup = Setup { classes: 3, size: None, seed: 0 };
    let scores = |method: &dyn MaskMethod, queries: &[Sample]| {
        let run = Run { seed: 0, max_seconds: None, resume: None, save: None, watcher: &mut Silent };
        method.fit(&samples[..5], &samples[5..], &setup, run).expect("fitted").score(queries)
    };
    // Shares of 0, 1, 4, 9, 16, 25, 36, 49 and 64 %.
    let nats = |tail: f64| -tail.ln();
    let queries = [square(1, 0), square(2, 1), square(1, 4), square(1, 9), square(2, 8)];
    assert_eq!(scores(&ForegroundShare, &queries), [nats(0.4), nats(0.6), 0.0, nats(0.2), nats(0.4)]);
    // Eight masks have class 1, one has nothing, none has class 2.
    let expected = [(10.0f64 / 2.0).ln(), 10.0f64.ln(), 0.0, nats(2.0 / 9.0), 10.0f64.ln()];
    assert_eq!(scores(&LargestComponent, &queries), expected);
    // The oddest class speaks, and only its largest piece.
    let mut two = square(1, 4);
    two.mask.cells_mut()[99] = 1;
    assert_eq!(scores(&LargestComponent, std::slice::from_ref(&two)), [0.0]);
    two.mask.cells_mut()[99] = 2;
    assert_eq!(scores(&LargestComponent, &[two]), [10.0f64.ln()]);
}
