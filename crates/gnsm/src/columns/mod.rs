//! What the columns of a table are, and rows as detectors see them.
//!
//! `schema` decides what each column is and learns its categories or its scale. `encode` turns the rows of a table into
//! category codes and scaled numbers. `layout` is the shape of such a row.

mod codes;
mod encode;
mod layout;
mod schema;

pub(crate) use encode::unscaled;
pub use encode::{ColumnReport, Encoded, EncodedColumn, Encoder};
pub use layout::{ABSENT, Layout, UNSEEN};
pub use schema::{ColumnChoices, ColumnSchema, FEW_INTEGERS, Kind, KindChoice, MOST_CATEGORIES, Schema, parse_number};
pub(crate) use schema::{no_such_column, plural};
