//! `gnsm completions`: prints a script that makes a shell complete the commands.

use anyhow::Result;
use clap::CommandFactory;

use super::Outcome;
use crate::arguments::{Arguments, CompletionsArguments};
use crate::console::print;

/// Runs the command.
pub fn run(arguments: &CompletionsArguments) -> Result<Outcome> {
    // Into memory first: the generator does not expect a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "gnsm", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
