//! `gnsm detect`: shows the oddest rows of a file, in one command.

use std::collections::HashMap;
use std::fmt::Write;

use anyhow::{Result, bail};
use comfy_table::{Attribute, Cell, Color};
use gnsm::{Explanation, FdrCounter, Model, Reason, Rule, Table};
use serde_json::json;

use super::fit::{note_ending, note_no_training, refuse_overwriting_inputs, what_to_fit};
use super::{Outcome, create_file, flagged_text, read_table, refuse_same_file, warn_of_small_contamination};
use crate::arguments::DetectArguments;
use crate::console::{Console, print, print_json};
use crate::display::{self, FAINT, ODD, Place, STRONG, bar, columns, count, p_value, right};
use crate::interrupt;
use crate::output::{Destination, OutputFormat, Record, ScoreWriter, to_json};
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
/// Characters of the line that shows the whole row.
const ROW_WIDTH: usize = 110;
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
    let outputs = [arguments.output.as_deref(), arguments.save.as_deref()];
    for output in outputs.into_iter().flatten() {
        refuse_overwriting_inputs(output, &arguments.files, &arguments.method, &arguments.columns)?;
    }
    if let (Some(output), Some(save)) = (&arguments.output, &arguments.save) {
        refuse_same_file(output, &[save])?;
        if output == save {
            bail!("-o and --save name the same file; give two");
        }
    }
    if let Some(save) = &arguments.save {
        drop(create_file(save)?);
    }
    let writer = match arguments.output.as_deref() {
        Some(path) => Some(ScoreWriter::new(OutputFormat::of_file(path)?, Destination::create(Some(path))?, 0)?),
        None => None,
    };
    interrupt::stop_training(console)?;
    let (table, has_lines) = read_table(&arguments.files, &arguments.read.options(missing), console)?;
    if interrupt::requested() {
        return Ok((Outcome::Interrupted, Vec::new()));
    }

    if method.training().is_none() {
        note_no_training(console, method.name(), arguments.method.max_seconds, false);
    }
    let mut model = builder.watch(&mut FitWatcher::new(console)).fit(&table)?;
    note_ending(console, &model);
    if let Some(save) = &arguments.save {
        model.save(save)?;
        console.note(format_args!("wrote {}", save.display()));
    }
    warn_of_small_contamination(console, &model, rule);
    let mut records = score(&model, &table, rule)?;
    let flagged = records.iter().filter(|record| record.anomaly).count() as u64;
    if let Some(mut writer) = writer {
        writer.write(&records)?;
        writer.finish()?;
    }
    let groups = oddest(&model, &table, &records, arguments.top);
    let firsts: Vec<usize> = groups.iter().map(|group| group[0]).collect();
    let n_reasons = if arguments.json { usize::MAX } else { SHOWN_REASONS };
    let explanations = model.explain_own(&table, &firsts, n_reasons)?;
    if arguments.json {
        let mut top = Vec::new();
        for (group, explanation) in groups.iter().zip(explanations) {
            let record = &mut records[group[0]];
            record.reasons = explanation.reasons;
            let mut row = to_json(record)?;
            row["line"] = json!(table.lines[group[0]]);
            if !table.parts.is_empty() {
                row["file"] = json!(table.file_of(group[0]));
            }
            row["rows_like_it"] = json!(group[1..]);
            top.push(row);
        }
        let rows = records.len();
        print_json(&json!({ "file": table.file, "rows": rows, "flagged": flagged, "rule": rule, "top": top }))?;
    } else {
        let view = View { model: &model, table: &table, has_lines };
        let mut page = String::new();
        for (place, (group, explanation)) in groups.iter().zip(&explanations).enumerate() {
            page += &view.card(place + 1, group, &records[group[0]], explanation);
        }
        page += &flagged_text(rule, flagged, records.len() as u64);
        page.push('\n');
        print(&page)?;
    }
    Ok((Outcome::of_flagged(flagged, arguments.rule.fail_on_anomaly), firsts))
}

fn score(model: &Model, table: &Table, rule: Rule) -> Result<Vec<Record>> {
    let scores = model.score_own(table)?;
    let cutoff = match rule {
        Rule::Fdr(level) => {
            let mut counter = FdrCounter::new(level)?;
            for scored in &scores {
                counter.add(scored.p_value);
            }
            counter.cutoff()
        }
        _ => None,
    };
    let records = scores.into_iter().zip(0..).map(|(scored, row)| Record {
        row,
        score: scored.score,
        p_value: scored.p_value,
        anomaly: rule.flags(scored.score, scored.p_value, cutoff),
        reasons: Vec::new(),
    });
    Ok(records.collect())
}

/// The oddest rows, those that are alike together.
fn oddest(model: &Model, table: &Table, records: &[Record], most: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..records.len()).collect();
    // Stable: among equal scores, rows keep their order.
    order.sort_by(|&a, &b| records[b].score.total_cmp(&records[a].score));
    let used: Vec<_> = model.schema().used().filter_map(|column| table.column(&column.name)).collect();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of: HashMap<Vec<_>, usize> = HashMap::new();
    for row in order {
        let is_full = groups.len() == most;
        if is_full && groups.last().is_none_or(|last| records[row].score != records[last[0]].score) {
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
struct View<'a> {
    model: &'a Model,
    table: &'a Table,
    /// Whether the file has lines that an editor would show.
    has_lines: bool,
}

impl View<'_> {
    fn card(&self, place: usize, group: &[usize], record: &Record, explanation: &Explanation) -> String {
        let row = group[0];
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
        let mut card =
            format!("{STRONG}{place}. row {row}{STRONG:#}{line}  score {:.2}  p-value {p}{flag}\n", record.score);
        let reasons = explanation.reasons.iter().enumerate();
        let worth = reasons.filter(|(rank, reason)| *rank == 0 || reason.share >= SMALL_SHARE);
        let shown: Vec<&Reason> = worth.map(|(_, reason)| reason).collect();
        card += &columns(Place::Output, Vec::new(), shown.iter().map(|reason| line_of(reason)).collect());
        let whole = self.other_cells(row, &shown);
        if !whole.is_empty() {
            let _ = writeln!(card, "  {FAINT}where {whole}{FAINT:#}");
        }
        if group.len() > 1 {
            let listed: Vec<String> = group[1..].iter().take(LISTED_ROWS).map(ToString::to_string).collect();
            let dots = if group.len() - 1 > LISTED_ROWS { ", …" } else { "" };
            let (n, s) = (count(group.len() as u64 - 1), if group.len() == 2 { "" } else { "s" });
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
            Some(format!("{} = {text}", column.name))
        });
        display::cell(&cells.collect::<Vec<_>>().join(", "), ROW_WIDTH)
    }
}

fn line_of(reason: &Reason) -> Vec<Cell> {
    vec![
        Cell::new(display::cell(&reason.column, 40)).add_attribute(Attribute::Bold),
        Cell::new(display::cell(&reason.words(), 120)).fg(Color::Red),
        right(format!("{:.0} %", 100.0 * reason.share)),
        Cell::new(bar(reason.share, BAR)),
    ]
}
