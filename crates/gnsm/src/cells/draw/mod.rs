//! Fills blank cells with draws: each cell in turn, given all others, again and again (Gibbs sampling; Geman and Geman,
//! *Stochastic Relaxation*, IEEE PAMI, 1984; with conditionals that were learned one by one: Heckerman et al.,
//! *Dependency Networks*, JMLR, 2000).
//!
//! The first round goes from the columns that tell most about others to those that tell least. A cell then knows only
//! the cells before it. Weights were chosen for cells that know the whole row, and add up to what all columns tell
//! together. Where few columns are known, their weights are raised: to the same sum, but each to 1 at the most.
//!
//! A guess is the mean of many rounds. Conditionals were learned from whole rows, and tell less the fewer cells of a
//! row are known. Classes (`cells/classes`) know how likely a cell is by any part of a row. So they count in a guess by
//! the share of the row that is blank.
//!
//! A draw in a bin is one of the training values there (`columns/ladder.rs`). So no row is copied: each cell is drawn
//! by itself, and what it is drawn from are counts of pairs.

mod balance;

pub(super) use balance::Balance;

use rand_chacha::ChaCha8Rng;

use super::Cells;
use super::conditional::{Column, Scratch};
use super::rows::NO_PART;
use crate::columns::{ABSENT, Encoded};
use crate::detectors::{Blanks, Guess, choose, guess_code, guess_number};
use crate::math::{stream, uniform_share};

/// The name of the random streams.
const DRAWS: u64 = 21;
/// Rounds after the first. More of them do not make better rows: conditionals that were learned one by one are those of
/// no one distribution, and where columns nearly follow from each other, frequencies drift (`docs/generate.md`). What
/// drift there is, `balance.rs` undoes.
const ROUNDS: usize = 3;
/// Rounds whose probabilities are averaged for a guess, and those before them.
const GUESSED: usize = 12;
const BEFORE_GUESSES: usize = 4;

impl Cells {
    /// Fills the blanks with draws.
    pub(super) fn draw_blanks(&self, blanks: &Blanks<'_>) -> Encoded {
        let order = self.order();
        let balance = self.balance.get_or_init(|| Balance::learn(self, blanks));
        let drawn = blanks.map_rows(
            || Chain::balanced(self, blanks, balance),
            |chain, row| {
                chain.start(row);
                let cells = chain.blank_cells(row, &order);
                chain.round(&cells, true);
                for _ in 0..rounds(&cells, ROUNDS) {
                    chain.round(&cells, false);
                }
                (chain.codes.clone(), chain.numbers.clone())
            },
        );
        let (codes, numbers): (Vec<_>, Vec<_>) = drawn.into_iter().unzip();
        Encoded::new(blanks.rows.n_rows(), codes.concat(), numbers.concat())
    }

    /// What most likely stands in each blank, with the row and the cell.
    pub(super) fn guess_blanks(&self, blanks: &Blanks<'_>) -> Vec<(usize, usize, Guess)> {
        let order = self.order();
        let of_row = |chain: &mut Chain<'_>, row: usize| {
            chain.start(row);
            let cells = chain.blank_cells(row, &order);
            let mut sums: Vec<Vec<f64>> = vec![Vec::new(); cells.len()];
            let within = self.experts.classes.within(&chain.slots);
            chain.round(&cells, true);
            for _ in 0..rounds(&cells, BEFORE_GUESSES) {
                chain.round(&cells, false);
            }
            for _ in 0..rounds(&cells, GUESSED).max(1) {
                for (cell, sums) in cells.iter().zip(&mut sums) {
                    chain.step(*cell, false);
                    chain.add_weights(sums);
                    chain.set(*cell);
                }
            }
            let blank = cells.len() as f64 / self.columns().len() as f64;
            for (cell, sums) in cells.iter().zip(&mut sums) {
                chain.mix_classes(*cell, &within, blank, sums);
            }
            let guesses = cells.iter().zip(&sums);
            let guesses = guesses.filter_map(|(cell, sums)| Some((row, *cell, self.guess_cell(blanks, *cell, sums)?)));
            guesses.collect::<Vec<_>>()
        };
        blanks.map_rows(|| Chain::new(self, blanks), of_row).into_iter().flatten().collect()
    }

    fn guess_cell(&self, blanks: &Blanks<'_>, cell: usize, weights: &[f64]) -> Option<Guess> {
        match cell.checked_sub(self.layout().n_numbers()) {
            Some(group) => guess_code(weights, self.layout(), group),
            None => guess_number(weights, |bin| limits(&self.columns()[cell], bin), &blanks.ladders[cell]),
        }
    }

    /// All cells, those that tell most about others first.
    fn order(&self) -> Vec<usize> {
        let told = self.experts.conditional.information();
        let mut order: Vec<usize> = (0..told.len()).collect();
        order.sort_by(|a, b| told[*b].total_cmp(&told[*a]));
        order
    }
}

/// How often cells are drawn again: never, if there is only one.
fn rounds(cells: &[usize], most: usize) -> usize {
    if cells.len() > 1 { most } else { 0 }
}

/// The limits of a bin.
fn limits(column: &Column, bin: usize) -> [f32; 2] {
    let edges = column.bins.as_ref().map_or(&[][..], |bins| &bins.edges);
    let low = bin.checked_sub(1).and_then(|before| edges.get(before)).copied().unwrap_or(f32::NEG_INFINITY);
    [low, edges.get(bin).copied().unwrap_or(f32::INFINITY)]
}

/// A row whose blanks are being filled.
struct Chain<'a> {
    cells: &'a Cells,
    blanks: &'a Blanks<'a>,
    random: ChaCha8Rng,
    codes: Vec<u32>,
    numbers: Vec<f32>,
    /// [cells].
    slots: Vec<u16>,
    scratch: Scratch,
    /// Of the slots of the cell that was drawn last.
    weights: Vec<f64>,
    /// What keeps columns as frequent as they were.
    balance: Option<&'a Balance>,
}

impl<'a> Chain<'a> {
    pub fn new(cells: &'a Cells, blanks: &'a Blanks<'a>) -> Self {
        Self {
            cells,
            blanks,
            random: stream(blanks.seed, DRAWS, 0, 0),
            codes: Vec::new(),
            numbers: Vec::new(),
            slots: vec![NO_PART; cells.columns().len()],
            scratch: Scratch::default(),
            weights: Vec::new(),
            balance: None,
        }
    }

    /// One whose draws keep columns as frequent as they were.
    pub fn balanced(cells: &'a Cells, blanks: &'a Blanks<'a>, balance: &'a Balance) -> Self {
        Self { balance: Some(balance), ..Self::new(cells, blanks) }
    }

    /// Takes a row in, with nothing in its blanks.
    pub fn start(&mut self, row: usize) {
        let Blanks { rows, seed, ids, .. } = *self.blanks;
        self.random = stream(seed, DRAWS, ids[row], 0);
        self.codes.clear();
        self.codes.extend_from_slice(rows.codes(row));
        self.numbers.clear();
        self.numbers.extend_from_slice(rows.numbers(row));
        let n_numbers = self.numbers.len();
        for cell in 0..self.slots.len() {
            if self.blanks.is_blank(row, cell, self.cells.layout()) {
                match cell.checked_sub(n_numbers) {
                    Some(group) => self.codes[group] = ABSENT,
                    None => self.numbers[cell] = f32::NAN,
                }
            }
            let column = &self.cells.columns()[cell];
            self.slots[cell] = match cell.checked_sub(n_numbers) {
                Some(group) => column.slot_of_code(self.codes[group]),
                None => column.slot_of_number(self.numbers[cell]),
            };
        }
    }

    /// The blank cells of a row, in this order, but each number behind the group that tells whether it is there.
    pub fn blank_cells(&self, row: usize, order: &[usize]) -> Vec<usize> {
        let n_numbers = self.numbers.len();
        let is_blank = |cell: usize| self.blanks.is_blank(row, cell, self.cells.layout());
        let mut cells: Vec<usize> = Vec::new();
        for &cell in order.iter().filter(|cell| is_blank(**cell)) {
            if let Some(group) = self.blanks.presence.get(cell).filter(|_| cell < n_numbers) {
                let presence = n_numbers + group;
                if is_blank(presence) && !cells.contains(&presence) {
                    cells.push(presence);
                }
            }
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        cells
    }

    pub fn round(&mut self, cells: &[usize], is_first: bool) {
        for &cell in cells {
            self.step(cell, is_first);
            self.set(cell);
        }
    }

    /// Computes the weights of what a cell could hold.
    pub fn step(&mut self, cell: usize, is_first: bool) {
        let column = &self.cells.columns()[cell];
        let conditional = &self.cells.experts.conditional;
        let (probabilities, absent) = conditional.ask_in_part(&self.slots, cell, is_first, &mut self.scratch);
        self.weights.clear();
        self.weights.extend(probabilities.iter().map(|p| f64::from(*p).max(0.0)));
        if let Some(missing) = column.missing {
            self.weights.iter_mut().for_each(|weight| *weight *= 1.0 - absent);
            self.weights[missing as usize] = absent;
        }
        self.leave_allowed(cell);
        if let Some(balance) = self.balance {
            balance.tilt(cell, &mut self.weights);
        }
    }

    /// Adds the weights to others, as shares.
    fn add_weights(&self, sums: &mut Vec<f64>) {
        let total: f64 = self.weights.iter().sum();
        sums.resize(self.weights.len(), 0.0);
        if total > 0.0 {
            sums.iter_mut().zip(&self.weights).for_each(|(sum, weight)| *sum += weight / total);
        }
    }

    /// Mixes what the classes tell of a blank cell into its weights, by the share of the row that is blank.
    fn mix_classes(&mut self, cell: usize, within: &[f32], blank: f64, weights: &mut [f64]) {
        if within.is_empty() {
            return;
        }
        let classes = &self.cells.experts.classes;
        self.weights.clear();
        self.weights.extend((0..weights.len()).map(|slot| classes.chance(cell, slot, within)));
        self.leave_allowed(cell);
        let [total, of_classes] = [&*weights, &self.weights].map(|weights| weights.iter().sum::<f64>());
        if total > 0.0 && of_classes > 0.0 {
            for (weight, own) in weights.iter_mut().zip(&self.weights) {
                *weight = (1.0 - blank) * *weight / total + blank * own / of_classes;
            }
        }
    }

    /// Whether a cell that was drawn holds something: a number of a row that has none does not.
    pub fn is_there(&self, cell: usize) -> bool {
        cell >= self.numbers.len() || !self.numbers[cell].is_nan()
    }

    /// Takes the weights of what a cell must not hold.
    fn leave_allowed(&mut self, cell: usize) {
        let layout = self.cells.layout();
        let Some(group) = cell.checked_sub(layout.n_numbers()) else { return };
        for (code, weight) in self.weights.iter_mut().enumerate() {
            if !self.blanks.allows(layout, group, code as u32) {
                *weight = 0.0;
            }
        }
    }

    /// Draws what the cell holds.
    pub fn set(&mut self, cell: usize) {
        let (share, within) = (uniform_share(&mut self.random), uniform_share(&mut self.random));
        let column = &self.cells.columns()[cell];
        let chosen = choose(&self.weights, share);
        if let Some(group) = cell.checked_sub(self.numbers.len()) {
            self.codes[group] = chosen.map_or(ABSENT, |code| code as u32);
            self.slots[cell] = column.slot_of_code(self.codes[group]);
        } else {
            let group = self.blanks.presence[cell];
            let is_there = self.cells.layout().missing(group).is_none_or(|missing| self.codes[group] != missing);
            let z = chosen.filter(|_| is_there).map_or(f32::NAN, |bin| {
                let [low, high] = limits(column, bin);
                self.blanks.ladders[cell].draw(low, high, within)
            });
            self.numbers[cell] = z;
            self.slots[cell] = column.slot_of_number(z);
        }
    }
}
