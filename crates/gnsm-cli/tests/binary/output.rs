//! What is written: scores in every format, reports, and reasons.

use serde_json::Value;

use crate::harness::{Folder, ODD, appended, claims, exists};

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect(text)
}

/// Numbers differ from machine to machine in the last digits; their shape does not.
fn shape(text: &str) -> String {
    let mut out = String::new();
    let mut in_number = false;
    for c in text.chars() {
        let is_number = c.is_ascii_digit() || (in_number && c == '.');
        if is_number && !in_number {
            out.push('#');
        } else if !is_number {
            out.push(c);
        }
        in_number = is_number;
    }
    out
}

#[test]
fn csv_has_its_columns_and_nothing_else() {
    let folder = Folder::with_model();
    let run = folder.run(&["score", "claims.gnsm", "claims.csv"]).succeeded();
    let mut lines = run.stdout.lines();
    assert_eq!(lines.next(), Some("row,score,p_value,anomaly"));
    let mut n = 0;
    for (row, line) in lines.enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells.len(), cells[0]), (4, row.to_string().as_str()), "{line}");
        let [score, p_value] = [cells[1], cells[2]].map(|cell| cell.parse::<f64>().expect("a number"));
        assert_eq!((format!("{score}"), format!("{p_value}")), (cells[1].into(), cells[2].into()), "round trip");
        assert!(["0", "1"].contains(&cells[3]));
        n += 1;
    }
    assert_eq!(n, 400);
    assert!(run.stderr.contains("of 400 rows flagged (p-value at most 0.01)"), "{}", run.stderr);
}

#[test]
fn all_formats_say_the_same() {
    let folder = Folder::with_model();
    folder.write("new.csv", claims(1, 30) + ODD);
    let csv = folder.run(&["score", "claims.gnsm", "new.csv", "--explain", "2"]).succeeded().stdout;
    assert_eq!(csv.lines().next(), Some("row,score,p_value,anomaly,reason_1,reason_2"));
    let run = folder.run(&["score", "claims.gnsm", "new.csv", "--explain", "2", "-o", "out.jsonl"]).succeeded();
    assert_eq!(run.stdout, "");
    let jsonl = folder.text("out.jsonl");
    assert_eq!(jsonl.lines().count(), 31);
    for (line, object) in csv.lines().skip(1).zip(jsonl.lines()) {
        let object = json(object);
        let reasons = object["reasons"].as_array().expect("reasons");
        assert!(reasons.len() <= 2);
        for key in ["column", "other", "saw", "note", "similar", "expected", "probability", "part", "share"] {
            assert!(reasons.iter().all(|reason| reason.get(key).is_some()), "{key}");
        }
        let start = format!("{},{},{},{},", object["row"], object["score"], object["p_value"], object["anomaly"]);
        // JSON writes 12.0 where csv has 12.
        assert!(line.starts_with(&start.replace(".0,", ",")), "{line} {start}");
        for reason in reasons {
            let text = |key: &str| reason[key].as_str().unwrap_or("").to_owned();
            let reason = format!("\"{} = {}", text("column"), text("saw"));
            assert!(line.contains(&reason), "{line} {reason}");
        }
    }
    folder.run(&["score", "claims.gnsm", "new.csv", "--explain", "2", "-o", "out.parquet"]).succeeded();
    // Our own reader, by way of a model of the scores.
    let run = folder
        .run(&["detect", "out.parquet", "--method", "gnsm", "--config", "tiny.toml", "--numeric", "row", "--json"])
        .succeeded();
    assert_eq!(json(&run.stdout)["rows"], 31);
    for column in ["row", "score", "p_value", "anomaly", "reason_1", "reason_2"] {
        assert!(run.stderr.contains(column), "{column}: {}", run.stderr);
    }
    let table = folder.run(&["score", "claims.gnsm", "new.csv", "--output-format", "table"]).succeeded().stdout;
    let first: Vec<&str> = table.lines().next().expect("a header").split_whitespace().collect();
    assert_eq!(first, ["row", "score", "p_value", "anomaly"]);
    assert!(table.lines().skip(1).all(|line| line.split_whitespace().count() == 4), "{table}");
}

#[test]
fn the_odd_row_is_found_and_explained() {
    let folder = Folder::with_model();
    folder.write("new.csv", claims(1, 30) + ODD);
    let run = folder.run(&["score", "claims.gnsm", "new.csv", "--contamination", "0.03"]).succeeded();
    assert!(
        run.stdout.lines().last().is_some_and(|line| line.starts_with("30,") && line.ends_with(",1")),
        "{}",
        run.stdout
    );
    let explained =
        json(&folder.run(&["explain", "claims.gnsm", "new.csv", "--row", "30", "--json"]).succeeded().stdout);
    let parts: f64 = explained["reasons"].as_array().expect("reasons").iter().filter_map(|r| r["part"].as_f64()).sum();
    let score = explained["score"].as_f64().expect("a score");
    let others: f64 = ["base", "rest"].iter().filter_map(|key| explained[*key].as_f64()).sum();
    assert!((others + parts - score).abs() < 1e-9);
    assert_eq!(explained["line"], 32);
    let weekday = explained["reasons"].as_array().expect("reasons").iter().find(|r| r["column"] == "weekday");
    assert_eq!(weekday.expect("weekday")["note"], "never seen");
    let page = folder.run(&["explain", "claims.gnsm", "new.csv", "--row", "30"]).succeeded();
    assert!(page.stdout.contains("Sun (never seen)") && page.stdout.contains("(sum)"), "{}", page.stdout);
    assert!(!page.stdout.contains('\u{1b}'), "no colours through a pipe");
}

#[test]
fn explain_reads_no_further_than_the_row() {
    let folder = Folder::with_model();
    folder.write("new.csv", claims(1, 5) + "too,few\n");
    folder.run(&["explain", "claims.gnsm", "new.csv", "--row", "4"]).succeeded();
    folder.write("new.csv", claims(1, 5));
    let error = folder.run(&["explain", "claims.gnsm", "new.csv", "--row", "5"]).failed();
    assert_eq!(error, "error: new.csv has 5 rows: there is no row 5, counted from 0");
}

#[test]
fn a_false_discovery_rate_flags_as_detect_does() {
    let folder = Folder::with_model();
    let odd = ODD.repeat(8);
    folder.write("new.csv", claims(1, 30) + &odd);
    let flags = |arguments: &[&str]| {
        let csv = folder.run(&[&["score", "claims.gnsm", "new.csv"], arguments].concat()).succeeded().stdout;
        csv.lines().skip(1).map(|line| line.split(',').nth(3) == Some("1")).collect::<Vec<bool>>()
    };
    let by_rate = flags(&["--fdr", "0.3"]);
    assert!(by_rate[30..].iter().all(|flag| *flag), "{by_rate:?}");
    assert_eq!(by_rate, flags(&["--fdr", "0.3", "--batch-size", "7", "--explain", "1"]));
    assert!(flags(&["--threshold", "-1000"]).iter().all(|flag| *flag));
    assert!(flags(&["--threshold", "1e300"]).iter().all(|flag| !*flag));
}

#[test]
fn an_impossible_contamination_is_pointed_out() {
    let folder = Folder::with_model();
    let run = folder.run(&["score", "claims.gnsm", "claims.csv", "--contamination", "0.001"]).succeeded();
    assert!(
        run.stderr
            .contains("--contamination 0.001 flags nothing: with 40 rows to calibrate, p-values go down to 0.0244"),
        "{}",
        run.stderr
    );
    let error = folder.run(&["score", "claims.gnsm", "claims.csv", "--contamination", "2"]).failed();
    insta::assert_snapshot!(error, @"error: setting `contamination`: is 2, must lie between 0 and 1, such as 0.05");
}

#[test]
fn anomalies_can_fail_a_script() {
    let folder = Folder::with_model();
    let run = folder.run(&["score", "claims.gnsm", "claims.csv", "--fail-on-anomaly", "--threshold", "-1000"]);
    assert_eq!(run.code, Some(1));
    let run = folder.run(&["score", "claims.gnsm", "claims.csv", "--fail-on-anomaly", "--threshold", "1e9"]);
    assert_eq!(run.code, Some(0));
}

#[test]
fn detect_shows_odd_rows_once_and_leaves_what_was_asked_for() {
    let folder = Folder::new();
    folder.write("claims.csv", claims(0, 300) + &ODD.repeat(3));
    let arguments = ["detect", "claims.csv", "--method", "gnsm", "--config", "tiny.toml", "--top", "3", "--ungrouped"];
    let run = folder.run(&[&arguments[..], &["-o", "scores.csv", "--save", "m.gnsm"]].concat()).succeeded();
    assert!(run.stdout.starts_with("1. row 300 (line 302)"), "{}", run.stdout);
    assert!(run.stdout.contains("and 2 more rows like it: 301, 302"), "{}", run.stdout);
    assert_eq!(run.stdout.matches(". row ").count(), 3);
    assert!(run.stderr.contains("department  categorical  text with 3 distinct values"), "{}", run.stderr);
    assert_eq!(folder.text("scores.csv").lines().count(), 304);
    assert_eq!(folder.files(), ["claims.csv", "m.gnsm", "scores.csv", "tiny.toml"]);
    // The saved model is the one that `fit` makes.
    folder.run(&["fit", "claims.csv", "-o", "n.gnsm", "--method", "gnsm", "--config", "tiny.toml"]).succeeded();
    assert_eq!(folder.read("n.gnsm"), folder.read("m.gnsm"));
    let piped = folder.run_with_input(
        &["detect", "-", "--method", "gnsm", "--config", "tiny.toml", "--top", "3", "--ungrouped"],
        &folder.read("claims.csv"),
    );
    assert_eq!(piped.succeeded().stdout, run.stdout);
    let report = json(&folder.run(&[&arguments[..], &["--json"]].concat()).succeeded().stdout);
    assert_eq!(report["top"][0]["rows_like_it"], json("[301, 302]"));
}

#[test]
fn fit_reports_for_machines_and_inspect_agrees() {
    let folder = Folder::new();
    folder.write("claims.csv", claims(0, 400));
    let fit = json(&folder.fit("claims.csv", "m.gnsm", &["--json", "--seed", "5"]).succeeded().stdout);
    assert_eq!(fit["rows"]["calibration"], 40);
    assert_eq!((&fit["ending"], &fit["steps"]), (&json("\"completed\""), &json("40")));
    assert_eq!(folder.files(), ["claims.csv", "m.gnsm", "tiny.toml"], "no checkpoint is left");
    let inspect = json(&folder.run(&["inspect", "m.gnsm", "--json"]).succeeded().stdout);
    assert_eq!(inspect["blake3"], fit["blake3"]);
    assert_eq!(inspect["seed"], 5);
    assert_eq!(inspect["settings"]["training"]["steps"], 40);
    assert_eq!(inspect["levels"].as_array().map(Vec::len), Some(3));
    assert_eq!(inspect["training"]["curve"].as_array().map(Vec::len), Some(4));
    let page = folder.run(&["inspect", "m.gnsm"]).succeeded().stdout;
    insta::assert_snapshot!(
        "inspect",
        shape(&page)
            .lines()
            .filter(|line| !line.contains("blake") && !line.contains('▁'))
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
            .join("\n")
    );
}

#[test]
fn labels_keep_rows_and_the_column_out_of_training() {
    let folder = Folder::new();
    let labelled = appended(&claims(0, 300), |i| match i {
        0 => "fraud",
        _ if i % 10 == 0 => "yes",
        _ => "no",
    });
    folder.write("claims.csv", &labelled);
    let run = folder.fit("claims.csv", "m.gnsm", &["--label", "fraud", "--anomaly", "yes"]).succeeded();
    assert!(run.stderr.contains("; 30 labelled anomalies left out"), "{}", run.stderr);
    let run = folder.fit("claims.csv", "n.gnsm", &["--label", "fraud"]).succeeded();
    assert!(run.stderr.contains("warning: no row has the label of an anomaly"), "{}", run.stderr);
    // The label is no news; another column is.
    let run = folder.run(&["score", "m.gnsm", "claims.csv", "-o", "s.csv"]).succeeded();
    assert_eq!(run.stderr.lines().count(), 2, "{}", run.stderr);
    folder.write("more.csv", appended(&labelled, |_| "x"));
    let run = folder.run(&["score", "m.gnsm", "more.csv", "-o", "s.csv"]).succeeded();
    assert!(run.stderr.contains("more.csv: the model does not know and does not use `x`"), "{}", run.stderr);
}

#[test]
fn a_schema_file_decides_and_flags_add_to_it() {
    let folder = Folder::new();
    folder.write("claims.csv", claims(0, 300));
    folder.write("schema.toml", "[columns]\nweekday = \"ignore\"\n");
    let run = folder.fit("claims.csv", "m.gnsm", &["--schema", "schema.toml", "--categorical", "amount"]).succeeded();
    assert!(run.stderr.contains("weekday     ignored      as asked"), "{}", run.stderr);
    assert!(run.stderr.contains("amount      categorical  as asked"), "{}", run.stderr);
    let error = folder.fit("claims.csv", "m.gnsm", &["--schema", "schema.toml", "--numeric", "weekday"]).failed();
    assert!(error.contains("column `weekday` was given two kinds"), "{error}");
    folder.write("schema.toml", "[columns]\n\nweekday = \"word\"\n");
    let error = folder.fit("claims.csv", "m.gnsm", &["--schema", "schema.toml"]).failed();
    assert!(error.starts_with("error: schema.toml, line 3: unknown variant `word`"), "{error}");
    folder.write("wrong.toml", "[training]\nstepz = 3\n");
    let error =
        folder.run(&["fit", "claims.csv", "-o", "m.gnsm", "--method", "gnsm", "--config", "wrong.toml"]).failed();
    assert!(error.starts_with("error: wrong.toml: there is no setting `training.stepz`; there are batch,"), "{error}");
}

#[test]
fn heads_and_presets_combine() {
    let folder = Folder::new();
    folder.write("claims.csv", claims(0, 200));
    for (arguments, head) in
        [(&["--head", "norms"][..], "norms"), (&["--preset", "paper", "--head", "surprise"], "surprise")]
    {
        folder.fit("claims.csv", "m.gnsm", arguments).succeeded();
        let inspect = json(&folder.run(&["inspect", "m.gnsm", "--json"]).succeeded().stdout);
        assert_eq!(inspect["settings"]["head"]["kind"], head);
        folder.run(&["explain", "m.gnsm", "claims.csv", "--row", "0"]).succeeded();
    }
}

#[test]
fn what_only_networks_know_is_refused_for_other_methods() {
    let folder = Folder::new();
    folder.write("claims.csv", claims(0, 100));
    for command in [&["fit", "claims.csv", "-o", "m.gnsm"][..], &["detect", "claims.csv", "--save", "m.gnsm"]] {
        for (flag, value, whom) in [
            ("--preset", "fast", "methods gnsm, dsvdd and dagmm, not for marginals; leave it out"),
            ("--preset", "paper", "methods gnsm, dsvdd and dagmm, not for marginals; leave it out"),
            ("--head", "norms", "method gnsm, not for marginals; leave it out, or give --method gnsm"),
        ] {
            let error = folder.run(&[command, &["--method", "marginals", flag, value]].concat()).failed();
            assert_eq!(error, format!("error: {flag} is for the {whom}"));
        }
    }
    assert!(!exists(&folder, "m.gnsm"));
}

#[test]
fn demo_leaves_other_files_alone() {
    let folder = Folder::new();
    folder.write("gnsm-demo.csv", "precious");
    let error = folder.run(&["demo", "--out", "gnsm-demo.csv"]).failed();
    assert_eq!(error, "error: gnsm-demo.csv holds something else; remove it, or say --out with another path");
    assert_eq!(folder.text("gnsm-demo.csv"), "precious");
    assert!(!exists(&folder, "gnsm-demo.csv.checkpoint"));
}

#[test]
fn demo_leaves_no_file_behind_unless_it_is_told_to() {
    let folder = Folder::new();
    let before = folder.files();
    let shown = folder.run(&["demo"]).succeeded();
    assert!(shown.stderr.contains("$ gnsm detect gnsm-demo.csv --top 8"), "{}", shown.stderr);
    assert!(shown.stderr.contains("  gnsm demo --out gnsm-demo.csv\n  gnsm fit gnsm-demo.csv -o"), "{}", shown.stderr);
    assert_eq!(folder.files(), before);
    let kept = folder.run(&["demo", "-o", "kept.csv"]).succeeded();
    assert_eq!(kept.stdout, shown.stdout);
    assert!(kept.stderr.contains("wrote kept.csv: 1500 expense claims, 6 of them odd"), "{}", kept.stderr);
    assert!(folder.text("kept.csv").starts_with("claim,department,"));
    assert_eq!(folder.files().len(), before.len() + 1);
}

#[test]
fn a_report_is_one_page() {
    let folder = Folder::with_model();
    folder.write("new.csv", claims(1, 300) + ODD);
    let run = folder.run(&["report", "claims.gnsm", "new.csv", "-o", "report.html"]).succeeded();
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("of 301 rows flagged (p-value at most 0.01)"), "{}", run.stderr);
    let page = folder.text("report.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("99999.00"), "the odd row is on it");
    assert!(!page.contains("src=") && !page.contains("@import"), "nothing is fetched");
    let json = folder.run(&["report", "claims.gnsm", "new.csv", "-o", "again.html", "--batch-size", "7", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.succeeded().stdout).expect("json");
    assert_eq!((&json["rows"], &json["shown"]), (&301.into(), &100.into()));
    assert_eq!(folder.text("again.html"), page, "batches change nothing");
    folder.run(&["detect", "new.csv", "--method", "marginals", "--report", "own.html", "-q"]).succeeded();
    assert!(folder.text("own.html").contains("The model learned from this same file."));
    let error = folder.run(&["report", "claims.gnsm", "new.csv", "-o", "new.csv"]).failed();
    assert!(error.contains("new.csv is read by this command and cannot be written by it"), "{error}");
    let error = folder.run(&["detect", "new.csv", "-o", "x.csv", "--report", "x.csv"]).failed();
    assert!(error.contains("--report and another flag name the same file; give two"), "{error}");
}
