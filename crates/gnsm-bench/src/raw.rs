//! What benchmarks share: the sets of a folder, peak memory, and `raw.csv`. That file gets a line for each run as soon
//! as it is done. It is only ever appended to, so a benchmark that was stopped goes on where it was.

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

/// Reads the lines below the header; a last line that was cut off by a crash is dropped, and its run done again.
pub fn read<T>(path: &Path, header: &str, from_csv: impl Fn(&str) -> Option<T>) -> Result<Vec<T>> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    if whole.len() + 1 < text.len() {
        let file = File::options().write(true).open(path).map_err(|error| Error::io(path, error))?;
        file.set_len(whole.len() as u64 + 1).map_err(|error| Error::io(path, error))?;
    }
    let lines = whole.lines().enumerate().skip(1);
    lines
        .map(|(index, text)| {
            from_csv(text).ok_or_else(|| {
                let place = Place { file: path.display().to_string(), line: Some(index as u64 + 1), column: None };
                Error::data(place, "not a result line", format!("its columns are {header}; remove the line"))
            })
        })
        .collect()
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

/// Lets the system's peak start again from what is in use now.
pub fn reset_peak() {
    // Only Linux has this, and may refuse it; the peak is then the process's own.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The peak memory of the process in megabytes; 0 where the system does not tell.
pub fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse().ok());
    kilobytes.map_or(0.0, |kilobytes: f64| kilobytes / 1024.0)
}
