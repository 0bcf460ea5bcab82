//! `gnsm inspect`: shows what is in a model file.

use anyhow::{Context, Result};
use comfy_table::Cell;
use gnsm::internals::decision::short;
use gnsm::internals::files;
use gnsm::internals::method::Fitted;
use gnsm::internals::noise::Levels;
use gnsm::mask::MaskModel;
use gnsm::settings::EvidenceWeights;
use gnsm::{Calibration, ColumnSchema, CurvePoint, Ending, Kind, Method, Model};
use serde_json::{Value, json};

use super::fit::{best, ending_text};
use super::{Outcome, mask};
use crate::arguments::InspectArguments;
use crate::console::{print_json, print_page};
use crate::display::{self, Place, STRONG, bytes, columns, count, left, right, sparkline};
use crate::progress::{kind_name, relations};
use crate::settings;

/// The quantiles of the calibration scores that are shown.
const QUANTILES: [f64; 6] = [0.0, 0.25, 0.5, 0.9, 0.99, 1.0];
/// Points of the training curve that are shown as numbers, at the most.
const CURVE_POINTS: usize = 10;
/// Characters of the training curve as a picture.
const CURVE_WIDTH: usize = 60;

/// Runs the command.
pub fn run(arguments: &InspectArguments) -> Result<Outcome> {
    if files::is_mask_model(&arguments.model) {
        return mask::inspect::run(arguments, &MaskModel::load(&arguments.model, mask::networks::methods())?);
    }
    let model = Model::load(&arguments.model)?;
    let size = std::fs::metadata(&arguments.model).with_context(|| arguments.model.display().to_string())?.len();
    let file = arguments.model.display().to_string();
    if arguments.json {
        let mut whole = json!({ "file": file, "bytes": size });
        if let (Value::Object(whole), Value::Object(model)) = (&mut whole, describe(&model)?) {
            whole.extend(model);
        }
        print_json(&whole)?;
    } else {
        let settings = settings::of_method(&model.method())?;
        print_page(&page(&file, size, &model, &settings, levels(&model)?.as_ref()))?;
    }
    Ok(Outcome::Done)
}

fn levels(model: &Model) -> Result<Option<Levels>> {
    Ok(match model.method() {
        Method::Gnsm(config) => Some(Levels::new(&config.levels)?),
        _ => None,
    })
}

/// All about a model, for machines.
pub fn describe(model: &Model) -> Result<Value> {
    let settings = settings::of_method(&model.method())?;
    let levels = levels(model)?;
    let training = model.training();
    let [training_rows, validation_rows, calibration_rows] = model.report().rows;
    Ok(json!({
        "blake3": model.hash(),
        "method": model.fitted().name(),
        "settings": settings,
        "schema": model.schema(),
        "label": model.report().label,
        "seed": model.report().seed,
        "rows": {
            "training": training_rows,
            "validation": validation_rows,
            "calibration": calibration_rows,
            "labelled_anomalies": model.report().labelled_anomalies,
            "chosen_from": model.report().chosen_from,
        },
        "levels": levels.as_ref().map(|levels| (0..levels.count())
            .map(|level| json!({
                "lambda": levels.lambda(level),
                "sigma": levels.sigma(level),
                "delta": levels.delta(level),
            }))
            .collect::<Vec<_>>()),
        "training": training.map(|(curve, ending)| json!({ "ending": ending, "curve": curve })),
        "weights": weights(model.fitted()),
        "warning": model.warning(),
        "calibration": calibration_json(model.calibration()),
    }))
}

fn page(file: &str, size: u64, model: &Model, settings: &Value, levels: Option<&Levels>) -> String {
    let table = |header, rows| columns(Place::Output, header, rows);
    let pair = |name: &str, value: String| vec![Cell::new(name), Cell::new(value)];
    let report = model.report();
    let [training_rows, validation_rows, calibration_rows] = report.rows.map(count);
    let chosen = report.chosen_from.map(|all| format!("; chosen from {}", count(all))).unwrap_or_default();

    let mut page = format!("{STRONG}{}{STRONG:#}\n", display::plain(file));
    page += &table(
        Vec::new(),
        vec![
            pair("method", model.fitted().name().into()),
            pair("size", bytes(size)),
            pair("blake3", model.hash().unwrap_or("-").into()),
            pair("seed", report.seed.to_string()),
            pair(
                "rows",
                format!("{training_rows} trained, {validation_rows} validated, {calibration_rows} calibrated{chosen}"),
            ),
            pair(
                "label",
                report.label.as_deref().map_or_else(
                    || "none".into(),
                    |label| {
                        format!(
                            "{} ({} anomalies left out)",
                            display::cell(Place::Output, label, 40),
                            count(report.labelled_anomalies)
                        )
                    },
                ),
            ),
        ],
    );
    page += &title("Columns");
    let lines = model.schema().columns.iter().map(column_line).collect();
    page += &table(left(["column", "kind", "holds", "why"]), lines);
    page += &relations(model.schema());
    page += &settings_section(settings);
    if let Some(levels) = levels {
        page += &title("Levels");
        let lines = (0..levels.count()).map(|level| {
            let (lambda, sigma) = (f64::from(levels.lambda(level)), f64::from(levels.sigma(level)));
            [(level + 1).to_string(), short(lambda), short(sigma), short(levels.delta(level))].map(right).to_vec()
        });
        page += &table(["level", "λ", "σ", "δ"].map(right).to_vec(), lines.collect());
    }
    if let Some((curve, ending)) = model.training() {
        page += &training_section(curve, ending, model.warning());
    }
    if let Some(EvidenceWeights { values, doubt, residual, patterns }) = weights(model.fitted()) {
        page += &title("What the score is made of");
        let names = ["how rare the values are", "how the columns go together", "how rows come in patterns"];
        let lines = names
            .iter()
            .zip([values, doubt + residual, patterns])
            .map(|(name, share)| pair(name, format!("{:.1} %", 100.0 * share)));
        page += &table(Vec::new(), lines.collect());
    }
    page + &calibration_section(model.calibration(), "row")
}

pub fn title(text: &str) -> String {
    format!("\n{STRONG}{text}{STRONG:#}\n")
}

/// Names and values below each other.
pub fn pairs(pairs: impl IntoIterator<Item = (String, String)>) -> String {
    let lines = pairs.into_iter().map(|(name, value)| vec![Cell::new(name), Cell::new(value)]);
    columns(Place::Output, Vec::new(), lines.collect())
}

/// The settings by their full names.
pub fn settings_section(settings: &Value) -> String {
    let mut lines = Vec::new();
    flatten("", settings, &mut lines);
    title("Settings") + &pairs(lines)
}

/// How training went.
pub fn training_section(curve: &[CurvePoint], ending: Ending, warning: Option<String>) -> String {
    let warning = warning.map(|warning| format!("  warning: {warning}\n")).unwrap_or_default();
    title("Training") + &curve_page(curve, ending) + &warning
}

/// The held-out scores of rows, or of masks.
pub fn calibration_section(calibration: &Calibration, noun: &str) -> String {
    let quantiles = QUANTILES
        .map(|part| vec![right(format!("{} %", 100.0 * part)), right(format!("{:.4}", calibration.quantile(part)))]);
    let header = [format!("part of usual {noun}s"), "score up to".into()].map(right).to_vec();
    let table = columns(Place::Output, header, quantiles.to_vec());
    let (smallest, many) = (short(calibration.smallest_p()), display::plural(calibration.rows(), noun));
    title("Calibration") + &table + &format!("  smallest p-value {smallest}, from {many}\n")
}

/// The held-out scores as JSON.
pub fn calibration_json(calibration: &Calibration) -> Value {
    json!({
        "rows": calibration.rows(),
        "smallest_p": calibration.smallest_p(),
        "quantiles": QUANTILES.map(|part| json!({ "part": part, "score": calibration.quantile(part) })),
    })
}

fn weights(fitted: &Fitted) -> Option<EvidenceWeights> {
    match fitted {
        Fitted::Gnsm(gnsm) => gnsm.weights(),
        _ => None,
    }
}

fn column_line(column: &ColumnSchema) -> Vec<Cell> {
    let with_missing = |text: String, missing| if missing { format!("{text}, missing ones") } else { text };
    let holds = match &column.kind {
        Kind::Categorical { categories, rare, missing, .. } => {
            let n_rare: usize = rare.iter().map(Vec::len).sum();
            let rare = if n_rare == 0 { String::new() } else { format!(" and {} rare", count(n_rare as u64)) };
            let noun = if categories.len() == 1 { "category" } else { "categories" };
            with_missing(format!("{} {noun}{rare}", count(categories.len() as u64)), *missing)
        }
        Kind::Numeric { scale, missing, .. } => {
            let [low, high] = [-2.0, 2.0].map(|z| short(scale.unscaled(z)));
            with_missing(format!("mostly {low} to {high}"), *missing)
        }
        Kind::Date { parts, missing, .. } => {
            let names: Vec<String> = parts.iter().map(|part| format!("{:?}", part.part).to_lowercase()).collect();
            with_missing(if names.is_empty() { "dates".into() } else { names.join(", ") }, *missing)
        }
        Kind::Identifier { shapes, .. } => match shapes.as_slice() {
            [] => "keys".into(),
            [one] => format!("keys such as {one}"),
            [first, ..] => format!("keys such as {first}, {} shapes", shapes.len()),
        },
        Kind::Text { missing, .. } => with_missing("text".into(), *missing),
        Kind::Ignored => "-".into(),
    };
    let name = Cell::new(display::cell(Place::Output, &column.name, 40));
    vec![name, Cell::new(kind_name(&column.kind)), Cell::new(holds), Cell::new(display::plain(&column.reason))]
}

/// Settings by their full names, as `--config` takes them.
fn flatten(path: &str, value: &Value, lines: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, value, lines);
            }
        }
        _ => lines.push((path.to_owned(), value.to_string())),
    }
}

fn curve_page(curve: &[CurvePoint], ending: Ending) -> String {
    let validation: Vec<f64> = curve.iter().map(|point| point.validation).collect();
    let stride = curve.len().div_ceil(CURVE_POINTS).max(1);
    let kept = best(curve);
    let mut lines: Vec<Vec<Cell>> = Vec::new();
    for (index, point) in curve.iter().enumerate() {
        let is_kept = kept == Some(point);
        if is_kept || index % stride == stride - 1 || index + 1 == curve.len() {
            let [step, training, validation] =
                [count(point.step), format!("{:.4}", point.training), format!("{:.4}", point.validation)].map(right);
            lines.push(vec![step, training, validation, Cell::new(if is_kept { "kept" } else { "" })]);
        }
    }
    let picture = sparkline(&validation, CURVE_WIDTH);
    let table = columns(Place::Output, ["step", "training loss", "validation loss"].map(right).to_vec(), lines);
    format!("  {}\n  {picture}\n{table}", ending_text(ending))
}
