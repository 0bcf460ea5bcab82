//! How the rows of a file differ from those that a model learned from, column by column.
//!
//! A model keeps a [`Reference`]: how often each value of each column occurred, numbers in ten bins of about equal
//! size, and the ends of numbers, dates and keys. A [`DriftCounter`] counts the same of other rows, batch by batch, in
//! memory that does not grow with the rows. Counters of several parts of a file can be merged; the order changes
//! nothing.
//!
//! # When a column has moved
//!
//! With n rows that were learned from and m rows of the file, a column has moved if one of these holds:
//!
//! - *Shares*: one of four shares differs from what was learned by more than 0.1, and by more than 3.29 standard
//!   errors. The four are those of missing values, of new values, of cells that are no number or date, and of numbers
//!   below or above all learned ones. A standard error is √(p(1 − p)(1/n + 1/m)), where p is the share in all rows
//!   together; chance alone exceeds 3.29 of them once in a thousand times. The usual share of new values is n₁/n, where
//!   n₁ values occurred once (Good, *Biometrika* 1953). That of numbers outside is 2/n, since two of n numbers are the
//!   ends.
//! - *Shift*: the population stability index over B bins with the shares q before and p now,
//!
//!   ```text
//!   PSI = Σ (p − q) log(p / q)
//!   ```
//!
//!   is above 0.25, and above what chance reaches once in a thousand times. Without a change, PSI/(1/n + 1/m) has about
//!   a χ² distribution with B − 1 degrees of freedom (Yurdakul and Naranjo, *Journal of Risk Model Validation*, 2020).
//!   Half a row is added to each bin. Each category that at least one in a hundred rows had is a bin, but only the 19
//!   most common ones; all others, new ones too, are one bin.
//!
//! Two things change with time and are not counted as moved: keys, which are new in every file, and dates, which go on
//! (with their month and day). A report names them, but raises no alarm.
//!
//! # What is set aside
//!
//! In a file of the next month, every row has a month that was never seen. If that counted, all rows would be odd for
//! the same reason, which says nothing about any of them. So it is *set aside*: [`DriftReport`] names it, and a model
//! can leave it out of all scores ([`crate::Model::judge_without`]). What is looked at in a column (its value, its shape,
//! its month …) is set aside if there are at least 20 rows and one of these holds:
//!
//! - More than half of the rows have something new in it.
//! - The rows come after those learned (or before: most dates or keys of a column are beyond), and by the rules above
//!   - it is a number that has moved: a meter counts on, a battery runs down;
//!   - more of its values are new: customers and devices come and go;
//!   - more of its values are new or rare, which is what less than one in a hundred rows had: a version that was just
//!     out is common a month later;
//!   - more rows miss it: what was lent last is not back yet;
//!   - or, though no rule shows it, by itself it makes more rows odd than all columns together usually do (`odd.rs`).

mod counter;
mod odd;
mod reference;
mod report;
mod sample;
mod statistics;

pub use counter::{DriftCounter, DriftCounts};
pub(crate) use odd::Basis;
pub use reference::Reference;
pub use report::{Change, ColumnDrift, DriftReport};

#[cfg(test)]
mod tests;
