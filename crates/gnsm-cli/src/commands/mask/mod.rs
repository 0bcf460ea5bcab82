//! `gnsm mask`: finds odd segmentation masks, and measures masks against the truth.

pub mod arguments;
pub mod fit;
pub mod networks;
mod score;
pub mod inspect;
mod overlay;
mod metrics;
mod evaluate;
mod chart;
mod report;

use std::fmt::Display;

use anyhow::{Result, anyhow, bail};
use gnsm::Error;
use gnsm::mask::{MaskMethod, method_named};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::Outcome;
use crate::console::Console;
use crate::display::{count, plain, plural};
use crate::settings;
use arguments::{FitArguments, MaskArguments, MaskCommand, MaskHeadName, MaskPreset};

/// Images that are read and scored at a time.
const AT_A_TIME: usize = 64;
/// Volumes that are read and scored at a time.
const VOLUMES_AT_A_TIME: usize = 2;
/// Images that could not be used and are named, at the most.
const NAMED_FAILURES: usize = 20;

/// Runs it.
pub fn run(arguments: &MaskArguments, console: Console) -> Result<Outcome> {
    match &arguments.command {
        MaskCommand::Fit(arguments) => fit::run(arguments, console),
        MaskCommand::Score(arguments) => score::run(arguments, console),
        MaskCommand::Metrics(arguments) => metrics::run(arguments, console),
        MaskCommand::Evaluate(arguments) => evaluate::run(arguments, console),
        MaskCommand::Report(arguments) => report::run(arguments, console),
    }
}

/// The method of that name, with its preset and head.
fn named(name: &str, preset: Option<MaskPreset>, head: Option<MaskHeadName>) -> Result<Box<dyn MaskMethod>> {
    if name != "gnsm" && (preset.is_some() || head.is_some()) {
        bail!("--preset and --head are for the method gnsm, not for {name}; leave them out");
    }
    Ok(match name {
        "gnsm" => networks::gnsm(preset, head)?,
        _ => method_named(networks::methods(), name)?,
    })
}

/// A method with all of it given by name, and changes to its settings as JSON.
pub fn method_with(
    name: &str,
    preset: Option<&str>,
    head: Option<&str>,
    changes: Value,
) -> Result<Box<dyn MaskMethod>> {
    let mut method = named(name, settings::parsed("preset", preset)?, settings::parsed("head", head)?)?;
    if changes.as_object().is_some_and(|changes| !changes.is_empty()) {
        if method.settings().is_null() {
            bail!("{name} has no settings; leave them out");
        }
        let changed = settings::changed(&method.settings(), changes)?;
        method.set(changed).map_err(|problem| anyhow!("{problem}"))?;
    }
    Ok(method)
}

/// The method that was asked for, with its settings.
fn method(arguments: &FitArguments) -> Result<Box<dyn MaskMethod>> {
    let name = arguments.method.as_str();
    let mut method = named(name, arguments.preset, arguments.head)?;
    if let Some(path) = &arguments.config {
        if method.settings().is_null() {
            bail!("{name} has no settings; leave out --config");
        }
        let changed = settings::with_changes_of(&method.settings(), path)?;
        method.set(changed).map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
    }
    Ok(method)
}

/// Says where the network runs. A model file does not: it is the same for all devices.
fn note_device(console: Console) {
    console.note(format_args!("the network runs on {}", networks::device_name()));
}

/// The images of a list that could not be used. Each is named, and the others are still done.
struct Failures {
    console: Console,
    count: usize,
}

impl Failures {
    fn new(console: Console) -> Self {
        Self { console, count: 0 }
    }

    /// One more.
    fn add(&mut self, error: &Error) {
        self.count += 1;
        if self.count <= NAMED_FAILURES {
            self.console.warn(plain(&error.to_string()));
        }
    }

    /// An error if there were any; it says how many others were done.
    fn finish(self, total: usize, others: impl Display) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        if self.count > NAMED_FAILURES {
            self.console.note(format_args!("… and {} more", count((self.count - NAMED_FAILURES) as u64)));
        }
        bail!("{} of {} could not be used; {others}", count(self.count as u64), plural(total as u64, "image"))
    }
}

/// A bar where something may move.
struct Bar(Option<ProgressBar>);

impl Bar {
    fn new(console: Console, total: usize) -> Self {
        Self(console.is_lively().then(|| {
            let style = ProgressStyle::with_template("  {wide_bar} {human_pos} of {human_len} images, {eta} left");
            ProgressBar::new(total as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        }))
    }

    fn add(&self, images: usize) {
        if let Some(bar) = &self.0 {
            bar.inc(images as u64);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
