//! `gnsm fit`: learns a model from a table and writes it to a file.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use gnsm::{CurvePoint, Ending, Method, Model, ModelBuilder};
use serde_json::json;

use super::{Outcome, create_file, read_rows, refuse_same_file};
use crate::arguments::{ColumnArguments, FitArguments, MethodArguments};
use crate::console::{Console, print_json};
use crate::display::{bytes, count, plural, seconds};
use crate::progress::{FitWatcher, kind_name};
use crate::{interrupt, settings};

/// Runs the command.
pub fn run(arguments: &FitArguments, console: Console) -> Result<Outcome> {
    let start = Instant::now();
    let model_path = arguments.output.as_path();
    let (method, mut builder, missing) = what_to_fit(&arguments.method, &arguments.columns)?;
    refuse_overwriting_inputs(model_path, &arguments.files, &arguments.method, &arguments.columns)?;
    // Better now than after an hour of training.
    drop(create_file(model_path)?);
    let checkpoint = method.training().and_then(|_| checkpoint_of(model_path));
    if let Some(path) = &checkpoint {
        builder = builder.checkpoint(path).resume(arguments.resume);
    }
    note_checkpoint(console, checkpoint.as_deref(), arguments.resume);
    interrupt::stop_training(console)?;
    let options = arguments.read.options(missing);
    let Some((rows, _)) = read_rows(&builder, &arguments.files, &options, arguments.memory.room(), console)? else {
        return Ok(Outcome::Interrupted);
    };

    if method.training().is_none() {
        note_no_training(console, method.name(), arguments.method.max_seconds, arguments.resume);
    }
    let mut model = builder.watch(&mut FitWatcher::new(console)).fit_rows(&rows)?;
    model.save(model_path)?;

    let trained = model.training();
    note_ending(console, &model);
    if let Some((_, ending)) = trained {
        settle_checkpoint(console, checkpoint.as_deref(), ending)?;
    }
    let size = std::fs::metadata(model_path).map_or(0, |found| found.len());
    let taken = start.elapsed().as_secs_f64();
    console.note(format_args!("wrote {} ({}) in {}", model_path.display(), bytes(size), seconds(taken)));
    if arguments.json {
        let [training_rows, validation_rows, calibration_rows] = model.report().rows;
        let columns = model
            .schema()
            .columns
            .iter()
            .map(|column| json!({ "name": column.name, "kind": kind_name(&column.kind), "why": column.reason }));
        print_json(&json!({
            "model": model_path.display().to_string(),
            "blake3": model.hash(),
            "bytes": size,
            "method": model.fitted().name(),
            "seed": model.report().seed,
            "rows": {
                "training": training_rows,
                "validation": validation_rows,
                "calibration": calibration_rows,
                "labelled_anomalies": model.report().labelled_anomalies,
                "chosen_from": model.report().chosen_from,
            },
            "label": model.report().label,
            "columns": columns.collect::<Vec<_>>(),
            "steps": trained.and_then(|(curve, _)| curve.last()).map(|point| point.step),
            "best_validation_loss": trained.and_then(|(curve, _)| best(curve)).map(|point| point.validation),
            "ending": trained.map(|(_, ending)| ending),
            "warning": model.warning(),
            "seconds": taken,
        }))?;
    }
    Ok(Outcome::of_training(trained.map(|(_, ending)| ending), arguments.method.max_seconds))
}

/// The method, all that `fit` and `detect` say about a fit alike, and the texts that mean "no value".
pub fn what_to_fit(
    arguments: &MethodArguments,
    columns: &ColumnArguments,
) -> Result<(Method, ModelBuilder<'static>, Option<Vec<String>>)> {
    let (choices, anomaly) = columns.choices()?;
    let missing = choices.missing.clone();
    let method = settings::method(arguments)?;
    let builder = Model::builder().settings(method.clone()).seed(arguments.seed);
    let builder = builder.max_seconds(arguments.max_seconds).columns(choices);
    Ok((method, if let Some(value) = anomaly { builder.anomaly(value) } else { builder }, missing))
}

/// Refuses an output that is one of the files this command reads.
pub fn refuse_overwriting_inputs(
    output: &Path,
    files: &[PathBuf],
    method: &MethodArguments,
    columns: &ColumnArguments,
) -> Result<()> {
    let settings = [method.config.as_deref(), columns.schema.as_deref()].into_iter().flatten();
    let read: Vec<&Path> = files.iter().map(PathBuf::as_path).chain(settings).collect();
    refuse_same_file(output, &read)
}

/// Says that --max-seconds and --resume have no effect, because the method has no training.
pub fn note_no_training(console: Console, method: &str, max_seconds: Option<f64>, resume: bool) {
    if max_seconds.is_some() {
        console.note(format_args!("--max-seconds limits training, and `{method}` has none"));
    }
    if resume {
        console.note(format_args!("--resume continues training, and `{method}` has none"));
    }
}

/// The point of the curve whose weights were kept.
pub fn best(curve: &[CurvePoint]) -> Option<&CurvePoint> {
    curve.iter().min_by(|a, b| a.validation.total_cmp(&b.validation))
}

/// Says how training ended, and what went wrong.
pub fn note_ending(console: Console, model: &Model) {
    let Some((curve, ending)) = model.training() else { return };
    note_training(console, curve, ending);
    if let Some(warning) = model.warning() {
        console.warn(warning);
    }
}

/// Says how training ended.
pub fn note_training(console: Console, curve: &[CurvePoint], ending: Ending) {
    let (Some(last), Some(best)) = (curve.last(), best(curve)) else { return };
    console.note(format_args!(
        "{} after {}; validation loss {:.4} at step {}",
        ending_text(ending),
        plural(last.step, "step"),
        best.validation,
        count(best.step)
    ));
}

/// Removes the saved state of a training that is over. If it was interrupted, says how to continue it.
pub fn settle_checkpoint(console: Console, checkpoint: Option<&Path>, ending: Ending) -> Result<()> {
    let Some(path) = checkpoint.filter(|path| path.exists()) else { return Ok(()) };
    if ending == Ending::Interrupted {
        console.note(format_args!("the same command with --resume continues from {}", path.display()));
    } else {
        std::fs::remove_file(path).map_err(|error| gnsm::Error::io(path, error))?;
    }
    Ok(())
}

/// Why training ended, for people.
pub fn ending_text(ending: Ending) -> &'static str {
    match ending {
        Ending::Completed => "training is complete",
        Ending::StoppedEarly => "training stopped improving",
        Ending::TimeLimit => "training met its time limit",
        Ending::Interrupted => "training was interrupted",
        Ending::Diverged => "training ended in a loss that is no number, and the best model before that was kept",
    }
}

/// Where the state of training is kept: beside the model, unless that is a device or a pipe.
pub fn checkpoint_of(model: &Path) -> Option<PathBuf> {
    let is_special = std::fs::metadata(model).is_ok_and(|found| !found.is_file());
    let mut name = model.as_os_str().to_owned();
    name.push(".checkpoint");
    (!is_special).then(|| name.into())
}

/// Says whether training continues from a checkpoint.
pub fn note_checkpoint(console: Console, checkpoint: Option<&Path>, resume: bool) {
    let Some(path) = checkpoint else { return };
    match (resume, path.exists()) {
        (true, true) => console.note(format_args!("continuing from {}", path.display())),
        (true, false) => console.note(format_args!("{} is not there: starting from the beginning", path.display())),
        (false, true) => {
            console.note(format_args!("starting from the beginning; --resume would continue from {}", path.display()));
        }
        (false, false) => {}
    }
}
