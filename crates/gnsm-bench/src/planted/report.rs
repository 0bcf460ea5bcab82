//! The summary of planted oddities, made from the lines of `raw.csv` and from nothing else.

use std::fmt::Write as _;

use super::run::Line;

/// Shares by table and by kind: rows among the first k, first reasons that name the column, and the middle rank.
pub fn summarise(lines: &[Line]) -> String {
    let mut text = String::new();
    section(&mut text, "table", lines, |line| &line.table);
    section(&mut text, "kind", lines, |line| &line.kind);
    let failed = lines.iter().filter(|line| line.rank.is_none()).count();
    if failed > 0 {
        let _ = writeln!(text, "{failed} of them are of tables on which the detector failed, and count as not found.");
    }
    text
}

fn section(text: &mut String, title: &str, lines: &[Line], of: fn(&Line) -> &String) {
    let _ = writeln!(
        text,
        "| {title} | planted | among the top k | first reason names the column | middle rank |\n|---|---|---|---|---|"
    );
    let mut names: Vec<&String> = Vec::new();
    for name in lines.iter().map(of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if title == "kind" {
        names.sort_unstable();
    }
    for name in names {
        let own: Vec<&Line> = lines.iter().filter(|line| of(line) == name).collect();
        row(text, name, &own);
    }
    row(text, "**all**", &lines.iter().collect::<Vec<_>>());
    text.push('\n');
}

fn row(text: &mut String, name: &str, lines: &[&Line]) {
    let n = lines.len();
    let share = |test: fn(&Line) -> bool| {
        let count = lines.iter().filter(|line| test(line)).count();
        format!("{count} ({:.0} %)", 100.0 * count as f64 / n.max(1) as f64)
    };
    let mut ranks: Vec<usize> = lines.iter().filter_map(|line| line.rank).collect();
    ranks.sort_unstable();
    let middle = ranks.get(ranks.len() / 2).map_or_else(|| "–".to_owned(), ToString::to_string);
    let _ =
        writeln!(text, "| {name} | {n} | {} | {} | {middle} |", share(|line| line.in_top_k), share(|line| line.named));
}
