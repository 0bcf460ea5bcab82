//! What the trained network says about a row, per level and per cell: score norms and surprise.
//!
//! No noise is drawn. A row is shown to the network at a fixed [`Point`] of each level's noise distribution. So its
//! embedding depends on the model and the row alone. A *cell* is a number or a category group. For each cell and level
//! there are two figures:
//!
//! - the **squared norm** of the estimated score. Summed over the cells it is an entry of η(x) = (‖s(x, λ₁)‖², …, ‖s(x,
//!   λ_L)‖²), the paper's `eq:norms`.
//! - the **surprise**. For a category it is −log π, where π is the probability that the network gives to the category
//!   that is there. A category that n training rows never showed has the surprise log(n + 1), the rule of succession.
//!   For a number it is half the squared distance between x and its denoised value x̂ = x + σ²s, over the variance of
//!   that distance on held-out rows.
//!
//! In the noise parameterisation the posterior of a category follows from ε̂ ≈ log α − λx̃: π ∝ exp(ε̂ + λx̃).

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::columns::{ABSENT, Encoded, Layout, UNSEEN};
use crate::math::ln;
use crate::network::ResidualNetwork;
use crate::noise::{Levels, Parameterisation, concrete};

/// Where in a level's noise distribution a row is shown to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// The clean logits at every level, as the paper does; outside of what training showed.
    Clean,
    /// The centre of the level's own noise, log-softmax(log α/λ).
    Centre,
}

/// Numbers in memory while the rest of rows is asked about cells: rows have to be repeated for that, once for each cell.
const ASKED_AT_A_TIME: usize = 1 << 22;

/// One figure for each cell of some rows at each level.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    per_row: usize,
    values: Vec<f32>,
}

impl Embedding {
    /// The figures of a row, [levels, cells].
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.per_row..][..self.per_row]
    }
}

/// Computes embeddings with a trained network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Embedder<'a> {
    pub network: &'a ResidualNetwork,
    pub levels: &'a Levels,
    pub layout: &'a Layout,
    pub parameterisation: Parameterisation,
    pub point: Point,
    /// Mean squared distance between a number and its denoised value, [levels, numbers].
    pub spread: &'a [f32],
    /// The surprise of a category never seen.
    pub unseen: f32,
}

impl Embedder<'_> {
    /// The squared score norms of some rows.
    pub fn norms(&self, rows: &Encoded) -> Embedding {
        let (levels, n_cells) = (0..self.levels.count(), self.layout.n_cells());
        let per_row = levels.len() * n_cells;
        let mut values = vec![0.0; rows.n_rows() * per_row];
        self.for_each_row(
            rows,
            &mut values,
            levels,
            #[inline(always)]
            |out, row, level, logits| self.read_norms(rows, row, level, logits, &mut out[level * n_cells..][..n_cells]),
        );
        Embedding { per_row, values }
    }

    /// The surprises of some rows at the first `n_levels` levels.
    pub fn surprises(&self, rows: &Encoded, n_levels: usize) -> Embedding {
        let n_cells = self.layout.n_cells();
        let per_row = n_levels * n_cells;
        let mut values = vec![0.0; rows.n_rows() * per_row];
        self.for_each_row(
            rows,
            &mut values,
            0..n_levels,
            #[inline(always)]
            |out, row, level, logits| {
                self.read_surprises(rows, row, level, logits, &mut out[level * n_cells..][..n_cells]);
            },
        );
        Embedding { per_row, values }
    }

    /// How much the network doubts each category in clear sight of everything: 1 − π of the one that is there, averaged over the last fifth of
    /// the levels, [rows, cells]. An unseen category is doubted fully, an absent one not at all. Only for layouts without numbers.
    pub fn doubts(&self, rows: &Encoded) -> Vec<f32> {
        let (n_cells, levels) = (self.layout.n_cells(), self.first_clear_level()..self.levels.count());
        let share = 1.0 / levels.len() as f32;
        let mut values = vec![0.0; rows.n_rows() * n_cells];
        self.for_each_row(
            rows,
            &mut values,
            levels,
            #[inline(always)]
            |out, row, level, logits| {
                self.posteriors(rows.codes(row), level, logits);
                for ((out, places), &code) in out.iter_mut().zip(self.layout.groups()).zip(rows.codes(row)) {
                    let probabilities = &logits[places];
                    // The sum of the others keeps the digits that 1 − π would lose; what a damaged network cannot tell is doubted.
                    let doubt = match code {
                        UNSEEN => 1.0,
                        ABSENT => 0.0,
                        code => {
                            let (before, after) = probabilities.split_at(code as usize);
                            before.iter().chain(&after[1..]).sum::<f32>().min(1.0)
                        }
                    };
                    *out += share * doubt;
                }
            },
        );
        values
    }

    /// What the network expects in each place, [rows, width]: the category's distribution, averaged over the levels from `first_level` on; for
    /// a number the denoised value at the first of them.
    pub fn expectations(&self, rows: &Encoded, first_level: usize) -> Vec<f32> {
        let (width, n_numbers) = (self.layout.width(), self.layout.n_numbers());
        let share = 1.0 / (self.levels.count() - first_level) as f32;
        let mut values = vec![0.0; rows.n_rows() * width];
        self.for_each_row(
            rows,
            &mut values,
            first_level..self.levels.count(),
            #[inline(always)]
            |out, row, level, logits| {
                if level == first_level {
                    for i in 0..n_numbers {
                        let shown = shown_number(rows.numbers(row)[i]);
                        out[i] = shown + self.correction(level, logits[i]);
                    }
                }
                self.posteriors(rows.codes(row), level, logits);
                for (out, p) in out.iter_mut().zip(&*logits).skip(n_numbers) {
                    *out += share * *p;
                }
            },
        );
        values
    }

    /// What the rest of a row says about some of its groups, each hidden while it is asked about: the categories' probabilities, averaged over the
    /// last fifth of the levels. `take` receives them with the place in `asked` of the row and the group. Only for layouts without numbers.
    pub fn ask_the_rest(&self, rows: &Encoded, asked: &[(usize, usize)], mut take: impl FnMut(usize, &[f32])) {
        let levels = self.first_clear_level()..self.levels.count();
        let share = 1.0 / levels.len() as f32;
        let n_groups = self.layout.n_groups();
        let largest = (0..n_groups).map(|group| self.layout.size(group)).fold(1, usize::max);
        let at_a_time = (ASKED_AT_A_TIME / n_groups.max(largest)).max(1);
        for (piece, first) in asked.chunks(at_a_time).zip((0..).step_by(at_a_time)) {
            let mut values = vec![0.0; piece.len() * largest];
            self.for_each_row(
                &with_hidden(rows, piece),
                &mut values,
                levels.clone(),
                #[inline(always)]
                |out, which, level, logits| {
                    let probabilities = &mut logits[self.layout.group(piece[which].1)];
                    self.add_point(ABSENT, level, probabilities);
                    concrete::softmax(probabilities);
                    for (out, probability) in out.iter_mut().zip(&*probabilities) {
                        *out += share * *probability;
                    }
                },
            );
            for (which, (_, group)) in piece.iter().enumerate() {
                take(first + which, &values[which * largest..][..self.layout.size(*group)]);
            }
        }
    }

    /// The surprise of some groups given the rest of their rows: −log of what [`Self::ask_the_rest`] gives to what is there.
    pub fn surprises_from_the_rest(&self, rows: &Encoded, asked: &[(usize, usize)]) -> Vec<f32> {
        let mut surprises = vec![0.0; asked.len()];
        self.ask_the_rest(rows, asked, |which, probabilities| {
            let (row, group) = asked[which];
            surprises[which] = match rows.codes(row)[group] {
                UNSEEN => self.unseen,
                ABSENT => 0.0,
                code => -probabilities[code as usize].max(f32::MIN_POSITIVE).ln(),
            };
        });
        surprises
    }

    /// The first of the last fifth of the levels, at which the rest of a row can be seen clearly.
    fn first_clear_level(&self) -> usize {
        let count = self.levels.count();
        count - count.div_ceil(5)
    }

    /// The squared distances between numbers and their denoised values, summed over rows with these counts, [levels, numbers].
    pub fn squared_corrections(&self, rows: &Encoded, counts: &[f64]) -> Vec<f64> {
        let (n_levels, n_numbers) = (self.levels.count(), self.layout.n_numbers());
        let mut sums = vec![0.0; n_levels * n_numbers];
        if n_numbers == 0 {
            return sums;
        }
        let per_row = n_levels * n_numbers;
        let mut values = vec![0.0; rows.n_rows() * per_row];
        self.for_each_row(
            rows,
            &mut values,
            0..n_levels,
            #[inline(always)]
            |out, row, level, logits| {
                for i in 0..n_numbers {
                    let there = !rows.numbers(row)[i].is_nan();
                    out[level * n_numbers + i] = if there { self.correction(level, logits[i]).powi(2) } else { 0.0 };
                }
            },
        );
        for (row, count) in values.chunks_exact(per_row).zip(counts) {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += f64::from(*value) * count;
            }
        }
        sums
    }

    /// Shows rows to the network at some levels; `take` receives a row's share of `out`, the row, the level and the logits.
    fn for_each_row(
        &self,
        rows: &Encoded,
        out: &mut [f32],
        levels: Range<usize>,
        take: impl Fn(&mut [f32], usize, usize, &mut [f32]) + Sync,
    ) {
        let Some(per_row) = out.len().checked_div(rows.n_rows()) else { return };
        let shown = self.shown();
        let n_groups = self.layout.n_groups();
        self.network.for_each_row(
            out,
            per_row,
            levels,
            #[inline(always)]
            |row, level, input| {
                for (input, number) in input.iter_mut().zip(rows.numbers(row)) {
                    *input = shown_number(*number);
                }
                let shown = &shown[level * n_groups..][..n_groups];
                for ((places, shown), &code) in self.layout.groups().zip(shown).zip(rows.codes(row)) {
                    let input = &mut input[places];
                    match code {
                        UNSEEN | ABSENT => input.fill(shown.unknown),
                        code => {
                            input.fill(shown.off);
                            input[code as usize] = shown.on;
                        }
                    }
                }
            },
            take,
        );
    }

    /// What the network sees of each group at each level, [levels, groups]: no more than three numbers.
    fn shown(&self) -> Vec<Shown> {
        let seen = |code: u32, level: usize, size: usize| {
            let (mut x, mut input) = (vec![0.0; size], vec![0.0; size]);
            self.point(&mut x, code, level);
            self.parameterisation.present_group(self.levels, level, &x, &mut input);
            (input[0], input[size - 1])
        };
        let of_group = |(level, group): (usize, usize)| {
            // A group without a category, which only a damaged model has, is shown nowhere.
            let size = self.layout.size(group).max(1);
            let ((on, off), (unknown, _)) = (seen(0, level, size), seen(ABSENT, level, size));
            Shown { on, off, unknown }
        };
        let groups = (0..self.levels.count()).flat_map(|level| (0..self.layout.n_groups()).map(move |g| (level, g)));
        groups.map(of_group).collect()
    }

    #[inline(always)]
    fn point(&self, x: &mut [f32], code: u32, level: usize) {
        let alpha = self.levels.log_alpha(level, x.len());
        match (code, self.point) {
            (UNSEEN | ABSENT, _) => concrete::unknown(x),
            (code, Point::Clean) => concrete::clean(x, code as usize, alpha),
            (code, Point::Centre) => concrete::centre(x, code as usize, alpha, self.levels.lambda(level)),
        }
    }

    /// x̂ − x = σ²s of a number.
    #[inline(always)]
    fn correction(&self, level: usize, output: f32) -> f32 {
        let sigma = self.levels.sigma(level);
        match self.parameterisation {
            Parameterisation::Noise => sigma * sigma * output,
            Parameterisation::Posterior => -sigma * output,
        }
    }

    /// What the network expects in each group, in place of its answer.
    #[inline(always)]
    fn posteriors(&self, codes: &[u32], level: usize, logits: &mut [f32]) {
        if self.parameterisation == Parameterisation::Noise {
            for (places, code) in self.layout.groups().zip(codes) {
                self.add_point(*code, level, &mut logits[places]);
            }
        }
        concrete::softmax_of_groups(logits, self.layout);
    }

    /// From what a network says about noise to what it says about a category: λx, where x is what it sees.
    #[inline(always)]
    fn add_point(&self, code: u32, level: usize, logits: &mut [f32]) {
        if self.parameterisation == Parameterisation::Noise {
            let (mut x, lambda) = (Scratch::default(), self.levels.lambda(level));
            let x = x.slice(logits.len());
            self.point(x, code, level);
            for (logit, x) in logits.iter_mut().zip(x) {
                *logit = lambda.mul_add(*x, *logit);
            }
        }
    }

    #[inline(always)]
    fn read_norms(&self, rows: &Encoded, row: usize, level: usize, logits: &mut [f32], norms: &mut [f32]) {
        let (n_numbers, sigma) = (self.layout.n_numbers(), self.levels.sigma(level));
        for i in 0..n_numbers {
            let there = !rows.numbers(row)[i].is_nan();
            let score = if there { self.correction(level, logits[i]) / (sigma * sigma) } else { 0.0 };
            norms[i] = score * score;
        }
        let lambda = self.levels.lambda(level);
        // The noise's softmax, or the posterior from which it follows.
        concrete::softmax_of_groups(logits, self.layout);
        let (mut x, mut softmax) = (Scratch::default(), Scratch::default());
        let (mut e, mut inverse) = (Scratch::default(), Scratch::default());
        for (group, places) in self.layout.groups().enumerate() {
            let k = places.len();
            let softmax = softmax.slice(k);
            match self.parameterisation {
                Parameterisation::Noise => softmax.copy_from_slice(&logits[places]),
                Parameterisation::Posterior => {
                    let (posterior, x) = (&logits[places], x.slice(k));
                    self.point(x, rows.codes(row)[group], level);
                    let alpha = self.levels.log_alpha(level, k);
                    concrete::expected_softmax(softmax, x, posterior, alpha, lambda, e.slice(k), inverse.slice(k));
                }
            }
            concrete::score_from_softmax(softmax, lambda);
            norms[n_numbers + group] = softmax.iter().map(|s| s * s).sum();
        }
    }

    #[inline(always)]
    fn read_surprises(&self, rows: &Encoded, row: usize, level: usize, logits: &mut [f32], surprises: &mut [f32]) {
        let n_numbers = self.layout.n_numbers();
        for i in 0..n_numbers {
            let there = !rows.numbers(row)[i].is_nan();
            let correction = if there { self.correction(level, logits[i]) } else { 0.0 };
            surprises[i] = 0.5 * correction * correction / self.spread[level * n_numbers + i];
        }
        self.posteriors(rows.codes(row), level, logits);
        let surprises = &mut surprises[n_numbers..];
        for ((surprise, places), &code) in surprises.iter_mut().zip(self.layout.groups()).zip(rows.codes(row)) {
            *surprise = if matches!(code, UNSEEN | ABSENT) { 1.0 } else { logits[places][code as usize] };
        }
        for surprise in surprises.iter_mut() {
            *surprise = -ln(surprise.max(f32::MIN_POSITIVE));
        }
        for (surprise, &code) in surprises.iter_mut().zip(rows.codes(row)) {
            *surprise = match code {
                UNSEEN => self.unseen,
                ABSENT => 0.0,
                _ => *surprise,
            };
        }
    }
}

/// What the network sees of a group: in the category's place, in every other one, and everywhere if the category is not known.
struct Shown {
    on: f32,
    off: f32,
    unknown: f32,
}

/// For each pair of a row and a group, the row with that group absent.
fn with_hidden(rows: &Encoded, pairs: &[(usize, usize)]) -> Encoded {
    let mut codes = Vec::new();
    for &(row, group) in pairs {
        codes.extend_from_slice(rows.codes(row));
        let start = codes.len() - rows.codes(row).len();
        codes[start + group] = ABSENT;
    }
    Encoded::new(pairs.len(), codes, Vec::new())
}

/// A missing number is shown as the mean.
#[inline(always)]
fn shown_number(number: f32) -> f32 {
    if number.is_nan() { 0.0 } else { number }
}

/// Room for one group; on the stack unless the group is large.
struct Scratch {
    small: [f32; 64],
    large: Vec<f32>,
}

impl Default for Scratch {
    #[inline(always)]
    fn default() -> Self {
        Self { small: [0.0; 64], large: Vec::new() }
    }
}

impl Scratch {
    #[inline(always)]
    fn slice(&mut self, n: usize) -> &mut [f32] {
        if n <= self.small.len() {
            return &mut self.small[..n];
        }
        if self.large.len() < n {
            self.large.resize(n, 0.0);
        }
        &mut self.large[..n]
    }
}

#[cfg(test)]
mod tests;
