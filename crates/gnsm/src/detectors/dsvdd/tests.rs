use super::*;
use crate::network::{StackTrainer, TILE};
use crate::train::Silent;

const WIDTH: usize = 5;

fn run(watcher: &mut Silent) -> Run<'_> {
    Run { seed: 1, max_seconds: None, resume: None, save: None, watcher }
}

/// Values from `reference/deep.py` in the benchmarks, PyTorch 2.15.
#[test]
fn loss_and_gradient_agree_with_pytorch() {
    let config = DsvddConfig { layers: vec![6, 4], reconstruction: 0.7, ..DsvddConfig::default() };
    let mut sphere = Sphere::new(&config, WIDTH, true);
    sphere.centre = (0..4).map(|i| f64::from(i).cos()).collect();
    let n = deep::n_parameters(&sphere);
    let parameters: Vec<f32> = (0..n).map(|i| (0.3 * (0.37 * i as f64 + 0.1).sin()) as f32).collect();
    let mut trainer = StackTrainer::new(&sphere, 7);
    let loss = trainer.compute_gradient(&sphere, &parameters, |index, tile| {
        for position in 0..tile.rows {
            for (i, x) in tile.input(position).iter_mut().enumerate() {
                *x = (0.91 * ((index * TILE + position) * WIDTH + i) as f64).sin() as f32;
            }
        }
    });
    assert!((loss - 2.834_817_870_980_045_6).abs() < 1e-6, "{loss}");
    let check: f64 = trainer.gradient().iter().enumerate().map(|(i, g)| f64::from(*g) * (i as f64).cos()).sum();
    assert!((check - 0.123_235_120_933_680_93).abs() < 1e-6, "{check}");
}

/// A number that the first column decides, and a second column that repeats it.
fn rows(n: u32) -> (Layout, Encoded) {
    let codes = (0..n).flat_map(|i| [i % 3, i % 3]).collect();
    let numbers = (0..n).map(|i| (i % 3) as f32 - 1.0 + ((i * 7 % 11) as f32 - 5.0) / 40.0).collect();
    (Layout::new(1, vec![3, 3]), Encoded::new(n as usize, codes, numbers))
}

fn small(reconstruction: f64, steps: u64) -> DsvddConfig {
    let mut config = DsvddConfig { layers: vec![32, 8], reconstruction, ..DsvddConfig::default() };
    (config.training.steps, config.training.batch, config.training.patience) = (steps, 64, 0);
    config
}

#[test]
fn a_row_that_breaks_the_pattern_is_farther_out_and_the_parts_say_where() -> Result<()> {
    let (layout, training) = rows(300);
    let fitted = Dsvdd::fit(&small(1.0, 400), &layout, [&training; 2], run(&mut Silent))?;
    assert_eq!(fitted.warning(), None);
    let queries = Encoded::new(3, vec![0, 0, 0, 2, 1, 1], vec![-1.0, -1.0, 15.0]);
    let scores = fitted.score(&queries);
    assert!(scores[1] > scores[0] && scores[2] > scores[1], "{scores:?}");
    let split = fitted.split(&queries);
    assert!(split.parts(2)[0] > 0.8 * scores[2], "{split:?}");
    Ok(())
}

/// Without the decoder, one-hot groups stand in for the biases that the encoder does not have.
#[test]
fn a_collapsed_sphere_is_reported() -> Result<()> {
    let (layout, training) = rows(300);
    let mut config = small(0.0, 3000);
    (config.training.learning_rate, config.training.final_learning_rate) = (1e-2, 1e-6);
    let fitted = Dsvdd::fit(&config, &layout, [&training; 2], run(&mut Silent))?;
    let warning = fitted.warning().expect("a warning");
    assert!(warning.starts_with("the sphere collapsed: "), "{warning} {:?}", fitted.spread);
    Ok(())
}

#[test]
fn no_coordinate_of_the_centre_is_near_zero() -> Result<()> {
    let (layout, training) = rows(60);
    let fitted = Dsvdd::fit(&small(1.0, 1), &layout, [&training; 2], run(&mut Silent))?;
    assert!(fitted.sphere.centre.iter().all(|c| away_from_zero(*c) == *c));
    Ok(())
}
