//! What a model keeps of the rows that it learned from, to compare others with them.

use std::borrow::Cow;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::counter::{Counts, Learned, place};
use crate::columns::{Encoded, Encoder, Kind};
use crate::files::container::Tensors;
use crate::files::{Loaded, Store};
use crate::table::Table;

/// Bins of a number.
const BINS: usize = 10;

/// How often each value occurred, and the ends of numbers, dates and keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// Where the bins of each number end, but for the last.
    pub(super) edges: Vec<Vec<f32>>,
    /// The least and the largest of each number.
    pub(super) ends: Vec<[f32; 2]>,
    /// The first and the last of each column of dates or keys.
    pub(super) spans: Vec<Option<[f64; 2]>>,
    pub(super) counts: Counts,
}

impl Reference {
    /// Counts the rows that were learned from; `encoded` has all rows of the table.
    pub(crate) fn learn(encoder: &Encoder, table: &Table, rows: &[usize], encoded: &Encoded) -> Self {
        let is_all = rows.len() == encoded.n_rows();
        let encoded = &*if is_all { Cow::Borrowed(encoded) } else { Cow::Owned(encoded.select(rows)) };
        let edges_and_ends = |number: usize| {
            let all = (0..encoded.n_rows()).map(|row| encoded.numbers(row)[number]);
            let mut numbers: Vec<f32> = all.filter(|z| !z.is_nan()).collect();
            numbers.sort_unstable_by(f32::total_cmp);
            let n = numbers.len();
            let mut cuts: Vec<f32> = (1..BINS).filter_map(|bin| numbers.get(bin * n / BINS).copied()).collect();
            cuts.dedup();
            // Nothing would lie beyond the largest.
            cuts.retain(|cut| numbers.last().is_some_and(|last| cut < last));
            (cuts, [numbers.first().copied().unwrap_or(0.0), numbers.last().copied().unwrap_or(0.0)])
        };
        let (edges, ends): (Vec<_>, Vec<_>) =
            (0..encoder.layout().n_numbers()).into_par_iter().map(edges_and_ends).unzip();
        let span = |at: usize| {
            if !matches!(encoder.schema().columns[at].kind, Kind::Date { .. } | Kind::Identifier { .. }) {
                return None;
            }
            let places = rows.iter().filter_map(|row| place(encoder, table, at, *row));
            places.fold(None, |span: Option<[f64; 2]>, place| match span {
                None => Some([place; 2]),
                Some([first, last]) => Some([f64::min(first, place), f64::max(last, place)]),
            })
        };
        let spans: Vec<Option<[f64; 2]>> = (0..encoder.schema().columns.len()).map(span).collect();
        let mut counts = Counts::new(encoder, &edges);
        let learned = Learned { encoder, edges: &edges, ends: &ends, spans: &spans };
        counts.add(&learned, table, |at| rows[at], encoded);
        Self { edges, ends, spans, counts }
    }

    /// The first and the last of each column of dates or keys.
    pub(crate) fn spans(&self) -> &[Option<[f64; 2]>] {
        &self.spans
    }

    /// The rows of each place of all groups.
    pub fn codes(&self) -> &[u64] {
        &self.counts.codes
    }

    /// The rows with a value that no place stands for, by group.
    pub fn unseen(&self, group: usize) -> u64 {
        self.counts.unseen[group].iter().sum()
    }

    /// The ends of each bin of a number, and its rows.
    pub fn bins(&self, number: usize) -> impl Iterator<Item = ([f32; 2], u64)> {
        let [first, last] = self.ends[number];
        let edges = &self.edges[number];
        let ends = [first].into_iter().chain(edges.iter().copied()).zip(edges.iter().copied().chain([last]));
        ends.map(|(low, high)| [low, high]).zip(self.counts.bins[number].iter().copied())
    }

    pub(super) fn learned<'a>(&'a self, encoder: &'a Encoder) -> Learned<'a> {
        Learned { encoder, edges: &self.edges, ends: &self.ends, spans: &self.spans }
    }
}

/// What stands in the file beside the arrays.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceDocument {
    rows: u64,
    missing: Vec<u64>,
    strays: Vec<u64>,
    dated: Vec<u64>,
    spans: Vec<Option<[f64; 2]>>,
    unseen: Vec<[u64; 2]>,
}

impl Store for Reference {
    type Document = ReferenceDocument;
    type Shape = Encoder;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<ReferenceDocument> {
        let Counts { rows, missing, strays, places, codes, unseen, bins, .. } = &self.counts;
        let small = |counts: &mut dyn Iterator<Item = &u64>| counts.map(|count| *count as f64).collect::<Vec<f64>>();
        tensors.put("drift.codes", small(&mut codes.iter()));
        tensors.put("drift.bins", small(&mut bins.iter().flatten()));
        tensors.put("drift.cuts", self.edges.iter().map(|edges| edges.len() as u32).collect::<Vec<u32>>());
        tensors.put("drift.edges", self.edges.concat());
        tensors.put("drift.ends", self.ends.concat());
        Ok(ReferenceDocument {
            rows: *rows,
            missing: missing.clone(),
            strays: strays.clone(),
            dated: places.iter().map(|[all, ..]| *all).collect(),
            spans: self.spans.clone(),
            unseen: unseen.clone(),
        })
    }

    fn read(document: ReferenceDocument, encoder: &Encoder, tensors: &mut Tensors) -> Loaded<Self> {
        let (columns, layout) = (encoder.schema().columns.len(), encoder.layout());
        let ReferenceDocument { rows, missing, strays, dated, spans, unseen } = document;
        let lengths = [missing.len(), strays.len(), dated.len(), spans.len()];
        if lengths != [columns; 4] || unseen.len() != layout.n_groups() {
            return Err("the counts of the learned rows do not go with the columns".into());
        }
        let cuts: Vec<u32> = tensors.take("drift.cuts", layout.n_numbers())?;
        if cuts.iter().any(|cuts| *cuts as usize >= BINS) {
            return Err("a number has too many bins".into());
        }
        let n_cuts = cuts.iter().sum::<u32>() as usize;
        let all_edges: Vec<f32> = tensors.take("drift.edges", n_cuts)?;
        let all_bins = counts(tensors.take("drift.bins", n_cuts + cuts.len())?)?;
        let (mut edges, mut bins) = (Vec::new(), Vec::new());
        let (mut edges_left, mut bins_left) = (all_edges.as_slice(), all_bins.as_slice());
        for cuts in cuts {
            let (own, others) = edges_left.split_at(cuts as usize);
            if !own.is_sorted_by(|a, b| a < b) {
                return Err("the bins of a number do not ascend".into());
            }
            edges.push(own.to_vec());
            edges_left = others;
            let (own, others) = bins_left.split_at(cuts as usize + 1);
            bins.push(own.to_vec());
            bins_left = others;
        }
        let ends: Vec<f32> = tensors.take("drift.ends", 2 * layout.n_numbers())?;
        let codes = counts(tensors.take("drift.codes", layout.width() - layout.n_numbers())?)?;
        let sums = [missing.as_slice(), &strays, &dated, &codes, unseen.as_flattened(), &all_bins];
        if rows > MOST_ROWS || sums.iter().any(|counts| counts.iter().any(|count| *count > rows)) {
            return Err("the counts of the learned rows do not fit together".into());
        }
        let counts = Counts {
            rows,
            missing,
            strays,
            places: dated.into_iter().map(|all| [all, 0, 0]).collect(),
            codes,
            unseen,
            bins,
            beyond: vec![[0; 2]; layout.n_numbers()],
        };
        let ends = ends.as_chunks::<2>().0.to_vec();
        Ok(Self { edges, ends, spans, counts })
    }
}

/// Rows that a count can have; sums of counts stay far from overflow.
const MOST_ROWS: u64 = 1 << 48;

/// Whole numbers, as the file has them.
fn counts(values: Vec<f64>) -> Loaded<Vec<u64>> {
    if values.iter().any(|value| *value < 0.0 || value.fract() != 0.0 || *value > MOST_ROWS as f64) {
        return Err("the counts of the learned rows are not whole numbers".into());
    }
    Ok(values.into_iter().map(|value| value as u64).collect())
}
