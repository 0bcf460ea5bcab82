//! `gnsm man`: the manual page, made from the same list of flags as the help.

use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use clap_mangen::Man;

use super::Outcome;
use crate::arguments::{Arguments, ManArguments};
use crate::console::Console;

/// Runs the command.
pub fn run(arguments: &ManArguments, console: Console) -> Result<Outcome> {
    let mut whole = Arguments::command();
    whole.build();
    let page = match &arguments.command {
        None => whole,
        Some(name) => match whole.find_subcommand(name) {
            Some(command) => command.clone(),
            None => {
                let names: Vec<&str> = whole.get_subcommands().map(clap::Command::get_name).collect();
                bail!("there is no command `{name}`; there are {}", names.join(", "));
            }
        },
    };
    let mut roff = Vec::new();
    Man::new(page).render(&mut roff).context("cannot make the manual page")?;
    console.print(&String::from_utf8_lossy(&roff))?;
    Ok(Outcome::Done)
}
