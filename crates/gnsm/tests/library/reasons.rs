//! What must be true of every reason, on all tables that stand beside the project.

use std::path::{Path, PathBuf};

use gnsm::{Explanation, Model, ReadOptions, Reason, Result, Table, TableReader};

use crate::shared_data;

/// Rows that are read of each table.
const ROWS: usize = 250;

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
        let fit = if is_labelled { builder.label("label") } else { builder }.fit_and_judge(&table)?;
        let rows: Vec<usize> = (0..table.n_rows()).collect();
        let own = fit.own().explain(&rows, usize::MAX);
        for (explanation, scored) in own.iter().zip(fit.own().scores()) {
            assert_eq!(explanation.score.to_bits(), scored.score.to_bits(), "{}", path.display());
        }
        let new = fit.model.explain(&table, &rows, usize::MAX)?;
        let n_reasons = check(&own) + check(&new);
        assert!(n_reasons > 0, "{} has no reasons", path.display());
        checked += n_reasons;
    }
    assert!(checked > 10_000, "{checked} reasons");
    Ok(())
}

/// Bills: `total` is `quantity × price`, `gross` is `total + shipping`, and three dates that follow each other.
fn bills(spoil: impl Fn(usize, &mut [f64; 3], &mut [usize; 3])) -> Result<Table> {
    let mut csv = "quantity,price,total,shipping,gross,opened,closed,due\n".to_owned();
    for row in 0..500 {
        let noise = |column: usize| (row * 7919 + column * 104_729) % 1009;
        let quantity = (1 + noise(1) % 12) as f64;
        let price = (500 + noise(2)) as f64 / 100.0;
        let total = quantity * price;
        let shipping = (300 + noise(3) % 400) as f64 / 100.0;
        let mut money = [price, total, total + shipping];
        let opened = row / 2;
        let mut days = [opened, opened + 1 + noise(4) % 4, opened + 20 + noise(5) % 11];
        spoil(row, &mut money, &mut days);
        let [price, total, gross] = money;
        let [opened, closed, due] = days.map(|day| format!("2023-{:02}-{:02}", 1 + day / 28 % 12, 1 + day % 28));
        csv += &format!("{quantity},{price:.2},{total:.2},{shipping:.2},{gross:.2},{opened},{closed},{due}\n");
    }
    let mut reader =
        TableReader::from_reader("bills.csv", Box::new(std::io::Cursor::new(csv)), &ReadOptions::default())?;
    Ok(reader.next_batch(usize::MAX)?.expect("rows"))
}

/// Several cells contradict each other, and one of them is wrong: what the others agree on tells which.
#[test]
fn the_cell_that_contradicts_all_others_is_named() -> Result<()> {
    let table = bills(|row, money, days| match row {
        // The gross is what the total gives, so the total is right.
        50 => money[0] *= 9.0,
        51 => money[2] += 35.0,
        // Both later dates are too early for it.
        52 => days[0] += 90,
        53 => days[2] += 120,
        _ => {}
    })?;
    let explained = Model::builder().fit_and_judge(&table)?.own().explain(&[50, 51, 52, 53], 1);
    check(&explained);
    let named: Vec<&str> = explained.iter().map(|row| row.reasons[0].column.as_str()).collect();
    assert_eq!(named, ["price", "gross", "opened", "due"], "{explained:#?}");
    assert!(explained[2].reasons[0].words().contains("days after due; usual: "), "{}", explained[2].reasons[0]);
    Ok(())
}
