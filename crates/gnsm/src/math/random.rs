//! Streams of random numbers that have names and are never shared.
//!
//! Every tile of every step has a stream of its own, named by (seed, purpose, step, tile). So noise does not depend on
//! which thread draws it. A run that is resumed at step n draws what the uninterrupted run would have drawn.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::simd::{ln, simd};

/// The stream named by a seed and three numbers.
pub fn stream(seed: u64, purpose: u64, step: u64, tile: u64) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    for (bytes, word) in key.chunks_exact_mut(8).zip([seed, purpose, step, tile]) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    ChaCha8Rng::from_seed(key)
}

/// Fills with uniform numbers strictly between 0 and 1, 23 bits each.
fn fill_uniform(rng: &mut ChaCha8Rng, out: &mut [f32]) {
    for value in out {
        *value = uniform(rng.next_u32());
    }
}

/// The middle of one of 2²³ equal parts of (0, 1). With 24 bits the last one would be rounded to 1, whose double logarithm is
/// infinite.
#[inline(always)]
fn uniform(bits: u32) -> f32 {
    ((bits >> 9) as f32 + 0.5) * (1.0 / 8_388_608.0)
}

/// A number from 0 to 1, without 1, of 53 bits.
pub fn uniform_share(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// Fills with standard Gumbel numbers, −log(−log u).
pub fn fill_gumbel(rng: &mut ChaCha8Rng, out: &mut [f32]) {
    fill_uniform(rng, out);
    simd(
        #[inline(always)]
        || {
            for value in out {
                *value = -ln(-ln(*value));
            }
        },
    );
}

/// Fills with standard normal numbers (Box and Muller).
pub fn fill_normal(rng: &mut ChaCha8Rng, out: &mut [f32]) {
    for pair in out.chunks_mut(2) {
        let mut uniform = [0.0; 2];
        fill_uniform(rng, &mut uniform);
        let radius = (-2.0 * uniform[0].ln()).sqrt();
        let angle = std::f32::consts::TAU * uniform[1];
        pair[0] = radius * angle.cos();
        if let Some(second) = pair.get_mut(1) {
            *second = radius * angle.sin();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_numbers_reach_neither_end() {
        assert!(uniform(0) > 0.0 && uniform(u32::MAX) < 1.0);
        assert!((-ln(-ln(uniform(u32::MAX)))).is_finite());
    }

    fn moments(values: &[f32]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
        let variance = values.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / n;
        (mean, variance)
    }

    #[test]
    fn gumbel_and_normal_have_their_moments() {
        let mut values = vec![0.0; 200_001];
        fill_gumbel(&mut stream(1, 2, 3, 4), &mut values);
        let (mean, variance) = moments(&values);
        assert!((mean - 0.577_215_7).abs() < 0.01, "{mean}");
        assert!((variance - std::f64::consts::PI.powi(2) / 6.0).abs() < 0.03, "{variance}");
        fill_normal(&mut stream(1, 2, 3, 5), &mut values);
        let (mean, variance) = moments(&values);
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }

    #[test]
    fn each_stream_is_its_own() {
        let first = |rng: &mut ChaCha8Rng| rng.next_u64();
        let base = first(&mut stream(1, 2, 3, 4));
        assert_eq!(base, first(&mut stream(1, 2, 3, 4)));
        for other in [stream(0, 2, 3, 4), stream(1, 0, 3, 4), stream(1, 2, 0, 4), stream(1, 2, 3, 0)] {
            assert_ne!(base, first(&mut other.clone()));
        }
    }
}
