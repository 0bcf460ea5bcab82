//! From a table to category codes and scaled numbers; a one-hot is never stored.
//!
//! A column gives one or more *features* ([`Feature`]): a date, for example, gives its hour, its weekday and how long
//! it is after the other dates. Each feature is one group of the [`Layout`], and some are a number too.
//!
//! - The group of a categorical feature holds its categories, then the places that rare categories share, then
//!   "(missing)" where training had it. What training never saw gets the code [`UNSEEN`]: detectors take it for
//!   evidence.
//! - The group of a numeric feature says whether the number was there: present, missing, or something that is no
//!   number. The number itself is z (`scale.rs`), or NaN where there is none.
//! - A feature that has nothing to say about a row, such as the weekday of a missing date, has its most usual value;
//!   another feature says that the date is missing. The same is done for "the key repeats" if only some rows of a table
//!   are at hand. If a detector can do without a cell, the cell is left out instead.
//!
//! Columns are found by name, so their order in the file does not matter.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::iter::{StepBy, Zip};
use std::ops::RangeFrom;
use std::slice::IterMut;

use rayon::prelude::*;

use super::codes::Codes;
use super::date::Moment;
use super::dated::{moment, seen_sign};
use super::encoded::Encoded;
use super::features::{Aspect, Feature, features};
use super::ladder::Ladder;
use super::layout::{Layout, UNSEEN};
use super::number::{mark, parse_number};
use super::parsed::{Cell, Parsed, after, fits, unscaled_number};
use super::relations::number_in;
use super::schema::{ColumnSchema, Kind, Schema, list};
use super::spelling::{key_shape, lead, shape};
use crate::error::{Error, Result, stop_point};
use crate::table::{Column, Table, Values};

/// Rows that one thread encodes at a time; few enough to stay in the nearest caches.
const PIECE: usize = 512;
/// With fewer rows than this, nothing is said about a column whose kind seems to have changed.
const ENOUGH_TO_JUDGE: usize = 20;

/// How a file's columns differ from the model's, where that is no error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnReport {
    /// Columns that the model does not know; they are not used.
    pub extra: Vec<String>,
    /// Whether the known columns come in another order.
    pub reordered: bool,
    /// Columns that no row of this batch has, in a format where rows may leave columns out.
    pub absent: Vec<String>,
}

/// Turns tables into [`Encoded`] rows.
#[derive(Debug, Clone)]
pub struct Encoder {
    schema: Schema,
    layout: Layout,
    features: Vec<Feature>,
    /// For each feature whose categories are texts, their codes.
    codes: Vec<Codes>,
    /// Whether the detector can do without a cell ([`super::layout::ABSENT`]), so that what is not known of a row is hidden
    /// from it.
    hides: bool,
}

impl Encoder {
    /// The encoder of a schema.
    pub fn new(schema: Schema) -> Self {
        let (features, codes) = features(&schema);
        let sizes = features.iter().map(|feature| feature.size as usize).collect();
        let n_numbers = features.iter().filter(|feature| feature.number.is_some()).count();
        let missing_code = |feature: &Feature| {
            (feature.missing < feature.size && feature.missing != feature.usual).then_some(feature.missing)
        };
        let missing = features.iter().map(missing_code).collect();
        let mut families = vec![None; n_numbers + features.len()];
        for feature in &features {
            let cells = feature.number.into_iter().chain([n_numbers + feature.group]);
            cells.for_each(|cell| families[cell] = feature.family(&schema));
        }
        let layout = Layout::new(n_numbers, sizes).with_missing(missing).with_families(families);
        let mut shared = BTreeMap::new();
        for feature in &features {
            if let (Aspect::Value, Kind::Categorical { categories, rare, .. }) =
                (feature.aspect, &schema.columns[feature.column].kind)
            {
                let first = layout.group(feature.group).start + categories.len();
                shared.extend(rare.iter().enumerate().map(|(at, names)| (first + at, names.len() as u32)));
            }
        }
        let repeated = |feature: &&Feature| feature.aspect == Aspect::Repeat && feature.other < feature.size;
        let repeats = features.iter().filter(repeated);
        let repeats = repeats.map(|feature| layout.group(feature.group).start + feature.other as usize).collect();
        let layout = layout.with_shared(shared).with_repeats(repeats);
        Self { layout, schema, features, codes, hides: false }
    }

    /// The same encoder, for a detector that can do without a cell (`knows_absent`) or cannot.
    pub(crate) fn for_detector(mut self, knows_absent: bool) -> Self {
        self.hides = knows_absent;
        self
    }

    /// Whether the detector can do without a cell.
    pub(crate) fn hides(&self) -> bool {
        self.hides
    }

    /// The schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The shape of an encoded row.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The features, in the order of their groups.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// The schema of the column that a feature is of.
    pub fn schema_of(&self, feature: &Feature) -> &ColumnSchema {
        &self.schema.columns[feature.column]
    }

    /// The code of a cell that holds something, but no value of its column: `unknown` among numbers.
    pub(crate) fn stray(&self, feature: &Feature) -> u32 {
        feature.other
    }

    /// Compares a batch's columns with the schema. Called once per file, on its first batch.
    pub fn check(&self, table: &Table) -> Result<ColumnReport> {
        self.check_but_for(table, |kind| *kind == Kind::Ignored)
    }

    /// The same, where columns of some kinds may be left out.
    pub(crate) fn check_but_for(&self, table: &Table, may_lack: impl Fn(&Kind) -> bool) -> Result<ColumnReport> {
        let mut report = ColumnReport::default();
        let mut positions = Vec::new();
        let mut absent = Vec::new();
        for (at, schema) in self.schema.columns.iter().enumerate().filter(|(_, column)| column.kind != Kind::Ignored) {
            match table.columns.iter().position(|column| column.name == schema.name) {
                None if may_lack(&schema.kind) => {}
                None => absent.push(schema.name.clone()),
                Some(position) => {
                    positions.push(position);
                    let value = |feature: &&Feature| feature.column == at && feature.aspect == Aspect::Value;
                    if let Some(feature) = self.features.iter().find(value) {
                        check_kind(table, &table.columns[position], schema, &self.codes[feature.group])?;
                    }
                }
            }
        }
        let known: HashSet<&str> = self.schema.columns.iter().map(|column| column.name.as_str()).collect();
        let others = table.columns.iter().filter(|column| !known.contains(column.name.as_str()));
        report.extra = others.map(|column| column.name.clone()).collect();
        report.reordered = positions.windows(2).any(|pair| pair[0] > pair[1]);
        if table.rows_may_omit_columns {
            report.absent = absent;
        } else if !absent.is_empty() {
            let extra = if report.extra.is_empty() {
                String::from("give a file with the columns of the training data")
            } else {
                format!("the file has {} instead; rename them back", list(report.extra.iter().map(String::as_str), 10))
            };
            let names = list(absent.iter().map(String::as_str), 10);
            return Err(Error::schema(format!("{} lacks the model's column {names}", table.file), extra));
        }
        Ok(report)
    }

    /// Encodes all rows of a batch. Whether a key repeats in the whole table is not known.
    pub fn encode(&self, table: &Table) -> Result<Encoded> {
        self.encode_rows(table, false)
    }

    /// Encodes a whole table, so that a key that occurs twice can be told.
    pub fn encode_whole(&self, table: &Table) -> Result<Encoded> {
        self.encode_rows(table, true)
    }

    fn encode_rows(&self, table: &Table, whole: bool) -> Result<Encoded> {
        let (n_rows, n_groups, n_numbers) = (table.n_rows(), self.layout.n_groups(), self.layout.n_numbers());
        let parsed: Vec<Parsed<'_>> =
            (0..self.schema.columns.len()).map(|at| self.parse(table, at, whole)).collect::<Result<_>>()?;
        let numeric: Vec<&Feature> = self.features.iter().filter(|feature| feature.number.is_some()).collect();
        let numbers = row_by_row(n_rows, n_numbers, |number, places| {
            places.for_each(|(place, row)| *place = self.number(numeric[number], &parsed, row));
        });
        let codes = row_by_row(n_rows, n_groups, |group, places| self.write_codes(group, &parsed, places));
        Ok(Encoded { n_rows, n_groups, n_numbers, codes, numbers })
    }

    /// The cells of a column, read once for all its features.
    fn parse<'a>(&self, table: &'a Table, at: usize, whole: bool) -> Result<Parsed<'a>> {
        let schema = &self.schema.columns[at];
        if schema.kind == Kind::Ignored {
            return Ok(Parsed::Absent);
        }
        let Some(column) = table.column(&schema.name) else { return Ok(Parsed::Absent) };
        if let Values::Unsupported { type_name, .. } = &column.values {
            let problem = format!("type {type_name} cannot be scored");
            return Err(Error::data(table.place(0, &column.name), problem, "give it the type it had in training"));
        }
        let rows = 0..table.n_rows();
        let values = &column.values;
        Ok(match &schema.kind {
            Kind::Numeric { format, .. } => {
                let number = |row: usize| match values {
                    Values::Number { values, .. } | Values::Time { seconds: values, .. } => Cell::of(values[row]),
                    values => match values.text(row) {
                        None => Cell::Missing,
                        Some(text) => format.parse(&text).map_or(Cell::Stray, Cell::Value),
                    },
                };
                Parsed::Numbers(rows.into_par_iter().with_min_len(PIECE).map(number).collect(), values)
            }
            Kind::Date { format, .. } => {
                let moment = |row: usize| match moment(values, row, *format) {
                    Some(moment) => Cell::Value(moment),
                    None if values.text(row).is_none() => Cell::Missing,
                    None => Cell::Stray,
                };
                Parsed::Moments(rows.into_par_iter().with_min_len(PIECE).map(moment).collect(), values)
            }
            Kind::Identifier { by_chance, .. } => {
                let mut seen: HashMap<std::borrow::Cow<'_, str>, u32> = HashMap::new();
                if whole && !by_chance {
                    for text in rows.clone().filter_map(|row| values.text(row)) {
                        *seen.entry(text).or_default() += 1;
                    }
                }
                let repeated =
                    rows.map(|row| values.text(row).is_some_and(|text| seen.get(&text).is_some_and(|n| *n > 1)));
                Parsed::Keys(repeated.collect(), values)
            }
            Kind::Categorical { .. } => match values {
                Values::Category { codes, names } => {
                    // Each distinct name is looked up once, not once per row.
                    let value = |feature: &&Feature| feature.column == at && feature.aspect == Aspect::Value;
                    let feature = self.features.iter().find(value);
                    let code = |name: &String| {
                        feature
                            .and_then(|feature| self.codes[feature.group].get(name.as_str()))
                            .copied()
                            .unwrap_or(UNSEEN)
                    };
                    Parsed::Named { codes, translated: names.iter().map(code).collect(), values }
                }
                values => Parsed::Words(values),
            },
            Kind::Text { .. } | Kind::Ignored => Parsed::Words(values),
        })
    }

    /// The codes of a feature in some rows.
    fn write_codes(&self, group: usize, parsed: &[Parsed<'_>], places: Places<'_, u32>) {
        let feature = &self.features[group];
        // The most common case, a column of plain categories, has a loop of its own, which asks for the kind only once.
        if let (Aspect::Value, Parsed::Named { codes, translated, .. }) = (feature.aspect, &parsed[feature.column]) {
            let code = |row: usize| translated.get(codes[row] as usize).copied().unwrap_or(feature.missing);
            places.for_each(|(place, row)| *place = code(row));
        } else {
            places.for_each(|(place, row)| *place = self.code(feature, parsed, row));
        }
    }

    /// The code of a feature that is no category by its index.
    #[inline(always)]
    fn code(&self, feature: &Feature, parsed: &[Parsed<'_>], row: usize) -> u32 {
        let cells = &parsed[feature.column];
        match (feature.aspect, cells) {
            (_, Parsed::Absent) => feature.missing,
            (Aspect::Value, Parsed::Words(Values::Text(cells))) if cells.is_missing(row) => feature.missing,
            (Aspect::Value, Parsed::Words(Values::Text(cells))) => self.code_of(feature, cells.get(row)),
            (Aspect::Value, Parsed::Words(values)) => {
                values.text(row).map_or(feature.missing, |text| self.code_of(feature, &text))
            }
            (Aspect::Value, Parsed::Moments(moments, values)) => match moments[row] {
                Cell::Missing => feature.missing,
                // What is no time is none of those that were seen.
                _ => values.text(row).map_or(feature.missing, |text| self.code_of(feature, &text)),
            },
            (Aspect::Shape, Parsed::Words(values) | Parsed::Named { values, .. }) => {
                values.text(row).map_or(feature.missing, |text| self.code_of(feature, &shape(&text)))
            }
            (Aspect::Shape, Parsed::Keys(_, values)) => {
                let of = |text: &str| key_shape(text, feature.hex, feature.loose);
                values.text(row).map_or(feature.missing, |text| self.code_of(feature, &of(&text)))
            }
            (Aspect::Repeat, Parsed::Keys(repeated, _)) if repeated[row] => feature.other,
            (Aspect::Key, Parsed::Keys(repeated, _)) if repeated[row] && !self.has_repeats(feature) => UNSEEN,
            (Aspect::Lead, Parsed::Words(values) | Parsed::Named { values, .. } | Parsed::Keys(_, values)) => {
                values.text(row).map_or(feature.usual, |text| self.code_of(feature, self.lead(feature, &text)))
            }
            (Aspect::Mark, Parsed::Numbers(cells, values)) => match cells[row] {
                Cell::Value(_) => values.text(row).map_or(feature.usual, |text| self.code_of(feature, &mark(&text))),
                Cell::Missing | Cell::Stray => feature.usual,
            },
            (Aspect::Key, Parsed::Keys(_, values)) | (Aspect::Length, Parsed::Words(values)) => {
                if values.text(row).is_some() { 0 } else { feature.missing }
            }
            (Aspect::Number, Parsed::Numbers(cells, _)) => feature.presence(&cells[row]),
            (Aspect::Position, Parsed::Moments(moments, _)) => match &moments[row] {
                Cell::Value(moment) if !feature.range.contains(&moment.local) => UNSEEN,
                cell => feature.presence(cell),
            },
            (Aspect::Part(part), Parsed::Moments(moments, _)) => match &moments[row] {
                // The weekday of a date far outside says nothing about the rest of the row.
                Cell::Value(moment) if !feature.range.contains(&moment.local) => UNSEEN,
                Cell::Value(moment) => feature.values.binary_search(&part.of(moment)).map_or(UNSEEN, |at| at as u32),
                Cell::Missing | Cell::Stray => feature.usual,
            },
            (Aspect::After(from), Parsed::Moments(..)) => match after(feature, parsed, from, row) {
                Some(length) => seen_sign(length, &feature.values).map_or(UNSEEN, |at| at as u32),
                None => feature.usual,
            },
            (Aspect::Fits(at), _) => match fits(&self.schema, at, parsed, row) {
                Some(false) => feature.other,
                _ => feature.usual,
            },
            // A kind and its features go together by construction.
            _ => feature.usual,
        }
    }

    /// The number of a feature, NaN if there is none.
    fn number(&self, feature: &Feature, parsed: &[Parsed<'_>], row: usize) -> f32 {
        match (unscaled_number(feature, parsed, row), &feature.scale) {
            (Some(value), Some(scale)) if !value.is_nan() => scale.scaled(value),
            _ => f32::NAN,
        }
    }

    /// The quantiles of each number in these rows.
    pub(crate) fn ladders(&self, table: &Table, rows: &[usize]) -> Result<Vec<Ladder>> {
        let parsed: Vec<Parsed<'_>> =
            (0..self.schema.columns.len()).map(|at| self.parse(table, at, false)).collect::<Result<_>>()?;
        let ladder = |feature: &Feature| {
            let value = |row: &usize| {
                let value = unscaled_number(feature, &parsed, *row).filter(|value| value.is_finite())?;
                Some((feature.scale?.scaled(value), value))
            };
            Ladder::learn(rows.iter().filter_map(value).collect())
        };
        let features: Vec<&Feature> = self.features.iter().filter(|feature| feature.number.is_some()).collect();
        Ok(features.into_par_iter().map(ladder).collect())
    }

    /// What a code begins with. Of a key only letters count: its digits are counted up.
    pub(crate) fn lead<'t>(&self, feature: &Feature, text: &'t str) -> &'t str {
        let is_key = matches!(self.schema_of(feature).kind, Kind::Identifier { .. });
        if is_key && !text.starts_with(char::is_alphabetic) { "" } else { lead(text) }
    }

    /// Whether keys repeat in training; then there is a feature that tells whether a row's key does.
    fn has_repeats(&self, feature: &Feature) -> bool {
        matches!(self.schema_of(feature).kind, Kind::Identifier { repeats: true, .. })
    }

    #[inline(always)]
    fn code_of(&self, feature: &Feature, text: &str) -> u32 {
        self.codes[feature.group].get(text).copied().unwrap_or(UNSEEN)
    }

    /// The date of a cell.
    pub fn moment(&self, table: &Table, row: usize, column: usize) -> Option<Moment> {
        let schema = &self.schema.columns[column];
        match &schema.kind {
            Kind::Date { format, .. } => moment(&table.column(&schema.name)?.values, row, *format),
            _ => None,
        }
    }

    /// The seconds that one date of a row is after another.
    pub fn seconds_after(&self, table: &Table, row: usize, of: usize, from: usize) -> Option<f64> {
        Some(self.moment(table, row, of)?.utc() - self.moment(table, row, from)?.utc())
    }

    /// What the other numbers of a row give, if they are there, by the relation with this index in the schema.
    pub fn result_of(&self, table: &Table, row: usize, relation: usize) -> Option<f64> {
        let relation = &self.schema.relations[relation];
        let number = |at: &usize| {
            let ColumnSchema { name, kind, .. } = &self.schema.columns[*at];
            number_in(kind, &table.column(name)?.values, row)
        };
        Some(relation.result(&relation.terms.iter().map(number).collect::<Option<Vec<f64>>>()?))
    }

    /// What a code of a categorical feature stands for.
    pub fn code_name(&self, feature: &Feature, code: u32) -> String {
        let text = |texts: &[String]| texts.get(code as usize).cloned();
        let name = match (feature.aspect, &self.schema_of(feature).kind) {
            (Aspect::Value, Kind::Categorical { categories, rare, .. }) => text(categories).or_else(|| {
                let band = (code as usize).checked_sub(categories.len())?;
                rare.get(band).map(|names| format!("one of {} rare values", names.len()))
            }),
            (Aspect::Value, Kind::Date { times, .. }) => text(times),
            (Aspect::Shape, Kind::Categorical { shapes, .. } | Kind::Identifier { shapes, .. }) => text(shapes),
            (Aspect::Lead, Kind::Categorical { leads, .. } | Kind::Identifier { leads, .. }) => text(leads),
            (Aspect::Mark, Kind::Numeric { marks, .. }) => text(marks),
            _ => None,
        };
        name.unwrap_or_else(|| if code == feature.missing { "(missing)" } else { "(present)" }.to_owned())
    }
}

/// Where the cells of a feature go, each with its row.
type Places<'a, T> = Zip<StepBy<IterMut<'a, T>>, RangeFrom<usize>>;

/// Makes a cell for each row and feature, row by row, in parallel; `write` writes some rows of one feature.
fn row_by_row<T: Clone + Default + Send>(
    n_rows: usize,
    n_columns: usize,
    write: impl Fn(usize, Places<'_, T>) + Sync,
) -> Vec<T> {
    let mut cells = vec![T::default(); n_rows * n_columns];
    cells.par_chunks_mut((PIECE * n_columns).max(1)).enumerate().for_each(|(piece, cells)| {
        stop_point();
        for column in 0..n_columns {
            write(column, cells[column..].iter_mut().step_by(n_columns).zip(piece * PIECE..));
        }
    });
    cells
}

/// If a column of words now holds nothing but unknown numbers, this is another file, not one full of anomalies: an
/// error.
fn check_kind(table: &Table, column: &Column, schema: &ColumnSchema, codes: &Codes) -> Result<()> {
    let Kind::Categorical { categories, .. } = &schema.kind else { return Ok(()) };
    if categories.is_empty() || categories.iter().any(|name| parse_number(name).is_some()) {
        return Ok(());
    }
    let mut cells = (0..table.n_rows()).filter_map(|row| column.values.text(row)).peekable();
    let Some(first) = cells.peek().map(ToString::to_string) else { return Ok(()) };
    let mut n = 0;
    let all_new = cells.all(|text| {
        n += 1;
        !codes.contains_key(&*text) && parse_number(&text).is_some()
    });
    if n >= ENOUGH_TO_JUDGE && all_new {
        return Err(Error::data(
            table.place(0, &column.name),
            format!(
                "this column held categories ({}) in training and now holds numbers, `{first}` for one",
                list(categories.iter().map(String::as_str), 3)
            ),
            "check that the file's columns are the training data's",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
