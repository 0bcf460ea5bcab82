//! Dates and times as people write them.
//!
//! | example | read as |
//! |---|---|
//! | `2024-03-05`, `2024/3/5`, `20240305`, `20240305071000`, `2024-03-05T07:10:00+01:00`, `2024-03-05 07:10` | year first |
//! | `5.3.2024`, `05/03/2024`, `5-3-24`, `5 March 2024`, `5-Mar-24`, `05MAR2024`, `05/Mar/2024:07:10:00 +0100` | day first |
//! | `3/5/2024`, `March 5, 2024` | month first |
//! | `7:10`, `07:10:30`, `7:10 a.m.`, `7:10PM`, `18.00.00` | a time of day |
//! | `517`, `2359`, `0517`, `517.0` | hours and minutes without a mark, where a column as a whole shows it (`kinds/forms.rs`) |
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
    /// `517` or `0517` for 5:17, no date.
    HoursMinutes,
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

    /// Whether it is the format of times of day without a date.
    pub fn is_time_of_day(self) -> bool {
        matches!(self, Self::TimeOfDay | Self::HoursMinutes)
    }

    /// The moment that a text stands for.
    pub fn parse(self, text: &str) -> Option<Moment> {
        let text = text.trim();
        if self == Self::HoursMinutes {
            let digits = text.strip_suffix(".0").unwrap_or(text);
            let is_right = (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
            return if is_right { self.of_number(digits.parse().ok()?) } else { None };
        }
        // Quickly no: every date has a digit and is short, and this is asked of every cell.
        if text.len() < 3 || text.len() > 40 || !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        match self {
            Self::TimeOfDay => {
                let (local, ahead) = parse_time(text)?;
                Some(Moment { local, ahead, has_time: true })
            }
            Self::HoursMinutes | Self::EpochSeconds | Self::EpochMilliseconds => self.of_number(text.parse().ok()?),
            Self::YearFirst | Self::DayFirst | Self::MonthFirst => self.parse_date(text),
        }
    }

    /// The moment that a count of seconds or milliseconds stands for, or digits such as 20240305.
    pub fn of_number(self, number: f64) -> Option<Moment> {
        if self == Self::YearFirst {
            return self.parse(&format!("{number:.0}"));
        }
        if self == Self::HoursMinutes {
            let minutes = number % 100.0;
            let is_time = number.fract() == 0.0 && (0.0..=2400.0).contains(&number) && minutes < 60.0;
            let local = ((number - minutes) * 36.0 + minutes * 60.0) % DAY;
            return is_time.then_some(Moment { local, ahead: 0.0, has_time: true });
        }
        let local = if self == Self::EpochMilliseconds { number / 1000.0 } else { number };
        let size = 86_400.0 * 366.0 * 1000.0;
        (local.abs() < size).then_some(Moment { local, ahead: 0.0, has_time: true })
    }

    fn parse_date(self, text: &str) -> Option<Moment> {
        // A label before it, or a weekday, says nothing new.
        let text = match text.split_once(": ") {
            Some((label, rest)) if label.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b' ') => {
                rest.trim_start()
            }
            _ => text,
        };
        let text = match text.split_once([' ', ',']) {
            Some((day, rest)) if is_weekday(day) => rest.trim_start_matches([',', ' ']),
            _ => text,
        };
        if let Some(moment) = self.parse_year_last(text) {
            return Some(moment);
        }
        if let Some((date, time)) = split_digits(text) {
            return (self == Self::YearFirst).then(|| self.parse_date(&format!("{date} {time}"))).flatten();
        }
        let (date, time) = split_time(text);
        let days = self.parse_days(date)?;
        let (seconds, ahead) = if time.is_empty() { (0.0, 0.0) } else { parse_time(time)? };
        Some(Moment { local: days as f64 * DAY + seconds, ahead, has_time: !time.is_empty() })
    }

    /// A date as `date` and version control write it, with the year after the time: `Nov 20 00:29:05 2026 +0000`.
    fn parse_year_last(self, text: &str) -> Option<Moment> {
        if self != Self::MonthFirst || !text.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            return None;
        }
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let [month, day, time, rest @ ..] = words.as_slice() else { return None };
        let (year, zone) = match rest {
            [year] => (year, ""),
            [year, zone] if year.len() == 4 && zone.starts_with(['+', '-']) => (year, *zone),
            [_name, year] => (year, ""),
            _ => return None,
        };
        let days = self.parse_days(&format!("{month} {day} {year}")).filter(|_| time.contains(':'))?;
        let (seconds, ahead) = parse_time(&format!("{time}{zone}"))?;
        Some(Moment { local: days as f64 * DAY + seconds, ahead, has_time: true })
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
    let Some(colon) = text.find(':') else {
        return match text.rsplit_once(' ') {
            Some((date, time)) if with_points(time).is_some() => (date.trim_end_matches([',', ' ']), time),
            _ => (text, ""),
        };
    };
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

/// The parts of a time that is written `18.00.00`.
fn with_points(time: &str) -> Option<[&str; 3]> {
    let mut parts = time.split('.');
    let parts = [parts.next()?, parts.next()?, parts.next().filter(|_| parts.next().is_none())?];
    let is_right =
        |part: &str, least: usize| (least..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    (is_right(parts[0], 1) && is_right(parts[1], 2) && is_right(parts[2], 2)).then_some(parts)
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
    let pointed = with_points(clock).map(|parts| parts.join(":"));
    let mut parts = pointed.as_deref().unwrap_or(clock).split(':');
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

#[cfg(test)]
mod tests;
