use super::*;
use crate::columns::UNSEEN;
use crate::detectors::tests::{assert_close, fit_on, rows_of};

fn fit(layout: &Layout, rows: &Encoded) -> Result<Comprex> {
    fit_on(rows, |all, run| Comprex::fit(&NoSettings {}, layout, all, run))
}

/// Two columns that always agree are one group of two patterns: a row costs log 2 instead of 2 log 2. A row that breaks
/// the agreement is spelt out by values that are never used alone.
#[test]
fn columns_that_agree_become_one_group() -> Result<()> {
    let layout = Layout::new(0, vec![2, 2]);
    let rows = Encoded::new(100, (0..100).flat_map(|row| [row % 2, row % 2]).collect(), vec![]);
    let detector = fit(&layout, &rows)?;
    assert_eq!(detector.groups, [(2, 100.0)]);
    assert_eq!(detector.nodes[2].patterns, [(Box::from([0, 0]), 50.0), (Box::from([1, 1]), 50.0)]);
    assert!(detector.nodes[0].patterns.is_empty() && detector.nodes[1].patterns.is_empty());
    let queries = rows_of(&[(&[0, 0], &[]), (&[0, 1], &[]), (&[UNSEEN, 0], &[])]);
    assert_close(&detector.score(&queries), &[2.0f64.ln(), 2.0 * 101.0f64.ln(), 2.0 * 101.0f64.ln()], 1e-14);
    assert_close(detector.split(&queries).parts(0), &[0.5 * 2.0f64.ln(); 2], 1e-14);
    Ok(())
}

/// Independent columns stay apart, and a row costs what it costs by its marginals.
#[test]
fn independent_columns_stay_apart() -> Result<()> {
    let layout = Layout::new(0, vec![2, 4]);
    let rows = Encoded::new(80, (0..80).flat_map(|row| [row % 2, row / 2 % 4]).collect(), vec![]);
    let detector = fit(&layout, &rows)?;
    assert_eq!(detector.groups, [(0, 80.0), (1, 80.0)]);
    let expected = 2.0f64.ln() + 4.0f64.ln();
    assert_close(&detector.score(&rows_of(&[(&[1, 3], &[])])), &[expected], 1e-14);
    assert!(detector.saving(&rows) < 1e-14);
    Ok(())
}

/// The lengths of the code tables must agree with their definition, whatever was merged, and merging must have paid.
#[test]
fn merged_groups_describe_training_rows_shorter_than_single_columns() -> Result<()> {
    let layout = Layout::new(0, vec![3, 3, 3, 2]);
    let row = |i: u32| [i % 3, if i.is_multiple_of(10) { 0 } else { i % 3 }, (i * i / 3) % 3, u32::from(i % 3 == 2)];
    let rows = Encoded::new(300, (0..300).flat_map(row).collect(), vec![]);
    let detector = fit(&layout, &rows)?;
    let total: f64 = detector.score(&rows).iter().sum();
    let mut by_marginals = 0.0;
    for group in 0..4 {
        for code in 0..layout.size(group) as u32 {
            let count = (0..300).filter(|row| rows.codes(*row)[group] == code).count() as f64;
            by_marginals += if count > 0.0 { count * (300.0 / count).ln() } else { 0.0 };
        }
    }
    assert!(detector.groups.len() < 4);
    assert!(total < by_marginals, "{total} {by_marginals}");
    assert_close(&[detector.saving(&rows)], &[1.0 - total / by_marginals], 1e-12);
    // Every row is covered by patterns in use, so usages count the covers.
    let usages: f64 = detector.nodes.iter().flat_map(|node| &node.patterns).map(|(_, usage)| usage).sum();
    assert_eq!(usages, detector.groups.iter().map(|(_, total)| total).sum::<f64>());
    Ok(())
}

#[test]
fn trees_that_do_not_fit_are_refused() -> Result<()> {
    let layout = Layout::new(0, vec![2, 2]);
    let rows = Encoded::new(100, (0..100).flat_map(|row| [row % 2, row % 2]).collect(), vec![]);
    let detector = fit(&layout, &rows)?;
    let breaks: [fn(&mut Comprex); 5] = [
        |comprex| comprex.nodes[2].children = Some([2, 1]),
        |comprex| comprex.nodes[2].children = Some([0, 0]),
        |comprex| comprex.nodes[1].cells = vec![0],
        |comprex| comprex.nodes[2].cells = vec![1, 0],
        |comprex| comprex.nodes[2].patterns.reverse(),
    ];
    for (case, damage) in breaks.into_iter().enumerate() {
        let mut broken = detector.clone();
        damage(&mut broken);
        let mut tensors = Tensors::default();
        let content = broken.save(&mut tensors).expect("content serialises");
        assert!(Comprex::load(content, &layout, &mut tensors).is_err(), "case {case}");
    }
    Ok(())
}
