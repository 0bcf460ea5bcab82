//! Hashes of cells and rows that depend on their content alone: not on the file, the batch, or the order of anything.
//!
//! A row's hash is a sum over its columns, so neither the order of columns nor a column that is missing changes it.
//! A hash of 64 bits is taken for the content: among a hundred million rows, two that differ share one in three cases
//! of ten thousand, and then one of them counts as a copy of the other.

use super::super::schema::number_text;
use super::value::SurveyedValue;
use crate::table::{MISSING, Values};

/// What a missing cell has for a hash; no other cell has it.
pub(super) const NOTHING: u64 = 0;
/// Odd numbers without a pattern: digits of the fractions of √2, √3, √5 and √7.
const FACTORS: [u64; 4] = [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1];

/// Every bit of the word reaches every bit of the result.
fn folded(word: u64, factor: usize) -> u64 {
    let product = u128::from(word ^ FACTORS[(factor + 1) % 4]) * u128::from(FACTORS[factor]);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of a text.
pub(super) fn of_text(text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mut state = folded(text.len() as u64, 0);
    for word in words {
        state = folded(state ^ u64::from_le_bytes(*word), 1);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    state = folded(state ^ u64::from_le_bytes(last), 2);
    folded(state, 3).max(1)
}

/// The hash of a number; the two zeros are one number.
pub(super) fn of_number(number: f64) -> u64 {
    folded(folded((number + 0.0).to_bits(), 2), 0).max(1)
}

/// What the hash of a cell adds to the hash of its row.
pub(super) fn in_row(cell: u64, column: u64) -> u64 {
    if cell == NOTHING { 0 } else { folded(cell ^ column, 1) }
}

/// The hash of a row from the sum of what its cells add.
pub(super) fn of_row(sum: u64) -> u64 {
    folded(folded(sum, 3), 0).max(1)
}

/// What a text stands for. In a format without column types (JSON lines), a number may be a number in one batch, and a
/// text in another batch that has words as well. Such a text counts as the number.
pub(super) fn value_of(text: &str, untyped: bool) -> SurveyedValue {
    let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
    if untyped
        && text.as_bytes().first().is_some_and(is_number)
        && let Ok(number) = text.parse::<f64>()
        && number_text(number) == text
    {
        return SurveyedValue::Number(number);
    }
    SurveyedValue::Word(text.to_owned())
}

/// The hashes of these cells, in the order of the rows.
pub(super) fn of_cells(values: &Values, rows: &[usize], untyped: bool) -> Vec<u64> {
    let of_name = |text: &str| if untyped { value_of(text, true).hash() } else { of_text(text) };
    match values {
        Values::Text(cells) => {
            // Whether `None` is a category is decided when all rows are known.
            let of_cell = |&row: &usize| {
                if cells.is_missing(row) && !cells.may_be_category(row) { NOTHING } else { of_name(cells.get(row)) }
            };
            rows.iter().map(of_cell).collect()
        }
        Values::Category { codes, names } => {
            let names: Vec<u64> = names.iter().map(|name| of_name(name)).collect();
            let of_code = |code: u32| if code == MISSING { NOTHING } else { names[code as usize] };
            rows.iter().map(|&row| of_code(codes[row])).collect()
        }
        Values::Number { values, .. } | Values::Time { seconds: values, .. } => {
            let of_cell = |&row: &usize| if values[row].is_nan() { NOTHING } else { of_number(values[row]) };
            rows.iter().map(of_cell).collect()
        }
        Values::Unsupported { .. } => vec![NOTHING; rows.len()],
    }
}
