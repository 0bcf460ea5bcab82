//! The arguments of `gnsm bench`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueHint};
use gnsm::Method;
use gnsm_bench::planted;

use super::Preset;
use crate::commands::{bench, mask};

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArguments {
    /// Which one.
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// The benchmarks.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Test methods on labelled tables by the paper's protocol, beside the figures of its Table 2.
    Tabular(BenchTabularArguments),
    /// Test methods on labelled tables that hold their own anomalies, as `gnsm detect` meets them.
    Own(BenchOwnArguments),
    /// Test methods on a segmenter's masks: do high scores go with low quality?
    Masks(mask::arguments::BenchMasksArguments),
    /// Test `cells` on ordinary tables with planted oddities: how many are found and named?
    Planted(BenchPlantedArguments),
    /// Test `cells` on dirty tables whose truth is known: are wrong cells found, named and repaired?
    Cells(BenchCellsArguments),
}

/// Arguments of `bench cells`.
#[derive(Debug, Args)]
#[command(after_help = "\
Two kinds of tables can be given. With --data, tables that were dirty already: how well are the wrong cells ranked, named, \
listed and repaired? With --plant, clean tables: of up to 10,000 rows, one in a hundred gets a mistake, and what counts is \
whether the first reason names its cell. A column `label` is left out.")]
pub struct BenchCellsArguments {
    /// A folder with tables: NAME.dirty.csv, and NAME.clean.csv with the same rows and columns.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present = "plant")]
    pub data: Option<PathBuf>,
    /// Clean tables into which mistakes are planted.
    #[arg(long, value_name = "FILE", num_args = 1.., value_hint = ValueHint::FilePath)]
    pub plant: Vec<PathBuf>,
    /// How many seeds to plant with.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub seeds: u64,
    /// The folder for the results, in cells.md and mistakes.md.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
}

/// Arguments of `bench own`.
#[derive(Debug, Args)]
#[command(after_help = "\
A table has at most 8,000 normal rows of a set, and its anomalies at their natural share, but at most a tenth of all rows. Each \
method is fitted on the table without labels and judges its rows, as `gnsm detect` does. Each result is added to OUT/raw.csv \
as soon as it is measured. A run that was stopped goes on when the same command is given again. OUT/summary.md has the tables.")]
pub struct BenchOwnArguments {
    /// The folders with the sets: *.parquet, each with a column `label` that is 1 for anomalies.
    #[arg(long, value_name = "DIR", num_args = 1.., value_hint = ValueHint::DirPath, required = true)]
    pub data: Vec<PathBuf>,
    /// The sets to run, by file name without the ending [default: all].
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    pub sets: Vec<String>,
    /// The methods to run [default: all that need no training in steps].
    #[arg(long, value_name = "METHODS", value_delimiter = ',', default_values = quick_methods(), hide_default_value = true, value_parser = PossibleValuesParser::new(Method::NAMES))]
    pub methods: Vec<String>,
    /// How many seeds to run. Each has its own rows and fit.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seeds: u64,
    /// Also write the tables as numbers and codes, for other programs.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub tables: Option<PathBuf>,
    /// The folder for the results.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
}

/// Those that `bench own` is quick with. Combinations of values (`comprex`) take minutes on wide sets.
fn quick_methods() -> impl Iterator<Item = &'static str> {
    let is_slow = |name: &str| ["gnsm", "dsvdd", "dagmm", "comprex"].contains(&name);
    Method::NAMES.into_iter().filter(move |name| !is_slow(name))
}

/// Arguments of `bench planted`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each table is written to OUT/tables, with its clean version and the truth beside it. Then `cells` looks for the \
oddities. In a table with k oddities, one is found if its row is among the k oddest rows. It is named if the first reason is \
about its column. Each result is added to OUT/raw.csv as soon as it is measured. A run that was stopped goes on when the same \
command is given again. OUT/summary.md has the tables.")]
pub struct BenchPlantedArguments {
    /// The tables to make, by name [default: all].
    #[arg(long, value_name = "TABLES", value_delimiter = ',', value_parser = planted_tables())]
    pub tables: Vec<String>,
    /// How many seeds to run. Each has its own tables.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub seeds: u64,
    /// The folder for the results.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
}

fn planted_tables() -> PossibleValuesParser {
    PossibleValuesParser::new(planted::table_names())
}

/// Arguments of `bench tabular`.
#[derive(Debug, Args)]
#[command(after_help = "\
For each set and seed, 80 % of the normal rows train, 10 % validate, and the rest is tested together with all anomalies. \
Each result is added to OUT/raw.csv as soon as it is measured. A run that was stopped goes on when the same command is given \
again. OUT/summary.md has the tables.")]
pub struct BenchTabularArguments {
    /// The folder with the sets: *.parquet, each with a column `label` that is 1 for anomalies.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: PathBuf,
    /// The sets to run, by file name without the ending [default: all].
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    pub sets: Vec<String>,
    /// The methods to run [default: all]. `gnsm-norms` is gnsm with the paper's way to score.
    #[arg(long, value_name = "METHODS", value_delimiter = ',', default_values = bench_methods(), hide_default_value = true, value_parser = PossibleValuesParser::new(bench_methods()))]
    pub methods: Vec<String>,
    /// How many seeds to run. Each has its own split and fit.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub seeds: u64,
    /// Use one split for all seeds, so that only the fits differ.
    #[arg(long)]
    pub one_split: bool,
    /// Ready-made settings for gnsm, dsvdd and dagmm. `paper` takes those of each set, by its name.
    #[arg(long, value_enum, default_value_t = Preset::Fast)]
    pub preset: Preset,
    /// A TOML file with settings of gnsm that replace the preset's.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Train gnsm, dsvdd and dagmm for at most this many steps.
    #[arg(long, value_name = "N")]
    pub max_steps: Option<NonZeroU64>,
    /// The folder for the results.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
}

fn bench_methods() -> impl Iterator<Item = &'static str> {
    Method::NAMES.into_iter().chain([bench::PAPER_HEAD])
}
