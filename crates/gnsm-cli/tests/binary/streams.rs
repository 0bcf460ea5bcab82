//! Who hears what: data on standard output, the rest on standard error, and readers who leave early.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use crate::harness::{Folder, claims};

/// Reads one line of the output, then leaves.
fn first_line_only(mut child: Child) -> (Option<i32>, String) {
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let output = child.wait_with_output().expect("ended");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_reader_may_leave() {
    let folder = Folder::with_model();
    folder.write("long.csv", claims(1, 20_000));
    for arguments in [
        &["score", "claims.gnsm", "long.csv", "--batch-size", "100"][..],
        &["score", "claims.gnsm", "long.csv", "--fdr", "0.1"],
        &["score", "claims.gnsm", "long.csv", "--output-format", "jsonl"],
        &["detect", "claims.csv", "--method", "gnsm", "--config", "tiny.toml", "--top", "400"],
        &["explain", "claims.gnsm", "claims.csv", "--row", "3"],
        &["inspect", "claims.gnsm", "--json"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
    ] {
        let (code, stderr) = first_line_only(folder.command(arguments).spawn().expect("started"));
        assert_eq!(code, Some(0), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("error"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn nobody_may_listen_on_standard_error() {
    let folder = Folder::new();
    folder.write("claims.csv", claims(0, 100));
    let mut child = folder
        .command(&["fit", "claims.csv", "-o", "m.gnsm", "--method", "gnsm", "--config", "tiny.toml"])
        .spawn()
        .expect("started");
    drop(child.stderr.take());
    assert!(child.wait().expect("ended").success());
    folder.run(&["inspect", "m.gnsm"]).succeeded();
}

#[test]
fn what_training_would_need_is_mentioned_where_there_is_none() {
    let folder = Folder::new();
    folder.write("claims.csv", claims(0, 100));
    folder.write("few.toml", "layers = [8]\ntraining.steps = 10\n");
    let note = "--max-seconds limits training, and `knn` has none";
    let fit = |more: &[&str]| folder.run(&[&["fit", "claims.csv", "-o", "m.gnsm"], more].concat()).succeeded().stderr;
    assert!(fit(&["--method", "knn", "--max-seconds", "5"]).contains(note));
    assert!(!fit(&["--method", "knn"]).contains("training, and"));
    let resumed = fit(&["--method", "knn", "--resume"]);
    assert!(resumed.contains("--resume continues training, and `knn` has none"), "{resumed}");
    assert!(!resumed.contains("checkpoint"), "{resumed}");
    let limited = fit(&["--method", "dsvdd", "--config", "few.toml", "--max-seconds", "1e-9"]);
    assert!(limited.contains("training met its time limit"), "{limited}");
}

#[test]
fn quiet_is_quiet() {
    let folder = Folder::with_model();
    for arguments in [
        &["fit", "claims.csv", "-o", "m.gnsm", "--method", "gnsm", "--config", "tiny.toml", "--quiet"][..],
        &["score", "claims.gnsm", "claims.csv", "-o", "s.csv", "-q", "--contamination", "1e-6"],
    ] {
        let run = folder.run(arguments).succeeded();
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""), "{arguments:?}");
    }
}

#[test]
fn scores_flow_while_the_input_is_still_open() {
    let folder = Folder::with_model();
    let mut command = folder.command(&["score", "claims.gnsm", "-", "--batch-size", "1"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("started");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    // Enough for the reader to know the file; what it needs ahead is its own business.
    let text = claims(1, 4000);
    stdin.write_all(text.as_bytes()).expect("written");
    assert_eq!(lines.next().expect("a line").expect("text"), "row,score,p_value,anomaly");
    assert!(lines.next().expect("a line").expect("text").starts_with("0,"));
    drop(stdin);
    assert_eq!(lines.count(), 3999);
    assert!(child.wait().expect("ended").success());
}

/// The most memory in kB that scoring this many copies of `rows` took, measured before the end of the input.
#[cfg(target_os = "linux")]
fn peak_memory(folder: &Folder, more: &[&str], rows: &str, copies: usize) -> u64 {
    let mut command = folder.command(&[&["score", "m.gnsm", "-", "--threads", "1"], more].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("started");
    let mut stdin = child.stdin.take().expect("a pipe");
    let (header, rows) = rows.split_at(rows.find('\n').expect("a header") + 1);
    stdin.write_all(header.as_bytes()).expect("written");
    for _ in 0..copies {
        stdin.write_all(rows.as_bytes()).expect("written");
    }
    // All but what a pipe and a buffer hold is scored by now.
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("a status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    drop(stdin);
    assert!(child.wait().expect("ended").success());
    peak.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_rows() {
    let folder = Folder::new();
    let without_amount = |table: String| -> Vec<String> {
        table.lines().map(|line| line.rsplit_once(',').expect("an amount").0.to_owned()).collect()
    };
    // Rows that are all different with the quickest method, then a network on rows that repeat.
    for (method, rows) in
        [("marginals", claims(1, 20_000)), ("gnsm", without_amount(claims(1, 20_000)).join("\n") + "\n")]
    {
        folder.write("t.csv", &rows);
        let config: &[&str] = if method == "gnsm" { &["--config", "tiny.toml"] } else { &[] };
        folder.run(&[&["fit", "t.csv", "-o", "m.gnsm", "--method", method], config].concat()).succeeded();
        for more in [&[][..], &["--fdr", "0.1"], &["--output-format", "parquet"]] {
            let (little, much) = (peak_memory(&folder, more, &rows, 2), peak_memory(&folder, more, &rows, 20));
            // Ten bytes a row would show.
            assert!(much < little + 3_600, "{method} {more:?}: {little} kB for 40,000 rows, {much} kB for 400,000");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let folder = Folder::with_model();
    let full = || Stdio::from(std::fs::File::options().write(true).open("/dev/full").expect("opened"));
    for arguments in [
        &["score", "claims.gnsm", "claims.csv"][..],
        &["score", "claims.gnsm", "claims.csv", "--output-format", "parquet"],
        &["explain", "claims.gnsm", "claims.csv", "--row", "0"],
        &["inspect", "claims.gnsm"],
        &["man"],
    ] {
        let output = folder.command(arguments).stdout(full()).output().expect("started");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains("error: standard output: No space left on device"), "{arguments:?}: {stderr}");
    }
    for format in ["csv", "jsonl", "parquet"] {
        let arguments = ["score", "claims.gnsm", "claims.csv", "-o", "/dev/full", "--output-format", format];
        let error = folder.run(&arguments).failed();
        assert!(error.starts_with("error: /dev/full: No space left on device"), "{error}");
    }
    let error = folder.fit("claims.csv", "/dev/full", &[]).failed();
    assert!(error.starts_with("error: /dev/full: No space left on device"), "{error}");
}
