//! Layer normalisation followed by an activation, forward and backward, one row at a time; and an activation by itself.
//!
//! Let x̂ = (x − mean)/√(var + ε) and u = gain·x̂ + shift. The forward pass gives act(u), and keeps x̂, act′(u) and the
//! reciprocal deviation r. The backward pass returns
//!
//! dx = r·(g − mean(g) − x̂·mean(g·x̂)), where g = du·gain and du = dout·act′(u).

use serde::{Deserialize, Serialize};

use crate::math::{dot, gelu, silu, simd, sum_by, tanh};

const EPSILON: f32 = 1e-5;
const LEAK: f32 = 0.01;

/// What follows a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// u itself.
    Linear,
    /// u·Φ(u), in the residual blocks.
    Gelu,
    /// max(u, 0.01·u), before the residual network's last layer.
    LeakyRelu,
    /// u·sigmoid(u), also called `SiLU`.
    Swish,
    /// The hyperbolic tangent.
    Tanh,
}

/// Calls a generic function with an activation's value and slope as a closure, so that each has a loop of its own.
macro_rules! with_activation {
    ($activation:expr, $call:ident($($argument:expr),*)) => {
        match $activation {
            Activation::Linear => $call(#[inline(always)] |u| (u, 1.0), $($argument),*),
            Activation::Gelu => $call(#[inline(always)] |u| gelu(u), $($argument),*),
            Activation::LeakyRelu => {
                $call(#[inline(always)] |u| if u > 0.0 { (u, 1.0) } else { (LEAK * u, LEAK) }, $($argument),*)
            }
            Activation::Swish => $call(#[inline(always)] |u| silu(u), $($argument),*),
            Activation::Tanh => $call(#[inline(always)] |u| tanh(u), $($argument),*),
        }
    };
}

/// What the backward pass needs again, for a tile of rows; of no rows where there is none.
pub(crate) struct Kept {
    /// x̂, [rows, width].
    pub normalised: Vec<f32>,
    /// act′(u), [rows, width].
    pub slope: Vec<f32>,
    /// 1/√(var + ε) of each row.
    pub reciprocal: Vec<f32>,
}

impl Kept {
    pub fn new(rows: usize, width: usize) -> Self {
        Self { normalised: vec![0.0; rows * width], slope: vec![0.0; rows * width], reciprocal: vec![0.0; rows] }
    }

    /// Of an activation without a normalisation: its slopes only.
    pub fn of_activation(rows: usize, width: usize) -> Self {
        Self { normalised: Vec::new(), slope: vec![0.0; rows * width], reciprocal: Vec::new() }
    }
}

/// `out = act(x)`, and the slopes.
pub(crate) fn activate(activation: Activation, out: &mut [f32], x: &[f32], slope: &mut [f32]) {
    with_activation!(activation, activate_with(out, x, slope));
}

fn activate_with(act: impl Fn(f32) -> (f32, f32), out: &mut [f32], x: &[f32], slope: &mut [f32]) {
    simd(
        #[inline(always)]
        || {
            for ((out, x), slope) in out.iter_mut().zip(x).zip(slope) {
                (*out, *slope) = act(*x);
            }
        },
    );
}

/// `out = act(gain·x̂ + shift)`, and what the backward pass needs, as far as there is room for it.
pub(crate) fn forward(
    activation: Activation,
    out: &mut [f32],
    x: &[f32],
    gain: &[f32],
    shift: &[f32],
    kept: &mut Kept,
) {
    with_activation!(activation, forward_with(out, x, gain, shift, kept));
}

fn forward_with(
    act: impl Fn(f32) -> (f32, f32),
    out: &mut [f32],
    x: &[f32],
    gain: &[f32],
    shift: &[f32],
    kept: &mut Kept,
) {
    let width = gain.len();
    simd(
        #[inline(always)]
        || {
            // Lengths that the compiler knows leave nothing to check in the loops, and nothing to do one at a time.
            let (gain, shift) = (&gain[..width], &shift[..width]);
            for (row, (out, x)) in out.chunks_exact_mut(width).zip(x.chunks_exact(width)).enumerate() {
                let (out, x) = (&mut out[..width], &x[..width]);
                let mean = sum_by(x, |x| x) / width as f32;
                let variance = sum_by(x, |x| (x - mean) * (x - mean)) / width as f32;
                let reciprocal = 1.0 / (variance + EPSILON).sqrt();
                let Some(kept_reciprocal) = kept.reciprocal.get_mut(row) else {
                    for i in 0..width {
                        out[i] = act(((x[i] - mean) * reciprocal).mul_add(gain[i], shift[i])).0;
                    }
                    continue;
                };
                *kept_reciprocal = reciprocal;
                let normalised = &mut kept.normalised[row * width..][..width];
                let slope = &mut kept.slope[row * width..][..width];
                for i in 0..width {
                    let centred = (x[i] - mean) * reciprocal;
                    normalised[i] = centred;
                    (out[i], slope[i]) = act(centred.mul_add(gain[i], shift[i]));
                }
            }
        },
    );
}

/// Turns `dout` into `dx`, plus `skip` where the layer sits beside a residual connection, and adds to the gradients
/// of gain and shift. `dout` is overwritten.
pub(crate) fn backward(
    dx: &mut [f32],
    dout: &mut [f32],
    skip: Option<&[f32]>,
    gain: &[f32],
    kept: &Kept,
    dgain: &mut [f32],
    dshift: &mut [f32],
) {
    let width = gain.len();
    simd(
        #[inline(always)]
        || {
            let (gain, dgain, dshift) = (&gain[..width], &mut dgain[..width], &mut dshift[..width]);
            for (row, (dx, du)) in dx.chunks_exact_mut(width).zip(dout.chunks_exact_mut(width)).enumerate() {
                let (dx, du) = (&mut dx[..width], &mut du[..width]);
                let normalised = &kept.normalised[row * width..][..width];
                let slope = &kept.slope[row * width..][..width];
                for i in 0..width {
                    du[i] *= slope[i];
                    dgain[i] = du[i].mul_add(normalised[i], dgain[i]);
                    dshift[i] += du[i];
                    du[i] *= gain[i];
                }
                let mean = sum_by(du, |du| du) / width as f32;
                let along = dot(du, normalised) / width as f32;
                let reciprocal = kept.reciprocal[row];
                for i in 0..width {
                    dx[i] = reciprocal * (du[i] - mean - normalised[i] * along);
                }
                if let Some(skip) = skip {
                    crate::math::add(dx, &skip[row * width..][..width]);
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_agree_with_finite_differences() {
        let (rows, width) = (3, 21);
        let numbers = |n: usize, seed: f32| -> Vec<f32> { (0..n).map(|i| (i as f32 * 1.3 + seed).sin()).collect() };
        // Shifts away from zero keep the finite differences clear of the leaky kink.
        let shift: Vec<f32> = numbers(width, 2.0).iter().map(|s| s + 2.5 * s.signum()).collect();
        let weight = numbers(rows * width, 5.0);
        for activation in
            [Activation::Linear, Activation::Gelu, Activation::LeakyRelu, Activation::Swish, Activation::Tanh]
        {
            let (x, gain) = (numbers(rows * width, 0.0), numbers(width, 1.0));
            let value = |x: &[f32], gain: &[f32], shift: &[f32]| -> f64 {
                let mut kept = Kept::new(rows, width);
                let mut out = vec![0.0; rows * width];
                forward(activation, &mut out, x, gain, shift, &mut kept);
                out.iter().zip(&weight).map(|(o, w)| f64::from(*o) * f64::from(*w)).sum()
            };
            let mut kept = Kept::new(rows, width);
            let mut out = vec![0.0; rows * width];
            forward(activation, &mut out, &x, &gain, &shift, &mut kept);
            let (mut dx, mut dgain, mut dshift) = (vec![0.0; rows * width], vec![0.0; width], vec![0.0; width]);
            backward(&mut dx, &mut weight.clone(), None, &gain, &kept, &mut dgain, &mut dshift);

            let check = |analytic: &[f32], perturb: &dyn Fn(usize, f32) -> f64| {
                for (i, a) in analytic.iter().enumerate() {
                    let step = 1e-2;
                    let numeric = (perturb(i, step) - perturb(i, -step)) / (2.0 * f64::from(step));
                    assert!((numeric - f64::from(*a)).abs() < 6e-3 * numeric.abs().max(1.0), "{i}: {a} {numeric}");
                }
            };
            let nudge = |v: &[f32], i: usize, h: f32| -> Vec<f32> {
                let mut v = v.to_vec();
                v[i] += h;
                v
            };
            check(&dx, &|i, h| value(&nudge(&x, i, h), &gain, &shift));
            check(&dgain, &|i, h| value(&x, &nudge(&gain, i, h), &shift));
            check(&dshift, &|i, h| value(&x, &gain, &nudge(&shift, i, h)));
        }
    }
}
