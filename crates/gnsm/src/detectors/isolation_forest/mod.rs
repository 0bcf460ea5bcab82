//! How few random cuts set a row apart (Liu, Ting and Zhou, *Isolation Forest*, ICDM 2008).
//!
//! Each tree takes a sample of ψ rows and cuts it at random until every row is alone or ⌈log₂ ψ⌉ cuts deep. Let h(x) be
//! the depth at which a row ends, plus c(m) where m > 1 rows end together. Then
//!
//! score(x) = 2^(−E[h(x)]/c(ψ)), c(m) = 2(ln(m − 1) + γ) − 2(m − 1)/m,
//!
//! where c(m) is the mean depth of a search tree of m rows. ½ is usual, and towards 1 is odd.
//!
//! # Cuts
//!
//! A cut is made in a column that is drawn from those in which the rows at hand differ. A number is cut between its
//! smallest and its largest value. A categorical column is cut into two random sets of categories
//! ([`Encoding::Native`]), so that a column counts once whatever its number of categories. With [`Encoding::OneHot`] a
//! place of the one-hot encoding is drawn instead, and one category is cut from the rest, as in any forest that is
//! given one-hot vectors.
//!
//! # Parts
//!
//! A cut that takes a row from m rows to m′ saves c(m) − 1 − c(m′) of depth. That is much if the cut leaves most rows
//! behind, and less than nothing if the row stays with most of them. These savings sum to c(ψ) − h(x). The part of a
//! cell is the mean saving of the cuts in its column, times (score − ½)/(c(ψ) − `E[h]`). With that factor, base ½ and
//! parts sum to the score.
//!
//! - A missing number goes where most rows go; its absence is a category of its group.
//! - An unseen category is alone at the first cut in its column, and alone in any leaf.

mod descent;
mod grow;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{ROWS_PER_TASK, ScoreByCell, check_rows};
use crate::columns::{Encoded, Layout, UNSEEN};
use crate::error::{Error, Result, stop_point};
use crate::files::{Loaded, Store, Tensors};
use crate::train::Run;

/// The cell of a node that is not cut.
const LEAF: u32 = u32::MAX;
/// Words that a node takes in a file.
const NODE_WORDS: usize = 5;
/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// The settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct IsolationForestConfig {
    /// The number of trees.
    pub trees: usize,
    /// ψ: rows that a tree is grown from, at the most.
    pub sample: usize,
    /// How categories are cut.
    pub encoding: Encoding,
}

/// How categories are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// A random set of categories from the others.
    Native,
    /// One category from the others.
    OneHot,
}

impl Default for IsolationForestConfig {
    fn default() -> Self {
        Self { trees: 100, sample: 256, encoding: Encoding::Native }
    }
}

impl IsolationForestConfig {
    /// Checks the settings.
    pub fn validate(&self) -> Result<()> {
        if !(1..=100_000).contains(&self.trees) {
            return Err(Error::config("trees", format!("{} is not between 1 and 100000", self.trees)));
        }
        if !(2..=1_000_000).contains(&self.sample) {
            return Err(Error::config("sample", format!("{} is not between 2 and 1000000", self.sample)));
        }
        Ok(())
    }
}

/// A grown forest.
#[derive(Debug, Clone)]
pub struct IsolationForest {
    config: IsolationForestConfig,
    layout: Layout,
    /// ψ: the rows that each tree was grown from.
    sample: u32,
    /// The first node of each tree.
    roots: Vec<u32>,
    nodes: Vec<Node>,
    /// Sets of categories as bits, one after the other.
    subsets: Vec<u32>,
    /// c(m) for m up to ψ.
    mean_depths: Vec<f64>,
    /// For each node how many cuts led to it.
    depths: Vec<f64>,
    /// The nodes as many rows at a time go down them.
    steps: descent::Steps,
}

/// A node of a tree.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Node {
    /// The cell that is cut; [`LEAF`] where nothing is.
    cell: u32,
    /// Rows of the sample that came here.
    size: u32,
    /// The first of two children, which lie beside each other.
    children: u32,
    /// The largest number of the first child.
    threshold: f32,
    /// The first word of the first child's categories.
    subset: u32,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredForest {
    config: IsolationForestConfig,
    sample: u32,
}

/// c(m): the mean depth at which a search in a random tree of m rows ends.
fn mean_depth(rows: u32) -> f64 {
    let m = f64::from(rows);
    match rows {
        0 | 1 => 0.0,
        2 => 1.0,
        _ => 2.0 * ((m - 1.0).ln() + EULER) - 2.0 * (m - 1.0) / m,
    }
}

impl IsolationForest {
    /// Grows the trees.
    pub fn fit(
        config: &IsolationForestConfig,
        layout: &Layout,
        rows: [&Encoded; 2],
        Run { seed, .. }: Run<'_>,
    ) -> Result<Self> {
        config.validate()?;
        let n_rows = check_rows(rows)?;
        let mut forest = Self::bare(*config, layout, config.sample.min(n_rows) as u32);
        for tree in grow::grow_trees(config, layout, rows, seed) {
            let (first_node, first_word) = (forest.nodes.len() as u32, forest.subsets.len() as u32);
            forest.roots.push(first_node);
            forest.nodes.extend(tree.nodes.into_iter().map(|node| Node {
                children: node.children + first_node,
                subset: node.subset + first_word,
                ..node
            }));
            forest.subsets.extend(tree.subsets);
        }
        Ok(forest.ready())
    }

    fn bare(config: IsolationForestConfig, layout: &Layout, sample: u32) -> Self {
        Self {
            config,
            layout: layout.clone(),
            sample,
            roots: Vec::new(),
            nodes: Vec::new(),
            subsets: Vec::new(),
            mean_depths: (0..=sample).map(mean_depth).collect(),
            depths: Vec::new(),
            steps: descent::Steps::default(),
        }
    }

    /// What follows from the nodes. Children are stored after their parents, so one pass gives all depths.
    fn ready(mut self) -> Self {
        self.depths = vec![0.0; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.cell != LEAF) {
            let depth = self.depths[index] + 1.0;
            self.depths[node.children as usize..][..2].fill(depth);
        }
        self.steps = descent::Steps::of(&self);
        self
    }

    /// The settings.
    pub fn config(&self) -> &IsolationForestConfig {
        &self.config
    }

    fn mean_depth(&self, node: &Node) -> f64 {
        self.mean_depths[node.size as usize]
    }

    /// Walks down a tree and reports what each cut saves: the cell and the depth.
    fn walk(&self, root: u32, codes: &[u32], numbers: &[f32], unseen: &[usize], mut report: impl FnMut(usize, f64)) {
        let mut node = &self.nodes[root as usize];
        while node.cell != LEAF {
            let cell = node.cell as usize;
            let children = &self.nodes[node.children as usize..][..2];
            let Some(which) = self.child(node, codes, numbers) else {
                report(cell, self.mean_depth(node) - 1.0);
                return;
            };
            let next = &children[which];
            report(cell, self.mean_depth(node) - 1.0 - self.mean_depth(next));
            node = next;
        }
        for group in unseen {
            report(numbers.len() + group, self.mean_depth(node) / unseen.len() as f64);
        }
    }

    /// Which child a row goes to; none where its category was never seen.
    #[inline]
    fn child(&self, node: &Node, codes: &[u32], numbers: &[f32]) -> Option<usize> {
        let cell = node.cell as usize;
        let is_first = match cell.checked_sub(numbers.len()) {
            None if numbers[cell].is_nan() => {
                let children = &self.nodes[node.children as usize..][..2];
                children[0].size >= children[1].size
            }
            None => numbers[cell] <= node.threshold,
            Some(group) if codes[group] == UNSEEN => return None,
            Some(group) => {
                let code = codes[group];
                self.subsets[(node.subset + code / 32) as usize] >> (code % 32) & 1 == 1
            }
        };
        Some(usize::from(!is_first))
    }

    /// h(x) in one tree, for a row with an unseen category.
    fn depth_of_unseen(&self, root: u32, codes: &[u32], numbers: &[f32]) -> f64 {
        let mut index = root as usize;
        loop {
            let node = &self.nodes[index];
            if node.cell == LEAF {
                // Such a row is alone in any leaf.
                return self.depths[index];
            }
            match self.child(node, codes, numbers) {
                Some(which) => index = node.children as usize + which,
                None => return self.depths[index] + 1.0,
            }
        }
    }

    /// c(ψ); 1 where a single row was all there was.
    fn usual_depth(&self) -> f64 {
        if self.sample > 1 { mean_depth(self.sample) } else { 1.0 }
    }

    /// The score of a row that the trees save this much depth in the mean.
    fn score_of(&self, saved: f64) -> f64 {
        (saved / self.usual_depth() - 1.0).exp2()
    }

    /// Whether a node from a file points to children after it, so that every walk ends, and to a set of categories that
    /// is there.
    fn is_usable(&self, index: usize) -> bool {
        let node = self.nodes[index];
        let children = node.children as usize;
        let in_range = |group: usize| node.subset as usize + self.layout.size(group).div_ceil(32) <= self.subsets.len();
        node.size <= self.sample
            && (node.cell == LEAF
                || (node.cell as usize) < self.layout.n_cells()
                    && children > index
                    && children + 1 < self.nodes.len()
                    && !node.threshold.is_nan()
                    && (node.cell as usize).checked_sub(self.layout.n_numbers()).is_none_or(in_range))
    }
}

impl Store for IsolationForest {
    type Document = StoredForest;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredForest> {
        let words = |node: &Node| [node.cell, node.size, node.children, node.threshold.to_bits(), node.subset];
        tensors.put("nodes", self.nodes.iter().flat_map(words).collect::<Vec<u32>>());
        tensors.put("roots", self.roots.clone());
        tensors.put("subsets", self.subsets.clone());
        Ok(StoredForest { config: self.config, sample: self.sample })
    }

    fn read(StoredForest { config, sample }: StoredForest, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        config.validate()?;
        if sample == 0 || sample as usize > config.sample {
            return Err(format!("{sample} rows are not a sample of at most {}", config.sample).into());
        }
        let mut forest = Self::bare(config, layout, sample);
        let words: Vec<u32> = tensors.take_any("nodes")?;
        let (nodes, rest) = words.as_chunks::<NODE_WORDS>();
        let node = |words: &[u32; NODE_WORDS]| {
            let [cell, size, children, threshold, subset] = *words;
            Node { cell, size, children, threshold: f32::from_bits(threshold), subset }
        };
        forest.nodes = nodes.iter().map(node).collect();
        forest.roots = tensors.take("roots", config.trees)?;
        forest.subsets = tensors.take_any("subsets")?;
        let usable = rest.is_empty()
            && forest.roots.iter().all(|root| (*root as usize) < forest.nodes.len())
            && (0..forest.nodes.len()).all(|index| forest.is_usable(index));
        if usable { Ok(forest.ready()) } else { Err("the trees do not hang together".into()) }
    }
}

/// The groups that hold an unseen category.
fn unseen_groups(codes: &[u32]) -> Vec<usize> {
    codes.iter().enumerate().filter(|(_, code)| **code == UNSEEN).map(|(group, _)| group).collect()
}

impl ScoreByCell for IsolationForest {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn split_row(&self, codes: &[u32], numbers: &[f32], parts: &mut [f64]) -> f64 {
        let unseen = unseen_groups(codes);
        for root in &self.roots {
            self.walk(*root, codes, numbers, &unseen, |cell, saved| parts[cell] += saved);
        }
        let trees = self.roots.len() as f64;
        let saved = parts.iter().sum::<f64>() / trees;
        let slope = if saved.abs() > 1e-9 {
            (self.score_of(saved) - 0.5) / saved
        } else {
            0.5 * std::f64::consts::LN_2 / self.usual_depth()
        };
        for part in parts {
            *part *= slope / trees;
        }
        0.5
    }

    fn scores(&self, rows: &Encoded) -> Option<Vec<f64>> {
        let usual = self.mean_depths[self.sample as usize];
        let mut scores = vec![0.0; rows.n_rows()];
        scores.par_chunks_mut(ROWS_PER_TASK).enumerate().for_each(|(task, scores)| {
            stop_point();
            self.steps.add_depths(self, rows, task * ROWS_PER_TASK, scores);
            for score in scores {
                *score = self.score_of(usual - *score / self.roots.len() as f64);
            }
        });
        Some(scores)
    }
}

#[cfg(test)]
mod tests;
