//! Finds what is odd in tables of categories and numbers, without labels, and says why.
//!
//! The modules are the steps of the method, in order:
//!
//! 1. `table`: rows as read from CSV, JSON lines, Parquet, Arrow or ARFF.
//! 2. `columns`: what each column is; category codes and scaled numbers.
//! 3. `noise`: the levels, the noise of each, the loss and its gradient.
//! 4. `network`: from a noisy row and its level to logits.
//! 5. `train`: the loop.
//! 6. `density`: how typical a row of numbers is.
//! 7. `cells` scores rows by their cells, without a network; `score_matching` assembles 3 to 6; `detectors` are the methods they are compared
//!    with; `method` lists them all.
//! 8. `decision` turns scores into p-values, decisions and reasons; `model` is what is fitted, saved and loaded.
//!
//! Segmentation masks have rooms of their own, in [`mask`].
//!
//! ```
//! use gnsm::{FitOptions, Method, Model, ReadOptions, Silent, read_table};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("claims.csv");
//! # let rows: String = (0..200).map(|i| format!("{},{}\n", ["taxi", "hotel"][i % 2], 20 + 100 * (i % 2) + i % 7)).collect();
//! # std::fs::write(&path, format!("category,amount\n{rows}taxi,950\n")).unwrap();
//! let table = read_table(&path, &ReadOptions::default())?;
//! let model = Model::fit(&table, &Method::named("cells")?, &FitOptions::default(), &mut Silent)?;
//! // The rows of the table itself, each judged as if it had not been learned from; `score` is for new rows.
//! let scores = model.score_own(&table)?;
//! let oddest = (0..scores.len()).max_by(|&a, &b| scores[a].score.total_cmp(&scores[b].score)).unwrap();
//! assert_eq!(oddest, 200);
//! println!("{}", model.explain_own(&table, &[oddest], 1)?[0].reasons[0]);
//! # Ok::<(), gnsm::Error>(())
//! ```

mod table;
mod columns;
mod math;
mod noise;
mod network;
mod train;
mod density;
mod detectors;
mod cells;
mod score_matching;
mod method;
mod decision;
mod model;
pub mod metrics;
pub mod mask;
mod files;
mod error;

pub use columns::{ColumnChoices, ColumnReport, ColumnSchema, Kind, KindChoice, Schema};
pub use decision::{Calibration, Explanation, FdrCounter, Reason, Rule, Scored};
pub use error::{Error, Place, Result};
pub use method::Method;
pub use model::{FitOptions, Model};
pub use table::{Column, Dialect, Format, ReadOptions, Table, TableReader, TextCells, Values, read_table};
pub use train::{CurvePoint, Ending, FitReport, Progress, Silent, Watcher};

/// What the project's other crates need of the inside. It may change at any time; build on nothing in it.
#[doc(hidden)]
pub mod internals {
    macro_rules! open {
        ($($room:ident),+ $(,)?) => {
            $(#[doc(hidden)] pub mod $room { pub use crate::$room::*; })+
        };
    }

    open!(
        columns,
        decision,
        density,
        detectors,
        files,
        math,
        method,
        model,
        network,
        noise,
        score_matching,
        table,
        train
    );
}
