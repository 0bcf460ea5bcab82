//! Many rows go down a tree at the same time.
//!
//! Which way a row goes at a cut is next to random, so a processor that guesses it is wrong half of the time. Here nothing
//! is guessed: the next node is computed, the same way for numbers and for categories. A leaf leads to itself, so all rows
//! take as many steps as the deepest tree has, and sixteen of them take each step together.

use super::{IsolationForest, LEAF};
use crate::columns::{Encoded, UNSEEN};

/// Rows that go down together.
const TOGETHER: usize = 16;
/// The key of a missing number.
const MISSING: u32 = u32::MAX;
/// All bits, or none.
const ALL: u32 = u32::MAX;

/// The nodes of all trees.
#[derive(Debug, Clone, Default)]
pub(super) struct Steps {
    nodes: Vec<Step>,
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
    /// The key of the largest number of the first child.
    threshold: u32,
    /// All bits where a missing number goes to the first child.
    missing_first: u32,
    /// All bits where categories are cut.
    is_group: u32,
    /// The first word of the first child's categories.
    subset: u32,
}

/// A whole number for each number, in the same order.
fn key(number: f32) -> u32 {
    if number.is_nan() {
        return MISSING;
    }
    let bits = (number + 0.0).to_bits(); // −0 becomes 0
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

fn mask(condition: bool) -> u32 {
    if condition { ALL } else { 0 }
}

impl Steps {
    pub fn of(forest: &IsolationForest) -> Self {
        let n_numbers = forest.layout.n_numbers() as u32;
        let step = |(index, node): (usize, &super::Node)| {
            if node.cell == LEAF {
                let itself = index as u32;
                return Step { cell: 0, children: itself, threshold: ALL, missing_first: ALL, is_group: 0, subset: 0 };
            }
            let children = &forest.nodes[node.children as usize..][..2];
            Step {
                cell: node.cell,
                children: node.children,
                threshold: key(node.threshold),
                missing_first: mask(children[0].size >= children[1].size),
                is_group: mask(node.cell >= n_numbers),
                subset: node.subset,
            }
        };
        let ends = forest.nodes.iter().zip(&forest.depths).map(|(node, depth)| depth + forest.mean_depth(node));
        Self {
            nodes: forest.nodes.iter().enumerate().map(step).collect(),
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
            // A row with an unseen category goes its own way below; here it must only stay within the tree.
            keys.extend(rows.codes(row).iter().map(|code| if *code == UNSEEN { 0 } else { *code }));
            has_unseen.push(rows.codes(row).contains(&UNSEEN));
        }
        // Tree by tree, so that a tree stays in the nearest cache for all rows.
        for root in &forest.roots {
            for (block, sums) in sums.chunks_mut(TOGETHER).enumerate() {
                let keys = &keys[block * TOGETHER * n_cells..];
                let mut at = [*root; TOGETHER];
                let at = &mut at[..sums.len()];
                for _ in 0..self.deepest {
                    for (at, keys) in at.iter_mut().zip(keys.chunks_exact(n_cells)) {
                        *at = self.next(forest, *at, keys);
                    }
                }
                for (sum, at) in sums.iter_mut().zip(at) {
                    *sum += self.ends[*at as usize];
                }
            }
        }
        for (row, (sum, _)) in sums.iter_mut().zip(has_unseen).enumerate().filter(|(_, (_, has_unseen))| *has_unseen) {
            let (codes, numbers) = (rows.codes(first + row), rows.numbers(first + row));
            *sum = forest.roots.iter().map(|root| forest.depth_of_unseen(*root, codes, numbers)).sum();
        }
    }

    #[inline]
    fn next(&self, forest: &IsolationForest, at: u32, keys: &[u32]) -> u32 {
        let step = self.nodes[at as usize];
        let key = keys[step.cell as usize];
        let of_number = mask(key <= step.threshold) | mask(key == MISSING) & step.missing_first;
        let word = step.subset + (key >> 5 & step.is_group);
        let of_group = 0u32.wrapping_sub(forest.subsets.get(word as usize).map_or(0, |word| word >> (key & 31) & 1));
        let is_first = of_group & step.is_group | of_number & !step.is_group;
        (step.children + 1).wrapping_add(is_first) // all bits are −1
    }
}
