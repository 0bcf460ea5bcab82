//! What every method with a network owes its users, on small pictures and with small networks.

#[path = "../../gnsm/tests/library/shared_data.rs"]
mod shared_data;

use gnsm::internals::train::{Run, Saver, TrainingState};
use gnsm::mask::{Grid, MaskFitOptions, MaskFolder, MaskMethod, MaskModel, Preparation, Sample, Setup};
use gnsm::{Silent, Watcher};
use gnsm_masks::{MaskDsvdd, MaskGnsm, MaskGnsmConfig, NcsnSize, methods};

const SIDE: usize = 16;

/// A bright square on dark ground; its mask has it in this class, moved to the right.
fn pair(index: usize, class: u8, moved: usize) -> Sample {
    let (top, left, side) = (index % 5, index / 5 % 5, 4 + index % 3);
    let inside =
        |i: usize, left: usize| (top..top + side).contains(&(i / SIDE)) && (left..left + side).contains(&(i % SIDE));
    let cells = SIDE * SIDE;
    let mask: Vec<u8> = (0..cells).map(|i| if inside(i, left + moved) { class } else { 0 }).collect();
    let image: Vec<[u8; 3]> =
        (0..cells).map(|i| if inside(i, left) { [220, 90 * class, 40] } else { [30; 3] }).collect();
    Sample { mask: Grid::new([SIDE; 2], mask).expect("a grid"), image: Grid::new([SIDE; 2], image) }
}

/// A small network. Steps are few: what is promised holds for a network that has learned little, too.
fn small() -> MaskGnsmConfig {
    let mut config = MaskGnsmConfig::fast();
    config.network = NcsnSize { channels: 8, multipliers: vec![1, 2], blocks: 1, fold: 2 };
    config.training.steps = 12;
    config.training.validate_every = 4;
    config.training.batch = 8;
    config.levels.count = 3;
    config
}

fn small_methods() -> Vec<Box<dyn MaskMethod>> {
    let config = small();
    let mut norms = config.clone().with_paper_head();
    norms.levels.count = 3;
    let mut dsvdd = MaskDsvdd::default();
    dsvdd.config.network.channels = vec![8, 8];
    dsvdd.config.network.blocks = vec![1, 1];
    dsvdd.config.network.fused = 1;
    dsvdd.config.network.code = 8;
    dsvdd.config.training.steps = 8;
    dsvdd.config.training.validate_every = 4;
    vec![Box::new(MaskGnsm { config }), Box::new(MaskGnsm { config: norms }), Box::new(dsvdd)]
}

fn preparation(size: Option<u32>) -> Preparation {
    let mut preparation = Preparation::default();
    preparation.size = size;
    preparation
}

fn fit(method: &dyn MaskMethod) -> MaskModel {
    let samples = (0..60).map(|i| vec![pair(i, 1 + (i % 2) as u8, 0)]).collect();
    let mut options = MaskFitOptions::default();
    options.seed = 7;
    MaskModel::fit(samples, preparation(Some(SIDE as u32)), method, &options, &mut Silent).expect("a model")
}

fn queries() -> Vec<Sample> {
    vec![pair(3, 1, 0), pair(8, 2, 6), pair(4, 1, 1), pair(11, 2, 0), pair(20, 1, 9)]
}

#[test]
fn scores_survive_the_file_and_depend_on_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("masks.gnsm");
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    for method in small_methods() {
        let name = method.name();
        let mut model = fit(&*method);
        let scores = model.detector().score(&queries());
        assert!(scores.iter().all(|score| score.is_finite()), "{name}: {scores:?}");
        model.save(&path).expect("written");
        let bytes = std::fs::read(&path).expect("read");
        let loaded = MaskModel::load(&path, methods()).expect("loaded");
        assert_eq!(loaded.detector().score(&queries()), scores, "{name}: from the file");
        let one_by_one: Vec<f64> = queries().into_iter().flat_map(|query| model.detector().score(&[query])).collect();
        assert_eq!(one_by_one, scores, "{name}: one by one");
        let reversed: Vec<Sample> = queries().into_iter().rev().collect();
        let reversed: Vec<f64> = model.detector().score(&reversed).into_iter().rev().collect();
        assert_eq!(reversed, scores, "{name}: in another order");
        let mut again = one_thread.install(|| fit(&*method));
        assert_eq!(one_thread.install(|| again.detector().score(&queries())), scores, "{name}: on one thread");
        again.save(&path).expect("written");
        assert!(bytes == std::fs::read(&path).expect("read"), "{name}: the same file from one thread as from many");
    }
}

/// So a model that was fitted on a GPU is read on a CPU, and the other way round.
#[test]
fn a_model_file_names_no_device() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("masks.gnsm");
    for method in small_methods() {
        fit(&*method).save(&path).expect("written");
        let bytes = std::fs::read(&path).expect("read");
        let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
        let header = String::from_utf8(bytes[8..8 + length].to_vec()).expect("JSON").to_lowercase();
        for word in
            ["device", "flex", "cpu", "gpu", "cuda", "metal", "vulkan", &gnsm_masks::device_name().to_lowercase()]
        {
            assert!(!header.contains(word), "{}: {word}", method.name());
        }
        assert!(header.contains("\"dtype\":\"f32\""), "plain numbers: {header}");
    }
}

/// Thirty masks leave three to learn tails from. Scores stay scores that a person can read.
#[test]
fn few_masks_do_not_make_scores_of_any_size() {
    let samples = (0..30).map(|i| vec![pair(i, 1 + (i % 2) as u8, 0)]).collect();
    let mut config = small();
    (config.training.steps, config.training.validate_every) = (60, 20);
    let options = MaskFitOptions::default();
    let model = MaskModel::fit(samples, preparation(Some(SIDE as u32)), &MaskGnsm { config }, &options, &mut Silent);
    let scores = model.expect("a model").detector().score(&queries());
    assert!(scores.iter().all(|score| (0.0..200.0).contains(score)), "{scores:?}");
}

#[test]
fn every_pixel_has_its_share_of_the_score() {
    for method in small_methods() {
        let model = fit(&*method);
        let scores = model.detector().score(&queries());
        for ((score, map), expected) in model.detector().score_with_maps(&queries()).into_iter().zip(scores) {
            assert_eq!(score, expected);
            let Some(map) = map else {
                assert_eq!(method.name(), "dsvdd", "a code has no pixels");
                continue;
            };
            assert_eq!(map.shape(), [SIDE; 2]);
            assert!(map.cells().iter().all(|share| share.is_finite()));
            if method.settings()["head"] == "evidence" {
                let sum: f64 = map.cells().iter().map(|share| f64::from(*share)).sum();
                assert!((sum - score).abs() < 1e-4 * score, "{sum} {score}");
            }
        }
    }
}

#[test]
fn gnsm_learns_where_squares_belong() {
    let mut config = MaskGnsmConfig::fast();
    config.network = NcsnSize { channels: 8, multipliers: vec![1, 2], blocks: 1, fold: 2 };
    config.training.steps = 250;
    let model = fit(&MaskGnsm { config });
    let (curve, _) = model.detector().training().expect("a curve");
    assert!(curve.last().expect("a point").validation < 0.7 * curve[0].validation, "{curve:?}");
    let right: Vec<Sample> = (60..80).map(|i| pair(i, 1 + (i % 2) as u8, 0)).collect();
    let wrong: Vec<Sample> = (60..80).map(|i| pair(i, 1 + (i % 2) as u8, 5)).collect();
    let mean = |samples: &[Sample]| model.detector().score(samples).iter().sum::<f64>() / samples.len() as f64;
    assert!(mean(&wrong) > mean(&right) + 1.0, "{} {}", mean(&wrong), mean(&right));
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let refuse = |samples: Vec<Sample>, size: Option<u32>, method: &dyn MaskMethod| {
        let preparation = preparation(size);
        let options = MaskFitOptions::default();
        let samples = samples.into_iter().map(|sample| vec![sample]).collect();
        MaskModel::fit(samples, preparation, method, &options, &mut Silent).map(drop).expect_err("refused").to_string()
    };
    for method in small_methods() {
        let pairs = || (0..30).map(|i| pair(i, 1, 0)).collect::<Vec<Sample>>();
        let blind = pairs().into_iter().map(|pair| Sample { image: None, ..pair }).collect();
        assert!(refuse(blind, Some(16), &*method).contains("looks at images"), "{}", method.name());
        assert!(refuse(pairs(), Some(15), &*method).contains("multiple of"), "{}", method.name());
        assert!(refuse(pairs(), None, &*method).contains("size"), "{}", method.name());
    }
}

#[test]
fn a_training_that_was_stopped_goes_on_as_if_it_had_not() {
    let (training, validation): (Vec<Sample>, Vec<Sample>) =
        ((0..30).map(|i| pair(i, 1, 0)).collect(), (30..40).map(|i| pair(i, 1, 0)).collect());
    let setup = Setup { classes: 2, size: Some(SIDE as u32), seed: 7 };
    for method in small_methods() {
        let fit = |resume: Option<TrainingState>, states: &mut Vec<TrainingState>| {
            let mut save = |state: &TrainingState| {
                states.push(state.clone());
                Ok(())
            };
            let save = Some(Saver { seconds: 0.0, save: &mut save });
            let run = Run { seed: 7, max_seconds: None, resume, save, watcher: &mut Silent };
            method.fit(&training, &validation, &setup, run).expect("a detector").score(&queries()[..1])
        };
        let mut states = Vec::new();
        let whole = fit(None, &mut states);
        let halfway = states.swap_remove(0);
        assert!(halfway.optimiser.step < method.training().expect("it trains").steps);
        assert_eq!(fit(Some(halfway), &mut Vec::new()), whole, "{}", method.name());
    }
}

/// How far the measuring of usual masks has come.
#[derive(Default)]
struct Measured(Vec<(usize, usize)>);

impl Watcher for Measured {
    fn measured(&mut self, done: usize, total: usize) {
        self.0.push((done, total));
    }
}

#[test]
fn what_comes_after_training_can_be_watched() {
    let pairs: Vec<Sample> = (0..30).map(|i| pair(i, 1, 0)).collect();
    let setup = Setup { classes: 2, size: Some(SIDE as u32), seed: 7 };
    for method in small_methods() {
        let mut watcher = Measured::default();
        let run = Run { seed: 7, max_seconds: Some(0.0), resume: None, save: None, watcher: &mut watcher };
        method.fit(&pairs[..20], &pairs[20..], &setup, run).expect("a detector");
        let expected: &[(usize, usize)] = match method.settings()["head"].as_str() {
            Some("evidence") => &[(8, 10), (10, 10)],
            Some("norms") => &[(8, 30), (16, 30), (24, 30), (30, 30)],
            _ => &[],
        };
        assert_eq!(watcher.0, expected, "{}", method.name());
    }
}

#[test]
fn real_pairs_are_read_and_scored() {
    let Some(folder) = shared_data::folder("segmentation/dsb2018") else { return };
    let names = gnsm::mask::read_list(folder.join("train.txt")).expect("a list");
    let pairs = MaskFolder { masks: folder.join("masks"), images: Some(folder.join("images")) };
    let preparation = preparation(Some(32));
    let samples = preparation.read(&pairs, &names[..40]).into_iter().map(|sample| sample.expect("a pair")).collect();
    let mut config = MaskGnsmConfig::fast();
    config.network = NcsnSize { channels: 8, multipliers: vec![1, 2], blocks: 1, fold: 2 };
    config.training.steps = 20;
    let options = MaskFitOptions::default();
    let model = MaskModel::fit(samples, preparation, &MaskGnsm { config }, &options, &mut Silent).expect("a model");
    for scored in model.score(&pairs, &names[40..44]) {
        assert!(scored.expect("a score").score.is_finite());
    }
}
