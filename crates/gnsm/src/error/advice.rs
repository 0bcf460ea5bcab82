//! What to do about a problem, in words that every program can make its own.
//!
//! The library does not know whether it is asked from a terminal, from Python or over HTTP, so it names settings and not
//! flags: `ignore` of a column is `--ignore id` on the command line and `ignore=["id"]` in Python.

use std::fmt;

/// What to do, with the settings that would help.
///
/// ```
/// use gnsm::Advice;
/// let advice = Advice::from("leave it out with ").setting("ignore", Some("id")).and(", or use another method");
/// assert_eq!(advice.to_string(), "leave it out with the setting `ignore` (`id`), or use another method");
/// let flag = |name: &str, value: Option<&str>| format!("--{name} {}", value.unwrap_or_default());
/// assert_eq!(advice.words(&flag), "leave it out with --ignore id, or use another method");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Advice(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Words(String),
    Setting(&'static str, Option<String>),
}

impl Advice {
    /// Goes on with a setting, and with the value it should have.
    pub fn setting(mut self, name: &'static str, value: Option<&str>) -> Self {
        self.0.push(Piece::Setting(name, value.map(str::to_owned)));
        self
    }

    /// Goes on in words.
    pub fn and(mut self, words: impl Into<String>) -> Self {
        self.0.push(Piece::Words(words.into()));
        self
    }

    /// All of it, with settings as `setting` names them.
    pub fn words(&self, setting: &dyn Fn(&str, Option<&str>) -> String) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Words(words) => words.clone(),
            Piece::Setting(name, value) => setting(name, value.as_deref()),
        };
        self.0.iter().map(piece).collect()
    }
}

impl From<&str> for Advice {
    fn from(words: &str) -> Self {
        Self::default().and(words)
    }
}

impl From<String> for Advice {
    fn from(words: String) -> Self {
        Self::default().and(words)
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(&|name, value| match value {
            None => format!("the setting `{name}`"),
            Some(value) => format!("the setting `{name}` (`{value}`)"),
        }))
    }
}
