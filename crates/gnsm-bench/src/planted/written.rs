//! Dates, money and measures as people write them.

/// A date's day, counted from 1970-01-01 (Howard Hinnant's `days_from_civil`).
pub fn day(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The year, month and day of the month of a day (his `civil_from_days`).
pub fn civil(day: i64) -> [i64; 3] {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    [year_of_era + era * 400 + i64::from(month <= 2), month, day]
}

/// The day of the week, from 0 for Monday to 6 for Sunday.
pub fn weekday(day: i64) -> i64 {
    (day + 3).rem_euclid(7)
}

/// The day itself, or the Monday after it if it is at a weekend.
pub fn working_day(day: i64) -> i64 {
    day + (7 - weekday(day)) * i64::from(weekday(day) >= 5)
}

/// How a column writes its dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateStyle {
    /// `2024-03-09`
    Iso,
    /// `3/9/2024`
    American,
    /// `09.03.2024`
    European,
}

impl DateStyle {
    /// Writes a day.
    pub fn write(self, day: i64) -> String {
        let [year, month, day] = civil(day);
        match self {
            Self::Iso => format!("{year}-{month:02}-{day:02}"),
            Self::American => format!("{month}/{day}/{year}"),
            Self::European => format!("{day:02}.{month:02}.{year}"),
        }
    }

    /// Reads the day at the beginning of a cell; what follows it, such as a time, is left out.
    pub fn read(self, text: &str) -> Option<i64> {
        let numbers: Vec<i64> = text.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse().ok()).collect();
        let &[a, b, c, ..] = numbers.as_slice() else { return None };
        Some(match self {
            Self::Iso => day(a, b, c),
            Self::American => day(c, a, b),
            Self::European => day(c, b, a),
        })
    }

    /// The same date with day and month in the wrong places: nothing that this style can read. `None` up to the 12th
    /// of a month.
    pub fn in_wrong_order(self, day: i64) -> Option<String> {
        let [year, month, day] = civil(day);
        let text = match self {
            Self::Iso => format!("{year}-{day:02}-{month:02}"),
            Self::American => format!("{day}/{month}/{year}"),
            Self::European => format!("{month:02}.{day:02}.{year}"),
        };
        (day > 12).then_some(text)
    }
}

/// A minute of the day: `08:12`.
pub fn clock(minute: i64) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

/// A number with two decimals and marks between its thousands: `4,219.50` with `,` and `.`, `4.219,50` with `.` and
/// `,`.
pub fn grouped(value: f64, thousands: char, decimal: char) -> String {
    let cents = (value.abs() * 100.0).round() as u128;
    let whole = (cents / 100).to_string();
    let mut text = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(thousands);
        }
        text.push(digit);
    }
    format!("{text}{decimal}{:02}", cents % 100)
}

/// Reads what [`grouped`] wrote, whatever stands around it.
pub fn read_grouped(text: &str, decimal: char) -> Option<f64> {
    let kept = text.chars().filter(|c| c.is_ascii_digit() || *c == decimal || *c == '-');
    kept.map(|c| if c == decimal { '.' } else { c }).collect::<String>().parse().ok()
}

/// `$4,219.50`, and `-$4,219.50` below zero.
pub fn dollars(value: f64) -> String {
    let text = grouped(value.abs(), ',', '.');
    if value < 0.0 { format!("-${text}") } else { format!("${text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_the_same_thing() {
        assert_eq!((day(1970, 1, 1), day(2024, 2, 29), day(1823, 5, 17)), (0, 19_782, -53_555));
        for date in (-60_000..60_000).step_by(37) {
            let [year, month, of_month] = civil(date);
            assert_eq!(day(year, month, of_month), date);
            for style in [DateStyle::Iso, DateStyle::American, DateStyle::European] {
                assert_eq!(style.read(&style.write(date)), Some(date));
            }
        }
        assert_eq!((weekday(0), weekday(day(2024, 3, 3)), working_day(day(2024, 3, 2))), (3, 6, day(2024, 3, 4)));
    }

    #[test]
    fn money_is_written_by_thousands() {
        assert_eq!((dollars(1_234_567.5), dollars(-5.0)), ("$1,234,567.50".to_owned(), "-$5.00".to_owned()));
        assert_eq!(grouped(4219.5, '.', ','), "4.219,50");
        assert_eq!(read_grouped("€ 4.219,50", ','), Some(4219.5));
        assert_eq!(read_grouped("-$1,234.00", '.'), Some(-1234.0));
    }

    #[test]
    fn a_date_in_the_wrong_order_is_none() {
        assert_eq!(DateStyle::American.in_wrong_order(day(2024, 3, 25)).as_deref(), Some("25/3/2024"));
        assert_eq!(DateStyle::Iso.in_wrong_order(day(2024, 3, 5)), None);
    }
}
