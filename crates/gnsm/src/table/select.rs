//! Some rows of a table, the same cells as another type, and the memory that a table takes.

use crate::error::Result;
use crate::table::{Column, MISSING, Table, TextCells, Values};

impl Table {
    /// These rows, in this order; a row may be asked for more than once. Which file a row is from is dropped.
    pub fn select(&self, rows: &[usize]) -> Self {
        let columns = self.columns.iter();
        Self {
            file: self.file.clone(),
            columns: columns.map(|c| Column { name: c.name.clone(), values: c.values.select(rows) }).collect(),
            lines: rows.iter().map(|&row| self.lines[row]).collect(),
            rows_may_omit_columns: self.rows_may_omit_columns,
            parts: Vec::new(),
        }
    }

    /// The bytes that the cells take, about.
    pub(crate) fn n_bytes(&self) -> usize {
        let cells: usize = self.columns.iter().map(|column| column.values.n_bytes()).sum();
        cells + self.lines.len() * size_of::<u64>()
    }
}

/// All rows of some batches, in their order. Neighbours are put together first, so that no name is looked up often.
pub(crate) fn joined(mut batches: Vec<Table>) -> Result<Option<Table>> {
    while batches.len() > 1 {
        let mut pairs = Vec::with_capacity(batches.len().div_ceil(2));
        let mut each = batches.into_iter();
        while let Some(mut first) = each.next() {
            if let Some(second) = each.next() {
                first.append(second)?;
            }
            pairs.push(first);
        }
        batches = pairs;
    }
    Ok(batches.pop())
}

impl Values {
    /// No cells, of the same type.
    pub(crate) fn emptied(&self) -> Self {
        match self {
            Self::Text(cells) => Self::Text(TextCells { missing: cells.missing.clone(), ..TextCells::default() }),
            Self::Category { .. } => Self::Category { codes: Vec::new(), names: Vec::new() },
            Self::Number { integer, .. } => Self::Number { values: Vec::new(), integer: *integer },
            Self::Time { kind, .. } => Self::Time { seconds: Vec::new(), kind: *kind },
            Self::Unsupported { type_name, .. } => Self::Unsupported { type_name: type_name.clone(), n_rows: 0 },
        }
    }

    /// These cells. Only the categories that they have are kept.
    fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Text(cells) => {
                let mut chosen = TextCells { missing: cells.missing.clone(), ..TextCells::default() };
                rows.iter().for_each(|&row| chosen.push(cells.get(row)));
                Self::Text(chosen)
            }
            Self::Category { codes, names } => {
                let mut places = vec![MISSING; names.len()];
                let mut kept: Vec<String> = Vec::new();
                let mut code_of = |row: usize| {
                    let Some(place) = places.get_mut(codes[row] as usize) else { return MISSING };
                    if *place == MISSING {
                        *place = kept.len() as u32;
                        kept.push(names[codes[row] as usize].clone());
                    }
                    *place
                };
                let codes = rows.iter().map(|&row| code_of(row)).collect();
                Self::Category { codes, names: kept }
            }
            Self::Number { values, integer } => {
                Self::Number { values: rows.iter().map(|&row| values[row]).collect(), integer: *integer }
            }
            Self::Time { seconds, kind } => {
                Self::Time { seconds: rows.iter().map(|&row| seconds[row]).collect(), kind: *kind }
            }
            Self::Unsupported { type_name, .. } => {
                Self::Unsupported { type_name: type_name.clone(), n_rows: rows.len() }
            }
        }
    }

    fn n_bytes(&self) -> usize {
        match self {
            Self::Text(cells) => cells.bytes.len() + cells.ends.len() * size_of::<usize>(),
            Self::Category { codes, names } => {
                // While batches are put together, each name is in memory twice: in a list, and as a key for lookup.
                let of_name = |name: &String| 2 * (name.len() + size_of::<String>());
                size_of_val(codes.as_slice()) + names.iter().map(of_name).sum::<usize>()
            }
            Self::Number { values, .. } | Self::Time { seconds: values, .. } => size_of_val(values.as_slice()),
            Self::Unsupported { .. } => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::ReadOptions;
    use crate::table::tests::{read, texts};

    #[test]
    fn chosen_rows_keep_their_cells_and_no_other_names() {
        let json = b"{\"a\": \"x\", \"b\": 1}\n{\"a\": \"y\"}\n{\"b\": 3}\n{\"a\": \"z\", \"b\": 4}\n";
        let table = read(json, &ReadOptions::default()).unwrap();
        let chosen = table.select(&[3, 2, 3, 0]);
        assert_eq!(texts(&chosen, "a"), ["z", "<missing>", "z", "x"]);
        assert_eq!(texts(&chosen, "b"), ["4", "3", "4", "1"]);
        assert_eq!(chosen.lines, [4, 3, 4, 1]);
        let Values::Category { names, .. } = &chosen.columns[0].values else { panic!("{chosen:?}") };
        assert_eq!(names.as_slice(), ["z", "x"]);
        assert!(table.n_bytes() > chosen.select(&[0]).n_bytes());
    }

    #[test]
    fn batches_are_joined_in_their_order() {
        let table = read(b"x\n1\n2\n3\n4\n5\n", &ReadOptions::default()).unwrap();
        let batches = (0..5).map(|row| table.select(&[row])).collect();
        assert_eq!(joined(batches).unwrap().unwrap(), table);
        assert_eq!(joined(Vec::new()).unwrap(), None);
    }
}
