//! What is answered about drift: how the rows of a body differ from those that the model learned from.

use gnsm::{ColumnDrift, DriftReport, Model};
use serde::Serialize;
use utoipa::ToSchema;

use crate::body::Body;
use crate::judge::check;
use crate::problem::Problem;
use crate::sheet::{Answer, Cells, Sheet, write_lines};

/// Drift by column.
#[derive(Debug, Serialize, ToSchema)]
pub struct Drifts<'a> {
    /// The model.
    model: &'a str,
    /// Its hash.
    hash: Option<&'a str>,
    /// How many rows could not be read.
    bad: u64,
    /// The columns that have moved.
    moved: Vec<String>,
    /// Figures and words for each column, as `gnsm drift --json` gives them.
    #[schema(value_type = Object)]
    drift: DriftReport,
}

impl<'a> Drifts<'a> {
    /// Compares the rows of a body.
    pub fn find(name: &'a str, model: &'a Model, body: &Body) -> Result<Self, Problem> {
        let table = body.table()?;
        check(model, table)?;
        let mut counter = model.drift();
        counter.add(table).map_err(Problem::unfit)?;
        let drift = counter.report();
        let moved = drift.moved().map(|column| column.column.clone()).collect();
        Ok(Self { model: name, hash: model.hash(), bad: body.bad.len() as u64, moved, drift })
    }
}

impl Answer for Drifts<'_> {
    fn lines(&self, text: &mut Vec<u8>) -> serde_json::Result<()> {
        write_lines(text, &self.drift.columns)
    }

    fn sheet(&self) -> Sheet {
        let columns = &self.drift.columns;
        let text =
            |of: fn(&ColumnDrift) -> String| Cells::Text(columns.iter().map(|column| Some(of(column))).collect());
        let flag = |of: fn(&ColumnDrift) -> bool| {
            Cells::Flag(columns.iter().map(|column| Some(u8::from(of(column)))).collect())
        };
        let number = |of: fn(&ColumnDrift) -> Option<f64>| Cells::Number(columns.iter().map(of).collect());
        Sheet::default()
            .column("column", text(|column| column.column.clone()))
            .column("kind", text(|column| column.kind.to_owned()))
            .column("moved", flag(|column| column.moved))
            .column("set_aside", flag(|column| column.set_aside))
            .column("missing_then", number(|column| Some(column.missing.then)))
            .column("missing_now", number(|column| Some(column.missing.now)))
            .column("new_then", number(|column| column.new.map(|new| new.then)))
            .column("new_now", number(|column| column.new.map(|new| new.now)))
            .column("out_of_range", number(|column| column.out_of_range))
            .column("shift", number(|column| column.shift))
            .column("notes", text(|column| column.notes.join("; ")))
    }
}
