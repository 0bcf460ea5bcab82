//! The command line: every command, its arguments and their help texts.

mod bench;
mod columns;
mod fitting;
mod input;
mod output;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;

pub use bench::{
    BenchArguments, BenchCellsArguments, BenchCommand, BenchOwnArguments, BenchPlantedArguments, BenchTabularArguments,
};
pub use columns::ColumnsArguments;
pub use fitting::{HeadName, MemoryArguments, MethodArguments, Preset, seconds};
pub use input::{ColumnArguments, ReadArguments};
pub use output::{OutputArguments, RuleArguments};

use crate::commands::mask;

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
    /// Show what each column of a file is taken for and why, and facts about its rows.
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
    /// Replace the cells of a file that are almost certainly wrong, and list the changes.
    Repair(RepairArguments),
    /// Make new rows like those that a model learned from.
    Sample(Box<SampleArguments>),
    /// Fill the missing cells of a file.
    Impute(ImputeArguments),
    /// Write a page with the odd rows of a file, why they are odd, and what its columns hold.
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
detect learns from FILE and judges each row of FILE as if it had not been there. If a method cannot leave out single rows, \
each half of the rows is judged by a fit on the other half. The oddest rows are shown on standard output. With -o, a line for \
each row goes to a file as well, with the columns that `gnsm score` writes. With --output-format and without -o, these lines \
go to standard output, and the oddest rows are not shown.")]
pub struct DetectArguments {
    /// The table to read: a file, several, or a folder; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// How many findings to show. Flagged rows with the same reason are one, and so are rows that are alike.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Show row by row: flagged rows with the same reason are not put together.
    #[arg(long)]
    pub ungrouped: bool,
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

/// Arguments of `fit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Training saves its state in MODEL.checkpoint as it goes. After a crash, run the same command with --resume: it continues \
from there and ends with the same model, bit for bit. Ctrl-C, or a request to terminate, ends training early, writes the best \
model so far and exits with code 130. With --max-seconds the code is 0, since less training was asked for.")]
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
  row      the number of the row, from 0; several files are numbered on
  score    higher is odder
  p_value  the share of usual rows that are at least as odd
  anomaly  1 if the row is flagged, otherwise 0
With --explain N it also has reason_1 to reason_N, or in jsonl a list `reasons`.
Then come the columns of --keep; the column of --id is the first of all.
A kept column that has one of these names is called `input_` and its name.
With --fdr, the output starts only when all rows are read, because flags depend on all p-values.

FILE is read once before it is scored, to compare it with what the model learned. Columns that moved are named. What \
would make many rows odd for the same reason is set aside, and is no part of any score: what was never seen, in more than \
half of the rows, such as a new month; and if the rows come after those learned, a column that moved with time, or that makes \
more rows odd than all columns usually do. Standard input can be read only once, so nothing of it is set aside.")]
pub struct ScoreArguments {
    /// A model that `gnsm fit` wrote.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// The table to read: a file, several, or a folder; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Set nothing aside: do not compare FILE with what the model learned before it is scored.
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
A column has moved if its share of missing values, of new values or of numbers outside of all learned ones has changed by \
more than 0.1, or if the population stability index of its values is above 0.25; and if chance makes so large a change less \
than once in a thousand times. Later dates and new keys are named, but do not count as moved. `gnsm score` sets aside what is \
new in more than half of the rows.")]
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
    /// The number of the row, from 0, as `gnsm score` writes it. Several files are numbered on.
    #[arg(long, value_name = "N")]
    pub row: u64,
    /// Read FILE only up to this row. What `gnsm score` would set aside is then not known, and counts.
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
A cell is changed if the probability that it is wrong, and that a certain other value of its column belongs there, is at \
least --at-least. Similar spellings are preferred: `birminghxm` becomes `birmingham`. Numbers and dates are never changed, \
nor is FILE itself. If the model was fitted on FILE, each row is judged as if the model had not seen it.")]
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
The rows have the columns of the table that was learned from, its formats and its share of missing cells. Each cell is drawn \
given the others; numbers are drawn among the training values. Keys are new. Columns of free text and ignored ones are empty, \
and there is no label. Methods that can make rows: cells, gnsm. The same seed gives the same rows.

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
    /// Keep the cells of this table, row by row, and draw its missing cells and missing columns. If more rows are made
    /// than it has, they start again from its first.
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
becomes the mean of what is expected, or a single value if that is more likely than all others together. A date is filled if \
it follows from another date of the row. Keys, free text and ignored columns stay as they are.

With --draws M, each row is written M times, one after the other, with the columns `row` and `draw` before the others. Methods \
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
    /// Fill with random draws instead, this many times, for multiple imputation.
    #[arg(long, value_name = "M")]
    pub draws: Option<usize>,
    /// The seed for draws.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
    /// For each column with filled cells, add one with the probability of what was filled in. For a number, it is that
    /// of the likeliest bin.
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
    /// Show the N oddest rows [default: all flagged rows, but 100 to 1000].
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
describes all requests. Ctrl-C or a request to terminate ends the server, after it has answered the requests that it has. \
Without --token-file, anyone who can reach the address may send requests.")]
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
    /// Seconds that a client may take to send a request (status 408), may have to wait for its answer (status 503), and
    /// may take nothing of it.
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
