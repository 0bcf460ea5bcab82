//! The deep rivals in GNSM's training loop: resuming, limits, curves, and models that carry all of it.

use gnsm::internals::columns::{Encoded, Layout};
use gnsm::internals::method::Fitted;
use gnsm::internals::train::{Run, Saver, TrainingState};
use gnsm::{Ending, Method, Result, Silent, Watcher};

fn methods() -> Result<[Method; 2]> {
    let [mut dsvdd, mut dagmm] = [Method::named("dsvdd")?, Method::named("dagmm")?];
    if let (Method::Dsvdd(dsvdd), Method::Dagmm(dagmm)) = (&mut dsvdd, &mut dagmm) {
        (dsvdd.layers, dagmm.layers) = (vec![24, 8], vec![16, 8]);
        for training in [&mut dsvdd.training, &mut dagmm.training] {
            (training.batch, training.steps, training.validate_every, training.patience) = (150, 60, 10, 0);
        }
    }
    Ok([dsvdd, dagmm])
}

fn rows() -> (Layout, Encoded) {
    let codes = (0..200).flat_map(|i| [i % 3, (i * i) % 4]).collect();
    (
        Layout::new(1, vec![3, 4]),
        Encoded::new(200, codes, (0..200).map(|i| ((i * 7 % 11) as f32 - 5.0) / 4.0).collect()),
    )
}

fn fit(method: &Method, run: Run<'_>) -> Result<Fitted> {
    let (layout, rows) = rows();
    let all: Vec<usize> = (0..rows.n_rows()).collect();
    method.fit(&layout, &rows.select(&all[..150]), &rows.select(&all[150..]), run)
}

fn plain(watcher: &mut dyn Watcher) -> Run<'_> {
    Run { seed: 3, max_seconds: None, resume: None, save: None, watcher }
}

/// Asks for a stop after so many steps.
struct After(u64);

impl Watcher for After {
    fn stop(&mut self) -> bool {
        self.0 -= 1;
        self.0 == 0
    }
}

#[test]
fn a_resumed_fit_ends_with_the_same_bits() -> Result<()> {
    for method in methods()? {
        let whole = fit(&method, plain(&mut Silent))?;
        let mut states = Vec::new();
        let mut save = |state: &TrainingState| {
            states.push(state.clone());
            Ok(())
        };
        let save = Some(Saver { seconds: 0.0, save: &mut save });
        let stopped = fit(&method, Run { save, ..plain(&mut After(35)) })?;
        assert_eq!(stopped.training().map(|(_, ending)| ending), Some(Ending::Interrupted));
        let resume = states.pop();
        assert_eq!(resume.as_ref().map(|state| state.optimiser.step), Some(30));
        let resumed = fit(&method, Run { resume, ..plain(&mut Silent) })?;
        let (_, rows) = rows();
        assert_eq!(whole.detector().score(&rows), resumed.detector().score(&rows), "{}", method.name());
        assert_eq!(whole.training(), resumed.training());
    }
    Ok(())
}

#[test]
fn the_time_limit_and_early_stopping_end_training() -> Result<()> {
    for mut method in methods()? {
        let fitted = fit(&method, Run { max_seconds: Some(0.0), ..plain(&mut Silent) })?;
        assert_eq!(fitted.training().map(|(curve, ending)| (curve.len(), ending)), Some((1, Ending::TimeLimit)));
        let training = match &mut method {
            Method::Dsvdd(config) => &mut config.training,
            Method::Dagmm(config) => &mut config.training,
            _ => continue,
        };
        // Steps so small that nothing improves.
        (training.learning_rate, training.final_learning_rate, training.patience) = (1e-30, 1e-30, 2);
        let fitted = fit(&method, plain(&mut Silent))?;
        assert_eq!(fitted.training().map(|(_, ending)| ending), Some(Ending::StoppedEarly), "{}", method.name());
    }
    Ok(())
}

#[test]
fn training_lowers_the_validation_loss() -> Result<()> {
    for method in methods()? {
        let fitted = fit(&method, plain(&mut Silent))?;
        let (curve, _) = fitted.training().expect("it was trained");
        assert_eq!(curve.len(), 6);
        assert!(curve[5].validation < curve[0].validation, "{}: {curve:?}", method.name());
        assert_eq!(fitted.warning(), None);
    }
    Ok(())
}
