//! Rows that are mostly 0, such as one-hot vectors: only what is not 0 is stored, the same number of entries for each
//! row.
//!
//! A mixture is fitted on them and evaluated without ever making the zeros. W x is a sum of a few columns of the
//! whitening matrix, and Σ r x xᵀ is a sum over pairs of entries. So a row of m entries in d dimensions costs m·d/2 and
//! m²/2 instead of d²/2 each. The covariance is Σ r x xᵀ/N − μμᵀ. Entries are of the order of 1, so what cancels is far
//! below the regularisation.
//!
//! Most rows belong to one component, and the shares of the others are so small that they are 0 in double precision. ‖W
//! (x − μ)‖² only grows from row to row of W. So a component is given up as soon as its share is certain to be 0. All
//! results have the same bits as if it had been computed to the end.

use std::ops::Range;

use rayon::prelude::*;

use super::em::{Moments, Points, sum_over_pieces};
use super::lanes::log_sum_exp;
use super::mixture::GaussianMixture;
use super::rows::CHUNK;
use crate::error::{Error, Result, stop_point};
use crate::math::simd;

/// Partial sums of a square.
const LANES: usize = 8;

/// Rows of W that are multiplied at a time: eight registers of eight numbers.
const BAND: usize = 64;

/// Rows that go on together.
const BLOCK_ROWS: usize = 128;

/// e to the power of less than this is 0 in double precision.
const LEAST_EXPONENT: f64 = -746.0;

/// Rows, each with the number of times it occurs.
#[derive(Debug, Clone, Copy)]
pub struct SparseRows<'a> {
    /// Where the entries lie, ascending in each row: [rows, entries].
    places: &'a [u32],
    /// [rows, entries].
    values: &'a [f64],
    dimension: usize,
    counts: &'a [f64],
}

impl<'a> SparseRows<'a> {
    /// Checks that there is a row, that lengths agree, and that places and values can be used.
    pub fn new(places: &'a [u32], values: &'a [f64], dimension: usize, counts: &'a [f64]) -> Result<Self> {
        let whole = !counts.is_empty() && !places.is_empty() && places.len().is_multiple_of(counts.len());
        let usable = whole
            && places.len() == values.len()
            && places.iter().all(|place| (*place as usize) < dimension)
            && values.iter().all(|value| value.is_finite());
        if !usable {
            return Err(Error::fit(
                format!("{} entries are not {} rows of numbers", values.len(), counts.len()),
                "give at least one row of finite numbers, and for each row how often it occurs",
            ));
        }
        Ok(Self { places, values, dimension, counts })
    }

    fn per_row(&self) -> usize {
        self.places.len() / self.counts.len()
    }

    /// The entries of a row.
    fn row(&self, index: usize) -> impl Iterator<Item = (usize, f64)> + Clone + use<'a> {
        let cells = index * self.per_row()..(index + 1) * self.per_row();
        self.places[cells.clone()].iter().zip(&self.values[cells]).map(|(place, value)| (*place as usize, *value))
    }
}

/// A component laid out for sparse rows.
struct Columns {
    /// W in bands of [`BAND`] rows, each with the columns that reach into it: [bands][places before its end][BAND].
    bands: Vec<Vec<[f64; BAND]>>,
    /// −W μ, in bands too.
    start: Vec<[f64; BAND]>,
    offset: f64,
}

/// How far the density of a row is known under one component.
#[derive(Clone, Copy, Default)]
struct Reached {
    /// Bands of W that are done.
    bands: usize,
    /// Partial sums of the square.
    squares: [f64; LANES],
    /// ln wₖ N(x; μₖ, Σₖ) as far as it is computed. Further bands only make it smaller.
    joint: f64,
}

impl Columns {
    fn new((mean, whitening): (&[f64], &[f64]), offset: f64) -> Self {
        let d = mean.len();
        let band = |(index, rows): (usize, &[f64])| {
            let mut columns = vec![[0.0; BAND]; ((index + 1) * BAND).min(d)];
            for (j, factors) in rows.chunks_exact(d).enumerate() {
                columns.iter_mut().zip(factors).for_each(|(column, factor)| column[j] = *factor);
            }
            columns
        };
        let start = |rows: &[f64]| {
            let mut start = [0.0; BAND];
            for (start, factors) in start.iter_mut().zip(rows.chunks_exact(d)) {
                *start = -factors.iter().zip(mean).map(|(w, m)| w * m).sum::<f64>();
            }
            start
        };
        let bands = || whitening.chunks(BAND * d);
        Self { bands: bands().enumerate().map(band).collect(), start: bands().map(start).collect(), offset }
    }

    /// Adds the squares of one more band.
    fn go_on(&self, row: impl Iterator<Item = (usize, f64)>, reached: &mut Reached) {
        let columns = &self.bands[reached.bands];
        simd(
            #[inline(always)]
            || {
                let mut whitened = self.start[reached.bands];
                for (place, value) in row {
                    let Some(column) = columns.get(place) else { break };
                    whitened.iter_mut().zip(column).for_each(|(sum, factor)| *sum += value * factor);
                }
                for values in whitened.as_chunks::<LANES>().0 {
                    reached.squares.iter_mut().zip(values).for_each(|(square, value)| *square += value * value);
                }
            },
        );
        reached.bands += 1;
        reached.joint = self.offset - 0.5 * reached.squares.iter().sum::<f64>();
    }
}

/// Which band of which component a row needs next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    component: usize,
    band: usize,
    /// Of the block.
    row: usize,
}

/// Room for a block of rows.
#[derive(Default)]
struct Room {
    /// [rows, components].
    reached: Vec<Reached>,
    /// [rows]: the largest of the components that are done.
    largest: Vec<f64>,
    /// The rows that are not done.
    open: Vec<Turn>,
    /// [rows, components].
    joint: Vec<[f64; 1]>,
}

/// A mixture laid out for sparse rows.
pub(crate) struct ByColumn(Vec<Columns>);

impl ByColumn {
    pub fn new(mixture: &GaussianMixture) -> Self {
        let offsets = mixture.offsets().into_iter().enumerate();
        Self(offsets.map(|(k, offset)| Columns::new(mixture.component(k), offset)).collect())
    }

    /// ln wₖ N(x; μₖ, Σₖ) of every component, for a block of rows: [rows, components]; −∞ where its share of a row is
    /// too small for a number.
    ///
    /// The next band is always computed for the component that may still have the largest share of the row. A component
    /// is given up when it lies so far behind a finished one that e to the power of the difference is 0. Rows that need
    /// the same band are taken one after the other, so that the band stays in the nearest cache.
    fn joint(&self, rows: SparseRows<'_>, block: Range<usize>, room: &mut Room) {
        let n = self.0.len();
        let Room { reached, largest, open, joint } = room;
        reached.clear();
        for _ in block.clone() {
            reached.extend(self.0.iter().map(|component| Reached { joint: component.offset, ..Reached::default() }));
        }
        largest.clear();
        largest.resize(block.len(), f64::NEG_INFINITY);
        joint.clear();
        joint.resize(block.len() * n, [f64::NEG_INFINITY]);
        open.clear();
        open.extend((0..block.len()).map(|row| Turn { component: 0, band: 0, row }));
        loop {
            open.retain_mut(|turn| {
                let of_row = reached[turn.row * n..][..n].iter().enumerate();
                let undone = of_row.filter(|(k, reached)| reached.bands < self.0[*k].bands.len());
                let next = undone.max_by(|(_, a), (_, b)| a.joint.total_cmp(&b.joint));
                let next = next.filter(|(_, reached)| reached.joint - largest[turn.row] >= LEAST_EXPONENT);
                next.is_some_and(|(component, reached)| {
                    (turn.component, turn.band) = (component, reached.bands);
                    true
                })
            });
            if open.is_empty() {
                return;
            }
            open.sort_unstable();
            for Turn { component: k, row, .. } in open.iter().copied() {
                let reached = &mut reached[row * n + k];
                self.0[k].go_on(rows.row(block.start + row), reached);
                if reached.bands == self.0[k].bands.len() {
                    joint[row * n + k] = [reached.joint];
                    largest[row] = largest[row].max(reached.joint);
                }
            }
        }
    }

    /// ln p of every row.
    pub fn log_likelihoods(&self, rows: SparseRows<'_>) -> Vec<f64> {
        let mut likelihoods = vec![0.0; rows.counts.len()];
        let blocks = likelihoods.par_chunks_mut(BLOCK_ROWS).enumerate();
        blocks.for_each_init(Room::default, |room, (block, likelihoods)| {
            stop_point();
            let start = block * BLOCK_ROWS;
            self.joint(rows, start..start + likelihoods.len(), room);
            for (likelihood, joint) in likelihoods.iter_mut().zip(room.joint.chunks_exact(self.0.len())) {
                [*likelihood] = log_sum_exp(joint);
            }
        });
        likelihoods
    }
}

impl Points for SparseRows<'_> {
    fn counts(&self) -> &[f64] {
        self.counts
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn add_to(&self, index: usize, factor: f64, sums: &mut [f64]) {
        self.row(index).for_each(|(place, value)| sums[place] += factor * value);
    }

    fn squared_distance(&self, index: usize, centre: &[f64], squared_norm: f64) -> f64 {
        let change = self.row(index).map(|(place, value)| value * (value - 2.0 * centre[place])).sum::<f64>();
        (squared_norm + change).max(0.0)
    }

    fn expect(self, mixture: &GaussianMixture, shares: &mut Vec<f64>) -> f64 {
        let components = mixture.components();
        let by_column = ByColumn::new(mixture);
        shares.resize(self.counts.len() * components, 0.0);
        let sums: Vec<f64> = shares
            .par_chunks_mut(CHUNK * components)
            .enumerate()
            .map_init(Room::default, |room, (chunk, shares)| {
                stop_point();
                let start = chunk * CHUNK;
                let mut sum = 0.0;
                for (block, shares) in shares.chunks_mut(BLOCK_ROWS * components).enumerate() {
                    let start = start + block * BLOCK_ROWS;
                    let block = start..start + shares.len() / components;
                    by_column.joint(self, block.clone(), room);
                    let of_rows = shares.chunks_exact_mut(components).zip(room.joint.chunks_exact(components));
                    for ((shares, joint), count) in of_rows.zip(&self.counts[block]) {
                        let [total] = log_sum_exp(joint);
                        sum += count * total;
                        for (share, [term]) in shares.iter_mut().zip(joint) {
                            *share = count * (term - total).exp();
                        }
                    }
                }
                sum
            })
            .collect();
        sums.iter().sum::<f64>() / self.counts.iter().sum::<f64>()
    }

    fn moments(self, shares: &[f64], components: usize) -> Moments {
        // For each component Σ r, Σ r x and the lower triangle of Σ r x xᵀ, line by line.
        let d = self.dimension;
        let line_start = |line: usize| line * (line + 1) / 2;
        let stride = 1 + d + line_start(d);
        let sums = sum_over_pieces(self.counts.len(), components * stride, |rows, sums| {
            for row in rows {
                let of_row = shares[row * components..][..components].iter();
                for (sums, share) in sums.chunks_exact_mut(stride).zip(of_row).filter(|(_, share)| **share > 0.0) {
                    sums[0] += share;
                    let (first, second) = sums[1..].split_at_mut(d);
                    for (index, (place, value)) in self.row(row).enumerate() {
                        first[place] += share * value;
                        let line = &mut second[line_start(place)..][..=place];
                        self.row(row).take(index + 1).for_each(|(other, o)| line[other] += share * value * o);
                    }
                }
            }
        });
        let mut moments = Moments { sizes: Vec::new(), means: Vec::new(), squares: Vec::new() };
        for sums in sums.chunks_exact(stride) {
            let size = sums[0];
            let mean: Vec<f64> = sums[1..=d].iter().map(|sum| sum / size.max(f64::MIN_POSITIVE)).collect();
            for i in 0..d {
                let line = sums[1 + d + line_start(i)..][..=i].iter().zip(&mean);
                moments.squares.extend(line.map(|(sum, mean_of_other)| sum - size * mean[i] * mean_of_other));
                moments.squares.extend(std::iter::repeat_n(0.0, d - 1 - i));
            }
            moments.sizes.push(size);
            moments.means.extend(mean);
        }
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MixtureConfig, Rows};
    use super::*;

    /// A number and two groups of one-hots, and the same rows with their zeros.
    fn rows(n_rows: usize) -> (Vec<u32>, Vec<f64>, Vec<f64>) {
        let (mut places, mut values, mut dense) = (Vec::new(), Vec::new(), vec![0.0; n_rows * 6]);
        for (row, dense) in dense.chunks_exact_mut(6).enumerate() {
            let is_known = row % 11 > 0;
            let entries = [
                (0, (row * 7 % 13) as f64 / 4.0 - 1.5),
                (1 + row % 3, 1.0),
                (if is_known { 4 + row * row % 7 % 2 } else { 4 }, f64::from(is_known)),
            ];
            for (place, value) in entries {
                places.push(place as u32);
                values.push(value);
                dense[place] += value;
            }
        }
        (places, values, dense)
    }

    #[test]
    fn a_sparse_fit_is_the_dense_fit() -> Result<()> {
        let (places, values, dense) = rows(200);
        let counts: Vec<f64> = (0..200).map(|row| f64::from(1 + row % 4)).collect();
        let config = MixtureConfig { components: 3, regularisation: 1e-3, tolerance: 0.0, ..MixtureConfig::default() };
        let sparse_rows = SparseRows::new(&places, &values, 6, &counts)?;
        let sparse = GaussianMixture::fit_sparse(sparse_rows, &config, 3)?;
        let expected = GaussianMixture::fit(Rows::new(&dense, 6, &counts)?, &config, 3)?;
        for (a, b) in sparse.means.iter().chain(&sparse.whitening).zip(expected.means.iter().chain(&expected.whitening))
        {
            assert!((a - b).abs() <= 1e-7 * b.abs().max(1.0), "{a} {b}");
        }
        let likelihoods = ByColumn::new(&expected).log_likelihoods(sparse_rows);
        for (a, b) in likelihoods.iter().zip(expected.log_likelihoods(&dense)) {
            assert!((a - b).abs() <= 1e-10 * b.abs().max(1.0), "{a} {b}");
        }
        Ok(())
    }

    /// Two kinds of rows that share no category of the second group, in more places than a band has.
    #[test]
    fn components_that_are_far_away_are_left_early() -> Result<()> {
        let (mut places, mut dense) = (Vec::new(), vec![0.0; 400 * 150]);
        for (row, dense) in dense.chunks_exact_mut(150).enumerate() {
            for place in [row % 50, 50 + row % 2 * 25 + row * row % 17 % 10, 100 + row * row % 31] {
                places.push(place as u32);
                dense[place] = 1.0;
            }
        }
        let (values, counts) = (vec![1.0; places.len()], vec![1.0; 400]);
        let rows = SparseRows::new(&places, &values, 150, &counts)?;
        let shares: Vec<f64> = (0..400).flat_map(|row| [f64::from(row % 2 == 0), f64::from(row % 2 == 1)]).collect();
        let mixture = super::super::em::maximise(rows, &shares, 2, 1e-6)?;
        let by_column = ByColumn::new(&mixture);
        let mut room = Room::default();
        by_column.joint(rows, 0..400, &mut room);
        for (row, joint) in room.joint.chunks_exact(2).enumerate() {
            assert!(joint[row % 2][0].is_finite() && joint[1 - row % 2][0] == f64::NEG_INFINITY, "{joint:?}");
        }
        for (a, b) in by_column.log_likelihoods(rows).iter().zip(mixture.log_likelihoods(&dense)) {
            assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "{a} {b}");
        }
        Ok(())
    }

    #[test]
    fn bad_entries_are_refused() {
        assert!(SparseRows::new(&[], &[], 2, &[]).is_err());
        assert!(SparseRows::new(&[0, 1, 0], &[1.0; 3], 2, &[1.0; 2]).is_err());
        assert!(SparseRows::new(&[0, 2], &[1.0; 2], 2, &[1.0]).is_err());
        assert!(SparseRows::new(&[0, 1], &[1.0, f64::NAN], 2, &[1.0]).is_err());
        assert!(SparseRows::new(&[0, 1], &[1.0], 2, &[1.0]).is_err());
    }
}
