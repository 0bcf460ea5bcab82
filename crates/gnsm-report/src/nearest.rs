//! Usual rows of the file, to show beside the odd ones what a usual row looks like.

use gnsm::internals::columns::Encoded;

/// Usual rows that are kept, at the most.
const MOST: usize = 2000;
/// Two numbers that are this many deviations apart count as different as two categories.
const FAR: f32 = 3.0;

/// A row that is not odd.
#[derive(Debug, Clone)]
pub struct UsualRow {
    /// Its number in the file, from 0.
    pub row: u64,
    /// Its cells, cut to a length that fits on a page.
    pub cells: Vec<Option<String>>,
    codes: Vec<u32>,
    numbers: Vec<f32>,
}

/// Rows at equal steps of the file. The step grows with the file, so that their number does not.
#[derive(Debug)]
pub struct UsualRows {
    rows: Vec<UsualRow>,
    step: u64,
    passed: u64,
}

impl UsualRows {
    /// No rows so far.
    pub fn new() -> Self {
        Self { rows: Vec::new(), step: 1, passed: 0 }
    }

    /// Offers a usual row of a batch. If it is kept, `cells` makes its texts.
    pub fn pass(&mut self, row: u64, batch: &Encoded, at: usize, cells: impl FnOnce() -> Vec<Option<String>>) {
        if self.passed.is_multiple_of(self.step) {
            let (codes, numbers) = (batch.codes(at).to_vec(), batch.numbers(at).to_vec());
            self.rows.push(UsualRow { row, cells: cells(), codes, numbers });
        }
        self.passed += 1;
        if self.rows.len() > MOST {
            let mut keep = false;
            self.rows.retain(|_| {
                keep = !keep;
                keep
            });
            self.step *= 2;
        }
    }

    /// The row that differs least from another; the first of several.
    pub fn nearest(&self, codes: &[u32], numbers: &[f32]) -> Option<&UsualRow> {
        let distance = |row: &UsualRow| -> f32 {
            let other = row.codes.iter().zip(codes).filter(|(a, b)| a != b).count() as f32;
            let far = |(a, b): (&f32, &f32)| {
                let size = ((a - b).abs() / FAR).min(1.0);
                // The group beside a number says whether it is there.
                if size.is_nan() { 0.0 } else { size }
            };
            other + row.numbers.iter().zip(numbers).map(far).sum::<f32>()
        };
        let distances = self.rows.iter().map(|row| (distance(row), row));
        distances.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, row)| row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_row_is_found_among_few_or_many() {
        for n in [3, 10_000u64] {
            let mut usual = UsualRows::new();
            for row in 0..n {
                let batch = Encoded::new(1, vec![(row % 3) as u32, 0], vec![row as f32 / n as f32]);
                usual.pass(row, &batch, 0, Vec::new);
            }
            assert!(usual.rows.len() <= MOST && usual.rows.len() as u64 >= n.min(MOST as u64 / 2));
            let found = usual.nearest(&[1, 0], &[0.5]).expect("a row");
            assert_eq!(found.codes, [1, 0]);
            assert!((found.numbers[0] - 0.5).abs() < 0.34, "{}", found.numbers[0]);
            assert_eq!(usual.nearest(&[2, 7], &[f32::NAN]).expect("a row").codes, [2, 0]);
        }
        assert!(UsualRows::new().nearest(&[0], &[]).is_none());
    }
}
