//! Files that are no longer what the model learned.

use std::fmt::Write as _;

use serde_json::Value;

use crate::harness::{Folder, claims};

/// Orders by day, with a key, a supplier and an amount; suppliers from `first` on.
fn orders(rows: std::ops::Range<usize>, prefix: &str) -> String {
    let mut text = String::from("order,posted,supplier,country,amount\n");
    for row in rows {
        let noise = row * 7919 % 1009;
        let (month, day) = (1 + row / 84 % 12, 1 + row / 3 % 28);
        let country = ["Germany", "France", "Poland"][noise % 3];
        let _ = writeln!(
            text,
            "A-{},2024-{month:02}-{day:02},{prefix}{},{country},{}.{:02}",
            10_000 + row,
            noise % 9,
            100 + noise % 250,
            noise % 97
        );
    }
    text
}

fn with_orders() -> Folder {
    let folder = Folder::new();
    folder.write("old.csv", orders(0..600, "S"));
    folder.run(&["fit", "old.csv", "-o", "m.gnsm"]).succeeded();
    folder
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect(text)
}

fn flags(csv: &str) -> usize {
    csv.lines().skip(1).filter(|line| line.split(',').nth(3) == Some("1")).count()
}

#[test]
fn later_rows_are_named_and_not_flagged() {
    let folder = with_orders();
    folder.write("new.csv", orders(600..900, "S"));
    let run = folder.run(&["score", "m.gnsm", "new.csv"]).succeeded();
    assert!(run.stderr.contains("order: all keys are beyond those learned, as is usual for keys"), "{}", run.stderr);
    assert!(
        run.stderr.contains("posted: all dates are later than those learned (2024-01-01 to 2024-"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("warning: posted") && !run.stderr.contains("warning: order"), "{}", run.stderr);
    assert!(flags(&run.stdout) <= 15, "{} of 300 are flagged\n{}", flags(&run.stdout), run.stderr);
}

#[test]
fn a_column_of_new_values_is_reported_once_and_flags_nothing() {
    let folder = with_orders();
    folder.write("new.csv", orders(0..600, "T"));
    let run = folder.run(&["score", "m.gnsm", "new.csv"]).succeeded();
    let told = "warning: supplier: a new value in all of the rows that have a value";
    assert_eq!(run.stderr.matches(told).count(), 1, "{}", run.stderr);
    assert!(
        run.stderr.contains("set aside: what is new in most rows or moved as time went on in `supplier`"),
        "{}",
        run.stderr
    );
    let by_itself = folder.run(&["score", "m.gnsm", "new.csv", "--no-drift"]).succeeded();
    assert!(
        flags(&run.stdout) <= 12 && flags(&by_itself.stdout) > 100,
        "{} {}",
        flags(&run.stdout),
        flags(&by_itself.stdout)
    );
    // What is set aside is decided from all rows, before the first is scored.
    for size in ["1", "7", "100000"] {
        let other = folder.run(&["score", "m.gnsm", "new.csv", "--batch-size", size]).succeeded();
        assert!(other.stdout == run.stdout, "batch size {size}");
    }
    // Reasons leave it out too, and sum to the same score.
    let explained = json(&folder.run(&["explain", "m.gnsm", "new.csv", "--row", "5", "--json"]).succeeded().stdout);
    let score: f64 =
        run.stdout.lines().nth(6).and_then(|line| line.split(',').nth(1)).expect("a score").parse().expect("a number");
    assert_eq!(explained["score"].as_f64(), Some(score));
    let reasons = explained["reasons"].as_array().expect("reasons");
    assert!(reasons.iter().all(|reason| reason["column"] != "supplier"), "{reasons:?}");
    // A pipe is read once.
    let piped = folder.run_with_input(&["score", "m.gnsm", "-"], &folder.read("new.csv")).succeeded();
    assert_eq!(piped.stdout, by_itself.stdout);
    assert!(piped.stderr.contains(told) && piped.stderr.contains("standard input is read once"), "{}", piped.stderr);
}

#[test]
fn a_report_sets_aside_what_score_does() {
    let folder = with_orders();
    folder.write("new.csv", orders(0..600, "T"));
    let scores = folder.run(&["score", "m.gnsm", "new.csv"]).succeeded();
    let run = folder.run(&["report", "m.gnsm", "new.csv", "-o", "a.html", "--json"]).succeeded();
    let summary = json(&run.stdout);
    assert_eq!(summary["flagged"].as_u64(), Some(flags(&scores.stdout) as u64), "{}", run.stderr);
    assert!(
        run.stderr.contains("set aside: what is new in most rows or moved as time went on in `supplier`"),
        "{}",
        run.stderr
    );
    assert_eq!(summary["drift"]["columns"][2]["set_aside"], true);
    let page = folder.text("a.html");
    assert!(
        page.contains("a new value in all of the rows") && page.contains("no part of the scores"),
        "drift is on it"
    );
    let all = folder.run(&["report", "m.gnsm", "new.csv", "-o", "b.html", "--no-drift", "--json"]).succeeded();
    let all = json(&all.stdout);
    assert!(all["flagged"].as_u64() > Some(100) && all["drift"].is_null(), "{all}");
    let piped = folder.run_with_input(&["report", "m.gnsm", "-", "-o", "c.html"], &folder.read("new.csv")).succeeded();
    assert!(piped.stderr.contains("warning: supplier: ") && piped.stderr.contains("is read once"), "{}", piped.stderr);
    assert!(folder.text("c.html").contains("a new value in all of the rows"));
}

#[test]
fn drift_is_shown_for_people_and_machines() {
    let folder = with_orders();
    folder.write("new.csv", orders(0..600, "T").replace("France", "").replace(",1", ",91"));
    let page = folder.run(&["drift", "m.gnsm", "new.csv"]).succeeded().stdout;
    assert!(page.contains(" of 5 columns moved: 600 rows compared with 600 learned from"), "{page}");
    assert!(page.contains("supplier  categorical  moved, set aside"), "{page}");
    let report = json(&folder.run(&["drift", "m.gnsm", "new.csv", "--json"]).succeeded().stdout);
    let moved: Vec<&str> = report["moved"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
    assert!(["supplier", "country", "amount"].iter().all(|name| moved.contains(name)), "{moved:?}");
    let column = |name: &str| {
        let columns = report["drift"]["columns"].as_array().expect("columns");
        columns.iter().find(|column| column["column"] == name).expect(name).clone()
    };
    assert_eq!((&column("supplier")["new"]["now"], &column("supplier")["set_aside"]), (&1.0.into(), &true.into()));
    let missing = column("country")["missing"]["now"].as_f64().expect("a share");
    assert!((missing - 1.0 / 3.0).abs() < 0.02, "{missing}");
    // The same file has not moved.
    let same = json(&folder.run(&["drift", "m.gnsm", "old.csv", "--json"]).succeeded().stdout);
    assert_eq!(same["moved"], json("[]"));
    // score says the same in its summary.
    let summary = json(&folder.run(&["score", "m.gnsm", "new.csv", "-o", "s.csv", "--json"]).succeeded().stdout);
    assert_eq!(summary["drift"]["columns"], report["drift"]["columns"]);
    let error = folder.run(&["drift", "m.gnsm", "not-there.csv"]).failed();
    assert!(error.contains("not-there.csv: No such file"), "{error}");
}

#[test]
fn rows_of_the_same_kind_have_not_drifted() {
    let folder = Folder::with_model();
    folder.write("new.csv", claims(7, 300));
    let run = folder.run(&["score", "claims.gnsm", "new.csv", "-o", "s.csv"]).succeeded();
    assert!(!run.stderr.contains("shifted") && !run.stderr.contains("set aside"), "{}", run.stderr);
}
