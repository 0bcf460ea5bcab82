//! The default head. It combines rare values, unusual combinations and rows that match no common pattern. Their weights
//! follow from what the table shows of *couplings*, that is of columns that depend on each other.
//!
//! Five figures of a row are computed. Each is turned into nats by its tail among usual rows ([`super::tails`]):
//!
//! - *numbers*: Σ z²/2;
//! - *categories*: how outlying they are by coupled biased random walks ([`crate::detectors::Cbrw`]), or by their
//!   marginals if there are too many for a graph of all pairs;
//! - *doubt*: Σ (1 − π) over the cells, over the last fifth of the levels. π is the probability that the network gives
//!   to the category that is there. At these levels it sees nearly everything, so it doubts what does not fit together;
//! - *residual*: what is left of the row outside of the principal components ([`crate::detectors::Pca`]). It asks the
//!   same question of a linear model. The two err in different places, and their mean is better than either;
//! - *patterns*: the length of the row when it is written in patterns of the training rows
//!   ([`crate::detectors::Comprex`]).
//!
//! score(x) = (1 − s)·((1 − w)·((1 − q)·values + q·beside) + w·together) + s·patterns, where values = numbers +
//! categories and together = ¼·(values + doubt + residual + patterns).
//!
//! The weights w and s come from one question to the trained network: how much does the rest of a row tell about a
//! cell? At the noisiest level the network sees next to nothing, and held-out rows surprise it by h nats. When each
//! cell is hidden in turn and the rest is in clear sight, the surprise is g nats less. g is taken one standard error
//! lower than measured. (If there are more than 256 cells, 256 of each row stand for all.)
//!
//! - w is the weight of couplings, by Schwarz's criterion (1978). Over n rows the evidence for couplings is E = n·g
//!   nats. A model of all pairs has P = Σ_{a<b} f_a·f_b parameters, where f is 1 for a number and K − 1 for a column
//!   with K categories. It costs C = ½·P·log n. w is E/C − 1, clamped to 0 … 1. So couplings count fully when the
//!   evidence is twice the cost.
//! - s is the weight of patterns against all else. If the rest of a row tells more than half of each cell, v = g/h > ½,
//!   and rows are many, then rows come in a few kinds. What counts then is whether a row is of one of them: s = 1/(1 +
//!   e^{−60·(u·v − ½)}). Weights of the others that are below 0.01 in all are set to 1e-9, so they only break ties.
//! - u = n/(n + 2000) is near 1 where rows are many.
//! - q = ½·(1 − u) is the weight of what stands beside values in a small table. Such a table can prove neither that
//!   there are couplings nor that there are none. If patterns make the training rows shorter than single values do, by
//!   a fortieth at least, then *beside* is patterns. Otherwise it is doubt and residual, half each.
//!
//! In a large table of independent columns w, s and q are near 0, and only rare values count.
//!
//! The part of a cell is its share of each sum, times the nats of that sum. A pattern is one code for all of its cells,
//! so its nats are shared as the doubt is. An unseen category is doubted fully. It is twice as outlying as the most
//! outlying category.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::tails::Tail;
use crate::columns::{Encoded, Layout};
use crate::detectors::{
    Cbrw, Comprex, Detector, MOST_CELLS, Marginals, NoSettings, Pca, PcaConfig, Split, WIDEST, WalkConfig,
    score_distinct,
};
use crate::error::{Error, Result};
use crate::files::Tensors;
use crate::train::{Run, Silent};

/// How fast patterns take over where half of a row follows from the rest.
const STEEPNESS: f64 = 60.0;
/// Rows that are neither few nor many.
const MANY_ROWS: f64 = 2000.0;
/// The share of a table's description that patterns save at the least, to stand beside values.
const SMALLEST_SAVING: f64 = 1.0 / 40.0;
/// A weight that is not worth the work.
const NEGLIGIBLE: f64 = 0.01;
/// The weight of what would be negligible beside patterns: it tells rows of one length apart.
const TIE: f64 = 1e-9;
/// Places of an encoded row beyond which principal components take too long.
const WIDEST_RESIDUAL: usize = 1024;

/// What a row is measured by.
#[derive(Debug, Clone)]
pub(super) struct EvidenceHead {
    weights: Weights,
    n_numbers: usize,
    numbers: Option<Member>,
    categories: Option<Member>,
    doubt: Tail,
    residual: Option<Member>,
    patterns: Option<Member>,
}

/// What the score is made of; each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Of rare numbers and categories.
    pub values: f64,
    /// Of the network's doubt about how cells go together.
    pub doubt: f64,
    /// Of what a linear model of how cells go together leaves over.
    pub residual: f64,
    /// Of the length in patterns.
    pub patterns: f64,
}

/// A detector of its own for some of the cells, and the tail of its scores.
#[derive(Debug, Clone)]
struct Member {
    detector: MemberDetector,
    tail: Tail,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    weights: Weights,
    numbers: Option<StoredMember>,
    categories: Option<StoredMember>,
    doubt: Tail,
    residual: Option<StoredMember>,
    patterns: Option<StoredMember>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredMember {
    method: String,
    content: serde_json::Value,
    tail: Tail,
}

impl EvidenceHead {
    /// Fits the members to `all` rows, and the tails to the `held_out` ones, whose doubts [rows, cells] the network has told. `weigh` is told the share
    /// that patterns save.
    pub fn fit(
        weigh: impl FnOnce(f64) -> Weights,
        layout: &Layout,
        all: &Encoded,
        held_out: &Encoded,
        doubts: &[f32],
    ) -> Result<Self> {
        let member = |name: &str, layout: &Layout, part: fn(&Encoded) -> Encoded| -> Result<Member> {
            Ok(Member::new(MemberDetector::fit(name, layout, &part(all))?, &part(held_out)))
        };
        let (numbers, categories) = (numbers_of(layout), categories_of(layout));
        let by_rarity = if categories.width() > WIDEST { "marginals" } else { "cbrw" };
        let has_any = |layout: &Layout| layout.width() > 0;
        let has_patterns = layout.n_cells() <= MOST_CELLS;
        let patterns = has_patterns.then(|| MemberDetector::fit("comprex", layout, all)).transpose()?;
        let saving = if let Some(MemberDetector::Comprex(patterns)) = &patterns { patterns.saving(all) } else { 0.0 };
        let weights = weigh(saving).measurable(has_patterns, layout.width() <= WIDEST_RESIDUAL);
        let residual = || member("pca", layout, Encoded::clone);
        Ok(Self {
            weights,
            n_numbers: layout.n_numbers(),
            numbers: has_any(&numbers).then(|| member("marginals", &numbers, only_numbers)).transpose()?,
            categories: has_any(&categories).then(|| member(by_rarity, &categories, only_codes)).transpose()?,
            doubt: Tail::fit(doubts.chunks_exact(layout.n_cells()).map(sum).collect()),
            residual: (weights.residual > 0.0).then(residual).transpose()?,
            patterns: patterns.filter(|_| weights.patterns > 0.0).map(|patterns| Member::new(patterns, held_out)),
        })
    }

    /// What the score is made of.
    pub fn weights(&self) -> Weights {
        self.weights
    }

    /// Takes the scores of rows apart. `doubts` [rows, cells] is asked for only where there is a use for it.
    pub fn split(&self, rows: &Encoded, n_cells: usize, doubts: impl FnOnce() -> Vec<f32>) -> Split {
        let mut split = Split { base: vec![0.0; rows.n_rows()], parts: vec![0.0; rows.n_rows() * n_cells], n_cells };
        if let Some(numbers) = &self.numbers {
            numbers.add(&mut split, 0, self.weights.values, &only_numbers(rows));
        }
        if let Some(categories) = &self.categories {
            categories.add(&mut split, self.n_numbers, self.weights.values, &only_codes(rows));
        }
        if let Some(residual) = &self.residual {
            residual.add(&mut split, 0, self.weights.residual, rows);
        }
        if self.weights.doubt + self.weights.patterns > 0.0 {
            let parts = doubts().into_iter().map(f64::from).collect();
            let doubts = Split { base: vec![0.0; rows.n_rows()], parts, n_cells };
            let lengths = self.patterns.as_ref().map(|patterns| patterns.nats(rows));
            add(&mut split, 0, &doubts, |row, sum| {
                let length = lengths.as_ref().map_or(0.0, |lengths| lengths[row]);
                self.weights.doubt * self.doubt.nats(sum) + self.weights.patterns * length
            });
        }
        split
    }

    pub fn save(&self, tensors: &mut Tensors) -> serde_json::Result<Stored> {
        let mut save =
            |name: &str, member: &Option<Member>| member.as_ref().map(|member| member.save(name, tensors)).transpose();
        Ok(Stored {
            weights: self.weights,
            numbers: save("numbers", &self.numbers)?,
            categories: save("categories", &self.categories)?,
            doubt: self.doubt.clone(),
            residual: save("residual", &self.residual)?,
            patterns: save("patterns", &self.patterns)?,
        })
    }

    pub fn load(stored: Stored, layout: &Layout, tensors: &mut Tensors) -> std::result::Result<Self, String> {
        let mut load = |name: &str, member: Option<StoredMember>, methods: &[&str], layout: &Layout| {
            member.map(|member| Member::load(name, member, methods, layout, tensors)).transpose()
        };
        stored.weights.validate()?;
        stored.doubt.validate()?;
        Ok(Self {
            weights: stored.weights,
            n_numbers: layout.n_numbers(),
            numbers: load("numbers", stored.numbers, &["marginals"], &numbers_of(layout))?,
            categories: load("categories", stored.categories, &["cbrw", "marginals"], &categories_of(layout))?,
            doubt: stored.doubt,
            residual: load("residual", stored.residual, &["pca"], layout)?,
            patterns: load("patterns", stored.patterns, &["comprex"], layout)?,
        })
    }
}

impl Member {
    /// Learns the tail from `held_out` rows.
    fn new(detector: MemberDetector, held_out: &Encoded) -> Self {
        Self { tail: Tail::fit(score_distinct(detector.detector(), held_out)), detector }
    }

    /// Adds `weight` times the nats of this member's scores, to the cells from `first` on.
    fn add(&self, split: &mut Split, first: usize, weight: f64, rows: &Encoded) {
        add(split, first, &self.detector.detector().split(rows), |_, sum| weight * self.tail.nats(sum));
    }

    /// The nats of each row's score.
    fn nats(&self, rows: &Encoded) -> Vec<f64> {
        self.detector.detector().score(rows).into_iter().map(|score| self.tail.nats(score)).collect()
    }

    fn save(&self, name: &str, tensors: &mut Tensors) -> serde_json::Result<StoredMember> {
        let mut own = Tensors::default();
        let content = self.detector.save(&mut own)?;
        tensors.put_under(name, own);
        Ok(StoredMember { method: self.detector.name().to_owned(), content, tail: self.tail.clone() })
    }

    fn load(
        name: &str,
        stored: StoredMember,
        methods: &[&str],
        layout: &Layout,
        tensors: &mut Tensors,
    ) -> std::result::Result<Self, String> {
        if layout.width() == 0 || !methods.contains(&stored.method.as_str()) {
            return Err(format!("the {name} are not measured by `{}`", stored.method));
        }
        stored.tail.validate()?;
        let mut own = tensors.take_under(name);
        let detector = MemberDetector::load(&stored.method, stored.content, layout, &mut own)?;
        Ok(Self { detector, tail: stored.tail })
    }
}

/// Adds the nats of each row, told its number and its sum in `own`, to the cells from `first` on, in proportion to their parts in `own`.
fn add(split: &mut Split, first: usize, own: &Split, nats: impl Fn(usize, f64) -> f64 + Sync) {
    let n_cells = split.n_cells;
    let rows = split.base.par_iter_mut().zip(split.parts.par_chunks_mut(n_cells));
    rows.enumerate().for_each(|(row, (base, parts))| {
        let own_parts = own.parts(row);
        let sum = own.base[row] + own_parts.iter().sum::<f64>();
        let nats = nats(row, sum);
        if sum > 0.0 {
            *base += nats / sum * own.base[row];
            parts[first..].iter_mut().zip(own_parts).for_each(|(part, own)| *part += nats / sum * own);
        } else {
            *base += nats;
        }
    });
}

impl Weights {
    /// Checks them; says what is wrong.
    pub fn validate(self) -> std::result::Result<(), &'static str> {
        let all = [self.values, self.doubt, self.residual, self.patterns];
        let inside = all.iter().all(|weight| (0.0..=1.0).contains(weight));
        if inside { Ok(()) } else { Err("weights are to lie between 0 and 1") }
    }

    /// From the surprise of some held-out rows at a glance, [0], and from the rest of each row, [1], in a table of `n_rows` rows and
    /// columns with this many `free` parameters, which patterns describe shorter by the share `saving`.
    pub(super) fn new(surprises: &[[f64; 2]], n_rows: usize, free: &[usize], saving: f64) -> Self {
        let n_rows = n_rows as f64;
        let (gain, at_a_glance) = gain(surprises);
        let all: f64 = free.iter().map(|n| *n as f64).sum();
        let squares: f64 = free.iter().map(|n| (*n as f64).powi(2)).sum();
        let (cost, evidence) = (0.25 * (all * all - squares) * n_rows.ln(), n_rows * gain);
        let coupled = if evidence > cost { (evidence / cost - 1.0).min(1.0) } else { 0.0 };
        let many = n_rows / (n_rows + MANY_ROWS);
        let explained = if gain > 0.0 { gain / at_a_glance } else { 0.0 };
        let others = 1.0 / (1.0 + (STEEPNESS * (many * explained - 0.5)).exp());
        let others = if others < NEGLIGIBLE { others.min(TIE) } else { others };
        let beside = others * (1.0 - coupled) * 0.5 * (1.0 - many);
        let (by_patterns, by_doubt) = if saving > SMALLEST_SAVING { (beside, 0.0) } else { (0.0, beside) };
        let together = others * coupled / 4.0;
        let doubt = by_doubt + 2.0 * together;
        let residual = if 0.5 * doubt > NEGLIGIBLE { 0.5 * doubt } else { 0.0 };
        let patterns = 1.0 - others + by_patterns + together;
        Self {
            values: others * (1.0 - coupled) - beside + together,
            doubt: doubt - residual,
            residual,
            patterns: if patterns > NEGLIGIBLE { patterns } else { 0.0 },
        }
    }

    /// What cannot be measured is left to doubt.
    fn measurable(mut self, has_patterns: bool, has_residual: bool) -> Self {
        if !has_patterns {
            self.doubt += std::mem::take(&mut self.patterns);
        }
        if !has_residual {
            self.doubt += std::mem::take(&mut self.residual);
        }
        self
    }
}

/// How much less surprising rows are from the rest of each row than at a glance, less its standard error, and how surprising they are at a glance.
fn gain(surprises: &[[f64; 2]]) -> (f64, f64) {
    if surprises.len() < 2 {
        return (0.0, 0.0);
    }
    let n = surprises.len() as f64;
    let gains = surprises.iter().map(|[glance, rest]| glance - rest);
    let mean = gains.clone().sum::<f64>() / n;
    let variance = gains.map(|gain| (gain - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let at_a_glance = surprises.iter().map(|[glance, _]| glance).sum::<f64>() / n;
    ((mean - (variance / n).sqrt()).max(0.0), at_a_glance)
}

/// Writes out the detectors that can be members.
macro_rules! members {
    ($($name:literal: $variant:ident($config:expr);)+) => {
        /// The detector of a member.
        #[derive(Debug, Clone)]
        enum MemberDetector {
            $($variant(Box<$variant>),)+
        }

        impl MemberDetector {
            fn fit(name: &str, layout: &Layout, rows: &Encoded) -> Result<Self> {
                let run = Run { seed: 0, max_seconds: None, resume: None, save: None, watcher: &mut Silent };
                match name {
                    $($name => Ok(Self::$variant(Box::new($variant::fit(&$config, layout, rows, &rows.select(&[]), run)?))),)+
                    _ => Err(Error::config("method", format!("`{name}` cannot be a member"))),
                }
            }

            fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }

            fn detector(&self) -> &dyn Detector {
                match self {
                    $(Self::$variant(fitted) => fitted.as_ref(),)+
                }
            }

            fn save(&self, tensors: &mut Tensors) -> serde_json::Result<serde_json::Value> {
                match self {
                    $(Self::$variant(fitted) => fitted.save(tensors),)+
                }
            }

            fn load(
                name: &str,
                content: serde_json::Value,
                layout: &Layout,
                tensors: &mut Tensors,
            ) -> std::result::Result<Self, String> {
                match name {
                    $($name => $variant::load(content, layout, tensors).map(|fitted| Self::$variant(Box::new(fitted))),)+
                    _ => Err(format!("method `{name}` cannot be a member")),
                }
            }
        }
    };
}

members! {
    "marginals": Marginals(NoSettings {});
    "cbrw": Cbrw(WalkConfig::default());
    "pca": Pca(PcaConfig::default());
    "comprex": Comprex(NoSettings {});
}

fn numbers_of(layout: &Layout) -> Layout {
    Layout::new(layout.n_numbers(), Vec::new())
}

fn categories_of(layout: &Layout) -> Layout {
    Layout::new(0, (0..layout.n_groups()).map(|group| layout.size(group)).collect())
}

fn only_numbers(rows: &Encoded) -> Encoded {
    Encoded::new(
        rows.n_rows(),
        Vec::new(),
        (0..rows.n_rows()).flat_map(|row| rows.numbers(row).iter().copied()).collect(),
    )
}

fn only_codes(rows: &Encoded) -> Encoded {
    Encoded::new(
        rows.n_rows(),
        (0..rows.n_rows()).flat_map(|row| rows.codes(row).iter().copied()).collect(),
        Vec::new(),
    )
}

pub(super) fn sum(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    // By hand: 3 pairs of columns with 2·1, 2·3 and 1·3 free parameters cost ½·11·log 100000 = 63.3 nats; at 100,000 rows u = 50/51.
    #[test]
    fn couplings_count_by_how_far_their_evidence_exceeds_their_cost() {
        const N: usize = 100_000;
        let (cost, u) = (0.5 * 11.0 * (N as f64).ln(), 50.0 / 51.0);
        let weights = |surprises: &[[f64; 2]]| Weights::new(surprises, N, &[2, 1, 3], 1.0);
        let expected = |w: f64| (1.0 - w) * (1.0 - 0.5 * (1.0 - u)) + 0.25 * w;
        let of_evidence = |nats: f64| weights(&[[2.0, 2.0 - nats / N as f64]; 50]);
        assert!((of_evidence(1.4 * cost).values - expected(0.4)).abs() < 1e-6);
        assert!((of_evidence(2.5 * cost).values - expected(1.0)).abs() < 1e-6);
        assert!((of_evidence(0.9 * cost).values - expected(0.0)).abs() < 1e-6, "that does not pay for it");
        let together = of_evidence(2.5 * cost);
        assert_eq!(together.doubt, together.residual);
        assert!((together.doubt - 0.25).abs() < 1e-6 && (together.patterns - 0.25).abs() < 1e-6, "{together:?}");
        for nothing in [&[[2.0, 2.5]; 50][..], &[[9.0, 0.0]], &[[0.0, 0.0]; 50]] {
            assert!((weights(nothing).values - expected(0.0)).abs() < 1e-6, "{nothing:?}");
        }
        // Mean 0.001, standard deviation 0.003·√(50/49): the standard error is 0.000429.
        let uneven: Vec<[f64; 2]> = (0..50).map(|i| [2.0, if i % 2 == 0 { 1.996 } else { 2.002 }]).collect();
        let evidence = N as f64 * (0.001 - 0.003 / 49f64.sqrt());
        assert!(evidence < cost && 0.001 * N as f64 > cost, "the error decides");
        assert!((weights(&uneven).values - expected(0.0)).abs() < 1e-6);
    }

    #[test]
    fn patterns_take_over_where_the_rest_tells_half_of_many_rows() {
        let weights = |rest: f64, n_rows: usize| Weights::new(&[[2.0, rest]; 50], n_rows, &[2, 1, 3], 0.0);
        let kinds = 1.0 / (1.0 + (-2.4f64).exp());
        assert!((weights(0.92, 1_000_000_000).patterns - (kinds + 0.25 * (1.0 - kinds))).abs() < 1e-4, "v = 0.54");
        let nearly_all = weights(0.8, 1_000_000_000);
        assert!(nearly_all.doubt > 0.2e-9 && nearly_all.patterns > 1.0 - 1.1e-9, "v = 0.6: {nearly_all:?}");
        let few = weights(0.8, 2000);
        assert!((few.values - 0.25).abs() < 1e-3 && (few.patterns - 0.25).abs() < 1e-3, "{few:?}");
        assert!((weights(1.9, 1_000_000_000).patterns - 0.25).abs() < 1e-3, "v = 0.05");
        for weights in [few, weights(0.8, 500), weights(1.2, 5000), weights(2.0, 100)] {
            let sum = weights.values + weights.doubt + weights.residual + weights.patterns;
            assert!((sum - 1.0).abs() < 1e-9, "{weights:?}");
        }
    }

    #[test]
    fn in_small_tables_something_stands_beside_values() {
        let weights = |saving: f64, n_rows: usize| Weights::new(&[[2.0, 2.0]; 50], n_rows, &[2, 1], saving);
        let found = weights(0.03, 2000);
        assert!((found.patterns - 0.25).abs() < 1e-9 && found.doubt == 0.0, "half of a half: {found:?}");
        let nothing_found = weights(0.02, 2000);
        assert_eq!(nothing_found.patterns, 0.0, "too little saved");
        assert!((nothing_found.doubt - 0.125).abs() < 1e-9 && nothing_found.residual == nothing_found.doubt);
        assert!(weights(0.5, 1_000_000).values > 0.99, "too many rows");
    }

    #[test]
    fn what_cannot_be_measured_is_left_to_doubt() {
        let weights = Weights { values: 0.1, doubt: 0.2, residual: 0.3, patterns: 0.4 };
        assert_eq!(weights.measurable(true, true), weights);
        let alone = weights.measurable(false, false);
        assert_eq!((alone.residual, alone.patterns), (0.0, 0.0));
        assert!((alone.doubt - 0.9).abs() < 1e-12);
    }

    #[test]
    fn parts_follow_the_shares_of_the_cells() {
        let tail = Tail::fit((1..=100).map(f64::from).collect());
        let own = Split { base: vec![10.0, 0.0], parts: vec![30.0, 10.0, 0.0, 0.0], n_cells: 2 };
        let mut split = Split { base: vec![0.0; 2], parts: vec![0.0; 6], n_cells: 3 };
        add(&mut split, 1, &own, |_, sum| 0.5 * tail.nats(sum));
        let nats = 0.5 * tail.nats(50.0);
        assert!((split.base[0] - 0.2 * nats).abs() < 1e-12);
        assert_eq!(split.parts(0)[0], 0.0, "cells before the first are left alone");
        assert!((split.parts(0)[1] - 0.6 * nats).abs() < 1e-12 && (split.parts(0)[2] - 0.2 * nats).abs() < 1e-12);
        assert_eq!((split.base[1], split.parts(1)), (0.5 * tail.nats(0.0), &[0.0; 3][..]));
    }
}
