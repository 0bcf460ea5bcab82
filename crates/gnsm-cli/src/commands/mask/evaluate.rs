//! `gnsm mask evaluate`: tells whether high scores go with low quality.

use std::io::Write as _;

use anyhow::{Result, bail};
use comfy_table::Cell;
use gnsm::mask::{Association, ImageTable, Quality, associate};
use gnsm::metrics::auroc;
use serde_json::{Value, json};

use super::super::{create_file, refuse_same_file};
use super::arguments::EvaluateArguments;
use super::{Outcome, chart};
use crate::console::{Console, print_json, print_page};
use crate::display::{Place, STRONG, columns, count, left, plain, plural, right};

/// The metric by which a mask has failed, and below what.
const FAILED: (&str, f64) = ("dice", 0.5);

/// What is known about a metric.
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Among the oddest images.
    pub top: Association,
    /// Among all.
    pub all: Association,
}

/// How well the scores find masks that failed.
struct Failed {
    auroc: f64,
    images: usize,
}

/// Runs it.
pub fn run(arguments: &EvaluateArguments, console: Console) -> Result<Outcome> {
    if let Some(path) = &arguments.chart {
        refuse_same_file(path, &[&arguments.scores, &arguments.metrics])?;
    }
    if arguments.top < 2 {
        bail!("--top {} cannot be correlated; give 2 or more", arguments.top);
    }
    let (scores, table) = (ImageTable::read(&arguments.scores)?, ImageTable::read(&arguments.metrics)?);
    let mut ranked = scores.ranked()?;
    let n_scored = ranked.len();
    ranked.retain(|(name, _)| table.contains(name));
    let files = [&arguments.scores, &arguments.metrics].map(|path| path.display().to_string());
    if ranked.is_empty() {
        bail!("{} and {} have no image in common; give files of one list", files[0], files[1]);
    }
    let n_metrics = table.names().len();
    if ranked.len() < n_scored || ranked.len() < n_metrics {
        console.warn(format_args!(
            "{} has {} and {} has {}; {} are in both, and only they count",
            files[0],
            plural(n_scored as u64, "image"),
            files[1],
            count(n_metrics as u64),
            count(ranked.len() as u64),
        ));
    }
    let top = arguments.top.min(ranked.len());
    let pairs = |name: &str| -> Result<Vec<(f64, Option<f64>)>> {
        ranked.iter().map(|(image, score)| Ok((*score, table.number(image, name)?))).collect()
    };
    let mut metrics = Vec::new();
    for name in table.columns().filter(|name| Quality::is_better_high(name).is_some()) {
        let pairs = pairs(name)?;
        metrics.push(Metric { name: name.to_owned(), top: associate(&pairs[..top]), all: associate(&pairs) });
    }
    if metrics.is_empty() {
        bail!("{} has no metric; give a file that `gnsm mask metrics` wrote", files[1]);
    }
    let failed = if table.columns().any(|name| name == FAILED.0) { find_failed(&pairs(FAILED.0)?) } else { None };

    if let Some(path) = &arguments.chart {
        let mut file = create_file(path)?;
        file.write_all(chart::bars(&metrics, top).as_bytes())?;
        file.finish()?;
    }
    if arguments.json {
        print_json(&as_json(ranked.len(), top, &metrics, failed.as_ref()))?;
    } else {
        print_page(&page(ranked.len(), top, &metrics, failed.as_ref()))?;
    }
    Ok(Outcome::Done)
}

/// `None` where all masks failed, or none.
fn find_failed(pairs: &[(f64, Option<f64>)]) -> Option<Failed> {
    let (scores, labels): (Vec<f64>, Vec<bool>) =
        pairs.iter().filter_map(|(score, value)| value.map(|value| (*score, value < FAILED.1))).unzip();
    let auroc = auroc(&labels, &scores).ok()?;
    Some(Failed { auroc, images: labels.iter().filter(|label| **label).count() })
}

fn as_json(images: usize, top: usize, metrics: &[Metric], failed: Option<&Failed>) -> Value {
    let association = |found: &Association| json!({ "n": found.n, "pearson": found.pearson, "interval": found.interval, "spearman": found.spearman });
    json!({
        "images": images,
        "top": top,
        "metrics": metrics.iter().map(|metric| json!({
            "name": metric.name,
            "top": association(&metric.top),
            "all": association(&metric.all),
        })).collect::<Vec<_>>(),
        "failed": failed.map(|failed| json!({
            "metric": FAILED.0, "below": FAILED.1, "images": failed.images, "auroc": failed.auroc,
        })),
    })
}

fn page(images: usize, top: usize, metrics: &[Metric], failed: Option<&Failed>) -> String {
    let section = |title: String, of: fn(&Metric) -> &Association| {
        let rows = metrics.iter().map(|metric| line(&metric.name, of(metric))).collect();
        let header = left(["metric", "if scores are good", "n", "Pearson", "95 % interval", "Spearman"]);
        format!("{STRONG}{title}{STRONG:#}\n{}\n", columns(Place::Output, header, rows))
    };
    let top = section(format!("The {} oddest images", count(top as u64)), |metric| &metric.top);
    let all = section(format!("All {}", plural(images as u64, "image")), |metric| &metric.all);
    let found = match failed {
        Some(Failed { auroc, images }) => {
            format!("AUROC of finding the {} with Dice below 0.5: {auroc:.4}\n", plural(*images as u64, "image"))
        }
        None => "AUROC of finding Dice below 0.5: not defined, since there are not images of both kinds\n".into(),
    };
    top + &all + &found
}

fn line(name: &str, found: &Association) -> Vec<Cell> {
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:+.3}"));
    let interval = found.interval.map_or("–".to_owned(), |[low, high]| format!("{low:+.3} to {high:+.3}"));
    let direction = match Quality::is_better_high(name) {
        Some(true) => "negative",
        Some(false) => "positive",
        None => "",
    };
    vec![
        Cell::new(plain(name)),
        Cell::new(direction),
        right(count(found.n as u64)),
        right(number(found.pearson)),
        right(interval),
        right(number(found.spearman)),
    ]
}
