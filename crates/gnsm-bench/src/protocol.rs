//! The paper's protocol: the inliers are split 80/10/10 at random, and all anomalies are in the test part.
//!
//! Sizes follow the authors' loader: the floor of each share, and left-over rows one by one to training, then to
//! validation. The encoder sees training and validation inliers only. So a category that occurs only in test rows is
//! unseen, as it would be for a user.

use std::path::Path;

use gnsm::internals::columns::{Encoded, Encoder};
use gnsm::{ColumnChoices, Error, Result, Schema, Table, read_table};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The column that marks anomalies with 1.
pub(crate) const LABEL: &str = "label";

/// A labelled data set.
pub struct DataSet {
    /// The file's name without its ending.
    pub name: String,
    pub(crate) table: Table,
    pub(crate) inliers: Vec<usize>,
    pub(crate) anomalies: Vec<usize>,
}

/// A data set dealt out and encoded.
pub struct TrainTestSplit {
    /// The encoder, fitted without labels or test rows.
    pub encoder: Encoder,
    /// 80 % of the inliers.
    pub training: Encoded,
    /// 10 % of the inliers.
    pub validation: Encoded,
    /// The rest of the inliers, then all anomalies.
    pub test: Encoded,
    /// Which test rows are anomalies.
    pub labels: Vec<bool>,
}

impl DataSet {
    /// Reads a table with a column `label`.
    pub fn read(path: &Path) -> Result<Self> {
        let table = read_table(path)?;
        let label = table.column(LABEL).ok_or_else(|| {
            Error::schema(
                format!("{} has no column `{LABEL}`", path.display()),
                "mark anomalies with 1 in such a column",
            )
        })?;
        let (anomalies, inliers): (Vec<usize>, Vec<usize>) =
            (0..table.n_rows()).partition(|&row| label.values.text(row).as_deref() == Some("1"));
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        Ok(Self { name, table, inliers, anomalies })
    }

    /// The split of a seed.
    pub fn split(&self, seed: u64) -> Result<TrainTestSplit> {
        let mut rows = self.inliers.clone();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for i in (1..rows.len()).rev() {
            rows.swap(i, (rng.next_u64() % (i as u64 + 1)) as usize);
        }
        let [n_training, n_validation] = sizes(rows.len());
        let mut choices = ColumnChoices::default();
        choices.label = Some(LABEL.into());
        let encoder = Encoder::new(Schema::learn(&self.table, &rows[..n_training + n_validation], &choices)?);
        let encoded = encoder.encode(&self.table)?;
        let test_inliers = &rows[n_training + n_validation..];
        let test: Vec<usize> = test_inliers.iter().chain(&self.anomalies).copied().collect();
        Ok(TrainTestSplit {
            training: encoded.select(&rows[..n_training]),
            validation: encoded.select(&rows[n_training..n_training + n_validation]),
            test: encoded.select(&test),
            labels: (0..test.len()).map(|i| i >= test_inliers.len()).collect(),
            encoder,
        })
    }
}

/// The share of anomalies among the test rows, which hold all anomalies and the inliers that neither train nor validate. It is the average
/// precision of a score that is the same for all rows.
pub fn share_of_anomalies([n_inliers, n_anomalies]: [usize; 2]) -> f64 {
    let [n_training, n_validation] = sizes(n_inliers);
    n_anomalies as f64 / (n_inliers - n_training - n_validation + n_anomalies) as f64
}

/// Training and validation rows out of `n` inliers.
fn sizes(n: usize) -> [usize; 2] {
    let (eighty, ten) = (n * 8 / 10, n / 10);
    let left = n - eighty - 2 * ten;
    [eighty + left.min(1), ten + usize::from(left >= 2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    // torch.utils.data.random_split(range(n), [0.8, 0.1, 0.1]) gives these lengths.
    #[test]
    fn sizes_follow_the_authors_loader() {
        assert_eq!(sizes(36_548), [29_239, 3655]);
        assert_eq!(sizes(1444), [1156, 144]);
        assert_eq!(sizes(10), [8, 1]);
        assert_eq!(sizes(1023), [819, 102]);
        assert_eq!(sizes(280_717), [224_574, 28_072]);
        assert_eq!(sizes(19), [16, 2]);
    }
}
