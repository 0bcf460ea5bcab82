//! Tables that are not as they should be: one clear line, exit code 2, nothing written, earlier files untouched.

use std::fmt::Write as _;

use crate::harness::{Folder, appended, claims, exists};

/// Fits, detects and scores; each fails, and leaves the earlier model and scores as they were.
#[track_caller]
fn refused(folder: &Folder, file: &str) -> [String; 3] {
    folder.write("old.gnsm", "earlier model");
    folder.write("old.csv", "earlier scores");
    let before = folder.files();
    let fit = folder.fit(file, "old.gnsm", &[]).failed();
    let detect = folder.run(&["detect", file, "--method", "gnsm", "--config", "tiny.toml", "-o", "old.csv"]).failed();
    let score = folder.run(&["score", "claims.gnsm", file, "-o", "old.csv"]).failed();
    assert_eq!(folder.files(), before);
    assert_eq!((folder.text("old.gnsm"), folder.text("old.csv")), ("earlier model".into(), "earlier scores".into()));
    [fit, detect, score]
}

const HEADER: &str = "department,category,weekday,amount\n";

#[test]
fn broken_tables_are_refused_with_a_reason() {
    let folder = Folder::with_model();
    let mut messages = String::new();
    for (name, content) in [
        ("empty.csv", Vec::new()),
        ("header-only.csv", HEADER.as_bytes().to_vec()),
        ("ragged.csv", (claims(0, 50) + "Sales,Meals\n").into_bytes()),
        ("not-text.csv", [claims(0, 50).as_bytes(), b"Sal\x81es,Meals,Mon,3.00\n"].concat()),
        ("unclosed.csv", (claims(0, 50) + "\"Sales,Meals,Mon,3.00\n").into_bytes()),
        ("cut.jsonl", b"{\"department\": \"Sales\"}\n{\"department\": ".to_vec()),
        ("cut-array.json", b"[{\"department\": \"Sales\"},".to_vec()),
        ("folder", Vec::new()),
        ("not-there.csv", Vec::new()),
    ] {
        match name {
            "folder" => std::fs::create_dir(folder.path(name)).expect("a folder"),
            "not-there.csv" => {}
            _ => folder.write(name, content),
        }
        let [fit, detect, score] = refused(&folder, name);
        let _ = writeln!(messages, "{fit}");
        for other in [detect, score] {
            if other != fit {
                let _ = writeln!(messages, "    {other}");
            }
        }
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn tables_without_anything_to_learn_are_refused_by_fit_alone() {
    let folder = Folder::with_model();
    let mut messages = String::new();
    let row = "Sales,Meals,Mon,50.00\n";
    for (name, content) in [
        ("one-row.csv", format!("{HEADER}{row}")),
        ("identical.csv", format!("{HEADER}{}", row.repeat(100))),
        ("identifiers.csv", (0..300).fold("name\n".to_owned(), |text, i| text + &format!("user-{i}\n"))),
    ] {
        folder.write(name, content);
        let fit = folder.fit(name, "m.gnsm", &[]).failed();
        assert!(!exists(&folder, "m.gnsm"));
        let _ = writeln!(messages, "{fit}");
        if name != "identifiers.csv" {
            folder.run(&["score", "claims.gnsm", name]).succeeded();
        }
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn strange_columns_are_learned_from() {
    let folder = Folder::new();
    let wild = ["NaN", "inf", "-inf", "1e300", "-1e300", "0.5", ""];
    let text = appended(&claims(0, 200), |i| match i {
        0 => "constant,nothing,wild,many".to_owned(),
        _ => format!("7,,{},c{i}", wild[i % wild.len()]),
    });
    folder.write("strange.csv", &text);
    let run = folder.fit("strange.csv", "m.gnsm", &["--categorical", "many"]).succeeded();
    assert!(run.stderr.contains("every value is missing"), "{}", run.stderr);
    assert!(run.stderr.contains("one single number"), "{}", run.stderr);
    let scores = folder.run(&["score", "m.gnsm", "strange.csv", "--explain", "3"]).succeeded().stdout;
    assert!(!scores.contains("NaN,") && !scores.contains(",inf,"), "scores are finite");
    folder.run(&["score", "m.gnsm", "strange.csv", "--explain", "9", "--output-format", "jsonl"]).succeeded();
}

#[test]
fn a_hundred_thousand_categories() {
    let folder = Folder::new();
    // Each twice: an identifier would be ignored.
    let mut text = String::from("code,kind\n");
    for i in 0..200_000 {
        let _ = writeln!(text, "c{},{}", i / 2, i % 3);
    }
    folder.write("many.csv", &text);
    folder.write("few.csv", "code,kind\nc7,1\nc8,2\nnew,9\n");
    folder.fit("many.csv", "m.gnsm", &[]).succeeded();
    let csv = folder.run(&["score", "m.gnsm", "few.csv", "--explain", "1"]).succeeded().stdout;
    assert_eq!(csv.matches("never seen").count(), 1, "{csv}");
}

#[test]
fn columns_that_changed_are_named() {
    let folder = Folder::with_model();
    let mut messages = String::new();
    let numbers: String = claims(1, 50)
        .lines()
        .enumerate()
        .map(|(i, line)| match i {
            0 => format!("{line}\n"),
            _ => line.replacen(line.split(',').next().unwrap_or(""), &i.to_string(), 1) + "\n",
        })
        .collect();
    for (name, content) in
        [("categories-became-numbers.csv", numbers), ("renamed.csv", claims(1, 50).replacen("weekday", "day", 1))]
    {
        folder.write(name, content);
        let error = folder.run(&["score", "claims.gnsm", name, "-o", "s.csv"]).failed();
        assert!(!exists(&folder, "s.csv"));
        let small = folder.run(&["score", "claims.gnsm", name, "-o", "s.csv", "--batch-size", "1"]).failed();
        assert_eq!(error, small, "whatever the batch size");
        let _ = writeln!(messages, "{error}");
    }
    for arguments in [&["--label", "nope"][..], &["--ignore", "nope"], &["--numeric", "weekday"], &["--anomaly", "1"]] {
        let _ = writeln!(messages, "{}", folder.fit("claims.csv", "m.gnsm", arguments).failed());
    }
    insta::assert_snapshot!(messages);
}
