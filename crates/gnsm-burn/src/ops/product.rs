//! Matrix products by the `gemm` crate, on one thread. Their shapes do not depend on the number of threads, so they
//! give the same bits every time.

/// How a matrix is read: as stored, row by row, or with rows and columns exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    Plain,
    Transposed,
}

/// `c += a·b`; c is [m, n], b is [k, n] as stored, and a is [m, k] after the reading.
#[derive(Debug, Clone, Copy)]
pub struct Product {
    pub m: usize,
    pub k: usize,
    pub n: usize,
    pub a: Read,
}

impl Product {
    pub fn add_to(self, c: &mut [f32], a: &[f32], b: &[f32]) {
        let Self { m, k, n, a: read } = self;
        assert!(c.len() >= m * n && a.len() >= m * k && b.len() >= k * n, "every matrix has its shape");
        let (a_column, a_row) = match read {
            Read::Plain => (1, k as isize),
            Read::Transposed => (m as isize, 1),
        };
        let (c_row, b_row) = (n as isize, n as isize);
        // SAFETY: the lengths were checked against the shapes above, and `c` is not aliased.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                c.as_mut_ptr(),
                1,
                c_row,
                true,
                a.as_ptr(),
                a_column,
                a_row,
                b.as_ptr(),
                1,
                b_row,
                1.0f32,
                1.0f32,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    }
}
