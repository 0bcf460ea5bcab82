//! `gnsm sample`: makes new rows.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use gnsm::{Kind, Model, Table};

use super::{Outcome, note_columns, read_table, refuse_same_file};
use crate::arguments::SampleArguments;
use crate::console::Console;
use crate::display::{names, plural};
use crate::interrupt;
use crate::output::TableWriter;
use crate::progress::RowCounter;

/// Rows that are made at a time.
const BATCH: u64 = 4096;

/// Runs the command.
pub fn run(arguments: &SampleArguments, console: Console) -> Result<Outcome> {
    let mut read: Vec<&Path> = arguments.like.iter().map(PathBuf::as_path).collect();
    read.push(&arguments.model);
    refuse_same_file(&arguments.output, &read)?;
    let model = Model::load(&arguments.model)?;
    let given = given(arguments, &model, console)?;
    let n_rows = match (arguments.rows, &given) {
        (Some(rows), _) => rows,
        (None, Some(given)) if arguments.like.is_some() => given.n_rows() as u64,
        _ => bail!("say how many rows to make, with -n"),
    };
    let mut writer = TableWriter::create(&arguments.output)?;
    interrupt::stop_soon()?;
    let counter = RowCounter::new(console, false);
    // Also where there are none, for the header.
    let mut first = 0;
    loop {
        let end = (first + BATCH).min(n_rows);
        writer.write(&model.sample(first..end, arguments.seed, given.as_ref())?)?;
        counter.add(end - first);
        if interrupt::requested() {
            return Ok(Outcome::Interrupted);
        }
        first = end;
        if first == n_rows {
            break;
        }
    }
    writer.finish()?;
    drop(counter);
    note_left_out(&model, given.as_ref(), console);
    console.note(format_args!("{} made in {}", plural(n_rows, "row"), arguments.output.display()));
    Ok(Outcome::Done)
}

/// The cells that are given, from both flags.
fn given(arguments: &SampleArguments, model: &Model, console: Console) -> Result<Option<Table>> {
    let mut cells = Vec::new();
    for text in &arguments.given {
        let Some((name, value)) = text.split_once('=') else {
            bail!("--given {text}: write it as COLUMN=VALUE, such as 'country=Germany'");
        };
        cells.push((name.trim(), value.trim()));
    }
    let fixed = model.given(cells)?;
    let Some(path) = &arguments.like else {
        return Ok(Some(fixed).filter(|fixed| !fixed.columns.is_empty()));
    };
    let missing = Some(model.schema().missing.clone());
    let (mut like, _) = read_table(std::slice::from_ref(path), &arguments.read.options(missing), console)?;
    if let Some(column) = fixed.columns.iter().find(|column| like.column(&column.name).is_some()) {
        bail!("column `{}` is given, and {} has it too; leave one of the two out", column.name, like.file);
    }
    // A row may have as few columns as its owner likes.
    like.rows_may_omit_columns = true;
    let mut report = model.check(&like)?;
    if report.extra.len() == like.columns.len() {
        let columns: Vec<String> = model.schema().columns.iter().map(|column| column.name.clone()).collect();
        bail!("{} has no column that the model knows; the model's are {}", like.file, names(&columns));
    }
    report.absent.clear();
    note_columns(console, model, &like.file, &report);
    note_strangers(model, &like, console);
    for column in fixed.columns {
        let value = column.values.text(0).unwrap_or_default().into_owned();
        let mut cells = gnsm::TextCells::default();
        (0..like.n_rows()).for_each(|_| cells.push(&value));
        like.columns.push(gnsm::Column { name: column.name, values: gnsm::Values::Text(cells) });
    }
    Ok(Some(like))
}

/// Says which columns of a table hold values that the model never saw. Such cells are kept, but they tell nothing about
/// others.
fn note_strangers(model: &Model, like: &Table, console: Console) {
    for column in &like.columns {
        if model.schema().columns.iter().all(|known| known.name != column.name) {
            continue;
        }
        let cells = (0..like.n_rows()).filter_map(|row| column.values.text(row));
        let distinct: std::collections::BTreeSet<String> = cells.map(std::borrow::Cow::into_owned).collect();
        let strange: Vec<String> =
            distinct.into_iter().filter(|text| model.given([(&column.name, text)]).is_err()).collect();
        if !strange.is_empty() {
            console.note(format_args!(
                "column `{}` never held {}; it is kept, and tells nothing about the rest of its row",
                column.name,
                names(&strange)
            ));
        }
    }
}

/// Says which columns have no values of their own.
fn note_left_out(model: &Model, given: Option<&Table>, console: Console) {
    let is_open = |name: &str| given.is_none_or(|given| given.column(name).is_none());
    let of_kind = |is_kind: fn(&Kind) -> bool| -> Vec<String> {
        let columns = model.schema().columns.iter().filter(|column| is_kind(&column.kind) && is_open(&column.name));
        columns.map(|column| column.name.clone()).collect()
    };
    let keys = of_kind(|kind| matches!(kind, Kind::Identifier { .. }));
    let empty = of_kind(|kind| matches!(kind, Kind::Text { .. } | Kind::Ignored));
    if !keys.is_empty() {
        console.note(format_args!("fresh keys, which tell nothing: {}", names(&keys)));
    }
    if !empty.is_empty() {
        console.note(format_args!(
            "left empty, since the model does not learn free text and what is ignored: {}",
            names(&empty)
        ));
    }
}
