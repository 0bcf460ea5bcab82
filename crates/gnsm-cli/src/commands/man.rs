//! `gnsm man`: prints the manual page, made from the same list of flags as the help.

use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use clap_mangen::Man;

use super::Outcome;
use crate::arguments::{Arguments, ManArguments};
use crate::console::print;

/// Runs the command.
pub fn run(arguments: &ManArguments) -> Result<Outcome> {
    let mut whole = Arguments::command();
    whole.build();
    let page = match &arguments.command {
        None => Some(&whole),
        Some(name) => whole.find_subcommand(name),
    };
    let Some(page) = page else {
        let names: Vec<&str> = whole.get_subcommands().map(clap::Command::get_name).collect();
        bail!("there is no such command; there are {}", names.join(", "));
    };
    let mut roff = Vec::new();
    Man::new(page.clone()).render(&mut roff).context("cannot make the manual page")?;
    print(&String::from_utf8_lossy(&roff))?;
    Ok(Outcome::Done)
}
