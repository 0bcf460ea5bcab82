//! Numbers and texts as a page shows them.

/// 32,950.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 row`, `2 rows`.
pub fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A share in per cent: `12 %`, `1.3 %`, `0.02 %`.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        _ if percent == 0.0 => "0 %".into(),
        _ if percent >= 9.95 => format!("{percent:.0} %"),
        _ if percent >= 0.095 => format!("{percent:.1} %"),
        _ if percent >= 0.01 => format!("{percent:.2} %"),
        _ => "under 0.01 %".into(),
    }
}

/// The name of a file without its folder.
pub fn last_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(path)
}

/// The first `most` characters of a text, and a mark if there are more.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A text for the page: not longer than `most` characters, and with characters that show nothing, or turn the direction
/// of writing, as `U+202E`.
pub fn shown(text: &str, most: usize) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let mut shown = String::new();
    for c in cut(text, most).chars() {
        if hidden(c) {
            shown += &format!("⟨U+{:04X}⟩", c as u32);
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((plural(1, "row"), plural(2000, "row")), ("1 row".into(), "2,000 rows".into()));
        let shares = [0.0, 1e-6, 0.000_25, 0.0012, 0.0567, 0.123, 1.0].map(percent);
        assert_eq!(shares, ["0 %", "under 0.01 %", "0.03 %", "0.1 %", "5.7 %", "12 %", "100 %"]);
    }

    #[test]
    fn files_have_names_without_folders() {
        assert_eq!(["/a/b.csv", "c:\\d\\e.csv", "f.csv", "a/"].map(last_name), ["b.csv", "e.csv", "f.csv", "a/"]);
    }

    #[test]
    fn what_cannot_be_seen_is_shown() {
        assert_eq!(shown("a\u{202e}b\n", 9), "a⟨U+202E⟩b⟨U+000A⟩");
        assert_eq!((shown("äöüß", 3), shown("äöü", 3)), ("äöü…".into(), "äöü".into()));
        let family = "👩\u{200d}👧";
        assert_eq!(shown(family, 9), family, "emoji that are joined stay so");
    }
}
