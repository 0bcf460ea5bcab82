//! The probability of each value that a cell could have, given the other cells of its row.
//!
//! Every other column d that helps has a word, its lift x_d(u, v), and a weight β_d (`weights.rs`). They are pooled
//! like independent evidence that has been weighed (a log-linear pool; Genest and Zidek, *Combining Probability
//! Distributions*, Statistical Science, 1986):
//!
//! pool(v) ∝ P(v)·exp(Σ_d β_d·x_d(u_d, v)), p(v) = (1 − w)·P(v) + w·pool(v).
//!
//! A context that is missing or was never seen is silent. With the row itself left out, its own pair counts one less,
//! and P is that of the other rows. Whether a value is missing at all is a choice of its own (`absence.rs`).
//! Without one column the pool is the same product without that column's words.

use std::sync::OnceLock;

use super::column::{Column, LeftOut};
use super::link::Link;
use super::said::{Blocks, Said, blocks};
use crate::columns::Layout;
use crate::math::{exp, ln, simd, sum_by};

/// What is left of the pool below which it is too little to tell its values apart.
const LEAST_TOTAL: f32 = 1e-30;

/// What the other columns say about one.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub links: Vec<Link>,
    /// w: the share of the pool in the mixture with the prior.
    pub share: f64,
    /// What the links say, from when it is first asked.
    said: OnceLock<Said>,
    /// The same without the row under judgement.
    said_left_out: OnceLock<Said>,
}

/// A target's row: the probabilities of all slots, and what they were made with.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    /// P, with the row left out if it has to be.
    pub prior: Vec<f32>,
    /// The pool.
    pub pool: Vec<f32>,
    /// The mixture of the two.
    pub mixed: Vec<f32>,
    sums: Blocks,
    terms: Vec<f32>,
}

impl Scratch {
    /// Lets a number's bin and the one beside it share what is said for them, by how near the number is to the edge between
    /// them. What is said is how much likelier each is than by itself.
    pub fn blend(&mut self, bin: usize, beside: Option<(usize, f64)>) {
        let Some((other, near)) = beside else { return };
        let [own, others] = [bin, other].map(|bin| (f64::from(self.prior[bin]), f64::from(self.mixed[bin])));
        if own.0 > 0.0 && others.0 > 0.0 {
            let said = [own, others].map(|(prior, mixed)| mixed / prior);
            let blended = [
                own.0 * ((1.0 - near) * said[0] + near * said[1]),
                others.0 * ((1.0 - near) * said[1] + near * said[0]),
            ];
            let scale = (own.1 + others.1) / (blended[0] + blended[1]).max(f64::MIN_POSITIVE);
            [self.mixed[bin], self.mixed[other]] = blended.map(|p| (p * scale) as f32);
        }
    }
}

impl Target {
    /// Links that have their weights.
    pub fn new(links: Vec<Link>, share: f64) -> Self {
        Self { links, share, said: OnceLock::new(), said_left_out: OnceLock::new() }
    }

    /// Fills in the probabilities of a column's slots, given that the cell has a value; `row` has the slots of all
    /// cells.
    pub fn fill(&self, column: &Column, row: &[u16], own: Option<(usize, LeftOut)>, scratch: &mut Scratch) {
        let Scratch { prior, pool, mixed, sums, terms } = scratch;
        prior.clear();
        prior.extend_from_slice(&column.prior);
        if let Some((slot, left_out)) = own {
            let others = left_out.others as f32;
            prior.iter_mut().for_each(|p| *p *= others);
            prior[slot] = left_out.own as f32;
            if column.bins.is_none() {
                prior[column.slot_of_new()] = left_out.new as f32;
            }
        }
        if self.links.is_empty() {
            pool.clone_from(prior);
            mixed.clone_from(prior);
            return;
        }
        blocks(sums, prior.len());
        match own {
            None => self.add_words(column, row, sums),
            Some((slot, left_out)) => self.add_words_left_out(column, row, (slot, &left_out), sums, terms),
        }
        pool.clear();
        pool.extend_from_slice(&sums.as_flattened()[..prior.len()]);
        self.mix(scratch);
    }

    /// [`Self::fill`] where the row is nowhere left out; if few cells of the row are known so far, what they say may
    /// count for those that are not.
    pub fn fill_louder(&self, column: &Column, row: &[u16], is_partial: bool, scratch: &mut Scratch) {
        let Scratch { prior, pool, mixed, sums, .. } = scratch;
        prior.clone_from(&column.prior);
        if self.links.is_empty() {
            mixed.clone_from(prior);
            return;
        }
        blocks(sums, prior.len());
        self.add_words(column, row, sums);
        pool.clear();
        pool.extend_from_slice(&sums.as_flattened()[..prior.len()]);
        if is_partial {
            let louder = self.louder(row);
            pool.iter_mut().for_each(|word| *word *= louder);
        }
        self.mix(scratch);
    }

    /// By how much the words of a row that is known in part are to be raised.
    fn louder(&self, row: &[u16]) -> f32 {
        let (mut all, mut speaking, mut n_speaking) = (0.0, 0.0, 0.0);
        for link in &self.links {
            all += link.weight;
            if (row[link.context] as usize) + 1 < link.starts.len() {
                speaking += link.weight;
                n_speaking += 1.0;
            }
        }
        if speaking > 0.0 { (all.min(n_speaking) / speaking).max(1.0) as f32 } else { 1.0 }
    }

    /// From the sums of words to the pool and the mixture.
    fn mix(&self, scratch: &mut Scratch) {
        let Scratch { prior, pool, mixed, .. } = scratch;
        let share = self.share as f32;
        mixed.clear();
        mixed.resize(prior.len(), 0.0);
        simd(
            #[inline(always)]
            || {
                let largest =
                    pool.iter().fold(0.0f32, |largest, value| if *value > largest { *value } else { largest });
                for (pool, prior) in pool.iter_mut().zip(prior.iter()) {
                    *pool = prior * exp(*pool - largest);
                }
                let total = 1.0 / sum_by(pool, |value| value);
                for ((mixed, pool), prior) in mixed.iter_mut().zip(pool.iter_mut()).zip(prior.iter()) {
                    *pool *= total;
                    *mixed = (1.0 - share) * prior + share * *pool;
                }
            },
        );
    }

    fn add_words(&self, column: &Column, row: &[u16], sums: &mut Blocks) {
        let said = self.said.get_or_init(|| Said::new(column, &self.links));
        simd(
            #[inline(always)]
            || said.add(row, sums),
        );
    }

    fn add_words_left_out(
        &self,
        column: &Column,
        row: &[u16],
        (own, left_out): (usize, &LeftOut),
        sums: &mut Blocks,
        terms: &mut Vec<f32>,
    ) {
        let usual = self.said_left_out.get_or_init(|| Said::left_out(column, &self.links));
        if usual.others == Some(left_out.others) {
            let own_sum = simd(
                #[inline(always)]
                || usual.add_left_out(&self.links, row, (own, left_out), sums),
            );
            sums.as_flattened_mut()[own] = own_sum as f32;
            return;
        }
        let sums = sums.as_flattened_mut();
        let mut own_sum = 0.0;
        for link in &self.links {
            let u = row[link.context] as usize;
            if u + 1 >= link.starts.len() {
                continue;
            }
            let pairs = link.pairs(u);
            lifts_left_out(&link.lifts[pairs.clone()], left_out, terms);
            let weight = link.weight as f32;
            for (slot, term) in link.slots[pairs].iter().zip(terms.iter()) {
                sums[*slot as usize] += weight * term;
            }
            own_sum += link.weight * own_lift(link, u, own, left_out);
        }
        sums[own] = own_sum as f32;
    }

    /// Takes the words of the column that speaks loudest for the row's own value out of the probabilities that
    /// [`Self::fill`] has left: it has the largest β·ln(P(v | u)/P(v)), summed over its contexts, which are a family
    /// (`Layout::family`). Returns whether one speaks for the value at all, and something is left without it.
    pub fn silence_loudest(
        &self,
        layout: &Layout,
        column: &Column,
        row: &[u16],
        value: usize,
        own: Option<(usize, LeftOut)>,
        scratch: &mut Scratch,
    ) -> bool {
        let Scratch { prior, pool, mixed, terms, .. } = scratch;
        let context = |link: &Link| Some(row[link.context] as usize).filter(|u| u + 1 < link.starts.len());
        let lift = |link: &Link, u: usize| match own {
            Some((own, left_out)) => own_lift(link, u, own, &left_out),
            None => (f64::from(link.count_of(u, value)) / (link.prior_rows * f64::from(column.prior[value]))).ln_1p(),
        };
        let word = |link: &Link| {
            let u = context(link)?;
            let rows = link.counts[link.pairs(u)].iter().map(|count| f64::from(*count)).sum::<f64>();
            let others = rows - f64::from(u8::from(own.is_some()));
            Some(link.weight * (lift(link, u) - (others / link.prior_rows).ln_1p()))
        };
        terms.clear();
        terms.extend(self.links.iter().map(|link| word(link).unwrap_or(0.0) as f32));
        let family = |link: &Link| layout.family(link.context);
        let mut loudest = (0.0, None);
        for link in &self.links {
            let of_family = self.links.iter().zip(terms.iter()).filter(|(other, _)| family(other) == family(link));
            let sum = of_family.map(|(_, word)| word).sum::<f32>();
            loudest = if sum > loudest.0 { (sum, Some(family(link))) } else { loudest };
        }
        let Some(loudest) = loudest.1 else { return false };
        let none = LeftOut { slot: column.n_slots(), own: 0.0, new: 0.0, others: 1.0 };
        let left_out = own.map_or(none, |(_, left_out)| left_out);
        for link in self.links.iter().filter(|link| family(link) == loudest) {
            let Some(u) = context(link) else { continue };
            let (pairs, weight) = (link.pairs(u), link.weight as f32);
            lifts_left_out(&link.lifts[pairs.clone()], &left_out, terms);
            simd(
                #[inline(always)]
                || terms.iter_mut().for_each(|term| *term = exp(-weight * *term)),
            );
            for (slot, factor) in link.slots[pairs].iter().map(|slot| *slot as usize).zip(terms.iter()) {
                pool[slot] *= match own {
                    Some((own, _)) if own == slot => (-link.weight * lift(link, u)).exp() as f32,
                    _ => *factor,
                };
            }
        }
        let (total, share) = (sum_by(pool, |value| value), self.share as f32);
        if total < LEAST_TOTAL {
            return false;
        }
        for ((mixed, pool), prior) in mixed.iter_mut().zip(pool.iter_mut()).zip(prior.iter()) {
            *pool /= total;
            *mixed = (1.0 - share) * prior + share * *pool;
        }
        true
    }
}

/// ln(lift + 1) of some pairs, none of them the row's own, with the prior of the other rows.
pub(super) fn lifts_left_out(lifts: &[f32], left_out: &LeftOut, terms: &mut Vec<f32>) {
    let others = 1.0 / left_out.others as f32;
    terms.clear();
    terms.resize(lifts.len(), 0.0);
    simd(
        #[inline(always)]
        || {
            for (term, lift) in terms.iter_mut().zip(lifts) {
                *term = ln(lift * others + 1.0);
            }
        },
    );
}

/// ln(lift + 1) of the row's own pair without the row; 0 where nothing of it is left.
pub(super) fn own_lift(link: &Link, u: usize, own: usize, left_out: &LeftOut) -> f64 {
    let left = f64::from(link.count_of(u, own).saturating_sub(1));
    if left > 0.0 && left_out.own > 0.0 { (left / (link.prior_rows * left_out.own)).ln_1p() } else { 0.0 }
}
