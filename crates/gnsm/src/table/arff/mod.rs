//! Reads ARFF, Weka's attribute-relation file format.
//!
//! - `numeric`, `real` and `integer` attributes are numbers. Nominal ones, `string` and `date` are categories.
//!   Relational attributes are refused.
//! - A bare `?` is missing, even if a nominal list does not declare it.
//! - In a sparse row, `{1 X, 3 Y}`, an omitted value is 0 or the first declared category, as the format defines it.
//!   Where neither exists (`string`, `date`) it is missing.
//! - A weight at the end of a row, `,{5}`, is read and ignored: every row counts once here.
//!
//! The format: <https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/>

mod syntax;

use std::collections::HashSet;
use std::io::BufReader;

use crate::error::{Error, Place, Result};
use crate::table::arff::syntax::{Word, Words, closest};
use crate::table::categories::{Categories, CategoryCells};
use crate::table::input::lines::{Lines, without_ending};
use crate::table::input::source::Source;
use crate::table::{Column, MISSING, ReadRows, Table, Values};

/// A declared column.
struct Attribute {
    name: String,
    kind: Kind,
}

enum Kind {
    Number { integer: bool },
    Nominal { names: Vec<String>, codes: Categories },
    Text,
}

/// The cells of a column under construction.
enum Cells {
    Number {
        values: Vec<f64>,
        integer: bool,
    },
    /// The second is the code that a sparse row leaves out.
    Nominal(Vec<u32>, u32),
    Text(CategoryCells),
}

/// The ARFF reader.
pub(in crate::table) struct ArffReader {
    lines: Lines<BufReader<Source>>,
    attributes: Vec<Attribute>,
}

impl ArffReader {
    pub(in crate::table) fn open(source: Source) -> Result<Self> {
        let name = source.name.clone();
        let mut reader =
            Self { lines: Lines::new(&name, BufReader::with_capacity(1 << 16, source)), attributes: Vec::new() };
        reader.read_declarations()?;
        Ok(reader)
    }

    /// Everything up to `@data`.
    fn read_declarations(&mut self) -> Result<()> {
        let mut seen = HashSet::new();
        while self.lines.advance()? {
            let mut words = Words::new(without_ending(self.lines.text()?));
            if words.is_at_end() {
                continue;
            }
            let declaration = words.name().map_err(|problem| self.error(problem, QUOTES))?.text;
            match declaration.to_ascii_lowercase().as_str() {
                // The relation's name is not used, so spaces in it do no harm.
                "@relation" => {}
                "@attribute" => {
                    let attribute = self.attribute(words)?;
                    if !seen.insert(attribute.name.clone()) {
                        let place = Place { column: Some(attribute.name), ..self.lines.place() };
                        return Err(Error::data(place, "two attributes have this name", "rename one of them"));
                    }
                    self.attributes.push(attribute);
                }
                "@data" if self.attributes.is_empty() => {
                    return Err(self.error("@data before any @attribute", "declare the columns first"));
                }
                "@data" => return Ok(()),
                _ => {
                    let problem =
                        format!("expected @relation, @attribute or @data, found `{}`", shortened(&declaration));
                    return Err(self.error(problem, "correct the line, or begin it with % if it is a comment"));
                }
            }
        }
        Err(self.error("the file ends before @data", "check that the file is complete and is ARFF"))
    }

    fn attribute(&self, mut words: Words<'_>) -> Result<Attribute> {
        let name = words.name().map_err(|problem| self.error(problem, QUOTES))?;
        if name.text.is_empty() && !name.quoted {
            return Err(self.error("an @attribute without a name", "write `@attribute name type`"));
        }
        let name = name.text.into_owned();
        let at = |problem: String, advice: &str| {
            Error::data(Place { column: Some(name.clone()), ..self.lines.place() }, problem, advice)
        };
        let kind = if words.take('{') {
            nominal(&mut words).map_err(|problem| at(problem, "write the categories as `{a, 'b c', d}` on one line"))?
        } else {
            let type_name = words.name().map_err(|problem| at(problem, QUOTES))?.text;
            let kind = match type_name.to_ascii_lowercase().as_str() {
                "numeric" | "real" => Kind::Number { integer: false },
                "integer" => Kind::Number { integer: true },
                "string" => Kind::Text,
                "date" => {
                    if !words.is_at_end() {
                        words.name().map_err(|problem| at(problem, QUOTES))?;
                    }
                    Kind::Text
                }
                "relational" => {
                    return Err(at(
                        "relational attributes are not read".to_owned(),
                        "write their values as plain columns",
                    ));
                }
                "" => return Err(at("the attribute has no type".to_owned(), TYPES)),
                other => return Err(at(format!("unknown type `{}`", shortened(other)), TYPES)),
            };
            // The range that some write after a number, `real [0, 1]`, says nothing about the cells.
            if words.take('[') {
                return Ok(Attribute { name, kind });
            }
            kind
        };
        if !words.is_at_end() {
            let problem = format!("`{}` after the attribute's type", shortened(words.rest()));
            return Err(at(problem, "remove it, or put % before it if it is a comment"));
        }
        Ok(Attribute { name, kind })
    }

    /// Puts the row of the present line into `cells`.
    fn row(&self, mut words: Words<'_>, cells: &mut [Cells]) -> Result<()> {
        if words.take('{') {
            self.sparse_row(&mut words, cells)?;
        } else {
            let mut n_found = 0;
            loop {
                if n_found == cells.len() && words.rest().starts_with('{') {
                    break;
                }
                let word = words.value().map_err(|problem| self.cell_error(n_found, problem, QUOTES))?;
                if word.text.is_empty() && !word.quoted {
                    let problem =
                        if n_found == cells.len() { "a comma after the last value" } else { "an empty value" };
                    return Err(self.cell_error(n_found, problem, "write ? where a value is missing"));
                }
                if n_found < cells.len() {
                    self.push(&mut cells[n_found], n_found, &word)?;
                }
                n_found += 1;
                if words.is_at_end() {
                    break;
                }
                if !words.take_separator() {
                    let problem = format!("text after a closing quote: `{}`", shortened(words.rest()));
                    return Err(self.cell_error(n_found - 1, problem, QUOTES));
                }
            }
            if n_found != cells.len() {
                let problem = format!("expected {} values, found {n_found}", cells.len());
                let column = if n_found < cells.len() { n_found } else { usize::MAX };
                return Err(self.cell_error(column, problem, "complete the row, or quote values that hold commas"));
            }
        }
        // The weight.
        words.take(',');
        if words.take('{') {
            let word = words.item().map_err(|problem| self.error(problem, QUOTES))?;
            if word.text.parse::<f64>().is_err() || !words.take('}') {
                return Err(
                    self.error("the weight at the end of the row is not a number in braces", "write it as `{5}`")
                );
            }
        }
        if !words.is_at_end() {
            let problem = format!("`{}` after the end of the row", shortened(words.rest()));
            return Err(self.error(problem, "remove it, or put % before it if it is a comment"));
        }
        Ok(())
    }

    /// `{0 X, 3 Y}`: positions from 0, rising, each with its value.
    fn sparse_row(&self, words: &mut Words<'_>, cells: &mut [Cells]) -> Result<()> {
        let advice = "write a sparse row as `{0 X, 3 Y}`, positions counted from 0 and rising";
        let mut next = 0;
        while !words.take('}') {
            let position = words.name().map_err(|problem| self.error(problem, QUOTES))?.text;
            let position: usize = match position.parse() {
                Ok(position) if (next..cells.len()).contains(&position) => position,
                _ => {
                    let problem =
                        format!("`{}` is not a position from {next} to {}", shortened(&position), cells.len() - 1);
                    return Err(self.error(problem, advice));
                }
            };
            let word = words.item().map_err(|problem| self.cell_error(position, problem, QUOTES))?;
            if word.text.is_empty() && !word.quoted {
                return Err(self.cell_error(position, "a position without a value", advice));
            }
            cells[next..position].iter_mut().for_each(Cells::push_omitted);
            self.push(&mut cells[position], position, &word)?;
            next = position + 1;
            if !words.take_separator() && !words.rest().starts_with('}') {
                return Err(self.error("a sparse row without its closing brace", advice));
            }
        }
        cells[next..].iter_mut().for_each(Cells::push_omitted);
        Ok(())
    }

    fn push(&self, cells: &mut Cells, column: usize, word: &Word<'_>) -> Result<()> {
        match (cells, &self.attributes[column].kind) {
            (Cells::Nominal(cells, _), Kind::Nominal { names, codes }) => {
                let code = match codes.get(&word.text) {
                    Some(code) if !word.is_missing() => code,
                    _ if word.is_missing() => MISSING,
                    _ => {
                        let near = closest(&word.text, names.iter().map(String::as_str));
                        let advice = if near.is_empty() {
                            "add it to the attribute's declaration".to_owned()
                        } else {
                            format!("add it to the attribute's declaration, or write `{}`", near.join("` or `"))
                        };
                        let problem = format!("`{}` is not a declared category", shortened(&word.text));
                        return Err(self.cell_error(column, problem, advice));
                    }
                };
                cells.push(code);
            }
            (Cells::Number { values, integer }, _) => {
                if word.is_missing() {
                    values.push(f64::NAN);
                    return Ok(());
                }
                let value = word.text.trim().parse().ok().filter(|value: &f64| !value.is_infinite());
                let value = value.ok_or_else(|| {
                    let problem = format!("`{}` is not a number", shortened(&word.text));
                    self.cell_error(column, problem, "correct it, or write ? where a value is missing")
                })?;
                // To Weka `integer` means the same as `numeric`, so the cells decide.
                *integer &= value.fract() == 0.0 || value.is_nan();
                values.push(value);
            }
            (Cells::Text(cells), _) => cells.push((!word.is_missing()).then_some(&word.text))?,
            (Cells::Nominal(..), _) => unreachable!("cells are made from the attributes"),
        }
        Ok(())
    }

    fn table(&self, cells: Vec<Cells>, lines: Vec<u64>) -> Table {
        let column = |(attribute, cells): (&Attribute, Cells)| {
            let values = match (cells, &attribute.kind) {
                (Cells::Nominal(codes, _), Kind::Nominal { names, .. }) => {
                    Values::Category { codes, names: names.clone() }
                }
                (Cells::Nominal(codes, _), _) => Values::Category { codes, names: Vec::new() },
                (Cells::Number { values, integer }, _) => Values::Number { values, integer },
                (Cells::Text(cells), _) => cells.finish(),
            };
            Column { name: attribute.name.clone(), values }
        };
        let columns = self.attributes.iter().zip(cells).map(column).collect();
        Table { file: self.lines.file().to_owned(), columns, lines, rows_may_omit_columns: false, parts: Vec::new() }
    }

    fn no_cells(&self) -> Vec<Cells> {
        let empty = |attribute: &Attribute| match &attribute.kind {
            Kind::Number { integer } => Cells::Number { values: Vec::new(), integer: *integer },
            Kind::Nominal { names, .. } => Cells::Nominal(Vec::new(), if names.is_empty() { MISSING } else { 0 }),
            Kind::Text => Cells::Text(CategoryCells::default()),
        };
        self.attributes.iter().map(empty).collect()
    }

    fn error(&self, problem: impl Into<String>, advice: impl Into<crate::error::Advice>) -> Error {
        Error::data(self.lines.place(), problem, advice)
    }

    fn cell_error(&self, column: usize, problem: impl Into<String>, advice: impl Into<crate::error::Advice>) -> Error {
        let column = self.attributes.get(column).map(|attribute| attribute.name.clone());
        Error::data(Place { column, ..self.lines.place() }, problem, advice)
    }
}

impl ReadRows for ArffReader {
    fn next_rows(&mut self, max_rows: usize) -> Result<Option<Table>> {
        let mut cells = self.no_cells();
        let mut lines = Vec::new();
        while lines.len() < max_rows && self.lines.advance()? {
            let words = Words::new(without_ending(self.lines.text()?));
            if words.is_at_end() {
                continue;
            }
            self.row(words, &mut cells)?;
            lines.push(self.lines.number());
        }
        Ok((!lines.is_empty()).then(|| self.table(cells, lines)))
    }

    fn notes(&self) -> Vec<String> {
        self.lines.notes()
    }

    fn no_rows(&self) -> Table {
        self.table(self.no_cells(), Vec::new())
    }
}

impl Cells {
    /// The value that a sparse row leaves out.
    fn push_omitted(&mut self) {
        match self {
            Self::Number { values, .. } => values.push(0.0),
            Self::Nominal(codes, omitted) => codes.push(*omitted),
            Self::Text(cells) => cells.codes.push(MISSING),
        }
    }
}

const QUOTES: &str = "close the quote, or escape quotes that belong to the text with a backslash";
const TYPES: &str = "use numeric, real, integer, string, date, or a list of categories in braces";

/// The list after the opening brace. A category declared twice is the same one.
fn nominal(words: &mut Words<'_>) -> std::result::Result<Kind, String> {
    let mut names: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    while !words.take('}') {
        let word = words.item()?;
        if word.text.is_empty() && !word.quoted && !words.is_at_end() {
            return Err("an empty category in the list".to_owned());
        }
        let separated = words.take_separator() || words.rest().starts_with('}');
        if words.is_at_end() {
            return Err("the list of categories is not closed".to_owned());
        }
        if !separated {
            return Err(format!("expected a comma or a closing brace, found `{}`", shortened(words.rest())));
        }
        if seen.insert(word.text.to_string()) {
            names.push(word.text.into_owned());
        }
    }
    Ok(Kind::Nominal { codes: Categories::of(names.clone()), names })
}

/// The beginning of a text, for messages.
fn shortened(text: &str) -> String {
    if text.chars().nth(40).is_some() { text.chars().take(40).chain(['…']).collect() } else { text.to_owned() }
}

#[cfg(test)]
mod tests;
