//! Puts oddities into a table, and keeps the truth about each.
//!
//! A [`Plan`] knows how to spoil a row. Rows are drawn at random; a row that a plan has no use for (a date up to the
//! 12th cannot have its day and month exchanged) is left, and another one drawn. No two oddities are in one row or
//! side by side.

use std::collections::BTreeSet;

use super::draw::Draw;
use super::plain::Plain;

/// Rows that are tried before a plan is given up.
const TRIES: usize = 5000;

/// One thing that was planted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oddity {
    /// Its kind, one of [`KINDS`](super::KINDS).
    pub kind: &'static str,
    /// The row or rows that are odd by it, from 0. Several for a flat sensor, and for an identifier that occurs twice:
    /// who looks at the table cannot tell which of the two was there first.
    pub rows: Vec<usize>,
    /// The columns that a reason may name: those that were changed first, then those that they do not go with.
    pub columns: Vec<String>,
}

/// How an oddity of a kind is made.
pub struct Plan {
    /// Its kind.
    pub kind: &'static str,
    edit: Edit,
}

/// Changes cells; `None` where the row is of no use for it.
type Edit = Box<dyn Fn(&mut Site<'_>) -> Option<()>>;

/// A plan from its kind and its edit.
pub fn plan(kind: &'static str, edit: impl Fn(&mut Site<'_>) -> Option<()> + 'static) -> Plan {
    Plan { kind, edit: Box::new(edit) }
}

/// The row that a plan works on. What is read is the clean table; what is changed is noted.
pub struct Site<'a> {
    /// The clean table.
    pub table: &'a Plain,
    /// The row.
    pub row: usize,
    /// Where random choices come from.
    pub draw: &'a mut Draw,
    changes: Vec<(usize, usize, String)>,
    columns: Vec<usize>,
    rows: BTreeSet<usize>,
}

impl<'a> Site<'a> {
    fn new(table: &'a Plain, row: usize, draw: &'a mut Draw) -> Self {
        Self { table, row, draw, changes: Vec::new(), columns: Vec::new(), rows: BTreeSet::from([row]) }
    }

    /// The row's clean cell; `None` if it is empty.
    pub fn get(&self, column: &str) -> Option<&'a str> {
        self.get_in(self.row, column)
    }

    /// The clean cell of another row.
    pub fn get_in(&self, row: usize, column: &str) -> Option<&'a str> {
        let table: &'a Plain = self.table;
        table.rows.get(row)?.get(table.place(column)?).map(String::as_str).filter(|cell| !cell.is_empty())
    }

    /// The row's clean cell as a plain number.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.get(column)?.parse().ok()
    }

    /// Writes a cell of the row.
    pub fn set(&mut self, column: &str, text: impl Into<String>) -> Option<()> {
        self.set_in(self.row, column, text)
    }

    /// Writes a cell of another row, which is then odd as well.
    pub fn set_in(&mut self, row: usize, column: &str, text: impl Into<String>) -> Option<()> {
        let place = self.table.place(column)?;
        self.also_odd(row);
        self.beside(column)?;
        self.changes.push((row, place, text.into()));
        Some(())
    }

    /// A reason may name this column too.
    pub fn beside(&mut self, column: &str) -> Option<()> {
        let place = self.table.place(column)?;
        if !self.columns.contains(&place) {
            self.columns.push(place);
        }
        Some(())
    }

    /// Another row is odd by the same change.
    pub fn also_odd(&mut self, row: usize) {
        self.rows.insert(row);
    }

    /// Whether the column has this value in any row.
    pub fn occurs(&self, column: &str, text: &str) -> bool {
        self.table.place(column).is_some_and(|place| self.table.rows.iter().any(|row| row[place] == text))
    }
}

/// Plants `most` of the plans, which are chosen at random, in as many rows; the planted table and the truth, by row.
pub fn plant(clean: &Plain, plans: Vec<Plan>, most: usize, draw: &mut Draw) -> (Plain, Vec<Oddity>) {
    let mut odd = clean.clone();
    let mut truth: Vec<Oddity> = Vec::new();
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    for plan in draw.shuffled(plans).into_iter().take(most) {
        for _ in 0..TRIES {
            let row = draw.below(clean.rows.len());
            let mut site = Site::new(clean, row, draw);
            let done = (plan.edit)(&mut site).is_some();
            let Site { changes, columns, rows, .. } = site;
            let differs = changes.iter().all(|(row, column, text)| clean.rows[*row][*column] != *text);
            let free = |row: &usize| [row.saturating_sub(1), *row, row + 1].iter().all(|row| !taken.contains(row));
            if !done || changes.is_empty() || !differs || !rows.iter().all(free) {
                continue;
            }
            for (row, column, text) in changes {
                odd.rows[row][column] = text;
            }
            let columns = columns.iter().map(|&place| clean.header[place].clone()).collect();
            taken.extend(&rows);
            truth.push(Oddity { kind: plan.kind, rows: rows.into_iter().collect(), columns });
            break;
        }
    }
    truth.sort_by_key(|oddity| oddity.rows[0]);
    (odd, truth)
}
