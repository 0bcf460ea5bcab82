//! Lines of a file that are no rows, where they are to be left out instead of being an error.

use std::fmt::Write;

use crate::error::Error;

/// Lines that are kept in the list; beyond, they are only counted.
const MOST_KEPT: usize = 1000;
/// Lines that a note lists.
const MOST_LISTED: usize = 5;

/// A line that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutLine {
    /// The file, as the user named it.
    pub file: String,
    /// The number of the line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: String,
}

/// The lines that were left out so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The first thousand of them.
    pub lines: Vec<LeftOutLine>,
    /// How many there are.
    pub count: u64,
}

impl LeftOut {
    /// Takes in a line by the error that it is; gives the error back if it is none of a line.
    pub(super) fn add(&mut self, error: Error) -> Result<(), Error> {
        match error {
            Error::Data { place, problem, .. } if place.line.is_some() => {
                self.count += 1;
                if self.lines.len() < MOST_KEPT {
                    self.lines.push(LeftOutLine { file: place.file, line: place.line.unwrap_or(0), problem });
                }
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Takes in those of another file.
    pub(super) fn append(&mut self, other: Self) {
        self.count += other.count;
        let room = MOST_KEPT.saturating_sub(self.lines.len());
        self.lines.extend(other.lines.into_iter().take(room));
    }

    /// How many lines were left out, and the first of them.
    pub(super) fn note(&self) -> Option<String> {
        let file = &self.lines.first()?.file;
        let were = if self.count == 1 { "line was" } else { "lines were" };
        let mut note = format!("{file}: {} {were} left out:", self.count);
        for (at, line) in self.lines.iter().take(MOST_LISTED).enumerate() {
            let _ = write!(note, "{} line {} ({})", if at == 0 { "" } else { "," }, line.line, line.problem);
        }
        if self.count > MOST_LISTED as u64 {
            note.push_str(", …");
        }
        Some(note)
    }
}
