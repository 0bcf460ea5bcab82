//! What is passed through from the input, workbooks, and what makes a script fail.

use std::io::{Cursor, Read};

use crate::harness::{Folder, ODD, appended, claims};

/// Claims with a key, a text with blanks and quotes, and a column that is called like one of ours.
fn with_extras(n_rows: usize) -> String {
    appended(&claims(1, n_rows), |i| match i {
        0 => "claim,note,score".to_owned(),
        1 => "C-1,\"=1+1, \"\"x\"\"\",NA".to_owned(),
        _ => format!("C-{i},plain ,00{i}"),
    })
}

fn column<'a>(csv: &'a str, name: &str) -> Vec<&'a str> {
    let at = csv.lines().next().expect("a header").split(',').position(|found| found == name).expect(name);
    csv.lines().skip(1).filter_map(|line| line.split(',').nth(at)).collect()
}

/// The texts and numbers of the first sheet of a workbook, as they stand in it.
fn sheet(workbook: Vec<u8>) -> String {
    let mut archive = zip::ZipArchive::new(Cursor::new(workbook)).expect("a workbook");
    let mut text = String::new();
    archive.by_name("xl/worksheets/sheet1.xml").expect("a sheet").read_to_string(&mut text).expect("text");
    text
}

#[test]
fn columns_pass_through_as_they_were_read() {
    let folder = Folder::with_model();
    folder.write("new.csv", with_extras(30));
    let kept = ["score", "claims.gnsm", "new.csv", "--keep", "amount,score,note", "--id", "claim", "--explain", "1"];
    let run = folder.run(&kept).succeeded();
    let mut lines = run.stdout.lines();
    assert_eq!(lines.next(), Some("claim,row,score,p_value,anomaly,reason_1,amount,input_score,note"));
    let first = lines.next().expect("a row");
    assert!(first.starts_with("C-1,0,") && first.ends_with(",NA,\"=1+1, \"\"x\"\"\""), "{first}");
    assert!(lines.next().is_some_and(|line| line.ends_with(",002,\"plain \"")), "{}", run.stdout);
    assert!(run.stderr.contains("new.csv: column `score` is called `input_score` in the output"), "{}", run.stderr);
    // With a false discovery rate, records take another way, and say the same.
    let by_rate = folder.run(&[&kept[..], &["--fdr", "0.5"]].concat()).succeeded().stdout;
    assert_eq!(column(&by_rate, "input_score"), column(&run.stdout, "input_score"));
    let bare = folder.run(&["score", "claims.gnsm", "new.csv"]).succeeded().stdout;
    assert_eq!(column(&bare, "score"), column(&run.stdout, "score"));

    let all = folder.run(&["score", "claims.gnsm", "new.csv", "--keep", "all", "--output-format", "jsonl"]).succeeded();
    let object: serde_json::Value = serde_json::from_str(all.stdout.lines().nth(1).expect("a row")).expect("JSON");
    let names: Vec<&String> = object.as_object().expect("an object").keys().collect();
    let expected = "row score p_value anomaly department category weekday amount claim note input_score";
    assert_eq!(names, expected.split(' ').collect::<Vec<_>>());
    assert_eq!((&object["input_score"], &object["note"]), (&"002".into(), &"plain ".into()));

    let error = folder.run(&["score", "claims.gnsm", "new.csv", "--keep", "nope"]).failed();
    assert!(error.contains("new.csv has no column `nope` to keep; its columns are `department`, "), "{error}");
}

#[test]
fn parquet_keeps_types_and_comes_back() {
    let folder = Folder::with_model();
    folder.write("new.csv", with_extras(30));
    let score = |file: &str, out: &str| {
        folder.run(&["score", "claims.gnsm", file, "--keep", "all", "-o", out]).succeeded();
    };
    score("new.csv", "once.parquet");
    // Our own columns become the input's, and are renamed; numbers stay numbers, text stays text.
    score("once.parquet", "twice.jsonl");
    let twice = folder.text("twice.jsonl");
    let object: serde_json::Value = serde_json::from_str(twice.lines().nth(2).expect("a row")).expect("JSON");
    assert_eq!((&object["input_row"], &object["input_input_score"]), (&2.into(), &"003".into()));
    assert_eq!((&object["score"], &object["claim"]), (&object["input_score"], &"C-3".into()));
}

#[test]
fn a_workbook_has_no_formulas_and_coloured_cells() {
    let folder = Folder::with_model();
    folder.write("new.csv", with_extras(30) + &ODD.replace('\n', ",C-99,last,7\n"));
    let arguments = ["score", "claims.gnsm", "new.csv", "--keep", "all", "--contamination", "0.03", "-o", "out.xlsx"];
    folder.run(&arguments).succeeded();
    let sheet = sheet(folder.read("out.xlsx"));
    assert!(!sheet.contains("<f>"), "no formula");
    for cell in ["<t>=1+1, \"x\"</t>", "<t>002</t>", "<t>NA</t>", "<t xml:space=\"preserve\">plain </t>"] {
        assert!(sheet.contains(cell), "{cell}: {sheet}");
    }
    assert_eq!(sheet.matches("<row ").count(), 32);
    let last = sheet.rsplit("<row ").next().expect("a row");
    let is_coloured = |column: &str| last.contains(&format!("<c r=\"{column}32\" s=\""));
    // Row, score, p-value and flag come first; then department, category, weekday.
    assert!(is_coloured("F") || is_coloured("G"), "{last}");
    assert!(!is_coloured("A") && !is_coloured("I"), "{last}");
    // A pipe gets the same bytes.
    let piped = folder.command(&["score", "claims.gnsm", "new.csv", "--output-format", "xlsx"]).output().expect("ran");
    assert!(piped.status.success() && piped.stdout.starts_with(b"PK"));
}

#[test]
fn detect_writes_what_score_writes() {
    let folder = Folder::new();
    folder.write("claims.csv", claims(0, 300) + ODD);
    let detect = |more: &[&str]| folder.run(&[&["detect", "claims.csv", "--top", "2"], more].concat()).succeeded();
    let plain = detect(&["-o", "plain.csv"]);
    let whole = detect(&["-o", "s.jsonl", "--explain", "2", "--keep", "all", "--id", "category"]);
    assert!(whole.stdout.starts_with("1. row 300 (line 302)  category = Hardware  score"), "{}", whole.stdout);
    assert_eq!(plain.stdout.matches(". row ").count(), 2);
    let objects: Vec<serde_json::Value> =
        folder.text("s.jsonl").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(objects.len(), 301);
    let last = &objects[300];
    assert_eq!((&last["weekday"], &last["amount"], &last["row"]), (&"Sun".into(), &"99999.00".into(), &300.into()));
    assert_eq!(last["reasons"].as_array().map(Vec::len), Some(2));
    // Each row is judged as if it had not been there: the scores are those of the shown rows.
    let shown = detect(&["--json"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!((&shown["top"][0]["score"], &shown["top"][0]["row"]), (&last["score"], &last["row"]));
    for (object, line) in objects.iter().zip(folder.text("plain.csv").lines().skip(1)) {
        let score: f64 = line.split(',').nth(1).expect("a score").parse().expect("a number");
        assert_eq!(object["score"].as_f64(), Some(score));
    }
    let piped = detect(&["--output-format", "csv", "--keep", "amount"]);
    assert_eq!(piped.stdout.lines().next(), Some("row,score,p_value,anomaly,amount"));
    assert_eq!(piped.stdout.lines().count(), 302);
    detect(&["-o", "s.xlsx", "--keep", "all"]);
    assert!(sheet(folder.read("s.xlsx")).contains("<t>99999.00</t>"));
    let error = folder.run(&["detect", "claims.csv", "--json", "--output-format", "csv"]).failed();
    assert!(error.contains("both want standard output"), "{error}");
}

#[test]
fn a_share_of_flagged_rows_can_fail_a_script() {
    let folder = Folder::with_model();
    folder.write("new.csv", claims(1, 95) + &ODD.repeat(5));
    let code = |share: &str, more: &[&str]| {
        let arguments = ["score", "claims.gnsm", "new.csv", "--threshold", "1e9", "--fail-if-more-than", share];
        let run = folder.run(&[&arguments[..], more].concat());
        (run.code, run.stderr)
    };
    assert_eq!(code("0", &[]).0, Some(0), "none is no more than none");
    let all = |share: &str| {
        let run = folder.run(&[
            "score",
            "claims.gnsm",
            "new.csv",
            "--threshold",
            "-1e9",
            "--fail-if-more-than",
            share,
            "-o",
            "s.csv",
        ]);
        (run.code, run.stderr)
    };
    assert_eq!(all("1").0, Some(0));
    let (failed, stderr) = all("0.02");
    assert_eq!(failed, Some(1));
    assert!(stderr.contains("100 of 100 are more than the 2 % of --fail-if-more-than"), "{stderr}");
    assert_eq!(folder.text("s.csv").lines().count(), 101, "everything is written all the same");
    let run = folder.run(&["score", "claims.gnsm", "new.csv", "--fail-if-more-than", "2"]);
    assert!(run.code == Some(2) && run.stderr.contains("give a number between 0 and 1"), "{}", run.stderr);
}

#[test]
fn nothing_is_printed_before_the_first_row_is_certain() {
    let folder = Folder::with_model();
    folder.write("renamed.csv", claims(1, 5).replacen("weekday", "day", 1));
    folder.write("broken.csv", claims(1, 5) + "too,few\n");
    for file in ["renamed.csv", "broken.csv"] {
        for format in ["csv", "parquet", "table", "xlsx"] {
            // `failed` checks that standard output is empty.
            folder.run(&["score", "claims.gnsm", file, "--output-format", format]).failed();
        }
    }
}

#[test]
fn an_empty_discovery_says_what_was_missing() {
    let folder = Folder::with_model();
    folder.write("new.csv", claims(0, 100));
    let run = folder.run(&["score", "claims.gnsm", "new.csv", "--fdr", "0.01"]).succeeded();
    let csv = run.stdout.clone();
    let p_values: Vec<f64> = column(&csv, "p_value").iter().map(|cell| cell.parse().expect("a number")).collect();
    let lowest = p_values.iter().copied().fold(1.0, f64::min);
    let n = p_values.iter().filter(|p| **p == lowest).count();
    assert!(run.stderr.contains("a false discovery rate of 0.01 flags nothing: "), "{}", run.stderr);
    let needed = format!("0.01 × {n} / 100 = ");
    assert!(run.stderr.contains(&needed), "{needed}: {}", run.stderr);
    assert!(lowest > 0.01 * n as f64 / 100.0);
}

#[test]
fn nothing_is_cut_in_a_pipe_and_blanks_show() {
    let folder = Folder::new();
    let long =
        "a very long value that goes on and on, far beyond the eighty characters that a terminal shows, to its end";
    folder.write(
        "t.csv",
        appended(&claims(0, 200), |i| match i {
            0 => "remark,city ".to_owned(),
            _ => format!("\"{}\",{}", if i == 200 { long } else { "short" }, if i == 200 { "Bonn " } else { "Bonn" }),
        }),
    );
    let run = folder.run(&["detect", "t.csv", "--top", "1", "--categorical", "remark"]).succeeded();
    assert!(run.stdout.starts_with("1. row 199 "), "{}", run.stdout);
    assert!(run.stdout.contains(long) && run.stdout.contains("'Bonn '"), "{}", run.stdout);
    assert!(!run.stdout.contains('…') && !run.stderr.contains('…'), "{}{}", run.stdout, run.stderr);
}
