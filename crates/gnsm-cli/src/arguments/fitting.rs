//! Arguments that say what is fitted, and with how much memory.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum, ValueHint};
use gnsm::{Method, Room};

use crate::memory;

/// What is fitted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Method")]
pub struct MethodArguments {
    /// The method that finds anomalies. `homophily` is our reading of its paper.
    #[arg(long, value_name = "NAME", default_value = Method::NAMES[0], value_parser = PossibleValuesParser::new(Method::NAMES))]
    pub method: String,
    /// Ready-made settings for gnsm, dsvdd or dagmm [default: fast].
    #[arg(long, value_enum)]
    pub preset: Option<Preset>,
    /// How gnsm turns the network's answers into a score [default: the preset's].
    #[arg(long, value_enum)]
    pub head: Option<HeadName>,
    /// A TOML file with settings that replace the preset's. `gnsm inspect` shows their names.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// The seed for all random choices. The same seed and data give the same model.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Stop training after this many seconds and keep the best model so far.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub max_seconds: Option<f64>,
}

/// How much of a table is held while a model learns from it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Memory")]
pub struct MemoryArguments {
    /// Take at most about this much memory, such as 500M or 2G [default: half of the machine's]. Of a table that needs
    /// more, some rows are learned from, chosen by a hash of their content. What its columns are is decided by all
    /// rows.
    #[arg(long, value_name = "SIZE", value_parser = memory::size)]
    pub max_memory: Option<u64>,
    /// Learn from at most N rows, chosen in the same way.
    #[arg(long, value_name = "N")]
    pub max_rows: Option<NonZeroUsize>,
}

impl MemoryArguments {
    /// The room that the rows have.
    pub fn room(&self) -> Room {
        memory::room(self.max_memory, self.max_rows.map(NonZeroUsize::get))
    }
}

/// A positive number of seconds.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds.is_finite() => Ok(seconds),
        _ => Err("give a positive number of seconds".into()),
    }
}

/// Settings to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// Takes seconds to a minute on a laptop.
    Fast,
    /// The paper's settings where it gives them; for gnsm, weeks on a CPU.
    Paper,
    /// The paper's settings for its set bank, of gnsm and dagmm.
    PaperBank,
    /// The paper's settings for its set census, of dagmm.
    PaperCensus,
    /// The paper's settings for its sets cmc and solar, of gnsm.
    PaperCmc,
    /// The paper's settings for its sets probe and u2r, of dagmm.
    PaperProbe,
}

/// How a score is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HeadName {
    /// Rare values, unusual combinations and rows that match no common pattern.
    Evidence,
    /// How surprised the network is by each cell, averaged over the noise levels.
    Surprise,
    /// The paper's way: how unlikely the sizes of the network's scores are.
    Norms,
}
