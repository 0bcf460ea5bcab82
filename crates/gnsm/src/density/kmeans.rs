//! Where the fit of a mixture starts: k-means++ and a few of Lloyd's iterations.
//!
//! The first centre is a random row. Every next one is drawn with probability proportional to the squared distance to
//! its nearest centre (Arthur and Vassilvitskii, 2007). As in scikit-learn, several candidates are drawn for each
//! centre. The one that leaves the smallest sum of squared distances is kept.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::em::Points;
use super::rows::CHUNK;
use crate::error::stop_point;

/// Lloyd's iterations after the centres are drawn; expectation-maximisation does the rest.
const LLOYD_ITERATIONS: usize = 20;

/// A cluster for each row and the number of clusters, which is smaller than `clusters` where there are fewer
/// distinct rows.
pub(super) fn cluster(rows: impl Points, clusters: usize, rng: &mut ChaCha8Rng) -> (Vec<usize>, usize) {
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
    (nearest, centres.len() / rows.dimension())
}

/// The centres of k-means++: `[clusters, dimension]`.
fn draw_centres(rows: impl Points, clusters: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let candidates = 2 + (clusters as f64).ln() as usize;
    let counts = rows.counts();
    let row = |index: usize| {
        let mut row = vec![0.0; rows.dimension()];
        rows.add_to(index, 1.0, &mut row);
        row
    };
    let mut centres = row(draw(counts, rng));
    let mut distances = distances_with(rows, &vec![f64::INFINITY; counts.len()], &centres);
    while centres.len() < clusters * rows.dimension() {
        let shares: Vec<f64> = distances.iter().zip(counts).map(|(distance, count)| distance * count).collect();
        if shares.iter().all(|&share| share == 0.0) {
            break; // every row is a centre already
        }
        let best = (0..candidates)
            .map(|_| {
                let row = row(draw(&shares, rng));
                let distances = distances_with(rows, &distances, &row);
                let sum: f64 = distances.iter().zip(counts).map(|(distance, count)| distance * count).sum();
                (sum, row, distances)
            })
            .min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, row, next)) = best {
            centres.extend(row);
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

fn squared_norm(centre: &[f64]) -> f64 {
    centre.iter().map(|value| value * value).sum()
}

/// Squared distances to the nearest centre once `centre` is one of them.
fn distances_with(rows: impl Points, distances: &[f64], centre: &[f64]) -> Vec<f64> {
    let norm = squared_norm(centre);
    distances
        .par_iter()
        .enumerate()
        .with_min_len(CHUNK)
        .map(|(row, distance)| rows.squared_distance(row, centre, norm).min(*distance))
        .collect()
}

fn nearest_centres(rows: impl Points, centres: &[f64]) -> Vec<usize> {
    let centres: Vec<(&[f64], f64)> =
        centres.chunks_exact(rows.dimension()).map(|centre| (centre, squared_norm(centre))).collect();
    (0..rows.counts().len())
        .into_par_iter()
        .with_min_len(CHUNK)
        .map(|row| {
            stop_point();
            let mut nearest = (f64::INFINITY, 0);
            for (index, (centre, norm)) in centres.iter().enumerate() {
                let distance = rows.squared_distance(row, centre, *norm);
                if distance < nearest.0 {
                    nearest = (distance, index);
                }
            }
            nearest.1
        })
        .collect()
}

/// Moves every centre to the mean of its rows; a centre without rows stays.
fn move_centres(rows: impl Points, nearest: &[usize], centres: &mut [f64]) {
    let dimension = rows.dimension();
    let mut sums = vec![0.0; centres.len()];
    let mut totals = vec![0.0; centres.len() / dimension];
    for ((row, &cluster), &count) in nearest.iter().enumerate().zip(rows.counts()) {
        totals[cluster] += count;
        rows.add_to(row, count, &mut sums[cluster * dimension..][..dimension]);
    }
    for (cluster, total) in totals.into_iter().enumerate().filter(|(_, total)| *total > 0.0) {
        let cells = cluster * dimension..(cluster + 1) * dimension;
        for (centre, sum) in centres[cells.clone()].iter_mut().zip(&sums[cells]) {
            *centre = sum / total;
        }
    }
}
