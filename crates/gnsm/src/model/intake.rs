//! Takes in the rows to learn from: all of them while they fit into memory, otherwise some of them and a survey of all.
//!
//! A fit takes several times the memory of its rows: they are encoded, counted and sorted. [`BYTES_OF_FIT`] says how many
//! times, from what was measured. While the rows fit, nothing is different from a table that is read at once. When they no
//! longer do, those read so far and all that follow are surveyed and go through [`ChosenRows`], and memory stays flat.

use std::borrow::Cow;

use super::{FitOptions, ModelBuilder};
use crate::columns::{ChosenRows, SmallestHashes, Survey, marked, no_such_column, row_hashes};
use crate::error::{Error, Result};
use crate::table::{Table, TableReader};

/// Bytes of memory that a fit takes for each byte of its rows.
const BYTES_OF_FIT: usize = 12;
/// Rows that are chosen at the least, however little memory there is.
const FEWEST_CHOSEN: usize = 10_000;
/// Rows that are chosen at the most, unless more are asked for. More take longer and tell hardly more: the default method counts
/// pairs in 200,000 rows.
const MOST_CHOSEN: usize = 1_000_000;
/// Rows read at first, and at the least, where all may fit.
const FIRST_ROWS: usize = 8192;
/// Rows and bytes of a batch that is surveyed, at the most.
const BATCH_ROWS: usize = 1 << 16;
const BATCH_BYTES: usize = 1 << 25;

/// How much of a table may be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes of memory that a fit may take, about.
    pub bytes: u64,
    /// Rows to learn from, at the most.
    pub rows: Option<usize>,
}

impl Default for Room {
    /// All that there is.
    fn default() -> Self {
        Self { bytes: u64::MAX, rows: None }
    }
}

impl Room {
    /// How many rows like these can be learned from.
    fn rows_like(&self, table: &Table) -> usize {
        let of_row = (BYTES_OF_FIT * table.n_bytes()).div_ceil(table.n_rows().max(1)).max(1);
        let by_memory = usize::try_from(self.bytes / of_row as u64).unwrap_or(usize::MAX).max(FEWEST_CHOSEN);
        self.rows.unwrap_or(usize::MAX).min(by_memory)
    }

    /// How many rows are chosen where not all fit. A round number, so that it does not depend on which rows came first.
    fn chosen_like(&self, table: &Table) -> usize {
        let most = self.rows_like(table);
        if self.rows == Some(most) {
            return most;
        }
        let most = if self.rows.is_none() { most.min(MOST_CHOSEN) } else { most };
        let unit = 10usize.pow(most.ilog10().saturating_sub(1));
        most / unit * unit
    }
}

/// The rows to learn from.
#[derive(Debug, Clone)]
pub struct RowsToLearn {
    pub(super) table: Table,
    pub(super) survey: Option<Survey>,
}

impl RowsToLearn {
    /// The rows that are held.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// How many rows there are to learn from, if not all of them are held.
    pub fn chosen_from(&self) -> Option<u64> {
        let rows = self.survey.as_ref().map(|survey| survey.rows);
        rows.filter(|rows| *rows > self.table.n_rows() as u64)
    }

    /// Whether the whole table is held, in its order.
    pub fn is_whole(&self) -> bool {
        self.survey.is_none()
    }

    /// The whole table, if it is held.
    pub fn whole(self) -> Option<Table> {
        self.is_whole().then_some(self.table)
    }
}

impl ModelBuilder<'_> {
    /// Reads the rows to learn from; `None` if there is no row, or if `go_on`, which is told how many were read, says no.
    ///
    /// Where not all fit, those are kept that have the smallest hashes of their content: the same rows whatever their order.
    pub fn read(
        &self,
        reader: &mut TableReader,
        room: Room,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<RowsToLearn>> {
        let Some(mut table) = reader.next_batch(FIRST_ROWS)? else { return Ok(None) };
        loop {
            let fits = room.rows_like(&table);
            if table.n_rows() > fits {
                return self.read_some(table, reader, room, go_on);
            }
            if !go_on(table.n_rows() as u64) {
                return Ok(None);
            }
            // Half of what is left, since later rows may be longer.
            match reader.next_batch(((fits - table.n_rows()) / 2).max(FIRST_ROWS))? {
                None => return Ok(Some(RowsToLearn { table, survey: None })),
                Some(more) => table.append(more)?,
            }
        }
    }

    fn read_some(
        &self,
        first: Table,
        reader: &mut TableReader,
        room: Room,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<RowsToLearn>> {
        let mut chosen = ChosenRows::new(room.chosen_like(&first));
        let mut survey = Survey::default();
        let size = (BATCH_BYTES * first.n_rows() / first.n_bytes().max(1)).clamp(1, BATCH_ROWS);
        let mut file = first.file.clone();
        self.take_in(&first, &mut survey, &mut chosen)?;
        drop(first);
        while let Some(batch) = reader.next_batch(size)? {
            if !go_on(survey.rows) {
                return Ok(None);
            }
            self.take_in(&batch, &mut survey, &mut chosen)?;
            reader.recycle(batch);
        }
        if let n @ 2.. = reader.parts().len() {
            file = format!("{n} files");
        }
        self.chosen(survey, chosen, file)
    }

    fn take_in(&self, batch: &Table, survey: &mut Survey, chosen: &mut ChosenRows) -> Result<()> {
        let batch = &*marked(batch, self.options.choices.missing.as_deref());
        let rows = unlabelled(batch, &self.options)?;
        survey.labelled_anomalies += (batch.n_rows() - rows.len()) as u64;
        let hashes = survey.add(batch, &rows);
        chosen.add(batch, &rows, &hashes)
    }

    fn chosen(&self, survey: Survey, chosen: ChosenRows, file: String) -> Result<Option<RowsToLearn>> {
        let survey = survey.settled();
        let Some(mut table) = chosen.finish(&survey)? else {
            return Err(Error::fit(
                format!("all rows of {file} have the label of an anomaly"),
                "give rows without it to learn from",
            ));
        };
        table.file = file;
        Ok(Some(RowsToLearn { table, survey: Some(survey) }))
    }

    /// Surveys one part of a table, and finds the smallest hashes of its rows, `most` at the most.
    #[doc(hidden)]
    pub fn survey(&self, reader: &mut TableReader, most: usize) -> Result<(Survey, SmallestHashes)> {
        let (mut survey, mut smallest) = (Survey::default(), SmallestHashes::new(most));
        while let Some(batch) = reader.next_batch(BATCH_ROWS)? {
            let marked = marked(&batch, self.options.choices.missing.as_deref());
            let rows = unlabelled(&marked, &self.options)?;
            survey.labelled_anomalies += (batch.n_rows() - rows.len()) as u64;
            smallest.add(&survey.add(&marked, &rows));
            drop(marked);
            reader.recycle(batch);
        }
        smallest.settle();
        Ok((survey.settled(), smallest))
    }

    /// Which rows of a part of a table are chosen, by the largest hash of a chosen row.
    #[doc(hidden)]
    pub fn is_chosen(&self, table: &Table, limit: u64) -> Result<Vec<bool>> {
        let table: Cow<'_, Table> = marked(table, self.options.choices.missing.as_deref());
        let rows = unlabelled(&table, &self.options)?;
        let mut chosen = vec![false; table.n_rows()];
        for (row, hash) in rows.iter().zip(row_hashes(&table, &rows)) {
            chosen[*row] = hash <= limit;
        }
        Ok(chosen)
    }

    /// The rows to learn from, by what is known of a whole table and the rows of it that are chosen.
    #[doc(hidden)]
    pub fn read_chosen(
        &self,
        reader: &mut TableReader,
        survey: Survey,
        smallest: SmallestHashes,
    ) -> Result<Option<RowsToLearn>> {
        let mut chosen = ChosenRows::below(smallest.most(), smallest.limit());
        let mut file = String::new();
        while let Some(batch) = reader.next_batch(BATCH_ROWS)? {
            file.clone_from(&batch.file);
            self.take_in(&batch, &mut Survey::default(), &mut chosen)?;
        }
        self.chosen(survey, chosen, file)
    }
}

/// Whether a label is the one that says anomaly. True is 1, however it is spelled.
fn says_anomaly(label: &str, anomaly: &str) -> bool {
    let is_true = |text: &str| text.eq_ignore_ascii_case("true");
    label == anomaly || is_true(label) && (is_true(anomaly) || anomaly == "1")
}

/// The rows without a label that says anomaly.
pub(super) fn unlabelled(table: &Table, options: &FitOptions) -> Result<Vec<usize>> {
    let mut rows: Vec<usize> = (0..table.n_rows()).collect();
    if let (Some(label), Some(anomaly)) = (&options.choices.label, &options.anomaly) {
        match table.column(label) {
            Some(column) => {
                rows.retain(|&row| !column.values.text(row).is_some_and(|text| says_anomaly(&text, anomaly)));
            }
            None if table.rows_may_omit_columns => {}
            None => return Err(no_such_column(table, label)),
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests;
