//! Tables judged with their anomalies in them, as `gnsm detect` meets them.
//!
//! Of a labelled set at most 8,000 normal rows are taken, and of its anomalies their natural share, but never more than
//! a tenth of all rows. The rows stand in random order. Each method is fitted on the table without labels and asked
//! about the rows of that same table. `summary.md` (`own/summary.rs`) follows from `raw.csv` alone.

mod deal;
mod summary;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use gnsm::metrics::{auroc, average_precision};
use gnsm::{Decision, Error, Method, Model, Result, Rule};

pub use deal::{Own, deal};

use crate::protocol::{DataSet, LABEL};
use crate::raw;

const HEADER: &str = "dataset,method,settings,seed,rows,anomalies,auroc,ap,flagged,flagged_anomalies,seconds";
/// The share of flags that may be false, as `gnsm detect` has it.
const RATE: f64 = 0.1;

/// What to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folders with `*.parquet`, each with a column `label`.
    pub data: Vec<PathBuf>,
    /// The sets to run; all if empty.
    pub sets: Vec<String>,
    /// The methods, each under the name it has in the results.
    pub methods: Vec<(String, Method)>,
    /// Seeds 0 to this, exclusive. Each has its own rows and fit.
    pub seeds: u64,
    /// Where the tables are written for other programs, if anywhere.
    pub tables: Option<PathBuf>,
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
    /// The hash of its settings.
    pub settings: String,
    /// The seed of the rows and of the fit.
    pub seed: u64,
    /// Rows of the table.
    pub rows: usize,
    /// Those that are anomalies.
    pub anomalies: usize,
    /// Area under the ROC curve, in per cent.
    pub auroc: f64,
    /// Average precision, in per cent.
    pub ap: f64,
    /// Rows that are flagged.
    pub flagged: usize,
    /// Those that are anomalies.
    pub flagged_anomalies: usize,
    /// Seconds to fit and to judge.
    pub seconds: f64,
}

impl Line {
    /// The share of the flagged rows that are anomalies, in per cent; not a number where none is flagged.
    pub fn right(&self) -> f64 {
        100.0 * self.flagged_anomalies as f64 / self.flagged as f64
    }

    /// The share of the anomalies that are flagged, in per cent.
    pub fn found(&self) -> f64 {
        100.0 * self.flagged_anomalies as f64 / self.anomalies as f64
    }
}

/// Runs what is not done yet, and writes the summary. `report` sees each new line.
pub fn run(options: &Options, report: &mut dyn FnMut(&Line)) -> Result<()> {
    std::fs::create_dir_all(&options.out).map_err(|error| Error::io(&options.out, error))?;
    let raw = options.out.join("raw.csv");
    let mut lines = if raw.exists() { read_lines(&raw)? } else { Vec::new() };
    let mut file = raw::open(&raw, HEADER)?;
    let mut done: BTreeSet<[String; 4]> =
        lines.iter().map(|line| raw::key(&line.dataset, &line.method, &line.settings, line.seed)).collect();
    let methods = options.methods.iter().map(|(name, method)| Ok((name, method, settings(method)?)));
    let methods = methods.collect::<Result<Vec<_>>>()?;
    for (name, path) in sets(&options.data, &options.sets)? {
        let mut data = None;
        for seed in 0..options.seeds {
            let is_missing = |method: &str, settings: &str| !done.contains(&raw::key(&name, method, settings, seed));
            let table = options.tables.as_ref().map(|folder| folder.join(format!("{name}.{seed}.csv")));
            let table = table.filter(|path| !path.exists());
            if table.is_none() && !methods.iter().any(|(method, _, settings)| is_missing(method, settings)) {
                continue;
            }
            let data = match &mut data {
                Some(data) => data,
                none => none.insert(DataSet::read(&path)?),
            };
            let own = deal(data, seed);
            if let Some(table) = table {
                own.write(&table)?;
            }
            for (method_name, method, settings) in &methods {
                if !done.insert(raw::key(&name, method_name, settings, seed)) {
                    continue;
                }
                let line = Line {
                    dataset: name.clone(),
                    method: (*method_name).clone(),
                    settings: settings.clone(),
                    ..measure(method, seed, &own)?
                };
                raw::append(&mut file, &raw, &to_csv(&line))?;
                report(&line);
                lines.push(line);
            }
        }
    }
    let summary = options.out.join("summary.md");
    std::fs::write(&summary, summary::summarise(&lines)).map_err(|error| Error::io(&summary, error))
}

/// The hash of a method's settings.
pub fn settings(method: &Method) -> Result<String> {
    let text = serde_json::to_string(method).map_err(|error| Error::fit(error.to_string(), "mend the benchmark"))?;
    Ok(raw::hash(&text))
}

/// The sets of all folders, those of the first folder first. A set of a name that came before is left out.
fn sets(folders: &[PathBuf], wanted: &[String]) -> Result<Vec<(String, PathBuf)>> {
    let is_set = |path: &Path| path.extension().is_some_and(|ending| ending == "parquet");
    let mut all: Vec<(String, PathBuf)> = Vec::new();
    for folder in folders {
        for set in raw::sets(folder, &[], is_set)? {
            if !all.iter().any(|(name, _)| *name == set.0) {
                all.push(set);
            }
        }
    }
    if let Some(unknown) = wanted.iter().find(|wanted| !all.iter().any(|(name, _)| name == *wanted)) {
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        return Err(Error::schema(format!("there is no set {unknown}"), format!("there are {}", names.join(", "))));
    }
    all.retain(|(name, _)| wanted.is_empty() || wanted.contains(name));
    Ok(all)
}

/// Fits on a table and judges its own rows, as `gnsm detect` does.
fn measure(method: &Method, seed: u64, own: &Own) -> Result<Line> {
    let start = Instant::now();
    let fit = Model::builder().settings(method.clone()).seed(seed).label(LABEL).fit_and_judge(&own.table)?;
    let rows = fit.own();
    let scored = rows.scores();
    let seconds = start.elapsed().as_secs_f64();
    let mut decision = Decision::new(Rule::Fdr(RATE))?;
    decision.add(scored);
    let known = decision.finish();
    let flags: Vec<bool> = scored.iter().map(|row| known.flags(row)).collect();
    let scores: Vec<f64> = scored.iter().map(|row| row.score).collect();
    let count = |test: &dyn Fn(usize) -> bool| (0..flags.len()).filter(|row| test(*row)).count();
    Ok(Line {
        dataset: String::new(),
        method: String::new(),
        settings: String::new(),
        seed,
        rows: flags.len(),
        anomalies: count(&|row| own.labels[row]),
        auroc: 100.0 * auroc(&own.labels, &scores)?,
        ap: 100.0 * average_precision(&own.labels, &scores)?,
        flagged: count(&|row| flags[row]),
        flagged_anomalies: count(&|row| flags[row] && own.labels[row]),
        seconds,
    })
}

fn to_csv(line: &Line) -> String {
    format!(
        "{},{},{},{},{},{},{:.4},{:.4},{},{},{:.3}",
        line.dataset,
        line.method,
        line.settings,
        line.seed,
        line.rows,
        line.anomalies,
        line.auroc,
        line.ap,
        line.flagged,
        line.flagged_anomalies,
        line.seconds
    )
}

/// Reads `raw.csv`.
pub fn read_lines(path: &Path) -> Result<Vec<Line>> {
    raw::read(path, HEADER, from_csv)
}

fn from_csv(text: &str) -> Option<Line> {
    let cells: Vec<&str> = text.split(',').collect();
    let [dataset, method, settings, seed, rows, anomalies, auroc, ap, flagged, flagged_anomalies, seconds] =
        cells.as_slice()
    else {
        return None;
    };
    Some(Line {
        dataset: (*dataset).to_owned(),
        method: (*method).to_owned(),
        settings: (*settings).to_owned(),
        seed: seed.parse().ok()?,
        rows: rows.parse().ok()?,
        anomalies: anomalies.parse().ok()?,
        auroc: auroc.parse().ok()?,
        ap: ap.parse().ok()?,
        flagged: flagged.parse().ok()?,
        flagged_anomalies: flagged_anomalies.parse().ok()?,
        seconds: seconds.parse().ok()?,
    })
}

#[cfg(test)]
mod tests;
