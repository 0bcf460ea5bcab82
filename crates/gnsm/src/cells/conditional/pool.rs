//! The probability of each value that a cell could have, given the other cells of its row.
//!
//! Every other column d that helps has a link: its lift x_d(u, v) (`link.rs`) and a weight β_d (`weights.rs`). They are
//! pooled like independent evidence that has been weighed (a log-linear pool; Genest and Zidek, *Combining Probability
//! Distributions*, Statistical Science, 1986):
//!
//! pool(v) ∝ P(v)·exp(Σ_d β_d·x_d(u_d, v)), p(v) = (1 − w)·P(v) + w·pool(v).
//!
//! A context that is missing or was never seen adds nothing. With the row itself left out, its own pair counts one
//! less, and P is that of the other rows. Whether a value is missing at all is a choice of its own (`absence.rs`).

use std::sync::OnceLock;

use super::column::{Column, LeftOut};
use super::link::{Link, lifts_left_out, own_lift};
use super::log_terms::{Blocks, LogTerms, blocks};
use crate::math::{exp, simd, sum_by};

/// What the other columns tell about one.
#[derive(Debug, Clone)]
pub(in crate::cells) struct Target {
    pub links: Vec<Link>,
    /// w: the share of the pool in the mixture with the prior.
    pub share: f64,
    /// The terms of the links, from when they are first asked for.
    log_terms: OnceLock<LogTerms>,
    /// The same without the row under judgement.
    log_terms_left_out: OnceLock<LogTerms>,
}

/// The probabilities of a target's slots in one row, with that of a new category last.
#[derive(Debug)]
pub(super) struct Pooled<'a> {
    /// P, with the row left out if it has to be.
    pub prior: &'a [f32],
    /// The pool.
    pub pool: &'a [f32],
    /// The mixture of the two.
    pub mixed: &'a mut [f32],
}

/// What [`Pooled`] is made in.
#[derive(Debug, Clone, Default)]
pub(super) struct PoolScratch {
    pub prior: Vec<f32>,
    pub pool: Vec<f32>,
    pub mixed: Vec<f32>,
    sums: Blocks,
    pub lifts: Vec<f32>,
}

impl PoolScratch {
    fn pooled(&mut self) -> Pooled<'_> {
        Pooled { prior: &self.prior, pool: &self.pool, mixed: &mut self.mixed }
    }
}

impl Pooled<'_> {
    /// Lets a number's bin and the one beside it share how much likelier each is than by itself, by how near the number
    /// is to the edge between them.
    pub fn blend(self, bin: usize, beside: Option<(usize, f64)>) -> Self {
        let Some((other, near)) = beside else { return self };
        let [own, others] = [bin, other].map(|bin| (f64::from(self.prior[bin]), f64::from(self.mixed[bin])));
        if own.0 > 0.0 && others.0 > 0.0 {
            let likelier = [own, others].map(|(prior, mixed)| mixed / prior);
            let blended = [
                own.0 * ((1.0 - near) * likelier[0] + near * likelier[1]),
                others.0 * ((1.0 - near) * likelier[1] + near * likelier[0]),
            ];
            let scale = (own.1 + others.1) / (blended[0] + blended[1]).max(f64::MIN_POSITIVE);
            [self.mixed[bin], self.mixed[other]] = blended.map(|p| (p * scale) as f32);
        }
        self
    }
}

impl Target {
    /// Links that have their weights.
    pub fn new(links: Vec<Link>, share: f64) -> Self {
        Self { links, share, log_terms: OnceLock::new(), log_terms_left_out: OnceLock::new() }
    }

    /// The probabilities of a column's slots, given that the cell has a value; `row` has the slots of all cells, and
    /// `own` the one that the row is in, where it is to be left out.
    pub(super) fn pool<'s>(
        &self,
        column: &Column,
        row: &[u16],
        own: Option<(usize, LeftOut)>,
        scratch: &'s mut PoolScratch,
    ) -> Pooled<'s> {
        let PoolScratch { prior, pool, mixed, sums, lifts } = &mut *scratch;
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
            return scratch.pooled();
        }
        blocks(sums, prior.len());
        match own {
            None => self.add_terms(column, row, sums),
            Some((slot, left_out)) => self.add_terms_left_out(column, row, (slot, &left_out), sums, lifts),
        }
        pool.clear();
        pool.extend_from_slice(&sums.as_flattened()[..prior.len()]);
        self.mix(scratch);
        scratch.pooled()
    }

    /// [`Self::pool`] where the row is nowhere left out, and is known in part: what the known cells tell may count for
    /// those that are not known yet (`is_raised`).
    pub(super) fn pool_in_part<'s>(
        &self,
        column: &Column,
        row: &[u16],
        is_raised: bool,
        scratch: &'s mut PoolScratch,
    ) -> Pooled<'s> {
        let PoolScratch { prior, pool, mixed, sums, .. } = &mut *scratch;
        prior.clone_from(&column.prior);
        if self.links.is_empty() {
            pool.clone_from(prior);
            mixed.clone_from(prior);
            return scratch.pooled();
        }
        blocks(sums, prior.len());
        self.add_terms(column, row, sums);
        pool.clear();
        pool.extend_from_slice(&sums.as_flattened()[..prior.len()]);
        if is_raised {
            let raise = self.raise(row);
            pool.iter_mut().for_each(|sum| *sum *= raise);
        }
        self.mix(scratch);
        scratch.pooled()
    }

    /// By how much the terms of a row that is known in part are to be raised.
    fn raise(&self, row: &[u16]) -> f32 {
        let (mut all, mut known, mut n_known) = (0.0, 0.0, 0.0);
        for link in &self.links {
            all += link.weight;
            if link.context_slot(row).is_some() {
                known += link.weight;
                n_known += 1.0;
            }
        }
        if known > 0.0 { (all.min(n_known) / known).max(1.0) as f32 } else { 1.0 }
    }

    /// From the sums of terms to the pool and the mixture.
    fn mix(&self, scratch: &mut PoolScratch) {
        let PoolScratch { prior, pool, mixed, .. } = scratch;
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

    fn add_terms(&self, column: &Column, row: &[u16], sums: &mut Blocks) {
        let log_terms = self.log_terms.get_or_init(|| LogTerms::new(column, &self.links));
        simd(
            #[inline(always)]
            || log_terms.add(row, sums),
        );
    }

    fn add_terms_left_out(
        &self,
        column: &Column,
        row: &[u16],
        (own, left_out): (usize, &LeftOut),
        sums: &mut Blocks,
        lifts: &mut Vec<f32>,
    ) {
        let usual = self.log_terms_left_out.get_or_init(|| LogTerms::left_out(column, &self.links));
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
            let Some(u) = link.context_slot(row) else { continue };
            let pairs = link.pairs(u);
            lifts_left_out(&link.ratios[pairs.clone()], left_out, lifts);
            let weight = link.weight as f32;
            for (slot, lift) in link.slots[pairs].iter().zip(lifts.iter()) {
                sums[*slot as usize] += weight * lift;
            }
            own_sum += link.weight * own_lift(link, u, own, left_out);
        }
        sums[own] = own_sum as f32;
    }
}
