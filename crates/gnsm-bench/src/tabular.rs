//! The paper's tabular benchmark: every set, method and seed, one line each as soon as it is done.
//!
//! `summary.md` follows from `raw.csv` alone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use gnsm::internals::train::Run;
use gnsm::metrics::{auroc, average_precision};
use gnsm::{Error, Method, Result, Silent};

use crate::protocol::{DataSet, TrainTestSplit};
use crate::raw;
use crate::summary::summarise;

const HEADER: &str = "dataset,method,seed,ap,auroc,fit_seconds,score_seconds,peak_mb";

/// What to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder with `*.parquet`, each with a column `label`.
    pub data: PathBuf,
    /// The sets to run; all if empty.
    pub sets: Vec<String>,
    /// The methods, each under the name it has in the results.
    pub methods: Vec<(String, Method)>,
    /// Seeds 0 to this, exclusive.
    pub seeds: u64,
    /// Whether all seeds take the split of seed 0.
    pub one_split: bool,
    /// The folder for `raw.csv` and `summary.md`.
    pub out: PathBuf,
}

/// One line of `raw.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The data set.
    pub dataset: String,
    /// The method.
    pub method: String,
    /// The seed of the split and of the fit.
    pub seed: u64,
    /// Average precision, in per cent.
    pub ap: f64,
    /// Area under the ROC curve, in per cent.
    pub auroc: f64,
    /// Seconds to fit.
    pub fit_seconds: f64,
    /// Seconds to score the test rows.
    pub score_seconds: f64,
    /// Peak memory of the process while fitting and scoring, in megabytes; 0 where the system does not tell.
    pub peak_mb: f64,
}

/// Runs what is not done yet, and writes the summary. `report` sees each new line.
pub fn run(options: &Options, report: &mut dyn FnMut(&Line)) -> Result<()> {
    std::fs::create_dir_all(&options.out).map_err(|error| Error::io(&options.out, error))?;
    let raw = options.out.join("raw.csv");
    let mut lines = if raw.exists() { read_lines(&raw)? } else { Vec::new() };
    let mut file = raw::open(&raw, HEADER)?;
    let mut done: BTreeSet<(String, String, u64)> =
        lines.iter().map(|line| (line.dataset.clone(), line.method.clone(), line.seed)).collect();
    let is_set = |path: &Path| path.extension().is_some_and(|ending| ending == "parquet");
    for (name, path) in raw::sets(&options.data, &options.sets, is_set)? {
        let missing = |seed: u64, done: &BTreeSet<_>| {
            options.methods.iter().filter(|(method, _)| !done.contains(&(name.clone(), method.clone(), seed))).count()
        };
        if (0..options.seeds).all(|seed| missing(seed, &done) == 0) {
            continue;
        }
        let data = DataSet::read(&path)?;
        for seed in 0..options.seeds {
            if missing(seed, &done) == 0 {
                continue;
            }
            let split = data.split(if options.one_split { 0 } else { seed })?;
            for (method_name, method) in &options.methods {
                if !done.insert((name.clone(), method_name.clone(), seed)) {
                    continue;
                }
                let line = measure(&name, method_name, method, seed, &split)?;
                raw::append(&mut file, &raw, &to_csv(&line))?;
                report(&line);
                lines.push(line);
            }
        }
    }
    let summary = options.out.join("summary.md");
    std::fs::write(&summary, summarise(&lines)).map_err(|error| Error::io(&summary, error))
}

fn measure(dataset: &str, name: &str, method: &Method, seed: u64, split: &TrainTestSplit) -> Result<Line> {
    raw::reset_peak();
    let start = Instant::now();
    let run = Run { seed, max_seconds: None, resume: None, save: None, watcher: &mut Silent };
    let fitted = method.fit(split.encoder.layout(), &split.training, &split.validation, run)?;
    let fit_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let scores = fitted.score_distinct(&split.test);
    let score_seconds = start.elapsed().as_secs_f64();
    Ok(Line {
        dataset: dataset.to_owned(),
        method: name.to_owned(),
        seed,
        ap: 100.0 * average_precision(&split.labels, &scores)?,
        auroc: 100.0 * auroc(&split.labels, &scores)?,
        fit_seconds,
        score_seconds,
        peak_mb: raw::peak_mb(),
    })
}

fn to_csv(line: &Line) -> String {
    format!(
        "{},{},{},{:.4},{:.4},{:.3},{:.3},{:.1}",
        line.dataset, line.method, line.seed, line.ap, line.auroc, line.fit_seconds, line.score_seconds, line.peak_mb
    )
}

/// Reads `raw.csv`.
pub fn read_lines(path: &Path) -> Result<Vec<Line>> {
    raw::read(path, HEADER, from_csv)
}

fn from_csv(text: &str) -> Option<Line> {
    let cells: Vec<&str> = text.split(',').collect();
    let [dataset, method, seed, ap, auroc, fit_seconds, score_seconds, peak_mb] = cells.as_slice() else { return None };
    Some(Line {
        dataset: (*dataset).to_owned(),
        method: (*method).to_owned(),
        seed: seed.parse().ok()?,
        ap: ap.parse().ok()?,
        auroc: auroc.parse().ok()?,
        fit_seconds: fit_seconds.parse().ok()?,
        score_seconds: score_seconds.parse().ok()?,
        peak_mb: peak_mb.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(dataset: &str, method: &str, seed: u64, ap: f64) -> Line {
        Line {
            dataset: dataset.into(),
            method: method.into(),
            seed,
            ap,
            auroc: 50.0,
            fit_seconds: 1.5,
            score_seconds: 0.25,
            peak_mb: 80.0,
        }
    }

    #[test]
    fn lines_survive_the_file() {
        let one = line("bank", "gnsm", 3, 71.25);
        assert_eq!(from_csv(&to_csv(&one)), Some(one));
        assert_eq!(from_csv("bank,gnsm,x,1,1,1,1,1"), None);
    }

    #[test]
    fn a_cut_off_line_is_dropped() {
        let folder = std::env::temp_dir().join(format!("gnsm-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("raw.csv");
        let whole = format!("{HEADER}\n{}\n", to_csv(&line("bank", "gnsm", 0, 70.0)));
        std::fs::write(&path, format!("{whole}bank,gnsm,1,7")).expect("written");
        assert_eq!(read_lines(&path).expect("read").len(), 1);
        assert_eq!(std::fs::read_to_string(&path).expect("read"), whole);
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
