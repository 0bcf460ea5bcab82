//! The seven originals of the paper's Table 1, from the untouched ARFF files through the schema.

use gnsm::{ColumnChoices, Kind, KindChoice, Schema, read_table};

use crate::shared_data;

struct Original {
    file: &'static str,
    label: &'static str,
    anomaly: &'static str,
    /// Columns that the paper takes for numbers although the file declares categories.
    numeric: &'static [&'static str],
    inliers: usize,
    anomalies: usize,
    features: usize,
}

const ORIGINALS: [Original; 7] = [
    original("bank-additional-ful-nominal.arff.xz", "y", "yes", &[], [36_548, 4640, 53]),
    original(
        "census-income-full-nominal.tar.xz",
        "class",
        "50000+.",
        &["att3", "att4", "att37", "att39", "att41"],
        [280_717, 18_568, 396],
    ),
    original("chess_krkopt_zerovsall.arff", "class", "1", &[], [28_029, 27, 40]),
    original("cmc-nominal.arff", "class_numberofchildren", "1", &[], [1444, 29, 25]),
    original("kddcup99-corrected-probevsnormal-nominal-cleaned.arff.xz", "class", "1", &[], [60_593, 4166, 67]),
    original("solar-flare_FvsAll-cleaned.arff", "class", "1", &[], [1023, 43, 41]),
    original("kddcup99-corrected-u2rvsnormal-nominal-cleaned.arff.xz", "class", "1", &[], [60_593, 228, 40]),
];

const fn original(
    file: &'static str,
    label: &'static str,
    anomaly: &'static str,
    numeric: &'static [&'static str],
    [inliers, anomalies, features]: [usize; 3],
) -> Original {
    Original { file, label, anomaly, numeric, inliers, anomalies, features }
}

#[test]
fn originals_give_the_counts_of_table_1() {
    let Some(folder) = shared_data::folder("tabular") else { return };
    for original in &ORIGINALS {
        let table = read_table(folder.join(original.file)).expect(original.file);
        let label = &table.columns.last().expect("columns").name;
        assert_eq!(label, original.label, "{}", original.file);
        let values = &table.column(label).expect("a label").values;
        let (anomalies, inliers): (Vec<usize>, Vec<usize>) =
            (0..table.n_rows()).partition(|&row| values.text(row).as_deref() == Some(original.anomaly));
        assert_eq!([inliers.len(), anomalies.len()], [original.inliers, original.anomalies], "{}", original.file);

        let mut choices = ColumnChoices::default();
        choices.label = Some(label.clone());
        for column in original.numeric {
            choices.choose(column, KindChoice::Numeric).expect("one kind a column");
        }
        let rows: Vec<usize> = (0..table.n_rows()).collect();
        let schema = Schema::learn(&table, &rows, &choices).expect(original.file);
        let sizes = schema.columns.iter().map(|column| match &column.kind {
            Kind::Categorical { categories, missing, .. } => categories.len() + usize::from(*missing),
            _ => 0,
        });
        assert_eq!(sizes.sum::<usize>(), original.features, "{}", original.file);
        let numbers = schema.columns.iter().filter(|column| matches!(column.kind, Kind::Numeric { .. })).count();
        assert_eq!(numbers, original.numeric.len(), "{}", original.file);
    }
}
