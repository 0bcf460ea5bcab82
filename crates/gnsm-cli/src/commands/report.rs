//! `gnsm report`: a page with the odd rows of a file, to be opened in a browser.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use gnsm::internals::files::AtomicFile;
use gnsm::{Decision, Model};
use gnsm_report::{Collector, Report};
use serde_json::json;

use super::{
    Outcome, create_file, drift, flagged_text, note_columns, note_reading, open_table, refuse_same_file, shown,
    warn_of_small_contamination,
};
use crate::arguments::ReportArguments;
use crate::console::{Console, print_json};
use crate::display::{bytes, plural};
use crate::interrupt;
use crate::progress::RowCounter;

/// Rows of the first batch, on which columns are compared with the model's, whatever the batch size.
const CHECKED_ROWS: usize = 1024;

/// Runs the command.
pub fn run(arguments: &ReportArguments, console: Console) -> Result<Outcome> {
    let rule = arguments.rule.rule()?;
    let read: Vec<&Path> = arguments.files.iter().chain([&arguments.model]).map(AsRef::as_ref).collect();
    refuse_same_file(&arguments.output, &read)?;
    let page = create_file(&arguments.output)?;
    let model = Model::load(&arguments.model)?;
    warn_of_small_contamination(console, model.calibration(), rule, "row");
    let options = arguments.read.options(Some(model.schema().missing.clone()));
    let mut reader = open_table(&arguments.files, &options)?;
    interrupt::stop_soon()?;
    let mut compared = None;
    if !arguments.no_drift && drift::is_read_twice(&arguments.files) {
        let Some(report) = drift::compare(&model, &arguments.files, &options)? else { return Ok(Outcome::Interrupted) };
        drift::note(console, &report);
        drift::note_set_aside(console, &report);
        compared = Some(report);
    }
    let is_compared_on_the_way = !arguments.no_drift && compared.is_none();
    let judge = compared.as_ref().map_or_else(|| model.judge(), |report| model.judge_without(report));
    let mut decision = Decision::new(rule)?;
    let mut collector = Collector::new(&judge);
    if !is_compared_on_the_way {
        collector = collector.compared(compared.clone());
    }
    if let Some(top) = arguments.top {
        collector = collector.top(top as usize);
    }
    let counter = RowCounter::new(console, false);
    let mut file = None;
    while let Some(table) = reader.next_batch(if file.is_none() { CHECKED_ROWS } else { arguments.batch_size.get() })? {
        if file.is_none() {
            note_columns(console, &model, &table.file, &model.check(&table)?);
            file = Some(table.file.clone());
        }
        let batch = judge.read(&table)?;
        collector.add(&batch)?;
        decision.add(batch.scores());
        drop(batch);
        counter.add(table.n_rows() as u64);
        reader.recycle(table);
        if interrupt::requested() {
            return Ok(Outcome::Interrupted);
        }
    }
    drop(counter);
    note_reading(console, &reader);
    let Some(file) = file else { bail!("{}: holds no rows; give a file with rows", shown(&arguments.files)) };
    let name = if reader.parts().len() > 1 { shown(&arguments.files) } else { file };
    let flags = decision.finish();
    let report = collector.finish(flags, &name, &arguments.model.display().to_string());
    if let Some(drift) = report.drift().filter(|_| is_compared_on_the_way) {
        drift::note(console, drift);
        drift::note_read_once(console, drift);
    }
    write_page(console, page, &arguments.output, &report)?;
    if arguments.json {
        print_json(&json!({
            "rows": report.rows(),
            "flagged": report.flagged(),
            "shown": report.shown(),
            "rule": rule,
            "output": arguments.output.display().to_string(),
            "model": model.hash(),
            "drift": report.drift(),
        }))?;
    } else {
        console.note(flagged_text(&flags));
    }
    Ok(Outcome::of_flagged(report.flagged(), report.rows(), &arguments.rule, console))
}

/// Writes the page of a report, and says so.
pub fn write_page(console: Console, mut page: AtomicFile, path: &Path, report: &Report<'_>) -> Result<()> {
    let html = report.html();
    page.write_all(html.as_bytes()).with_context(|| path.display().to_string())?;
    page.finish()?;
    let (size, rows) = (bytes(html.len() as u64), plural(report.shown() as u64, "row"));
    console.note(format_args!("wrote {} ({size}) with the {rows} that are oddest", path.display()));
    Ok(())
}
