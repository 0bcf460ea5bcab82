//! What the links of a target say, in the form in which it is added up fastest.
//!
//! A link has a word for each pair of values that occurs. Where a context has words for many of the target's slots, they
//! are kept for all of them, with zeros for those it says nothing of, so that eight are added at a time. A zero changes
//! no bit of a sum that is not negative. Where it has few, only those are kept.
//!
//! Without the row itself, words change with the slot that the row is in. But all slots have the same words that hold
//! three rows or more, or that are bins of a number; for these they are computed once.

#![allow(clippy::needless_range_loop, reason = "loops by index become vector instructions; zipped ones may not")]

use super::column::{Column, LeftOut};
use super::link::Link;
use super::pool::{lifts_left_out, own_lift};

/// Words that are added together.
const BLOCK: usize = 8;
/// A share of the slots, one of so many, from which on the words of a context are kept for all.
const MANY: usize = 4;

/// A number for each slot, the last block filled up with zeros.
pub(super) type Blocks = Vec<[f32; BLOCK]>;

/// The words of all links of a target.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    /// Of each link the column that speaks, how many slots it has, and its first one in `rows`.
    links: Vec<[usize; 3]>,
    rows: Vec<Row>,
    /// [blocks of each row].
    words: Blocks,
    /// As `words`, what the row's own pair says without the row; empty where no row is left out.
    own: Vec<[f64; BLOCK]>,
    slots: Vec<u16>,
    few: Vec<f32>,
    n_blocks: usize,
    /// What the probabilities of other slots are multiplied with where these words hold.
    pub others: Option<f64>,
}

/// Where the words of a slot of a context are.
#[derive(Debug, Clone, Copy)]
enum Row {
    /// The first block.
    Many(usize),
    /// From here to there in `few`.
    Few(usize, usize),
}

/// No words of a target whose column has so many slots, a new one's included.
pub(super) fn blocks(sums: &mut Blocks, n_slots: usize) {
    sums.clear();
    sums.resize(n_slots.div_ceil(BLOCK), [0.0; BLOCK]);
}

impl Said {
    /// What links say where no row is left out.
    pub fn new(column: &Column, links: &[Link]) -> Self {
        let word = |link: &Link, lift: f32| (link.weight * f64::from(lift).ln_1p()) as f32;
        let words = |link: &Link, words: &mut Vec<f32>| words.extend(link.lifts.iter().map(|lift| word(link, *lift)));
        Self::with(column, links, words)
    }

    /// What they say without the row, wherever the row is but in a slot that holds one or two.
    pub fn left_out(column: &Column, links: &[Link]) -> Self {
        let is_usual = |slot: &usize| column.counts[*slot] > if column.bins.is_some() { 0 } else { 2 };
        let Some(left_out) = (0..column.n_slots()).find(is_usual).map(|slot| column.leave_out(slot)) else {
            return Self::default();
        };
        let words = |link: &Link, words: &mut Vec<f32>| {
            lifts_left_out(&link.lifts, &left_out, words);
            words.iter_mut().for_each(|word| *word *= link.weight as f32);
        };
        let mut said = Self { others: Some(left_out.others), ..Self::with(column, links, words) };
        said.own = vec![[0.0; BLOCK]; said.words.len()];
        for (link, [_, n_contexts, first]) in links.iter().zip(&said.links) {
            for u in 0..*n_contexts {
                let Row::Many(at) = said.rows[first + u] else { continue };
                for slot in link.slots[link.pairs(u)].iter().map(|slot| *slot as usize) {
                    let own = own_lift(link, u, slot, &column.leave_out(slot));
                    said.own[at + slot / BLOCK][slot % BLOCK] = link.weight * own;
                }
            }
        }
        said
    }

    fn with(column: &Column, links: &[Link], words_of: impl Fn(&Link, &mut Vec<f32>)) -> Self {
        let n_slots = column.prior.len();
        let mut said = Self { n_blocks: n_slots.div_ceil(BLOCK), ..Self::default() };
        let mut words = Vec::new();
        for link in links {
            words.clear();
            words_of(link, &mut words);
            let n_contexts = link.starts.len() - 1;
            said.links.push([link.context, n_contexts, said.rows.len()]);
            for u in 0..n_contexts {
                let pairs = link.pairs(u);
                if pairs.len() * MANY >= n_slots {
                    let at = said.words.len();
                    said.words.resize(at + said.n_blocks, [0.0; BLOCK]);
                    for (slot, word) in link.slots[pairs.clone()].iter().zip(&words[pairs]) {
                        said.words[at + *slot as usize / BLOCK][*slot as usize % BLOCK] = *word;
                    }
                    said.rows.push(Row::Many(at));
                } else {
                    let at = said.few.len();
                    said.slots.extend_from_slice(&link.slots[pairs.clone()]);
                    said.few.extend_from_slice(&words[pairs]);
                    said.rows.push(Row::Few(at, said.few.len()));
                }
            }
        }
        said
    }

    /// Adds the words of a row's contexts.
    #[inline(always)]
    pub fn add(&self, row: &[u16], sums: &mut [[f32; BLOCK]]) {
        for [context, n_contexts, first] in &self.links {
            let u = row[*context] as usize;
            if u < *n_contexts {
                self.add_row(self.rows[first + u], sums);
            }
        }
    }

    /// Adds the words of a row's contexts without the row; returns what they say of the slot `own` that it is in.
    #[inline(always)]
    pub fn add_left_out(
        &self,
        links: &[Link],
        row: &[u16],
        (own, left_out): (usize, &LeftOut),
        sums: &mut [[f32; BLOCK]],
    ) -> f64 {
        let mut own_sum = 0.0;
        for ([context, n_contexts, first], link) in self.links.iter().zip(links) {
            let u = row[*context] as usize;
            if u >= *n_contexts {
                continue;
            }
            let words = self.rows[first + u];
            self.add_row(words, sums);
            own_sum += match words {
                Row::Many(at) => self.own[at + own / BLOCK][own % BLOCK],
                Row::Few(..) => link.weight * own_lift(link, u, own, left_out),
            };
        }
        own_sum
    }

    #[inline(always)]
    fn add_row(&self, row: Row, sums: &mut [[f32; BLOCK]]) {
        match row {
            Row::Many(at) => {
                let (sums, words) = (&mut sums[..self.n_blocks], &self.words[at..][..self.n_blocks]);
                for block in 0..self.n_blocks {
                    for at in 0..BLOCK {
                        sums[block][at] += words[block][at];
                    }
                }
            }
            Row::Few(from, to) => {
                let sums = sums.as_flattened_mut();
                let (slots, words) = (&self.slots[from..to], &self.few[from..to]);
                for at in 0..slots.len() {
                    sums[slots[at] as usize] += words[at];
                }
            }
        }
    }
}
