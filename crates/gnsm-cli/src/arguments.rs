//! What can be said on the command line.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use gnsm::{ColumnChoices, Format, KindChoice, Method, ReadOptions, Rule};
use gnsm_bench::planted;

use crate::commands::{bench, mask};
use crate::output::OutputFormat;
use crate::settings::read_toml;

const EXAMPLES: &str = "\
Examples:
  gnsm demo                                  see what it does, without data of your own
  gnsm detect claims.csv                     the oddest rows of a file, with reasons
  gnsm fit claims.csv -o claims.gnsm         learn what is usual
  gnsm score claims.gnsm new.csv -o out.csv  a score, p-value and flag for each row
  gnsm explain claims.gnsm new.csv --row 17  why that row

FILE may be csv, tsv, jsonl, parquet, arrow or arff, as found in its content or by its ending;
the text formats also inside .gz, .zst or .xz; `-` or nothing is standard input.
Exit codes: 0, 1 (only with --fail-on-anomaly, where a row is flagged), 2 (an error).";

/// Finds odd rows in tables of categories and numbers, without labels, and says why.
#[derive(Debug, Parser)]
#[command(name = "gnsm", version, max_term_width = 100, after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct Arguments {
    /// Use this many threads; results do not depend on it [default: one per core].
    #[arg(long, global = true, value_name = "N", help_heading = "General")]
    pub threads: Option<NonZeroUsize>,
    /// Write nothing but errors to standard error.
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
    /// Fit on a file, score the same file, and show its oddest rows with their reasons.
    Detect(Box<DetectArguments>),
    /// Learn a model of what is usual.
    Fit(Box<FitArguments>),
    /// Write a score, a p-value and a flag for each row.
    Score(Box<ScoreArguments>),
    /// Show the reasons for the score of one row.
    Explain(ExplainArguments),
    /// Show what is in a model: schema, method, levels, training curve, calibration, hash.
    Inspect(InspectArguments),
    /// Find odd segmentation masks, and measure masks where the truth is known.
    Mask(Box<mask::arguments::MaskArguments>),
    /// Run the paper's benchmark.
    Bench(BenchArguments),
    /// Print a script that completes commands in a shell.
    Completions(CompletionsArguments),
    /// Print the manual page.
    Man(ManArguments),
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Where to write the example table.
    #[arg(long, value_name = "FILE", default_value = "gnsm-demo.csv", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `detect`.
#[derive(Debug, Args)]
#[command(after_help = "\
p-values come from rows that were held out of training, and most rows of FILE were not: \
they rank well, but for honest p-values score other rows than those a model was fitted on.")]
pub struct DetectArguments {
    /// The table; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Show this many rows; rows that are alike count once.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Also write the scores of all rows to this file: csv, jsonl or parquet, by its ending.
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Also keep the model, for `gnsm score`.
    #[arg(long, value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub save: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
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
}

/// Arguments of `fit`.
#[derive(Debug, Args)]
#[command(after_help = "\
While it runs, the state of training is kept in MODEL.checkpoint. After a crash, the same command with --resume \
continues from there to the same model, bit for bit. Ctrl-C ends training early and writes the best model so far.")]
pub struct FitArguments {
    /// The table; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Where to write the model.
    #[arg(long, short, value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Continue from the checkpoint of an earlier run, if there is one.
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
}

/// Arguments of `score`.
#[derive(Debug, Args)]
#[command(after_help = "\
Columns of the output: row (from 0), score (higher is odder), p_value (the part of usual rows that are at least as odd), \
anomaly (0 or 1), and with --explain N reason_1 to reason_N; in jsonl, `reasons` is a list of objects.
With --fdr, nothing is written before the last row is read: flags depend on all p-values.")]
pub struct ScoreArguments {
    /// A model that `gnsm fit` wrote.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// The table; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Where to write: csv, jsonl or parquet, by its ending [default: csv on standard output].
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// The format to write, whatever the ending.
    #[arg(long, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,
    /// Add the N strongest reasons of every row; takes about three times as long.
    #[arg(long, value_name = "N")]
    pub explain: Option<usize>,
    /// Score this many rows at a time; scores do not depend on it.
    #[arg(long, value_name = "N", default_value = "8192")]
    pub batch_size: NonZeroUsize,
    /// Print a summary as JSON: on standard output with -o, otherwise on standard error.
    #[arg(long)]
    pub json: bool,
    /// What is flagged.
    #[command(flatten)]
    pub rule: RuleArguments,
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
    /// The table; `-` is standard input. It is read up to the row.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// The row, counted from 0 as in the output of `gnsm score`.
    #[arg(long, value_name = "N")]
    pub row: u64,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArguments,
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
    /// Fit and test methods on labelled tables by the paper's protocol, and put the results beside its Table 2.
    Tabular(BenchTabularArguments),
    /// Fit methods on true masks, score a segmenter's predictions, and see whether high scores go with low quality.
    Masks(mask::arguments::BenchMasksArguments),
    /// Make ordinary tables with planted oddities of many kinds, and see how many are found and named.
    Planted(BenchPlantedArguments),
}

/// Arguments of `bench planted`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each table is written to OUT/tables, with its clean version and the truth beside it, and judged with defaults. \
An oddity is found if its row is among the k oddest of a table with k oddities, and named if the first reason is about \
its column. OUT/raw.csv gets the lines of a table as soon as it is judged; the same command goes on where it was \
stopped. OUT/summary.md follows from it.")]
pub struct BenchPlantedArguments {
    /// The tables [default: all].
    #[arg(long, value_name = "TABLES", value_delimiter = ',', value_parser = planted_tables())]
    pub tables: Vec<String>,
    /// Seeds 0 to N − 1, each with tables of its own.
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
For each set and seed, 80 % of the inliers train, 10 % validate, and the rest is tested together with all anomalies. \
OUT/raw.csv gets a line as soon as it is measured; the same command goes on where it was stopped. OUT/summary.md follows from it.")]
pub struct BenchTabularArguments {
    /// The folder with *.parquet, each with a column `label` that is 1 for anomalies.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: PathBuf,
    /// The sets, by their files' names without the ending [default: all].
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    pub sets: Vec<String>,
    /// The methods [default: all]; `gnsm-norms` is gnsm with the paper's own head.
    #[arg(long, value_name = "METHODS", value_delimiter = ',', default_values = bench_methods(), hide_default_value = true, value_parser = PossibleValuesParser::new(bench_methods()))]
    pub methods: Vec<String>,
    /// Seeds 0 to N − 1, each with a split and a fit of its own.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub seeds: u64,
    /// Take the split of seed 0 for all seeds: what then varies is the fit alone.
    #[arg(long)]
    pub one_split: bool,
    /// The settings of gnsm, dsvdd and dagmm.
    #[arg(long, value_enum, default_value_t = Preset::Fast)]
    pub preset: Preset,
    /// A TOML file with settings of gnsm in place of the preset's.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Train gnsm, dsvdd and dagmm for this many steps at the most.
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
    /// The page of this command instead of the general one.
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}

/// What is flagged as an anomaly.
#[derive(Debug, Args)]
#[command(next_help_heading = "Flags on rows")]
pub struct RuleArguments {
    /// Flag rows with a p-value of at most C: of usual rows, the part C on average [default: 0.01].
    #[arg(long, value_name = "C", group = "rule")]
    pub contamination: Option<f64>,
    /// Flag rows such that, of the flagged ones, the part Q at most is expected to be usual.
    #[arg(long, value_name = "Q", group = "rule")]
    pub fdr: Option<f64>,
    /// Flag rows with a score of at least T.
    #[arg(long, value_name = "T", group = "rule", allow_negative_numbers = true)]
    pub threshold: Option<f64>,
    /// Exit with code 1 if a row is flagged.
    #[arg(long)]
    pub fail_on_anomaly: bool,
}

impl RuleArguments {
    /// The part of usual rows that is flagged unless something else is asked for.
    pub const CONTAMINATION: f64 = 0.01;

    /// The rule, checked.
    pub fn rule(&self) -> Result<Rule> {
        let rule = match (self.threshold, self.fdr) {
            (Some(score), _) => Rule::Threshold(score),
            (_, Some(part)) => Rule::Fdr(part),
            _ => Rule::Contamination(self.contamination.unwrap_or(Self::CONTAMINATION)),
        };
        rule.validate()?;
        Ok(rule)
    }
}

/// How a file is read; what is left open is found in it.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Reading")]
pub struct ReadArguments {
    /// The file's format.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<InputFormat>,
    /// What stands between the cells of a csv file; `tab` is a tab.
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// The first line of a csv file holds the columns' names.
    #[arg(long, overrides_with = "no_header")]
    pub header: bool,
    /// The first line of a csv file is a row; the columns are called `column_1` and so on.
    #[arg(long, overrides_with = "header")]
    pub no_header: bool,
}

/// The formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// Comma-separated values, or with another delimiter.
    Csv,
    /// The same with tabs.
    Tsv,
    /// One JSON object a line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC, file or stream.
    Arrow,
    /// Weka's format.
    Arff,
}

impl ReadArguments {
    /// As the library takes it.
    pub fn options(&self) -> ReadOptions {
        let format = self.format.map(|format| match format {
            InputFormat::Csv | InputFormat::Tsv => Format::Csv,
            InputFormat::Jsonl => Format::Jsonl,
            InputFormat::Parquet => Format::Parquet,
            InputFormat::Arrow => Format::Arrow,
            InputFormat::Arff => Format::Arff,
        });
        let tab = (self.format == Some(InputFormat::Tsv)).then_some(b'\t');
        let header = if self.header { Some(true) } else { self.no_header.then_some(false) };
        ReadOptions { format, delimiter: self.delimiter.or(tab), header }
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
    /// Do not learn from this column: it says which rows are anomalies, and those are not learned from either.
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// The value of the label column that means anomaly [default: 1].
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub anomaly: Option<String>,
    /// Leave these columns out.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Take each value of these columns for a category.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub categorical: Vec<String>,
    /// Take these columns for numbers.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub numeric: Vec<String>,
    /// A TOML file with `label = "NAME"` and, under `[columns]`, `NAME = "categorical"`, `"numeric"` or `"ignore"`.
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
        ] {
            for name in names {
                choices.choose(name, kind)?;
            }
        }
        if self.label.is_some() {
            choices.label.clone_from(&self.label);
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
    /// The detector.
    #[arg(long, value_name = "NAME", default_value = Method::NAMES[0], value_parser = PossibleValuesParser::new(Method::NAMES))]
    pub method: String,
    /// The settings of gnsm, dsvdd or dagmm to start from [default: fast].
    #[arg(long, value_enum)]
    pub preset: Option<Preset>,
    /// How gnsm makes the score, if not as the preset has it.
    #[arg(long, value_enum)]
    pub head: Option<HeadName>,
    /// A TOML file with settings in place of the preset's; `gnsm inspect` shows their names.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Where all randomness comes from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// End training after this many seconds, with the best model so far.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub max_seconds: Option<f64>,
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
    /// Seconds to a minute on a laptop.
    Fast,
    /// The paper's configuration to the letter; of gnsm, a day on a GPU.
    Paper,
    /// What the paper chose for dagmm on its set bank.
    PaperBank,
    /// On census.
    PaperCensus,
    /// On probe and u2r.
    PaperProbe,
}

/// How a score is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HeadName {
    /// Rare values and odd couplings, each as far as the table shows it.
    Evidence,
    /// The denoising surprise of each cell, averaged over the levels.
    Surprise,
    /// The paper's: the likelihood of the score norms under a Gaussian mixture.
    Norms,
}
