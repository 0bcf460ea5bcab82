//! Cells of an Excel sheet, by `calamine`.

use std::borrow::Cow;
use std::fs::File;
use std::io::BufReader;

use calamine::{DataRef, ExcelDateTime, ExcelDateTimeType, Reader, SheetType, Xlsx, XlsxError};
use quick_xml::events::Event;

use super::{Cell, DAY, FIRST_DAY, Rows};
use crate::error::{Error, Result};
use crate::table::input::zip::{archive, damaged};

/// Columns of the widest sheet that Excel can have.
pub(super) const MAX_COLUMNS: usize = 1 << 14;

/// Excel counts days from one of two dates, by an option of the file. These are the days between them.
const DAYS_TO_1904: f64 = 1462.0;

/// Reads the wanted sheet, or the first, and gives the names of all.
pub(super) fn read(name: &str, file: File, wanted: Option<&str>, rows: &mut Rows) -> Result<Vec<String>> {
    let unreadable = |error: XlsxError| damaged(name, &error.to_string());
    let again = file.try_clone().map_err(|error| Error::io(name, error))?;
    check_strings(name, again)?;
    let mut book: Xlsx<_> = Xlsx::new(BufReader::new(file)).map_err(unreadable)?;
    let is_sheet = |sheet: &&calamine::Sheet| sheet.typ == SheetType::WorkSheet;
    let sheets: Vec<String> = book.sheets_metadata().iter().filter(is_sheet).map(|sheet| sheet.name.clone()).collect();
    let chosen = wanted.map_or_else(|| sheets.first(), |wanted| sheets.iter().find(|sheet| *sheet == wanted));
    let Some(chosen) = chosen else { return Ok(sheets) };
    let mut cells = book.worksheet_cells_reader(chosen).map_err(unreadable)?;
    let (mut line, mut row) = (0, Vec::new());
    while let Some(cell) = cells.next_cell().map_err(unreadable)? {
        let (at_row, at_column) = cell.get_position();
        let (at_row, at_column) = (u64::from(at_row) + 1, at_column as usize);
        if at_row < line || at_column >= MAX_COLUMNS {
            return Err(damaged(name, "cells are out of order, or out of the sheet"));
        }
        if at_row > line {
            rows.push(line, std::mem::take(&mut row))?;
            line = at_row;
        }
        if at_column >= row.len() {
            row.resize(at_column + 1, Cell::Empty);
        }
        row[at_column] = value(cell.get_value());
    }
    rows.push(line, row)?;
    Ok(sheets)
}

fn value<'a>(data: &DataRef<'a>) -> Cell<'a> {
    let text = |text: &str| if text.is_empty() { Cell::Empty } else { Cell::Text(Cow::Owned(text.to_owned())) };
    match data {
        DataRef::Int(value) => Cell::Number(*value as f64),
        DataRef::Float(value) => Cell::Number(*value),
        DataRef::Empty | DataRef::SharedString("") => Cell::Empty,
        DataRef::SharedString(shared) => Cell::Text(Cow::Borrowed(shared)),
        DataRef::String(value) | DataRef::DateTimeIso(value) | DataRef::DurationIso(value) => text(value),
        DataRef::Bool(value) => Cell::Bool(*value),
        DataRef::Error(error) => text(&error.to_string()),
        DataRef::DateTime(time) if time.is_duration() => Cell::Number((time.as_f64() * DAY * 1e3).round() / 1e3),
        DataRef::DateTime(time) => Cell::Time(seconds(time)),
    }
}

/// Seconds since 1970 of a count of days; Excel keeps milliseconds.
fn seconds(time: &ExcelDateTime) -> f64 {
    let mut days = time.as_f64();
    let is_time_of_day = (0.0..1.0).contains(&days);
    if !is_time_of_day && *time == ExcelDateTime::new(days, ExcelDateTimeType::DateTime, true) {
        days += DAYS_TO_1904;
    } else if (1.0..60.0).contains(&days) {
        // Excel takes 1900 for a leap year, so days before that March count one less.
        days += 1.0;
    }
    (days * DAY * 1e3).round() / 1e3 + FIRST_DAY
}

/// Refuses a claimed number of shared texts that the file cannot hold: memory would be reserved for them.
fn check_strings(name: &str, file: File) -> Result<()> {
    let mut archive = archive(name, file)?;
    for index in 0..archive.len() {
        let part = archive.by_index(index).map_err(|error| damaged(name, &error.to_string()))?;
        let is_shared = part.name().is_ok_and(|name| name.to_ascii_lowercase().ends_with("sharedstrings.xml"));
        if !is_shared {
            continue;
        }
        let length = part.size();
        let mut xml = quick_xml::Reader::from_reader(BufReader::new(part));
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let event = xml.read_event_into(&mut buffer).map_err(|error| damaged(name, &error.to_string()))?;
            match event {
                Event::Start(start) | Event::Empty(start) if start.local_name().as_ref() == "sst" => {
                    let count = start.try_get_attribute("uniqueCount");
                    let count = count.map_err(|error| damaged(name, &error.to_string()))?;
                    let count = count.and_then(|count| count.value.trim().parse::<u64>().ok()).unwrap_or(0);
                    if count > length {
                        return Err(damaged(name, "it says that there are more texts than bytes"));
                    }
                    break;
                }
                Event::Eof => break,
                _ => {}
            }
        }
    }
    Ok(())
}
