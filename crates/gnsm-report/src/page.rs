//! The page on a table: what the template and the script need.

use std::collections::BTreeSet;

use askama::Template;
use gnsm::internals::decision::short;
use gnsm::{ColumnDrift, ColumnReport, DriftReport, Flags, Judge, Kind, Model, Reason, Rule};

use crate::chart::{self, Chart};
use crate::collect::{OddRow, ScoreBins};
use crate::columns::{ColumnSummary, NAME, TogetherLine, summaries, together};
use crate::data::block_of;
use crate::frame::Frame;
use crate::kind::ReasonKind;
use crate::nearest::UsualRows;
use crate::tally::Tally;
use crate::words::{count, last_name, percent, plural, shown};

/// The script of the page.
pub(crate) const SCRIPT: &str = include_str!("../templates/table.js");
/// Columns that are listed as left out.
const MOST_LEFT_OUT: usize = 200;
/// How many columns are listed as moved, and how many characters the words about each may have.
const MOST_MOVED: usize = 50;
const MOST_NOTE: usize = 300;
/// The height of the chart of scores.
const SCORES_HEIGHT: f64 = 120.0;

/// What was found in a file.
pub struct Report<'m> {
    pub(crate) judge: &'m Judge<'m>,
    pub(crate) model: &'m Model,
    pub(crate) model_name: String,
    pub(crate) file: String,
    pub(crate) flags: Flags,
    pub(crate) threshold: Option<f64>,
    pub(crate) is_own: bool,
    pub(crate) columns: Vec<String>,
    pub(crate) differences: ColumnReport,
    pub(crate) drift: Option<DriftReport>,
    pub(crate) rows: u64,
    pub(crate) unread: u64,
    pub(crate) scores: ScoreBins,
    pub(crate) tally: Tally,
    pub(crate) odd: Vec<OddRow>,
    pub(crate) usual: UsualRows,
}

#[derive(Template)]
#[template(path = "table.html")]
struct Page<'a> {
    frame: Frame,
    file: String,
    rows: String,
    flagged: String,
    flagged_share: String,
    rule: String,
    rule_meaning: String,
    drift: Option<Drift>,
    is_own: bool,
    scores: ScoreChart,
    left_out: Vec<LeftOut>,
    left_out_more: usize,
    notes: Vec<String>,
    shown: String,
    counted: String,
    columns: &'a [ColumnSummary],
    columns_more: usize,
    together: &'a [TogetherLine],
    kinds: Vec<ReasonKind>,
    facts: Vec<(&'static str, String)>,
    data: String,
}

struct ScoreChart {
    here: String,
    usual: Option<String>,
    threshold: Option<(String, String)>,
    low: String,
    high: String,
    beyond: Option<String>,
    words: String,
}

/// How the columns differ from those that were learned from.
struct Drift {
    words: String,
    columns: Vec<Moved>,
    more: usize,
}

struct Moved {
    name: String,
    /// Its place among the columns of the page.
    index: Option<usize>,
    has_drift: bool,
    is_aside: bool,
    notes: Vec<String>,
}

struct LeftOut {
    name: String,
    kind: &'static str,
    why: String,
}

impl Report<'_> {
    /// The rows of the file.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Those that are flagged.
    pub fn flagged(&self) -> u64 {
        self.flags.flagged()
    }

    /// Those that the page shows.
    pub fn shown(&self) -> usize {
        self.odd.len()
    }

    /// How its rows differ from those that the model learned from; `None` where that was not asked, or they are the
    /// same.
    pub fn drift(&self) -> Option<&DriftReport> {
        self.drift.as_ref()
    }

    /// The rows that are summed up by column: the flagged rows of the page, or all of them if none is flagged.
    pub(crate) fn counted(&self) -> &[OddRow] {
        let flagged = self.odd.iter().take_while(|row| self.flags(row)).count();
        if flagged > 0 { &self.odd[..flagged] } else { &self.odd }
    }

    pub(crate) fn flags(&self, row: &OddRow) -> bool {
        self.flags.flags(&row.scored)
    }

    /// The page.
    pub fn html(&self) -> String {
        let block = block_of(self);
        let (columns, columns_more) = summaries(self);
        let counted = self.counted();
        let together = together(counted, &columns, &self.columns);
        let (left_out, left_out_more) = self.left_out();
        let kinds: BTreeSet<ReasonKind> = self.odd.iter().flat_map(|row| self.kinds(row)).collect();
        let page = Page {
            frame: Frame::new(SCRIPT, ""),
            file: shown(last_name(&self.file), NAME),
            rows: count(self.rows),
            flagged: count(self.flags.flagged()),
            flagged_share: percent(self.flags.flagged() as f64 / self.rows.max(1) as f64),
            rule: rule_words(self.flags.rule()),
            rule_meaning: rule_meaning(self.flags.rule()),
            drift: self.drift.as_ref().map(|drift| self.drift_words(drift, &columns)),
            is_own: self.is_own,
            scores: self.score_chart(),
            left_out,
            left_out_more,
            notes: self.notes(block.rows, block.cell),
            shown: count(block.rows as u64),
            counted: self.counted_words(counted.len()),
            columns: &columns,
            columns_more,
            together: &together,
            kinds: kinds.into_iter().collect(),
            facts: self.facts(),
            data: block.json,
        };
        // A template of this crate that is filled into memory does not fail.
        page.render().unwrap_or_default()
    }

    fn kinds(&self, row: &OddRow) -> Vec<ReasonKind> {
        row.explanation.reasons.iter().map(|reason| self.kind(reason)).collect()
    }

    pub(crate) fn kind(&self, reason: &Reason) -> ReasonKind {
        ReasonKind::of(reason, self.model.schema().columns.iter().find(|column| column.name == reason.column))
    }

    fn counted_words(&self, n: usize) -> String {
        let n_text = count(n as u64);
        match self.flags.flagged() {
            0 => format!("No row is flagged, so this is counted over the {n_text} rows shown."),
            flagged if flagged > n as u64 => {
                format!("Counted over the {n_text} oddest of {} flagged rows.", count(flagged))
            }
            1 => "Counted over the one flagged row.".into(),
            _ => format!("Counted over the {n_text} flagged rows."),
        }
    }

    /// What has moved, the columns that have moved first.
    fn drift_words(&self, drift: &DriftReport, columns: &[ColumnSummary]) -> Drift {
        let (n_moved, all) = (drift.moved().count() as u64, plural(drift.columns.len() as u64, "column"));
        let rows = format!("{} here, {} learned from", plural(drift.rows, "row"), count(drift.learned_rows));
        let words = match n_moved {
            0 => format!("No column has moved since the model learned ({rows})."),
            1 => format!("1 of {all} has moved since the model learned ({rows})."),
            n => format!("{} of {all} have moved since the model learned ({rows}).", count(n)),
        };
        let mut noted: Vec<&ColumnDrift> = drift.columns.iter().filter(|column| !column.notes.is_empty()).collect();
        noted.sort_by_key(|column| !column.moved);
        let moved = |column: &&ColumnDrift| {
            let place = self.columns.iter().position(|name| *name == column.column);
            Moved {
                name: shown(&column.column, NAME),
                index: place.filter(|place| columns.iter().any(|column| column.index == *place)),
                has_drift: column.moved,
                is_aside: column.set_aside && self.judge.sets_aside(),
                notes: column.notes.iter().map(|note| shown(note, MOST_NOTE)).collect(),
            }
        };
        let more = noted.len().saturating_sub(MOST_MOVED);
        Drift { words, columns: noted.iter().take(MOST_MOVED).map(moved).collect(), more }
    }

    fn left_out(&self) -> (Vec<LeftOut>, usize) {
        let mut left_out = Vec::new();
        let report = self.model.report();
        if let Some(label) = report.label.as_ref().filter(|label| self.columns.contains(label)) {
            let rows = match report.labelled_anomalies {
                0 => String::new(),
                n => format!("; {} that it marks were not learned from", plural(n, "row")),
            };
            let why = format!("the label, which is never learned from{rows}");
            left_out.push(LeftOut { name: shown(label, NAME), kind: "label", why });
        }
        for column in &self.model.schema().columns {
            let more = match &column.kind {
                Kind::Ignored => "",
                Kind::Identifier { .. } => "; only repeats and odd shapes count",
                Kind::Text { .. } => "; only its length counts",
                _ => continue,
            };
            let why = format!("{}{more}", shown(&column.reason, 200));
            left_out.push(LeftOut { name: shown(&column.name, NAME), kind: column.kind.name(), why });
        }
        for name in self.differences.extra.iter().filter(|name| Some(*name) != report.label.as_ref()) {
            left_out.push(LeftOut {
                name: shown(name, NAME),
                kind: "unknown",
                why: "the model does not know it".into(),
            });
        }
        let more = left_out.len().saturating_sub(MOST_LEFT_OUT);
        left_out.truncate(MOST_LEFT_OUT);
        (left_out, more)
    }

    fn notes(&self, shown_rows: usize, cell: usize) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unread > 0 {
            notes.push(format!("{} could not be read and were left out.", plural(self.unread, "row")));
        }
        if !self.differences.absent.is_empty() {
            let names: Vec<String> = self.differences.absent.iter().take(10).map(|name| shown(name, 60)).collect();
            notes.push(format!("The first rows have no {}; taken for missing.", names.join(", ")));
        }
        if self.differences.reordered {
            notes.push("Columns come in another order than in training; they were matched by name.".into());
        }
        if let Some(warning) = self.model.warning() {
            notes.push(warning);
        }
        if self.odd.iter().flat_map(|row| &row.cells).flatten().any(|text| text.chars().count() > cell) {
            notes.push(format!("Cells of more than {cell} characters are cut."));
        }
        if shown_rows < self.odd.len() {
            let left = plural((self.odd.len() - shown_rows) as u64, "row");
            notes.push(format!("{left} more would have made this page too large."));
        }
        notes
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let [trained, validated, calibrated] = self.model.report().rows;
        let mut facts = vec![("File", shown(&self.file, MOST_NOTE)), ("Model", shown(&self.model_name, MOST_NOTE))];
        facts.push(("Hash (BLAKE3)", self.model.hash().unwrap_or("none, since the model was not kept").to_owned()));
        facts.push(("Method", self.model.method().name().to_owned()));
        facts.push(("Seed", self.model.report().seed.to_string()));
        facts.push(("Learned from", plural(trained + validated, "row")));
        facts.push((
            "p-values from",
            plural(if calibrated > 0 { calibrated } else { self.model.calibration().rows() }, "row"),
        ));
        facts.push(("Rule", rule_words(self.flags.rule())));
        facts.push(("Version of gnsm", env!("CARGO_PKG_VERSION").to_owned()));
        facts
    }

    fn score_chart(&self) -> ScoreChart {
        let bins = &self.scores;
        let n_bins = bins.rows.len() - 1;
        // The scale is logarithmic, so that few odd rows can be seen beside many usual ones.
        let log = |rows: f64| (1.0 + rows).ln();
        let here: Vec<f64> = bins.rows[..n_bins].iter().map(|rows| log(*rows as f64)).collect();
        let calibration = self.model.calibration();
        let n = calibration.rows() as f64;
        let at_least = |score: f64| (calibration.p_value(score) * (n + 1.0) - 1.0) / n.max(1.0);
        let edge = |bin: usize| bins.low + bin as f64 * bins.width;
        let usual: Vec<f64> = (0..n_bins)
            .map(|bin| log((at_least(edge(bin)) - at_least(edge(bin + 1))).max(0.0) * self.rows as f64))
            .collect();
        let top = here.iter().chain(&usual).copied().fold(f64::MIN_POSITIVE, f64::max);
        let place =
            |score: f64| (chart::WIDTH * (score - bins.low) / (bins.high() - bins.low)).clamp(0.0, chart::WIDTH);
        let beyond = bins.rows[n_bins];
        let highest = short(bins.highest);
        ScoreChart {
            here: chart::bars(&here, top, SCORES_HEIGHT),
            usual: (!self.is_own).then(|| chart::outline(&usual, top, SCORES_HEIGHT)),
            threshold: self.threshold.map(|score| (format!("{:.1}", place(score)), short(score))),
            low: short(bins.low),
            high: short(bins.high()),
            beyond: (beyond > 0).then(|| {
                let verb = if beyond == 1 { "is" } else { "are" };
                format!("{} {verb} beyond, up to {highest}.", plural(beyond, "row"))
            }),
            words: format!(
                "Scores of {}: half of the usual rows are below {}, 99 % below {}. The highest score here is {highest}.",
                plural(self.rows, "row"),
                short(calibration.quantile(0.5)),
                short(calibration.quantile(0.99)),
            ),
        }
    }
}

fn rule_words(rule: Rule) -> String {
    match rule {
        Rule::Contamination(part) => format!("p-value at most {part}"),
        Rule::Fdr(part) => format!("false discovery rate {part}"),
        Rule::Threshold(score) => format!("score at least {score}"),
    }
}

/// What the rule means for the flags.
fn rule_meaning(rule: Rule) -> String {
    match rule {
        Rule::Contamination(part) => format!("{} of usual rows would be flagged too", percent(part)),
        Rule::Fdr(part) => format!("at most {} of the flags are expected to be false alarms", percent(part)),
        Rule::Threshold(_) => String::new(),
    }
}
