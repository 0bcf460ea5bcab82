//! Counts for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use gnsm::ColumnDrift;

use crate::models::Served;
use crate::recent::Summary;

/// Upper limits of the bins of a request's seconds.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// All counts.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    routes: BTreeMap<String, Route>,
    models: BTreeMap<String, Rows>,
}

/// The requests of a route.
#[derive(Debug, Default)]
struct Route {
    by_status: BTreeMap<u16, u64>,
    bins: [u64; SECONDS.len()],
    count: u64,
    sum: f64,
}

#[derive(Debug, Default)]
struct Rows {
    scored: u64,
    flagged: u64,
    bad: u64,
    loads: u64,
}

/// One of the counts.
type Pick = fn(&Rows) -> u64;
/// A figure of the last rows, and one of a column in them.
type OfRecent = fn(&Summary) -> f64;
type OfColumn = fn(&ColumnDrift) -> Option<f64>;

const RECENT: [(&str, &str, OfRecent); 2] = [
    ("gnsm_recent_rows", "Rows that the figures of recent rows are about, 20,000 at the most.", |recent| {
        recent.drift.rows as f64
    }),
    ("gnsm_recent_flagged_share", "Share of recent rows that were flagged.", |recent| {
        recent.flagged as f64 / recent.drift.rows.max(1) as f64
    }),
];
const DRIFT: [(&str, &str, OfColumn); 5] = [
    ("gnsm_drift_moved", "1 if a column of recent rows has moved from what was learned.", |column| {
        Some(f64::from(u8::from(column.moved)))
    }),
    ("gnsm_drift_index", "Population stability index of a column of recent rows.", |column| column.shift),
    ("gnsm_drift_missing_share", "Share of recent rows that miss a column.", |column| Some(column.missing.now)),
    ("gnsm_drift_new_share", "Share of recent values that were never seen.", |column| column.new.map(|new| new.now)),
    ("gnsm_drift_out_of_range_share", "Share of recent numbers beyond all learned ones.", |column| column.out_of_range),
];

impl Metrics {
    fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A request was answered.
    pub fn request(&self, route: &str, status: u16, seconds: f64) {
        self.change(|counts| {
            let route = counts.routes.entry(route.to_owned()).or_default();
            *route.by_status.entry(status).or_default() += 1;
            for (bin, limit) in route.bins.iter_mut().zip(SECONDS) {
                *bin += u64::from(seconds <= limit);
            }
            route.count += 1;
            route.sum += seconds;
        });
    }

    /// Rows were judged.
    pub fn rows(&self, model: &str, scored: u64, flagged: u64, bad: u64) {
        self.change(|counts| {
            let rows = counts.models.entry(model.to_owned()).or_default();
            rows.scored += scored;
            rows.flagged += flagged;
            rows.bad += bad;
        });
    }

    /// A model was loaded.
    pub fn load(&self, model: &str) {
        self.change(|counts| counts.models.entry(model.to_owned()).or_default().loads += 1);
    }

    /// The text that Prometheus reads.
    pub fn text<'a>(&self, models: impl Iterator<Item = (&'a str, Arc<Served>)>) -> String {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from(
            "# HELP gnsm_requests_total Requests by route and status.\n# TYPE gnsm_requests_total counter\n",
        );
        for (name, route) in &counts.routes {
            for (status, count) in &route.by_status {
                let _ = writeln!(text, "gnsm_requests_total{{route=\"{}\",status=\"{status}\"}} {count}", quoted(name));
            }
        }
        text += "# HELP gnsm_request_seconds Seconds from a request to its answer.\n# TYPE gnsm_request_seconds histogram\n";
        for (route, times) in &counts.routes {
            let route = quoted(route);
            for (count, limit) in times.bins.iter().zip(SECONDS) {
                let _ = writeln!(text, "gnsm_request_seconds_bucket{{route=\"{route}\",le=\"{limit}\"}} {count}");
            }
            let _ = writeln!(text, "gnsm_request_seconds_bucket{{route=\"{route}\",le=\"+Inf\"}} {}", times.count);
            let _ = writeln!(text, "gnsm_request_seconds_sum{{route=\"{route}\"}} {}", times.sum);
            let _ = writeln!(text, "gnsm_request_seconds_count{{route=\"{route}\"}} {}", times.count);
        }
        let by_model: [(&str, &str, Pick); 4] = [
            ("gnsm_rows_total", "Rows scored.", |rows| rows.scored),
            ("gnsm_flagged_rows_total", "Rows flagged.", |rows| rows.flagged),
            ("gnsm_bad_rows_total", "Rows that could not be read.", |rows| rows.bad),
            ("gnsm_model_loads_total", "Times that the model was loaded.", |rows| rows.loads),
        ];
        for (name, help, pick) in by_model {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
            for (model, rows) in &counts.models {
                let _ = writeln!(text, "{name}{{model=\"{}\"}} {}", quoted(model), pick(rows));
            }
        }
        drop(counts);
        let recent = models.filter_map(|(name, served)| Some((name, served.recent.summary(&served.model).ok()?)));
        write_recent(&mut text, &recent.collect::<Vec<_>>());
        text
    }
}

fn write_recent(text: &mut String, recent: &[(&str, Summary)]) {
    for (name, help, figure) in RECENT {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
        for (model, summary) in recent {
            let _ = writeln!(text, "{name}{{model=\"{}\"}} {}", quoted(model), figure(summary));
        }
    }
    for (name, help, figure) in DRIFT {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
        // Without rows there is nothing to say about their columns.
        for (model, summary) in recent.iter().filter(|(_, summary)| summary.drift.rows > 0) {
            for column in &summary.drift.columns {
                let Some(value) = figure(column) else { continue };
                let (model, column) = (quoted(model), quoted(&column.column));
                let _ = writeln!(text, "{name}{{model=\"{model}\",column=\"{column}\"}} {value}");
            }
        }
    }
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_written_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        metrics.request("/a\"b", 200, 0.002);
        metrics.request("/a\"b", 200, 20.0);
        metrics.rows("m", 10, 2, 1);
        let text = metrics.text(std::iter::empty());
        for line in [
            "gnsm_requests_total{route=\"/a\\\"b\",status=\"200\"} 2",
            "gnsm_request_seconds_bucket{route=\"/a\\\"b\",le=\"0.001\"} 0",
            "gnsm_request_seconds_bucket{route=\"/a\\\"b\",le=\"0.0025\"} 1",
            "gnsm_request_seconds_bucket{route=\"/a\\\"b\",le=\"+Inf\"} 2",
            "gnsm_request_seconds_sum{route=\"/a\\\"b\"} 20.002",
            "gnsm_flagged_rows_total{model=\"m\"} 2",
            "gnsm_bad_rows_total{model=\"m\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
