//! `gnsm repair`: writes a table with the cells replaced that are near certainly wrong, and a list of the changes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use gnsm::{Column, Model, OddCell, Table};
use serde_json::json;

use super::{Outcome, note_columns, read_table, refuse_same_file};
use crate::arguments::RepairArguments;
use crate::console::{Console, print, print_json};
use crate::display::plural;
use crate::output::{Destination, csv_cell};

/// The share of listed cells that may be right. Which of them are changed is decided by `--at-least`.
const RATE: f64 = 0.5;
const CHANGES: &str = "row,column,from,to,probability\n";

/// A cell that is replaced.
pub struct Change {
    /// The row, from 0.
    pub row: usize,
    /// The column.
    pub column: String,
    /// What stands there.
    pub from: String,
    /// What belongs there.
    pub to: String,
    /// The probability that both is so.
    pub probability: f64,
}

/// Runs the command.
pub fn run(arguments: &RepairArguments, console: Console) -> Result<Outcome> {
    if !(arguments.at_least > 0.0 && arguments.at_least <= 1.0) {
        bail!("--at-least {}: give a probability above 0 and up to 1, such as 0.9", arguments.at_least);
    }
    let written: Vec<&Path> =
        [&arguments.output, &arguments.changes].into_iter().flatten().map(AsRef::as_ref).collect();
    for (at, path) in written.iter().enumerate() {
        let mut others: Vec<&Path> = arguments.files.iter().map(AsRef::as_ref).collect();
        others.push(&arguments.model);
        others.extend(&written[..at]);
        refuse_same_file(path, &others)?;
    }
    let is_csv = |path: &Path| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    if let Some(path) = written.iter().find(|path| !is_csv(path)) {
        bail!("{}: repair writes csv; name a file that ends in .csv", path.display());
    }
    let model = Model::load(&arguments.model)?;
    let missing = Some(model.schema().missing.clone());
    let (table, _) = read_table(&arguments.files, &arguments.read.options(missing), console)?;
    note_columns(console, &model, &table.file, &model.check(&table)?);
    let changes = changes(&model, &table, arguments.at_least)?;
    if arguments.json {
        let list = changes.iter().map(|Change { row, column, from, to, probability }| {
            json!({ "row": row, "column": column, "from": from, "to": to, "probability": probability })
        });
        print_json(&json!({ "file": table.file, "rows": table.n_rows(), "changes": list.collect::<Vec<_>>() }))?;
    } else if arguments.dry_run && arguments.changes.is_none() {
        print(&list(&changes))?;
    }
    if let Some(path) = &arguments.changes {
        let mut file = Destination::create(Some(path))?;
        file.write_all(list(&changes).as_bytes())?;
        file.finish()?;
    }
    match arguments.output.as_deref().filter(|_| !arguments.dry_run) {
        Some(path) => {
            write_table(&table, &changes, path)?;
            console.note(format_args!(
                "{} of {} changed in {}",
                plural(changes.len() as u64, "cell"),
                plural(table.n_rows() as u64, "row"),
                path.display()
            ));
        }
        None => console.note(format_args!("{} would be changed", plural(changes.len() as u64, "cell"))),
    }
    Ok(Outcome::Done)
}

/// The cells of a table that are replaced, the surest first.
pub fn changes(model: &Model, table: &Table, at_least: f64) -> gnsm::Result<Vec<Change>> {
    let judge = model.judge();
    let cells = judge.read_whole(table)?.odd_cells(RATE)?;
    Ok(cells.iter().filter_map(|cell| change(cell, table, at_least)).collect())
}

/// The change of a cell, if it is sure enough that the cell is wrong and what belongs there.
fn change(cell: &OddCell, table: &Table, at_least: f64) -> Option<Change> {
    let (to, probability) = cell.change(at_least)?;
    let (to, column) = (to.to_owned(), cell.reason.column.clone());
    let from = table.column(&column)?.values.text(cell.row).map(Cow::into_owned).unwrap_or_default();
    Some(Change { row: cell.row, column, from, to, probability })
}

/// The changes as CSV.
fn list(changes: &[Change]) -> String {
    let mut text = String::from(CHANGES);
    for Change { row, column, from, to, probability } in changes {
        let [column, from, to] = [column, from, to].map(|text| csv_cell(text));
        text += &format!("{row},{column},{from},{to},{probability:.4}\n");
    }
    text
}

fn write_table(table: &Table, changes: &[Change], path: &Path) -> Result<()> {
    let changed: BTreeMap<(usize, &str), &str> =
        changes.iter().map(|change| ((change.row, change.column.as_str()), change.to.as_str())).collect();
    let mut file = Destination::create(Some(path))?;
    let header: Vec<String> = table.columns.iter().map(|column| csv_cell(&column.name)).collect();
    writeln!(file, "{}", header.join(","))?;
    for row in 0..table.n_rows() {
        let cell = |column: &Column| match changed.get(&(row, column.name.as_str())) {
            Some(value) => csv_cell(value),
            None => csv_cell(&column.values.text(row).unwrap_or_default()),
        };
        let cells: Vec<String> = table.columns.iter().map(cell).collect();
        writeln!(file, "{}", cells.join(","))?;
    }
    file.finish()
}
