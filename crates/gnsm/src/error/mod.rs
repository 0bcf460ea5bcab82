//! The one error type of the library.
//!
//! A message says where (file, line, column), what is wrong, and what to do about it. The parts are kept
//! apart so that a program can use them; [`std::fmt::Display`] puts them together for a person.

mod advice;

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use advice::Advice;

/// What every fallible function of the library returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Where in the input something was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file's name as the user gave it; `standard input` for a pipe.
    pub file: String,
    /// The line, counted from 1, in text formats; the row, counted from 1, in binary ones.
    pub line: Option<u64>,
    /// The column's name.
    pub column: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column `{column}`")?;
        }
        Ok(())
    }
}

/// Everything that can go wrong in the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read or write.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file in question.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The input holds something that cannot be used.
    #[error("{place}: {problem}; {advice}")]
    Data {
        /// Where.
        place: Place,
        /// What is wrong.
        problem: String,
        /// What to do.
        advice: Advice,
    },
    /// The columns do not fit the model or the request.
    #[error("{problem}; {advice}")]
    Schema {
        /// What is wrong.
        problem: String,
        /// What to do.
        advice: Advice,
    },
    /// A setting is out of its range.
    #[error("setting `{field}`: {problem}")]
    Config {
        /// The setting's name.
        field: &'static str,
        /// What is wrong with it, and what it may be.
        problem: String,
    },
    /// There is nothing to learn from these rows.
    #[error("{problem}; {advice}")]
    Fit {
        /// What is wrong.
        problem: String,
        /// What to do.
        advice: Advice,
    },
    /// A model or checkpoint file is damaged, too new, or not one of ours.
    #[error("{}: {problem}; {advice}", path.display())]
    ModelFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
        /// What to do.
        advice: Advice,
    },
}

impl Error {
    /// An [`Error::Io`] for `path`.
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { path: path.as_ref().to_path_buf(), source }
    }

    /// An [`Error::Data`] at `place`.
    pub fn data(place: Place, problem: impl Into<String>, advice: impl Into<Advice>) -> Self {
        Self::Data { place, problem: problem.into(), advice: advice.into() }
    }

    /// An [`Error::Schema`].
    pub fn schema(problem: impl Into<String>, advice: impl Into<Advice>) -> Self {
        Self::Schema { problem: problem.into(), advice: advice.into() }
    }

    /// An [`Error::Fit`].
    pub fn fit(problem: impl Into<String>, advice: impl Into<Advice>) -> Self {
        Self::Fit { problem: problem.into(), advice: advice.into() }
    }

    /// The message, with the settings of its advice as `setting` names them.
    pub fn words(&self, setting: &dyn Fn(&str, Option<&str>) -> String) -> String {
        let told = |advice: &Advice| Advice::from(advice.words(setting));
        match self {
            Self::Data { place, problem, advice } => Self::data(place.clone(), problem, told(advice)).to_string(),
            Self::Schema { problem, advice } => Self::schema(problem, told(advice)).to_string(),
            Self::Fit { problem, advice } => Self::fit(problem, told(advice)).to_string(),
            Self::ModelFile { path, problem, advice } => {
                let (path, problem) = (path.clone(), problem.clone());
                Self::ModelFile { path, problem, advice: told(advice) }.to_string()
            }
            Self::Io { .. } | Self::Config { .. } => self.to_string(),
        }
    }

    /// An [`Error::Config`] for the setting `field`.
    pub fn config(field: &'static str, problem: impl Into<String>) -> Self {
        Self::Config { field, problem: problem.into() }
    }
}

thread_local! {
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// What a thread unwinds with where `stop_point` ends it.
#[derive(Debug)]
pub struct Stopped;

/// From now on this thread ends its work soon after `flag` is set, by unwinding with [`Stopped`].
///
/// A program that must stay alive, such as a Python interpreter, gives its flag to each thread of a pool of its own, and catches
/// what comes out. Training has a gentler way to end ([`crate::Watcher::stop`]), which keeps the best so far.
pub fn stop_when(flag: Arc<AtomicBool>) {
    STOP.set(Some(flag));
}

/// Ends the work of this thread if that is wanted. Long loops pass here.
pub fn stop_point() {
    if STOP.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))) {
        // This is no panic: the panic hook is not called.
        std::panic::resume_unwind(Box::new(Stopped));
    }
}
