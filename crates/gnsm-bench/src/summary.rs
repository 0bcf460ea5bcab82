//! Tables made from the lines of `raw.csv`, and from nothing else.

use std::fmt::Write as _;

use crate::paper;
use crate::tabular::Line;

/// Lines by set and method, both in the order of their first lines.
struct Grid<'a> {
    lines: &'a [Line],
    sets: Vec<&'a str>,
    methods: Vec<&'a str>,
}

impl<'a> Grid<'a> {
    fn new(lines: &'a [Line]) -> Self {
        let in_order = |of: fn(&Line) -> &String| {
            let mut names: Vec<&str> = Vec::new();
            for name in lines.iter().map(of) {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            names
        };
        Self { lines, sets: in_order(|line| &line.dataset), methods: in_order(|line| &line.method) }
    }

    /// Mean and standard deviation over the seeds (of the population, as NumPy's default), and how many there are.
    fn cell(&self, set: &str, method: &str, of: fn(&Line) -> f64) -> Option<(f64, f64, usize)> {
        let own = self.lines.iter().filter(|line| line.dataset == set && line.method == method);
        let values: Vec<f64> = own.map(of).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt();
        (!values.is_empty()).then_some((mean, deviation, values.len()))
    }
}

/// The summary's text: AP beside the paper's figures, AUROC, seconds and memory.
pub fn summarise(lines: &[Line]) -> String {
    let grid = Grid::new(lines);
    let mut text = String::new();
    let mut section = |title: &str, of: fn(&Line) -> f64, decimals: usize, with_paper: bool| {
        let _ = writeln!(text, "## {title}\n");
        let mut head: Vec<String> = vec!["set".into()];
        head.extend(grid.methods.iter().map(ToString::to_string));
        let with_paper = with_paper && grid.sets.iter().all(|set| paper::average_precision(set).is_some());
        if with_paper {
            head.extend(paper::METHODS.iter().map(|method| format!("paper: {method}")));
        }
        let _ = writeln!(text, "| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
        for set in &grid.sets {
            let mut row = vec![(*set).to_owned()];
            row.extend(grid.methods.iter().map(|method| match grid.cell(set, method, of) {
                Some((mean, deviation, n)) if n > 1 => format!("{mean:.decimals$} ± {deviation:.decimals$}"),
                Some((mean, ..)) => format!("{mean:.decimals$}"),
                None => "–".into(),
            }));
            if with_paper {
                row.extend(paper::average_precision(set).into_iter().flatten().map(str::to_owned));
            }
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        text.push('\n');
    };
    section("Average precision, %", |line| line.ap, 2, true);
    section("AUROC, %", |line| line.auroc, 2, false);
    section("Seconds to fit", |line| line.fit_seconds, 1, false);
    section("Seconds to score the test rows", |line| line.score_seconds, 2, false);
    section("Peak memory, MB", |line| line.peak_mb, 0, false);
    text
}

/// The README's table: the mean AP of every method, the best of each set in bold, and the paper's figures below. A method that has not
/// run all seeds of a set has no figure there.
pub fn readme_table(lines: &[Line]) -> String {
    let grid = Grid::new(lines);
    let seeds = lines.iter().map(|line| line.seed as usize + 1).max().unwrap_or(0);
    let whole = |set: &str, method: &str| {
        grid.cell(set, method, |line| line.ap).filter(|(.., n)| *n == seeds).map(|(mean, ..)| mean)
    };
    let mut text = format!("| AP, % | {} |\n|---|{}\n", grid.sets.join(" | "), "---|".repeat(grid.sets.len()));
    let shown = |set: &str, method: &str| whole(set, method).map(|mean| format!("{mean:.1}"));
    let best = |set: &str| {
        let means = grid.methods.iter().filter_map(|method| whole(set, method));
        format!("{:.1}", means.fold(0.0, f64::max))
    };
    for method in &grid.methods {
        let cells = grid.sets.iter().map(|set| match shown(set, method) {
            Some(mean) if mean == best(set) => format!("**{mean}**"),
            Some(mean) => mean,
            None => "–".into(),
        });
        let _ = writeln!(text, "| {method} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    for (index, method) in paper::METHODS.iter().enumerate() {
        let cells = grid.sets.iter().map(|set| {
            let figure = paper::average_precision(set).map_or("–", |figures| figures[index]);
            figure.split(' ').next().unwrap_or_default()
        });
        let _ = writeln!(text, "| *paper: {method}* | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(method: &str, seed: u64, ap: f64) -> Line {
        let (dataset, method) = ("bank".to_owned(), method.to_owned());
        Line { dataset, method, seed, ap, auroc: 50.0, fit_seconds: 1.5, score_seconds: 0.25, peak_mb: 80.0 }
    }

    #[test]
    fn the_summary_stands_beside_the_paper() {
        let text = summarise(&[line("gnsm", 0, 70.0), line("gnsm", 1, 72.0)]);
        assert!(text.contains("| bank | 71.00 ± 1.00 | 63.24 ± 1.74 | 66.52 ± 0.57 |"), "{text}");
        // Among sets that the paper does not have, one may have the name of another.
        let others = summarise(&[line("gnsm", 0, 70.0), Line { dataset: "claims".into(), ..line("gnsm", 0, 70.0) }]);
        assert!(others.contains("| bank | 70.00 |\n") && !others.contains("paper"), "{others}");
    }

    #[test]
    fn the_best_mean_is_in_bold() {
        let text = readme_table(&[
            line("gnsm", 0, 70.0),
            line("gnsm", 1, 72.0),
            line("pca", 0, 60.0),
            line("pca", 1, 60.0),
            line("knn", 0, 99.0),
        ]);
        let start = "| AP, % | bank |\n|---|---|\n| gnsm | **71.0** |\n| pca | 60.0 |\n| knn | – |\n| *paper: IForest* | 63.24 |\n";
        assert!(text.starts_with(start), "{text}");
    }
}
