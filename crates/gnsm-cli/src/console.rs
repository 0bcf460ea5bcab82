//! The two output streams. Results go to standard output, everything else to standard error.
//!
//! Colours are always written. `anstream` takes them out again where a stream is no terminal or `NO_COLOR` is set. An
//! error while writing to standard error never fails a run: whoever closed it does not want to read it.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use anyhow::Context;

use crate::display::{Place, plain, wrapped};

/// The style of an error's first word.
const ERROR: Style = AnsiColor::Red.on_default().bold();
/// The style of a warning's first word.
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// What a command writes to, beside files.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    quiet: bool,
}

impl Console {
    /// With `quiet`, only errors reach standard error.
    pub fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Whether notes and progress are unwanted.
    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Tells a person something.
    pub fn note(self, text: impl Display) {
        if !self.quiet {
            let _ = writeln!(anstream::stderr(), "{}", wrapped(Place::Error, &text.to_string()));
        }
    }

    /// Tells a machine something, to the letter.
    pub fn note_as_it_is(self, text: impl Display) {
        if !self.quiet {
            let _ = writeln!(anstream::stderr(), "{text}");
        }
    }

    /// Tells a person that something is probably not as they wanted it.
    pub fn warn(self, text: impl Display) {
        self.note(format_args!("{WARNING}warning:{WARNING:#} {text}"));
    }

    /// Whether standard error is a terminal and may show something that moves.
    pub fn is_lively(self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }
}

/// Writes a report to standard output.
pub fn print(report: &str) -> anyhow::Result<()> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(report.as_bytes()).and_then(|()| stdout.flush()).context("standard output")
}

/// Writes a report for people to standard output. On a terminal, its lines end between words.
pub fn print_page(report: &str) -> anyhow::Result<()> {
    print(&wrapped(Place::Output, report))
}

/// Writes a report for machines to standard output.
pub fn print_json(report: &serde_json::Value) -> anyhow::Result<()> {
    print(&format!("{report:#}\n"))
}

/// Whether all that happened is that a reader had enough.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe))
}

/// Writes an error, in one line unless the terminal is too narrow.
pub fn report(error: &anyhow::Error) {
    // The library's messages name file and cause already; added contexts do not.
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if cause.starts_with(&message) {
            message = cause;
        } else if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    let message = format!("{ERROR}error:{ERROR:#} {}", plain(&message));
    let _ = writeln!(anstream::stderr(), "{}", wrapped(Place::Error, &message));
}
