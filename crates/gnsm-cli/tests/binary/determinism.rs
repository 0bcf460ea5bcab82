//! A score depends on the model and the row alone, a model on the data and the seed alone.

use crate::harness::{Folder, ODD, claims};

/// The score and p-value of each row as written.
fn scores(csv: &str) -> Vec<&str> {
    csv.lines().skip(1).map(|line| line.split_once(',').expect("columns").1).collect()
}

#[test]
fn scores_do_not_depend_on_batches_threads_or_order() {
    let folder = Folder::with_model();
    let text = claims(1, 1200) + ODD;
    folder.write("new.csv", &text);
    let score = |file: &str, more: &[&str]| {
        folder.run(&[&["score", "claims.gnsm", file, "--explain", "1"], more].concat()).succeeded().stdout
    };
    let expected = score("new.csv", &[]);
    assert_eq!(scores(&expected).len(), 1201);
    for more in [
        &["--batch-size", "1"][..],
        &["--batch-size", "7"],
        &["--batch-size", "4096"],
        &["--threads", "1"],
        &["--threads", "2"],
        &["--threads", "2", "--batch-size", "7"],
    ] {
        assert!(score("new.csv", more) == expected, "{more:?}");
    }
    let piped = ["score", "claims.gnsm", "-", "--explain", "1", "--batch-size", "7"];
    assert!(folder.run_with_input(&piped, text.as_bytes()).succeeded().stdout == expected, "through a pipe");

    // Every row to another place: 1201 is prime.
    let (header, rows) = text.split_once('\n').expect("a header");
    let rows: Vec<&str> = rows.lines().collect();
    let place = |i: usize| i * 500 % rows.len();
    let shuffled: Vec<&str> = (0..rows.len()).map(|i| rows[place(i)]).collect();
    folder.write("shuffled.csv", format!("{header}\n{}\n", shuffled.join("\n")));
    let (straight, mixed) = (expected.clone(), score("shuffled.csv", &["--batch-size", "100"]));
    let (straight, mixed) = (scores(&straight), scores(&mixed));
    assert!((0..rows.len()).all(|i| mixed[i] == straight[place(i)]), "shuffled rows");

    let reversed: String = text.lines().map(|line| line.rsplit(',').collect::<Vec<_>>().join(",") + "\n").collect();
    folder.write("reversed.csv", reversed);
    assert!(score("reversed.csv", &[]) == expected, "reordered columns");
    let run = folder.run(&["score", "claims.gnsm", "reversed.csv", "-o", "s.csv"]).succeeded();
    assert!(run.stderr.contains("columns come in another order"), "{}", run.stderr);

    // The same rows in another format.
    let names: Vec<&str> = header.split(',').collect();
    let objects = rows.iter().map(|row| {
        let cells = row.split(',').zip(&names).map(|(cell, name)| match *name {
            "amount" => format!("\"{name}\":{cell}"),
            _ => format!("\"{name}\":\"{cell}\""),
        });
        format!("{{{}}}", cells.collect::<Vec<_>>().join(","))
    });
    let jsonl = objects.collect::<Vec<_>>().join("\n");
    folder.write("new.jsonl", jsonl);
    let other = folder.run(&["score", "claims.gnsm", "new.jsonl", "--batch-size", "7"]).succeeded().stdout;
    let plain = folder.run(&["score", "claims.gnsm", "new.csv"]).succeeded().stdout;
    assert!(other == plain, "JSON lines");
}

#[test]
fn missing_markers_in_json_lines_mean_the_same_in_every_batch() {
    let folder = Folder::new();
    // A number that is sometimes a marker, words that are sometimes a number, and words alone.
    let object = |i: usize| {
        let amount = if i % 9 == 4 { "\"NA\"".to_owned() } else { format!("{}.5", 40 + i * i % 37) };
        let code = ["\"a\"", "\"b\"", "7", "\"N/A\""][i % 4];
        let word = ["\"x\"", "\"y\"", "\"?\""][i % 3];
        format!("{{\"amount\":{amount},\"code\":{code},\"word\":{word}}}")
    };
    let objects = (0..200).map(object).collect::<Vec<_>>().join("\n");
    folder.write("claims.jsonl", &objects);
    let run = folder.fit("claims.jsonl", "m.gnsm", &[]).succeeded();
    assert!(run.stderr.contains("numbers with"), "{}", run.stderr);
    let score = |size: &str| {
        let arguments = ["score", "m.gnsm", "-", "--format", "jsonl", "--explain", "3", "--batch-size", size];
        folder.run_with_input(&arguments, objects.as_bytes()).succeeded().stdout
    };
    let expected = score("200");
    assert!(expected.contains("amount = (missing)") && expected.contains("code = (missing)"), "{expected}");
    for size in ["1", "2", "7"] {
        assert!(score(size) == expected, "batches of {size}");
    }
}

#[test]
fn a_model_depends_on_data_and_seed_alone() {
    let folder = Folder::new();
    folder.write("claims.csv", claims(0, 400));
    for head in ["surprise", "norms"] {
        folder.fit("claims.csv", "a.gnsm", &["--head", head, "--seed", "3", "--threads", "1"]).succeeded();
        folder.fit("claims.csv", "b.gnsm", &["--head", head, "--seed", "3", "--threads", "2"]).succeeded();
        folder.fit("claims.csv", "c.gnsm", &["--head", head, "--seed", "4"]).succeeded();
        assert!(folder.read("a.gnsm") == folder.read("b.gnsm"), "{head}: threads change the model");
        assert!(folder.read("a.gnsm") != folder.read("c.gnsm"), "{head}: the seed changes nothing");
    }
}
