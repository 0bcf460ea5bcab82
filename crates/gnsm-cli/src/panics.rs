//! Records panics instead of printing them.
//!
//! The Parquet and Arrow crates panic on some damaged files. The library catches these panics and turns them into
//! errors. So a panic is not news until it reaches [`caught`]. One that does is a bug, and becomes an error like any
//! other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// What the newest panic said, and where.
static LAST: Mutex<String> = Mutex::new(String::new());

/// A panic that nothing caught.
#[derive(Debug)]
pub struct Panic(String);

impl std::fmt::Display for Panic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "internal error: {}; please report this, with the command and its input", self.0)
    }
}

impl std::error::Error for Panic {}

/// From now on panics print nothing.
pub fn record() {
    std::panic::set_hook(Box::new(|info| {
        let what = info.payload_as_str().unwrap_or("a panic without a message");
        let place = info.location().map(|place| format!(" ({}:{})", place.file(), place.line())).unwrap_or_default();
        if let Ok(mut last) = LAST.lock() {
            *last = format!("{what}{place}");
        }
    }));
}

/// Runs `work`; a panic in it, on whatever thread of the pool, is an error.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    // The process ends, so nothing that the panic left half-done is used.
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| last())
}

/// The newest panic.
pub fn last() -> Panic {
    Panic(LAST.lock().map(|last| last.clone()).unwrap_or_default())
}
