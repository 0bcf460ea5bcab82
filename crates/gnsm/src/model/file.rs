//! Saves models to files and loads them. Each length, shape and range is checked before use.
//!
//! `docs/format.md` describes the format for other programs.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Model;
use crate::columns::{Encoded, Encoder, Schema};
use crate::decision::Calibration;
use crate::drift::Reference;
use crate::error::{Error, Result};
use crate::files::container::{self, Contents, NO_FILE, Tensors, unusable};
use crate::files::{Loaded, Store};
use crate::generate::Manner;
use crate::method::{Fitted, Method};
use crate::train::FitReport;

const MODEL: &str = "gnsm-model";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelContent {
    schema: Schema,
    method: String,
    detector: serde_json::Value,
    calibration: Calibration,
    drift: serde_json::Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    manner: Option<serde_json::Value>,
    report: FitReport,
}

/// Writes a model; returns its hash.
pub(crate) fn save(model: &Model, path: &Path) -> Result<String> {
    let (content, tensors) = contents_of(model, path)?;
    container::write(path, MODEL, &content, &tensors)
}

/// The bytes of a model's file.
pub(crate) fn to_bytes(model: &Model) -> Result<Vec<u8>> {
    let path = Path::new(NO_FILE);
    let (content, tensors) = contents_of(model, path)?;
    Ok(container::to_bytes(path, MODEL, &content, &tensors)?.0)
}

fn contents_of(model: &Model, path: &Path) -> Result<(ModelContent, Tensors)> {
    let mut tensors = Tensors::default();
    let detector = model.fitted.save(&mut tensors).map_err(|error| Error::io(path, error.into()))?;
    let drift = model.reference.save(&mut tensors).map_err(|error| Error::io(path, error.into()))?;
    let manner = model.manner.as_ref().map(|manner| manner.save(&mut tensors)).transpose();
    let manner = manner.map_err(|error| Error::io(path, error.into()))?;
    let content = ModelContent {
        schema: model.encoder.schema().clone(),
        method: model.fitted.name().to_owned(),
        detector,
        calibration: model.calibration.clone(),
        drift,
        manner,
        report: model.report.clone(),
    };
    Ok((content, tensors))
}

/// Reads a model.
pub(crate) fn load(path: &Path) -> Result<Model> {
    let contents = container::read(path, MODEL)?;
    from_contents(contents).map_err(|damage| unusable(path, &damage))
}

/// A model from the bytes of a file; what fuzzing and a server need.
pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
    let path = Path::new(NO_FILE);
    let contents = container::read_bytes(path, bytes, MODEL)?;
    from_contents(contents).map_err(|damage| unusable(path, &damage))
}

fn from_contents(contents: Contents) -> Loaded<Model> {
    let Contents { content, mut tensors, blake3 } = contents;
    let content: ModelContent = serde_json::from_str(&content)?;
    content.schema.validate()?;
    content.calibration.validate()?;
    let encoder = Encoder::new(content.schema);
    let reference = Reference::load(content.drift, &encoder, &mut tensors)?;
    let manner = content.manner.map(|manner| Manner::load(manner, &encoder, &mut tensors)).transpose()?;
    let fitted = Fitted::load(&content.method, content.detector, encoder.layout(), &mut tensors)?;
    let encoder = encoder.for_detector(fitted.detector().knows_absent());
    let (calibration, report) = (content.calibration, content.report);
    Ok(Model { encoder, fitted, calibration, reference, manner, report, hash: Some(blake3) })
}

/// What a checkpoint must agree with to be continued: the settings, the seed and the rows.
pub(crate) fn fingerprint(method: &Method, seed: u64, training: &Encoded, validation: &Encoded) -> String {
    let mut hasher = blake3::Hasher::new();
    // Settings are plain numbers and names: they always serialise.
    hasher.update(&serde_json::to_vec(method).unwrap_or_default());
    hasher.update(&seed.to_le_bytes());
    hasher.update(training.fingerprint().as_bytes());
    hasher.update(validation.fingerprint().as_bytes());
    hasher.finalize().to_hex().to_string()
}
