//! Elementary functions that the compiler can vectorise.
//!
//! `f32::exp` and `f32::ln` are calls into the C library, one element at a time. The functions here are plain
//! polynomials (Cephes' single-precision coefficients). They are inlined into loops that [`simd`] compiles for SSE2,
//! AVX2 and AVX-512, and it chooses among those at run time. They only use operations that round exactly (`mul_add`
//! included), and sums run over a fixed number of lanes. So a result has the same bits on every instruction set.

/// The number of partial sums in a reduction: one AVX-512 register of `f32`.
const LANES: usize = 16;

/// Runs `work` compiled for the best instruction set of this machine.
///
/// The closure must be marked `#[inline(always)]`: only what is inlined into the dispatched function is compiled for it.
#[inline(always)]
pub fn simd<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// e^x, within 2 units in the last place; the argument is clamped to the range of finite, normal results.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 · 2^23: adding it rounds to the nearest integer
    let x = x.clamp(-87.3, 88.0);
    let rounded = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-0.693_359_4, x);
    let r = n.mul_add(2.121_944_4e-4, r);
    let p = 1.987_569_1e-4_f32
        .mul_add(r, 1.398_199_9e-3)
        .mul_add(r, 8.333_452e-3)
        .mul_add(r, 4.166_579_6e-2)
        .mul_add(r, 1.666_666_5e-1)
        .mul_add(r, 0.5);
    let y = p.mul_add(r * r, r) + 1.0;
    let power = (rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    y * f32::from_bits(((power + 127) << 23) as u32)
}

/// The natural logarithm of a positive, normal number, within 2 units in the last place.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    const SQRT_HALF_BITS: i32 = 0x3f35_04f3;
    let bits = x.to_bits() as i32;
    let exponent = (bits - SQRT_HALF_BITS) >> 23;
    let f = f32::from_bits((bits - (exponent << 23)) as u32) - 1.0;
    let e = exponent as f32;
    let p = 7.037_683_6e-2_f32
        .mul_add(f, -1.151_461e-1)
        .mul_add(f, 1.167_699_9e-1)
        .mul_add(f, -1.242_014_1e-1)
        .mul_add(f, 1.424_932_3e-1)
        .mul_add(f, -1.666_805_8e-1)
        .mul_add(f, 2.000_071_5e-1)
        .mul_add(f, -2.499_999_4e-1)
        .mul_add(f, 3.333_333e-1);
    let square = f * f;
    let y = e.mul_add(-2.121_944_4e-4, p * f * square);
    let y = square.mul_add(-0.5, y);
    e.mul_add(0.693_359_4, f + y)
}

/// GELU, u·Φ(u), and its derivative Φ(u) + u·φ(u).
///
/// Φ by Abramowitz and Stegun 7.1.26, whose error of 1.5e-7 is below what `f32` resolves; its exponential is the
/// one that φ needs.
#[inline(always)]
pub fn gelu(u: f32) -> (f32, f32) {
    let e = exp(-0.5 * u * u);
    let t = 1.0 / u.abs().mul_add(0.327_591_1 * std::f32::consts::FRAC_1_SQRT_2, 1.0);
    let p = 1.061_405_4_f32
        .mul_add(t, -1.453_152)
        .mul_add(t, 1.421_413_7)
        .mul_add(t, -0.284_496_74)
        .mul_add(t, 0.254_829_6)
        * t;
    let tail = 0.5 * p * e;
    let cdf = if u < 0.0 { tail } else { 1.0 - tail };
    let pdf = 0.398_942_3 * e;
    (u * cdf, u.mul_add(pdf, cdf))
}

/// SiLU, u·sigmoid(u), and its derivative.
#[inline(always)]
pub fn silu(u: f32) -> (f32, f32) {
    let s = 1.0 / (1.0 + exp(-u));
    (u * s, s * (1.0 + u * (1.0 - s)))
}

/// The hyperbolic tangent and its derivative, within 3 units in the last place.
///
/// Near 0 a polynomial (Cephes), since there 1 − 2/(e²ᵘ + 1) loses what is left of u.
#[inline(always)]
pub fn tanh(u: f32) -> (f32, f32) {
    let square = u * u;
    let p = (-5.704_988_7e-3_f32)
        .mul_add(square, 2.063_909e-2)
        .mul_add(square, -5.373_972_4e-2)
        .mul_add(square, 1.333_144_2e-1)
        .mul_add(square, -3.333_328e-1);
    let near = (p * square).mul_add(u, u);
    let far = 1.0 - 2.0 / (exp(2.0 * u.abs()) + 1.0);
    let t = if u.abs() < 0.625 { near } else { far.copysign(u) };
    (t, 1.0 - t * t)
}

/// The sum of `f` of each value over sixteen lanes, in an order that does not depend on the machine.
#[inline(always)]
pub fn sum_by(values: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let (whole, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for values in whole {
        for (total, value) in lanes.iter_mut().zip(values) {
            *total += f(*value);
        }
    }
    for (total, value) in lanes.iter_mut().zip(rest) {
        *total += f(*value);
    }
    sum_of_lanes(lanes)
}

/// The sum of the products of two slices of one length, in the order of [`sum_by`].
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((whole_a, rest_a), (whole_b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [0.0f32; LANES];
    for (a, b) in whole_a.iter().zip(whole_b) {
        for ((total, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *total += a * b;
        }
    }
    for ((total, a), b) in lanes.iter_mut().zip(rest_a).zip(rest_b) {
        *total += a * b;
    }
    sum_of_lanes(lanes)
}

#[inline(always)]
fn sum_of_lanes(mut lanes: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// `to += from`, element by element.
#[inline(always)]
pub fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relative(a: f32, b: f64) -> f64 {
        (f64::from(a) - b).abs() / b.abs().max(1e-30)
    }

    #[test]
    fn exp_and_ln_agree_with_double_precision() {
        for i in 0..20_000 {
            let x = -87.0 + 175.0 * i as f32 / 20_000.0;
            assert!(relative(exp(x), f64::from(x).exp()) < 3e-7, "exp {x}");
            let y = exp(x);
            let expected = f64::from(y).ln();
            let error = (f64::from(ln(y)) - expected).abs();
            assert!(error < 3e-7 * expected.abs().max(1.0), "ln {y}: {error}");
        }
        for i in 1..10_000 {
            let x = i as f32 / 5_000.0;
            let error = (f64::from(ln(x)) - f64::from(x).ln()).abs();
            assert!(error < 2e-7 * f64::from(x).ln().abs().max(1.0), "ln {x}: {error}");
        }
    }

    // torch.nn.functional.gelu and its autograd, float64, PyTorch 2.15.
    #[test]
    fn gelu_and_silu_agree_with_pytorch() {
        let gelu_expected = [
            (-3.0, -0.004_049_694_094_890_31, -0.011_945_647_204_183_92),
            (-0.5, -0.154_268_769_362_993_44, 0.132_504_875_343_837_12),
            (0.0, 0.0, 0.5),
            (1.25, 1.117_937_782_916_431, 1.122_661_583_069_422_2),
            (4.0, 3.999_873_315_032_667_5, 1.000_503_649_661_226_5),
        ];
        for (u, value, slope) in gelu_expected {
            let (v, d) = gelu(u);
            assert!((f64::from(v) - value).abs() < 5e-7, "{u}: {v} {value}");
            assert!((f64::from(d) - slope).abs() < 5e-7, "{u}: {d} {slope}");
        }
        let (v, d) = silu(1.25);
        assert!((f64::from(v) - 0.971_624_826_468_363_9).abs() < 5e-7);
        assert!((f64::from(d) - 0.993_680_844_915_312_4).abs() < 5e-7);
    }

    #[test]
    fn tanh_agrees_with_double_precision() {
        for i in -20_000..=20_000 {
            let u = 12.0 * i as f32 / 20_000.0;
            let (value, slope) = tanh(u);
            let expected = f64::from(u).tanh();
            assert!((f64::from(value) - expected).abs() <= 3e-7 * expected.abs(), "{u}: {value} {expected}");
            assert!((f64::from(slope) - (1.0 - expected * expected)).abs() < 3e-7, "{u}: {slope}");
        }
    }

    #[test]
    fn sums_have_the_same_bits_on_every_instruction_set() {
        let values: Vec<f32> = (0..1003).map(|i| (i as f32 * 0.37).sin()).collect();
        let plain = sum_by(&values, exp);
        let dispatched = simd(
            #[inline(always)]
            || sum_by(&values, exp),
        );
        assert_eq!(plain.to_bits(), dispatched.to_bits());
        let squares = simd(
            #[inline(always)]
            || dot(&values, &values),
        );
        assert_eq!(squares.to_bits(), sum_by(&values, |value| value * value).to_bits());
    }
}
