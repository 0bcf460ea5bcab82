//! Many rows go down a tree at the same time.
//!
//! Which way a row goes at a cut is nearly random, so branch prediction would be wrong half of the time. Here there is
//! no branch: the next node is computed, in the same way for numbers and for categories. A leaf leads to itself, so all
//! rows take as many steps as the deepest tree has, and sixteen of them take each step together. A set of categories is
//! one word of bits within the node, unless a column has more than 64.

use super::{IsolationForest, LEAF};
use crate::columns::{Encoded, UNSEEN};

/// Rows that go down together.
const TOGETHER: usize = 16;
/// The key of a missing number, less than any other.
const MISSING: u32 = 0;
/// All bits.
const ALL: u32 = u32::MAX;

/// The nodes of all trees.
#[derive(Debug, Clone, Default)]
pub(super) struct Steps {
    nodes: Vec<Step>,
    /// The sets of categories, after an empty one for cuts of numbers; empty if one word is enough for each set.
    words: Vec<u64>,
    /// Where a row ends at each node: the depth, and c(m) of the rows that end there.
    ends: Vec<f64>,
    /// The most cuts that lead to a node.
    deepest: usize,
}

/// A node. All fields are numbers to compute with.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// The cell that is cut; 0 in a leaf.
    cell: u32,
    /// The first child; the leaf itself in a leaf.
    children: u32,
    /// Keys from this one up to `span` above it go to the first child; none do where categories are cut.
    from: u32,
    span: u32,
    /// All bits where categories are cut.
    is_group: u32,
    /// Which word the first child's categories begin with.
    word: u32,
    /// That word.
    set: u64,
}

/// A whole number for each number, in the same order.
fn key(number: f32) -> u32 {
    if number.is_nan() {
        return MISSING;
    }
    let bits = (number + 0.0).to_bits(); // −0 becomes 0
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

impl Steps {
    pub fn of(forest: &IsolationForest) -> Self {
        let n_numbers = forest.layout.n_numbers();
        let mut words = vec![0];
        let mut step = |(index, node): (usize, &super::Node)| {
            let leaf = Step { cell: 0, children: index as u32, from: 0, span: ALL, is_group: 0, word: 0, set: 0 };
            if node.cell == LEAF {
                return leaf;
            }
            let cut = Step { cell: node.cell, children: node.children, ..leaf };
            if let Some(group) = (node.cell as usize).checked_sub(n_numbers) {
                let halves = &forest.subsets[node.subset as usize..][..forest.layout.size(group).div_ceil(32)];
                let word = words.len();
                words.extend(
                    halves
                        .chunks(2)
                        .map(|halves| halves.iter().rev().fold(0, |word: u64, half| word << 32 | u64::from(*half))),
                );
                return Step { from: ALL, span: 0, is_group: ALL, word: word as u32, set: words[word], ..cut };
            }
            let sizes = [0, 1].map(|which| forest.nodes[node.children as usize + which].size);
            let from = if sizes[0] >= sizes[1] { MISSING } else { MISSING + 1 };
            Step { from, span: key(node.threshold) - from, ..cut }
        };
        let nodes = forest.nodes.iter().enumerate().map(&mut step).collect();
        if (0..forest.layout.n_groups()).all(|group| forest.layout.size(group) <= 64) {
            words.clear();
        }
        let ends = forest.nodes.iter().zip(&forest.depths).map(|(node, depth)| depth + forest.mean_depth(node));
        Self {
            nodes,
            words,
            ends: ends.collect(),
            deepest: forest.depths.iter().fold(0.0f64, |most, depth| most.max(*depth)) as usize,
        }
    }

    /// Adds to each sum the depths at which a row ends, over all trees. The first sum is that of row `first`.
    pub fn add_depths(&self, forest: &IsolationForest, rows: &Encoded, first: usize, sums: &mut [f64]) {
        let n_cells = forest.layout.n_cells();
        let mut keys = Vec::with_capacity(sums.len() * n_cells);
        let mut has_unseen = Vec::with_capacity(sums.len());
        for row in first..first + sums.len() {
            keys.extend(rows.numbers(row).iter().map(|number| key(*number)));
            // A row with an unseen category is scored below; here it only has to stay within the tree.
            keys.extend(rows.codes(row).iter().map(|code| if *code == UNSEEN { 0 } else { *code }));
            has_unseen.push(rows.codes(row).contains(&UNSEEN));
        }
        if self.words.is_empty() {
            self.go_down::<false>(&forest.roots, n_cells, &keys, sums);
        } else {
            self.go_down::<true>(&forest.roots, n_cells, &keys, sums);
        }
        for (row, (sum, _)) in sums.iter_mut().zip(has_unseen).enumerate().filter(|(_, (_, has_unseen))| *has_unseen) {
            let (codes, numbers) = (rows.codes(first + row), rows.numbers(first + row));
            *sum = forest.roots.iter().map(|root| forest.depth_of_unseen(*root, codes, numbers)).sum();
        }
    }

    /// Tree by tree, so that a tree stays in the nearest cache for all rows. `WIDE` is whether sets have several words.
    fn go_down<const WIDE: bool>(&self, roots: &[u32], n_cells: usize, keys: &[u32], sums: &mut [f64]) {
        for root in roots {
            for (block, sums) in sums.chunks_mut(TOGETHER).enumerate() {
                let keys = &keys[block * TOGETHER * n_cells..];
                let mut at = [*root; TOGETHER];
                let at = &mut at[..sums.len()];
                for _ in 0..self.deepest {
                    for (at, keys) in at.iter_mut().zip(keys.chunks_exact(n_cells)) {
                        *at = self.next::<WIDE>(*at, keys);
                    }
                }
                for (sum, at) in sums.iter_mut().zip(at) {
                    *sum += self.ends[*at as usize];
                }
            }
        }
    }

    #[inline]
    fn next<const WIDE: bool>(&self, at: u32, keys: &[u32]) -> u32 {
        let step = &self.nodes[at as usize];
        let key = keys[step.cell as usize];
        let set = if WIDE {
            self.words.get((step.word + (key >> 6 & step.is_group)) as usize).map_or(0, |word| *word)
        } else {
            step.set
        };
        let is_in_set = (set >> (key & 63) & 1) as u32;
        let is_near = u32::from(key.wrapping_sub(step.from) <= step.span);
        step.children + 1 - (is_in_set | is_near)
    }
}
