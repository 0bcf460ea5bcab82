//! A model as Python holds it.

use std::cmp::Ordering;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gnsm::internals::files::AtomicFile;
use gnsm::{
    Batch, ColumnChoices, Decision, DriftReport, Explanation, Judge, KindChoice, Model, Reason, Room, Rule, Scored,
    Table, TableReader,
};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict};

use crate::work::{Teller, work};
use crate::{GnsmError, source, surveys};

/// Rows of the first batch, on which columns are compared with the model's; as the command line has it.
const CHECKED_ROWS: usize = 1024;
/// Rows scored at a time, at the least and at the most, and the cells that they have. Of rows that repeat in a batch, one is
/// computed. So large batches save time, and the frame takes more memory than they do.
const FEWEST_ROWS: usize = 8192;
const MOST_ROWS: usize = 32_768;
const BATCH_CELLS: usize = 1 << 20;
/// Columns that moved and are named when scoring, at the most.
const NAMED_COLUMNS: usize = 5;

/// An error with the text of the command line.
pub fn problem(error: &(impl std::fmt::Display + ?Sized)) -> PyErr {
    // The alternate form of an error with context is all of it; other errors have one form.
    GnsmError::new_err(in_python(format!("{error:#}")))
}

/// The text of an error of the library.
pub fn text(error: gnsm::Error) -> String {
    in_python(error.words(&argument))
}

/// A setting as an argument.
fn argument(name: &str, value: Option<&str>) -> String {
    value.map_or_else(|| format!("`{name}`"), |value| format!("`{name}=[{value:?}]`"))
}

/// Objects without a use come as lists of nothing, whose cells are named after the first such object (`source.rs`). They are
/// called what they are, and where they stand is told by the name.
fn in_python(message: String) -> String {
    const TYPE: &str = "List(Null, field: '";
    let Some((before, (named, after))) =
        message.split_once(TYPE).and_then(|(before, rest)| Some((before, rest.split_once("')")?)))
    else {
        return message.replace("a column of type List(Null)", "a column of Python objects");
    };
    let before = before.replace(", line 1, column", ", column");
    match before.strip_suffix("a column of type ") {
        Some(before) => format!("{before}a column of Python objects ({named}){after}"),
        None => format!("{before}Python objects ({named}){after}"),
    }
}

/// Refuses a limit that is none.
pub fn check_seconds(max_seconds: Option<f64>) -> PyResult<()> {
    if max_seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds.is_finite())) {
        return Err(GnsmError::new_err("setting `max_seconds`: give a positive number of seconds"));
    }
    Ok(())
}

/// The memory that a fit may take, as on the command line.
fn room(max_memory: Option<&str>, max_rows: Option<NonZeroUsize>) -> PyResult<Room> {
    let bytes = max_memory.map(gnsm_cli::memory::size).transpose();
    let bytes = bytes.map_err(|problem| GnsmError::new_err(format!("setting `max_memory`: {problem}")))?;
    Ok(gnsm_cli::memory::room(bytes, max_rows.map(NonZeroUsize::get)))
}

/// A label and kinds of columns, by name.
pub fn choices(label: Option<String>, kinds: &[(String, String)]) -> PyResult<ColumnChoices> {
    let mut choices = ColumnChoices::default();
    choices.label = label;
    for (column, kind) in kinds {
        let known = serde_json::from_value::<KindChoice>(serde_json::Value::String(kind.clone()));
        let kind = known.map_err(|_| {
            GnsmError::new_err(format!(
                "column `{column}`: `{kind}` is not one of categorical, numeric, date, day-first, month-first, \
                 identifier, text, ignore"
            ))
        })?;
        choices.choose(column, kind).map_err(|error| problem(&error))?;
    }
    Ok(choices)
}

/// Scores as arrays of bytes: scores, p-values, flags; the reasons in words; what a user should know.
type Scores<'py> =
    (Bound<'py, PyByteArray>, Bound<'py, PyByteArray>, Bound<'py, PyByteArray>, Vec<Vec<Option<String>>>, Vec<String>);

/// The scores of some rows before they are flagged.
#[derive(Default)]
struct Found {
    scores: Vec<Scored>,
    reasons: Vec<Vec<Reason>>,
    notes: Vec<String>,
}

/// An explained row: its number, score and p-value, the part without a reason, and the reasons.
type ExplainedRow<'py> = (u64, f64, f64, f64, Vec<Bound<'py, PyDict>>);

/// A fitted model.
#[pyclass(frozen, module = "gnsm._gnsm")]
pub struct Core {
    /// The library's model.
    pub model: Arc<Model>,
}

#[pymethods]
impl Core {
    /// Fits a model; also gives what a user should know.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    #[pyo3(signature = (
        source, *, method, preset, head, settings, seed, label, anomaly, kinds, max_seconds, max_memory, max_rows, survey, tell
    ))]
    fn fit(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        method: &str,
        preset: Option<&str>,
        head: Option<&str>,
        settings: &str,
        seed: u64,
        label: Option<String>,
        anomaly: Option<String>,
        kinds: Vec<(String, String)>,
        max_seconds: Option<f64>,
        max_memory: Option<&str>,
        max_rows: Option<NonZeroUsize>,
        survey: Option<&[u8]>,
        tell: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Self, Vec<String>)> {
        let settings = serde_json::from_str(settings).map_err(|error| problem(&error))?;
        let method =
            gnsm_cli::settings::method_with(method, preset, head, settings).map_err(|error| problem(&error))?;
        check_seconds(max_seconds)?;
        let choices = choices(label, &kinds)?;
        let anomaly = match (&choices.label, anomaly) {
            (None, Some(_)) => return Err(GnsmError::new_err("`anomaly` needs a label column; name it with `label`")),
            (None, None) => None,
            (Some(_), anomaly) => Some(anomaly.unwrap_or_else(|| "1".into())),
        };
        let mut warnings = Vec::new();
        if max_seconds.is_some() && method.training().is_none() {
            warnings.push(format!("max_seconds limits training, and `{}` has none", method.name()));
        }
        let room = room(max_memory, max_rows)?;
        let survey = survey.map(surveys::read).transpose()?;
        let mut reader = source::open(source)?;
        let (model, labelled) = work(py, tell, move |teller| {
            let mut builder = Model::builder().settings(method).seed(seed).max_seconds(max_seconds).columns(choices);
            if let Some(anomaly) = anomaly {
                builder = builder.anomaly(anomaly);
            }
            let rows = match survey {
                Some((survey, smallest)) => builder.read_chosen(&mut reader, survey, smallest),
                None => builder.read(&mut reader, room, &mut |_| !teller.is_stopped()),
            };
            let none = if teller.is_stopped() { "stopped" } else { source::NO_ROWS };
            let rows = rows.map_err(text)?.ok_or_else(|| none.to_owned())?;
            let model = builder.watch(teller).fit_rows(&rows).map_err(text)?;
            Ok((model, teller.labelled))
        })?;
        let report = model.report();
        warnings.extend(report.chosen_from.map(|all| gnsm_cli::chosen_text(report.rows.iter().sum(), all)));
        if labelled == Some(0) {
            warnings.push("no row has the label of an anomaly, so all are learned from; see `anomaly`".into());
        }
        warnings.extend(model.warning());
        Ok((Self { model: Arc::new(model) }, warnings))
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = work(py, None, |_| Model::load(path).map_err(text))?;
        Ok(Self { model: Arc::new(model) })
    }

    /// A model from the bytes of a file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let model = work(py, None, |_| Model::from_bytes(bytes).map_err(text))?;
        Ok(Self { model: Arc::new(model) })
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = work(py, None, |_| self.model.to_bytes().map_err(text))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        work(py, None, |_| write(&path, &self.model.to_bytes().map_err(text)?))
    }

    /// All about the model, as JSON.
    fn describe(&self) -> PyResult<String> {
        Ok(gnsm_cli::describe(&self.model).map_err(|error| problem(&error))?.to_string())
    }

    /// Scores rows. `own` says that the model was fitted on them, `drift` that what is new in most of them is set aside, for
    /// which they are read twice.
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    #[pyo3(signature = (source, rule, explain, own, drift, tell))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        rule: (String, f64),
        explain: usize,
        own: bool,
        drift: bool,
        tell: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Scores<'py>> {
        let rule = rule_of(&rule)?;
        let mut reader = source::open(source)?;
        let mut first = (drift && !own).then(|| source::open(source)).transpose()?;
        let n_reasons = explain.min(self.model.encoder().features().len());
        let (found, flags) = work(py, tell, |teller| {
            let mut found = if own {
                self.score_own(&mut reader, n_reasons)
            } else {
                self.score_new(first.as_mut(), &mut reader, n_reasons, teller)
            }?;
            found.notes.extend(gnsm_cli::contamination_warning(self.model.calibration(), rule, "row"));
            let flags = flags(rule, &found.scores)?;
            Ok((found, flags))
        })?;
        let bytes = |part: fn(&Scored) -> f64| numbers(py, found.scores.iter().map(part));
        let reasons = (0..n_reasons).map(|k| {
            let words = found.reasons.iter().map(|reasons| reasons.get(k).map(ToString::to_string));
            words.collect()
        });
        let reasons: Vec<Vec<Option<String>>> = reasons.collect();
        Ok((bytes(|row| row.score)?, bytes(|row| row.p_value)?, PyByteArray::new(py, &flags), reasons, found.notes))
    }

    /// Explains the `top` oddest rows, or the rows of these numbers, by `most` reasons each; also gives what a user should know.
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    #[pyo3(signature = (source, top, rows, most, own, drift, tell))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        top: usize,
        rows: Option<Vec<u64>>,
        most: usize,
        own: bool,
        drift: bool,
        tell: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Vec<ExplainedRow<'py>>, Vec<String>)> {
        let mut reader = source::open(source)?;
        let mut first = (drift && !own).then(|| source::open(source)).transpose()?;
        let (explained, notes) = work(py, tell, |teller| {
            let mut oddest = Oddest { top, wanted: rows, rows: Vec::new(), passed: 0 };
            let mut notes = Vec::new();
            if own {
                let (table, judge) = (source::whole(&mut reader)?, self.model.judge());
                oddest.take(&self.own(&judge, &table)?, most);
            } else {
                let report = self.compared(first.as_mut(), false, &mut notes, teller)?;
                let judge = judge_without(&self.model, report.as_ref());
                batches(&self.model, &mut reader, &mut notes, ("scoring", teller), |table| {
                    oddest.take(&judge.read(table).map_err(text)?, most);
                    Ok(())
                })?;
            }
            Ok((oddest.finish()?, notes))
        })?;
        let rows = explained.into_iter().map(|(row, scored, explanation)| {
            let reasons = explanation.reasons.iter().map(|reason| reason_dict(py, reason));
            let rest = explanation.base + explanation.rest;
            Ok((row, scored.score, scored.p_value, rest, reasons.collect::<PyResult<_>>()?))
        });
        Ok((rows.collect::<PyResult<_>>()?, notes))
    }
}

impl Core {
    /// The rows that the model was fitted on. Where only some of the table's rows were chosen, all are judged as new ones.
    fn own<'a>(&'a self, judge: &'a Judge<'a>, table: &'a Table) -> Result<Batch<'a>, String> {
        let batch = judge.read_whole(table).map_err(text)?;
        if batch.is_own() || self.model.report().chosen_from.is_some() {
            return Ok(batch);
        }
        Err("these are not the rows that the model was fitted on; leave out `own`".into())
    }

    fn score_own(&self, reader: &mut TableReader, n_reasons: usize) -> Result<Found, String> {
        let (table, judge) = (source::whole(reader)?, self.model.judge());
        let mut found = Found::default();
        found.take(&self.own(&judge, &table)?, n_reasons);
        Ok(found)
    }

    fn score_new(
        &self,
        first: Option<&mut TableReader>,
        reader: &mut TableReader,
        n_reasons: usize,
        teller: &mut Teller,
    ) -> Result<Found, String> {
        let mut found = Found::default();
        let mut notes = Vec::new();
        let report = self.compared(first, true, &mut notes, teller)?;
        let judge = judge_without(&self.model, report.as_ref());
        batches(&self.model, reader, &mut notes, ("scoring", teller), |table| {
            found.take(&judge.read(table).map_err(text)?, n_reasons);
            Ok(())
        })?;
        found.notes = notes;
        Ok(found)
    }

    /// Compares a table that can be read twice with what was learned, as the command line does: what is new in most rows does
    /// not count. Where it `tells`, columns that moved are named.
    fn compared(
        &self,
        first: Option<&mut TableReader>,
        tells: bool,
        notes: &mut Vec<String>,
        teller: &mut Teller,
    ) -> Result<Option<DriftReport>, String> {
        let Some(reader) = first else { return Ok(None) };
        let report = compare(&self.model, reader, teller)?;
        if tells {
            notes.extend(moved_note(&report));
        }
        notes.extend(aside_note(&report));
        Ok(Some(report))
    }
}

impl Found {
    /// Takes the next rows.
    fn take(&mut self, batch: &Batch<'_>, n_reasons: usize) {
        if n_reasons > 0 {
            self.reasons.extend(batch.explain_all(n_reasons).into_iter().map(|explanation| explanation.reasons));
        }
        self.scores.extend_from_slice(batch.scores());
    }
}

fn judge_without<'m>(model: &'m Model, report: Option<&DriftReport>) -> Judge<'m> {
    report.map_or_else(|| model.judge(), |report| model.judge_without(report))
}

/// Passes over all rows in batches, whose columns are compared with the model's; `doing` is what the teller says.
pub fn batches(
    model: &Model,
    reader: &mut TableReader,
    notes: &mut Vec<String>,
    (doing, teller): (&'static str, &mut Teller),
    mut take: impl FnMut(&Table) -> Result<(), String>,
) -> Result<(), String> {
    let mut n_rows = 0;
    let mut size = CHECKED_ROWS;
    while let Some(table) = reader.next_batch(size).map_err(text)? {
        if n_rows == 0 {
            let report = model.check(&table).map_err(text)?;
            notes.extend(gnsm_cli::column_notes(model, &report));
            size = (BATCH_CELLS / table.columns.len().max(1)).clamp(FEWEST_ROWS, MOST_ROWS);
        }
        take(&table)?;
        n_rows += table.n_rows() as u64;
        reader.recycle(table);
        teller.tell(doing, n_rows, 0, None);
        if teller.is_stopped() {
            return Err("stopped".into());
        }
    }
    if n_rows == 0 { Err("the table holds no rows; give one with rows".into()) } else { Ok(()) }
}

/// How the rows of a table differ from those that a model learned from.
pub fn compare(model: &Model, reader: &mut TableReader, teller: &mut Teller) -> Result<DriftReport, String> {
    let mut drift = model.drift();
    batches(model, reader, &mut Vec::new(), ("comparing", teller), |table| drift.add(table).map_err(text))?;
    Ok(drift.report())
}

/// Which columns moved, in one sentence.
fn moved_note(report: &DriftReport) -> Option<String> {
    let moved: Vec<String> =
        report.moved().map(|column| format!("`{}`: {}", column.column, column.notes.join(", "))).collect();
    let more = match moved.len().saturating_sub(NAMED_COLUMNS) {
        0 => String::new(),
        more => format!("; and {more} more, which `drift` shows"),
    };
    let named = &moved[..moved.len().min(NAMED_COLUMNS)];
    (!moved.is_empty()).then(|| format!("columns have moved; {}{more}", named.join("; ")))
}

/// What does not count, in one sentence.
fn aside_note(report: &DriftReport) -> Option<String> {
    let aside = report.columns.iter().filter(|column| column.set_aside);
    let aside: Vec<String> = aside.map(|column| format!("`{}`", column.column)).collect();
    (!aside.is_empty()).then(|| {
        format!(
            "set aside: what is new in most rows or moved as time went on in {} is no part of the scores (`drift=False` takes it in)",
            aside.join(", ")
        )
    })
}

/// Writes the bytes of a model to a file, beside, then renamed.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if path.is_dir() {
        return Err(format!("{} is a folder; give the path of a file in it", path.display()));
    }
    let mut file = AtomicFile::create(path).map_err(text)?;
    file.write_all(bytes).map_err(|error| text(gnsm::Error::io(path, error)))?;
    file.finish().map_err(text)
}

/// What is flagged: a word and its number.
pub fn rule_of((word, number): &(String, f64)) -> PyResult<Rule> {
    let rule = match word.as_str() {
        "fdr" => Rule::Fdr(*number),
        "threshold" => Rule::Threshold(*number),
        _ => Rule::Contamination(*number),
    };
    rule.validate().map_err(|error| problem(&error))?;
    Ok(rule)
}

/// Numbers as bytes, eight each.
pub fn numbers(py: Python<'_>, numbers: impl ExactSizeIterator<Item = f64>) -> PyResult<Bound<'_, PyByteArray>> {
    PyByteArray::new_with(py, numbers.len() * 8, |bytes| {
        for (place, number) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
            *place = number.to_le_bytes();
        }
        Ok(())
    })
}

/// Which rows are flagged; one without a p-value is not.
pub fn flags(rule: Rule, scores: &[Scored]) -> Result<Vec<u8>, String> {
    let mut decision = Decision::new(rule).map_err(text)?;
    decision.add(scores);
    let flags = decision.finish();
    Ok(scores.iter().map(|scored| u8::from(flags.flags(scored))).collect())
}

/// The rows to explain, found in one pass: what leaves the top later was explained in vain, but no row is kept.
struct Oddest {
    top: usize,
    wanted: Option<Vec<u64>>,
    rows: Vec<(u64, Scored, Explanation)>,
    passed: u64,
}

impl Oddest {
    fn take(&mut self, batch: &Batch<'_>, most: usize) {
        let scores = batch.scores();
        let mut chosen: Vec<usize> = if let Some(wanted) = &self.wanted {
            let end = self.passed + scores.len() as u64;
            let here = wanted.iter().filter(|row| (self.passed..end).contains(row));
            here.map(|row| (row - self.passed) as usize).collect()
        } else {
            let mut rows: Vec<usize> = (0..scores.len()).collect();
            // Stable: of equal scores, the earlier row comes first.
            rows.sort_by(|&a, &b| scores[b].score.total_cmp(&scores[a].score));
            rows.truncate(self.top);
            rows
        };
        if self.wanted.is_none() && self.rows.len() == self.top {
            let lowest = self.rows.last().map(|(_, scored, _)| scored.score);
            chosen.retain(|&row| lowest.is_none_or(|lowest| scores[row].score > lowest));
        }
        if !chosen.is_empty() {
            let rows = chosen.iter().zip(batch.explain(&chosen, most));
            self.rows.extend(rows.map(|(&row, found)| (self.passed + row as u64, scores[row], found)));
        }
        if self.wanted.is_none() {
            self.rows.sort_by(|a, b| by_oddness(&a.1, &b.1));
            self.rows.truncate(self.top);
        }
        self.passed += scores.len() as u64;
    }

    fn finish(mut self) -> Result<Vec<(u64, Scored, Explanation)>, String> {
        if let Some(wanted) = &self.wanted {
            if let Some(row) = wanted.iter().find(|row| **row >= self.passed) {
                return Err(format!("the table has {} rows: there is no row {row}, counted from 0", self.passed));
            }
            let place = |row: u64| wanted.iter().position(|wanted| *wanted == row);
            self.rows.sort_by_key(|(row, _, _)| place(*row));
        }
        Ok(self.rows)
    }
}

fn by_oddness(a: &Scored, b: &Scored) -> Ordering {
    b.score.total_cmp(&a.score)
}

/// A reason as a dict.
pub fn reason_dict<'py>(py: Python<'py>, reason: &Reason) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("column", &reason.column)?;
    dict.set_item("saw", &reason.saw)?;
    dict.set_item("expected", &reason.expected)?;
    dict.set_item("probability", reason.probability)?;
    dict.set_item("part", reason.part)?;
    dict.set_item("share", reason.share)?;
    dict.set_item("words", reason.words())?;
    Ok(dict)
}
