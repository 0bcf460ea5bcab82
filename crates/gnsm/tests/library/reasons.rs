//! What must be true of every reason, on all tables that stand beside the project.

use std::path::{Path, PathBuf};

use gnsm::{Explanation, Model, ReadOptions, Reason, Result, Table, TableReader};

use crate::shared_data;

/// Rows that are read of each table.
const ROWS: usize = 400;

/// The files of a folder whose names end like this, in order.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(end)).collect();
    files.sort();
    files
}

/// The two ends of an expected range of numbers.
fn range(expected: &str) -> Option<[f64; 2]> {
    let (low, high) = expected.split_once(" to ").unwrap_or((expected, expected));
    Some([low.parse().ok()?, high.parse().ok()?])
}

fn check_reason(reason: &Reason) {
    assert!(reason.part > 0.0 && (0.0..=1.0 + 1e-9).contains(&reason.share), "{reason:?}");
    assert_ne!(reason.expected.as_deref(), Some(reason.saw.as_str()), "{reason:?}");
    for p in [reason.probability, reason.seen_probability].into_iter().flatten() {
        assert!((0.0..=1.0).contains(&p), "{reason:?}");
    }
    let is_number = reason.note.is_none() && reason.probability.is_none();
    let expected = reason.expected.as_deref().filter(|_| is_number).and_then(range);
    if let (Some([low, high]), Ok(saw)) = (expected, reason.saw.parse::<f64>()) {
        // What is shown is rounded.
        let slack = 1e-3 * (high - low).max(low.abs().max(high.abs()));
        assert!(saw < low + slack || saw > high - slack, "{reason:?}");
    }
    if let (true, Some(p), Some(seen)) = (reason.note.is_none(), reason.probability, reason.seen_probability) {
        assert!(reason.saw == "(missing)" || seen <= p, "{reason:?}");
    }
}

fn check(explanations: &[Explanation]) -> usize {
    for Explanation { score, base, rest, reasons } in explanations {
        let parts: f64 = reasons.iter().map(|reason| reason.part).sum();
        assert!((base + parts + rest - score).abs() <= 1e-9 * score.abs().max(1.0), "{score}: {base} {parts} {rest}");
        assert!(reasons.is_sorted_by(|a, b| a.part >= b.part), "{reasons:?}");
        assert!(rest.abs() <= 1e-9 * score.abs().max(1.0) || *rest >= 0.0, "{rest} of {score}: {reasons:?}");
        reasons.iter().for_each(check_reason);
    }
    explanations.iter().map(|explanation| explanation.reasons.len()).sum()
}

#[test]
fn reasons_sum_to_the_score_and_do_not_contradict_themselves() -> Result<()> {
    let (Some(tabular), Some(dirty)) = (shared_data::folder("tabular"), shared_data::folder("dirty")) else {
        return Ok(());
    };
    let folders = [tabular.clone(), tabular.join("extra"), tabular.join("adbench")];
    let labelled = folders.iter().flat_map(|folder| files(folder, ".parquet")).map(|path| (path, true));
    let mut checked = 0;
    for (path, is_labelled) in labelled.chain(files(&dirty, ".dirty.csv").into_iter().map(|path| (path, false))) {
        let table: Table = TableReader::open(&path, &ReadOptions::default())?.next_batch(ROWS)?.expect("rows");
        let builder = Model::builder();
        let model = if is_labelled { builder.label("label") } else { builder }.fit(&table)?;
        let rows: Vec<usize> = (0..table.n_rows()).collect();
        let own = model.explain_own(&table, &rows, usize::MAX)?;
        let scores = model.score_own(&table)?;
        for (explanation, scored) in own.iter().zip(&scores) {
            assert_eq!(explanation.score.to_bits(), scored.score.to_bits(), "{}", path.display());
        }
        let new = model.explain(&table, &rows, usize::MAX)?;
        let n_reasons = check(&own) + check(&new);
        assert!(n_reasons > 0, "{} has no reasons", path.display());
        checked += n_reasons;
    }
    assert!(checked > 10_000, "{checked} reasons");
    Ok(())
}
