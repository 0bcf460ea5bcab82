//! Help, completions and manual pages.

use crate::harness::Folder;

#[test]
fn help_of_every_command() {
    let folder = Folder::new();
    let whole = folder.run(&["--help"]).succeeded();
    assert_eq!(whole.stderr, "");
    // The server is a feature; the list is the same but for its line.
    let lines = whole.stdout.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("serve "));
    insta::assert_snapshot!("help", lines.collect::<String>());
    for command in [
        "demo",
        "columns",
        "detect",
        "fit",
        "score",
        "drift",
        "explain",
        "repair",
        "sample",
        "impute",
        "report",
        "inspect",
        "completions",
        "man",
    ] {
        let help = folder.run(&[command, "--help"]).succeeded();
        assert_eq!(help.stderr, "");
        insta::assert_snapshot!(format!("help_{command}"), help.stdout);
    }
}

#[test]
fn usage_errors_are_told_apart() {
    let folder = Folder::new();
    for arguments in [
        &["fit", "a.csv"][..],
        &["frobnicate"],
        &["score", "m", "f", "--fdr", "0.1", "--threshold", "3"],
        &["score", "m", "f", "--batch-size", "0"],
        &["detect", "a.csv", "--method", "magic"],
        &["detect", "a.csv", "--delimiter", "ab"],
        &["fit", "a.csv", "-o", "m", "--max-seconds", "-1"],
        &["inspect", "m", "--threads", "0"],
        &["explain", "m", "f"],
        &[],
    ] {
        let run = folder.run(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{arguments:?}");
        assert!(!run.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.run(&["completions", shell]).succeeded().stdout;
        assert!(script.contains("explain") && script.contains("contamination"), "{shell}");
    }
    let page = folder.run(&["man"]).succeeded().stdout;
    assert!(page.starts_with(".ie") && page.contains("gnsm\\-detect"), "{page}");
    let page = folder.run(&["man", "score"]).succeeded().stdout;
    assert!(page.contains("contamination"), "{page}");
    let error = folder.run(&["man", "magic"]).failed();
    assert!(error.starts_with("error: there is no such command; there are demo, "), "{error}");
}
