//! How the dates of a column are written, as a pattern of the kind that `strftime` knows: `%d.%m.%Y %H:%M`.
//!
//! | code | stands for | code | stands for |
//! |---|---|---|---|
//! | `%Y`, `%y` | year of four, of two digits | `%H`, `%k` | hour, with a zero before it or not |
//! | `%m`, `%n` | month, with a zero before it or not | `%I`, `%l` | the same, of twelve |
//! | `%B`, `%b` | its name, the first three letters | `%M`, `%S` | minute, second |
//! | `%d`, `%e` | day, with a zero before it or not | `%p`, `%P` | `AM`, `am` |
//! | `%h` | hour and minute as one number: 517 | | |
//! | `%A`, `%a` | weekday, the first three letters | `%s`, `%Q` | seconds, milliseconds since 1970 |
//!
//! A pattern is made from a cell, and it must write that cell's date as the cell has it. The column's pattern is the
//! one that does so for most cells.

use crate::columns::{DateFormat, Moment, WEEKDAYS, month_name};

/// Cells that patterns are made from.
const MOST_PATTERNS: usize = 20;
/// Seconds of a day.
pub(super) const DAY: f64 = 86_400.0;

/// The pattern that writes most of these cells as they are.
pub(super) fn find(cells: &[&str], format: DateFormat) -> String {
    let is_usual = |pattern: &String| writes(pattern, cells, format) > 0;
    let mut patterns: Vec<String> = cells.iter().take(MOST_PATTERNS).flat_map(|cell| of_cell(cell, format)).collect();
    patterns.sort_unstable();
    patterns.dedup();
    patterns.retain(is_usual);
    let best = patterns.into_iter().rev().max_by_key(|pattern| writes(pattern, cells, format));
    best.unwrap_or_else(|| fallback(cells, format).to_owned())
}

/// How many cells a pattern writes as they are.
fn writes(pattern: &str, cells: &[&str], format: DateFormat) -> usize {
    let is_same = |cell: &&&str| format.parse(cell).is_some_and(|moment| write(pattern, &moment) == cell.trim());
    cells.iter().filter(is_same).count()
}

fn fallback(cells: &[&str], format: DateFormat) -> &'static str {
    let has_time = cells.iter().any(|cell| format.parse(cell).is_some_and(|moment| moment.has_time));
    match format {
        DateFormat::EpochSeconds => "%s",
        DateFormat::EpochMilliseconds => "%Q",
        DateFormat::TimeOfDay => "%H:%M:%S",
        DateFormat::HoursMinutes if cells.iter().any(|cell| cell.ends_with(".0")) => "%h.0",
        DateFormat::HoursMinutes if cells.iter().any(|cell| cell.len() == 4 && cell.starts_with('0')) => "%H%M",
        DateFormat::HoursMinutes => "%h",
        _ if has_time => "%Y-%m-%d %H:%M:%S",
        DateFormat::YearFirst => "%Y-%m-%d",
        DateFormat::DayFirst => "%d.%m.%Y",
        DateFormat::MonthFirst => "%m/%d/%Y",
    }
}

/// Whether dates of a pattern have a time of day, and the smallest difference in seconds that it can show.
pub(super) fn step(pattern: &str) -> f64 {
    match pattern {
        _ if ["%S", "%s", "%Q"].iter().any(|code| pattern.contains(code)) => 1.0,
        _ if pattern.contains("%M") || pattern.contains("%h") => 60.0,
        _ => DAY,
    }
}

/// A moment in a pattern.
pub(super) fn write(pattern: &str, moment: &Moment) -> String {
    let (year, month, day) = moment.civil();
    let of_day = moment.local.rem_euclid(DAY);
    let (hour, minute, second) = (moment.hour(), (of_day / 60.0) as u32 % 60, of_day as u32 % 60);
    let twelve = (hour + 11) % 12 + 1;
    let weekday = WEEKDAYS[moment.weekday() as usize % 7];
    let mut written = String::new();
    let mut codes = pattern.chars();
    while let Some(c) = codes.next() {
        if c != '%' {
            written.push(c);
            continue;
        }
        written += &match codes.next().unwrap_or('%') {
            'Y' => format!("{year:04}"),
            'y' => format!("{:02}", year.rem_euclid(100)),
            'm' => format!("{month:02}"),
            'n' => month.to_string(),
            'B' => month_name(month),
            'b' => month_name(month)[..3].to_owned(),
            'd' => format!("{day:02}"),
            'e' => day.to_string(),
            'A' => weekday.to_owned(),
            'a' => weekday[..3].to_owned(),
            'H' => format!("{hour:02}"),
            'k' => hour.to_string(),
            'I' => format!("{twelve:02}"),
            'l' => twelve.to_string(),
            'h' => (100 * hour + minute).to_string(),
            'M' => format!("{minute:02}"),
            'S' => format!("{second:02}"),
            'p' => String::from(if hour < 12 { "AM" } else { "PM" }),
            'P' => String::from(if hour < 12 { "am" } else { "pm" }),
            's' => format!("{:.0}", moment.local),
            'Q' => format!("{:.0}", 1000.0 * moment.local),
            other => other.to_string(),
        };
    }
    written
}

/// Patterns that a cell may be written in: with zeros before single digits, and without.
fn of_cell(cell: &str, format: DateFormat) -> Vec<String> {
    let fields: &[char] = match format {
        DateFormat::YearFirst => &['Y', 'm', 'd'],
        DateFormat::DayFirst => &['d', 'm', 'Y'],
        DateFormat::MonthFirst => &['m', 'd', 'Y'],
        DateFormat::TimeOfDay => &[],
        DateFormat::HoursMinutes | DateFormat::EpochSeconds | DateFormat::EpochMilliseconds => return Vec::new(),
    };
    [true, false].into_iter().filter_map(|padded| pattern(cell.trim(), fields, padded)).collect()
}

fn pattern(cell: &str, fields: &[char], padded: bool) -> Option<String> {
    let lower = cell.to_ascii_lowercase();
    let has_half = lower.ends_with("am") || lower.ends_with("pm");
    let hour = match (has_half, padded) {
        (false, true) => 'H',
        (false, false) => 'k',
        (true, true) => 'I',
        (true, false) => 'l',
    };
    let loose = |code: char| match code {
        'm' if !padded => 'n',
        'd' if !padded => 'e',
        code => code,
    };
    let mut left: Vec<char> = fields.iter().map(|code| loose(*code)).chain([hour, 'M', 'S']).rev().collect();
    let mut pattern = String::new();
    let is_alike =
        |a: &char, b: &char| a.is_ascii_digit() == b.is_ascii_digit() && a.is_alphabetic() == b.is_alphabetic();
    let characters: Vec<char> = cell.chars().collect();
    for run in characters.chunk_by(is_alike) {
        let text: String = run.iter().collect();
        if run[0].is_ascii_digit() {
            if text.len() == 8 && fields.first() == Some(&'Y') {
                left.truncate(3);
                pattern += "%Y%m%d";
                continue;
            }
            let code = left.pop()?;
            let code = if code == 'Y' && text.len() == 2 { 'y' } else { code };
            pattern.extend(['%', code]);
        } else if run[0].is_alphabetic() {
            pattern += &word(&text, &mut left);
        } else {
            pattern += &text.replace('%', "%%");
        }
    }
    // A date must have all its fields; a time may lack its seconds, or be missing.
    (matches!(left.as_slice(), [] | ['S'] | ['S', 'M', _])).then_some(pattern)
}

/// The code of a word, or the word itself.
fn word(text: &str, left: &mut Vec<char>) -> String {
    let is_month = |month: &u32| month_name(*month).to_ascii_lowercase().starts_with(&text.to_ascii_lowercase());
    let is_weekday = |day: &&str| day.to_ascii_lowercase().starts_with(&text.to_ascii_lowercase());
    let is_short = text.len() == 3;
    match text {
        "AM" | "PM" => "%p".into(),
        "am" | "pm" => "%P".into(),
        _ if text.len() >= 3 && (1..=12).any(|month| is_month(&month)) => {
            if matches!(left.last(), Some('m' | 'n')) {
                left.pop();
            }
            String::from(if is_short { "%b" } else { "%B" })
        }
        _ if text.len() >= 3 && WEEKDAYS.iter().any(is_weekday) => String::from(if is_short { "%a" } else { "%A" }),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_write_dates_as_the_column_has_them() {
        use DateFormat::{DayFirst, EpochSeconds, HoursMinutes, MonthFirst, TimeOfDay, YearFirst};
        for (format, cells, pattern) in [
            (YearFirst, &["2024-03-05", "2023-12-24"][..], "%Y-%m-%d"),
            (YearFirst, &["20240305"], "%Y%m%d"),
            (YearFirst, &["2024-03-05T07:10:00Z", "2024-03-05T17:10:59Z"], "%Y-%m-%dT%H:%M:%SZ"),
            (YearFirst, &["2024-03-05 07:10", "x"], "%Y-%m-%d %H:%M"),
            (DayFirst, &["5.3.2024", "24.12.2024"], "%e.%n.%Y"),
            (DayFirst, &["05/03/24"], "%d/%m/%y"),
            (DayFirst, &["5 March 2024", "17 May 2024"], "%e %B %Y"),
            (MonthFirst, &["Mar 5, 2024", "Dec 24, 2024"], "%b %e, %Y"),
            (MonthFirst, &["3/5/2024 7:10 AM", "12/24/2024 12:05 PM"], "%n/%e/%Y %l:%M %p"),
            (TimeOfDay, &["7:10 pm", "12:00 am"], "%l:%M %P"),
            (TimeOfDay, &["07:10:30"], "%H:%M:%S"),
            (HoursMinutes, &["517", "2359", "5"], "%h"),
            (HoursMinutes, &["517.0"], "%h.0"),
            (HoursMinutes, &["0517", "2359"], "%H%M"),
            (EpochSeconds, &["1709622600"], "%s"),
        ] {
            assert_eq!(find(cells, format), pattern, "{cells:?}");
            let moment = format.parse(cells[0]).expect("a date");
            assert_eq!(write(pattern, &moment), cells[0]);
        }
        // What no pattern writes has one that can be read again.
        assert_eq!(find(&["Tue, 5th of March"], DayFirst), "%d.%m.%Y");
        assert_eq!([step("%Y-%m-%d"), step("%H:%M"), step("%s")], [DAY, 60.0, 1.0]);
    }
}
