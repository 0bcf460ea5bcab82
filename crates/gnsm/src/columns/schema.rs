//! What the columns of a table are, with everything learned about each; what the user may say about them.
//!
//! The rule by which a column's kind is decided stands in `kinds.rs`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counted::CellsToLearn;
use super::date::DateFormat;
use super::dated::learn_differences;
use super::kinds::learn_column;
use super::marked::marked;
use super::number::NumberFormat;
use super::relations::{Relation, learn_relations};
use super::scale::Scale;
use super::survey::{Survey, Surveyed};
use super::written::{Written, common};
use crate::error::{Advice, Error, Result};
use crate::table::{Column, Table, Values, default_missing};

/// What the user said about the columns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ColumnChoices {
    /// The column that holds labels; it is never learned from.
    pub label: Option<String>,
    /// The texts that mean "no value", instead of the usual ones such as `NA`; the empty text always does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Vec<String>>,
    /// Kinds fixed by name.
    pub columns: BTreeMap<String, KindChoice>,
}

/// A kind as the user gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KindChoice {
    /// Each value a category.
    Categorical,
    /// A number.
    Numeric,
    /// A date or a time; what comes first in it is found in the column.
    Date,
    /// A date such as `5/3/2024` that begins with the day.
    DayFirst,
    /// A date such as `3/5/2024` that begins with the month.
    MonthFirst,
    /// A key: only repeats and odd shapes are scored.
    Identifier,
    /// Free text: its length and shape only.
    Text,
    /// Not used.
    Ignore,
}

impl ColumnChoices {
    /// Reads a schema file's text:
    ///
    /// ```
    /// let choices = gnsm::ColumnChoices::from_toml(
    ///     "label = \"fraud\"\n[columns]\nzip = \"categorical\"\namount = \"numeric\"\nid = \"ignore\"\n",
    /// )?;
    /// assert_eq!(choices.columns.len(), 3);
    /// # Ok::<(), gnsm::Error>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| {
            Error::schema(
                format!("the schema file is not valid: {}", error.to_string().trim_end()),
                "it holds `label = \"NAME\"`, `missing = [\"NA\", \"-\"]` and, under `[columns]`, lines `NAME = \"KIND\"` with one of the kinds \
                 categorical, numeric, date, day-first, month-first, identifier, text and ignore",
            )
        })
    }

    /// The text of a schema file.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// Adds a choice; two different ones for a column are an error.
    pub fn choose(&mut self, column: &str, kind: KindChoice) -> Result<()> {
        match self.columns.insert(column.to_owned(), kind) {
            Some(earlier) if earlier != kind => Err(Error::schema(
                format!("column `{column}` was given two kinds"),
                "name each column once, with one kind",
            )),
            _ => Ok(()),
        }
    }
}

/// The columns a model was trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// In the order of the training file, the label left out.
    pub columns: Vec<ColumnSchema>,
    /// Pairs of dates whose difference is looked at.
    pub differences: Vec<Difference>,
    /// Numbers that others of the row give.
    pub relations: Vec<Relation>,
    /// The texts that mean "no value"; the empty text always does.
    #[serde(default = "default_missing")]
    pub missing: Vec<String>,
}

/// One column of the schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSchema {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Why it was taken for that.
    pub reason: String,
}

/// What a column is, with everything learned about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Kind {
    /// One of a set of categories.
    Categorical {
        /// The categories with a place of their own, sorted.
        categories: Vec<String>,
        /// Categories that share a place, one list for each place, the rarest last; mostly empty.
        rare: Vec<Vec<String>>,
        /// Whether training rows missed this value: then "missing" is a category like any other.
        missing: bool,
        /// The shapes of its values, sorted, if a new value by itself tells little.
        shapes: Vec<String>,
        /// What its codes begin with, where that is one of a few; the most common first.
        leads: Vec<String>,
    },
    /// A number.
    Numeric {
        /// How it is written.
        format: NumberFormat,
        /// Its location and scale.
        scale: Scale,
        /// Whether training rows missed this value.
        missing: bool,
        /// Whether training rows had something there that is not a number.
        stray: bool,
        /// The decimals that nearly all of its numbers have at the most.
        decimals: u8,
        /// The currencies and other marks beside its digits; the most common first, none where no cell has one.
        marks: Vec<String>,
    },
    /// A date, a time, or both.
    Date {
        /// How it is written.
        format: DateFormat,
        /// What of it is looked at: the hour, the weekday and so on.
        parts: Vec<PartOfDate>,
        /// Dates before the first of these or after the second are far outside; in seconds since 1970.
        range: [f64; 2],
        /// The first and the last date, but for a few at each end.
        seen: [f64; 2],
        /// The scale of the date itself, where it is scored.
        scale: Option<Scale>,
        /// Whether its age is scored instead of the date itself. Dates of birth grow later with every year, ages do
        /// not.
        by_age: bool,
        /// Times of day that repeat, as written and sorted: each is a category.
        times: Vec<String>,
        /// Whether training rows missed this value.
        missing: bool,
        /// Whether training rows had something there that is not a date.
        stray: bool,
    },
    /// A key, which tells rows apart. Its value is not scored; that it repeats, or has an odd shape, is.
    Identifier {
        /// The shapes of its values, sorted; none if they are too many to tell anything.
        shapes: Vec<String>,
        /// Whether the number of digits is left out of a shape.
        loose: bool,
        /// Whether letters from a to f are digits in a shape.
        hex: bool,
        /// Whether training rows missed this value.
        missing: bool,
        /// Whether training rows had a value twice.
        repeats: bool,
        /// Whether values repeat as often as they would by chance, so that a repeated one tells nothing.
        by_chance: bool,
        /// The place of the most common shape, which stands for that of a missing key.
        usual: u32,
        /// What its values begin with, where that is one of a few; the most common first.
        leads: Vec<String>,
    },
    /// Free text, of which only the length is looked at.
    Text {
        /// The scale of the number of characters.
        length: Scale,
        /// Whether training rows missed this value.
        missing: bool,
    },
    /// Not used.
    Ignored,
}

/// A part of a date that is a category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartOfDate {
    /// Which one.
    pub part: DatePart,
    /// The values that training rows had, ascending.
    pub values: Vec<u32>,
    /// The place of the most common one, which stands for the part of a missing date.
    pub usual: u32,
}

/// Parts of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DatePart {
    /// 0 to 23.
    Hour,
    /// 0 for Monday to 6 for Sunday.
    Weekday,
    /// 1 to 31.
    Day,
    /// 1 to 12.
    Month,
}

/// How long one date is after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// The column that is named: mostly the later date.
    pub of: usize,
    /// The column it is compared with.
    pub from: usize,
    /// The scale of the difference in seconds; `None` if it only counts whether the date is before or after.
    pub scale: Option<Scale>,
    /// Whether training rows had this date before the other, at the same time, and after it.
    pub seen: [bool; 3],
    /// The most common of these three.
    pub usual: u32,
}

impl Schema {
    /// Learns from these rows of a table.
    pub fn learn(table: &Table, rows: &[usize], choices: &ColumnChoices) -> Result<Self> {
        Self::learn_surveyed(table, rows, choices, None)
    }

    /// What the columns are, even if there is none to learn from.
    pub fn look(table: &Table, rows: &[usize], choices: &ColumnChoices) -> Result<Self> {
        Self::learn_all(&marked(table, choices.missing.as_deref()), rows, choices, None, false)
    }

    /// Learns from these rows of a table, and from a survey of all rows that they were chosen from.
    pub(crate) fn learn_surveyed(
        table: &Table,
        rows: &[usize],
        choices: &ColumnChoices,
        survey: Option<&Survey>,
    ) -> Result<Self> {
        Self::learn_all(table, rows, choices, survey, true)
    }

    fn learn_all(
        table: &Table,
        rows: &[usize],
        choices: &ColumnChoices,
        survey: Option<&Survey>,
        must_score: bool,
    ) -> Result<Self> {
        if let Some(name) = choices.columns.keys().chain(&choices.label).find(|name| table.column(name).is_none()) {
            return Err(no_such_column(table, name));
        }
        let used = table.columns.iter().filter(|column| Some(&column.name) != choices.label.as_ref());
        let learn = |column: &Column, elsewhere| learn_one(table, column, rows, choices, survey, elsewhere);
        let mut learned: Vec<(&Column, (ColumnSchema, Written))> =
            used.map(|column| Ok((column, learn(column, None)?))).collect::<Result<_>>()?;
        // One column may not tell whether `1.508` is a decimal number; the others do.
        let numbers = learned.iter().filter(|(_, (schema, _))| matches!(schema.kind, Kind::Numeric { .. }));
        let decimal_comma = common(numbers.map(|(_, (_, written))| written));
        for (column, known) in learned.iter_mut().filter(|(_, (_, written))| written.depends(decimal_comma)) {
            *known = learn(column, decimal_comma)?;
        }
        let mut columns: Vec<ColumnSchema> = learned.into_iter().map(|(_, (schema, _))| schema).collect();
        let is_scored =
            |column: &ColumnSchema| !matches!(column.kind, Kind::Ignored | Kind::Identifier { .. } | Kind::Text { .. });
        if must_score && !columns.iter().any(is_scored) {
            let advice = match later_header(table) {
                Some(line) => format!("line {line} looks like the header; leave out the lines above it").into(),
                None => Advice::from("keep at least one with ")
                    .setting("categorical", None)
                    .and(", ")
                    .setting("numeric", None)
                    .and(" or ")
                    .setting("date", None),
            };
            return Err(Error::schema(format!("{} has no column to learn from", table.file), advice));
        }
        let differences = learn_differences(table, rows, &mut columns);
        let relations = learn_relations(table, rows, &columns);
        let missing = choices.missing.clone().unwrap_or_else(default_missing);
        Ok(Self { columns, differences, relations, missing })
    }

    /// The columns that are used.
    pub fn used(&self) -> impl Iterator<Item = &ColumnSchema> {
        self.columns.iter().filter(|column| column.kind != Kind::Ignored)
    }

    /// The kinds that were found, as choices a user may edit.
    pub fn choices(&self, label: Option<&str>) -> ColumnChoices {
        let columns = self.columns.iter().map(|column| (column.name.clone(), column.kind.choice())).collect();
        ColumnChoices { label: label.map(str::to_owned), missing: Some(self.missing.clone()), columns }
    }

    /// Checks a schema that came from a file; says what is wrong.
    pub fn validate(&self) -> std::result::Result<(), String> {
        let mut names = std::collections::HashSet::new();
        for column in &self.columns {
            if !names.insert(&column.name) {
                return Err(format!("column `{}` occurs twice", column.name));
            }
            column.kind.validate().map_err(|problem| format!("column `{}` {problem}", column.name))?;
        }
        let is_date = |at: usize| self.columns.get(at).is_some_and(|column| matches!(column.kind, Kind::Date { .. }));
        for Difference { of, from, scale, seen, usual } in &self.differences {
            let has_usual = seen.get(*usual as usize) == Some(&true);
            if !is_date(*of)
                || !is_date(*from)
                || of == from
                || !scale.is_none_or(|scale| scale.is_usable())
                || !has_usual
            {
                return Err("a difference of dates is not usable".into());
            }
        }
        if !self.relations.iter().all(|relation| relation.is_usable(&self.columns)) {
            return Err("a relation of numbers is not usable".into());
        }
        if self.used().next().is_none() {
            return Err("no column is used".into());
        }
        Ok(())
    }
}

/// The line of the header, if a title stands above it. Such a file is read as one column, and most of its cells, the
/// last one too, have as many commas as the header.
fn later_header(table: &Table) -> Option<u64> {
    let [Column { values, .. }] = table.columns.as_slice() else { return None };
    let in_row = |row: usize, mark: char| values.text(row).map_or(0, |text| text.matches(mark).count());
    [',', ';', '\t', '|'].into_iter().find_map(|mark| {
        let marks: Vec<usize> = (0..table.n_rows()).map(|row| in_row(row, mark)).collect();
        let usual = *marks.last().filter(|n| **n > 0)?;
        let is_usual = |n: &&usize| **n == usual;
        let mostly = 2 * marks.iter().filter(is_usual).count() > marks.len();
        let first = marks.iter().position(|n| *n == usual).filter(|_| mostly)?;
        table.lines.get(first).copied()
    })
}

/// Learns a column: from each distinct value with its count where a survey has them all, otherwise from the rows.
fn learn_one(
    table: &Table,
    column: &Column,
    rows: &[usize],
    choices: &ColumnChoices,
    survey: Option<&Survey>,
    elsewhere: Option<bool>,
) -> Result<(ColumnSchema, Written)> {
    let choice = choices.columns.get(&column.name).copied();
    match survey.and_then(|survey| survey.column(column)) {
        None => learn_column(table, CellsToLearn::all(column, rows), choice, elsewhere),
        Some(Surveyed::Beyond(beyond)) => {
            let cells = CellsToLearn { beyond: Some(beyond), ..CellsToLearn::all(column, rows) };
            learn_column(table, cells, choice, elsewhere)
        }
        Some(Surveyed::Whole(column, weights)) => {
            let rows: Vec<usize> = (0..weights.len()).collect();
            let cells = CellsToLearn { weights: Some(&weights), ..CellsToLearn::all(&column, &rows) };
            learn_column(table, cells, choice, elsewhere)
        }
    }
}

impl Kind {
    /// The name of the kind.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Categorical { .. } => "categorical",
            Self::Numeric { .. } => "numeric",
            Self::Date { format, .. } if format.is_time_of_day() => "time",
            Self::Date { .. } => "date",
            Self::Identifier { .. } => "identifier",
            Self::Text { .. } => "text",
            Self::Ignored => "ignored",
        }
    }

    /// What a user would say to have this kind.
    pub fn choice(&self) -> KindChoice {
        match self {
            Self::Categorical { .. } => KindChoice::Categorical,
            Self::Numeric { .. } => KindChoice::Numeric,
            Self::Date { format: DateFormat::DayFirst, .. } => KindChoice::DayFirst,
            Self::Date { format: DateFormat::MonthFirst, .. } => KindChoice::MonthFirst,
            Self::Date { .. } => KindChoice::Date,
            Self::Identifier { .. } => KindChoice::Identifier,
            Self::Text { .. } => KindChoice::Text,
            Self::Ignored => KindChoice::Ignore,
        }
    }

    fn validate(&self) -> std::result::Result<(), &'static str> {
        let is_sorted = |texts: &[String]| texts.windows(2).all(|pair| pair[0] < pair[1]);
        let differ =
            |texts: &[String]| texts.iter().collect::<std::collections::HashSet<&String>>().len() == texts.len();
        match self {
            Self::Categorical { categories, rare, missing, shapes, leads } => {
                if !differ(leads) {
                    return Err("begins twice with the same");
                }
                let all = || categories.iter().chain(rare.iter().flatten());
                let distinct: std::collections::HashSet<&String> = all().collect();
                if distinct.len() != all().count() || !is_sorted(shapes) || rare.iter().any(Vec::is_empty) {
                    return Err("has a category twice");
                }
                if categories.is_empty() && !missing {
                    return Err("has no category");
                }
            }
            Self::Numeric { marks, .. } if !differ(marks) => return Err("has a mark twice"),
            Self::Numeric { scale, .. } | Self::Text { length: scale, .. } => {
                if !scale.is_usable() {
                    return Err("has no usable scale");
                }
            }
            Self::Date { parts, range, scale, times, .. } => {
                let in_order = |part: &PartOfDate| part.values.windows(2).all(|pair| pair[0] < pair[1]);
                let has_usual = |part: &PartOfDate| (part.usual as usize) < part.values.len();
                let usable = parts.iter().all(|part| in_order(part) && has_usual(part));
                if !usable
                    || range[0].is_nan()
                    || range[1].is_nan()
                    || range[0] > range[1]
                    || !scale.is_none_or(|scale| scale.is_usable())
                    || !is_sorted(times)
                {
                    return Err("has no usable dates");
                }
            }
            Self::Identifier { shapes, leads, usual, .. } => {
                if !is_sorted(shapes) || !differ(leads) || *usual as usize >= shapes.len().max(1) {
                    return Err("has a shape twice");
                }
            }
            Self::Ignored => {}
        }
        Ok(())
    }
}

/// The error for a column that was named and is not there.
pub(crate) fn no_such_column(table: &Table, name: &str) -> Error {
    let names = list(table.columns.iter().map(|column| column.name.as_str()), 20);
    Error::schema(format!("{} has no column `{name}`", table.file), format!("its columns are {names}"))
}

/// `1 row`, `2 rows`.
pub(crate) fn plural(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Names for a message: `a`, `b`, `c` and 17 more.
pub(crate) fn list<'a>(names: impl Iterator<Item = &'a str>, most: usize) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names.iter().take(most).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > most { format!("{shown} and {} more", names.len() - most) } else { shown }
}

/// The text under which a number is a category: `3`, not `3.0`.
pub(crate) fn number_text(value: f64) -> String {
    format!("{value}")
}

impl Values {
    /// A cell as text; `None` where it is missing.
    pub fn text(&self, row: usize) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(cells) => (!cells.is_missing(row)).then(|| cells.get(row).into()),
            Self::Category { codes, names } => names.get(codes[row] as usize).map(|name| name.as_str().into()),
            Self::Number { values, .. } => {
                Some(values[row]).filter(|v| !v.is_nan()).map(|v| number_text(v + 0.0).into())
            }
            Self::Time { seconds, kind } => Some(seconds[row]).filter(|v| !v.is_nan()).map(|v| kind.text(v).into()),
            Self::Unsupported { .. } => None,
        }
    }
}
