use std::fmt::Write as _;

use super::super::schema::{ColumnChoices, Kind, Schema};
use super::*;
use crate::table::{ReadOptions, TableReader};

fn read(name: &str, text: &str) -> Table {
    let input = Box::new(std::io::Cursor::new(text.to_owned()));
    let mut reader = TableReader::from_reader(name, input, &ReadOptions::default()).expect("opened");
    reader.next_batch(usize::MAX).expect("read").expect("rows")
}

/// A table of many kinds of columns: a key, a date, a category, money, words among numbers, something missing.
fn orders(n_rows: usize) -> Table {
    let mut text = String::from("order,day,country,price,size,note\n");
    for i in 0..n_rows {
        let size = if i % 20 == 3 { "large".to_owned() } else { format!("{}", i % 37) };
        let country = ["DE", "FR", "PL", ""][i * i % 4];
        let _ = writeln!(
            text,
            "{},2024-{:02}-{:02},{country},${}.50,{size},{}",
            i + 7,
            i % 12 + 1,
            i % 28 + 1,
            i % 90,
            i % 3
        );
    }
    read("orders.csv", &text)
}

/// The survey of a table in parts of this size, merged one after the other, the last one first.
fn surveyed(table: &Table, size: usize) -> Survey {
    let rows: Vec<usize> = (0..table.n_rows()).collect();
    let mut whole = Survey::default();
    for part in rows.chunks(size).rev() {
        let mut survey = Survey::default();
        survey.add(table, part);
        // By way of its bytes, as from another machine.
        let bytes = serde_json::to_vec(&survey).expect("written");
        whole.merge(serde_json::from_slice(&bytes).expect("read"));
    }
    whole.settled()
}

fn learned(table: &Table, survey: Option<&Survey>) -> Schema {
    let rows: Vec<usize> = (0..table.n_rows()).collect();
    Schema::learn_surveyed(table, &rows, &ColumnChoices::default(), survey).expect("a schema")
}

#[test]
fn a_survey_tells_the_decimal_mark_as_the_table_does() {
    let mut text = String::from("zaehler;kwh;liter;betrag;ort\n");
    for i in 0..2000usize {
        // Three digits after each point and comma: by themselves, the first two columns tell nothing.
        let (kwh, liter) = (1000 + i * 7919 % 90_000, 100 + i * 6007 % 900);
        let (thousands, kwh) = (kwh / 1000, kwh % 1000);
        let ort = ["Bonn", "Ulm"][i % 2];
        let _ = writeln!(
            text,
            "{thousands}.{kwh:03};{}.{:03};1,{liter};{},{:02};{ort}",
            i % 7 + 1,
            i * 13 % 1000,
            i % 300,
            i % 97
        );
    }
    let table = read("strom.csv", &text);
    let few: Vec<usize> = (0..40).map(|i| i * 49).collect();
    let survey = surveyed(&table, 333);
    for (table, survey) in [(&table, None), (&table.select(&few), Some(&survey))] {
        let schema = learned(table, survey);
        for column in &schema.columns[..4] {
            assert!(matches!(&column.kind, Kind::Numeric { format, .. } if format.decimal_comma), "{column:?}");
        }
    }
}

#[test]
fn few_values_give_the_schema_of_the_whole_table() {
    let table = orders(4000);
    let expected = learned(&table, None);
    // A hundredth of the rows, and a survey of all.
    let few: Vec<usize> = (0..40).map(|i| i * 97).collect();
    for size in [333, 5000] {
        let found = learned(&table.select(&few), Some(&surveyed(&table, size)));
        for (found, expected) in found.columns.iter().zip(&expected.columns) {
            assert_eq!(found.reason, expected.reason, "{}", found.name);
            assert_eq!(found.kind, expected.kind, "{}", found.name);
        }
    }
}

#[test]
fn a_survey_does_not_depend_on_parts_or_order() {
    let table = orders(2000);
    let backwards: Vec<usize> = (0..2000).rev().collect();
    let expected = serde_json::to_string(&surveyed(&table, 2000)).expect("written");
    assert_eq!(serde_json::to_string(&surveyed(&table, 77)).expect("written"), expected);
    assert_eq!(serde_json::to_string(&surveyed(&table.select(&backwards), 300)).expect("written"), expected);
    let mut hashes = row_hashes(&table, &backwards);
    hashes.reverse();
    assert_eq!(hashes, Survey::default().add(&table, &(0..2000).collect::<Vec<_>>()));
}

/// Numbers as JSON lines in which a word makes text of the whole batch.
#[test]
fn batches_of_different_types_are_one_column() {
    let rows: Vec<String> = (0..60).map(|i| format!("{{\"a\": {}, \"b\": \"x\"}}\n", i % 25)).collect();
    let numbers = rows.concat();
    let words = "{\"a\": \"many\", \"b\": \"y\"}\n{\"a\": 3, \"b\": \"y\"}\n";
    let whole = read("t.jsonl", &(numbers.clone() + words));
    let (first, second) = (read("t.jsonl", &numbers), read("t.jsonl", words));
    let mut survey = Survey::default();
    let all = |table: &Table| (0..table.n_rows()).collect::<Vec<_>>();
    let mut hashes = survey.add(&first, &all(&first));
    hashes.extend(survey.add(&second, &all(&second)));
    assert_eq!(hashes, row_hashes(&whole, &all(&whole)), "a number is the same number as text");
    let chosen = survey.retyped(first).expect("text");
    assert!(matches!(chosen.columns[0].values, Values::Text(_)));
    let found = learned(&chosen, Some(&survey.settled()));
    assert_eq!(found.columns, learned(&whole, None).columns);
    assert!(found.columns[0].reason.ends_with("; 1 cell of another kind"), "{}", found.columns[0].reason);
}

/// A table with more distinct values than are counted, as numbers.
fn many(n_rows: usize) -> Table {
    let mut text = String::from("id,code,amount,kind\n");
    for i in 0..n_rows {
        let amount = if i == n_rows / 2 { "-3.25".to_owned() } else { format!("{}.{:02}", i * 7919 % 60_000, i % 100) };
        let _ = writeln!(text, "{},{},{amount},{}", 1000 + i, 100_000 + i % 50_000, i % 5);
    }
    read("many.csv", &text)
}

#[test]
fn many_values_are_told_by_those_of_the_smallest_hashes() {
    let table = many(120_000);
    let survey = surveyed(&table, 40_000);
    let column = |name: &str| survey.columns.iter().find(|column| column.name == name).expect(name);
    let id = column("id").beyond(0);
    assert!(!id.repeats && id.singles == id.distinct, "{id:?}");
    assert!((id.distinct as f64 / 120_000.0 - 1.0).abs() < 0.02, "{id:?}");
    assert_eq!(id.range, Some((1000.0, 120_999.0)));
    let code = column("code").beyond(0);
    assert!(code.repeats && code.singles == 0 && (code.distinct as f64 / 50_000.0 - 1.0).abs() < 0.02, "{code:?}");
    assert_eq!(column("amount").beyond(0).range.map(|(least, _)| least), Some(-3.25));
    assert!(column("kind").values.is_exact());
    // Counts of what is kept are exact, and do not depend on the parts.
    assert!(column("code").values.in_order().iter().all(|(_, count)| (2..=3).contains(count)));
    assert_eq!(surveyed(&table, 7_000), survey);
}

#[test]
fn rules_about_all_rows_see_beyond_the_chosen_ones() {
    let table = many(120_000);
    let survey = surveyed(&table, 50_000);
    let few: Vec<usize> = (0..1000).map(|i| i * 119).filter(|row| *row != 60_000).collect();
    let chosen = table.select(&few);
    let alone = learned(&chosen, None);
    let found = learned(&chosen, Some(&survey));
    let expected = learned(&table, None);
    let kinds = |schema: &Schema| schema.columns.iter().map(|column| column.kind.name()).collect::<Vec<_>>();
    assert_eq!(kinds(&found), kinds(&expected));
    assert_ne!(kinds(&found), kinds(&alone), "the chosen rows alone would take other kinds");
    assert!(found.columns[0].reason.starts_with("a row number: about 1"), "{}", found.columns[0].reason);
    // One negative number among all rows forbids the logarithm.
    let Kind::Numeric { scale, .. } = &found.columns[2].kind else { panic!("{:?}", found.columns[2]) };
    let Kind::Numeric { scale: whole, .. } = &expected.columns[2].kind else { panic!("{:?}", expected.columns[2]) };
    assert_eq!((scale.log_offset, whole.log_offset), (None, None));
    assert!((scale.spread / whole.spread - 1.0).abs() < 0.1, "{scale:?} {whole:?}");
}

#[test]
fn what_is_missing_outside_of_the_chosen_rows_is_known() {
    let table = read("t.csv", "a,b\n1.5,x\n2.5,x\n,y\n4.5,x\n8.5,z\n");
    let found = learned(&table.select(&[0, 1]), Some(&surveyed(&table, 2)));
    assert!(matches!(&found.columns[0].kind, Kind::Numeric { missing: true, .. }), "{:?}", found.columns[0]);
    let Kind::Categorical { categories, .. } = &found.columns[1].kind else { panic!("{:?}", found.columns[1]) };
    assert_eq!(categories.as_slice(), ["x", "y", "z"]);
}
