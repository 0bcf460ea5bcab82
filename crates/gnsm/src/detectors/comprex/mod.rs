//! How many nats it takes to describe a row with the patterns of the training rows (Akoglu, Tong, Vreeken and
//! Faloutsos, *Fast and Reliable Anomaly Detection in Categorical Data*, CIKM 2012: CompreX).
//!
//! The columns are parted into groups, and each group F has a code table: patterns, which are combinations of values of
//! some of its columns, and for each how often it is used. A row is covered by the longest patterns that fit, down to
//! single values, and
//!
//! score(x) = Σ_F Σ_{p covers x_F} log(S_F/usage(p)), S_F = Σ_p usage(p),
//!
//! the length of an optimal code. A row of usual combinations is short; one that breaks them has to be spelt out value
//! by value.
//!
//! # Which groups and patterns
//!
//! Those that make the whole description shortest (the minimum description length principle):
//!
//! L = Σ_F |F| log(m/|F|) + Σ_F Σ_{p ∈ F} (log(S_F/usage(p)) + Σ_{v ∈ p} log(n/count(v))) + Σ_F Σ_{p ∈ F}
//! usage(p)·log(S_F/usage(p)):
//!
//! which group each of the m columns is in; the code tables, each pattern by its code and its values; and the rows. How
//! columns and values are written down is this implementation's choice; the search follows the paper's. Every column
//! starts as a group of its own. Pairs of groups are tried in descending order of their mutual information: the two
//! tables become one, to which the combinations of their rows are added in descending order of their counts, each if it
//! makes L smaller. If the joint table is shorter than the two, the groups are merged and pairs with the new group join
//! the queue. A combination is a whole row of its group, so the patterns form a tree of groups: a row that is none of a
//! group's patterns is covered by the patterns of the two groups it came from.
//!
//! - Numbers are columns of decile bins ([`super::bins`]), a missing number is a value of its own.
//! - A value that training never showed, or never outside of longer patterns, costs log(S_F + 1).
//! - The parts: the code length of a pattern is shared equally by its cells.
//!
//! Patterns are combinations that many rows share. In a table of few distinct rows they may be as wide as a row.

mod search;

use serde::{Deserialize, Serialize};

use super::bins::DecileBins;
use super::{NoSettings, ScoreByCell, rows_to_fit};
use crate::columns::{Encoded, Layout};
use crate::detectors::Detector;
use crate::error::{Advice, Error, Result};
use crate::files::{Loaded, Store, Tensors};
use crate::train::Run;

/// With more columns than this, trying all pairs would take too long. It also bounds the depth of a tree.
pub(crate) const MOST_CELLS: usize = 500;

/// A group of cells and the patterns over exactly these.
#[derive(Debug, Clone, PartialEq)]
struct Node {
    cells: Vec<usize>,
    /// The two groups that were merged; `None` for a single cell.
    children: Option<[usize; 2]>,
    /// Values of the cells, in order of the values, and how often they are used.
    patterns: Vec<(Box<[u32]>, f64)>,
}

/// Code tables.
#[derive(Debug, Clone)]
pub struct Comprex {
    layout: Layout,
    bins: DecileBins,
    /// Children before parents.
    nodes: Vec<Node>,
    /// The groups that were not merged any further, each with S of its code table.
    groups: Vec<(usize, f64)>,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredComprex {
    bins: DecileBins,
    nodes: Vec<StoredNode>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredNode {
    cells: Vec<usize>,
    children: Option<[usize; 2]>,
    n_patterns: usize,
}

impl Comprex {
    /// Searches for groups and patterns.
    pub fn fit(_: &NoSettings, layout: &Layout, rows: [&Encoded; 2], _: Run<'_>) -> Result<Self> {
        if layout.n_cells() > MOST_CELLS {
            return Err(Error::fit(
                format!("there are {} columns, and this method takes at most {MOST_CELLS}", layout.n_cells()),
                Advice::from("leave columns out with ").setting("ignore", None).and(", or use another method"),
            ));
        }
        let (rows, row_counts) = rows_to_fit(rows)?;
        let bins = DecileBins::fit(layout, &rows, &row_counts);
        let nodes = search::find_tables(&bins.all_categories(layout, &rows), layout.n_cells(), &row_counts);
        Ok(Self { layout: layout.clone(), bins, groups: groups(&nodes), nodes })
    }

    /// There are no settings.
    pub fn config(&self) -> &NoSettings {
        &NoSettings {}
    }

    /// By what share patterns make the description of `rows` shorter than single values do; 0 if they do not.
    pub(crate) fn saving(&self, rows: &Encoded) -> f64 {
        let (rows, counts) = rows.counted();
        let categories = self.bins.all_categories(&self.layout, &rows);
        let by_values = search::length_by_values(&categories, self.layout.n_cells(), &counts);
        let by_patterns: f64 = self.score(&rows).iter().zip(&counts).map(|(length, count)| length * count).sum();
        if by_values > 0.0 { (1.0 - by_patterns / by_values).max(0.0) } else { 0.0 }
    }

    /// Writes the parts of the cells of a node; `key` is scratch.
    fn cover(&self, node: usize, total: f64, categories: &[u32], key: &mut Vec<u32>, parts: &mut [f64]) {
        let node = &self.nodes[node];
        key.clear();
        key.extend(node.cells.iter().map(|cell| categories[*cell]));
        let found = node.patterns.binary_search_by(|(values, _)| values.as_ref().cmp(key.as_slice()));
        let length = match (found, node.children) {
            (Ok(index), _) => (total / node.patterns[index].1).ln(),
            (Err(_), None) => (total + 1.0).ln(),
            (Err(_), Some(children)) => {
                for child in children {
                    self.cover(child, total, categories, key, parts);
                }
                return;
            }
        };
        node.cells.iter().for_each(|cell| parts[*cell] = length / node.cells.len() as f64);
    }
}

impl Store for Comprex {
    type Document = StoredComprex;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredComprex> {
        let patterns = || self.nodes.iter().flat_map(|node| &node.patterns);
        tensors.put("patterns", patterns().flat_map(|(values, _)| values.iter().copied()).collect::<Vec<u32>>());
        tensors.put("usages", patterns().map(|(_, usage)| *usage).collect::<Vec<f64>>());
        let stored = |node: &Node| StoredNode {
            cells: node.cells.clone(),
            children: node.children,
            n_patterns: node.patterns.len(),
        };
        Ok(StoredComprex { bins: self.bins.clone(), nodes: self.nodes.iter().map(stored).collect() })
    }

    fn read(StoredComprex { bins, nodes }: StoredComprex, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        bins.validate(layout)?;
        if layout.n_cells() > MOST_CELLS {
            return Err(format!("{} columns are more than {MOST_CELLS}", layout.n_cells()).into());
        }
        check_tree(&nodes, layout.n_cells())?;
        let too_many = || String::from("there are too many patterns");
        let n_values =
            nodes.iter().try_fold(0usize, |sum, node| sum.checked_add(node.n_patterns.checked_mul(node.cells.len())?));
        let n_patterns = nodes.iter().try_fold(0usize, |sum, node| sum.checked_add(node.n_patterns));
        let values: Vec<u32> = tensors.take("patterns", n_values.ok_or_else(too_many)?)?;
        let usages: Vec<f64> = tensors.take("usages", n_patterns.ok_or_else(too_many)?)?;
        if usages.iter().any(|usage| *usage < 1.0) {
            return Err("tensor `usages` holds what is not a number of rows".into());
        }
        let (mut values, mut usages) = (values.as_slice(), usages.into_iter());
        let mut fill = |node: StoredNode| {
            let (own, rest) = values.split_at(node.n_patterns * node.cells.len());
            values = rest;
            let patterns: Vec<(Box<[u32]>, f64)> =
                own.chunks_exact(node.cells.len()).map(Box::from).zip(usages.by_ref()).collect();
            if patterns.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
                return Err("the patterns are not in order".to_owned());
            }
            Ok(Node { cells: node.cells, children: node.children, patterns })
        };
        let nodes: Vec<Node> = nodes.into_iter().map(&mut fill).collect::<std::result::Result<_, _>>()?;
        Ok(Self { layout: layout.clone(), bins, groups: groups(&nodes), nodes })
    }
}

/// Says what is wrong unless each cell is in one tree and each node holds its children's cells.
fn check_tree(nodes: &[StoredNode], n_cells: usize) -> std::result::Result<(), String> {
    let mut is_free = vec![true; nodes.len()];
    let mut seen = vec![false; n_cells];
    for (index, node) in nodes.iter().enumerate() {
        let fits = match node.children {
            None => node.cells.len() == 1 && seen.get(node.cells[0]) == Some(&false),
            Some([left, right]) => {
                let usable = left < index && right < index && left != right && is_free[left] && is_free[right];
                usable && node.cells == [nodes[left].cells.as_slice(), &nodes[right].cells].concat()
            }
        };
        if !fits {
            return Err("the groups of columns are not a tree".into());
        }
        match node.children {
            None => seen[node.cells[0]] = true,
            Some(children) => children.into_iter().for_each(|child| is_free[child] = false),
        }
    }
    if seen.contains(&false) { Err("a column is in no group".into()) } else { Ok(()) }
}

/// The roots of the trees, and the sum of all usages in each tree.
fn groups(nodes: &[Node]) -> Vec<(usize, f64)> {
    let mut totals: Vec<f64> = nodes.iter().map(|node| node.patterns.iter().map(|(_, usage)| usage).sum()).collect();
    let mut is_root = vec![true; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for child in node.children.into_iter().flatten() {
            is_root[child] = false;
            totals[index] += totals[child];
        }
    }
    (0..nodes.len()).filter(|node| is_root[*node]).map(|node| (node, totals[node])).collect()
}

impl ScoreByCell for Comprex {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn split_row(&self, codes: &[u32], numbers: &[f32], parts: &mut [f64]) -> f64 {
        let (mut categories, mut key) = (Vec::new(), Vec::new());
        self.bins.categories(codes, numbers, &mut categories);
        for (group, total) in &self.groups {
            self.cover(*group, *total, &categories, &mut key, parts);
        }
        0.0
    }
}

#[cfg(test)]
mod tests;
