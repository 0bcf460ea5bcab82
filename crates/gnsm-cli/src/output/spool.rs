//! Keeps records until it is known which are flagged, in a temporary file that vanishes with the process.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};

use anyhow::{Context, Result, bail};

use super::Record;
use super::kept::Value;

/// Takes records in.
pub struct Spool(BufWriter<File>);

impl Spool {
    /// An empty one.
    pub fn new() -> Result<Self> {
        Ok(Self(BufWriter::new(tempfile::tempfile().context("no temporary file for --fdr")?)))
    }

    /// Adds records.
    pub fn write(&mut self, records: &[Record]) -> Result<()> {
        for record in records {
            self.0.write_all(&record.score.to_le_bytes())?;
            self.0.write_all(&record.p_value.to_le_bytes())?;
            self.write_bytes(&serde_json::to_vec(&(&record.reasons, &record.shares))?)?;
            self.0.write_all(&(record.kept.len() as u64).to_le_bytes())?;
            for value in &record.kept {
                match value {
                    Value::Missing => self.0.write_all(&[0])?,
                    Value::Number(number) => {
                        self.0.write_all(&[1])?;
                        self.0.write_all(&number.to_le_bytes())?;
                    }
                    Value::Text(text) => {
                        self.0.write_all(&[2])?;
                        self.write_bytes(text.as_bytes())?;
                    }
                }
            }
        }
        Ok(())
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(&(bytes.len() as u64).to_le_bytes())?;
        Ok(self.0.write_all(bytes)?)
    }

    /// Gives them back, from the first.
    pub fn read(self) -> Result<SpoolReader> {
        let mut file = self.0.into_inner()?;
        file.rewind()?;
        Ok(SpoolReader(BufReader::new(file)))
    }
}

/// Gives records back.
pub struct SpoolReader(BufReader<File>);

impl SpoolReader {
    /// The next record, which has this number. It is not flagged yet.
    pub fn next(&mut self, row: u64) -> Result<Record> {
        let (score, p_value) = (f64::from_le_bytes(self.array()?), f64::from_le_bytes(self.array()?));
        let (reasons, shares) = serde_json::from_slice(&self.bytes()?)?;
        let n_kept = u64::from_le_bytes(self.array()?);
        let kept = (0..n_kept).map(|_| self.value()).collect::<Result<_>>()?;
        Ok(Record { row, score, p_value, anomaly: false, reasons, kept, shares })
    }

    fn value(&mut self) -> Result<Value> {
        Ok(match self.array::<1>()? {
            [0] => Value::Missing,
            [1] => Value::Number(f64::from_le_bytes(self.array()?)),
            [2] => Value::Text(String::from_utf8(self.bytes()?)?),
            [other] => bail!("there is no kind {other} of cells"),
        })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn bytes(&mut self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; u64::from_le_bytes(self.array()?) as usize];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were() -> Result<()> {
        let kept = vec![Value::Missing, Value::Number(f64::INFINITY), Value::Text("ä\n".into())];
        let record = |row, kept| Record {
            row,
            score: -0.1,
            p_value: 0.5,
            anomaly: false,
            reasons: Vec::new(),
            kept,
            shares: vec![0.25],
        };
        let records = [record(0, kept), record(1, Vec::new())];
        let mut spool = Spool::new()?;
        spool.write(&records)?;
        let mut back = spool.read()?;
        assert_eq!([back.next(0)?, back.next(1)?], records);
        assert!(back.next(2).is_err());
        Ok(())
    }
}
