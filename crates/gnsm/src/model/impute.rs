//! Fills the missing cells of rows.
//!
//! What the other cells of a row give by a relation (`columns/relations.rs`) is computed from them. The rest is guessed or
//! drawn by the detector, which is told what was computed.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use super::Model;
use super::generate::{Fills, repeated, seconds};
use crate::columns::{Aspect, ColumnReport, Encoded, Feature, Kind};
use crate::detectors::Guess;
use crate::error::{Error, Result};
use crate::generate::{Pages, Plan, Settler, unwritten};
use crate::table::Table;

/// Where the number of a draw stands in the number of a row.
const DRAW: u32 = 40;

/// A table whose missing cells are filled.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Imputed {
    /// The table, with its columns and all cells that were there.
    pub table: Table,
    /// How many cells were filled, in each column where any were.
    pub filled: BTreeMap<String, usize>,
    /// How many cells are missing still, in each column where any are.
    pub left: BTreeMap<String, usize>,
    /// For each of the columns in `filled` the probability of what each row was filled with; NaN for all other rows. Empty
    /// with draws.
    pub probabilities: BTreeMap<String, Vec<f64>>,
}

impl Model {
    /// Fills the missing cells of a batch with their most probable values; `first` is the number of its first row.
    ///
    /// A number or a date that others of its row give becomes what they give; its probability is the share of training rows
    /// in which that was right. Any other number becomes the mean of what is expected, or the one value that is more likely
    /// than all others together. Other dates are filled only if they are compared with another date of the row, or scored
    /// themselves. Free text, keys and columns that are not used stay as they are. A cell that is there is never changed.
    pub fn impute(&self, table: &Table, first: u64) -> Result<Imputed> {
        let holes = self.holes(table)?;
        let guessed = holes.guess(self, first)?;
        let mut imputed = self.filled(table, std::slice::from_ref(&guessed), &holes);
        for ((row, column), (_, probability)) in &guessed {
            let name = &self.schema().columns[*column].name;
            let own = imputed.probabilities.entry(name.clone()).or_insert_with(|| vec![f64::NAN; table.n_rows()]);
            own[*row] = *probability;
        }
        Ok(imputed)
    }

    /// Fills the missing cells of a batch with draws, `draws` times: the result has each row so many times, one after the
    /// other.
    pub fn impute_draws(&self, table: &Table, first: u64, draws: usize, seed: u64) -> Result<Imputed> {
        if draws == 0 {
            return Err(Error::config("draws", "0 is not a number of draws; give 1 or more"));
        }
        let holes = self.holes(table)?;
        let drawn: Vec<Fills> = (0..draws).map(|draw| holes.draw(self, first, seed, draw)).collect::<Result<_>>()?;
        Ok(self.filled(table, &drawn, &holes))
    }

    /// Compares a table that is to be filled with the model's columns. A column that is never filled may be left out: keys, free
    /// text, and what is not used.
    pub fn check_to_fill(&self, table: &Table) -> Result<ColumnReport> {
        let may_lack = |kind: &Kind| unwritten(kind) || matches!(kind, Kind::Identifier { .. });
        self.encoder.check_but_for(&self.marked(table), may_lack)
    }

    /// The missing cells of a table that can be filled.
    fn holes<'a>(&'a self, table: &'a Table) -> Result<Holes<'a>> {
        let settler = Settler::new(&self.encoder, self.manner()?);
        let table = self.marked(table);
        let mut missing = BTreeMap::new();
        let mut absent = HashSet::new();
        for (at, column) in self.schema().columns.iter().enumerate() {
            let Some(cells) = table.column(&column.name) else {
                absent.insert(at);
                continue;
            };
            let can_fill = !unwritten(&column.kind) && !matches!(column.kind, Kind::Identifier { .. });
            for row in (0..table.n_rows()).filter(|row| cells.values.text(*row).is_none()) {
                missing.insert((row, at), can_fill);
            }
        }
        let told = self.told(&settler, &table, |row, column| missing.get(&(row, column)) == Some(&true));
        let table = if told.is_empty() { table } else { Cow::Owned(self.with_cells(&table, &told)) };
        // What is told is no hole any more.
        missing.extend(told.keys().map(|place| (*place, false)));
        let mut rows: Vec<usize> = missing.iter().filter(|(_, can)| **can).map(|((row, _), _)| *row).collect();
        rows.dedup();
        let encoded = self.encoder.encode(&table)?;
        Ok(Holes { rows: encoded.select(&rows), sources: rows, missing, absent, told, table, settler })
    }

    /// The table with what belongs in its missing cells; each row once for each of `fills`.
    fn filled(&self, table: &Table, fills: &[Fills], holes: &Holes<'_>) -> Imputed {
        let mut imputed = Imputed {
            table: table.clone(),
            filled: BTreeMap::new(),
            left: BTreeMap::new(),
            probabilities: BTreeMap::new(),
        };
        imputed.table.lines = table.lines.iter().flat_map(|line| std::iter::repeat_n(*line, fills.len())).collect();
        for part in &mut imputed.table.parts {
            part.0 *= fills.len();
        }
        for (place, column) in table.columns.iter().enumerate() {
            let at = self.schema().columns.iter().position(|known| known.name == column.name);
            let text = |row: usize, draw: usize| Some(fills[draw].get(&(row, at?))?.0.as_str());
            imputed.table.columns[place].values = repeated(&column.values, fills.len(), &text, |text| {
                at.and_then(|at| seconds(&self.schema().columns[at].kind, text))
            });
        }
        for &(row, at) in holes.missing.keys() {
            let n_filled = fills.iter().filter(|fills| fills.contains_key(&(row, at))).count();
            let name = &self.schema().columns[at].name;
            for (counts, n) in [(&mut imputed.filled, n_filled), (&mut imputed.left, fills.len() - n_filled)] {
                if n > 0 {
                    *counts.entry(name.clone()).or_default() += n;
                }
            }
        }
        imputed
    }
}

/// The rows of a table that miss a cell.
struct Holes<'a> {
    table: Cow<'a, Table>,
    /// Those with holes, encoded, and where they stand in the table.
    rows: Encoded,
    sources: Vec<usize>,
    /// All missing cells, by row and column of the schema; whether they are still to be filled.
    missing: BTreeMap<(usize, usize), bool>,
    /// Columns that the table does not have: of them nothing is known.
    absent: HashSet<usize>,
    /// What others of their row give.
    told: Fills,
    settler: Settler<'a>,
}

impl Holes<'_> {
    fn is_hole(&self, row: usize, column: usize) -> bool {
        self.missing.get(&(self.sources[row], column)) == Some(&true)
    }

    fn is_known(&self, row: usize, column: usize) -> bool {
        !self.absent.contains(&column) && !self.is_hole(row, column)
    }

    fn ids(&self, first: u64, draw: usize) -> Vec<u64> {
        self.sources.iter().map(|row| (first + *row as u64) | ((draw as u64) << DRAW)).collect()
    }

    fn draw(&self, model: &Model, first: u64, seed: u64, draw: usize) -> Result<Fills> {
        let (manner, plan, ids) = (model.manner()?, Plan::new(&model.encoder), self.ids(first, draw));
        let blanked = plan.blank(&model.encoder, &self.rows, |row, column| self.is_known(row, column));
        let drawn = model.drawn(&plan.blanks(&blanked, &manner.ladders, false, (seed, &ids)), "fill cells")?;
        let mut fills = self.told.clone();
        fills.extend(self.written(model, &model.pages(manner, seed, &ids), &drawn, true, |_, _| Some(f64::NAN)));
        Ok(fills)
    }

    fn guess(&self, model: &Model, first: u64) -> Result<Fills> {
        let (manner, plan, ids) = (model.manner()?, Plan::new(&model.encoder), self.ids(first, 0));
        if self.sources.is_empty() {
            return Ok(self.told.clone());
        }
        let blanked = plan.blank(&model.encoder, &self.rows, |row, column| self.is_known(row, column));
        let blanks = plan.blanks(&blanked, &manner.ladders, false, (0, &ids));
        let guesses = model.fitted.detector().guess(&blanks).ok_or_else(|| model.cannot("fill cells"))?;
        let (features, pages) = (model.encoder.features(), model.pages(manner, 0, &ids));
        let n_numbers = model.encoder.layout().n_numbers();
        let of_number: Vec<&Feature> = features.iter().filter(|feature| feature.number.is_some()).collect();
        let mut fills = self.told.clone();
        let (mut codes, mut numbers) = (BTreeMap::new(), BTreeMap::new());
        let mut probabilities: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for (row, cell, guess) in guesses {
            let feature = cell.checked_sub(n_numbers).map_or_else(|| of_number[cell], |group| &features[group]);
            match guess {
                Guess::Number(value, p) => {
                    if feature.aspect == Aspect::Number && self.is_hole(row, feature.column) {
                        fills
                            .insert((self.sources[row], feature.column), (pages.number_text(feature.column, value), p));
                    }
                    numbers.insert((row, cell), feature.scale.map_or(f32::NAN, |scale| scale.scaled(value)));
                    if let Some(column) = self.told_by(row, feature) {
                        probabilities.insert((row, column), p);
                    }
                }
                Guess::Code(code, p) => {
                    codes.insert((row, feature.group), code);
                    if feature.aspect == Aspect::Value {
                        probabilities.insert((row, feature.column), p);
                    }
                }
            }
        }
        let guessed = with(&blanked.rows, &codes, &numbers);
        // A date that nothing but its weekday and the like is known of has no likeliest value: it is not written.
        let others =
            self.written(model, &pages, &guessed, false, |row, column| probabilities.get(&(row, column)).copied());
        for (place, fill) in others {
            fills.entry(place).or_insert(fill);
        }
        Ok(fills)
    }

    /// The hole that a number fills: its own, or that of the one of two dates that is missing.
    fn told_by(&self, row: usize, feature: &Feature) -> Option<usize> {
        let Aspect::After(from) = feature.aspect else { return Some(feature.column) };
        match (self.is_hole(row, feature.column), self.is_hole(row, from)) {
            (true, false) => Some(feature.column),
            (false, true) => Some(from),
            _ => None,
        }
    }

    /// The texts of all holes that have a probability.
    fn written(
        &self,
        model: &Model,
        pages: &Pages<'_>,
        rows: &Encoded,
        is_draw: bool,
        probability: impl Fn(usize, usize) -> Option<f64>,
    ) -> Fills {
        let mut fills = Fills::new();
        for (row, source) in self.sources.iter().enumerate() {
            let mut texts = pages.row(rows, row, &model.texts(&self.table, *source));
            if is_draw {
                let number = |column: usize| model.number(&self.table, *source, column);
                let is_open = |column: usize| self.is_hole(row, column);
                self.settler.settle(&mut texts, number, is_open, (pages.seed, pages.ids[row]));
            }
            for (column, text) in texts.into_iter().enumerate().filter(|(column, _)| self.is_hole(row, *column)) {
                if let (Some(text), Some(p)) = (text, probability(row, column)) {
                    fills.insert((*source, column), (text, p));
                }
            }
        }
        fills
    }
}

/// Rows with other codes and numbers in some places.
fn with(rows: &Encoded, codes: &BTreeMap<(usize, usize), u32>, numbers: &BTreeMap<(usize, usize), f32>) -> Encoded {
    let (mut all_codes, mut all_numbers) = (Vec::new(), Vec::new());
    for row in 0..rows.n_rows() {
        let code = |(group, code): (usize, &u32)| codes.get(&(row, group)).copied().unwrap_or(*code);
        all_codes.extend(rows.codes(row).iter().enumerate().map(code));
        let number = |(number, z): (usize, &f32)| numbers.get(&(row, number)).copied().unwrap_or(*z);
        all_numbers.extend(rows.numbers(row).iter().enumerate().map(number));
    }
    Encoded::new(rows.n_rows(), all_codes, all_numbers)
}
