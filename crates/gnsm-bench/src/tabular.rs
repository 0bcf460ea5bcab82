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

const HEADER: &str = "dataset,method,settings,seed,ap,auroc,fit_seconds,score_seconds";

/// What to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder with `*.parquet`, each with a column `label`.
    pub data: PathBuf,
    /// The sets to run; all if empty.
    pub sets: Vec<String>,
    /// The methods, each under the name it has in the results.
    pub methods: Vec<(String, Method)>,
    /// Where one of them has other settings.
    pub exceptions: Vec<Exception>,
    /// Seeds 0 to this, exclusive.
    pub seeds: u64,
    /// Whether all seeds take the split of seed 0.
    pub one_split: bool,
    /// The folder for `raw.csv` and `summary.md`.
    pub out: PathBuf,
}

/// A set on which a method has other settings than elsewhere.
#[derive(Debug, Clone)]
pub struct Exception {
    /// The data set.
    pub set: String,
    /// The method's name in the results.
    pub name: String,
    /// The method with the settings for this set.
    pub method: Method,
}

/// One line of `raw.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The data set.
    pub dataset: String,
    /// The method.
    pub method: String,
    /// The hash of its settings; see [`Options::settings`].
    pub settings: String,
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
}

impl Options {
    /// The hash of all settings on which the figures of a method depend, with its exceptions.
    pub fn settings(&self, name: &str, method: &Method) -> Result<String> {
        let to_text = |method: &Method| {
            serde_json::to_string(method).map_err(|error| Error::fit(error.to_string(), "mend the benchmark"))
        };
        let mut text = to_text(method)?;
        for exception in self.exceptions.iter().filter(|exception| exception.name == name) {
            text += &format!(" on {} {}", exception.set, to_text(&exception.method)?);
        }
        Ok(raw::hash(&if self.one_split { format!("{text} on one split") } else { text }))
    }

    /// A method as it is on a set.
    fn on_set<'a>(&'a self, set: &str, name: &str, usual: &'a Method) -> &'a Method {
        let own = self.exceptions.iter().find(|exception| exception.set == set && exception.name == name);
        own.map_or(usual, |exception| &exception.method)
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
    let methods = options.methods.iter().map(|(name, method)| Ok((name, method, options.settings(name, method)?)));
    let methods = methods.collect::<Result<Vec<_>>>()?;
    let is_set = |path: &Path| path.extension().is_some_and(|ending| ending == "parquet");
    for (name, path) in raw::sets(&options.data, &options.sets, is_set)? {
        let missing = |seed: u64, done: &BTreeSet<_>| {
            methods
                .iter()
                .filter(|(method, _, settings)| !done.contains(&raw::key(&name, method, settings, seed)))
                .count()
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
            for (method_name, method, settings) in &methods {
                if !done.insert(raw::key(&name, method_name, settings, seed)) {
                    continue;
                }
                let method = options.on_set(&name, method_name, method);
                let line = measure(&name, method_name, settings, method, seed, &split)?;
                raw::append(&mut file, &raw, &to_csv(&line))?;
                report(&line);
                lines.push(line);
            }
        }
    }
    let summary = options.out.join("summary.md");
    std::fs::write(&summary, summarise(&lines)).map_err(|error| Error::io(&summary, error))
}

fn measure(
    dataset: &str,
    name: &str,
    settings: &str,
    method: &Method,
    seed: u64,
    split: &TrainTestSplit,
) -> Result<Line> {
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
        settings: settings.to_owned(),
        seed,
        ap: 100.0 * average_precision(&split.labels, &scores)?,
        auroc: 100.0 * auroc(&split.labels, &scores)?,
        fit_seconds,
        score_seconds,
    })
}

fn to_csv(line: &Line) -> String {
    format!(
        "{},{},{},{},{:.4},{:.4},{:.3},{:.3}",
        line.dataset, line.method, line.settings, line.seed, line.ap, line.auroc, line.fit_seconds, line.score_seconds
    )
}

/// Reads `raw.csv`.
pub fn read_lines(path: &Path) -> Result<Vec<Line>> {
    raw::read(path, HEADER, from_csv)
}

fn from_csv(text: &str) -> Option<Line> {
    let cells: Vec<&str> = text.split(',').collect();
    let [dataset, method, settings, seed, ap, auroc, fit_seconds, score_seconds] = cells.as_slice() else {
        return None;
    };
    Some(Line {
        dataset: (*dataset).to_owned(),
        method: (*method).to_owned(),
        settings: (*settings).to_owned(),
        seed: seed.parse().ok()?,
        ap: ap.parse().ok()?,
        auroc: auroc.parse().ok()?,
        fit_seconds: fit_seconds.parse().ok()?,
        score_seconds: score_seconds.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
    use gnsm::internals::detectors::IsolationForestConfig;
    use parquet::arrow::ArrowWriter;

    use super::*;

    fn line(dataset: &str, method: &str, seed: u64, ap: f64) -> Line {
        Line {
            dataset: dataset.into(),
            method: method.into(),
            settings: "1a2b3c4d".into(),
            seed,
            ap,
            auroc: 50.0,
            fit_seconds: 1.5,
            score_seconds: 0.25,
        }
    }

    #[test]
    fn lines_survive_the_file() {
        let one = line("bank", "gnsm", 3, 71.25);
        assert_eq!(from_csv(&to_csv(&one)), Some(one));
        assert_eq!(from_csv("bank,gnsm,1a2b3c4d,x,1,1,1,1"), None);
    }

    #[test]
    fn a_cut_off_line_is_dropped() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("raw.csv");
        let whole = format!("{HEADER}\n{}\n", to_csv(&line("bank", "gnsm", 0, 70.0)));
        std::fs::write(&path, format!("{whole}bank,gnsm,1a2b3c4d,1,7")).expect("written");
        assert_eq!(read_lines(&path).expect("read").len(), 1);
        assert_eq!(std::fs::read_to_string(&path).expect("read"), whole);
    }

    #[test]
    fn a_file_with_other_columns_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("raw.csv");
        std::fs::write(&path, "dataset,method,seed,ap\nbank,gnsm,1,70.0\n").expect("written");
        let problem = read_lines(&path).expect_err("another version's").to_string();
        assert!(problem.contains("another version") && problem.contains("another folder"), "{problem}");
    }

    /// A table of two numbers, of which the last rows are odd.
    fn write_set(path: &Path) {
        let numbers = |step: f64| (0..60).map(|row| (f64::from(row) * step).sin() + f64::from(row / 50)).collect();
        let labels: Vec<i64> = (0..60).map(|row| row / 50).collect();
        let columns: [(&str, ArrayRef); 3] = [
            ("height", Arc::new(Float64Array::from_iter_values::<Vec<f64>>(numbers(1.3)))),
            ("weight", Arc::new(Float64Array::from_iter_values::<Vec<f64>>(numbers(2.1)))),
            ("label", Arc::new(Int64Array::from(labels))),
        ];
        let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
        let file = File::create(path).expect("a file");
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
        writer.write(&batch).expect("written");
        writer.close().expect("closed");
    }

    #[test]
    fn an_exception_holds_on_its_set_and_is_part_of_the_hash() {
        let named = |name| Method::named(name).expect("a method");
        let exception = Exception { set: "bank".into(), name: "one".into(), method: named("ecod") };
        let mut options = Options {
            data: PathBuf::new(),
            sets: vec![],
            methods: vec![("one".into(), named("pca")), ("two".into(), named("pca"))],
            exceptions: vec![exception],
            seeds: 1,
            one_split: false,
            out: PathBuf::new(),
        };
        let usual = named("pca");
        assert_eq!(options.on_set("bank", "one", &usual), &named("ecod"));
        assert_eq!([options.on_set("cmc", "one", &usual), options.on_set("bank", "two", &usual)], [&usual; 2]);
        let hashes = |options: &Options| ["one", "two"].map(|name| options.settings(name, &usual).expect("a hash"));
        let [one, two] = hashes(&options);
        options.exceptions.clear();
        assert_eq!(hashes(&options), [two.clone(), two.clone()]);
        assert_ne!(one, two);
    }

    #[test]
    fn a_run_with_other_settings_is_not_taken_for_done() {
        let folder = tempfile::tempdir().expect("a folder");
        write_set(&folder.path().join("people.parquet"));
        let mut few = IsolationForestConfig::default();
        few.trees = 3;
        let mut many = few;
        many.trees = 30;
        let measured = |config: &IsolationForestConfig, one_split| {
            let mut new = 0;
            let options = Options {
                data: folder.path().into(),
                sets: vec![],
                methods: vec![("isolation-forest".into(), Method::IsolationForest(*config))],
                exceptions: Vec::new(),
                seeds: 2,
                one_split,
                out: folder.path().join("out"),
            };
            run(&options, &mut |_| new += 1).expect("a run");
            new
        };
        assert_eq!([measured(&few, false), measured(&few, false)], [2, 0], "the same settings are measured once");
        assert_eq!([measured(&many, false), measured(&few, true)], [2, 2], "other settings are measured too");
        assert_eq!(measured(&few, false), 0);
        let lines = read_lines(&folder.path().join("out/raw.csv")).expect("lines");
        assert_eq!(lines.len(), 6);
        let summary = std::fs::read_to_string(folder.path().join("out/summary.md")).expect("a summary");
        for line in lines {
            assert!(summary.contains(&format!("isolation-forest {}", line.settings)), "{summary}");
        }
    }
}
