//! The `gnsm` program: arguments, progress and output around the `gnsm` library.
//!
//! It is a library so that other programs can carry it, as the Python package does. They call [`main_with`].
//!
//! Results go to standard output, everything else to standard error. The exit code is 0 for success and 2 after an
//! error, which is one line. It is 1 only with `--fail-on-anomaly` or `--fail-if-more-than`, if so many rows are
//! flagged, and 130 if Ctrl-C or a request to terminate ended the run.

mod arguments;
mod commands;
#[doc(hidden)]
pub mod settings;
mod console;
mod display;
mod output;
mod progress;
mod interrupt;
#[doc(hidden)]
pub mod memory;
#[doc(hidden)]
pub mod panics;

use std::ffi::OsString;

use anyhow::{Context, Result};
use clap::Parser;

use arguments::{Arguments, Command};
#[cfg(feature = "serve")]
use commands::serve;
use commands::{
    Outcome, bench, columns, completions, demo, detect, drift, explain, fit, impute, inspect, man, mask, repair,
    report, sample, score,
};
use console::Console;

#[doc(hidden)]
pub use commands::inspect::describe;
#[doc(hidden)]
pub use commands::mask::fit::few_masks_warning;
#[doc(hidden)]
pub use commands::mask::inspect::describe as describe_masks;
#[doc(hidden)]
pub use commands::mask::{method_with as mask_method_with, networks::methods as mask_methods};
#[doc(hidden)]
pub use commands::repair::{Change, changes};
#[doc(hidden)]
pub use commands::{column_notes, contamination_warning};
#[doc(hidden)]
pub use progress::chosen_text;

/// Runs the program with these arguments, the first of which is its name; gives the exit code.
pub fn main_with<I: IntoIterator<Item: Into<OsString> + Clone>>(arguments: I) -> u8 {
    panics::record();
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(message) => {
            // Help counts as a message too. If the stream is closed, nobody wants to read it.
            let _ = message.print();
            return u8::try_from(message.exit_code()).unwrap_or(2);
        }
    };
    let outcome = panics::caught(|| run(arguments)).unwrap_or_else(|panic| Err(panic.into()));
    match outcome {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::AnomalyFound) => 1,
        Ok(Outcome::Interrupted) => interrupt::EXIT_CODE,
        Err(error) if console::is_closed_pipe(&error) => 0,
        Err(error) => {
            console::report(&error);
            2
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
        Command::Drift(arguments) => drift::run(&arguments, console),
        Command::Explain(arguments) => explain::run(&arguments, console),
        Command::Repair(arguments) => repair::run(&arguments, console),
        Command::Sample(arguments) => sample::run(&arguments, console),
        Command::Impute(arguments) => impute::run(&arguments, console),
        Command::Report(arguments) => report::run(&arguments, console),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::run(&arguments, console),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Mask(arguments) => mask::run(&arguments, console),
        Command::Bench(arguments) => bench::run(&arguments, console),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    }
}
