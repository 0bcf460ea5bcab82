//! The detectors that GNSM is compared with, one file each, all on the same encoded rows.
//!
//! Unless it is deep (`deep.rs`), nothing of a detector has to be chosen on held-out rows, so it is fitted on training
//! and validation rows together, each distinct row once with its count. Most scores are sums over the cells of a row
//! (`ScoreByCell`); where one is not, its file says what the parts mean.

mod blanks;
mod detector;
mod fitted;

mod bins;
mod deep;
mod paper_set;
mod sphere;
mod stored_rows;
mod value_graph;

mod marginals;
mod row_count;
mod pca;
mod gmm;
mod ecod;
mod isolation_forest;
mod knn;
mod cbrw;
mod homophily;
mod ocsvm;
mod comprex;
mod dsvdd;
mod dagmm;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::columns::{Encoded, Layout};
use crate::density::GaussianMixture;
use crate::error::{Advice, Error, Result, stop_point};
use crate::files::{Loaded, Tensors};

pub use blanks::{Blanks, Guess};
pub(crate) use blanks::{choose, guess_code, guess_number};
pub(crate) use detector::score_distinct;
pub use detector::{Detector, Expected, Split};
use detector::{ROWS_PER_TASK, ScoreByCell};
pub(crate) use fitted::fitted_detectors;

pub use cbrw::Cbrw;
pub use comprex::Comprex;
pub use dagmm::{Dagmm, DagmmConfig, Memberships};
pub use deep::DeepTraining;
pub use dsvdd::{Dsvdd, DsvddConfig};
pub use ecod::Ecod;
pub use gmm::Gmm;
pub use homophily::Homophily;
pub use isolation_forest::{Encoding, IsolationForest, IsolationForestConfig};
pub use knn::{Distance, Knn, KnnConfig};
pub use marginals::Marginals;
pub use ocsvm::{OcSvm, OcSvmConfig};
pub use paper_set::PaperSet;
pub use pca::{Pca, PcaConfig};
pub use row_count::RowCount;
pub use sphere::{away_from_zero, collapse};
pub use value_graph::{ValueWalk, WalkConfig};

pub(crate) use comprex::MOST_CELLS;

/// For encoded rows with more places than this, no matrix of all pairs of places is made.
pub(crate) const WIDEST: usize = 4096;

/// The settings of a detector that has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct NoSettings {}

impl NoSettings {
    /// There is nothing to check.
    pub fn validate(self) -> Result<()> {
        Ok(())
    }
}

/// A value for each row, from the row alone.
fn map_rows(rows: &Encoded, value: impl Fn(&[u32], &[f32]) -> f64 + Sync) -> Vec<f64> {
    let row_value = |row: usize| {
        stop_point();
        value(rows.codes(row), rows.numbers(row))
    };
    (0..rows.n_rows()).into_par_iter().with_min_len(ROWS_PER_TASK).map(row_value).collect()
}

/// All rows to fit on: the distinct ones, and how often each occurs.
fn rows_to_fit([training, validation]: [&Encoded; 2]) -> Result<(Encoded, Vec<f64>)> {
    check_rows([training, validation])?;
    Ok(training.concat(validation).counted())
}

/// The number of rows to fit on, at least one.
fn check_rows([training, validation]: [&Encoded; 2]) -> Result<usize> {
    match training.n_rows() + validation.n_rows() {
        0 => Err(Error::fit("there are no rows to learn from", "give at least one")),
        n_rows => Ok(n_rows),
    }
}

/// −log of the probability of something that n rows never showed, by the rule of succession.
fn unseen_surprise(n_rows: f64) -> f64 {
    (n_rows + 1.0).ln()
}

/// How many rows have each category: `[width]`, 0 in the places of numbers.
fn category_counts(layout: &Layout, rows: &Encoded, counts: &[f64]) -> Vec<f64> {
    let mut totals = vec![0.0; layout.width()];
    for (row, count) in counts.iter().enumerate() {
        for (places, code) in layout.groups().zip(rows.codes(row)) {
            if let Some(total) = totals[places].get_mut(*code as usize) {
                *total += count;
            }
        }
    }
    totals
}

/// Numbers (0 where missing) and one-hot categories (all 0 where unseen) of every row: [rows, width].
fn encode_one_hot(layout: &Layout, rows: &Encoded) -> Vec<f64> {
    let mut values = vec![0.0; rows.n_rows() * layout.width()];
    for (row, values) in values.chunks_exact_mut(layout.width()).enumerate() {
        for (place, value) in places(layout, rows.codes(row), rows.numbers(row)) {
            values[place] = value;
        }
    }
    values
}

/// The places of a one-hot row that are not 0, and what they hold.
fn places(layout: &Layout, codes: &[u32], numbers: &[f32]) -> impl Iterator<Item = (usize, f64)> {
    let of_numbers = numbers.iter().enumerate().filter(|(_, z)| !z.is_nan()).map(|(place, z)| (place, f64::from(*z)));
    let of_groups = layout.groups().zip(codes).filter(|(places, code)| (**code as usize) < places.len());
    of_numbers.chain(of_groups.map(|(places, code)| (places.start + *code as usize, 1.0)))
}

/// The distinct rows where there are at most `most`, else a systematic sample.
///
/// Imagine all rows in a line, each as often as it occurs. `most` of them are taken at equal steps. So a row is taken
/// in proportion to its count, and its new count is how often it was taken.
fn sample_rows(rows: &Encoded, counts: &[f64], most: usize) -> (Encoded, Vec<f64>) {
    if counts.len() <= most {
        return (rows.clone(), counts.to_vec());
    }
    let step = counts.iter().sum::<f64>() / most as f64;
    let (mut kept, mut kept_counts) = (Vec::new(), Vec::new());
    let (mut passed, mut taken) = (0.0, 0);
    for (row, count) in counts.iter().enumerate() {
        passed += count;
        let before = taken;
        while taken < most && (taken as f64 + 0.5) * step < passed {
            taken += 1;
        }
        if taken > before {
            kept.push(row);
            kept_counts.push((taken - before) as f64);
        }
    }
    (rows.select(&kept), kept_counts)
}

/// Refuses encodings that are too wide for a matrix of all pairs of places.
fn check_width(layout: &Layout) -> Result<()> {
    if layout.width() <= WIDEST {
        return Ok(());
    }
    Err(Error::fit(
        format!("the rows are {} categories and numbers wide, and this method takes at most {WIDEST}", layout.width()),
        Advice::from("leave out columns of many categories with ")
            .setting("ignore", None)
            .and(", or use another method"),
    ))
}

/// Checks the number of rows that a detector was fitted on.
fn check_row_count(n_rows: f64) -> Loaded<()> {
    let usable = n_rows >= 1.0 && n_rows <= 2.0_f64.powi(53) && n_rows.fract() == 0.0;
    if usable { Ok(()) } else { Err(format!("{n_rows} is not a number of rows").into()) }
}

/// Takes what [`category_counts`] counted in `n_rows` rows out of a file.
fn take_category_counts(layout: &Layout, n_rows: f64, tensors: &mut Tensors) -> Loaded<Vec<f64>> {
    check_row_count(n_rows)?;
    let counts: Vec<f64> = tensors.take("counts", layout.width())?;
    let usable = counts.iter().all(|count| (0.0..=n_rows).contains(count));
    if usable { Ok(counts) } else { Err("tensor `counts` holds what is not a number of rows".into()) }
}

/// Puts a mixture's arrays into a file.
fn put_mixture(mixture: &GaussianMixture, tensors: &mut Tensors) {
    tensors.put("weights", mixture.weights.clone());
    tensors.put("means", mixture.means.clone());
    tensors.put("whitening", mixture.whitening.clone());
}

/// Takes what [`put_mixture`] put into a file.
fn take_mixture(components: usize, dimension: usize, tensors: &mut Tensors) -> Loaded<GaussianMixture> {
    let too_many = || format!("{components} components are too many");
    let in_means = components.checked_mul(dimension).ok_or_else(too_many)?;
    let in_whitening = in_means.checked_mul(dimension).ok_or_else(too_many)?;
    let mixture = GaussianMixture {
        dimension,
        weights: tensors.take("weights", components)?,
        means: tensors.take("means", in_means)?,
        whitening: tensors.take("whitening", in_whitening)?,
    };
    mixture.validate()?;
    Ok(mixture)
}

#[cfg(test)]
mod tests;
