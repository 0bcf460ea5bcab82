//! What a model keeps about how its table was written, and the quantiles of its numbers.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::date_pattern;
use super::number_style::{NumberStyle, most_common};
use super::ties::{self, Tie};
use crate::columns::{Encoder, Kind, Ladder, Relation};
use crate::error::Result;
use crate::files::{Loaded, Store, Tensors};
use crate::table::{Table, Values};

/// Cells of a column that are looked at to learn how it is written.
const MOST_CELLS: usize = 1000;

/// How the table was written, and the quantiles of its numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Manner {
    /// One for each column of the schema.
    pub columns: Vec<ColumnManner>,
    /// One for each number of the layout.
    pub ladders: Vec<Ladder>,
    /// Relations that give a category, beside those of the schema.
    pub counts: Vec<Relation>,
    /// One for each relation of the schema, and for each of these.
    pub ties: Vec<Tie>,
}

/// How a column was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ColumnManner {
    /// What the format had there.
    pub holds: Holds,
    /// How a cell is written.
    pub style: Style,
}

/// What a format has in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Holds {
    Text,
    Number,
    Integer,
}

/// How a cell is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Style {
    /// As it is.
    Plain,
    Number(NumberStyle),
    /// A pattern of `date_pattern.rs`.
    Date(String),
    /// A key that ends with a number: what stands before it, and how many digits it has if all keys have the same
    /// number of them.
    Key(String, usize),
}

impl Manner {
    /// Learns from these rows of a table.
    pub fn learn(encoder: &Encoder, table: &Table, rows: &[usize]) -> Result<Self> {
        let columns = encoder.schema().columns.iter().map(|column| {
            let Some(values) = table.column(&column.name).map(|column| &column.values) else {
                return ColumnManner { holds: Holds::Text, style: Style::Plain };
            };
            let step = rows.len().div_ceil(MOST_CELLS).max(1);
            let texts: Vec<Cow<'_, str>> = rows.iter().step_by(step).filter_map(|row| values.text(*row)).collect();
            let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
            let holds = match values {
                Values::Number { integer: true, .. } => Holds::Integer,
                Values::Number { .. } => Holds::Number,
                _ => Holds::Text,
            };
            ColumnManner { holds, style: style(&column.kind, &texts) }
        });
        let (columns, ladders) = (columns.collect(), encoder.ladders(table, rows)?);
        let mut manner = Self { columns, ladders, counts: Vec::new(), ties: Vec::new() };
        ties::learn(encoder, &mut manner, table, rows);
        Ok(manner)
    }
}

fn style(kind: &Kind, texts: &[&str]) -> Style {
    match kind {
        Kind::Numeric { format, .. } => {
            let numbers = texts.iter().copied().filter(|text| format.parse(text).is_some());
            let style = NumberStyle::learn(numbers.clone(), format.decimal_comma);
            Style::Number(style.with_grain(numbers.filter_map(|text| format.parse(text))))
        }
        Kind::Date { format, .. } => Style::Date(date_pattern::find(texts, *format)),
        Kind::Identifier { .. } => key_style(texts),
        Kind::Categorical { .. } | Kind::Text { .. } | Kind::Ignored => Style::Plain,
    }
}

/// Keys that share a beginning and go on with a number.
fn key_style(texts: &[&str]) -> Style {
    let split = |text: &&str| text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let Some(before) = most_common(texts.iter().map(|text| &text[..split(text)])) else { return Style::Plain };
    let digits: Vec<usize> = texts.iter().filter_map(|text| Some(text.strip_prefix(before)?.len())).collect();
    let n_numbered = texts.iter().filter(|text| split(text) == before.len() && text.len() > before.len()).count();
    if 10 * n_numbered < 9 * texts.len() {
        return Style::Plain;
    }
    let width = digits.first().copied().filter(|width| digits.iter().all(|other| other == width)).unwrap_or(0);
    Style::Key(before.to_owned(), width)
}

/// What stands in the file beside the arrays.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MannerDocument {
    columns: Vec<ColumnManner>,
    smooth: Vec<bool>,
    counts: Vec<Relation>,
    ties: Vec<Tie>,
}

impl Store for Manner {
    type Document = MannerDocument;
    type Shape = Encoder;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<MannerDocument> {
        let lengths: Vec<u32> = self.ladders.iter().map(|ladder| ladder.rungs.len() as u32).collect();
        tensors.put("ladders.lengths", lengths);
        tensors
            .put("ladders.rungs", self.ladders.iter().flat_map(|ladder| &ladder.rungs).copied().collect::<Vec<f32>>());
        let values = self.ladders.iter().flat_map(|ladder| &ladder.values).copied();
        tensors.put("ladders.values", values.collect::<Vec<f64>>());
        let smooth = self.ladders.iter().map(|ladder| ladder.smooth).collect();
        let Self { columns, counts, ties, .. } = self.clone();
        Ok(MannerDocument { columns, smooth, counts, ties })
    }

    fn read(document: MannerDocument, encoder: &Encoder, tensors: &mut Tensors) -> Loaded<Self> {
        let MannerDocument { columns, smooth, counts, ties } = document;
        let n_numbers = encoder.layout().n_numbers();
        if columns.len() != encoder.schema().columns.len() || smooth.len() != n_numbers {
            return Err("how the columns are written does not go with the columns".into());
        }
        let schema = encoder.schema();
        let relations: Vec<&Relation> = schema.relations.iter().chain(&counts).collect();
        if !counts.iter().all(|relation| relation.is_usable(&schema.columns))
            || ties.len() != relations.len()
            || !ties.iter().zip(relations).all(|(tie, relation)| tie.is_usable(relation))
        {
            return Err("how the numbers of a relation are told does not go with the relations".into());
        }
        let lengths: Vec<u32> = tensors.take("ladders.lengths", n_numbers)?;
        let n_rungs = lengths.iter().map(|length| *length as usize).sum();
        let rungs: Vec<f32> = tensors.take("ladders.rungs", n_rungs)?;
        let values: Vec<f64> = tensors.take("ladders.values", n_rungs)?;
        let mut start = 0;
        let ladder = |(length, smooth): (&u32, bool)| {
            let own = start..start + *length as usize;
            start = own.end;
            Ladder { rungs: rungs[own.clone()].to_vec(), values: values[own].to_vec(), smooth }
        };
        let ladders: Vec<Ladder> = lengths.iter().zip(smooth).map(ladder).collect();
        if !ladders.iter().all(Ladder::is_usable) {
            return Err("the quantiles of a number do not ascend".into());
        }
        Ok(Self { columns, ladders, counts, ties })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_count_on_are_known() {
        assert_eq!(key_style(&["INV-0012", "INV-0013"]), Style::Key("INV-".into(), 4));
        assert_eq!(key_style(&["9", "10", "11"]), Style::Key(String::new(), 0));
        assert_eq!(key_style(&["a8f-x", "b9c-y"]), Style::Plain);
        assert_eq!(key_style(&[]), Style::Plain);
    }
}
