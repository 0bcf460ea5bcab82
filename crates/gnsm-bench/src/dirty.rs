//! Tables with the truth for each cell: are the wrong cells found, named and repaired?
//!
//! `NAME.dirty.csv` is a table with errors, `NAME.clean.csv` the same rows and columns without them; a cell is wrong
//! where the two differ. The default method learns from the dirty table and nothing else. Columns whose values are all
//! different, such as row numbers, are not counted.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use gnsm::metrics::{auroc, average_precision};
use gnsm::{Error, Model, Result, Table, read_table};

/// The rate of false alarms among listed cells that `--cells` has by default.
const RATE: f64 = 0.1;
/// The rate and the probability that `gnsm repair` has by default.
const REPAIR_RATE: f64 = 0.5;
const AT_LEAST: f64 = 0.9;

/// What was measured on a table.
#[derive(Debug, Clone, PartialEq)]
pub struct DirtyLine {
    /// The table.
    pub name: String,
    /// Wrong cells, and rows that have one.
    pub wrong: [usize; 2],
    /// Average precision and area under the ROC curve of the cells by their part of the row's score, in per cent.
    pub ranking: [f64; 2],
    /// The share of wrong rows whose first reason is a wrong cell, in per cent.
    pub first_reason: f64,
    /// The share of wrong cells whose expected value is the right one, in per cent.
    pub expected: f64,
    /// Precision, recall and F1 of the cells that are listed by default, in per cent.
    pub listed: [f64; 3],
    /// Precision and recall of the changes that are made by default, in per cent.
    pub repaired: [f64; 2],
}

/// Measures every table of a folder and writes `cells.md` into another. `report` sees each line.
pub fn run(data: &Path, out: &Path, report: &mut dyn FnMut(&DirtyLine)) -> Result<()> {
    let mut lines = Vec::new();
    for (name, dirty, clean) in tables(data)? {
        let line = measure(&name, &read_table(&dirty)?, &read_table(&clean)?)?;
        report(&line);
        lines.push(line);
    }
    std::fs::create_dir_all(out).map_err(|error| Error::io(out, error))?;
    let summary = out.join("cells.md");
    std::fs::write(&summary, summarise(&lines)).map_err(|error| Error::io(&summary, error))
}

/// The names of the tables in a folder, with their two files.
fn tables(data: &Path) -> Result<Vec<(String, PathBuf, PathBuf)>> {
    let entries = std::fs::read_dir(data).map_err(|error| Error::io(data, error))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| Error::io(data, error))?.path();
        let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".dirty.csv").map(str::to_owned));
        if let Some(name) = name {
            found.push((name.clone(), path.clone(), path.with_file_name(format!("{name}.clean.csv"))));
        }
    }
    found.sort();
    if found.is_empty() {
        let problem = format!("{} holds no *.dirty.csv", data.display());
        return Err(Error::schema(problem, "name a folder with NAME.dirty.csv and NAME.clean.csv"));
    }
    Ok(found)
}

/// Fits on the dirty table and compares what is said of it with the clean one.
pub fn measure(name: &str, dirty: &Table, clean: &Table) -> Result<DirtyLine> {
    let sizes = [dirty, clean].map(|table| (table.n_rows(), table.columns.len()));
    if sizes[0] != sizes[1] {
        let problem = format!("{} and {} have not the same rows and columns", dirty.file, clean.file);
        return Err(Error::schema(problem, "give two versions of one table"));
    }
    let text = |table: &Table, row: usize, column: usize| {
        table.columns[column].values.text(row).unwrap_or_default().into_owned()
    };
    let n_rows = dirty.n_rows();
    let is_counted = |column: &usize| {
        let values: std::collections::BTreeSet<String> = (0..n_rows).map(|row| text(dirty, row, *column)).collect();
        values.len() < n_rows
    };
    let columns: Vec<usize> = (0..dirty.columns.len()).filter(is_counted).collect();
    let place = |name: &str| columns.iter().position(|column| dirty.columns[*column].name == name);
    let is_wrong = |row: usize, at: usize| text(dirty, row, columns[at]) != text(clean, row, columns[at]);
    let wrong: Vec<bool> = (0..n_rows)
        .flat_map(|row| (0..columns.len()).map(move |at| (row, at)))
        .map(|(row, at)| is_wrong(row, at))
        .collect();
    let fit = Model::builder().fit_and_judge(dirty)?;
    let own = fit.own();
    let explanations = own.explain_all(usize::MAX);
    let mut parts = vec![0.0; wrong.len()];
    let (mut wrong_rows, mut first_right, mut expected_right) = (0usize, 0usize, 0usize);
    for (row, explanation) in explanations.iter().enumerate() {
        for reason in &explanation.reasons {
            let Some(at) = place(&reason.column) else { continue };
            parts[row * columns.len() + at] = reason.part;
            let right = text(clean, row, columns[at]);
            if wrong[row * columns.len() + at] && reason.expected.as_deref() == Some(&right) {
                expected_right += 1;
            }
        }
        if wrong[row * columns.len()..][..columns.len()].contains(&true) {
            wrong_rows += 1;
            let first = explanation.reasons.iter().find_map(|reason| place(&reason.column));
            first_right += usize::from(first.is_some_and(|at| wrong[row * columns.len() + at]));
        }
    }
    let n_wrong = wrong.iter().filter(|wrong| **wrong).count();
    let listed = own.odd_cells(RATE)?;
    let hits = listed.iter().filter(|cell| place(&cell.reason.column).is_some_and(|at| is_wrong(cell.row, at))).count();
    let n_listed = listed.iter().filter(|cell| place(&cell.reason.column).is_some()).count();
    let (precision, recall) = (share(hits, n_listed), share(hits, n_wrong));
    let f1 = if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 };
    let changes: Vec<(usize, usize, String)> = own
        .odd_cells(REPAIR_RATE)?
        .iter()
        .filter_map(|cell| {
            let (value, _) = cell.change(AT_LEAST)?;
            Some((cell.row, place(&cell.reason.column)?, value.to_owned()))
        })
        .collect();
    let mended = changes.iter().filter(|(row, at, value)| *value == text(clean, *row, columns[*at])).count();
    Ok(DirtyLine {
        name: name.to_owned(),
        wrong: [n_wrong, wrong_rows],
        ranking: [100.0 * average_precision(&wrong, &parts)?, 100.0 * auroc(&wrong, &parts)?],
        first_reason: share(first_right, wrong_rows),
        expected: share(expected_right, n_wrong),
        listed: [precision, recall, f1],
        repaired: [share(mended, changes.len()), share(mended, n_wrong)],
    })
}

/// A share in per cent.
fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * part as f64 / of as f64 }
}

/// The lines as a table.
pub fn summarise(lines: &[DirtyLine]) -> String {
    let mut text = String::from(
        "| table | wrong cells | cell AP | cell AUROC | first reason is a wrong cell | expected is right | listed: precision / \
         recall / F1 | repaired: precision / recall |\n|---|---|---|---|---|---|---|---|\n",
    );
    for line in lines {
        let ([ap, auroc], [p, r, f1], [rp, rr]) = (line.ranking, line.listed, line.repaired);
        let _ = writeln!(
            text,
            "| {} | {} | {ap:.1} | {auroc:.1} | {:.1} % | {:.1} % | {p:.1} / {r:.1} / {f1:.1} | {rp:.1} / {rr:.1} |",
            line.name, line.wrong[0], line.first_reason, line.expected
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_is_found_named_and_repaired() -> Result<()> {
        let folder = tempfile::tempdir().map_err(|error| Error::io("a folder", error))?;
        let cities = ["Berlin", "Hamburg", "Dresden", "Bremen"];
        let row = |i: usize| format!("{},{},{}", cities[i % 4], ["BE", "HH", "SN", "HB"][i % 4], i % 7);
        let clean: Vec<String> = (0..400).map(row).collect();
        let mut dirty = clean.clone();
        dirty[41] = format!("Hxmburg,HH,{}", 41 % 7);
        for (name, rows) in [("town.clean.csv", &clean), ("town.dirty.csv", &dirty)] {
            let path = folder.path().join(name);
            let text = format!("city,state,count\n{}\n", rows.join("\n"));
            std::fs::write(&path, text).map_err(|error| Error::io(&path, error))?;
        }
        let mut lines = Vec::new();
        run(folder.path(), folder.path(), &mut |line| lines.push(line.clone()))?;
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!((line.wrong, line.first_reason, line.expected), ([1, 1], 100.0, 100.0));
        assert_eq!((line.listed, line.repaired), ([100.0; 3], [100.0; 2]), "{line:?}");
        assert!(folder.path().join("cells.md").exists());
        Ok(())
    }
}
