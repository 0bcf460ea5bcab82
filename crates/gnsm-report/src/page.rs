//! The page on a table: what the template and the script need.

use std::collections::{BTreeSet, HashMap};

use askama::Template;
use gnsm::internals::columns::{Aspect, Encoded, Feature};
use gnsm::internals::decision::short;
use gnsm::internals::detectors::Expected;
use gnsm::{ColumnReport, Kind, Model, Reason, Rule};
use serde::Serialize;

use crate::chart::{self, Chart};
use crate::collect::{CELL, OddRow, ScoreBins};
use crate::columns::{ColumnSummary, NAME, TogetherLine, summaries, together};
use crate::frame::Frame;
use crate::kind::ReasonKind;
use crate::nearest::UsualRows;
use crate::tally::Tally;
use crate::words::{count, cut, percent, plural, shown};

/// Values that a cell could have: each with its probability, and whether it is what was seen.
type Alternatives = Vec<(String, f64, bool)>;

/// The script of the page.
pub(crate) const SCRIPT: &str = include_str!("../templates/table.js");
/// Bytes that the rows may take. With charts and script, a page is then smaller than 3 MB.
const ROOM: usize = 2_200_000;
/// Characters of a cell, the longest that leave enough room.
const CELL_LENGTHS: [usize; 3] = [CELL, 80, 24];
/// Characters of a value inside a reason.
const SAW: usize = 120;
/// Alternatives whose probability is shown.
const ALTERNATIVES: usize = 3;
/// Columns that are listed as left out.
const MOST_LEFT_OUT: usize = 200;
/// The height of the chart of scores.
const SCORES_HEIGHT: f64 = 120.0;

/// What was found in a file.
#[derive(Debug)]
pub struct Report<'m> {
    pub(crate) model: &'m Model,
    pub(crate) model_name: String,
    pub(crate) file: String,
    pub(crate) rule: Rule,
    pub(crate) cutoff: Option<f64>,
    pub(crate) threshold: Option<f64>,
    pub(crate) is_own: bool,
    pub(crate) columns: Vec<String>,
    pub(crate) differences: ColumnReport,
    pub(crate) rows: u64,
    pub(crate) unread: u64,
    pub(crate) flagged: u64,
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

struct LeftOut {
    name: String,
    kind: &'static str,
    why: String,
}

/// What the script reads. Names are short: there are thousands of them.
#[derive(Serialize)]
struct Data<'a> {
    file: &'a str,
    key: String,
    columns: Vec<DataColumn>,
    kinds: Vec<&'static str>,
    rows: Vec<DataRow>,
    usual: Vec<DataUsual>,
}

#[derive(Serialize)]
struct DataColumn {
    name: String,
    numeric: bool,
    scored: bool,
}

#[derive(Serialize)]
struct DataRow {
    /// Its number.
    n: u64,
    /// Its line.
    l: u64,
    /// Score and p-value.
    s: f64,
    p: f64,
    /// Whether it is flagged.
    f: bool,
    /// Its cells.
    c: Vec<Option<String>>,
    /// Its reasons.
    r: Vec<DataReason>,
    /// The share of the score that is no reason's.
    o: f64,
    /// The nearest usual row.
    u: Option<usize>,
}

#[derive(Serialize)]
struct DataReason {
    /// Its column.
    c: usize,
    /// Its share of the score.
    h: f64,
    /// Its kind.
    k: usize,
    /// Its words.
    w: String,
    /// What was expected.
    x: Option<String>,
    /// Values with their probabilities, and whether it is the one that was seen.
    a: Alternatives,
}

#[derive(Serialize)]
struct DataUsual {
    n: u64,
    c: Vec<Option<String>>,
}

impl Report<'_> {
    /// The rows of the file.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Those that are flagged.
    pub fn flagged(&self) -> u64 {
        self.flagged
    }

    /// Those that the page shows.
    pub fn shown(&self) -> usize {
        self.odd.len()
    }

    /// The rows that the sums by column are about: those of the page that are flagged, or all where none is.
    pub(crate) fn counted(&self) -> &[OddRow] {
        let flagged = self.odd.iter().take_while(|row| self.flags(row)).count();
        if flagged > 0 { &self.odd[..flagged] } else { &self.odd }
    }

    fn flags(&self, row: &OddRow) -> bool {
        self.rule.flags(row.scored.score, row.scored.p_value, self.cutoff)
    }

    /// The page.
    pub fn html(&self) -> String {
        let (data, shown_rows, cell) = self.data();
        let (columns, columns_more) = summaries(self);
        let counted = self.counted();
        let together = together(counted, &columns, &self.columns);
        let (left_out, left_out_more) = self.left_out();
        let kinds: BTreeSet<ReasonKind> = self.odd.iter().flat_map(|row| self.kinds(row)).collect();
        let page = Page {
            frame: Frame::new(SCRIPT, ""),
            file: shown(&self.file, NAME),
            rows: count(self.rows),
            flagged: count(self.flagged),
            flagged_share: percent(self.flagged as f64 / self.rows.max(1) as f64),
            rule: rule_words(self.rule),
            is_own: self.is_own,
            scores: self.score_chart(),
            left_out,
            left_out_more,
            notes: self.notes(shown_rows, cell),
            shown: count(shown_rows as u64),
            counted: self.counted_words(counted.len()),
            columns: &columns,
            columns_more,
            together: &together,
            kinds: kinds.into_iter().collect(),
            facts: self.facts(),
            data,
        };
        // A template of this crate that is filled into memory does not fail.
        page.render().unwrap_or_default()
    }

    fn kinds(&self, row: &OddRow) -> Vec<ReasonKind> {
        row.explanation.reasons.iter().map(|reason| self.kind(reason)).collect()
    }

    fn kind(&self, reason: &Reason) -> ReasonKind {
        ReasonKind::of(reason, self.model.schema().columns.iter().find(|column| column.name == reason.column))
    }

    fn counted_words(&self, n: usize) -> String {
        let n_text = count(n as u64);
        match self.flagged {
            0 => format!("No row is flagged, so this is counted over the {n_text} rows shown."),
            flagged if flagged > n as u64 => {
                format!("Counted over the {n_text} oddest of {} flagged rows.", count(flagged))
            }
            1 => "Counted over the one flagged row.".into(),
            _ => format!("Counted over the {n_text} flagged rows."),
        }
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
        let mut facts = vec![("Model", shown(&self.model_name, NAME))];
        if let Some(hash) = self.model.hash() {
            facts.push(("Hash (BLAKE3)", hash.to_owned()));
        }
        facts.push(("Method", self.model.method().name().to_owned()));
        facts.push(("Seed", self.model.report().seed.to_string()));
        facts.push(("Learned from", plural(trained + validated, "row")));
        facts.push((
            "p-values from",
            plural(if calibrated > 0 { calibrated } else { self.model.calibration().rows() }, "row"),
        ));
        facts.push(("Rule", rule_words(self.rule)));
        facts.push(("Version of gnsm", env!("CARGO_PKG_VERSION").to_owned()));
        facts
    }

    fn score_chart(&self) -> ScoreChart {
        let bins = &self.scores;
        let n_bins = bins.rows.len() - 1;
        // On a logarithmic scale the few odd rows can be seen beside the many usual ones.
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

    /// The data block, how many rows are in it, and the characters of a cell.
    fn data(&self) -> (String, usize, usize) {
        let alternatives = self.alternatives();
        let build = |rows: usize, cell: usize| block(&self.data_of(&alternatives, rows, cell));
        let mut rows = self.odd.len();
        let mut last = (String::new(), CELL);
        for cell in CELL_LENGTHS {
            last = (build(rows, cell), cell);
            if last.0.len() <= ROOM {
                break;
            }
        }
        while last.0.len() > ROOM && rows > 1 {
            rows = (rows as f64 * 0.95 * ROOM as f64 / last.0.len() as f64).max(1.0) as usize;
            last.0 = build(rows, last.1);
        }
        (last.0, rows, last.1)
    }

    fn data_of(&self, alternatives: &[Vec<Alternatives>], rows: usize, cell: usize) -> Data<'_> {
        let schema = self.model.schema();
        let place: HashMap<&str, usize> = self.columns.iter().map(String::as_str).zip(0..).collect();
        let cut_all = |cells: &[Option<String>]| -> Vec<Option<String>> {
            cells.iter().map(|text| text.as_ref().map(|text| cut(text, cell))).collect()
        };
        let mut usual: Vec<DataUsual> = Vec::new();
        let mut place_of_usual: HashMap<u64, usize> = HashMap::new();
        let odd = self.odd.iter().zip(alternatives).take(rows).map(|(row, alternatives)| {
            let nearest = self.usual.nearest(&row.codes, &row.numbers).filter(|near| near.row != row.row);
            let u = nearest.map(|near| {
                *place_of_usual.entry(near.row).or_insert_with(|| {
                    usual.push(DataUsual { n: near.row, c: cut_all(&near.cells) });
                    usual.len() - 1
                })
            });
            let reasons = &row.explanation.reasons;
            let reason = |(reason, alternatives): (&Reason, &Alternatives)| {
                let kind = self.kind(reason);
                let mut short = reason.clone();
                short.saw = cut(&reason.saw, SAW.min(cell));
                short.similar = reason.similar.as_ref().map(|text| cut(text, SAW.min(cell)));
                short.expected = reason.expected.as_ref().map(|text| cut(text, SAW.min(cell)));
                DataReason {
                    c: place.get(reason.column.as_str()).copied().unwrap_or(0),
                    h: rounded(reason.share),
                    k: ReasonKind::ALL.iter().position(|other| *other == kind).unwrap_or(0),
                    w: short.words(),
                    x: short.expected,
                    a: alternatives.iter().map(|(name, p, seen)| (cut(name, SAW.min(cell)), *p, *seen)).collect(),
                }
            };
            DataRow {
                n: row.row,
                l: row.line,
                s: row.scored.score,
                p: row.scored.p_value,
                f: self.flags(row),
                c: cut_all(&row.cells),
                r: reasons.iter().zip(alternatives).map(reason).collect(),
                o: rounded((1.0 - reasons.iter().map(|reason| reason.share).sum::<f64>()).max(0.0)),
                u,
            }
        });
        let rows: Vec<DataRow> = odd.collect();
        let column = |name: &String| {
            let kind = schema.columns.iter().find(|column| column.name == *name).map(|column| &column.kind);
            DataColumn {
                name: cut(name, CELL),
                numeric: matches!(kind, Some(Kind::Numeric { .. })),
                scored: kind.is_some_and(|kind| *kind != Kind::Ignored),
            }
        };
        Data {
            file: &self.file,
            key: format!("gnsm {} {} {}", self.model.hash().unwrap_or("-"), self.rows, cut(&self.file, NAME)),
            columns: self.columns.iter().map(column).collect(),
            kinds: ReasonKind::ALL.map(ReasonKind::name).to_vec(),
            rows,
            usual,
        }
    }

    /// For each row and reason that is about a category: what was seen and what is likelier, with probabilities.
    fn alternatives(&self) -> Vec<Vec<Alternatives>> {
        let encoder = self.model.encoder();
        let layout = encoder.layout();
        let feature_of = |reason: &Reason| -> Option<&Feature> {
            let is_value = |feature: &&Feature| {
                let schema = encoder.schema_of(feature);
                feature.aspect == Aspect::Value
                    && schema.name == reason.column
                    && matches!(schema.kind, Kind::Categorical { .. })
            };
            encoder.features().iter().find(is_value)
        };
        let codes = self.odd.iter().flat_map(|row| row.codes.iter().copied()).collect();
        let numbers = self.odd.iter().flat_map(|row| row.numbers.iter().copied()).collect();
        let rows = Encoded::new(self.odd.len(), codes, numbers);
        let mut asked = vec![false; self.odd.len() * layout.n_cells()];
        for (at, row) in self.odd.iter().enumerate() {
            for feature in row.explanation.reasons.iter().filter_map(feature_of) {
                asked[at * layout.n_cells() + layout.n_numbers() + feature.group] = true;
            }
        }
        let detector = self.model.fitted().detector();
        let left_out = if self.is_own { detector.expected_left_out(&rows, &asked) } else { None };
        let expected = left_out.or_else(|| detector.expected(&rows, &asked));
        let of_reason = |at: usize, row: &OddRow, reason: &Reason| -> Option<Alternatives> {
            let (Expected { probabilities, seen, .. }, feature) = (expected.as_ref()?, feature_of(reason)?);
            let places = layout.group(feature.group);
            let start = at * (layout.width() - layout.n_numbers()) + places.start - layout.n_numbers();
            let probabilities = probabilities.get(start..start + places.len())?;
            let own = row.codes[feature.group];
            let own_p = match probabilities.get(own as usize) {
                Some(p) => f64::from(*p),
                None => {
                    seen.get(at * layout.n_cells() + layout.n_numbers() + feature.group).map_or(0.0, |p| f64::from(*p))
                }
            };
            let mut order: Vec<usize> = (0..probabilities.len()).filter(|code| *code != own as usize).collect();
            order.sort_by(|a, b| probabilities[*b].total_cmp(&probabilities[*a]));
            let likely = order.into_iter().take(ALTERNATIVES).filter(|code| probabilities[*code] > 0.0);
            let likely = likely
                .map(|code| (encoder.code_name(feature, code as u32), rounded(f64::from(probabilities[code])), false));
            Some([(reason.saw.clone(), rounded(own_p), true)].into_iter().chain(likely).collect())
        };
        let of_row = |(at, row): (usize, &OddRow)| {
            let reasons = row.explanation.reasons.iter();
            reasons.map(|reason| of_reason(at, row, reason).unwrap_or_default()).collect()
        };
        self.odd.iter().enumerate().map(of_row).collect()
    }
}

/// Four decimals are enough for a bar, and take less room.
fn rounded(share: f64) -> f64 {
    // What is nearly nothing stays more than nothing.
    if share.abs() >= 1e-3 { (share * 1e4).round() / 1e4 } else { share }
}

/// JSON that can stand inside a script element: nothing in it can end the element.
pub(crate) fn block(data: &impl Serialize) -> String {
    // Maps with keys of text, numbers and texts can always be written.
    let json = serde_json::to_string(data).unwrap_or_default();
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn rule_words(rule: Rule) -> String {
    match rule {
        Rule::Contamination(part) => format!("p-value at most {part}"),
        Rule::Fdr(part) => format!("false discovery rate {part}"),
        Rule::Threshold(score) => format!("score at least {score}"),
    }
}
