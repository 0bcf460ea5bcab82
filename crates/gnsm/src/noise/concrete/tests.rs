use super::*;
use crate::math::{fill_gumbel, stream};

const ALPHA: LogAlpha = LogAlpha { on: -0.3, off: -2.2 };

fn draw(k: usize, category: usize, lambda: f32, tile: u64) -> Vec<f32> {
    let mut x = vec![0.0; k];
    fill_gumbel(&mut stream(7, 0, 0, tile), &mut x);
    sample(&mut x, category, ALPHA, lambda);
    x
}

#[test]
fn samples_are_log_probabilities_and_obey_the_gumbel_max_law() {
    let (mut hits, draws) = (0, 20_000);
    for tile in 0..draws {
        let x = draw(4, 2, 3.0, tile);
        assert!((x.iter().map(|x| x.exp()).sum::<f32>() - 1.0).abs() < 1e-5);
        hits += usize::from(x.iter().all(|other| *other <= x[2]));
    }
    let expected = f64::from(ALPHA.on.exp() / (ALPHA.on.exp() + 3.0 * ALPHA.off.exp()));
    assert!((hits as f64 / draws as f64 - expected).abs() < 0.015, "{hits} {expected}");
}

// By autograd, float64: K = 3, α = (1 + 1e-5, 1e-5, 1e-5), λ = 2,
// x = log softmax([0.4, -1.0, 0.1]). See crates/gnsm-bench/reference/noise.py.
#[test]
fn density_and_score_agree_with_reference_values() {
    let alpha = LogAlpha { on: 1.000_01f32.ln(), off: 1e-5f32.ln() };
    let mut x = [0.4, -1.0, 0.1];
    normalise(&mut x);
    let density = log_density(&x, 0, alpha, 2.0);
    assert!((density - EXPECTED_LOG_DENSITY).abs() < 1e-4, "{density}");
    let mut score = [0.0; 3];
    noise_softmax(&mut score, &x, 0, alpha, 2.0);
    score_from_softmax(&mut score, 2.0);
    for (s, expected) in score.iter().zip(EXPECTED_SCORE) {
        assert!((s - expected).abs() < 1e-4, "{s} {expected}");
    }
}

const EXPECTED_LOG_DENSITY: f64 = -17.546_977_335_603_68;
const EXPECTED_SCORE: [f32; 3] = [3.998_904_2, -1.999_013_5, -1.999_890_7];

#[test]
fn score_is_the_gradient_of_the_log_density() {
    for (k, lambda) in [(2, 2.0), (5, 4.5), (9, 20.0)] {
        let x = draw(k, 1, lambda, 99);
        let mut score = vec![0.0; k];
        noise_softmax(&mut score, &x, 1, ALPHA, lambda);
        score_from_softmax(&mut score, lambda);
        for i in 0..k {
            let at = |h: f32| {
                let mut x = x.clone();
                x[i] += h;
                log_density(&x, 1, ALPHA, lambda)
            };
            let numeric = (at(1e-3) - at(-1e-3)) / 2e-3;
            assert!((numeric - f64::from(score[i])).abs() < 2e-2 * f64::from(lambda), "{numeric} {}", score[i]);
        }
    }
}

#[test]
fn softmax_of_groups_is_the_softmax_of_each() {
    let layout = Layout::new(2, vec![3, 1, 40]);
    let mut row: Vec<f32> = (0..46).map(|i| 3.0 * (i as f32).sin()).collect();
    let mut expected = row.clone();
    for places in layout.groups() {
        softmax(&mut expected[places]);
    }
    softmax_of_groups(&mut row, &layout);
    assert_eq!(row, expected);
}

#[test]
fn expected_softmax_is_the_mixture_over_categories() {
    let x = draw(6, 3, 5.0, 5);
    let mut posterior = [0.3, -1.0, 2.0, 0.0, 0.7, -0.2];
    softmax(&mut posterior);
    let mut expected = [0.0f32; 6];
    for (category, weight) in posterior.iter().enumerate() {
        let mut part = [0.0; 6];
        noise_softmax(&mut part, &x, category, ALPHA, 5.0);
        for (sum, part) in expected.iter_mut().zip(part) {
            *sum += weight * part;
        }
    }
    let (mut out, mut e, mut inverse) = ([0.0; 6], [0.0; 6], [0.0; 6]);
    expected_softmax(&mut out, &x, &posterior, ALPHA, 5.0, &mut e, &mut inverse);
    for (a, b) in out.iter().zip(expected) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn centre_is_the_sample_without_noise() {
    let mut x = [0.0; 3];
    centre(&mut x, 0, ALPHA, 4.0);
    assert!((x[0] - x[1] - (ALPHA.on - ALPHA.off) / 4.0).abs() < 1e-6);
    clean(&mut x, 0, ALPHA);
    assert!((x[0] - x[1] - (ALPHA.on - ALPHA.off)).abs() < 1e-6);
}
