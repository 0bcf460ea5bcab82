//! `gnsm impute`: fills missing cells.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use gnsm::{Column, Imputed, Model, Table, Values};

use super::{Outcome, note_columns, read_table, refuse_same_file};
use crate::arguments::ImputeArguments;
use crate::console::Console;
use crate::display::{count, plain, plural};
use crate::interrupt;
use crate::output::TableWriter;

/// Runs the command.
pub fn run(arguments: &ImputeArguments, console: Console) -> Result<Outcome> {
    let read: Vec<&Path> = arguments.files.iter().chain([&arguments.model]).map(PathBuf::as_path).collect();
    refuse_same_file(&arguments.output, &read)?;
    let model = Model::load(&arguments.model)?;
    let missing = Some(model.schema().missing.clone());
    let mut writer = TableWriter::create(&arguments.output)?;
    let (table, _) = read_table(&arguments.files, &arguments.read.options(missing), console)?;
    interrupt::stop_soon()?;
    note_columns(console, &model, &table.file, &model.check_to_fill(&table)?);
    let imputed = if let Some(draws) = arguments.draws {
        let mut imputed = model.impute_draws(&table, 0, draws, arguments.seed)?;
        number_draws(&mut imputed.table, table.n_rows(), draws);
        imputed
    } else {
        let mut imputed = model.impute(&table, 0)?;
        if arguments.probabilities {
            add_probabilities(&mut imputed);
        }
        imputed
    };
    writer.write(&imputed.table)?;
    writer.finish()?;
    note(&imputed, arguments, console);
    Ok(Outcome::Done)
}

/// Puts the number of the row and of the draw before the columns.
fn number_draws(table: &mut Table, n_rows: usize, draws: usize) {
    let places = || (0..n_rows).flat_map(|row| (0..draws).map(move |draw| (row, draw + 1)));
    let rows = places().map(|(row, _)| row as f64).collect();
    let numbers = places().map(|(_, draw)| draw as f64).collect();
    let added: Vec<Column> = [("row", rows), ("draw", numbers)]
        .into_iter()
        .map(|(name, values)| Column { name: free_name(table, name), values: Values::Number { values, integer: true } })
        .collect();
    table.columns.splice(0..0, added);
}

/// Puts the probabilities of filled cells behind the columns.
fn add_probabilities(imputed: &mut Imputed) {
    for (name, values) in &imputed.probabilities {
        let name = free_name(&imputed.table, &format!("{name}_probability"));
        imputed.table.columns.push(Column { name, values: Values::Number { values: values.clone(), integer: false } });
    }
}

/// A name that no column has.
fn free_name(table: &Table, name: &str) -> String {
    let mut name = name.to_owned();
    while table.column(&name).is_some() {
        name = format!("imputed_{name}");
    }
    name
}

fn note(imputed: &Imputed, arguments: &ImputeArguments, console: Console) {
    let listed = |counts: &BTreeMap<String, usize>| {
        let each: Vec<String> =
            counts.iter().map(|(name, n)| format!("{} {}", plain(name), count(*n as u64))).collect();
        each.join(", ")
    };
    if !imputed.left.is_empty() {
        console.note(format_args!(
            "still missing, since the model cannot tell what belongs there: {}",
            listed(&imputed.left)
        ));
    }
    let n = imputed.filled.values().sum::<usize>() as u64;
    let by_column = if n > 0 { format!(" ({})", listed(&imputed.filled)) } else { String::new() };
    console.note(format_args!("{} filled in {}{by_column}", plural(n, "cell"), arguments.output.display()));
}
