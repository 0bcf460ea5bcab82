//! Makes tables from the lines of `raw.csv`, and from nothing else.

use std::fmt::Write as _;

use crate::paper;
use crate::protocol::share_of_anomalies;
use crate::raw::{self, Column};
use crate::tabular::Line;

/// Lines by set and method, both in the order of their first lines.
struct Grid<'a> {
    lines: &'a [Line],
    sets: Vec<&'a str>,
    columns: Vec<Column<'a>>,
}

impl<'a> Grid<'a> {
    fn new(lines: &'a [Line]) -> Self {
        let mut sets: Vec<&str> = Vec::new();
        for line in lines {
            if !sets.contains(&line.dataset.as_str()) {
                sets.push(&line.dataset);
            }
        }
        Self { lines, sets, columns: raw::columns(lines.iter().map(|line| (&*line.method, &*line.settings))) }
    }

    /// Mean and standard deviation over the seeds, and how many there are.
    fn cell(&self, set: &str, column: &Column<'_>, of: fn(&Line) -> f64) -> Option<(f64, f64, usize)> {
        let own = self.lines.iter().filter(|line| line.dataset == set && column.holds(&line.method, &line.settings));
        let values: Vec<f64> = own.map(of).collect();
        mean_and_deviation(&values).map(|[mean, deviation]| (mean, deviation, values.len()))
    }
}

/// The summary's text: AP beside the paper's figures, AUROC and seconds.
pub fn summarise(lines: &[Line]) -> String {
    let grid = Grid::new(lines);
    let mut text = String::new();
    let mut section = |title: &str, of: fn(&Line) -> f64, decimals: usize, with_paper: bool| {
        let _ = writeln!(text, "## {title}\n");
        let mut head: Vec<String> = vec!["set".into()];
        head.extend(grid.columns.iter().map(|column| column.name.clone()));
        let with_paper = with_paper && grid.sets.iter().all(|set| paper::average_precision(set).is_some());
        if with_paper {
            head.extend(paper::METHODS.iter().map(|method| format!("paper: {method}")));
        }
        let _ = writeln!(text, "| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
        for set in &grid.sets {
            let mut row = vec![(*set).to_owned()];
            row.extend(grid.columns.iter().map(|column| match grid.cell(set, column, of) {
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
    text
}

/// The README's table of average precision: a line for each set, with the means over the seeds of `cells`, of `gnsm`
/// and of the best other method, and the best mean of the paper.
///
/// The best mean of a set is in bold, found before rounding, ties included. A method that has not run all seeds of a
/// set has no figure. `gnsm-norms`, which is `gnsm` with the paper's head, is none of the others.
pub fn readme_table(lines: &[Line]) -> String {
    const OWN: [&str; 3] = ["cells", "gnsm", "gnsm-norms"];
    let grid = Grid::new(lines);
    let seeds = lines.iter().map(|line| line.seed as usize + 1).max().unwrap_or(0);
    let ours = |set: &str, method: &str| {
        let column = grid.columns.iter().find(|column| column.name == method)?;
        let (mean, _, n) = grid.cell(set, column, |line| line.ap)?;
        (n == seeds).then_some(mean)
    };
    let theirs = |set: &str, index: usize| paper::average_precision(set)?[index].split_once(" ± ")?.0.parse().ok();
    let others: Vec<&str> =
        grid.columns.iter().map(|column| &*column.name).filter(|name| !OWN.contains(name)).collect();
    let mut text = format!(
        "| average precision | anomalies | {} | {} | best of {} others | best of the paper |\n|{}\n",
        OWN[0],
        OWN[1],
        others.len(),
        "---|".repeat(6)
    );
    for set in &grid.sets {
        let share = paper::rows(set).map_or("–".into(), |rows| format!("{:.1}", 100.0 * share_of_anomalies(rows)));
        let figures = [
            ours(set, OWN[0]).map(|mean| (String::new(), mean)),
            ours(set, OWN[1]).map(|mean| (String::new(), mean)),
            best(others.iter().filter_map(|method| Some((*method, ours(set, method)?)))),
            best(paper::METHODS.iter().enumerate().filter_map(|(index, method)| Some((*method, theirs(set, index)?)))),
        ];
        let shown = in_bold(&figures.each_ref().map(|cell| cell.as_ref().map(|(_, mean)| *mean)), 1);
        let cells = figures.iter().zip(shown).map(|(cell, shown)| match cell {
            Some((name, _)) if !name.is_empty() => format!("{shown} ({name})"),
            _ => shown,
        });
        let _ = writeln!(text, "| {set} | {share} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

/// The highest mean, and the methods that have it.
fn best<'a>(methods: impl Iterator<Item = (&'a str, f64)>) -> Option<(String, f64)> {
    let methods: Vec<(&str, f64)> = methods.collect();
    let (_, figure) = methods.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let names = methods.iter().filter(|(_, other)| *other >= figure - TIE).map(|(name, _)| *name);
    Some((names.collect::<Vec<_>>().join(", "), figure))
}

/// Two means of the same figures may differ by how their sums were rounded.
const TIE: f64 = 1e-9;

/// Means as text, the highest in bold. It is found before rounding, ties included.
pub(crate) fn in_bold(column: &[Option<f64>], decimals: usize) -> Vec<String> {
    let top = column.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let shown = |cell: &Option<f64>| match cell {
        Some(mean) if *mean >= top - TIE => format!("**{mean:.decimals$}**"),
        Some(mean) => format!("{mean:.decimals$}"),
        None => "–".into(),
    };
    column.iter().map(shown).collect()
}

/// Mean and standard deviation (of the population, as NumPy's default); nothing for no values.
pub(crate) fn mean_and_deviation(values: &[f64]) -> Option<[f64; 2]> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt();
    (!values.is_empty()).then_some([mean, deviation])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(method: &str, seed: u64, ap: f64) -> Line {
        let [dataset, method, settings] = ["bank", method, "1a2b3c4d"].map(str::to_owned);
        Line { dataset, method, settings, seed, ap, auroc: 50.0, fit_seconds: 1.5, score_seconds: 0.25 }
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
    fn runs_with_other_settings_stand_in_a_column_of_their_own() {
        let other = Line { settings: "5e6f7a8b".into(), ..line("gnsm", 0, 80.0) };
        let text = summarise(&[line("gnsm", 0, 70.0), other, line("pca", 0, 60.0)]);
        assert!(text.contains("| set | gnsm 1a2b3c4d | gnsm 5e6f7a8b | pca |"), "{text}");
        assert!(text.contains("| bank | 70.00 | 80.00 | 60.00 |"), "{text}");
    }

    #[test]
    fn the_readme_names_the_best_other_method() {
        let ours = [line("gnsm", 0, 70.0), line("gnsm", 1, 72.0), line("gnsm-norms", 0, 99.0)];
        let others = [
            line("pca", 0, 60.0),
            line("pca", 1, 62.0),
            line("knn", 0, 99.0),
            line("ecod", 0, 50.0),
            line("ecod", 1, 50.0),
        ];
        let text = readme_table(&[&ours[..], &others].concat());
        let row = "| bank | 55.9 | – | **71.0** | 61.0 (pca) | 67.2 (DSVDD) |\n";
        assert!(text.contains("| best of 3 others |") && text.ends_with(row), "{text}");
    }

    #[test]
    fn bold_is_decided_before_rounding() {
        let column = [Some(50.476), Some(50.477), None, Some(50.477), Some(9.0)];
        let shown = ["50.5", "**50.5**", "–", "**50.5**", "9.0"];
        assert_eq!(in_bold(&column, 1), shown);
    }

    #[test]
    fn a_figure_of_the_paper_can_be_the_best() {
        let text = readme_table(&[line("gnsm", 0, 67.0)]);
        assert!(text.ends_with("| 55.9 | – | 67.0 | – | **67.2** (DSVDD) |\n"), "{text}");
    }
}
