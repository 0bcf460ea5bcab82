//! The loop, with GNSM's network in it.

use super::*;
use crate::columns::{Encoded, Layout};
use crate::math::stream;
use crate::network::{Ends, NetworkSize, OptimiserConfig, ResidualNetwork};
use crate::noise::{Levels, LevelsConfig, Smoothing};
use crate::noise::{Loss, Objective, Parameterisation};

fn config(steps: u64) -> TrainingConfig {
    TrainingConfig {
        batch: 150,
        steps,
        epochs: 0,
        hidden: 0.1,
        learning_rate: 3e-3,
        final_learning_rate: 1e-4,
        validate_every: 10,
        patience: 0,
        validation_rows: 100,
        optimiser: OptimiserConfig {
            beta_1: 0.9,
            beta_2: 0.999,
            weight_decay: 1e-4,
            clip: 1.0,
            average: 0.9,
            average_warmup: true,
        },
    }
}

/// Asks for a stop after so many steps.
struct After(u64);
impl Watcher for After {
    fn stop(&mut self) -> bool {
        self.0 -= 1;
        self.0 == 0
    }
}

/// The second column repeats the first; the number is its double.
fn rows(n: u32) -> Encoded {
    let codes = (0..n).flat_map(|i| [i % 3, i % 3]).collect();
    Encoded::new(n as usize, codes, (0..n).map(|i| (i % 3) as f32 * 2.0 - 2.0).collect())
}

fn run_with(config: &TrainingConfig, run: Run<'_>) -> Result<Trained> {
    let layout = Layout::new(1, vec![3, 3]);
    let levels = Levels::new(&LevelsConfig {
        count: 4,
        lambda_min: 2.0,
        lambda_max: 20.0,
        sigma_min: 0.1,
        sigma_max: 1.0,
        smoothing: Smoothing::Growing { first: 0.95, last: 0.05 },
    })?;
    let loss = Loss {
        layout: &layout,
        levels: &levels,
        parameterisation: Parameterisation::Posterior,
        objective: Objective::CrossEntropy,
        weighted: false,
    };
    let ends = Ends { inputs: 7, outputs: 7, levels: 4 };
    let size = NetworkSize { width: 32, depth: 2, embedding: 8 };
    let network = ResidualNetwork::new(size, ends, None, &mut stream(run.seed, 9, 0, 0));
    Ok(train_denoiser(network, config, &loss, &rows(300), &rows(100), run)?.1)
}

fn plain(watcher: &mut Silent) -> Run<'_> {
    Run { seed: 5, max_seconds: None, resume: None, save: None, watcher }
}

#[test]
fn training_lowers_the_validation_loss_and_keeps_the_best() {
    let trained = run_with(&config(120), plain(&mut Silent)).expect("trained");
    let first = trained.curve[0].validation;
    let best = trained.curve.iter().map(|point| point.validation).fold(f64::INFINITY, f64::min);
    assert!(best < 0.7 * first, "{first} {best}");
    assert_eq!(trained.curve.len(), 12);
    assert_eq!(trained.ending, Ending::Completed);
}

#[test]
fn a_resumed_run_ends_with_the_same_bits() {
    let whole = run_with(&config(60), plain(&mut Silent)).expect("trained");
    // Stopped between two validations, as a killed run would be.
    let mut states = Vec::new();
    let mut save = |state: &TrainingState| {
        states.push(state.clone());
        Ok(())
    };
    let saver = Saver { seconds: 0.0, save: &mut save };
    let run = Run { seed: 5, max_seconds: None, resume: None, save: Some(saver), watcher: &mut After(35) };
    run_with(&config(60), run).expect("trained");
    let state = states.pop().expect("one checkpoint");
    assert_eq!(state.optimiser.step, 30);
    let run = Run { seed: 5, max_seconds: None, resume: Some(state), save: None, watcher: &mut Silent };
    let resumed = run_with(&config(60), run).expect("trained");
    assert_eq!(whole.parameters, resumed.parameters);
    assert_eq!(whole.curve, resumed.curve);
}

#[test]
fn training_stops_early_on_time_and_on_request() {
    let mut stagnant = config(1000);
    (stagnant.learning_rate, stagnant.final_learning_rate, stagnant.patience) = (1e-12, 1e-12, 2);
    stagnant.optimiser.average = 0.0;
    let trained = run_with(&stagnant, plain(&mut Silent)).expect("trained");
    assert_eq!(trained.ending, Ending::StoppedEarly);

    let mut silent = Silent;
    let run = Run { max_seconds: Some(0.0), ..plain(&mut silent) };
    let trained = run_with(&config(1000), run).expect("trained");
    assert_eq!((trained.ending, trained.curve.len()), (Ending::TimeLimit, 1));

    let run = Run { seed: 5, max_seconds: None, resume: None, save: None, watcher: &mut After(1) };
    assert_eq!(run_with(&config(1000), run).expect("trained").ending, Ending::Interrupted);
}

/// One weight, without a gradient, and the validation losses that it is told to have.
struct Told {
    parameters: [f32; 1],
    losses: std::vec::IntoIter<f64>,
}

impl Learner for Told {
    fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    fn set_parameters(&mut self, parameters: &[f32]) {
        self.parameters.copy_from_slice(parameters);
    }

    fn compute_gradient(&mut self, _: u64) -> f64 {
        1.0
    }

    fn update(&mut self, optimiser: &mut Optimiser, _: f32) {
        optimiser.step += 1;
    }

    fn validate(&mut self, _: &[f32]) -> f64 {
        self.losses.next().unwrap_or(0.0)
    }
}

#[test]
fn a_validation_loss_that_is_no_number_is_a_divergence() {
    for (losses, step) in [(vec![f64::NAN], 10), (vec![2.0, f64::NAN], 20), (vec![2.0, 1.0, f64::INFINITY], 30)] {
        let wrong = losses[losses.len() - 1];
        let mut learner = Told { parameters: [0.0], losses: losses.into_iter() };
        let problem = train(&mut learner, &config(60), 300, &mut plain(&mut Silent)).expect_err("diverged").to_string();
        let expected =
            format!("training diverged at step {step}: the validation loss is {wrong}; lower training.learning_rate");
        assert_eq!(problem, expected);
    }
}

#[test]
fn small_tables_take_fewer_steps() {
    let mut limited = config(3000);
    (limited.batch, limited.epochs) = (512, 100);
    assert_eq!([50, 10_240, 1_000_000].map(|n| limited.for_rows(n).steps), [1000, 2000, 3000]);
    limited.steps = 10;
    assert_eq!(limited.for_rows(50).steps, 10);
}

#[test]
fn bad_settings_are_named() {
    let mut bad = config(10);
    bad.optimiser.beta_2 = 1.5;
    let message = run_with(&bad, plain(&mut Silent)).expect_err("refused").to_string();
    assert_eq!(message, "setting `training.optimiser.beta_2`: 1.5 is not in [0, 1)");
}

// torch.optim.lr_scheduler.CosineAnnealingLR(T_max=1000, eta_min=1e-5) from 1e-3, after 250 steps.
#[test]
fn the_learning_rate_follows_a_cosine() {
    let mut cosine = config(1000);
    (cosine.learning_rate, cosine.final_learning_rate) = (1e-3, 1e-5);
    assert!((cosine.learning_rate_at(250) - 8.550_178_6e-4).abs() < 1e-9);
    assert!((cosine.learning_rate_at(1000) - 1e-5).abs() < 1e-10);
}
