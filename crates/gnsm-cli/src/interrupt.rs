//! Handles Ctrl-C, and requests to terminate.

use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::console::Console;

/// The exit code of an interrupted command, as shells have it: 128 + SIGINT.
pub const EXIT_CODE: u8 = 130;

/// How long a command may take to remove its unfinished files.
const GRACE: Duration = Duration::from_secs(1);

static SIGNALS: AtomicUsize = AtomicUsize::new(0);

/// Whether the user wants an end.
pub fn requested() -> bool {
    SIGNALS.load(Ordering::Relaxed) > 0
}

/// The first signal ends training with the best model so far, the second ends the process.
pub fn stop_training(console: Console) -> Result<()> {
    handle(move |earlier| {
        if earlier > 0 {
            exit(EXIT_CODE.into());
        }
        console.note("stopping with the best model so far; press Ctrl-C again to quit without it");
    })
}

/// The first signal ends the command at its next check, and after a second at the latest.
pub fn stop_soon() -> Result<()> {
    handle(|_| {
        std::thread::sleep(GRACE);
        exit(EXIT_CODE.into());
    })
}

fn handle(mut act: impl FnMut(usize) + Send + 'static) -> Result<()> {
    ctrlc::set_handler(move || act(SIGNALS.fetch_add(1, Ordering::Relaxed))).context("cannot listen for Ctrl-C")
}
