//! Makes new rows, and fills the missing cells of others.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use super::Model;
use crate::columns::{ABSENT, Aspect, Encoded, Feature, Kind};
use crate::detectors::{Blanks, Guess};
use crate::error::{Error, Result};
use crate::generate::{Manner, Pages, Plan, unwritten};
use crate::method::Method;
use crate::table::{Column, Table, TextCells, Values};

/// A category is named in a message together with at most so many others.
const MOST_NAMED: usize = 10;
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

/// What belongs in missing cells, by row and column of the schema, with its probability.
type Fills = BTreeMap<(usize, usize), (String, f64)>;

impl Model {
    /// Makes the rows of these numbers, with the columns of the table that was learned from.
    ///
    /// A row is a function of the model, the seed, its number and what is given. So `sample(0..100, …)` has the same rows as
    /// `sample(0..50, …)` and `sample(50..100, …)` together. Row number i keeps the cells that row i of `given` has, which
    /// starts again from its first row where it is shorter; columns that the model does not know are not looked at.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/claims.rs")); }
    /// # let (_folder, path) = example::claims();
    /// let model = gnsm::Model::fit(&gnsm::read_table(&path)?)?;
    /// let taxis = model.given([("category", "taxi")])?;
    /// let made = model.sample(0..50, 7, Some(&taxis))?;
    /// assert_eq!(made.n_rows(), 50);
    /// # Ok::<(), gnsm::Error>(())
    /// ```
    pub fn sample(&self, rows: Range<u64>, seed: u64, given: Option<&Table>) -> Result<Table> {
        let manner = self.manner()?;
        let given = given.map(|given| self.marked(given)).filter(|given| given.n_rows() > 0);
        let ids: Vec<u64> = rows.clone().collect();
        let sources: Vec<usize> =
            ids.iter().map(|id| given.as_ref().map_or(0, |given| (id % given.n_rows() as u64) as usize)).collect();
        let known: Vec<Vec<Option<String>>> = sources
            .iter()
            .map(|source| given.as_ref().map_or_else(|| self.nothing(), |given| self.texts(given, *source)))
            .collect();
        let encoded = match &given {
            Some(given) => self.encoder.encode_everything(given)?.select(&sources),
            None => self.blank_rows(ids.len()),
        };
        let plan = Plan::new(&self.encoder);
        let blanked = plan.blank(&self.encoder, &encoded, |row, column| known[row][column].is_some());
        let blanks = plan.blanks(&blanked, &manner.ladders, true, (seed, &ids));
        let drawn = self.drawn(&blanks)?;
        let pages = self.pages(manner, seed, &ids);
        let texts: Vec<Vec<Option<String>>> =
            (0..ids.len()).into_par_iter().map(|row| pages.row(&drawn, row, &known[row])).collect();
        let column = |at: usize| pages.column(at, texts.iter().map(|row| row[at].clone()));
        Ok(Table {
            file: "made rows".into(),
            columns: (0..self.schema().columns.len()).map(column).collect(),
            lines: rows.map(|row| row + 1).collect(),
            rows_may_omit_columns: false,
            parts: Vec::new(),
        })
    }

    /// A table of one row with these cells, for [`Self::sample`]. A column that the model does not have is an error, and so
    /// is a value that is none of the column's.
    pub fn given<N: AsRef<str>, V: AsRef<str>>(&self, cells: impl IntoIterator<Item = (N, V)>) -> Result<Table> {
        let mut columns: Vec<Column> = Vec::new();
        for (name, value) in cells {
            let (name, value) = (name.as_ref(), value.as_ref());
            self.check_given(name, value)?;
            if columns.iter().any(|column| column.name == name) {
                return Err(Error::schema(format!("column `{name}` is given twice"), "give it once"));
            }
            let mut cells = TextCells::default();
            cells.push(value);
            columns.push(Column { name: name.to_owned(), values: Values::Text(cells) });
        }
        Ok(Table {
            file: "given cells".into(),
            columns,
            lines: vec![1],
            rows_may_omit_columns: true,
            parts: Vec::new(),
        })
    }

    /// Fills the missing cells of a batch with their most probable values; `first` is the number of its first row.
    ///
    /// A number becomes the mean of what is expected, or the one value that is more likely than all others together. Dates are
    /// filled only if they are compared with another date of the row, or scored themselves. Free text, keys and columns that are
    /// not used stay as they are. A cell that is there is never changed.
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

    fn manner(&self) -> Result<&Manner> {
        self.manner.as_ref().ok_or_else(|| {
            Error::fit(
                "this model was fitted by an earlier version, which did not keep how cells are written",
                "fit again",
            )
        })
    }

    fn drawn(&self, blanks: &Blanks<'_>) -> Result<Encoded> {
        if blanks.rows.n_rows() == 0 {
            return Ok(blanks.rows.clone());
        }
        self.fitted.detector().draw(blanks).ok_or_else(|| self.cannot())
    }

    /// The error of a method that cannot fill cells.
    fn cannot(&self) -> Error {
        let method = self.method();
        let problem = match &method {
            Method::Gnsm(_) => "method `gnsm` can fill cells only if it was fitted with `bins = true`".to_owned(),
            method => format!("method `{}` cannot fill cells", method.name()),
        };
        Error::fit(problem, "fit a model with the default method, `cells`, or with `--method gnsm`")
    }

    fn pages<'a>(&'a self, manner: &'a Manner, seed: u64, ids: &'a [u64]) -> Pages<'a> {
        Pages { encoder: &self.encoder, manner, spans: self.reference.spans(), seed, ids }
    }

    fn nothing(&self) -> Vec<Option<String>> {
        vec![None; self.schema().columns.len()]
    }

    /// The cells of a row that the model knows.
    fn texts(&self, table: &Table, row: usize) -> Vec<Option<String>> {
        let text = |name: &str| Some(table.column(name)?.values.text(row)?.into_owned());
        self.schema().columns.iter().map(|column| text(&column.name)).collect()
    }

    fn blank_rows(&self, n_rows: usize) -> Encoded {
        let layout = self.encoder.layout();
        Encoded::new(n_rows, vec![ABSENT; n_rows * layout.n_groups()], vec![f32::NAN; n_rows * layout.n_numbers()])
    }

    fn check_given(&self, name: &str, value: &str) -> Result<()> {
        let names = || self.schema().columns.iter().map(|column| column.name.as_str());
        let Some(column) = self.schema().columns.iter().find(|column| column.name == name) else {
            return Err(Error::schema(
                format!("the model has no column `{name}`"),
                format!("its columns are {}", named(names())),
            ));
        };
        let (fits, advice) = match &column.kind {
            Kind::Categorical { categories, rare, .. } => {
                let mut all = categories.iter().chain(rare.iter().flatten());
                (
                    all.any(|known| known == value),
                    format!("its values are {}", named(categories.iter().map(String::as_str))),
                )
            }
            Kind::Numeric { format, .. } => (format.parse(value).is_some(), "give a number".to_owned()),
            Kind::Date { format, .. } => {
                (format.parse(value).is_some(), "give a date as the column has them".to_owned())
            }
            Kind::Identifier { .. } | Kind::Text { .. } | Kind::Ignored => (true, String::new()),
        };
        if fits && !value.trim().is_empty() {
            return Ok(());
        }
        Err(Error::schema(format!("column `{name}` never held `{value}`"), advice))
    }

    /// The missing cells of a table that can be filled.
    fn holes<'a>(&self, table: &'a Table) -> Result<Holes<'a>> {
        self.manner()?;
        let table = self.marked(table);
        let encoded = self.encoder.encode_everything(&table)?;
        let mut missing = BTreeMap::new();
        for (at, column) in self.schema().columns.iter().enumerate() {
            let Some(cells) = table.column(&column.name) else { continue };
            let can_fill = !unwritten(&column.kind) && !matches!(column.kind, Kind::Identifier { .. });
            for row in (0..table.n_rows()).filter(|row| cells.values.text(*row).is_none()) {
                missing.insert((row, at), can_fill);
            }
        }
        let mut rows: Vec<usize> = missing.iter().filter(|(_, can)| **can).map(|((row, _), _)| *row).collect();
        rows.dedup();
        Ok(Holes { rows: encoded.select(&rows), sources: rows, missing, table })
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

/// The seconds of a date, in a column whose format has them.
fn seconds(kind: &Kind, text: &str) -> Option<f64> {
    if let Kind::Date { format, .. } = kind { format.parse(text).map(|moment| moment.local) } else { None }
}

/// The rows of a table that miss a cell.
struct Holes<'a> {
    table: std::borrow::Cow<'a, Table>,
    /// The rows, encoded, and where they stand in the table.
    rows: Encoded,
    sources: Vec<usize>,
    /// All missing cells, by row and column of the schema; whether they can be filled.
    missing: BTreeMap<(usize, usize), bool>,
}

impl Holes<'_> {
    fn is_hole(&self, row: usize, column: usize) -> bool {
        self.missing.get(&(self.sources[row], column)) == Some(&true)
    }

    fn ids(&self, first: u64, draw: usize) -> Vec<u64> {
        self.sources.iter().map(|row| (first + *row as u64) | ((draw as u64) << DRAW)).collect()
    }

    fn draw(&self, model: &Model, first: u64, seed: u64, draw: usize) -> Result<Fills> {
        let (manner, plan, ids) = (model.manner()?, Plan::new(&model.encoder), self.ids(first, draw));
        let blanked = plan.blank(&model.encoder, &self.rows, |row, column| !self.is_hole(row, column));
        let drawn = model.drawn(&plan.blanks(&blanked, &manner.ladders, false, (seed, &ids)))?;
        Ok(self.written(model, &model.pages(manner, seed, &ids), &drawn, |_, _| Some(f64::NAN)))
    }

    fn guess(&self, model: &Model, first: u64) -> Result<Fills> {
        let (manner, plan, ids) = (model.manner()?, Plan::new(&model.encoder), self.ids(first, 0));
        if self.sources.is_empty() {
            return Ok(Fills::new());
        }
        let blanked = plan.blank(&model.encoder, &self.rows, |row, column| !self.is_hole(row, column));
        let blanks = plan.blanks(&blanked, &manner.ladders, false, (0, &ids));
        let guesses = model.fitted.detector().guess(&blanks).ok_or_else(|| model.cannot())?;
        let (features, pages) = (model.encoder.features(), model.pages(manner, 0, &ids));
        let n_numbers = model.encoder.layout().n_numbers();
        let of_number: Vec<&Feature> = features.iter().filter(|feature| feature.number.is_some()).collect();
        let mut fills = Fills::new();
        let (mut codes, mut numbers) = (BTreeMap::new(), BTreeMap::new());
        let mut probabilities: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for (row, cell, guess) in guesses {
            let feature = cell.checked_sub(n_numbers).map_or_else(|| of_number[cell], |group| &features[group]);
            match guess {
                Guess::Number(value, p) => {
                    if feature.aspect == Aspect::Number {
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
        let others = self.written(model, &pages, &guessed, |row, column| probabilities.get(&(row, column)).copied());
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
        probability: impl Fn(usize, usize) -> Option<f64>,
    ) -> Fills {
        let mut fills = Fills::new();
        for (row, source) in self.sources.iter().enumerate() {
            let texts = pages.row(rows, row, &model.texts(&self.table, *source));
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

/// Each cell `n` times, with a text instead of it where there is one.
fn repeated<'t>(
    values: &Values,
    n: usize,
    text: &dyn Fn(usize, usize) -> Option<&'t str>,
    seconds_of: impl Fn(&str) -> Option<f64>,
) -> Values {
    let places = || (0..values.len()).flat_map(|row| (0..n).map(move |draw| (row, draw)));
    match values {
        Values::Text(cells) => {
            let mut written = TextCells::default();
            places().for_each(|(row, draw)| written.push(text(row, draw).unwrap_or_else(|| cells.get(row))));
            Values::Text(written)
        }
        Values::Category { codes, names } => {
            let mut names = names.clone();
            let mut code_of: BTreeMap<String, u32> = names.iter().cloned().zip(0..).collect();
            let code = |(row, draw): (usize, usize)| match text(row, draw) {
                None => codes[row],
                Some(text) => *code_of.entry(text.to_owned()).or_insert_with(|| {
                    names.push(text.to_owned());
                    names.len() as u32 - 1
                }),
            };
            let codes = places().map(code).collect();
            Values::Category { codes, names }
        }
        Values::Number { values, integer } => {
            let number =
                |(row, draw): (usize, usize)| text(row, draw).and_then(|t| t.parse().ok()).unwrap_or(values[row]);
            Values::Number { values: places().map(number).collect(), integer: *integer }
        }
        Values::Time { seconds, kind } => {
            let second = |(row, draw): (usize, usize)| text(row, draw).and_then(&seconds_of).unwrap_or(seconds[row]);
            Values::Time { seconds: places().map(second).collect(), kind: *kind }
        }
        Values::Unsupported { type_name, n_rows } => {
            Values::Unsupported { type_name: type_name.clone(), n_rows: n_rows * n }
        }
    }
}

/// Names for a message.
fn named<'a>(names: impl Iterator<Item = &'a str>) -> String {
    crate::columns::list(names, MOST_NAMED)
}

#[cfg(test)]
mod tests;
