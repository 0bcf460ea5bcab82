//! From a table to category codes and scaled numbers; a one-hot is never stored.
//!
//! - A categorical column is one group of the [`Layout`]: its categories, then "(rare)" and "(missing)" where training had them. A
//!   category that training never saw gets the code [`UNSEEN`]: detectors treat it as evidence (see [`crate::gnsm`]).
//! - A numeric column is a number z = (x − mean)/scale and a group that says whether it was there. A missing number is NaN: it tells
//!   the network nothing, and its absence counts as a category of the group, seen or unseen.
//! - Beyond ±10, z grows only with its logarithm, and stops at ±20: one absurd cell, or an infinity, is extreme
//!   without drowning every other column.
//!
//! Columns are found by name, so their order in the file does not matter.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use crate::codes::Codes;
use crate::error::{Error, Result};
use crate::layout::{Layout, UNSEEN};
use crate::schema::{ColumnSchema, Kind, Schema, list, not_a_number, parse_number};
use crate::table::{Column, MISSING, Table, Values, is_missing};

/// |z| up to which a number stays as it is.
const STRAIGHT: f64 = 10.0;
/// The largest |z|.
const LARGEST: f64 = 20.0;
/// Rows needed before a change of a column's kind is called one.
const ENOUGH_TO_JUDGE: usize = 20;

/// Encoded rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    n_rows: usize,
    n_groups: usize,
    n_numbers: usize,
    codes: Vec<u32>,
    numbers: Vec<f32>,
}

impl Encoded {
    /// Rows from their parts, both row by row.
    pub fn new(n_rows: usize, codes: Vec<u32>, numbers: Vec<f32>) -> Self {
        let per_row = |n: usize| n.checked_div(n_rows).unwrap_or(0);
        Self { n_rows, n_groups: per_row(codes.len()), n_numbers: per_row(numbers.len()), codes, numbers }
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The category codes of a row, one per group.
    pub fn codes(&self, row: usize) -> &[u32] {
        &self.codes[row * self.n_groups..][..self.n_groups]
    }

    /// The scaled numbers of a row; NaN where missing.
    pub fn numbers(&self, row: usize) -> &[f32] {
        &self.numbers[row * self.n_numbers..][..self.n_numbers]
    }

    /// These rows, in this order.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            n_rows: rows.len(),
            n_groups: self.n_groups,
            n_numbers: self.n_numbers,
            codes: rows.iter().flat_map(|&row| self.codes(row)).copied().collect(),
            numbers: rows.iter().flat_map(|&row| self.numbers(row)).copied().collect(),
        }
    }

    /// These rows, then those of `other`, which come from the same encoder.
    pub fn concat(&self, other: &Self) -> Self {
        Self {
            n_rows: self.n_rows + other.n_rows,
            n_groups: self.n_groups.max(other.n_groups),
            n_numbers: self.n_numbers.max(other.n_numbers),
            codes: [self.codes.as_slice(), &other.codes].concat(),
            numbers: [self.numbers.as_slice(), &other.numbers].concat(),
        }
    }

    /// The distinct rows, in order of first appearance, and for each row which of them it is.
    pub fn distinct(&self) -> (Vec<usize>, Vec<u32>) {
        let mut seen: HashMap<(&[u32], &[u32]), u32> = HashMap::with_capacity(self.n_rows.min(1 << 16));
        let mut firsts = Vec::new();
        let of_row = (0..self.n_rows)
            .map(|row| {
                let key = (self.codes(row), bytemuck::cast_slice(self.numbers(row)));
                *seen.entry(key).or_insert_with(|| {
                    firsts.push(row);
                    firsts.len() as u32 - 1
                })
            })
            .collect();
        (firsts, of_row)
    }

    /// The distinct rows, in order of first appearance, and how often each occurs.
    pub fn counted(&self) -> (Self, Vec<f64>) {
        let (firsts, of_row) = self.distinct();
        let mut counts = vec![0.0; firsts.len()];
        for which in of_row {
            counts[which as usize] += 1.0;
        }
        (self.select(&firsts), counts)
    }

    /// A hash of the rows and their order.
    pub fn fingerprint(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.n_rows as u64).to_le_bytes());
        hasher.update(bytemuck::cast_slice(&self.codes));
        hasher.update(bytemuck::cast_slice(&self.numbers));
        hasher.finalize()
    }
}

/// What is different between a file's columns and the model's, short of an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnReport {
    /// Columns that the model does not know; they are not used.
    pub extra: Vec<String>,
    /// Whether the known columns come in another order.
    pub reordered: bool,
    /// Columns that no row of this batch has, in a format where rows may leave columns out.
    pub absent: Vec<String>,
}

/// Turns tables into [`Encoded`] rows.
#[derive(Debug, Clone)]
pub struct Encoder {
    schema: Schema,
    layout: Layout,
    columns: Vec<EncodedColumn>,
}

/// Where a used column lies in an encoded row.
#[derive(Debug, Clone)]
pub struct EncodedColumn {
    /// Its index in the schema.
    pub column: usize,
    /// Its group: the categories, or whether the number is there.
    pub group: usize,
    /// Its number, for a numeric column.
    pub number: Option<usize>,
    codes: Codes,
    /// The code of a missing cell.
    missing: u32,
}

/// What the group of a numeric column is made of.
const PRESENT: u32 = 0;

impl Encoder {
    /// The encoder of a schema.
    pub fn new(schema: Schema) -> Self {
        let mut sizes = Vec::new();
        let mut n_numbers = 0;
        let mut columns = Vec::new();
        for (index, column) in schema.columns.iter().enumerate() {
            let (codes, number, size, missing) = match &column.kind {
                Kind::Ignored => continue,
                Kind::Categorical { categories, rare, missing } => {
                    let own = categories.len() as u32;
                    let shared = u32::from(!rare.is_empty());
                    let mut codes: Codes = categories.iter().cloned().zip(0..).collect();
                    codes.extend(rare.iter().map(|name| (name.clone(), own)));
                    let last = own + shared;
                    (codes, None, last + u32::from(*missing), if *missing { last } else { UNSEEN })
                }
                Kind::Numeric { missing, .. } => {
                    n_numbers += 1;
                    let absent = if *missing { PRESENT + 1 } else { UNSEEN };
                    (Codes::default(), Some(n_numbers - 1), 1 + u32::from(*missing), absent)
                }
            };
            columns.push(EncodedColumn { column: index, group: sizes.len(), number, codes, missing });
            sizes.push(size as usize);
        }
        Self { layout: Layout::new(n_numbers, sizes), schema, columns }
    }

    /// The schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The shape of an encoded row.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The used columns, in the order of their groups.
    pub fn columns(&self) -> &[EncodedColumn] {
        &self.columns
    }

    /// The schema of a used column.
    pub fn schema_of(&self, column: &EncodedColumn) -> &ColumnSchema {
        &self.schema.columns[column.column]
    }

    /// The name of a category of a used column.
    pub fn category_name(&self, column: &EncodedColumn, code: u32) -> &str {
        match &self.schema_of(column).kind {
            Kind::Categorical { categories, rare, .. } => match categories.get(code as usize) {
                Some(name) => name,
                None if code as usize == categories.len() && !rare.is_empty() => "(rare)",
                None => "(missing)",
            },
            _ if code == PRESENT => "(present)",
            _ => "(missing)",
        }
    }

    /// Compares a batch's columns with the schema. Called once per file, on its first batch.
    pub fn check(&self, table: &Table) -> Result<ColumnReport> {
        let mut report = ColumnReport::default();
        let mut positions = Vec::new();
        let mut absent = Vec::new();
        for column in &self.columns {
            let schema = self.schema_of(column);
            match table.columns.iter().position(|column| column.name == schema.name) {
                None => absent.push(schema.name.clone()),
                Some(position) => {
                    positions.push(position);
                    check_kind(table, &table.columns[position], schema, column)?;
                }
            }
        }
        let known: HashSet<&str> = self.schema.columns.iter().map(|column| column.name.as_str()).collect();
        let others = table.columns.iter().filter(|column| !known.contains(column.name.as_str()));
        report.extra = others.map(|column| column.name.clone()).collect();
        report.reordered = positions.windows(2).any(|pair| pair[0] > pair[1]);
        if table.rows_may_omit_columns {
            report.absent = absent;
        } else if !absent.is_empty() {
            let extra = if report.extra.is_empty() {
                String::from("give a file with the columns of the training data")
            } else {
                format!("the file has {} instead; rename them back", list(report.extra.iter().map(String::as_str), 10))
            };
            let names = list(absent.iter().map(String::as_str), 10);
            return Err(Error::schema(format!("{} lacks the model's column {names}", table.file), extra));
        }
        Ok(report)
    }

    /// Encodes all rows of a batch.
    pub fn encode(&self, table: &Table) -> Result<Encoded> {
        let n_rows = table.n_rows();
        let parts: Vec<(Vec<u32>, Vec<f32>)> = self
            .columns
            .par_iter()
            .map(|column| {
                let schema = self.schema_of(column);
                match table.column(&schema.name) {
                    Some(cells) => encode_column(table, cells, schema, column),
                    None => Ok((vec![column.missing; n_rows], vec![f32::NAN; n_rows])),
                }
            })
            .collect::<Result<_>>()?;
        let (n_groups, n_numbers) = (self.layout.n_groups(), self.layout.n_numbers());
        let mut codes = vec![0; n_rows * n_groups];
        let mut numbers = vec![0.0; n_rows * n_numbers];
        for (column, (column_codes, column_numbers)) in self.columns.iter().zip(parts) {
            for (row, code) in column_codes.into_iter().enumerate() {
                codes[row * n_groups + column.group] = code;
            }
            if let Some(number) = column.number {
                for (row, value) in column_numbers.into_iter().enumerate() {
                    numbers[row * n_numbers + number] = value;
                }
            }
        }
        Ok(Encoded { n_rows, n_groups, n_numbers, codes, numbers })
    }
}

/// A column of words that now holds nothing but unknown numbers is not a file full of anomalies but another file.
fn check_kind(table: &Table, column: &Column, schema: &ColumnSchema, encoded: &EncodedColumn) -> Result<()> {
    let Kind::Categorical { categories, .. } = &schema.kind else { return Ok(()) };
    if categories.is_empty() || categories.iter().any(|name| parse_number(name).is_some()) {
        return Ok(());
    }
    let mut cells = (0..table.n_rows()).filter_map(|row| column.values.text(row)).peekable();
    let Some(first) = cells.peek().map(ToString::to_string) else { return Ok(()) };
    let mut n = 0;
    let all_new = cells.all(|text| {
        n += 1;
        !encoded.codes.contains_key(&*text) && parse_number(&text).is_some()
    });
    if n >= ENOUGH_TO_JUDGE && all_new {
        return Err(Error::data(
            table.place(0, &column.name),
            format!(
                "this column held categories ({}) in training and now holds numbers, `{first}` for one",
                list(categories.iter().map(String::as_str), 3)
            ),
            "check that the file's columns are the training data's",
        ));
    }
    Ok(())
}

fn encode_column(
    table: &Table,
    cells: &Column,
    schema: &ColumnSchema,
    column: &EncodedColumn,
) -> Result<(Vec<u32>, Vec<f32>)> {
    if let Values::Unsupported { type_name, .. } = &cells.values {
        let place = table.place(0, &cells.name);
        return Err(Error::data(
            place,
            format!("type {type_name} cannot be scored"),
            "give it the type it had in training",
        ));
    }
    let Kind::Numeric { mean, scale, .. } = schema.kind else {
        return Ok((encode_categories(&cells.values, column), Vec::new()));
    };
    let mut codes = Vec::with_capacity(table.n_rows());
    let mut numbers = Vec::with_capacity(table.n_rows());
    for row in 0..table.n_rows() {
        let value = match &cells.values {
            Values::Number { values, .. } => Some(values[row]).filter(|value| !value.is_nan()),
            values => match values.text(row) {
                None => None,
                Some(text) => Some(parse_number(&text).ok_or_else(|| not_a_number(table, cells, row, &text))?),
            },
        };
        codes.push(if value.is_some() { PRESENT } else { column.missing });
        numbers.push(value.map_or(f32::NAN, |value| scaled(value, mean, scale)));
    }
    Ok((codes, numbers))
}

fn encode_categories(values: &Values, column: &EncodedColumn) -> Vec<u32> {
    let code_of = |text: &str| column.codes.get(text).copied().unwrap_or(UNSEEN);
    match values {
        // Each distinct name is looked up once, not once per row.
        Values::Category { codes, names } => {
            let translated: Vec<u32> = names.iter().map(|name| code_of(name)).collect();
            let translate = |code: &u32| if *code == MISSING { column.missing } else { translated[*code as usize] };
            codes.iter().map(translate).collect()
        }
        Values::Text(cells) => {
            cells.iter().map(|text| if is_missing(text) { column.missing } else { code_of(text) }).collect()
        }
        _ => (0..values.len()).map(|row| values.text(row).map_or(column.missing, |text| code_of(&text))).collect(),
    }
}

/// z, straight up to ±10, logarithmic from there, at most ±20.
pub(crate) fn scaled(value: f64, mean: f64, scale: f64) -> f32 {
    // Halves first: the difference of two finite numbers may not be finite.
    let z = 2.0 * (value / 2.0 - mean / 2.0) / scale;
    let size = z.abs();
    let limited = if size <= STRAIGHT { size } else { (STRAIGHT + (size - STRAIGHT).ln_1p()).min(LARGEST) };
    (limited.copysign(z)) as f32
}

/// The number that a z stands for.
pub(crate) fn unscaled(z: f64, mean: f64, scale: f64) -> f64 {
    let size = z.abs();
    let size = if size <= STRAIGHT { size } else { STRAIGHT + (size.min(LARGEST) - STRAIGHT).exp_m1() };
    mean + scale * size.copysign(z)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schema::ColumnChoices;
    use crate::table::TextCells;

    fn table(columns: &[(&str, &[String])]) -> Table {
        let columns: Vec<Column> = columns
            .iter()
            .map(|(name, cells)| {
                let mut text = TextCells::default();
                for cell in *cells {
                    text.push(cell);
                }
                Column { name: (*name).to_owned(), values: Values::Text(text) }
            })
            .collect();
        let n_rows = columns[0].values.len() as u64;
        Table { file: "f".into(), columns, lines: (2..2 + n_rows).collect(), rows_may_omit_columns: false }
    }

    fn encoder(table: &Table) -> Encoder {
        let rows: Vec<usize> = (0..table.n_rows()).collect();
        Encoder::new(Schema::learn(table, &rows, &ColumnChoices::default()).expect("a schema"))
    }

    fn texts(cells: &[&str]) -> Vec<String> {
        cells.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn missing_and_unseen_are_told_apart() {
        let learned = table(&[("c", &texts(&["a", "b", "", "a"])), ("x", &texts(&["1.5", "2.5", "3.5", "4.5"]))]);
        let encoder = encoder(&learned);
        assert_eq!((encoder.layout().n_numbers(), encoder.layout().size(0), encoder.layout().size(1)), (1, 3, 1));
        let rows = encoder.encode(&table(&[("x", &texts(&["", "3"])), ("c", &texts(&["new", "?"]))])).expect("encoded");
        assert_eq!(rows.codes(0), [UNSEEN, UNSEEN], "a new category; a number that was never missing before");
        assert_eq!(rows.codes(1), [2, 0], "missing is a category here");
        assert!(rows.numbers(0)[0].is_nan() && rows.numbers(1)[0] == 0.0);
    }

    #[test]
    fn rare_categories_share_a_place_and_stay_known() {
        let mut cells: Vec<String> = (0..600).map(|i| format!("c{i}")).collect();
        cells.extend((0..600 * 2).map(|i| format!("c{}", i % 500)));
        let learned = table(&[("c", &cells)]);
        let encoder = encoder(&learned);
        assert_eq!(encoder.layout().size(0), 501);
        let rows = encoder.encode(&table(&[("c", &texts(&["c7", "c550", "c700"]))])).expect("encoded");
        assert_eq!((rows.codes(1)[0], rows.codes(2)[0]), (500, UNSEEN));
        assert_eq!(encoder.category_name(&encoder.columns()[0], 500), "(rare)");
    }

    #[test]
    fn absurd_numbers_stay_in_bounds() {
        for (value, expected) in [(f64::INFINITY, 20.0), (f64::NEG_INFINITY, -20.0), (1e308, 20.0), (5.0, 5.0)] {
            assert!((scaled(value, 0.0, 1.0) - expected).abs() < 1e-6, "{value}");
        }
        assert!(scaled(f64::MAX, f64::MIN, 1.0).is_finite());
    }

    proptest! {
        #[test]
        fn scaling_is_monotone_bounded_and_reversible(a in -1e6..1e6f64, b in -1e6..1e6f64, scale in 1e-3..1e3f64) {
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            prop_assert!(scaled(low, 1.0, scale) <= scaled(high, 1.0, scale));
            let z = f64::from(scaled(a, 1.0, scale));
            prop_assert!(z.abs() <= 20.0);
            if z.abs() < 19.9 {
                let back = unscaled(z, 1.0, scale);
                prop_assert!((back - a).abs() <= 1e-3 * a.abs().max(scale), "{a} {back}");
            }
        }

        #[test]
        fn a_row_is_encoded_by_itself_whatever_its_neighbours(
            cells in prop::collection::vec(("[abc ?é]{0,2}", prop::option::of(-5.0..5.0f64)), 3..40),
            order in any::<u64>(),
        ) {
            let words: Vec<String> = cells.iter().map(|(word, _)| word.clone()).collect();
            let numbers: Vec<String> = cells.iter().map(|(_, n)| n.map_or(String::new(), |n| format!("{n:.2}"))).collect();
            let whole = table(&[("word", &words), ("number", &numbers)]);
            let encoder = encoder(&whole);
            let encoded = encoder.encode(&whole).expect("encoded");
            let row = (order % cells.len() as u64) as usize;
            let single = table(&[("number", &numbers[row..=row]), ("word", &words[row..=row])]);
            let alone = encoder.encode(&single).expect("encoded");
            prop_assert_eq!(alone.codes(0), encoded.codes(row));
            prop_assert_eq!(bytemuck::cast_slice::<f32, u32>(alone.numbers(0)), bytemuck::cast_slice::<f32, u32>(encoded.numbers(row)));
        }

        #[test]
        fn distinct_rows_stand_for_all(codes in prop::collection::vec(0..3u32, 2..60)) {
            let rows = Encoded::new(codes.len() / 2, codes[..codes.len() / 2 * 2].to_vec(), vec![]);
            let (firsts, of_row) = rows.distinct();
            for (row, which) in of_row.iter().enumerate() {
                prop_assert_eq!(rows.codes(row), rows.codes(firsts[*which as usize]));
            }
            let unique: HashSet<&[u32]> = (0..rows.n_rows()).map(|row| rows.codes(row)).collect();
            prop_assert_eq!(unique.len(), firsts.len());
        }
    }
}
