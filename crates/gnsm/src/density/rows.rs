//! Rows with counts: what every density is fitted on.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, Result};

/// Rows per piece of work; fixed, so that sums do not depend on the number of threads.
pub(super) const CHUNK: usize = 1024;

/// Above this, not every whole number can be a float, so counts would be lost.
const LARGEST_COUNT: f64 = 9_007_199_254_740_992.0;

/// What random numbers are drawn for. Each purpose has its own stream of the seed's generator, so that drawing
/// more for one leaves the others as they were.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stream {
    /// Which rows stand for all of them.
    Sample,
    /// Which fold a row belongs to.
    Folds,
    /// The n-th start of a mixture.
    Start(usize),
}

/// The generator of one purpose.
pub(super) fn generator(seed: u64, stream: Stream) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(match stream {
        Stream::Sample => 0,
        Stream::Folds => 1,
        Stream::Start(start) => 2 + start as u64,
    });
    generator
}

/// Rows, row-major, each with the number of times it occurs.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    pub(super) values: &'a [f64],
    pub(super) dimension: usize,
    pub(super) counts: &'a [f64],
}

impl<'a> Rows<'a> {
    /// Checks that there is a row, that lengths agree, that values are finite and counts whole numbers from 1.
    pub fn new(values: &'a [f64], dimension: usize, counts: &'a [f64]) -> Result<Self> {
        let advice = "give at least one row of finite numbers, and for each row how often it occurs";
        if counts.is_empty() || dimension == 0 {
            return Err(Error::fit("there are no rows to fit a density on", advice));
        }
        if dimension.checked_mul(counts.len()) != Some(values.len()) {
            return Err(Error::fit(
                format!("{} values are not {} rows of {dimension}", values.len(), counts.len()),
                advice,
            ));
        }
        if let Some(position) = values.iter().position(|value| !value.is_finite()) {
            let (row, column) = (position / dimension, position % dimension);
            return Err(Error::fit(format!("value {column} of row {row} is not a finite number"), advice));
        }
        if let Some(row) =
            counts.iter().position(|&count| !((1.0..=LARGEST_COUNT).contains(&count) && count.fract() == 0.0))
        {
            return Err(Error::fit(
                format!("the count {} of row {row} is not a whole number from 1 to 2^53", counts[row]),
                advice,
            ));
        }
        Ok(Self { values, dimension, counts })
    }

    /// The number of rows given, each counted once.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Never, since [`Rows::new`] refuses no rows.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The number of rows with repetitions.
    pub fn total(&self) -> f64 {
        self.counts.iter().sum()
    }

    pub(super) fn row(&self, index: usize) -> &'a [f64] {
        &self.values[index * self.dimension..][..self.dimension]
    }

    /// Each row with its count.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a [f64], f64)> + use<'a> {
        self.values.chunks_exact(self.dimension).zip(self.counts.iter().copied())
    }

    /// The rows themselves where there are at most `most`, else a systematic sample of `most` rows.
    ///
    /// Imagine all rows in a line, each as often as it occurs. `most` of them are taken at equal steps from a random
    /// first one. So a row is taken in proportion to its count, and its new count is how often it was taken.
    pub(super) fn sample(&self, most: usize, seed: u64) -> SampledRows {
        if self.len() <= most {
            return SampledRows {
                values: self.values.to_vec(),
                dimension: self.dimension,
                counts: self.counts.to_vec(),
            };
        }
        let step = self.total() / most as f64;
        let first: f64 = generator(seed, Stream::Sample).random();
        let mut sample = SampledRows { values: Vec::new(), dimension: self.dimension, counts: Vec::new() };
        let mut passed = 0.0;
        let mut taken = 0;
        for (row, count) in self.iter() {
            passed += count;
            let before = taken;
            while taken < most && (taken as f64 + first) * step < passed {
                taken += 1;
            }
            if taken > before {
                sample.values.extend_from_slice(row);
                sample.counts.push((taken - before) as f64);
            }
        }
        sample
    }
}

/// Rows with counts that own their numbers.
#[derive(Debug, Clone)]
pub(super) struct SampledRows {
    pub(super) values: Vec<f64>,
    pub(super) dimension: usize,
    pub(super) counts: Vec<f64>,
}

impl SampledRows {
    pub(super) fn as_rows(&self) -> Rows<'_> {
        Rows { values: &self.values, dimension: self.dimension, counts: &self.counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_takes_rows_in_proportion_to_their_counts() -> Result<()> {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let mut counts = vec![1.0; 1000];
        counts[10] = 1000.0;
        let rows = Rows::new(&values, 1, &counts)?;
        let sample = rows.sample(500, 7);
        assert_eq!(sample.counts.iter().sum::<f64>(), 500.0);
        let heavy = sample.values.iter().position(|&value| value == 10.0).map(|row| sample.counts[row]);
        assert!(heavy.is_some_and(|count| (249.0..=252.0).contains(&count)), "{heavy:?}");
        assert_eq!(rows.sample(1000, 7).values, values);
        Ok(())
    }

    #[test]
    fn bad_rows_are_refused() {
        assert!(Rows::new(&[], 1, &[]).is_err());
        assert!(Rows::new(&[], 0, &[1.0]).is_err());
        assert!(Rows::new(&[1.0, 2.0, 3.0], 2, &[1.0, 1.0]).is_err());
        assert!(Rows::new(&[1.0, f64::NAN], 2, &[1.0]).is_err());
        assert!(Rows::new(&[1.0, 2.0], 2, &[0.0]).is_err());
        assert!(Rows::new(&[1.0, 2.0], 2, &[1.5]).is_err());
        assert!(Rows::new(&[1.0, 2.0], 2, &[1e300]).is_err());
    }
}
