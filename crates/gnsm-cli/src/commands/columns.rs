//! `gnsm columns`: what each column of a file is taken for, and facts about its rows, without a fit.

use anyhow::Result;
use gnsm::Schema;
use serde_json::json;

use super::{Outcome, create_file, facts, read_table};
use crate::arguments::ColumnsArguments;
use crate::console::{Console, print_json, print_page};
use crate::display;
use crate::progress::{decisions, kind_name};

/// Runs the command.
pub fn run(arguments: &ColumnsArguments, console: Console) -> Result<Outcome> {
    let (mut choices, _) = arguments.columns.choices()?;
    let options = arguments.read.options(choices.missing.clone());
    let (table, has_lines) = read_table(&arguments.files, &options, console)?;
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
        print_json(&json!({ "file": table.file, "rows": table.n_rows(), "columns": columns, "facts": found }))?;
    } else {
        print_page(&(decisions(&schema, choices.label.as_deref()) + &facts::list(&found)))?;
    }
    Ok(Outcome::Done)
}
