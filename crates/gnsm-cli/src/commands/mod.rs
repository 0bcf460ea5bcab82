//! The commands, one file each, and what several of them need.

pub mod demo;
pub mod columns;
pub mod detect;
pub mod fit;
pub mod score;
pub mod explain;
pub mod inspect;
pub mod mask;
pub mod bench;
pub mod completions;
pub mod man;

use std::io::IsTerminal;
use std::path::Path;

use anyhow::{Result, bail};
use gnsm::internals::files::AtomicFile;
use gnsm::{ColumnReport, Model, ReadOptions, Rule, TableReader};

use crate::console::Console;
use crate::display::{count, names, p_value, plural};

/// How a command ended, short of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Done,
    /// `--fail-on-anomaly` was given, and a row is flagged.
    AnomalyFound,
    /// Ctrl-C came before there was anything to keep.
    Interrupted,
}

impl Outcome {
    /// What `--fail-on-anomaly` makes of the number of flagged rows.
    fn of_flagged(flagged: u64, fail_on_anomaly: bool) -> Self {
        if fail_on_anomaly && flagged > 0 { Self::AnomalyFound } else { Self::Done }
    }
}

/// Opens a table; nobody waits for a person to type one in.
fn open_table(path: &Path, options: &ReadOptions) -> Result<TableReader> {
    if path == Path::new("-") && std::io::stdin().is_terminal() {
        bail!("there is no FILE, and standard input is a terminal; name a file, or pipe a table in");
    }
    Ok(TableReader::open(path, options)?)
}

/// Starts to write the file at `path`.
pub fn create_file(path: &Path) -> Result<AtomicFile> {
    if path.is_dir() {
        bail!("{} is a folder; give the path of a file in it", path.display());
    }
    Ok(AtomicFile::create(path)?)
}

/// Refuses to write over what is read or written elsewhere in the same command.
fn refuse_same_file(output: &Path, others: &[&Path]) -> Result<()> {
    let Ok(found) = output.canonicalize() else { return Ok(()) };
    let is_same =
        |other: &&&Path| other.canonicalize().is_ok_and(|other| other == found && (other.is_file() || other.is_dir()));
    match others.iter().find(is_same) {
        None => Ok(()),
        Some(_) => bail!("{} is read by this command and cannot be written by it; give another path", output.display()),
    }
}

/// Tells how a file's columns differ from the model's.
fn note_columns(console: Console, model: &Model, file: &str, report: &ColumnReport) {
    for note in column_notes(model, report) {
        console.note(format_args!("{file}: {note}"));
    }
}

/// How a file's columns differ from the model's, a sentence each.
pub fn column_notes(model: &Model, report: &ColumnReport) -> Vec<String> {
    // A label column is where it was in training: not used, and no news.
    let extra: Vec<String> =
        report.extra.iter().filter(|name| Some(*name) != model.report().label.as_ref()).cloned().collect();
    let mut notes = Vec::new();
    if !extra.is_empty() {
        notes.push(format!("the model does not know and does not use {}", names(&extra)));
    }
    if report.reordered {
        notes.push("columns come in another order than in training; they are matched by name".into());
    }
    if !report.absent.is_empty() {
        notes.push(format!("no row so far has {}; taken for missing", names(&report.absent)));
    }
    notes
}

/// Warns of a rule that no row can meet.
fn warn_of_small_contamination(console: Console, model: &Model, rule: Rule) {
    if let Some(warning) = contamination_warning(model, rule) {
        console.warn(warning);
    }
}

/// What is wrong with a rule that no row can meet.
pub fn contamination_warning(model: &Model, rule: Rule) -> Option<String> {
    let smallest = model.calibration().smallest_p();
    match rule {
        Rule::Contamination(part) if part < smallest => Some(format!(
            "--contamination {part} flags nothing: with {} to calibrate, p-values go down to {}; \
             give that or more, or use --threshold",
            plural(model.calibration().rows(), "row"),
            p_value_above(smallest),
        )),
        _ => None,
    }
}

/// Says why a false discovery rate flagged nothing: often the calibration is too small for so many rows.
fn note_empty_discovery(console: Console, model: &Model, rule: Rule, flagged: u64, rows: u64) {
    if let Rule::Fdr(part) = rule
        && flagged == 0
    {
        let needed = (rows as f64 * model.calibration().smallest_p() / part).ceil() as u64;
        console.note(format_args!(
            "--fdr {part} flags nothing: {} of {} would have to be odder than each of the {} that calibrate",
            count(needed.max(1)),
            plural(rows, "row"),
            count(model.calibration().rows()),
        ));
    }
}

/// A p-value in short, rounded up so that it can be given back as a contamination.
fn p_value_above(p: f64) -> String {
    let digits = 10f64.powi(3 - p.log10().floor() as i32);
    p_value((p * digits).ceil() / digits)
}

/// What a rule flagged, for people.
fn flagged_text(rule: Rule, flagged: u64, rows: u64) -> String {
    let by = match rule {
        Rule::Contamination(part) => format!("p-value at most {part}"),
        Rule::Fdr(part) => format!("false discovery rate {part}"),
        Rule::Threshold(score) => format!("score at least {score}"),
    };
    format!("{} of {} flagged ({by})", count(flagged), plural(rows, "row"))
}
