//! Matrix products by the `gemm-f32` crate, on one thread. Their shapes do not depend on the number of threads, so they
//! give the same bits every time.

use gemm_common::Parallelism;
use gemm_f32::gemm::f32::get_gemm_fn;

/// How a matrix is read: as stored, row by row, or with rows and columns exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    Plain,
    Transposed,
}

impl Read {
    /// The steps from one column to the next, and from one row to the next, of [rows, columns] after the reading.
    fn steps(self, rows: usize, columns: usize) -> (isize, isize) {
        match self {
            Self::Plain => (1, columns as isize),
            Self::Transposed => (rows as isize, 1),
        }
    }
}

/// `c += a·b`; c is [m, n]. After the reading a is [m, k], and b is [k, n].
#[derive(Debug, Clone, Copy)]
pub struct Product {
    pub m: usize,
    pub k: usize,
    pub n: usize,
    pub a: Read,
    pub b: Read,
}

impl Product {
    pub fn add_to(self, c: &mut [f32], a: &[f32], b: &[f32]) {
        let Self { m, k, n, .. } = self;
        assert!(c.len() >= m * n && a.len() >= m * k && b.len() >= k * n, "every matrix has its shape");
        let ((a_column, a_row), (b_column, b_row)) = (self.a.steps(m, k), self.b.steps(k, n));
        // The kernels write columns. So cᵀ += bᵀ·aᵀ is computed, whose columns are the rows of c.
        // SAFETY: the lengths were checked against the shapes above, and `c` is not aliased.
        unsafe {
            get_gemm_fn()(
                n,
                m,
                k,
                c.as_mut_ptr(),
                n as isize,
                1,
                true,
                b.as_ptr(),
                b_row,
                b_column,
                a.as_ptr(),
                a_row,
                a_column,
                1.0,
                1.0,
                false,
                false,
                false,
                Parallelism::None,
            );
        }
    }
}
