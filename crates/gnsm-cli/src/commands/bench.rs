//! `gnsm bench`: runs the paper's benchmarks.

use std::num::NonZeroU64;

use anyhow::{Error, Result};
use gnsm::Method;
use gnsm::mask::{MaskMethod, method_named};
use gnsm_bench::{masks, tabular};
use gnsm_burn::{Gnsm, MaskGnsmConfig};

use super::Outcome;
use super::mask::arguments::BenchMasksArguments;
use crate::arguments::{BenchArguments, BenchCommand, BenchTabularArguments};
use crate::console::{self, Console};
use crate::settings;

/// The paper's own head, beside the default one.
pub const PAPER_HEAD: &str = "gnsm-norms";

/// Runs it.
pub fn run(arguments: &BenchArguments, console: Console) -> Result<Outcome> {
    match &arguments.command {
        BenchCommand::Tabular(arguments) => tabular(arguments, console),
        BenchCommand::Masks(arguments) => masks(arguments, console),
    }
}

fn tabular(arguments: &BenchTabularArguments, console: Console) -> Result<Outcome> {
    let methods =
        arguments.methods.iter().map(|name| Ok((name.clone(), method(name, arguments)?))).collect::<Result<_>>()?;
    let options = tabular::Options {
        data: arguments.data.clone(),
        sets: arguments.sets.clone(),
        methods,
        seeds: arguments.seeds,
        one_split: arguments.one_split,
        out: arguments.out.clone(),
    };
    tabular::run(&options, &mut |line| {
        console.note(format_args!(
            "{:<10} {:<16} seed {}  AP {:6.2}  AUROC {:6.2}  fit {:.1} s  score {:.2} s  {:.0} MB",
            line.dataset,
            line.method,
            line.seed,
            line.ap,
            line.auroc,
            line.fit_seconds,
            line.score_seconds,
            line.peak_mb
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

fn mask_method(name: &str, most: Option<NonZeroU64>) -> Result<Box<dyn MaskMethod>> {
    let mut method = match name {
        PAPER_HEAD => Box::new(Gnsm { config: MaskGnsmConfig::fast().with_paper_head() }),
        _ => method_named(gnsm_burn::methods(), name)?,
    };
    if let (Some(most), Some(training)) = (most, method.training()) {
        let steps = training.steps.min(most.get());
        let mut settings = method.settings();
        settings["training"]["steps"] = steps.into();
        method.set(settings).map_err(Error::msg)?;
    }
    Ok(method)
}

fn method(name: &str, arguments: &BenchTabularArguments) -> Result<Method> {
    let base = if name == PAPER_HEAD { "gnsm" } else { name };
    let mut method = settings::with_preset(Method::named(base)?, arguments.preset)?;
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
