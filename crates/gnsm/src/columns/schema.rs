//! Column names, kinds and categories, learned from training rows.
//!
//! # How a column's kind is decided
//!
//! A flag or a schema file decides first. Otherwise:
//!
//! | the column holds | it becomes |
//! |---|---|
//! | declared categories (ARFF nominal, Parquet, Arrow and JSON strings, booleans) | categorical |
//! | declared real numbers | numeric |
//! | whole numbers, declared or as text, with at most 20 distinct values | categorical: codes, flags, small counts |
//! | other numbers | numeric |
//! | any text that is not a number; `007` is not one, its zeros matter | categorical |
//! | text with over 100 distinct values, more than half of the rows' | ignored: an identifier or free text |
//! | whole numbers that are all different and leave no gap | ignored: a row number |
//! | one single number everywhere | categorical with one category, so that any change is noticed |
//! | nothing but missing values | categorical with the category "missing" |
//!
//! Whatever is decided is kept with its reason and can be reported. A categorical column with over 500
//! categories keeps the 500 most common ones; the rest share one place, "(rare)", and a category that was
//! never seen is still told from a rare one.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::table::{Column, MISSING, Table, Values, is_missing};

/// Whole numbers with at most this many distinct values are taken for categories.
pub const FEW_INTEGERS: usize = 20;
/// Categories of a column that get a place of their own.
pub const MOST_CATEGORIES: usize = 500;
/// Text with more distinct values than this, and than half of its rows, is an identifier.
const IDENTIFIER_FROM: usize = 100;

/// What the user said about the columns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ColumnChoices {
    /// The column that holds labels; it is never learned from.
    pub label: Option<String>,
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
    /// Not used.
    Ignore,
}

impl ColumnChoices {
    /// Reads a schema file's text:
    ///
    /// ```
    /// let choices = gnsm::schema::ColumnChoices::from_toml(
    ///     "label = \"fraud\"\n[columns]\nzip = \"categorical\"\namount = \"numeric\"\nid = \"ignore\"\n",
    /// )?;
    /// assert_eq!(choices.columns.len(), 3);
    /// # Ok::<(), gnsm::Error>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| {
            Error::schema(
                format!("the schema file is not valid: {}", error.to_string().trim_end()),
                "it holds `label = \"NAME\"` and, under `[columns]`, lines `NAME = \"categorical\" | \"numeric\" | \"ignore\"`",
            )
        })
    }

    /// Adds a choice; two different ones for a column are an error.
    pub fn choose(&mut self, column: &str, kind: KindChoice) -> Result<()> {
        match self.columns.insert(column.to_owned(), kind) {
            Some(earlier) if earlier != kind => Err(Error::schema(
                format!("column `{column}` was given two kinds"),
                "name it in one of --categorical, --numeric, --ignore or the schema file only",
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
        /// The categories that share one place, sorted; mostly empty.
        rare: Vec<String>,
        /// Whether training rows missed this value: then "missing" is a category like any other.
        missing: bool,
    },
    /// A number.
    Numeric {
        /// Mean of the training rows.
        mean: f64,
        /// Their standard deviation; 1 where they are all equal.
        scale: f64,
        /// Whether training rows missed this value.
        missing: bool,
    },
    /// Not used.
    Ignored,
}

impl Schema {
    /// Learns from these rows of a table.
    pub fn learn(table: &Table, rows: &[usize], choices: &ColumnChoices) -> Result<Self> {
        if let Some(name) = choices.columns.keys().chain(&choices.label).find(|name| table.column(name).is_none()) {
            return Err(no_such_column(table, name));
        }
        let columns: Vec<ColumnSchema> = table
            .columns
            .iter()
            .filter(|column| Some(&column.name) != choices.label.as_ref())
            .map(|column| learn_column(table, column, rows, choices.columns.get(&column.name).copied()))
            .collect::<Result<_>>()?;
        if columns.iter().all(|column| column.kind == Kind::Ignored) {
            return Err(Error::schema(
                format!("{} has no column to learn from", table.file),
                "keep at least one with --categorical or --numeric",
            ));
        }
        Ok(Self { columns })
    }

    /// The columns that are used.
    pub fn used(&self) -> impl Iterator<Item = &ColumnSchema> {
        self.columns.iter().filter(|column| column.kind != Kind::Ignored)
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

/// A number as people write it in a table; `007` and `1_000` are not numbers.
pub fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let leading_zero = digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
    if leading_zero || text.to_ascii_lowercase().contains("nan") {
        return None;
    }
    text.parse().ok()
}

/// The text under which a number is a category: `3`, not `3.0`.
pub(crate) fn number_text(value: f64) -> String {
    format!("{value}")
}

/// What the cells of a column are, counted.
struct Counted {
    /// Each distinct value as text, with its count.
    counts: HashMap<String, usize>,
    present: usize,
    missing: usize,
    /// Whether every value is a number, and every one a whole number.
    numbers: bool,
    integers: bool,
    /// Whether the format declared the type.
    declared: bool,
}

fn count(column: &Column, rows: &[usize]) -> Counted {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut missing = 0;
    let declared = match &column.values {
        Values::Text(cells) => {
            for &row in rows {
                let text = cells.get(row);
                if is_missing(text) {
                    missing += 1;
                } else if let Some(count) = counts.get_mut(text) {
                    *count += 1;
                } else {
                    counts.insert(text.to_owned(), 1);
                }
            }
            false
        }
        Values::Category { codes, names } => {
            let mut by_code = vec![0usize; names.len()];
            for &row in rows {
                match codes[row] {
                    MISSING => missing += 1,
                    code => by_code[code as usize] += 1,
                }
            }
            for (name, count) in names.iter().zip(by_code).filter(|(_, count)| *count > 0) {
                *counts.entry(name.clone()).or_default() += count;
            }
            true
        }
        Values::Number { values, .. } => {
            let mut by_bits: HashMap<u64, usize> = HashMap::new();
            for &row in rows {
                if values[row].is_nan() {
                    missing += 1;
                } else {
                    *by_bits.entry((values[row] + 0.0).to_bits()).or_default() += 1;
                }
            }
            counts.extend(by_bits.into_iter().map(|(bits, count)| (number_text(f64::from_bits(bits)), count)));
            true
        }
        Values::Unsupported { .. } => true,
    };
    let parsed = |text: &String| parse_number(text);
    let typed_number = matches!(column.values, Values::Number { .. });
    let numbers = !counts.is_empty() && (typed_number || counts.keys().all(|text| parsed(text).is_some()));
    let whole = |text: &String| parsed(text).is_some_and(|n| n.fract() == 0.0 && n.abs() < 1e15 && !text.contains('.'));
    Counted {
        integers: numbers && counts.keys().all(whole),
        numbers,
        present: rows.len() - missing,
        missing,
        declared,
        counts,
    }
}

fn learn_column(table: &Table, column: &Column, rows: &[usize], choice: Option<KindChoice>) -> Result<ColumnSchema> {
    let schema = |kind, reason: String| Ok(ColumnSchema { name: column.name.clone(), kind, reason });
    if choice == Some(KindChoice::Ignore) {
        return schema(Kind::Ignored, "as asked".into());
    }
    if let Values::Unsupported { type_name, .. } = &column.values {
        return Err(Error::data(
            table.place(0, &column.name),
            format!("a column of type {type_name} cannot be scored"),
            format!("leave it out with --ignore {}", column.name),
        ));
    }
    let counted = count(column, rows);
    let distinct = counted.counts.len();
    let values = plural(distinct, "distinct value");
    match choice {
        Some(KindChoice::Categorical) => return schema(categorical(counted), "as asked".into()),
        Some(KindChoice::Numeric) => {
            let kind = numeric(table, column, rows, &counted)?;
            return schema(kind, "as asked".into());
        }
        Some(KindChoice::Ignore) | None => {}
    }
    let integer_type = matches!(column.values, Values::Number { integer: true, .. });
    let open_integers = counted.integers && (integer_type || !counted.declared);
    if distinct == 0 {
        return schema(categorical(counted), "every value is missing".into());
    }
    let takes_numbers = counted.numbers && !matches!(column.values, Values::Category { .. });
    if takes_numbers && distinct == 1 {
        return schema(categorical(counted), "one single number".into());
    }
    if open_integers && distinct == counted.present && distinct > FEW_INTEGERS && leaves_no_gap(&counted) {
        return schema(Kind::Ignored, format!("a row number: {distinct} whole numbers without a gap"));
    }
    if open_integers && distinct <= FEW_INTEGERS {
        return schema(categorical(counted), format!("whole numbers with {values}"));
    }
    if takes_numbers {
        let kind = numeric(table, column, rows, &counted)?;
        return schema(kind, format!("numbers with {values}"));
    }
    if distinct > IDENTIFIER_FROM && 2 * distinct > counted.present {
        let reason = format!("an identifier or free text: {values} in {} rows", counted.present);
        return schema(Kind::Ignored, reason);
    }
    let reason = if counted.declared { "declared categories" } else { "text" };
    schema(categorical(counted), format!("{reason} with {values}"))
}

fn leaves_no_gap(counted: &Counted) -> bool {
    let numbers: HashSet<i64> = counted.counts.keys().filter_map(|text| text.trim().parse().ok()).collect();
    match (numbers.iter().min(), numbers.iter().max()) {
        (Some(low), Some(high)) => {
            numbers.len() == counted.counts.len() && high.abs_diff(*low) + 1 == numbers.len() as u64
        }
        _ => false,
    }
}

fn categorical(counted: Counted) -> Kind {
    let mut by_count: Vec<(String, usize)> = counted.counts.into_iter().collect();
    by_count.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
    let names = |part: &[(String, usize)]| {
        let mut names: Vec<String> = part.iter().map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    };
    let common = by_count.len().min(MOST_CATEGORIES);
    Kind::Categorical {
        categories: names(&by_count[..common]),
        rare: names(&by_count[common..]),
        missing: counted.missing > 0,
    }
}

fn numeric(table: &Table, column: &Column, rows: &[usize], counted: &Counted) -> Result<Kind> {
    let mut finite: Vec<(f64, usize)> = Vec::with_capacity(counted.counts.len());
    for (text, count) in &counted.counts {
        match parse_number(text) {
            Some(number) if number.is_finite() => finite.push((number, *count)),
            Some(_) => {}
            // The first such cell of the file, whichever came up here.
            None => {
                let is_bad = |row: &usize| column.values.text(*row).is_some_and(|text| parse_number(&text).is_none());
                let row = rows.iter().copied().filter(is_bad).min().unwrap_or(0);
                return Err(not_a_number(table, column, row, &column.values.text(row).unwrap_or_default()));
            }
        }
    }
    // Sorted so that the sums do not depend on a hash map's order.
    finite.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n: f64 = finite.iter().map(|(_, count)| *count as f64).sum();
    let mean = finite.iter().map(|(value, count)| value / n * *count as f64).sum::<f64>();
    let variance = finite.iter().map(|(value, count)| (value - mean).powi(2) / n * *count as f64).sum::<f64>();
    let scale = variance.sqrt();
    Ok(Kind::Numeric {
        mean: if mean.is_finite() { mean } else { 0.0 },
        scale: if scale.is_finite() && scale > 0.0 { scale } else { 1.0 },
        missing: counted.missing > 0,
    })
}

/// The error for text in a numeric column.
pub(crate) fn not_a_number(table: &Table, column: &Column, row: usize, text: &str) -> Error {
    Error::data(
        table.place(row, &column.name),
        format!("`{text}` is not a number"),
        format!("correct the cell, leave it empty, or fit with --categorical {}", column.name),
    )
}

impl Values {
    /// A cell as text; `None` where it is missing.
    pub fn text(&self, row: usize) -> Option<std::borrow::Cow<'_, str>> {
        match self {
            Self::Text(cells) => Some(cells.get(row)).filter(|text| !is_missing(text)).map(Into::into),
            Self::Category { codes, names } => names.get(codes[row] as usize).map(|name| name.as_str().into()),
            Self::Number { values, .. } => {
                Some(values[row]).filter(|v| !v.is_nan()).map(|v| number_text(v + 0.0).into())
            }
            Self::Unsupported { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TextCells;

    fn text_column(cells: &[&str]) -> Table {
        let mut text = TextCells::default();
        for cell in cells {
            text.push(cell);
        }
        let columns = vec![Column { name: "c".into(), values: Values::Text(text) }];
        Table { file: "f".into(), columns, lines: (2..2 + cells.len() as u64).collect(), rows_may_omit_columns: false }
    }

    fn kind_of(cells: &[&str]) -> (Kind, String) {
        let table = text_column(cells);
        let rows: Vec<usize> = (0..cells.len()).collect();
        let schema = learn_column(&table, &table.columns[0], &rows, None).expect("a kind");
        (schema.kind, schema.reason)
    }

    #[test]
    fn few_whole_numbers_are_categories_and_many_are_numbers() {
        assert!(matches!(kind_of(&["1", "2", "1", ""]).0, Kind::Categorical { missing: true, .. }));
        let many: Vec<String> = (0..40).map(|i| (i * i).to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(matches!(kind_of(&many).0, Kind::Numeric { .. }));
        assert!(matches!(kind_of(&["1.5", "2.5", "1.0"]).0, Kind::Numeric { .. }));
        assert!(matches!(kind_of(&["007", "12", "3"]).0, Kind::Categorical { .. }));
    }

    #[test]
    fn identifiers_and_row_numbers_are_ignored_with_a_reason() {
        let names: Vec<String> = (0..300).map(|i| format!("user{i}")).collect();
        let (kind, reason) = kind_of(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(kind, Kind::Ignored);
        assert_eq!(reason, "an identifier or free text: 300 distinct values in 300 rows");
        let numbers: Vec<String> = (1000..1300).map(|i| i.to_string()).collect();
        assert_eq!(kind_of(&numbers.iter().map(String::as_str).collect::<Vec<_>>()).0, Kind::Ignored);
    }

    #[test]
    fn a_constant_number_is_watched_as_a_category() {
        assert!(matches!(kind_of(&["2.5", "2.5"]).0, Kind::Categorical { .. }));
        let (kind, reason) = kind_of(&["", "NA"]);
        assert_eq!(kind, Kind::Categorical { categories: vec![], rare: vec![], missing: true });
        assert_eq!(reason, "every value is missing");
    }

    #[test]
    fn infinities_do_not_spoil_the_scale() {
        let cells = ["1.5", "2.5", "inf", "-inf", "3.5"];
        let Kind::Numeric { mean, scale, .. } = kind_of(&cells).0 else { panic!("numeric") };
        assert!((mean - 2.5).abs() < 1e-12 && (scale - (2.0f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn forcing_text_to_be_numeric_names_the_cell() {
        let table = text_column(&["1", "x", "2"]);
        let error = learn_column(&table, &table.columns[0], &[0, 1, 2], Some(KindChoice::Numeric)).expect_err("text");
        assert_eq!(
            error.to_string(),
            "f, line 3, column `c`: `x` is not a number; correct the cell, leave it empty, or fit with --categorical c"
        );
    }
}
