//! A floor under quality that needs no data from elsewhere: `tests/data/penguins.csv`.

use gnsm::metrics::auroc;
use gnsm::{Model, Result, read_table};

/// Learns from two species; the birds of the third are to score higher than theirs.
fn auroc_of(builder: gnsm::ModelBuilder<'_>, species: &str) -> Result<f64> {
    let table = read_table(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/penguins.csv"))?;
    let model = builder.label("species").anomaly(species).fit(&table)?;
    let scores: Vec<f64> = model.score(&table)?.iter().map(|row| row.score).collect();
    let labels = &table.column("species").expect("a label").values;
    let odd: Vec<bool> = (0..table.n_rows()).map(|row| labels.text(row).as_deref() == Some(species)).collect();
    auroc(&odd, &scores)
}

#[test]
fn the_default_tells_a_new_species() -> Result<()> {
    for (species, floor) in [("Gentoo", 0.99), ("Chinstrap", 0.9), ("Adelie", 0.9)] {
        let found = auroc_of(Model::builder(), species)?;
        assert!(found > floor, "{species}: an AUROC of {found}");
    }
    Ok(())
}
