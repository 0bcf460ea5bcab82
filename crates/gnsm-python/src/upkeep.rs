//! What keeps tables in order: how they drift, which cells are likely wrong, and what belongs there.

use gnsm::{Model, OddCell, Table};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::model::{Core, compare, problem, reason_dict, text};
use crate::source;
use crate::work::work;

/// How a table differs from what was learned, as JSON.
#[pyfunction]
pub fn drift(
    py: Python<'_>,
    core: &Core,
    source: &Bound<'_, PyAny>,
    tell: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let mut reader = source::open(source)?;
    let report = work(py, tell, |teller| compare(&core.model, &mut reader, teller))?;
    serde_json::to_string(&report).map_err(|error| problem(&error))
}

/// The cells of a table that are likely wrong, the surest first; also gives what a user should know.
#[pyfunction]
pub fn odd_cells<'py>(
    py: Python<'py>,
    core: &Core,
    source: &Bound<'py, PyAny>,
    fdr: f64,
) -> PyResult<(Vec<Bound<'py, PyDict>>, Vec<String>)> {
    let (cells, notes) = on_whole(py, core, source, |model, table| model.judge().read_whole(table)?.odd_cells(fdr))?;
    let cells = cells.iter().map(|cell: &OddCell| {
        let dict = reason_dict(py, &cell.reason)?;
        dict.set_item("row", cell.row)?;
        dict.set_item("seen_probability", cell.reason.seen_probability)?;
        dict.set_item("p_value", cell.p_value)?;
        dict.set_item("wrong", cell.wrong)?;
        Ok(dict)
    });
    Ok((cells.collect::<PyResult<_>>()?, notes))
}

/// A cell to replace: row, column, from, to, and how sure that is.
type Replaced = (usize, String, String, String, f64);

/// The cells of a table that are to be replaced, the surest first; also gives what a user should know.
#[pyfunction]
pub fn changes(
    py: Python<'_>,
    core: &Core,
    source: &Bound<'_, PyAny>,
    at_least: f64,
) -> PyResult<(Vec<Replaced>, Vec<String>)> {
    let (changes, notes) = on_whole(py, core, source, |model, table| gnsm_cli::changes(model, table, at_least))?;
    let changes = changes.into_iter();
    Ok((changes.map(|one| (one.row, one.column, one.from, one.to, one.probability)).collect(), notes))
}

/// What a model finds in a table that is read whole, after its columns were compared with the model's.
fn on_whole<T: Send>(
    py: Python<'_>,
    core: &Core,
    source: &Bound<'_, PyAny>,
    find: impl FnOnce(&Model, &Table) -> gnsm::Result<T> + Send,
) -> PyResult<(T, Vec<String>)> {
    let mut reader = source::open(source)?;
    work(py, None, |_| {
        let table = source::whole(&mut reader)?;
        let notes = gnsm_cli::column_notes(&core.model, &core.model.check(&table).map_err(text)?);
        Ok((find(&core.model, &table).map_err(text)?, notes))
    })
}
