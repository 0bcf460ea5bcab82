//! The probabilities of a cell's values without its strongest context.
//!
//! Mistakes come together: who copies a wrong departure copies the wrong arrival with it, and each explains the other.
//! So it can be asked what the other cells tell without the column that has the largest β·ln(P(v | u)/P(v)) for the
//! value v that was seen. The columns that belong together are taken as one (`Layout::family`), and their terms are
//! summed. Without them the pool (`pool.rs`) is the same product without their terms.

use super::column::{Column, LeftOut};
use super::link::{Link, lifts_left_out, own_lift};
use super::pool::{PoolScratch, Pooled, Target};
use crate::columns::Layout;
use crate::math::{exp, simd, sum_by};

/// What is left of the pool below which it is too little to tell its values apart.
const LEAST_TOTAL: f32 = 1e-30;

impl Target {
    /// The probabilities without the strongest context for the value that the row has; `prior` and `pool` are those
    /// with it. None where no context makes the value likelier, or nothing is left without it.
    pub(super) fn pool_without_strongest<'s>(
        &self,
        (layout, column, row): (&Layout, &Column, &[u16]),
        value: usize,
        own: Option<(usize, LeftOut)>,
        (prior, pooled): (&'s [f32], &[f32]),
        scratch: &'s mut PoolScratch,
    ) -> Option<Pooled<'s>> {
        let PoolScratch { pool, mixed, lifts, .. } = scratch;
        let lift = |link: &Link, u: usize| match own {
            Some((own, left_out)) => own_lift(link, u, own, &left_out),
            None => (f64::from(link.count_of(u, value)) / (link.prior_rows * f64::from(column.prior[value]))).ln_1p(),
        };
        let term = |link: &Link| {
            let u = link.context_slot(row)?;
            Some(link.weight * (lift(link, u) - link.ln_rows[u][usize::from(own.is_some())]))
        };
        let family = |link: &Link| layout.family(link.context);
        let strongest = {
            let terms = &mut *lifts;
            terms.clear();
            terms.extend(self.links.iter().map(|link| term(link).unwrap_or(0.0) as f32));
            let mut strongest = (0.0, None);
            for link in &self.links {
                let of_family = self.links.iter().zip(terms.iter()).filter(|(other, _)| family(other) == family(link));
                let sum = of_family.map(|(_, term)| term).sum::<f32>();
                strongest = if sum > strongest.0 { (sum, Some(family(link))) } else { strongest };
            }
            strongest.1?
        };
        pool.clear();
        pool.extend_from_slice(pooled);
        let none = LeftOut { slot: column.n_slots(), own: 0.0, new: 0.0, others: 1.0 };
        let left_out = own.map_or(none, |(_, left_out)| left_out);
        let factors = lifts;
        for link in self.links.iter().filter(|link| family(link) == strongest) {
            let Some(u) = link.context_slot(row) else { continue };
            let (pairs, weight) = (link.pairs(u), link.weight as f32);
            lifts_left_out(&link.ratios[pairs.clone()], &left_out, factors);
            simd(
                #[inline(always)]
                || factors.iter_mut().for_each(|lift| *lift = exp(-weight * *lift)),
            );
            for (slot, factor) in link.slots[pairs].iter().map(|slot| *slot as usize).zip(factors.iter()) {
                pool[slot] *= match own {
                    Some((own, _)) if own == slot => (-link.weight * lift(link, u)).exp() as f32,
                    _ => *factor,
                };
            }
        }
        let (total, share) = (sum_by(pool, |value| value), self.share as f32);
        if total < LEAST_TOTAL {
            return None;
        }
        mixed.clear();
        mixed.resize(pool.len(), 0.0);
        for ((mixed, pool), prior) in mixed.iter_mut().zip(pool.iter_mut()).zip(prior) {
            *pool /= total;
            *mixed = (1.0 - share) * prior + share * *pool;
        }
        Some(Pooled { prior, pool, mixed })
    }
}
