//! `gnsm inspect` for a mask model.

use anyhow::{Context, Result};
use gnsm::mask::{MaskModel, Preparation};
use serde_json::{Value, json};

use super::super::inspect::{calibration_json, calibration_section, pairs, settings_section, training_section};
use super::Outcome;
use crate::arguments::InspectArguments;
use crate::console::{print_json, print_page};
use crate::display::{self, STRONG, bytes, count};
use crate::settings;

/// Runs it.
pub fn run(arguments: &InspectArguments, model: &MaskModel) -> Result<Outcome> {
    let file = arguments.model.display().to_string();
    let size = std::fs::metadata(&arguments.model).with_context(|| file.clone())?.len();
    if arguments.json {
        let mut whole = json!({ "file": file, "bytes": size });
        if let (Value::Object(whole), Value::Object(model)) = (&mut whole, describe(model)?) {
            whole.extend(model);
        }
        print_json(&whole)?;
    } else {
        print_page(&page(&file, size, model, &settings_of(model)?))?;
    }
    Ok(Outcome::Done)
}

/// The settings, without limits that limit nothing.
fn settings_of(model: &MaskModel) -> Result<Value> {
    Ok(settings::without_limits(settings::readable(&model.detector().settings())?))
}

/// All about a model, for machines.
pub fn describe(model: &MaskModel) -> Result<Value> {
    let detector = model.detector();
    let [training, validation, calibration] = model.report().masks;
    Ok(json!({
        "blake3": model.hash(),
        "method": model.method(),
        "settings": settings_of(model)?,
        "preparation": model.preparation(),
        "seed": model.report().seed,
        "masks": { "training": training, "validation": validation, "calibration": calibration },
        "training": detector.training().map(|(curve, ending)| json!({ "ending": ending, "curve": curve })),
        "warning": detector.warning(),
        "calibration": calibration_json(model.calibration()),
    }))
}

fn page(file: &str, size: u64, model: &MaskModel, settings: &Value) -> String {
    let [training, validation, calibration] = model.report().masks.map(count);
    let Preparation { void, classes, size: side, .. } = model.preparation();
    let or = |value: Option<String>, without: &str| value.unwrap_or_else(|| without.to_owned());
    let mut page = format!("{STRONG}{}{STRONG:#}\n", display::plain(file));
    page += &pairs(
        [
            ("method", model.method().to_owned()),
            ("size", bytes(size)),
            ("blake3", or(model.hash().map(ToOwned::to_owned), "-")),
            ("seed", model.report().seed.to_string()),
            ("masks", format!("{training} trained, {validation} validated, {calibration} calibrated")),
            ("classes", or(classes.map(|classes| classes.to_string()), "as found")),
            ("void", or(void.map(|void| void.to_string()), "none")),
            ("pixels", or(side.map(|side| format!("{side} × {side}")), "as stored")),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    if !settings.is_null() {
        page += &settings_section(settings);
    }
    if let Some((curve, ending)) = model.detector().training() {
        page += &training_section(curve, ending, model.detector().warning());
    }
    page + &calibration_section(model.calibration(), "mask")
}
