//! `gnsm detect`: shows the oddest rows of a file, in one command.
//!
//! A table that fits into memory is one batch: its own rows, each judged as if it had not been learned from. Of a larger one
//! some rows are learned from. Then all pass by in batches, as new rows.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Result, bail};
use comfy_table::{Attribute, Cell, Color};
use gnsm::internals::files::AtomicFile;
use gnsm::{
    Alike, Batch, Decision, Ending, Explanation, Flags, Group, Groups, Judge, Model, ModelBuilder, Oddest, Reason,
    RowsToLearn, Rule, Scored,
};
use gnsm_report::Collector;
use serde_json::json;

use super::fit::{note_ending, note_no_training, refuse_overwriting_inputs, what_to_fit};
use super::report::write_page;
use super::sink::Sink;
use super::{
    Outcome, cells, create_file, drift, flagged_text, keep_columns, note_reading, open_table, read_rows,
    refuse_same_file, warn_of_small_contamination,
};
use crate::arguments::DetectArguments;
use crate::console::{Console, print_json, print_page};
use crate::display::{self, FAINT, LONGEST_CELL, ODD, Place, STRONG, bar, columns, count, p_value, plural, right};
use crate::interrupt;
use crate::output::kept::Kept;
use crate::output::{Destination, Record, ScoreWriter, to_json};
use crate::progress::{FitWatcher, RowCounter};

/// What is flagged unless something else is asked for: as much as possible with one false alarm in ten flags.
const DEFAULT_RULE: Rule = Rule::Fdr(0.1);
/// Reasons shown for a row, at the most.
const SHOWN_REASONS: usize = 3;
/// The share of a score below which a reason is not worth a line, unless it is the strongest.
const SMALL_SHARE: f64 = 0.08;
/// Characters of the longest bar.
const BAR: usize = 12;
/// Rows judged at a time where not all are held.
const BATCH: usize = 8192;
/// Numbers of rows that are alike which are listed.
const LISTED_ROWS: usize = 5;

/// Runs the command.
pub fn run(arguments: &DetectArguments, console: Console) -> Result<Outcome> {
    detect(arguments, console).map(|(outcome, _)| outcome)
}

/// Runs the command; also gives the first row of each group that was shown.
pub fn detect(arguments: &DetectArguments, console: Console) -> Result<(Outcome, Vec<usize>)> {
    let rule = arguments.rule.rule_or(DEFAULT_RULE)?;
    let (method, builder, missing) = what_to_fit(&arguments.method, &arguments.columns)?;
    let output = arguments.output.output.as_deref();
    let others: Vec<&Path> = [output, arguments.save.as_deref()].into_iter().flatten().collect();
    for output in others.iter().copied().chain(arguments.report.as_deref()) {
        refuse_overwriting_inputs(output, &arguments.files, &arguments.method, &arguments.columns)?;
    }
    if let Some(report) = &arguments.report {
        refuse_same_file(report, &others)?;
        if others.contains(&report.as_path()) {
            bail!("--report and another flag name the same file; give two");
        }
    }
    if let (Some(output), Some(save)) = (output, &arguments.save) {
        refuse_same_file(output, &[save])?;
        if output == save {
            bail!("-o and --save name the same file; give two");
        }
    }
    if let Some(save) = &arguments.save {
        drop(create_file(save)?);
    }
    let n_reasons = arguments.output.explain.unwrap_or(0);
    let writes = output.is_some() || arguments.output.output_format.is_some();
    if writes && output.is_none() && arguments.json {
        bail!("--json and --output-format both want standard output; give -o as well");
    }
    let writer = ScoreWriter::new(arguments.output.format()?, Destination::create(output)?, n_reasons);
    let page = arguments.report.as_deref().map(create_file).transpose()?;
    interrupt::stop_training(console)?;
    let options = arguments.read.options(missing);
    let Some((rows, has_lines)) = read_rows(&builder, &arguments.files, &options, arguments.memory.room(), console)?
    else {
        return Ok((Outcome::Interrupted, Vec::new()));
    };
    if !rows.is_whole() {
        refuse_streaming(arguments)?;
    }
    if method.training().is_none() {
        note_no_training(console, method.name(), arguments.method.max_seconds, false);
    }
    let asked = Asked { arguments, console, rule, has_lines, writes };
    let watcher = &mut FitWatcher::new(console);
    let builder = builder.watch(watcher);
    if rows.is_whole() {
        asked.judge_own(builder, &rows, writer, page)
    } else {
        asked.judge_stream(builder, rows, writer, page)
    }
}

/// Refuses what only a table in memory can have.
fn refuse_streaming(arguments: &DetectArguments) -> Result<()> {
    let advice = "give more --max-memory, and no --max-rows";
    if arguments.output.cells {
        bail!("--cells needs the whole table, and there is room for some of its rows only; {advice}");
    }
    if !drift::is_read_twice(&arguments.files) {
        bail!(
            "there is room for some of the rows only, so they have to be read twice; write them to a file first, or {advice}"
        );
    }
    Ok(())
}

/// What was asked for.
#[derive(Clone, Copy)]
struct Asked<'a> {
    arguments: &'a DetectArguments,
    console: Console,
    rule: Rule,
    /// Whether the file has lines that an editor would show.
    has_lines: bool,
    /// Whether a line is written for each row.
    writes: bool,
}

/// Where judged rows go.
struct Results<'m> {
    kept: Kept,
    sink: Option<Sink>,
    page: Option<(Collector<'m>, AtomicFile)>,
    /// Flagged rows with the same reason, unless rows are shown one by one.
    groups: Option<Groups>,
    oddest: Oddest,
}

impl Results<'_> {
    /// Takes the next rows, with flags where they are known.
    fn take(&mut self, batch: &Batch<'_>, flags: Option<&Flags>) -> Result<()> {
        if let Some(sink) = &mut self.sink {
            sink.take(batch, flags)?;
        }
        if let Some((collector, _)) = &mut self.page {
            collector.add(batch)?;
        }
        if let Some(groups) = &mut self.groups {
            groups.add(batch, flags);
        }
        self.oddest.add(batch);
        Ok(())
    }
}

impl Asked<'_> {
    /// Learns from a table, and judges its rows.
    fn judge_own(
        self,
        builder: ModelBuilder<'_>,
        rows: &RowsToLearn,
        mut writer: ScoreWriter,
        page: Option<AtomicFile>,
    ) -> Result<(Outcome, Vec<usize>)> {
        let Self { arguments, console, rule, .. } = self;
        keep_columns(&mut writer, rows.table(), &arguments.output, console)?;
        let mut fit = builder.fit_and_judge_rows(rows)?;
        let ending = self.fitted(&mut fit.model)?;
        let own = fit.own();
        if arguments.output.cells {
            return Ok((cells::write(&own, &arguments.output, &arguments.rule, console)?, Vec::new()));
        }
        warn_of_small_contamination(console, fit.model.calibration(), rule, "row");
        let mut decision = Decision::new(rule)?;
        decision.add(own.scores());
        let flags = decision.finish();
        let judge = fit.model.judge();
        let mut results = self.results(&judge, writer, page, false)?;
        results.take(&own, Some(&flags))?;
        let explain = |alike: &[Alike]| {
            let rows: Vec<usize> = alike.iter().map(|alike| alike.row as usize).collect();
            Ok(own.explain(&rows, reasons_shown(arguments)))
        };
        self.show(results, &judge, flags, ending, &own.table().file, &explain)
    }

    /// Learns from some rows of a table, and judges all as they pass by. Memory does not grow with the table, but for a count
    /// of the p-values where a false discovery rate is asked for.
    fn judge_stream(
        self,
        builder: ModelBuilder<'_>,
        rows: RowsToLearn,
        mut writer: ScoreWriter,
        page: Option<AtomicFile>,
    ) -> Result<(Outcome, Vec<usize>)> {
        let Self { arguments, console, rule, .. } = self;
        let mut model = builder.fit_rows(&rows)?;
        drop(rows);
        let ending = self.fitted(&mut model)?;
        console.note("there was room for some of the rows only: all are scored in a stream, as new rows are");
        let mut reader = open_table(&arguments.files, &arguments.read.options(Some(model.schema().missing.clone())))?;
        let Some(first) = reader.next_batch(BATCH)? else { bail!("the file holds no rows any more; it was changed") };
        keep_columns(&mut writer, &first, &arguments.output, console)?;
        let mut decision = Decision::new(rule)?;
        let known = (!decision.waits()).then(|| decision.finish());
        let judge = model.judge().beyond_the_bulk();
        let mut results = self.results(&judge, writer, page, decision.waits())?;
        let counter = RowCounter::new(console, self.writes && arguments.output.output.is_none());
        let file = first.file.clone();
        let mut next = Some(first);
        while let Some(table) = next {
            let batch = judge.read(&table)?;
            results.take(&batch, known.as_ref())?;
            decision.add(batch.scores());
            drop(batch);
            counter.add(table.n_rows() as u64);
            reader.recycle(table);
            if interrupt::requested() {
                return Ok((Outcome::Interrupted, Vec::new()));
            }
            next = reader.next_batch(BATCH)?;
        }
        drop(counter);
        note_reading(console, &reader);
        let explain = |alike: &[Alike]| {
            let explained =
                alike.iter().map(|alike| Ok(judge.read(&alike.table)?.explain_all(reasons_shown(arguments))));
            Ok(explained.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
        };
        self.show(results, &judge, decision.finish(), ending, &file, &explain)
    }

    /// Keeps the model where that was asked for, and tells how the fit ended.
    fn fitted(self, model: &mut Model) -> Result<Option<Ending>> {
        note_ending(self.console, model);
        if let Some(save) = &self.arguments.save {
            model.save(save)?;
            self.console.note(format_args!("wrote {}", save.display()));
        }
        Ok(model.training().map(|(_, ending)| ending))
    }

    fn results<'m>(
        self,
        judge: &'m Judge<'m>,
        writer: ScoreWriter,
        page: Option<AtomicFile>,
        waits: bool,
    ) -> Result<Results<'m>> {
        let n_reasons = self.arguments.output.explain.unwrap_or(0);
        Ok(Results {
            kept: writer.kept().clone(),
            sink: self.writes.then(|| Sink::new(writer, n_reasons, waits)).transpose()?,
            page: page.map(|page| (Collector::new(judge), page)),
            groups: (!self.arguments.ungrouped)
                .then(|| Groups::new(judge.model().schema(), reasons_shown(self.arguments).min(LISTED_ROWS))),
            oddest: Oddest::new(judge.model().schema(), self.arguments.top),
        })
    }

    /// Finishes what was written, and shows the oddest rows; gives the first row of each group that was shown.
    fn show(
        self,
        results: Results<'_>,
        judge: &Judge<'_>,
        flags: Flags,
        ending: Option<Ending>,
        file: &str,
        explain: &dyn Fn(&[Alike]) -> Result<Vec<Explanation>>,
    ) -> Result<(Outcome, Vec<usize>)> {
        let Self { arguments, console, .. } = self;
        let outcome = || {
            let of_training = Outcome::of_training(ending, arguments.method.max_seconds);
            of_training.or(Outcome::of_flagged(flags.flagged(), flags.rows(), &arguments.rule, console))
        };
        let Results { kept, sink, page, groups, oddest } = results;
        if let Some(sink) = sink {
            sink.finish(&flags)?;
        }
        if let (Some((collector, page)), Some(path)) = (page, arguments.report.as_deref()) {
            let name = arguments.save.as_ref().map_or_else(|| "not kept".into(), |save| save.display().to_string());
            write_page(console, page, path, &collector.finish(flags, file, &name))?;
        }
        if self.writes && arguments.output.output.is_none() {
            console.note(flagged_text(&flags));
            return Ok((outcome(), Vec::new()));
        }
        let groups = groups.map_or_else(Vec::new, |groups| groups.finish(&flags));
        let mut alike = oddest.finish();
        if !groups.is_empty() && !arguments.json {
            // The flagged ones are told by their groups.
            alike.retain(|alike| !flags.flags(&alike.scored));
            alike.truncate(arguments.top.saturating_sub(groups.len()));
        }
        let explanations = explain(&alike)?;
        let each = alike.iter().zip(&explanations);
        if arguments.json {
            let top = each.map(|(alike, explanation)| {
                let (Scored { score, p_value }, kept_values) = (alike.scored, kept.values(&alike.table, 0));
                let (anomaly, reasons) = (flags.flags(&alike.scored), explanation.reasons.clone());
                let shares = Vec::new();
                let record = Record { row: alike.row, score, p_value, anomaly, reasons, kept: kept_values, shares };
                let mut row = to_json(&record, &kept);
                row["line"] = json!(alike.table.lines[0]);
                if !alike.table.parts.is_empty() {
                    row["file"] = json!(alike.table.file_of(0));
                }
                row["rows_like_it"] = json!(alike.others);
                row
            });
            let (rows, flagged, top) = (flags.rows(), flags.flagged(), top.collect::<Vec<_>>());
            let mut found = json!({ "file": file, "rows": rows, "flagged": flagged, "rule": flags.rule(), "top": top });
            if !arguments.ungrouped {
                found["groups"] = json!(groups);
            }
            print_json(&found)?;
        } else {
            let least_share = least_share(arguments);
            let view = View { model: judge.model(), kept: &kept, least_share, has_lines: self.has_lines };
            let mut cards: Vec<String> = groups.iter().take(arguments.top).map(|group| view.group(group)).collect();
            for (alike, explanation) in each {
                cards.push(view.alike(alike, flags.flags(&alike.scored), explanation));
            }
            let mut page = String::new();
            for (place, card) in cards.iter().enumerate() {
                let _ = write!(page, "{STRONG}{}. {card}", place + 1);
            }
            if let more @ 1.. = groups.len().saturating_sub(arguments.top) {
                let _ = writeln!(page, "and {}; --top shows more", plural(more as u64, "finding"));
            }
            print_page(&(page + &flagged_text(&flags) + &in_groups(&groups) + "\n"))?;
        }
        let of_groups = groups.iter().take(arguments.top).flat_map(|group| group.rows.iter().copied());
        let shown = of_groups.chain(alike.iter().map(|alike| alike.row));
        Ok((outcome(), shown.map(|row| row as usize).collect()))
    }
}

/// In how many findings the flagged rows are, where that is fewer than rows.
fn in_groups(groups: &[Group]) -> String {
    let rows: u64 = groups.iter().map(|group| group.size).sum();
    if rows > groups.len() as u64 {
        format!(", {} by reason", plural(groups.len() as u64, "finding"))
    } else {
        String::new()
    }
}

/// How many reasons of a row are looked for.
fn reasons_shown(arguments: &DetectArguments) -> usize {
    if arguments.json { usize::MAX } else { arguments.output.explain.map_or(SHOWN_REASONS, |most| most.max(1)) }
}

/// The share of a score below which a reason is not shown. Who asks for a number of reasons wants to see them all.
fn least_share(arguments: &DetectArguments) -> f64 {
    if arguments.output.explain.is_some() { 0.0 } else { SMALL_SHARE }
}

/// Shows rows.
struct View<'a> {
    /// What judged them.
    model: &'a Model,
    /// Columns that were asked for; the one that names rows is shown.
    kept: &'a Kept,
    /// The share of a score below which a reason is not shown, unless it is the strongest.
    least_share: f64,
    /// Whether the file has lines that an editor would show.
    has_lines: bool,
}

/// A row that is shown.
struct Shown<'a> {
    row: u64,
    line: u64,
    file: Option<&'a str>,
    scored: Scored,
    anomaly: bool,
    reasons: &'a [Reason],
    cells: &'a [(String, Option<String>)],
}

impl View<'_> {
    /// All about a row, and the numbers of the rows that are like it.
    fn alike(&self, alike: &Alike, anomaly: bool, explanation: &Explanation) -> String {
        let Alike { table, others, n_others, .. } = alike;
        let cells: Vec<(String, Option<String>)> =
            table.columns.iter().map(|column| (column.name.clone(), column.values.text(0).map(Into::into))).collect();
        let mut card = self.card(&Shown {
            row: alike.row,
            line: table.lines[0],
            file: (!table.parts.is_empty()).then(|| table.file_of(0)),
            scored: alike.scored,
            anomaly,
            reasons: &explanation.reasons,
            cells: &cells,
        });
        if *n_others > 0 {
            let listed: Vec<String> = others.iter().take(LISTED_ROWS).map(ToString::to_string).collect();
            let dots = if *n_others as usize > LISTED_ROWS { ", …" } else { "" };
            let (n, s) = (count(*n_others), if *n_others == 1 { "" } else { "s" });
            let _ = writeln!(card, "  {FAINT}and {n} more row{s} like it: {}{dots}{FAINT:#}", listed.join(", "));
        }
        card + "\n"
    }

    /// Flagged rows with the same reason; one by itself is told as a row.
    fn group(&self, group: &Group) -> String {
        let oddest = Shown {
            row: group.examples[0],
            line: group.line,
            file: group.file.as_deref(),
            scored: group.scored,
            anomaly: true,
            reasons: &group.reasons,
            cells: &group.cells,
        };
        if group.size == 1 {
            return self.card(&oddest) + "\n";
        }
        let (rows, p) = (plural(group.size, "row"), p_value(group.p_value));
        let mut card = format!("{rows} with the same reason{STRONG:#}  p-value {p}  {ODD}flagged{ODD:#}\n");
        card += &columns(Place::Output, Vec::new(), group.reasons.iter().map(shared_line).collect());
        let common = group.common.iter().map(|(name, value)| {
            format!("{} = {}", display::plain(name), display::cell(Place::Output, value, LONGEST_CELL))
        });
        let common: Vec<String> = common.collect();
        if !common.is_empty() {
            let _ = writeln!(card, "  {FAINT}all with {}{FAINT:#}", common.join(", "));
        }
        let (first, last) = (group.rows[0], group.rows[group.rows.len() - 1]);
        let to = match group.size {
            size if last - first + 1 == size => "to",
            2 => "and",
            _ => "and others up to",
        };
        let examples: Vec<String> = group.examples.iter().map(ToString::to_string).collect();
        let share = gnsm::internals::decision::percent(group.share);
        let _ = writeln!(
            card,
            "  {FAINT}rows {first} {to} {last}, {share} of all; the oddest: {}{}{FAINT:#}",
            examples.join(", "),
            self.line(&oddest)
        );
        if let Some((name, [first, last])) = &group.between {
            let [name, first, last] = [name, first, last].map(|text| display::plain(text));
            let _ = writeln!(card, "  {FAINT}{name}: {first} to {last}{FAINT:#}");
        }
        card + "\n"
    }

    /// A row with its figures, its reasons, and what it stands beside.
    fn card(&self, shown: &Shown<'_>) -> String {
        let Scored { score, p_value: p } = shown.scored;
        let flag = if shown.anomaly { format!("  {ODD}flagged{ODD:#}") } else { String::new() };
        let id = self.kept.columns.first().filter(|_| self.kept.has_id).map_or_else(String::new, |column| {
            let cell = shown.cells.iter().find(|(name, _)| *name == column.name).and_then(|(_, cell)| cell.as_deref());
            let value = display::cell(Place::Output, cell.unwrap_or_default(), LONGEST_CELL);
            format!("  {} = {value}", display::plain(&column.name))
        });
        let (row, line, p) = (shown.row, self.line(shown), p_value(p));
        let mut card = format!("row {row}{STRONG:#}{line}{id}  score {score:.2}  p-value {p}{flag}\n");
        let reasons = shown.reasons.iter().enumerate();
        let worth = reasons.filter(|(rank, reason)| *rank == 0 || reason.share >= self.least_share);
        let told: Vec<&Reason> = worth.map(|(_, reason)| reason).collect();
        card += &columns(Place::Output, Vec::new(), told.iter().map(|reason| line_of(reason)).collect());
        let whole = self.other_cells(shown.cells, &told);
        if !whole.is_empty() {
            let _ = writeln!(card, "  {FAINT}where {whole}{FAINT:#}");
        }
        card
    }

    /// Where a row stands in its file.
    fn line(&self, shown: &Shown<'_>) -> String {
        match (shown.file, self.has_lines) {
            (None, false) => String::new(),
            (None, true) => format!(" (line {})", shown.line),
            (Some(file), _) => {
                let word = if self.has_lines { "line" } else { "its row" };
                format!(" ({}, {word} {})", display::plain(file), shown.line)
            }
        }
    }

    /// The cells that the reasons do not show: what the oddity stands beside.
    fn other_cells(&self, cells: &[(String, Option<String>)], shown: &[&Reason]) -> String {
        let used = self.model.schema().used();
        let others = used.filter(|column| !shown.iter().any(|reason| reason.column == column.name));
        let cells = others.filter_map(|column| {
            let text = cells.iter().find(|(name, _)| *name == column.name)?.1.as_deref()?;
            Some(format!("{} = {}", display::plain(&column.name), display::cell(Place::Output, text, LONGEST_CELL)))
        });
        cells.collect::<Vec<_>>().join(", ")
    }
}

fn line_of(reason: &Reason) -> Vec<Cell> {
    line(reason, &display::reason(Place::Output, reason, LONGEST_CELL).words())
}

/// A reason that several rows share. Where they have values of their own, the oddest row's is an example.
fn shared_line(reason: &Reason) -> Vec<Cell> {
    let words = display::reason(Place::Output, reason, LONGEST_CELL).words();
    let has_one_value = reason.side.is_none() && reason.note.is_none();
    match words.strip_prefix("= ").filter(|_| !has_one_value) {
        Some(value) => line(reason, &format!("such as {value}")),
        None => line(reason, &words),
    }
}

fn line(reason: &Reason, words: &str) -> Vec<Cell> {
    vec![
        Cell::new(display::cell(Place::Output, &reason.column, 40)).add_attribute(Attribute::Bold),
        Cell::new(display::plain(words)).fg(Color::Red),
        right(format!("{:.0} %", 100.0 * reason.share)),
        Cell::new(bar(reason.share, BAR)),
    ]
}
