//! Fits that are stopped, killed and continued.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{Folder, claims, exists};

/// A fit of a few seconds.
const LONG: &str = "\
[levels]
count = 3
[network]
width = 16
depth = 1
embedding = 4
[training]
batch = 64
steps = 1000000
epochs = 0
validate_every = 50
patience = 0
";

fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_mins(1), "{} does not appear", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().expect("started").success());
}

#[test]
fn an_interrupted_fit_keeps_the_best_model_so_far_and_says_so() {
    for (name, limit, code) in
        [("-INT", &[][..], Some(130)), ("-TERM", &[], Some(130)), ("-TERM", &["--max-seconds", "600"], Some(0))]
    {
        let folder = Folder::new();
        folder.write("claims.csv", claims(0, 400));
        folder.write("long.toml", LONG);
        let arguments = ["fit", "claims.csv", "-o", "m.gnsm", "--method", "gnsm", "--config", "long.toml"];
        let child = folder.command(&[&arguments[..], limit].concat()).spawn().expect("started");
        wait_for(&folder.path("m.gnsm.checkpoint"));
        signal(&child, name);
        let output = child.wait_with_output().expect("ended");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), code, "{name} {limit:?}: {stderr}");
        assert!(stderr.contains("stopping with the best model so far"), "{stderr}");
        assert!(stderr.contains("training was interrupted after"), "{stderr}");
        assert!(stderr.contains("--resume continues from m.gnsm.checkpoint"), "{stderr}");
        folder.run(&["score", "m.gnsm", "claims.csv"]).succeeded();
        assert_eq!(folder.files(), ["claims.csv", "long.toml", "m.gnsm", "m.gnsm.checkpoint", "tiny.toml"]);
    }
}

#[test]
fn a_second_ctrl_c_ends_at_once() {
    let folder = Folder::new();
    let mut command = folder.command(&["fit", "-", "-o", "m.gnsm", "--method", "gnsm", "--config", "tiny.toml"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("started");
    // More than a pipe holds: once it is written, the table is being read, and whoever reads waits for its end.
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(claims(0, 20_000).as_bytes()).expect("written");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    signal(&child, "-INT");
    let first = lines.next().expect("a line").expect("text");
    assert_eq!(first, "stopping with the best model so far; press Ctrl-C again to quit without it");
    assert!(child.try_wait().expect("asked").is_none(), "the first one lets it finish");
    signal(&child, "-INT");
    // The table has not ended, so this is the signal's doing.
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    assert_eq!(lines.count(), 0, "there is nothing more to say");
    drop(stdin);
    assert_eq!(folder.files(), ["tiny.toml"]);
}

#[test]
fn a_killed_fit_is_continued_to_the_same_model() {
    let folder = Folder::new();
    folder.write("claims.csv", claims(0, 400));
    // How many steps fit into four seconds or so of this machine, two checkpoints long.
    folder.write("long.toml", LONG);
    let probe = [
        "fit",
        "claims.csv",
        "-o",
        "probe.gnsm",
        "--method",
        "gnsm",
        "--config",
        "long.toml",
        "--max-seconds",
        "1",
        "--json",
    ];
    let report: serde_json::Value = serde_json::from_str(&folder.run(&probe).succeeded().stdout).expect("a report");
    assert_eq!(report["ending"], "time-limit");
    let steps = report["steps"].as_u64().expect("steps") * 4;
    folder.write("long.toml", LONG.replacen("1000000", &steps.to_string(), 1));
    let fit = |model: &str, resume: bool| {
        let more: &[&str] = if resume { &["--resume"] } else { &[] };
        folder
            .command(&[&["fit", "claims.csv", "-o", model, "--method", "gnsm", "--config", "long.toml"], more].concat())
    };

    let mut child = fit("killed.gnsm", false).spawn().expect("started");
    wait_for(&folder.path("killed.gnsm.checkpoint"));
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert!(!exists(&folder, "killed.gnsm"));
    // Other settings cannot continue it.
    let error = folder.fit("claims.csv", "killed.gnsm", &["--resume"]).failed();
    assert!(error.contains("this checkpoint was made with other data, settings or seed"), "{error}");

    let output = fit("killed.gnsm", true).output().expect("started");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.contains("continuing from killed.gnsm.checkpoint"), "{stderr}");
    assert!(!exists(&folder, "killed.gnsm.checkpoint"));
    assert!(fit("whole.gnsm", false).output().expect("started").status.success());
    assert!(folder.read("killed.gnsm") == folder.read("whole.gnsm"), "the two models differ");
}

#[test]
fn an_interrupted_score_leaves_nothing_behind() {
    let folder = Folder::with_model();
    folder.write("long.csv", claims(1, 200_000));
    let arguments = ["score", "claims.gnsm", "long.csv", "-o", "s.csv", "--explain", "3", "--batch-size", "64"];
    let child = folder.command(&arguments).spawn().expect("started");
    // Wait until it writes beside.
    let start = Instant::now();
    while !folder.files().iter().any(|name| name.starts_with(".gnsm-")) {
        assert!(start.elapsed() < Duration::from_secs(20), "nothing is written");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    signal(&child, "-INT");
    let output = child.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(folder.files(), ["claims.csv", "claims.gnsm", "long.csv", "tiny.toml"]);
}
