//! `gnsm detect` on a table that does not fit into memory: once the model has learned, all rows pass by in batches.
//!
//! Rows are judged as new rows are; the few that were learned from are not left out first. Memory does not grow with the
//! table, but for a count of the p-values where a false discovery rate is asked for.

use anyhow::{Result, bail};
use gnsm::internals::files::AtomicFile;
use gnsm::{FdrCounter, Model, Reason, Rule, Scored, Table};
use gnsm_report::Collector;
use serde_json::json;

use super::detect::{View, least_share, reasons_shown};
use super::report::write_page;
use super::score::{Sink, record};
use super::{Outcome, drift, flagged_text, keep_columns, note_reading, open_table};
use crate::arguments::DetectArguments;
use crate::console::{Console, print_json, print_page};
use crate::interrupt;
use crate::output::kept::Kept;
use crate::output::{Record, ScoreWriter, to_json};
use crate::progress::RowCounter;

/// Rows scored at a time.
const BATCH: usize = 8192;
/// Numbers of rows that are alike which are kept.
const MOST_ALIKE: usize = 1000;

/// Refuses what only a table in memory can have.
pub fn refuse(arguments: &DetectArguments) -> Result<()> {
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

/// Where the results go.
pub struct Outputs {
    /// Says which rows are flagged.
    pub rule: Rule,
    /// Writes a line for each row, if that is asked for.
    pub writer: ScoreWriter,
    /// Whether it is.
    pub writes: bool,
    /// The page, if it is asked for.
    pub page: Option<AtomicFile>,
}

/// Scores all rows and shows the oddest.
pub fn run(model: &Model, arguments: &DetectArguments, outputs: Outputs, console: Console) -> Result<Outcome> {
    let Outputs { rule, mut writer, writes, page } = outputs;
    console.note("there was room for some of the rows only: all are scored in a stream, as new rows are");
    let mut reader = open_table(&arguments.files, &arguments.read.options(Some(model.schema().missing.clone())))?;
    let n_reasons = arguments.output.explain.unwrap_or(0).min(model.encoder().features().len());
    let mut collector = page.is_some().then(|| Collector::new(model, rule)).transpose()?;
    let mut tally = Tally::new(rule)?;
    let mut oddest = Oddest { most: arguments.top, groups: Vec::new() };
    let tail = model.tail();
    let counter = RowCounter::new(console, writes && arguments.output.output.is_none());
    let mut file = String::new();
    let Some(first) = reader.next_batch(BATCH)? else { bail!("the file holds no rows any more; it was changed") };
    keep_columns(&mut writer, &first, &arguments.output, console)?;
    let kept = writer.kept().clone();
    let mut sink = writes.then(|| Sink::new(rule, writer)).transpose()?;
    let mut next = Some(first);
    while let Some(batch) = next {
        let most = sink.as_ref().map_or(0, |sink| if sink.writer().shows_shares() { usize::MAX } else { n_reasons });
        let (mut scores, reasons) = judged(model, &batch, most)?;
        scores.iter_mut().for_each(|row| row.p_value = tail.p_value(row.score));
        if let Some(collector) = &mut collector {
            collector.add_scored(&batch, &scores)?;
        }
        oddest.add(model, &batch, tally.rows, &scores);
        if let Some(sink) = &mut sink {
            let rows = scores.iter().zip(reasons).enumerate();
            let records = rows.map(|(at, (scored, reasons))| {
                record(tally.rows + at as u64, *scored, reasons, n_reasons, sink.writer(), (&batch, at))
            });
            let records = records.collect();
            sink.write(records)?;
        }
        tally.add(&scores);
        counter.add(batch.n_rows() as u64);
        if file.is_empty() {
            file.clone_from(&batch.file);
        }
        reader.recycle(batch);
        if interrupt::requested() {
            return Ok(Outcome::Interrupted);
        }
        next = reader.next_batch(BATCH)?;
    }
    drop(counter);
    if let Some(sink) = sink {
        sink.finish()?;
    }
    note_reading(console, &reader);
    if let (Some(collector), Some(page), Some(path)) = (collector, page, arguments.report.as_deref()) {
        let name = arguments.save.as_ref().map_or_else(|| "not kept".into(), |save| save.display().to_string());
        write_page(console, page, path, &collector.finish(&file, &name))?;
    }
    let (flagged, cutoff) = tally.finish();
    if writes && arguments.output.output.is_none() {
        console.note(flagged_text(rule, flagged, tally.rows));
    } else {
        let shown = Shown { model, arguments, kept: &kept, has_lines: reader.format().has_lines() };
        let flags = |scored: Scored| rule.flags(scored.score, scored.p_value, cutoff);
        if arguments.json {
            let top = shown.json(&oddest.groups, flags)?;
            print_json(&json!({ "file": file, "rows": tally.rows, "flagged": flagged, "rule": rule, "top": top }))?;
        } else {
            print_page(&(shown.cards(&oddest.groups, flags)? + &flagged_text(rule, flagged, tally.rows) + "\n"))?;
        }
    }
    Ok(Outcome::of_flagged(flagged, tally.rows, &arguments.rule, console))
}

/// The scores of a batch, with as many reasons as asked for.
fn judged(model: &Model, batch: &Table, most: usize) -> Result<(Vec<Scored>, Vec<Vec<Reason>>)> {
    if most == 0 {
        let scores = model.score(batch)?;
        let none = vec![Vec::new(); scores.len()];
        return Ok((scores, none));
    }
    let explained = model.score_and_explain(batch, most)?.into_iter();
    Ok(explained.map(|(scored, explanation)| (scored, explanation.reasons)).unzip())
}

/// Counts what is flagged.
struct Tally {
    rule: Rule,
    rows: u64,
    flagged: u64,
    rate: Option<FdrCounter>,
}

impl Tally {
    fn new(rule: Rule) -> Result<Self> {
        let rate = if let Rule::Fdr(level) = rule { Some(FdrCounter::new(level)?) } else { None };
        Ok(Self { rule, rows: 0, flagged: 0, rate })
    }

    fn add(&mut self, scores: &[Scored]) {
        self.rows += scores.len() as u64;
        for row in scores {
            match &mut self.rate {
                Some(rate) => rate.add(row.p_value),
                None => self.flagged += u64::from(self.rule.flags(row.score, row.p_value, None)),
            }
        }
    }

    /// How many rows are flagged, and the p-value up to which a false discovery rate flags.
    fn finish(&self) -> (u64, Option<f64>) {
        self.rate.as_ref().map_or((self.flagged, None), |rate| (rate.flagged(), rate.cutoff()))
    }
}

/// Rows that are alike.
struct Group {
    scored: Scored,
    row: u64,
    /// The first of the others, and how many there are.
    others: Vec<u64>,
    n_others: u64,
    /// The first row.
    table: Table,
    cells: Vec<Option<String>>,
}

/// The oddest rows so far, those that are alike together.
struct Oddest {
    most: usize,
    groups: Vec<Group>,
}

impl Oddest {
    /// Takes in a batch whose first row is `first` of the file.
    fn add(&mut self, model: &Model, batch: &Table, first: u64, scores: &[Scored]) {
        let used: Vec<_> = model.schema().used().filter_map(|column| batch.column(&column.name)).collect();
        for (at, &scored) in scores.iter().enumerate() {
            let is_full = self.groups.len() == self.most;
            if is_full && self.groups.last().is_none_or(|last| scored.score < last.scored.score) {
                continue;
            }
            let row = first + at as u64;
            let cells: Vec<_> = used.iter().map(|column| column.values.text(at).map(Into::into)).collect();
            if let Some(group) = self.groups.iter_mut().find(|group| group.cells == cells) {
                group.n_others += 1;
                if group.others.len() < MOST_ALIKE {
                    group.others.push(row);
                }
                continue;
            }
            // Behind those of the same score: of equal rows, the earlier comes first.
            let place = self.groups.partition_point(|group| group.scored.score >= scored.score);
            let table = batch.select(&[at]);
            self.groups.insert(place, Group { scored, row, others: Vec::new(), n_others: 0, table, cells });
            self.groups.truncate(self.most);
        }
    }
}

/// Shows groups of rows.
struct Shown<'a> {
    model: &'a Model,
    arguments: &'a DetectArguments,
    kept: &'a Kept,
    has_lines: bool,
}

impl Shown<'_> {
    fn record(&self, group: &Group, anomaly: bool, reasons: Vec<Reason>) -> Record {
        let Scored { score, p_value } = group.scored;
        let kept = self.kept.values(&group.table, 0);
        Record { row: group.row, score, p_value, anomaly, reasons, kept, shares: Vec::new() }
    }

    fn cards(&self, groups: &[Group], flags: impl Fn(Scored) -> bool) -> Result<String> {
        let mut page = String::new();
        for (place, group) in groups.iter().enumerate() {
            let explained = self.model.explain(&group.table, &[0], reasons_shown(self.arguments))?;
            let view = View {
                model: self.model,
                table: &group.table,
                kept: self.kept,
                least_share: least_share(self.arguments),
                has_lines: self.has_lines,
            };
            let record = self.record(group, flags(group.scored), Vec::new());
            for explanation in &explained {
                page += &view.card(place + 1, 0, (&group.others, group.n_others), &record, explanation);
            }
        }
        Ok(page)
    }

    fn json(&self, groups: &[Group], flags: impl Fn(Scored) -> bool) -> Result<Vec<serde_json::Value>> {
        let mut top = Vec::new();
        for group in groups {
            let explained = self.model.explain(&group.table, &[0], reasons_shown(self.arguments))?;
            for explanation in explained {
                let record = self.record(group, flags(group.scored), explanation.reasons);
                let mut row = to_json(&record, self.kept);
                row["line"] = json!(group.table.lines[0]);
                row["rows_like_it"] = json!(group.others);
                top.push(row);
            }
        }
        Ok(top)
    }
}
