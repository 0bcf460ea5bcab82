//! What can be said of a table before anything is learned from it: facts that are cheap, each with its count and its rows.
//!
//! | fact | what is counted |
//! |---|---|
//! | empty rows, repeated rows | rows in which nothing stands; rows that are as an earlier one in every column, or in every column but a row number |
//! | repeated keys | rows whose key another row has too |
//! | codes for missing | cells of a number or a text that can only mean "no value": -200 far below all others, 9999-12-31, `.` |
//! | strays | cells of a column of numbers, or dates, that are none |
//! | numbers as text | cells whose numbers other programs take for text: with marks between thousands, a currency, a unit |
//! | mixed units | cells in another unit, or currency, than most |
//! | spellings | cells that differ from a more common value in case and blanks alone |
//! | dates out of time | dates after today, or before 1900, where most are not |
//! | times | columns whose numbers are hours and minutes |
//! | copies, functions | columns that another one gives: the same texts, or one value for each of its values |
//! | constants, empty columns | columns with one value in all rows, or none |
//!
//! All comes from the table that is at hand: its cells are numbered once (`coded`), and every fact is a walk over the numbers or
//! over the distinct values, in time linear in the cells. Where a table does not fit into memory, that is the rows that were chosen.

mod codes;
mod coded;
mod dates;
mod functions;
mod rows;
mod values;

use rayon::prelude::*;
use serde::Serialize;

use self::coded::Coded;
use crate::columns::{ColumnChoices, KindChoice, Schema, marked_for};
use crate::table::{Table, default_missing};

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactKind {
    /// Rows in which nothing stands.
    EmptyRows,
    /// Rows that are as an earlier one.
    RepeatedRows,
    /// Rows whose key another one has.
    RepeatedKeys,
    /// A number or a text that means "no value".
    MissingCode,
    /// Cells of another kind than their column.
    Strays,
    /// Numbers that other programs take for text.
    NumbersAsText,
    /// Amounts in several units or currencies.
    MixedUnits,
    /// Values that differ in case and blanks alone.
    Spellings,
    /// Dates after today.
    FutureDates,
    /// Dates before 1900.
    OldDates,
    /// Hours and minutes in one number.
    Times,
    /// A column with the texts of another one.
    Copies,
    /// Columns that another one gives.
    Functions,
    /// Columns with one value.
    Constants,
    /// Columns without any value.
    EmptyColumns,
}

/// What the user may do about a fact, and [`take`] does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// Take this text for missing.
    Missing(String),
    /// Take these columns for times.
    Times(Vec<String>),
}

/// Something that holds in a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Fact {
    /// What it is about.
    pub kind: FactKind,
    /// The columns that it is about; none where it is about whole rows.
    pub columns: Vec<String>,
    /// How many rows, cells or columns it is about, as `text` says.
    pub count: u64,
    /// In words.
    pub text: String,
    /// The first of the rows that show it, from 0; none where all rows do.
    pub rows: Vec<u64>,
    /// What may be done about it.
    pub advice: Option<Advice>,
}

/// The facts of a table whose columns are known. `now` is the present in seconds since 1970; of each fact, the first
/// `most_rows` rows are given.
pub fn find(table: &Table, schema: &Schema, now: f64, most_rows: usize) -> Vec<Fact> {
    let table = &*marked_for(table, schema);
    let pairs = schema.columns.par_iter().filter_map(|column| Some((column, table.column(&column.name)?)));
    let columns: Vec<Coded<'_>> = pairs.map(|(schema, column)| Coded::of(schema, &column.values)).collect();
    let view = View { columns: &columns, n_rows: table.n_rows(), most_rows };
    let mut facts = rows::facts(&view);
    facts.extend(values::keys(&view));
    facts.extend(codes::facts(&view));
    facts.extend(values::facts(&view));
    facts.extend(dates::facts(&view, now));
    facts.extend(functions::facts(&view));
    facts.extend(values::constants(&view));
    facts
}

/// Takes the advice of facts: codes for missing values, columns of times. Says how many were taken. What was chosen before
/// stays.
pub fn take(facts: &[Fact], choices: &mut ColumnChoices) -> usize {
    let mut taken = 0;
    for advice in facts.iter().filter_map(|fact| fact.advice.as_ref()) {
        match advice {
            Advice::Missing(text) => {
                let texts = choices.missing.get_or_insert_with(default_missing);
                if !texts.contains(text) {
                    texts.push(text.clone());
                    taken += 1;
                }
            }
            Advice::Times(columns) => {
                for column in columns {
                    if !choices.columns.contains_key(column) {
                        choices.columns.insert(column.clone(), KindChoice::Date);
                        taken += 1;
                    }
                }
            }
        }
    }
    taken
}

/// The columns of a table, numbered.
struct View<'a> {
    columns: &'a [Coded<'a>],
    n_rows: usize,
    most_rows: usize,
}

impl View<'_> {
    /// The first rows of those that a test holds for.
    fn rows(&self, test: impl Fn(usize) -> bool) -> Vec<u64> {
        (0..self.n_rows).filter(|row| test(*row)).take(self.most_rows).map(|row| row as u64).collect()
    }

    /// The first rows in which one of some columns has one of its values: those with a mark at their number.
    fn rows_with(&self, marked: &[(&Coded<'_>, Vec<bool>)]) -> Vec<u64> {
        let has = |row: usize, (column, marks): &(&Coded<'_>, Vec<bool>)| {
            marks.get(column.codes[row] as usize).copied().unwrap_or(false)
        };
        self.rows(|row| marked.iter().any(|column| has(row, column)))
    }
}

/// A count as people write it: `8,530`.
fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 row`, `8,530 rows`.
fn counted(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A value in a sentence: in marks, plain, and not too long.
fn quoted(text: &str) -> String {
    const MOST: usize = 40;
    let start: String = text.chars().take(MOST).map(|c| if c.is_control() { '␣' } else { c }).collect();
    if text.chars().nth(MOST).is_some() { format!("`{start}…`") } else { format!("`{start}`") }
}

/// Values, or names of columns, in a sentence: the first of them.
fn listed<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 5;
    let texts: Vec<&str> = texts.into_iter().collect();
    let shown: Vec<String> = texts.iter().take(MOST).map(|text| quoted(text)).collect();
    let more = texts.len().saturating_sub(MOST);
    if more > 0 { format!("{} and {} more", shown.join(", "), count(more)) } else { shown.join(", ") }
}

#[cfg(test)]
mod tests;
