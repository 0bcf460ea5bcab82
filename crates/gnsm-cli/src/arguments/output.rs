//! Arguments that say what comes out: rows, and which of them are flagged.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueHint};
use gnsm::Rule;

use crate::output::OutputFormat;

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
    /// Pass these columns of FILE through to the output, separated by commas; `all` is the whole row. In xlsx, their
    /// odd cells are coloured.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// The column that names the rows. It becomes the first column of the output.
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// Write a line for each cell that is likely wrong, with what was seen and expected, instead of one for each row.
    /// At most a share --fdr of these cells is expected to be right [default: 0.1]. The whole FILE is held in memory.
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
    /// Flag rows with a p-value of at most C. On average, a share C of the usual rows is then flagged [default of
    /// score: 0.01].
    #[arg(long, value_name = "C", group = "rule")]
    pub contamination: Option<f64>,
    /// Flag as many rows as possible, so that at most a share Q of the flagged rows is expected to be false alarms
    /// [default of detect: 0.1].
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
