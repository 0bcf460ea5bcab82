//! Finds out how a CSV file is written: its delimiter, and whether it has a header.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::table::MISSING_TEXTS;
use crate::table::csv::{Record, Records};

/// How much of the input is looked at.
pub(in crate::table) const SAMPLE: usize = 1 << 16;

/// How many records of it.
const MAX_RECORDS: usize = 100;

/// What is tried, in this order.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// How a CSV file is written.
///
/// Both are found in the first block (64 KiB, at most 100 records), unless the user says.
///
/// **Delimiter.** Of `,` `;` tab `|`, the one that splits every sampled record into the same number of cells, more than
/// one; of several, the one with most cells. If none does (a ragged row, which will be an error with its line), the one
/// that splits most records like the first, if that is more than half. Otherwise the file has one column.
///
/// **Header.** The first record is a header unless one of its cells is a number, or a mark of a missing value such as
/// `NA` or `?` (an empty cell does not count: spreadsheets leave the name of an index empty). It is a header in spite
/// of such cells
///
/// - if some column has a name and below it nothing but numbers (`id,0,1` above `7,0.5,0.1`), or
/// - if these cells are all years, whole numbers from 1900 to 2100, and their columns do not hold years below
///   (`country,2019,2020` above `DE,83.1,83.2`),
///
/// provided that no name occurs twice. A file of words only, without a header, looks as if it had one; then the user
/// must say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// What stands between cells.
    pub delimiter: u8,
    /// Whether the first record holds the columns' names.
    pub header: bool,
}

/// The length of a first line `sep=;`, and the delimiter it tells.
pub(in crate::table) fn told_delimiter(sample: &[u8]) -> Option<(usize, u8)> {
    let text = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample);
    let line = text.split_inclusive(|&b| b == b'\n').next()?;
    let word = line.strip_suffix(b"\n").unwrap_or(line);
    let word = word.strip_suffix(b"\r").unwrap_or(word);
    let quoted = word.strip_prefix(b"\"").and_then(|word| word.strip_suffix(b"\""));
    match quoted.unwrap_or(word) {
        [s, e, p, b'=', delimiter] if [s, e, p].map(u8::to_ascii_lowercase) == *b"sep" && is_possible(*delimiter) => {
            Some((sample.len() - text.len() + line.len(), *delimiter))
        }
        _ => None,
    }
}

fn is_possible(delimiter: u8) -> bool {
    delimiter.is_ascii() && !matches!(delimiter, b'"' | b'\n' | b'\r' | 0)
}

/// Finds what is not given.
pub(in crate::table) fn find(
    sample: &[u8],
    delimiter: Option<u8>,
    header: Option<bool>,
    comment: Option<u8>,
) -> Result<Dialect> {
    if let Some(mark) = comment
        && (!is_possible(mark) || Some(mark) == delimiter)
    {
        let problem = "must be one ASCII character other than a quote, a line break or the delimiter";
        return Err(Error::config("comment", problem));
    }
    if let Some(given) = delimiter
        && !is_possible(given)
    {
        return Err(Error::config("delimiter", "must be one ASCII character other than a quote or a line break"));
    }
    let delimiter = delimiter.unwrap_or_else(|| find_delimiter(sample, comment));
    let header = header.unwrap_or_else(|| is_header(&sampled(sample, delimiter, comment)));
    Ok(Dialect { delimiter, header })
}

/// A delimiter's name in a sentence.
pub(in crate::table) fn delimiter_name(delimiter: u8) -> String {
    match delimiter {
        b'\t' => "a tab".to_owned(),
        other => format!("`{}`", char::from(other)),
    }
}

/// The records of the sample, up to the first that cannot be read.
fn sampled(sample: &[u8], delimiter: u8, comment: Option<u8>) -> Vec<Record> {
    let mut records = Records::new("", sample, delimiter, comment);
    let mut found = Vec::new();
    let mut record = Record::default();
    while found.len() < MAX_RECORDS && records.read(&mut record).unwrap_or(false) {
        found.push(std::mem::take(&mut record));
    }
    found
}

fn find_delimiter(sample: &[u8], comment: Option<u8>) -> u8 {
    // Of each delimiter: the cells of the first record, the share of records with as many.
    let tried = DELIMITERS.map(|delimiter| {
        let records = sampled(sample, delimiter, comment);
        let n_cells = records.first().map_or(0, |record| record.cells.len());
        let alike = records.iter().filter(|record| record.cells.len() == n_cells).count();
        (delimiter, n_cells, alike as f64 / records.len().max(1) as f64)
    });
    // The earliest wins a tie.
    let most = |found: Option<(u8, f64)>, (delimiter, merit): (u8, f64)| match found {
        Some((_, best)) if best >= merit => found,
        _ => Some((delimiter, merit)),
    };
    let several = || tried.iter().filter(|(_, n_cells, _)| *n_cells > 1);
    let consistent = several().filter(|(.., share)| *share == 1.0).map(|&(d, n, _)| (d, n as f64)).fold(None, most);
    let mostly = || several().filter(|(.., share)| *share > 0.5).map(|&(d, _, share)| (d, share)).fold(None, most);
    // One column of text may hold commas. Then another delimiter is found that leaves it whole.
    let single = || tried.iter().find(|(_, n, share)| *n == 1 && *share == 1.0).map(|&(d, ..)| (d, 0.0));
    consistent.or_else(mostly).or_else(single).map_or(b',', |(delimiter, _)| delimiter)
}

pub(in crate::table) fn is_header(records: &[Record]) -> bool {
    let Some((first, below)) = records.split_first() else {
        return true;
    };
    let cells: Vec<&str> = first.cells.iter().map(str::trim).collect();
    let is_name = |cell: &str| !is_number(cell) && (cell.is_empty() || !MISSING_TEXTS.contains(&cell));
    if cells.iter().all(|cell| is_name(cell)) {
        return true;
    }
    let all_different = cells.iter().collect::<HashSet<_>>().len() == cells.len();
    let column_is = |column: usize, test: fn(&str) -> bool| {
        let mut present = below
            .iter()
            .filter(|record| column < record.cells.len())
            .map(|record| record.cells.get(column).trim())
            .filter(|cell| !MISSING_TEXTS.contains(cell))
            .peekable();
        present.peek().is_some() && present.all(test)
    };
    let mut columns = cells.iter().enumerate();
    let name_above_numbers =
        columns.clone().any(|(i, cell)| is_name(cell) && !cell.is_empty() && column_is(i, is_number));
    let years_above_others =
        !below.is_empty() && columns.all(|(i, cell)| is_name(cell) || (is_year(cell) && !column_is(i, is_year)));
    all_different && (name_above_numbers || years_above_others)
}

/// `1`, `-2.5`, `1e3`, but not the words `inf` and `nan` that a float may be written as.
fn is_number(cell: &str) -> bool {
    cell.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b)) && cell.parse::<f64>().is_ok()
}

fn is_year(cell: &str) -> bool {
    cell.len() == 4 && cell.parse().is_ok_and(|year: u16| (1900..=2100).contains(&year))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sample: &str) -> (char, bool) {
        let dialect = find(sample.as_bytes(), None, None, None).unwrap();
        (char::from(dialect.delimiter), dialect.header)
    }

    #[test]
    fn delimiters() {
        assert_eq!(found("a,b\nx,y\n"), (',', true));
        assert_eq!(found("a;b\n1,5;2,5\n"), (';', true));
        assert_eq!(found("a\tb\nx, y\tz\n"), ('\t', true));
        assert_eq!(found("a|b\nx|y\n"), ('|', true));
        // The comma splits evenly too, into fewer cells.
        assert_eq!(found("a;b;c,d\n1;2;3,4\n"), (';', true));
        // Quoted delimiters do not count.
        assert_eq!(found("a;b\n\"x,y,z\";1\n"), (';', true));
        assert_eq!(found("name\nx\ny\n"), (',', true));
        // One column of prose.
        assert_eq!(found("text\nyes, well\nno\n"), (';', true));
        // A ragged row does not hide the delimiter.
        assert_eq!(found("a,b,c\n1,2,3\n1,2\n4,5,6\n"), (',', true));
        assert_eq!(found(""), (',', true));
    }

    #[test]
    fn headers() {
        let header = |sample| found(sample).1;
        assert!(header("a,b\n"));
        assert!(header(",a\n0,x\n"));
        assert!(!header("1,2\n3,4\n"));
        assert!(!header("39,State-gov,77516\n50,Private,83311\n"));
        assert!(!header("red,?\nblue,x\n"));
        assert!(!header("1,2\n"));
        // A name above numbers.
        assert!(header("id,0,1\n7,0.5,0.1\n8,0.2,0.3\n"));
        assert!(!header("unknown,5,5\n7,0.5,0.1\n"));
        // Years as names, and years as values.
        assert!(header("country,2019,2020\nDE,83.1,83.2\nFR,67.2,67.3\n"));
        assert!(!header("John,1999,2000\nMary,1998,2003\n"));
        // Words only.
        assert!(header("red,big\nblue,small\n"));
    }

    #[test]
    fn a_first_line_may_tell_the_delimiter() {
        assert_eq!(told_delimiter(b"sep=;\r\na,b;c\n"), Some((7, b';')));
        assert_eq!(told_delimiter(b"\xef\xbb\xbfSEP=\t\n"), Some((9, b'\t')));
        assert_eq!(told_delimiter(b"\"sep=,\"\n"), Some((8, b',')));
        for other in ["sep=", "sep=;;\n", "sep=\"\n", "sepia\n", "", "a,b\n"] {
            assert_eq!(told_delimiter(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_delimiter_that_cannot_be_one_is_refused() {
        for delimiter in *b"\"\n\r\0\xe9" {
            let error = find(b"", Some(delimiter), None, None).unwrap_err().to_string();
            assert!(error.starts_with("setting `delimiter`: must be one ASCII character"), "{error}");
        }
    }
}
