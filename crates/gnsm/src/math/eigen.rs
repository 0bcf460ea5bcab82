//! All eigenvalues and eigenvectors of a symmetric matrix of up to some hundreds of rows.
//!
//! Householder reflections bring the matrix to tridiagonal form, and QL iterations with implicit shifts make that
//! diagonal (Bowdler, Martin, Reinsch and Wilkinson, 1968: the procedures tred2 and tql2). The order of all operations
//! is fixed.

/// The most QL iterations for one eigenvalue; a handful is usual.
const MOST_ITERATIONS: usize = 100;

/// The eigenvalues, ascending, and the eigenvectors as rows: `[dimension, dimension]`.
///
/// `None` where the iteration does not converge, which finite numbers have never been seen to do.
pub(crate) fn symmetric(matrix: &[f64], dimension: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let mut vectors = matrix.to_vec();
    let (mut diagonal, mut beside) = tridiagonal(&mut vectors, dimension);
    // Rotations mix two eigenvectors at a time; as rows they lie one after the other in memory.
    transpose(&mut vectors, dimension);
    diagonalise(&mut diagonal, &mut beside, &mut vectors)?;
    let mut order: Vec<usize> = (0..dimension).collect();
    order.sort_by(|&a, &b| diagonal[a].total_cmp(&diagonal[b]));
    let sorted = order.iter().flat_map(|&index| &vectors[index * dimension..][..dimension]).copied().collect();
    Some((order.iter().map(|&index| diagonal[index]).collect(), sorted))
}

fn transpose(matrix: &mut [f64], dimension: usize) {
    for i in 0..dimension {
        for j in 0..i {
            matrix.swap(i * dimension + j, j * dimension + i);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Replaces `a` by the orthogonal matrix Q for which Qᵀ a Q is tridiagonal; returns its diagonal and what stands beside it (the first entry is 0).
fn tridiagonal(a: &mut [f64], dimension: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut diagonal, mut beside) = (vec![0.0; dimension], vec![0.0; dimension]);
    for i in (1..dimension).rev() {
        let (above, rest) = a.split_at_mut(i * dimension);
        let row = &mut rest[..i]; // becomes the Householder vector u
        let scale: f64 = row.iter().map(|value| value.abs()).sum();
        if i == 1 || scale == 0.0 {
            beside[i] = row[i - 1];
            continue;
        }
        for value in row.iter_mut() {
            *value /= scale;
        }
        let square: f64 = dot(row, row);
        let last = row[i - 1];
        let norm = -square.sqrt().copysign(last);
        beside[i] = scale * norm;
        let half_square = square - last * norm; // ‖u‖²/2
        row[i - 1] = last - norm;
        diagonal[i] = half_square;
        // p = A u / (‖u‖²/2), from the lower triangle; q = p − u (uᵀp)/‖u‖².
        let mut product = vec![0.0; i];
        for j in 0..i {
            let lower = &above[j * dimension..][..j];
            product[j] += dot(lower, row) + above[j * dimension + j] * row[j];
            for (sum, value) in product.iter_mut().zip(lower) {
                *sum += value * row[j];
            }
        }
        for value in &mut product {
            *value /= half_square;
        }
        let shift = dot(row, &product) / (2.0 * half_square);
        product.iter_mut().zip(row.iter()).for_each(|(p, u)| *p -= shift * u);
        for j in 0..i {
            let (u, q) = (row[j], product[j]);
            for (value, (other_u, other_q)) in above[j * dimension..][..=j].iter_mut().zip(row.iter().zip(&product)) {
                *value -= u * other_q + q * other_u;
            }
        }
    }
    accumulate(a, &mut diagonal, dimension);
    (diagonal, beside)
}

/// Multiplies the reflections, whose vectors are the rows of `a`; moves the diagonal out.
fn accumulate(a: &mut [f64], diagonal: &mut [f64], dimension: usize) {
    for i in 0..dimension {
        let (above, rest) = a.split_at_mut(i * dimension);
        let (row, of_diagonal) = rest[..=i].split_at_mut(i);
        if diagonal[i] != 0.0 {
            // Q ← Q − u/(‖u‖²/2)·(uᵀ Q), for the leading i × i block.
            let mut product = vec![0.0; i];
            for (u, line) in row.iter().zip(above.chunks_exact(dimension)) {
                product.iter_mut().zip(line).for_each(|(sum, value)| *sum += u * value);
            }
            for (u, line) in row.iter().zip(above.chunks_exact_mut(dimension)) {
                let factor = u / diagonal[i];
                line.iter_mut().zip(&product).for_each(|(value, sum)| *value -= factor * sum);
            }
        }
        diagonal[i] = of_diagonal[0];
        of_diagonal[0] = 1.0;
        row.fill(0.0);
        above.iter_mut().skip(i).step_by(dimension).for_each(|value| *value = 0.0);
    }
}

/// QL iterations; the rows of `vectors` follow the rotations.
fn diagonalise(diagonal: &mut [f64], beside: &mut [f64], vectors: &mut [f64]) -> Option<()> {
    let dimension = diagonal.len();
    beside.rotate_left(usize::from(dimension > 0));
    for l in 0..dimension {
        for iteration in 0.. {
            let negligible = |m: &usize| {
                let size = diagonal[*m].abs() + diagonal[*m + 1].abs();
                beside[*m].abs() <= f64::EPSILON * size
            };
            let m = (l..dimension - 1).find(negligible).unwrap_or(dimension - 1);
            if m == l {
                break;
            }
            if iteration == MOST_ITERATIONS {
                return None;
            }
            let mut g = (diagonal[l + 1] - diagonal[l]) / (2.0 * beside[l]);
            let r = g.hypot(1.0);
            g = diagonal[m] - diagonal[l] + beside[l] / (g + r.copysign(g));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut underflow = false;
            for i in (l..m).rev() {
                let (f, b) = (s * beside[i], c * beside[i]);
                let r = f.hypot(g);
                beside[i + 1] = r;
                if r == 0.0 {
                    diagonal[i + 1] -= p;
                    beside[m] = 0.0;
                    underflow = true;
                    break;
                }
                (s, c) = (f / r, g / r);
                g = diagonal[i + 1] - p;
                let r = (diagonal[i] - g) * s + 2.0 * c * b;
                p = s * r;
                diagonal[i + 1] = g + p;
                g = c * r - b;
                let (low, high) = vectors[i * dimension..(i + 2) * dimension].split_at_mut(dimension);
                for (low, high) in low.iter_mut().zip(high) {
                    (*low, *high) = (c * *low - s * *high, s * *low + c * *high);
                }
            }
            if !underflow {
                diagonal[l] -= p;
                beside[l] = g;
                beside[m] = 0.0;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(matrix: &[f64], dimension: usize) {
        let (values, vectors) = symmetric(matrix, dimension).expect("converges");
        let size = matrix.iter().fold(1.0, |size: f64, value| size.max(value.abs()));
        for (i, (value, vector)) in values.iter().zip(vectors.chunks_exact(dimension)).enumerate() {
            for (line, entry) in matrix.chunks_exact(dimension).zip(vector) {
                assert!((dot(line, vector) - value * entry).abs() < 1e-12 * size * dimension as f64);
            }
            for (j, other) in vectors.chunks_exact(dimension).enumerate() {
                assert!((dot(vector, other) - f64::from(i == j)).abs() < 1e-12, "{i} {j}");
            }
        }
        assert!(values.is_sorted());
    }

    #[test]
    fn vectors_are_orthonormal_and_only_stretched() {
        for dimension in [1, 2, 3, 7, 40] {
            let entry = |i: usize, j: usize| ((i * j + i + j) as f64 * 0.7).sin() + f64::from(i == j);
            check(
                &(0..dimension * dimension).map(|k| entry(k / dimension, k % dimension)).collect::<Vec<_>>(),
                dimension,
            );
        }
        check(&[0.0; 25], 5);
        check(&[1.0; 25], 5);
        let mut identity = [0.0; 16];
        identity.iter_mut().step_by(5).for_each(|value| *value = 3.0);
        check(&identity, 4);
    }

    #[test]
    fn a_matrix_with_known_eigenvalues() {
        // The second difference matrix of n points has the eigenvalues 2 − 2 cos(kπ/(n + 1)).
        let n = 30;
        let entry = |i: usize, j: usize| [2.0, -1.0].get(i.abs_diff(j)).copied().unwrap_or(0.0);
        let matrix: Vec<f64> = (0..n * n).map(|k| entry(k / n, k % n)).collect();
        let (values, _) = symmetric(&matrix, n).expect("converges");
        for (k, value) in values.iter().enumerate() {
            let expected = 2.0 - 2.0 * ((k + 1) as f64 * std::f64::consts::PI / (n + 1) as f64).cos();
            assert!((value - expected).abs() < 1e-13, "{value} {expected}");
        }
    }
}
