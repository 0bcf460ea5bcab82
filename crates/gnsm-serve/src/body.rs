//! The rows of a body: which kind it is, and its rows as tables. A row that cannot be read does not lose the others.

use std::io::Cursor;

use axum::http::{HeaderMap, StatusCode, header};
use gnsm::{Column, Error, Format, ReadOptions, Table, TableReader, Values};
use serde_json::value::RawValue;

use crate::problem::Problem;

/// What stands for the body in messages, where a file's name would.
const NAME: &str = "body";
/// Lines of a CSV body that cannot be read and are told one by one.
const MOST_BAD_LINES: usize = 100;

/// The kinds of bodies and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// One object, or a list of objects.
    Json,
    /// One object a line.
    Lines,
    /// Comma-separated values with a header.
    Csv,
    /// An Arrow IPC stream; as a body, also a file.
    Arrow,
}

impl Media {
    /// All kinds.
    const ALL: [Self; 4] = [Self::Json, Self::Lines, Self::Csv, Self::Arrow];

    /// The content type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Lines => "application/x-ndjson",
            Self::Csv => "text/csv",
            Self::Arrow => "application/vnd.apache.arrow.stream",
        }
    }

    fn of(text: &str) -> Option<Self> {
        let name = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match name.as_str() {
            "application/jsonl" | "application/ndjson" | "application/jsonlines" => Some(Self::Lines),
            "application/csv" | "text/tab-separated-values" => Some(Self::Csv),
            "application/vnd.apache.arrow.file" => Some(Self::Arrow),
            name => Self::ALL.into_iter().find(|media| media.name() == name),
        }
    }

    /// The kind of a request's body.
    pub fn of_body(headers: &HeaderMap) -> Result<Self, Problem> {
        let names = Self::ALL.map(Self::name).join(", ");
        if headers.contains_key(header::CONTENT_ENCODING) {
            let problem = "compressed bodies are not read; send it as it is";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem));
        }
        let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let problem =
            || format!("the content type `{}` is not read; send one of {names}", gnsm_report::shown(text, 80));
        Self::of(text).ok_or_else(|| Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem()))
    }

    /// The kind of answer that a request asks for: the first that it accepts and that there is; JSON if it does not say.
    pub fn of_answer(headers: &HeaderMap) -> Result<Self, Problem> {
        let texts: Vec<&str> = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        if texts.is_empty() {
            return Ok(Self::Json);
        }
        let kinds = texts.iter().flat_map(|text| text.split(','));
        let kind = |text: &str| match text.split(';').next().unwrap_or_default().trim() {
            "*/*" | "application/*" | "" => Some(Self::Json),
            "text/*" => Some(Self::Csv),
            _ => Self::of(text),
        };
        let names = Self::ALL.map(Self::name).join(", ");
        let none = || Problem::new(StatusCode::NOT_ACCEPTABLE, format!("an answer can be one of {names}"));
        kinds.into_iter().find_map(kind).ok_or_else(none)
    }
}

/// What the model and the limits say about a body.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Rows, at the most.
    pub most: usize,
    /// Whether a column is used: then its cells must be texts or numbers.
    pub used: &'a dyn Fn(&str) -> bool,
    /// The texts that mean "no value".
    pub missing: &'a [String],
}

/// Rows of a body.
#[derive(Debug, Default)]
pub struct Body {
    /// Tables with the numbers of their rows in the body.
    pub tables: Vec<(Table, Vec<u64>)>,
    /// Rows that cannot be read, and why.
    pub bad: Vec<(u64, String)>,
}

impl Body {
    /// Reads a body.
    pub fn read(bytes: &[u8], media: Media, wanted: Wanted<'_>) -> Result<Self, Problem> {
        let body = match media {
            Media::Json => Self::of_json(bytes, wanted),
            Media::Lines => Self::of_lines(bytes, wanted),
            Media::Csv => Self::of_csv(bytes, wanted),
            Media::Arrow => Self::of_arrow(bytes, wanted),
        }?;
        if body.tables.is_empty() && body.bad.is_empty() {
            return Err(Problem::bad("the body holds no rows; send at least one"));
        }
        Ok(body)
    }

    fn of_json(bytes: &[u8], wanted: Wanted<'_>) -> Result<Self, Problem> {
        let problem = |error: serde_json::Error| {
            Problem::bad(format!("{NAME}, line {}, byte {}: {error}", error.line(), error.column()))
        };
        let is_list = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        let rows: Vec<&RawValue> = if is_list {
            serde_json::from_slice(bytes).map_err(problem)?
        } else {
            vec![serde_json::from_slice(bytes).map_err(problem)?]
        };
        check_rows(rows.len(), wanted.most)?;
        // Outside of strings a line break is a blank, and inside there is none.
        let lines: Vec<(u64, String)> =
            rows.iter().map(|row| row.get().replace(['\n', '\r'], " ")).zip(0..).map(|(text, n)| (n, text)).collect();
        Ok(Self::of_objects(&lines, wanted))
    }

    fn of_lines(bytes: &[u8], wanted: Wanted<'_>) -> Result<Self, Problem> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| Problem::bad(format!("{NAME}, byte {}: not UTF-8", error.valid_up_to() + 1)))?;
        let lines: Vec<(u64, String)> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .zip(0..)
            .map(|(line, n)| (n, line.to_owned()))
            .collect();
        check_rows(lines.len(), wanted.most)?;
        Ok(Self::of_objects(&lines, wanted))
    }

    /// Reads all objects together, or where that fails each half by itself.
    fn of_objects(lines: &[(u64, String)], wanted: Wanted<'_>) -> Self {
        let mut body = Self::default();
        let mut todo = vec![lines];
        while let Some(lines) = todo.pop() {
            if lines.is_empty() {
                continue;
            }
            let text = lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n");
            let table = read_all(text.into_bytes(), Format::Jsonl, usize::MAX, wanted.missing);
            // One list or object would make its column unusable in all rows.
            let nested =
                |column: &Column| matches!(column.values, Values::Unsupported { .. }) && (wanted.used)(&column.name);
            match (table, lines) {
                (Ok(Some(table)), lines)
                    if table.n_rows() == lines.len() && (lines.len() == 1 || !table.columns.iter().any(nested)) =>
                {
                    body.tables.push((table, lines.iter().map(|(row, _)| *row).collect()));
                }
                (Ok(_), [(row, _)]) => body.bad.push((*row, "is no object".into())),
                (Err(error), [(row, _)]) => body.bad.push((*row, reason(&error))),
                (_, lines) => {
                    let (first, second) = lines.split_at(lines.len() / 2);
                    todo.extend([second, first]);
                }
            }
        }
        body
    }

    /// Reads CSV. A line that cannot be read is taken out and told.
    fn of_csv(bytes: &[u8], wanted: Wanted<'_>) -> Result<Self, Problem> {
        refuse_compressed(bytes)?;
        let mut text = bytes.to_vec();
        let mut bad: Vec<(u64, String)> = Vec::new();
        let table = loop {
            match read_all(text.clone(), Format::Csv, wanted.most.saturating_add(1), wanted.missing) {
                Ok(table) => break table,
                Err(Error::Data { place, problem, advice }) => {
                    // Without the first line, which has the names, nothing can be read.
                    let line = place.line.filter(|line| *line > 1 && bad.iter().all(|(known, _)| known != line));
                    let message = format!("{problem}; {advice}");
                    let Some(line) = line.filter(|_| bad.len() < MOST_BAD_LINES) else {
                        return Err(Problem::bad(format!("{place}: {message}")));
                    };
                    blank_line(&mut text, line);
                    bad.push((line, format!("line {line}: {message}")));
                }
                Err(error) => return Err(Problem::bad(error.to_string())),
            }
        };
        check_rows(table.as_ref().map_or(0, Table::n_rows) + bad.len(), wanted.most)?;
        let good = table.iter().flat_map(|table| table.lines.iter().copied());
        let mut order: Vec<u64> = good.chain(bad.iter().map(|(line, _)| *line)).collect();
        order.sort_unstable();
        let row_of = |line: u64| order.partition_point(|other| *other < line) as u64;
        let bad = bad.into_iter().map(|(line, problem)| (row_of(line), problem)).collect();
        let tables = table.into_iter().map(|table| {
            let rows = table.lines.iter().map(|line| row_of(*line)).collect();
            (table, rows)
        });
        Ok(Self { tables: tables.collect(), bad })
    }

    fn of_arrow(bytes: &[u8], wanted: Wanted<'_>) -> Result<Self, Problem> {
        refuse_compressed(bytes)?;
        let table = read_all(bytes.to_vec(), Format::Arrow, wanted.most.saturating_add(1), wanted.missing);
        let table = table.map_err(|error| Problem::bad(error.to_string()))?;
        check_rows(table.as_ref().map_or(0, Table::n_rows), wanted.most)?;
        let tables = table.into_iter().map(|table| {
            let rows = (0..table.n_rows() as u64).collect();
            (table, rows)
        });
        Ok(Self { tables: tables.collect(), bad: Vec::new() })
    }
}

fn read_all(bytes: Vec<u8>, format: Format, most: usize, missing: &[String]) -> gnsm::Result<Option<Table>> {
    let mut options = ReadOptions::default();
    (options.format, options.missing) = (Some(format), Some(missing.to_vec()));
    let mut reader = TableReader::from_reader(NAME, Box::new(Cursor::new(bytes)), &options)?;
    let Some(mut table) = reader.next_batch(most)? else { return Ok(None) };
    while table.n_rows() < most {
        let Some(more) = reader.next_batch(most - table.n_rows())? else { break };
        table.append(more)?;
    }
    Ok(Some(table))
}

/// Without the place: the row is told beside it.
fn reason(error: &Error) -> String {
    match error {
        Error::Data { place, problem, advice } => {
            let column = place.column.as_ref().map(|name| format!("column `{name}`: ")).unwrap_or_default();
            format!("{column}{problem}; {advice}")
        }
        error => error.to_string(),
    }
}

fn check_rows(rows: usize, most: usize) -> Result<(), Problem> {
    if rows <= most {
        return Ok(());
    }
    let problem = format!("the body has more than {most} rows; send them in several requests");
    Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, problem))
}

/// A few bytes may unpack to any number of them.
fn refuse_compressed(bytes: &[u8]) -> Result<(), Problem> {
    let marks: [&[u8]; 3] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0"];
    if marks.iter().any(|mark| bytes.starts_with(mark)) {
        let problem = "compressed bodies are not read; send it as it is";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem));
    }
    Ok(())
}

/// Takes the text out of a line, counted from 1, and keeps its end, so that other lines keep their numbers.
fn blank_line(text: &mut Vec<u8>, line: u64) {
    let mut start = 0;
    for _ in 1..line {
        let Some(end) = text[start..].iter().position(|byte| *byte == b'\n') else { return };
        start += end + 1;
    }
    let length = text[start..].iter().position(|byte| *byte == b'\n').unwrap_or(text.len() - start);
    text.drain(start..start + length);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, media: Media) -> Body {
        Body::read(text.as_bytes(), media, Wanted { most: 100, used: &|name| name == "a", missing: &[] })
            .expect("a body")
    }

    fn rows(body: &Body) -> (Vec<u64>, Vec<u64>) {
        let mut good: Vec<u64> = body.tables.iter().flat_map(|(_, rows)| rows.clone()).collect();
        good.sort_unstable();
        (good, body.bad.iter().map(|(row, _)| *row).collect())
    }

    #[test]
    fn a_bad_row_does_not_lose_the_others() {
        let list = "[{\"a\": 1},\n {\"a\": 1e999}, 7, {\"a\": \"x\\ny\",\n \"b\": [1]}]";
        let body = read(list, Media::Json);
        assert_eq!(rows(&body), (vec![0, 3], vec![1, 2]), "{body:?}");
        assert_eq!(body.tables.len(), 2, "the rows around the bad ones");
        let body = read("[{\"a\": 1}, {\"a\": []}, {\"a\": 3, \"b\": {}}]", Media::Json);
        assert_eq!(body.tables.iter().map(|(_, rows)| rows.len()).max(), Some(1), "a list stands alone");
        let body = read(list, Media::Json);
        assert!(body.bad[0].1.starts_with("column `a`: the number 1e999 is out of range"), "{body:?}");
        let body = read("{\"a\": 1}\n\n{\"a\": \n{\"a\": 3}\n", Media::Lines);
        assert_eq!(rows(&body), (vec![0, 2], vec![1]));
        let body = read("a,b\n1,2\n3\n4,5\n6,7,8\n9,10\n", Media::Csv);
        assert_eq!(rows(&body), (vec![0, 2, 4], vec![1, 3]), "{body:?}");
        assert!(body.bad[0].1.starts_with("line 3: "), "{body:?}");
    }

    #[test]
    fn what_is_no_body_is_refused() {
        let status = |text: &[u8], media| {
            Body::read(text, media, Wanted { most: 2, used: &|_| true, missing: &[] })
                .expect_err("refused")
                .status
                .as_u16()
        };
        for media in Media::ALL {
            assert_eq!(status(b"", media), 400, "{media:?}");
        }
        assert_eq!(status(b"[{\"a\": 1}", Media::Json), 400);
        assert_eq!(status(b"[]", Media::Json), 400);
        assert_eq!(status(b"[{},{},{}]", Media::Json), 413);
        assert_eq!(status(b"a\n1\n2\n3\n", Media::Csv), 413);
        assert_eq!(status(b"\x1f\x8b\x08", Media::Csv), 415);
        assert_eq!(status(b"a,a\n1,2\n", Media::Csv), 400);
        assert_eq!(status(b"\xff\xff\xff\xff\x10", Media::Arrow), 400);
        assert_eq!(status(b"\xff\n", Media::Lines), 400);
    }

    #[test]
    fn kinds_are_told_by_headers() {
        let headers =
            |name, value: &'static str| HeaderMap::from_iter([(name, axum::http::HeaderValue::from_static(value))]);
        let body = |value| Media::of_body(&headers(header::CONTENT_TYPE, value)).ok();
        assert_eq!(body("application/json; charset=utf-8"), Some(Media::Json));
        assert_eq!(body("Text/CSV"), Some(Media::Csv));
        assert_eq!(body("text/html"), None);
        let answer = |value| Media::of_answer(&headers(header::ACCEPT, value)).ok();
        assert_eq!(answer("text/html, text/csv;q=0.5"), Some(Media::Csv));
        assert_eq!(answer("*/*"), Some(Media::Json));
        assert_eq!(answer("text/html"), None);
        assert_eq!(Media::of_answer(&HeaderMap::new()).ok(), Some(Media::Json));
    }
}
