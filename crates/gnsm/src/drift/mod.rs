//! How the rows of a file differ from those that a model learned from, column by column.
//!
//! A model keeps a [`Reference`]: how often each value of each column occurred, numbers in ten bins of about equal size,
//! and the ends of numbers, dates and keys. A [`DriftCounter`] counts the same of other rows, batch by batch, in memory
//! that does not grow with the rows. Counters of several parts of a file can be merged; the order changes nothing.
//!
//! # When a column has moved
//!
//! With n learned and m new rows, a column has moved if one of these holds:
//!
//! - *Shares*: the share of missing values, of new values, of cells that are no number or date, or of numbers outside of
//!   all learned ones is more than 0.1 away from what was learned, and more than 3.29 standard errors. That is
//!   √(p(1 − p)(1/n + 1/m)), where p is the share in both together; chance alone does it once in a thousand times.
//!   The share of new values that is usual is n₁/n, where n₁ values occurred once (Good, *Biometrika* 1953). Two of n
//!   numbers are the ends of those learned, so 2/n is the usual share outside.
//! - *Shift*: the population stability index over B bins with the shares q before and p now,
//!
//!   ```text
//!   PSI = Σ (p − q) log(p / q)
//!   ```
//!
//!   is above 0.25 and above what chance does once in a thousand times. Without a change, PSI/(1/n + 1/m) has about a
//!   χ² distribution with B − 1 degrees of freedom (Yurdakul and Naranjo, *Journal of Risk Model Validation*, 2020).
//!   Half a row is added to each bin. Categories that at least one in a hundred rows had are bins, the 19 most common at
//!   the most; all others, new ones too, are one bin.
//!
//! What time moves has not moved: keys are new in every file, and dates go on. They are named and do not alarm. Nor do
//! the month and the day of a date that goes on.
//!
//! # What is set aside
//!
//! Where more than half of at least 20 rows have something new in what is looked at of a column (a value, a shape, a
//! month, a number outside of all learned ones), every row would be odd for the same reason. That says nothing about a
//! row. Where the rows come after those learned (most dates or keys are beyond), a number that has moved by the rules
//! above is new in this sense too: a meter counts on, a battery runs down. So is a column in which more
//! values are new, by the rule above: customers and devices come and go. Or in which more are rare or new, a value being
//! rare that less than one in a hundred rows had: a version that was just out is common a month later. And so is one that
//! more rows miss: what was lent last is not back yet. So, last, is one that by itself makes more rows odd than all columns
//! together usually do (`odd.rs`); it has moved, too. [`DriftReport`] names it, and a model can set it aside
//! ([`crate::Model::judge_without`]): it is then no part of any score.

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
