//! p-values end to end: a model of half of the usual rows scores the other half.

use gnsm::{Decision, Model, Result, Rule, Table, TableReader, read_table};

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

/// A number from 0 to 1 that is the same on all machines.
fn noise(row: u32, stream: u32) -> f64 {
    let mut x = row.wrapping_mul(0x9E37_79B1).wrapping_add(stream.wrapping_mul(40_503)).wrapping_add(12_345);
    for multiplier in [0x85EB_CA77, 0xC2B2_AE3D, 1] {
        x = (x ^ (x >> 15)).wrapping_mul(multiplier);
    }
    f64::from(x) / 2f64.powi(32)
}

/// 600 sales, of which one in forty-three has a wrong cell, each in one of four columns.
fn sales() -> (String, Vec<usize>) {
    let mut text = String::from("town,region,price,hours,payment\n");
    let mut odd = Vec::new();
    for row in 0..600u32 {
        let town = (4.0 * noise(row, 1)) as usize;
        let mut region = ["North", "South", "West", "North"][town].to_owned();
        let mut price = 100.0 * (town as f64 + 1.0) + 60.0 * noise(row, 2);
        let mut hours = 20.0 + 10.0 * noise(row, 3) + 10.0 * noise(row, 4);
        let mut payment = ["card", "cash", "transfer"][(3.0 * noise(row, 5)) as usize].to_owned();
        if row % 40 == 20 && row < 560 {
            odd.push(row as usize);
            match row / 40 % 4 {
                0 => region += "h",
                1 => price *= 20.0 + f64::from(row),
                2 => hours = -50.0 - f64::from(row),
                _ => payment.insert(1, 'x'),
            }
        }
        let town = ["Leeds", "Dover", "Bath", "York"][town];
        text += &format!("{town},{region},{price:.1},{hours:.1},{payment}\n");
    }
    (text, odd)
}

#[test]
fn odd_rows_do_not_hide_each_other_in_whatever_columns_they_are_odd() -> Result<()> {
    let (text, odd) = sales();
    let file = tempfile::NamedTempFile::with_suffix(".csv").expect("a file");
    std::fs::write(file.path(), text).expect("written");
    let table = read_table(file.path())?;
    let fit = Model::builder().fit_and_judge(&table)?;
    let own = fit.own();
    let mut decision = Decision::new(Rule::Fdr(0.1))?;
    decision.add(own.scores());
    let flags = decision.finish();
    let flagged: Vec<usize> = (0..table.n_rows()).filter(|row| flags.flags(&own.scores()[*row])).collect();
    let found = odd.iter().filter(|row| flagged.contains(row)).count();
    assert!(found >= 10 && flagged.len() <= found + 1, "{found} of {} among {flagged:?}", odd.len());
    Ok(())
}
