//! Makes the tables of `summary.md` from the lines of `raw.csv`, and from nothing else.

use std::fmt::Write as _;

use super::Line;
use crate::raw::{self, Column};
use crate::summary::mean_and_deviation;

/// What counts single values, beside which no other method should fall far behind anywhere.
const COUNTING: &str = "marginals";

/// The summary's text.
pub fn summarise(lines: &[Line]) -> String {
    let grid = Grid::new(lines);
    let mut text = String::new();
    grid.means(&mut text);
    for (title, of) in [("AUROC, %", AUROC), ("Average precision, %", AP)] {
        grid.by_set(&mut text, title, of);
    }
    grid.by_set(&mut text, "Flagged rows that are anomalies, %", Line::right);
    grid.by_set(&mut text, "Anomalies that are flagged, %", Line::found);
    grid.by_set(&mut text, "Seconds", |line| line.seconds);
    text
}

type Figure = fn(&Line) -> f64;
const AUROC: Figure = |line| line.auroc;
const AP: Figure = |line| line.ap;

/// Lines by set and method, both in the order of their first lines.
struct Grid<'a> {
    lines: &'a [Line],
    sets: Vec<&'a Line>,
    columns: Vec<Column<'a>>,
}

impl<'a> Grid<'a> {
    fn new(lines: &'a [Line]) -> Self {
        let mut sets: Vec<&Line> = Vec::new();
        for line in lines {
            if !sets.iter().any(|set| set.dataset == line.dataset) {
                sets.push(line);
            }
        }
        Self { lines, sets, columns: raw::columns(lines.iter().map(|line| (&*line.method, &*line.settings))) }
    }

    /// The mean over the seeds that have the figure.
    fn cell(&self, set: &str, column: &Column<'_>, of: Figure) -> Option<f64> {
        let own = self.lines.iter().filter(|line| line.dataset == set && column.holds(&line.method, &line.settings));
        mean(&own.map(of).filter(|figure| !figure.is_nan()).collect::<Vec<_>>())
    }

    /// The sets that every method has run on.
    fn shared(&self) -> impl Iterator<Item = &str> {
        let has_all = |set: &&str| self.columns.iter().all(|column| self.cell(set, column, AUROC).is_some());
        self.sets.iter().map(|line| line.dataset.as_str()).filter(has_all)
    }

    fn means(&self, text: &mut String) {
        let n = self.shared().count();
        let _ = writeln!(text, "## Means over {n} sets\n");
        text.push_str("| method | AUROC | AP | flagged that are anomalies | anomalies flagged | worst AUROC beside ");
        let _ = writeln!(text, "{COUNTING} |\n|{}", "---|".repeat(6));
        let counting = self.columns.iter().find(|column| column.method == COUNTING);
        for column in &self.columns {
            let over_sets = |of: Figure| {
                shown(mean(&self.shared().filter_map(|set| self.cell(set, column, of)).collect::<Vec<_>>()))
            };
            let beside = |set: &'a str| Some((self.cell(set, column, AUROC)? - self.cell(set, counting?, AUROC)?, set));
            let all = self.sets.iter().filter_map(|line| beside(&line.dataset));
            let worst = all.min_by(|a, b| a.0.total_cmp(&b.0));
            let worst = worst.map_or("–".into(), |(difference, set)| format!("{difference:+.1} ({set})"));
            let figures = [AUROC, AP, Line::right, Line::found].map(over_sets).join(" | ");
            let _ = writeln!(text, "| {} | {figures} | {worst} |", column.name);
        }
        if self.columns.len() > 1 {
            // The best method of each set, found with the labels in view: what choosing well could reach.
            let best = |of: Figure| {
                let of_set = |set| self.columns.iter().filter_map(|c| self.cell(set, c, of)).reduce(f64::max);
                shown(mean(&self.shared().filter_map(of_set).collect::<Vec<_>>()))
            };
            let _ = writeln!(text, "| best method of each set | {} | {} | – | – | – |", best(AUROC), best(AP));
            let single = |of: Figure| {
                let of_column = |column: &&Column<'_>| {
                    mean(&self.shared().filter_map(|set| self.cell(set, column, of)).collect::<Vec<_>>())
                };
                let means = self.columns.iter().filter_map(|column| Some((of_column(&column)?, &column.name)));
                means
                    .max_by(|a, b| a.0.total_cmp(&b.0))
                    .map_or("–".into(), |(mean, name)| format!("{name} ({mean:.1})"))
            };
            let _ = writeln!(text, "\nBest single method: {} by AUROC, {} by AP.", single(AUROC), single(AP));
        }
        text.push('\n');
    }

    fn by_set(&self, text: &mut String, title: &str, of: Figure) {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let head = format!("| set | rows | anomalies | {} |", names.join(" | "));
        let _ = writeln!(text, "## {title}\n\n{head}\n|{}", "---|".repeat(names.len() + 3));
        for Line { dataset, rows, anomalies, .. } in &self.sets {
            let cells: Vec<String> = self.columns.iter().map(|column| shown(self.cell(dataset, column, of))).collect();
            let _ = writeln!(text, "| {dataset} | {rows} | {anomalies} | {} |", cells.join(" | "));
        }
        text.push('\n');
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    mean_and_deviation(values).map(|[mean, _]| mean)
}

fn shown(figure: Option<f64>) -> String {
    figure.map_or("–".into(), |figure| format!("{figure:.1}"))
}
