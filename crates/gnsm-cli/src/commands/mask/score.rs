//! `gnsm mask score`: a score, a p-value and a flag for each mask of a list.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::{Context, Result};
use gnsm::mask::{MaskFolder, MaskModel, read_list};
use gnsm::model::Scored;
use gnsm::threshold::{Calibration, FdrCounter, Rule};

use super::super::{p_value_above, refuse_same_file};
use super::arguments::ScoreArguments;
use super::{AT_A_TIME, Bar, Failures, METHODS, Outcome, csv_cell};
use crate::console::Console;
use crate::display::{count, plural};
use crate::interrupt;
use crate::output::Destination;

/// Runs it.
pub fn run(arguments: &ScoreArguments, console: Console) -> Result<Outcome> {
    let rule = arguments.rule.rule()?;
    let output = arguments.output.as_deref();
    if let Some(path) = output {
        refuse_same_file(path, &[&arguments.model, &arguments.folder.list])?;
    }
    let model = MaskModel::load(&arguments.model, &METHODS)?;
    warn_of_small_contamination(console, model.calibration(), rule);
    let names = read_list(&arguments.folder.list)?;
    let folder = MaskFolder { masks: arguments.folder.masks.clone(), images: arguments.folder.images.clone() };
    interrupt::stop_soon()?;
    let mut destination = Destination::create(output)?;

    let mut scored: Vec<(&str, Scored)> = Vec::new();
    let mut failures = Failures::new(console);
    let bar = Bar::new(console, names.len());
    for part in names.chunks(AT_A_TIME) {
        for (name, outcome) in part.iter().zip(model.score(&folder, part)) {
            match outcome {
                Ok(found) => scored.push((name, found)),
                Err(error) => failures.add(&error),
            }
        }
        bar.add(part.len());
        if interrupt::requested() {
            return Ok(Outcome::Interrupted);
        }
    }
    drop(bar);
    if scored.is_empty() {
        failures.finish(names.len(), "nothing is written")?;
        return Ok(Outcome::Done);
    }

    let cutoff = match rule {
        Rule::Fdr(level) => {
            let mut counter = FdrCounter::new(level)?;
            for (_, found) in &scored {
                counter.add(found.p_value);
            }
            counter.cutoff()
        }
        _ => None,
    };
    let mut flagged = 0;
    let mut text = String::from("id,score,p_value,anomaly\n");
    for (name, Scored { score, p_value }) in &scored {
        let anomaly = rule.flags(*score, *p_value, cutoff);
        flagged += u64::from(anomaly);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{},{score},{p_value},{}", csv_cell(name), u8::from(anomaly));
    }
    let target = output.map_or_else(|| "standard output".into(), |path| path.display().to_string());
    destination.write_all(text.as_bytes()).with_context(|| target.clone())?;
    destination.finish().with_context(|| target.clone())?;
    let by = match rule {
        Rule::Contamination(part) => format!("p-value at most {part}"),
        Rule::Fdr(part) => format!("false discovery rate {part}"),
        Rule::Threshold(score) => format!("score at least {score}"),
    };
    console.note(format_args!("{} of {} flagged ({by})", count(flagged), plural(scored.len() as u64, "mask")));
    failures.finish(names.len(), format_args!("the scores of the others are in {target}"))?;
    Ok(Outcome::of_flagged(flagged, arguments.rule.fail_on_anomaly))
}

/// Warns of a rule that no mask can meet.
fn warn_of_small_contamination(console: Console, calibration: &Calibration, rule: Rule) {
    let smallest = calibration.smallest_p();
    if let Rule::Contamination(part) = rule
        && part < smallest
    {
        console.warn(format_args!(
            "--contamination {part} flags nothing: with {} to calibrate, p-values go down to {}; \
             give that or more, or use --threshold",
            plural(calibration.rows(), "mask"),
            p_value_above(smallest),
        ));
    }
}
