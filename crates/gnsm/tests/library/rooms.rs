//! Which room may use which: the table of ARCHITECTURE.md, checked against the `crate::` paths of the source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms that each room may use, as ARCHITECTURE.md says.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md");
    let text = fs::read_to_string(page).expect("ARCHITECTURE.md");
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let table = text.lines().skip_while(|line| !line.starts_with("| room | may use |")).skip(2);
    table
        .take_while(|line| line.starts_with('|'))
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
            Some((words(cells.first()?).first()?.clone(), words(cells.get(1)?).into_iter().collect()))
        })
        .collect()
}

/// The rooms that the code of a file names; tests may look everywhere.
fn named(code: &str) -> BTreeSet<String> {
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    lines
        .flat_map(|line| line.split("crate::").skip(1))
        .map(|rest| rest.chars().take_while(|c| is_name(*c)).collect::<String>())
        .filter(|name| !name.is_empty())
        .collect()
}

/// Every file of Rust in a folder.
pub fn source_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            source_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn rooms_use_only_the_rooms_that_they_may() {
    let allowed = allowed();
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let mut files = Vec::new();
    source_files(source, &mut files);
    assert!(files.len() > 50 && allowed.len() > 10, "{} files, {} rooms", files.len(), allowed.len());
    let mut problems = Vec::new();
    for file in files {
        let inside = file.strip_prefix(source).expect("under src");
        let first = inside.iter().next().expect("a name").to_string_lossy();
        let room = first.trim_end_matches(".rs");
        if room == "lib" || inside.iter().any(|part| part == "tests" || part == "tests.rs") {
            continue;
        }
        let Some(may) = allowed.get(room) else {
            problems.push(format!("{room} is missing in the table"));
            continue;
        };
        for used in named(&fs::read_to_string(&file).expect("source")) {
            if used != room && !may.contains(&used) {
                problems.push(format!("{} uses {used}, which {room} may not", inside.display()));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn no_rooms_use_each_other() {
    let mut left = allowed();
    // Takes away rooms that use nothing that is left, until none is left; what remains goes round in circles.
    loop {
        let free: Vec<String> = left.iter().filter(|(_, uses)| uses.is_empty()).map(|(room, _)| room.clone()).collect();
        if free.is_empty() {
            break;
        }
        for room in &free {
            left.remove(room);
            for uses in left.values_mut() {
                uses.remove(room);
            }
        }
    }
    assert!(left.is_empty(), "these rooms use each other: {left:?}");
}
