//! Cells of rows that are to be filled, by draws or by the likeliest values.

use rayon::prelude::*;

use crate::columns::{Encoded, Ladder, Layout};

/// Rows some cells of which are blank.
#[derive(Debug, Clone, Copy)]
pub struct Blanks<'a> {
    /// The rows; what stands in a blank cell is of no use.
    pub rows: &'a Encoded,
    /// Which cells are blank, [rows, cells].
    pub blank: &'a [bool],
    /// For each number the group that says whether it is there.
    pub presence: &'a [usize],
    /// For each cell whether it is ever filled; what follows from other cells is not.
    pub drawn: &'a [bool],
    /// For each number what it can be.
    pub ladders: &'a [Ladder],
    /// For each group a code that is never filled in.
    pub barred: &'a [Option<u32>],
    /// Whether "missing" may be filled in.
    pub may_miss: bool,
    /// Where all randomness comes from.
    pub seed: u64,
    /// The number of each row, by which its random numbers are chosen: so draws do not depend on the batch.
    pub ids: &'a [u64],
}

/// What a cell most likely holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Guess {
    /// This category, with its probability.
    Code(u32, f64),
    /// This number, not scaled, and the probability of the bin in which it lies.
    Number(f64, f64),
}

/// If a bin with at least this probability holds a single value, that value is the guess. Otherwise it is the mean.
const SURE: f64 = 0.5;

impl Blanks<'_> {
    /// Whether a cell is blank.
    pub fn is_blank(&self, row: usize, cell: usize, layout: &Layout) -> bool {
        self.blank[row * layout.n_cells() + cell]
    }

    /// Whether a code may be filled into a group.
    pub fn allows(&self, layout: &Layout, group: usize, code: u32) -> bool {
        self.barred[group] != Some(code) && (self.may_miss || layout.missing(group) != Some(code))
    }

    /// Computes something for each row, in parallel; the rows of a thread share their buffers.
    pub fn map_rows<S, T: Send>(
        &self,
        room: impl Fn() -> S + Sync + Send,
        value: impl Fn(&mut S, usize) -> T + Sync + Send,
    ) -> Vec<T> {
        let of_row = |room: &mut S, row: usize| {
            crate::error::stop_point();
            value(room, row)
        };
        (0..self.rows.n_rows()).into_par_iter().with_min_len(16).map_init(room, of_row).collect()
    }
}

/// The likeliest number, given the weights of bins with these limits: the only value of a bin that is probable enough,
/// or else the mean.
pub(crate) fn guess_number(weights: &[f64], limits: impl Fn(usize) -> [f32; 2], ladder: &Ladder) -> Option<Guess> {
    let total: f64 = weights.iter().sum();
    let best = (0..weights.len()).max_by(|a, b| weights[*a].total_cmp(&weights[*b]))?;
    let of_bin = |bin: usize| {
        let [low, high] = limits(bin);
        ladder.mean(low, high)
    };
    if let Some((value, true)) = of_bin(best).filter(|_| weights[best] >= SURE * total) {
        return Some(Guess::Number(value, weights[best] / total));
    }
    let mut mean = 0.0;
    for (bin, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        mean += of_bin(bin)?.0 * weight / total;
    }
    Some(Guess::Number(mean, weights[best] / total))
}

/// The likeliest code of a group, given the weights of its codes. The weight of a shared place is divided among the
/// values that share it.
pub(crate) fn guess_code(weights: &[f64], layout: &Layout, group: usize) -> Option<Guess> {
    let start = layout.group(group).start;
    let of_one = |code: usize| weights[code] / f64::from(layout.members(start + code).max(1));
    let best = (0..weights.len()).max_by(|a, b| of_one(*a).total_cmp(&of_one(*b)))?;
    let total: f64 = weights.iter().sum();
    (total > 0.0).then(|| Guess::Code(best as u32, of_one(best) / total))
}

/// The place that a share of the weights ends in; `None` if there is no weight.
pub(crate) fn choose(weights: &[f64], share: f64) -> Option<usize> {
    let total: f64 = weights.iter().sum();
    let mut left = share * total;
    let mut last = None;
    for (at, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        last = Some(at);
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_follow_the_weights() {
        let weights = [0.0, 2.0, 0.0, 6.0, 0.0];
        let chosen: Vec<Option<usize>> = (0..8).map(|i| choose(&weights, f64::from(i) / 8.0)).collect();
        assert_eq!(chosen, [[Some(1); 2].as_slice(), &[Some(3); 6]].concat());
        assert_eq!((choose(&weights, 1.0), choose(&[0.0; 3], 0.5), choose(&[], 0.5)), (Some(3), None, None));
    }

    #[test]
    fn a_sure_value_is_guessed_and_else_the_mean() {
        let ladder = Ladder::learn((0..100).map(|i| if i < 50 { (0.0, 0.0) } else { (1.0, 10.0) }).collect());
        let limits = |bin: usize| [[-1.0, 0.5], [0.5, 2.0]][bin];
        assert_eq!(guess_number(&[6.0, 4.0], limits, &ladder), Some(Guess::Number(0.0, 0.6)));
        let spread = Ladder::learn((0..100).map(|i| (i as f32 / 50.0, f64::from(i))).collect());
        let Some(Guess::Number(mean, p)) = guess_number(&[6.0, 4.0], |bin| [bin as f32, bin as f32 + 1.0], &spread)
        else {
            panic!("no guess")
        };
        assert!((mean - (0.6 * 24.5 + 0.4 * 74.5)).abs() < 1e-9 && (p - 0.6).abs() < 1e-12, "{mean} {p}");
        let layout = Layout::new(0, vec![3]).with_shared([(2, 4)].into());
        assert_eq!(guess_code(&[2.0, 1.0, 5.0], &layout, 0), Some(Guess::Code(0, 0.25)));
    }
}
