//! Makes new rows.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use super::Model;
use crate::columns::{ABSENT, Encoded, Kind, number_in};
use crate::detectors::Blanks;
use crate::error::{Error, Result};
use crate::generate::{Manner, Pages, Plan, Settler};
use crate::method::Method;
use crate::table::{Column, Table, TextCells, Values};

/// A category is named in a message together with at most so many others.
const MOST_NAMED: usize = 10;
/// Stands in a table of given cells for one that is to be missing; one that is just empty is drawn.
const LEFT_OUT: &str = "\0";
/// What makes the seed of the second draw of a row another than that of the first.
const AGAIN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What belongs in missing cells, by row and column of the schema, with its probability.
pub(super) type Fills = BTreeMap<(usize, usize), (String, f64)>;

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
        let mut start = match &given {
            Some(given) => {
                let n_given = given.n_rows() as u64;
                given.select(&ids.iter().map(|id| (id % n_given) as usize).collect::<Vec<_>>())
            }
            None => Table {
                file: "made rows".into(),
                columns: Vec::new(),
                lines: ids.clone(),
                rows_may_omit_columns: true,
                parts: Vec::new(),
            },
        };
        let settler = Settler::new(&self.encoder, manner);
        let n_columns = self.schema().columns.len();
        let mut known = vec![vec![false; n_columns]; ids.len()];
        let mut left_out = Fills::new();
        if given.is_some() {
            for (row, column) in (0..ids.len()).flat_map(|row| (0..n_columns).map(move |column| (row, column))) {
                if self.text(&start, row, column).is_some_and(|text| text == LEFT_OUT) {
                    left_out.insert((row, column), (self.missing_text(), 1.0));
                }
            }
            if !left_out.is_empty() {
                start = self.with_cells(&start, &left_out);
            }
            let is_open =
                |row, column| self.text(&start, row, column).is_none() && !left_out.contains_key(&(row, column));
            let told = self.told(&settler, &start, is_open);
            if !told.is_empty() {
                start = self.with_cells(&start, &told);
            }
            for (row, known) in known.iter_mut().enumerate() {
                for (at, known) in known.iter_mut().enumerate() {
                    *known = self.text(&start, row, at).is_some() || left_out.contains_key(&(row, at));
                }
            }
        }
        if settler.has_ties() {
            // What others give is settled first. Then the rest is drawn anew, to go with it.
            let mut texts = self.written_rows(manner, &start, &known, seed ^ AGAIN, &ids)?;
            texts.par_iter_mut().enumerate().for_each(|(row, texts)| {
                let number = |column: usize| self.number(&start, row, column);
                settler.settle(texts, number, |column| !known[row][column], (seed, ids[row]));
            });
            let mut settled = Fills::new();
            for (row, texts) in texts.iter().enumerate() {
                for &column in settler.columns().iter().filter(|column| !known[row][**column]) {
                    if let Some(text) = &texts[column] {
                        settled.insert((row, column), (text.clone(), 1.0));
                    }
                }
            }
            start = self.with_cells(&start, &settled);
            for known in &mut known {
                settler.columns().iter().for_each(|column| known[*column] = true);
            }
        }
        let texts = self.written_rows(manner, &start, &known, seed, &ids)?;
        let pages = self.pages(manner, seed, &ids);
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
    /// is a value that is none of the column's. An empty one says that the cell is missing, in a column that has missing cells.
    pub fn given<N: AsRef<str>, V: AsRef<str>>(&self, cells: impl IntoIterator<Item = (N, V)>) -> Result<Table> {
        let mut columns: Vec<Column> = Vec::new();
        for (name, value) in cells {
            let (name, value) = (name.as_ref(), value.as_ref());
            self.check_given(name, value)?;
            if columns.iter().any(|column| column.name == name) {
                return Err(Error::schema(format!("column `{name}` is given twice"), "give it once"));
            }
            let mut cells = TextCells::default();
            cells.push(if value.is_empty() { LEFT_OUT } else { value });
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

    /// The texts of rows whose cells are drawn where they are not known.
    fn written_rows(
        &self,
        manner: &Manner,
        start: &Table,
        known: &[Vec<bool>],
        seed: u64,
        ids: &[u64],
    ) -> Result<Vec<Vec<Option<String>>>> {
        let nothing_known = known.iter().flatten().all(|known| !known);
        let encoded = if nothing_known { self.blank_rows(ids.len()) } else { self.encoder.encode(start)? };
        let plan = Plan::new(&self.encoder);
        let blanked = plan.blank(&self.encoder, &encoded, |row, column| known[row][column]);
        let drawn = self.drawn(&plan.blanks(&blanked, &manner.ladders, true, (seed, ids)), "make rows")?;
        let pages = self.pages(manner, seed, ids);
        Ok((0..ids.len()).into_par_iter().map(|row| pages.row(&drawn, row, &self.texts(start, row))).collect())
    }

    /// The open cells of a table that others of their row give.
    pub(super) fn told(
        &self,
        settler: &Settler<'_>,
        table: &Table,
        is_open: impl Fn(usize, usize) -> bool + Sync,
    ) -> Fills {
        if !settler.has_ties() {
            return Fills::new();
        }
        let of_row = |row: usize| settler.told(|column| self.number(table, row, column), |column| is_open(row, column));
        let told: Vec<_> = (0..table.n_rows()).into_par_iter().map(of_row).collect();
        let each = told.into_iter().enumerate().flat_map(|(row, told)| told.into_iter().map(move |told| (row, told)));
        each.map(|(row, told)| ((row, told.column), (told.text, told.probability))).collect()
    }

    /// A table with other texts in some cells; a column that it does not have is added.
    pub(super) fn with_cells(&self, table: &Table, cells: &Fills) -> Table {
        let mut filled = table.clone();
        let columns: std::collections::BTreeSet<usize> = cells.keys().map(|(_, column)| *column).collect();
        for at in columns {
            let column = &self.schema().columns[at];
            let text = |row: usize| cells.get(&(row, at)).map(|(text, _)| text.as_str());
            if let Some(own) = filled.columns.iter_mut().find(|own| own.name == column.name) {
                own.values = repeated(&own.values, 1, &|row, _| text(row), |text| seconds(&column.kind, text));
            } else {
                let mut values = TextCells::default();
                (0..table.n_rows()).for_each(|row| values.push(text(row).unwrap_or_default()));
                filled.columns.push(Column { name: column.name.clone(), values: Values::Text(values) });
            }
        }
        self.marked(&filled).into_owned()
    }

    /// The number in a cell; the seconds since 1970 of a date.
    pub(super) fn number(&self, table: &Table, row: usize, column: usize) -> Option<f64> {
        let column = &self.schema().columns[column];
        number_in(&column.kind, &table.column(&column.name)?.values, row)
    }

    /// A text that means "no value" to this model.
    fn missing_text(&self) -> String {
        let texts = &self.schema().missing;
        if texts.iter().any(String::is_empty) { String::new() } else { texts.first().cloned().unwrap_or_default() }
    }

    fn text(&self, table: &Table, row: usize, column: usize) -> Option<String> {
        Some(table.column(&self.schema().columns[column].name)?.values.text(row)?.into_owned())
    }

    pub(super) fn manner(&self) -> Result<&Manner> {
        self.manner.as_ref().ok_or_else(|| {
            Error::fit(
                "this model was fitted by an earlier version, which did not keep how cells are written",
                "fit again",
            )
        })
    }

    pub(super) fn drawn(&self, blanks: &Blanks<'_>, doing: &str) -> Result<Encoded> {
        if blanks.rows.n_rows() == 0 {
            return Ok(blanks.rows.clone());
        }
        self.fitted.detector().draw(blanks).ok_or_else(|| self.cannot(doing))
    }

    /// The error of a method that cannot do this.
    pub(super) fn cannot(&self, doing: &str) -> Error {
        let method = self.method();
        let problem = match &method {
            Method::Gnsm(_) => format!("method `gnsm` can {doing} only if it was fitted with `bins = true`"),
            method => format!("method `{}` cannot {doing}", method.name()),
        };
        Error::fit(problem, "fit a model with the default method, `cells`, or with `gnsm`")
    }

    pub(super) fn pages<'a>(&'a self, manner: &'a Manner, seed: u64, ids: &'a [u64]) -> Pages<'a> {
        Pages { encoder: &self.encoder, manner, spans: self.reference.spans(), seed, ids }
    }

    /// The cells of a row that the model knows.
    pub(super) fn texts(&self, table: &Table, row: usize) -> Vec<Option<String>> {
        (0..self.schema().columns.len()).map(|column| self.text(table, row, column)).collect()
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
        if value.is_empty() {
            let may_miss = match &column.kind {
                Kind::Categorical { missing, .. } | Kind::Numeric { missing, .. } | Kind::Date { missing, .. } => {
                    *missing
                }
                Kind::Identifier { .. } | Kind::Text { .. } | Kind::Ignored => true,
            };
            if may_miss {
                return Ok(());
            }
            let problem = format!("column `{name}` was never missing, so it cannot be given empty");
            return Err(Error::schema(problem, advice));
        }
        Err(Error::schema(format!("column `{name}` never held `{value}`"), advice))
    }
}

/// The seconds of a date, in a column whose format has them.
pub(super) fn seconds(kind: &Kind, text: &str) -> Option<f64> {
    if let Kind::Date { format, .. } = kind { format.parse(text).map(|moment| moment.local) } else { None }
}

/// Each cell `n` times, with a text instead of it where there is one.
pub(super) fn repeated<'t>(
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
