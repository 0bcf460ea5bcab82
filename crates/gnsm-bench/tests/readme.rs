//! What the pages say must hold: the README's tables are those that the committed runs give, the README is short, and
//! links between pages lead somewhere. `GNSM_UPDATE=1 cargo test -p gnsm-bench --test readme` writes the tables.

use std::path::{Path, PathBuf};

use gnsm_bench::{masks, summary, tabular};

const END: &str = "<!-- end -->";
/// A newcomer reads no more than this.
const MOST_WORDS: usize = 1200;

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
    let readme = std::fs::read_to_string(path).expect("a README");
    let n_words = readme.split_whitespace().count();
    assert!(n_words <= MOST_WORDS, "{n_words} words, of at most {MOST_WORDS}: move what is not for newcomers to docs");
}

#[test]
fn links_between_pages_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut broken = Vec::new();
    for page in [root.clone(), root.join("docs"), root.join("docs/research")].iter().flat_map(|folder| pages(folder)) {
        let text = std::fs::read_to_string(&page).expect("a page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let holds = || {
                let text = std::fs::read_to_string(&target).unwrap_or_default();
                text.lines().filter(|line| line.starts_with('#')).any(|line| anchor(line) == heading)
            };
            if !link.contains("://") && !(target.exists() && (heading.is_empty() || holds())) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The pages of a folder, not of those in it.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    files.filter(|file| file.extension().is_some_and(|ending| ending == "md")).collect()
}

/// What a heading is called in a link.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    text.chars().filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter)).collect()
}
