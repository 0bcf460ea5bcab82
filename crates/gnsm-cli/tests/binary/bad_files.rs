//! Models, Parquet files and outputs that are damaged, foreign or out of reach.

use crate::harness::{Folder, claims, ended, exists};

#[test]
fn damaged_models_are_refused() {
    let folder = Folder::with_model();
    let model = folder.read("claims.gnsm");
    let commands: [&[&str]; 3] = [
        &["score", "m.gnsm", "claims.csv"],
        &["inspect", "m.gnsm"],
        &["explain", "m.gnsm", "claims.csv", "--row", "0"],
    ];
    let mut damaged: Vec<Vec<u8>> = vec![Vec::new(), b"a,b\n1,2\n".to_vec(), model[..7].to_vec()];
    damaged.extend([2, 3, 10].map(|part| model[..model.len() - model.len() / part].to_vec()));
    // A bit flipped in the length, in the description, and in the arrays.
    for place in [0, 9, 100, model.len() / 4, model.len() / 2, model.len() - 3] {
        let mut copy = model.clone();
        copy[place] ^= 1;
        damaged.push(copy);
    }
    for content in damaged {
        folder.write("m.gnsm", content);
        for command in commands {
            let error = folder.run(command).failed();
            assert!(error.starts_with("error: m.gnsm: "), "{error}");
        }
    }
    let version = b"\\\"version\\\":1";
    let place = model.windows(version.len()).position(|bytes| bytes == version).expect("a version");
    let mut newer = model;
    newer[place + version.len() - 1] = b'2';
    folder.write("m.gnsm", newer);
    let error = folder.run(&["inspect", "m.gnsm"]).failed();
    assert_eq!(error, "error: m.gnsm: format version 2 is newer than this program's 1; use a newer gnsm");
    let error = folder.run(&["inspect", "not-there.gnsm"]).failed();
    assert!(error.starts_with("error: not-there.gnsm: No such file"), "{error}");
}

#[test]
fn damaged_parquet_is_refused() {
    let folder = Folder::with_model();
    folder.run(&["score", "claims.gnsm", "claims.csv", "-o", "good.parquet"]).succeeded();
    folder.fit("good.parquet", "scores.gnsm", &["--numeric", "row"]).succeeded();
    let good = folder.read("good.parquet");
    for part in [2, 3, 10, 100] {
        folder.write("bad.parquet", &good[..good.len() - good.len() / part]);
        let error = folder.run(&["score", "scores.gnsm", "bad.parquet", "-o", "s.csv"]).failed();
        assert!(error.starts_with("error: bad.parquet"), "{error}");
        folder.run(&["detect", "bad.parquet", "--method", "gnsm", "--config", "tiny.toml"]).failed();
    }
    // A flipped bit may be in a number, and then nobody can know.
    for place in (0..good.len()).step_by(good.len() / 40) {
        let mut copy = good.clone();
        copy[place] ^= 4;
        folder.write("bad.parquet", copy);
        let run = folder.run(&["score", "scores.gnsm", "bad.parquet", "-o", "s.csv"]);
        match run.code {
            Some(0) => {}
            _ => assert!(run.failed().starts_with("error: "), "byte {place}"),
        }
    }
}

#[test]
fn outputs_out_of_reach_are_noticed_before_the_work() {
    let folder = Folder::with_model();
    std::fs::create_dir(folder.path("folder")).expect("a folder");
    // Were the table read first, its absence would be the error.
    let error = folder.fit("not-there.csv", "nowhere/m.gnsm", &[]).failed();
    assert!(error.starts_with("error: nowhere/m.gnsm: No such file or directory"), "{error}");
    let error = folder.fit("not-there.csv", "folder", &[]).failed();
    assert_eq!(error, "error: folder is a folder; give the path of a file in it");
    for output in [&["-o", "nowhere/s.csv"][..], &["--save", "nowhere/m.gnsm"]] {
        let error = folder.run(&[&["detect", "not-there.csv"], output].concat()).failed();
        assert!(error.starts_with("error: nowhere/"), "{error}");
    }
    let error = folder.run(&["score", "claims.gnsm", "claims.csv", "-o", "s.doc"]).failed();
    assert!(error.contains("the ending does not tell a format"), "{error}");
}

#[test]
fn inputs_are_never_overwritten() {
    let folder = Folder::with_model();
    let (table, model) = (folder.text("claims.csv"), folder.read("claims.gnsm"));
    for arguments in [
        &["score", "claims.gnsm", "claims.csv", "-o", "claims.csv"][..],
        &["score", "claims.gnsm", "claims.csv", "-o", "./claims.gnsm", "--output-format", "csv"],
        &["fit", "claims.csv", "-o", "claims.csv"],
        &["fit", "claims.csv", "-o", "tiny.toml", "--method", "gnsm", "--config", "tiny.toml"],
        &["detect", "claims.csv", "-o", "claims.csv"],
        &["detect", "claims.csv", "--save", "./claims.csv"],
        &["detect", "claims.csv", "--save", "both.csv", "-o", "both.csv"],
    ] {
        folder.run(arguments).failed();
    }
    assert!(folder.text("claims.csv") == table && folder.read("claims.gnsm") == model);
    assert!(!exists(&folder, "both.csv"));
}

#[test]
fn a_row_that_is_bad_in_the_middle_leaves_no_file() {
    let folder = Folder::with_model();
    folder.write(
        "late.csv",
        claims(1, 3000) + "Sales,Meals,Mon\n" + &claims(2, 10).replacen("department,category,weekday,amount\n", "", 1),
    );
    folder.write("s.csv", "earlier");
    for output in ["s.csv", "t.parquet"] {
        let error = folder.run(&["score", "claims.gnsm", "late.csv", "-o", output, "--batch-size", "100"]).failed();
        assert!(error.starts_with("error: late.csv, line 3002"), "{error}");
    }
    assert_eq!(folder.text("s.csv"), "earlier");
    assert_eq!(folder.files(), ["claims.csv", "claims.gnsm", "late.csv", "s.csv", "tiny.toml"]);
}

/// A limit on the size of files fails a write in the middle, as a disk does that fills up.
#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_fills_up_leaves_earlier_files_alone() {
    let folder = Folder::with_model();
    for name in ["old.csv", "old.jsonl", "old.parquet", "old.gnsm"] {
        folder.write(name, "earlier");
    }
    let before = folder.files();
    for (file, arguments) in [
        ("old.csv", &["score", "claims.gnsm", "claims.csv", "-o", "old.csv"][..]),
        ("old.jsonl", &["score", "claims.gnsm", "claims.csv", "-o", "old.jsonl", "--fdr", "0.5"]),
        ("old.parquet", &["score", "claims.gnsm", "claims.csv", "-o", "old.parquet", "--explain", "4"]),
        ("old.csv", &["detect", "claims.csv", "-o", "old.csv", "--method", "gnsm", "--config", "tiny.toml"]),
        ("old.gnsm", &["fit", "claims.csv", "-o", "old.gnsm", "--method", "gnsm", "--config", "tiny.toml"]),
        ("old.gnsm", &["detect", "claims.csv", "--save", "old.gnsm", "--method", "gnsm", "--config", "tiny.toml"]),
    ] {
        // The signal that comes with it is ignored: a full disk sends none.
        let limited = ["-c", "trap '' XFSZ; ulimit -f 2; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_gnsm")];
        let error = ended(&mut folder.program("sh", &[&limited, arguments].concat())).failed();
        assert!(error.contains("File too large"), "{error}");
        assert_eq!(folder.files(), before, "{arguments:?}");
        assert_eq!(folder.text(file), "earlier", "{arguments:?}");
    }
}

#[test]
fn text_from_files_cannot_command_the_terminal() {
    let folder = Folder::with_model();
    folder.write("new.csv", "department,category,weekday,amount\n\u{1b}[31mred,\"two\nlines\",Mon,3.5\n");
    let page = folder.run(&["explain", "claims.gnsm", "new.csv", "--row", "0"]).succeeded().stdout;
    assert!(!page.contains('\u{1b}') && page.contains("\\u{1b}[31mred") && page.contains("two\\nlines"), "{page}");
}
