//! The README's tables must be those that the committed runs give. `GNSM_UPDATE=1 cargo test -p gnsm-bench --test
//! readme` writes them.

use std::path::Path;

use gnsm_bench::{masks, summary, tabular};

const END: &str = "<!-- end -->";
/// A newcomer reads no more than this.
const MOST_LINES: usize = 150;

#[test]
fn the_tables_are_the_runs() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = here.join("../../README.md");
    let mut readme = std::fs::read_to_string(&path).expect("a README");
    let tables = [
        ("tabular", summary::readme_table(&tabular::read_lines(&here.join("runs/tabular/raw.csv")).expect("a run"))),
        ("masks", masks::readme_table(&masks::read_lines(&here.join("runs/masks/raw.csv")).expect("a run"))),
    ];
    for (run, table) in tables {
        let start = format!("<!-- from crates/gnsm-bench/runs/{run}/raw.csv -->\n");
        let (before, rest) = readme.split_once(&start).expect("where the table starts");
        let (shown, after) = rest.split_once(END).expect("where it ends");
        if std::env::var_os("GNSM_UPDATE").is_some() {
            readme = format!("{before}{start}\n{}\n\n{END}{after}", table.trim());
            std::fs::write(&path, &readme).expect("written");
        } else {
            assert!(
                shown.trim() == table.trim(),
                "{run}: GNSM_UPDATE=1 cargo test -p gnsm-bench --test readme writes it anew"
            );
        }
    }
}

#[test]
fn the_readme_is_short() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let n_lines = std::fs::read_to_string(path).expect("a README").lines().count();
    assert!(n_lines <= MOST_LINES, "{n_lines} lines, of at most {MOST_LINES}: move what is not for newcomers to docs");
}
