//! Notes and progress on standard error while a command works.

use std::fmt::Write;
use std::time::{Duration, Instant};

use comfy_table::Cell;
use gnsm::{ColumnSchema, FitReport, Kind, Progress, Relation, Schema, Watcher};
use indicatif::{ProgressBar, ProgressStyle};

use crate::console::Console;
use crate::display::{self, Place, count, left, plural};
use crate::interrupt;

/// How often a line is written where nothing may move.
const EVERY: Duration = Duration::from_secs(10);
/// The most columns that are listed one by one; beyond that, only those that are not used.
const LISTED_COLUMNS: usize = 40;

/// Watches a fit: says what was decided about the columns, then how training goes on.
pub struct FitWatcher {
    console: Console,
    bar: Option<ProgressBar>,
    last_line: Instant,
    /// Whether to say how long training takes as soon as that is known.
    announces: bool,
}

/// Steps after which the pace of training is known.
const PACE_STEPS: u64 = 3;

impl FitWatcher {
    /// A watcher that writes to the console.
    pub fn new(console: Console) -> Self {
        Self { console, bar: None, last_line: Instant::now(), announces: false }
    }

    /// Training begins, and takes minutes: says how many as soon as that is known.
    pub fn announce(&mut self) {
        self.announces = true;
        self.start_bar();
    }

    fn start_bar(&mut self) {
        if self.console.is_lively() {
            let style = ProgressStyle::with_template("  {prefix} {wide_bar} {percent:>3} %  {msg}");
            let bar = ProgressBar::new(1).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            self.bar = Some(bar.with_prefix("training"));
        }
        self.last_line = Instant::now();
    }
}

impl Watcher for FitWatcher {
    fn begin(&mut self, schema: &Schema, report: &FitReport) {
        self.console.note(decisions(schema, report.label.as_deref()).trim_end());
        if let Some(all) = report.chosen_from {
            self.console.note(chosen_text(report.rows.iter().sum(), all));
        }
        self.console.note(split(report));
        if report.label.is_some() && report.labelled_anomalies == 0 {
            self.console.warn("no row has the label of an anomaly, so all are learned from; see --anomaly");
        }
        self.start_bar();
    }

    fn progress(&mut self, progress: &Progress) {
        if self.announces && progress.seconds > 0.0 && progress.step >= PACE_STEPS {
            self.announces = false;
            let left = display::seconds(progress.seconds_left);
            self.console.note(format_args!("{} of training, at most {left}", plural(progress.steps, "step")));
        }
        let text = || {
            let best = progress.best.map(|best| format!(", best validation {best:.4}")).unwrap_or_default();
            let left = display::seconds(progress.seconds_left);
            format!("loss {:.4}{best}, at most {left} left", progress.loss)
        };
        if let Some(bar) = &self.bar {
            bar.set_length(progress.steps);
            bar.set_position(progress.step);
            if self.last_line.elapsed() > Duration::from_millis(100) {
                bar.set_message(text());
                self.last_line = Instant::now();
            }
        } else if !self.console.is_quiet() && self.last_line.elapsed() > EVERY {
            self.console.note(format_args!("step {} of {}: {}", count(progress.step), count(progress.steps), text()));
            self.last_line = Instant::now();
        }
    }

    fn measured(&mut self, done: usize, total: usize) {
        if let Some(bar) = &self.bar {
            bar.set_prefix("measuring");
            bar.set_message("what is usual");
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        } else if !self.console.is_quiet() && self.last_line.elapsed() > EVERY {
            let (done, total) = (count(done as u64), count(total as u64));
            self.console.note(format_args!("measured what is usual in {done} of {total}"));
            self.last_line = Instant::now();
        }
    }

    fn stop(&mut self) -> bool {
        interrupt::requested()
    }
}

impl Drop for FitWatcher {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A counter of scored rows where something may move.
pub struct RowCounter(Option<ProgressBar>);

impl RowCounter {
    /// Counts rows on standard error, unless the scores themselves appear on the same screen.
    pub fn new(console: Console, scores_on_screen: bool) -> Self {
        Self((console.is_lively() && !scores_on_screen).then(|| {
            let style = ProgressStyle::with_template("  {spinner} {human_pos} rows, {per_sec:0} a second");
            ProgressBar::no_length().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
        }))
    }

    /// More rows are done.
    pub fn add(&self, rows: u64) {
        if let Some(bar) = &self.0 {
            bar.inc(rows);
        }
    }
}

impl Drop for RowCounter {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// The name of a column's kind.
pub fn kind_name(kind: &Kind) -> &'static str {
    kind.name()
}

/// Whether a column is no part of the score, except for its checks.
fn is_left_out(kind: &Kind) -> bool {
    matches!(kind, Kind::Ignored | Kind::Identifier { .. } | Kind::Text { .. })
}

/// What was decided about each column, and why.
pub fn decisions(schema: &Schema, label: Option<&str>) -> String {
    let line = |column: &ColumnSchema| {
        let kind = Cell::new(kind_name(&column.kind));
        vec![Cell::new(display::cell(Place::Error, &column.name, 40)), kind, Cell::new(display::plain(&column.reason))]
    };
    let few = schema.columns.len() <= LISTED_COLUMNS;
    let listed = schema.columns.iter().filter(|column| few || is_left_out(&column.kind)).take(LISTED_COLUMNS);
    let mut rows: Vec<Vec<Cell>> = listed.map(line).collect();
    if let Some(label) = label {
        let name = display::cell(Place::Error, label, 40);
        rows.push(vec![Cell::new(name), Cell::new("label"), Cell::new("not learned from")]);
    }
    let mut text = display::columns(Place::Error, left(["column", "kind", "why"]), rows);
    if !few {
        let counted = ["categorical", "numeric", "date", "time", "text"].map(|name| {
            let n = schema.used().filter(|column| kind_name(&column.kind) == name).count();
            (n > 0).then(|| format!("{} {name}", count(n as u64)))
        });
        let _ = writeln!(text, "  … of the others {}", counted.into_iter().flatten().collect::<Vec<_>>().join(", "));
    }
    text + &relations(schema)
}

/// The numbers that others give, one to a line.
pub fn relations(schema: &Schema) -> String {
    let line = |relation: &Relation| {
        let name = &schema.columns[relation.of].name;
        format!("  checked: {}\n", display::plain(&format!("{name} = {}", relation.words(&schema.columns))))
    };
    schema.relations.iter().map(line).collect()
}

/// The words about the rows that were learned from, if those are not all.
pub fn chosen_text(chosen: u64, all: u64) -> String {
    format!("learned from {} of {} rows, chosen by a hash of their content", count(chosen), count(all))
}

/// How the rows were dealt out.
fn split(report: &FitReport) -> String {
    let [training, validation, calibration] = report.rows.map(count);
    let left_out = match report.labelled_anomalies {
        0 => String::new(),
        n => format!("; {} left out", plural(n, "labelled anomaly").replace("anomalys", "anomalies")),
    };
    if report.rows[1..] == [0, 0] {
        return format!("{training} rows to learn from; each is judged as if it had not been there{left_out}");
    }
    format!(
        "{training} rows to learn from, {validation} to know when to stop, {calibration} to calibrate p-values{left_out}"
    )
}
