//! `--cells` of `score` and `detect`: a line for each cell that is likely wrong, instead of one for each row.

use std::io::Write;

use anyhow::{Result, bail};
use gnsm::{Batch, OddCell};
use serde_json::json;

use super::Outcome;
use crate::arguments::{OutputArguments, RuleArguments};
use crate::console::Console;
use crate::display::plural;
use crate::output::{Destination, OutputFormat, csv_cell};

/// The share of listed cells that may be right, unless something else is asked for.
const DEFAULT_RATE: f64 = 0.1;
const HEADER: &str = "row,column,saw,expected,probability,seen_probability,part,p_value,wrong";

/// Writes the cells of a table that are likely wrong.
pub fn write(batch: &Batch<'_>, output: &OutputArguments, rule: &RuleArguments, console: Console) -> Result<Outcome> {
    if rule.contamination.is_some() || rule.threshold.is_some() {
        bail!("--cells lists cells by a false discovery rate; use --fdr, not --contamination or --threshold");
    }
    if output.explain.is_some() || output.id.is_some() || !output.keep.is_empty() {
        bail!("--cells writes a line for each cell; leave out --explain, --keep and --id");
    }
    let (cells, rows) = (batch.odd_cells(rule.fdr.unwrap_or(DEFAULT_RATE))?, batch.n_rows() as u64);
    let format = output.format()?;
    let line: fn(&OddCell) -> String = match format {
        OutputFormat::Csv => csv_line,
        OutputFormat::Jsonl => |cell| format!("{}\n", to_json(cell)),
        _ => bail!("--cells writes csv and jsonl, not {}; use one of these", format.name()),
    };
    let mut destination = Destination::create(output.output.as_deref())?;
    if format == OutputFormat::Csv {
        writeln!(destination, "{HEADER}")?;
    }
    for cell in &cells {
        destination.write_all(line(cell).as_bytes())?;
    }
    destination.finish()?;
    console.note(format_args!("{} of {} likely wrong", plural(cells.len() as u64, "cell"), plural(rows, "row")));
    Ok(Outcome::of_flagged(cells.len() as u64, rows, rule, console))
}

fn csv_line(cell: &OddCell) -> String {
    let OddCell { row, reason, wrong, p_value, .. } = cell;
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let [column, saw, expected] =
        [&reason.column, &reason.saw, reason.expected.as_ref().unwrap_or(&String::new())].map(|text| csv_cell(text));
    let [expected_p, seen_p] = [reason.probability, reason.seen_probability].map(number);
    format!("{row},{column},{saw},{expected},{expected_p},{seen_p},{},{p_value},{wrong}\n", reason.part)
}

fn to_json(cell: &OddCell) -> serde_json::Value {
    let OddCell { row, reason, wrong, p_value, .. } = cell;
    json!({
        "row": row,
        "column": reason.column,
        "saw": reason.saw,
        "note": reason.note,
        "expected": reason.expected,
        "probability": reason.probability,
        "seen_probability": reason.seen_probability,
        "part": reason.part,
        "p_value": p_value,
        "wrong": wrong,
    })
}
