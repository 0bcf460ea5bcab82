//! `gnsm score`: a score, a p-value and a flag for each row, batch by batch.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use gnsm::{FdrCounter, Model, Reason, Rule, Scored, Table, TableReader};
use serde_json::json;

use super::{
    Lowest, Outcome, cells, drift, flagged_text, keep_columns, note_columns, note_empty_discovery, note_reading,
    open_table, refuse_same_file, shown, warn_of_small_contamination,
};
use crate::arguments::ScoreArguments;
use crate::console::{Console, print_json};
use crate::display::{names, plural};
use crate::interrupt;
use crate::output::{Destination, Record, ScoreWriter, Spool};
use crate::progress::RowCounter;

/// Rows of the first batch of a file, whatever the batch size: columns are compared with the model's on it, and what
/// comes of that must not depend on the batch size either.
const CHECKED_ROWS: usize = 1024;
/// Rows that come back from the spool at a time.
const SPOOLED_ROWS: usize = 8192;

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
    let mut model = Model::load(&arguments.model)?;
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
        return cells::write(&model, &table, &arguments.output, &arguments.rule, console);
    }
    let n_reasons = arguments.output.explain.unwrap_or(0).min(model.encoder().features().len());
    let writer = ScoreWriter::new(format, Destination::create(output)?, n_reasons);
    let mut compared = None;
    if !arguments.no_drift && drift::is_read_twice(&arguments.files) {
        let Some(report) = drift::compare(&model, &arguments.files, &options)? else { return Ok(Outcome::Interrupted) };
        drift::note(console, &report);
        drift::note_set_aside(console, &report);
        model.set_aside(&report);
        compared = Some(report);
    }
    let mut on_the_way = (!arguments.no_drift && compared.is_none()).then(|| model.drift());

    let mut sink = Sink::new(rule, writer)?;
    let counter = RowCounter::new(console, on_screen);
    let is_stream = arguments.files.first().is_some_and(|path| path == Path::new("-"));
    let mut size = if is_stream { arguments.batch_size.get() } else { CHECKED_ROWS };
    let mut overlooked = BTreeSet::new();
    while let Some(batch) = reader.next_batch(size)? {
        if sink.rows == 0 {
            let report = model.check(&batch)?;
            note_columns(console, &model, &batch.file, &report);
            keep_columns(&mut sink.writer, &batch, &arguments.output, console)?;
            size = arguments.batch_size.get();
        }
        if let Some(drift) = &mut on_the_way {
            drift.add(&batch)?;
        }
        overlooked.extend(sink.writer.kept().overlooked(&batch));
        sink.write(score(&model, &batch, n_reasons, &sink.writer, sink.rows)?)?;
        counter.add(batch.n_rows() as u64);
        reader.recycle(batch);
        if interrupt::requested() {
            return Ok(Outcome::Interrupted);
        }
    }
    if sink.rows == 0 {
        bail!("{}; give a file with rows", without_rows(&reader, &arguments.files));
    }
    let Summary { rows, flagged, lowest } = sink.finish()?;
    drop(counter);
    note_reading(console, &reader);
    note_empty_discovery(console, rule, flagged, rows, lowest);
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
            "rows": rows,
            "flagged": flagged,
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
        console.note(flagged_text(rule, flagged, rows));
    }
    Ok(Outcome::of_flagged(flagged, rows, &arguments.rule, console))
}

/// Records of a batch whose first row is `first_row` of the file; not yet flagged.
fn score(model: &Model, batch: &Table, n_reasons: usize, writer: &ScoreWriter, first_row: u64) -> Result<Vec<Record>> {
    let scores: Vec<(Scored, Vec<Reason>)> = if n_reasons == 0 && !writer.shows_shares() {
        model.score(batch)?.into_iter().map(|scored| (scored, Vec::new())).collect()
    } else {
        let most = if writer.shows_shares() { usize::MAX } else { n_reasons };
        let explained = model.score_and_explain(batch, most)?;
        explained.into_iter().map(|(scored, explanation)| (scored, explanation.reasons)).collect()
    };
    let scores = scores.into_iter().enumerate();
    Ok(scores
        .map(|(at, (scored, reasons))| record(first_row + at as u64, scored, reasons, n_reasons, writer, (batch, at)))
        .collect())
}

/// The record of a row of a table; not yet flagged.
pub fn record(
    row: u64,
    Scored { score, p_value }: Scored,
    mut reasons: Vec<Reason>,
    n_reasons: usize,
    writer: &ScoreWriter,
    (table, at): (&Table, usize),
) -> Record {
    let kept = writer.kept();
    let share_of = |name: &str| reasons.iter().find(|reason| reason.column == name).map_or(0.0, |reason| reason.share);
    let shares = kept.columns.iter().filter(|_| writer.shows_shares()).map(|column| share_of(&column.name)).collect();
    reasons.truncate(n_reasons);
    Record { row, score, p_value, anomaly: false, reasons, kept: kept.values(table, at), shares }
}

fn without_rows(reader: &TableReader, paths: &[PathBuf]) -> String {
    let columns = reader.columns().len() as u64;
    let header = if columns > 0 { format!("a header of {} and ", plural(columns, "column")) } else { String::new() };
    format!("{}: holds {header}no rows", shown(paths))
}

/// What came of a run.
pub struct Summary {
    /// Rows scored.
    pub rows: u64,
    /// Rows flagged.
    pub flagged: u64,
    /// The lowest p-value.
    pub lowest: Lowest,
}

/// Flags records and writes them: at once, or with a false discovery rate when all p-values are known.
pub struct Sink {
    rule: Rule,
    rows: u64,
    flagged: u64,
    lowest: Lowest,
    writer: ScoreWriter,
    spool: Option<(FdrCounter, Spool)>,
}

impl Sink {
    /// A sink that flags by `rule`.
    pub fn new(rule: Rule, writer: ScoreWriter) -> Result<Self> {
        let spool = match rule {
            Rule::Fdr(level) => Some((FdrCounter::new(level)?, Spool::new()?)),
            _ => None,
        };
        Ok(Self { rule, rows: 0, flagged: 0, lowest: Lowest::default(), writer, spool })
    }

    /// Where the records go.
    pub fn writer(&self) -> &ScoreWriter {
        &self.writer
    }

    /// Takes the next records.
    pub fn write(&mut self, records: Vec<Record>) -> Result<()> {
        self.rows += records.len() as u64;
        records.iter().for_each(|record| self.lowest.add(record.p_value));
        match &mut self.spool {
            None => self.pass_on(records, None),
            Some((counter, spool)) => {
                for record in &records {
                    counter.add(record.p_value);
                }
                spool.write(&records).context("the temporary file for --fdr")
            }
        }
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Result<Summary> {
        if let Some((counter, spool)) = self.spool.take() {
            let cutoff = counter.cutoff();
            let mut records = spool.read().context("the temporary file for --fdr")?;
            let mut row = 0;
            while row < self.rows {
                let n = (self.rows - row).min(SPOOLED_ROWS as u64);
                let block = (row..row + n).map(|row| records.next(row)).collect::<Result<_>>();
                self.pass_on(block.context("the temporary file for --fdr")?, cutoff)?;
                row += n;
            }
        }
        self.writer.finish()?;
        Ok(Summary { rows: self.rows, flagged: self.flagged, lowest: self.lowest })
    }

    fn pass_on(&mut self, mut records: Vec<Record>, cutoff: Option<f64>) -> Result<()> {
        for record in &mut records {
            record.anomaly = self.rule.flags(record.score, record.p_value, cutoff);
            self.flagged += u64::from(record.anomaly);
        }
        self.writer.write(&records)
    }
}
