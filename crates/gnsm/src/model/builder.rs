//! What can be said about a fit before it starts.

use std::path::PathBuf;

use super::{FitOptions, Model, RowsToLearn};
use crate::columns::{ColumnChoices, KindChoice, Survey, marked};
use crate::error::{Error, Result};
use crate::method::Method;
use crate::table::Table;
use crate::train::{Silent, Watcher};

/// Says how to fit a model. [`Model::builder`] makes one, and [`ModelBuilder::fit`] uses it up.
///
/// A wrong name or two kinds for one column are reported by `fit`, so that calls can stand in one chain.
#[must_use = "nothing is fitted before `fit` is called"]
pub struct ModelBuilder<'w> {
    method: Method,
    pub(super) options: FitOptions,
    watcher: Option<&'w mut dyn Watcher>,
    /// The first thing that went wrong.
    problem: Option<Error>,
}

impl Model {
    /// Learns a model from a table, with the default method and settings.
    ///
    /// The default method learns from all rows and calibrates p-values by leaving out each in turn. A method that cannot
    /// do that learns from eight tenths: a tenth is held out to stop its training, another tenth to calibrate.
    pub fn fit(table: &Table) -> Result<Self> {
        Self::builder().fit(table)
    }

    /// Starts to say how to fit; what is not said keeps its default.
    pub fn builder() -> ModelBuilder<'static> {
        ModelBuilder { method: Method::default(), options: FitOptions::default(), watcher: None, problem: None }
    }
}

impl ModelBuilder<'_> {
    /// The method of this name, one of [`Method::NAMES`], with its default settings.
    pub fn method(mut self, name: &str) -> Self {
        match Method::named(name) {
            Ok(method) => self.method = method,
            Err(error) => self.note(error),
        }
        self
    }

    /// A method with settings of your own, instead of [`ModelBuilder::method`].
    pub fn settings(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// Where all randomness comes from. The same seed and table give the same model.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// The column that holds labels. It is never learned from.
    pub fn label(mut self, column: impl Into<String>) -> Self {
        self.options.choices.label = Some(column.into());
        self
    }

    /// The value of the label column that marks an anomaly. Rows that have it are not learned from.
    pub fn anomaly(mut self, value: impl Into<String>) -> Self {
        self.options.anomaly = Some(value.into());
        self
    }

    /// Takes each value of these columns for a category.
    pub fn categorical<S: AsRef<str>>(self, columns: impl IntoIterator<Item = S>) -> Self {
        self.choose(columns, KindChoice::Categorical)
    }

    /// Takes the values of these columns for numbers.
    pub fn numeric<S: AsRef<str>>(self, columns: impl IntoIterator<Item = S>) -> Self {
        self.choose(columns, KindChoice::Numeric)
    }

    /// Leaves these columns out.
    pub fn ignore<S: AsRef<str>>(self, columns: impl IntoIterator<Item = S>) -> Self {
        self.choose(columns, KindChoice::Ignore)
    }

    /// Takes a column for what you say, such as a date whose day comes first.
    pub fn kind(self, column: &str, kind: KindChoice) -> Self {
        self.choose([column], kind)
    }

    /// The texts that mean "no value", instead of the usual ones such as `NA`. The empty text always does.
    pub fn missing<S: Into<String>>(mut self, texts: impl IntoIterator<Item = S>) -> Self {
        self.options.choices.missing = Some(texts.into_iter().map(Into::into).collect());
        self
    }

    /// Label and kinds of columns together, as a schema file has them. They replace what was said before.
    pub fn columns(mut self, choices: ColumnChoices) -> Self {
        self.options.choices = choices;
        self
    }

    /// Ends training after so many seconds, and keeps the best so far. `None` is no limit.
    pub fn max_seconds(mut self, seconds: impl Into<Option<f64>>) -> Self {
        self.options.max_seconds = seconds.into();
        self
    }

    /// Where the state of training is saved now and then. Remove it when the model is safe.
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.checkpoint = Some(path.into());
        self
    }

    /// Whether to continue from the checkpoint, if there is one.
    pub fn resume(mut self, resume: bool) -> Self {
        self.options.resume = resume;
        self
    }

    /// Tells `watcher` how the fit goes on, and asks it whether to stop.
    pub fn watch(self, watcher: &mut dyn Watcher) -> ModelBuilder<'_> {
        ModelBuilder { method: self.method, options: self.options, watcher: Some(watcher), problem: self.problem }
    }

    /// Learns a model from a table.
    pub fn fit(self, table: &Table) -> Result<Model> {
        self.fit_surveyed(table, None)
    }

    /// Learns a model from what [`ModelBuilder::read`] gave.
    pub fn fit_rows(self, rows: &RowsToLearn) -> Result<Model> {
        self.fit_surveyed(&rows.table, rows.survey.as_ref())
    }

    fn fit_surveyed(self, table: &Table, survey: Option<&Survey>) -> Result<Model> {
        let table = marked(table, self.options.choices.missing.as_deref());
        self.with(|method, options, watcher| Ok(Model::fit_with(&table, survey, method, options, watcher)?.0))
    }

    /// The texts that mean a missing value, if others than usual do.
    pub(crate) fn missing_texts(&self) -> Option<&[String]> {
        self.options.choices.missing.as_deref()
    }

    /// Does something with all that was said, if it makes sense.
    pub(crate) fn with<T>(self, fit: impl FnOnce(&Method, &FitOptions, &mut dyn Watcher) -> Result<T>) -> Result<T> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        if self.options.anomaly.is_some() && self.options.choices.label.is_none() {
            return Err(Error::fit(
                "a value that marks anomalies was given, but no column",
                "name the column with `label`",
            ));
        }
        fit(&self.method, &self.options, self.watcher.unwrap_or(&mut Silent))
    }

    fn choose<S: AsRef<str>>(mut self, columns: impl IntoIterator<Item = S>, kind: KindChoice) -> Self {
        for column in columns {
            if let Err(error) = self.options.choices.choose(column.as_ref(), kind) {
                self.note(error);
            }
        }
        self
    }

    fn note(&mut self, problem: Error) {
        self.problem.get_or_insert(problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Kind;
    use crate::table::{ReadOptions, TableReader};
    use crate::train::Progress;

    fn table() -> Result<Table> {
        let rows = (0..60).map(|row| format!("{row},{},{},{}\n", ["a", "b"][row % 2], row * row % 7, row % 20 / 19));
        let text = format!("id,name,count,odd\n{}", rows.collect::<String>());
        let mut reader =
            TableReader::from_reader("t.csv", Box::new(std::io::Cursor::new(text)), &ReadOptions::default())?;
        Ok(reader.next_batch(usize::MAX)?.expect("rows"))
    }

    #[test]
    fn what_is_said_reaches_the_model() -> Result<()> {
        let builder = Model::builder().method("knn").seed(7).label("odd").anomaly("1");
        let model = builder.numeric(["count"]).ignore(["id"]).max_seconds(9.0).fit(&table()?)?;
        assert_eq!((model.method().name(), model.report().seed), ("knn", 7));
        assert_eq!((model.report().label.as_deref(), model.report().labelled_anomalies), (Some("odd"), 3));
        let kinds: Vec<&Kind> = model.schema().columns.iter().map(|column| &column.kind).collect();
        assert!(matches!(kinds[..], [Kind::Ignored, Kind::Categorical { .. }, Kind::Numeric { .. }]), "{kinds:?}");
        Ok(())
    }

    #[test]
    fn a_model_keeps_its_texts_for_missing_values() -> Result<()> {
        let table = table()?;
        let mut model = Model::builder().method("knn").missing(["b"]).fit(&table)?;
        assert_eq!(model.schema().missing, ["b"]);
        let Kind::Categorical { categories, missing: true, .. } = &model.schema().columns[1].kind else {
            panic!("{:?}", model.schema())
        };
        assert_eq!(categories.as_slice(), ["a"]);
        // The table was read with other texts, and is scored with the model's.
        let mut again = table.clone();
        again.mark_missing(&std::sync::Arc::new(crate::table::MissingTexts::new(vec!["b".to_owned()])));
        assert_eq!(model.score(&table)?, model.score(&again)?);
        assert_eq!(model.explain(&table, &[3, 7], 2)?, model.explain(&again, &[3, 7], 2)?);
        let folder = tempfile::tempdir().map_err(|error| Error::io("folder", error))?;
        model.save(folder.path().join("m"))?;
        assert_eq!(Model::load(folder.path().join("m"))?.schema().missing, ["b"]);
        Ok(())
    }

    #[test]
    fn what_is_wrong_is_told_by_fit() -> Result<()> {
        let problem = |builder: ModelBuilder| Ok::<_, Error>(builder.fit(&table()?).expect_err("refused").to_string());
        let unknown = problem(Model::builder().method("magic").method("knn"))?;
        assert!(unknown.starts_with("setting `method`: `magic` is not one of cells, gnsm, "), "{unknown}");
        let twice = problem(Model::builder().method("knn").numeric(["count"]).ignore(["count"]))?;
        assert!(twice.starts_with("column `count` was given two kinds"), "{twice}");
        let missing = problem(Model::builder().method("knn").label("nowhere"))?;
        assert!(missing.starts_with("t.csv has no column `nowhere`"), "{missing}");
        let unlabelled = problem(Model::builder().method("knn").anomaly("1"))?;
        assert!(unlabelled.ends_with("name the column with `label`"), "{unlabelled}");
        Ok(())
    }

    #[test]
    fn a_watcher_sees_every_step() -> Result<()> {
        struct Steps(u64);
        impl Watcher for Steps {
            fn progress(&mut self, progress: &Progress) {
                self.0 = progress.step;
            }
        }
        let mut method = Method::named("gnsm")?;
        if let Method::Gnsm(settings) = &mut method {
            (settings.network.width, settings.network.depth, settings.training.steps) = (8, 1, 12);
        }
        let mut steps = Steps(0);
        Model::builder().settings(method).watch(&mut steps).fit(&table()?)?;
        assert_eq!(steps.0, 12);
        Ok(())
    }
}
