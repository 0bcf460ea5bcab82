//! Where a mixture starts: k-means++ and a few of Lloyd's iterations.
//!
//! The first centre is a random row, every next one is drawn with probability proportional to the squared distance
//! to its nearest centre (Arthur and Vassilvitskii, 2007). As in scikit-learn several candidates are drawn for
//! each centre and the one kept that leaves the smallest sum of squared distances.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::rows::{CHUNK, Rows};

/// Lloyd's iterations after the centres are drawn; expectation-maximisation does the rest.
const LLOYD_ITERATIONS: usize = 20;

/// A cluster for each row and the number of clusters, which is smaller than `clusters` where there are fewer
/// distinct rows.
pub(super) fn cluster(rows: Rows<'_>, clusters: usize, rng: &mut ChaCha8Rng) -> (Vec<usize>, usize) {
    let mut centres = draw_centres(rows, clusters, rng);
    let mut nearest = nearest_centres(rows, &centres);
    for _ in 0..LLOYD_ITERATIONS {
        move_centres(rows, &nearest, &mut centres);
        let next = nearest_centres(rows, &centres);
        if next == nearest {
            break;
        }
        nearest = next;
    }
    (nearest, centres.len() / rows.dimension)
}

/// The centres of k-means++: `[clusters, dimension]`.
fn draw_centres(rows: Rows<'_>, clusters: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let candidates = 2 + (clusters as f64).ln() as usize;
    let mut centres = rows.row(draw(rows.counts, rng)).to_vec();
    let mut distances = distances_with(rows, &vec![f64::INFINITY; rows.len()], &centres);
    while centres.len() < clusters * rows.dimension {
        let shares: Vec<f64> = distances.iter().zip(rows.counts).map(|(distance, count)| distance * count).collect();
        if shares.iter().all(|&share| share == 0.0) {
            break; // every row is a centre already
        }
        let best = (0..candidates)
            .map(|_| {
                let row = rows.row(draw(&shares, rng));
                let distances = distances_with(rows, &distances, row);
                let sum: f64 = distances.iter().zip(rows.counts).map(|(distance, count)| distance * count).sum();
                (sum, row, distances)
            })
            .min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, row, next)) = best {
            centres.extend_from_slice(row);
            distances = next;
        }
    }
    centres
}

/// An index drawn in proportion to `shares`, never one of share 0.
fn draw(shares: &[f64], rng: &mut ChaCha8Rng) -> usize {
    let mut left = rng.random::<f64>() * shares.iter().sum::<f64>();
    let mut last = 0;
    for (index, &share) in shares.iter().enumerate() {
        if share > 0.0 {
            last = index;
            if left < share {
                break;
            }
            left -= share;
        }
    }
    last
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Squared distances to the nearest centre once `centre` is one of them.
fn distances_with(rows: Rows<'_>, distances: &[f64], centre: &[f64]) -> Vec<f64> {
    rows.values
        .par_chunks(rows.dimension)
        .zip(distances)
        .with_min_len(CHUNK)
        .map(|(row, &distance)| squared_distance(row, centre).min(distance))
        .collect()
}

fn nearest_centres(rows: Rows<'_>, centres: &[f64]) -> Vec<usize> {
    rows.values
        .par_chunks(rows.dimension)
        .with_min_len(CHUNK)
        .map(|row| {
            let mut nearest = (f64::INFINITY, 0);
            for (index, centre) in centres.chunks_exact(rows.dimension).enumerate() {
                let distance = squared_distance(row, centre);
                if distance < nearest.0 {
                    nearest = (distance, index);
                }
            }
            nearest.1
        })
        .collect()
}

/// Moves every centre to the mean of its rows; a centre without rows stays.
fn move_centres(rows: Rows<'_>, nearest: &[usize], centres: &mut [f64]) {
    let mut sums = vec![0.0; centres.len()];
    let mut totals = vec![0.0; centres.len() / rows.dimension];
    for ((row, count), &cluster) in rows.iter().zip(nearest) {
        totals[cluster] += count;
        for (sum, value) in sums[cluster * rows.dimension..].iter_mut().zip(row) {
            *sum += count * value;
        }
    }
    for (cluster, total) in totals.into_iter().enumerate().filter(|(_, total)| *total > 0.0) {
        let cells = cluster * rows.dimension..(cluster + 1) * rows.dimension;
        for (centre, sum) in centres[cells.clone()].iter_mut().zip(&sums[cells]) {
            *centre = sum / total;
        }
    }
}
