//! What the tests of all formats use, and tests across formats.

use std::io::Cursor;

use super::append::number_text;
use super::input::compression::tests::{gzip, xz, zstd};
use super::*;

/// The whole of `bytes` as one table.
pub(super) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Table> {
    input::open::read_all(TableReader::from_reader("input", Box::new(Cursor::new(bytes.to_vec())), options)?)
}

/// The error that reading `bytes` gives.
pub(super) fn error_of(bytes: &[u8], options: &ReadOptions) -> String {
    match read(bytes, options) {
        Ok(table) => panic!("no error: {table:?}"),
        Err(error) => error.to_string(),
    }
}

/// The same, put together from batches of `max_rows`, each in the memory of the one before.
pub(super) fn batches(bytes: &[u8], options: &ReadOptions, max_rows: usize) -> Result<Table> {
    let mut reader = TableReader::from_reader("input", Box::new(Cursor::new(bytes.to_vec())), options)?;
    let mut all: Option<Table> = None;
    while let Some(batch) = reader.next_batch(max_rows)? {
        assert!((1..=max_rows).contains(&batch.n_rows()));
        match &mut all {
            Some(all) => all.append(batch.clone())?,
            None => all = Some(batch.clone()),
        }
        reader.recycle(batch);
    }
    Ok(all.unwrap_or_else(|| read(bytes, options).unwrap()))
}

/// The cells of a column as text.
pub(super) fn texts(table: &Table, name: &str) -> Vec<String> {
    match &table.column(name).unwrap().values {
        Values::Text(cells) => cells.iter().map(str::to_owned).collect(),
        Values::Category { codes, names } => {
            codes.iter().map(|&code| names.get(code as usize).map_or("<missing>".to_owned(), Clone::clone)).collect()
        }
        Values::Number { values, .. } => values.iter().map(|&value| number_text(value)).collect(),
        Values::Time { seconds, kind } => seconds.iter().map(|&seconds| kind.text(seconds)).collect(),
        Values::Unsupported { type_name, .. } => panic!("{type_name}"),
    }
}

/// Equality in which a missing number equals itself.
pub(super) fn same(a: &Table, b: &Table) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

#[test]
fn compressed_files_read_like_plain_ones() {
    let text = b"a,b\nx,1\ny,2\n";
    let plain = read(text, &ReadOptions::default()).unwrap();
    let tar = [input::tar::tests::entry("a.csv", b'0', text), vec![0; 1024]].concat();
    for bytes in [gzip(text), zstd(text), xz(text), tar.clone(), xz(&tar), gzip(&tar)] {
        assert_eq!(read(&bytes, &ReadOptions::default()).unwrap(), plain);
    }
    let cut = &gzip(text)[..20];
    assert!(error_of(cut, &ReadOptions::default()).contains("gzip data are damaged or cut short"));
    let two = [input::tar::tests::entry("a.csv", b'0', text), input::tar::tests::entry("b.csv", b'0', text)].concat();
    assert!(error_of(&two, &ReadOptions::default()).contains("more than one file: `a.csv`, `b.csv`"));
}

#[test]
fn what_was_found_can_be_asked_for() {
    let input = Box::new(Cursor::new(b"a;b\n1;2\n".to_vec()));
    let mut reader = TableReader::from_reader("x", input, &ReadOptions::default()).unwrap();
    assert_eq!(reader.format(), Format::Csv);
    assert_eq!(reader.dialect(), Some(Dialect { delimiter: b';', header: true }));
    assert_eq!(reader.columns(), ["a", "b"]);
    // Zero rows cannot be asked for.
    assert_eq!(reader.next_batch(0).unwrap().unwrap().n_rows(), 1);
    assert!(reader.next_batch(1).unwrap().is_none());
}

#[test]
fn after_an_error_there_are_no_more_rows() {
    let input = Box::new(Cursor::new(b"a,b\n1,2\n3\n4,5\n".to_vec()));
    let mut reader = TableReader::from_reader("x", input, &ReadOptions::default()).unwrap();
    assert_eq!(reader.next_batch(1).unwrap().unwrap().n_rows(), 1);
    assert!(reader.next_batch(1).is_err());
    assert!(reader.next_batch(1).unwrap().is_none());
}

#[test]
fn the_ending_tells_of_tabs() {
    let input = Box::new(Cursor::new(b"a,b\nx,y\n".to_vec()));
    let reader = TableReader::from_reader("x.tsv.gz", input, &ReadOptions::default()).unwrap();
    assert_eq!(reader.columns(), ["a,b"]);
}
