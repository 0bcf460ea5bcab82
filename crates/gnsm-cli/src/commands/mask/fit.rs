//! `gnsm mask fit`: learns a model from the masks of a list.

use std::time::Instant;

use anyhow::{Result, bail};
use gnsm::Calibration;
use gnsm::mask::{MaskFitOptions, MaskFolder, MaskModel, Preparation, is_volume, read_list};
use serde_json::json;

use super::super::fit::{checkpoint_of, note_checkpoint, note_no_training, note_training, settle_checkpoint};
use super::super::{create_file, p_value_above, refuse_same_file};
use super::arguments::FitArguments;
use super::{AT_A_TIME, Bar, Failures, Outcome, VOLUMES_AT_A_TIME, method, note_device};
use crate::console::{Console, print_json};
use crate::display::{bytes, count, plural, seconds};
use crate::interrupt;
use crate::progress::FitWatcher;

/// The smallest p-value that a model should be able to give.
const RAREST: f64 = 0.05;

/// Runs it.
pub fn run(arguments: &FitArguments, console: Console) -> Result<Outcome> {
    let start = Instant::now();
    let path = arguments.output.as_path();
    let method = method(arguments)?;
    let size = arguments.size.or(method.default_size());
    let mut preparation = Preparation::default();
    (preparation.void, preparation.classes, preparation.size) = (arguments.void.0, arguments.classes, size);
    preparation.validate()?;
    if method.needs_images() && arguments.folder.images.is_none() {
        bail!("{} looks at the images; give their folder with --images", method.name());
    }
    refuse_same_file(path, &[&arguments.folder.list])?;
    // Better now than after all masks are read.
    drop(create_file(path)?);
    let names = read_list(&arguments.folder.list)?;
    let folder = MaskFolder { masks: arguments.folder.masks.clone(), images: arguments.folder.images.clone() };
    let mut options = MaskFitOptions::default();
    (options.seed, options.max_seconds) = (arguments.seed, arguments.max_seconds);
    options.checkpoint = method.training().and_then(|_| checkpoint_of(path));
    options.resume = arguments.resume;
    note_checkpoint(console, options.checkpoint.as_deref(), options.resume);
    interrupt::stop_training(console)?;

    let mut samples = Vec::new();
    let mut failures = Failures::new(console);
    let bar = Bar::new(console, names.len());
    let at_a_time = if is_volume(&folder.file(&names[0])) { VOLUMES_AT_A_TIME } else { AT_A_TIME };
    for part in names.chunks(at_a_time) {
        for slices in preparation.read(&folder, part) {
            match slices {
                Ok(slices) => samples.push(slices),
                Err(error) => failures.add(&error),
            }
        }
        bar.add(part.len());
        if interrupt::requested() {
            return Ok(Outcome::Interrupted);
        }
    }
    drop(bar);
    failures.finish(names.len(), "mend them or take them off the list")?;

    let mut watcher = FitWatcher::new(console);
    if method.training().is_some() {
        note_device(console);
        watcher.announce();
    } else {
        note_no_training(console, method.name(), options.max_seconds, options.resume);
    }
    let mut model = MaskModel::fit(samples, preparation, &*method, &options, &mut watcher)?;
    drop(watcher);
    model.save(path)?;
    if let Some((curve, ending)) = model.detector().training() {
        note_training(console, curve, ending);
        settle_checkpoint(console, options.checkpoint.as_deref(), ending)?;
    }
    if let Some(warning) = model.detector().warning() {
        console.warn(warning);
    }
    let [training, validation, calibration] = model.report().masks;
    let classes = model.preparation().classes;
    console.note(format_args!(
        "{} of {} classes: {} to learn from, {} to choose by, {} to calibrate p-values",
        plural(names.len() as u64, "mask"),
        count(classes.unwrap_or(0).into()),
        count(training),
        count(validation),
        count(calibration),
    ));
    if let Some(warning) = few_masks_warning(validation, model.calibration()) {
        console.warn(warning);
    }
    let size = std::fs::metadata(path).map_or(0, |found| found.len());
    let taken = start.elapsed().as_secs_f64();
    console.note(format_args!("wrote {} ({}) in {}", path.display(), bytes(size), seconds(taken)));
    if arguments.json {
        print_json(&json!({
            "model": path.display().to_string(),
            "blake3": model.hash(),
            "bytes": size,
            "method": model.method(),
            "preparation": model.preparation(),
            "seed": model.report().seed,
            "steps": model.detector().training().and_then(|(curve, _)| curve.last()).map(|point| point.step),
            "ending": model.detector().training().map(|(_, ending)| ending),
            "warning": model.detector().warning(),
            "masks": { "training": training, "validation": validation, "calibration": calibration },
            "seconds": taken,
        }))?;
    }
    Ok(Outcome::of_training(model.detector().training().map(|(_, ending)| ending), arguments.max_seconds))
}

/// The warning if too few masks were held out to tell how odd a mask is.
pub fn few_masks_warning(validation: u64, calibration: &Calibration) -> Option<String> {
    let smallest = calibration.smallest_p();
    let needed = 10.0 * (1.0 / RAREST - 1.0);
    (smallest > RAREST).then(|| {
        format!(
            "these are too few masks to calibrate well: with {} held out for it, p-values go down to {} at best, and {} more \
             tell how far out a score lies; take scores for a ranking only, or give {needed:.0} masks or more",
            count(calibration.rows()),
            p_value_above(smallest),
            count(validation),
        )
    })
}
