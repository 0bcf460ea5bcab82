use super::*;
use crate::detectors::Detector;
use crate::detectors::tests::{assert_close, fit_on, mixed_queries, mixed_rows, rows_of};

fn fit(config: IsolationForestConfig, layout: &Layout, rows: &Encoded) -> Result<IsolationForest> {
    fit_on(rows, |all, run| IsolationForest::fit(&config, layout, all, run))
}

// sklearn.ensemble._iforest._average_path_length([1, 2, 3, 256]).
#[test]
fn mean_depths_agree_with_scikit_learn() {
    let depths: Vec<f64> = [1, 2, 3, 256].map(mean_depth).to_vec();
    assert_close(&depths, &[0.0, 1.0, 1.207_392_357_589_623, 10.244_770_920_119_917], 1e-14);
}

/// Three equal rows and another: the first cut is between them, whatever the seed.
#[test]
fn a_forest_of_one_possible_cut_worked_out_by_hand() -> Result<()> {
    let layout = Layout::new(0, vec![2]);
    let rows = rows_of(&[(&[0], &[]), (&[0], &[]), (&[0], &[]), (&[1], &[])]);
    for encoding in [Encoding::Native, Encoding::OneHot] {
        let forest = fit(IsolationForestConfig { encoding, ..IsolationForestConfig::default() }, &layout, &rows)?;
        let queries = rows_of(&[(&[0], &[]), (&[1], &[]), (&[UNSEEN], &[])]);
        let usual = mean_depth(4);
        let depths = [1.0 + mean_depth(3), 1.0, 1.0];
        assert_close(&forest.score(&queries), &depths.map(|depth| (-depth / usual).exp2()), 1e-14);
    }
    Ok(())
}

#[test]
fn parts_point_to_the_odd_cell() -> Result<()> {
    let (layout, rows) = mixed_rows(200);
    let forest = fit(IsolationForestConfig::default(), &layout, &rows)?;
    let query = rows_of(&[(&[0, 1, 1], &[0.0, 15.0])]);
    let split = forest.split(&query);
    let largest = split.parts(0).iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(split.parts(0)[1], largest);
    assert!(forest.score(&query)[0] > forest.score(&mixed_queries())[3]);
    Ok(())
}

/// Rows that go down together end where each ends by itself, whether sets of categories have one word of bits or more.
#[test]
fn rows_end_in_the_same_leaves_together_and_alone() -> Result<()> {
    for sizes in [[3, 64], [33, 2], [65, 5], [7, 150]] {
        let layout = Layout::new(1, sizes.to_vec());
        let codes = (0..900).flat_map(|row: u32| [row * row % 977 % sizes[0] as u32, row * 31 % sizes[1] as u32]);
        let numbers = (0..900).map(|row| if row % 17 == 0 { f32::NAN } else { (row * 7 % 101) as f32 });
        let rows = Encoded::new(900, codes.collect(), numbers.collect());
        let forest = fit(IsolationForestConfig::default(), &layout, &rows)?;
        assert_close(&forest.score(&rows), &forest.split(&rows).sums(), 1e-12);
    }
    Ok(())
}

/// A node that points to itself, to nowhere, or to categories that are not there would make a walk endless or panic.
#[test]
fn trees_that_do_not_hang_together_are_refused() -> Result<()> {
    let (layout, rows) = mixed_rows(50);
    let forest = fit(IsolationForestConfig { trees: 3, ..IsolationForestConfig::default() }, &layout, &rows)?;
    let load = |broken: &IsolationForest| {
        let mut tensors = Tensors::default();
        let content = broken.save(&mut tensors).expect("content serialises");
        IsolationForest::load(content, &layout, &mut tensors)
    };
    assert!(load(&forest).is_ok());
    let breaks: [fn(&mut IsolationForest); 6] = [
        |forest| forest.nodes[0].children = 0,
        |forest| forest.nodes[0].children = u32::MAX - 1,
        |forest| forest.nodes[0].cell = 99,
        |forest| forest.nodes[0].size = 5000,
        |forest| forest.roots[1] = u32::MAX,
        |forest| forest.subsets.clear(),
    ];
    for (case, damage) in breaks.into_iter().enumerate() {
        let mut broken = forest.clone();
        damage(&mut broken);
        assert!(load(&broken).is_err(), "case {case}");
    }
    Ok(())
}
