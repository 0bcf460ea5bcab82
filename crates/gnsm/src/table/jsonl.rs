//! Reads JSON lines: one object per line; or an array of objects, which [`array`] takes apart into lines.
//!
//! Strings and booleans are categories (`true`, `false`), numbers are numbers. `null`, absent keys and strings that
//! mean "no value" ([`super::MISSING_TEXTS`]) are missing. A column that holds both numbers and texts becomes text. A
//! nested object or array makes its column unsupported. The columns stand in the order in which their keys first
//! appear.
//!
//! A column has the type of the cells at hand, so two batches of one file may disagree about it. They must not disagree
//! about what a cell means. That is why "NA" is missing here, among strings as well as among numbers.

mod array;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::BufReader;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{Error, Place, Result};
use crate::table::categories::CategoryCells;
use crate::table::input::lines::Lines;
use crate::table::input::source::Source;
use crate::table::{Column, LeftOut, MissingTexts, ReadOptions, ReadRows, Table, Values, is_missing};

/// Bytes in which an array begins, behind blanks.
const LOOKED_AT: usize = 1 << 10;
/// More different keys than this are no columns: some value is used as a key.
const MAX_COLUMNS: usize = 1 << 16;

/// The JSON lines reader.
pub(super) struct JsonlReader {
    lines: Lines<BufReader<Source>>,
    /// Whether lines that are no objects are left out.
    skips: bool,
    left_out: LeftOut,
    /// The strings that mean "no value", if the user said which.
    missing: Option<MissingTexts>,
}

impl JsonlReader {
    pub(super) fn open(mut source: Source, options: &ReadOptions) -> Result<Self> {
        let is_array = source.peek(LOOKED_AT)?.trim_ascii_start().starts_with(b"[");
        if is_array {
            source = source.through(|source| Ok(Box::new(array::Objects::new(source))))?;
        }
        let lines = Lines::new(&source.name.clone(), BufReader::with_capacity(1 << 16, source));
        let (skips, left_out) = (options.skip_bad_lines, LeftOut::default());
        Ok(Self { lines, skips, left_out, missing: options.missing.clone().map(MissingTexts::new) })
    }
}

impl ReadRows for JsonlReader {
    fn next_rows(&mut self, max_rows: usize) -> Result<Option<Table>> {
        let missing = self.missing.as_ref();
        let is_missing = |text: &str| missing.map_or_else(|| is_missing(text), |missing| missing.has(text));
        let mut columns = Columns::default();
        let mut lines = Vec::new();
        while lines.len() < max_rows && self.lines.advance()? {
            let place = || self.lines.place();
            let object = self.lines.text().and_then(|text| {
                let blank = text.trim_ascii().is_empty();
                let object = || serde_json::from_str(text).map_err(|error| json_error(place(), text, &error));
                if blank { Ok(None) } else { object().map(Some) }
            });
            let Object(members) = match object {
                Ok(None) => continue,
                Ok(Some(object)) => object,
                Err(error) if self.skips => {
                    self.left_out.add(error)?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            for (key, value) in members {
                columns.push(&key, lines.len(), value.get(), &place, &is_missing)?;
            }
            lines.push(self.lines.number());
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let columns = columns.finish(lines.len())?;
        Ok(Some(Table {
            file: self.lines.file().to_owned(),
            columns,
            lines,
            rows_may_omit_columns: true,
            parts: Vec::new(),
        }))
    }

    fn notes(&self) -> Vec<String> {
        self.lines.notes().into_iter().chain(self.left_out.note()).collect()
    }

    fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }

    fn no_rows(&self) -> Table {
        Table {
            file: self.lines.file().to_owned(),
            columns: Vec::new(),
            lines: Vec::new(),
            rows_may_omit_columns: true,
            parts: Vec::new(),
        }
    }
}

/// Keys and values as written.
struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object such as {\"age\": 31}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Object<'de>, A::Error> {
                let mut members = Vec::with_capacity(map.size_hint().unwrap_or(0));
                while let Some(Text(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}

/// Names line and byte, where the JSON parser names a line of its own.
fn json_error(place: Place, text: &str, error: &serde_json::Error) -> Error {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    let advice = if text.trim_ascii_start().starts_with('{') {
        "correct the line, or write the objects again with one a line"
    } else {
        "each line must be one JSON object"
    };
    Error::data(place, format!("invalid JSON at byte {}: {message}", error.column().max(1)), advice)
}

#[derive(Default)]
struct Columns {
    index: HashMap<String, usize>,
    columns: Vec<Cells>,
}

/// A column under construction.
struct Cells {
    name: String,
    /// The rows so far, up to the last one that had this key.
    n_rows: usize,
    values: Building,
}

enum Building {
    /// Strings and booleans; also what is still all missing.
    Category(CategoryCells),
    /// Anything else.
    Other(Values),
}

impl Columns {
    fn push(
        &mut self,
        key: &str,
        row: usize,
        raw: &str,
        place: &dyn Fn() -> Place,
        is_missing: &dyn Fn(&str) -> bool,
    ) -> Result<()> {
        let at = || Place { column: Some(key.to_owned()), ..place() };
        let i = self.index.get(key).copied().unwrap_or(self.columns.len());
        if i == MAX_COLUMNS {
            let problem = format!("more than {MAX_COLUMNS} different keys");
            return Err(Error::data(place(), problem, "use keys for the columns' names only"));
        }
        if i == self.columns.len() {
            self.index.insert(key.to_owned(), i);
            let values = Building::Category(CategoryCells::default());
            self.columns.push(Cells { name: key.to_owned(), n_rows: 0, values });
        }
        let cells = &mut self.columns[i];
        if cells.n_rows > row {
            return Err(Error::data(at(), "this key stands twice in the object", "keep one of the two"));
        }
        cells.pad(row)?;
        cells.n_rows = row + 1;
        match raw.as_bytes().first() {
            Some(b'n') => cells.push(Values::missing(1)),
            Some(b't' | b'f') => cells.push_text(raw),
            Some(b'"') => {
                let Text(text) = serde_json::from_str(raw).map_err(|error: serde_json::Error| {
                    Error::data(at(), format!("invalid JSON string: {error}"), "correct the text")
                })?;
                if is_missing(&text) { cells.push(Values::missing(1)) } else { cells.push_text(&text) }
            }
            Some(b'{') => cells.push(Values::Unsupported { type_name: "object".to_owned(), n_rows: 1 }),
            Some(b'[') => cells.push(Values::Unsupported { type_name: "array".to_owned(), n_rows: 1 }),
            _ => {
                let value = raw.parse().ok().filter(|value: &f64| value.is_finite());
                let value = value.ok_or_else(|| {
                    Error::data(at(), format!("the number {raw} is out of range"), "use a smaller one, or null")
                })?;
                let integer = !raw.contains(['.', 'e', 'E']);
                cells.push(Values::Number { values: vec![value], integer })
            }
        }
    }

    fn finish(self, n_rows: usize) -> Result<Vec<Column>> {
        let finish = |mut cells: Cells| {
            cells.pad(n_rows)?;
            let values = match cells.values {
                Building::Category(cells) => cells.finish(),
                Building::Other(values) => values,
            };
            Ok(Column { name: cells.name, values })
        };
        self.columns.into_iter().map(finish).collect()
    }
}

impl Cells {
    /// Missing cells up to `n_rows`.
    fn pad(&mut self, n_rows: usize) -> Result<()> {
        if self.n_rows < n_rows { self.push(Values::missing(n_rows - self.n_rows)) } else { Ok(()) }
    }

    fn push_text(&mut self, text: &str) -> Result<()> {
        match &mut self.values {
            Building::Category(cells) => cells.push(Some(text)),
            Building::Other(Values::Text(cells)) => {
                cells.push(text);
                Ok(())
            }
            Building::Other(_) => self.push(Values::Category { codes: vec![0], names: vec![text.to_owned()] }),
        }
    }

    fn push(&mut self, more: Values) -> Result<()> {
        match (&mut self.values, more) {
            (Building::Category(cells), Values::Category { codes, names }) if names.is_empty() => {
                cells.codes.extend(codes);
            }
            (values, more) => {
                let open = Building::Category(CategoryCells::default());
                let before = match std::mem::replace(values, open) {
                    Building::Category(cells) => cells.finish(),
                    Building::Other(values) => values,
                };
                *values = Building::Other(before.followed_by(more)?);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
