use super::*;
use crate::columns::DatePart;
use crate::table::TextCells;

fn text_table(cells: &[impl AsRef<str>]) -> Table {
    let mut text = TextCells::default();
    for cell in cells {
        text.push(cell.as_ref());
    }
    let columns = vec![Column { name: "c".into(), values: Values::Text(text) }];
    Table {
        file: "f".into(),
        columns,
        lines: (2..2 + cells.len() as u64).collect(),
        rows_may_omit_columns: false,
        parts: Vec::new(),
    }
}

fn named(name: &str, cells: &[impl AsRef<str>]) -> (Kind, String) {
    let mut table = text_table(cells);
    table.columns[0].name = name.into();
    let rows: Vec<usize> = (0..cells.len()).collect();
    let (schema, _) = learn_column(&table, CellsToLearn::all(&table.columns[0], &rows), None, None).expect("a kind");
    (schema.kind, schema.reason)
}

fn kind_of(cells: &[impl AsRef<str>]) -> (Kind, String) {
    named("c", cells)
}

#[test]
fn few_whole_numbers_are_categories_and_many_are_numbers() {
    assert!(matches!(kind_of(&["1", "2", "1", ""]).0, Kind::Categorical { missing: true, .. }));
    let many: Vec<String> = (0..40).map(|i| (i * i).to_string()).collect();
    assert!(matches!(kind_of(&many).0, Kind::Numeric { .. }));
    assert!(matches!(kind_of(&["1.5", "2.5", "1.0"]).0, Kind::Numeric { .. }));
    assert!(matches!(kind_of(&["007", "012", "003"]).0, Kind::Categorical { .. }));
    // What has marks between its thousands is an amount.
    for amounts in [["1.500", "500", "2.000"], ["1,500", "500", "2,000"]] {
        let (kind, reason) = kind_of(&amounts.repeat(9));
        let Kind::Numeric { format, .. } = kind else { panic!("{reason}") };
        assert_eq!(format.parse(amounts[0]), Some(1500.0), "{reason}");
    }
}

#[test]
fn one_stray_cell_does_not_lose_a_column_of_numbers() {
    for stray in ["unknown", "12.5 apples", "as discussed"] {
        let mut cells: Vec<String> = (0..1500).map(|i| format!("{}.5", i % 700)).collect();
        cells[7] = stray.into();
        let (kind, reason) = kind_of(&cells);
        assert!(matches!(kind, Kind::Numeric { stray: true, missing: false, .. }), "{stray}: {kind:?}");
        assert!(reason.ends_with("; 1 cell of another kind"), "{reason}");
    }
    for missing in ["n/a", "None", "-", "#N/A", "NA"] {
        let mut cells: Vec<String> = (0..1500).map(|i| format!("{}.5", i % 700)).collect();
        cells[7] = missing.into();
        assert!(matches!(kind_of(&cells).0, Kind::Numeric { stray: false, missing: true, .. }), "{missing}");
    }
}

#[test]
fn money_and_european_numbers_are_numbers() {
    let american: Vec<String> = (0..200).map(|i| format!("${},{:03}.50", i % 9 + 1, i)).collect();
    assert!(matches!(kind_of(&american).0, Kind::Numeric { .. }));
    let european: Vec<String> = (0..200).map(|i| format!("{}.{:03},50 €", i % 9 + 1, i)).collect();
    let (kind, reason) = kind_of(&european);
    assert!(matches!(&kind, Kind::Numeric { format, .. } if format.decimal_comma), "{kind:?}");
    assert_eq!(reason, "numbers with a decimal comma with 200 distinct values");
}

#[test]
fn row_numbers_and_keys_are_identifiers() {
    let names: Vec<String> = (0..300).map(|i| format!("INV-{}", 100_231 + 7 * i)).collect();
    let (kind, reason) = kind_of(&names);
    assert_eq!(
        kind,
        Kind::Identifier {
            shapes: vec!["A-999999".into()],
            loose: false,
            hex: false,
            missing: false,
            repeats: false,
            by_chance: false,
            usual: 0,
            leads: vec!["INV".into()],
        }
    );
    assert_eq!(reason, "an identifier: 300 distinct values in 300 rows");
    let numbers: Vec<String> = (1000..1300).filter(|i| i % 10 != 3).map(|i| i.to_string()).collect();
    assert!(matches!(kind_of(&numbers).0, Kind::Identifier { .. }), "gaps do not matter");
    let sparse: Vec<String> = (1..300u64).map(|i| (i * i * 97).to_string()).collect();
    assert!(matches!(kind_of(&sparse).0, Kind::Numeric { .. }));
    assert!(matches!(named("claim_id", &sparse).0, Kind::Identifier { .. }), "by its name");
    // Two of 300 rows share a key.
    let mut twice = names;
    twice[5] = twice[6].clone();
    assert!(matches!(kind_of(&twice).0, Kind::Identifier { repeats: true, .. }));
    assert_eq!(named("Unnamed: 0", &["a", "b"]).0, Kind::Ignored);
    assert_eq!(named("__index_level_0__", &["a", "b"]).0, Kind::Ignored);
}

#[test]
fn keys_drawn_at_random_may_repeat() {
    // A multiplication scatters 1,500 numbers over 100,000; about eleven pairs are equal by chance.
    let scattered = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let random: Vec<String> =
        (0..1500).map(|i| (300_000 + (scattered(i) ^ scattered(i * i + 7)) % 100_000).to_string()).collect();
    let (kind, reason) = named("matricola", &random);
    assert!(matches!(kind, Kind::Identifier { by_chance: true, repeats: false, .. }), "{kind:?}");
    assert!(reason.starts_with("an identifier by its name"), "{reason}");
    // Numbers that are counted up repeat far less than chance would have it.
    let mut counted: Vec<String> = (0..1500).map(|i| (300_000 + 3 * i).to_string()).collect();
    counted[5] = counted[900].clone();
    let (kind, _) = named("matricola", &counted);
    assert!(matches!(kind, Kind::Identifier { by_chance: false, repeats: true, .. }), "{kind:?}");
}

#[test]
fn codes_have_beginnings_where_these_are_few() {
    let leads = |cells: &[String]| match kind_of(cells).0 {
        Kind::Identifier { leads, .. } | Kind::Categorical { leads, .. } => leads,
        kind => panic!("{kind:?}"),
    };
    let mut tickets: Vec<String> = (0..400).map(|i| format!("{}{:06}", ["INC", "CHG"][i % 4 / 3], 7 * i)).collect();
    assert_eq!(leads(&tickets), ["INC", "CHG"], "the most common first");
    tickets[7] = "REQ000049".into();
    assert_eq!(leads(&tickets), ["INC", "CHG", "REQ"]);
    let letter = |i: u64| char::from(b'A' + (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8 % 26);
    let random: Vec<String> =
        (0..400).map(|i| format!("{}{}{}{:03}", letter(i), letter(i + 999), letter(i * i + 3), i)).collect();
    assert!(leads(&random).is_empty(), "random letters are no beginning: {:?}", leads(&random));
    let hosts: Vec<String> = (0..400).map(|i| format!("172.16.{}.{}", i % 16, i % 20)).collect();
    assert_eq!(leads(&hosts), ["172"]);
}

#[test]
fn amounts_are_no_codes_and_counts_are_no_keys() {
    let sums: Vec<String> = (0..2000).map(|i| format!("${}50,000", 1 + i % 8 + i % 3)).collect();
    assert!(!matches!(named("Sum Insured", &sums).0, Kind::Identifier { .. }));
    let salaries: Vec<String> = (0..2000).map(|i| (20_000 + 1_300 * (i % 47)).to_string()).collect();
    assert!(matches!(kind_of(&salaries).0, Kind::Numeric { .. }), "rounded to hundreds");
    let counts: Vec<String> = (0..600).map(|i| (1 + i % 90).to_string()).collect();
    for (name, is_key) in [("no_of_rooms", false), ("num_items", false), ("room no.", true), ("Zimmernummer", true)] {
        assert_eq!(matches!(named(name, &counts).0, Kind::Categorical { .. }), is_key, "{name}");
    }
    let zips: Vec<String> = (0..600u64).map(|i| (60_000 + i.wrapping_mul(7919) % 1999).to_string()).collect();
    assert!(matches!(named("ZIP", &zips[..590]).0, Kind::Categorical { .. } | Kind::Identifier { .. }));
}

#[test]
fn numbers_have_marks_where_one_has() {
    let mut money: Vec<String> = (0..300).map(|i| format!("£{}.50", 7 * i)).collect();
    money[4] = "€28.50".into();
    money[9] = "63.50".into();
    let Kind::Numeric { marks, stray, .. } = kind_of(&money).0 else { panic!("numbers") };
    assert_eq!((marks.as_slice(), stray), (["£", "", "€"].map(String::from).as_slice(), false));
    let plain: Vec<String> = (0..300).map(|i| format!("{}.50", 7 * i)).collect();
    assert!(matches!(kind_of(&plain).0, Kind::Numeric { marks, .. } if marks.is_empty()));
}

#[test]
fn an_all_unique_column_is_the_same_kind_at_any_size() {
    for n in [50, 100, 200, 1000] {
        let names: Vec<String> = (0..n).map(|i| format!("user{i}")).collect();
        assert!(matches!(kind_of(&names).0, Kind::Identifier { .. }), "{n}");
    }
}

#[test]
fn a_number_far_outside_keeps_few_whole_numbers_in_order() {
    let mut grades: Vec<String> = (0..300).map(|i| (1 + i % 10).to_string()).collect();
    assert!(matches!(kind_of(&grades).0, Kind::Categorical { .. }));
    grades[7] = "12".into();
    assert!(matches!(kind_of(&grades).0, Kind::Categorical { .. }), "a little outside");
    for far in ["42", "-30"] {
        grades[7] = far.into();
        assert!(matches!(kind_of(&grades).0, Kind::Numeric { .. }), "{far}");
    }
    let mut flags = vec!["0".to_owned(); 300];
    flags[7] = "1".into();
    assert!(matches!(kind_of(&flags).0, Kind::Categorical { .. }), "a rare flag");
}

#[test]
fn codes_of_which_none_is_expected_have_shapes() {
    let durations: Vec<String> = (0..400).map(|i| format!("{}h {:02}m", i % 4, i % 50)).collect();
    let Kind::Categorical { shapes, .. } = kind_of(&durations).0 else { panic!("categories") };
    assert_eq!(shapes, ["9a 99a"]);
    let names: Vec<String> = durations.iter().map(|text| text.replace(|c: char| c.is_ascii_digit(), "x")).collect();
    let Kind::Categorical { shapes, .. } = kind_of(&names).0 else { panic!("categories") };
    assert!(shapes.is_empty(), "words have all kinds of shapes");
}

#[test]
fn codes_that_repeat_are_categories() {
    let zips: Vec<String> = (0..600u64).map(|i| (10_000 + (i % 60) * 1_409).to_string()).collect();
    assert!(matches!(kind_of(&zips).0, Kind::Categorical { .. }));
    let ages: Vec<String> = (0..600).map(|i| (18 + i % 60).to_string()).collect();
    assert!(matches!(kind_of(&ages).0, Kind::Numeric { .. }));
    assert!(matches!(named("customer_id", &ages).0, Kind::Categorical { .. }), "by its name");
}

#[test]
fn dates_are_dates() {
    let days: Vec<String> = (0..400).map(|i| format!("{}/{}/2024", i % 12 + 1, i % 28 + 1)).collect();
    let (kind, reason) = kind_of(&days);
    let Kind::Date { format, parts, .. } = kind else { panic!("{kind:?}") };
    assert_eq!((format, reason.as_str()), (DateFormat::MonthFirst, "dates, month first"));
    let parts: Vec<DatePart> = parts.iter().map(|part| part.part).collect();
    assert_eq!(parts, [DatePart::Weekday, DatePart::Day], "no times; one year is too short for months");
    let times: Vec<String> = (0..400).map(|i| format!("{}:{:02} p.m.", i % 5 + 1, i % 60)).collect();
    assert!(matches!(kind_of(&times).0, Kind::Date { format: DateFormat::TimeOfDay, .. }));
    let seconds: Vec<String> = (0..400).map(|i| (1_709_622_600 + 61 * i).to_string()).collect();
    assert!(matches!(kind_of(&seconds).0, Kind::Date { format: DateFormat::EpochSeconds, .. }));
}

#[test]
fn a_date_far_outside_does_not_stretch_the_range() {
    let mut days: Vec<String> = (0..400).map(|i| format!("2024-{:02}-{:02}", i % 12 + 1, i % 28 + 1)).collect();
    days[3] = "1823-05-01".into();
    let Kind::Date { range, .. } = kind_of(&days).0 else { panic!("a date") };
    assert!(range[0] > 1_577_836_800.0, "2020 or later");
    assert!(range[1] < 1_893_456_000.0, "2030 or earlier");
}

#[test]
fn rare_categories_share_places_by_how_rare_they_are() {
    // 600 suppliers: the i-th occurs about 2400/i times.
    let cells: Vec<String> = (1..=600usize).flat_map(|i| vec![format!("S{i:04}"); (2400 / i).max(1)]).collect();
    let Kind::Categorical { categories, rare, shapes, .. } = kind_of(&cells).0 else { panic!("categories") };
    assert_eq!((categories.len(), rare.iter().map(Vec::len).sum::<usize>()), (500, 100));
    assert_eq!(rare.len(), 1, "all of the last hundred occur four times: one place");
    assert!(shapes.is_empty(), "few values occur once");
    let mut singles: Vec<String> = cells;
    singles.extend((0..300).map(|i| format!("T{i:04}")));
    let Kind::Categorical { rare, shapes, .. } = kind_of(&singles).0 else { panic!("categories") };
    assert_eq!(rare.iter().map(Vec::len).collect::<Vec<_>>(), [100, 300], "seen once comes last");
    assert_eq!(shapes, ["A9999"]);
}

#[test]
fn prose_is_text() {
    let notes: Vec<String> = (0..60).map(|i| format!("called the customer {i} times about the late order")).collect();
    assert!(matches!(kind_of(&notes).0, Kind::Text { .. }));
}

#[test]
fn a_constant_number_is_watched_as_a_category() {
    assert!(matches!(kind_of(&["2.5", "2.5"]).0, Kind::Categorical { .. }));
    let (kind, reason) = kind_of(&["", "NA"]);
    let none = Kind::Categorical { categories: vec![], rare: vec![], missing: true, shapes: vec![], leads: vec![] };
    assert_eq!((kind, reason.as_str()), (none, "every value is missing"));
}

#[test]
fn forcing_words_to_be_numbers_names_one() {
    let table = text_table(&["a", "b", "c"]);
    let error = learn_column(&table, CellsToLearn::all(&table.columns[0], &[0, 1, 2]), Some(KindChoice::Numeric), None)
        .expect_err("text");
    assert_eq!(
        error.to_string(),
        "f, line 2, column `c`: no cell is a number, `a` for one is not; leave the kind of `c` open, or choose another"
    );
}

#[test]
fn whole_numbers_that_repeat_less_than_chance_are_keys() {
    let noise = |i: u64| (i * 2_654_435_761) % 4_294_967_291;
    // 4,000 of 24,000 numbers, in no order: drawn at random, some 333 pairs would be equal.
    let documents = |repeats: usize| {
        let mut cells: Vec<String> = (0..4000).map(|i| (50_000 + i * 6 + noise(i) % 6).to_string()).collect();
        cells.sort_by_key(|cell| noise(cell.parse().expect("a number")));
        (0..repeats).for_each(|at| cells[2000 + at] = cells[at].clone());
        cells
    };
    for repeats in [0, 3] {
        let (kind, why) = kind_of(&documents(repeats));
        assert!(matches!(kind, Kind::Identifier { .. }), "{why}");
        assert!(why.ends_with("in 4000 rows, where chance would repeat more"), "{why}");
    }
    // As often as chance, or nearly.
    let drawn: Vec<String> = (0..4000).map(|i| (50_000 + noise(i * i + 7) % 50_000).to_string()).collect();
    assert!(matches!(kind_of(&drawn).0, Kind::Numeric { .. }));
    let with_marks: Vec<String> = documents(0).iter().map(|cell| format!("{},{}", &cell[..2], &cell[2..])).collect();
    assert!(matches!(kind_of(&with_marks).0, Kind::Numeric { .. }));
}

#[test]
fn the_decimals_of_a_column_are_those_of_nearly_all_numbers() {
    let mut cells: Vec<String> = (0..200).map(|i| format!("{},{:02}", i * 37 % 191, i * 7 % 100)).collect();
    cells[3] = "1,123456".into();
    assert!(matches!(kind_of(&cells).0, Kind::Numeric { decimals: 2, .. }));
    let whole: Vec<String> = (0..200).map(|i| format!("1.{:03}", 100 + i * 7 % 800)).collect();
    assert!(matches!(kind_of(&whole).0, Kind::Numeric { decimals: 3, .. }));
    let whole: Vec<String> = (0..200).map(|i| format!("1,{:03}", 100 + i * 7 % 800)).collect();
    assert!(matches!(kind_of(&whole).0, Kind::Numeric { decimals: 0, .. }));
}

#[test]
fn dates_begin_and_end_with_those_that_were_seen() {
    let days: Vec<String> = (0..180).map(|i| format!("2024-{:02}-{:02}", 1 + i % 9, 1 + i / 9)).collect();
    let Kind::Date { range, seen, .. } = kind_of(&days).0 else { panic!("no dates") };
    let day = |text: &str| DateFormat::YearFirst.parse(text).map(|moment| moment.local);
    assert_eq!(seen.map(Some), [day("2024-01-01"), day("2024-09-20")]);
    assert!(range[0] < seen[0], "what is let pass begins earlier");
}

#[test]
fn a_title_above_the_header_is_told() {
    let mut lines = vec!["Printed 3 May 2024".to_owned(), "id,area,qty".to_owned()];
    lines.extend((0..30).map(|i| format!("A{i},north,{i}")));
    let learn = |lines: &[String]| {
        let rows: Vec<usize> = (0..lines.len()).collect();
        crate::columns::Schema::learn(&text_table(lines), &rows, &crate::columns::ColumnChoices::default())
    };
    let error = learn(&lines).expect_err("one column of keys").to_string();
    assert!(error.contains("line 3 looks like the header"), "{error}");
    let keys: Vec<String> = (0..30).map(|i| format!("A{i}")).collect();
    let error = learn(&keys).expect_err("one column of keys").to_string();
    assert!(error.contains("keep at least one with the setting `categorical`"), "{error}");
}

/// Pseudo-random, but the same each time.
fn drawn(row: usize, n: usize) -> usize {
    (row * 7919 + row * row * 31) % 10_007 % n
}

fn cells(n: usize, cell: impl Fn(usize) -> String) -> Vec<String> {
    (0..n).map(cell).collect()
}

#[test]
fn hours_and_minutes_in_one_number_are_times() {
    let time = |row: usize| 100 * drawn(row, 24) + drawn(row + 1, 60);
    for of in [|time: usize| time.to_string(), |time| format!("{time}.0"), |time| format!("{time:04}")] {
        let (kind, reason) = kind_of(&cells(300, |row| of(time(row))));
        assert!(matches!(kind, Kind::Date { format: DateFormat::HoursMinutes, .. }), "{reason}");
    }
    for amount in [|row| drawn(row, 2300), |row| 50 * drawn(row, 40), |row| drawn(row, 60), |row| 100 * drawn(row, 24)]
    {
        let (kind, reason) = kind_of(&cells(300, |row| amount(row).to_string()));
        assert!(!matches!(kind, Kind::Date { .. }), "{reason}");
    }
    // A few times are enough under a name of times.
    let few = cells(30, |row| (100 * (row % 4) + 7 * (row % 5) + 10).to_string());
    assert!(
        matches!(named("dep_time", &few).0, Kind::Date { .. }) && !matches!(named("size", &few).0, Kind::Date { .. })
    );
}

#[test]
fn modes_of_files_are_codes() {
    let modes = cells(200, |row| ["644", "755", "444", "2755", "600"][drawn(row, 5)].to_owned());
    assert!(kind_of(&modes).1.starts_with("modes of files"), "{:?}", kind_of(&modes));
    let prices = cells(200, |row| ["400", "500", "600", "2700"][drawn(row, 4)].to_owned());
    assert!(!kind_of(&prices).1.starts_with("modes of files"));
}

#[test]
fn whole_numbers_that_were_made_reals_are_whole() {
    let scale = cells(300, |row| if row % 9 == 0 { String::new() } else { format!("{}.0", 1 + drawn(row, 6)) });
    assert!(matches!(kind_of(&scale).0, Kind::Categorical { .. }), "{:?}", kind_of(&scale));
    let dose = cells(300, |row| format!("{}.0", 1 + drawn(row, 6)));
    assert!(matches!(kind_of(&dose).0, Kind::Numeric { .. }), "nothing is missing, so the decimals are meant");
    let half = cells(300, |row| if row % 9 == 0 { String::new() } else { format!("{}.5", 1 + drawn(row, 6)) });
    assert!(matches!(kind_of(&half).0, Kind::Numeric { .. }));
}

#[test]
fn few_whole_numbers_that_hardly_repeat_are_amounts() {
    let wounds = cells(24, |row| if row < 6 { "0".to_owned() } else { (row * row).to_string() });
    assert!(matches!(kind_of(&wounds).0, Kind::Numeric { .. }), "{:?}", kind_of(&wounds));
}

#[test]
fn years_that_follow_each_other_are_no_row_numbers() {
    let years = cells(60, |row| (1956 + row).to_string());
    assert!(matches!(kind_of(&years).0, Kind::Numeric { .. }), "{:?}", kind_of(&years));
    assert!(matches!(named("id", &years).0, Kind::Identifier { .. }));
    assert!(matches!(kind_of(&cells(60, |row| (1 + row).to_string())).0, Kind::Identifier { .. }));
}

#[test]
fn digits_of_one_length_that_all_differ_are_codes() {
    let phones = cells(300, |row| format!("{}", 5_550_000_017_u64 + 7_919_331 * row as u64));
    assert!(matches!(kind_of(&phones).0, Kind::Identifier { .. }), "{:?}", kind_of(&phones));
    let volumes = cells(300, |row| format!("{}", 931_000_000 + 1_230_000 * drawn(row, 900)));
    assert!(matches!(kind_of(&volumes).0, Kind::Numeric { .. }), "{:?}", kind_of(&volumes));
}

#[test]
fn lists_of_codes_are_no_numbers() {
    let list =
        |row: usize| (0..=drawn(row, 4)).map(|at| drawn(row + at, 900).to_string()).collect::<Vec<_>>().join(",");
    let (kind, reason) = kind_of(&cells(300, list));
    assert!(matches!(kind, Kind::Text { .. }) && reason.starts_with("lists of codes"), "{reason}");
    let thousands = cells(300, |row| format!("{},{:03}", 1 + drawn(row, 90), drawn(row + 1, 1000)));
    assert!(matches!(kind_of(&thousands).0, Kind::Numeric { .. }));
    let bracketed = cells(300, |row| format!("[{}]", ["12", "12, 8", "3, 12, 8", "7"][drawn(row, 4)]));
    assert!(matches!(kind_of(&bracketed).0, Kind::Categorical { .. }));
}

#[test]
fn one_text_among_numbers_stands_for_none() {
    let numbers = cells(100, |row| if row % 3 == 0 { ".".into() } else { (row * 7).to_string() });
    assert!(matches!(kind_of(&numbers).0, Kind::Numeric { .. }), "{:?}", kind_of(&numbers));
    let words = cells(100, |row| if row % 3 == 0 { format!("w{}", row % 2) } else { (row * 7).to_string() });
    assert!(!matches!(kind_of(&words).0, Kind::Numeric { .. }));
}

#[test]
fn seconds_with_decimals_are_moments_by_their_name() {
    let moments = cells(200, |row| format!("17{:08}.25", 50_775_809 + 17 * row % 90));
    assert!(matches!(named("mtime", &moments).0, Kind::Date { format: DateFormat::EpochSeconds, .. }));
    assert!(matches!(named("revenue", &moments).0, Kind::Numeric { .. }));
}
