//! `gnsm bench`: the paper's tables, and tables with planted oddities.

use std::num::NonZeroU64;
use std::time::Instant;

use anyhow::{Error, Result};
use gnsm::Method;
use gnsm::mask::{MaskMethod, method_named};
use gnsm::settings::PaperSet;
use gnsm_bench::{dirty, masks, mistakes, own, planted, tabular};

use super::Outcome;
use super::mask::arguments::BenchMasksArguments;
use super::mask::networks;
use crate::arguments::{
    BenchArguments, BenchCellsArguments, BenchCommand, BenchOwnArguments, BenchPlantedArguments, BenchTabularArguments,
    Preset,
};
use crate::console::{self, Console};
use crate::settings;

/// The paper's own head, beside the default one.
pub const PAPER_HEAD: &str = "gnsm-norms";

/// Runs it.
pub fn run(arguments: &BenchArguments, console: Console) -> Result<Outcome> {
    match &arguments.command {
        BenchCommand::Tabular(arguments) => tabular(arguments, console),
        BenchCommand::Own(arguments) => own(arguments, console),
        BenchCommand::Masks(arguments) => masks(arguments, console),
        BenchCommand::Planted(arguments) => planted(arguments, console),
        BenchCommand::Cells(arguments) => cells(arguments, console),
    }
}

fn tabular(arguments: &BenchTabularArguments, console: Console) -> Result<Outcome> {
    let methods = arguments.methods.iter().map(|name| Ok((name.clone(), method(name, arguments, PaperSet::Any)?)));
    let methods = methods.collect::<Result<_>>()?;
    let exceptions = if arguments.preset == Preset::Paper { exceptions(arguments)? } else { Vec::new() };
    let options = tabular::Options {
        data: arguments.data.clone(),
        sets: arguments.sets.clone(),
        methods,
        exceptions,
        seeds: arguments.seeds,
        one_split: arguments.one_split,
        out: arguments.out.clone(),
    };
    let settings = options.methods.iter().map(|(name, method)| Ok((name, options.settings(name, method)?)));
    note_settings(&settings.collect::<Result<Vec<_>>>()?, console);
    tabular::run(&options, &mut |line| {
        console.note(format_args!(
            "{:<10} {:<16} seed {}  AP {:6.2}  AUROC {:6.2}  fit {:.1} s  score {:.2} s",
            line.dataset, line.method, line.seed, line.ap, line.auroc, line.fit_seconds, line.score_seconds
        ));
    })?;
    let summary = arguments.out.join("summary.md");
    console::print(&std::fs::read_to_string(&summary)?)?;
    Ok(Outcome::Done)
}

fn own(arguments: &BenchOwnArguments, console: Console) -> Result<Outcome> {
    let methods = arguments.methods.iter().map(|name| Ok((name.clone(), Method::named(name)?)));
    let options = own::Options {
        data: arguments.data.clone(),
        sets: arguments.sets.clone(),
        methods: methods.collect::<Result<_>>()?,
        seeds: arguments.seeds,
        tables: arguments.tables.clone(),
        out: arguments.out.clone(),
    };
    let settings = options.methods.iter().map(|(name, method)| Ok((name, own::settings(method)?)));
    note_settings(&settings.collect::<Result<Vec<_>>>()?, console);
    own::run(&options, &mut |line| {
        console.note(format_args!(
            "{:<16} {:<16} seed {}  AUROC {:6.2}  AP {:6.2}  flagged {:4}, right {:4}  {:.1} s",
            line.dataset,
            line.method,
            line.seed,
            line.auroc,
            line.ap,
            line.flagged,
            line.flagged_anomalies,
            line.seconds
        ));
    })?;
    let summary = arguments.out.join("summary.md");
    console::print(&std::fs::read_to_string(&summary)?)?;
    Ok(Outcome::Done)
}

fn masks(arguments: &BenchMasksArguments, console: Console) -> Result<Outcome> {
    let methods = arguments.methods.iter().map(|name| Ok((name.clone(), mask_method(name, arguments.max_steps)?)));
    let options = masks::Options {
        data: arguments.data.clone(),
        sets: arguments.sets.clone(),
        methods: methods.collect::<Result<_>>()?,
        seeds: arguments.seeds,
        out: arguments.out.clone(),
    };
    let settings: Vec<_> = options.methods.iter().map(|(name, method)| (name, masks::settings(&**method))).collect();
    note_settings(&settings, console);
    masks::run(&options, &mut |line| {
        let [fit, score] = line.seconds();
        console.note(format_args!(
            "{:<10} {:<18} seed {}  Spearman {:+.3}  AUROC {:.3}  fit {fit:.0} s  score {score:.0} s",
            line.dataset,
            line.method,
            line.seed,
            line.spearman_dice(),
            line.auroc_failed()
        ));
    })?;
    let summary = arguments.out.join("summary.md");
    console::print(&std::fs::read_to_string(&summary)?)?;
    Ok(Outcome::Done)
}

fn cells(arguments: &BenchCellsArguments, console: Console) -> Result<Outcome> {
    if let Some(data) = &arguments.data {
        dirty::run(data, &arguments.out, &mut |line| {
            console.note(format_args!(
                "{:<10} cell AP {:.1}  first reason {:.1} %",
                line.name, line.ranking[0], line.first_reason
            ));
        })?;
        console::print(&std::fs::read_to_string(arguments.out.join("cells.md"))?)?;
    }
    if !arguments.plant.is_empty() {
        let figures = mistakes::run(&arguments.plant, arguments.seeds, &mut |table, seed, found| {
            console.note(format_args!("{table:<10} seed {seed}  planted {}  named {}", found.planted, found.first));
        })?;
        let summary = mistakes::write_summary(&figures, &arguments.out)?;
        console::print(&std::fs::read_to_string(summary)?)?;
    }
    Ok(Outcome::Done)
}

fn planted(arguments: &BenchPlantedArguments, console: Console) -> Result<Outcome> {
    let options =
        planted::Options { tables: arguments.tables.clone(), seeds: arguments.seeds, out: arguments.out.clone() };
    let mut start = Instant::now();
    planted::run(&options, &planted::fit_and_score, &mut |outcome| {
        let count = |test: fn(&planted::Line) -> bool| outcome.lines.iter().filter(|line| test(line)).count();
        console.note(format_args!(
            "{:<10} seed {}  planted {:2}  among the top {:2}  named {:2}  {:.0} s",
            outcome.made.name,
            outcome.made.seed,
            outcome.lines.len(),
            count(|line| line.in_top_k),
            count(|line| line.named),
            start.elapsed().as_secs_f64()
        ));
        if let Some(failure) = &outcome.failure {
            console.note(format_args!("           failed: {failure}"));
        }
        start = Instant::now();
    })?;
    let summary = arguments.out.join("summary.md");
    console::print(&std::fs::read_to_string(&summary)?)?;
    Ok(Outcome::Done)
}

/// Says by which hash the runs of each method are known: a summary has it where a folder holds runs with several
/// settings.
fn note_settings(methods: &[(&String, String)], console: Console) {
    let settings: Vec<String> = methods.iter().map(|(name, settings)| format!("{name} {settings}")).collect();
    console.note(format_args!("settings: {}", settings.join(", ")));
}

fn mask_method(name: &str, most: Option<NonZeroU64>) -> Result<Box<dyn MaskMethod>> {
    let mut method = match name {
        PAPER_HEAD => networks::paper_head()?,
        _ => method_named(networks::methods(), name)?,
    };
    if let (Some(most), Some(training)) = (most, method.training()) {
        let steps = training.steps.min(most.get());
        let mut settings = method.settings();
        settings["training"]["steps"] = steps.into();
        method.set(settings).map_err(Error::msg)?;
    }
    Ok(method)
}

/// What the paper does otherwise on some of its sets.
fn exceptions(arguments: &BenchTabularArguments) -> Result<Vec<tabular::Exception>> {
    let mut exceptions = Vec::new();
    for name in &arguments.methods {
        let usual = method(name, arguments, PaperSet::Any)?;
        for set in ["bank", "census", "cmc", "probe", "solar", "u2r"] {
            let other = method(name, arguments, PaperSet::named(set))?;
            if other != usual {
                exceptions.push(tabular::Exception { set: set.to_owned(), name: name.clone(), method: other });
            }
        }
    }
    Ok(exceptions)
}

/// A method by its name; the preset `paper` has its settings for `set`.
fn method(name: &str, arguments: &BenchTabularArguments, set: PaperSet) -> Result<Method> {
    let base = Method::named(if name == PAPER_HEAD { "gnsm" } else { name })?;
    let mut method = match arguments.preset {
        Preset::Paper => settings::as_in_the_paper(base, set),
        preset => settings::with_preset(base, preset),
    };
    if let (Method::Gnsm(config), PAPER_HEAD) = (&mut method, name) {
        *config = config.with_paper_head();
    }
    if let (Method::Gnsm(_), Some(path)) = (&method, &arguments.config) {
        method = settings::with_file(&method, path)?;
    }
    let steps = match &mut method {
        Method::Gnsm(config) => Some(&mut config.training.steps),
        Method::Dsvdd(config) => Some(&mut config.training.steps),
        Method::Dagmm(config) => Some(&mut config.training.steps),
        _ => None,
    };
    if let (Some(steps), Some(most)) = (steps, arguments.max_steps) {
        *steps = (*steps).min(most.get());
    }
    Ok(method)
}
