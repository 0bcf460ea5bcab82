//! The oddest rows of a file, those that are alike together, in memory that does not grow with the file.

use std::collections::HashMap;

use super::Batch;
use crate::columns::Schema;
use crate::decision::Scored;
use crate::table::Table;

/// Numbers of rows that are alike which are kept.
const MOST_ALIKE: usize = 1000;

/// Rows that have the same cells in all columns of the model.
#[derive(Debug, Clone)]
pub struct Alike {
    /// The score and p-value of each of them.
    pub scored: Scored,
    /// The first of them, counted from 0.
    pub row: u64,
    /// The first of the others.
    pub others: Vec<u64>,
    /// How many others there are.
    pub n_others: u64,
    /// The first row by itself.
    pub table: Table,
    cells: Vec<Option<String>>,
}

/// Keeps the oddest rows of batches that pass by.
#[derive(Debug, Clone)]
pub struct Oddest {
    most: usize,
    /// The columns that are compared.
    columns: Vec<String>,
    groups: Vec<Alike>,
    passed: u64,
}

impl Oddest {
    /// Keeps so many groups of rows that are alike.
    pub fn new(schema: &Schema, most: usize) -> Self {
        let columns = schema.used().map(|column| column.name.clone()).collect();
        Self { most, columns, groups: Vec::new(), passed: 0 }
    }

    /// Takes in the next rows.
    pub fn add(&mut self, batch: &Batch<'_>) {
        let (table, scores) = (batch.table(), batch.scores());
        let columns: Vec<_> = self.columns.iter().filter_map(|name| table.column(name)).collect();
        let lowest = |groups: &[Alike]| groups.last().map(|last| last.scored.score);
        let mut order: Vec<usize> = (0..scores.len()).collect();
        if let Some(lowest) = lowest(&self.groups).filter(|_| self.groups.len() == self.most) {
            order.retain(|row| scores[*row].score >= lowest);
        }
        // Stable: of equal scores, the earlier row comes first.
        order.sort_by(|a, b| scores[*b].score.total_cmp(&scores[*a].score));
        let cells = |group: &Alike| group.cells.clone();
        let mut known: HashMap<Vec<Option<String>>, u64> =
            self.groups.iter().map(|group| (cells(group), group.row)).collect();
        for at in order {
            let (scored, row) = (scores[at], self.passed + at as u64);
            let is_full = self.groups.len() >= self.most;
            if is_full && lowest(&self.groups).is_none_or(|lowest| scored.score < lowest) {
                break;
            }
            let cells: Vec<Option<String>> =
                columns.iter().map(|column| column.values.text(at).map(Into::into)).collect();
            if let Some(first) = known.get(&cells) {
                if let Some(group) = self.groups.iter_mut().find(|group| group.row == *first) {
                    group.n_others += 1;
                    if group.others.len() < MOST_ALIKE {
                        group.others.push(row);
                    }
                }
                continue;
            }
            let place = self.groups.partition_point(|group| group.scored.score >= scored.score);
            if place >= self.most {
                continue;
            }
            known.insert(cells.clone(), row);
            let (file, has_parts) = (table.file_of(at).to_owned(), !table.parts.is_empty());
            let parts = if has_parts { vec![(0, file)] } else { Vec::new() };
            let table = Table { parts, ..table.select(&[at]) };
            self.groups.insert(place, Alike { scored, row, others: Vec::new(), n_others: 0, table, cells });
            if let Some(left) = self.groups.get(self.most) {
                known.remove(&left.cells);
            }
            self.groups.truncate(self.most);
        }
        self.passed += scores.len() as u64;
    }

    /// The groups, the oddest first.
    pub fn finish(self) -> Vec<Alike> {
        self.groups
    }
}
