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
mod tests;
