//! Objective, energies and gradients against PyTorch and finite differences; settings; what is learned.

use super::*;
use crate::network::{StackReader, StackTrainer, TILE};
use crate::train::Silent;

const ROWS: usize = 140;
const WIDTH: usize = 5;

fn small() -> DagmmConfig {
    let training = DagmmConfig::default().training;
    DagmmConfig {
        layers: vec![6],
        code: 2,
        estimation: 3,
        dropout: 0.0,
        components: 2,
        energy: 0.1,
        covariance: 0.005,
        regularisation: 1e-3,
        memberships: Memberships::Softmax,
        restarts: 0,
        training,
    }
}

fn input(row: usize, input: &mut [f32]) {
    for (i, x) in input.iter_mut().enumerate() {
        *x = (0.91 * (row * WIDTH + i) as f64).sin() as f32;
    }
}

fn parameters(compression: &Compression) -> Vec<f32> {
    (0..deep::n_parameters(compression)).map(|i| (0.3 * (0.37 * i as f64 + 0.1).sin()) as f32).collect()
}

/// Values from `reference/deep.py` in the benchmarks, PyTorch 2.15.
#[test]
fn objective_energies_and_gradient_agree_with_pytorch() -> Result<()> {
    let compression = Compression::new(&small(), WIDTH);
    let parameters = parameters(&compression);
    let mut trainer = StackTrainer::new(&compression, ROWS);
    let loss = trainer.compute_gradient(&compression, &parameters, |index, tile| {
        for position in 0..tile.rows {
            input(index * TILE + position, tile.input(position));
        }
    });
    assert!((loss - 15.674_692_465_758_804).abs() < 1e-4, "{loss}");
    let check: f64 = trainer.gradient().iter().enumerate().map(|(i, g)| f64::from(*g) * (i as f64).cos()).sum();
    assert!((check - 190.951_499_685_020_96).abs() < 2e-2, "{check}");

    let mut reader = StackReader::new(&compression, ROWS);
    let (latent, memberships) = compression.members(reader.read(&compression, &parameters, input));
    let (mixture, _) = compression.as_members(&latent, &memberships).mixture(1e-3)?;
    let expected = [-6.343_057_520_507_985, -7.062_115_426_040_578, -6.094_990_788_785_449_5];
    for (z, expected) in latent.chunks_exact(4).zip(expected) {
        assert!((-mixture.log_likelihood(z) - expected).abs() < 1e-4, "{z:?}: {expected}");
    }
    Ok(())
}

/// Through φ, μ, Σ and the softmax, for every number of every row.
#[test]
fn the_gradient_through_the_mixture_agrees_with_finite_differences() {
    use Memberships::{Logits, Softmax};
    for (code, components, memberships) in
        [(1, 4, Softmax), (2, 2, Softmax), (3, 1, Softmax), (1, 4, Logits), (2, 2, Logits)]
    {
        let compression = Compression::new(&DagmmConfig { code, components, memberships, ..small() }, WIDTH);
        let n = 9 * compression.n_results();
        let mut results: Vec<f64> =
            (0..n).map(|i| (1.7 * i as f64 + 0.2).sin() + 0.3 * (0.31 * i as f64).cos()).collect();
        for row in results.chunks_exact_mut(compression.n_results()) {
            // Without a softmax, some are below 0, but not their sums.
            row[code + 2..code + 2 + components].iter_mut().for_each(|logit| *logit += 1.0);
        }
        let mut analytic = vec![0.0; n];
        let value = compression.loss(&results, &mut analytic);
        assert_eq!(value.to_bits(), compression.loss(&results, &mut []).to_bits());
        for i in 0..n {
            let at = |distance: f64| {
                let mut moved = results.clone();
                moved[i] += distance;
                compression.loss(&moved, &mut [])
            };
            let numeric = (8.0 * (at(1e-4) - at(-1e-4)) - (at(2e-4) - at(-2e-4))) / 12e-4;
            let error = (numeric - analytic[i]).abs();
            assert!(error < 1e-7 * analytic[i].abs().max(1.0), "{code}, {components}, {i}: {} {numeric}", analytic[i]);
        }
    }
}

#[test]
fn a_comparison_goes_back_as_finite_differences_say() {
    let (x, seen) = ([0.5f32, -1.0, 0.0, 2.0], [0.25f32, -0.5, 1.0, 1.5]);
    let slopes = Slopes { squared_error: 0.3, distance: -1.5, cosine: 2.0 };
    let value = |x: &[f32], seen: &[f32]| {
        let c = Comparison::new(x, seen);
        0.3 * c.squared_error - 1.5 * c.distance + 2.0 * c.cosine
    };
    let (mut d_seen, mut d_x) = ([0.0; 4], [0.0; 4]);
    Comparison::new(&x, &seen).backward_seen(&x, &seen, slopes, &mut d_seen);
    Comparison::new(&x, &seen).backward_row(&x, &seen, slopes, &mut d_x);
    for i in 0..4 {
        let moved = |values: [f32; 4], by: f32| {
            let mut values = values;
            values[i] += by;
            values
        };
        let step = 1.0 / 256.0;
        let of_seen = (value(&x, &moved(seen, step)) - value(&x, &moved(seen, -step))) / (2.0 * f64::from(step));
        let of_x = (value(&moved(x, step), &seen) - value(&moved(x, -step), &seen)) / (2.0 * f64::from(step));
        assert!((of_seen - f64::from(d_seen[i])).abs() < 1e-4, "{of_seen} {}", d_seen[i]);
        assert!((of_x - f64::from(d_x[i])).abs() < 1e-4, "{of_x} {}", d_x[i]);
    }
}

/// A row of zeros, a perfect reconstruction: both have numbers and gradients.
#[test]
fn degenerate_rows_compare() {
    for (x, seen) in [([0.0f32; 3], [0.0f32; 3]), ([0.0; 3], [1.0; 3]), ([1.0; 3], [1.0; 3]), ([1.0; 3], [0.0; 3])] {
        let comparison = Comparison::new(&x, &seen);
        assert!(comparison.distance.is_finite() && comparison.cosine.is_finite(), "{comparison:?}");
        let slopes = Slopes { squared_error: 1.0, distance: 1.0, cosine: 1.0 };
        let (mut d_seen, mut d_x) = ([0.0; 3], [0.0; 3]);
        comparison.backward_seen(&x, &seen, slopes, &mut d_seen);
        comparison.backward_row(&x, &seen, slopes, &mut d_x);
        assert!(d_seen.iter().chain(&d_x).all(|d| d.is_finite()), "{comparison:?}");
    }
}

/// No member, equal rows: still a finite loss and gradient.
#[test]
fn an_empty_component_and_equal_rows_have_a_loss() {
    let compression = Compression::new(&small(), WIDTH);
    let row = [0.1, -0.2, 0.5, 0.9, 800.0, -800.0, 2.0];
    for rows in [vec![row; 6].concat(), [row, [1.0, 2.0, 0.4, 0.2, 700.0, -900.0, 0.5]].concat()] {
        let mut d = vec![0.0; rows.len()];
        let loss = compression.loss(&rows, &mut d);
        assert!(loss.is_finite() && d.iter().all(|d| d.is_finite()), "{loss} {d:?}");
    }
}

#[test]
fn the_settings_of_the_paper_are_valid() -> Result<()> {
    for set in [PaperSet::Any, PaperSet::Bank, PaperSet::Census, PaperSet::Cmc, PaperSet::Probe] {
        DagmmConfig::paper(set).validate()?;
    }
    let probe = DagmmConfig::paper(PaperSet::named("u2r"));
    assert_eq!((probe.code, probe.components, probe.training.batch), (1, 4, 1024));
    assert_eq!(
        (probe.memberships, probe.training.validate_every, probe.training.patience),
        (Memberships::Logits, 0, 10)
    );
    assert_eq!(DagmmConfig::paper(PaperSet::named("solar")), DagmmConfig::paper(PaperSet::Any));
    Ok(())
}

/// Rows of one number and two groups, of which the second repeats the first.
fn repeating(n: usize) -> (Layout, Encoded) {
    let codes = (0..n as u32).flat_map(|i| [i % 3, i % 3]).collect();
    let numbers = (0..n).map(|i| ((i * 7 % 11) as f32 - 5.0) / 4.0).collect();
    (Layout::new(1, vec![3, 3]), Encoded::new(n, codes, numbers))
}

fn plain_run(seed: u64) -> Run<'static> {
    Run { seed, max_seconds: None, resume: None, save: None, watcher: Box::leak(Box::new(Silent)) }
}

/// Without a softmax, half of all first weights give a component less than nothing.
#[test]
fn a_loss_that_is_no_number_starts_training_over_and_later_keeps_the_best() -> Result<()> {
    let (layout, rows) = repeating(200);
    let held_out = rows.select(&(0..40).collect::<Vec<_>>());
    let mut config = DagmmConfig { layers: vec![8], components: 2, memberships: Memberships::Logits, ..small() };
    (config.training.steps, config.training.batch) = (40, 100);
    (config.training.validate_every, config.training.patience) = (0, 0);
    let fit = |config: &DagmmConfig, seed| Dagmm::fit(config, &layout, [&rows, &held_out], plain_run(seed));
    let lost: Vec<u64> = (0..20).filter(|seed| fit(&config, *seed).is_err()).collect();
    assert!((1..20).contains(&lost.len()), "{lost:?}");
    config.restarts = 20;
    for seed in 0..20 {
        let fitted = fit(&config, seed)?;
        assert!(matches!(fitted.ending(), Ending::Completed | Ending::Diverged), "{:?}", fitted.ending());
        assert!(fitted.score(&rows).iter().all(|score| score.is_finite()));
        // Two batches make an epoch.
        assert_eq!(fitted.curve()[0].step, 2);
    }
    Ok(())
}

/// The second column repeats the first in training; a row where it does not is odd.
#[test]
fn a_row_that_breaks_the_pattern_has_a_higher_energy_and_the_parts_say_where() -> Result<()> {
    let (layout, rows) = repeating(300);
    let mut config = DagmmConfig { layers: vec![16, 8], ..DagmmConfig::default() };
    (config.training.steps, config.training.batch) = (600, 128);
    let fitted = Dagmm::fit(&config, &layout, [&rows, &rows.select(&(0..60).collect::<Vec<_>>())], plain_run(1))?;
    let queries = Encoded::new(3, vec![0, 0, 0, 2, 1, 1], vec![0.0, 0.0, 15.0]);
    let scores = fitted.score(&queries);
    assert!(scores[1] > scores[0] && scores[2] > scores[0], "{scores:?}");
    let split = fitted.split(&queries);
    assert!(split.parts(2)[0] > split.parts(2)[1].abs() + split.parts(2)[2].abs(), "{split:?}");
    Ok(())
}
