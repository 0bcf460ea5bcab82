//! The default head. It combines rare values, unusual combinations and rows that match no common pattern. Their weights
//! follow from what the table shows of *couplings*, that is of columns that depend on each other.
//!
//! Five figures of a row, each turned into the nats of its tail among usual rows ([`HeavyTail`]):
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

use crate::columns::{Encoded, Layout};
use crate::density::HeavyTail;
use crate::detectors::{
    Cbrw, Comprex, MOST_CELLS, Marginals, NoSettings, Pca, PcaConfig, Split, WIDEST, WalkConfig, fitted_detectors,
    score_distinct,
};
use crate::error::Result;
use crate::files::{Loaded, Store, Tensors};
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
    weights: EvidenceWeights,
    n_numbers: usize,
    numbers: Option<Member>,
    categories: Option<Member>,
    doubt: HeavyTail,
    residual: Option<Member>,
    patterns: Option<Member>,
}

/// What the score is made of; each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceWeights {
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
    tail: HeavyTail,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredEvidence {
    weights: EvidenceWeights,
    numbers: Option<StoredMember>,
    categories: Option<StoredMember>,
    doubt: HeavyTail,
    residual: Option<StoredMember>,
    patterns: Option<StoredMember>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredMember {
    method: String,
    content: serde_json::Value,
    tail: HeavyTail,
}

impl EvidenceHead {
    /// Fits members to the training rows, `rows[0]`, and their tails to the held-out ones, `rows[1]`, which those
    /// members have not seen. Then fits the members that score, to all rows. The network has told the `doubts` [rows,
    /// cells] of the held-out rows.
    /// `weigh` is told the share that patterns save.
    pub fn fit(
        weigh: impl FnOnce(f64) -> EvidenceWeights,
        layout: &Layout,
        rows: [&Encoded; 2],
        doubts: &[f32],
    ) -> Result<Self> {
        let [training, held_out] = rows;
        let all = &training.concat(held_out);
        let tail = |name: &str, layout: &Layout, part: fn(&Encoded) -> Encoded| -> Result<HeavyTail> {
            let detector = MemberDetector::fit(name, layout, &part(training))?;
            Ok(HeavyTail::fit(score_distinct(detector.detector(), &part(held_out))))
        };
        let member = |name: &str, layout: &Layout, part: fn(&Encoded) -> Encoded| -> Result<Member> {
            let detector = MemberDetector::fit(name, layout, &part(all))?;
            Ok(Member { detector, tail: tail(name, layout, part)? })
        };
        let (numbers, categories) = (numbers_of(layout), categories_of(layout));
        let by_rarity = if categories.width() > WIDEST { "marginals" } else { "cbrw" };
        let has_any = |layout: &Layout| layout.width() > 0;
        let has_patterns = layout.n_cells() <= MOST_CELLS;
        let patterns = has_patterns.then(|| MemberDetector::fit("comprex", layout, all)).transpose()?;
        let saving = if let Some(MemberDetector::Comprex(patterns)) = &patterns { patterns.saving(all) } else { 0.0 };
        let weights = weigh(saving).measurable(has_patterns, layout.width() <= WIDEST_RESIDUAL);
        let residual = || member("pca", layout, Encoded::clone);
        let with_tail = |detector| Ok(Member { detector, tail: tail("comprex", layout, Encoded::clone)? });
        Ok(Self {
            weights,
            n_numbers: layout.n_numbers(),
            numbers: has_any(&numbers).then(|| member("marginals", &numbers, only_numbers)).transpose()?,
            categories: has_any(&categories).then(|| member(by_rarity, &categories, only_codes)).transpose()?,
            doubt: HeavyTail::fit(doubts.chunks_exact(layout.n_cells()).map(sum).collect()),
            residual: (weights.residual > 0.0).then(residual).transpose()?,
            patterns: patterns.filter(|_| weights.patterns > 0.0).map(with_tail).transpose()?,
        })
    }

    /// What the score is made of.
    pub fn weights(&self) -> EvidenceWeights {
        self.weights
    }

    /// Takes the scores of rows apart. `doubts` [rows, cells] is asked for only where there is a use for it.
    pub fn split(&self, rows: &Encoded, n_cells: usize, doubts: impl FnOnce() -> Vec<f32>) -> Split {
        let measures = self.measure(rows, n_cells, doubts);
        let mut parts = vec![0.0; rows.n_rows() * n_cells];
        let add = |(row, parts): (usize, &mut [f64])| add_all(&measures, row, parts);
        let base = parts.par_chunks_mut(n_cells).enumerate().map(add).collect();
        Split { base, parts, n_cells }
    }

    /// The scores of rows: the sums of [`Self::split`], of which one row at a time is held.
    pub fn score(&self, rows: &Encoded, n_cells: usize, doubts: impl FnOnce() -> Vec<f32>) -> Vec<f64> {
        let measures = self.measure(rows, n_cells, doubts);
        let score = |parts: &mut Vec<f64>, row: usize| {
            parts.fill(0.0);
            add_all(&measures, row, parts) + parts.iter().sum::<f64>()
        };
        (0..rows.n_rows()).into_par_iter().map_init(|| vec![0.0; n_cells], score).collect()
    }

    /// What each member says of rows, in the order in which it is added up.
    fn measure(&self, rows: &Encoded, n_cells: usize, doubts: impl FnOnce() -> Vec<f32>) -> Vec<Measure> {
        let weights = self.weights;
        let mut measures = Vec::new();
        if let Some(numbers) = &self.numbers {
            measures.push(numbers.measure(0, weights.values, &only_numbers(rows)));
        }
        if let Some(categories) = &self.categories {
            measures.push(categories.measure(self.n_numbers, weights.values, &only_codes(rows)));
        }
        if let Some(residual) = &self.residual {
            measures.push(residual.measure(0, weights.residual, rows));
        }
        if weights.doubt + weights.patterns > 0.0 {
            let parts = doubts().into_iter().map(f64::from).collect();
            let own = Split { base: vec![0.0; rows.n_rows()], parts, n_cells };
            let lengths = self.patterns.as_ref().map(|patterns| patterns.nats(rows));
            let nats = |(row, sum): (usize, f64)| {
                let length = lengths.as_ref().map_or(0.0, |lengths| lengths[row]);
                weights.doubt * self.doubt.nats(sum) + weights.patterns * length
            };
            measures.push(Measure::new(0, own, nats));
        }
        measures
    }
}

impl Store for EvidenceHead {
    type Document = StoredEvidence;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredEvidence> {
        let mut write =
            |name: &str, member: &Option<Member>| member.as_ref().map(|member| member.write(name, tensors)).transpose();
        Ok(StoredEvidence {
            weights: self.weights,
            numbers: write("numbers", &self.numbers)?,
            categories: write("categories", &self.categories)?,
            doubt: self.doubt.clone(),
            residual: write("residual", &self.residual)?,
            patterns: write("patterns", &self.patterns)?,
        })
    }

    fn read(stored: StoredEvidence, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        let mut read = |name: &str, member: Option<StoredMember>, methods: &[&str], layout: &Layout| {
            member.map(|member| Member::read(name, member, methods, layout, tensors)).transpose()
        };
        stored.weights.validate()?;
        stored.doubt.validate()?;
        Ok(Self {
            weights: stored.weights,
            n_numbers: layout.n_numbers(),
            numbers: read("numbers", stored.numbers, &["marginals"], &numbers_of(layout))?,
            categories: read("categories", stored.categories, &["cbrw", "marginals"], &categories_of(layout))?,
            doubt: stored.doubt,
            residual: read("residual", stored.residual, &["pca"], layout)?,
            patterns: read("patterns", stored.patterns, &["comprex"], layout)?,
        })
    }
}

impl Member {
    /// `weight` times the nats of this member's scores, of the cells from `first` on.
    fn measure(&self, first: usize, weight: f64, rows: &Encoded) -> Measure {
        Measure::new(first, self.detector.detector().split(rows), |(_, sum)| weight * self.tail.nats(sum))
    }

    /// The nats of each row's score.
    fn nats(&self, rows: &Encoded) -> Vec<f64> {
        self.detector.detector().score(rows).into_iter().map(|score| self.tail.nats(score)).collect()
    }

    /// Puts the arrays under `name`.
    fn write(&self, name: &str, tensors: &mut Tensors) -> serde_json::Result<StoredMember> {
        let mut own = Tensors::default();
        let content = self.detector.save(&mut own)?;
        tensors.put_under(name, own);
        Ok(StoredMember { method: self.detector.name().to_owned(), content, tail: self.tail.clone() })
    }

    /// Takes the arrays from under `name`; the detector must be of one of these methods.
    fn read(
        name: &str,
        stored: StoredMember,
        methods: &[&str],
        layout: &Layout,
        tensors: &mut Tensors,
    ) -> Loaded<Self> {
        if layout.width() == 0 || !methods.contains(&stored.method.as_str()) {
            return Err(format!("the {name} are not measured by `{}`", stored.method).into());
        }
        stored.tail.validate()?;
        let mut own = tensors.take_under(name);
        let detector = MemberDetector::load(&stored.method, stored.content, layout, &mut own)?;
        Ok(Self { detector, tail: stored.tail })
    }
}

/// What one member says of some rows.
struct Measure {
    /// The cell of a row that is the first of the member's.
    first: usize,
    /// The member's scores, taken apart.
    own: Split,
    /// Their sums.
    sums: Vec<f64>,
    /// What the sums are worth.
    nats: Vec<f64>,
}

impl Measure {
    /// `nats` is told each row and its sum.
    fn new(first: usize, own: Split, nats: impl Fn((usize, f64)) -> f64) -> Self {
        let sums = own.sums();
        Self { first, nats: sums.iter().copied().enumerate().map(nats).collect(), own, sums }
    }

    /// Adds the nats of a row to its cells, in proportion to their parts; returns what goes to the base.
    fn add(&self, row: usize, parts: &mut [f64]) -> f64 {
        let (sum, nats) = (self.sums[row], self.nats[row]);
        if sum > 0.0 {
            let cells = parts[self.first..].iter_mut().zip(self.own.parts(row));
            cells.for_each(|(part, own)| *part += nats / sum * own);
            nats / sum * self.own.base[row]
        } else {
            nats
        }
    }
}

/// Adds what all members say of a row to its cells; returns the base.
fn add_all(measures: &[Measure], row: usize, parts: &mut [f64]) -> f64 {
    measures.iter().fold(0.0, |base, measure| base + measure.add(row, parts))
}

impl EvidenceWeights {
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

/// How much less surprising rows are from the rest of each row than at a glance, less its standard error, and how
/// surprising they are at a glance.
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

fitted_detectors! {
    /// The detector of a member.
    enum MemberDetector {
        "marginals": Marginals(Marginals),
        "cbrw": Cbrw(Cbrw),
        "pca": Pca(Pca),
        "comprex": Comprex(Comprex),
    }
}

impl MemberDetector {
    /// Fits the detector of that name, with its default settings; of `pca`, only the residual counts.
    fn fit(name: &str, layout: &Layout, rows: &Encoded) -> Result<Self> {
        let run = Run { seed: 0, max_seconds: None, resume: None, save: None, watcher: &mut Silent };
        let rows = [rows, &rows.select(&[])];
        let residual = PcaConfig { residual_only: true, ..PcaConfig::default() };
        Ok(match name {
            "cbrw" => Self::Cbrw(Box::new(Cbrw::fit(&WalkConfig::default(), layout, rows, run)?)),
            "pca" => Self::Pca(Box::new(Pca::fit(&residual, layout, rows, run)?)),
            "comprex" => Self::Comprex(Box::new(Comprex::fit(&NoSettings {}, layout, rows, run)?)),
            _ => Self::Marginals(Box::new(Marginals::fit(&NoSettings {}, layout, rows, run)?)),
        })
    }
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
mod tests;
