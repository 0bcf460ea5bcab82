//! `gnsm repair`: writes a table with the cells replaced that are near certainly wrong, and a list of the changes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use gnsm::{Model, OddCell, Table, read_table_with};
use serde_json::json;

use super::{Outcome, note_columns, refuse_same_file};
use crate::arguments::RepairArguments;
use crate::console::{Console, print, print_json};
use crate::display::plural;
use crate::output::{Destination, csv_line};

/// The share of listed cells that may be right. Which of them are changed is decided by `--at-least`.
const RATE: f64 = 0.5;
const CHANGES: [&str; 5] = ["row", "column", "from", "to", "probability"];

/// A cell that is replaced.
struct Change {
    row: usize,
    column: String,
    from: String,
    to: String,
    probability: f64,
}

/// Runs the command.
pub fn run(arguments: &RepairArguments, console: Console) -> Result<Outcome> {
    if !(arguments.at_least > 0.0 && arguments.at_least <= 1.0) {
        bail!("--at-least {}: give a probability above 0 and up to 1, such as 0.9", arguments.at_least);
    }
    let written: Vec<&Path> =
        [&arguments.output, &arguments.changes].into_iter().flatten().map(AsRef::as_ref).collect();
    for (at, path) in written.iter().enumerate() {
        let mut others = vec![arguments.model.as_path(), arguments.file.as_path()];
        others.extend(&written[..at]);
        refuse_same_file(path, &others)?;
    }
    if let Some(path) = arguments.output.as_deref().filter(|path| separator(path).is_none()) {
        bail!("{}: repair writes .csv and .tsv; name such a file", path.display());
    }
    let model = Model::load(&arguments.model)?;
    let table = read_table_with(&arguments.file, &arguments.read.options())?;
    note_columns(console, &model, &table.file, &model.check(&table)?);
    let changes: Vec<Change> = model
        .odd_cells(&table, RATE)?
        .into_iter()
        .filter_map(|cell| change(cell, &table, arguments.at_least))
        .collect();
    if arguments.json {
        let list: Vec<_> = changes.iter().map(|Change { row, column, from, to, probability }| {
            json!({ "row": row, "column": column, "from": from, "to": to, "probability": probability })
        });
        print_json(&json!({ "file": table.file, "rows": table.n_rows(), "changes": list.collect::<Vec<_>>() }))?;
    } else if arguments.dry_run && arguments.changes.is_none() {
        print(&list(&changes)?)?;
    }
    if let Some(path) = &arguments.changes {
        let mut file = Destination::create(Some(path))?;
        file.write_all(list(&changes)?.as_bytes())?;
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

/// What is done about a cell, if it is sure enough: that it is wrong, and what belongs there.
fn change(cell: OddCell, table: &Table, at_least: f64) -> Option<Change> {
    let (to, of_value) = cell.repair?;
    let probability = cell.wrong * of_value;
    let from = table.column(&cell.reason.column)?.values.text(cell.row).map(Cow::into_owned).unwrap_or_default();
    (probability >= at_least).then_some(Change { row: cell.row, column: cell.reason.column, from, to, probability })
}

/// The changes as CSV.
fn list(changes: &[Change]) -> Result<String> {
    let mut text = csv_line(CHANGES.map(Cow::from), ',');
    for Change { row, column, from, to, probability } in changes {
        let cells = [row.to_string(), column.clone(), from.clone(), to.clone(), format!("{probability:.4}")];
        text += &csv_line(cells.map(Cow::from), ',');
    }
    Ok(text)
}

/// What stands between the cells of a file of this name.
fn separator(path: &Path) -> Option<char> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "csv" => Some(','),
        "tsv" => Some('\t'),
        _ => None,
    }
}

fn write_table(table: &Table, changes: &[Change], path: &Path) -> Result<()> {
    let separator = separator(path).unwrap_or(',');
    let changed: BTreeMap<(usize, &str), &str> =
        changes.iter().map(|change| ((change.row, change.column.as_str()), change.to.as_str())).collect();
    let mut file = Destination::create(Some(path))?;
    file.write_all(csv_line(table.columns.iter().map(|column| Cow::from(&column.name)), separator).as_bytes())?;
    for row in 0..table.n_rows() {
        let cells = table.columns.iter().map(|column| match changed.get(&(row, column.name.as_str())) {
            Some(value) => Cow::from(*value),
            None => column.values.text(row).unwrap_or_default(),
        });
        file.write_all(csv_line(cells, separator).as_bytes())?;
    }
    file.finish()
}
