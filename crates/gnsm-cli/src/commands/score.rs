//! `gnsm score`: a score, a p-value and a flag for each row, batch by batch.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use gnsm::{Decision, Model, TableReader};
use serde_json::json;

use super::sink::Sink;
use super::{
    Outcome, cells, drift, flagged_text, keep_columns, note_columns, note_empty_discovery, note_reading, open_table,
    refuse_same_file, shown, warn_of_small_contamination,
};
use crate::arguments::ScoreArguments;
use crate::console::{Console, print_json};
use crate::display::{names, plural};
use crate::interrupt;
use crate::output::{Destination, ScoreWriter};
use crate::progress::RowCounter;

/// Rows of the first batch of a file, whatever the batch size: columns are compared with the model's on it, and what
/// comes of that must not depend on the batch size either.
const CHECKED_ROWS: usize = 1024;

/// Runs the command.
pub fn run(arguments: &ScoreArguments, console: Console) -> Result<Outcome> {
    let rule = arguments.rule.rule()?;
    let output = arguments.output.output.as_deref();
    let format = arguments.output.format()?;
    if let Some(path) = output {
        let read: Vec<&Path> = arguments.files.iter().chain([&arguments.model]).map(PathBuf::as_path).collect();
        refuse_same_file(path, &read)?;
    }
    let on_screen = output.is_none() && std::io::stdout().is_terminal();
    let model = Model::load(&arguments.model)?;
    warn_of_small_contamination(console, model.calibration(), rule, "row");
    let options = arguments.read.options(Some(model.schema().missing.clone()));
    let mut reader = open_table(&arguments.files, &options)?;
    interrupt::stop_soon()?;
    if arguments.output.cells {
        // One batch without bound is the whole file.
        let Some(table) = reader.next_batch(usize::MAX)? else {
            bail!("{}; give a file with rows", without_rows(&reader, &arguments.files));
        };
        note_reading(console, &reader);
        note_columns(console, &model, &table.file, &model.check(&table)?);
        let judge = model.judge();
        return cells::write(&judge.read_whole(&table)?, &arguments.output, &arguments.rule, console);
    }
    let n_reasons = arguments.output.explain.unwrap_or(0).min(model.encoder().features().len());
    let writer = ScoreWriter::new(format, Destination::create(output)?, n_reasons);
    let mut compared = if arguments.no_drift || !drift::is_read_twice(&arguments.files) {
        None
    } else {
        let Some(report) = drift::compare(&model, &arguments.files, &options)? else { return Ok(Outcome::Interrupted) };
        drift::note(console, &report);
        drift::note_set_aside(console, &report);
        Some(report)
    };
    let judge = compared.as_ref().map_or_else(|| model.judge(), |report| model.judge_without(report));
    let mut on_the_way = (!arguments.no_drift && compared.is_none()).then(|| model.drift());

    let mut decision = Decision::new(rule)?;
    let known = (!decision.waits()).then(|| decision.finish());
    let mut sink = Sink::new(writer, n_reasons, decision.waits())?;
    let counter = RowCounter::new(console, on_screen);
    let is_stream = arguments.files.first().is_some_and(|path| path == Path::new("-"));
    let mut size = if is_stream { arguments.batch_size.get() } else { CHECKED_ROWS };
    let mut overlooked = BTreeSet::new();
    let mut is_first = true;
    while let Some(table) = reader.next_batch(size)? {
        if std::mem::take(&mut is_first) {
            note_columns(console, &model, &table.file, &model.check(&table)?);
            keep_columns(sink.writer(), &table, &arguments.output, console)?;
            size = arguments.batch_size.get();
        }
        let batch = judge.read(&table)?;
        if let Some(drift) = &mut on_the_way {
            batch.drift_into(drift);
        }
        overlooked.extend(sink.writer().kept().overlooked(&table));
        sink.take(&batch, known.as_ref())?;
        decision.add(batch.scores());
        drop(batch);
        counter.add(table.n_rows() as u64);
        reader.recycle(table);
        if interrupt::requested() {
            return Ok(Outcome::Interrupted);
        }
    }
    if is_first {
        bail!("{}; give a file with rows", without_rows(&reader, &arguments.files));
    }
    let flags = decision.finish();
    sink.finish(&flags)?;
    drop(counter);
    note_reading(console, &reader);
    note_empty_discovery(console, &flags);
    if let Some(report) = on_the_way.map(|drift| drift.report()) {
        drift::note(console, &report);
        drift::note_read_once(console, &report);
        compared = Some(report);
    }
    if !overlooked.is_empty() {
        let overlooked: Vec<String> = overlooked.into_iter().collect();
        console.warn(format_args!("not kept, since the first rows do not have them: {}", names(&overlooked)));
    }

    if arguments.json {
        let summary = json!({
            "rows": flags.rows(),
            "flagged": flags.flagged(),
            "rule": rule,
            "output": output.map(|path| path.display().to_string()),
            "model": model.hash(),
            "files": reader.parts().into_iter().map(|(file, rows)| json!({ "file": file, "rows": rows })).collect::<Vec<_>>(),
            "drift": compared,
        });
        match output {
            Some(_) => print_json(&summary)?,
            None => console.note_as_it_is(summary),
        }
    } else {
        console.note(flagged_text(&flags));
    }
    Ok(Outcome::of_flagged(flags.flagged(), flags.rows(), &arguments.rule, console))
}

fn without_rows(reader: &TableReader, paths: &[PathBuf]) -> String {
    let columns = reader.columns().len() as u64;
    let header = if columns > 0 { format!("a header of {} and ", plural(columns, "column")) } else { String::new() };
    format!("{}: holds {header}no rows", shown(paths))
}
