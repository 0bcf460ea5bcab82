//! `gnsm columns`: what each column of a file is taken for, without a fit.

use anyhow::Result;
use gnsm::Schema;
use serde_json::json;

use super::{Outcome, create_file, read_table};
use crate::arguments::ColumnsArguments;
use crate::console::{Console, print_json, print_page};
use crate::progress::{decisions, kind_name};

/// Runs the command.
pub fn run(arguments: &ColumnsArguments, console: Console) -> Result<Outcome> {
    let (choices, _) = arguments.columns.choices()?;
    let options = arguments.read.options(choices.missing.clone());
    let (table, _) = read_table(&arguments.files, &options, console)?;
    let rows: Vec<usize> = (0..table.n_rows()).collect();
    let schema = Schema::look(&table, &rows, &choices)?;
    if let Some(path) = &arguments.output {
        let mut file = create_file(path)?;
        std::io::Write::write_all(&mut file, schema.choices(choices.label.as_deref()).to_toml().as_bytes())?;
        file.finish()?;
        console.note(format_args!("wrote {}", path.display()));
    }
    if arguments.json {
        let columns = schema
            .columns
            .iter()
            .map(|column| json!({ "column": column.name, "kind": kind_name(&column.kind), "reason": column.reason }));
        print_json(&json!({ "file": table.file, "rows": table.n_rows(), "columns": columns.collect::<Vec<_>>() }))?;
    } else {
        print_page(&decisions(&schema, choices.label.as_deref()))?;
    }
    Ok(Outcome::Done)
}
