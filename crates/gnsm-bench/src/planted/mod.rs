//! Ordinary tables with planted oddities, and how many of them are found.
//!
//! Nine kinds of tables as people have them are made from a seed: cells are text, columns go together as they do in
//! life, and there are rare values, long tails and gaps that are nobody's mistake. Each is then spoiled in some rows,
//! in ways that have [names](KINDS). A detector learns from the file and nothing else; it is judged by how many of the
//! spoiled rows are among the first k of its ranking, where k is their number, and by whether its first reason names
//! the spoiled column.
//!
//! ```
//! use gnsm_bench::planted::make;
//!
//! let made = make("survey", 7).expect("a table of that name");
//! assert_eq!(made.odd.rows.len(), 300);
//! let oddity = &made.truth[0];
//! let (row, column) = (oddity.rows[0], made.odd.place(&oddity.columns[0]).expect("a column"));
//! assert_ne!(made.odd.rows[row][column], made.clean.rows[row][column]);
//! ```

mod draw;
mod written;
mod plain;
mod kinds;
mod plant;
mod edits;
mod ledger;
mod ledger_us;
mod ledger_eu;
mod claims;
mod logins;
mod wide;
mod sensors;
mod staff;
mod survey;
mod orders;
mod run;
mod report;

pub(crate) use draw::Draw;
pub use kinds::KINDS;
pub use plain::Plain;
pub use plant::Oddity;
pub use report::summarise;
pub use run::{Detector, Judged, Line, Options, Outcome, fit_and_score, read_lines, run, write};

use plant::Plan;

/// How a table is made.
struct Maker {
    name: &'static str,
    /// Whether time moves with the rows.
    ordered: bool,
    /// Oddities that are planted; the seed decides which of the plans.
    planted: usize,
    table: fn(&mut Draw) -> Plain,
    plans: fn() -> Vec<Plan>,
}

const MAKERS: [Maker; 9] = [
    Maker { name: "ledger-us", ordered: true, planted: 22, table: ledger_us::table, plans: ledger_us::plans },
    Maker { name: "ledger-eu", ordered: true, planted: 22, table: ledger_eu::table, plans: ledger_eu::plans },
    Maker { name: "claims", ordered: true, planted: 18, table: claims::table, plans: claims::plans },
    Maker { name: "logins", ordered: true, planted: 14, table: logins::table, plans: logins::plans },
    Maker { name: "wide", ordered: false, planted: 8, table: wide::table, plans: wide::plans },
    Maker { name: "sensors", ordered: true, planted: 10, table: sensors::table, plans: sensors::plans },
    Maker { name: "staff", ordered: false, planted: 12, table: staff::table, plans: staff::plans },
    Maker { name: "survey", ordered: false, planted: 7, table: survey::table, plans: survey::plans },
    Maker { name: "orders", ordered: true, planted: 15, table: orders::table, plans: orders::plans },
];

/// A table without and with oddities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The table's name.
    pub name: &'static str,
    /// The seed.
    pub seed: u64,
    /// Whether time moves with the rows, so that [`Plain::cut`] gives an older and a newer part.
    pub ordered: bool,
    /// As it would be if nobody made mistakes.
    pub clean: Plain,
    /// With oddities.
    pub odd: Plain,
    /// What is odd, by row.
    pub truth: Vec<Oddity>,
}

/// The tables' names.
pub fn table_names() -> Vec<&'static str> {
    MAKERS.iter().map(|maker| maker.name).collect()
}

/// Makes a table from a seed; `None` if there is none of that name.
pub fn make(name: &str, seed: u64) -> Option<Made> {
    let maker = MAKERS.iter().find(|maker| maker.name == name)?;
    let clean = (maker.table)(&mut Draw::new(name, seed, "rows"));
    let (odd, truth) = plant::plant(&clean, (maker.plans)(), maker.planted, &mut Draw::new(name, seed, "oddities"));
    Some(Made { name: maker.name, seed, ordered: maker.ordered, clean, odd, truth })
}

#[cfg(test)]
mod tests;
