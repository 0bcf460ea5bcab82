//! Facts about a file, and files that are not quite as they should be.

use std::fmt::Write as _;

use crate::harness::{Folder, claims};

/// A table of measurements, with a code for missing values, an empty row, hours and minutes, and a row that repeats.
fn measured() -> String {
    let mut table = String::from("left,gas,heat\n");
    for row in 0..300_usize {
        let drawn = |n: usize, more: usize| (row * 7919 + row * row * 31 + more * 613) % 10_007 % n;
        let gas = if row % 20 == 3 { "-200".into() } else { format!("{}.{}", drawn(90, 1), drawn(10, 2)) };
        let _ = match row {
            100 => writeln!(table, ",,"),
            101 | 102 => writeln!(table, "517,1.5,2.25"),
            _ => writeln!(table, "{},{gas},{row}.75", 100 * drawn(24, 3) + drawn(60, 4)),
        };
    }
    table
}

#[test]
fn facts_stand_below_the_columns_and_can_be_taken() {
    let folder = Folder::new();
    folder.write("t.csv", measured());
    let page = folder.run(&["columns", "t.csv"]).succeeded().stdout;
    for fact in [
        "1 row is empty  row 100\n",
        "1 row repeats an earlier one in full  row 102\n",
        "`-200` seems to mean a missing value in 15 cells: `gas`  rows 3, 23, 43, 63, 83, …\n",
        "`left` holds times of day, hours and minutes in one number, such as ",
    ] {
        assert!(page.contains(fact), "{fact} in {page}");
    }
    let number = page.lines().find(|line| line.contains("-200")).and_then(|line| line.trim().split('.').next());
    let rows = folder.run(&["columns", "t.csv", "--fact", number.expect("a number")]).succeeded().stdout;
    assert!(rows.contains("  row 3 (line 5)  gas = -200\n") && rows.lines().count() == 16, "{rows}");
    let error = folder.run(&["columns", "t.csv", "--fact", "99"]).failed();
    assert!(error.starts_with("error: there is no fact 99; there are "), "{error}");

    let json = folder.run(&["columns", "t.csv", "--json"]).succeeded().stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let code = json["facts"].as_array().expect("facts").iter().find(|fact| fact["kind"] == "missing-code");
    let code = code.expect("a code");
    assert_eq!((&code["count"], &code["columns"][0], &code["rows"][0]), (&15.into(), &"gas".into(), &3.into()));
    assert_eq!(code["advice"]["missing"], "-200");

    let run = folder.run(&["columns", "t.csv", "--take-facts", "-o", "s.toml"]).succeeded();
    assert!(run.stderr.contains("took the advice of 2 facts") && !run.stdout.contains("-200"), "{}", run.stderr);
    let schema = folder.text("s.toml");
    assert!(schema.contains("\"-200\"") && schema.contains("left = \"date\""), "{schema}");
    let again = folder.run(&["columns", "t.csv", "--schema", "s.toml", "--json"]).succeeded().stdout;
    assert!(again.contains("\"kind\": \"time\"") && !again.contains("missing-code"), "{again}");
}

#[test]
fn a_table_of_keys_alone_is_shown_all_the_same() {
    let folder = Folder::new();
    let keys: Vec<String> = (0..50).map(|row| format!("K{row:04}\n")).collect();
    folder.write("t.csv", format!("id\n{}", keys.concat()));
    assert!(folder.run(&["columns", "t.csv"]).succeeded().stdout.contains("identifier"));
    assert!(folder.run(&["fit", "t.csv", "-o", "m.gnsm"]).failed().contains("has no column to learn from"));
}

#[test]
fn bad_lines_are_left_out_and_listed() {
    let folder = Folder::new();
    folder.write("t.csv", claims(0, 100) + "Sales,Meals\n" + "Sales,Meals,Mon,3.00,x\n");
    assert!(folder.run(&["columns", "t.csv"]).failed().contains("line 102, column `weekday`: expected 4 fields"));
    let run = folder.run(&["columns", "t.csv", "--skip-bad-lines", "--json"]).succeeded();
    let expected =
        "t.csv: 2 lines were left out: line 102 (expected 4 fields, found 2), line 103 (expected 4 fields, found 5)";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    assert!(run.stdout.contains("\"rows\": 100") && run.stdout.contains("\"line\": 102"), "{}", run.stdout);
    folder.write("t.jsonl", "{\"a\": 1}\n{\"a\": \n{\"a\": 2}\n");
    let run = folder.run(&["columns", "t.jsonl", "--skip-bad-lines"]).succeeded();
    assert!(run.stderr.contains("t.jsonl: 1 line was left out: line 2 (invalid JSON"), "{}", run.stderr);
}

#[test]
fn names_that_occur_twice_and_arrays_of_objects_are_read() {
    let folder = Folder::new();
    folder.write("twice.csv", claims(0, 50).replacen("weekday", "category", 1));
    let run = folder.run(&["columns", "twice.csv"]).succeeded();
    assert!(run.stderr.contains("columns have the same name; of those, a later `category` is `category_2`"));
    assert!(run.stdout.contains("category_2"));
    let objects: Vec<String> = (0..30).map(|row| format!("{{\"kind\": \"k{}\", \"n\": {row}.5}}", row % 3)).collect();
    folder.write("array.json", format!("[{}]", objects.join(", ")));
    folder.write("lines.jsonl", objects.join("\n"));
    let columns = |name: &str| {
        let json = folder.run(&["columns", name, "--json"]).succeeded().stdout;
        json.lines().filter(|line| !line.contains("\"file\"")).collect::<String>()
    };
    assert_eq!(columns("array.json"), columns("lines.jsonl"));
}

#[test]
fn a_category_that_is_a_mark_of_missing_cells_survives_csv() {
    let folder = Folder::new();
    let mut table =
        String::from("@relation r\n@attribute a {x,'?'}\n@attribute b {u,v}\n@attribute n numeric\n@data\n");
    for row in 0..200 {
        let _ = writeln!(table, "{},{},{}.5", ["x", "'?'"][row % 2], ["u", "v"][row % 2], row * 7 % 40);
    }
    folder.write("t.arff", table);
    folder.run(&["fit", "t.arff", "-o", "m.gnsm"]).succeeded();
    folder.run(&["sample", "m.gnsm", "-n", "60", "-o", "made.csv"]).succeeded();
    let made = folder.text("made.csv");
    let marks = made.lines().filter(|line| line.starts_with("?,")).count();
    assert!(marks > 10, "{made}");
    folder.run(&["impute", "m.gnsm", "made.csv", "-o", "filled.csv"]).succeeded();
    assert_eq!(folder.text("filled.csv").lines().filter(|line| line.starts_with("?,")).count(), marks);
}

#[test]
fn a_cell_of_megabytes_is_cut_on_every_screen() {
    let folder = Folder::new();
    let long = "x".repeat(3_000_000);
    folder.write("t.csv", claims(0, 200) + &format!("Sales,{long},Mon,3.00\n"));
    for arguments in [&["columns", "t.csv"][..], &["detect", "t.csv", "--top", "1", "--save", "m.gnsm"]] {
        let run = folder.run(arguments).succeeded();
        assert!(run.stdout.len() + run.stderr.len() < 50_000, "{arguments:?}: {}", run.stdout.len());
    }
    for arguments in [
        &["explain", "m.gnsm", "t.csv", "--row", "200"][..],
        &["repair", "m.gnsm", "t.csv", "-o", "r.csv"],
        &["drift", "m.gnsm", "t.csv"],
        &["inspect", "m.gnsm"],
    ] {
        let run = folder.run(arguments).succeeded();
        assert!(run.stdout.len() + run.stderr.len() < 50_000, "{arguments:?}: {}", run.stdout.len());
    }
}
