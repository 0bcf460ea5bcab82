//! The public face as a list: `public_items.txt` has every item that `lib.rs` gives out, with its fields and functions.
//!
//! A change of the face changes this list, and so is seen in a review. `GNSM_UPDATE=1 cargo test -p gnsm public` writes it
//! anew. The list is read from the source, which `cargo fmt` keeps in one form: an item starts with `pub` and ends with a
//! bracket in the column where it started.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::rooms::source_files;

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/library/public_items.txt");

/// All code of the library, file by file, without tests and comments.
fn sources() -> Vec<(String, Vec<String>)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let mut files = Vec::new();
    source_files(root, &mut files);
    files.sort();
    let code = |path: &Path| {
        let text = fs::read_to_string(path).expect("source");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.map(|line| line.split(" // ").next().unwrap_or_default().to_owned()).collect()
    };
    let name = |path: &Path| path.strip_prefix(root).expect("under src").display().to_string();
    files.iter().filter(|path| !path.ends_with("tests.rs")).map(|path| (name(path), code(path))).collect()
}

/// The names that a file gives out with `pub use`, those of modules inside it as `module::name`.
fn given_out(lines: &[String], prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut module = String::new();
    let mut lines = lines.iter();
    while let Some(line) = lines.next() {
        if line == "}" {
            module.clear();
        } else if let Some(name) = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(" {")) {
            module = format!("{name}::");
        } else if let Some(rest) = line.trim_start().strip_prefix("pub use ") {
            let mut statement = rest.to_owned();
            while !statement.ends_with(';') {
                statement += lines.next().expect("the rest of a `use`").trim();
            }
            let statement = statement.trim_end_matches(';');
            let (_, last) =
                statement.split_once('{').unwrap_or(("", statement.rsplit("::").next().unwrap_or_default()));
            let each = last.trim_end_matches('}').split(',').map(str::trim).filter(|name| !name.is_empty());
            names.extend(each.map(|name| format!("{prefix}{module}{name}")));
        }
    }
    names
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The lines from `start` to the bracket that closes it.
fn block(lines: &[String], start: usize) -> &[String] {
    if lines[start].ends_with(';') || lines[start].ends_with('}') {
        return &lines[start..=start];
    }
    let inside = |line: &&String| line.is_empty() || indentation(line) > indentation(&lines[start]);
    let length = lines[start + 1..].iter().take_while(inside).count();
    &lines[start..lines.len().min(start + length + 2)]
}

/// A function's lines up to its body, in one.
fn signature(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        let line = line.trim();
        let glued = text.is_empty() || text.ends_with('(') || line.starts_with(')');
        text += if glued { "" } else { " " };
        text += line;
        if line.ends_with('{') || line.ends_with(';') || line.ends_with('}') {
            break;
        }
    }
    text.split(" {").next().unwrap_or_default().trim_end_matches(';').replace(",)", ")")
}

/// What the list says about one item of this name.
fn describe(name: &str, sources: &[(String, Vec<String>)]) -> String {
    let name = name.rsplit("::").next().unwrap_or(name);
    let is = |line: &str, word: &str| {
        let rest = line.trim_start().strip_prefix(word).and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let mut text = String::new();
    for (_, lines) in sources {
        for (at, line) in lines.iter().enumerate() {
            let hidden = at > 0 && lines[at - 1].contains("doc(hidden)");
            if ["pub fn ", "pub const ", "pub type "].iter().any(|word| is(line, word)) && indentation(line) == 0 {
                writeln!(text, "    {}", signature(&lines[at..])).expect("written");
            } else if is(line, "pub struct ") {
                let mark = if at > 0 && lines[at - 1].contains("non_exhaustive") { " non-exhaustive" } else { "" };
                writeln!(text, "    struct{mark}").expect("written");
                let fields = block(lines, at).iter().filter(|line| line.trim_start().starts_with("pub "));
                for field in fields.skip(1) {
                    writeln!(text, "      {}", field.trim().trim_end_matches(',')).expect("written");
                }
            } else if is(line, "pub enum ") {
                let variants = block(lines, at).iter().skip(1).filter(|line| !line.trim_start().starts_with('#'));
                let shown: Vec<&str> = variants.map(|line| line.trim()).collect();
                writeln!(text, "    enum {}", shown.join(" ").trim_end_matches('}').trim_end()).expect("written");
            } else if is(line, "pub trait ") && !hidden {
                writeln!(text, "    trait{}", line.rsplit(name).next().unwrap_or_default().trim_end_matches(" {"))
                    .expect("written");
                text += &functions(block(lines, at), "fn ");
            } else if line.trim_start().starts_with("impl")
                && !line.contains(" for ")
                && line.split(['<', ' ', '>']).any(|word| word == name)
            {
                text += &functions(block(lines, at), "pub ");
            }
        }
    }
    text
}

/// The functions and constants of a block that are neither hidden nor private.
fn functions(block: &[String], start: &str) -> String {
    let mut text = String::new();
    let inner = block.first().map_or(0, |line| indentation(line)) + 4;
    for (at, line) in block.iter().enumerate().skip(1) {
        let is_one = indentation(line) == inner && line.trim_start().starts_with(start);
        if is_one && !block[at - 1].contains("doc(hidden)") {
            writeln!(text, "      {}", signature(&block[at..])).expect("written");
        }
    }
    text
}

#[test]
fn the_public_items_are_those_of_the_list() {
    let sources = sources();
    let lines_of = |file: &str| &sources.iter().find(|(name, _)| name == file).expect(file).1;
    let mut names = given_out(lines_of("lib.rs"), "");
    names.extend(given_out(lines_of("mask/mod.rs"), "mask::"));
    names.sort();
    let mut list = String::new();
    for name in names.iter().filter(|name| !name.ends_with('*')) {
        let found = describe(name, &sources);
        assert!(!found.is_empty(), "{name} was not found in the source");
        writeln!(list, "{name}\n{found}").expect("written");
    }
    for line in functions_of_a_module(lines_of("metrics/mod.rs")) {
        writeln!(list, "metrics: {line}").expect("written");
    }
    writeln!(list, "methods: {}", gnsm::Method::NAMES.join(", ")).expect("written");
    if std::env::var_os("GNSM_UPDATE").is_some() {
        fs::write(LIST, &list).expect("written");
    }
    let kept = fs::read_to_string(LIST).unwrap_or_default();
    let changed = |a: &str, b: &str| -> Vec<String> {
        let lines: Vec<&str> = b.lines().collect();
        a.lines().filter(|line| !lines.contains(line)).map(ToOwned::to_owned).collect()
    };
    assert!(
        list == kept,
        "the public items changed; `GNSM_UPDATE=1 cargo test -p gnsm public` writes the list anew\ngone: {:#?}\nnew: {:#?}",
        changed(&kept, &list),
        changed(&list, &kept)
    );
}

fn functions_of_a_module(lines: &[String]) -> Vec<String> {
    let starts = (0..lines.len()).filter(|&at| lines[at].starts_with("pub fn "));
    starts.map(|at| signature(&lines[at..])).collect()
}
