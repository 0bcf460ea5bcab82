//! What is odd in each column, summed up over the odd rows, and which columns are odd together.

use std::collections::HashMap;

use gnsm::Kind;

use crate::chart::Chart;
use crate::collect::OddRow;
use crate::page::Report;
use crate::words::{count, percent, shown};

/// A value: its share of all scores, how often it is odd, the value itself, and what was expected.
type Seen<'a> = (f64, u64, &'a str, Option<&'a str>);

/// The share of a score from which on a cell counts as odd.
pub const ODD_SHARE: f64 = 0.08;
/// Columns that have charts, at the most: a page has to stay small.
const MOST_CHARTED: usize = 100;
/// Oddest values of a column.
const MOST_VALUES: usize = 5;
/// Columns of the matrix.
const MOST_TOGETHER: usize = 12;
/// Characters of a name and of a value.
pub const NAME: usize = 120;
const VALUE: usize = 80;

/// What a page says of a column.
#[derive(Debug)]
pub struct ColumnSummary {
    /// Its place in the file.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// What it was taken for.
    pub kind: &'static str,
    /// Its share of the odd rows' scores.
    pub weight: f64,
    /// Odd rows in which its cell is odd.
    pub odd: u64,
    /// How its cells fall.
    pub charts: Vec<Chart>,
    /// The share of all rows whose value was never seen, and the share without a value, in words.
    pub notes: Vec<String>,
    /// The oddest values.
    pub values: Vec<OddValue>,
    /// The share of odd cells, in words.
    pub odd_text: String,
}

impl ColumnSummary {
    /// The weight in per cent.
    pub fn weight_text(&self) -> String {
        percent(self.weight)
    }

    /// The length of the bar of the weight, of 100.
    pub fn weight_length(&self) -> String {
        format!("{:.1}", 100.0 * self.weight)
    }
}

/// A value that was odd.
#[derive(Debug)]
pub struct OddValue {
    /// What stands there.
    pub value: String,
    /// What was expected in the oddest row.
    pub expected: Option<String>,
    /// In how many odd rows.
    pub times: String,
}

/// A line of the matrix of columns that are odd together.
#[derive(Debug)]
pub struct TogetherLine {
    /// The column.
    pub name: String,
    /// For each other column: in how many rows both are odd, and the step of the colour scale, from 0 to 5.
    pub cells: Vec<(u64, u8)>,
}

/// All columns that are scored, those with the largest share of the scores first, and how many have no chart.
pub fn summaries(report: &Report<'_>) -> (Vec<ColumnSummary>, usize) {
    let rows = report.counted();
    let mut parts: HashMap<&str, (f64, u64)> = HashMap::new();
    let mut values: HashMap<(&str, &str), (f64, u64, Option<&str>)> = HashMap::new();
    for reason in rows.iter().flat_map(|row| &row.explanation.reasons) {
        let (part, odd) = parts.entry(&reason.column).or_default();
        *part += reason.part;
        if reason.share >= ODD_SHARE {
            *odd += 1;
            let value = values.entry((&reason.column, &reason.saw)).or_insert((f64::MIN, 0, None));
            value.1 += 1;
            if reason.part > value.0 {
                (value.0, value.2) = (reason.part, reason.expected.as_deref());
            }
        }
    }
    let mut oddest: HashMap<&str, Vec<Seen<'_>>> = HashMap::new();
    for ((column, saw), (part, times, expected)) in values {
        oddest.entry(column).or_default().push((part, times, saw, expected));
    }
    let total: f64 = parts.values().map(|(part, _)| part).sum();
    let encoder = report.model.encoder();
    let mut columns: Vec<(usize, f64, u64)> = Vec::new();
    for (at, schema) in report.model.schema().columns.iter().enumerate() {
        if schema.kind != Kind::Ignored {
            let (part, odd) = parts.get(schema.name.as_str()).copied().unwrap_or_default();
            columns.push((at, if total > 0.0 { part / total } else { 0.0 }, odd));
        }
    }
    columns.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let left = columns.len().saturating_sub(MOST_CHARTED);
    let summary = |(at, weight, odd): (usize, f64, u64)| {
        let schema = &report.model.schema().columns[at];
        let (new, missing) = report.tally.new_and_missing(encoder, at);
        let mut notes = Vec::new();
        for (share, what) in [(new, "never seen in training"), (missing, "missing")] {
            if share > 0.0 {
                notes.push(format!("{} of all rows {what}", percent(share)));
            }
        }
        let drift = report.drift.iter().flat_map(gnsm::DriftReport::moved).find(|column| column.column == schema.name);
        if drift.is_some() {
            notes.push("It has moved since training".into());
        }
        let mut list = oddest.get(schema.name.as_str()).cloned().unwrap_or_default();
        list.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(b.2)));
        let value = |(_, times, saw, expected): &Seen<'_>| OddValue {
            value: shown(saw, VALUE),
            expected: expected.map(|expected| shown(expected, VALUE)),
            times: if *times == 1 { "once".into() } else { format!("{} times", count(*times)) },
        };
        ColumnSummary {
            index: report.columns.iter().position(|name| *name == schema.name).unwrap_or(0),
            name: shown(&schema.name, NAME),
            kind: schema.kind.name(),
            weight,
            odd,
            charts: report.tally.charts(report.model, at, report.is_own),
            notes,
            values: list.iter().take(MOST_VALUES).map(value).collect(),
            odd_text: format!("{} of {} cells", count(odd), count(rows.len() as u64)),
        }
    };
    (columns.into_iter().take(MOST_CHARTED).map(summary).collect(), left)
}

/// Of the columns that are odd most often: which are odd in the same rows.
pub fn together(rows: &[OddRow], summaries: &[ColumnSummary], names: &[String]) -> Vec<TogetherLine> {
    let mut columns: Vec<&ColumnSummary> = summaries.iter().filter(|column| column.odd > 0).collect();
    columns.sort_by_key(|column| std::cmp::Reverse(column.odd));
    columns.truncate(MOST_TOGETHER);
    if columns.len() < 2 {
        return Vec::new();
    }
    let mut counts = vec![vec![0u64; columns.len()]; columns.len()];
    for row in rows {
        let odd = |column: &ColumnSummary| {
            let reasons = &row.explanation.reasons;
            reasons.iter().any(|reason| reason.share >= ODD_SHARE && names.get(column.index) == Some(&reason.column))
        };
        let odd: Vec<usize> = (0..columns.len()).filter(|at| odd(columns[*at])).collect();
        for &a in &odd {
            for &b in &odd {
                counts[a][b] += 1;
            }
        }
    }
    let pairs = counts.iter().enumerate().flat_map(|(a, line)| line.iter().enumerate().map(move |(b, n)| (a != b, *n)));
    let most = pairs.filter(|(other, _)| *other).map(|(_, n)| n).max().unwrap_or(0).max(1);
    let line = |(a, column): (usize, &&ColumnSummary)| {
        let cell = |(b, n): (usize, &u64)| {
            let step = if a == b || *n == 0 { 0 } else { (5 * n).div_ceil(most).clamp(1, 5) };
            (*n, step as u8)
        };
        TogetherLine { name: column.name.clone(), cells: counts[a].iter().enumerate().map(cell).collect() }
    };
    columns.iter().enumerate().map(line).collect()
}
