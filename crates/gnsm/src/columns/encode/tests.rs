use proptest::prelude::*;

use super::*;
use crate::columns::{ABSENT, Aside, ColumnChoices, DatePart, Scale};
use crate::table::TextCells;

fn table(columns: &[(&str, &[String])]) -> Table {
    let columns: Vec<Column> = columns
        .iter()
        .map(|(name, cells)| {
            let mut text = TextCells::default();
            for cell in *cells {
                text.push(cell);
            }
            Column { name: (*name).to_owned(), values: Values::Text(text) }
        })
        .collect();
    let n_rows = columns[0].values.len() as u64;
    Table {
        file: "f".into(),
        columns,
        lines: (2..2 + n_rows).collect(),
        rows_may_omit_columns: false,
        parts: Vec::new(),
    }
}

fn encoder(table: &Table) -> Encoder {
    let rows: Vec<usize> = (0..table.n_rows()).collect();
    Encoder::new(Schema::learn(table, &rows, &ColumnChoices::default()).expect("a schema"))
}

fn texts(cells: &[&str]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}

#[test]
fn missing_and_unseen_are_told_apart() {
    let learned = table(&[("c", &texts(&["a", "b", "", "a"])), ("x", &texts(&["1.5", "2.5", "3.5", "4.5"]))]);
    let encoder = encoder(&learned);
    assert_eq!((encoder.layout().n_numbers(), encoder.layout().size(0), encoder.layout().size(1)), (1, 3, 1));
    let rows = encoder.encode(&table(&[("x", &texts(&["", "3"])), ("c", &texts(&["new", "?"]))])).expect("encoded");
    assert_eq!(rows.codes(0), [UNSEEN, UNSEEN], "a new category; a number that was never missing before");
    assert_eq!(rows.codes(1), [2, 0], "missing is a category here");
    assert!(rows.numbers(0)[0].is_nan() && rows.numbers(1)[0] == 0.0);
}

#[test]
fn true_and_false_are_known_however_they_are_spelled() {
    let codes = |learned: &[&str], asked: &str| {
        let encoder = encoder(&table(&[("b", &texts(learned)), ("x", &texts(&["1.5"; 4]))]));
        let rows = encoder.encode(&table(&[("b", &texts(&[asked])), ("x", &texts(&["1.5"]))])).expect("encoded");
        rows.codes(0)[0]
    };
    let pandas = ["True", "False", "False", "True"];
    for (asked, like) in [("true", "True"), ("TRUE", "True"), ("false", "False")] {
        assert_eq!(codes(&pandas, asked), codes(&pandas, like));
        assert_ne!(codes(&pandas, asked), UNSEEN);
    }
    assert_eq!(codes(&pandas, "tRuE"), UNSEEN);
    assert_eq!(codes(&["true", "false", "maybe", "true"], "True"), UNSEEN);
    assert_eq!(codes(&["true", "True", "false", "true"], "TRUE"), UNSEEN);
}

#[test]
fn rare_categories_share_a_place_and_stay_known() {
    let mut cells: Vec<String> = (0..600).map(|i| format!("c{i}")).collect();
    cells.extend((0..600 * 2).map(|i| format!("c{}", i % 500)));
    let learned = table(&[("c", &cells)]);
    let encoder = encoder(&learned);
    assert_eq!(encoder.layout().size(0), 501);
    let rows = encoder.encode(&table(&[("c", &texts(&["c7", "c550", "c700"]))])).expect("encoded");
    assert_eq!((rows.codes(1)[0], rows.codes(2)[0]), (500, UNSEEN));
    assert_eq!(encoder.code_name(&encoder.features()[0], 500), "one of 100 rare values");
    assert_eq!(encoder.layout().members(500), 100);
}

#[test]
fn absurd_numbers_stay_in_bounds() {
    let scale = |centre| Scale { centre, spread: 1.0, log_offset: None };
    for (value, expected) in [(f64::INFINITY, 20.0), (f64::NEG_INFINITY, -20.0), (1e308, 20.0), (5.0, 5.0)] {
        assert!((scale(0.0).scaled(value) - expected).abs() < 1e-6, "{value}");
    }
    assert!(scale(f64::MIN).scaled(f64::MAX).is_finite());
}

#[test]
fn stray_and_missing_cells_of_numbers_are_told_apart() {
    let mut cells: Vec<String> = (0..200).map(|i| format!("{}.5", i % 90)).collect();
    let clean = encoder(&table(&[("x", &cells)]));
    let odd = table(&[("x", &texts(&["unknown", "", "$1,234.50", "5.5"]))]);
    let rows = clean.encode(&odd).expect("encoded");
    let codes: Vec<u32> = (0..4).map(|row| rows.codes(row)[0]).collect();
    assert_eq!(codes, [UNSEEN, UNSEEN, 0, 0]);
    (cells[3], cells[4]) = ("unknown".into(), String::new());
    let dirty = encoder(&table(&[("x", &cells)]));
    let rows = dirty.encode(&odd).expect("encoded");
    let codes: Vec<u32> = (0..4).map(|row| rows.codes(row)[0]).collect();
    assert_eq!(codes, [2, 1, 0, 0]);
    assert_eq!(dirty.layout().missing(0), Some(1));
}

#[test]
fn the_same_moment_is_its_own_kind_only_where_it_is_not_passed() {
    let at = |minutes: usize| format!("2024-03-{:02} {:02}:{:02}", minutes / 1440 + 1, minutes / 60 % 24, minutes % 60);
    let codes_of = |minutes_late: &[usize]| {
        let planned: Vec<String> = (0..300).map(|row| at(100 + 120 * row)).collect();
        let came: Vec<String> = (0..300).map(|row| at(90 + 120 * row + minutes_late[row])).collect();
        let encoder = encoder(&table(&[("planned", &planned), ("came", &came)]));
        let after = encoder.features().iter().find(|feature| matches!(feature.aspect, Aspect::After(_)));
        let group = after.expect("both dates in all rows").group;
        let three = [at(95), at(100), at(105)];
        let rows = table(&[("planned", &vec![at(100); 3]), ("came", three.as_slice())]);
        let rows = encoder.encode(&rows).expect("encoded");
        [0, 1, 2].map(|row| rows.codes(row)[group])
    };
    // Ten minutes early to ten minutes late, now and then on time.
    let [early, same, late] = codes_of(&(0..300).map(|row| row * 7 % 21).collect::<Vec<_>>());
    assert!(early != late && same == late, "{early} {same} {late}");
    // On time, late, and hardly ever early; and never early.
    let [early, same, late] =
        codes_of(&(0..300).map(|row| if row == 3 { 0 } else { 10 + row % 9 }).collect::<Vec<_>>());
    assert!(early != late && same != late && early != same, "{early} {same} {late}");
    let [early, same, late] = codes_of(&(0..300).map(|row| 11 + row % 9).collect::<Vec<_>>());
    assert!(late != UNSEEN && [early, same] == [UNSEEN; 2], "{early} {same} {late}");
}

#[test]
fn dates_give_their_parts_and_differences() {
    let posted: Vec<String> =
        (0..300).map(|i| format!("2024-{:02}-{:02} {:02}:15", i % 12 + 1, i % 28 + 1, 8 + i % 9)).collect();
    let due: Vec<String> =
        (0..300).map(|i| format!("2024-{:02}-{:02} {:02}:15", i % 12 + 1, i % 28 + 1, 10 + i % 9)).collect();
    let encoder = encoder(&table(&[("posted", &posted), ("due", &due)]));
    let aspects: Vec<Aspect> = encoder.features().iter().map(|feature| feature.aspect).collect();
    let parts = [DatePart::Hour, DatePart::Weekday, DatePart::Day].map(Aspect::Part);
    let of_one = [&[Aspect::Position], parts.as_slice()].concat();
    assert_eq!(aspects, [of_one.as_slice(), &of_one, &[Aspect::After(0)]].concat());
    let may_tell = |one: usize, other: usize| encoder.layout().may_tell(1 + one, 1 + other);
    assert!(!may_tell(1, 2) && !may_tell(2, 6), "weekdays and hours of one row are tied by the calendar");
    let odd = table(&[
        ("posted", &texts(&["2024-03-03 03:12", "1823-03-05 09:15", "", "2024-03-05 09:15", "soon"])),
        (
            "due",
            &texts(&[
                "2024-03-05 11:15",
                "2024-03-05 11:15",
                "2024-03-05 11:15",
                "2024-03-04 11:15",
                "2024-03-05 11:15",
            ]),
        ),
    ]);
    let rows = encoder.encode(&odd).expect("encoded");
    assert_eq!(rows.codes(0)[..2], [0, UNSEEN], "in range, at an hour never seen");
    assert_eq!(rows.codes(1)[0], UNSEEN, "far outside");
    assert!(rows.numbers(1)[0].is_nan(), "no difference to what is far outside");
    assert_ne!(rows.codes(1)[8], UNSEEN, "nor a sign");
    assert_eq!(rows.codes(2)[0], UNSEEN, "never missing");
    assert!(rows.numbers(2)[0].is_nan(), "no difference to nothing");
    assert_eq!(rows.codes(3)[8], UNSEEN, "due before posted");
    assert_eq!(rows.codes(4)[0], UNSEEN, "not a date");
    assert_eq!(encoder.seconds_after(&odd, 3, 1, 0), Some(-22.0 * 3600.0));
}

#[test]
fn a_key_that_repeats_is_told_where_the_whole_table_is_known() {
    let mut keys: Vec<String> = (0..100).map(|i| format!("C{i:03}")).collect();
    let kinds: Vec<String> = (0..100).map(|i| ["a", "b"][i % 2].to_owned()).collect();
    let encoder_of = |keys: &[String]| encoder(&table(&[("claim", keys), ("kind", &kinds)]));
    let unique = encoder_of(&keys);
    keys[9] = "C008".into();
    let twice = table(&[("claim", &keys), ("kind", &kinds)]);
    let rows = unique.encode_whole(&twice).expect("encoded");
    assert_eq!([7, 8, 9].map(|row| rows.codes(row)[0]), [0, UNSEEN, UNSEEN]);
    assert_eq!(unique.encode(&twice).expect("encoded").codes(9)[0], 0, "a row by itself repeats nothing");
    let repeating = encoder_of(&keys);
    let rows = repeating.encode_whole(&twice).expect("encoded");
    assert_eq!([7, 8, 9].map(|row| rows.codes(row)[1]), [0, 1, 1]);
    let (repeat, n_cells) = (repeating.layout().n_numbers() + 1, repeating.layout().n_cells());
    assert!(
        (0..n_cells).all(|cell| !repeating.layout().may_tell(repeat, cell)),
        "that tells nothing about other cells"
    );
    let of_batch = |encoder: &Encoder| {
        let rows = encoder.encode(&twice).expect("encoded");
        let hidden = Aside::nothing(encoder).hide(encoder, &rows);
        [7, 8, 9].map(|row| hidden.as_ref().unwrap_or(&rows).codes(row)[1])
    };
    assert_eq!(of_batch(&repeating), [0, 0, 0], "a detector that needs every cell sees the usual");
    assert_eq!(of_batch(&repeating.for_detector(true)), [ABSENT; 3], "and one that does not is told nothing");
}

#[test]
fn keys_have_their_length_and_letters_of_hexadecimal_numbers_are_digits() {
    let kinds: Vec<String> = (0..400).map(|i| ["a", "b"][i % 2].to_owned()).collect();
    let mut eans: Vec<String> = (0..400u64).map(|i| format!("40{:011}", i * 79_191_234_567 % 99_999_999_977)).collect();
    eans[7] = "123456789".into();
    let ids: Vec<String> = (0..400u32).map(|i| format!("{:08x}", (i + 1).wrapping_mul(2_654_435_769))).collect();
    let invoices: Vec<String> = (0..400).map(|i| format!("INV-{}", 900 + i)).collect();
    let encoder = encoder(&table(&[("ean", &eans), ("call", &ids), ("invoice", &invoices), ("kind", &kinds)]));
    let shapes = |at: usize| match &encoder.schema().columns[at].kind {
        Kind::Identifier { shapes, .. } => shapes.clone(),
        kind => panic!("{}", kind.name()),
    };
    assert_eq!(shapes(0), ["999999999", "9999999999999"]);
    assert_eq!(shapes(1), ["xxxxxxxx"]);
    assert_eq!(shapes(2), ["A-9"], "numbers that go on have any length");
    let odd = table(&[
        ("ean", &texts(&["4012345678901", "40123"])),
        ("call", &texts(&["28c50644", "test call"])),
        ("invoice", &texts(&["INV-12345", "12345"])),
        ("kind", &texts(&["a", "b"])),
    ]);
    let rows = encoder.encode(&odd).expect("encoded");
    let of_shapes = encoder.features().iter().filter(|feature| feature.aspect == Aspect::Shape);
    let codes: Vec<[bool; 2]> = of_shapes.map(|f| [0, 1].map(|row| rows.codes(row)[f.group] == UNSEEN)).collect();
    assert_eq!(codes, [[false, true]; 3]);
}

#[test]
fn currencies_and_beginnings_of_codes_are_told() {
    let prices: Vec<String> = (0..100).map(|i| format!("$ {}.25", 3 * i)).collect();
    let keys: Vec<String> =
        (0..100).map(|i| if i % 5 == 0 { String::new() } else { format!("INC{:05}", 7 * i) }).collect();
    let encoder = encoder(&table(&[("price", &prices), ("ticket", &keys)]));
    let aspects: Vec<Aspect> = encoder.features().iter().map(|feature| feature.aspect).collect();
    assert_eq!(aspects, [Aspect::Number, Aspect::Mark, Aspect::Key, Aspect::Shape, Aspect::Lead]);
    let odd = table(&[
        ("price", &texts(&["$ 7.25", "€ 7.25", "7.25", "soon", ""])),
        ("ticket", &texts(&["INC00007", "REQ00007", "7", "", "INC00014"])),
    ]);
    let rows = encoder.encode(&odd).expect("encoded");
    let codes = |group: usize| (0..5).map(|row| rows.codes(row)[group]).collect::<Vec<u32>>();
    assert_eq!(codes(1), [0, UNSEEN, UNSEEN, 0, 0], "what is no number has no mark to tell of");
    assert_eq!(codes(2), [0, 0, 0, 1, 0], "a missing key is told once");
    assert_eq!(codes(3), [0, 0, UNSEEN, 0, 0]);
    assert_eq!(codes(4), [0, UNSEEN, UNSEEN, 0, 0]);
}

#[test]
fn ages_are_told_and_dates_of_birth_are_not() {
    let day = |days: usize| {
        let (year, month, day) = crate::table::civil_of_days(days as i64);
        format!("{year}-{month:02}-{day:02}")
    };
    let visits: Vec<String> = (0..600).map(|i| day(19_000 + i)).collect();
    let later: Vec<String> = (0..600).map(|i| day(19_003 + i + i % 4)).collect();
    let births: Vec<String> = (0..600).map(|i| day(19_000 + i - 3_000 - i * 7919 % 12_000)).collect();
    let hired: Vec<String> = (0..600).map(|i| day(10_000 + i % 60 * 140)).collect();
    let encoder = encoder(&table(&[("visit", &visits), ("left", &later), ("birth", &births), ("hired", &hired)]));
    let numbers: Vec<(usize, Aspect)> = encoder
        .features()
        .iter()
        .filter(|feature| feature.number.is_some())
        .map(|feature| (feature.column, feature.aspect))
        .collect();
    // The birth is told by the age at the visit, the other one by the stay; who was hired when is told by the date.
    assert!(numbers.contains(&(0, Aspect::After(2))) && numbers.contains(&(1, Aspect::After(0))), "{numbers:?}");
    assert!(!numbers.iter().any(|feature| matches!(feature, (2, Aspect::Position) | (1, Aspect::After(2 | 3)))));
    assert!(!numbers.contains(&(0, Aspect::After(3))), "{numbers:?}");
    let before = |feature: &&Feature| feature.column == 1 && feature.aspect == Aspect::After(3);
    assert!(encoder.features().iter().any(|feature| before(&feature)), "that it is after is told");
}

proptest! {
    #[test]
    fn scaling_is_monotone_bounded_and_reversible(a in -1e6..1e6f64, b in -1e6..1e6f64, scale in 1e-3..1e3f64) {
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        let scale = Scale { centre: 1.0, spread: scale, log_offset: None };
        prop_assert!(scale.scaled(low) <= scale.scaled(high));
        let z = f64::from(scale.scaled(a));
        prop_assert!(z.abs() <= 20.0);
        if z.abs() < 19.9 {
            let back = scale.unscaled(z);
            prop_assert!((back - a).abs() <= 1e-3 * a.abs().max(scale.spread), "{a} {back}");
        }
    }

    #[test]
    fn a_row_is_encoded_by_itself_whatever_its_neighbours(
        cells in prop::collection::vec(("[abc ?é]{0,2}", prop::option::of(-5.0..5.0f64)), 3..40),
        order in any::<u64>(),
    ) {
        let words: Vec<String> = cells.iter().map(|(word, _)| word.clone()).collect();
        let numbers: Vec<String> = cells.iter().map(|(_, n)| n.map_or(String::new(), |n| format!("{n:.2}"))).collect();
        let whole = table(&[("word", &words), ("number", &numbers)]);
        let encoder = encoder(&whole);
        let encoded = encoder.encode(&whole).expect("encoded");
        let row = (order % cells.len() as u64) as usize;
        let single = table(&[("number", &numbers[row..=row]), ("word", &words[row..=row])]);
        let alone = encoder.encode(&single).expect("encoded");
        prop_assert_eq!(alone.codes(0), encoded.codes(row));
        prop_assert_eq!(bytemuck::cast_slice::<f32, u32>(alone.numbers(0)), bytemuck::cast_slice::<f32, u32>(encoded.numbers(row)));
    }

    #[test]
    fn distinct_rows_stand_for_all(codes in prop::collection::vec(0..3u32, 2..60)) {
        let rows = Encoded::new(codes.len() / 2, codes[..codes.len() / 2 * 2].to_vec(), vec![]);
        let (firsts, of_row) = rows.distinct();
        for (row, which) in of_row.iter().enumerate() {
            prop_assert_eq!(rows.codes(row), rows.codes(firsts[*which as usize]));
        }
        let unique: HashSet<&[u32]> = (0..rows.n_rows()).map(|row| rows.codes(row)).collect();
        prop_assert_eq!(unique.len(), firsts.len());
    }
}

#[test]
fn distinct_rows_are_found_in_order_among_many() {
    let value = |row: usize| (row * row % 7919) as u32;
    let rows =
        Encoded::new(10_000, (0..10_000).map(value).collect(), (0..10_000).map(|row| (row % 2) as f32).collect());
    let mut seen = std::collections::HashMap::new();
    let mut expected = (Vec::new(), Vec::new());
    for row in 0..10_000 {
        let next = seen.len() as u32;
        let which = *seen.entry((value(row), row % 2)).or_insert(next);
        if which == next {
            expected.0.push(row);
        }
        expected.1.push(which);
    }
    assert_eq!(rows.distinct(), expected);
    let picked = rows.select(&expected.0);
    assert!(expected.0.iter().enumerate().all(|(at, row)| picked.codes(at) == rows.codes(*row)));
}

#[test]
fn what_is_no_time_has_no_other_cells_code() {
    let mut times: Vec<String> = (0..300).map(|i| format!("{}:{}5 p.m.", i % 6 + 1, i % 5)).collect();
    for row in 0..9 {
        times[10 * row] = ["soon", "late"][row % 2].into();
    }
    let encoder = encoder(&table(&[("left", &times)]));
    let value = encoder.features().iter().find(|feature| feature.aspect == Aspect::Value).expect("a timetable");
    let odd = table(&[("left", &texts(&["soon", "late", "never", "1:05 p.m."]))]);
    let rows = encoder.encode(&odd).expect("encoded");
    let names: Vec<Option<String>> = (0..4)
        .map(|row| rows.codes(row)[value.group])
        .map(|code| (code != UNSEEN).then(|| encoder.code_name(value, code)))
        .collect();
    assert_eq!(names, [None, None, None, Some("1:05 p.m.".into())]);
}
