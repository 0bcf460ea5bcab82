//! Formats numbers, names and small bar charts for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table};
use gnsm::Reason;

pub use gnsm_report::{count, plural};

/// Titles and names.
pub const STRONG: Style = Style::new().bold();
/// What is there for context.
pub const FAINT: Style = Style::new().dimmed();
/// What is odd.
pub const ODD: Style = AnsiColor::Red.on_default().bold();

/// Characters of a cell that are shown on a terminal.
pub const LONGEST_CELL: usize = 60;

/// Text without anything that could break a line or command a terminal.
pub fn plain(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// A value as it is shown: plain, and in quotes if it has blanks at its ends or is empty.
pub fn value(text: &str) -> String {
    plain(&gnsm::internals::decision::visible(text))
}

/// Characters of a cell that are shown where there is no terminal.
const LONGEST_PIPED: usize = 1000;

/// A cell's text: plain, and on a terminal not longer than `most` characters. Elsewhere only what nobody reads is cut.
pub fn cell(place: Place, text: &str, most: usize) -> String {
    cut(text, if place.width().is_some() { most } else { most.max(LONGEST_PIPED) })
}

fn cut(text: &str, most: usize) -> String {
    let start: String = text.chars().take(most).collect();
    if start.len() == text.len() { value(text) } else { format!("{}…", value(&start)) }
}

/// A reason without the ends of long cells, which are shorter on a terminal.
pub fn reason(place: Place, reason: &Reason, most: usize) -> Reason {
    shortened(reason, if place.width().is_some() { most } else { most.max(LONGEST_PIPED) })
}

fn shortened(reason: &Reason, most: usize) -> Reason {
    let start = |text: &String| match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.clone(),
    };
    let (saw, expected) = (start(&reason.saw), reason.expected.as_ref().map(start));
    let similar = reason.similar.as_ref().map(start);
    Reason { saw, expected, similar, ..reason.clone() }
}

/// Names for a sentence: `a`, `b` and 3 more.
pub fn names(names: &[String]) -> String {
    const MOST: usize = 10;
    let mut text = names.iter().take(MOST).map(|name| format!("`{}`", plain(name))).collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        let _ = write!(text, " and {} more", count((names.len() - MOST) as u64));
    }
    text
}

/// A time: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`.
pub fn seconds(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", count(whole / 3600), whole % 3600 / 60),
    }
}

/// A size: `812 bytes`, `1.3 MB`.
pub fn bytes(n: u64) -> String {
    match n {
        0..1000 => format!("{n} bytes"),
        1000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.1} GB", n as f64 / 1e9),
    }
}

/// A p-value: `0.0123`, `5e-5`.
pub fn p_value(p: f64) -> String {
    gnsm::internals::decision::short(p)
}

/// A bar of `share` of `width` characters; nothing where the share is not positive.
pub fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// A line of bars, the highest for the largest value. If there are more than `width` values, each bar is the lowest of
/// several neighbours.
pub fn sparkline(values: &[f64], width: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let group = values.len().div_ceil(width.max(1)).max(1);
    let lows: Vec<f64> = values.chunks(group).map(|group| group.iter().copied().fold(f64::NAN, f64::min)).collect();
    let low = lows.iter().copied().fold(f64::NAN, f64::min);
    let high = lows.iter().copied().fold(f64::NAN, f64::max);
    lows.iter()
        .map(|value| {
            let height = if high > low { (value - low) / (high - low) } else { 0.0 };
            // What is not a number becomes 0 here.
            BARS[(height * 7.0).round().clamp(0.0, 7.0) as usize]
        })
        .collect()
}

/// Where a table of columns is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On standard output.
    Output,
    /// On standard error.
    Error,
}

impl Place {
    /// How wide the terminal is; `None` if this is none.
    pub fn width(self) -> Option<usize> {
        let mut table = Table::new();
        if self == Self::Error {
            table.use_stderr();
        }
        // Some terminals do not know their width, and say 0.
        table.width().map(|width| if width == 0 { 80 } else { width.into() })
    }
}

/// Wraps lines between words so that they fit the terminal. Without a terminal, the text stays as it is.
pub fn wrapped(place: Place, text: &str) -> String {
    match place.width() {
        Some(width) => wrapped_to(width, text),
        None => text.to_owned(),
    }
}

fn wrapped_to(width: usize, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let indent = line.len() - line.trim_start_matches(' ').len();
        out.push_str(&line[..indent]);
        let mut used = indent;
        for (position, word) in line[indent..].split(' ').enumerate() {
            let length = shown_length(word);
            if position > 0 && used + 1 + length > width {
                out.push('\n');
                out.push_str(&line[..indent]);
                used = indent;
            } else if position > 0 {
                out.push(' ');
                used += 1;
            }
            out.push_str(word);
            used += length;
        }
        out.push_str(end);
    }
    out
}

/// Characters that a terminal shows: all but those that set a style.
fn shown_length(text: &str) -> usize {
    let mut length = 0;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            rest.by_ref().take_while(|c| !c.is_ascii_alphabetic()).for_each(drop);
        } else {
            length += 1;
        }
    }
    length
}

/// Rows under each other without lines between, as wide as the terminal at the most, indented by two spaces.
pub fn columns(place: Place, header: Vec<Cell>, rows: Vec<Vec<Cell>>) -> String {
    const INDENT: u16 = 2;
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if place == Place::Error {
        table.use_stderr();
    }
    table.enforce_styling().style_text_only();
    if let Some(width) = place.width() {
        table.set_width((width as u16).saturating_sub(INDENT).max(40));
    }
    if !header.is_empty() {
        table.set_header(header.into_iter().map(|name| name.add_attribute(Attribute::Dim)));
    }
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let indent = " ".repeat(INDENT.into());
    table.lines().map(|line| format!("{indent}{}", line.trim_end()).trim_end().to_owned() + "\n").collect()
}

/// Cells of these texts.
pub fn left<const N: usize>(texts: [&str; N]) -> Vec<Cell> {
    texts.map(Cell::new).to_vec()
}

/// A cell whose text stands at the right.
pub fn right(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((plural(1, "row"), plural(2000, "row")), ("1 row".into(), "2,000 rows".into()));
        assert_eq!([0.44, 12.4, 200.0, 7500.0].map(seconds), ["0.4 s", "12 s", "3 min 20 s", "2 h 5 min"]);
        assert_eq!([812, 1300, 2_500_000].map(bytes), ["812 bytes", "1.3 kB", "2.5 MB"]);
    }

    #[test]
    fn text_cannot_command_a_terminal() {
        assert_eq!(plain("a\u{1b}[31m\nb"), "a\\u{1b}[31m\\nb");
        assert_eq!(cut("äöüß", 3), "äöü…");
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!([value("a "), value(""), value("a b")], ["'a '", "''", "a b"]);
    }

    #[test]
    fn long_cells_are_cut_in_reasons() {
        let reason = Reason {
            column: "note".into(),
            other: None,
            saw: "ä".repeat(200_000),
            note: Some("never seen".into()),
            similar: None,
            expected: Some("short".into()),
            probability: Some(0.5),
            seen_probability: None,
            side: None,
            is_new: false,
            part: 1.0,
            share: 1.0,
        };
        assert_eq!(shortened(&reason, 3).words(), "= äää…, never seen, expected sho… (50 %)");
        let short = Reason { saw: "äöü".into(), ..reason };
        assert_eq!(shortened(&short, 5), short);
    }

    #[test]
    fn lines_end_between_words() {
        let text = "  where a = one, b = two\nshort\n";
        assert_eq!(wrapped_to(12, text), "  where a =\n  one, b =\n  two\nshort\n");
        assert_eq!(wrapped_to(80, text), text);
        assert_eq!(wrapped_to(3, "abcdef gh"), "abcdef\ngh");
        // A style takes no room.
        let styled = format!("{STRONG}ab{STRONG:#} cd");
        assert_eq!(wrapped_to(5, &styled), styled);
    }

    #[test]
    fn pictures() {
        assert_eq!((bar(0.5, 4), bar(0.03, 4), bar(-1.0, 4)), ("██".into(), "▏".into(), String::new()));
        assert_eq!(sparkline(&[8.0, 4.0, 1.0, f64::NAN], 10), "█▄▁▁");
        assert_eq!(sparkline(&[1.0; 4], 2), "▁▁");
        assert_eq!(sparkline(&[], 2), "");
    }
}
