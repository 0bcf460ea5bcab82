//! The search for groups of columns and their patterns.

use std::collections::HashMap;

use rayon::prelude::*;

use super::Node;
use crate::error::stop_point;

/// A group of columns as the search sees it.
struct Group {
    node: usize,
    /// Which of the group's distinct rows each row has.
    kind_of_row: Vec<u32>,
    kinds: Vec<Kind>,
    table: CodeTable,
    /// Entropy of the kinds, in nats over all rows.
    entropy: f64,
}

/// A distinct row of a group.
struct Kind {
    count: f64,
    /// A row that has it.
    row: usize,
    /// The patterns that cover it.
    cover: Vec<usize>,
}

/// A code table; its patterns are numbered within it.
#[derive(Clone, Default)]
struct CodeTable {
    patterns: Vec<Pattern>,
    sums: Sums,
}

#[derive(Clone)]
struct Pattern {
    node: usize,
    /// A row that has it.
    row: usize,
    /// What its values cost to write down.
    values: f64,
    usage: f64,
}

/// What a table's length is computed from; only patterns in use count.
#[derive(Clone, Copy, Default)]
struct Sums {
    used: f64,
    usage: f64,
    usage_log_usage: f64,
    log_usage: f64,
    values: f64,
}

impl Sums {
    /// Adds (`sign` 1) or takes away (−1) a pattern with a usage.
    fn change(&mut self, usage: f64, values: f64, sign: f64) {
        if usage > 0.0 {
            self.used += sign;
            self.usage += sign * usage;
            self.usage_log_usage += sign * usage * usage.ln();
            self.log_usage += sign * usage.ln();
            self.values += sign * values;
        }
    }

    /// Σ log(S/usage) + Σ values + Σ usage·log(S/usage).
    fn length(&self) -> f64 {
        let log_total = self.usage.max(1.0).ln();
        self.used * log_total - self.log_usage + self.values + self.usage * log_total - self.usage_log_usage
    }
}

/// Finds the groups and patterns of `n_cells` columns; `categories` are the distinct rows.
pub(super) fn find_tables(categories: &[u32], n_cells: usize, counts: &[f64]) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut groups: Vec<Option<Group>> = Vec::new();
    for cell in 0..n_cells {
        nodes.push(Node { cells: vec![cell], children: None, patterns: Vec::new() });
        groups.push(Some(single_column(categories, n_cells, counts, cell)));
    }
    let mut queue: Vec<(f64, usize, usize)> = pairs_with(&groups, 0..n_cells, counts);
    while let Some((_, left, right)) = take_best(&mut queue) {
        let (Some(a), Some(b)) = (&groups[left], &groups[right]) else { continue };
        let sizes = [&nodes[a.node].cells, &nodes[b.node].cells].map(Vec::len);
        let saved = partition_saving(sizes, n_cells);
        let node = nodes.len();
        if let Some(merged) = merge(a, b, node, counts, saved) {
            let cells = [nodes[a.node].cells.as_slice(), &nodes[b.node].cells].concat();
            nodes.push(Node { cells, children: Some([a.node, b.node]), patterns: Vec::new() });
            (groups[left], groups[right]) = (None, None);
            groups.push(Some(merged));
            queue.retain(|(_, a, b)| groups[*a].is_some() && groups[*b].is_some());
            queue.extend(pairs_with(&groups, groups.len() - 1..groups.len(), counts));
        }
    }
    for pattern in groups.iter().flatten().flat_map(|group| &group.table.patterns).filter(|pattern| pattern.usage > 0.0)
    {
        let row = &categories[pattern.row * n_cells..][..n_cells];
        let values = nodes[pattern.node].cells.iter().map(|cell| row[*cell]).collect();
        nodes[pattern.node].patterns.push((values, pattern.usage));
    }
    for node in &mut nodes {
        node.patterns.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    }
    nodes
}

/// The length of all rows if every column is described by itself.
pub(super) fn length_by_values(categories: &[u32], n_cells: usize, counts: &[f64]) -> f64 {
    (0..n_cells).map(|cell| single_column(categories, n_cells, counts, cell).entropy).sum()
}

/// By how much it becomes shorter to say which column is in which group, if two groups of these sizes are merged.
fn partition_saving(sizes: [usize; 2], n_cells: usize) -> f64 {
    let length = |size: usize| size as f64 * (n_cells as f64 / size as f64).ln();
    length(sizes[0]) + length(sizes[1]) - length(sizes[0] + sizes[1])
}

/// Takes the pair with the most information from the queue; of equal ones, the first.
fn take_best(queue: &mut Vec<(f64, usize, usize)>) -> Option<(f64, usize, usize)> {
    let best = |a: &(usize, &(f64, usize, usize)), b: &(usize, &(f64, usize, usize))| {
        a.1.0.total_cmp(&b.1.0).then((b.1.1, b.1.2).cmp(&(a.1.1, a.1.2)))
    };
    let index = queue.iter().enumerate().max_by(best)?.0;
    Some(queue.swap_remove(index))
}

/// The pairs of groups of which one is `newer`, with their mutual information times the number of rows; those without
/// any are left out.
fn pairs_with(groups: &[Option<Group>], newer: std::ops::Range<usize>, counts: &[f64]) -> Vec<(f64, usize, usize)> {
    let pairs: Vec<(usize, usize)> = newer.flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    let information = |&(left, right): &(usize, usize)| {
        stop_point();
        let (a, b) = (groups[left].as_ref()?, groups[right].as_ref()?);
        let joint = Joint::of(a, b, counts);
        let information = a.entropy + b.entropy - entropy(joint.kinds.iter().map(|kind| kind.count));
        // More than rounding leaves of none.
        (information > 1e-9 * (a.entropy + b.entropy)).then_some((information, left, right))
    };
    pairs.par_iter().filter_map(information).collect()
}

/// n·H of counts that sum to n.
fn entropy(counts: impl Iterator<Item = f64> + Clone) -> f64 {
    let total: f64 = counts.clone().sum();
    counts.filter(|count| *count > 0.0).map(|count| count * (total / count).ln()).sum()
}

fn single_column(categories: &[u32], n_cells: usize, counts: &[f64], cell: usize) -> Group {
    let mut kind_of: HashMap<u32, u32> = HashMap::new();
    let mut kinds: Vec<Kind> = Vec::new();
    let mut kind_of_row = Vec::with_capacity(counts.len());
    for (row, (values, count)) in categories.chunks_exact(n_cells).zip(counts).enumerate() {
        let kind = *kind_of.entry(values[cell]).or_insert_with(|| {
            kinds.push(Kind { count: 0.0, row, cover: vec![kinds.len()] });
            kinds.len() as u32 - 1
        });
        kinds[kind as usize].count += count;
        kind_of_row.push(kind);
    }
    let total: f64 = counts.iter().sum();
    let mut table = CodeTable::default();
    for kind in &kinds {
        let values = (total / kind.count).ln();
        table.patterns.push(Pattern { node: cell, row: kind.row, values, usage: kind.count });
        table.sums.change(kind.count, values, 1.0);
    }
    let entropy = entropy(kinds.iter().map(|kind| kind.count));
    Group { node: cell, kind_of_row, kinds, table, entropy }
}

/// The distinct pairs of kinds of two groups.
struct Joint {
    kind_of_row: Vec<u32>,
    kinds: Vec<JointKind>,
}

struct JointKind {
    count: f64,
    row: usize,
    parents: [u32; 2],
}

impl Joint {
    fn of(a: &Group, b: &Group, counts: &[f64]) -> Self {
        let mut kind_of: HashMap<[u32; 2], u32> = HashMap::new();
        let mut kinds: Vec<JointKind> = Vec::new();
        let mut kind_of_row = Vec::with_capacity(counts.len());
        for (row, count) in counts.iter().enumerate() {
            let parents = [a.kind_of_row[row], b.kind_of_row[row]];
            let kind = *kind_of.entry(parents).or_insert_with(|| {
                kinds.push(JointKind { count: 0.0, row, parents });
                kinds.len() as u32 - 1
            });
            kinds[kind as usize].count += count;
            kind_of_row.push(kind);
        }
        Self { kind_of_row, kinds }
    }
}

/// The two groups as one, if that makes the description shorter.
fn merge(a: &Group, b: &Group, node: usize, counts: &[f64], saved: f64) -> Option<Group> {
    let joint = Joint::of(a, b, counts);
    let shift = a.table.patterns.len();
    let mut patterns = [a.table.patterns.as_slice(), &b.table.patterns].concat();
    let mut sums = a.table.sums;
    patterns[shift..].iter().for_each(|pattern| sums.change(pattern.usage, pattern.values, 1.0));
    let mut kinds: Vec<Kind> = joint
        .kinds
        .iter()
        .map(|kind| {
            let [left, right] = [&a.kinds[kind.parents[0] as usize], &b.kinds[kind.parents[1] as usize]];
            let cover = left.cover.iter().copied().chain(right.cover.iter().map(|pattern| pattern + shift));
            Kind { count: kind.count, row: kind.row, cover: cover.collect() }
        })
        .collect();
    let mut order: Vec<usize> = (0..kinds.len()).collect();
    order.sort_by(|x, y| kinds[*y].count.total_cmp(&kinds[*x].count).then(x.cmp(y)));
    for index in order {
        let kind = &mut kinds[index];
        let mut with = sums;
        for pattern in kind.cover.iter().map(|pattern| &patterns[*pattern]) {
            with.change(pattern.usage, pattern.values, -1.0);
            with.change(pattern.usage - kind.count, pattern.values, 1.0);
        }
        // A value costs the same in every pattern, so the cost of a row's values is a sum over the patterns that cover
        // it.
        let values = kind.cover.iter().map(|pattern| patterns[*pattern].values).sum();
        with.change(kind.count, values, 1.0);
        if with.length() < sums.length() {
            sums = with;
            kind.cover.iter().for_each(|pattern| patterns[*pattern].usage -= kind.count);
            kind.cover = vec![patterns.len()];
            patterns.push(Pattern { node, row: kind.row, values, usage: kind.count });
        }
    }
    if sums.length() >= a.table.sums.length() + b.table.sums.length() + saved {
        return None;
    }
    let entropy = entropy(kinds.iter().map(|kind| kind.count));
    Some(Group { node, kind_of_row: joint.kind_of_row, kinds, table: CodeTable { patterns, sums }, entropy })
}
