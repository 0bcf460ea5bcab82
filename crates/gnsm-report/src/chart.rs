//! Charts: what they hold, and the paths of their shapes, which are made of numbers only.

use std::fmt::Write;

/// Width of a histogram in units of its own.
pub const WIDTH: f64 = 320.0;
/// Its height.
pub const HEIGHT: f64 = 72.0;

/// How the cells of a column fall, here and in training.
#[derive(Debug, Clone)]
pub enum Chart {
    /// Bars of categories below each other.
    Bars(Bars),
    /// Bars of numbers beside each other.
    Histogram(Histogram),
}

/// Bars of categories.
#[derive(Debug, Clone)]
pub struct Bars {
    /// What of the column it is; empty for its value.
    pub title: String,
    /// The bars.
    pub categories: Vec<Bar>,
    /// Whether training is known.
    pub has_training: bool,
}

/// A category.
#[derive(Debug, Clone)]
pub struct Bar {
    /// What it is.
    pub label: String,
    /// Whether the label is ours, not a value of the file.
    pub is_note: bool,
    /// The share of the rows here, and as text.
    pub here: (f64, String),
    /// The share of the training rows, and as text.
    pub training: (f64, String),
}

impl Bar {
    /// The length of the bar, of 100.
    pub fn length(&self) -> String {
        format!("{:.2}", 100.0 * self.here.0)
    }

    /// Where the mark of training stands, of 100.
    pub fn mark(&self) -> String {
        format!("{:.2}", (100.0 * self.training.0).min(99.0))
    }
}

/// Bars of numbers.
#[derive(Debug, Clone)]
pub struct Histogram {
    /// What of the column it is; empty for its value.
    pub title: String,
    /// The path of the bars.
    pub here: String,
    /// The outline of training.
    pub training: Option<String>,
    /// The labels below the left end, the middle and the right end.
    pub labels: [String; 3],
    /// The chart in words.
    pub words: String,
}

/// The path of bars that fill the width, the highest `top` high.
pub fn bars(values: &[f64], top: f64, height: f64) -> String {
    let mut path = String::new();
    let step = WIDTH / values.len().max(1) as f64;
    for (at, value) in values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
        // A bar that is there can be seen.
        let tall = (height * value / top).clamp(1.0, height);
        let wide = (step - 1.0).max(0.5 * step);
        let _ = write!(path, "M{:.1} {height:.1}v-{tall:.1}h{wide:.1}v{tall:.1}z", at as f64 * step);
    }
    path
}

/// The outline over the same places.
pub fn outline(values: &[f64], top: f64, height: f64) -> String {
    let step = WIDTH / values.len().max(1) as f64;
    let mut path = format!("M0 {height:.1}");
    for value in values {
        let _ = write!(path, "V{:.1}h{step:.2}", height - (height * value / top).clamp(0.0, height));
    }
    let _ = write!(path, "V{height:.1}");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_as_high_as_their_values() {
        assert_eq!(bars(&[0.0, 2.0], 2.0, 10.0), "M160.0 10.0v-10.0h159.0v10.0z");
        assert_eq!(bars(&[1e-9, 0.0], 2.0, 10.0), "M0.0 10.0v-1.0h159.0v1.0z");
        assert_eq!(outline(&[1.0, 0.0], 2.0, 10.0), "M0 10.0V5.0h160.00V10.0h160.00V10.0");
    }
}
