//! What every planted table must hold; nothing is fitted here.

use std::collections::{BTreeMap, BTreeSet};

use gnsm::{Values, read_table};

use super::*;

/// Tables of a few seeds.
fn some() -> Vec<Made> {
    table_names().into_iter().flat_map(|name| (0..2).filter_map(move |seed| make(name, seed))).collect()
}

#[test]
fn the_seed_decides_everything() {
    for name in ["survey", "staff", "orders"] {
        assert_eq!(make(name, 3), make(name, 3));
        let [three, four] = [3, 4].map(|seed| make(name, seed).expect("a table"));
        assert_ne!(three.clean, four.clean);
        assert_ne!(three.truth, four.truth);
    }
    assert_eq!(make("magic", 0), None);
}

#[test]
fn every_kind_is_planted_and_named_once() {
    let names: BTreeSet<&str> = KINDS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), KINDS.len());
    assert!(names.len() >= 25);
    let planned: BTreeSet<&str> = MAKERS.iter().flat_map(|maker| (maker.plans)()).map(|plan| plan.kind).collect();
    assert_eq!(planned, names);
    let planted: BTreeSet<&str> = some().iter().flat_map(|made| &made.truth).map(|oddity| oddity.kind).collect();
    assert!(planted.len() >= 35, "{planted:?}");
}

/// A plan that names a column which is not there, or finds no row, would plant nothing and say nothing.
#[test]
fn every_plan_finds_a_row() {
    for maker in &MAKERS {
        let clean = (maker.table)(&mut Draw::new(maker.name, 11, "rows"));
        let plans = (maker.plans)();
        let mut expected: BTreeMap<&str, usize> = BTreeMap::new();
        for plan in &plans {
            *expected.entry(plan.kind).or_default() += 1;
        }
        let (_, truth) = plant::plant(&clean, plans, usize::MAX, &mut Draw::new(maker.name, 11, "oddities"));
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for oddity in &truth {
            *found.entry(oddity.kind).or_default() += 1;
        }
        assert_eq!(found, expected, "{}", maker.name);
    }
}

#[test]
fn the_truth_is_the_difference_to_the_clean_table() {
    for Made { name, clean, odd, truth, .. } in some() {
        let mut changed: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
        assert_eq!(clean.rows.len(), odd.rows.len());
        for (row, (before, after)) in clean.rows.iter().zip(&odd.rows).enumerate() {
            for (place, _) in before.iter().zip(after).enumerate().filter(|(_, (before, after))| before != after) {
                changed.entry(row).or_default().insert(&clean.header[place]);
            }
        }
        let mut rows = BTreeSet::new();
        for oddity in &truth {
            for row in &oddity.rows {
                assert!(rows.insert(*row), "{name}: two oddities in row {row}");
            }
            let columns: BTreeSet<&str> = oddity.rows.iter().filter_map(|row| changed.remove(row)).flatten().collect();
            assert!(columns.contains(oddity.columns[0].as_str()), "{name}: {oddity:?} changed {columns:?}");
            let allowed: BTreeSet<&str> = oddity.columns.iter().map(String::as_str).collect();
            assert!(columns.is_subset(&allowed), "{name}: {oddity:?} changed {columns:?}");
        }
        assert!(changed.is_empty(), "{name}: changed and not told: {changed:?}");
    }
}

#[test]
fn tables_have_their_sizes() {
    for Made { name, clean, truth, .. } in some() {
        let (rows, columns, planted) = match name {
            "ledger-us" => (5000, 15, 22),
            "ledger-eu" => (4000, 15, 22),
            "claims" => (3000, 14, 18),
            "logins" => (20_000, 10, 14),
            "wide" => (2000, 200, 8),
            "sensors" => (8760, 6, 10),
            "staff" => (1200, 12, 12),
            "survey" => (300, 10, 7),
            _ => (2500, 13, 15),
        };
        assert_eq!((clean.rows.len(), clean.header.len(), truth.len()), (rows, columns, planted), "{name}");
        assert!(clean.rows.iter().all(|row| row.len() == columns), "{name}");
        assert_eq!(clean.header.iter().collect::<BTreeSet<_>>().len(), columns, "{name}");
    }
}

#[test]
fn the_library_reads_the_cells_as_they_were_made() {
    let folder = std::env::temp_dir().join(format!("gnsm-planted-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for made in table_names().into_iter().filter_map(|name| make(name, 1)) {
        let path = write(&made, &folder).expect("written");
        let table = read_table(&path).expect("read");
        let names: Vec<&String> = table.columns.iter().map(|column| &column.name).collect();
        assert_eq!(names, made.odd.header.iter().collect::<Vec<_>>(), "{}", made.name);
        for (place, column) in table.columns.iter().enumerate() {
            let Values::Text(cells) = &column.values else { panic!("{} is not text", column.name) };
            assert!(cells.iter().eq(made.odd.rows.iter().map(|row| row[place].as_str())), "{}", column.name);
        }
        let older = folder.join(format!("{}-1.older.csv", made.name));
        assert_eq!(older.is_file(), made.ordered);
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn cells_that_are_planted_empty_are_full_elsewhere() {
    for made in some() {
        for oddity in made.truth.iter().filter(|oddity| oddity.kind == "missing-cell") {
            let place = made.clean.place(&oddity.columns[0]).expect("a column");
            assert!(made.clean.rows.iter().all(|row| !row[place].is_empty()), "{}: {oddity:?}", made.name);
        }
    }
}

#[test]
fn identifiers_of_clean_tables_are_unique() {
    let identifiers = [
        ("ledger-us", "invoice_number"),
        ("ledger-eu", "belegnummer"),
        ("claims", "claim_id"),
        ("logins", "session"),
        ("wide", "account"),
        ("sensors", "time"),
        ("staff", "employee_id"),
        ("orders", "order_no"),
    ];
    for (name, column) in identifiers {
        let clean = make(name, 0).expect("a table").clean;
        let place = clean.place(column).expect("a column");
        let distinct: BTreeSet<&String> = clean.rows.iter().map(|row| &row[place]).collect();
        assert_eq!(distinct.len(), clean.rows.len(), "{name}");
    }
}
