//! Gaussian noise on numbers, x̃ = x + σz, whose score is −(x̃ − x)/σ² = −z/σ (Vincent 2011; paper, `eq:dsm`).

/// The score of x̃ = x + σz given x.
pub fn score(z: f32, sigma: f32) -> f32 {
    -z / sigma
}

/// log N(x̃; x, σ²).
pub fn log_density(noisy: f64, clean: f64, sigma: f64) -> f64 {
    let z = (noisy - clean) / sigma;
    -0.5 * z * z - sigma.ln() - 0.5 * std::f64::consts::TAU.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn score_is_the_gradient_of_the_log_density() {
        let (clean, sigma, z) = (0.4, 0.3, 1.7);
        let noisy = clean + sigma * z;
        let numeric = (log_density(noisy + 1e-5, clean, sigma) - log_density(noisy - 1e-5, clean, sigma)) / 2e-5;
        assert!((numeric - f64::from(score(z as f32, sigma as f32))).abs() < 1e-4);
    }

    // scipy.stats.norm(0.4, 0.3).logpdf(0.91)
    #[test]
    fn log_density_agrees_with_scipy() {
        assert!((log_density(0.91, 0.4, 0.3) - EXPECTED).abs() < 1e-12);
    }
    const EXPECTED: f64 = -1.159_965_728_878_736_8;
}
