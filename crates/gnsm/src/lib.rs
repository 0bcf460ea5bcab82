//! Finds what is odd in tables of categories and numbers, without labels, and says why.
//!
//! A model learns what is usual from a table and gives every row a score. A higher score means an odder row.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/claims.rs")); }
//! # let (_folder, path) = example::claims(); // category and amount; the last row is a taxi for 950
//! let table = gnsm::read_table(&path)?;
//! let model = gnsm::Model::fit(&table)?;
//! for row in model.score(&table)? {
//!     println!("{} {}", row.score, row.p_value);
//! }
//!
//! // That was for new rows. Rows of the table that was learned from are judged as if they had not been there.
//! let fit = gnsm::Model::builder().fit_and_judge(&table)?;
//! let own = fit.own();
//! println!("{}: {}", own.scores()[200].score, own.explain(&[200], 1)[0].reasons[0]); // why row 200 is the oddest
//! # Ok::<(), gnsm::Error>(())
//! ```
//!
//! What has options has a builder:
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/claims.rs")); }
//! # let (_folder, path) = example::claims();
//! # let table = gnsm::read_table(&path)?;
//! let model = gnsm::Model::builder().method("isolation-forest").seed(7).label("category").fit(&table)?;
//! # assert_eq!(model.schema().columns.len(), 1);
//! # Ok::<(), gnsm::Error>(())
//! ```
//!
//! - [`read_table`] reads a whole file, [`TableReader`] one that is larger than memory.
//! - [`Model`] is what is fitted, saved, loaded and asked for scores and reasons.
//! - [`Method`] lists the methods, [`settings`] has what can be changed about them.
//! - [`Judge`] and [`Batch`] say all that can be said of rows; [`Fit`] says it of the rows that were learned from.
//! - [`Rule`] and [`Decision`] turn scores into yes or no.
//! - [`DriftCounter`] tells how a file differs from what a model learned, column by column.
//! - [`Model::sample`] makes new rows, [`Model::impute`] fills missing cells.
//! - [`mask`] is for segmentation masks, [`metrics`] for measuring how well a ranking finds anomalies.
//! - [`cookbook`] has a recipe for each of these.

// The steps of the method, in order; ARCHITECTURE.md says what each room holds and which rooms it may use.
mod table;
mod columns;
pub mod facts;
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
mod drift;
mod generate;
mod model;
mod judge;
pub mod metrics;
pub mod mask;
mod files;
mod error;

pub use columns::{
    ColumnChoices, ColumnReport, ColumnSchema, DateFormat, DatePart, Difference, Kind, KindChoice, NumberFormat,
    PartOfDate, Relation, RelationKind, Scale, Schema,
};
pub use decision::{Calibration, Decision, Explanation, Flags, OddCell, Reason, Rule, Scored, Side, TailOfScores};
pub use drift::{Change, ColumnDrift, DriftCounter, DriftCounts, DriftReport};
pub use error::{Advice, Error, Place, Result};
pub use judge::{Alike, Batch, Fit, Group, Groups, Judge, Oddest};
pub use method::Method;
pub use model::{Imputed, Model, ModelBuilder, Room, RowsToLearn};
pub use table::{
    Column, Dialect, Format, LeftOut, LeftOutLine, ReadOptions, Table, TableReader, TextCells, Values, read_table,
    read_table_with,
};
pub use train::{CurvePoint, Ending, FitReport, Progress, Silent, Watcher};

/// The settings of the methods. Start from a default, change a field, and give it to [`ModelBuilder::settings`].
pub mod settings {
    pub use crate::cells::CellsSettings;
    pub use crate::density::{Criterion, MixtureConfig};
    pub use crate::detectors::{
        DagmmConfig, DeepTraining, Distance, DsvddConfig, Encoding, IsolationForestConfig, KnnConfig, Memberships,
        NoSettings, OcSvmConfig, PaperSet, PcaConfig, WalkConfig,
    };
    pub use crate::network::{NetworkSize, OptimiserConfig};
    pub use crate::noise::{LevelsConfig, Objective, Parameterisation, Smoothing};
    pub use crate::score_matching::embed::Point;
    pub use crate::score_matching::{DensityKind, EvidenceWeights, GnsmConfig, Head, NormKind, NormsConfig};
    pub use crate::train::TrainingConfig;
}

#[doc = include_str!("../doc/cookbook.md")]
pub mod cookbook {}

/// What the project's other crates need of the inside. It may change at any time; build on nothing in it.
#[doc(hidden)]
pub mod internals {
    macro_rules! open {
        ($($room:ident),+ $(,)?) => {
            $(#[doc(hidden)] pub mod $room { pub use crate::$room::*; })+
        };
    }

    open!(
        cells,
        columns,
        decision,
        density,
        detectors,
        error,
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
