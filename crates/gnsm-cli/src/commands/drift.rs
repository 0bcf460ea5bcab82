//! `gnsm drift`: how a file differs from what a model learned, column by column.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use comfy_table::{Attribute, Cell, Color};
use gnsm::{Change, ColumnDrift, DriftReport, Model, ReadOptions};
use serde_json::json;

use super::{Outcome, open_table, shown};
use crate::arguments::DriftArguments;
use crate::console::{Console, print_json, print_page};
use crate::display::{Place, STRONG, cell, columns, count, left, names, plain, plural, right};
use crate::interrupt;

/// Rows read at a time.
const BATCH: usize = 8192;
/// Rows of the first batch, whose columns are compared with the model's; the same number as when scoring.
const CHECKED_ROWS: usize = 1024;
/// Columns that are named when scoring, at the most.
const NAMED_COLUMNS: usize = 20;

/// Runs the command.
pub fn run(arguments: &DriftArguments, console: Console) -> Result<Outcome> {
    let model = Model::load(&arguments.model)?;
    interrupt::stop_soon()?;
    let options = arguments.read.options(Some(model.schema().missing.clone()));
    let Some(report) = compare(&model, &arguments.files, &options)? else {
        return Ok(Outcome::Interrupted);
    };
    if report.rows == 0 {
        bail!("{}: holds no rows; give a file with rows", shown(&arguments.files));
    }
    if arguments.json {
        let mut object = json!({ "file": shown(&arguments.files), "model": model.hash() });
        object["moved"] = json!(report.moved().map(|column| &column.column).collect::<Vec<_>>());
        object["drift"] = json!(report);
        print_json(&object)?;
    } else {
        print_page(&page(&report))?;
    }
    note_set_aside(console, &report);
    Ok(Outcome::Done)
}

/// Whether a table can be read a second time: files can, a pipe cannot.
pub fn is_read_twice(paths: &[PathBuf]) -> bool {
    let is_file = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.is_file() || found.is_dir());
    paths.iter().all(|path| path != Path::new("-") && is_file(path))
}

/// Reads a file and compares it with what was learned; `None` after Ctrl-C.
pub fn compare(model: &Model, paths: &[PathBuf], options: &ReadOptions) -> Result<Option<DriftReport>> {
    let mut reader = open_table(paths, options)?;
    let mut drift = model.drift();
    let mut size = CHECKED_ROWS;
    while let Some(batch) = reader.next_batch(size)? {
        if size == CHECKED_ROWS {
            model.check(&batch)?;
            size = BATCH;
        }
        drift.add(&batch)?;
        reader.recycle(batch);
        if interrupt::requested() {
            return Ok(None);
        }
    }
    Ok(Some(drift.report()))
}

/// Names the columns that moved, and those that went on.
pub fn note(console: Console, report: &DriftReport) {
    let named: Vec<&ColumnDrift> = report.columns.iter().filter(|column| !column.notes.is_empty()).collect();
    for column in named.iter().take(NAMED_COLUMNS) {
        let text = format!("{}: {}", plain(&column.column), plain(&column.notes.join("; ")));
        if column.moved {
            console.warn(text);
        } else {
            console.note(text);
        }
    }
    if named.len() > NAMED_COLUMNS {
        let more = plural((named.len() - NAMED_COLUMNS) as u64, "more column");
        console.note(format_args!("{more} moved; `gnsm drift` shows all"));
    }
}

/// Says what does not count in this run.
pub fn note_set_aside(console: Console, report: &DriftReport) {
    let aside = report.columns.iter().filter(|column| column.set_aside);
    let aside: Vec<String> = aside.map(|column| column.column.clone()).collect();
    if !aside.is_empty() {
        console.note(format_args!(
            "set aside: what is new in most rows or moved as time went on in {} is no part of the scores (--no-drift takes it in)",
            names(&aside)
        ));
    }
}

/// Says why nothing was set aside that should be.
pub fn note_read_once(console: Console, report: &DriftReport) {
    if report.sets_aside() {
        console
            .note("standard input is read once, so nothing was set aside; score a file to leave it out of the scores");
    }
}

fn page(report: &DriftReport) -> String {
    let n_moved = report.moved().count() as u64;
    let mut page = format!(
        "{STRONG}{} of {} moved{STRONG:#}: {} compared with {} learned from\n\n",
        count(n_moved),
        plural(report.columns.len() as u64, "column"),
        plural(report.rows, "row"),
        count(report.learned_rows)
    );
    let header = left(["column", "kind", ""]).into_iter();
    let header = header.chain(["missing", "new", "out of range", "index"].map(right)).collect();
    page += &columns(Place::Output, header, report.columns.iter().map(line).collect());
    let noted: Vec<&ColumnDrift> = report.columns.iter().filter(|column| !column.notes.is_empty()).collect();
    if !noted.is_empty() {
        page.push('\n');
    }
    for column in noted {
        for note in &column.notes {
            page += &format!("  {STRONG}{}{STRONG:#}: {}\n", plain(&column.column), plain(note));
        }
    }
    page
}

fn line(column: &ColumnDrift) -> Vec<Cell> {
    let change = |Change { then, now }: Change| {
        let [then, now] = [then, now].map(percent);
        if then == now { now } else { format!("{then} → {now}") }
    };
    let moved = match (column.moved, column.set_aside) {
        (true, true) => "moved, set aside",
        (true, false) => "moved",
        (false, true) => "set aside",
        (false, false) => "",
    };
    vec![
        Cell::new(cell(Place::Output, &column.column, 40)).add_attribute(Attribute::Bold),
        Cell::new(column.kind),
        Cell::new(moved).fg(Color::Red),
        right(change(column.missing)),
        right(column.new.map_or_else(String::new, change)),
        right(column.out_of_range.map_or_else(String::new, percent)),
        right(column.shift.map_or_else(String::new, |shift| format!("{shift:.2}"))),
    ]
}

fn percent(share: f64) -> String {
    if share == 0.0 || share >= 0.0995 { format!("{:.0} %", 100.0 * share) } else { format!("{:.1} %", 100.0 * share) }
}
