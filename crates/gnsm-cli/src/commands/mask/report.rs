//! `gnsm mask report`: shows the oddest masks as pictures, on a page that needs no other file.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gnsm::mask::{Image, ImageTable, Mask, image_file, png_of_image, read_image, read_mask};
use gnsm_report::masks::{Card, MaskReport, Panel, color};

use super::super::{create_file, refuse_same_file};
use super::arguments::ReportArguments;
use super::{Failures, Outcome};
use crate::console::Console;
use crate::display::{bytes, plural};

/// The metrics that are shown, where they are there, and what they are called.
const SHOWN: [(&str, &str); 4] = [("dice", "Dice"), ("miou", "mIoU"), ("msd", "MSD"), ("hd95", "95-HD")];

/// Runs it.
pub fn run(arguments: &ReportArguments, console: Console) -> Result<Outcome> {
    let path = arguments.output.as_path();
    let read: Vec<&Path> =
        [Some(arguments.scores.as_path()), arguments.metrics.as_deref()].into_iter().flatten().collect();
    refuse_same_file(path, &read)?;
    if arguments.top == 0 {
        bail!("--top 0 leaves nothing to show; give 1 or more");
    }
    let mut file = create_file(path)?;
    let scores = ImageTable::read(&arguments.scores)?;
    let metrics = arguments.metrics.as_deref().map(ImageTable::read).transpose()?;
    let ranked = scores.ranked()?;
    let mut failures = Failures::new(console);
    let mut classes = BTreeSet::new();
    let mut cards = Vec::new();
    for (name, score) in ranked.iter().take(arguments.top) {
        let mut facts = vec![("score", format!("{score:.4}"))];
        if scores.columns().any(|column| column == "p_value")
            && let Some(p_value) = scores.number(name, "p_value")?
        {
            facts.push(("p", crate::display::p_value(p_value)));
        }
        for (column, title) in SHOWN {
            if let Some(metrics) = metrics.as_ref().filter(|metrics| metrics.columns().any(|name| name == column)) {
                let value = metrics.number(name, column)?;
                facts.push((title, value.map_or("–".into(), |value| format!("{value:.3}"))));
            }
        }
        let is_flagged = is_flagged(&scores, name)?;
        let panels = panels(arguments, name, &mut classes);
        let mut complete = true;
        let panels = panels.into_iter().map(|(title, picture)| match picture {
            Ok(png) => Panel { title, content: Ok(STANDARD.encode(png)) },
            Err(error) => {
                if std::mem::take(&mut complete) {
                    failures.add(&error);
                }
                Panel { title, content: Err(error.to_string()) }
            }
        });
        cards.push(Card { name, is_flagged, facts, panels: panels.collect() });
    }
    let shown = cards.len();
    let flags = ranked.iter().map(|(name, _)| is_flagged(&scores, name)).collect::<gnsm::Result<Vec<bool>>>()?;
    let page = MaskReport {
        scores: &arguments.scores.display().to_string(),
        images: ranked.len(),
        flagged: has_flags(&scores).then(|| flags.iter().filter(|flag| **flag).count()),
        cards,
        classes,
        void: arguments.void.0,
    };
    file.write_all(page.html().as_bytes()).with_context(|| path.display().to_string())?;
    file.finish()?;
    let size = std::fs::metadata(path).map_or(0, |found| found.len());
    let shown_text = plural(shown as u64, "image");
    console.note(format_args!("wrote {} ({}) with {shown_text}", path.display(), bytes(size)));
    failures.finish(shown, "the page says so in their places")?;
    Ok(Outcome::Done)
}

fn has_flags(scores: &ImageTable) -> bool {
    scores.columns().any(|column| column == "anomaly")
}

fn is_flagged(scores: &ImageTable, name: &str) -> gnsm::Result<bool> {
    Ok(has_flags(scores) && scores.number(name, "anomaly")?.is_some_and(|flag| flag > 0.0))
}

/// The pictures of an image as PNG files, or why there is none.
fn panels(
    arguments: &ReportArguments,
    name: &str,
    classes: &mut BTreeSet<u8>,
) -> Vec<(&'static str, gnsm::Result<Vec<u8>>)> {
    let file = |folder: &Path| folder.join(format!("{name}.png"));
    let mut mask = |folder: &Path| {
        let mask = read_mask(file(folder))?;
        classes.extend(mask.cells());
        png_of_image(&colored(&mask, arguments.void.0))
    };
    let picture = |path: &Path| png_of_image(&read_image(path)?);
    let mut panels = vec![("image", image_file(&arguments.images, name).and_then(|path| picture(&path)))];
    if let Some(folder) = &arguments.truth {
        panels.push(("truth", mask(folder)));
    }
    panels.push(("prediction", mask(&arguments.pred)));
    if let Some(folder) = &arguments.maps {
        panels.push(("where it is odd", picture(&file(folder))));
    }
    panels
}

fn colored(mask: &Mask, void: Option<u8>) -> Image {
    mask.map(|label| color(*label, void))
}
