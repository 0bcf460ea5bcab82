//! What one column tells about another: how many rows have the value v here where they have u there.
//!
//! N[u, v] are counts of pairs; only those that occur are kept, for each u in the order of v. With a prior P(v) that is
//! worth `a` rows, the probability of v given u is (N[u, v] + a·P(v))/(N[u] + a). In a pool (`pool.rs`) only what
//! depends on v matters, which is the *lift*
//!
//! x(u, v) = ln(N[u, v]/(a·P(v)) + 1),
//!
//! 0 for all that never occur together. How much the prior is worth is chosen for each pair of columns by how well each
//! row's v is predicted from its u by all other rows.

use super::column::{Column, LeftOut};
use crate::math::{ln, simd};

/// Pairs of slots beyond which two columns are not counted together.
const MOST_PAIRS: usize = 1 << 24;

/// What one column tells about another.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cells) struct Link {
    /// Which column tells.
    pub context: usize,
    /// a: how many rows the prior is worth.
    pub prior_rows: f64,
    /// β: how much it counts.
    pub weight: f64,
    /// Where the pairs of each u begin, [slots of the context + 1].
    pub starts: Vec<u32>,
    /// v of each pair.
    pub slots: Vec<u16>,
    /// N of each pair, at least 1.
    pub counts: Vec<u32>,
    /// N/(a·P) of each pair.
    pub ratios: Vec<f32>,
    /// ln(N[u]/a + 1) of each u, and the same with one row less.
    pub ln_rows: Vec<[f64; 2]>,
}

impl Link {
    /// Counts the pairs in these rows, each with its copies.
    pub fn count(
        target: (&Column, &[u16]),
        context: (usize, &Column, &[u16]),
        rows: impl Iterator<Item = (usize, u32)>,
    ) -> Option<Self> {
        let (n_slots, n_contexts) = (target.0.n_slots(), context.1.n_slots());
        if n_slots.checked_mul(n_contexts)? > MOST_PAIRS {
            return None;
        }
        let mut table = vec![0u32; n_slots * n_contexts];
        for (row, copies) in rows {
            let (v, u) = (target.1[row], context.2[row] as usize);
            if u < n_contexts && (v as usize) < n_slots {
                table[u * n_slots + v as usize] += copies;
            }
        }
        let (mut starts, mut slots, mut counts) = (vec![0], Vec::new(), Vec::new());
        for of_context in table.chunks_exact(n_slots.max(1)) {
            for (v, count) in of_context.iter().enumerate().filter(|(_, count)| **count > 0) {
                slots.push(v as u16);
                counts.push(*count);
            }
            starts.push(slots.len() as u32);
        }
        let (prior_rows, weight) = (1.0, 0.0);
        Some(Self {
            context: context.0,
            prior_rows,
            weight,
            starts,
            slots,
            counts,
            ratios: Vec::new(),
            ln_rows: Vec::new(),
        })
    }

    /// u: the slot of the context in a row, where it has one that was counted.
    #[inline]
    pub fn context_slot(&self, row: &[u16]) -> Option<usize> {
        Some(row[self.context] as usize).filter(|u| u + 1 < self.starts.len())
    }

    /// The pairs of u.
    pub fn pairs(&self, u: usize) -> std::ops::Range<usize> {
        self.starts[u] as usize..self.starts[u + 1] as usize
    }

    /// N[u, v], 0 for a pair that never occurs.
    pub fn count_of(&self, u: usize, v: usize) -> u32 {
        let pairs = self.pairs(u);
        let found = self.slots[pairs.clone()].binary_search(&(v as u16));
        found.map_or(0, |at| self.counts[pairs.start + at])
    }

    /// The nats that the context tells about the value on average (their mutual information, by the counts).
    pub fn information(&self) -> f64 {
        let mut of_value: std::collections::BTreeMap<u16, f64> = std::collections::BTreeMap::new();
        for (v, count) in self.slots.iter().zip(&self.counts) {
            *of_value.entry(*v).or_default() += f64::from(*count);
        }
        let n: f64 = of_value.values().sum();
        let mut nats = 0.0;
        for u in 0..self.starts.len() - 1 {
            let of_context: f64 = self.pairs(u).map(|at| f64::from(self.counts[at])).sum();
            for at in self.pairs(u) {
                let count = f64::from(self.counts[at]);
                nats += count / n * (count * n / (of_context * of_value[&self.slots[at]])).ln();
            }
        }
        nats
    }

    /// Chooses how many rows the prior is worth, of those that it may be worth; returns the nats by which rows are
    /// better predicted than without the context, each by all others.
    pub fn choose_prior<const N: usize>(&mut self, may_be: &[f64; N], left_out: &[Option<LeftOut>]) -> f64 {
        let mut gains = [0.0; N];
        for u in 0..self.starts.len() - 1 {
            let others = self.pairs(u).map(|at| f64::from(self.counts[at])).sum::<f64>() - 1.0;
            for at in self.pairs(u) {
                let v = self.slots[at] as usize;
                let Some(left_out) = left_out[v] else { continue };
                let count = f64::from(self.counts[at]);
                let (left, p) = if left_out.slot == v { (count - 1.0, left_out.own) } else { (0.0, left_out.new) };
                for (gain, a) in gains.iter_mut().zip(may_be) {
                    *gain += count * ((left / p + a) / (others + a)).ln();
                }
            }
        }
        let best = (0..N).fold(0, |best, other| if gains[other] > gains[best] { other } else { best });
        self.prior_rows = may_be[best];
        gains[best]
    }

    /// Computes what follows from the counts, the prior and the weight.
    pub fn finish(&mut self, target: &Column) {
        let a = self.prior_rows;
        let ratio = |(slot, count): (&u16, &u32)| f64::from(*count) / (a * f64::from(target.prior[*slot as usize]));
        self.ratios = self.slots.iter().zip(&self.counts).map(|pair| ratio(pair) as f32).collect();
        let ln_rows = |u: usize| {
            let rows = self.counts[self.pairs(u)].iter().map(|count| f64::from(*count)).sum::<f64>();
            [rows, (rows - 1.0).max(0.0)].map(|rows| (rows / a).ln_1p())
        };
        self.ln_rows = (0..self.starts.len() - 1).map(ln_rows).collect();
    }
}

/// The lifts of some pairs, none of them the row's own, with the prior of the other rows.
pub(in crate::cells) fn lifts_left_out(ratios: &[f32], left_out: &LeftOut, lifts: &mut Vec<f32>) {
    let others = 1.0 / left_out.others as f32;
    lifts.clear();
    lifts.resize(ratios.len(), 0.0);
    simd(
        #[inline(always)]
        || {
            for (lift, ratio) in lifts.iter_mut().zip(ratios) {
                *lift = ln(ratio * others + 1.0);
            }
        },
    );
}

/// The lift of the row's own pair without the row; 0 where nothing of it is left.
pub(in crate::cells) fn own_lift(link: &Link, u: usize, own: usize, left_out: &LeftOut) -> f64 {
    let left = f64::from(link.count_of(u, own).saturating_sub(1));
    if left > 0.0 && left_out.own > 0.0 { (left / (link.prior_rows * left_out.own)).ln_1p() } else { 0.0 }
}
