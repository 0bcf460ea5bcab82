//! Compares scores with metrics: does a detector rank bad masks first?

use std::collections::HashMap;
use std::path::Path;

use crate::error::{Error, Place, Result};
use crate::metrics::correlation::{pearson, pearson_interval, spearman};
use crate::table::{Table, read_table};

/// The column that names the image.
const ID: &str = "id";

/// Numbers of images, as read from a file with a column `id`.
#[derive(Debug, Clone)]
pub struct ImageTable {
    table: Table,
    /// The row of each image.
    rows: HashMap<String, usize>,
    names: Vec<String>,
}

impl ImageTable {
    /// Reads a file; every row has an `id` of its own.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let table = read_table(path)?;
        let ids = table.column(ID).ok_or_else(|| no_column(&table, ID))?;
        let mut rows = HashMap::new();
        let mut names = Vec::new();
        for row in 0..table.n_rows() {
            let name = ids.values.text(row).ok_or_else(|| {
                Error::data(table.place(row, ID), "names no image", "give every row the name of its image")
            })?;
            if rows.insert(name.to_string(), row).is_some() {
                let problem = format!("`{name}` stands there already");
                return Err(Error::data(table.place(row, ID), problem, "leave one row for each image"));
            }
            names.push(name.into_owned());
        }
        if names.is_empty() {
            let place = Place { file: table.file.clone(), ..Place::default() };
            return Err(Error::data(place, "holds no rows", "give a file with a row for each image"));
        }
        Ok(Self { table, rows, names })
    }

    /// The names of the images, in the file's order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of the columns beside `id`.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.table.columns.iter().map(|column| column.name.as_str()).filter(|name| *name != ID)
    }

    /// The number of an image in a column; `None` where the cell is empty or the image is not there.
    pub fn number(&self, name: &str, column: &str) -> Result<Option<f64>> {
        let values = &self.table.column(column).ok_or_else(|| no_column(&self.table, column))?.values;
        let Some(&row) = self.rows.get(name) else { return Ok(None) };
        let Some(text) = values.text(row) else { return Ok(None) };
        match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(Error::data(
                self.table.place(row, column),
                format!("`{text}` is not a finite number"),
                "mend the cell, or leave it empty",
            )),
        }
    }

    /// Whether the image has a row.
    pub fn contains(&self, name: &str) -> bool {
        self.rows.contains_key(name)
    }

    /// The images and their scores, the oddest first; equal scores in the order of names, so that the file's order
    /// means nothing.
    pub fn ranked(&self) -> Result<Vec<(String, f64)>> {
        let mut ranked = Vec::new();
        for (row, name) in self.names.iter().enumerate() {
            let score = self.number(name, "score")?.ok_or_else(|| {
                Error::data(self.table.place(row, "score"), "there is no score", "score the image, or leave it out")
            })?;
            ranked.push((name.clone(), score));
        }
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(ranked)
    }
}

fn no_column(table: &Table, column: &str) -> Error {
    Error::schema(
        format!("{} has no column `{column}`", table.file),
        "give a file that `gnsm mask score` or `gnsm mask metrics` wrote",
    )
}

/// How scores and a metric go together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Association {
    /// Images that have the metric.
    pub n: usize,
    /// Pearson's r.
    pub pearson: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// Spearman's coefficient.
    pub spearman: Option<f64>,
}

/// Correlates scores with a metric; pairs without one are left out.
pub fn associate(pairs: &[(f64, Option<f64>)]) -> Association {
    let (scores, values): (Vec<f64>, Vec<f64>) =
        pairs.iter().filter_map(|(score, value)| value.map(|value| (*score, value))).unzip();
    let n = scores.len();
    let r = pearson(&scores, &values);
    Association {
        n,
        pearson: r,
        interval: r.and_then(|r| pearson_interval(r, n)),
        spearman: spearman(&scores, &values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> std::result::Result<ImageTable, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("scores.csv");
        std::fs::write(&path, content).expect("written");
        ImageTable::read(&path).map_err(|error| error.to_string().replace(&folder.path().display().to_string(), ""))
    }

    #[test]
    fn ranks_do_not_depend_on_the_order_of_the_file() {
        let names = |content: &str| {
            let ranked = read(content).expect("a table").ranked().expect("scores");
            ranked.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        let expected = ["c", "a", "b", "2007_01"];
        assert_eq!(names("id,score\na,2\nb,2\nc,3.5\n2007_01,-1e-3\n"), expected);
        assert_eq!(names("score,id\n-1e-3,2007_01\n3.5,c\n2,b\n2,a\n"), expected);
    }

    #[test]
    fn cells_are_numbers_or_empty() {
        let table = read("id,score,msd\n007,1,\n8,2,x\n").expect("a table");
        assert_eq!(table.number("007", "score").ok(), Some(Some(1.0)));
        assert_eq!(table.number("007", "msd").ok(), Some(None));
        assert_eq!(table.number("9", "msd").ok(), Some(None));
        assert_eq!(table.columns().collect::<Vec<_>>(), ["score", "msd"]);
        let error = table.number("8", "msd").expect_err("no number").to_string();
        assert!(error.ends_with("line 3, column `msd`: `x` is not a finite number; mend the cell, or leave it empty"));
        let error = table.number("8", "dice").expect_err("no column").to_string();
        assert!(error.contains("has no column `dice`"), "{error}");
    }

    #[test]
    fn broken_files_are_refused() {
        let refused = |content: &str| read(content).map(drop).expect_err("refused");
        assert!(refused("name,score\na,1\n").starts_with("/scores.csv has no column `id`"));
        assert!(refused("id,score\na,1\nb,2\na,3\n").starts_with("/scores.csv, line 4, column `id`: `a` stands there"));
        assert!(refused("id,score\na,1\n,2\n").starts_with("/scores.csv, line 3, column `id`: names no image"));
        assert!(refused("id,score\n").contains("holds no rows"));
        let error = read("id,score\na,1\nb,\n").expect("a table").ranked().expect_err("no score").to_string();
        assert!(error.contains("line 3, column `score`: there is no score"), "{error}");
    }

    #[test]
    fn pairs_without_a_value_are_left_out() {
        let pairs = [(1.0, Some(2.0)), (9.0, None), (2.0, Some(1.0)), (3.0, Some(0.0)), (4.0, Some(-1.0))];
        let found = associate(&pairs);
        assert_eq!(found.n, 4);
        assert!(found.pearson.is_some_and(|r| (r + 1.0).abs() < 1e-15));
        assert!(found.spearman.is_some_and(|r| (r + 1.0).abs() < 1e-15));
        let nothing = associate(&[(1.0, None)]);
        assert_eq!(nothing, Association { n: 0, pearson: None, interval: None, spearman: None });
    }
}
