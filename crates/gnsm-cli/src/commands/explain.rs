//! `gnsm explain`: shows why one row has its score.

use anyhow::{Result, bail};
use comfy_table::{Attribute, Cell};
use gnsm::{Explanation, Model, Reason, Scored, Table};
use serde_json::json;

use super::{Outcome, drift, note_columns, open_table, shown};
use crate::arguments::ExplainArguments;
use crate::console::{Console, print_json, print_page};
use crate::display::{self, Place, STRONG, bar, left, p_value, plural, right};
use crate::interrupt;

/// Rows passed over at a time.
const BATCH: usize = 8192;
/// Characters of the longest bar.
const BAR: usize = 20;
/// What rounding may change in a sum of parts, relative to the score.
const ROUNDING: f64 = 1e-9;

/// Runs the command.
pub fn run(arguments: &ExplainArguments, console: Console) -> Result<Outcome> {
    let model = Model::load(&arguments.model)?;
    let mut compared = None;
    if !arguments.no_drift && drift::is_read_twice(&arguments.files) {
        // What `score` sets aside is set aside here. A file that it refuses has no scores to agree with.
        let options = arguments.read.options(Some(model.schema().missing.clone()));
        compared = drift::compare(&model, &arguments.files, &options).ok().flatten();
    }
    if let Some(report) = &compared {
        drift::note_set_aside(console, report);
    }
    let judge = compared.as_ref().map_or_else(|| model.judge(), |report| model.judge_without(report));
    let Some((row, place)) = read_row(arguments, &model, console)? else { return Ok(Outcome::Interrupted) };
    let batch = judge.read(&row)?;
    let explanation = batch.explain_all(usize::MAX).pop();
    let (Some(explanation), Some(&Scored { score, p_value })) = (explanation, batch.scores().first()) else {
        bail!("row {} could not be scored", arguments.row);
    };
    let sum = explanation.base + explanation.rest + explanation.reasons.iter().map(|reason| reason.part).sum::<f64>();
    if (sum - score).abs() > ROUNDING * score.abs().max(1.0) {
        console.warn(format_args!("the parts sum to {sum}, not to the score {score}; please report this"));
    }
    if arguments.json {
        print_json(&json!({
            "file": row.file_of(0),
            "row": arguments.row,
            "line": row.lines.first(),
            "score": score,
            "p_value": p_value,
            "base": explanation.base,
            "rest": explanation.rest,
            "sum": sum,
            "reasons": explanation.reasons,
        }))?;
    } else {
        print_page(&page(&place, arguments.row, score, p_value, sum, &explanation))?;
    }
    Ok(Outcome::Done)
}

/// A table of that row alone, and where it stands; `None` after Ctrl-C.
fn read_row(arguments: &ExplainArguments, model: &Model, console: Console) -> Result<Option<(Table, String)>> {
    let mut reader = open_table(&arguments.files, &arguments.read.options(Some(model.schema().missing.clone())))?;
    interrupt::stop_soon()?;
    let mut passed = 0;
    loop {
        let left = arguments.row - passed;
        let size = if left == 0 { 1 } else { left.min(BATCH as u64) as usize };
        let Some(batch) = reader.next_batch(size)? else {
            let rows = plural(passed, "row");
            bail!("{} has {rows}: there is no row {}, counted from 0", shown(&arguments.files), arguments.row);
        };
        if passed == 0 {
            let report = model.check(&batch)?;
            note_columns(console, model, &batch.file, &report);
        }
        if left == 0 {
            for note in reader.notes() {
                console.note(display::plain(&note));
            }
            let file = display::plain(batch.file_of(0));
            // Of several files, the number of the row is not that of the row in its file.
            let place = match (reader.parts().is_empty(), reader.format().has_lines(), batch.lines.first()) {
                (false, true, Some(line)) => format!("{file}, line {line}"),
                (false, false, Some(row)) => format!("{file}, row {row} from 1"),
                _ => file,
            };
            return Ok(Some((batch, place)));
        }
        passed += batch.n_rows() as u64;
        if interrupt::requested() {
            return Ok(None);
        }
    }
}

fn page(place: &str, number: u64, score: f64, p: f64, sum: f64, explanation: &Explanation) -> String {
    let mut page = format!("{STRONG}row {number}{STRONG:#} of {place}: score {score:.4}, p-value {}\n\n", p_value(p));
    let mut rows: Vec<Vec<Cell>> = explanation.reasons.iter().map(line).collect();
    let total = |name: &str, value: f64| {
        vec![
            Cell::new(name).add_attribute(Attribute::Dim),
            Cell::new(""),
            Cell::new(""),
            right(""),
            // What rounding leaves of nothing is nothing.
            right(format!("{:.4}", if value.abs() < 5e-5 { 0.0 } else { value })),
        ]
    };
    rows.push(total("(rest)", explanation.base + explanation.rest));
    rows.push(total("(sum)", sum));
    let header = left(["column", "saw", "expected"]).into_iter().chain(["p", "part", "share"].map(right));
    page.push_str(&display::columns(Place::Output, header.collect(), rows));
    page
}

fn line(reason: &Reason) -> Vec<Cell> {
    let note = reason.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    let saw = Cell::new(format!("{}{note}", display::cell(Place::Output, &reason.saw, 80)));
    vec![
        Cell::new(display::cell(Place::Output, &reason.column, 40)).add_attribute(Attribute::Bold),
        if reason.note.is_some() { saw.fg(comfy_table::Color::Red) } else { saw },
        Cell::new(display::cell(Place::Output, reason.expected.as_deref().unwrap_or("-"), 80)),
        right(reason.probability.map_or_else(|| "-".into(), |p| format!("{p:.3}"))),
        right(format!("{:.4}", reason.part)),
        right(format!("{:.0} %", 100.0 * reason.share)),
        Cell::new(bar(reason.share, BAR)),
    ]
}
