//! `gnsm detect`: shows the oddest rows of a file, in one command.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Result, bail};
use comfy_table::{Attribute, Cell, Color};
use gnsm::{Explanation, FdrCounter, Model, Reason, Rule, Scored, Table};
use gnsm_report::Collector;
use serde_json::json;

use super::fit::{note_ending, note_no_training, refuse_overwriting_inputs, what_to_fit};
use super::report::write_page;
use super::{
    Outcome, cells, create_file, detect_large, flagged_text, keep_columns, read_rows, refuse_same_file, score,
    warn_of_small_contamination,
};
use crate::arguments::DetectArguments;
use crate::console::{Console, print_json, print_page};
use crate::display::{self, FAINT, LONGEST_CELL, ODD, Place, STRONG, bar, columns, count, p_value, right};
use crate::interrupt;
use crate::output::kept::Kept;
use crate::output::{Destination, Record, ScoreWriter, to_json};
use crate::progress::FitWatcher;

/// What is flagged unless something else is asked for: as much as possible with one false alarm in ten flags. In a table without anything
/// odd, nothing is flagged nine times of ten.
const DEFAULT_RULE: Rule = Rule::Fdr(0.1);
/// Reasons shown for a row, at the most.
const SHOWN_REASONS: usize = 3;
/// The share of a score below which a reason is not worth a line, unless it is the strongest.
const SMALL_SHARE: f64 = 0.08;
/// Characters of the longest bar.
const BAR: usize = 12;
/// Rows that are explained at a time.
const EXPLAINED_ROWS: usize = 1 << 16;
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
    let mut writer = ScoreWriter::new(arguments.output.format()?, Destination::create(output)?, n_reasons);
    let page = arguments.report.as_deref().map(create_file).transpose()?;
    interrupt::stop_training(console)?;
    let options = arguments.read.options(missing);
    let Some((rows, has_lines)) = read_rows(&builder, &arguments.files, &options, arguments.memory.room(), console)?
    else {
        return Ok((Outcome::Interrupted, Vec::new()));
    };
    if rows.is_whole() {
        keep_columns(&mut writer, rows.table(), &arguments.output, console)?;
    } else {
        detect_large::refuse(arguments)?;
    }

    if method.training().is_none() {
        note_no_training(console, method.name(), arguments.method.max_seconds, false);
    }
    let watcher = &mut FitWatcher::new(console);
    let mut model = builder.judge_own(rows.is_whole()).watch(watcher).fit_rows(&rows)?;
    note_ending(console, &model);
    let ending = model.training().map(|(_, ending)| ending);
    if let Some(save) = &arguments.save {
        model.save(save)?;
        console.note(format_args!("wrote {}", save.display()));
    }
    let Some(table) = rows.whole() else {
        let outputs = detect_large::Outputs { rule, writer, writes, page };
        let of_rows = detect_large::run(&model, arguments, outputs, console)?;
        return Ok((Outcome::of_training(ending, arguments.method.max_seconds).or(of_rows), Vec::new()));
    };
    if arguments.output.cells {
        return Ok((cells::write(&model, &table, &arguments.output, &arguments.rule, console)?, Vec::new()));
    }
    warn_of_small_contamination(console, model.calibration(), rule, "row");
    let scores = model.score_own(&table)?;
    let cutoff = cutoff(rule, &scores)?;
    let flags: Vec<bool> = scores.iter().map(|row| rule.flags(row.score, row.p_value, cutoff)).collect();
    let (flagged, rows) = (flags.iter().filter(|flag| **flag).count() as u64, scores.len() as u64);
    let outcome = |console| {
        let of_training = Outcome::of_training(ending, arguments.method.max_seconds);
        of_training.or(Outcome::of_flagged(flagged, rows, &arguments.rule, console))
    };
    if let (Some(page), Some(path)) = (page, arguments.report.as_deref()) {
        let mut collector = Collector::new(&model, rule)?;
        collector.add_own(&table, &scores)?;
        let name = arguments.save.as_ref().map_or_else(|| "not kept".into(), |save| save.display().to_string());
        write_page(console, page, path, &collector.finish(&table.file, &name))?;
    }
    let kept = writer.kept().clone();
    if writes {
        write_all(writer, &model, &table, &scores, &flags, n_reasons)?;
        if output.is_none() {
            console.note(flagged_text(rule, flagged, rows));
            return Ok((outcome(console), Vec::new()));
        }
    }
    let groups = oddest(&model, &table, &scores, arguments.top);
    let firsts: Vec<usize> = groups.iter().map(|group| group[0]).collect();
    let explanations = model.explain_own(&table, &firsts, reasons_shown(arguments))?;
    let record = |row: usize, reasons: Vec<Reason>| {
        let (Scored { score, p_value }, kept) = (scores[row], kept.values(&table, row));
        Record { row: row as u64, score, p_value, anomaly: flags[row], reasons, kept, shares: Vec::new() }
    };
    if arguments.json {
        let mut top = Vec::new();
        for (group, explanation) in groups.iter().zip(explanations) {
            let mut row = to_json(&record(group[0], explanation.reasons), &kept);
            row["line"] = json!(table.lines[group[0]]);
            if !table.parts.is_empty() {
                row["file"] = json!(table.file_of(group[0]));
            }
            row["rows_like_it"] = json!(group[1..]);
            top.push(row);
        }
        print_json(&json!({ "file": table.file, "rows": rows, "flagged": flagged, "rule": rule, "top": top }))?;
    } else {
        let view = View { model: &model, table: &table, kept: &kept, least_share: least_share(arguments), has_lines };
        let mut page = String::new();
        for (place, (group, explanation)) in groups.iter().zip(&explanations).enumerate() {
            let others: Vec<u64> = group[1..].iter().map(|row| *row as u64).collect();
            let others = (others.as_slice(), others.len() as u64);
            page += &view.card(place + 1, group[0], others, &record(group[0], Vec::new()), explanation);
        }
        page += &flagged_text(rule, flagged, rows);
        page.push('\n');
        print_page(&page)?;
    }
    Ok((outcome(console), firsts))
}

/// How many reasons of a row are looked for.
pub fn reasons_shown(arguments: &DetectArguments) -> usize {
    if arguments.json { usize::MAX } else { arguments.output.explain.map_or(SHOWN_REASONS, |most| most.max(1)) }
}

/// The share of a score below which a reason is not shown. Who asks for a number of reasons wants to see them all.
pub fn least_share(arguments: &DetectArguments) -> f64 {
    if arguments.output.explain.is_some() { 0.0 } else { SMALL_SHARE }
}

/// The p-value up to which a false discovery rate flags.
fn cutoff(rule: Rule, scores: &[Scored]) -> Result<Option<f64>> {
    let Rule::Fdr(level) = rule else { return Ok(None) };
    let mut counter = FdrCounter::new(level)?;
    for scored in scores {
        counter.add(scored.p_value);
    }
    Ok(counter.cutoff())
}

/// Writes a line for each row.
fn write_all(
    mut writer: ScoreWriter,
    model: &Model,
    table: &Table,
    scores: &[Scored],
    flags: &[bool],
    n_reasons: usize,
) -> Result<()> {
    let most = if writer.shows_shares() { usize::MAX } else { n_reasons };
    let all: Vec<usize> = (0..scores.len()).collect();
    for rows in all.chunks(EXPLAINED_ROWS) {
        let reasons = if most > 0 { model.explain_own(table, rows, most)? } else { Vec::new() };
        let mut reasons = reasons.into_iter().map(|explanation| explanation.reasons);
        let record = |&row: &usize| {
            let reasons = reasons.next().unwrap_or_default();
            let record = score::record(row as u64, scores[row], reasons, n_reasons, &writer, (table, row));
            Record { anomaly: flags[row], ..record }
        };
        let records: Vec<Record> = rows.iter().map(record).collect();
        writer.write(&records)?;
    }
    writer.finish()
}

/// The oddest rows, those that are alike together.
fn oddest(model: &Model, table: &Table, scores: &[Scored], most: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    // Stable: among equal scores, rows keep their order.
    order.sort_by(|&a, &b| scores[b].score.total_cmp(&scores[a].score));
    let used: Vec<_> = model.schema().used().filter_map(|column| table.column(&column.name)).collect();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of: HashMap<Vec<_>, usize> = HashMap::new();
    for row in order {
        let is_full = groups.len() == most;
        if is_full && groups.last().is_none_or(|last| scores[row].score != scores[last[0]].score) {
            break;
        }
        let cells: Vec<_> = used.iter().map(|column| column.values.text(row)).collect();
        if let Some(&group) = group_of.get(&cells) {
            groups[group].push(row);
        } else if !is_full {
            group_of.insert(cells, groups.len());
            groups.push(vec![row]);
        }
    }
    groups
}

/// Shows rows of a table.
pub struct View<'a> {
    /// What judged them.
    pub model: &'a Model,
    /// Where they stand.
    pub table: &'a Table,
    /// Columns that were asked for; the one that names rows is shown.
    pub kept: &'a Kept,
    /// The share of a score below which a reason is not shown, unless it is the strongest.
    pub least_share: f64,
    /// Whether the file has lines that an editor would show.
    pub has_lines: bool,
}

impl View<'_> {
    /// All about a row of the table, and the numbers of the rows that are like it: the first of them, and how many.
    pub fn card(
        &self,
        place: usize,
        row: usize,
        (others, n_others): (&[u64], u64),
        record: &Record,
        explanation: &Explanation,
    ) -> String {
        let line = match (self.table.parts.is_empty(), self.has_lines) {
            (true, false) => String::new(),
            (true, true) => format!(" (line {})", self.table.lines[row]),
            (false, _) => {
                let word = if self.has_lines { "line" } else { "its row" };
                format!(" ({}, {word} {})", display::plain(self.table.file_of(row)), self.table.lines[row])
            }
        };
        let p = p_value(record.p_value);
        let flag = if record.anomaly { format!("  {ODD}flagged{ODD:#}") } else { String::new() };
        let id = match (self.kept.columns.first(), record.kept.first()) {
            (Some(column), Some(value)) if self.kept.has_id => {
                format!(
                    "  {} = {}",
                    display::plain(&column.name),
                    display::cell(Place::Output, &value.text(), LONGEST_CELL)
                )
            }
            _ => String::new(),
        };
        let mut card = format!(
            "{STRONG}{place}. row {}{STRONG:#}{line}{id}  score {:.2}  p-value {p}{flag}\n",
            record.row, record.score
        );
        let reasons = explanation.reasons.iter().enumerate();
        let worth = reasons.filter(|(rank, reason)| *rank == 0 || reason.share >= self.least_share);
        let shown: Vec<&Reason> = worth.map(|(_, reason)| reason).collect();
        card += &columns(Place::Output, Vec::new(), shown.iter().map(|reason| line_of(reason)).collect());
        let whole = self.other_cells(row, &shown);
        if !whole.is_empty() {
            let _ = writeln!(card, "  {FAINT}where {whole}{FAINT:#}");
        }
        if n_others > 0 {
            let listed: Vec<String> = others.iter().take(LISTED_ROWS).map(ToString::to_string).collect();
            let dots = if n_others as usize > LISTED_ROWS { ", …" } else { "" };
            let (n, s) = (count(n_others), if n_others == 1 { "" } else { "s" });
            let _ = writeln!(card, "  {FAINT}and {n} more row{s} like it: {}{dots}{FAINT:#}", listed.join(", "));
        }
        card.push('\n');
        card
    }

    /// The cells that the reasons do not show: what the oddity stands beside.
    fn other_cells(&self, row: usize, shown: &[&Reason]) -> String {
        let used = self.model.schema().used();
        let others = used.filter(|column| !shown.iter().any(|reason| reason.column == column.name));
        let cells = others.filter_map(|column| {
            let text = self.table.column(&column.name)?.values.text(row)?;
            Some(format!("{} = {}", display::plain(&column.name), display::cell(Place::Output, &text, LONGEST_CELL)))
        });
        cells.collect::<Vec<_>>().join(", ")
    }
}

fn line_of(reason: &Reason) -> Vec<Cell> {
    vec![
        Cell::new(display::cell(Place::Output, &reason.column, 40)).add_attribute(Attribute::Bold),
        Cell::new(display::plain(&display::reason(Place::Output, reason, LONGEST_CELL).words())).fg(Color::Red),
        right(format!("{:.0} %", 100.0 * reason.share)),
        Cell::new(bar(reason.share, BAR)),
    ]
}
