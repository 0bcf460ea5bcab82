//! How often the whole row was seen.
//!
//! score(x) = −log((c(x) + 1)/(n + 1)) + u(x)·log(n + 1), where c(x) of the n training rows are equal to x, and u(x)
//! cells hold a category that training never showed. The first term is the rule of succession for the row as a whole.
//! It lies between 0 and log(n + 1). The second term tells rows apart that were never seen.
//!
//! - Numbers are compared by their decile bins ([`super::bins`]), since two real numbers are hardly ever equal.
//! - A missing number is equal to a missing number.
//! - An unseen category, or a number far outside of the training rows, is one of the u(x).
//!
//! The score is not a sum over cells: the count of a row is its base, and only unseen cells have a part.
//!
//! The model holds no training row. It holds a 128-bit hash (blake3) of each distinct row and its count. By the hash a
//! row can be recognised, but not read.

use serde::{Deserialize, Serialize};

use super::bins::DecileBins;
use super::{NoSettings, ScoreByCell, check_row_count, rows_to_fit, unseen_surprise};
use crate::columns::{Encoded, Layout, UNSEEN};
use crate::error::Result;
use crate::files::{Loaded, Store, Tensors};
use crate::train::Run;

/// Words of a hash.
const WORDS: usize = 4;

/// Counts of whole rows.
#[derive(Debug, Clone)]
pub struct RowCount {
    layout: Layout,
    bins: DecileBins,
    n_rows: f64,
    /// The hashes of the distinct rows, ascending.
    hashes: Vec<[u32; WORDS]>,
    /// How often each of them occurs.
    counts: Vec<f64>,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredRowCount {
    n_rows: f64,
    bins: DecileBins,
}

impl RowCount {
    /// Counts the rows.
    pub fn fit(_: &NoSettings, layout: &Layout, rows: [&Encoded; 2], _: Run<'_>) -> Result<Self> {
        let (rows, row_counts) = rows_to_fit(rows)?;
        let bins = DecileBins::fit(layout, &rows, &row_counts);
        let categories = bins.all_categories(layout, &rows);
        let hashed = categories.chunks_exact(layout.n_cells()).map(hash_of);
        let mut hashed: Vec<([u32; WORDS], f64)> = hashed.zip(row_counts.iter().copied()).collect();
        hashed.sort_unstable_by_key(|(hash, _)| *hash);
        let (mut hashes, mut counts) = (Vec::new(), Vec::new());
        // Rows that differ only within a bin have one hash.
        for equal in hashed.chunk_by(|a, b| a.0 == b.0) {
            hashes.push(equal[0].0);
            counts.push(equal.iter().map(|(_, count)| count).sum());
        }
        Ok(Self { layout: layout.clone(), bins, n_rows: row_counts.iter().sum(), hashes, counts })
    }

    /// There are no settings.
    pub fn config(&self) -> &NoSettings {
        &NoSettings {}
    }
}

impl Store for RowCount {
    type Document = StoredRowCount;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredRowCount> {
        tensors.put("hashes", self.hashes.as_flattened().to_vec());
        tensors.put("counts", self.counts.clone());
        Ok(StoredRowCount { n_rows: self.n_rows, bins: self.bins.clone() })
    }

    fn read(StoredRowCount { n_rows, bins }: StoredRowCount, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        check_row_count(n_rows)?;
        bins.validate(layout)?;
        let words: Vec<u32> = tensors.take_any("hashes")?;
        let counts: Vec<f64> = tensors.take("counts", words.len().div_ceil(WORDS))?;
        let (hashes, rest) = words.as_chunks();
        if !rest.is_empty() || hashes.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err("tensor `hashes` is not a sorted list of hashes".into());
        }
        if counts.iter().any(|count| !(1.0..=n_rows).contains(count)) {
            return Err("tensor `counts` holds what is not a number of rows".into());
        }
        Ok(Self { layout: layout.clone(), bins, n_rows, hashes: hashes.to_vec(), counts })
    }
}

/// The first 128 bits of the hash of a row's categories.
fn hash_of(categories: &[u32]) -> [u32; WORDS] {
    let mut hasher = blake3::Hasher::new();
    for category in categories {
        hasher.update(&category.to_le_bytes());
    }
    let hash = *hasher.finalize().as_bytes();
    std::array::from_fn(|word| u32::from_le_bytes(std::array::from_fn(|byte| hash[4 * word + byte])))
}

impl ScoreByCell for RowCount {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn split_row(&self, codes: &[u32], numbers: &[f32], parts: &mut [f64]) -> f64 {
        let mut categories = Vec::with_capacity(parts.len());
        self.bins.categories(codes, numbers, &mut categories);
        for (part, category) in parts.iter_mut().zip(&categories) {
            *part = if *category == UNSEEN { unseen_surprise(self.n_rows) } else { 0.0 };
        }
        let count = self.hashes.binary_search(&hash_of(&categories)).map_or(0.0, |index| self.counts[index]);
        ((self.n_rows + 1.0) / (count + 1.0)).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detectors::Detector;
    use crate::detectors::tests::{fit_on, rows_of};

    #[test]
    fn a_small_table_worked_out_by_hand() -> Result<()> {
        let layout = Layout::new(0, vec![2, 3]);
        let rows = rows_of(&[(&[0, 0], &[]), (&[0, 0], &[]), (&[0, 0], &[]), (&[1, 2], &[])]);
        let detector = fit_on(&rows, |all, run| RowCount::fit(&NoSettings {}, &layout, all, run))?;
        let queries = rows_of(&[(&[0, 0], &[]), (&[1, 2], &[]), (&[1, 0], &[]), (&[0, UNSEEN], &[])]);
        let log5 = 5.0f64.ln();
        assert_eq!(detector.score(&queries), [(5.0f64 / 4.0).ln(), (5.0f64 / 2.0).ln(), log5, 2.0 * log5]);
        assert_eq!(detector.split(&queries).parts(3), [0.0, log5]);
        Ok(())
    }

    #[test]
    fn numbers_in_one_bin_are_equal_and_missing_ones_too() -> Result<()> {
        let layout = Layout::new(1, vec![2]);
        let numbers = (0..100).map(|row| if row < 50 { row as f32 / 50.0 } else { f32::NAN }).collect();
        let rows = Encoded::new(100, (0..100).map(|row| u32::from(row >= 50)).collect(), numbers);
        let detector = fit_on(&rows, |all, run| RowCount::fit(&NoSettings {}, &layout, all, run))?;
        let queries = rows_of(&[(&[0], &[0.001]), (&[1], &[f32::NAN]), (&[0], &[9.0])]);
        let expected = [(101.0f64 / 6.0).ln(), (101.0f64 / 51.0).ln(), 2.0 * 101.0f64.ln()];
        for (score, expected) in detector.score(&queries).iter().zip(expected) {
            assert!((score - expected).abs() < 1e-12, "{score} {expected}");
        }
        Ok(())
    }
}
