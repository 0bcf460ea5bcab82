//! Growing the trees of a forest, each from its own stream of random numbers.

use std::collections::BTreeSet;

use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{Encoding, IsolationForestConfig, LEAF, Node};
use crate::columns::{Encoded, Layout};
use crate::error::stop_point;
use crate::math::stream;

/// The name of the random stream that trees grow from.
const GROWTH: u64 = 20;

/// One tree, its indices counted from its own first node and word.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    pub subsets: Vec<u32>,
}

/// Where a node can be cut: a number, a group, or one category of a group.
#[derive(Debug, Clone, Copy)]
enum Candidate {
    Number(usize),
    Group(usize),
    Category(usize, u32),
}

/// Grows all trees, in parallel; the result does not depend on the number of threads.
pub(super) fn grow_trees(config: &IsolationForestConfig, layout: &Layout, rows: [&Encoded; 2], seed: u64) -> Vec<Tree> {
    let candidates = candidates(layout, config.encoding);
    (0..config.trees as u64)
        .into_par_iter()
        .map(|tree| {
            stop_point();
            let mut rng = stream(seed, GROWTH, tree, 0);
            let sample = draw_rows(rows, config.sample, &mut rng);
            let all = (0..sample.n_rows()).collect();
            Grower { layout, rows: &sample, candidates: candidates.clone(), tree: Tree::default(), rng }.grow(all)
        })
        .collect()
}

fn candidates(layout: &Layout, encoding: Encoding) -> Vec<Candidate> {
    let categories = |group: usize| (0..layout.size(group) as u32).map(move |code| Candidate::Category(group, code));
    let numbers = (0..layout.n_numbers()).map(Candidate::Number);
    match encoding {
        Encoding::Native => numbers.chain((0..layout.n_groups()).map(Candidate::Group)).collect(),
        Encoding::OneHot => numbers.chain((0..layout.n_groups()).flat_map(categories)).collect(),
    }
}

/// Draws rows of two tables without putting them back.
fn draw_rows(rows: [&Encoded; 2], sample: usize, rng: &mut ChaCha8Rng) -> Encoded {
    let total = rows[0].n_rows() + rows[1].n_rows();
    // Floyd's algorithm: it takes one draw for each row of the sample, however many rows there are.
    let mut drawn = BTreeSet::new();
    for last in total.saturating_sub(sample)..total {
        let position = rng.random_range(0..=last);
        if !drawn.insert(position) {
            drawn.insert(last);
        }
    }
    let second = drawn.split_off(&rows[0].n_rows()).into_iter().map(|position| position - rows[0].n_rows());
    rows[0].select(&drawn.into_iter().collect::<Vec<_>>()).concat(&rows[1].select(&second.collect::<Vec<_>>()))
}

struct Grower<'a> {
    layout: &'a Layout,
    rows: &'a Encoded,
    candidates: Vec<Candidate>,
    tree: Tree,
    rng: ChaCha8Rng,
}

impl Grower<'_> {
    fn grow(mut self, sample: Vec<usize>) -> Tree {
        let limit = (sample.len().max(2) as f64).log2().ceil() as u32;
        self.push_leaf(&sample);
        let mut open = vec![(0, 0, sample)]; // node, depth, rows
        while let Some((index, depth, rows)) = open.pop() {
            if depth == limit || rows.len() < 2 {
                continue;
            }
            let Some((node, [first, second])) = self.cut(&rows) else { continue };
            let children = self.tree.nodes.len();
            self.push_leaf(&first);
            self.push_leaf(&second);
            self.tree.nodes[index] = Node { children: children as u32, size: rows.len() as u32, ..node };
            open.push((children, depth + 1, first));
            open.push((children + 1, depth + 1, second));
        }
        self.tree
    }

    fn push_leaf(&mut self, rows: &[usize]) {
        self.tree.nodes.push(Node { cell: LEAF, size: rows.len() as u32, children: 0, threshold: 0.0, subset: 0 });
    }

    /// Cuts rows at the first of the candidates, taken in random order, in which they differ.
    fn cut(&mut self, rows: &[usize]) -> Option<(Node, [Vec<usize>; 2])> {
        for tried in 0..self.candidates.len() {
            let chosen = self.rng.random_range(tried..self.candidates.len());
            self.candidates.swap(tried, chosen);
            let cut = match self.candidates[tried] {
                Candidate::Number(number) => self.cut_number(number, rows),
                Candidate::Group(group) => self.cut_categories(group, rows, None),
                Candidate::Category(group, code) => self.cut_categories(group, rows, Some(code)),
            };
            if cut.is_some() {
                return cut;
            }
        }
        None
    }

    fn cut_number(&mut self, number: usize, rows: &[usize]) -> Option<(Node, [Vec<usize>; 2])> {
        let value = |row: usize| self.rows.numbers(row)[number];
        let present = || rows.iter().map(|row| value(*row)).filter(|value| !value.is_nan());
        let (low, high) = (present().fold(f32::INFINITY, f32::min), present().fold(f32::NEG_INFINITY, f32::max));
        if low >= high {
            return None;
        }
        let drawn = low + (high - low) * self.rng.random::<f32>();
        let threshold = if drawn < high { drawn } else { low };
        let n_first = present().filter(|value| *value <= threshold).count();
        let missing_first = 2 * n_first >= present().count();
        let is_first = |row: usize| if value(row).is_nan() { missing_first } else { value(row) <= threshold };
        let children = divide(rows, is_first);
        Some((Node { cell: number as u32, size: 0, children: 0, threshold, subset: 0 }, children))
    }

    fn cut_categories(&mut self, group: usize, rows: &[usize], only: Option<u32>) -> Option<(Node, [Vec<usize>; 2])> {
        let code_of = |row: usize| self.rows.codes(row)[group];
        let first = code_of(rows[0]);
        let differs = match only {
            None => rows.iter().any(|row| code_of(*row) != first),
            Some(code) => {
                let is_it = first == code;
                rows.iter().any(|row| (code_of(*row) == code) != is_it)
            }
        };
        if !differs {
            return None;
        }
        let mut words = vec![0; self.layout.size(group).div_ceil(32)];
        let contains =
            |words: &[u32], code: u32| words.get(code as usize / 32).is_some_and(|word| word >> (code % 32) & 1 == 1);
        if let Some(code) = only {
            words[code as usize / 32] = 1 << (code % 32);
        } else {
            // Every category goes to a random side, also those that no row here has, until both sides have rows.
            loop {
                words.fill_with(|| self.rng.next_u32());
                let side = contains(&words, first);
                if rows.iter().any(|row| contains(&words, code_of(*row)) != side) {
                    break;
                }
            }
        }
        let children = divide(rows, |row| contains(&words, code_of(row)));
        let subset = self.tree.subsets.len() as u32;
        self.tree.subsets.extend(words);
        let cell = (self.layout.n_cells() - self.layout.n_groups() + group) as u32;
        Some((Node { cell, size: 0, children: 0, threshold: 0.0, subset }, children))
    }
}

fn divide(rows: &[usize], is_first: impl Fn(usize) -> bool) -> [Vec<usize>; 2] {
    let (first, second) = rows.iter().partition(|row| is_first(**row));
    [first, second]
}
