//! Turns texts into category codes while a column is read.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::table::{MISSING, Values};

/// The distinct texts of a column, numbered in order of first appearance.
#[derive(Debug, Default)]
pub(super) struct Categories {
    codes: HashMap<String, u32>,
}

impl Categories {
    /// The numbers of names that are already all different.
    pub(super) fn of(names: Vec<String>) -> Self {
        Self { codes: names.into_iter().zip(0..).collect() }
    }

    /// The code of `name`, a new one if it was not seen before.
    pub(super) fn code(&mut self, name: &str) -> Result<u32> {
        if let Some(&code) = self.codes.get(name) {
            return Ok(code);
        }
        let code = u32::try_from(self.codes.len()).ok().filter(|&code| code != MISSING).ok_or_else(|| {
            Error::schema("a column has more than 4 billion different texts", "leave that column out")
        })?;
        self.codes.insert(name.to_owned(), code);
        Ok(code)
    }

    /// The code of `name`, if it has one.
    pub(super) fn get(&self, name: &str) -> Option<u32> {
        self.codes.get(name).copied()
    }

    /// The names by their codes.
    pub(super) fn into_names(self) -> Vec<String> {
        let mut names = vec![String::new(); self.codes.len()];
        for (name, code) in self.codes {
            names[code as usize] = name;
        }
        names
    }
}

/// A column of categories under construction.
#[derive(Debug, Default)]
pub(super) struct CategoryCells {
    pub(super) codes: Vec<u32>,
    pub(super) categories: Categories,
}

impl CategoryCells {
    /// Appends a cell; `None` is missing.
    pub(super) fn push(&mut self, name: Option<&str>) -> Result<()> {
        let code = name.map_or(Ok(MISSING), |name| self.categories.code(name))?;
        self.codes.push(code);
        Ok(())
    }

    pub(super) fn finish(self) -> Values {
        Values::Category { codes: self.codes, names: self.categories.into_names() }
    }
}
