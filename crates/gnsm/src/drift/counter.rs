//! Counts rows column by column.

use std::ops::Range;

use rayon::prelude::*;

use super::odd::Basis;
use super::reference::Reference;
use super::report::DriftReport;
use super::sample::Sample;
use crate::columns::{Aspect, Encoded, Encoder, Feature, Kind, UNSEEN, marked_for};
use crate::error::Result;
use crate::table::{Table, Values};

/// Rows that are counted in one task.
const ROWS_PER_TASK: usize = 1 << 14;
/// Digits of a key that a number holds exactly.
const MOST_DIGITS: usize = 15;

/// Numbers of rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub rows: u64,
    /// For each column the rows that miss it.
    pub missing: Vec<u64>,
    /// For each column the rows that have something else where a number or a date belongs.
    pub strays: Vec<u64>,
    /// For each column the dates or keys, those before the learned ones, and those after.
    pub places: Vec<[u64; 3]>,
    /// For each place of each group the rows that have that category.
    pub codes: Vec<u64>,
    /// For each group the rows with something never seen: those that have a value, and those that have none.
    pub unseen: Vec<[u64; 2]>,
    /// For each number the rows of each bin.
    pub bins: Vec<Vec<u64>>,
    /// For each number the rows below and above all learned ones.
    pub beyond: Vec<[u64; 2]>,
}

impl Counts {
    pub fn new(encoder: &Encoder, edges: &[Vec<f32>]) -> Self {
        let (columns, layout) = (encoder.schema().columns.len(), encoder.layout());
        Self {
            rows: 0,
            missing: vec![0; columns],
            strays: vec![0; columns],
            places: vec![[0; 3]; columns],
            codes: vec![0; layout.width() - layout.n_numbers()],
            unseen: vec![[0; 2]; layout.n_groups()],
            bins: edges.iter().map(|edges| vec![0; edges.len() + 1]).collect(),
            beyond: vec![[0; 2]; layout.n_numbers()],
        }
    }

    /// Adds all encoded rows. `row_in_table` gives the place of each in the table.
    pub fn add(
        &mut self,
        of: &Learned<'_>,
        table: &Table,
        row_in_table: impl Fn(usize) -> usize + Sync,
        encoded: &Encoded,
    ) {
        let starts = (0..encoded.n_rows()).into_par_iter().step_by(ROWS_PER_TASK);
        let pieces = starts.map(|start| {
            let mut counts = Self::new(of.encoder, of.edges);
            let piece = start..(start + ROWS_PER_TASK).min(encoded.n_rows());
            counts.add_piece(of, table, &row_in_table, encoded, piece);
            counts
        });
        for piece in pieces.collect::<Vec<_>>() {
            self.merge(&piece);
        }
    }

    fn add_piece(
        &mut self,
        of: &Learned<'_>,
        table: &Table,
        row_in_table: &impl Fn(usize) -> usize,
        encoded: &Encoded,
        piece: Range<usize>,
    ) {
        let (encoder, layout) = (of.encoder, of.encoder.layout());
        let rows = piece.clone().map(row_in_table);
        self.rows += piece.len() as u64;
        // Whether the cells of a column are there, for all features of that column.
        let mut present: Vec<Vec<bool>> = Vec::new();
        for (at, column) in encoder.schema().columns.iter().enumerate() {
            let cells = table.column(&column.name).map(|found| &found.values);
            let there: Vec<bool> = match cells {
                Some(cells) if column.kind != Kind::Ignored => rows.clone().map(|row| has(cells, row)).collect(),
                _ => vec![false; piece.len()],
            };
            if column.kind != Kind::Ignored {
                self.missing[at] += there.iter().filter(|there| !**there).count() as u64;
                let has_places = matches!(column.kind, Kind::Date { .. } | Kind::Identifier { .. });
                for (row, _) in rows.clone().zip(&there).filter(|(_, there)| has_places && **there) {
                    let place = place(encoder, table, at, row);
                    if let Some(place) = place {
                        let [all, before, after] = &mut self.places[at];
                        *all += 1;
                        let [first, last] = of.spans[at].unwrap_or([place; 2]);
                        *before += u64::from(place < first);
                        *after += u64::from(place > last);
                    } else if matches!(column.kind, Kind::Date { .. }) {
                        self.strays[at] += 1;
                    }
                }
            }
            present.push(there);
        }
        let features: Vec<(&Feature, usize)> = encoder
            .features()
            .iter()
            .map(|feature| (feature, layout.group(feature.group).start - layout.n_numbers()))
            .collect();
        for (at, row) in piece.enumerate() {
            let (codes, numbers) = (encoded.codes(row), encoded.numbers(row));
            for (feature, start) in &features {
                let there = present[feature.column][at];
                // A missing date has no weekday, and a missing code begins with nothing.
                if !there && matches!(feature.aspect, Aspect::Part(_) | Aspect::Lead | Aspect::Mark) {
                    continue;
                }
                match codes[feature.group] {
                    UNSEEN => self.unseen[feature.group][usize::from(!there)] += 1,
                    code => self.codes[start + code as usize] += 1,
                }
                let Some(number) = feature.number else { continue };
                let z = numbers[number];
                if z.is_nan() {
                    let is_stray = there && feature.aspect == Aspect::Number;
                    self.strays[feature.column] += u64::from(is_stray);
                    continue;
                }
                self.bins[number][of.edges[number].partition_point(|edge| *edge < z)] += 1;
                let [low, high] = of.ends[number];
                self.beyond[number][0] += u64::from(z < low);
                self.beyond[number][1] += u64::from(z > high);
            }
        }
    }

    /// How many counts there are of each kind.
    fn shape(&self) -> (usize, usize, usize, Vec<usize>) {
        (self.missing.len(), self.codes.len(), self.unseen.len(), self.bins.iter().map(Vec::len).collect())
    }

    /// Adds the counts of other rows.
    pub fn merge(&mut self, other: &Self) {
        let add = |all: &mut [u64], more: &[u64]| all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
        self.rows += other.rows;
        add(&mut self.missing, &other.missing);
        add(&mut self.strays, &other.strays);
        add(self.places.as_flattened_mut(), other.places.as_flattened());
        add(&mut self.codes, &other.codes);
        add(self.unseen.as_flattened_mut(), other.unseen.as_flattened());
        add(self.beyond.as_flattened_mut(), other.beyond.as_flattened());
        self.bins.iter_mut().zip(&other.bins).for_each(|(all, more)| add(all, more));
    }
}

/// What counting needs to know.
pub(super) struct Learned<'a> {
    pub encoder: &'a Encoder,
    pub edges: &'a [Vec<f32>],
    pub ends: &'a [[f32; 2]],
    pub spans: &'a [Option<[f64; 2]>],
}

fn has(values: &Values, row: usize) -> bool {
    match values {
        Values::Number { values, .. } | Values::Time { seconds: values, .. } => !values[row].is_nan(),
        Values::Text(cells) => !cells.is_missing(row),
        Values::Category { codes, names } => (codes[row] as usize) < names.len(),
        Values::Unsupported { .. } => false,
    }
}

/// Where a date or a key stands among others: the seconds of a date, or the last number in a key.
pub(super) fn place(encoder: &Encoder, table: &Table, at: usize, row: usize) -> Option<f64> {
    let column = &encoder.schema().columns[at];
    match &column.kind {
        Kind::Date { .. } => encoder.moment(table, row, at).map(|moment| moment.local),
        Kind::Identifier { .. } => match &table.column(&column.name)?.values {
            Values::Number { values, .. } => Some(values[row]).filter(|value| value.is_finite()),
            values => last_number(&values.text(row)?),
        },
        _ => None,
    }
}

/// The number that a key ends with, such as 100231 of `INV-100231`.
fn last_number(key: &str) -> Option<f64> {
    let start = key.trim_end().trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let digits = key.trim_end().get(start..)?;
    if digits.is_empty() || digits.len() > MOST_DIGITS { None } else { digits.parse().ok() }
}

/// Counts the rows of a file, to compare them with those that a model learned from.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/claims.rs")); }
/// # let (_folder, path) = example::claims();
/// let table = gnsm::read_table(&path)?;
/// let model = gnsm::Model::fit(&table)?;
/// let mut drift = model.drift();
/// drift.add(&table)?; // once for each batch
/// assert!(drift.report().columns.iter().all(|column| !column.moved));
/// # Ok::<(), gnsm::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DriftCounter<'a> {
    basis: Basis<'a>,
    reference: &'a Reference,
    counts: DriftCounts,
}

impl<'a> DriftCounter<'a> {
    /// A counter without rows.
    pub(crate) fn new(basis: Basis<'a>, reference: &'a Reference) -> Self {
        let counts = DriftCounts { counts: Counts::new(basis.encoder, &reference.edges), sample: Sample::default() };
        Self { basis, reference, counts }
    }

    /// Counts the rows of a batch.
    pub fn add(&mut self, table: &Table) -> Result<()> {
        let encoder = self.basis.encoder;
        let table = &*marked_for(table, encoder.schema());
        self.count(table, &encoder.encode(table)?);
        Ok(())
    }

    /// Counts rows that are encoded, of a table whose missing values are marked.
    pub(crate) fn count(&mut self, table: &Table, encoded: &Encoded) {
        self.counts.counts.add(&self.reference.learned(self.basis.encoder), table, |row| row, encoded);
        self.counts.sample.add(encoded);
    }

    /// Adds what another counter of the same model has counted.
    pub fn merge(&mut self, other: &Self) {
        self.counts.counts.merge(&other.counts.counts);
        self.counts.sample.merge(&other.counts.sample);
    }

    /// How the counted rows differ from the learned ones.
    pub fn report(&self) -> DriftReport {
        DriftReport::new(self.basis, self.reference, &self.counts.counts, &self.counts.sample)
    }

    /// What was counted, without the model; [`crate::Model::drift_from`] goes on with it.
    pub fn into_counts(self) -> DriftCounts {
        self.counts
    }

    /// A counter that goes on with these counts; `None` if they are of a model with other columns.
    pub(crate) fn from_counts(basis: Basis<'a>, reference: &'a Reference, counts: DriftCounts) -> Option<Self> {
        if counts == DriftCounts::default() {
            return Some(Self::new(basis, reference));
        }
        let layout = basis.encoder.layout();
        let fits = counts.counts.shape() == reference.counts.shape()
            && counts.sample.has_shape(layout.n_groups(), layout.n_numbers());
        fits.then_some(Self { basis, reference, counts })
    }
}

/// What a [`DriftCounter`] has counted, to be kept where the model cannot be borrowed. The default is no rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriftCounts {
    counts: Counts,
    sample: Sample,
}

impl DriftCounts {
    /// Rows that were counted.
    pub fn rows(&self) -> u64 {
        self.counts.rows
    }
}

#[cfg(test)]
mod tests {
    use super::last_number;

    #[test]
    fn keys_have_an_order() {
        assert_eq!(
            ["INV-100231", "7 ", "a7b", "", "1234567890123456"].map(last_number),
            [Some(100_231.0), Some(7.0), None, None, None]
        );
    }
}
