//! Fills blank cells with draws: the paper's closing hope, a generative model.
//!
//! Noise is taken off step by step (annealing; Song and Ermon, *Generative Modeling by Estimating Gradients of the Data
//! Distribution*, NeurIPS 2019). A row starts with nothing in its blanks. At each level, from the noisiest to the
//! clearest, all cells get the noise of that level, the network says how likely each category is behind it, and each
//! blank is drawn from that. So early draws settle what kind of row it is, and later ones what goes with it.
//!
//! Cells that are drawn together cannot look at each other. So after the last level each blank is drawn again, given
//! the rest of its row in clear sight, once: more often, frequencies drift. `docs/research/generate.md` has
//! the figures.

use rand_chacha::ChaCha8Rng;

use super::embed::Point;
use super::{Gnsm, binned};
use crate::columns::{ABSENT, Encoded};
use crate::detectors::{Blanks, Guess, choose, guess_code, guess_number};
use crate::math::{fill_gumbel, stream, uniform_share};
use crate::noise::{Parameterisation, concrete, perturb};

/// The name of the random streams.
const ANNEALING: u64 = 23;
/// Draws at each level.
const AT_EACH_LEVEL: usize = 3;
/// How often each cell is drawn again, given the rest.
const AGAIN: usize = 1;
/// Rows whose probabilities are averaged for a guess.
const GUESSES: usize = 4;

impl Gnsm {
    /// Fills the blanks with draws; `None` if numbers are not seen in bins.
    pub(super) fn draw_blanks(&self, blanks: &Blanks<'_>) -> Option<Encoded> {
        let bins = match &self.bins {
            None if self.outer.n_numbers() > 0 => return None,
            bins => bins.as_ref(),
        };
        let drawn = Annealed::new(self, blanks, 0).codes;
        let (n_cells, n_numbers) = (self.layout.n_cells(), self.outer.n_numbers());
        let (mut codes, mut numbers) = (Vec::new(), Vec::new());
        for (row, drawn) in drawn.chunks_exact(n_cells.max(1)).enumerate() {
            let mut random = stream(blanks.seed, ANNEALING, blanks.ids[row], u64::MAX);
            for (number, code) in drawn[..n_numbers].iter().enumerate() {
                let share = uniform_share(&mut random);
                let known = blanks.rows.numbers(row)[number];
                let drawn = || match (bins, code) {
                    (Some(bins), code) if *code < ABSENT => {
                        let [low, high] = bins.limits(number, *code as usize);
                        blanks.ladders[number].draw(low, high, share)
                    }
                    _ => f32::NAN,
                };
                numbers.push(if blanks.is_blank(row, number, &self.outer) { drawn() } else { known });
            }
            codes.extend_from_slice(&drawn[n_numbers..]);
        }
        Some(Encoded::new(blanks.rows.n_rows(), codes, numbers))
    }

    /// What most likely stands in each blank, with the row and the cell.
    pub(super) fn guess_blanks(&self, blanks: &Blanks<'_>) -> Option<Vec<(usize, usize, Guess)>> {
        if self.bins.is_none() && self.outer.n_numbers() > 0 {
            return None;
        }
        let n_cells = self.layout.n_cells();
        let cells: Vec<(usize, usize)> = (0..blanks.blank.len())
            .filter(|place| blanks.blank[*place])
            .map(|place| (place / n_cells, place % n_cells))
            .collect();
        let mut sums: Vec<Vec<f64>> = vec![Vec::new(); cells.len()];
        for variant in 0..GUESSES {
            let annealed = Annealed::new(self, blanks, variant as u64 + 1);
            annealed.ask(&cells, |which, weights| {
                let sums = &mut sums[which];
                sums.resize(weights.len(), 0.0);
                sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
            });
        }
        let guess = |((row, cell), weights): (&(usize, usize), &Vec<f64>)| {
            let guess = match (cell.checked_sub(self.outer.n_numbers()), &self.bins) {
                (Some(group), _) => guess_code(weights, &self.outer, group),
                (None, Some(bins)) => guess_number(weights, |bin| bins.limits(*cell, bin), &blanks.ladders[*cell]),
                (None, None) => None,
            };
            Some((*row, *cell, guess?))
        };
        Some(cells.iter().zip(&sums).filter_map(guess).collect())
    }
}

/// Rows whose blanks have been drawn.
struct Annealed<'a> {
    gnsm: &'a Gnsm,
    blanks: &'a Blanks<'a>,
    /// Which of several draws of the same rows this is.
    variant: u64,
    /// As the network sees them, [rows, cells].
    codes: Vec<u32>,
}

impl<'a> Annealed<'a> {
    fn new(gnsm: &'a Gnsm, blanks: &'a Blanks<'a>, variant: u64) -> Self {
        let inner = binned(gnsm.bins.as_ref(), blanks.rows);
        let mut codes: Vec<u32> = (0..inner.n_rows()).flat_map(|row| inner.codes(row)).copied().collect();
        for (code, _) in codes.iter_mut().zip(blanks.blank).filter(|(_, blank)| **blank) {
            *code = ABSENT;
        }
        let mut annealed = Self { gnsm, blanks, variant, codes };
        let mut step = 0;
        for level in 0..gnsm.levels.count() {
            for _ in 0..AT_EACH_LEVEL {
                annealed.draw_at(level, step);
                step += 1;
            }
        }
        for _ in 0..AGAIN {
            annealed.draw_again(step);
            step += 1;
        }
        annealed
    }

    fn random(&self, row: usize, step: u64, purpose: u64) -> ChaCha8Rng {
        let Blanks { seed, ids, .. } = *self.blanks;
        stream(seed, ANNEALING + purpose, ids[row], (self.variant << 48) | step)
    }

    fn n_cells(&self) -> usize {
        self.gnsm.layout.n_cells()
    }

    /// A row with the noise of a level.
    fn noisy(&self, row: usize, level: usize, step: u64) -> Vec<f32> {
        let (layout, n_cells) = (&self.gnsm.layout, self.n_cells());
        let mut noisy = vec![0.0; layout.width()];
        fill_gumbel(&mut self.random(row, step, 1), &mut noisy);
        perturb(layout, &self.gnsm.levels, level, &self.codes[row * n_cells..][..n_cells], &mut noisy);
        noisy
    }

    /// Adds the noise of a level to all rows, and draws all blanks from what the network says.
    fn draw_at(&mut self, level: usize, step: u64) {
        let (gnsm, n_cells) = (self.gnsm, self.n_cells());
        let mut drawn = vec![0.0f32; self.codes.len()];
        if n_cells == 0 {
            return;
        }
        let this = &*self;
        gnsm.network.for_each_row(
            &mut drawn,
            n_cells,
            level..level + 1,
            |row, level, input| {
                let noisy = this.noisy(row, level, step);
                gnsm.config.parameterisation.present(&gnsm.layout, &gnsm.levels, level, &noisy, &[], input);
            },
            |out, row, level, logits| {
                if gnsm.config.parameterisation == Parameterisation::Noise {
                    let (noisy, lambda) = (this.noisy(row, level, step), gnsm.levels.lambda(level));
                    logits.iter_mut().zip(&noisy).for_each(|(logit, x)| *logit += lambda * x);
                }
                concrete::softmax_of_groups(logits, &gnsm.layout);
                let mut random = this.random(row, step, 2);
                for (cell, (out, places)) in out.iter_mut().zip(gnsm.layout.groups()).enumerate() {
                    let share = uniform_share(&mut random);
                    let weights = this.weights(cell, &logits[places]);
                    // Codes are small: they come through a float unharmed.
                    *out = choose(&weights, share).map_or(-1.0, |code| code as f32);
                }
            },
        );
        self.take(&drawn, |_| true);
    }

    /// Draws each blank again, given the rest of its row.
    fn draw_again(&mut self, step: u64) {
        for cell in 0..self.n_cells() {
            let n_rows = self.blanks.rows.n_rows();
            let asked: Vec<(usize, usize)> = (0..n_rows)
                .filter(|row| self.blanks.blank[row * self.n_cells() + cell])
                .map(|row| (row, cell))
                .collect();
            let mut drawn = vec![-1.0; self.codes.len()];
            self.ask(&asked, |which, weights| {
                let row = asked[which].0;
                let mut random = self.random(row, step * self.n_cells() as u64 + cell as u64, 3);
                let chosen = choose(weights, uniform_share(&mut random));
                drawn[row * self.n_cells() + cell] = chosen.map_or(-1.0, |code| code as f32);
            });
            self.take(&drawn, |other| other == cell);
        }
    }

    /// What the rest of each row says about some cells.
    fn ask(&self, asked: &[(usize, usize)], mut take: impl FnMut(usize, &[f64])) {
        let n_rows = self.blanks.rows.n_rows();
        let rows = Encoded::new(n_rows, self.codes.clone(), Vec::new());
        self.gnsm.embedder(Point::Centre).ask_the_rest(&rows, asked, |which, probabilities| {
            take(which, &self.weights(asked[which].1, probabilities));
        });
    }

    /// The weights of what a cell may hold.
    fn weights(&self, cell: usize, probabilities: &[f32]) -> Vec<f64> {
        let (outer, blanks) = (&self.gnsm.outer, self.blanks);
        let allows = |code: usize| {
            cell.checked_sub(outer.n_numbers()).is_none_or(|group| blanks.allows(outer, group, code as u32))
        };
        let weight = |(code, p): (usize, &f32)| if allows(code) { f64::from(*p).max(0.0) } else { 0.0 };
        probabilities.iter().enumerate().map(weight).collect()
    }

    /// Puts draws into the blanks; a number that is said to be missing has none.
    fn take(&mut self, drawn: &[f32], is_drawn: impl Fn(usize) -> bool) {
        let (n_cells, n_numbers, outer) = (self.n_cells(), self.gnsm.outer.n_numbers(), &self.gnsm.outer);
        for (row, codes) in self.codes.chunks_exact_mut(n_cells.max(1)).enumerate() {
            for cell in (0..n_cells).filter(|cell| self.blanks.blank[row * n_cells + cell] && is_drawn(*cell)) {
                let code = drawn[row * n_cells + cell];
                codes[cell] = if code >= 0.0 { code as u32 } else { ABSENT };
            }
            for number in (0..n_numbers).filter(|number| self.blanks.blank[row * n_cells + number]) {
                let group = self.blanks.presence[number];
                if outer.missing(group).is_some_and(|missing| codes[n_numbers + group] == missing) {
                    codes[number] = ABSENT;
                }
            }
        }
    }
}
