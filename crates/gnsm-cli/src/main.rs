//! The `gnsm` binary: arguments, progress and output around the `gnsm` library.
//!
//! Results go to standard output, everything else to standard error. The exit code is 0 for success and 2 after an
//! error, which is one line. It is 1 only with `--fail-on-anomaly` or `--fail-if-more-than`, if so many rows are flagged,
//! and 130 if Ctrl-C or a request to terminate ended the run.

mod arguments;
mod commands;
mod settings;
mod console;
mod display;
mod output;
mod progress;
mod interrupt;
mod panics;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use arguments::{Arguments, Command};
use commands::{
    Outcome, bench, columns, completions, demo, detect, explain, fit, inspect, man, mask, repair, report, score,
};
use console::Console;

fn main() -> ExitCode {
    panics::record();
    let arguments = Arguments::parse();
    let outcome = panics::caught(|| run(arguments)).unwrap_or_else(|panic| Err(panic.into()));
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::AnomalyFound) => ExitCode::from(1),
        Ok(Outcome::Interrupted) => ExitCode::from(interrupt::EXIT_CODE),
        Err(error) if console::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            console::report(&error);
            ExitCode::from(2)
        }
    }
}

fn run(arguments: Arguments) -> Result<Outcome> {
    if let Some(threads) = arguments.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get());
        pool.build_global().context("cannot start the threads")?;
    }
    let console = Console::new(arguments.quiet);
    match arguments.command {
        Command::Demo(arguments) => demo::run(&arguments, console),
        Command::Columns(arguments) => columns::run(&arguments, console),
        Command::Detect(arguments) => detect::run(&arguments, console),
        Command::Fit(arguments) => fit::run(&arguments, console),
        Command::Score(arguments) => score::run(&arguments, console),
        Command::Explain(arguments) => explain::run(&arguments, console),
        Command::Repair(arguments) => repair::run(&arguments, console),
        Command::Report(arguments) => report::run(&arguments, console),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Mask(arguments) => mask::run(&arguments, console),
        Command::Bench(arguments) => bench::run(&arguments, console),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    }
}
