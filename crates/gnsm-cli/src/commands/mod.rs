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
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use gnsm::internals::files::AtomicFile;
use gnsm::{ColumnReport, Model, ReadOptions, Rule, Table, TableReader};

use crate::console::Console;
use crate::display::{count, names, p_value, plain, plural};

/// Files whose rows are told apart in a note.
const MOST_PARTS: usize = 10;

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
fn open_table(paths: &[PathBuf], options: &ReadOptions) -> Result<TableReader> {
    let n_streams = paths.iter().filter(|path| *path == Path::new("-")).count();
    if n_streams > 0 && std::io::stdin().is_terminal() {
        bail!("there is no FILE, and standard input is a terminal; name a file, or pipe a table in");
    }
    if n_streams > 1 {
        bail!("`-` is named twice, and standard input can be read once");
    }
    Ok(TableReader::open_all(paths, options)?)
}

/// All rows of a table, and whether they stand on lines.
fn read_table(paths: &[PathBuf], options: &ReadOptions, console: Console) -> Result<(Table, bool)> {
    let mut reader = open_table(paths, options)?;
    // One batch without bound is all there is.
    let table = reader.next_batch(usize::MAX)?;
    note_reading(console, &reader);
    match table {
        Some(table) => Ok((table, reader.format().has_lines())),
        None => bail!("{}: holds no rows; give a file with rows", shown(paths)),
    }
}

/// The inputs of a command in a message.
fn shown(paths: &[PathBuf]) -> String {
    let first = paths.first().map_or_else(String::new, |path| path.display().to_string());
    match paths.len() {
        0 | 1 => first,
        n => format!("{first} and {} more", n - 1),
    }
}

/// Tells what was noticed while a table was read: an encoding, a sheet, and which rows are of which file.
fn note_reading(console: Console, reader: &TableReader) {
    for note in reader.notes() {
        console.note(plain(&note));
    }
    let parts = reader.parts();
    let mut first = 0;
    let ranges = parts.iter().filter(|(_, rows)| *rows > 0).map(|(file, rows)| {
        first += rows;
        format!("{} to {} of {}", count(first - rows), count(first - 1), plain(file))
    });
    let ranges: Vec<String> = ranges.collect();
    match ranges.len() {
        0 => {}
        n if n > MOST_PARTS => {
            let (head, last) = (ranges[..MOST_PARTS - 1].join(", "), &ranges[n - 1]);
            console.note(format_args!("rows {head}, …, {last}"));
        }
        _ => console.note(format_args!("rows {}", ranges.join(", "))),
    }
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
    // A label column is where it was in training: not used, and no news.
    let extra: Vec<String> =
        report.extra.iter().filter(|name| Some(*name) != model.report().label.as_ref()).cloned().collect();
    if !extra.is_empty() {
        console.note(format_args!("{file}: the model does not know and does not use {}", names(&extra)));
    }
    if report.reordered {
        console.note(format_args!("{file}: columns come in another order than in training; they are matched by name"));
    }
    if !report.absent.is_empty() {
        console.note(format_args!("{file}: no row so far has {}; taken for missing", names(&report.absent)));
    }
}

/// Warns of a rule that no row can meet.
fn warn_of_small_contamination(console: Console, model: &Model, rule: Rule) {
    let smallest = model.calibration().smallest_p();
    if let Rule::Contamination(part) = rule
        && part < smallest
    {
        console.warn(format_args!(
            "--contamination {part} flags nothing: with {} to calibrate, p-values go down to {}; \
             give that or more, or use --threshold",
            plural(model.calibration().rows(), "row"),
            p_value_above(smallest),
        ));
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
