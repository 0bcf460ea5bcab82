//! Several files as one table, one after the other.
//!
//! All must have the same columns; their order may differ. A folder stands for the files in it that have the ending of a
//! format, sorted by name. Files that begin with `_` or `.` are left out: programs put marks of their own there.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use crate::error::{Error, Place, Result};
use crate::table::csv::dialect::Dialect;
use crate::table::input::open::{Format, ReadOptions, TableReader, ending};
use crate::table::{LeftOut, ReadRows, Table};

/// How many names an error lists.
const MAX_NAMED: usize = 5;

/// The files that these paths stand for.
pub(in crate::table) fn listed<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let path = path.as_ref();
        if path.is_dir() { files.extend(files_in(path)?) } else { files.push(path.to_path_buf()) }
    }
    if files.is_empty() {
        return Err(Error::config("files", "there is none; name at least one"));
    }
    Ok(files)
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut by_format: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
    let mut others = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| Error::io(folder, error))? {
        let path = entry.map_err(|error| Error::io(folder, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(['_', '.']) {
            continue;
        }
        match of_ending(&name).filter(|_| path.is_file()) {
            Some(format) => by_format.entry(format).or_default().push(path),
            None => others.push(if path.is_dir() { format!("`{name}/`") } else { format!("`{name}`") }),
        }
    }
    let place = Place { file: folder.display().to_string(), ..Place::default() };
    let mut formats = by_format.into_iter();
    match (formats.next(), formats.next()) {
        (Some((_, mut files)), None) => {
            files.sort();
            Ok(files)
        }
        (Some((one, _)), Some((other, _))) => {
            let problem = format!("the folder holds {one} and {other} files");
            Err(Error::data(place, problem, "name the files that make up the table"))
        }
        (None, _) => {
            others.sort();
            let more = if others.len() > MAX_NAMED { ", …" } else { "" };
            others.truncate(MAX_NAMED);
            let what = if others.is_empty() { String::new() } else { format!(", but {}{more}", others.join(", ")) };
            let problem = format!("the folder holds no file with the ending of a table{what}");
            Err(Error::data(place, problem, "name the files that make up the table"))
        }
    }
}

/// The format of a file in a folder. Endings that other kinds of files have too do not count.
fn of_ending(name: &str) -> Option<&'static str> {
    match ending(name).to_ascii_lowercase().as_str() {
        "txt" | "json" => None,
        "" => name.to_ascii_lowercase().ends_with(".zip").then_some("zip"),
        ending => ending.parse::<Format>().ok().map(Format::name),
    }
}

/// The reader of several files.
pub(in crate::table) struct Several {
    left: std::vec::IntoIter<PathBuf>,
    options: ReadOptions,
    present: TableReader,
    /// The columns of the first file.
    first: Table,
    /// Where this file has the columns of the first file, if their order differs.
    order: Option<Vec<usize>>,
    /// The files so far, and how many rows each has given.
    parts: Vec<(String, u64)>,
    /// What was to be said about the files before this one.
    notes: Vec<String>,
    /// Lines of files before the present one that were left out.
    left_out: LeftOut,
}

impl Several {
    /// Opens the first of them.
    pub(in crate::table) fn open(files: Vec<PathBuf>, options: &ReadOptions) -> Result<(Self, Format)> {
        let mut left = files.into_iter();
        let path = left.next().unwrap_or_default();
        let present = TableReader::open_one(&path, options)?;
        let (first, format) = (present.no_rows(), present.format());
        let parts = vec![(first.file.clone(), 0)];
        let options = options.clone();
        Ok((
            Self { left, options, present, first, order: None, parts, notes: Vec::new(), left_out: LeftOut::default() },
            format,
        ))
    }

    /// Goes to the next file; `false` if there is none.
    fn advance(&mut self) -> Result<bool> {
        let Some(path) = self.left.next() else { return Ok(false) };
        self.notes.append(&mut self.present.notes());
        self.left_out.append(self.present.left_out());
        self.present = TableReader::open_one(&path, &self.options)?;
        let here = self.present.no_rows();
        self.order = order(&self.first, &here)?;
        self.parts.push((here.file, 0));
        Ok(true)
    }
}

/// Where `here` has the columns of `first`; `None` if the order is the same, or if a format does not declare its
/// columns.
fn order(first: &Table, here: &Table) -> Result<Option<Vec<usize>>> {
    if first.rows_may_omit_columns || here.rows_may_omit_columns {
        return Ok(None);
    }
    let names = |table: &Table| table.columns.iter().map(|column| column.name.clone()).collect::<Vec<String>>();
    let (expected, found) = (names(first), names(here));
    if expected == found {
        return Ok(None);
    }
    let other_than = |these: &[String], those: &[String]| {
        let those: HashSet<&String> = those.iter().collect();
        these.iter().find(|name| !those.contains(name)).cloned()
    };
    let (lacking, extra) = (other_than(&expected, &found), other_than(&found, &expected));
    let file = &first.file;
    let problem = match (&lacking, &extra) {
        (None, None) => {
            let at = |name: &String| found.iter().position(|other| other == name).unwrap_or_default();
            return Ok(Some(expected.iter().map(at).collect()));
        }
        (Some(_), Some(extra)) => format!("{file} has this column, and this file has `{extra}` instead"),
        (Some(_), None) => format!("{file} has this column, and this file lacks it"),
        (None, Some(_)) => format!("this file has this column, and {file} lacks it"),
    };
    let place = Place { file: here.file.clone(), line: None, column: lacking.or(extra) };
    Err(Error::data(place, problem, "files that are read as one table must have the same columns"))
}

impl ReadRows for Several {
    fn next_rows(&mut self, max_rows: usize) -> Result<Option<Table>> {
        let mut rows: Option<Table> = None;
        loop {
            let n = rows.as_ref().map_or(0, Table::n_rows);
            if n == max_rows {
                return Ok(rows);
            }
            let Some(mut more) = self.present.next_batch(max_rows - n)? else {
                if self.advance()? {
                    continue;
                }
                return Ok(rows);
            };
            if let Some((_, count)) = self.parts.last_mut() {
                *count += more.n_rows() as u64;
            }
            if let Some(order) = &self.order {
                let mut columns: Vec<_> = more.columns.into_iter().map(Some).collect();
                more.columns = order.iter().filter_map(|at| columns.get_mut(*at)?.take()).collect();
            }
            match &mut rows {
                None => rows = Some(more),
                Some(rows) => rows.append(more)?,
            }
        }
    }

    fn no_rows(&self) -> Table {
        self.first.clone()
    }

    fn recycle(&mut self, batch: Table) {
        self.present.recycle(batch);
    }

    fn dialect(&self) -> Option<Dialect> {
        self.present.dialect()
    }

    fn notes(&self) -> Vec<String> {
        self.notes.iter().cloned().chain(self.present.notes()).collect()
    }

    fn left_out(&self) -> LeftOut {
        let mut all = self.left_out.clone();
        all.append(self.present.left_out());
        all
    }

    fn parts(&self) -> Vec<(String, u64)> {
        self.parts.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::texts;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn open(folder: &tempfile::TempDir, names: &[&str]) -> Result<TableReader> {
        TableReader::open_all(names.iter().map(|name| folder.path().join(name)), &ReadOptions::default())
    }

    /// The error, without the folder's name.
    fn problem(folder: &tempfile::TempDir, names: &[&str]) -> String {
        let read = open(folder, names).and_then(|mut reader| reader.next_batch(usize::MAX));
        let path = format!("{}/", folder.path().display());
        read.unwrap_err().to_string().replace(&path, "").replace(path.trim_end_matches('/'), "FOLDER")
    }

    #[test]
    fn files_follow_each_other_with_columns_in_the_first_ones_order() {
        let folder = folder(&[("a.csv", "x,y\n1,a\n2,b\n"), ("b.csv", "y;x\nc;3\nd;4\n"), ("c.jsonl", "{\"x\": 5}\n")]);
        let mut whole = open(&folder, &["a.csv", "b.csv", "c.jsonl"]).unwrap();
        let table = whole.next_batch(usize::MAX).unwrap().unwrap();
        assert_eq!(texts(&table, "x"), ["1", "2", "3", "4", "5"]);
        assert_eq!(texts(&table, "y"), ["a", "b", "c", "d", ""]);
        assert_eq!(table.lines, [2, 3, 2, 3, 1]);
        assert!(table.file.ends_with("a.csv and 2 more files"), "{}", table.file);
        let place = table.place(3, "y").to_string();
        assert!(place.ends_with("b.csv, line 3, column `y`"), "{place}");
        assert!(table.file_of(0).ends_with("a.csv") && table.file_of(4).ends_with("c.jsonl"));
        let rows: Vec<u64> = whole.parts().iter().map(|(_, rows)| *rows).collect();
        assert_eq!(rows, [2, 2, 1]);
        // Batches of any size give the same.
        for size in 1..6 {
            let mut reader = open(&folder, &["a.csv", "b.csv", "c.jsonl"]).unwrap();
            let mut all = reader.next_batch(size).unwrap().unwrap();
            while let Some(batch) = reader.next_batch(size).unwrap() {
                assert!(batch.n_rows() <= size);
                all.append(batch).unwrap();
            }
            assert_eq!(all, table);
        }
    }

    #[test]
    fn files_that_do_not_agree_are_named_with_the_column() {
        let folder = folder(&[
            ("a.csv", "x,y\n1,a\n"),
            ("b.csv", "x,z\n1,a\n"),
            ("c.csv", "x\n1\n"),
            ("d.csv", "x,y,z\n1,2,3\n"),
        ]);
        let advice = "files that are read as one table must have the same columns";
        let found = |name| problem(&folder, &["a.csv", name]);
        assert_eq!(
            found("b.csv"),
            format!("b.csv, column `y`: a.csv has this column, and this file has `z` instead; {advice}")
        );
        assert_eq!(
            found("c.csv"),
            format!("c.csv, column `y`: a.csv has this column, and this file lacks it; {advice}")
        );
        assert_eq!(
            found("d.csv"),
            format!("d.csv, column `z`: this file has this column, and a.csv lacks it; {advice}")
        );
        assert!(found("e.csv").starts_with("e.csv: No such file"));
    }

    #[test]
    fn an_error_names_the_file_it_is_in() {
        let folder = folder(&[("a.csv", "x,y\n1,a\n"), ("b.csv", "x,y\n1,a\n2\n")]);
        assert!(problem(&folder, &["a.csv", "b.csv"]).starts_with("b.csv, line 3, column `y`: expected 2 fields"));
    }

    #[test]
    fn a_folder_is_its_files() {
        let folder = folder(&[
            ("p-2.csv", "x\n2\n"),
            ("p-1.csv", "x\n1\n"),
            ("_SUCCESS", ""),
            (".p-1.csv.crc", "?"),
            ("notes.txt", ""),
        ]);
        let mut reader = open(&folder, &[""]).unwrap();
        assert_eq!(texts(&reader.next_batch(usize::MAX).unwrap().unwrap(), "x"), ["1", "2"]);
        std::fs::write(folder.path().join("p-3.jsonl"), "{}").unwrap();
        assert!(problem(&folder, &[""]).contains("the folder holds csv and jsonl files; name the files"));
        let empty = tempfile::tempdir().unwrap();
        assert!(problem(&empty, &[""]).contains("the folder holds no file with the ending of a table; "));
        std::fs::create_dir(empty.path().join("year=2024")).unwrap();
        assert!(problem(&empty, &[""]).contains("of a table, but `year=2024/`; name the files"));
        assert!(listed::<&str>([]).unwrap_err().to_string().contains("there is none"));
    }
}
