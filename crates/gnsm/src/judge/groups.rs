//! Flagged rows with the same reason, told as one finding.
//!
//! Hundreds of rows of `protocol = icmp` with `service = ecr_i` are one attack. Each flagged row has some strong reasons: the
//! first, and those with at least half of its part of the score. A reason is the same in two rows if it is about the same
//! column and the same value; of numbers, if both are above or both are below what was expected; of values never seen, if both
//! are new. The reason that most rows share makes the first group, and takes these rows; and so on with what is left.
//!
//! A group has the p-value of Simes (*Biometrika* 1986): the smallest m·p₍ₖ₎/k of its m p-values in ascending order. Were all
//! its rows usual, it would be at most a with a probability of a.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Batch;
use crate::columns::{Kind, Schema};
use crate::decision::{Flags, Reason, Scored, Side};
use crate::table::Values;

/// A reason counts as strong from this share of the strongest one's on.
const STRONG: f64 = 0.5;
/// Rows of which reasons and cells are kept, at the most; further ones are only counted.
const MOST_ROWS: usize = 100_000;
/// Rows of a group that are named as examples.
const EXAMPLES: usize = 3;
/// Values that the rows of a group have in common, at the most.
const MOST_COMMON: usize = 4;
/// Characters of a value in common that are kept.
const LONGEST: usize = 80;
/// The largest p-value that may be flagged where it is not known yet which rows are.
const CANDIDATE: f64 = 0.01;

/// What is the same in two reasons that are the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    column: String,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Value(String),
    New,
    Side(Side),
    Note(String),
}

impl Key {
    fn of(reason: &Reason) -> Self {
        let what = match (&reason.side, &reason.note) {
            (Some(side), _) => What::Side(*side),
            (None, Some(_)) if reason.is_new => What::New,
            (None, Some(note)) => What::Note(note.clone()),
            (None, None) => What::Value(reason.saw.clone()),
        };
        Self { column: reason.column.clone(), what }
    }
}

/// A row that may be flagged.
#[derive(Debug, Clone)]
struct Member {
    row: u64,
    line: u64,
    scored: Scored,
    file: Option<String>,
    keys: Vec<Key>,
    reasons: Vec<Reason>,
    /// The cells of all columns of the table.
    cells: Vec<Option<String>>,
    /// The seconds of the first column of dates.
    time: Option<f64>,
}

/// Flagged rows with the same reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// How many rows there are.
    pub size: u64,
    /// Their share of all rows.
    pub share: f64,
    /// Simes' p-value of all of them.
    pub p_value: f64,
    /// The reason that they share, as the oddest of them has it, and what else is odd in all of them.
    pub reasons: Vec<Reason>,
    /// Values that all of them have in common beside these.
    pub common: Vec<(String, String)>,
    /// A column of dates, with the first and the last of these rows.
    pub between: Option<(String, [String; 2])>,
    /// The oddest rows, counted from 0; the first one's cells and figures follow.
    pub examples: Vec<u64>,
    /// The line of the oddest row, or its number from 1 where the format has no lines.
    pub line: u64,
    /// The file of the oddest row, where there are several.
    pub file: Option<String>,
    /// Its score and p-value.
    #[serde(skip)]
    pub scored: Scored,
    /// Its cells, by column.
    #[serde(skip)]
    pub cells: Vec<(String, Option<String>)>,
    /// All rows, in the order of the file.
    pub rows: Vec<u64>,
}

/// Gathers flagged rows, batch by batch.
#[derive(Debug, Clone)]
pub struct Groups {
    /// The columns of the table, and whether the model uses them.
    columns: Vec<(String, bool)>,
    /// The first column of dates: its place in the schema, and its name.
    dates: Option<(usize, String)>,
    /// Reasons of a row by itself, at the most.
    most: usize,
    members: Vec<Member>,
    passed: u64,
}

impl Groups {
    /// No rows so far; a row that is a group by itself is told with `most` reasons.
    pub fn new(schema: &Schema, most: usize) -> Self {
        let mut columns = schema.columns.iter().enumerate();
        let dates = columns.find(|(_, column)| matches!(column.kind, Kind::Date { .. }));
        let dates = dates.map(|(at, column)| (at, column.name.clone()));
        Self { columns: Vec::new(), dates, most, members: Vec::new(), passed: 0 }
    }

    /// Takes the flagged rows of a batch; where it is not known yet which are flagged, all that may be.
    pub fn add(&mut self, batch: &Batch<'_>, flags: Option<&Flags>) {
        let (table, scores, encoder) = (batch.table(), batch.scores(), batch.encoder());
        if self.columns.is_empty() {
            let is_used = |name: &str| encoder.schema().used().any(|column| column.name == name);
            let columns = table.columns.iter().map(|column| (column.name.clone(), is_used(&column.name)));
            self.columns = columns.collect();
        }
        let is_wanted = |row: &usize| match flags {
            Some(flags) => flags.flags(&scores[*row]),
            None => scores[*row].p_value <= CANDIDATE,
        };
        let dates = self.dates.as_ref().map(|(at, _)| *at);
        let room = MOST_ROWS - self.members.len();
        let rows: Vec<usize> = (0..scores.len()).filter(is_wanted).take(room).collect();
        let columns: Vec<_> = self.columns.iter().map(|(name, _)| table.column(name)).collect();
        for (row, explanation) in rows.iter().copied().zip(batch.explain(&rows, usize::MAX)) {
            let mut reasons = explanation.reasons;
            let n_strong = strong(&reasons);
            reasons.truncate(n_strong.max(self.most));
            let cell = |values: &Values| Some(values.text(row)?.chars().take(LONGEST).collect());
            self.members.push(Member {
                row: self.passed + row as u64,
                line: table.lines[row],
                file: (!table.parts.is_empty()).then(|| table.file_of(row).to_owned()),
                scored: scores[row],
                keys: reasons[..n_strong].iter().map(Key::of).collect(),
                reasons,
                cells: columns.iter().map(|column| column.and_then(|column| cell(&column.values))).collect(),
                time: dates.and_then(|column| Some(encoder.moment(table, row, column)?.local)),
            });
        }
        self.passed += scores.len() as u64;
    }

    /// The groups, those of the lowest p-value first.
    pub fn finish(mut self, flags: &Flags) -> Vec<Group> {
        self.members.retain(|member| flags.flags(&member.scored));
        let mut of_key: BTreeMap<&Key, BTreeSet<usize>> = BTreeMap::new();
        for (at, member) in self.members.iter().enumerate() {
            for key in &member.keys {
                of_key.entry(key).or_default().insert(at);
            }
        }
        let mut left: BTreeSet<usize> = (0..self.members.len()).collect();
        let mut groups = Vec::new();
        while !left.is_empty() {
            // Of as many rows, the first by name: the order of rows changes nothing.
            let largest = of_key.iter().max_by(|a, b| a.1.len().cmp(&b.1.len()).then(b.0.cmp(a.0)));
            let (key, members) = match largest.filter(|(_, members)| !members.is_empty()) {
                Some((key, members)) => (Some((*key).clone()), members.clone()),
                // Rows without a reason.
                None => (None, left.clone()),
            };
            for member in &members {
                left.remove(member);
                for key in &self.members[*member].keys {
                    if let Some(others) = of_key.get_mut(key) {
                        others.remove(member);
                    }
                }
            }
            let members: Vec<&Member> = members.iter().map(|at| &self.members[*at]).collect();
            groups.push(self.group(key.as_ref(), &members));
        }
        groups.sort_by(|a, b| a.p_value.total_cmp(&b.p_value).then(a.rows.cmp(&b.rows)));
        groups
    }

    fn group(&self, key: Option<&Key>, members: &[&Member]) -> Group {
        let mut by_score = members.to_vec();
        by_score.sort_by(|a, b| b.scored.score.total_cmp(&a.scored.score).then(a.row.cmp(&b.row)));
        let shared = |reason: &&Reason| {
            let own = Key::of(reason);
            members.len() == 1 || members.iter().all(|member| member.keys.contains(&own))
        };
        let oddest = by_score[0];
        let mut reasons: Vec<Reason> = oddest.reasons.iter().filter(shared).cloned().collect();
        // What makes the group comes first.
        reasons.sort_by_key(|reason| key != Some(&Key::of(reason)));
        let told: BTreeSet<&str> = reasons.iter().map(|reason| reason.column.as_str()).collect();
        let others = self.columns.iter().enumerate().filter(|(_, (name, used))| *used && !told.contains(name.as_str()));
        let common = others.filter_map(|(at, (name, _))| Some((name.clone(), in_common(members, at)?)));
        let mut rows: Vec<u64> = members.iter().map(|member| member.row).collect();
        rows.sort_unstable();
        Group {
            size: members.len() as u64,
            share: members.len() as f64 / self.passed.max(1) as f64,
            p_value: simes(members.iter().map(|member| member.scored.p_value).collect()),
            common: if members.len() > 1 { common.take(MOST_COMMON).collect() } else { Vec::new() },
            between: if members.len() > 1 { self.between(members) } else { None },
            examples: by_score.iter().take(EXAMPLES).map(|member| member.row).collect(),
            line: oddest.line,
            file: oddest.file.clone(),
            scored: oddest.scored,
            cells: self.columns.iter().map(|(name, _)| name.clone()).zip(oddest.cells.iter().cloned()).collect(),
            reasons,
            rows,
        }
    }

    /// The first and the last of some rows by their dates, as they are written.
    fn between(&self, members: &[&Member]) -> Option<(String, [String; 2])> {
        let mut dated: Vec<(f64, &Member)> =
            members.iter().filter_map(|member| Some((member.time?, *member))).collect();
        dated.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.row.cmp(&b.1.row)));
        let (_, name) = self.dates.as_ref()?;
        let at = self.columns.iter().position(|(column, _)| column == name)?;
        let text = |member: &Member| member.cells[at].clone();
        Some((name.clone(), [text(dated.first()?.1)?, text(dated.last()?.1)?]))
    }
}

/// How many reasons are strong: the first, and those that are nearly as strong.
fn strong(reasons: &[Reason]) -> usize {
    let largest = reasons.first().map_or(0.0, |reason| reason.share);
    reasons.iter().take_while(|reason| reason.share >= STRONG * largest).count()
}

/// The value that all rows have in a column.
fn in_common(members: &[&Member], column: usize) -> Option<String> {
    let first = members.first()?.cells[column].as_ref()?;
    members.iter().all(|member| member.cells[column].as_ref() == Some(first)).then(|| first.clone())
}

/// The p-value of Simes.
fn simes(mut p_values: Vec<f64>) -> f64 {
    p_values.sort_unstable_by(f64::total_cmp);
    let n = p_values.len() as f64;
    p_values.iter().enumerate().map(|(at, p)| p * n / (at + 1) as f64).fold(1.0, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{Decision, Rule};
    use crate::error::Result;
    use crate::model::Model;
    use crate::table::{ReadOptions, Table, TableReader};

    #[test]
    fn the_p_value_of_a_group_is_that_of_simes() {
        // Python: min(p * 4 / (k + 1) for k, p in enumerate(sorted([.03, .001, .2, .004])))
        assert!((simes(vec![0.03, 0.001, 0.2, 0.004]) - 0.004).abs() < 1e-12);
        assert!((simes(vec![0.02, 0.02, 0.02]) - 0.02).abs() < 1e-12);
        assert_eq!(simes(vec![0.7]), 0.7);
    }

    /// Forty scans among 1,500 connections, and one connection that is much too long.
    fn connections() -> Result<Table> {
        let row = |row: usize| match row % 37 {
            5 => format!("icmp,ecr_i,{},scan{}\n", 1 + row % 3, row % 2),
            _ if row == 700 => "tcp,http,9000,web\n".into(),
            _ => format!("tcp,{},{},web\n", ["http", "smtp"][row * 7 % 11 / 6], 100 + row * 31 % 97),
        };
        let text = format!("protocol,service,length,agent\n{}", (0..1500).map(row).collect::<String>());
        let source = Box::new(std::io::Cursor::new(text));
        let mut reader = TableReader::from_reader("t.csv", source, &ReadOptions::default())?;
        Ok(reader.next_batch(usize::MAX)?.expect("rows"))
    }

    #[test]
    fn rows_with_the_same_reason_are_one_group_whatever_the_batches() -> Result<()> {
        let table = connections()?;
        let usual: Vec<usize> = (0..1500).filter(|row| row % 37 != 5 && *row != 700).collect();
        let model = Model::fit(&table.select(&usual))?;
        let judge = model.judge();
        let groups = |size: usize, known: bool| -> Result<Vec<Group>> {
            let mut decision = Decision::new(Rule::Contamination(0.001))?;
            let flags = decision.finish();
            let mut groups = Groups::new(model.schema(), 3);
            let every: Vec<usize> = (0..1500).collect();
            for rows in every.chunks(size) {
                let part = table.select(rows);
                let batch = judge.read(&part)?;
                decision.add(batch.scores());
                groups.add(&batch, known.then_some(&flags));
            }
            Ok(groups.finish(&decision.finish()))
        };
        let found = groups(1500, true)?;
        let sizes: Vec<u64> = found.iter().map(|group| group.size).collect();
        assert_eq!(sizes.iter().sum::<u64>(), 42, "{found:#?}");
        assert!(sizes.contains(&41) && found.len() == 2, "{found:#?}");
        let scans = found.iter().find(|group| group.size == 41).expect("scans");
        assert!(["protocol", "service", "length", "agent"].contains(&scans.reasons[0].column.as_str()));
        assert!(scans.rows.iter().all(|row| row % 37 == 5) && scans.examples.len() == 3);
        for other in [groups(100, true)?, groups(333, false)?] {
            assert_eq!(other, found);
        }
        Ok(())
    }
}
