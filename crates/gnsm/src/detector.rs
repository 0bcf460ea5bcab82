//! What every detector can do, and the one list of them.
//!
//! Higher scores mean odder rows, everywhere. The command line's names, the benchmark's columns and the contract tests iterate
//! over [`Method::NAMES`].

use serde::{Deserialize, Serialize};

use crate::container::Tensors;
use crate::encode::Encoded;
use crate::error::{Error, Result};
use crate::gnsm::{Gnsm, GnsmConfig};
use crate::layout::Layout;
use crate::train::Run;

/// A fitted detector.
pub trait Detector: Send + Sync {
    /// A score for each row, from the row alone.
    fn score(&self, rows: &Encoded) -> Vec<f64>;

    /// Each row's score as a base and a part for each cell; they sum to the score.
    fn split(&self, rows: &Encoded) -> Split;

    /// What was expected in each cell, if the method can say.
    fn expected(&self, rows: &Encoded) -> Option<Expected>;
}

/// What was expected in the cells of some rows, given the rest of each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// The limits of each scaled number, [rows, numbers].
    pub ranges: Vec<[f32; 2]>,
    /// The probabilities of each group's categories, [rows, places of all groups].
    pub probabilities: Vec<f32>,
}

/// Scores taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// For each row the part that no cell is responsible for.
    pub base: Vec<f64>,
    /// For each row a part for each cell: numbers first, then groups.
    pub parts: Vec<f64>,
    /// Cells of a row.
    pub n_cells: usize,
}

impl Split {
    /// The parts of a row.
    pub fn parts(&self, row: usize) -> &[f64] {
        &self.parts[row * self.n_cells..][..self.n_cells]
    }
}

/// A detector's settings: choose one, and fit it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", content = "settings", rename_all = "kebab-case")]
pub enum Method {
    /// Gumbel Noise Score Matching.
    Gnsm(GnsmConfig),
}

/// A fitted detector of one of the methods.
#[derive(Debug, Clone)]
pub enum Fitted {
    /// Gumbel Noise Score Matching.
    Gnsm(Box<Gnsm>),
}

impl Method {
    /// The names of all methods.
    pub const NAMES: [&'static str; 1] = ["gnsm"];

    /// The method of that name, with its default settings.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "gnsm" => Ok(Self::Gnsm(GnsmConfig::default())),
            _ => Err(Error::config("method", format!("`{name}` is not one of {}", Self::NAMES.join(", ")))),
        }
    }

    /// The method's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gnsm(_) => "gnsm",
        }
    }

    /// Checks the settings.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Gnsm(config) => config.validate(),
        }
    }

    /// Fits on `training` rows; `validation` rows are for what has to be chosen.
    pub fn fit(&self, layout: &Layout, training: &Encoded, validation: &Encoded, run: Run<'_>) -> Result<Fitted> {
        match self {
            Self::Gnsm(config) => {
                Gnsm::fit(config, layout, training, validation, run).map(|gnsm| Fitted::Gnsm(Box::new(gnsm)))
            }
        }
    }
}

impl Fitted {
    /// The method's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gnsm(_) => "gnsm",
        }
    }

    /// The detector.
    pub fn detector(&self) -> &dyn Detector {
        match self {
            Self::Gnsm(gnsm) => gnsm.as_ref(),
        }
    }

    /// Scores all rows, computing each distinct one once.
    pub fn score_distinct(&self, rows: &Encoded) -> Vec<f64> {
        let (firsts, of_row) = rows.distinct();
        let scores = self.detector().score(&rows.select(&firsts));
        of_row.into_iter().map(|which| scores[which as usize]).collect()
    }

    pub(crate) fn save(&self, tensors: &mut Tensors) -> serde_json::Result<serde_json::Value> {
        match self {
            Self::Gnsm(gnsm) => gnsm.save(tensors),
        }
    }

    pub(crate) fn load(
        name: &str,
        content: serde_json::Value,
        layout: &Layout,
        tensors: &mut Tensors,
    ) -> std::result::Result<Self, String> {
        match name {
            "gnsm" => Gnsm::load(content, layout, tensors).map(|gnsm| Self::Gnsm(Box::new(gnsm))),
            _ => Err(format!("method `{name}` is unknown")),
        }
    }
}
