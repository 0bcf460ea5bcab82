//! `gnsm columns`: what each column of a file is taken for, and facts about its rows, without a fit.

use anyhow::{Result, bail};
use gnsm::Schema;
use serde_json::json;

use super::{Outcome, create_file, facts, note_reading, open_table, shown};
use crate::arguments::ColumnsArguments;
use crate::console::{Console, print_json, print_page};
use crate::display;
use crate::progress::{decisions, kind_name};

/// Runs the command.
pub fn run(arguments: &ColumnsArguments, console: Console) -> Result<Outcome> {
    let (mut choices, _) = arguments.columns.choices()?;
    let options = arguments.read.options(choices.missing.clone());
    let mut reader = open_table(&arguments.files, &options)?;
    // One batch without bound is all there is.
    let table = reader.next_batch(usize::MAX)?;
    note_reading(console, &reader);
    let Some(table) = table else { bail!("{}: holds no rows; give a file with rows", shown(&arguments.files)) };
    let (has_lines, left_out) = (reader.format().has_lines(), reader.left_out());
    let rows: Vec<usize> = (0..table.n_rows()).collect();
    let mut schema = Schema::look(&table, &rows, &choices)?;
    let mut found = facts::of(&table, &schema);
    let taken = if arguments.take_facts { gnsm::facts::take(&found, &mut choices) } else { 0 };
    if taken > 0 {
        schema = Schema::look(&table, &rows, &choices)?;
        found = facts::of(&table, &schema);
        console.note(format_args!("took the advice of {}", display::plural(taken as u64, "fact")));
    }
    if let Some(path) = &arguments.output {
        let mut file = create_file(path)?;
        std::io::Write::write_all(&mut file, schema.choices(choices.label.as_deref()).to_toml().as_bytes())?;
        file.finish()?;
        console.note(format_args!("wrote {}", path.display()));
    }
    if let Some(number) = arguments.fact {
        print_page(&facts::rows(&table, &schema, number, has_lines)?)?;
    } else if arguments.json {
        let columns = schema
            .columns
            .iter()
            .map(|column| json!({ "column": column.name, "kind": kind_name(&column.kind), "reason": column.reason }));
        let columns: Vec<_> = columns.collect();
        let mut page = json!({ "file": table.file, "rows": table.n_rows(), "columns": columns, "facts": found });
        if arguments.read.skip_bad_lines {
            let lines = left_out.lines.iter();
            let lines: Vec<_> =
                lines.map(|line| json!({ "file": line.file, "line": line.line, "problem": line.problem })).collect();
            page["left_out"] = json!({ "count": left_out.count, "lines": lines });
        }
        print_json(&page)?;
    } else {
        print_page(&(decisions(&schema, choices.label.as_deref()) + &facts::list(&found)))?;
    }
    Ok(Outcome::Done)
}
