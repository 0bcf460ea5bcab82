//! Time zones of types: from seconds in UTC to those that a clock on the wall shows.
//!
//! A shop closes at six, in summer and in winter. Arrow and Parquet keep such times in UTC, with the zone in the type:
//! `+02:00` or `Europe/Berlin`. People mean the clock of the zone, as in a CSV file with offsets. An offset can be
//! added as it is. A name is looked up in the system's zone files (TZif, RFC 9636). They have the moments at which the
//! offset changed, and a rule for later ones (`CET-1CEST,M3.5.0,M10.5.0/3`, as POSIX writes it).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::time::{civil_of_days, days_of};

/// Seconds of a day.
const DAY: i64 = 86_400;
/// Where systems have their zones.
const FOLDERS: [&str; 4] = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"];
/// Names of UTC, which need no file.
const UTC: [&str; 8] = ["", "UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z", "Zulu", "Universal"];

/// Folders of zones beside the system's.
static MORE_FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// The zones that were read, so that all tables of a process are read by the same ones.
static KNOWN: Mutex<BTreeMap<String, Arc<Zone>>> = Mutex::new(BTreeMap::new());

/// Looks for zones in this folder too, where the system has none.
pub fn look_for_zones_in(folder: PathBuf) {
    let mut folders = MORE_FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    if !folders.contains(&folder) {
        folders.push(folder);
    }
}

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Zone {
    /// The offset before the first change, in seconds ahead of UTC.
    first: i64,
    /// When the offset changed, in UTC, and what it was from then on.
    changes: Vec<(i64, i64)>,
    /// The rule after the last change, if the offset goes on changing.
    rule: Option<Rule>,
}

impl Zone {
    /// The zone of a type; `None` if this machine does not know it.
    pub fn named(name: &str) -> Option<Arc<Self>> {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(zone) = known.get(name) {
            return Some(zone.clone());
        }
        let ahead = if UTC.contains(&name) { Some(0) } else { offset(name) };
        let zone = Arc::new(ahead.map(Self::fixed).or_else(|| file(name))?);
        known.insert(name.to_owned(), zone.clone());
        Some(zone)
    }

    fn fixed(first: i64) -> Self {
        Self { first, changes: Vec::new(), rule: None }
    }

    /// What a clock on the wall shows at a time in UTC, both in seconds since 1970.
    pub fn local(&self, utc: f64) -> f64 {
        if utc.is_finite() { utc + self.ahead(utc.floor() as i64) as f64 } else { utc }
    }

    fn ahead(&self, utc: i64) -> i64 {
        let after = self.changes.partition_point(|(from, _)| *from <= utc);
        match (&self.rule, after.checked_sub(1)) {
            (Some(rule), _) if after == self.changes.len() => rule.ahead(utc),
            (_, Some(last)) => self.changes[last].1,
            (_, None) => self.first,
        }
    }

    /// Reads a TZif file; `None` if it is none.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut input = Input(bytes);
        let (version, counts) = input.header()?;
        if version == 0 {
            return input.zone(&counts, 4);
        }
        // The first part is for readers that know only 32 bits, so it is skipped.
        input.take(counts.length(4)?)?;
        let (_, counts) = input.header()?;
        let mut zone = input.zone(&counts, 8)?;
        let footer = std::str::from_utf8(input.0).ok()?.trim_matches('\n');
        zone.rule = if footer.is_empty() { None } else { Some(Rule::parse(footer)?) };
        Some(zone)
    }
}

/// `+02:00`, `-0530`, `+02` or Java's `GMT+02:00` in seconds.
fn offset(name: &str) -> Option<i64> {
    let name = ["UTC", "GMT"].iter().find_map(|utc| name.strip_prefix(utc)).unwrap_or(name);
    let (sign, rest) = match name.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_at_checked(2)?;
    let minutes = minutes.strip_prefix(':').unwrap_or(minutes);
    let number = |digits: &str| {
        let is_right = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_right { digits.parse::<i64>().ok() } else { None }
    };
    let minutes = if rest.len() == 2 { 0 } else { number(minutes)? };
    Some(sign * (number(hours)? * 3600 + minutes * 60))
}

/// The zone in the file of this name.
fn file(name: &str) -> Option<Zone> {
    // The name comes from a file that anybody may have written: it must not lead out of the folder.
    let is_plain =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+-".contains(&b));
    if !name.split('/').all(is_plain) {
        return None;
    }
    let given = std::env::var_os("TZDIR").map(PathBuf::from);
    let more = MORE_FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut folders = given.into_iter().chain(FOLDERS.map(PathBuf::from)).chain(more);
    folders.find_map(|folder| Zone::parse(&std::fs::read(folder.join(name)).ok()?))
}

/// How many there are of what a TZif file holds.
struct Counts {
    in_utc: usize,
    in_standard: usize,
    leaps: usize,
    times: usize,
    kinds: usize,
    letters: usize,
}

impl Counts {
    /// The bytes of all that, where a time has so many.
    fn length(&self, of_time: usize) -> Option<usize> {
        let times = self.times.checked_mul(of_time + 1)?;
        let leaps = self.leaps.checked_mul(of_time + 4)?;
        [times, self.kinds.checked_mul(6)?, self.letters, leaps, self.in_standard, self.in_utc]
            .into_iter()
            .try_fold(0usize, usize::checked_add)
    }
}

/// The rest of a TZif file.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn header(&mut self) -> Option<(u8, Counts)> {
        if self.take(4)? != b"TZif" {
            return None;
        }
        let version = *self.take(16)?.first()?;
        let mut count = || Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?) as usize);
        let (in_utc, in_standard, leaps) = (count()?, count()?, count()?);
        let (times, kinds, letters) = (count()?, count()?, count()?);
        Some((version, Counts { in_utc, in_standard, leaps, times, kinds, letters }))
    }

    fn zone(&mut self, counts: &Counts, of_time: usize) -> Option<Zone> {
        let mut all = Input(self.take(counts.length(of_time)?)?);
        let times = all.take(counts.times * of_time)?.chunks_exact(of_time);
        let kind_of = all.take(counts.times)?;
        let kinds = all.take(counts.kinds * 6)?.chunks_exact(6);
        let offsets: Option<Vec<i64>> = kinds.map(|kind| Some(signed(kind.get(..4)?))).collect();
        let offsets = offsets?;
        let changes = times.zip(kind_of).map(|(time, kind)| Some((signed(time), *offsets.get(usize::from(*kind))?)));
        Some(Zone { first: *offsets.first()?, changes: changes.collect::<Option<_>>()?, rule: None })
    }
}

/// A whole number, its first byte the highest.
fn signed(bytes: &[u8]) -> i64 {
    let start = if bytes.first().is_some_and(|byte| *byte >= 0x80) { -1 } else { 0 };
    bytes.iter().fold(start, |number, byte| (number << 8) | i64::from(*byte))
}

/// A rule of POSIX: an offset, and in summer another, from and to a moment of each year.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    standard: i64,
    summer: Option<Summer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Summer {
    ahead: i64,
    /// When it begins and ends: a day of the year, and seconds after midnight by the clock that was valid until then.
    begins: (Day, i64),
    ends: (Day, i64),
}

/// A day of a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Day {
    /// From 1; the 29th of February is not counted.
    Julian(i64),
    /// From 0, with the 29th of February.
    OfYear(i64),
    /// Month, week from 1 (5 is the last), weekday (0 is Sunday).
    Weekday(i64, i64, i64),
}

impl Day {
    /// Days since 1970-01-01 in a year.
    fn of(self, year: i64) -> Option<i64> {
        let first = days_of(year, 1, 1)?;
        Some(match self {
            Self::OfYear(day) => first + day,
            Self::Julian(day) => first + day - 1 + i64::from(day >= 60 && days_of(year, 2, 29).is_some()),
            Self::Weekday(month, week, weekday) => {
                let start = days_of(year, month, 1)?;
                let next = if month == 12 { days_of(year + 1, 1, 1)? } else { days_of(year, month + 1, 1)? };
                // 1970-01-01 was a Thursday.
                let to_weekday = (weekday - (start + 4)).rem_euclid(7);
                let day = start + to_weekday + 7 * (week - 1);
                if day < next { day } else { day - 7 }
            }
        })
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix('M') {
            let mut numbers = rest.split('.').map(|number| number.parse::<i64>().ok());
            let (month, week, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
            let fits = (1..=12).contains(&month) && (1..=5).contains(&week) && (0..=6).contains(&day);
            return (fits && numbers.next().is_none()).then_some(Self::Weekday(month, week, day));
        }
        let (julian, digits) = text.strip_prefix('J').map_or((false, text), |rest| (true, rest));
        let day = digits.parse::<i64>().ok().filter(|day| (0..=366).contains(day))?;
        Some(if julian { Self::Julian(day) } else { Self::OfYear(day) })
    }
}

impl Rule {
    fn ahead(&self, utc: i64) -> i64 {
        self.summer.as_ref().and_then(|summer| summer.holds(utc, self.standard)).unwrap_or(self.standard)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(',');
        let (standard, rest) = named_offset(parts.next()?)?;
        // POSIX counts to the west.
        let standard = -standard?;
        if rest.is_empty() {
            return parts.next().is_none().then_some(Self { standard, summer: None });
        }
        let (ahead, rest) = named_offset(rest)?;
        let moment = |part: &str| {
            let (day, clock) = part.split_once('/').map_or((part, None), |(day, clock)| (day, Some(clock)));
            Some((Day::parse(day)?, clock.map_or(Some(2 * 3600), seconds)?))
        };
        let (begins, ends) = (moment(parts.next()?)?, moment(parts.next()?)?);
        let ahead = ahead.map_or(standard + 3600, |west| -west);
        let ended = rest.is_empty() && parts.next().is_none();
        ended.then_some(Self { standard, summer: Some(Summer { ahead, begins, ends }) })
    }
}

impl Summer {
    /// The offset of summer, if it is summer then.
    fn holds(&self, utc: i64, standard: i64) -> Option<i64> {
        let (year, _, _) = civil_of_days((utc.saturating_add(standard)).div_euclid(DAY));
        let begin = self.begins.0.of(year)? * DAY + self.begins.1 - standard;
        let end = self.ends.0.of(year)? * DAY + self.ends.1 - self.ahead;
        let holds = if begin < end { (begin..end).contains(&utc) } else { !(end..begin).contains(&utc) };
        holds.then_some(self.ahead)
    }
}

/// The offset after a zone's short name, if there is one, and the rest of the text.
fn named_offset(text: &str) -> Option<(Option<i64>, &str)> {
    let rest = match text.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?.1,
        None => text.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
    };
    if rest.len() == text.len() {
        return None;
    }
    let end = rest.find(|c: char| !c.is_ascii_digit() && !"+-:".contains(c)).unwrap_or(rest.len());
    let (clock, rest) = rest.split_at(end);
    Some((if clock.is_empty() { None } else { Some(seconds(clock)?) }, rest))
}

/// `2`, `-1` or `10:30:00` in seconds.
fn seconds(clock: &str) -> Option<i64> {
    let (sign, digits) = match clock.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, clock.strip_prefix('+').unwrap_or(clock)),
    };
    let mut total = 0;
    for (part, unit) in digits.split(':').zip([3600, 60, 1]) {
        total += part.parse::<i64>().ok().filter(|number| (0..=167).contains(number))? * unit;
    }
    Some(sign * total)
}

#[cfg(test)]
mod tests;
