//! Cells of an OpenDocument sheet (OASIS OpenDocument 1.3, part 3, chapters 9 and 19).
//!
//! `calamine` would hold every sheet of the file twice, and repeats a cell as often as the file says before it counts.
//! So the XML is walked here, and only the rows of one sheet are kept.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read};

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::xlsx::MAX_COLUMNS;
use super::{Cell, DAY, FIRST_DAY, Rows};
use crate::error::Result;
use crate::table::input::zip::{archive, damaged};
use crate::table::time::days_of;

/// What goes wrong in here, before the file's name is put to it.
type Parsed<T> = std::result::Result<T, String>;

/// Reads the wanted sheet, or the first, and gives the names of all.
pub(super) fn read(name: &str, file: File, wanted: Option<&str>, rows: &mut Rows) -> Result<Vec<String>> {
    let mut archive = archive(name, file)?;
    let content = archive.by_name("content.xml").map_err(|error| damaged(name, &error.to_string()))?;
    let mut xml = Xml { reader: Reader::from_reader(BufReader::new(content)), buffer: Vec::new() };
    let mut sheets: Vec<String> = Vec::new();
    let unreadable = |what: String| damaged(name, &what);
    while let Some(tag) = xml.next().map_err(unreadable)? {
        let Tag::Start(start, is_empty) = tag else { continue };
        if start.name().as_ref() != "table:table" {
            continue;
        }
        let sheet = attribute(&start, "table:name").map_err(unreadable)?.unwrap_or_default().into_owned();
        let is_wanted = !sheets.contains(&sheet) && wanted.map_or(sheets.is_empty(), |wanted| wanted == sheet);
        sheets.push(sheet);
        if !is_empty {
            xml.read_sheet(name, if is_wanted { Some(&mut *rows) } else { None })?;
        }
    }
    Ok(sheets)
}

struct Xml<R: Read> {
    reader: Reader<BufReader<R>>,
    buffer: Vec<u8>,
}

enum Tag {
    /// The beginning of an element, and whether it is the whole of it.
    Start(BytesStart<'static>, bool),
    End(String),
    Text(String),
}

impl<R: Read> Xml<R> {
    /// The next tag or text; `None` at the end of the file.
    fn next(&mut self) -> Parsed<Option<Tag>> {
        loop {
            self.buffer.clear();
            let event = self.reader.read_event_into(&mut self.buffer).map_err(|error| error.to_string())?;
            return Ok(Some(match event {
                Event::Start(start) => Tag::Start(start.into_owned(), false),
                Event::Empty(start) => Tag::Start(start.into_owned(), true),
                Event::End(end) => Tag::End(end.name().as_ref().to_owned()),
                Event::Text(text) => Tag::Text(text.xml10_content().into_owned()),
                Event::CData(text) => Tag::Text(text.as_ref().to_owned()),
                Event::GeneralRef(entity) => Tag::Text(match entity.resolve_char_ref() {
                    Ok(Some(character)) => character.to_string(),
                    _ => resolve_predefined_entity(entity.as_ref()).unwrap_or_default().to_owned(),
                }),
                Event::Eof => return Ok(None),
                _ => continue,
            }));
        }
    }

    /// Reads up to the end of the sheet; keeps its rows if they are wanted.
    fn read_sheet(&mut self, name: &str, mut rows: Option<&mut Rows>) -> Result<()> {
        let unreadable = |what: String| damaged(name, &what);
        let mut line: u64 = 1;
        loop {
            match self.next_within("table:table").map_err(unreadable)? {
                Tag::End(end) if end == "table:table" => return Ok(()),
                Tag::Start(start, is_empty) if start.name().as_ref() == "table:table-row" => {
                    let n = repeated(&start, "table:number-rows-repeated").map_err(unreadable)?;
                    let cells = if is_empty { Vec::new() } else { self.row().map_err(unreadable)? };
                    if let Some(rows) = rows.as_deref_mut()
                        && !cells.is_empty()
                    {
                        for row in 0..n {
                            rows.push(line.saturating_add(row), cells.clone())?;
                        }
                    }
                    line = line.saturating_add(n);
                }
                // A table within the drawings of a table.
                Tag::Start(start, false) if start.name().as_ref() == "table:table" => self.read_sheet(name, None)?,
                _ => {}
            }
        }
    }

    /// The cells of a row, up to the last that holds something.
    fn row(&mut self) -> Parsed<Vec<Cell<'static>>> {
        let mut cells = Vec::new();
        let mut at: usize = 0;
        loop {
            match self.next_within("table:table-row")? {
                Tag::End(end) if end == "table:table-row" => return Ok(cells),
                Tag::Start(start, is_empty)
                    if matches!(start.name().as_ref(), "table:table-cell" | "table:covered-table-cell") =>
                {
                    let n = repeated(&start, "table:number-columns-repeated")?;
                    let text = if is_empty { String::new() } else { self.text(start.name().as_ref())? };
                    let cell = value(&start, text)?;
                    let after = at.saturating_add(usize::try_from(n).unwrap_or(usize::MAX));
                    if cell != Cell::Empty {
                        if after > MAX_COLUMNS {
                            return Err(format!("a row has more than {MAX_COLUMNS} cells"));
                        }
                        cells.resize(at, Cell::Empty);
                        cells.resize(after, cell);
                    }
                    at = after;
                }
                _ => {}
            }
        }
    }

    /// The text of a cell: its paragraphs, without the notes beside it.
    fn text(&mut self, cell: &str) -> Parsed<String> {
        let mut text = String::new();
        let (mut n_paragraphs, mut n_notes, mut depth) = (0, 0_u32, 0_u32);
        loop {
            match self.next_within(cell)? {
                Tag::End(end) if end == "office:annotation" => n_notes = n_notes.saturating_sub(1),
                Tag::End(end) if end == "text:p" => depth = depth.saturating_sub(1),
                Tag::End(end) if end == cell => return Ok(text),
                Tag::Start(start, is_empty) => match start.name().as_ref() {
                    "office:annotation" if !is_empty => n_notes += 1,
                    "text:p" if n_notes == 0 => {
                        if n_paragraphs > 0 {
                            text.push('\n');
                        }
                        n_paragraphs += 1;
                        depth += u32::from(!is_empty);
                    }
                    "text:p" if !is_empty => depth += 1,
                    "text:s" if n_notes == 0 => {
                        let n = repeated(&start, "text:c")?.min(1 << 15) as usize;
                        text.extend(std::iter::repeat_n(' ', n));
                    }
                    "text:tab" if n_notes == 0 => text.push('\t'),
                    "text:line-break" if n_notes == 0 => text.push('\n'),
                    _ => {}
                },
                Tag::Text(more) if n_notes == 0 && depth > 0 => text += &more,
                _ => {}
            }
        }
    }

    fn next_within(&mut self, element: &str) -> Parsed<Tag> {
        self.next()?.ok_or_else(|| format!("`{element}` does not end"))
    }
}

/// How often an element stands for itself.
fn repeated(start: &BytesStart<'_>, name: &str) -> Parsed<u64> {
    let count = attribute(start, name)?;
    count.map_or(Ok(1), |count| count.trim().parse().map_err(|_| format!("`{name}` is not a number")))
}

fn attribute<'a>(start: &'a BytesStart<'_>, name: &str) -> Parsed<Option<Cow<'a, str>>> {
    let Some(attribute) = start.try_get_attribute(name).map_err(|error| error.to_string())? else { return Ok(None) };
    attribute.normalized_value(XmlVersion::Implicit1_0).map(Some).map_err(|error| error.to_string())
}

fn value(start: &BytesStart<'_>, text: String) -> Parsed<Cell<'static>> {
    let of = |name: &str| attribute(start, name);
    let kind = of("office:value-type")?;
    let cell = match kind.as_deref() {
        Some("float" | "currency" | "percentage") => of("office:value")?
            .and_then(|value| value.parse().ok())
            .filter(|value: &f64| value.is_finite())
            .map(Cell::Number),
        Some("boolean") => of("office:boolean-value")?.map(|value| Cell::Bool(value == "true")),
        Some("date") => of("office:date-value")?.and_then(|value| date(&value)).map(Cell::Time),
        Some("time") => of("office:time-value")?.and_then(|value| duration(&value)).map(|seconds| {
            // A time of day and a duration look alike; 24 hours or more is a duration.
            if (0.0..DAY).contains(&seconds) { Cell::Time(seconds + FIRST_DAY) } else { Cell::Number(seconds) }
        }),
        Some("string") => of("office:string-value")?.map(|value| Cell::Text(Cow::Owned(value.into_owned()))),
        // A cell without a type holds nothing, whatever its text.
        None => return Ok(Cell::Empty),
        Some(_) => None,
    };
    // What its attributes do not tell is what it shows.
    let cell = cell.unwrap_or(Cell::Text(Cow::Owned(text)));
    Ok(if cell == Cell::Text(Cow::Borrowed("")) { Cell::Empty } else { cell })
}

/// Seconds since 1970 of `2024-03-05` or `2024-03-05T07:10:00.5`.
fn date(text: &str) -> Option<f64> {
    let (day, clock) = text.split_once('T').map_or((text, None), |(day, clock)| (day, Some(clock)));
    let mut parts = day.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let days = days_of(parts.next()??, parts.next()??, parts.next()??)?;
    let seconds = match clock {
        None => 0.0,
        Some(clock) => {
            let mut parts = clock.splitn(3, ':').map(|part| part.parse::<f64>().ok().filter(|part| *part >= 0.0));
            parts.next()?? * 3600.0 + parts.next()?? * 60.0 + parts.next().flatten().unwrap_or(0.0)
        }
    };
    Some(days as f64 * DAY + seconds)
}

/// Seconds of `PT07H10M00.5S`.
fn duration(text: &str) -> Option<f64> {
    let (sign, text) = text.strip_prefix('-').map_or((1.0, text), |text| (-1.0, text));
    let mut rest = text.strip_prefix('P')?;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        rest = rest.strip_prefix('T').unwrap_or(rest);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let unit = match rest.as_bytes()[end] {
            b'D' => DAY,
            b'H' => 3600.0,
            b'M' => 60.0,
            b'S' => 1.0,
            _ => return None,
        };
        seconds += number * unit;
        rest = &rest[end + 1..];
    }
    Some(sign * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_durations() {
        assert_eq!(date("1970-01-02"), Some(DAY));
        assert_eq!(date("2024-03-05T07:10:00.5"), Some(1_709_622_600.5));
        assert_eq!((date("2024-13-05"), date("x"), date("2024-03-05Tx")), (None, None, None));
        assert_eq!(duration("PT07H10M00.5S"), Some(25_800.5));
        assert_eq!((duration("P1DT1H"), duration("-PT1M"), duration("PT1é")), (Some(90_000.0), Some(-60.0), None));
    }
}
