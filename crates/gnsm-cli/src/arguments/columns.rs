//! Arguments of `columns`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{ColumnArguments, ReadArguments};

/// Arguments of `columns`.
#[derive(Debug, Args)]
#[command(after_help = "\
Below the columns stand facts about the file, each with its count: rows that repeat or are empty, keys that occur twice, codes \
that mean a missing value, cells of another kind than their column, numbers that are text to most programs, mixed units, \
dates in the future or before 1900, values that differ in case or blanks alone, columns that others give, and columns with \
one value or none. They are numbered; --fact N shows the rows of one, and --take-facts does what they advise.")]
pub struct ColumnsArguments {
    /// The table to read: a file, several, or a folder; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Do what the facts advise: take codes such as -200 or 9999-12-31 for missing values, and hours and minutes for times.
    /// With -o, the schema file has it.
    #[arg(long)]
    pub take_facts: bool,
    /// Show the rows of the fact with this number.
    #[arg(long, value_name = "N")]
    pub fact: Option<usize>,
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
