//! Arithmetic that other rooms use: vector loops, matrices, streams of random numbers. It knows none of those rooms.

pub(crate) mod eigen;
pub(crate) mod linalg;
mod random;
mod simd;

pub use random::{fill_gumbel, fill_normal, stream, uniform_share};
pub use simd::{add, dot, exp, gelu, ln, silu, simd, sum_by, tanh};
