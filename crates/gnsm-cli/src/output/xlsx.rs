//! Writes scores as a workbook, row by row, so that memory does not grow with the rows.
//!
//! - Cells that are passed through are text, so that nothing in them is a formula and no zero in front is lost. A plain
//!   number that comes back from a number cell as it was written is a number.
//! - In a row that is flagged, or has a p-value of at most 0.05, the passed cells are red by their share of the score.
//! - A sheet holds 1,048,575 rows under its header. Further rows go to further sheets.

use std::io::{self, Seek};

use anyhow::{Context, Result, bail};
use rust_xlsxwriter::{Color, Format, Workbook, Worksheet, XlsxError};

use super::kept::{Kept, Value};
use super::{Destination, Record, column_names};

/// Rows of a sheet, with its header.
const SHEET_ROWS: u32 = 1_048_576;
/// Columns of a sheet.
const SHEET_COLUMNS: usize = 16_384;
/// Characters of a cell.
const CELL_CHARACTERS: usize = 32_767;
/// The p-value up to which a row's odd cells are coloured, flagged or not.
const COLOURED: f64 = 0.05;
/// Shares of the score from which on a cell has a colour.
const SHADES: [(f64, u32); 3] = [(0.5, 0x00F4_8A80), (0.25, 0x00F9_BDB6), (0.1, 0x00FD_E3E0)];

/// A workbook under way.
pub struct XlsxWriter {
    workbook: Workbook,
    destination: Destination,
    titles: Vec<String>,
    n_reasons: usize,
    has_id: bool,
    bold: Format,
    shades: Vec<(f64, Format)>,
    sheets: usize,
    /// The next row of the last sheet.
    next: u32,
    most_rows: u32,
}

impl XlsxWriter {
    /// A workbook that goes to `destination` when it is complete.
    pub fn new(destination: Destination, n_reasons: usize, kept: &Kept) -> Result<Self> {
        let titles = column_names(n_reasons, kept);
        if titles.len() > SHEET_COLUMNS {
            bail!(
                "a sheet of xlsx holds {SHEET_COLUMNS} columns, and there are {}; keep fewer, or write csv",
                titles.len()
            );
        }
        let shades = SHADES.map(|(share, colour)| (share, Format::new().set_background_color(Color::RGB(colour))));
        Ok(Self {
            workbook: Workbook::new(),
            destination,
            titles,
            n_reasons,
            has_id: kept.has_id,
            bold: Format::new().set_bold(),
            shades: shades.to_vec(),
            sheets: 0,
            next: SHEET_ROWS,
            most_rows: SHEET_ROWS,
        })
    }

    /// Adds rows.
    pub fn write(&mut self, records: &[Record]) -> Result<()> {
        for record in records {
            if self.sheets == 0 || self.next == self.most_rows {
                self.begin_sheet()?;
            }
            self.write_record(record).with_context(|| format!("row {}", record.row))?;
            self.next += 1;
        }
        Ok(())
    }

    fn begin_sheet(&mut self) -> Result<()> {
        let sheet = self.workbook.add_worksheet_with_constant_memory();
        self.sheets += 1;
        let name = if self.sheets == 1 { "scores".to_owned() } else { format!("scores {}", self.sheets) };
        sheet.set_name(name)?.set_freeze_panes(1, 0)?;
        for (column, title) in (0..).zip(&self.titles) {
            let width = (title.chars().count() as f64 + 2.0).clamp(9.0, 40.0);
            sheet.set_column_width(column, width)?;
            check_length(title)?;
            sheet.write_string_with_format(0, column, title, &self.bold)?;
        }
        self.next = 1;
        Ok(())
    }

    fn write_record(&mut self, record: &Record) -> Result<()> {
        let sheet = self.workbook.worksheet_from_index(self.sheets - 1)?;
        let row = self.next;
        let is_coloured = record.anomaly || record.p_value <= COLOURED;
        let shade = |at: usize| {
            let share = record.shares.get(at).copied().filter(|_| is_coloured).unwrap_or(0.0);
            self.shades.iter().find(|(least, _)| share >= *least).map(|(_, format)| format)
        };
        let ids = usize::from(self.has_id);
        let mut column = 0;
        if let Some(id) = record.kept.first().filter(|_| self.has_id) {
            write_value(sheet, row, column, id, shade(0))?;
            column += 1;
        }
        let anomaly = u8::from(record.anomaly);
        for number in [record.row as f64, record.score, record.p_value, f64::from(anomaly)] {
            write_number(sheet, row, column, number, None)?;
            column += 1;
        }
        for at in 0..self.n_reasons {
            if let Some(reason) = record.reasons.get(at) {
                write_text(sheet, row, column, &reason.to_string(), None)?;
            }
            column += 1;
        }
        for (at, value) in record.kept.iter().enumerate().skip(ids) {
            write_value(sheet, row, column, value, shade(at))?;
            column += 1;
        }
        Ok(())
    }

    /// Everything is written.
    pub fn finish(mut self) -> Result<()> {
        // A workbook is put together from its end, so it cannot be streamed.
        let mut file = tempfile::tempfile().context("no temporary file for the workbook")?;
        self.workbook.save_to_writer(&mut file).map_err(|error| match error {
            XlsxError::IoError(error) => anyhow::Error::from(error),
            error => error.into(),
        })?;
        file.rewind()?;
        io::copy(&mut file, &mut self.destination)?;
        self.destination.finish()
    }
}

fn write_value(sheet: &mut Worksheet, row: u32, column: u16, value: &Value, format: Option<&Format>) -> Result<()> {
    match value {
        // A missing cell may be what is odd.
        Value::Missing => write_text(sheet, row, column, "", format)?,
        Value::Number(number) => write_number(sheet, row, column, *number, format)?,
        Value::Text(text) => match text.parse::<f64>() {
            Ok(number) if is_safe_number(text, number) => write_number(sheet, row, column, number, format)?,
            _ => write_text(sheet, row, column, text, format)?,
        },
    }
    Ok(())
}

/// Whether a number cell gives the text back to the letter.
fn is_safe_number(text: &str, number: f64) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    number.is_finite() && digits <= 15 && number.to_string() == text
}

fn write_number(sheet: &mut Worksheet, row: u32, column: u16, number: f64, format: Option<&Format>) -> Result<()> {
    if !number.is_finite() {
        return write_text(sheet, row, column, &number.to_string(), format);
    }
    match format {
        Some(format) => sheet.write_number_with_format(row, column, number, format)?,
        None => sheet.write_number(row, column, number)?,
    };
    Ok(())
}

fn write_text(sheet: &mut Worksheet, row: u32, column: u16, text: &str, format: Option<&Format>) -> Result<()> {
    check_length(text)?;
    match format {
        Some(format) => sheet.write_string_with_format(row, column, text, format)?,
        None => sheet.write_string(row, column, text)?,
    };
    Ok(())
}

fn check_length(text: &str) -> Result<()> {
    if text.len() > CELL_CHARACTERS && text.chars().map(char::len_utf16).sum::<usize>() > CELL_CHARACTERS {
        let start: String = text.chars().take(20).collect();
        bail!(
            "the text `{}…` is longer than the {CELL_CHARACTERS} characters that a cell of xlsx holds; write csv",
            crate::display::plain(&start)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::output::kept::{KeptColumn, Type};

    fn record(row: u64, text: &str) -> Record {
        Record {
            row,
            score: 1.5,
            p_value: 0.01,
            anomaly: true,
            reasons: Vec::new(),
            kept: vec![Value::Text(text.into()), Value::Missing],
            shares: vec![0.7, 0.0],
        }
    }

    fn kept() -> Kept {
        let column = |name: &str| KeptColumn { name: name.into(), title: name.into(), kind: Type::Text };
        Kept { columns: vec![column("a"), column("b")], ..Kept::default() }
    }

    fn written(texts: &[&str], most_rows: u32) -> Result<Vec<String>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("t.xlsx");
        let mut writer = XlsxWriter::new(Destination::create(Some(&path))?, 0, &kept())?;
        writer.most_rows = most_rows;
        for (row, text) in (0..).zip(texts) {
            writer.write(&[record(row, text)])?;
        }
        writer.finish()?;
        let mut archive = zip::ZipArchive::new(std::fs::File::open(path)?)?;
        let mut sheets = Vec::new();
        while let Ok(mut part) = archive.by_name(&format!("xl/worksheets/sheet{}.xml", sheets.len() + 1)) {
            let mut text = String::new();
            part.read_to_string(&mut text)?;
            sheets.push(text);
        }
        Ok(sheets)
    }

    #[test]
    fn nothing_is_a_formula_and_no_digit_is_lost() -> Result<()> {
        let texts = ["=1+1", "007", "12.5", "12.50", "+3", "@x", " a "];
        let sheets = written(&texts, SHEET_ROWS)?;
        assert_eq!(sheets.len(), 1);
        assert!(!sheets[0].contains("<f>"), "{}", sheets[0]);
        for text in ["=1+1", "007", "12.50", "+3", "@x"] {
            assert!(sheets[0].contains(&format!("<t>{text}</t>")), "{text}: {}", sheets[0]);
        }
        assert!(sheets[0].contains("<v>12.5</v>") && sheets[0].contains("<t xml:space=\"preserve\"> a </t>"));
        // A flagged row's odd cell has a colour.
        assert!(sheets[0].contains("<c r=\"E2\" s=\"2\" t=\"inlineStr\">"), "{}", sheets[0]);
        Ok(())
    }

    #[test]
    fn rows_go_on_in_further_sheets() -> Result<()> {
        let sheets = written(&["a", "b", "c", "d", "e"], 3)?;
        assert_eq!(sheets.len(), 3);
        assert!(sheets[2].contains("<t>e</t>") && !sheets[2].contains("<t>d</t>"));
        assert!(sheets.iter().all(|sheet| sheet.contains("<t>p_value</t>")));
        Ok(())
    }

    #[test]
    fn a_text_that_is_too_long_is_refused() {
        let problem = format!("{:#}", written(&[&"x".repeat(40_000)], 3).expect_err("refused"));
        assert!(problem.starts_with("row 0: the text `xxxxxxxxxxxxxxxxxxxx…` is longer than"), "{problem}");
    }
}
