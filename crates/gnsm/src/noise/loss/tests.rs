//! The loss and its gradient, against PyTorch and finite differences.

use super::super::{LevelsConfig, Smoothing, perturb};
use super::*;
use crate::math::{fill_gumbel, stream};

const COMBINATIONS: [(Parameterisation, Objective); 5] = [
    (Parameterisation::Noise, Objective::Mse),
    (Parameterisation::Noise, Objective::Kl),
    (Parameterisation::Posterior, Objective::Mse),
    (Parameterisation::Posterior, Objective::Kl),
    (Parameterisation::Posterior, Objective::CrossEntropy),
];

fn levels(smoothing: Smoothing) -> Levels {
    Levels::new(&LevelsConfig {
        count: 5,
        lambda_min: 2.0,
        lambda_max: 20.0,
        sigma_min: 0.1,
        sigma_max: 1.0,
        smoothing,
    })
    .expect("a valid schedule")
}

// crates/gnsm-bench/reference/noise.py, PyTorch autograd in float64.
#[test]
fn losses_and_gradients_agree_with_pytorch() {
    let levels = levels(Smoothing::Fixed { delta: 1e-5 });
    let layout = Layout::new(0, vec![3]);
    let mut x = [0.4, -1.0, 0.1];
    concrete::normalise(&mut x);
    let expected: [(f64, [f64; 3]); 5] = [
        (27.623_681_475_6, [-17.281_793_638_7, 1.125_303_356_9, 16.156_490_281_7]),
        (1.160_655_092_9, [-0.687_076_254_6, 0.171_471_547_1, 0.515_604_707_5]),
        (27.625_954_195_2, [-17.279_543_323_2, 1.126_397_520_2, 16.153_145_803_0]),
        (1.160_828_235_6, [-0.687_066_922_9, 0.171_471_307_1, 0.515_595_615_8]),
        (1.162_379_545_8, [-0.687_258_887_0, 0.171_635_961_9, 0.515_622_925_2]),
    ];
    for ((parameterisation, objective), (value, slope)) in COMBINATIONS.into_iter().zip(expected) {
        let weighted = objective == Objective::Mse;
        let loss = Loss { layout: &layout, levels: &levels, parameterisation, objective, weighted };
        let (mut gradient, mut scratch) = ([0.0; 3], [0.0; 12]);
        let actual = loss.row(&[0], &[], 4, &x, &[0.2, -0.4, 0.7], 1.0, &mut gradient, &mut scratch);
        assert!((actual - value).abs() < 1e-4 * value, "{objective:?}: {actual} {value}");
        for (g, s) in gradient.iter().zip(slope) {
            assert!((f64::from(*g) - s).abs() < 1e-4 * value.max(1.0), "{objective:?}: {g} {s}");
        }
    }
}

#[test]
fn gradients_agree_with_finite_differences_on_mixed_rows() {
    let layout = Layout::new(2, vec![1, 2, 6]);
    let width = layout.width();
    for smoothing in [Smoothing::Fixed { delta: 1e-3 }, Smoothing::Growing { first: 0.95, last: 0.05 }] {
        let levels = levels(smoothing);
        for (parameterisation, objective) in COMBINATIONS {
            for (level, weighted) in [(0, false), (4, true)] {
                let loss = Loss { layout: &layout, levels: &levels, parameterisation, objective, weighted };
                let (codes, numbers) = ([0, 1, 4], [0.3, -1.2]);
                let mut noisy = vec![0.0; width];
                fill_gumbel(&mut stream(1, 1, 1, 1), &mut noisy);
                perturb(&layout, &levels, level, &codes, &mut noisy);
                let logits: Vec<f32> = (0..width).map(|i| (i as f32 * 1.9).sin()).collect();
                let mut scratch = vec![0.0; Loss::scratch_length(&layout)];
                let mut gradient = vec![0.0; width];
                let value = loss.row(&codes, &numbers, level, &noisy, &logits, 1.0, &mut gradient, &mut scratch);
                for i in 0..width {
                    let mut at = |h: f32| {
                        let mut logits = logits.clone();
                        logits[i] += h;
                        let mut unused = vec![0.0; width];
                        loss.row(&codes, &numbers, level, &noisy, &logits, 1.0, &mut unused, &mut scratch)
                    };
                    let numeric = (at(1e-2) - at(-1e-2)) / 2e-2;
                    let error = (numeric - f64::from(gradient[i])).abs();
                    assert!(error < 2e-3 * value.max(1.0), "{parameterisation:?} {objective:?} {i}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_missing_number_and_an_unseen_category_ask_nothing() {
    let levels = levels(Smoothing::Growing { first: 0.95, last: 0.05 });
    let layout = Layout::new(1, vec![3]);
    let loss = Loss {
        layout: &layout,
        levels: &levels,
        parameterisation: Parameterisation::Posterior,
        objective: Objective::CrossEntropy,
        weighted: false,
    };
    let mut noisy = [0.5; 4];
    perturb(&layout, &levels, 0, &[UNSEEN], &mut noisy);
    let mut input = [9.0; 4];
    loss.parameterisation.present(&layout, &levels, 0, &noisy, &[f32::NAN], &mut input);
    assert!(input[1..].iter().all(|x| x.abs() < 1e-5), "an unseen category tells the network nothing");
    let mut gradient = [9.0; 4];
    let value = loss.row(&[UNSEEN], &[f32::NAN], 0, &noisy, &[1.0; 4], 1.0, &mut gradient, &mut [0.0; 16]);
    assert_eq!((value, gradient), (0.0, [0.0; 4]));
}
