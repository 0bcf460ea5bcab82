//! The `ExpConcrete` distribution: categories relaxed in the log domain (Maddison et al. 2017; paper, section 2.3).
//!
//! With α > 0 of K categories, temperature λ and Gumbel numbers G,
//!
//! x = (log α + G)/λ − logsumexp((log α + G)/λ)                                            `eq:log_concrete`
//!
//! log p(x) = log (K−1)! + (K−1)·log λ + Σ (log α − λx) − K·logsumexp(log α − λx)           `eq:log_pdf`
//!
//! ∂ log p/∂xⱼ = −λ + λK·softmax(log α − λx)ⱼ                                               `eq:concrete_score`
//!
//! Here α is always a smoothed one-hot ([`LogAlpha`]), so its K logs are two numbers and a category.

use super::LogAlpha;
use crate::columns::Layout;
use crate::math::{exp, ln};

/// Turns the Gumbel numbers in `x` into a sample around `category`.
#[inline(always)]
pub fn sample(x: &mut [f32], category: usize, alpha: LogAlpha, lambda: f32) {
    for value in x.iter_mut() {
        *value = (*value + alpha.off) / lambda;
    }
    x[category] += (alpha.on - alpha.off) / lambda;
    normalise(x);
}

/// The noise distribution's own centre: a sample with every Gumbel number equal.
#[inline(always)]
pub fn centre(x: &mut [f32], category: usize, alpha: LogAlpha, lambda: f32) {
    x.fill(0.0);
    sample(x, category, alpha, lambda);
}

/// The clean logits, log-softmax(log α), which is where the paper scores.
#[inline(always)]
pub fn clean(x: &mut [f32], category: usize, alpha: LogAlpha) {
    centre(x, category, alpha, 1.0);
}

/// Where nothing is known about the category: all equal.
#[inline(always)]
pub fn unknown(x: &mut [f32]) {
    x.fill(-(x.len() as f32).ln());
}

/// log p(x).
pub fn log_density(x: &[f32], category: usize, alpha: LogAlpha, lambda: f32) -> f64 {
    let k = x.len() as f64;
    let lambda = f64::from(lambda);
    let term = |i: usize| f64::from(if i == category { alpha.on } else { alpha.off }) - lambda * f64::from(x[i]);
    let largest = (0..x.len()).map(term).fold(f64::NEG_INFINITY, f64::max);
    let log_sum = largest + (0..x.len()).map(|i| (term(i) - largest).exp()).sum::<f64>().ln();
    let log_factorial: f64 = (1..x.len()).map(|i| (i as f64).ln()).sum();
    log_factorial + (k - 1.0) * lambda.ln() + (0..x.len()).map(term).sum::<f64>() - k * log_sum
}

/// `out = softmax(log α − λx)`, the softmax of the logit noise ε.
#[inline(always)]
pub fn noise_softmax(out: &mut [f32], x: &[f32], category: usize, alpha: LogAlpha, lambda: f32) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = -lambda * x;
    }
    out[category] += alpha.on - alpha.off;
    softmax(out);
}

/// The score, −λ + λK·softmax(ε), from softmax(ε), in place.
#[inline(always)]
pub fn score_from_softmax(softmax: &mut [f32], lambda: f32) {
    let k = softmax.len() as f32;
    for value in softmax {
        *value = lambda * (k * *value - 1.0);
    }
}

/// For a distribution π over the category, `out = Σ π_k·softmax(log α⁽ᵏ⁾ − λx)`: the expected softmax(ε) given x.
///
/// α⁽ᵏ⁾ differs from a constant in one place, so with eⱼ = exp(−λxⱼ), S = Σ e, r = α_on/α_off and D_k = S + (r−1)·e_k this is
/// eⱼ·Σ_k π_k/D_k + (r−1)·eⱼ·πⱼ/Dⱼ, in O(K). `inverse` receives 1/D_k and `e` the eⱼ, which a gradient needs again.
#[inline(always)]
pub fn expected_softmax(
    out: &mut [f32],
    x: &[f32],
    posterior: &[f32],
    alpha: LogAlpha,
    lambda: f32,
    e: &mut [f32],
    inverse: &mut [f32],
) {
    let excess = exp(alpha.on - alpha.off) - 1.0;
    let smallest = x.iter().copied().fold(f32::INFINITY, f32::min);
    for (e, x) in e.iter_mut().zip(x) {
        *e = exp(lambda * (smallest - x));
    }
    let total: f32 = e.iter().sum();
    let mut shared = 0.0;
    for ((inverse, e), p) in inverse.iter_mut().zip(&*e).zip(posterior) {
        *inverse = 1.0 / e.mul_add(excess, total);
        shared = p.mul_add(*inverse, shared);
    }
    for (i, out) in out.iter_mut().enumerate() {
        *out = e[i] * (excess * posterior[i]).mul_add(inverse[i], shared);
    }
}

/// `x − logsumexp(x)`, in place.
#[inline(always)]
pub fn normalise(x: &mut [f32]) {
    let largest = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f32 = x.iter().map(|x| exp(x - largest)).sum();
    let log_sum = largest + ln(total);
    for x in x {
        *x -= log_sum;
    }
}

/// Softmax in place.
#[inline(always)]
pub fn softmax(x: &mut [f32]) {
    let largest = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut total = 0.0;
    for x in x.iter_mut() {
        *x = exp(*x - largest);
        total += *x;
    }
    let reciprocal = 1.0 / total;
    for x in x {
        *x *= reciprocal;
    }
}

/// [`softmax`] of each group of a row: the same bits, and one pass over all exponentials, which are the work.
#[inline(always)]
pub fn softmax_of_groups(row: &mut [f32], layout: &Layout) {
    for places in layout.groups() {
        let group = &mut row[places];
        let largest = group.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for x in group {
            *x -= largest;
        }
    }
    for x in &mut row[layout.n_numbers()..] {
        *x = exp(*x);
    }
    for places in layout.groups() {
        let group = &mut row[places];
        let reciprocal = 1.0 / group.iter().sum::<f32>();
        for x in group {
            *x *= reciprocal;
        }
    }
}

#[cfg(test)]
mod tests {
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
}
