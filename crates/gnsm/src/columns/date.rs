//! Dates and times as people write them.
//!
//! | example | read as |
//! |---|---|
//! | `2024-03-05`, `2024/3/5`, `20240305`, `20240305071000`, `2024-03-05T07:10:00+01:00`, `2024-03-05 07:10` | year first |
//! | `5.3.2024`, `05/03/2024`, `5-3-24`, `5 March 2024`, `5-Mar-24`, `05MAR2024`, `05/Mar/2024:07:10:00 +0100` | day first |
//! | `3/5/2024`, `March 5, 2024` | month first |
//! | `7:10`, `07:10:30`, `7:10 a.m.`, `7:10PM` | a time of day |
//! | `1709622600`, `1709622600000` | seconds or milliseconds since 1970, where nothing else fits |
//!
//! Whether the day or the month comes first is decided once for a column, by what fits more of its cells. If both fit
//! all cells, but the rows are in the order of time by one of them only, that one is taken. Otherwise a slash means
//! month first, and a point or a dash means day first. A time may follow a date; two-digit years from 70 on belong to
//! the last century.

use serde::{Deserialize, Serialize};

use crate::table::{civil_of_days, days_of};

/// Seconds of a day.
pub const DAY: f64 = 86_400.0;

/// What comes first in a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DateFormat {
    /// `2024-03-05`
    YearFirst,
    /// `5.3.2024`
    DayFirst,
    /// `3/5/2024`
    MonthFirst,
    /// `7:10 a.m.`, no date.
    TimeOfDay,
    /// Seconds since 1970-01-01.
    EpochSeconds,
    /// Milliseconds since 1970-01-01.
    EpochMilliseconds,
}

/// A point in time, as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// Seconds since 1970-01-01 00:00 on the clock that the text was written by; since midnight for a time of day.
    pub local: f64,
    /// What that clock is ahead of UTC, in seconds, if the text says it.
    pub ahead: f64,
    /// Whether there is a time of day.
    pub has_time: bool,
}

/// Whole numbers are taken for seconds since 1970 if they lie between these: the years 2000 to 2040.
pub const EPOCH: std::ops::Range<f64> = 946_684_800.0..2_208_988_800.0;

impl DateFormat {
    /// The format by which most of these cells are dates, how many of them are, and whether another format fits as
    /// many.
    pub fn find<'a>(cells: impl Iterator<Item = (&'a str, usize)> + Clone) -> Option<(Self, usize, bool)> {
        let count = |format: Self| -> usize {
            cells.clone().filter(|(text, _)| format.parse(text).is_some()).map(|(_, n)| n).sum()
        };
        let slash = cells.clone().any(|(text, _)| text.contains('/'));
        let (first, second) =
            if slash { (Self::MonthFirst, Self::DayFirst) } else { (Self::DayFirst, Self::MonthFirst) };
        let mut best: Option<(Self, usize)> = None;
        for format in [Self::YearFirst, first, second, Self::TimeOfDay] {
            let n = count(format);
            if n > best.map_or(0, |(_, most)| most) {
                best = Some((format, n));
            }
        }
        best.map(|(format, n)| (format, n, format == first && count(second) == n && by_numbers(cells.clone())))
    }

    /// The moment that a text stands for.
    pub fn parse(self, text: &str) -> Option<Moment> {
        let text = text.trim();
        // Most texts are ruled out quickly, since this is asked of every cell: a date has a digit and is short.
        if text.len() < 3 || text.len() > 40 || !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        match self {
            Self::TimeOfDay => {
                let (local, ahead) = parse_time(text)?;
                Some(Moment { local, ahead, has_time: true })
            }
            Self::EpochSeconds | Self::EpochMilliseconds => self.of_number(text.parse().ok()?),
            Self::YearFirst | Self::DayFirst | Self::MonthFirst => self.parse_date(text),
        }
    }

    /// The moment that a count of seconds or milliseconds stands for, or digits such as 20240305.
    pub fn of_number(self, number: f64) -> Option<Moment> {
        if self == Self::YearFirst {
            return self.parse(&format!("{number:.0}"));
        }
        let local = if self == Self::EpochMilliseconds { number / 1000.0 } else { number };
        let size = 86_400.0 * 366.0 * 1000.0;
        (local.abs() < size).then_some(Moment { local, ahead: 0.0, has_time: true })
    }

    fn parse_date(self, text: &str) -> Option<Moment> {
        // A weekday before it says nothing new.
        let text = match text.split_once([' ', ',']) {
            Some((day, rest)) if is_weekday(day) => rest.trim_start_matches([',', ' ']),
            _ => text,
        };
        if let Some((date, time)) = split_digits(text) {
            return (self == Self::YearFirst).then(|| self.parse_date(&format!("{date} {time}"))).flatten();
        }
        let (date, time) = split_time(text);
        let days = self.parse_days(date)?;
        let (seconds, ahead) = if time.is_empty() { (0.0, 0.0) } else { parse_time(time)? };
        Some(Moment { local: days as f64 * DAY + seconds, ahead, has_time: !time.is_empty() })
    }

    /// Days since 1970-01-01.
    fn parse_days(self, date: &str) -> Option<i64> {
        if date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = |from: usize, to: usize| date[from..to].parse::<i64>().ok();
            return match self {
                Self::YearFirst if DIGITS_ALONE.contains(&number(0, 4)?) => {
                    days_of(number(0, 4)?, number(4, 6)?, number(6, 8)?)
                }
                _ => None,
            };
        }
        let (a, b, c) = three_parts(date)?;
        let number = |part: &str| -> Option<i64> {
            let is_short = part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
            if is_short { part.parse().ok() } else { None }
        };
        let day =
            |part: &str| number(part.trim_end_matches(['s', 't', 'n', 'd', 'r', 'h'])).filter(|_| part.len() <= 4);
        // A month by its name settles the order.
        if let Some(month) = month_named(b) {
            return match self {
                Self::YearFirst if a.len() == 4 => days_of(number(a)?, month, day(c)?),
                Self::DayFirst => days_of(year(c)?, month, day(a)?),
                _ => None,
            };
        }
        if let Some(month) = month_named(a) {
            return if self == Self::MonthFirst { days_of(year(c)?, month, day(b)?) } else { None };
        }
        match self {
            Self::YearFirst if a.len() == 4 => days_of(number(a)?, number(b)?, number(c)?),
            Self::DayFirst => days_of(year(c)?, number(b)?, number(a)?),
            Self::MonthFirst => days_of(year(c)?, number(a)?, number(b)?),
            _ => None,
        }
    }
}

/// The years that eight digits without marks may begin with; others are more likely to be no dates.
const DIGITS_ALONE: std::ops::Range<i64> = 1800..2200;

/// The parts of a date: between marks, or, in `05MAR2024`, where digits end and begin.
fn three_parts(date: &str) -> Option<(&str, &str, &str)> {
    let mut parts = date.split(['-', '/', '.', ' ', ',']).filter(|part| !part.is_empty());
    let first = parts.next()?;
    let Some(second) = parts.next() else {
        let (day, rest) = first.split_at(first.find(|letter: char| letter.is_ascii_alphabetic())?);
        let (month, year) = rest.split_at(rest.find(|letter: char| letter.is_ascii_digit())?);
        return Some((day, month, year));
    };
    let third = parts.next()?;
    parts.next().is_none().then_some((first, second, third))
}

/// The date and the time of `202403050710` and `20240305071000`.
fn split_digits(text: &str) -> Option<(&str, String)> {
    if !matches!(text.len(), 12 | 14) || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds = if text.len() == 14 { &text[12..] } else { "00" };
    Some((&text[..8], format!("{}:{}:{seconds}", &text[8..10], &text[10..12])))
}

/// Whether the cells hold nothing but numbers and marks, so that no month's name tells the order.
fn by_numbers<'a>(mut cells: impl Iterator<Item = (&'a str, usize)>) -> bool {
    cells.all(|(text, _)| !text.split(['-', '/', '.', ' ', ',']).any(|part| month_named(part).is_some()))
}

/// A year of four digits, or of two.
fn year(part: &str) -> Option<i64> {
    let number: i64 = part.strip_prefix('\'').unwrap_or(part).parse().ok()?;
    match part.len() {
        4 => Some(number),
        2 => Some(if number >= 70 { 1900 + number } else { 2000 + number }),
        _ => None,
    }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// From Monday on.
pub const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// 1 to 12 from a month's name or its first three letters or more.
fn month_named(part: &str) -> Option<i64> {
    let part = part.trim_end_matches('.').to_ascii_lowercase();
    let at = MONTHS.iter().position(|name| part.len() >= 3 && name.starts_with(&part));
    at.map(|at| at as i64 + 1).or((part == "sept").then_some(9))
}

fn is_weekday(part: &str) -> bool {
    let part = part.trim_end_matches('.').to_ascii_lowercase();
    part.len() >= 3 && WEEKDAYS.iter().any(|name| name.to_ascii_lowercase().starts_with(&part))
}

/// The name of a month, from 1.
pub fn month_name(month: u32) -> String {
    let name = MONTHS[(month as usize).clamp(1, 12) - 1];
    name[..1].to_ascii_uppercase() + &name[1..]
}

/// A date and the time that follows it, empty if none does.
fn split_time(text: &str) -> (&str, &str) {
    let Some(colon) = text.find(':') else { return (text, "") };
    let before = &text.as_bytes()[..colon];
    let is_mark = |at: &usize| match before[*at] {
        b' ' => true,
        b'T' | b't' => *at > 0 && before[at - 1].is_ascii_digit(),
        _ => false,
    };
    match (0..colon).rfind(is_mark) {
        Some(at) => (text[..at].trim_end_matches([',', ' ']), text[at + 1..].trim()),
        // As web servers write it: `05/Mar/2024:07:10:00`.
        None if text[..colon].contains('/') => (&text[..colon], &text[colon + 1..]),
        None => (text, ""),
    }
}

/// Seconds since midnight, and how far the clock is ahead of UTC.
fn parse_time(text: &str) -> Option<(f64, f64)> {
    let (text, ahead) = split_zone(text)?;
    let lower = text.trim().to_ascii_lowercase();
    let ends = |mark: &str| lower.strip_suffix(mark).map(str::trim_end);
    let (clock, half) = if let Some(rest) = ends("a.m.").or_else(|| ends("am")).or_else(|| ends("a.m")) {
        (rest, Some(0))
    } else if let Some(rest) = ends("p.m.").or_else(|| ends("pm")).or_else(|| ends("p.m")) {
        (rest, Some(12))
    } else {
        (lower.as_str(), None)
    };
    let mut parts = clock.split(':');
    let (hours, minutes) = (parts.next()?, parts.next()?);
    let seconds = parts.next().unwrap_or("0");
    let digits = |part: &str, most: usize| {
        !part.is_empty() && part.len() <= most && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (whole, fraction) = seconds.split_once(['.', ',']).unwrap_or((seconds, ""));
    if parts.next().is_some() || !digits(hours, 2) || !digits(minutes, 2) || minutes.len() < 2 || !digits(whole, 2) {
        return None;
    }
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds: f64 = format!("{whole}.{fraction}0").parse().ok()?;
    let hours = match half {
        Some(half) if (1..=12).contains(&hours) => hours % 12 + half,
        None if hours < 24 => hours,
        _ => return None,
    };
    (minutes < 60 && seconds < 61.0).then(|| (f64::from(hours) * 3600.0 + f64::from(minutes) * 60.0 + seconds, ahead))
}

/// Takes the zone off the end of a time; gives it as seconds ahead of UTC.
fn split_zone(text: &str) -> Option<(&str, f64)> {
    for utc in ["Z", "z", "UTC", "GMT"] {
        if let Some(rest) = text.strip_suffix(utc) {
            return Some((rest, 0.0));
        }
    }
    let Some(at) = text.rfind(['+', '-', '−']) else { return Some((text, 0.0)) };
    let (clock, zone) = text.split_at(at);
    let ahead = !zone.starts_with('+');
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = match digits.len() {
        2 => (digits.parse::<f64>().ok()?, 0.0),
        4 => (digits[..2].parse::<f64>().ok()?, digits[2..].parse::<f64>().ok()?),
        _ => return None,
    };
    let seconds = hours * 3600.0 + minutes * 60.0;
    Some((clock, if ahead { -seconds } else { seconds }))
}

impl Moment {
    /// The year, the month from 1 and the day from 1.
    pub fn civil(&self) -> (i64, u32, u32) {
        civil_of_days((self.local / DAY).floor() as i64)
    }

    /// 0 for Monday to 6 for Sunday.
    pub fn weekday(&self) -> u32 {
        ((self.local / DAY).floor() as i64 + 3).rem_euclid(7) as u32
    }

    /// The hour of the day.
    pub fn hour(&self) -> u32 {
        (self.local.rem_euclid(DAY) / 3600.0) as u32
    }

    /// Seconds since 1970-01-01 00:00 UTC.
    pub fn utc(&self) -> f64 {
        self.local - self.ahead
    }
}

/// A year, in seconds.
const YEAR: f64 = 365.25 * DAY;

/// A length of time in the largest unit that leaves at least two of it: `1,100 days`, `5 hours`, `40 seconds`. Ten years and
/// more are years: `76 years`.
pub fn length_text(seconds: f64) -> String {
    let size = seconds.abs();
    // A length that is nearly a whole number of days is given in days: quantiles of days are seldom exact to the
    // second.
    let days = size / DAY;
    let is_days = days >= 1.0 - 1e-2 && (days - days.round()).abs() <= 1e-2;
    let (number, unit) = if size >= 10.0 * YEAR {
        (size / YEAR, "year")
    } else if size >= 2.0 * DAY || is_days || size == 0.0 {
        (size / DAY, "day")
    } else if size >= 7200.0 {
        (size / 3600.0, "hour")
    } else if size >= 120.0 {
        (size / 60.0, "minute")
    } else {
        (size, "second")
    };
    number_of(number, unit)
}

/// A length of time in a unit of so many seconds.
pub fn length_in(seconds: f64, unit: f64) -> String {
    number_of(seconds.abs() / unit, unit_name(unit))
}

/// The name of a unit of so many seconds.
fn unit_name(unit: f64) -> &'static str {
    match unit {
        _ if unit >= DAY => "day",
        _ if unit >= 3600.0 => "hour",
        _ if unit >= 60.0 => "minute",
        _ => "second",
    }
}

/// A length of time with this many decimals, in a unit of this many seconds.
pub fn length_with(seconds: f64, unit: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", seconds.abs() / unit);
    let short = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{short} {}{}", unit_name(unit), if short == "1" { "" } else { "s" })
}

/// `1,100 days`, `2.5 hours`.
fn number_of(number: f64, unit: &str) -> String {
    let number = if number >= 10.0 { number.round() } else { (10.0 * number).round() / 10.0 };
    let whole = format!("{}", number as i64);
    let mut digits = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            digits.push(',');
        }
        digits.push(digit);
    }
    let shown = if number.fract() == 0.0 { digits } else { format!("{number}") };
    format!("{shown} {unit}{}", if number == 1.0 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn civil(format: DateFormat, text: &str) -> Option<((i64, u32, u32), u32)> {
        format.parse(text).map(|moment| (moment.civil(), moment.hour()))
    }

    /// Days from Python's `datetime.date.toordinal() - 719163`.
    #[test]
    fn days_are_those_of_the_calendar() {
        for (date, days) in [
            ((1970, 1, 1), 0),
            ((2024, 2, 29), 19_782),
            ((1823, 6, 5), -53_536),
            ((2000, 3, 1), 11_017),
            ((2999, 12, 31), 376_199),
        ] {
            assert_eq!(days_of(date.0, date.1, date.2), Some(days), "{date:?}");
            let moment = Moment { local: days as f64 * DAY, ahead: 0.0, has_time: false };
            assert_eq!(moment.civil(), (date.0, date.1 as u32, date.2 as u32));
        }
        assert_eq!(days_of(2023, 2, 29), None);
        assert_eq!(days_of(2023, 13, 1), None);
        // 2024-03-03 was a Sunday.
        assert_eq!(DateFormat::YearFirst.parse("2024-03-03").map(|moment| moment.weekday()), Some(6));
    }

    #[test]
    fn dates_are_read_in_many_forms() {
        use DateFormat::{DayFirst, MonthFirst, YearFirst};
        for (format, text) in [
            (YearFirst, "2024-03-05 07:10"),
            (YearFirst, "2024/3/5 7:10"),
            (YearFirst, "2024-03-05T07:10:30.25Z"),
            (DayFirst, "5.3.2024 7:10"),
            (DayFirst, "05/03/24 07:10:00"),
            (DayFirst, "5 March 2024 7:10 a.m."),
            (DayFirst, "5-Mar-2024 7:10"),
            (DayFirst, "Tue, 5 Mar 2024 07:10:00 GMT"),
            (DayFirst, "05/Mar/2024:07:10:00 +0100"),
            (DayFirst, "05MAR2024 07:10"),
            (DayFirst, "5mar24 07:10"),
            (YearFirst, "20240305071059"),
            (YearFirst, "202403050710"),
            (MonthFirst, "3/5/2024 7:10 AM"),
            (MonthFirst, "March 5, 2024 7:10"),
            (MonthFirst, "Mar 5th, 2024 07:10"),
        ] {
            assert_eq!(civil(format, text), Some(((2024, 3, 5), 7)), "{text}");
        }
        assert_eq!(civil(YearFirst, "20240305"), Some(((2024, 3, 5), 0)));
        assert_eq!(civil(DayFirst, "12OCT2023"), Some(((2023, 10, 12), 0)));
        assert_eq!(civil(DayFirst, "12/Oct/2023:23:00:00 +0000"), Some(((2023, 10, 12), 23)));
        assert_eq!(YearFirst.of_number(20_240_305.0).map(|moment| moment.civil()), Some((2024, 3, 5)));
        let zoned = YearFirst.parse("2024-03-05T00:30:00+01:00").expect("a date");
        assert_eq!((zoned.civil(), zoned.utc()), ((2024, 3, 5), 1_709_595_000.0));
        for text in [
            "2024",
            "1.5",
            "1.2.3",
            "13/13/2024",
            "2024-02-30",
            "12:00",
            "abc",
            "10.0.0.1",
            "x 3 y",
            "A12B",
            "12:00:00:00",
            "99991231",
            "20241305071059",
        ] {
            for format in [YearFirst, DayFirst, MonthFirst] {
                assert_eq!(format.parse(text), None, "{text}");
            }
        }
    }

    #[test]
    fn times_of_day() {
        for (text, seconds) in
            [("7:10 a.m.", 25_800.0), ("12:05 AM", 300.0), ("12:00 p.m.", 43_200.0), ("23:59:59", 86_399.0)]
        {
            assert_eq!(DateFormat::TimeOfDay.parse(text).map(|moment| moment.local), Some(seconds), "{text}");
        }
        for text in ["24:00", "13:00 pm", "7:5", "7:60", "7:10 x", "a:b", "0:30 am"] {
            assert_eq!(DateFormat::TimeOfDay.parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_column_decides_what_comes_first() {
        let find = |cells: &[&str]| DateFormat::find(cells.iter().map(|cell| (*cell, 1)));
        assert_eq!(find(&["3/25/2024", "4/1/2024"]), Some((DateFormat::MonthFirst, 2, false)));
        assert_eq!(find(&["25/3/2024", "4/1/2024"]), Some((DateFormat::DayFirst, 2, false)));
        assert_eq!(find(&["3/4/2024", "4/1/2024"]), Some((DateFormat::MonthFirst, 2, true)));
        assert_eq!(find(&["3.4.2024", "4.1.2024"]), Some((DateFormat::DayFirst, 2, true)));
        assert_eq!(find(&["7:10", "x"]), Some((DateFormat::TimeOfDay, 1, false)));
        assert_eq!(find(&["Berlin"]), None);
    }

    #[test]
    fn lengths_read_well() {
        let shown = [1100.0 * DAY, DAY, 1.999 * DAY, 2.5 * DAY, 5.0 * 3600.0, 300.0, 40.0, 0.0].map(length_text);
        assert_eq!(
            shown,
            ["1,100 days", "1 day", "2 days", "2.5 days", "5 hours", "5 minutes", "40 seconds", "0 days"]
        );
    }
}
