//! Columns of the input that are passed through to the output, with `--keep` and `--id`.

use std::collections::HashSet;

use anyhow::{Result, bail};
use gnsm::{Column, Table, Values};

use crate::display;

/// The word that stands for every column.
pub const ALL: &str = "all";

/// A cell that is passed through, as it was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// There is none.
    Missing,
    /// Text, with every blank that it had.
    Text(String),
    /// A number.
    Number(f64),
}

/// What a passed column is in a format with types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Text.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Integer,
}

/// One column that is passed through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptColumn {
    /// Its name in the input.
    pub name: String,
    /// Its name in the output.
    pub title: String,
    /// What it holds.
    pub kind: Type,
}

/// The columns that are passed through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// In the order of the output.
    pub columns: Vec<KeptColumn>,
    /// Whether the first of them names the rows, and stands before everything else.
    pub has_id: bool,
    /// Columns that `--keep all` asked for, but whose cells cannot be written.
    pub refused: Vec<String>,
    /// Whether all columns were asked for.
    pub is_all: bool,
}

impl Kept {
    /// Finds the columns in the first rows of a file. `taken` are the names that the output has anyway.
    pub fn find(table: &Table, keep: &[String], id: Option<&str>, taken: &[String]) -> Result<Self> {
        let is_all = keep.iter().any(|name| name == ALL);
        let mut names: Vec<&str> = id.into_iter().collect();
        if is_all {
            names.extend(table.columns.iter().map(|column| column.name.as_str()));
        } else {
            names.extend(keep.iter().map(String::as_str));
        }
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(*name));
        let mut titles: HashSet<String> = taken.iter().cloned().collect();
        let mut kept = Self { has_id: id.is_some(), is_all, ..Self::default() };
        for name in names {
            let column = table.column(name);
            if column.is_none() && !table.rows_may_omit_columns {
                let all: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
                bail!(
                    "{} has no column `{}` to keep; its columns are {}",
                    table.file,
                    display::plain(name),
                    display::names(&all)
                );
            }
            if let Some(Values::Unsupported { type_name, .. }) = column.map(|column| &column.values) {
                if !is_all || id == Some(name) {
                    bail!(
                        "column `{name}` of {} has the type {type_name} and cannot be kept; leave it out",
                        table.file
                    );
                }
                kept.refused.push(name.to_owned());
                continue;
            }
            let mut title = name.to_owned();
            while !titles.insert(title.clone()) {
                title = format!("input_{title}");
            }
            let kind = column.map_or(Type::Text, |column| type_of(column, table.rows_may_omit_columns));
            kept.columns.push(KeptColumn { name: name.to_owned(), title, kind });
        }
        Ok(kept)
    }

    /// The cells of a row.
    pub fn values(&self, table: &Table, row: usize) -> Vec<Value> {
        self.columns
            .iter()
            .map(|kept| table.column(&kept.name).map_or(Value::Missing, |column| value(&column.values, row)))
            .collect()
    }

    /// Columns of a later batch that are wanted and not known.
    pub fn overlooked(&self, table: &Table) -> Vec<String> {
        let is_known = |name: &str| {
            self.columns.iter().any(|kept| kept.name == name) || self.refused.iter().any(|refused| refused == name)
        };
        let columns = table.columns.iter().filter(|_| self.is_all);
        columns.filter(|column| !is_known(&column.name)).map(|column| column.name.clone()).collect()
    }

    /// Columns whose name in the output is another one, as pairs.
    pub fn renamed(&self) -> impl Iterator<Item = (&str, &str)> {
        let renamed = self.columns.iter().filter(|kept| kept.name != kept.title);
        renamed.map(|kept| (kept.name.as_str(), kept.title.as_str()))
    }
}

pub(super) fn type_of(column: &Column, types_may_change: bool) -> Type {
    match &column.values {
        Values::Number { integer: true, .. } if !types_may_change => Type::Integer,
        Values::Number { .. } => Type::Number,
        _ => Type::Text,
    }
}

pub(super) fn value(values: &Values, row: usize) -> Value {
    match values {
        // What means "missing" is text too, and stays as it is.
        Values::Text(cells) => Value::Text(cells.get(row).to_owned()),
        Values::Number { values, .. } if !values[row].is_nan() => Value::Number(values[row]),
        values => values.text(row).map_or(Value::Missing, |text| Value::Text(text.into_owned())),
    }
}

impl Value {
    /// The cell as text; empty where there is none.
    pub fn text(&self) -> String {
        match self {
            Self::Missing => String::new(),
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        }
    }

    /// The cell as JSON. Numbers that JSON cannot hold, such as NaN, are texts.
    pub fn json(&self) -> serde_json::Value {
        const WHOLE: f64 = 9_007_199_254_740_992.0;
        match self {
            Self::Missing => serde_json::Value::Null,
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) if number.fract() == 0.0 && number.abs() <= WHOLE => (*number as i64).into(),
            Self::Number(number) if number.is_finite() => (*number).into(),
            Self::Number(number) => number.to_string().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use gnsm::TextCells;

    use super::*;

    fn table() -> Table {
        let mut texts = TextCells::default();
        ["NA", " 007 "].iter().for_each(|text| texts.push(text));
        let column = |name: &str, values| Column { name: name.into(), values };
        Table {
            file: "t.csv".into(),
            columns: vec![
                column("id", Values::Text(texts)),
                column("score", Values::Number { values: vec![f64::NAN, 2.0], integer: true }),
                column("tags", Values::Unsupported { type_name: "List".into(), n_rows: 2 }),
            ],
            lines: vec![2, 3],
            rows_may_omit_columns: false,
            parts: Vec::new(),
        }
    }

    #[test]
    fn cells_pass_as_they_were_read() -> Result<()> {
        let kept = Kept::find(&table(), &["all".into()], None, &["score".into()])?;
        assert_eq!(kept.renamed().collect::<Vec<_>>(), [("score", "input_score")]);
        assert_eq!(kept.refused, ["tags"]);
        assert_eq!(kept.values(&table(), 0), [Value::Text("NA".into()), Value::Missing]);
        assert_eq!(kept.values(&table(), 1), [Value::Text(" 007 ".into()), Value::Number(2.0)]);
        assert_eq!(kept.columns[1].kind, Type::Integer);
        Ok(())
    }

    #[test]
    fn names_are_checked_and_come_once() -> Result<()> {
        let kept = Kept::find(&table(), &["id".into(), "id".into()], Some("score"), &[])?;
        assert_eq!(kept.columns.iter().map(|kept| kept.name.as_str()).collect::<Vec<_>>(), ["score", "id"]);
        let problem = |keep: &str| Kept::find(&table(), &[keep.into()], None, &[]).expect_err("refused").to_string();
        assert_eq!(problem("x"), "t.csv has no column `x` to keep; its columns are `id`, `score`, `tags`");
        assert!(problem("tags").contains("has the type List and cannot be kept"));
        Ok(())
    }

    #[test]
    fn json_has_numbers_where_it_can() {
        assert_eq!(Value::Number(12.0).json().to_string(), "12");
        assert_eq!(Value::Number(0.1).json().to_string(), "0.1");
        assert_eq!(Value::Number(f64::INFINITY).json().to_string(), "\"inf\"");
        assert_eq!(Value::Missing.json(), serde_json::Value::Null);
    }
}
