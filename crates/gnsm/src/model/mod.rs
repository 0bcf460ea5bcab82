//! A model: encoder, fitted detector and calibration. This is what is saved, loaded and used to score.

mod builder;
pub mod file;
mod generate;
mod impute;
mod intake;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::columns::{ColumnChoices, ColumnReport, Encoded, Encoder, Schema, Survey, marked_for, plural};
use crate::decision::{Calibration, TailOfScores};
use crate::drift::{Basis, DriftCounter, DriftCounts, Reference};
use crate::error::{Error, Result};
use crate::files::checkpoint::{self, Checkpoint};
use crate::generate::Manner;
use crate::method::{Fitted, Method};
use crate::table::Table;
use crate::train::{CurvePoint, Ending, FEWEST_ROWS, FitReport, Run, Watcher, deal};

pub use builder::ModelBuilder;
pub use impute::Imputed;
pub use intake::{Room, RowsToLearn};

/// How to fit, beside the method.
#[derive(Debug, Clone, Default)]
pub(crate) struct FitOptions {
    /// Where all randomness comes from.
    pub seed: u64,
    /// Seconds after which training ends with the best so far.
    pub max_seconds: Option<f64>,
    /// What the user said about columns.
    pub choices: ColumnChoices,
    /// The value of the label column that marks an anomaly; rows that have it are not learned from.
    pub anomaly: Option<String>,
    /// Where the state of training is saved now and then; to be removed by the caller.
    pub checkpoint: Option<PathBuf>,
    /// Whether to continue from that checkpoint if there is one.
    pub resume: bool,
}

/// A fitted model.
#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) encoder: Encoder,
    pub(crate) fitted: Fitted,
    pub(crate) calibration: Calibration,
    pub(crate) reference: Reference,
    /// How the table was written; none in a model of an earlier version.
    pub(crate) manner: Option<Manner>,
    pub(crate) report: FitReport,
    pub(crate) hash: Option<String>,
}

/// The rows of the table that a model was fitted on.
pub(crate) struct FittedRows {
    /// All rows of the table, keys that repeat among them.
    pub encoded: Encoded,
    /// Those that may be learned from.
    pub learnable: Vec<usize>,
    /// The score of each row as if it had not been learned from, if the method can leave it out.
    pub left_out: Option<Vec<f64>>,
}

impl Model {
    /// Learns a model from a table.
    ///
    /// What the columns are is decided from all rows that may be learned from. A method that can leave out rows learns from all of
    /// them, and each is then judged as if it had not been there: that calibrates p-values. For the others a tenth of the rows is held
    /// out to stop the training, and another tenth to calibrate; categories that only those have are unseen to the detector.
    ///
    /// With a survey, the rows were chosen from more, and what the columns are is decided from all of those.
    pub(crate) fn fit_with(
        table: &Table,
        survey: Option<&Survey>,
        method: &Method,
        options: &FitOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<(Self, FittedRows)> {
        method.validate()?;
        let (rows, labelled_anomalies) = learnable_rows(table, options)?;
        let encoder = Encoder::new(Schema::learn_surveyed(table, &rows, &options.choices, survey)?);
        let table = &*marked_for(table, encoder.schema());
        let encoded = encoder.encode_whole(table)?;
        let reference = Reference::learn(&encoder, table, &rows, &encoded);
        let manner = Some(Manner::learn(&encoder, table, &rows)?);
        let [training, validation, calibration] =
            if method.leaves_out() { [rows.clone(), Vec::new(), Vec::new()] } else { deal(rows.clone(), options.seed) };
        let [training, validation, calibration] = [training, validation, calibration].map(|rows| encoded.select(&rows));
        let learned = training.concat(&validation);
        if learned.all_equal() {
            return Err(Error::fit(
                format!("all {} rows of {} are the same", table.n_rows(), table.file),
                "there is nothing to compare; give rows that differ",
            ));
        }
        let report = FitReport {
            rows: [&training, &validation, &calibration].map(|rows| rows.n_rows() as u64),
            labelled_anomalies: survey.map_or(labelled_anomalies, |survey| survey.labelled_anomalies),
            chosen_from: survey.map(|survey| survey.rows).filter(|all| *all > table.n_rows() as u64),
            label: options.choices.label.clone(),
            seed: options.seed,
            fingerprint: encoded.fingerprint_in_any_order().to_hex().to_string(),
        };
        watcher.begin(encoder.schema(), &report);
        let fitted = fit_with_checkpoint(&encoder, method, &training, &validation, options, watcher)?;
        let left_out = left_out_scores(&fitted, &encoded);
        let scores = match &left_out {
            Some(scores) => rows.iter().map(|row| scores[*row]).collect(),
            None => fitted.score_distinct(&calibration.unseen_by(encoder.layout(), &learned)),
        };
        let calibration = Calibration::new(scores.into_iter().map(|score| (score, 1)))?;
        let encoder = encoder.for_detector(fitted.detector().knows_absent());
        let model = Self { encoder, fitted, calibration, reference, manner, report, hash: None };
        Ok((model, FittedRows { encoded, learnable: rows, left_out }))
    }

    /// Reads a model file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        file::load(path.as_ref())
    }

    /// Writes a model file: beside, then renamed.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<()> {
        self.hash = Some(file::save(self, path.as_ref())?);
        Ok(())
    }

    /// A model from the bytes of a model file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        file::from_bytes(bytes)
    }

    /// The bytes of this model's file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        file::to_bytes(self)
    }

    /// The columns that the model learned from, with their kinds and the reasons for them.
    pub fn schema(&self) -> &Schema {
        self.encoder.schema()
    }

    /// The method, with the settings of this fit.
    pub fn method(&self) -> Method {
        self.fitted.method()
    }

    /// How training went and why it ended, if the method trains.
    pub fn training(&self) -> Option<(&[CurvePoint], Ending)> {
        self.fitted.training()
    }

    /// What is wrong with the fit, if something is.
    pub fn warning(&self) -> Option<String> {
        self.fitted.warning()
    }

    /// The schema and the encoding.
    #[doc(hidden)]
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The fitted detector.
    #[doc(hidden)]
    pub fn fitted(&self) -> &Fitted {
        &self.fitted
    }

    /// The held-out scores.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// p-values that go on beyond the bulk of the held-out scores: those of rows that were learned from.
    pub fn tail(&self) -> TailOfScores<'_> {
        self.calibration.tail(self.fitted.detector().known_tail())
    }

    /// What the fit was done on.
    pub fn report(&self) -> &FitReport {
        &self.report
    }

    /// The hash of the file this model was read from or written to.
    pub fn hash(&self) -> Option<&str> {
        self.hash.as_deref()
    }

    /// Compares a file's columns with the model's; to be called on its first batch.
    pub fn check(&self, table: &Table) -> Result<ColumnReport> {
        self.encoder.check(&self.marked(table))
    }

    /// The table with the model's texts for missing values.
    pub(crate) fn marked<'a>(&self, table: &'a Table) -> Cow<'a, Table> {
        marked_for(table, self.schema())
    }

    /// Starts to compare the rows of a file with those that were learned from.
    pub fn drift(&self) -> DriftCounter<'_> {
        DriftCounter::new(self.basis(), &self.reference)
    }

    /// Goes on to compare with what was counted before, by a counter of this model or of one with the same columns and values.
    pub fn drift_from(&self, counts: DriftCounts) -> Result<DriftCounter<'_>> {
        DriftCounter::from_counts(self.basis(), &self.reference, counts)
            .ok_or_else(|| Error::config("counts", "are of a model with other columns; start with new ones"))
    }

    fn basis(&self) -> Basis<'_> {
        Basis { encoder: &self.encoder, detector: self.fitted.detector(), calibration: &self.calibration }
    }

    /// How the rows fell that were learned from.
    #[doc(hidden)]
    pub fn reference(&self) -> &Reference {
        &self.reference
    }
}

/// Scores of rows that the detector learned from, each as if it had not; `None` if it cannot do that.
fn left_out_scores(fitted: &Fitted, rows: &Encoded) -> Option<Vec<f64>> {
    let detector = Some(fitted.detector()).filter(|detector| detector.leaves_out())?;
    let (firsts, of_row) = rows.distinct();
    let scores = detector.score_left_out(&rows.select(&firsts))?;
    Some(of_row.into_iter().map(|which| scores[which as usize]).collect())
}

/// The rows without a label that says anomaly, and how many have one.
fn learnable_rows(table: &Table, options: &FitOptions) -> Result<(Vec<usize>, u64)> {
    let rows = intake::unlabelled(table, options)?;
    let left_out = table.n_rows() - rows.len();
    if rows.len() < FEWEST_ROWS {
        return Err(Error::fit(
            format!("{} has {} to learn from", table.file, plural(rows.len(), "row")),
            format!("give at least {FEWEST_ROWS}"),
        ));
    }
    Ok((rows, left_out as u64))
}

fn fit_with_checkpoint(
    encoder: &Encoder,
    method: &Method,
    training: &Encoded,
    validation: &Encoded,
    options: &FitOptions,
    watcher: &mut dyn Watcher,
) -> Result<Fitted> {
    let run = Run { seed: options.seed, max_seconds: options.max_seconds, resume: None, save: None, watcher };
    if options.resume && method.training().is_none() && options.checkpoint.as_ref().is_some_and(|path| path.exists()) {
        let problem = format!("method `{}` is fitted in one go and has no checkpoints", method.name());
        return Err(Error::fit(problem, "leave out resuming, or name the method that the checkpoint is of"));
    }
    let checkpoint = options.checkpoint.as_deref().zip(method.training()).map(|(path, config)| Checkpoint {
        path,
        fingerprint: file::fingerprint(method, options.seed, training, validation),
        resume: options.resume,
        optimiser: config.optimiser,
    });
    checkpoint::run(checkpoint, run, |run| method.fit(encoder.layout(), training, validation, run))
}
