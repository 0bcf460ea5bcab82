use super::super::survey::row_hashes;
use super::*;
use crate::table::{Column, TextCells, Values};

fn table(cells: impl Iterator<Item = String>) -> Table {
    let mut texts = TextCells::default();
    cells.for_each(|cell| texts.push(&cell));
    let lines = (1..=texts.len() as u64).collect();
    let columns = vec![Column { name: "c".into(), values: Values::Text(texts) }];
    Table { file: "f".into(), columns, lines, rows_may_omit_columns: false, parts: Vec::new() }
}

/// The cells of the chosen rows, in the order in which they are given.
fn chosen(table: &Table, most: usize, size: usize) -> Vec<String> {
    chosen_by(ChosenRows::new(most), table, size)
}

fn chosen_by(mut rows: ChosenRows, table: &Table, size: usize) -> Vec<String> {
    let mut survey = Survey::default();
    for part in (0..table.n_rows()).collect::<Vec<_>>().chunks(size) {
        let hashes = survey.add(table, part);
        rows.add(table, part, &hashes).expect("added");
    }
    let table = rows.finish(&survey).expect("finished").expect("rows");
    (0..table.n_rows()).map(|row| table.columns[0].values.text(row).expect("text").into_owned()).collect()
}

#[test]
fn the_same_rows_are_chosen_whatever_their_order() {
    let forwards = table((0..5000).map(|i| format!("row {}", i % 4000)));
    let backwards = table((0..5000).rev().map(|i| format!("row {}", i % 4000)));
    let expected = chosen(&forwards, 300, 5000);
    assert_eq!(expected.len(), 300);
    assert_eq!(chosen(&forwards, 300, 64), expected);
    assert_eq!(chosen(&backwards, 300, 501), expected);
    // What a table in many parts is filtered by lets the same rows through.
    let all: Vec<usize> = (0..5000).collect();
    let mut smallest = [SmallestHashes::new(300), SmallestHashes::new(300)];
    for (part, smallest) in all.chunks(2500).zip(&mut smallest) {
        smallest.add(&row_hashes(&forwards, part));
    }
    let [mut one, other] = smallest;
    one.merge(&other);
    let limit = one.limit();
    let through: Vec<usize> = all.iter().copied().filter(|row| row_hashes(&forwards, &[*row])[0] <= limit).collect();
    assert_eq!(chosen_by(ChosenRows::below(300, limit), &forwards.select(&through), 100), expected);
}

#[test]
fn rows_that_repeat_keep_their_share_where_all_different_rows_have_room() {
    // Half of the rows are one row, the others are a hundred rows fifty times each.
    let table = table((0..10_000).map(|i| if i % 2 == 0 { "often".into() } else { format!("row {}", i / 2 % 100) }));
    let found = chosen(&table, 1000, 700);
    assert_eq!(found.len(), 1000);
    assert_eq!(found.iter().filter(|cell| *cell == "often").count(), 500);
    for i in 0..100 {
        let n = found.iter().filter(|cell| **cell == format!("row {i}")).count();
        assert!((4..=6).contains(&n), "{n}");
    }
}

#[test]
fn no_row_is_more_than_a_thousandth_of_those_that_were_chosen_by_chance() {
    let rows = (0..40_000).map(|i| format!("row {}", if i % 2 == 0 { i % 40 } else { i }));
    let found = chosen(&table(rows), 4000, 3000);
    assert!(found.len() <= 4000 && found.len() > 3900, "{}", found.len());
    let mut most = 0;
    for same in found.chunk_by(|a, b| a == b) {
        most = most.max(same.len());
    }
    assert!(most <= 4, "{most}");
}

#[test]
fn a_table_that_has_room_is_kept_whole() {
    let rows = table((0..50).map(|i| format!("row {}", i % 20)));
    let mut found = chosen(&rows, 50, 7);
    let mut expected: Vec<String> = (0..50).map(|i| format!("row {}", i % 20)).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn as_many_rows_as_there_is_room_for_are_all_of_them() {
    let rows = table((0..90).map(|i| format!("row {}", i % 30)));
    let all: Vec<usize> = (0..90).collect();
    for (most, is_all) in [(29, false), (30, true), (31, true)] {
        let mut smallest = SmallestHashes::new(most);
        smallest.add(&row_hashes(&rows, &all));
        assert_eq!(smallest.limit() == u64::MAX, is_all, "{most}");
    }
}
