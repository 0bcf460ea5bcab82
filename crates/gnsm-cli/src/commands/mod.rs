//! The commands, one file each, and what several of them need.

pub mod demo;
pub mod columns;
pub mod detect;
pub mod drift;
pub mod fit;
pub mod score;
mod sink;
pub mod explain;
mod facts;
pub mod cells;
pub mod repair;
pub mod sample;
pub mod impute;
pub mod report;
#[cfg(feature = "serve")]
pub mod serve;
pub mod inspect;
pub mod mask;
pub mod bench;
pub mod completions;
pub mod man;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use gnsm::internals::files::AtomicFile;
use gnsm::{
    Calibration, ColumnReport, Ending, Flags, Model, ModelBuilder, ReadOptions, Room, RowsToLearn, Rule, Table,
    TableReader,
};

use crate::arguments::{OutputArguments, RuleArguments};
use crate::console::Console;
use crate::display::{count, names, p_value, plain, plural};
use crate::interrupt;
use crate::output::ScoreWriter;
use crate::output::kept::Kept;
use crate::progress::RowCounter;

/// Rows from which on it is shown how many were read.
const MANY_ROWS: u64 = 1_000_000;
/// Files whose rows are told apart in a note.
const MOST_PARTS: usize = 10;

/// How a command ended, short of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Done,
    /// `--fail-on-anomaly` or `--fail-if-more-than` was given, and so many rows are flagged.
    AnomalyFound,
    /// Ctrl-C or a request to terminate came before everything was done.
    Interrupted,
}

impl Outcome {
    /// The outcome of a command, from the number of flagged rows and `--fail-on-anomaly` or `--fail-if-more-than`.
    fn of_flagged(flagged: u64, rows: u64, rule: &RuleArguments, console: Console) -> Self {
        if let Some(share) = rule.fail_if_more_than
            && flagged as f64 > share * rows as f64
        {
            let (flagged, rows, percent) = (count(flagged), count(rows), p_value(100.0 * share));
            console.note(format_args!("{flagged} of {rows} are more than the {percent} % of --fail-if-more-than"));
            return Self::AnomalyFound;
        }
        if rule.fail_on_anomaly && flagged > 0 { Self::AnomalyFound } else { Self::Done }
    }

    /// The outcome of a command, from how training ended. With a time limit, less than a whole training is what was
    /// asked for.
    fn of_training(ending: Option<Ending>, max_seconds: Option<f64>) -> Self {
        if ending == Some(Ending::Interrupted) && max_seconds.is_none() { Self::Interrupted } else { Self::Done }
    }

    /// The first of two that is not as it should be.
    fn or(self, other: Self) -> Self {
        if self == Self::Done { other } else { self }
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

/// The rows to learn from, and whether they stand on lines; `None` after Ctrl-C.
fn read_rows(
    builder: &ModelBuilder<'_>,
    paths: &[PathBuf],
    options: &ReadOptions,
    room: Room,
    console: Console,
) -> Result<Option<(RowsToLearn, bool)>> {
    let mut reader = open_table(paths, options)?;
    let mut counter = None;
    let mut counted = 0;
    let rows = builder.read(&mut reader, room, &mut |rows| {
        if rows >= MANY_ROWS {
            counter.get_or_insert_with(|| RowCounter::new(console, false)).add(rows - counted);
            counted = rows;
        }
        !interrupt::requested()
    })?;
    drop(counter);
    note_reading(console, &reader);
    match rows {
        _ if interrupt::requested() => Ok(None),
        Some(rows) => Ok(Some((rows, reader.format().has_lines()))),
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

/// Says what was noticed while a table was read: its encoding, its sheet, and which rows are from which file.
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
    for note in column_notes(model, report) {
        console.note(format_args!("{file}: {note}"));
    }
}

/// How a file's columns differ from the model's, a sentence each.
pub fn column_notes(model: &Model, report: &ColumnReport) -> Vec<String> {
    // The label column of training is not used here either, so nothing is said about it.
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
fn warn_of_small_contamination(console: Console, calibration: &Calibration, rule: Rule, unit: &str) {
    if let Some(warning) = contamination_warning(calibration, rule, unit) {
        console.warn(warning);
    }
}

/// What is wrong with a rule that no row (or mask: `unit` says which) can meet.
pub fn contamination_warning(calibration: &Calibration, rule: Rule, unit: &str) -> Option<String> {
    let smallest = calibration.smallest_p();
    match rule {
        Rule::Contamination(part) if part < smallest => Some(format!(
            "--contamination {part} flags nothing: with {} to calibrate, p-values go down to {}; \
             give that or more, or use --threshold",
            plural(calibration.rows(), unit),
            p_value_above(smallest),
        )),
        _ => None,
    }
}

/// Says why a false discovery rate flagged nothing: what the lowest p-value is, and what it would have to be.
fn note_empty_discovery(console: Console, flags: &Flags) {
    if let (Rule::Fdr(part), 0, Some((lowest, n))) = (flags.rule(), flags.flagged(), flags.lowest()) {
        let (have, many) =
            if n == 1 { ("1 row has".into(), "1 row") } else { (format!("{} have", plural(n, "row")), "them") };
        let rows = flags.rows();
        console.note(format_args!(
            "a false discovery rate of {part} flags nothing: {have} the lowest p-value, {}, and to flag {many} among {} it \
             would have to be at most {part} × {} / {} = {}",
            p_value(lowest),
            count(rows),
            count(n),
            count(rows),
            p_value(part * n as f64 / rows as f64),
        ));
    }
}

/// Finds the columns to pass through in the first rows of a file, and says what could not be done as asked.
fn keep_columns(writer: &mut ScoreWriter, table: &Table, arguments: &OutputArguments, console: Console) -> Result<()> {
    let kept = Kept::find(table, &arguments.keep, arguments.id.as_deref(), &writer.own_names())?;
    for (name, title) in kept.renamed() {
        console.note(format_args!("{}: column `{name}` is called `{title}` in the output", table.file));
    }
    if !kept.refused.is_empty() {
        console.warn(format_args!("{}: lists and objects are not kept: {}", table.file, names(&kept.refused)));
    }
    writer.keep(kept);
    Ok(())
}

/// A p-value in short, rounded up so that it can be given back as a contamination.
fn p_value_above(p: f64) -> String {
    let digits = 10f64.powi(3 - p.log10().floor() as i32);
    p_value((p * digits).ceil() / digits)
}

/// What a rule flagged, for people.
fn flagged_text(flags: &Flags) -> String {
    flagged_of(flags, "row")
}

/// The same, where a row is called something else.
fn flagged_of(flags: &Flags, unit: &str) -> String {
    let by = match flags.rule() {
        Rule::Contamination(part) => format!("p-value at most {part}"),
        Rule::Fdr(part) => format!("false discovery rate {part}"),
        Rule::Threshold(score) => format!("score at least {score}"),
    };
    format!("{} of {} flagged ({by})", count(flags.flagged()), plural(flags.rows(), unit))
}
