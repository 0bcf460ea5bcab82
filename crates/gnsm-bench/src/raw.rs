//! What benchmarks share: the sets of a folder, and `raw.csv`. That file gets a line for each run as soon as it is
//! done. It is only ever appended to, so a benchmark that was stopped goes on where it was. A run is known by its set,
//! its method, the hash of its settings and its seed.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use gnsm::{Error, Place, Result};

/// Opens the file for more lines, with a header if it is new.
pub fn open(path: &Path, header: &str) -> Result<File> {
    let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(|error| Error::io(path, error))?;
    if file.metadata().is_ok_and(|found| found.len() == 0) {
        append(&mut file, path, header)?;
    }
    Ok(file)
}

/// Adds a line.
pub fn append(file: &mut File, path: &Path, line: &str) -> Result<()> {
    writeln!(file, "{line}").map_err(|error| Error::io(path, error))
}

/// The hash of settings, as it stands in `raw.csv`: eight hexadecimal digits.
pub fn hash(settings: &impl Display) -> String {
    blake3::hash(settings.to_string().as_bytes()).to_hex()[..8].to_owned()
}

/// What a run is known by.
pub fn key(set: &str, method: &str, settings: &str, seed: u64) -> [String; 4] {
    [set, method, settings, &seed.to_string()].map(str::to_owned)
}

/// A method with its settings in a summary.
pub struct Column<'a> {
    /// The method's name, with the hash of the settings where the runs have several.
    pub name: String,
    /// The method.
    pub method: &'a str,
    /// The hash of its settings.
    pub settings: &'a str,
}

impl Column<'_> {
    /// Whether a run belongs to it.
    pub fn holds(&self, method: &str, settings: &str) -> bool {
        self.method == method && self.settings == settings
    }
}

/// The methods and settings of some runs, in the order of their first lines.
pub fn columns<'a>(lines: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Column<'a>> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for column in lines {
        if !found.contains(&column) {
            found.push(column);
        }
    }
    let name = |&(method, settings): &(&str, &str)| match found.iter().filter(|(other, _)| *other == method).count() {
        1 => method.to_owned(),
        _ => format!("{method} {settings}"),
    };
    found.iter().map(|found| Column { name: name(found), method: found.0, settings: found.1 }).collect()
}

/// Reads the lines below the header; a last line that was cut off by a crash is dropped, and its run done again.
pub fn read<T>(path: &Path, header: &str, from_csv: impl Fn(&str) -> Option<T>) -> Result<Vec<T>> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    if whole.len() + 1 < text.len() {
        let file = File::options().write(true).open(path).map_err(|error| Error::io(path, error))?;
        file.set_len(whole.len() as u64 + 1).map_err(|error| Error::io(path, error))?;
    }
    let problem = |index: usize, problem: &str, advice: String| {
        let place = Place { file: path.display().to_string(), line: Some(index as u64 + 1), column: None };
        Error::data(place, problem, advice)
    };
    let mut lines = whole.lines().enumerate();
    if lines.next().is_some_and(|(_, found)| found != header) {
        return Err(problem(0, "these are results of another version", "choose another folder".into()));
    }
    let line = |(index, text)| {
        let advice = || format!("its columns are {header}; remove the line");
        from_csv(text).ok_or_else(|| problem(index, "not a result line", advice()))
    };
    lines.map(line).collect()
}

/// The sets in a folder, in the order of their names: those that were asked for, or all.
pub fn sets(data: &Path, wanted: &[String], is_set: impl Fn(&Path) -> bool) -> Result<Vec<(String, PathBuf)>> {
    let entries = std::fs::read_dir(data).map_err(|error| Error::io(data, error))?;
    let mut sets: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| is_set(path))
        .map(|path| (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), path))
        .collect();
    sets.sort();
    if let Some(unknown) = wanted.iter().find(|wanted| !sets.iter().any(|(name, _)| name == *wanted)) {
        let names: Vec<&str> = sets.iter().map(|(name, _)| name.as_str()).collect();
        let problem = format!("{} has no set {unknown}", data.display());
        return Err(Error::schema(problem, format!("it has {}", names.join(", "))));
    }
    sets.retain(|(name, _)| wanted.is_empty() || wanted.contains(name));
    Ok(sets)
}
