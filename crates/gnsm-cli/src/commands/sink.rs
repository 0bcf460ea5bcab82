//! Where judged rows go: lines of an output, with reasons, flags and columns that are kept.
//!
//! With a false discovery rate it is known only after the last row which are flagged. Until then the lines wait in a file
//! without a name.

use anyhow::{Context, Result};
use gnsm::{Batch, Explanation, Flags, Scored};

use crate::output::{Record, ScoreWriter, Spool};

/// Rows that are explained at a time, and that come back from the spool at a time.
const EXPLAINED_ROWS: usize = 1 << 16;
const SPOOLED_ROWS: u64 = 8192;

/// Writes a line for each row.
pub struct Sink {
    writer: ScoreWriter,
    n_reasons: usize,
    rows: u64,
    spool: Option<Spool>,
}

impl Sink {
    /// Lines with `n_reasons` each; where flags are not known yet, they `wait`.
    pub fn new(writer: ScoreWriter, n_reasons: usize, wait: bool) -> Result<Self> {
        let spool = wait.then(Spool::new).transpose()?;
        Ok(Self { writer, n_reasons, rows: 0, spool })
    }

    /// What is written to.
    pub fn writer(&mut self) -> &mut ScoreWriter {
        &mut self.writer
    }

    /// Takes the next rows, with flags where they are known.
    pub fn take(&mut self, batch: &Batch<'_>, flags: Option<&Flags>) -> Result<()> {
        let most = if self.writer.shows_shares() { usize::MAX } else { self.n_reasons };
        for first in (0..batch.n_rows()).step_by(EXPLAINED_ROWS) {
            let rows: Vec<usize> = (first..(first + EXPLAINED_ROWS).min(batch.n_rows())).collect();
            let explained = match most {
                0 => Vec::new(),
                _ if rows.len() == batch.n_rows() => batch.explain_all(most),
                _ => batch.explain(&rows, most),
            };
            let mut explained = explained.into_iter();
            let scores = batch.scores();
            let record = |row: usize| {
                let record = self.record(batch, row, explained.next());
                Record { anomaly: flags.is_some_and(|flags| flags.flags(&scores[row])), ..record }
            };
            let records: Vec<Record> = rows.into_iter().map(record).collect();
            match &mut self.spool {
                None => self.writer.write(&records)?,
                Some(spool) => spool.write(&records).context("the temporary file for --fdr")?,
            }
        }
        self.rows += batch.n_rows() as u64;
        Ok(())
    }

    /// Writes what waits, now that all flags are known.
    pub fn finish(mut self, flags: &Flags) -> Result<()> {
        if let Some(spool) = self.spool.take() {
            let mut records = spool.read().context("the temporary file for --fdr")?;
            for first in (0..self.rows).step_by(SPOOLED_ROWS as usize) {
                let next = |row| {
                    let record = records.next(row)?;
                    let scored = Scored { score: record.score, p_value: record.p_value };
                    Ok(Record { anomaly: flags.flags(&scored), ..record })
                };
                let block = (first..(first + SPOOLED_ROWS).min(self.rows)).map(next).collect::<Result<Vec<Record>>>();
                self.writer.write(&block.context("the temporary file for --fdr")?)?;
            }
        }
        self.writer.finish()
    }

    /// The record of a row; not yet flagged.
    fn record(&self, batch: &Batch<'_>, row: usize, explanation: Option<Explanation>) -> Record {
        let Scored { score, p_value } = batch.scores()[row];
        let mut reasons = explanation.map_or_else(Vec::new, |explanation| explanation.reasons);
        let kept = self.writer.kept();
        let share_of =
            |name: &str| reasons.iter().find(|reason| reason.column == name).map_or(0.0, |reason| reason.share);
        let with_shares = kept.columns.iter().filter(|_| self.writer.shows_shares());
        let shares = with_shares.map(|column| share_of(&column.name)).collect();
        reasons.truncate(self.n_reasons);
        let kept = kept.values(batch.table(), row);
        Record { row: self.rows + row as u64, score, p_value, anomaly: false, reasons, kept, shares }
    }
}
