//! Which rows of a labelled set make a table that holds its own anomalies, and that table for other programs.

use std::fmt::Write as _;
use std::path::Path;

use gnsm::internals::columns::Encoder;
use gnsm::{ColumnChoices, Error, Result, Schema, Table};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::protocol::{DataSet, LABEL};

/// Normal rows of a table, at the most.
const MOST_INLIERS: usize = 8_000;
/// For each anomaly there are so many normal rows at least.
const INLIERS_PER_ANOMALY: usize = 9;

/// A table with its anomalies in it.
pub struct Own {
    /// The rows, with the column of labels.
    pub table: Table,
    /// Which rows are anomalies.
    pub labels: Vec<bool>,
}

/// The table of a set and a seed.
pub fn deal(data: &DataSet, seed: u64) -> Own {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut shuffled = |rows: &[usize]| {
        let mut rows = rows.to_vec();
        for i in (1..rows.len()).rev() {
            rows.swap(i, (rng.next_u64() % (i as u64 + 1)) as usize);
        }
        rows
    };
    let [mut inliers, mut anomalies] = [&data.inliers, &data.anomalies].map(|rows| shuffled(rows));
    let [n_inliers, n_anomalies] = sizes([inliers.len(), anomalies.len()]);
    inliers.truncate(n_inliers);
    anomalies.truncate(n_anomalies);
    let is_anomaly: Vec<bool> = (0..n_inliers + n_anomalies).map(|row| row >= n_inliers).collect();
    let all = [inliers, anomalies].concat();
    let order = shuffled(&(0..all.len()).collect::<Vec<_>>());
    let rows: Vec<usize> = order.iter().map(|place| all[*place]).collect();
    Own { table: data.table.select(&rows), labels: order.iter().map(|place| is_anomaly[*place]).collect() }
}

/// How many normal rows and anomalies a table has, out of how many there are.
fn sizes([n_inliers, n_anomalies]: [usize; 2]) -> [usize; 2] {
    let inliers = n_inliers.min(MOST_INLIERS);
    let natural = (n_anomalies * inliers + n_inliers / 2) / n_inliers.max(1);
    [inliers, natural.min(inliers / INLIERS_PER_ANOMALY).max(1).min(n_anomalies)]
}

impl Own {
    /// Writes the rows for programs that take numbers: columns `n0`, `n1` … of numbers, empty where missing, columns `c0`,
    /// `c1` … of codes of categories, and `label`.
    pub fn write(&self, path: &Path) -> Result<()> {
        let every: Vec<usize> = (0..self.table.n_rows()).collect();
        let mut choices = ColumnChoices::default();
        choices.label = Some(LABEL.into());
        let encoder = Encoder::new(Schema::learn(&self.table, &every, &choices)?);
        let encoded = encoder.encode(&self.table)?;
        let layout = encoder.layout();
        let names = (0..layout.n_numbers()).map(|i| format!("n{i}"));
        let names = names.chain((0..layout.n_groups()).map(|i| format!("c{i}"))).chain([LABEL.to_owned()]);
        let mut text = names.collect::<Vec<_>>().join(",") + "\n";
        for (row, label) in self.labels.iter().enumerate() {
            for x in encoded.numbers(row) {
                let _ = if x.is_nan() { write!(text, ",") } else { write!(text, "{x},") };
            }
            for code in encoded.codes(row) {
                let _ = write!(text, "{code},");
            }
            let _ = writeln!(text, "{}", u8::from(*label));
        }
        let folder = path.parent().unwrap_or(path);
        std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
        std::fs::write(path, text).map_err(|error| Error::io(path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_rows_are_anomalies_at_the_most() {
        assert_eq!(sizes([444, 239]), [444, 49]);
        assert_eq!(sizes([13_668, 1_000]), [8_000, 585]);
        assert_eq!(sizes([5_732, 71]), [5_732, 71], "the natural share");
        assert_eq!(sizes([280_000, 30]), [8_000, 1]);
        assert_eq!(sizes([280_000, 3]), [8_000, 1], "one at least");
        assert_eq!(sizes([5, 4]), [5, 1]);
        assert_eq!(sizes([0, 0]), [0, 0]);
    }
}
