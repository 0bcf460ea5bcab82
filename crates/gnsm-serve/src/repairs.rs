//! What is answered about cells that are near certainly wrong: what belongs there.

use std::borrow::Cow;

use gnsm::{Model, OddCell};
use serde::Serialize;
use utoipa::ToSchema;

use crate::body::Body;
use crate::judge::check;
use crate::problem::Problem;
use crate::sheet::{Answer, Cells, Sheet, write_lines};

/// The share of listed cells that may be right. As with `gnsm repair`, it is decided afterwards which of them are sure
/// enough to be changed.
const RATE: f64 = 0.5;

/// Cells to replace, the surest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct Repairs<'a> {
    /// The model.
    model: &'a str,
    /// Its hash.
    hash: Option<&'a str>,
    /// How many rows were looked at.
    rows: u64,
    /// How many rows could not be read.
    bad: u64,
    /// What belongs where.
    changes: Vec<Replaced>,
    /// The rows that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<BadRow>,
}

/// A cell to replace.
#[derive(Debug, Serialize, ToSchema)]
pub struct Replaced {
    /// The row in the request, from 0.
    row: u64,
    /// The column.
    column: String,
    /// What stands there.
    from: String,
    /// What belongs there.
    to: String,
    /// How likely it is that the cell is wrong and this is right.
    probability: f64,
}

/// A row that could not be read.
#[derive(Debug, Serialize, ToSchema)]
pub struct BadRow {
    /// Its number in the request, from 0.
    row: u64,
    /// Why.
    error: String,
}

impl<'a> Repairs<'a> {
    /// Looks for cells that are wrong, and whose right value is at least so sure.
    pub fn find(name: &'a str, model: &'a Model, body: Body, at_least: f64) -> Result<Self, Problem> {
        let table = body.table()?;
        check(model, table)?;
        let change = |cell: &OddCell| {
            let (to, probability) = cell.change(at_least)?;
            let (to, column) = (to.to_owned(), cell.reason.column.clone());
            let from = table.column(&column)?.values.text(cell.row).map(Cow::into_owned).unwrap_or_default();
            Some(Replaced { row: body.rows[cell.row], column, from, to, probability })
        };
        let judge = model.judge();
        let cells = judge.read_whole(table).and_then(|batch| batch.odd_cells(RATE)).map_err(Problem::unfit)?;
        let changes = cells.iter().filter_map(change).collect();
        let (rows, bad) = (body.rows.len() as u64, body.bad.len() as u64);
        let errors = body.bad.into_iter().map(|(row, error)| BadRow { row, error }).collect();
        Ok(Self { model: name, hash: model.hash(), rows, bad, changes, errors })
    }
}

impl Answer for Repairs<'_> {
    fn lines(&self, text: &mut Vec<u8>) -> serde_json::Result<()> {
        write_lines(text, &self.changes)?;
        write_lines(text, &self.errors)
    }

    fn sheet(&self) -> Sheet {
        let (changes, errors) = (&self.changes, &self.errors);
        // Where a row could not be read, it has an error and nothing else.
        let text = |of: fn(&Replaced) -> &String| {
            let texts = changes.iter().map(|change| Some(of(change).clone()));
            Cells::Text(texts.chain(errors.iter().map(|_| None)).collect())
        };
        let rows = changes.iter().map(|change| change.row).chain(errors.iter().map(|bad| bad.row));
        let sure = changes.iter().map(|change| Some(change.probability)).chain(errors.iter().map(|_| None));
        let sheet = Sheet::default()
            .column("row", Cells::Count(rows.map(Some).collect()))
            .column("column", text(|change| &change.column))
            .column("from", text(|change| &change.from))
            .column("to", text(|change| &change.to))
            .column("probability", Cells::Number(sure.collect()));
        if errors.is_empty() {
            return sheet;
        }
        let said = changes.iter().map(|_| None).chain(errors.iter().map(|bad| Some(bad.error.clone())));
        sheet.column("error", Cells::Text(said.collect()))
    }
}
