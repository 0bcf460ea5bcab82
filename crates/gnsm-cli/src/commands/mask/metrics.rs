//! `gnsm mask metrics`: compares predicted masks with the true ones.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use gnsm::mask::{MaskFolder, Quality, Volume, compare, compare_spaced, is_volume, read_list, read_mask};
use gnsm::{Error, Place};
use rayon::prelude::*;

use super::super::refuse_same_file;
use super::arguments::MetricsArguments;
use super::{AT_A_TIME, Bar, Failures, Outcome};
use crate::console::Console;
use crate::display::{plural, seconds};
use crate::interrupt;
use crate::output::{Destination, csv_cell};

/// Runs it.
pub fn run(arguments: &MetricsArguments, console: Console) -> Result<Outcome> {
    let output = arguments.output.as_deref();
    if let Some(path) = output {
        refuse_same_file(path, &[&arguments.list])?;
    }
    let names = read_list(&arguments.list)?;
    interrupt::stop_soon()?;
    let mut destination = Destination::create(output)?;
    let start = Instant::now();
    let mut measured: Vec<(&str, Quality)> = Vec::new();
    let mut failures = Failures::new(console);
    let bar = Bar::new(console, names.len());
    for part in names.chunks(AT_A_TIME) {
        let found: Vec<_> = part.par_iter().map(|name| measure(arguments, name)).collect();
        for (name, quality) in part.iter().zip(found) {
            match quality {
                Ok(quality) => measured.push((name, quality)),
                Err(error) => failures.add(&error),
            }
        }
        bar.add(part.len());
        if interrupt::requested() {
            return Ok(Outcome::Interrupted);
        }
    }
    drop(bar);
    if measured.is_empty() {
        failures.finish(names.len(), "nothing is written")?;
        return Ok(Outcome::Done);
    }
    if measured.iter().all(|(_, quality)| quality.n_classes == 0) {
        console.warn("no mask has any foreground; if 255 is a class of yours and not void, say --void none");
    }
    let taken = start.elapsed().as_secs_f64();
    let target = output.map_or_else(|| "standard output".into(), |path| path.display().to_string());
    destination.write_all(table(&measured).as_bytes()).with_context(|| target.clone())?;
    destination.finish().with_context(|| target.clone())?;
    let mean = measured.iter().map(|(_, quality)| quality.dice).sum::<f64>() / measured.len() as f64;
    let poor = measured.iter().filter(|(_, quality)| quality.dice < 0.5).count();
    console.note(format_args!(
        "{} in {}: mean Dice {mean:.3}, {:.1} % below 0.5",
        plural(measured.len() as u64, "image"),
        seconds(taken),
        100.0 * poor as f64 / measured.len() as f64
    ));
    failures.finish(names.len(), format_args!("the metrics of the others are in {target}"))?;
    Ok(Outcome::Done)
}

fn measure(arguments: &MetricsArguments, name: &str) -> gnsm::Result<Quality> {
    let file = |folder: &Path| MaskFolder { masks: folder.to_path_buf(), images: None }.file(name);
    let (truth, prediction) = (file(&arguments.truth), file(&arguments.pred));
    let quality = if is_volume(&truth) || is_volume(&prediction) {
        measure_volume(&truth, &prediction, arguments.void.0)
    } else {
        compare(&read_mask(&truth)?, &read_mask(&prediction)?, arguments.void.0)
    };
    quality.map_err(|error| match error {
        Error::Schema { problem, advice } => {
            Error::data(Place { file: prediction.display().to_string(), ..Place::default() }, problem, advice)
        }
        other => other,
    })
}

/// The quality of a volume, its distances in the unit of the file.
fn measure_volume(truth: &Path, prediction: &Path, void: Option<u8>) -> gnsm::Result<Quality> {
    let (true_volume, predicted) = (Volume::read(truth)?, Volume::read(prediction)?);
    let spacing = true_volume.spacing();
    let differ = |(a, b): (f64, f64)| (a - b).abs() > 1e-3 * a;
    if true_volume.shape() == predicted.shape() && spacing.into_iter().zip(predicted.spacing()).any(differ) {
        let [z, y, x] = spacing;
        let [other_z, other_y, other_x] = predicted.spacing();
        let problem =
            format!("its voxels are {other_x} × {other_y} × {other_z} apart, those of the truth {x} × {y} × {z}");
        return Err(Error::schema(problem, "give volumes on one grid"));
    }
    compare_spaced(&true_volume.classes(truth)?, &predicted.classes(prediction)?, void, spacing)
}

fn table(measured: &[(&str, Quality)]) -> String {
    let mut text = format!("id,{}\n", Quality::NAMES.join(","));
    for (name, quality) in measured {
        text += &csv_cell(name);
        for value in quality.values() {
            text.push(',');
            if let Some(value) = value {
                // Writing to a string cannot fail.
                let _ = write!(text, "{value}");
            }
        }
        text.push('\n');
    }
    text
}
