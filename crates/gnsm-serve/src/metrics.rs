//! Counts for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

/// Upper limits of the bins of a request's seconds.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// All counts.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    requests: BTreeMap<(String, u16), u64>,
    seconds: BTreeMap<String, Times>,
    models: BTreeMap<String, Rows>,
}

#[derive(Debug, Default)]
struct Times {
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

impl Metrics {
    fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A request was answered.
    pub fn request(&self, route: &str, status: u16, seconds: f64) {
        self.change(|counts| {
            match counts.requests.get_mut(&(route.to_owned(), status)) {
                Some(count) => *count += 1,
                None => drop(counts.requests.insert((route.to_owned(), status), 1)),
            }
            let times = counts.seconds.entry(route.to_owned()).or_default();
            for (bin, limit) in times.bins.iter_mut().zip(SECONDS) {
                *bin += u64::from(seconds <= limit);
            }
            times.count += 1;
            times.sum += seconds;
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
    pub fn text(&self) -> String {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from(
            "# HELP gnsm_requests_total Requests by route and status.\n# TYPE gnsm_requests_total counter\n",
        );
        for ((route, status), count) in &counts.requests {
            let _ = writeln!(text, "gnsm_requests_total{{route=\"{}\",status=\"{status}\"}} {count}", quoted(route));
        }
        text += "# HELP gnsm_request_seconds Seconds from a request to its answer.\n# TYPE gnsm_request_seconds histogram\n";
        for (route, times) in &counts.seconds {
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
        text
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
        let text = metrics.text();
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
