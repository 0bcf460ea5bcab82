//! Coupled biased random walks (Pang, Cao and Chen, *Outlier Detection in Complex Categorical Data by Modeling the Feature Value Couplings*,
//! IJCAI 2016).
//!
//! The values of all columns are the nodes of a graph. A walker moves from value u to value v of another column with a
//! probability proportional to
//!
//! δ(v)·p(u | v), δ(v) = ½ ((p(m) − p(v))/p(m) + 1 − p(m)),
//!
//! where p(u | v) is the share of the rows with v that also have u, and m is the most common value of v's column. The bias δ is the
//! outlierness of a value within its column: high for a rare value, and in a column without a dominant value. So the walker likes rare values
//! that go together with the value where it stands, and outlierness flows between values that occur together. With damping α = 0.95,
//!
//! π = (1 − α)/|V| + α Wᵀπ
//!
//! is where the walker is found in the long run, and the outlierness of a value. A column weighs as much as all its values, w_f = Σ_{v ∈ f} π(v):
//!
//! score(x) = Σ_f w_f·π(x_f).
//!
//! - The walk is iterated until π moves by less than 10⁻¹² (authors and other implementations stop at 10⁻³).
//! - A column of one single value has no coupling to tell of and is left out of the graph.
//! - Numbers are columns of decile bins ([`super::bins`]), a missing number is a value of its own.
//! - An unseen value has no place in the graph. It is given twice the largest part that any value has.

use serde::{Deserialize, Serialize};

use super::bins::Bins;
use super::{ScoreByCell, check_width, rows_to_fit};
use crate::container::Tensors;
use crate::detector::{Detector, Split};
use crate::embed::n_cells;
use crate::encode::Encoded;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::train::Run;

/// A change of π that ends the walk.
const TOLERANCE: f64 = 1e-12;
/// The most steps; α¹⁰⁰⁰ is far below the tolerance.
const MOST_STEPS: usize = 1000;

/// The settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CbrwConfig {
    /// α: the probability that the walker moves along an edge instead of to any value at random.
    pub damping: f64,
}

impl Default for CbrwConfig {
    fn default() -> Self {
        Self { damping: 0.95 }
    }
}

impl CbrwConfig {
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
pub struct Cbrw {
    config: CbrwConfig,
    layout: Layout,
    bins: Bins,
    /// Where the values of each cell start in `parts`.
    starts: Vec<usize>,
    /// w_f·π(v) of each value of each cell.
    parts: Vec<f64>,
    /// The part of an unseen value.
    unseen: f64,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    config: CbrwConfig,
    bins: Bins,
    unseen: f64,
}

impl Cbrw {
    /// Walks.
    pub fn fit(
        config: &CbrwConfig,
        layout: &Layout,
        training: &Encoded,
        validation: &Encoded,
        _: Run<'_>,
    ) -> Result<Self> {
        config.validate()?;
        check_width(layout)?;
        let (rows, row_counts) = rows_to_fit(training, validation)?;
        let bins = Bins::fit(layout, &rows, &row_counts);
        let starts = starts(&bins.sizes(layout));
        let categories = bins.all_categories(layout, &rows);
        let graph = ValueGraph::count(&categories, &row_counts, &starts);
        let outlierness = graph.walk(config.damping);
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
        // Where every column is constant there is no graph, and any unit will do.
        let unseen = if largest > 0.0 { 2.0 * largest } else { 1.0 };
        let parts = parts.into_iter().map(|part| part.unwrap_or(unseen)).collect();
        Ok(Self { config: *config, layout: layout.clone(), bins, starts, parts, unseen })
    }

    /// The settings.
    pub fn config(&self) -> &CbrwConfig {
        &self.config
    }

    pub(crate) fn save(&self, tensors: &mut Tensors) -> serde_json::Result<serde_json::Value> {
        tensors.put("parts", self.parts.clone());
        serde_json::to_value(Stored { config: self.config, bins: self.bins.clone(), unseen: self.unseen })
    }

    pub(crate) fn load(
        content: serde_json::Value,
        layout: &Layout,
        tensors: &mut Tensors,
    ) -> std::result::Result<Self, String> {
        let Stored { config, bins, unseen } = serde_json::from_value(content).map_err(|error| error.to_string())?;
        config.validate().map_err(|error| error.to_string())?;
        bins.validate(layout)?;
        let starts = starts(&bins.sizes(layout));
        let parts = tensors.take("parts", starts[starts.len() - 1])?;
        if !unseen.is_finite() {
            return Err("the part of an unseen value is not finite".into());
        }
        Ok(Self { config, layout: layout.clone(), bins, starts, parts, unseen })
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
struct ValueNode {
    cell: usize,
    category: usize,
    count: f64,
}

/// Which values occur, and which together.
#[derive(Debug)]
struct ValueGraph {
    nodes: Vec<ValueNode>,
    /// How many rows have two values: [nodes, nodes], 0 within a column.
    together: Vec<f64>,
    /// Columns of one value: cell and category.
    constant: Vec<(usize, usize)>,
    n_rows: f64,
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

    /// δ of every node.
    fn biases(&self) -> Vec<f64> {
        let mut biases = Vec::with_capacity(self.nodes.len());
        for column in self.nodes.chunk_by(|a, b| a.cell == b.cell) {
            let mode = column.iter().map(|node| node.count).fold(0.0, f64::max);
            let base = 1.0 - mode / self.n_rows;
            biases.extend(column.iter().map(|node| 0.5 * ((mode - node.count) / mode + base)));
        }
        biases
    }

    /// π of every node.
    fn walk(&self, damping: f64) -> Vec<f64> {
        let n = self.nodes.len();
        if n == 0 {
            return Vec::new();
        }
        let biases = self.biases();
        let mut transitions = self.together.clone(); // W: [from, to]
        for row in transitions.chunks_exact_mut(n) {
            for ((weight, bias), node) in row.iter_mut().zip(&biases).zip(&self.nodes) {
                *weight *= bias / node.count;
            }
            let total: f64 = row.iter().sum();
            // A walker with nowhere to go (a table of one column) goes anywhere.
            for weight in row {
                *weight = if total > 0.0 { *weight / total } else { 1.0 / n as f64 };
            }
        }
        let mut here = vec![1.0 / n as f64; n];
        for _ in 0..MOST_STEPS {
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

impl ScoreByCell for Cbrw {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn split_row(&self, codes: &[u32], numbers: &[f32], parts: &mut [f64]) -> f64 {
        let mut categories = Vec::with_capacity(n_cells(&self.layout));
        self.bins.categories(codes, numbers, &mut categories);
        for ((part, category), bounds) in parts.iter_mut().zip(categories).zip(self.starts.windows(2)) {
            *part = self.parts[bounds[0]..bounds[1]].get(category as usize).copied().unwrap_or(self.unseen);
        }
        0.0
    }
}

impl Detector for Cbrw {
    fn score(&self, rows: &Encoded) -> Vec<f64> {
        self.sum_cells(rows)
    }

    fn split(&self, rows: &Encoded) -> Split {
        self.split_cells(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::tests::{assert_close, fit_on, rows_of};
    use crate::layout::UNSEEN;

    /// The example of the paper: gender, education, marriage, income of twelve people, of whom the first one cheats. Values from
    /// `reference/cbrw.py` in the benchmarks, which writes the walk out with numpy.
    #[test]
    fn the_papers_example() -> Result<()> {
        let layout = Layout::new(0, vec![2, 3, 3, 3]);
        let people: [[u32; 4]; 12] = [
            [0, 0, 0, 0],
            [1, 0, 1, 1],
            [0, 0, 2, 2],
            [0, 1, 1, 1],
            [1, 0, 0, 2],
            [0, 2, 1, 2],
            [0, 0, 2, 2],
            [1, 2, 2, 1],
            [0, 2, 1, 1],
            [0, 1, 2, 0],
            [1, 2, 1, 1],
            [0, 0, 2, 0],
        ];
        let rows = Encoded::new(12, people.as_flattened().to_vec(), vec![]);
        let detector = fit_on(&rows, |none, run| Cbrw::fit(&CbrwConfig::default(), &layout, &rows, none, run))?;
        let scores = detector.score(&rows);
        assert_close(
            &scores,
            &[
                0.105_763_323_188_089_81,
                0.079_574_374_842_779_78,
                0.074_203_765_259_895_85,
                0.080_341_006_403_575_47,
                0.099_262_494_190_976_96,
                0.075_066_487_878_162_46,
                0.074_203_765_259_895_85,
                0.081_350_973_201_677_83,
                0.072_596_825_531_934_97,
                0.098_065_645_416_658_67,
                0.080_894_035_331_362_12,
                0.089_001_804_056_435_85,
            ],
            1e-12,
        );
        assert!(scores[1..].iter().all(|score| *score < scores[0]));
        Ok(())
    }

    #[test]
    fn constant_columns_and_unseen_values() -> Result<()> {
        let layout = Layout::new(0, vec![2, 1]);
        let rows = rows_of(&[(&[0, 0], &[]), (&[0, 0], &[]), (&[1, 0], &[])]);
        let detector = fit_on(&rows, |none, run| Cbrw::fit(&CbrwConfig::default(), &layout, &rows, none, run))?;
        let split = detector.split(&rows_of(&[(&[1, 0], &[]), (&[1, UNSEEN], &[])]));
        assert_eq!(split.parts(0)[1], 0.0);
        assert!(split.parts(1)[1] > split.parts(1)[0] && split.parts(0)[0] > 0.0);
        Ok(())
    }
}
