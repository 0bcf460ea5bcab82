//! Arguments that say how a file is read, and what its columns are.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum, ValueHint};
use gnsm::{ColumnChoices, Format, KindChoice, ReadOptions};

use crate::settings::read_toml;

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
    /// Leave out lines of a csv or jsonl file that are no rows, such as those with too many cells, and list them.
    #[arg(long)]
    pub skip_bad_lines: bool,
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
        options.skip_bad_lines = self.skip_bad_lines;
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

/// What the columns are. What the user does not say is decided from the file.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Columns")]
pub struct ColumnArguments {
    /// The column that marks known anomalies. Neither this column nor the rows it marks are learned from.
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// The value of the label column that means anomaly [default: 1; `true` counts as 1].
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
    /// Take these columns for identifiers. Only repeats and odd shapes are scored.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub identifier: Vec<String>,
    /// Take these columns for free text. Only its length is scored.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub text: Vec<String>,
    /// Take these texts for missing values, separated by commas, instead of: ? - NA N/A n/a #N/A NaN nan null NULL None.
    /// A number means it in every spelling. Empty cells are always missing. The model keeps the list.
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
