//! `gnsm sample` and `gnsm impute`.

use crate::harness::{Folder, claims, exists};

/// A folder with `claims.csv` and a model of the default method.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("claims.csv", claims(0, 400));
    folder.run(&["fit", "claims.csv", "-o", "m.gnsm"]).succeeded();
    folder
}

#[test]
fn rows_are_made_in_three_formats_and_are_the_same_with_any_number_of_threads() {
    let folder = folder();
    let run = folder.run(&["sample", "m.gnsm", "-n", "5000", "-o", "a.csv", "--seed", "3"]).succeeded();
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", "5,000 rows made in a.csv\n"));
    folder.run(&["sample", "m.gnsm", "-n", "5000", "-o", "b.csv", "--seed", "3", "--threads", "1"]).succeeded();
    assert_eq!(folder.read("a.csv"), folder.read("b.csv"));
    folder.run(&["sample", "m.gnsm", "-n", "5000", "-o", "c.csv", "--seed", "4"]).succeeded();
    assert_ne!(folder.read("a.csv"), folder.read("c.csv"));
    assert!(folder.text("a.csv").starts_with("department,category,weekday,amount\n"));
    for name in ["a.jsonl", "a.parquet"] {
        folder.run(&["sample", "m.gnsm", "-n", "50", "-o", name, "--seed", "3"]).succeeded();
        let scored = folder.run(&["score", "m.gnsm", name]).succeeded().stdout;
        assert_eq!(scored.lines().count(), 51, "{name}");
    }
    assert_eq!(folder.text("a.jsonl").lines().count(), 50);
    // The network makes rows too.
    let folder = Folder::with_model();
    folder.run(&["sample", "claims.gnsm", "-n", "20", "-o", "g.csv"]).succeeded();
    assert_eq!(folder.text("g.csv").lines().count(), 21);
}

#[test]
fn cells_may_be_given() {
    let folder = folder();
    folder.run(&["sample", "m.gnsm", "-n", "30", "-o", "a.csv", "--given", "department=Sales"]).succeeded();
    let made = folder.text("a.csv");
    assert!(made.lines().skip(1).all(|line| line.starts_with("Sales,")), "{made}");
    folder.write("like.csv", "category,extra\nMeals,1\nHardware,2\n");
    let run =
        folder.run(&["sample", "m.gnsm", "--like", "like.csv", "--given", "weekday=Fri", "-o", "b.csv"]).succeeded();
    assert!(run.stderr.contains("extra") && run.stderr.contains("2 rows made"), "{}", run.stderr);
    let made = folder.text("b.csv");
    let lines: Vec<&str> = made.lines().skip(1).collect();
    assert!(lines[0].contains(",Meals,Fri,") && lines[1].contains(",Hardware,Fri,"), "{made}");
    folder.write("strange.csv", "category,extra\nDinosaurs,1\n");
    let run = folder.run(&["sample", "m.gnsm", "--like", "strange.csv", "-o", "b.csv"]).succeeded();
    assert!(run.stderr.contains("column `category` never held `Dinosaurs`"), "{}", run.stderr);
    folder.write("other.csv", "extra\n1\n");
    let error = folder.run(&["sample", "m.gnsm", "--like", "other.csv", "-o", "x.csv"]).failed();
    assert!(error.contains("other.csv has no column that the model knows; the model's are `department`"), "{error}");
    for (given, message) in [
        ("city=Rome", "error: the model has no column `city`; its columns are "),
        ("department=Sails", "error: column `department` never held `Sails`; its values are "),
        ("department", "error: --given department: write it as COLUMN=VALUE, such as 'country=Germany'"),
    ] {
        let error = folder.run(&["sample", "m.gnsm", "-n", "3", "-o", "x.csv", "--given", given]).failed();
        assert!(error.starts_with(message), "{error}");
    }
    let error =
        folder.run(&["sample", "m.gnsm", "--like", "like.csv", "--given", "category=Meals", "-o", "x.csv"]).failed();
    assert!(error.starts_with("error: column `category` is given, and like.csv has it too"), "{error}");
    assert!(!exists(&folder, "x.csv"));
}

#[test]
fn missing_cells_are_filled_and_no_others() {
    let folder = folder();
    folder
        .write("holes.csv", "department,category,weekday,amount,who\nSales,,Mon,350.00,\" Ann \"\n,Hardware,,NA,Bob\n");
    let run = folder.run(&["impute", "m.gnsm", "holes.csv", "-o", "a.csv", "--probabilities"]).succeeded();
    assert!(
        run.stderr.contains("4 cells filled in a.csv (amount 1, category 1, department 1, weekday 1)"),
        "{}",
        run.stderr
    );
    let filled = folder.text("a.csv");
    let lines: Vec<&str> = filled.lines().collect();
    assert!(lines[0].starts_with("department,category,weekday,amount,who,amount_probability,"), "{filled}");
    assert!(lines[1].starts_with("Sales,") && lines[1].contains(",Mon,350.00,\" Ann \","), "{filled}");
    assert!(lines[2].starts_with("Engineering,Hardware,"), "{filled}");
    folder.run(&["impute", "m.gnsm", "holes.csv", "-o", "b.csv", "--draws", "2", "--seed", "1"]).succeeded();
    let drawn = folder.text("b.csv");
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!((lines.len(), lines[0]), (5, "row,draw,department,category,weekday,amount,who"));
    assert!(lines[1].starts_with("0,1,Sales,") && lines[4].starts_with("1,2,"), "{drawn}");
    let error = folder.run(&["impute", "m.gnsm", "holes.csv", "-o", "holes.csv"]).failed();
    assert!(error.contains("is read by this command"), "{error}");
    let error = folder.run(&["impute", "m.gnsm", "holes.csv", "-o", "c.xlsx"]).failed();
    assert!(error.contains("writes csv, jsonl and parquet"), "{error}");
    for name in ["c.txt", "-"] {
        let error = folder.run(&["sample", "m.gnsm", "-n", "2", "-o", name]).failed();
        assert!(error.contains("name a file that ends in .csv, .jsonl or .parquet"), "{error}");
    }
    let error = folder.run(&["impute", "m.gnsm", "holes.csv", "-o", "c.csv", "--draws", "0"]).failed();
    assert!(error.contains("0 is not a number of draws; give 1 or more"), "{error}");
}

#[test]
fn a_method_that_cannot_make_rows_says_which_can() {
    let folder = folder();
    folder.run(&["fit", "claims.csv", "-o", "k.gnsm", "--method", "knn"]).succeeded();
    let error = folder.run(&["sample", "k.gnsm", "-n", "3", "-o", "x.csv"]).failed();
    assert_eq!(
        error,
        "error: method `knn` cannot make rows; fit a model with the default method, `cells`, or with `gnsm`"
    );
    assert!(!exists(&folder, "x.csv"));
}
