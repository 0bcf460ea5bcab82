//! A model: encoder, fitted detector and calibration. This is what is saved, loaded and used to score.

mod builder;
mod drift;
pub mod file;
mod generate;
mod impute;
mod intake;
mod own;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::columns::{ColumnChoices, ColumnReport, Encoded, Encoder, Schema, Survey, marked, marked_for, plural};
use crate::decision::{Calibration, Explanation, Scored, TailOfScores, reason};
use crate::drift::Reference;
use crate::error::{Error, Result};
use crate::files::checkpoint::{self, Checkpoint};
use crate::generate::Manner;
use crate::method::{Fitted, Method};
use crate::table::Table;
use crate::train::{CurvePoint, Ending, FEWEST_ROWS, FitReport, Run, Watcher, deal};

pub use builder::ModelBuilder;
pub use impute::Imputed;
pub use intake::{Room, RowsToLearn};
use own::{Halves, left_out_scores};

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
    /// Whether rows of the table itself will be judged.
    pub judge_own: bool,
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
    /// What judges the table's own rows, if that was asked for and the method needs it; not saved.
    pub(crate) halves: Option<Halves>,
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
    ) -> Result<Self> {
        method.validate()?;
        let table = &*marked(table, options.choices.missing.as_deref());
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
        let scores = match left_out_scores(&fitted, &learned) {
            Some(scores) => scores,
            None => fitted.score_distinct(&calibration.unseen_by(encoder.layout(), &learned)),
        };
        let calibration = Calibration::new(scores.into_iter().map(|score| (score, 1)))?;
        let is_whole = fitted.training().is_none_or(|(_, ending)| ending != Ending::Interrupted);
        let halves = if options.judge_own && !method.leaves_out() && is_whole {
            Halves::fit(&encoder, method, &encoded, rows, options, watcher)?
        } else {
            None
        };
        let encoder = encoder.for_detector(fitted.detector().knows_absent());
        Ok(Self { encoder, fitted, calibration, reference, manner, report, hash: None, halves })
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

    /// p-values that go on beyond the bulk of the held-out scores: those of [`Self::score_own`].
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
    fn marked<'a>(&self, table: &'a Table) -> Cow<'a, Table> {
        marked_for(table, self.schema())
    }

    /// A score and p-value for each row of a batch; distinct rows are computed once.
    pub fn score(&self, table: &Table) -> Result<Vec<Scored>> {
        let rows = self.encoder.encode(&self.marked(table))?;
        let scores = if self.encoder.sets_aside() {
            self.scores_without_aside(&rows)
        } else {
            self.fitted.score_distinct(&rows)
        };
        Ok(scores.into_iter().map(|score| self.scored(score)).collect())
    }

    fn scored(&self, score: f64) -> Scored {
        Scored { score, p_value: self.calibration.p_value(score) }
    }

    /// The `most` strongest reasons for each of these rows of a batch; distinct rows are computed once.
    pub fn explain(&self, table: &Table, rows: &[usize], most: usize) -> Result<Vec<Explanation>> {
        Ok(self.in_one_pass(table, rows, most)?.into_iter().map(|(_, explanation)| explanation).collect())
    }

    /// [`Self::score`] and [`Self::explain`] of all rows of a batch, which is encoded and taken apart only once.
    pub fn score_and_explain(&self, table: &Table, most: usize) -> Result<Vec<(Scored, Explanation)>> {
        let all: Vec<usize> = (0..table.n_rows()).collect();
        let rows = self.in_one_pass(table, &all, most)?.into_iter();
        Ok(rows.map(|(score, explanation)| (self.scored(score), explanation)).collect())
    }

    fn in_one_pass(&self, table: &Table, rows: &[usize], most: usize) -> Result<Vec<(f64, Explanation)>> {
        let table = &*self.marked(table);
        let encoded = self.encoder.encode(table)?.select(rows);
        Ok(reason::score_and_explain(&self.encoder, self.fitted.detector(), table, &encoded, rows, most, false))
    }
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
