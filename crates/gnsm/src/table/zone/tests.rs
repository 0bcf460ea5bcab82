use proptest::prelude::*;

use super::*;

/// Seconds since 1970 of a moment.
fn at(year: i64, month: i64, day: i64, hour: i64) -> i64 {
    days_of(year, month, day).unwrap() * DAY + hour * 3600
}

/// A TZif file of the second version with these changes, whose kinds are standard and summer.
fn tzif(changes: &[(i64, u8)], offsets: [i32; 2], footer: &str) -> Vec<u8> {
    let header = |n_times: u32| {
        let mut bytes = b"TZif2".to_vec();
        bytes.extend([0; 15]);
        [0, 0, 0, n_times, 2, 4].iter().for_each(|count: &u32| bytes.extend(count.to_be_bytes()));
        bytes
    };
    let kinds = offsets.iter().flat_map(|offset| [&offset.to_be_bytes()[..], &[0, 0]].concat());
    let kinds: Vec<u8> = kinds.chain(*b"ABC\0").collect();
    let mut bytes = [header(0), kinds.clone(), header(changes.len() as u32)].concat();
    changes.iter().for_each(|(time, _)| bytes.extend(time.to_be_bytes()));
    bytes.extend(changes.iter().map(|(_, kind)| *kind));
    bytes.extend(kinds);
    bytes.extend(format!("\n{footer}\n").bytes());
    bytes
}

#[test]
fn offsets_are_what_they_say() {
    for (name, expected) in
        [("+02:00", 7200.0), ("GMT+02:00", 7200.0), ("-0530", -19_800.0), ("+14", 50_400.0), ("UTC", 0.0), ("", 0.0)]
    {
        assert_eq!(Zone::named(name).unwrap().local(0.0), expected, "{name}");
    }
    for name in ["+2", "+2:000", "+ab", "Mars/Base", "../../etc/passwd", "/etc/localtime", "Europe//Berlin", "."] {
        assert!(Zone::named(name).is_none(), "{name}");
    }
    assert!(Zone::named("+01:00").unwrap().local(f64::NAN).is_nan());
    assert_eq!(Zone::named("+01:00").unwrap().local(-0.25), 3599.75);
}

#[test]
fn a_file_has_changes_and_a_rule_for_what_comes_later() {
    let changes = [(at(1980, 4, 6, 1), 1), (at(1980, 9, 28, 1), 0), (at(1981, 3, 29, 1), 1)];
    let zone = Zone::parse(&tzif(&changes, [3600, 7200], "CET-1CEST,M3.5.0,M10.5.0/3")).unwrap();
    let hours = |utc: i64| (zone.local(utc as f64) as i64 - utc) / 3600;
    assert_eq!(hours(at(1970, 7, 1, 0)), 1);
    assert_eq!((hours(at(1980, 4, 6, 1) - 1), hours(at(1980, 4, 6, 1))), (1, 2));
    assert_eq!(hours(at(1980, 9, 28, 1)), 1);
    // The last Sunday of March 2024 is the 31st, that of October the 27th.
    assert_eq!((hours(at(2024, 3, 31, 1) - 1), hours(at(2024, 3, 31, 1))), (1, 2));
    assert_eq!((hours(at(2024, 10, 27, 1) - 1), hours(at(2024, 10, 27, 1))), (2, 1));
    assert_eq!(hours(at(2100, 7, 1, 0)), 2);
}

#[test]
fn rules_of_both_halves_of_the_world() {
    let sydney = Rule::parse("AEST-10AEDT,M10.1.0,M4.1.0/3").unwrap();
    let hours = |rule: &Rule, utc| rule.ahead(utc) as f64 / 3600.0;
    assert_eq!((hours(&sydney, at(2024, 1, 1, 0)), hours(&sydney, at(2024, 7, 1, 0))), (11.0, 10.0));
    assert_eq!((hours(&sydney, at(2024, 4, 6, 15)), hours(&sydney, at(2024, 4, 6, 16))), (11.0, 10.0));
    assert_eq!(hours(&Rule::parse("<+0545>-5:45").unwrap(), 0), 5.75);
    let new_york = Rule::parse("EST5EDT,M3.2.0,M11.1.0").unwrap();
    assert_eq!((hours(&new_york, at(2024, 3, 10, 6)), hours(&new_york, at(2024, 3, 10, 7))), (-5.0, -4.0));
    assert_eq!((hours(&new_york, at(2024, 11, 3, 5)), hours(&new_york, at(2024, 11, 3, 6))), (-4.0, -5.0));
    // Days by their number, with and without the 29th of February: the 1st of March in both.
    let by_number = Rule::parse("A0B,J60/0,J300").unwrap();
    assert_eq!((by_number.ahead(at(2024, 2, 29, 12)), by_number.ahead(at(2024, 3, 1, 0))), (0, 3600));
    let with_leap_day = Rule::parse("A0B,60/0,J300").unwrap();
    assert_eq!((with_leap_day.ahead(at(2024, 2, 29, 12)), with_leap_day.ahead(at(2024, 3, 1, 0))), (0, 3600));
    for wrong in
        ["", "5", "CET", "CET-1CEST", "CET-1CEST,M13.1.0,M4.1.0", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,M4.1.0,x"]
    {
        assert!(Rule::parse(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn the_zones_of_this_machine_if_it_has_some() {
    let Some(berlin) = Zone::named("Europe/Berlin") else { return };
    let hours = |utc: i64| (berlin.local(utc as f64) as i64 - utc) / 3600;
    assert_eq!((hours(at(2024, 1, 15, 12)), hours(at(2024, 7, 15, 12)), hours(at(2060, 7, 15, 12))), (1, 2, 2));
}

proptest! {
    #[test]
    fn any_bytes_are_a_zone_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200), utc in any::<i64>()) {
        let _ = Zone::parse(&bytes);
        let whole = tzif(&[(0, 1)], [0, 3600], "A0");
        let mut cut = whole[..bytes.len().min(whole.len())].to_vec();
        cut.extend(&bytes);
        if let Some(zone) = Zone::parse(&cut) {
            zone.local(utc as f64);
        }
    }

    #[test]
    fn any_text_is_a_rule_or_none(text in "[A-Z<>]{0,4}[-+0-9:]{0,4}[A-Z]{0,4}[-,M0-9./J]{0,20}", utc in any::<i64>()) {
        if let Some(rule) = Rule::parse(&text) {
            rule.ahead(utc);
        }
    }
}
