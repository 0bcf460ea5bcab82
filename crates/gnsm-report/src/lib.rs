//! The pages of gnsm: a report on the odd rows of a table, and one on odd masks.
//!
//! A page is one HTML file. It fetches nothing, and its content security policy allows no script but its own. Templates
//! escape every text that comes from a file, and the script puts texts into the page as texts only.
//!
//! ```no_run
//! use gnsm::{Decision, Model, ReadOptions, Rule, TableReader};
//! use gnsm_report::Collector;
//!
//! let model = Model::load("claims.gnsm")?;
//! let judge = model.judge();
//! let mut decision = Decision::new(Rule::Contamination(0.01))?;
//! let mut collector = Collector::new(&judge);
//! let mut reader = TableReader::open("claims.csv", &ReadOptions::default())?;
//! while let Some(table) = reader.next_batch(8192)? {
//!     let batch = judge.read(&table)?;
//!     decision.add(batch.scores());
//!     collector.add(&batch)?;
//! }
//! let report = collector.finish(decision.finish(), "claims.csv", "claims.gnsm");
//! std::fs::write("report.html", report.html())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `collect` walks over the rows once and keeps the oddest, `tally` counts the values of every column, `columns` sums
//! up what is odd in each column, `kind` sorts reasons into kinds, `chart` draws, `data` is what the script reads,
//! `alternatives` says what else could stand in a cell, and `page` puts everything into the template. `masks` is the
//! page on masks. `frame` is what all pages share.

mod alternatives;
mod chart;
mod collect;
mod columns;
mod data;
mod frame;
mod kind;
pub mod masks;
mod nearest;
mod page;
mod serving;
mod tally;
mod words;
#[cfg(test)]
mod tests;

pub use collect::Collector;
pub use frame::Frame;
pub use page::Report;
pub use serving::serving_page;
pub use words::{count, plural, shown};
