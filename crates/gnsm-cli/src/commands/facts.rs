//! Facts about a file, in a list, and the rows of one of them.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use gnsm::facts::{self, Fact};
use gnsm::{Schema, Table};

use crate::display::{self, FAINT, LONGEST_CELL, Place, STRONG};

/// Rows that are listed with each fact.
const LISTED_ROWS: usize = 5;

/// The facts of a table, each with its first rows.
pub fn of(table: &Table, schema: &Schema) -> Vec<Fact> {
    facts::find(table, schema, now(), LISTED_ROWS)
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// The facts as a list.
pub fn list(facts: &[Fact]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{STRONG}Facts{STRONG:#}\n");
    for (at, fact) in facts.iter().enumerate() {
        let mut rows = fact.rows.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        if fact.rows.len() == LISTED_ROWS && fact.count > LISTED_ROWS as u64 {
            rows += ", …";
        }
        let row = if fact.rows.len() == 1 { "row" } else { "rows" };
        let shown = if rows.is_empty() { rows } else { format!("  {FAINT}{row} {rows}{FAINT:#}") };
        let _ = writeln!(text, "  {}. {}{shown}", at + 1, display::plain(&fact.text));
    }
    display::wrapped(Place::Output, &text)
}

/// All rows of the fact with this number, from 1.
pub fn rows(table: &Table, schema: &Schema, number: usize, has_lines: bool) -> Result<String> {
    let all = facts::find(table, schema, now(), usize::MAX);
    let Some(fact) = number.checked_sub(1).and_then(|at| all.get(at)) else {
        bail!("there is no fact {number}; there are {}", all.len());
    };
    let mut text = format!("{STRONG}{}{STRONG:#}\n", display::plain(&fact.text));
    for row in &fact.rows {
        let row = *row as usize;
        let line =
            table.lines.get(row).filter(|_| has_lines).map_or_else(String::new, |line| format!(" (line {line})"));
        let columns = table.columns.iter();
        let shown = columns.filter(|column| fact.columns.is_empty() || fact.columns.contains(&column.name));
        let cells = shown.map(|column| {
            let cell = column.values.text(row);
            let cell =
                cell.map_or_else(|| "(missing)".to_owned(), |text| display::cell(Place::Output, &text, LONGEST_CELL));
            format!("{} = {cell}", display::plain(&column.name))
        });
        let _ = writeln!(text, "  row {row}{line}  {}", cells.collect::<Vec<_>>().join(", "));
    }
    Ok(text)
}
