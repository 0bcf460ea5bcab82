//! The command line: every command, its arguments and their help texts.

use std::io::IsTerminal;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use gnsm::{ColumnChoices, Format, KindChoice, Method, ReadOptions, Room, Rule};
use gnsm_bench::planted;

use crate::commands::{bench, mask};
use crate::memory;
use crate::output::OutputFormat;
use crate::settings::read_toml;

const EXAMPLES: &str = "\
Examples:
  gnsm demo                                  try it without data of your own
  gnsm detect claims.csv                     show the oddest rows of a file, with reasons
  gnsm fit claims.csv -o claims.gnsm         learn what is usual, and keep the model
  gnsm score claims.gnsm new.csv -o out.csv  write a score, a p-value and a flag for each row
  gnsm explain claims.gnsm new.csv --row 17  show why row 17 has its score
  gnsm report claims.gnsm new.csv -o r.html  write a page that shows the odd rows
  gnsm drift claims.gnsm new.csv             show which columns are no longer as they were
  gnsm sample claims.gnsm -n 99 -o made.csv  make new rows like those of the file

FILE is a table: csv, tsv, jsonl, parquet, arrow, arff, xlsx or ods, by its content or its ending.
It may be compressed (.gz, .zst, .xz) or the one file in a .zip or .tar. Several FILEs or a folder
are one table, if their columns are the same. Give `-`, or no FILE, to read standard input.
Exit codes: 0 for success, 2 for an error, 130 if Ctrl-C or a request to terminate ended it.
With --fail-on-anomaly or --fail-if-more-than, 1 if rows are flagged.";

/// Finds odd rows in tables of categories and numbers, without labels, and says why.
#[derive(Debug, Parser)]
#[command(name = "gnsm", version, max_term_width = 100, after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct Arguments {
    /// How many threads to use. Results do not depend on it [default: one per core].
    #[arg(long, global = true, value_name = "N", help_heading = "General")]
    pub threads: Option<NonZeroUsize>,
    /// Print errors only; no notes and no progress.
    #[arg(long, short, global = true, help_heading = "General")]
    pub quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a small example table and run detect on it.
    Demo(DemoArguments),
    /// Show what each column of a file is taken for, and why.
    Columns(Box<ColumnsArguments>),
    /// Show the oddest rows of a file, with reasons.
    Detect(Box<DetectArguments>),
    /// Learn what is usual in a file, and keep it as a model.
    Fit(Box<FitArguments>),
    /// Apply a model to a file: write a score, a p-value and a flag for each row.
    Score(Box<ScoreArguments>),
    /// Show how a file differs from what a model learned, column by column.
    Drift(DriftArguments),
    /// Show why one row has its score.
    Explain(ExplainArguments),
    /// Write a file with the cells replaced that are near certainly wrong, and list the changes.
    Repair(RepairArguments),
    /// Make new rows like those that a model learned from.
    Sample(Box<SampleArguments>),
    /// Fill the missing cells of a file.
    Impute(ImputeArguments),
    /// Write a page with the odd rows of a file, why they are odd, and how its columns fall.
    Report(Box<ReportArguments>),
    /// Score rows over HTTP, and show a page to try it.
    #[cfg(feature = "serve")]
    Serve(ServeArguments),
    /// Show what is in a model: columns, settings, training, calibration.
    Inspect(InspectArguments),
    /// Find odd segmentation masks; measure masks against the truth.
    Mask(Box<mask::arguments::MaskArguments>),
    /// Measure how well methods find known anomalies.
    Bench(BenchArguments),
    /// Print a script that makes your shell complete gnsm's commands.
    Completions(CompletionsArguments),
    /// Print the manual page.
    Man(ManArguments),
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Keep the example table in this file. Without it, no file is left behind.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `detect`.
#[derive(Debug, Args)]
#[command(after_help = "\
detect fits a model on FILE and judges each row of FILE as if it had not been there, where the method can do that. The oddest \
rows are shown on standard output. With -o, a line for each row goes to a file as well, with the columns that `gnsm score` \
writes. With --output-format and without -o, these lines go to standard output, and the oddest rows are not shown.")]
pub struct DetectArguments {
    /// The table to read: a file, several, or a folder; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// How many rows to show. Rows that are alike are shown once.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Write a page with the odd rows to this file as well, to be opened in a browser.
    #[arg(long, value_name = "PAGE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// Keep the model in this file, for `gnsm score`.
    #[arg(long, value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub save: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// What is written.
    #[command(flatten)]
    pub output: OutputArguments,
    /// What is flagged.
    #[command(flatten)]
    pub rule: RuleArguments,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArguments,
    /// What the columns are.
    #[command(flatten)]
    pub columns: ColumnArguments,
    /// What is fitted.
    #[command(flatten)]
    pub method: MethodArguments,
    /// How much of the table is held.
    #[command(flatten)]
    pub memory: MemoryArguments,
}

/// Arguments of `columns`.
#[derive(Debug, Args)]
pub struct ColumnsArguments {
    /// The table to read: a file, several, or a folder; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Write the kinds to a schema file. Edit it, and give it back with --schema.
    #[arg(long, short, value_name = "SCHEMA", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArguments,
    /// What the columns are.
    #[command(flatten)]
    pub columns: ColumnArguments,
}

/// Arguments of `fit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Training saves its state in MODEL.checkpoint as it goes. After a crash, run the same command with --resume: it continues \
from there and ends with the same model, bit for bit. Ctrl-C, or a request to terminate, ends training early, writes the best \
model so far and exits with code 130; with --max-seconds, where less training was asked for, with code 0.")]
pub struct FitArguments {
    /// The table to read: a file, several, or a folder; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Where to write the model.
    #[arg(long, short, value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Continue an interrupted run from MODEL.checkpoint, if it is there.
    #[arg(long)]
    pub resume: bool,
    /// Print a report as JSON.
    #[arg(long)]
    pub json: bool,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArguments,
    /// What the columns are.
    #[command(flatten)]
    pub columns: ColumnArguments,
    /// What is fitted.
    #[command(flatten)]
    pub method: MethodArguments,
    /// How much of the table is held.
    #[command(flatten)]
    pub memory: MemoryArguments,
}

/// Arguments of `score`.
#[derive(Debug, Args)]
#[command(after_help = "\
The output has these columns:
  row      the number of the row, from 0; it goes on from file to file
  score    higher is odder
  p_value  the share of usual rows that are at least as odd
  anomaly  1 if the row is flagged, otherwise 0
With --explain N it also has reason_1 to reason_N, or in jsonl a list `reasons`.
Then come the columns of --keep; the column of --id is the first of all.
A kept column that has one of these names is called `input_` and its name.
Before it scores, score reads FILE once to see how it differs from what was learned. It names the columns that moved. Where more
than half of the rows have something new in a column, such as a value or a month never seen, that is no part of any score: it would
make every row odd for the same reason. Standard input is read once, so there nothing is set aside.
With --fdr, the output starts only when all rows are read, because flags depend on all p-values.")]
pub struct ScoreArguments {
    /// A model that `gnsm fit` wrote.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// The table to read: a file, several, or a folder; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Do not compare FILE with what was learned first, and set nothing aside.
    #[arg(long)]
    pub no_drift: bool,
    /// How many rows to score at a time. Scores do not depend on it.
    #[arg(long, value_name = "N", default_value = "8192")]
    pub batch_size: NonZeroUsize,
    /// Print a summary as JSON: to standard output with -o, otherwise to standard error.
    #[arg(long)]
    pub json: bool,
    /// What is written.
    #[command(flatten)]
    pub output: OutputArguments,
    /// What is flagged.
    #[command(flatten)]
    pub rule: RuleArguments,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArguments,
}

/// Arguments of `drift`.
#[derive(Debug, Args)]
#[command(after_help = "\
A column has moved if a share (of missing values, of new values, of numbers outside of all learned ones) has changed by more than 0.1, \
or if the population stability index of its values is above 0.25, and if so large a change comes by chance less than once in a \
thousand times. Dates that go on and keys that are new are named, but have not moved. `gnsm score` sets aside what is new in more than \
half of the rows.")]
pub struct DriftArguments {
    /// A model that `gnsm fit` wrote.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// The table to read: a file, several, or a folder; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArguments,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// A model that `gnsm fit` wrote.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// The table to read: a file, several, or a folder; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// The number of the row, from 0, as `gnsm score` writes it. It goes on from file to file.
    #[arg(long, value_name = "N")]
    pub row: u64,
    /// Stop reading at the row. What `gnsm score` sets aside because it is new in most rows is then not known, and counts.
    #[arg(long)]
    pub no_drift: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArguments,
}

/// Arguments of `repair`.
#[derive(Debug, Args)]
#[command(after_help = "\
A cell is changed if it is wrong and another value of its column belongs there, both together with the probability of \
--at-least. Near spellings come first: `birminghxm` becomes `birmingham`. Numbers and dates are never changed. FILE itself \
stays as it is. If the model was fitted on FILE, each row is judged as if the model had not seen it.")]
pub struct RepairArguments {
    /// A model that `gnsm fit` wrote.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// The table to repair: a file, several, or a folder; `-` is standard input.
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// The csv file to write.
    #[arg(long, short, value_name = "OUT", required_unless_present = "dry_run", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// How sure a change has to be: a probability.
    #[arg(long, value_name = "P", default_value_t = 0.9)]
    pub at_least: f64,
    /// Write the list of changes to this file, as csv: row, column, from, to, probability.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub changes: Option<PathBuf>,
    /// Change nothing, only list.
    #[arg(long)]
    pub dry_run: bool,
    /// Print the changes as JSON.
    #[arg(long)]
    pub json: bool,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArguments,
}

/// Arguments of `sample`.
#[derive(Debug, Args)]
#[command(after_help = "\
The rows have the columns of the table that was learned from, with its formats and as many missing cells. Each cell is drawn \
given the others; numbers are drawn among the training values. Keys are fresh ones. Columns of free text and ignored ones are \
empty. The label is no column of a model. Methods that can make rows: cells, gnsm. The same seed gives the same rows.

Example: gnsm sample claims.gnsm -n 1000 -o made.csv --given country=Germany")]
pub struct SampleArguments {
    /// A model that `gnsm fit` wrote.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// How many rows to make [default: as many as --like has].
    #[arg(long, short = 'n', value_name = "N", required_unless_present = "like")]
    pub rows: Option<u64>,
    /// The file to write: .csv, .jsonl or .parquet.
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// The seed for all draws.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
    /// Give all rows this cell, and draw the others to go with it. May be repeated.
    #[arg(long, value_name = "COLUMN=VALUE")]
    pub given: Vec<String>,
    /// Keep the cells of this table, row by row, and draw those that are missing and the columns that it does not have. With more
    /// rows than it has, it starts again.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub like: Option<PathBuf>,
    /// How that table is read.
    #[command(flatten)]
    pub read: ReadArguments,
}

/// Arguments of `impute`.
#[derive(Debug, Args)]
#[command(after_help = "\
A cell that is there is never changed. A category becomes the most probable one, given the other cells of its row. A number \
becomes the mean of what is expected, or the one value that is more likely than all others together. A date is filled if it \
goes with another date of the row. Keys, free text and ignored columns stay as they are.

With --draws, each row is written so many times, one after the other, with columns `row` and `draw` before the others. Methods \
that can fill cells: cells, gnsm.")]
pub struct ImputeArguments {
    /// A model that `gnsm fit` wrote.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// The table to fill: a file, several, or a folder; `-` is standard input.
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// The file to write: .csv, .jsonl or .parquet.
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Fill with draws instead, so many times, for multiple imputation.
    #[arg(long, value_name = "M")]
    pub draws: Option<NonZeroUsize>,
    /// The seed for draws.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
    /// Add a column for each one with filled cells: the probability of what was filled in. Of a number, that of the likeliest bin.
    #[arg(long, conflicts_with = "draws")]
    pub probabilities: bool,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArguments,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(after_help = "\
The page is one file of at most 3 MB and needs nothing else. Open it in a browser. Sort, search and filter the odd rows, open \
one to see why it is odd, mark it as odd, fine or unsure, and download the marks.")]
pub struct ReportArguments {
    /// A model that `gnsm fit` wrote.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// The table to read: a file, several, or a folder; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Where to write the page.
    #[arg(long, short, value_name = "PAGE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Show the N oddest rows [default: all flagged rows, at least 100, at most 1000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub top: Option<u64>,
    /// Do not compare FILE with what was learned first, and set nothing aside.
    #[arg(long)]
    pub no_drift: bool,
    /// How many rows to score at a time. Nothing on the page depends on it.
    #[arg(long, value_name = "N", default_value = "8192")]
    pub batch_size: NonZeroUsize,
    /// Print a summary as JSON.
    #[arg(long)]
    pub json: bool,
    /// What is flagged.
    #[command(flatten)]
    pub rule: RuleArguments,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArguments,
}

/// Arguments of `serve`.
#[cfg(feature = "serve")]
#[derive(Debug, Args)]
#[command(after_help = "\
POST rows to /v1/models/NAME/score, where NAME is the file's name without its ending. / is a page to try it, /openapi.json \
describes everything that can be asked. The server ends with Ctrl-C or a request to terminate, after it has answered what it \
was asked. Without --token-file anyone who can reach the address may ask.")]
pub struct ServeArguments {
    /// Models that `gnsm fit` wrote.
    #[arg(value_name = "MODEL", required = true, value_hint = ValueHint::FilePath)]
    pub models: Vec<PathBuf>,
    /// The port to listen on; 0 is any free one.
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    pub port: u16,
    /// The address to listen on. 0.0.0.0 is all of this machine's.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub host: std::net::IpAddr,
    /// A file with the token that clients have to send as `Authorization: Bearer TOKEN`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,
    /// Let pages of this origin ask, such as https://example.org. May be given several times.
    #[arg(long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
    /// Load a model again when its file is replaced.
    #[arg(long)]
    pub watch: bool,
    /// Log every request to standard error, not only failures.
    #[arg(long)]
    pub log_requests: bool,
    /// Bytes of a body, at the most. More get status 413.
    #[arg(long, value_name = "BYTES", default_value = "33554432", help_heading = "Limits")]
    pub max_body: NonZeroUsize,
    /// Bytes of the bodies of all requests together, at the most. More get status 503.
    #[arg(long, value_name = "BYTES", default_value = "268435456", help_heading = "Limits")]
    pub max_bodies: NonZeroUsize,
    /// Rows of a body, at the most. More get status 413.
    #[arg(long, value_name = "N", default_value = "100000", help_heading = "Limits")]
    pub max_rows: NonZeroUsize,
    /// Bytes of the headers of a request, at the most. More get status 431.
    #[arg(long, value_name = "BYTES", default_value = "16384", help_heading = "Limits")]
    pub max_header: NonZeroUsize,
    /// Seconds that a client may take to send a request (status 408), may wait for its answer (status 503), and may leave it
    /// untaken.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, help_heading = "Limits")]
    pub max_seconds: f64,
    /// Requests that are worked on at a time. More get status 429.
    #[arg(long, value_name = "N", default_value = "64", help_heading = "Limits")]
    pub max_requests: NonZeroUsize,
    /// Connections that are open at a time. More wait.
    #[arg(long, value_name = "N", default_value = "1024", help_heading = "Limits")]
    pub max_connections: NonZeroUsize,
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// A model that `gnsm fit` wrote.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// Print everything as JSON.
    #[arg(long)]
    pub json: bool,
}

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
    /// Test methods on a segmenter's masks: do high scores go with low quality?
    Masks(mask::arguments::BenchMasksArguments),
    /// Test the default on ordinary tables with planted oddities: how many are found and named?
    Planted(BenchPlantedArguments),
    /// Test the default on dirty tables whose truth is known: are wrong cells found, named and repaired?
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

/// Arguments of `bench planted`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each table is written to OUT/tables, with its clean version and the truth beside it. Then the default method looks for the \
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

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell.
    pub shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// Print the page of this command instead of the general one.
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}

/// What is written for each row, and where.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArguments {
    /// The file to write a line for each row to: csv, jsonl, parquet or xlsx, by its ending.
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// The format to write, if not by the ending [default on standard output: csv].
    #[arg(long, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,
    /// Add the N strongest reasons to every row. Takes about three times as long.
    #[arg(long, value_name = "N")]
    pub explain: Option<usize>,
    /// Pass these columns of FILE through to the output, separated by commas; `all` is the whole row. In xlsx, their odd cells
    /// are coloured.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// The column that names the rows: it becomes the first of the output.
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// Write a line for each cell that is likely wrong, instead of one for each row: what was seen and expected. At most a
    /// share --fdr of the cells are expected to be right [default: 0.1]. The whole FILE is held in memory.
    #[arg(long)]
    pub cells: bool,
}

impl OutputArguments {
    /// The format for a file or for standard output; an error if a terminal cannot show it.
    pub fn format(&self) -> Result<OutputFormat> {
        let format = match (self.output_format, &self.output) {
            (Some(format), _) => format,
            (None, Some(path)) => OutputFormat::of_file(path)?,
            (None, None) => OutputFormat::Csv,
        };
        if self.output.is_none() && format.is_binary() && std::io::stdout().is_terminal() {
            bail!("{} is not for a terminal; write it to a file with -o", format.name());
        }
        Ok(format)
    }
}

/// What is flagged as an anomaly.
#[derive(Debug, Args)]
#[command(next_help_heading = "Flags on rows")]
pub struct RuleArguments {
    /// Flag rows with a p-value of at most C. On average, a share C of the usual rows is then flagged [default of score: 0.01].
    #[arg(long, value_name = "C", group = "rule")]
    pub contamination: Option<f64>,
    /// Flag as many rows as possible while at most a share Q of them are expected to be false alarms [default of
    /// detect: 0.1].
    #[arg(long, value_name = "Q", group = "rule")]
    pub fdr: Option<f64>,
    /// Flag rows with a score of at least T.
    #[arg(long, value_name = "T", group = "rule", allow_negative_numbers = true)]
    pub threshold: Option<f64>,
    /// Exit with code 1 if a row is flagged.
    #[arg(long)]
    pub fail_on_anomaly: bool,
    /// Exit with code 1 if more than this share of the rows is flagged, such as 0.02.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub fail_if_more_than: Option<f64>,
}

/// A share of all rows.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("give a number between 0 and 1, such as 0.02".into()),
    }
}

impl RuleArguments {
    /// The share of usual rows that is flagged by default.
    pub const CONTAMINATION: f64 = 0.01;

    /// The rule, checked.
    pub fn rule(&self) -> Result<Rule> {
        self.rule_or(Rule::Contamination(Self::CONTAMINATION))
    }

    /// The rule, checked; `default` if none was asked for.
    pub fn rule_or(&self, default: Rule) -> Result<Rule> {
        let rule = match (self.threshold, self.fdr, self.contamination) {
            (Some(score), _, _) => Rule::Threshold(score),
            (_, Some(part), _) => Rule::Fdr(part),
            (_, _, Some(part)) => Rule::Contamination(part),
            _ => default,
        };
        rule.validate()?;
        Ok(rule)
    }
}

/// How a file is read; what is left open is found in it.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Reading")]
pub struct ReadArguments {
    /// The format of FILE, if it is not to be guessed.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<InputFormat>,
    /// The character between the cells of a csv file; write `tab` for a tab.
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// The first line of the csv file has the names of the columns.
    #[arg(long, overrides_with = "no_header")]
    pub header: bool,
    /// The first line of the csv file is a row. The columns are then called `column_1`, `column_2` and so on.
    #[arg(long, overrides_with = "header")]
    pub no_header: bool,
    /// Lines of the csv file that begin with this character are comments.
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub comment: Option<u8>,
    /// The encoding of a text file, such as windows-1252, iso-8859-2 or shift_jis [default: UTF-8; UTF-16 is recognised,
    /// and a line that is not UTF-8 is read as windows-1252].
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<String>,
    /// The sheet of a spreadsheet [default: the first].
    #[arg(long, value_name = "NAME")]
    pub sheet: Option<String>,
}

/// The formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// Comma-separated values; other delimiters are found too.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// One JSON object per line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC, file or stream.
    Arrow,
    /// Weka's format.
    Arff,
    /// Excel.
    Xlsx,
    /// The spreadsheets of LibreOffice and others.
    Ods,
}

impl ReadArguments {
    /// As the library takes it, with the texts that mean "no value" if they are not the usual ones.
    pub fn options(&self, missing: Option<Vec<String>>) -> ReadOptions {
        let format = self.format.map(|format| match format {
            InputFormat::Csv | InputFormat::Tsv => Format::Csv,
            InputFormat::Jsonl => Format::Jsonl,
            InputFormat::Parquet => Format::Parquet,
            InputFormat::Arrow => Format::Arrow,
            InputFormat::Arff => Format::Arff,
            InputFormat::Xlsx => Format::Xlsx,
            InputFormat::Ods => Format::Ods,
        });
        let tab = (self.format == Some(InputFormat::Tsv)).then_some(b'\t');
        let header = if self.header { Some(true) } else { self.no_header.then_some(false) };
        let mut options = ReadOptions::default();
        (options.format, options.delimiter, options.header) = (format, self.delimiter.or(tab), header);
        (options.comment, options.missing) = (self.comment, missing);
        (options.encoding, options.sheet) = (self.encoding.clone(), self.sheet.clone());
        options
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
            _ => Err("give one ASCII character, or `tab`".into()),
        },
    }
}

/// What the columns are; what is left open is found in the file.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Columns")]
pub struct ColumnArguments {
    /// The column that marks known anomalies. Neither this column nor the rows it marks are learned from.
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// The value of the label column that means anomaly [default: 1].
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub anomaly: Option<String>,
    /// Leave these columns out, separated by commas.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Treat these columns as categories: each value is a name, even if it looks like a number.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub categorical: Vec<String>,
    /// Treat these columns as numbers.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub numeric: Vec<String>,
    /// Take these columns for dates or times.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub date: Vec<String>,
    /// Take these columns for dates that begin with the day, such as 5/3/2024 for the fifth of March.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub day_first: Vec<String>,
    /// Take these columns for dates that begin with the month.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub month_first: Vec<String>,
    /// Take these columns for identifiers. They are not scored, but repeats and odd shapes are.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub identifier: Vec<String>,
    /// Take these columns for free text. Only its length is scored.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub text: Vec<String>,
    /// Take these texts for missing values, separated by commas, instead of: ? - NA N/A n/a #N/A NaN nan null NULL None.
    /// Empty cells are always missing. The model keeps the list.
    #[arg(long, value_name = "TEXTS", value_delimiter = ',', allow_hyphen_values = true)]
    pub missing: Option<Vec<String>>,
    /// A TOML file that says what the columns are: `label = "NAME"` and `missing = ["NA"]` at the top, and under
    /// `[columns]` lines such as `NAME = "numeric"` (or `"categorical"`, `"ignore"`). `gnsm columns -o` writes one.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub schema: Option<PathBuf>,
}

impl ColumnArguments {
    /// All choices together, and the value of the label column that means anomaly.
    pub fn choices(&self) -> Result<(ColumnChoices, Option<String>)> {
        let mut choices: ColumnChoices = self.schema.as_deref().map(read_toml).transpose()?.unwrap_or_default();
        for (names, kind) in [
            (&self.ignore, KindChoice::Ignore),
            (&self.categorical, KindChoice::Categorical),
            (&self.numeric, KindChoice::Numeric),
            (&self.date, KindChoice::Date),
            (&self.day_first, KindChoice::DayFirst),
            (&self.month_first, KindChoice::MonthFirst),
            (&self.identifier, KindChoice::Identifier),
            (&self.text, KindChoice::Text),
            (&self.date, KindChoice::Date),
            (&self.day_first, KindChoice::DayFirst),
            (&self.month_first, KindChoice::MonthFirst),
            (&self.identifier, KindChoice::Identifier),
            (&self.text, KindChoice::Text),
        ] {
            for name in names {
                choices.choose(name, kind)?;
            }
        }
        if self.label.is_some() {
            choices.label.clone_from(&self.label);
        }
        if let Some(texts) = &self.missing {
            choices.missing = Some(texts.iter().map(|text| text.trim().to_owned()).collect());
        }
        match (&choices.label, &self.anomaly) {
            (None, Some(_)) => bail!("--anomaly needs a label column; name it with --label"),
            (None, None) => Ok((choices, None)),
            (Some(_), anomaly) => Ok((choices, Some(anomaly.clone().unwrap_or_else(|| "1".into())))),
        }
    }
}

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
    /// Take about so much memory at the most, such as 500M or 2G [default: half of the machine's]. Where a table needs more,
    /// some of its rows are learned from, chosen by a hash of their content; what its columns are is learned from all.
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
