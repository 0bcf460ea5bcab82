//! Columns whose type is a date or a time, and the calendar.

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// Years that dates may have; what lies outside is no date.
const YEARS: std::ops::RangeInclusive<i64> = 1000..=2999;

/// What a column of times holds; all of them are counted in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeKind {
    /// Days, since 1970-01-01.
    Date,
    /// A date and a time of day, since 1970-01-01 00:00.
    DateTime,
    /// Since midnight.
    TimeOfDay,
}

impl TimeKind {
    /// The text of a time: `2024-03-05`, `2024-03-05 07:10:00`, `07:10:00`.
    pub fn text(self, seconds: f64) -> String {
        let of_day = seconds.rem_euclid(DAY);
        let (hours, minutes, rest) = ((of_day / 3600.0) as u32, (of_day / 60.0) as u32 % 60, of_day % 60.0);
        let rest = if rest.fract() == 0.0 { format!("{rest:02}") } else { format!("{rest:09.6}") };
        let clock = format!("{hours:02}:{minutes:02}:{rest}");
        let (year, month, day) = civil_of_days((seconds / DAY).floor() as i64);
        match self {
            Self::Date => format!("{year:04}-{month:02}-{day:02}"),
            Self::DateTime => format!("{year:04}-{month:02}-{day:02} {clock}"),
            Self::TimeOfDay => clock,
        }
    }
}

/// The year, the month from 1 and the day from 1 of a number of days since 1970-01-01 in the Gregorian calendar
/// (Howard Hinnant, *chrono-Compatible Low-Level Date Algorithms*).
pub fn civil_of_days(days: i64) -> (i64, u32, u32) {
    // A file may hold any number; beyond these the calendar ends.
    let days = days.clamp(-1_000_000_000, 1_000_000_000) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month as u32, day as u32)
}

/// Days since 1970-01-01 in the Gregorian calendar (Howard Hinnant, *chrono-Compatible Low-Level Date Algorithms*);
/// `None` if there is no such day.
pub fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !YEARS.contains(&year) || !(1..=last).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last day of a year.
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_people_read_them() {
        assert_eq!(TimeKind::Date.text(19_782.0 * DAY), "2024-02-29");
        assert_eq!(TimeKind::DateTime.text(1_709_622_600.0), "2024-03-05 07:10:00");
        assert_eq!(TimeKind::TimeOfDay.text(25_800.5), "07:10:00.500000");
        assert_eq!(TimeKind::DateTime.text(-1.0), "1969-12-31 23:59:59");
    }
}
