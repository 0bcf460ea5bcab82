//! What the detectors that walk between values share: the values of all columns as the nodes of a graph, the walk, and
//! the score of a row.
//!
//! Two values of different columns are joined by an edge where a row has both. A detector gives every edge a weight
//! ([`Coupling`]); a walker follows edges in proportion to their weights, W(u, v) = weight(u, v)/Σᵥ weight(u, v), and
//! with probability 1 − α jumps to any value at random. Where it is found in the long run,
//!
//! π = (1 − α)/|V| + α Wᵀπ,
//!
//! is the outlierness of a value. A column weighs as much as all its values, w_f = Σ_{v ∈ f} π(v), and
//!
//! score(x) = Σ_f w_f·π(x_f).
//!
//! - The walk is iterated until π moves by less than 10⁻¹² (authors and other implementations stop at 10⁻³).
//! - Values that occur only with each other are an island in the graph. The walker reaches it only by random jumps, so
//!   they are as odd as any other value, however rare they are.
//! - A column with one single value has no couplings, and is left out of the graph.
//! - Numbers are columns of decile bins ([`super::bins`]), a missing number is a value of its own.
//! - An unseen value has no place in the graph. It is given twice the largest part that any value has.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::bins::DecileBins;
use super::{ScoreByCell, check_width, rows_to_fit};
use crate::columns::{Encoded, Layout};
use crate::error::{Error, Result, stop_point};
use crate::files::{Loaded, Store, Tensors};
use crate::train::Run;

/// A change of π that ends the walk.
const TOLERANCE: f64 = 1e-12;
/// The most steps; α¹⁰⁰⁰ is far below the tolerance.
const MOST_STEPS: usize = 1000;

/// What makes one detector of this kind differ from another.
pub trait Coupling {
    /// The weight of every edge, [from, to], in any unit: 0 or more.
    fn weights(graph: &ValueGraph) -> Vec<f64>;
}

/// The settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct WalkConfig {
    /// α: the probability that the walker moves along an edge instead of to any value at random.
    pub damping: f64,
}

impl Default for WalkConfig {
    fn default() -> Self {
        Self { damping: 0.95 }
    }
}

impl WalkConfig {
    /// Checks the settings.
    pub fn validate(&self) -> Result<()> {
        if (0.0..1.0).contains(&self.damping) {
            return Ok(());
        }
        Err(Error::config("damping", format!("{} is not in [0, 1)", self.damping)))
    }
}

/// The outlierness of every value.
#[derive(Debug, Clone)]
pub struct ValueWalk<C> {
    config: WalkConfig,
    layout: Layout,
    bins: DecileBins,
    /// Where the values of each cell start in `parts`.
    starts: Vec<usize>,
    /// w_f·π(v) of each value of each cell.
    parts: Vec<f64>,
    /// The part of an unseen value.
    unseen: f64,
    coupling: PhantomData<C>,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredWalk {
    config: WalkConfig,
    bins: DecileBins,
    unseen: f64,
}

impl<C: Coupling> ValueWalk<C> {
    /// Walks.
    pub fn fit(config: &WalkConfig, layout: &Layout, rows: [&Encoded; 2], _: Run<'_>) -> Result<Self> {
        config.validate()?;
        check_width(layout)?;
        let (rows, row_counts) = rows_to_fit(rows)?;
        let bins = DecileBins::fit(layout, &rows, &row_counts);
        let starts = starts(&bins.sizes(layout));
        let categories = bins.all_categories(layout, &rows);
        let graph = ValueGraph::count(&categories, &row_counts, &starts);
        let outlierness = graph.walk(C::weights(&graph), config.damping);
        let mut parts = vec![None; starts[starts.len() - 1]];
        for (cell, bounds) in starts.windows(2).enumerate() {
            let nodes = || graph.nodes.iter().zip(&outlierness).filter(move |(node, _)| node.cell == cell);
            let weight: f64 = nodes().map(|(_, outlierness)| outlierness).sum();
            nodes().for_each(|(node, outlierness)| parts[bounds[0] + node.category] = Some(weight * outlierness));
        }
        for (cell, category) in graph.constant {
            parts[starts[cell] + category] = Some(0.0);
        }
        let largest = parts.iter().flatten().copied().fold(0.0, f64::max);
        // If every column is constant there is no graph, and any unit will do.
        let unseen = if largest > 0.0 { 2.0 * largest } else { 1.0 };
        let parts = parts.into_iter().map(|part| part.unwrap_or(unseen)).collect();
        Ok(Self { config: *config, layout: layout.clone(), bins, starts, parts, unseen, coupling: PhantomData })
    }

    /// The settings.
    pub fn config(&self) -> &WalkConfig {
        &self.config
    }
}

impl<C: Coupling> Store for ValueWalk<C> {
    type Document = StoredWalk;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredWalk> {
        tensors.put("parts", self.parts.clone());
        Ok(StoredWalk { config: self.config, bins: self.bins.clone(), unseen: self.unseen })
    }

    fn read(StoredWalk { config, bins, unseen }: StoredWalk, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        config.validate()?;
        bins.validate(layout)?;
        let starts = starts(&bins.sizes(layout));
        let parts = tensors.take("parts", starts[starts.len() - 1])?;
        if !unseen.is_finite() {
            return Err("the part of an unseen value is not finite".into());
        }
        Ok(Self { config, layout: layout.clone(), bins, starts, parts, unseen, coupling: PhantomData })
    }
}

/// Where the values of each cell start, and where the last one's end.
fn starts(sizes: &[usize]) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(sizes.iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    }));
    starts
}

/// A value of a column.
#[derive(Debug, Clone, Copy)]
pub struct ValueNode {
    cell: usize,
    category: usize,
    /// Rows that have it.
    pub(super) count: f64,
}

/// Which values occur, and which together.
#[derive(Debug)]
pub struct ValueGraph {
    pub(super) nodes: Vec<ValueNode>,
    /// How many rows have two values: [nodes, nodes], 0 within a column.
    pub(super) together: Vec<f64>,
    /// Columns of one value: cell and category.
    constant: Vec<(usize, usize)>,
    pub(super) n_rows: f64,
}

impl ValueGraph {
    fn count(categories: &[u32], row_counts: &[f64], starts: &[usize]) -> Self {
        let n_cells = starts.len() - 1;
        let place = |cell: usize, category: u32| {
            let place = starts[cell] + category as usize;
            Some(place).filter(|_| (category as usize) < starts[cell + 1] - starts[cell])
        };
        let mut counts = vec![0.0; starts[n_cells]];
        for (row, count) in categories.chunks_exact(n_cells).zip(row_counts) {
            for place in row.iter().enumerate().filter_map(|(cell, category)| place(cell, *category)) {
                counts[place] += count;
            }
        }
        let (mut nodes, mut constant) = (Vec::new(), Vec::new());
        let mut node_at = vec![None; counts.len()];
        for (cell, bounds) in starts.windows(2).enumerate() {
            let seen: Vec<usize> = (bounds[0]..bounds[1]).filter(|place| counts[*place] > 0.0).collect();
            if let [only] = seen[..] {
                constant.push((cell, only - bounds[0]));
                continue;
            }
            for place in seen {
                node_at[place] = Some(nodes.len());
                nodes.push(ValueNode { cell, category: place - bounds[0], count: counts[place] });
            }
        }
        let mut together = vec![0.0; nodes.len() * nodes.len()];
        let mut of_row: Vec<usize> = Vec::with_capacity(n_cells);
        for (row, count) in categories.chunks_exact(n_cells).zip(row_counts) {
            let places = row.iter().enumerate().filter_map(|(cell, category)| place(cell, *category));
            of_row.clear();
            of_row.extend(places.filter_map(|place| node_at[place]));
            for (index, u) in of_row.iter().enumerate() {
                for v in &of_row[..index] {
                    together[u * nodes.len() + v] += count;
                    together[v * nodes.len() + u] += count;
                }
            }
        }
        Self { nodes, together, constant, n_rows: row_counts.iter().sum() }
    }

    /// The outlierness of every value within its column: δ(v) = ½ ((p(m) − p(v))/p(m) + 1 − p(m)), where m is the most
    /// common value of v's column. High for a rare value, and in a column without a dominant value.
    pub(super) fn biases(&self) -> Vec<f64> {
        let mut biases = Vec::with_capacity(self.nodes.len());
        for column in self.nodes.chunk_by(|a, b| a.cell == b.cell) {
            let mode = column.iter().map(|node| node.count).fold(0.0, f64::max);
            let base = 1.0 - mode / self.n_rows;
            biases.extend(column.iter().map(|node| 0.5 * ((mode - node.count) / mode + base)));
        }
        biases
    }

    /// π of every node.
    fn walk(&self, weights: Vec<f64>, damping: f64) -> Vec<f64> {
        let n = self.nodes.len();
        if n == 0 {
            return Vec::new();
        }
        let mut transitions = weights; // W: [from, to]
        for row in transitions.chunks_exact_mut(n) {
            let total: f64 = row.iter().sum();
            // A walker with nowhere to go (a table of one column) goes anywhere.
            for weight in row {
                *weight = if total > 0.0 { *weight / total } else { 1.0 / n as f64 };
            }
        }
        let mut here = vec![1.0 / n as f64; n];
        for _ in 0..MOST_STEPS {
            stop_point();
            let mut next = vec![(1.0 - damping) / n as f64; n];
            for (share, row) in here.iter().zip(transitions.chunks_exact(n)) {
                next.iter_mut().zip(row).for_each(|(next, weight)| *next += damping * share * weight);
            }
            let moved = here.iter().zip(&next).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            here = next;
            if moved < TOLERANCE {
                break;
            }
        }
        here
    }
}

impl<C: Coupling + Send + Sync> ScoreByCell for ValueWalk<C> {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn split_row(&self, codes: &[u32], numbers: &[f32], parts: &mut [f64]) -> f64 {
        let mut categories = Vec::with_capacity(self.layout.n_cells());
        self.bins.categories(codes, numbers, &mut categories);
        for ((part, category), bounds) in parts.iter_mut().zip(categories).zip(self.starts.windows(2)) {
            *part = self.parts[bounds[0]..bounds[1]].get(category as usize).copied().unwrap_or(self.unseen);
        }
        0.0
    }
}
