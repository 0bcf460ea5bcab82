//! Wrong cells of a ledger, one of each kind: `--cells` lists them, `gnsm repair` mends what is certain.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::harness::Folder;

const ROWS: u32 = 800;

/// The wrong cells: the row, the column, and what stands there.
const WRONG: [(u32, &str, &str); 5] = [
    (100, "country", "Gemany"),
    (200, "amount", "unknown"),
    (300, "due", "2014-02-10"),
    (500, "invoice", "INV-10499"),
    (600, "posted", "1823-06-01"),
];

/// A ledger in which a supplier has one country and one currency, and bills are due after 30 days.
fn ledger(is_wrong: bool) -> String {
    let suppliers = [
        ("Smith Ltd", "Ireland", "EUR"),
        ("Meyer GmbH", "Germany", "EUR"),
        ("Novak", "Poland", "PLN"),
        ("Roth AG", "Switzerland", "CHF"),
    ];
    let day = |row: u32| (2024, 1 + row / 28 % 12, 1 + row % 28);
    let mut text = String::from("invoice,posted,due,supplier,country,currency,amount\n");
    for row in 0..ROWS {
        let noise = row.wrapping_mul(2_654_435_761) >> 8;
        let (supplier, country, currency) = suppliers[(noise % 7 % 4) as usize];
        let ((year, month, day), (next_year, next_month, _)) = (day(row), day(row + 28));
        let due_year = if next_month < month { next_year + 1 } else { next_year };
        let mut cells = [
            ("invoice", format!("INV-{}", 10_000 + row)),
            ("posted", format!("{year}-{month:02}-{day:02}")),
            ("due", format!("{due_year}-{next_month:02}-{day:02}")),
            ("supplier", supplier.to_owned()),
            ("country", country.to_owned()),
            ("currency", currency.to_owned()),
            ("amount", format!("{}.{:02}", 20 + noise % 400, noise % 100)),
        ];
        if row == 100 {
            (cells[3].1, cells[4].1, cells[5].1) = ("Meyer GmbH".into(), "Germany".into(), "EUR".into());
        }
        for (_, column, value) in WRONG.iter().filter(|(at, ..)| is_wrong && *at == row) {
            let cell = cells.iter_mut().find(|(name, _)| name == column).expect("a column");
            (*value).clone_into(&mut cell.1);
        }
        let cells = cells.map(|(_, value)| value);
        writeln!(text, "{}", cells.join(",")).expect("written");
    }
    text
}

/// The row, the column and what was seen, of each line.
fn listed(text: &str) -> BTreeSet<(u32, String, String)> {
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[0].parse().expect("a row"), cells[1].to_owned(), cells[2].to_owned())
    };
    text.lines().skip(1).map(line).collect()
}

#[test]
fn every_kind_of_wrong_cell_is_listed() {
    let folder = Folder::new();
    folder.write("ledger.csv", ledger(true));
    folder.run(&["detect", "ledger.csv", "--cells", "-o", "cells.csv"]).succeeded();
    let found = listed(&folder.text("cells.csv"));
    for (row, column, value) in WRONG {
        assert!(found.contains(&(row, column.to_owned(), value.to_owned())), "{column}: {found:?}");
    }
    // The twin of the repeated key is as suspect as the copy.
    assert!(found.len() <= WRONG.len() + 1, "{found:?}");
}

#[test]
fn a_table_without_mistakes_has_no_wrong_cells() {
    let folder = Folder::new();
    folder.write("ledger.csv", ledger(false));
    folder.run(&["detect", "ledger.csv", "--cells", "-o", "cells.csv"]).succeeded();
    assert_eq!(listed(&folder.text("cells.csv")), BTreeSet::new());
}

#[test]
fn repair_changes_what_is_certain_and_nothing_else() {
    let folder = Folder::new();
    folder.write("ledger.csv", ledger(true));
    folder.run(&["fit", "ledger.csv", "-o", "ledger.gnsm"]).succeeded();
    let repair = ["repair", "ledger.gnsm", "ledger.csv"];
    folder.run(&[&repair[..], &["-o", "mended.csv", "--changes", "changes.csv"]].concat()).succeeded();
    let changes = listed(&folder.text("changes.csv"));
    assert_eq!(changes, BTreeSet::from([(100, "country".to_owned(), "Gemany".to_owned())]));
    let (before, after) = (folder.text("ledger.csv"), folder.text("mended.csv"));
    assert_eq!(before, ledger(true), "the file itself is as it was");
    for (at, (old, new)) in before.lines().zip(after.lines()).enumerate() {
        let expected = if at == 101 { old.replace("Gemany", "Germany") } else { old.to_owned() };
        assert_eq!(new, expected);
    }
    let dry = folder.run(&[&repair[..], &["--dry-run"]].concat()).succeeded();
    assert!(dry.stdout.contains("Germany"), "{}", dry.stdout);
}
