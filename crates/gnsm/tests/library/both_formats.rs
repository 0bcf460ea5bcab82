//! The seven data sets of the paper, as they were published, against their Parquet versions.

use std::collections::HashSet;

use gnsm::{ReadOptions, Table, TableReader, Values, read_table};

use crate::shared_data;

/// The cells of a column as text. In the Parquet version `?` is a category, as in the paper.
fn texts(table: &Table, name: &str) -> Vec<String> {
    let values = &table.column(name).expect(name).values;
    (0..table.n_rows()).map(|row| values.text(row).map_or_else(|| "?".to_owned(), Into::into)).collect()
}

fn n_distinct(cells: &[String]) -> usize {
    cells.iter().collect::<HashSet<_>>().len()
}

/// Checks one set: its rows, the distinct values of its columns (`?` counts as one), and that both files agree.
/// `numbers` are the columns that the Parquet version holds as numbers.
fn check(set: &str, original: &str, n_rows: usize, n_anomalies: usize, counts: &[usize], numbers: &[(&str, usize)]) {
    let Some(folder) = shared_data::folder("tabular") else { return };
    let arff = read_table(folder.join(original)).expect(original);
    let parquet = read_table(folder.join(format!("{set}.parquet"))).expect(set);
    assert_eq!((arff.n_rows(), parquet.n_rows()), (n_rows, n_rows));
    assert_eq!(arff.columns.len(), counts.len() + numbers.len() + 1);

    let label = parquet.columns.last().expect("columns");
    let Values::Number { values, integer: true } = &label.values else { panic!("{:?}", label.name) };
    assert_eq!((label.name.as_str(), values.iter().sum::<f64>()), ("label", n_anomalies as f64));

    let mut found = Vec::new();
    let features = &arff.columns[..arff.columns.len() - 1];
    for (column, same) in features.iter().zip(features.iter().map(|column| parquet.column(&column.name).expect(set))) {
        let cells = texts(&arff, &column.name);
        let n = n_distinct(&cells);
        match numbers.iter().find(|(name, _)| *name == column.name) {
            Some(&(_, expected)) => assert_eq!(n, expected, "{}", column.name),
            None => found.push(n),
        }
        assert!(cells == texts(&parquet, &same.name), "{} differs", column.name);
    }
    assert_eq!(found, counts);

    // The last attribute is the label.
    let classes = texts(&arff, &arff.columns.last().expect("columns").name);
    let pairs: HashSet<(String, bool)> = classes.into_iter().zip(values.iter().map(|&v| v == 1.0)).collect();
    assert_eq!(pairs.len(), 2, "each class is one label: {pairs:?}");
}

#[test]
fn bank() {
    check("bank", "bank-additional-ful-nominal.arff.xz", 41188, 4640, &[12, 4, 8, 3, 3, 3, 2, 10, 5, 3], &[]);
}

#[test]
fn census() {
    let counts = [9, 17, 3, 7, 24, 15, 5, 10, 2, 3, 6, 8, 6, 6, 51, 38, 8, 10, 9, 10, 3, 4, 5, 43, 43, 43, 5, 3];
    let numbers = [("att3", 52), ("att4", 47), ("att37", 3), ("att39", 3), ("att41", 2)];
    check("census", "census-income-full-nominal.tar.xz", 299_285, 18568, &counts, &numbers);
}

#[test]
fn chess() {
    check("chess", "chess_krkopt_zerovsall.arff", 28056, 27, &[4, 4, 8, 8, 8, 8], &[]);
}

#[test]
fn cmc() {
    check("cmc", "cmc-nominal.arff", 1473, 29, &[4, 4, 2, 2, 4, 4, 2, 3], &[]);
}

#[test]
fn probe() {
    check("probe", "kddcup99-corrected-probevsnormal-nominal-cleaned.arff.xz", 64759, 4166, &[3, 47, 11, 2, 2, 2], &[]);
}

#[test]
fn solar() {
    check("solar", "solar-flare_FvsAll-cleaned.arff", 1066, 43, &[6, 4, 2, 3, 3, 2, 2, 2, 8, 6, 3], &[]);
}

#[test]
fn u2r() {
    check("u2r", "kddcup99-corrected-u2rvsnormal-nominal-cleaned.arff.xz", 60821, 228, &[3, 23, 8, 2, 2, 2], &[]);
}

#[test]
fn sets_to_develop_on() {
    let Some(folder) = shared_data::folder("tabular") else { return };
    for (set, inliers, anomalies, n_categorical, n_continuous) in [
        ("adult", 37155, 11687, 8, 6),
        ("carclaims", 14497, 923, 26, 5),
        ("mushrooms", 4208, 3916, 22, 0),
        ("stroke", 4861, 249, 8, 3),
        ("unsw_backdoor", 93000, 2329, 4, 38),
    ] {
        let mut reader =
            TableReader::open(folder.join(format!("extra/{set}.parquet")), &ReadOptions::default()).expect(set);
        let mut table = reader.next_batch(1000).expect(set).expect("rows");
        while let Some(batch) = reader.next_batch(20_000).expect(set) {
            table.append(batch).expect(set);
        }
        let Values::Number { values: labels, .. } = &table.columns.last().expect("columns").values else {
            panic!("{set}")
        };
        assert_eq!((table.n_rows(), labels.iter().sum::<f64>()), (inliers + anomalies, anomalies as f64), "{set}");
        let categorical =
            table.columns.iter().filter(|column| matches!(column.values, Values::Category { .. })).count();
        assert_eq!((categorical, table.columns.len()), (n_categorical, n_categorical + n_continuous + 1), "{set}");
    }
}
