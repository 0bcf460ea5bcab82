use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;

use super::summary::summarise;
use super::*;

fn line(dataset: &str, method: &str, seed: u64, auroc: f64) -> Line {
    Line {
        dataset: dataset.into(),
        method: method.into(),
        settings: "1a2b3c4d".into(),
        seed,
        rows: 493,
        anomalies: 49,
        auroc,
        ap: auroc / 2.0,
        flagged: 10,
        flagged_anomalies: 8,
        seconds: 0.25,
    }
}

/// A table of two numbers, of which the last rows are odd.
fn write_set(path: &Path) {
    let numbers = |step: f64| (0..60).map(|row| (f64::from(row) * step).sin() + 3.0 * f64::from(row / 54)).collect();
    let labels: Vec<i64> = (0..60).map(|row| row / 54).collect();
    let columns: [(&str, ArrayRef); 3] = [
        ("height", Arc::new(Float64Array::from_iter_values::<Vec<f64>>(numbers(1.3)))),
        ("weight", Arc::new(Float64Array::from_iter_values::<Vec<f64>>(numbers(2.1)))),
        ("label", Arc::new(Int64Array::from(labels))),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("closed");
}

#[test]
fn lines_survive_the_file() {
    let one = line("bank", "cells", 3, 71.25);
    assert_eq!(from_csv(&to_csv(&one)), Some(one));
    assert_eq!(from_csv("bank,cells,1a2b3c4d,x,1,1,1,1,1,1,1"), None);
}

#[test]
fn a_table_holds_its_anomalies_in_an_order_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("people.parquet");
    write_set(&path);
    let data = DataSet::read(&path).expect("a set");
    let own = deal(&data, 0);
    assert_eq!((own.table.n_rows(), own.labels.iter().filter(|odd| **odd).count()), (60, 6));
    let label = own.table.column(LABEL).expect("labels");
    for (row, odd) in own.labels.iter().enumerate() {
        assert_eq!(label.values.text(row).as_deref() == Some("1"), *odd, "row {row}");
    }
    assert_eq!(own.labels, deal(&data, 0).labels);
    assert_ne!(own.labels, deal(&data, 1).labels);
    let table = folder.path().join("tables/people.0.csv");
    own.write(&table).expect("written");
    let text = std::fs::read_to_string(table).expect("read");
    // Beside the two numbers: whether each is missing.
    assert!(text.starts_with("n0,n1,c0,c1,label\n"), "{text}");
    let labels: Vec<bool> = text.lines().skip(1).map(|line| line.ends_with(",1")).collect();
    assert_eq!(labels, own.labels);
}

#[test]
fn a_run_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    write_set(&folder.path().join("people.parquet"));
    let named = |name: &str| (name.to_owned(), Method::named(name).expect("a method"));
    let measured = |methods: &[&str]| {
        let options = Options {
            data: vec![folder.path().into()],
            sets: vec![],
            methods: methods.iter().map(|name| named(name)).collect(),
            seeds: 2,
            tables: None,
            out: folder.path().join("out"),
        };
        let mut new = Vec::new();
        run(&options, &mut |line| new.push(line.clone())).expect("a run");
        new
    };
    let first = measured(&["marginals"]);
    assert_eq!(first.len(), 2);
    assert!(first.iter().all(|line| (line.rows, line.anomalies) == (60, 6) && line.auroc > 90.0), "{first:?}");
    assert_eq!(measured(&["marginals", "knn"]).len(), 2);
    assert_eq!(read_lines(&folder.path().join("out/raw.csv")).expect("lines").len(), 4);
}

#[test]
fn the_summary_says_who_is_best_and_who_falls_behind_counting() {
    let lines = [
        line("bank", "cells", 0, 70.0),
        line("bank", "cells", 1, 72.0),
        line("bank", "marginals", 0, 80.0),
        line("chess", "cells", 0, 90.0),
        line("chess", "marginals", 0, 60.0),
        // Not every method has run here: it counts for the worst set, and not for the means.
        Line { flagged: 0, flagged_anomalies: 0, ..line("cmc", "cells", 0, 10.0) },
    ];
    let text = summarise(&lines);
    assert!(text.contains("## Means over 2 sets\n"), "{text}");
    // 8 of 10 flags are right, and 8 of 49 anomalies found.
    assert!(text.contains("| cells | 80.5 | 40.2 | 80.0 | 16.3 | -9.0 (bank) |\n"), "{text}");
    assert!(text.contains("| marginals | 70.0 | 35.0 | 80.0 | 16.3 | +0.0 (bank) |\n"), "{text}");
    assert!(text.contains("| best method of each set | 85.0 | 42.5 | – | – | – |\n"), "{text}");
    assert!(text.contains("Best single method: cells (80.5) by AUROC, cells (40.2) by AP.\n"), "{text}");
    assert!(text.contains("| cmc | 493 | 49 | 10.0 | – |\n"), "{text}");
    assert!(text.contains("| cmc | 493 | 49 | – | – |\n"), "no flag is no share of flags: {text}");
}
