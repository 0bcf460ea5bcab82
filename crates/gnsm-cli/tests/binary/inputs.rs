//! Tables as people have them: several files, folders, other encodings, comments, texts that mean "no value".

use crate::harness::{Folder, ODD, claims};

const HEADER: &str = "department,category,weekday,amount\n";

/// The rows of a table after its header.
fn rows(table: &str) -> &str {
    table.split_once('\n').expect("a header").1
}

#[test]
fn several_files_are_one_table() {
    let folder = Folder::with_model();
    let whole = claims(3, 300);
    let lines: Vec<&str> = rows(&whole).lines().collect();
    // The second file has its columns in another order, and the odd row.
    let swapped = lines[100..].iter().map(|line| line.split_once(',').expect("cells"));
    let swapped: Vec<String> = swapped.map(|(first, rest)| format!("{rest},{first}")).collect();
    let odd = ODD.trim_end().split_once(',').map(|(first, rest)| format!("{rest},{first}")).expect("cells");
    folder.write("whole.csv", format!("{whole}{ODD}"));
    folder.write("a.csv", format!("{HEADER}{}\n", lines[..100].join("\n")));
    folder.write("b.csv", format!("category,weekday,amount,department\n{}\n{odd}\n", swapped.join("\n")));
    let score = |files: &[&str]| folder.run(&[&["score", "claims.gnsm"], files].concat()).succeeded();
    let (one, two) = (score(&["whole.csv"]), score(&["a.csv", "b.csv"]));
    assert_eq!(one.stdout, two.stdout);
    assert!(two.stderr.contains("rows 0 to 99 of a.csv, 100 to 300 of b.csv"), "{}", two.stderr);

    let arguments = ["detect", "a.csv", "b.csv", "--top", "1"];
    let page = folder.run(&arguments).succeeded().stdout;
    assert!(page.starts_with("1. row 300 (b.csv, line 202)"), "{page}");
    let json = folder.run(&[&arguments[..], &["--json"]].concat()).succeeded().stdout;
    assert!(json.contains("\"file\": \"b.csv\"") && json.contains("a.csv and 1 more file"), "{json}");
    let explained = folder.run(&["explain", "claims.gnsm", "a.csv", "b.csv", "--row", "300"]).succeeded().stdout;
    assert!(explained.starts_with("row 300 of b.csv, line 202: score"), "{explained}");

    let fit = |files: &[&str], model: &str| {
        folder.run(&[&["fit", "-o", model], files].concat()).succeeded();
        folder.read(model)
    };
    assert!(fit(&["whole.csv"], "one.gnsm") == fit(&["a.csv", "b.csv"], "two.gnsm"), "the same model");

    std::fs::create_dir(folder.path("parts")).expect("a folder");
    for (part, file) in [("parts/part-0.csv", "a.csv"), ("parts/part-1.csv", "b.csv")] {
        folder.write(part, folder.read(file));
    }
    folder.write("parts/_SUCCESS", "");
    assert_eq!(score(&["parts"]).stdout, one.stdout);

    folder.write("other.csv", "department,category,weekday,sum\nSales,Meals,Mon,3\n");
    let error = folder.run(&["score", "claims.gnsm", "a.csv", "other.csv", "-o", "s.csv"]).failed();
    assert!(error.starts_with("error: other.csv, column `amount`: a.csv has this column"), "{error}");
    let error = folder.run(&["score", "claims.gnsm", "a.csv", "b.csv", "-o", "b.csv"]).failed();
    assert!(error.contains("b.csv is read by this command"), "{error}");
}

#[test]
fn encodings_comments_and_delimiters_are_read_and_told() {
    let folder = Folder::with_model();
    let plain = claims(3, 50);
    let scores = folder.run_with_input(&["score", "claims.gnsm", "-"], plain.as_bytes()).succeeded().stdout;
    let utf_16: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
    folder.write("wide.csv", utf_16);
    folder.write("sep.csv", format!("sep=;\n{}", plain.replace(',', ";")));
    folder.write("hash.csv", format!("# claims, 2024\n{HEADER}# half, way\n{}", rows(&plain)));
    folder.write("latin.csv", [plain.as_bytes(), b"Support,Caf\xe9,Mon,40.00\n"].concat());
    let score = |arguments: &[&str]| folder.run(&[&["score", "claims.gnsm"], arguments].concat()).succeeded();
    let wide = score(&["wide.csv"]);
    assert!(wide.stdout == scores && wide.stderr.contains("wide.csv: read as UTF-16LE"), "{}", wide.stderr);
    assert_eq!(score(&["sep.csv"]).stdout, scores);
    assert_eq!(score(&["hash.csv", "--comment", "#"]).stdout, scores);
    let latin = score(&["latin.csv", "--explain", "4"]);
    assert!(latin.stdout.contains("Café"), "{}", latin.stdout);
    assert!(latin.stderr.contains("latin.csv: line 52 is not UTF-8 and was read as Windows-1252"), "{}", latin.stderr);
    let named = score(&["latin.csv", "--encoding", "windows-1251", "--explain", "4"]);
    assert!(named.stdout.contains("Cafй") && !named.stderr.contains("UTF-8"), "{}", named.stderr);
    let error = folder.run(&["score", "claims.gnsm", "latin.csv", "--encoding", "utf-8", "-o", "s.csv"]).failed();
    assert!(error.starts_with("error: latin.csv, line 52: holds what is not UTF-8"), "{error}");
}

#[test]
fn the_texts_for_missing_values_are_kept_in_the_model_and_the_schema() {
    let folder = Folder::new();
    let table = claims(0, 200);
    let lines = rows(&table).lines().enumerate();
    let gap = |(i, line): (usize, &str)| {
        if i % 9 == 0 { line.replacen("Mon", "unknown", 1).replacen("Tue", "-", 1) } else { line.into() }
    };
    folder.write("t.csv", format!("{HEADER}{}\n", lines.map(gap).collect::<Vec<_>>().join("\n")));
    folder.run(&["columns", "t.csv", "--missing", "unknown,-999", "-o", "s.toml"]).succeeded();
    assert!(folder.text("s.toml").contains("missing = [\"unknown\", \"-999\"]"), "{}", folder.text("s.toml"));
    let fit = |more: &[&str], model: &str| {
        folder.run(&[&["fit", "t.csv", "-o", model], more].concat()).succeeded();
        folder.read(model)
    };
    let by_flag = fit(&["--missing", "unknown,-999"], "flag.gnsm");
    fit(&["--schema", "s.toml"], "schema.gnsm");
    assert!(by_flag != fit(&[], "usual.gnsm"));
    folder.write("new.csv", format!("{HEADER}Sales,Meals,unknown,310.00\nSales,Meals,,310.00\nSales,Meals,-,310.00\n"));
    for model in ["flag.gnsm", "schema.gnsm"] {
        let scores = folder.run(&["score", model, "new.csv"]).succeeded().stdout;
        let scores: Vec<&str> = scores.lines().skip(1).map(|line| line.split_once(',').expect("a score").1).collect();
        assert_eq!(scores[0], scores[1], "both are missing");
        assert_ne!(scores[0], scores[2], "this is a value");
    }
    // The usual texts, said again, change nothing.
    folder.run(&["columns", "t.csv", "-o", "usual.toml"]).succeeded();
    assert!(folder.text("usual.toml").contains("missing = [\"\", \"?\", \"-\", \"NA\""));
}
