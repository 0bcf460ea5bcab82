//! Every constant that changes a score, in one place, each with its reason and with what was in view when it was set.
//!
//! "73 sets" are those of the paper, the further ones, 15 of ADBench and KEEL's first, with one or two splits;
//! "planted" are tables of `gnsm bench planted`. `docs/cells.md` tells more. Where nothing is named, nothing else was
//! tried.
//!
//! What is not here stands in the file that it belongs to: what only keeps memory, time or rounding errors within
//! bounds; the halves that every share of something new has (`conditional/column.rs`); the middle nine tenths that are
//! a number's range (`conditional/bins.rs`); and that a row has five neighbours, by which loops are laid out
//! (`neighbours/search.rs`).

use serde::{Deserialize, Serialize};

use super::combine::{Figures, Kinds};
use crate::density::{BULK, BulkTail};

/// The nats of one in twenty: ln 20.
const ONE_IN_TWENTY: f64 = 2.995_732_273_553_991;
/// ln 40.
const ONE_IN_FORTY: f64 = 3.688_879_454_113_936;
/// ln 100.
const ONE_IN_A_HUNDRED: f64 = 4.605_170_185_988_092;

/// How rows become evidence, tails, figures, a score, and blame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// Copies of rows that pairs are counted from, at the most: more change little and cost time.
    pub most_counted: usize,
    /// Copies of rows that are held out to learn tails from, at the most; where a row has more than a hundred cells,
    /// fewer.
    pub most_calibrated: usize,
    /// Distinct rows among which neighbours are looked for, and that classes are learned from, at the most. In view:
    /// the 23 sets of ADBench for neighbours, where more are better; 58 sets for classes, where all rows are within 0.3
    /// AUROC.
    pub most_references: usize,

    /// Bins of equal share of a number. In view: 9 development sets of ADBench and the paper; 12 and 48 are within 2
    /// AUROC but for one set.
    pub most_bins: usize,
    /// Rows that have to repeat a number before it has a bin of its own.
    pub fewest_repeats: f64,
    /// Mean excesses beyond the numbers that were seen that count in full; from there on their logarithm does, since a
    /// number far out is odd enough.
    pub straight: f64,
    /// Links of a column, at the most, the best by themselves: the rest adds little and costs time.
    pub most_links: usize,
    /// How many rows a prior may be worth in a link, from hardly any to one that leaves nothing of the context.
    pub prior_rows: [f64; 7],
    /// Held-out rows that weights are chosen by, at the most.
    pub most_weighed: usize,
    /// The largest weight of a link: a context that is sure may count twice, since priors make it less sure than it is.
    pub largest_weight: f64,
    /// What a squared weight costs, in nats: few rows cannot tell weights apart.
    pub ridge: f64,

    /// Rows that are met in a search for neighbours, at the least. In view: none; so that a search is no longer than
    /// among 2,000 rows.
    pub fewest_met: usize,
    /// What it costs at the most to differ in a category, where it costs 1 on average. In view: optdigits; 1 and 2 are
    /// within 0.3 AUROC on KEEL's first sets and 17 of ADBench.
    pub highest_cost: f64,

    /// Classes of rows, at the most. In view: 58 of the 73 sets; 128 are within 0.3 AUROC.
    pub most_classes: usize,
    /// Steps by which classes are learned. In view: the same; 40 are within 0.3.
    pub class_steps: usize,

    /// The share of its steps in which the walker between values does not jump, as in the paper.
    pub damping: f64,
    /// How much more odd than the oddest value one is that was never seen.
    pub unseen: f64,

    /// The kinds of evidence that are summed. What is *beyond usual* is left to the largest cell: beside *given the
    /// rest* it would count the same twice. In view: 22 development sets, before 13 that were kept back.
    pub summed: Kinds<bool>,
    /// The kinds that count only as far as the cell is odd: a value that is nearly as likely as the likeliest is not
    /// odd, however predictable the column mostly is. In view: 73 sets and 18 planted tables.
    pub bounded: Kinds<bool>,
    /// The nats that such a kind may have in a cell that is not odd at all: those of one cell in twenty, which is
    /// nothing unusual. In view: the same.
    pub bound: f64,
    /// The nats beyond the bound that a cell may have for each nat that it is odd. In view: the same.
    pub odd_allows: f64,
    /// Nats by which evidence has to grow to count e times as much in the sum: one large T counts for more than many
    /// small ones. In view: 81 sets and 18 planted tables, then 30 other made tables; 4 to 20 are within 0.1
    /// AUROC.
    pub soft: f64,
    /// How much each of the two kinds of neighbours counts in the largest cell: a cell that differs from the nearest
    /// rows and is as expected otherwise is seldom wrong. In view: 73 sets and 18 planted tables.
    pub neighbours_count: f64,

    /// The figures that count in the score.
    pub counted: Figures<bool>,
    /// The share of the sum in what is not whole, values or largest; the rest is the distance. Where columns are
    /// numbers of one kind, as in pictures, the distance counts each by how much it varies. In view: 73 sets, then the
    /// 23 of ADBench.
    pub share_of_sum: f64,
    /// The share of the values where all columns are categories and rows are few: one of two views. In view: 73 sets; a
    /// third to a half are within 0.2 AUROC. Taken with three of them in view: cmc, solar and letter.
    pub share_of_values: f64,
    /// Rows with which the values have half of this share, since more rows tell more about combinations. In view: the
    /// same; 500 to 15,000 are within 0.2.
    pub few_rows: f64,
    /// The share of the rows that are the core, the most usual ones by views of the whole table. In view: 27 sets with
    /// their anomalies in them, of which 70 % find more than 85 %; 55 % are within 1 AUROC.
    pub core: f64,
    /// The share of the distance to the core in what is not the largest cell, where all columns are numbers. In view: 16 sets of ADBench with their
    /// anomalies in them and without, and 20 planted tables; more finds more where odd rows are many, and fewer planted
    /// cells.
    pub share_of_core: f64,
    /// The nats from which on the largest cell counts: those of one row in a hundred. In view: 73 sets and 16 planted
    /// tables; ln 30 and three times to ln 200 and eight times are within 0.3 AUROC and 2 of 240 oddities. Beside the
    /// core ln 100 ranks better than ln 50 in tables that hold their own anomalies.
    pub largest_from: f64,
    /// How often what is above them counts: one wrong cell among two hundred usual ones shows in no other figure. In
    /// view: the same.
    pub largest_counts: f64,
    /// The score that one usual row in forty has, where a score is nats still. It follows from ln 100 above: up to there
    /// the largest cell adds nothing.
    pub tail_from: f64,

    /// The share of a kind's evidence that tells how fast the rest becomes rare.
    pub top: f64,
    /// Cells that this share has, at the least.
    pub fewest_top: f64,
    /// Nats that distance beyond the largest evidence can add: no cell has more than that for being far out alone.
    pub most_beyond: f64,

    /// The share of rows below the point whose tails are asked first which rows are odd. More than 1 − this cannot be
    /// found. In view: 16 planted tables and 30 other made ones.
    pub first_share: f64,
    /// The same for the tails without those rows. It has to be the bulk of the p-values (`density::BULK`).
    pub share: f64,
    /// A row is odd with so many nats more than ln n: those of one table in twenty, which has such a row by chance. In
    /// view: 32 made tables and 16 planted ones.
    pub odd_beyond: f64,
    /// How often tails are learned anew without odd rows, at the most: each time fewer rows are added.
    pub most_rounds: usize,
    /// The share of rows that may be odd by one and the same cell or figure; more are rows of their own kind, such as
    /// those of small suppliers. In view: 24 made tables and 9 planted ones.
    pub most_alike: f64,
    /// The share of rows that may be odd in all. In view: the same.
    pub most_odd: f64,

    /// How much a category is to blame by how odd it is without its strongest context: mistakes come together and
    /// explain each other. In view: flights and hospital; 0.03 to 1 are within 3 points there, and 1 names fewer
    /// planted cells.
    pub without_strongest: f64,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            most_counted: 200_000,
            most_calibrated: 20_000,
            most_references: 8_000,
            most_bins: 24,
            fewest_repeats: 8.0,
            straight: 3.0,
            most_links: 16,
            prior_rows: [0.05, 0.3, 1.0, 4.0, 16.0, 64.0, 1024.0],
            most_weighed: 1500,
            largest_weight: 2.0,
            ridge: 1.0,
            fewest_met: 1_500,
            highest_cost: 2.0,
            most_classes: 64,
            class_steps: 20,
            damping: 0.95,
            unseen: 2.0,
            summed: Kinds { given_the_rest: true, near: true, local: true, alone: true, beyond_usual: false },
            bounded: Kinds { given_the_rest: true, near: false, local: false, alone: false, beyond_usual: true },
            bound: ONE_IN_TWENTY,
            odd_allows: 4.0,
            soft: 10.0,
            neighbours_count: 0.25,
            counted: Figures { sum: true, largest: true, distance: true, whole: true, values: true, core: true },
            share_of_sum: 0.5,
            share_of_values: 0.5,
            few_rows: 5000.0,
            core: 0.7,
            share_of_core: 1.0 / 3.0,
            largest_from: ONE_IN_A_HUNDRED,
            largest_counts: 4.0,
            tail_from: ONE_IN_FORTY,
            top: 0.05,
            fewest_top: 5.0,
            most_beyond: 10.0,
            first_share: 0.95,
            share: BULK,
            odd_beyond: ONE_IN_TWENTY,
            most_rounds: 5,
            most_alike: 1.0 - BULK,
            most_odd: 0.1,
            without_strongest: 0.25,
        }
    }
}

impl Recipe {
    /// How fast scores become rare. The share of usual rows that have x nats in a figure falls with e^−x. In the worst
    /// case the same rows lead in all figures. Then a score grows by 1, and by what the largest cell counts, while
    /// their share falls by e.
    pub(in crate::cells) fn tail(&self) -> BulkTail {
        BulkTail { from: self.tail_from, step: 1.0 + self.largest_counts }
    }

    /// Whether it is the usual one.
    pub(in crate::cells) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}
