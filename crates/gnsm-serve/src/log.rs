//! Writes what happens to standard error, one JSON object a line.

use std::io::Write;
use std::time::SystemTime;

use serde_json::{Map, Value};

/// Writes a line. An error while writing is nobody's to see.
pub fn log(level: &str, event: &str, fields: Value) {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut line = Map::new();
    line.insert("time".into(), (since.as_millis() as f64 / 1000.0).into());
    line.insert("level".into(), level.into());
    line.insert("event".into(), event.into());
    if let Value::Object(fields) = fields {
        line.extend(fields);
    }
    let _ = writeln!(std::io::stderr().lock(), "{}", Value::Object(line));
}
