//! The metrics of masks against an independent implementation, on real masks.

use gnsm::mask::{
    MaskFolder, Preparation, Quality, Sample, VOID, compare, image_file, read_image, read_list, read_mask,
};
use gnsm::read_table;
use rayon::prelude::*;

use crate::shared_data;

#[test]
fn metrics_agree_with_an_independent_implementation() {
    let Some(shared) = shared_data::folder("segmentation") else { return };
    for (set, n) in [("voc2012", 1449), ("dsb2018", 200)] {
        let folder = shared.join(set);
        let names = read_list(folder.join("val.txt")).expect("a list");
        let table = read_table(folder.join("metrics_pred.csv")).expect("a table");
        assert_eq!((names.len(), table.n_rows()), (n, n));
        let text = |row: usize, column: &str| table.column(column).expect(column).values.text(row);
        // Every third one: all take ten seconds.
        (0..n).into_par_iter().step_by(3).for_each(|row| {
            let name = text(row, "id").expect("a name").into_owned();
            let mask = |kind: &str| read_mask(folder.join(kind).join(format!("{name}.png"))).expect(&name);
            let quality = compare(&mask("masks"), &mask("pred"), Some(VOID)).expect(&name);
            for (column, value) in Quality::NAMES.iter().zip(quality.values()) {
                let expected = text(row, column).map(|text| text.parse::<f64>().expect("a number"));
                match (value, expected) {
                    (None, None) => {}
                    // The file has five digits.
                    (Some(value), Some(expected)) if (value - expected).abs() < 1e-5 => {}
                    other => panic!("{set}, {name}, {column}: {other:?}"),
                }
            }
        });
    }
}

#[test]
fn pairs_are_read() {
    let Some(shared) = shared_data::folder("segmentation") else { return };
    for (set, classes) in [("voc2012", 21), ("dsb2018", 2)] {
        let folder = shared.join(set);
        let pairs = MaskFolder { masks: folder.join("masks"), images: Some(folder.join("images")) };
        let mut preparation = Preparation::default();
        (preparation.classes, preparation.size) = (Some(classes), Some(64));
        for list in ["train.txt", "val.txt"] {
            let names: Vec<String> = read_list(folder.join(list)).expect("a list").into_iter().step_by(3).collect();
            for sample in preparation.read(&pairs, &names) {
                let [sample] = <[Sample; 1]>::try_from(sample.expect("a pair")).expect("one slice");
                assert_eq!(sample.mask.shape(), [64, 64]);
            }
        }
    }
    // A JPEG that ends early is no image, though much of it could be shown.
    let folder = shared.join("voc2012/images");
    let path = image_file(&folder, "2007_000033").expect("an image");
    let bytes = std::fs::read(&path).expect("read");
    let short = tempfile::Builder::new().suffix(".jpg").tempfile().expect("a file");
    for part in [2, 3, 10] {
        std::fs::write(short.path(), &bytes[..bytes.len() - bytes.len() / part]).expect("written");
        let error = read_image(short.path()).expect_err("cut short").to_string();
        assert!(error.contains("is not readable as a JPEG"), "{error}");
    }
}
