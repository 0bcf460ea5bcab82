//! Rows as a table has them, from what a detector drew.
//!
//! A detector fills blank cells with codes and scaled numbers ([`crate::detectors::Blanks`]). Here is the way there and
//! back:
//!
//! - `manner.rs` keeps what a schema does not: the quantiles of numbers and how the cells of a column are written
//!   (`number_style.rs`, `date_pattern.rs`);
//! - `plan.rs` says what of a row has to be drawn. What follows from a value is not drawn: its shape, say, or whether a
//!   key occurs twice;
//! - `writing.rs` turns codes and numbers into texts;
//! - `settle.rs` makes the numbers of a row keep the table's relations. `ties.rs` knows how surely each number of a
//!   relation follows from the others, `places.rs` writes it as its column does.
//!
//! | column | what is written |
//! |---|---|
//! | categorical | the category; of categories that share a place, one of them |
//! | numeric | a training value of the drawn bin, or one between two where nearly all differ, with the column's decimals |
//! | date | a date between the first and the last one seen, with the drawn weekday, day, month and hour; where it is compared with another date, as long after it as was drawn |
//! | time | the time of day |
//! | identifier | a fresh key: it goes on behind the last one where keys are numbers with the same beginning, else `new-1`, `new-2` … |
//! | text, ignored | nothing |

mod date_pattern;
mod manner;
mod number_style;
mod places;
mod plan;
mod settle;
mod ties;
mod writing;

pub(crate) use manner::Manner;
pub(crate) use plan::Plan;
pub(crate) use settle::Settler;
pub(crate) use writing::{Pages, unwritten};
