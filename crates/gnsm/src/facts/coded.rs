//! The cells of a column as numbers: each distinct value has one, in the order in which rows have it first.

use std::collections::HashMap;

use crate::columns::{ColumnSchema, Kind};
use crate::error::stop_point;
use crate::table::{MISSING, Values};

/// A column with its values numbered.
pub(super) struct Coded<'a> {
    pub schema: &'a ColumnSchema,
    pub values: &'a Values,
    /// For each row the number of its value, or [`MISSING`].
    pub codes: Vec<u32>,
    /// For each value the first row that has it.
    first: Vec<u32>,
    /// For each value how many rows have it.
    pub counts: Vec<usize>,
}

impl<'a> Coded<'a> {
    /// Numbers the cells of a column.
    pub fn of(schema: &'a ColumnSchema, values: &'a Values) -> Self {
        let mut coded =
            Self { schema, values, codes: Vec::with_capacity(values.len()), first: Vec::new(), counts: Vec::new() };
        match values {
            Values::Text(cells) => {
                let mut numbers: HashMap<&str, u32> = HashMap::new();
                for row in 0..cells.len() {
                    stop_point();
                    if cells.is_missing(row) {
                        coded.codes.push(MISSING);
                    } else {
                        let next = coded.first.len() as u32;
                        coded.push(row, *numbers.entry(cells.get(row)).or_insert(next));
                    }
                }
            }
            Values::Category { codes, names } => {
                let mut numbers = vec![MISSING; names.len()];
                for (row, code) in codes.iter().enumerate() {
                    match numbers.get_mut(*code as usize) {
                        None => coded.codes.push(MISSING),
                        Some(number) => {
                            if *number == MISSING {
                                *number = coded.first.len() as u32;
                            }
                            coded.push(row, *number);
                        }
                    }
                }
            }
            Values::Number { values, .. } | Values::Time { seconds: values, .. } => {
                let mut numbers: HashMap<u64, u32> = HashMap::new();
                for (row, value) in values.iter().enumerate() {
                    stop_point();
                    if value.is_nan() {
                        coded.codes.push(MISSING);
                    } else {
                        let next = coded.first.len() as u32;
                        coded.push(row, *numbers.entry((value + 0.0).to_bits()).or_insert(next));
                    }
                }
            }
            Values::Unsupported { n_rows, .. } => coded.codes = vec![MISSING; *n_rows],
        }
        coded
    }

    fn push(&mut self, row: usize, code: u32) {
        if code as usize == self.first.len() {
            self.first.push(row as u32);
            self.counts.push(0);
        }
        self.codes.push(code);
        self.counts[code as usize] += 1;
    }

    pub fn name(&self) -> &'a str {
        &self.schema.name
    }

    pub fn is_used(&self) -> bool {
        self.schema.kind != Kind::Ignored
    }

    pub fn distinct(&self) -> usize {
        self.first.len()
    }

    pub fn present(&self) -> usize {
        self.counts.iter().sum()
    }

    /// The text of a value.
    pub fn text(&self, code: usize) -> std::borrow::Cow<'a, str> {
        self.first.get(code).and_then(|row| self.values.text(*row as usize)).unwrap_or_default()
    }

    /// The texts of all values, by their numbers.
    pub fn texts(&self) -> impl Iterator<Item = std::borrow::Cow<'a, str>> {
        (0..self.distinct()).map(|code| self.text(code))
    }

    /// The number of each value, where the column is one of numbers; `None` for what is none.
    pub fn numbers(&self) -> Option<Vec<Option<f64>>> {
        let Kind::Numeric { format, .. } = &self.schema.kind else { return None };
        Some(match self.values {
            Values::Number { values, .. } | Values::Time { seconds: values, .. } => {
                self.first.iter().map(|row| values.get(*row as usize).copied()).collect()
            }
            _ => self.texts().map(|text| format.parse(&text)).collect(),
        })
    }

    /// The seconds since 1970 of each value, where the column is one of dates; `None` for what is none.
    pub fn dates(&self) -> Option<Vec<Option<f64>>> {
        let Kind::Date { format, .. } = &self.schema.kind else { return None };
        if format.is_time_of_day() {
            return None;
        }
        Some(match self.values {
            Values::Time { seconds, .. } => self.first.iter().map(|row| seconds.get(*row as usize).copied()).collect(),
            Values::Number { values, .. } => {
                let number = |row: &u32| values.get(*row as usize).copied();
                self.first.iter().map(|row| Some(format.of_number(number(row)?)?.local)).collect()
            }
            _ => self.texts().map(|text| format.parse(&text).map(|moment| moment.local)).collect(),
        })
    }
}
