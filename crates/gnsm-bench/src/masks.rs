//! The paper's case study on masks. Methods learn from the true masks of a set's training list and score a segmenter's
//! predictions on its validation list. Do high scores go with low quality?
//!
//! A set is a folder with `images`, `masks`, `pred`, `train.txt` and `val.txt`. The quality of predictions is computed
//! here, from masks and predictions as they are stored. No detector sees it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use gnsm::mask::{
    Association, MaskFitOptions, MaskFolder, MaskMethod, MaskModel, Preparation, Quality, VOID, associate, compare,
    read_list, read_mask,
};
use gnsm::metrics::auroc;
use gnsm::{Error, Result, Silent};

use crate::raw;
use crate::summary::{in_bold, mean_and_deviation};

const HEADER: &str = "dataset,method,settings,seed,spearman_dice,auroc_failed,top_dice,top_dice_low,top_dice_high,top_msd,top_msd_low,\
                      top_msd_high,top_hd95,top_hd95_low,top_hd95_high,fit_seconds,score_seconds";
/// Figures of a line.
const FIGURES: usize = 13;
/// The oddest images, of which Pearson's coefficients are taken, as in the paper.
const TOP: usize = 50;
/// A prediction below this Dice has failed.
const FAILED: f64 = 0.5;

/// What to run.
pub struct Options {
    /// The folder with a folder for each set.
    pub data: PathBuf,
    /// The sets to run; all if empty.
    pub sets: Vec<String>,
    /// The methods, each under the name it has in the results.
    pub methods: Vec<(String, Box<dyn MaskMethod>)>,
    /// Seeds 0 to this, exclusive.
    pub seeds: u64,
    /// The folder for `raw.csv` and `summary.md`.
    pub out: PathBuf,
}

/// One line of `raw.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The data set.
    pub dataset: String,
    /// The method.
    pub method: String,
    /// The hash of its settings; see [`settings`].
    pub settings: String,
    /// The seed.
    pub seed: u64,
    /// The figures, in the order of the header.
    figures: [f64; FIGURES],
}

impl Line {
    /// Spearman's coefficient of score and Dice over all images.
    pub fn spearman_dice(&self) -> f64 {
        self.figures[0]
    }

    /// The area under the ROC curve of finding predictions that failed.
    pub fn auroc_failed(&self) -> f64 {
        self.figures[1]
    }

    /// Seconds to fit and to score.
    pub fn seconds(&self) -> [f64; 2] {
        [self.figures[11], self.figures[12]]
    }
}

/// The hash of all settings on which the figures of a method depend.
pub fn settings(method: &dyn MaskMethod) -> String {
    raw::hash(&method.settings())
}

/// Runs what is not done yet, and writes the summary. `report` sees each new line.
pub fn run(options: &Options, report: &mut dyn FnMut(&Line)) -> Result<()> {
    std::fs::create_dir_all(&options.out).map_err(|error| Error::io(&options.out, error))?;
    let path = options.out.join("raw.csv");
    let mut lines = if path.exists() { read_lines(&path)? } else { Vec::new() };
    let mut file = raw::open(&path, HEADER)?;
    let mut done: BTreeSet<[String; 4]> =
        lines.iter().map(|line| raw::key(&line.dataset, &line.method, &line.settings, line.seed)).collect();
    for (name, folder) in raw::sets(&options.data, &options.sets, |path| path.join("train.txt").is_file())? {
        let mut qualities = None;
        for (method_name, method) in &options.methods {
            let settings = settings(&**method);
            for seed in 0..options.seeds {
                if !done.insert(raw::key(&name, method_name, &settings, seed)) {
                    continue;
                }
                let qualities = match &mut qualities {
                    Some(qualities) => qualities,
                    none => none.insert(read_qualities(&folder)?),
                };
                let figures = measure(&folder, &**method, seed, qualities)?;
                let (dataset, method, settings) = (name.clone(), method_name.clone(), settings.clone());
                let line = Line { dataset, method, settings, seed, figures };
                raw::append(&mut file, &path, &to_csv(&line))?;
                report(&line);
                lines.push(line);
            }
        }
    }
    let summary = options.out.join("summary.md");
    std::fs::write(&summary, summarise(&lines)).map_err(|error| Error::io(&summary, error))
}

fn read_qualities(folder: &Path) -> Result<Vec<Quality>> {
    let names = read_list(folder.join("val.txt"))?;
    let quality = |name: &String| {
        let file = |kind: &str| folder.join(kind).join(format!("{name}.png"));
        let (truth, prediction) = (read_mask(file("masks"))?, read_mask(file("pred"))?);
        compare(&truth, &prediction, Some(VOID))
    };
    names.iter().map(quality).collect()
}

fn measure(folder: &Path, method: &dyn MaskMethod, seed: u64, qualities: &[Quality]) -> Result<[f64; FIGURES]> {
    let pairs = |masks: &str| MaskFolder { masks: folder.join(masks), images: Some(folder.join("images")) };
    let start = Instant::now();
    let mut preparation = Preparation::default();
    preparation.size = method.default_size();
    let samples = preparation.read(&pairs("masks"), &read_list(folder.join("train.txt"))?);
    let samples = samples.into_iter().collect::<Result<Vec<_>>>()?;
    let mut options = MaskFitOptions::default();
    options.seed = seed;
    let model = MaskModel::fit(samples, preparation, method, &options, &mut Silent)?;
    let fit_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let scored = model.score(&pairs("pred"), &read_list(folder.join("val.txt"))?);
    let scores = scored.into_iter().map(|scored| Ok(scored?.score)).collect::<Result<Vec<f64>>>()?;
    let score_seconds = start.elapsed().as_secs_f64();

    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let top = |of: fn(&Quality) -> Option<f64>| {
        let pairs: Vec<(f64, Option<f64>)> = order.iter().take(TOP).map(|i| (scores[*i], of(&qualities[*i]))).collect();
        let Association { pearson, interval, .. } = associate(&pairs);
        let [low, high] = interval.unwrap_or([f64::NAN; 2]);
        [pearson.unwrap_or(f64::NAN), low, high]
    };
    let all: Vec<(f64, Option<f64>)> =
        scores.iter().zip(qualities).map(|(score, found)| (*score, Some(found.dice))).collect();
    let failed: Vec<bool> = qualities.iter().map(|quality| quality.dice < FAILED).collect();
    let [dice, msd, hd95] = [
        top(|quality| Some(quality.dice)),
        top(|quality| quality.common.map(|found| found.mean)),
        top(|quality| quality.common.map(|found| found.hausdorff95)),
    ];
    let spearman = associate(&all).spearman.unwrap_or(f64::NAN);
    let mut figures = [spearman, auroc(&failed, &scores)?].to_vec();
    figures.extend(dice.into_iter().chain(msd).chain(hd95));
    figures.extend([fit_seconds, score_seconds]);
    figures.try_into().map_err(|_| Error::fit("a line has too many figures", "mend the benchmark"))
}

fn to_csv(line: &Line) -> String {
    let figures: Vec<String> = line.figures.iter().map(|figure| format!("{figure:.4}")).collect();
    format!("{},{},{},{},{}", line.dataset, line.method, line.settings, line.seed, figures.join(","))
}

/// Reads `raw.csv`.
pub fn read_lines(path: &Path) -> Result<Vec<Line>> {
    raw::read(path, HEADER, from_csv)
}

fn from_csv(text: &str) -> Option<Line> {
    let mut cells = text.split(',');
    let [dataset, method, settings] = [cells.next()?, cells.next()?, cells.next()?].map(str::to_owned);
    let seed = cells.next()?.parse().ok()?;
    let figures: Vec<f64> = cells.map(|cell| cell.parse().ok()).collect::<Option<_>>()?;
    Some(Line { dataset, method, settings, seed, figures: figures.try_into().ok()? })
}

/// Means over the seeds, a table for each set.
pub fn summarise(lines: &[Line]) -> String {
    let mut text = String::new();
    let mut sets: Vec<&str> = lines.iter().map(|line| line.dataset.as_str()).collect();
    sets.sort_unstable();
    sets.dedup();
    for set in sets {
        let _ = writeln!(
            text,
            "| {set} | Spearman, Dice | AUROC, Dice < 0.5 | top {TOP}: Dice | MSD | 95-HD | fit, s | score, s | seeds |\n\
             |---|---|---|---|---|---|---|---|---|"
        );
        let of_set: Vec<&Line> = lines.iter().filter(|line| line.dataset == set).collect();
        for column in raw::columns(of_set.iter().map(|line| (line.method.as_str(), line.settings.as_str()))) {
            let own: Vec<_> = of_set.iter().filter(|line| column.holds(&line.method, &line.settings)).collect();
            let mean = |figure: usize| own.iter().map(|line| line.figures[figure]).sum::<f64>() / own.len() as f64;
            let with_interval =
                |figure: usize| format!("{:+.2} ({:+.2} to {:+.2})", mean(figure), mean(figure + 1), mean(figure + 2));
            let _ = writeln!(
                text,
                "| {} | {:+.3} | {:.3} | {} | {} | {} | {:.0} | {:.0} | {} |",
                column.name,
                mean(0),
                mean(1),
                with_interval(2),
                with_interval(5),
                with_interval(8),
                mean(11),
                mean(12),
                own.len()
            );
        }
        text.push('\n');
    }
    text
}

/// The README's table: for each set the AUROC of failed predictions, the mean over the seeds, the best of each column
/// in bold. [`summarise`] has the rest.
pub fn readme_table(lines: &[Line]) -> String {
    /// Per cent of a set's predictions that failed, from `gnsm mask metrics`: 425 of 1,449, and 11 of 200.
    const SETS: [(&str, f64); 2] = [("voc2012", 29.3), ("dsb2018", 5.5)];
    let methods = raw::columns(lines.iter().map(|line| (line.method.as_str(), line.settings.as_str())));
    let column = |set: &str| -> Vec<Option<f64>> {
        let values = |method: &raw::Column<'_>| -> Vec<f64> {
            let own = lines.iter().filter(|line| line.dataset == set && method.holds(&line.method, &line.settings));
            own.map(Line::auroc_failed).collect()
        };
        methods.iter().map(|method| Some(mean_and_deviation(&values(method))?[0])).collect()
    };
    let mut head = String::from("| AUROC |");
    let mut columns = Vec::new();
    for (set, failed) in SETS {
        let _ = write!(head, " {set}, {failed} % failed |");
        columns.push(in_bold(&column(set), 3));
    }
    let mut text = format!("{head}\n|---|{}\n", "---|".repeat(columns.len()));
    for (row, method) in methods.iter().enumerate() {
        let cells: Vec<&str> = columns.iter().map(|column| column[row].as_str()).collect();
        let _ = writeln!(text, "| {} | {} |", method.name, cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(method: &str, seed: u64, spearman: f64) -> Line {
        let mut figures = [0.25; FIGURES];
        figures[0] = spearman;
        Line { dataset: "nuclei".into(), method: method.into(), settings: "1a2b3c4d".into(), seed, figures }
    }

    #[test]
    fn lines_survive_the_file() {
        let one = line("gnsm", 3, -0.5);
        assert_eq!(from_csv(&to_csv(&one)), Some(one));
        assert_eq!(from_csv("nuclei,gnsm,1a2b3c4d,0,1,2"), None);
        assert_eq!(HEADER.split(',').count(), 4 + FIGURES);
    }

    #[test]
    fn the_summary_has_the_mean_over_seeds() {
        let text = summarise(&[line("gnsm", 0, -0.5), line("gnsm", 1, -0.3), line("dsvdd", 0, 0.1)]);
        assert!(text.contains("| gnsm | -0.400 | 0.250 | +0.25 (+0.25 to +0.25) |"), "{text}");
        assert!(text.contains("| dsvdd | +0.100 |"), "{text}");
        let other = Line { settings: "5e6f7a8b".into(), ..line("gnsm", 1, -0.3) };
        let text = summarise(&[line("gnsm", 0, -0.5), other]);
        assert!(text.contains("| gnsm 1a2b3c4d | -0.500 |") && text.contains("| gnsm 5e6f7a8b | -0.300 |"), "{text}");
    }

    #[test]
    fn the_readme_has_the_best_in_bold() {
        let of = |method: &str, seed, auroc| {
            let mut line = Line { dataset: "voc2012".into(), ..line(method, seed, 0.0) };
            line.figures[1] = auroc;
            line
        };
        let text = readme_table(&[of("gnsm", 0, 0.75), of("gnsm", 1, 0.25), of("dsvdd", 0, 0.625)]);
        assert!(text.contains("| gnsm | 0.500 | – |\n| dsvdd | **0.625** | – |\n"), "{text}");
    }
}
