//! p-values end to end: a model of half of the usual rows scores the other half.

use gnsm::{Model, Result, Table, TableReader};

use crate::shared_data;

/// Rows that are read of each set; more would take minutes.
const ROWS: usize = 4_000;
/// Standard deviations that the count of small p-values may be too high: the sampling error of twelve sets and two levels.
const DEVIATIONS: f64 = 4.0;

/// The usual rows of a set, every other one apart.
fn halves(path: &std::path::Path) -> Result<[Table; 2]> {
    let table = TableReader::open(path, &gnsm::ReadOptions::default())?.next_batch(ROWS)?.expect("rows");
    let label = table.column("label").expect("a label").values.clone();
    let usual: Vec<usize> = (0..table.n_rows()).filter(|row| label.text(*row).as_deref() == Some("0")).collect();
    let half = |of: usize| table.select(&usual.iter().skip(of).step_by(2).copied().collect::<Vec<_>>());
    Ok([half(0), half(1)])
}

#[test]
fn p_values_of_usual_rows_are_uniform_in_the_tail() -> Result<()> {
    let Some(folder) = shared_data::folder("tabular") else { return Ok(()) };
    let paper = ["bank", "census", "chess", "cmc", "probe", "solar", "u2r"];
    let extra = ["adult", "carclaims", "mushrooms", "stroke", "unsw_backdoor"].map(|name| format!("extra/{name}"));
    let (mut seen, mut expected) = (0.0, 0.0);
    for name in paper.map(str::to_owned).into_iter().chain(extra) {
        let [learned, fresh] = halves(&folder.join(format!("{name}.parquet")))?;
        let scores = Model::builder().label("label").anomaly("1").fit(&learned)?.score(&fresh)?;
        let n = scores.len() as f64;
        for level in [0.05, 0.01] {
            let count = scores.iter().filter(|row| row.p_value <= level).count() as f64;
            // The level itself comes from as many rows.
            let deviation = (2.0 * n * level * (1.0 - level)).sqrt();
            assert!(count <= n * level + DEVIATIONS * deviation + 1.0, "{name}: {count} of {n} at {level}");
            (seen, expected) = (seen + count, expected + n * level);
        }
    }
    assert!((0.7..1.3).contains(&(seen / expected)), "{seen} small p-values instead of {expected}");
    Ok(())
}
