//! Our side of `reference/rivals.py`: deals out a data set, writes its encoded rows for the rivals, fits and scores, and says how long it took.
//!
//!     rivals FILE SEED OUT [METHOD ...]
//!
//! A METHOD is JSON, such as `{"method":"knn","settings":{}}`. OUT receives `shape.json`, the codes, numbers and labels as raw
//! little-endian arrays, and `scores.I` of the I-th method; the seconds are lines of JSON on standard output. Clocks run from encoded rows
//! in memory to scores in memory, as the rivals' run from arrays to arrays.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use gnsm::internals::columns::Encoded;
use gnsm::internals::train::Run;
use gnsm::{Method, Silent};
use gnsm_bench::protocol::DataSet;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, seed, out, methods @ ..] = arguments.as_slice() else { return Err("FILE SEED OUT [METHOD ...]".into()) };
    let (seed, out) = (seed.parse()?, Path::new(out));
    let split = DataSet::read(file.as_ref())?.split(seed)?;
    let layout = split.encoder.layout();
    std::fs::create_dir_all(out)?;
    write_rows(out, "fit", &split.training.concat(&split.validation))?;
    write_rows(out, "test", &split.test)?;
    std::fs::write(out.join("labels"), split.labels.iter().map(|label| u8::from(*label)).collect::<Vec<u8>>())?;
    let sizes: Vec<usize> = (0..layout.n_groups()).map(|group| layout.size(group)).collect();
    let shape = serde_json::json!({ "sizes": sizes, "numbers": layout.n_numbers() });
    std::fs::write(out.join("shape.json"), shape.to_string())?;

    let mut report = String::new();
    for (index, text) in methods.iter().enumerate() {
        let method: Method = serde_json::from_str(text)?;
        let start = Instant::now();
        let run = Run { seed, max_seconds: None, resume: None, save: None, watcher: &mut Silent };
        let fitted = method.fit(layout, &split.training, &split.validation, run)?;
        let fit = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let scores = fitted.score_distinct(&split.test);
        let score = start.elapsed().as_secs_f64();
        std::fs::write(out.join(format!("scores.{index}")), to_bytes(scores.iter().map(|score| score.to_le_bytes())))?;
        writeln!(report, "{}", serde_json::json!({ "fit": fit, "score": score }))?;
    }
    std::io::Write::write_all(&mut std::io::stdout(), report.as_bytes())?;
    Ok(())
}

fn write_rows(out: &Path, name: &str, rows: &Encoded) -> std::io::Result<()> {
    let all = || 0..rows.n_rows();
    let codes = to_bytes(all().flat_map(|row| rows.codes(row).iter().map(|code| code.to_le_bytes())));
    std::fs::write(out.join(format!("{name}.codes")), codes)?;
    let numbers = to_bytes(all().flat_map(|row| rows.numbers(row).iter().map(|number| number.to_le_bytes())));
    std::fs::write(out.join(format!("{name}.numbers")), numbers)
}

fn to_bytes<const N: usize>(values: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    values.flatten().collect()
}
