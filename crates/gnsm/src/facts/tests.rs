use super::*;
use crate::columns::ColumnChoices;
use crate::table::{Column, ReadOptions, TableReader, Values};

/// 2026-01-01.
const NOW: f64 = 20_454.0 * 86_400.0;

fn read(content: &str) -> Table {
    let input = Box::new(std::io::Cursor::new(content.as_bytes().to_vec()));
    let mut reader = TableReader::from_reader("t.csv", input, &ReadOptions::default()).expect("a table");
    reader.next_batch(usize::MAX).expect("rows").expect("rows")
}

fn of_table(table: &Table) -> Vec<Fact> {
    let rows: Vec<usize> = (0..table.n_rows()).collect();
    let schema = Schema::look(table, &rows, &ColumnChoices::default()).expect("a schema");
    find(table, &schema, NOW, 3)
}

/// The facts of a table with these columns and a cell for each row and column.
fn facts(header: &str, n: usize, row: impl Fn(usize) -> String) -> Vec<Fact> {
    of_table(&read(&format!("{header}\n{}", (0..n).map(|at| row(at) + "\n").collect::<String>())))
}

fn only(facts: &[Fact], kind: FactKind) -> &Fact {
    let found: Vec<&Fact> = facts.iter().filter(|fact| fact.kind == kind).collect();
    assert_eq!(found.len(), 1, "{kind:?} in {facts:?}");
    found[0]
}

fn has(facts: &[Fact], kind: FactKind) -> bool {
    facts.iter().any(|fact| fact.kind == kind)
}

/// A number that looks drawn, below `n`.
fn drawn(row: usize, n: usize) -> usize {
    (row * 7919 + row * row * 31) % 10_007 % n
}

#[test]
fn a_plain_table_has_no_facts() {
    let found = facts("kind,size,weight", 300, |row| {
        format!("{},{},{}.5", ["a", "bb", "c"][drawn(row, 3)], drawn(row + 5, 200), drawn(row + 11, 90))
    });
    assert_eq!(found, []);
}

#[test]
fn empty_rows_and_repeated_rows_are_counted() {
    let found = facts("a,b,c", 60, |row| match row {
        10 | 20 => ",,".into(),
        30 | 31 => "x0,7,0.25".into(),
        _ => format!("x{},{},{row}.5", row % 3, drawn(row, 50)),
    });
    let empty = only(&found, FactKind::EmptyRows);
    assert_eq!((empty.count, empty.rows.as_slice(), empty.text.as_str()), (2, &[10, 20][..], "2 rows are empty"));
    let repeated = only(&found, FactKind::RepeatedRows);
    assert_eq!((repeated.count, repeated.rows.as_slice()), (1, &[31][..]));
    assert_eq!(repeated.text, "1 row repeats an earlier one in full");
    // A row number hides them.
    let found =
        facts("n,a,b,c", 60, |row| format!("{row},x{},{},{}.5", row % 55 % 3, drawn(row % 55, 50), row % 55 % 54));
    assert!(only(&found, FactKind::RepeatedRows).text.ends_with("in everything but `n`"), "{found:?}");
}

#[test]
fn keys_that_repeat_are_named() {
    let found = facts("id,a", 200, |row| format!("K{:05},{}", if row == 9 { 8 } else { row }, drawn(row, 90)));
    let keys = only(&found, FactKind::RepeatedKeys);
    assert_eq!((keys.count, keys.rows.as_slice()), (2, &[8, 9][..]));
    assert_eq!(keys.text, "1 value of `id` occurs more than once, in 2 rows: `K00008`");
    assert!(!has(&facts("id,a", 200, |row| format!("K{row:05},{}", drawn(row, 90))), FactKind::RepeatedKeys));
}

#[test]
fn a_number_far_below_all_others_means_missing() {
    let cell = |row: usize, n: usize| {
        if drawn(row, 12) == 0 { "-200".to_owned() } else { format!("{}.5", drawn(row + n, 900)) }
    };
    let found = facts("a,b,c", 400, |row| format!("{},{},{}", cell(row, 1), cell(row + 3, 2), drawn(row, 300)));
    let code = only(&found, FactKind::MissingCode);
    assert_eq!(code.columns, ["a", "b"]);
    assert!(
        code.text.starts_with("`-200` seems to mean a missing value in ")
            && code.text.ends_with(" of 2 columns: `a`, `b`")
    );
    let mut choices = ColumnChoices::default();
    assert_eq!((take(&found, &mut choices), take(&found, &mut choices)), (1, 0), "once");
    assert!(
        choices.missing.is_some_and(|texts| texts.contains(&"-200".to_owned()) && texts.contains(&"NA".to_owned()))
    );
    // Temperatures, debts and prices have none.
    for low in [-20, -250, -3] {
        let found = facts("a", 400, |row| (drawn(row, 600) as i32 + low).to_string());
        assert!(!has(&found, FactKind::MissingCode), "{found:?}");
    }
    for code in ["999", "-9", "-1", "2147483647"] {
        let found = facts("a,b", 400, |row| {
            format!(
                "{},{}.5",
                if drawn(row, 20) == 0 { code.into() } else { drawn(row + 1, 60).to_string() },
                drawn(row, 70)
            )
        });
        assert!(only(&found, FactKind::MissingCode).text.starts_with(&format!("`{code}` ")), "{found:?}");
    }
}

#[test]
fn a_code_that_is_a_value_elsewhere_is_not_taken() {
    let found = facts("a,b", 1000, |row| {
        let a = if drawn(row, 20) == 0 { "999".into() } else { format!("{}", drawn(row + 1, 60)) };
        format!("{a},{}", if row == 5 { 999 } else { drawn(row + 7, 1200) })
    });
    let code = only(&found, FactKind::MissingCode);
    assert!(code.advice.is_none() && code.text.ends_with("other columns have it as a value"), "{code:?}");
}

#[test]
fn texts_and_dates_that_mean_missing() {
    let found = facts("a,b,c", 300, |row| {
        let date = if row % 15 == 0 {
            "9999-12-31".into()
        } else {
            format!("2021-{:02}-{:02}", 1 + drawn(row, 12), 1 + drawn(row + 1, 28))
        };
        let number = if drawn(row, 9) == 0 { "unknown".into() } else { drawn(row, 200).to_string() };
        format!("{number},{},{date}", ["x", "y", "."][drawn(row + 2, 3)])
    });
    let codes: Vec<(&str, &str)> = found
        .iter()
        .filter_map(|fact| match &fact.advice {
            Some(Advice::Missing(text)) => Some((text.as_str(), fact.columns[0].as_str())),
            _ => None,
        })
        .collect();
    assert!(
        codes.len() == 3 && [("unknown", "a"), (".", "b"), ("9999-12-31", "c")].iter().all(|code| codes.contains(code)),
        "{found:?}"
    );
    let dated = facts("d", 300, |row| match drawn(row, 10) {
        0 => "1900-01-01".into(),
        n => format!("20{:02}-{:02}-11", 10 + n, 1 + drawn(row + 1, 12)),
    });
    assert!(only(&dated, FactKind::MissingCode).text.starts_with("`1900-01-01` "), "{dated:?}");
    assert!(!has(&dated, FactKind::OldDates));
}

#[test]
fn strays_among_numbers_are_told() {
    let found = facts("a", 300, |row| match row {
        7 => "12a".into(),
        8 => "x".into(),
        _ => drawn(row, 200).to_string(),
    });
    let strays = only(&found, FactKind::Strays);
    assert_eq!((strays.count, strays.rows.as_slice()), (2, &[7, 8][..]));
    assert_eq!(strays.text, "`a` holds numbers, and 2 cells are none: `12a`, `x`");
}

#[test]
fn numbers_that_are_text_elsewhere() {
    let found = facts("a,b", 300, |row| format!("\"$1,{:03}.50\",{}", drawn(row, 900), drawn(row, 70)));
    let text = only(&found, FactKind::NumbersAsText);
    assert_eq!((text.count, text.columns.as_slice()), (300, &["a".to_owned()][..]));
    let mut table = read("a,b\n1,2\n");
    table.columns[0].values = Values::Category { codes: vec![0], names: vec!["1".into()] };
    table.lines = (1..=40).collect();
    let names: Vec<String> = (0..40).map(|row| format!("{}.5", drawn(row, 900))).collect();
    table.columns = vec![Column { name: "a".into(), values: Values::Category { codes: (0..40).collect(), names } }];
    assert!(has(&of_table(&table), FactKind::NumbersAsText), "declared as texts");
}

#[test]
fn units_and_currencies_are_counted() {
    let found = facts("a,b", 300, |row| {
        let unit = if row % 60 == 1 { "kg" } else { "oz" };
        format!("{}.5 {unit},{}{}", drawn(row, 90), if row % 50 == 2 { "€" } else { "$" }, drawn(row, 800))
    });
    let mixed: Vec<&Fact> = found.iter().filter(|fact| fact.kind == FactKind::MixedUnits).collect();
    assert_eq!(mixed.iter().map(|fact| fact.count).collect::<Vec<_>>(), [5, 6], "{found:?}");
    assert_eq!(mixed[0].text, "`a` is in several units: `oz` in 295 cells, `kg` in 5 cells");
    assert!(!has(&facts("a", 300, |row| format!("{}.5 oz", drawn(row, 90))), FactKind::MixedUnits));
}

#[test]
fn spellings_by_case_and_blanks() {
    let found = facts("a,b", 300, |row| {
        let city = match row {
            5 => "berlin",
            6 => "Berlin ",
            7 => "New  York",
            _ => ["Berlin", "New York", "Rome"][drawn(row, 3)],
        };
        format!("{city},{}", ["m", "M"][drawn(row, 2)])
    });
    let spellings = only(&found, FactKind::Spellings);
    assert_eq!((spellings.count, spellings.rows.as_slice()), (3, &[5, 6, 7][..]));
    assert!(
        spellings.text.starts_with("2 values of `a` are written in several ways, by case or blanks alone: "),
        "{spellings:?}"
    );
}

#[test]
fn dates_after_today_and_before_1900() {
    let dates = |row: usize| match row {
        3 => "2046-08-15".to_owned(),
        4 => "1823-01-02".to_owned(),
        _ => format!("20{:02}-{:02}-{:02}", drawn(row, 20), 1 + drawn(row + 1, 12), 1 + drawn(row + 2, 28)),
    };
    let found = facts("d", 300, dates);
    assert_eq!(only(&found, FactKind::FutureDates).text, "1 date of `d` is in the future: 2046-08-15");
    assert_eq!(only(&found, FactKind::OldDates).rows, [4]);
    let past = facts("d", 300, |row| format!("18{:02}-{:02}-01", drawn(row, 90), 1 + drawn(row + 1, 12)));
    assert!(!has(&past, FactKind::OldDates), "a table about the past");
}

#[test]
fn hours_and_minutes_in_one_number_are_times() {
    let found =
        facts("leaves,n", 300, |row| format!("{},{}", 100 * drawn(row, 24) + drawn(row + 1, 60), drawn(row, 90)));
    let times = only(&found, FactKind::Times);
    assert_eq!(times.advice, Some(Advice::Times(vec!["leaves".into()])));
    let found = facts("amount", 300, |row| drawn(row, 2300).to_string());
    assert!(!has(&found, FactKind::Times));
    let found = facts("price", 300, |row| (50 * (1 + drawn(row, 47))).to_string());
    assert!(!has(&found, FactKind::Times), "what is rounded to fifty has no minutes");
}

#[test]
fn copies_other_words_and_functions() {
    let found = facts("code,name,again,region,n", 400, |row| {
        let at = drawn(row, 12);
        format!("c{at},name {},c{at},{},{}.5", at * 7 % 12, ["north", "south"][at % 2], drawn(row + 3, 300))
    });
    assert_eq!(only(&found, FactKind::Copies).text, "`again` is a copy of `code`");
    let functions: Vec<&str> =
        found.iter().filter(|fact| fact.kind == FactKind::Functions).map(|fact| fact.text.as_str()).collect();
    assert_eq!(
        functions,
        [
            "`name` says the same as `code`, in other words (12 values)",
            "`region` is given by `code`: one value for each of its 12",
        ]
    );
    // Keys give everything, and few rows agree by chance.
    let found = facts("id,a,b", 30, |row| format!("k{row},{},{}", row % 14, row % 14 % 2));
    assert!(!has(&found, FactKind::Functions), "{found:?}");
}

#[test]
fn constants_and_empty_columns() {
    let found = facts("a,year,note", 50, |row| format!("{},2013,", drawn(row, 40)));
    assert_eq!(only(&found, FactKind::Constants).text, "1 column has one value: `year = 2013`");
    assert_eq!(only(&found, FactKind::EmptyColumns).text, "1 column is empty: `note`");
}

#[test]
fn texts_in_facts_are_short_and_plain() {
    assert_eq!(quoted(&"x".repeat(5_000_000)), format!("`{}…`", "x".repeat(40)));
    assert_eq!((quoted("a\nb"), count(8530), counted(1, "row")), ("`a␣b`".into(), "8,530".into(), "1 row".into()));
    assert_eq!(listed(["a", "b", "c", "d", "e", "f", "g"]), "`a`, `b`, `c`, `d`, `e` and 2 more");
}

#[test]
fn columns_that_are_missing_or_zero_together_give_nothing() {
    let found = facts("year,died,a,b", 400, |row| match drawn(row, 9) {
        0 => format!("{},yes,{},{}", 80 + drawn(row + 1, 9), drawn(row, 70), drawn(row + 2, 300)),
        1 if row < 60 => format!(",no,{},{}", 1000 + row, 2000 + row),
        _ => ",no,0,0".to_owned(),
    });
    assert!(!has(&found, FactKind::Functions), "{found:?}");
}

#[test]
fn a_name_is_no_code_for_missing() {
    let found = facts("title,n", 300, |row| {
        format!("{},{}", if row == 7 { "Missing".into() } else { format!("film {row}") }, drawn(row, 90))
    });
    assert!(!has(&found, FactKind::MissingCode), "{found:?}");
}
