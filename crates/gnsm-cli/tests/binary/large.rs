//! Tables that do not fit into the memory that a fit may take.

use crate::harness::{Folder, ODD, claims};

#[test]
fn a_fit_says_what_it_chose_and_does_not_depend_on_order() {
    let folder = Folder::new();
    let text = claims(3, 12_000);
    let (header, rows) = text.split_once('\n').expect("a header");
    let backwards: Vec<&str> = rows.lines().rev().collect();
    folder.write("a.csv", &text);
    folder.write("b.csv", format!("{header}\n{}\n", backwards.join("\n")));
    for name in ["a", "b"] {
        let (file, model) = (format!("{name}.csv"), format!("{name}.gnsm"));
        let run = folder.run(&["fit", &file, "-o", &model, "--max-memory", "1M"]).succeeded();
        let expected = "learned from 10,000 of 12,000 rows, chosen by a hash of their content";
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
    assert!(folder.read("a.gnsm") == folder.read("b.gnsm"));
    // What fits is learned from whole, as ever.
    folder.run(&["fit", "a.csv", "-o", "c.gnsm", "--max-memory", "1G"]).succeeded();
    folder.run(&["fit", "a.csv", "-o", "d.gnsm"]).succeeded();
    assert!(folder.read("c.gnsm") == folder.read("d.gnsm") && folder.read("c.gnsm") != folder.read("a.gnsm"));
    let json = folder.run(&["fit", "a.csv", "-o", "e.gnsm", "--max-rows", "500", "--json"]).succeeded().stdout;
    assert!(json.contains("\"chosen_from\": 12000") && json.contains("\"training\": 500"), "{json}");
}

#[test]
fn detect_scores_in_a_stream_what_it_cannot_hold() {
    let folder = Folder::new();
    folder.write("claims.csv", claims(4, 3000) + ODD + ODD);
    let run = folder.run(&["detect", "claims.csv", "--max-rows", "1000", "--top", "2", "--ungrouped"]).succeeded();
    assert!(run.stderr.contains("learned from 1,000 of 3,002 rows"), "{}", run.stderr);
    assert!(
        run.stderr.contains("there was room for some of the rows only: all are scored in a stream"),
        "{}",
        run.stderr
    );
    assert!(run.stdout.starts_with("1. row 3000 (line 3002)"), "{}", run.stdout);
    assert!(run.stdout.contains("and 1 more row like it: 3001"), "{}", run.stdout);
    assert!(run.stdout.contains("of 3,002 rows flagged"), "{}", run.stdout);

    let more = ["--max-rows", "1000", "--explain", "1", "-o", "out.csv", "--report", "page.html", "--json"];
    let json = folder.run(&[&["detect", "claims.csv"], &more[..]].concat()).succeeded().stdout;
    let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&report["rows"], &report["top"][0]["row"]), (&3002.into(), &3000.into()), "{json}");
    assert_eq!(report["top"][0]["rows_like_it"], serde_json::json!([3001]));
    assert_eq!(folder.text("out.csv").lines().count(), 3003);
    assert!(folder.text("page.html").contains("claims.csv"));
}

#[test]
fn what_a_stream_cannot_do_is_told() {
    let folder = Folder::new();
    folder.write("claims.csv", claims(5, 300));
    let cells = folder.run(&["detect", "claims.csv", "--max-rows", "100", "--cells"]).failed();
    assert!(cells.contains("--cells needs the whole table, and there is room for some of its rows only"), "{cells}");
    let piped = folder.run_with_input(&["detect", "-", "--max-rows", "100"], claims(5, 300).as_bytes()).failed();
    assert!(piped.contains("write them to a file first"), "{piped}");
    let size = folder.run(&["fit", "claims.csv", "-o", "m.gnsm", "--max-memory", "lots"]);
    assert!(size.code == Some(2) && size.stderr.contains("such as 500M or 2G"), "{}", size.stderr);
}
