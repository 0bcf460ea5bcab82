//! Tests of the metrics: against SciPy, by hand where others have bugs, and against all pairs of surface cells.

use proptest::prelude::*;

use super::super::VOID;
use super::super::components::largest_components;
use super::*;

/// Classes 0 to 3 and some void, as in `reference/masks.py`.
fn blobs<const D: usize>(shape: [usize; D], offset: usize) -> Grid<u8, D> {
    let n: usize = shape.iter().product();
    let empty = Grid::new(shape, vec![0u8; n]).expect("a grid");
    let label = |index: usize| {
        let wave: usize = (0..D).map(|axis| (axis + 2) * ((empty.position(index, axis) + offset) / 4).pow(2)).sum();
        match index {
            _ if index * 57 % 101 == offset => VOID,
            _ if index * 31 % 97 == 5 => 3,
            _ if wave % 11 < 5 => 0,
            _ => (wave % 4) as u8,
        }
    };
    Grid::new(shape, (0..n).map(label).collect()).expect("a grid")
}

fn check<const D: usize>(shape: [usize; D], expected: [f64; 12]) {
    let quality = compare(&blobs(shape, 0), &blobs(shape, 1), Some(VOID)).expect("one size");
    for ((name, value), expected) in Quality::NAMES.iter().zip(quality.values()).zip(expected) {
        assert!(value.is_some_and(|value| (value - expected).abs() < 1e-12), "{name}: {value:?}, not {expected}");
    }
}

/// Values from `reference/masks.py` in the benchmarks; the second is a volume.
#[test]
fn metrics_agree_with_scipy() {
    check(
        [23, 37],
        [
            0.606_721_392_098_809_5,
            0.715_474_209_650_582_4,
            0.507_732_962_674_689_8,
            0.753_901_560_624_249_7,
            0.682_498_971_873_520_7,
            std::f64::consts::SQRT_2,
            0.682_498_971_873_520_7,
            std::f64::consts::SQRT_2,
            0.647_287_245_378_888_3,
            1.0,
            3.0,
            0.0,
        ],
    );
    check(
        [9, 11, 13],
        [
            0.593_219_520_454_662_5,
            0.764_044_943_820_224_7,
            0.472_964_471_961_067_5,
            0.682_791_435_368_755,
            0.632_627_026_058_248_2,
            std::f64::consts::SQRT_2,
            0.632_627_026_058_248_2,
            std::f64::consts::SQRT_2,
            0.508_874_129_000_018_8,
            1.0,
            3.0,
            0.0,
        ],
    );
}

#[test]
fn largest_components_agree_with_scipy() {
    assert_eq!(largest_components(&blobs([23, 37], 0))[..4], [279, 16, 16, 16]);
}

fn quality(truth: &[&str], prediction: &[&str]) -> Quality {
    let mask = |rows: &[&str]| {
        let label = |byte: u8| match byte {
            b'.' => 0,
            b'v' => VOID,
            digit => digit - b'0',
        };
        let cells = rows.iter().flat_map(|row| row.bytes().map(label)).collect();
        Grid::new([rows.len(), rows[0].len()], cells).expect("a grid")
    };
    compare(&mask(truth), &mask(prediction), Some(VOID)).expect("one size")
}

#[test]
fn two_empty_masks_agree() {
    let found = quality(&["...", "..."], &["...", "..."]);
    assert_eq!(
        found.values(),
        [
            Some(1.0),
            Some(1.0),
            Some(1.0),
            Some(1.0),
            None,
            None,
            Some(0.0),
            Some(0.0),
            None,
            None,
            Some(0.0),
            Some(0.0)
        ]
    );
}

#[test]
fn one_empty_mask_costs_the_diagonal() {
    for found in [
        quality(&["1...", "....", "...."], &["....", "....", "...."]),
        quality(&["....", "....", "...."], &["1...", "....", "...."]),
    ] {
        assert_eq!((found.dice, found.dice_fg, found.common, found.foreground), (0.0, 0.0, None, None));
        assert_eq!(found.penalised, Distances { mean: 5.0, hausdorff95: 5.0 });
        assert_eq!((found.n_classes, found.n_unmatched), (1, 1));
        assert_eq!(found.miou, Some(11.0 / 12.0 / 2.0));
    }
}

#[test]
fn a_class_on_one_side_only_counts_nothing_and_costs_the_diagonal() {
    let found = quality(&["11..", "11..", "...."], &["11..", "11..", "..22"]);
    assert_eq!((found.dice, found.dice_fg), (0.5, 8.0 / 10.0));
    assert_eq!(found.common, Some(Distances { mean: 0.0, hausdorff95: 0.0 }));
    assert_eq!(found.penalised, Distances { mean: 2.5, hausdorff95: 2.5 });
    assert_eq!((found.n_classes, found.n_unmatched), (2, 1));
    // Background 6 of 8, class 1 all, class 2 nothing.
    assert_eq!(found.miou, Some((6.0 / 8.0 + 1.0 + 0.0) / 3.0));
    // Foreground: four surface cells of the truth and six of the prediction; all lie on the other's but the two of
    // class 2.
    let mean = (2.0f64.sqrt() + 5.0f64.sqrt()) / 10.0;
    assert!((found.foreground.expect("foreground").mean - mean).abs() < 1e-15);
}

#[test]
fn single_cells_are_their_own_surface() {
    let found = quality(&["1...", "....", "...."], &["....", "....", "...1"]);
    let root = 13.0f64.sqrt();
    assert_eq!(found.common, Some(Distances { mean: root, hausdorff95: root }));
    assert_eq!((found.dice, found.pixacc), (0.0, Some(10.0 / 12.0)));
}

#[test]
fn the_border_of_the_image_is_a_surface() {
    // All foreground against all but the last column: the surfaces of both include the image's border.
    let found = quality(&["1111", "1111", "1111"], &["111.", "111.", "111."]);
    // Surface of truth: all but the two inner cells; of them the three of the last column are 1 away, the others on the
    // surface. Surface of the prediction: all but the one inner cell; its cell (1, 2) is 1 away from the truth's.
    let distances = found.common.expect("common");
    assert!((distances.mean - 4.0 / 18.0).abs() < 1e-15, "{distances:?}");
    assert_eq!(distances.hausdorff95, 1.0);
}

#[test]
fn void_is_background_for_shapes_and_left_out_of_shares() {
    let found = quality(&["1v2", "..."], &["111", "..."]);
    // The void cell is no part of class 1 on either side.
    assert_eq!(found.dice, f64::midpoint(2.0 / 3.0, 0.0));
    assert_eq!(found.pixacc, Some(4.0 / 5.0));
    assert_eq!(found.miou, Some((1.0 + 0.5 + 0.0) / 3.0));
    // Void in the prediction is void all the same.
    assert_eq!(quality(&["111", "..."], &["1v2", "..."]).pixacc, Some(4.0 / 5.0));
    let all_void = quality(&["vv"], &["11"]);
    assert_eq!((all_void.dice, all_void.miou, all_void.pixacc), (1.0, None, None));
    // Without a void label, 255 is a class like others.
    let mask = Grid::new([1, 2], vec![VOID, 0]).expect("a grid");
    let found = compare(&mask, &mask, None).expect("one size");
    assert_eq!((found.dice, found.n_classes), (1.0, 1));
}

#[test]
fn percentiles_are_interpolated() {
    let values: Vec<f64> = (0..11).map(f64::from).collect();
    assert_eq!(percentile(&values, 0.95), 9.5);
    assert_eq!(percentile(&[3.0], 0.95), 3.0);
}

#[test]
fn masks_of_other_sizes_are_refused() {
    let (a, b) = (Grid::new([2, 3], vec![0; 6]).expect("a grid"), Grid::new([3, 2], vec![0; 6]).expect("a grid"));
    let problem = compare(&a, &b, None).expect_err("sizes differ").to_string();
    assert_eq!(problem, "the prediction has 2 × 3 pixels and the truth 3 × 2; give masks of one size");
}

/// Everything from the definitions at the head of the module, over all pairs.
fn by_pairs(truth: &Grid<u8, 2>, prediction: &Grid<u8, 2>, class: u8) -> Option<Distances> {
    let surface = |mask: &Grid<u8, 2>| {
        let [height, width] = mask.shape();
        let inside = |y: i64, x: i64| {
            (0..height as i64).contains(&y)
                && (0..width as i64).contains(&x)
                && mask.cells()[y as usize * width + x as usize] == class
        };
        let mut found = Vec::new();
        for y in 0..height as i64 {
            for x in 0..width as i64 {
                let around = inside(y - 1, x) && inside(y + 1, x) && inside(y, x - 1) && inside(y, x + 1);
                if inside(y, x) && !around {
                    found.push((y, x));
                }
            }
        }
        found
    };
    let (a, b) = (surface(truth), surface(prediction));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let directed = |from: &[(i64, i64)], to: &[(i64, i64)]| {
        let nearest = |p: &(i64, i64)| to.iter().map(|q| (p.0 - q.0).pow(2) + (p.1 - q.1).pow(2)).min();
        let mut found: Vec<f64> = from.iter().filter_map(nearest).map(|square| (square as f64).sqrt()).collect();
        found.sort_unstable_by(f64::total_cmp);
        found
    };
    let (forth, back) = (directed(&a, &b), directed(&b, &a));
    let mean = (forth.iter().sum::<f64>() + back.iter().sum::<f64>()) / (forth.len() + back.len()) as f64;
    Some(Distances { mean, hausdorff95: percentile(&forth, 0.95).max(percentile(&back, 0.95)) })
}

proptest! {
    #[test]
    fn distances_agree_with_all_pairs(cells in prop::collection::vec(0u8..3, 288), height in 1usize..=12, width in 1usize..=12) {
        let n = height * width;
        let truth = Grid::new([height, width], cells[..n].to_vec()).expect("a grid");
        let prediction = Grid::new([height, width], cells[144..144 + n].to_vec()).expect("a grid");
        let found = compare(&truth, &prediction, None).expect("one size");
        let expected: Vec<Distances> = (1..3).filter_map(|class| by_pairs(&truth, &prediction, class)).collect();
        match (found.common, mean_distances(&expected)) {
            (None, None) => {}
            (Some(found), Some(expected)) => {
                prop_assert!((found.mean - expected.mean).abs() < 1e-12);
                prop_assert!((found.hausdorff95 - expected.hausdorff95).abs() < 1e-12);
            }
            other => prop_assert!(false, "{other:?}"),
        }
        // The roles of truth and prediction can be exchanged.
        prop_assert_eq!(found.dice, compare(&prediction, &truth, None).expect("one size").dice);
    }
}

/// Values from `reference/volumes.py` in the benchmarks, medpy 0.5.2: voxels of 2.5 × 0.8 × 0.75, two balls, two boxes
/// and a voxel.
#[test]
fn volumes_agree_with_medpy() {
    let shape = [9usize, 12, 11];
    let volume = |centre: [f64; 3], radius: [f64; 3], corner: [usize; 3], voxel: u8| {
        let empty = Grid::new(shape, vec![0u8; shape.iter().product()]).expect("a grid");
        let label = |index: usize| {
            let place = [0, 1, 2].map(|axis| empty.position(index, axis));
            let off = |axis: usize| ((place[axis] as f64 - centre[axis]) / radius[axis]).powi(2);
            match index {
                0 => voxel,
                _ if place.iter().zip(corner).all(|(at, from)| *at >= from) => 2,
                _ => u8::from(off(0) + off(1) + off(2) <= 1.0),
            }
        };
        Grid::new(shape, (0..empty.cells().len()).map(label).collect()).expect("a grid")
    };
    let truth = volume([4.0, 5.0, 5.0], [3.0, 4.0, 4.0], [7, 9, 8], 0);
    let prediction = volume([5.0, 6.0, 4.0], [3.0, 3.0, 4.0], [8, 8, 9], 3);
    let quality = compare_spaced(&truth, &prediction, None, [2.5, 0.8, 0.75]).expect("one size");
    let expected = [
        Some(0.352_641_334_569_045_4),
        Some(0.584_958_217_270_195),
        None,
        None,
        Some(1.009_189_347_452_148_3),
        Some(2.536_514_316_451_227_4),
        Some(9.278_169_124_824_013),
        Some(10.296_385_770_823_399),
        Some(1.016_210_161_879_152_1),
        Some(2.514_458_192_136_032),
        Some(3.0),
        Some(1.0),
    ];
    for ((name, value), expected) in Quality::NAMES.iter().zip(quality.values()).zip(expected) {
        let Some(expected) = expected else { continue };
        assert!(value.is_some_and(|value| (value - expected).abs() < 1e-12), "{name}: {value:?}, not {expected}");
    }
}
