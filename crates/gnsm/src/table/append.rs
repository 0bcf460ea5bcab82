//! Puts batches of rows together.
//!
//! Columns are matched by name. Two batches of a JSON lines file, say, may disagree about the type of a column. The
//! result is then the same as if both had been read at once: numbers beside categories become text, a column of nothing
//! but missing cells takes the other's type, and one nested value makes the whole column unsupported.

use std::collections::HashMap;

use crate::error::Result;
use crate::table::categories::Categories;
use crate::table::{Column, MISSING, Table, TextCells, Values};

impl Table {
    /// Appends the rows of `other`. A column that only one of the two has is missing in the rows of the other one.
    pub fn append(&mut self, other: Self) -> Result<()> {
        let (n_before, n_added) = (self.n_rows(), other.n_rows());
        let index: HashMap<String, usize> = self.columns.iter().map(|column| column.name.clone()).zip(0..).collect();
        for column in other.columns {
            let i = index.get(&column.name).copied().unwrap_or(self.columns.len());
            if i == self.columns.len() {
                self.columns.push(Column { name: column.name, values: Values::missing(n_before) });
            }
            let values = std::mem::replace(&mut self.columns[i].values, Values::missing(0));
            self.columns[i].values = values.followed_by(column.values)?;
        }
        if other.file != self.last_file() || !other.parts.is_empty() {
            if self.parts.is_empty() {
                self.parts.push((0, self.file.clone()));
            }
            let more = if other.parts.is_empty() { vec![(0, other.file)] } else { other.parts };
            for (first, file) in more {
                if file != self.last_file() {
                    self.parts.push((n_before + first, file));
                }
            }
            let n = self.parts.len() - 1;
            self.file = match (n, &self.parts[0].1) {
                (0, file) => file.clone(),
                (n, file) => format!("{file} and {n} more file{}", if n == 1 { "" } else { "s" }),
            };
        }
        self.lines.extend(other.lines);
        self.rows_may_omit_columns |= other.rows_may_omit_columns;
        for column in &mut self.columns {
            if column.values.len() < n_before + n_added {
                let values = std::mem::replace(&mut column.values, Values::missing(0));
                column.values = values.followed_by(Values::missing(n_added))?;
            }
        }
        Ok(())
    }
}

impl Table {
    fn last_file(&self) -> &str {
        self.parts.last().map_or(&self.file, |(_, file)| file)
    }
}

impl Values {
    /// Whether a column has nothing but missing cells, so that its type is still open: categories without a name.
    pub(crate) fn missing(n_rows: usize) -> Self {
        Self::Category { codes: vec![MISSING; n_rows], names: Vec::new() }
    }

    /// Both, one after the other.
    pub(crate) fn followed_by(self, other: Self) -> Result<Self> {
        let n_rows = self.len() + other.len();
        Ok(match (self, other) {
            (Self::Unsupported { type_name, .. }, _) | (_, Self::Unsupported { type_name, .. }) => {
                Self::Unsupported { type_name, n_rows }
            }
            (Self::Text(mut cells), other) => {
                other.write_texts(&mut cells);
                Self::Text(cells)
            }
            (Self::Number { mut values, integer }, Self::Number { values: more, integer: also }) => {
                values.extend(more);
                Self::Number { values, integer: integer && also }
            }
            (Self::Number { mut values, integer }, Self::Category { codes, names }) if names.is_empty() => {
                values.extend(codes.iter().map(|_| f64::NAN));
                Self::Number { values, integer }
            }
            (Self::Category { codes, names }, Self::Number { values: more, integer }) if names.is_empty() => {
                let mut values = vec![f64::NAN; codes.len()];
                values.extend(more);
                Self::Number { values, integer }
            }
            (Self::Time { seconds: mut values, kind }, Self::Time { seconds: more, kind: also }) if kind == also => {
                values.extend(more);
                Self::Time { seconds: values, kind }
            }
            (Self::Time { seconds: mut values, kind }, Self::Category { codes, names }) if names.is_empty() => {
                values.extend(codes.iter().map(|_| f64::NAN));
                Self::Time { seconds: values, kind }
            }
            (Self::Category { codes, names }, Self::Time { seconds: more, kind }) if names.is_empty() => {
                let mut values = vec![f64::NAN; codes.len()];
                values.extend(more);
                Self::Time { seconds: values, kind }
            }
            (Self::Category { codes, names }, Self::Text(more)) if names.is_empty() => {
                let mut cells = TextCells { missing: more.missing.clone(), ..TextCells::default() };
                for _ in codes {
                    cells.push("");
                }
                Self::Text(more).write_texts(&mut cells);
                Self::Text(cells)
            }
            (Self::Category { mut codes, names }, Self::Category { codes: more, names: more_names }) => {
                if more_names.is_empty() || names == more_names {
                    codes.extend(more);
                    return Ok(Self::Category { codes, names });
                }
                let mut categories = Categories::of(names);
                let new_codes = more_names.iter().map(|name| categories.code(name)).collect::<Result<Vec<u32>>>()?;
                codes.extend(more.iter().map(|&code| if code == MISSING { MISSING } else { new_codes[code as usize] }));
                Self::Category { codes, names: categories.into_names() }
            }
            (this, other) => {
                let mut cells = TextCells::default();
                this.write_texts(&mut cells);
                other.write_texts(&mut cells);
                Self::Text(cells)
            }
        })
    }

    /// Appends each cell as text, missing as the empty one.
    fn write_texts(&self, cells: &mut TextCells) {
        match self {
            Self::Text(texts) => cells.append(texts),
            Self::Category { codes, names } => {
                for &code in codes {
                    cells.push(names.get(code as usize).map_or("", |name| name));
                }
            }
            Self::Number { values, .. } => values.iter().for_each(|&value| cells.push(&number_text(value))),
            Self::Time { seconds, kind } => {
                let text = |seconds: f64| if seconds.is_nan() { String::new() } else { kind.text(seconds) };
                seconds.iter().for_each(|&value| cells.push(&text(value)));
            }
            Self::Unsupported { n_rows, .. } => (0..*n_rows).for_each(|_| cells.push("")),
        }
    }
}

/// A number as text: the shortest that reads back the same, without an exponent; missing is empty.
pub(super) fn number_text(value: f64) -> String {
    if value.is_nan() { String::new() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, values: Values, first_line: u64) -> Table {
        let lines = (first_line..).take(values.len()).collect();
        Table {
            file: "f".into(),
            columns: vec![Column { name: name.into(), values }],
            lines,
            rows_may_omit_columns: false,
            parts: Vec::new(),
        }
    }

    fn category(codes: &[u32], names: &[&str]) -> Values {
        Values::Category { codes: codes.to_vec(), names: names.iter().map(|&n| n.to_owned()).collect() }
    }

    fn number(values: &[f64]) -> Values {
        Values::Number { values: values.to_vec(), integer: true }
    }

    fn text(cells: &[&str]) -> Values {
        let mut all = TextCells::default();
        for cell in cells {
            all.push(cell);
        }
        Values::Text(all)
    }

    #[test]
    fn categories_are_renumbered() {
        let together =
            category(&[0, MISSING, 1], &["a", "b"]).followed_by(category(&[0, 1, MISSING], &["c", "a"])).unwrap();
        assert_eq!(together, category(&[0, MISSING, 1, 2, 0, MISSING], &["a", "b", "c"]));
    }

    #[test]
    fn types_are_reconciled() {
        let after = |a: Values, b: Values| a.followed_by(b).unwrap();
        assert_eq!(after(number(&[1.0, f64::NAN]), category(&[0], &["x"])), text(&["1", "", "x"]));
        assert_eq!(after(category(&[0, MISSING], &["x"]), number(&[2.5])), text(&["x", "", "2.5"]));
        assert_eq!(after(text(&["x"]), number(&[1e21])), text(&["x", "1000000000000000000000"]));
        assert_eq!(after(number(&[3.0]), text(&["x"])), text(&["3", "x"]));
        assert_eq!(after(Values::missing(1), text(&["x"])), text(&["", "x"]));
        assert_eq!(after(text(&["x"]), Values::missing(1)), text(&["x", ""]));
        let Values::Number { values, integer: true } = after(Values::missing(1), number(&[3.0])) else { panic!() };
        assert!(values[0].is_nan() && values[1] == 3.0);
        let Values::Number { integer: false, .. } =
            after(number(&[3.0]), Values::Number { values: vec![0.5], integer: false })
        else {
            panic!()
        };
        let nested = Values::Unsupported { type_name: "list".into(), n_rows: 1 };
        assert_eq!(after(number(&[1.0, 2.0]), nested), Values::Unsupported { type_name: "list".into(), n_rows: 3 });
    }

    #[test]
    fn columns_are_united_by_name() {
        let mut all = table("a", text(&["x"]), 1);
        all.append(table("b", category(&[0], &["y"]), 2)).unwrap();
        all.append(table("a", text(&["z"]), 3)).unwrap();
        assert_eq!(all.lines, [1, 2, 3]);
        assert_eq!(all.column("a").unwrap().values, text(&["x", "", "z"]));
        assert_eq!(all.column("b").unwrap().values, category(&[MISSING, 0, MISSING], &["y"]));
    }
}
