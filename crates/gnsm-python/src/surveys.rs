//! A table whose parts are on many machines: each part is surveyed where it is, and what comes of it is put together.
//!
//! The first pass gives the survey of all rows, and the largest hash of a row that is chosen. The second finds those rows. A
//! model that is fitted on both is the same as that of one machine that reads all rows.

use gnsm::internals::columns::{SmallestHashes, Survey};
use gnsm::{Model, ModelBuilder};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};

use crate::model::{problem, text};
use crate::source;
use crate::work::work;

/// What is known of a part.
#[derive(Serialize, Deserialize)]
struct Part {
    survey: Survey,
    smallest: SmallestHashes,
}

/// What is known of all parts, from its bytes.
pub fn read(bytes: &[u8]) -> PyResult<(Survey, SmallestHashes)> {
    let whole = parsed(bytes)?;
    Ok((whole.survey, whole.smallest))
}

fn parsed(bytes: &[u8]) -> PyResult<Part> {
    serde_json::from_slice(bytes).map_err(|error| problem(&format!("a survey cannot be read: {error}")))
}

fn written<'py>(py: Python<'py>, part: &Part) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &serde_json::to_vec(part).map_err(|error| problem(&error))?))
}

/// What tells which rows may be learned from.
fn builder(label: Option<String>, anomaly: Option<String>) -> ModelBuilder<'static> {
    match label {
        Some(label) => Model::builder().label(label).anomaly(anomaly.unwrap_or_else(|| "1".into())),
        None => Model::builder(),
    }
}

/// The survey of a part of a table of which `most` rows are to be chosen, as bytes.
#[pyfunction]
pub fn survey<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    most: usize,
    label: Option<String>,
    anomaly: Option<String>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut reader = source::open(source)?;
    let builder = builder(label, anomaly);
    let (survey, smallest) = work(py, None, move |_| builder.survey(&mut reader, most).map_err(text))?;
    written(py, &Part { survey, smallest })
}

/// One survey from those of the parts, the number of rows, and the largest hash of a row that is chosen.
#[pyfunction]
pub fn merged(py: Python<'_>, parts: Vec<Vec<u8>>) -> PyResult<(Bound<'_, PyBytes>, u64, u64)> {
    let mut parts = parts.iter().map(|part| parsed(part));
    let mut whole = parts.next().ok_or_else(|| problem(source::NO_ROWS))??;
    for part in parts {
        let part = part?;
        whole.survey.merge(part.survey);
        whole.smallest.merge(&part.smallest);
    }
    whole.survey = whole.survey.settled();
    whole.smallest.settle();
    let (rows, limit) = (whole.survey.rows, whole.smallest.clone().limit());
    Ok((written(py, &whole)?, rows, limit))
}

/// Which rows of a part are chosen: a byte for each.
#[pyfunction]
pub fn chosen<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    limit: u64,
    label: Option<String>,
    anomaly: Option<String>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut reader = source::open(source)?;
    let builder = builder(label, anomaly);
    let flags = work(py, None, move |_| {
        let table = source::whole(&mut reader)?;
        builder.is_chosen(&table, limit).map_err(text)
    })?;
    Ok(PyBytes::new(py, &flags.into_iter().map(u8::from).collect::<Vec<u8>>()))
}
