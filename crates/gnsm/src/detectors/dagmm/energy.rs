//! The mixture of a batch, its energy, and how both change with every row's latent numbers and memberships; all in
//! double precision.
//!
//! With memberships γᵢₖ, latent rows zᵢ in d dimensions and sₖ = Σᵢ γᵢₖ,
//!
//! φₖ = sₖ/n,  μₖ = Σᵢ γᵢₖ zᵢ/sₖ,  Σₖ = Σᵢ γᵢₖ (zᵢ − μₖ)(zᵢ − μₖ)ᵀ/sₖ + εI,  E(z) = −log Σₖ φₖ N(z; μₖ, Σₖ).
//!
//! The objective's part that depends on them is J = (λ₁/n) Σᵢ E(zᵢ) + λ₂ Σₖ Σⱼ 1/(Σₖ)ⱼⱼ. With responsibilities rᵢₖ, dᵢₖ
//! = zᵢ − μₖ, Pₖ = Σₖ⁻¹ and a = λ₁/n, the gradient with respect to the mixture is
//!
//! ∂J/∂φₖ = −(a/φₖ) Σᵢ rᵢₖ,  mₖ = ∂J/∂μₖ = −a Pₖ Σᵢ rᵢₖ dᵢₖ,
//! Gₖ = ∂J/∂Σₖ = −(a/2)(Pₖ (Σᵢ rᵢₖ dᵢₖ dᵢₖᵀ) Pₖ − Pₖ Σᵢ rᵢₖ) − λ₂ diag((Σₖ)ⱼⱼ⁻²),
//!
//! and, since Σᵢ γᵢₖ dᵢₖ = 0 makes Σₖ stationary in μₖ, through it
//!
//! ∂J/∂zᵢ = Σₖ (a rᵢₖ Pₖ dᵢₖ + (γᵢₖ/sₖ)(mₖ + 2 Gₖ dᵢₖ)),
//! ∂J/∂γᵢₖ = (∂J/∂φₖ)/n + (mₖ·dᵢₖ + dᵢₖᵀ Gₖ dᵢₖ − tr(Gₖ (Σₖ − εI)))/sₖ.

use crate::density::GaussianMixture;
use crate::error::{Error, Result};
use crate::math::linalg::whitening;

/// Latent rows with their memberships.
#[derive(Clone, Copy)]
pub(super) struct Members<'a> {
    /// [rows, dimension].
    pub latent: &'a [f64],
    /// γ, [rows, components].
    pub memberships: &'a [f64],
    pub dimension: usize,
    pub components: usize,
}

/// The weights of the objective's terms.
#[derive(Debug, Clone, Copy)]
pub(super) struct EnergyWeights {
    /// λ₁.
    pub energy: f64,
    /// λ₂.
    pub covariance: f64,
    /// ε.
    pub regularisation: f64,
}

impl Members<'_> {
    fn rows(&self) -> impl Iterator<Item = (&[f64], &[f64])> {
        self.latent.chunks_exact(self.dimension).zip(self.memberships.chunks_exact(self.components))
    }

    fn n_rows(&self) -> f64 {
        (self.memberships.len() / self.components) as f64
    }

    /// sₖ of all components.
    fn sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.components];
        for (_, memberships) in self.rows() {
            add(&mut sums, memberships, 1.0);
        }
        sums
    }

    /// The mixture, and its covariances without ε: [components, dimension, dimension].
    pub fn mixture(&self, regularisation: f64) -> Result<(GaussianMixture, Vec<f64>)> {
        let (d, sums) = (self.dimension, self.sums());
        if sums.iter().any(|sum| sum.is_nan() || *sum <= 0.0) {
            let advice = "set memberships = \"softmax\", or take another seed";
            return Err(Error::fit("a component's memberships do not sum to more than 0", advice));
        }
        let mut means = vec![0.0; self.components * d];
        for (z, memberships) in self.rows() {
            for ((mean, share), sum) in means.chunks_exact_mut(d).zip(memberships).zip(&sums) {
                add(mean, z, share / sum);
            }
        }
        let mut covariances = vec![0.0; self.components * d * d];
        let mut centred = vec![0.0; d];
        for (z, memberships) in self.rows() {
            for (k, share) in memberships.iter().enumerate() {
                subtract(&mut centred, z, &means[k * d..][..d]);
                add_square(&mut covariances[k * d * d..][..d * d], &centred, share / sums[k]);
            }
        }
        let mut whitenings = Vec::with_capacity(covariances.len());
        for covariance in covariances.chunks_exact(d * d) {
            whitenings.extend(whitening(covariance, d, regularisation)?);
        }
        let weights = sums.iter().map(|sum| sum / self.n_rows()).collect();
        Ok((GaussianMixture { dimension: d, weights, means, whitening: whitenings }, covariances))
    }

    /// J, and its gradient with respect to latent rows and memberships unless there is no room for it.
    pub fn objective(&self, weights: EnergyWeights, d_latent: &mut [f64], d_memberships: &mut [f64]) -> Result<f64> {
        let (d, n) = (self.dimension, self.n_rows());
        let (mixture, covariances) = self.mixture(weights.regularisation)?;
        let energy: f64 = mixture.log_likelihoods(self.latent).iter().map(|l| -l).sum::<f64>() / n;
        let diagonal = |k: usize, j: usize| covariances[(k * d + j) * d + j] + weights.regularisation;
        let variances = || (0..self.components).flat_map(|k| (0..d).map(move |j| (k, j)));
        let penalty: f64 = variances().map(|(k, j)| 1.0 / diagonal(k, j)).sum();
        let objective = weights.energy * energy + weights.covariance * penalty;
        if d_memberships.is_empty() {
            return Ok(objective);
        }

        let (a, sums) = (weights.energy / n, self.sums());
        let precisions: Vec<f64> = mixture.whitening.chunks_exact(d * d).flat_map(|w| precision(w, d)).collect();
        let responsibilities: Vec<f64> =
            self.latent.chunks_exact(d).flat_map(|z| mixture.responsibilities(z)).collect();
        let mut centred = vec![0.0; d];
        let mut pushed = vec![0.0; d];
        d_latent.fill(0.0);
        for k in 0..self.components {
            let (mean, p) = (&mixture.means[k * d..][..d], &precisions[k * d * d..][..d * d]);
            let of_k = || self.latent.chunks_exact(d).zip(responsibilities.iter().skip(k).step_by(self.components));
            let (mut total, mut first, mut second) = (0.0, vec![0.0; d], vec![0.0; d * d]);
            for (z, r) in of_k() {
                subtract(&mut centred, z, mean);
                total += r;
                add(&mut first, &centred, *r);
                add_square(&mut second, &centred, *r);
            }
            let d_mean: Vec<f64> = product(p, &first, d).iter().map(|value| -a * value).collect();
            let p_second_p = matrix_product(&matrix_product(p, &second, d), p, d);
            let mut d_covariance: Vec<f64> =
                p_second_p.iter().zip(p).map(|(s, p)| -0.5 * a * (s - total * p)).collect();
            for j in 0..d {
                d_covariance[j * d + j] -= weights.covariance / diagonal(k, j).powi(2);
            }
            let d_weight = -a * total / mixture.weights[k];
            let trace: f64 = d_covariance.iter().zip(&covariances[k * d * d..]).map(|(g, c)| g * c).sum();
            for (i, (z, r)) in of_k().enumerate() {
                subtract(&mut centred, z, mean);
                let share = self.memberships[i * self.components + k] / sums[k];
                pushed.copy_from_slice(&product(&d_covariance, &centred, d)); // Gₖ dᵢₖ
                let d_z = &mut d_latent[i * d..][..d];
                add(d_z, &product(p, &centred, d), a * r);
                add(d_z, &d_mean, share);
                add(d_z, &pushed, 2.0 * share);
                let change = dot(&d_mean, &centred) + dot(&centred, &pushed) - trace;
                d_memberships[i * self.components + k] = d_weight / n + change / sums[k];
            }
        }
        Ok(objective)
    }
}

/// P = WᵀW.
fn precision(whitening: &[f64], d: usize) -> Vec<f64> {
    let mut precision = vec![0.0; d * d];
    for row in whitening.chunks_exact(d) {
        add_square(&mut precision, row, 1.0);
    }
    precision
}

fn add(to: &mut [f64], from: &[f64], factor: f64) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

fn subtract(to: &mut [f64], a: &[f64], b: &[f64]) {
    to.iter_mut().zip(a.iter().zip(b)).for_each(|(to, (a, b))| *to = a - b);
}

/// `to += factor·v·vᵀ`.
fn add_square(to: &mut [f64], v: &[f64], factor: f64) {
    for (row, value) in to.chunks_exact_mut(v.len()).zip(v) {
        add(row, v, factor * value);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn product(matrix: &[f64], v: &[f64], d: usize) -> Vec<f64> {
    matrix.chunks_exact(d).map(|row| dot(row, v)).collect()
}

/// a·b of symmetric b.
fn matrix_product(a: &[f64], b: &[f64], d: usize) -> Vec<f64> {
    a.chunks_exact(d).flat_map(|row| product(b, row, d)).collect()
}
