//! `gnsm score`: a score, a p-value and a flag for each row, batch by batch.

use std::fs::File;
use std::io::{BufReader, BufWriter, IsTerminal, Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use gnsm::{FdrCounter, Model, Rule, Scored, Table, TableReader};
use serde_json::json;

use super::{
    Outcome, flagged_text, note_columns, note_empty_discovery, note_reading, open_table, refuse_same_file, shown,
    warn_of_small_contamination,
};
use crate::arguments::ScoreArguments;
use crate::console::{Console, print_json};
use crate::display::plural;
use crate::interrupt;
use crate::output::{Destination, OutputFormat, Record, ScoreWriter};
use crate::progress::RowCounter;

/// Rows of the first batch of a file, whatever the batch size: columns are compared with the model's on it, and what
/// comes of that must not depend on the batch size either.
const CHECKED_ROWS: usize = 1024;
/// Rows that come back from the spool at a time.
const SPOOLED_ROWS: usize = 8192;

/// Runs the command.
pub fn run(arguments: &ScoreArguments, console: Console) -> Result<Outcome> {
    let rule = arguments.rule.rule()?;
    let output = arguments.output.as_deref();
    let format = match (arguments.output_format, output) {
        (Some(format), _) => format,
        (None, Some(path)) => OutputFormat::of_file(path)?,
        (None, None) => OutputFormat::Csv,
    };
    if let Some(path) = output {
        let read: Vec<&Path> = arguments.files.iter().chain([&arguments.model]).map(PathBuf::as_path).collect();
        refuse_same_file(path, &read)?;
    }
    let on_screen = output.is_none() && std::io::stdout().is_terminal();
    if on_screen && format == OutputFormat::Parquet {
        bail!("parquet is not for a terminal; write it to a file with -o");
    }
    let model = Model::load(&arguments.model)?;
    warn_of_small_contamination(console, &model, rule);
    let mut reader = open_table(&arguments.files, &arguments.read.options(Some(model.schema().missing.clone())))?;
    interrupt::stop_soon()?;
    let n_reasons = arguments.explain.unwrap_or(0).min(model.encoder().features().len());
    let writer = ScoreWriter::new(format, Destination::create(output)?, n_reasons)?;

    let mut sink = Sink::new(rule, writer)?;
    let counter = RowCounter::new(console, on_screen);
    let is_stream = arguments.files.first().is_some_and(|path| path == Path::new("-"));
    let mut size = if is_stream { arguments.batch_size.get() } else { CHECKED_ROWS };
    while let Some(batch) = reader.next_batch(size)? {
        if sink.rows == 0 {
            let report = model.check(&batch)?;
            note_columns(console, &model, &batch.file, &report);
            size = arguments.batch_size.get();
        }
        sink.write(score(&model, &batch, n_reasons, sink.rows)?)?;
        counter.add(batch.n_rows() as u64);
        reader.recycle(batch);
        if interrupt::requested() {
            return Ok(Outcome::Interrupted);
        }
    }
    if sink.rows == 0 {
        bail!("{}; give a file with rows", without_rows(&reader, &arguments.files));
    }
    let Summary { rows, flagged } = sink.finish()?;
    drop(counter);
    note_reading(console, &reader);
    note_empty_discovery(console, &model, rule, flagged, rows);

    if arguments.json {
        let summary = json!({
            "rows": rows,
            "flagged": flagged,
            "rule": rule,
            "output": output.map(|path| path.display().to_string()),
            "model": model.hash(),
            "files": reader.parts().into_iter().map(|(file, rows)| json!({ "file": file, "rows": rows })).collect::<Vec<_>>(),
        });
        match output {
            Some(_) => print_json(&summary)?,
            None => console.note(summary),
        }
    } else {
        console.note(flagged_text(rule, flagged, rows));
    }
    Ok(Outcome::of_flagged(flagged, arguments.rule.fail_on_anomaly))
}

/// Records of a batch whose first row is `first_row` of the file; not yet flagged.
fn score(model: &Model, batch: &Table, n_reasons: usize, first_row: u64) -> Result<Vec<Record>> {
    let record = |(row, Scored { score, p_value }, reasons)| Record { row, score, p_value, anomaly: false, reasons };
    if n_reasons == 0 {
        let scores = (first_row..).zip(model.score(batch)?);
        return Ok(scores.map(|(row, scored)| record((row, scored, Vec::new()))).collect());
    }
    let explained = (first_row..).zip(model.score_and_explain(batch, n_reasons)?);
    Ok(explained.map(|(row, (scored, explanation))| record((row, scored, explanation.reasons))).collect())
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
}

/// Flags records and writes them: at once, or with a false discovery rate when all p-values are known.
pub struct Sink {
    rule: Rule,
    rows: u64,
    flagged: u64,
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
        Ok(Self { rule, rows: 0, flagged: 0, writer, spool })
    }

    /// Takes the next records.
    pub fn write(&mut self, records: Vec<Record>) -> Result<()> {
        self.rows += records.len() as u64;
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
        Ok(Summary { rows: self.rows, flagged: self.flagged })
    }

    fn pass_on(&mut self, mut records: Vec<Record>, cutoff: Option<f64>) -> Result<()> {
        for record in &mut records {
            record.anomaly = self.rule.flags(record.score, record.p_value, cutoff);
            self.flagged += u64::from(record.anomaly);
        }
        self.writer.write(&records)
    }
}

/// Records on their way, in a file that has no name and vanishes with the process.
struct Spool(BufWriter<File>);

impl Spool {
    fn new() -> Result<Self> {
        Ok(Self(BufWriter::new(tempfile::tempfile().context("no temporary file for --fdr")?)))
    }

    fn write(&mut self, records: &[Record]) -> Result<()> {
        for record in records {
            let reasons = serde_json::to_vec(&record.reasons)?;
            self.0.write_all(&record.score.to_le_bytes())?;
            self.0.write_all(&record.p_value.to_le_bytes())?;
            self.0.write_all(&(reasons.len() as u64).to_le_bytes())?;
            self.0.write_all(&reasons)?;
        }
        Ok(())
    }

    fn read(self) -> Result<SpoolReader> {
        let mut file = self.0.into_inner()?;
        file.rewind()?;
        Ok(SpoolReader(BufReader::new(file)))
    }
}

struct SpoolReader(BufReader<File>);

impl SpoolReader {
    fn next(&mut self, row: u64) -> Result<Record> {
        let mut eight = || {
            let mut bytes = [0; 8];
            self.0.read_exact(&mut bytes).map(|()| bytes)
        };
        let (score, p_value) = (f64::from_le_bytes(eight()?), f64::from_le_bytes(eight()?));
        let mut reasons = vec![0; u64::from_le_bytes(eight()?) as usize];
        self.0.read_exact(&mut reasons)?;
        Ok(Record { row, score, p_value, anomaly: false, reasons: serde_json::from_slice(&reasons)? })
    }
}
