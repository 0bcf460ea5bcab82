//! The README's table is the one that the committed run gives. `GNSM_UPDATE=1 cargo test -p gnsm-bench --test readme` writes it.

use std::path::Path;

use gnsm_bench::summary::readme_table;
use gnsm_bench::tabular::read_lines;

const START: &str = "<!-- from crates/gnsm-bench/runs/tabular/raw.csv -->\n";
const END: &str = "<!-- end -->";

#[test]
fn the_table_is_the_runs() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = readme_table(&read_lines(&here.join("runs/tabular/raw.csv")).expect("a run"));
    let path = here.join("../../README.md");
    let readme = std::fs::read_to_string(&path).expect("a README");
    let (before, rest) = readme.split_once(START).expect("where the table starts");
    let (shown, after) = rest.split_once(END).expect("where it ends");
    if std::env::var_os("GNSM_UPDATE").is_some() {
        std::fs::write(&path, format!("{before}{START}\n{table}\n{END}{after}")).expect("written");
    } else {
        assert!(shown.trim() == table.trim(), "GNSM_UPDATE=1 cargo test -p gnsm-bench --test readme writes it anew");
    }
}
