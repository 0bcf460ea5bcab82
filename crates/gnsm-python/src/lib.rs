//! The native part of the Python package `gnsm`: tables in, scores and reasons out.
//!
//! `python/gnsm` makes frames of what comes from here. Work is done without the interpreter's lock (`work.rs`). Tables
//! come in through the Arrow C stream or as columns of numbers and texts (`source.rs`). A table on many machines is surveyed
//! where its parts are (`surveys.rs`).

mod masks;
mod model;
mod source;
mod surveys;
mod upkeep;
mod work;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(gnsm, GnsmError, PyValueError, "What went wrong, with the words of the command line.");

/// The native part of the package gnsm. Use `gnsm`, not this.
#[pymodule]
mod _gnsm {
    use std::ffi::OsString;
    use std::path::PathBuf;

    use gnsm::{Method, Schema};
    use pyo3::prelude::*;

    use crate::masks::method_names;
    use crate::model::{choices, problem, rule_of, text};
    use crate::source;
    use crate::work::work;

    #[pymodule_export]
    use crate::GnsmError;
    #[pymodule_export]
    use crate::masks::{MaskCore, mask_metrics, mask_names, mask_settings};
    #[pymodule_export]
    use crate::model::Core;
    #[pymodule_export]
    use crate::surveys::{chosen, merged, survey};
    #[pymodule_export]
    use crate::upkeep::{changes, drift, odd_cells};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        gnsm_cli::panics::record();
        module.add("METHODS", Method::NAMES.to_vec())?;
        module.add("MASK_METHODS", method_names())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Runs the command line program; returns its exit code.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| gnsm_cli::main_with(arguments))
    }

    /// Looks for time zones in this folder too, where the system has none.
    #[pyfunction]
    fn look_for_zones_in(folder: PathBuf) {
        gnsm::internals::table::look_for_zones_in(folder);
    }

    /// Refuses a rule that flags nothing or everything by mistake.
    #[pyfunction]
    fn check_rule(rule: (String, f64)) -> PyResult<()> {
        rule_of(&rule).map(drop)
    }

    /// The default settings of a method, as JSON.
    #[pyfunction]
    #[pyo3(signature = (method, preset=None, head=None))]
    fn settings(method: &str, preset: Option<&str>, head: Option<&str>) -> PyResult<String> {
        let empty = serde_json::Value::Object(serde_json::Map::new());
        let method = gnsm_cli::settings::method_with(method, preset, head, empty).map_err(|error| problem(&error))?;
        Ok(gnsm_cli::settings::of_method(&method).map_err(|error| problem(&error))?.to_string())
    }

    /// What each column would be taken for: its name, its kind and why.
    #[pyfunction]
    fn columns(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        label: Option<String>,
        kinds: Vec<(String, String)>,
    ) -> PyResult<Vec<(String, &'static str, String)>> {
        let mut reader = source::open(source)?;
        let choices = choices(label, &kinds)?;
        let schema = work(py, None, |_| {
            let table = source::whole(&mut reader)?;
            let rows: Vec<usize> = (0..table.n_rows()).collect();
            Schema::learn(&table, &rows, &choices).map_err(text)
        })?;
        Ok(schema.columns.into_iter().map(|column| (column.name, column.kind.name(), column.reason)).collect())
    }
}
