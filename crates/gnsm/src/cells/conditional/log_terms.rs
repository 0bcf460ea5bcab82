//! The terms β·x that the links of a target add to ln of its slots, in the form in which they are added up fastest.
//!
//! A link has a log-term for each pair of values that occurs. Where a slot of a context has terms for many of the
//! target's slots, they are kept for all of them, with zeros for pairs that never occur, so that eight are added at a
//! time. A zero changes no bit of a sum that is not negative. Where it has few, only those are kept.
//!
//! Without the row itself, terms change with the slot that the row is in. But all slots have the same terms that hold
//! three rows or more, or that are bins of a number; for these they are computed once.

#![allow(clippy::needless_range_loop, reason = "loops by index become vector instructions; zipped ones may not")]

use super::column::{Column, LeftOut};
use super::link::Link;
use super::link::{lifts_left_out, own_lift};

/// Terms that are added together.
const BLOCK: usize = 8;
/// A share of the slots, one of so many, from which on the terms of a context are kept for all.
const MANY: usize = 4;

/// A number for each slot, the last block filled up with zeros.
pub(in crate::cells) type Blocks = Vec<[f32; BLOCK]>;

/// The terms of all links of a target.
#[derive(Debug, Clone, Default)]
pub(in crate::cells) struct LogTerms {
    /// Of each link the column that tells, how many slots it has, and its first one in `spans`.
    links: Vec<[usize; 3]>,
    spans: Vec<Span>,
    /// [blocks of each span].
    terms: Blocks,
    /// As `terms`, that of the row's own pair without the row; empty where no row is left out.
    own: Vec<[f64; BLOCK]>,
    slots: Vec<u16>,
    few: Vec<f32>,
    n_blocks: usize,
    /// What the probabilities of other slots are multiplied with where these terms hold.
    pub others: Option<f64>,
}

/// Where the terms of a slot of a context are.
#[derive(Debug, Clone, Copy)]
enum Span {
    /// The first block.
    Many(usize),
    /// From here to there in `few`.
    Few(usize, usize),
}

/// No terms of a target whose column has so many slots, a new one's included.
pub(in crate::cells) fn blocks(sums: &mut Blocks, n_slots: usize) {
    sums.clear();
    sums.resize(n_slots.div_ceil(BLOCK), [0.0; BLOCK]);
}

impl LogTerms {
    /// Those where no row is left out.
    pub fn new(column: &Column, links: &[Link]) -> Self {
        let term = |link: &Link, ratio: f32| (link.weight * f64::from(ratio).ln_1p()) as f32;
        let terms =
            |link: &Link, terms: &mut Vec<f32>| terms.extend(link.ratios.iter().map(|ratio| term(link, *ratio)));
        Self::with(column, links, terms)
    }

    /// Those without the row, wherever the row is but in a slot that holds one or two.
    pub fn left_out(column: &Column, links: &[Link]) -> Self {
        let is_usual = |slot: &usize| column.counts[*slot] > if column.bins.is_some() { 0 } else { 2 };
        let Some(left_out) = (0..column.n_slots()).find(is_usual).map(|slot| column.leave_out(slot)) else {
            return Self::default();
        };
        let terms = |link: &Link, terms: &mut Vec<f32>| {
            lifts_left_out(&link.ratios, &left_out, terms);
            terms.iter_mut().for_each(|term| *term *= link.weight as f32);
        };
        let mut all = Self { others: Some(left_out.others), ..Self::with(column, links, terms) };
        all.own = vec![[0.0; BLOCK]; all.terms.len()];
        for (link, [_, n_contexts, first]) in links.iter().zip(&all.links) {
            for u in 0..*n_contexts {
                let Span::Many(at) = all.spans[first + u] else { continue };
                for slot in link.slots[link.pairs(u)].iter().map(|slot| *slot as usize) {
                    let own = own_lift(link, u, slot, &column.leave_out(slot));
                    all.own[at + slot / BLOCK][slot % BLOCK] = link.weight * own;
                }
            }
        }
        all
    }

    fn with(column: &Column, links: &[Link], terms_of: impl Fn(&Link, &mut Vec<f32>)) -> Self {
        let n_slots = column.prior.len();
        let mut all = Self { n_blocks: n_slots.div_ceil(BLOCK), ..Self::default() };
        let mut terms = Vec::new();
        for link in links {
            terms.clear();
            terms_of(link, &mut terms);
            let n_contexts = link.starts.len() - 1;
            all.links.push([link.context, n_contexts, all.spans.len()]);
            for u in 0..n_contexts {
                let pairs = link.pairs(u);
                if pairs.len() * MANY >= n_slots {
                    let at = all.terms.len();
                    all.terms.resize(at + all.n_blocks, [0.0; BLOCK]);
                    for (slot, term) in link.slots[pairs.clone()].iter().zip(&terms[pairs]) {
                        all.terms[at + *slot as usize / BLOCK][*slot as usize % BLOCK] = *term;
                    }
                    all.spans.push(Span::Many(at));
                } else {
                    let at = all.few.len();
                    all.slots.extend_from_slice(&link.slots[pairs.clone()]);
                    all.few.extend_from_slice(&terms[pairs]);
                    all.spans.push(Span::Few(at, all.few.len()));
                }
            }
        }
        all
    }

    /// Adds the terms of a row's contexts.
    #[inline(always)]
    pub fn add(&self, row: &[u16], sums: &mut [[f32; BLOCK]]) {
        for [context, n_contexts, first] in &self.links {
            let u = row[*context] as usize;
            if u < *n_contexts {
                self.add_span(self.spans[first + u], sums);
            }
        }
    }

    /// Adds the terms of a row's contexts without the row; returns the sum for the slot `own` that it is in.
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
            let span = self.spans[first + u];
            self.add_span(span, sums);
            own_sum += match span {
                Span::Many(at) => self.own[at + own / BLOCK][own % BLOCK],
                Span::Few(..) => link.weight * own_lift(link, u, own, left_out),
            };
        }
        own_sum
    }

    #[inline(always)]
    fn add_span(&self, span: Span, sums: &mut [[f32; BLOCK]]) {
        match span {
            Span::Many(at) => {
                let (sums, terms) = (&mut sums[..self.n_blocks], &self.terms[at..][..self.n_blocks]);
                for block in 0..self.n_blocks {
                    for at in 0..BLOCK {
                        sums[block][at] += terms[block][at];
                    }
                }
            }
            Span::Few(from, to) => {
                let sums = sums.as_flattened_mut();
                let (slots, terms) = (&self.slots[from..to], &self.few[from..to]);
                for at in 0..slots.len() {
                    sums[slots[at] as usize] += terms[at];
                }
            }
        }
    }
}
