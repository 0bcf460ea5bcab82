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
        (MonthFirst, "EOW: Tuesday, March 5, 2024 07:10"),
        (MonthFirst, "Tue Mar  5 07:10:59 2024"),
        (MonthFirst, "Tue Mar 5 07:10:59 2024 +0100"),
        (MonthFirst, "Tue Mar 5 07:10:59 CET 2024"),
        (DayFirst, "05/03/2024 07.10.00"),
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
    for (text, seconds) in [
        ("7:10 a.m.", 25_800.0),
        ("12:05 AM", 300.0),
        ("12:00 p.m.", 43_200.0),
        ("23:59:59", 86_399.0),
        ("18.00.00", 64_800.0),
        ("7.10.00", 25_800.0),
    ] {
        assert_eq!(DateFormat::TimeOfDay.parse(text).map(|moment| moment.local), Some(seconds), "{text}");
    }
    for text in ["24:00", "13:00 pm", "7:5", "7:60", "7:10 x", "a:b", "0:30 am", "18.00", "1.2.3", "18.61.00"] {
        assert_eq!(DateFormat::TimeOfDay.parse(text), None, "{text}");
    }
}

#[test]
fn hours_and_minutes_without_a_mark() {
    let seconds = |text: &str| DateFormat::HoursMinutes.parse(text).map(|moment| moment.local);
    for (text, expected) in
        [("517", 19_020.0), ("0517", 19_020.0), ("2359.0", 86_340.0), ("5", 300.0), ("2400", 0.0), ("1200", 43_200.0)]
    {
        assert_eq!(seconds(text), Some(expected), "{text}");
    }
    for text in ["560", "2401", "-5", "12.5", "5:17", "", "00517"] {
        assert_eq!(seconds(text), None, "{text}");
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
