//! What the columns of a table are, and rows as detectors see them.
//!
//! `counted` counts the cells of a column. `kinds` decides what it is, with the help of `number` (numbers as written),
//! `written` (their decimal mark) and `date`.
//! `learned` and `dated` learn about it, with the help of `spelling` and `scale`; `schema` is the result. `relations` finds
//! numbers that others give. `features` says what of a column is looked at, `parsed` reads its cells, and `encode` turns
//! the rows of a table into category codes and scaled numbers (`encoded`). `layout` is the shape of such a row. `aside` says what of a row does not count. `ladder` keeps
//! the quantiles of a number. `survey` and `chosen` are for tables that do not fit into memory: what all rows tell, and the rows that
//! are learned from.

mod aside;
mod chosen;
mod codes;
mod counted;
mod date;
mod dated;
mod encode;
mod encoded;
mod features;
mod hashing;
mod kinds;
mod ladder;
mod layout;
mod learned;
mod length;
mod marked;
mod number;
mod parsed;
mod relations;
mod scale;
mod schema;
mod spelling;
mod survey;
mod written;

pub use aside::Aside;
pub(crate) use chosen::ChosenRows;
pub use chosen::SmallestHashes;
pub use date::{DateFormat, Moment};
pub(crate) use date::{WEEKDAYS, month_name};
pub use encode::{ColumnReport, Encoder};
pub use encoded::Encoded;
pub use features::{Aspect, Feature};
pub(crate) use hashing::{hash_row, mix};
pub use ladder::Ladder;
pub use layout::{ABSENT, Layout, UNSEEN};
pub(crate) use length::{length_in, length_text, length_with};
pub(crate) use marked::{marked, marked_for};
pub(crate) use number::mark as mark_of;
pub use number::{NumberFormat, parse_number};
pub use relations::{Relation, RelationKind};
pub(crate) use relations::{learn_counts, number_in, number_of_text};
pub use scale::Scale;
pub use schema::{ColumnChoices, ColumnSchema, DatePart, Difference, Kind, KindChoice, PartOfDate, Schema};
pub(crate) use schema::{list, no_such_column, plural};
pub(crate) use spelling::{distance, nearest};
pub use survey::Survey;
pub(crate) use survey::row_hashes;
