//! The whole score: its invariants, and against a slow twin.

mod twin;

use super::*;
use crate::columns::UNSEEN;
use crate::files::{Store, Tensors};
use sample::Membership;

/// Learns from all rows.
pub(super) fn fit(layout: &Layout, rows: &Encoded) -> Cells {
    fit::fit(&CellsSettings::default(), layout, rows).expect("a fit")
}

/// A row without numbers by its slots, which is one of those that were learned from if it is `left_out`.
pub(super) fn row(slots: &[u16], left_out: bool) -> RowSlots<'_> {
    let own = Membership { counted: true, calibrated: true, references: Some(0) };
    let learned_from = if left_out { own } else { Membership::default() };
    RowSlots { slots, codes: &[], numbers: &[], learned_from }
}

fn split(cells: &Cells, rows: &Encoded, left_out: bool) -> Split {
    blame::split(cells, &cells.tails, &cells.batch(rows, left_out)).1
}

pub(super) fn expected(cells: &Cells, rows: &Encoded, asked: &[bool], left_out: bool) -> Expected {
    blame::expected(cells, &cells.batch(rows, left_out), asked)
}

/// Two numbers and three groups that hang together; the second group can be missing, and so can the second number.
pub(super) fn mixed(n_rows: u32) -> (Layout, Encoded) {
    let noise = |i: u32| (i.wrapping_mul(2_654_435_761) >> 7) % 1009;
    let mut codes = Vec::new();
    let mut numbers = Vec::new();
    for row in 0..n_rows {
        let colour = noise(row) % 4;
        let shape = if noise(row + 7) % 9 == 0 { 3 } else { (colour + u32::from(noise(row + 3) % 5 == 0)) % 3 };
        let is_missing = noise(row + 11) % 8 == 0;
        codes.extend([colour, shape, u32::from(is_missing)]);
        numbers.push((colour * 10 + noise(row + 5) % 17) as f32 / 9.0 - 2.0);
        numbers.push(if is_missing { f32::NAN } else { (noise(row + 1) % 40) as f32 / 11.0 - 1.5 });
    }
    codes[3 * 5] = 4; // the only one
    let layout = Layout::new(2, vec![5, 4, 2]).with_missing(vec![None, Some(3), Some(1)]);
    (layout, Encoded::new(n_rows as usize, codes, numbers))
}

/// Three of twelve sources copy a wrong departure with a wrong arrival, so that each tells the other. The nine tell
/// better.
#[test]
fn mistakes_that_come_together_are_to_blame() {
    let layout = Layout::new(0, vec![20, 40, 20]);
    let row = |i: u32| {
        let (flight, source) = (i % 20, i / 20);
        if source < 9 { [flight, flight, flight % 10] } else { [flight, 20 + flight, 10 + flight % 10] }
    };
    let rows = Encoded::new(240, (0..240).flat_map(row).collect(), Vec::new());
    let cells = fit(&layout, &rows);
    let (split, asked) = (split(&cells, &rows, true), vec![true; 3 * 240]);
    let expected = expected(&cells, &rows, &asked, true);
    for row in 180..240 {
        let flight = rows.codes(row)[0] as usize;
        let parts = split.parts(row);
        assert!(parts[1] > parts[0] && parts[2] > parts[0], "row {row}: {parts:?}");
        let departure = &expected.probabilities[row * layout.width()..][layout.group(1)];
        assert!(departure.iter().all(|p| *p <= departure[flight]), "row {row}: {departure:?}");
        assert_eq!(expected.seen[3 * row + 1], departure[20 + flight]);
    }
}

#[test]
fn parts_sum_to_the_score_and_what_is_expected_has_none() {
    let (layout, rows) = mixed(300);
    let cells = fit(&layout, &rows);
    let n_cells = layout.n_cells();
    let asked = vec![true; n_cells * rows.n_rows()];
    for left_out in [false, true] {
        let split = split(&cells, &rows, left_out);
        let expected = expected(&cells, &rows, &asked, left_out);
        let scores = cells.score(&rows);
        let mut as_expected = 0;
        for (row, score) in scores.iter().enumerate() {
            let sum = split.base[row] + split.parts(row).iter().sum::<f64>();
            assert!(left_out || (sum - score).abs() < 1e-9 * score.max(1.0), "{sum} and {score}");
            for (number, x) in rows.numbers(row).iter().enumerate() {
                let [low, high] = expected.ranges[row * layout.n_numbers() + number];
                assert!(low <= high);
                assert_eq!(split.parts(row)[number] > 0.0, *x < low || *x > high, "row {row}, number {number}");
            }
            let probabilities = &expected.probabilities[row * (layout.width() - 2)..][..layout.width() - 2];
            for (group, code) in rows.codes(row).iter().enumerate() {
                let places = layout.group(group);
                let probabilities = &probabilities[places.start - 2..places.end - 2];
                assert!(probabilities.iter().sum::<f32>() <= 1.0 + 1e-5);
                let seen = expected.seen[row * n_cells + 2 + group];
                if cells.columns()[2 + group].missing == Some(*code) {
                    // What should stand there is told, not that nothing does.
                    assert_eq!(probabilities[*code as usize], 0.0);
                    assert!(probabilities.iter().sum::<f32>() > 0.99);
                    continue;
                }
                let is_likeliest = probabilities.iter().all(|p| *p <= probabilities[*code as usize]);
                assert_eq!(split.parts(row)[2 + group] > 0.0, !is_likeliest, "row {row}, group {group}");
                assert!(left_out || seen == probabilities[*code as usize]);
                as_expected += usize::from(is_likeliest);
            }
        }
        assert!(as_expected > rows.n_rows());
    }
}

/// A source never tells the time of a flight. The other rows of the flight do: what is missing is known, so it is odd.
/// A discount that is nearly always missing, and is always the same, is not.
#[test]
fn a_missing_value_is_odd_where_the_rest_of_the_row_tells_it() {
    let (flights, sources) = (10, 6);
    let layout = Layout::new(0, vec![10, 6, 11, 3]).with_missing(vec![None, None, Some(flights), Some(2)]);
    let row = |i: u32| {
        let (flight, source) = (i % flights, i / flights % sources);
        [flight, source, if source < 4 { flights } else { flight }, if i.is_multiple_of(17) { 0 } else { 2 }]
    };
    let rows = Encoded::new(600, (0..600).flat_map(row).collect(), Vec::new());
    let cells = fit(&layout, &rows);
    let (split, asked) = (split(&cells, &rows, true), vec![true; 4 * 600]);
    let expected = expected(&cells, &rows, &asked, true);
    let mut n_scored = 0;
    for row in 0..600 {
        let [flight, source] = [0, 1].map(|group| rows.codes(row)[group]);
        let parts = split.parts(row);
        // The score of the most usual row is 0, and so are its parts.
        let has_score = parts.iter().any(|part| *part > 0.0);
        n_scored += usize::from(has_score);
        assert!(rows.codes(row)[3] == 0 || parts[3] == 0.0, "row {row}: {parts:?}");
        if source < 4 {
            assert_eq!(parts[2] > 0.0, has_score, "row {row}: {parts:?}");
            let places = &expected.probabilities[row * layout.width()..][layout.group(2)];
            assert!(places[flight as usize] > 0.9, "row {row}: {places:?}");
        }
    }
    assert!(n_scored > 100, "{n_scored}");
}

/// Two numbers that say the same but for a little: where one begins a bin, the other may end one.
#[test]
fn a_number_is_not_odd_where_a_bin_of_its_twin_ends() {
    let noise = |i: u32| (i.wrapping_mul(2_654_435_761) >> 7) % 10_007;
    let twins = |row: u32| [noise(row) as f32, noise(row) as f32 + (noise(row + 3) % 21) as f32 - 10.0];
    let rows = Encoded::new(3000, vec![0; 3000], (0..3000).flat_map(twins).collect());
    let cells = fit(&Layout::new(2, vec![1]), &rows);
    assert!((0..2).all(|cell| cells.experts.conditional.n_links(cell) == 1));
    let mut scratch = experts::Scratch::default();
    let mut odd = |numbers: &[f32]| {
        let row = Encoded::new(1, vec![0], numbers.to_vec());
        let evidence = cells.experts.evidence(cells.batch(&row, false).row(0), &mut scratch);
        evidence.odd[..2].iter().copied().fold(0.0, f64::max)
    };
    // Those at either end are odd by themselves.
    let inner = (0..3000).map(|row| rows.numbers(row)).filter(|numbers| (500.0..9500.0).contains(&numbers[0]));
    let oddest = inner.map(&mut odd).fold(0.0, f64::max);
    assert!(oddest < 2.0, "{oddest}");
    // A whole bin off, which has about 417, is odd.
    assert!(odd(&[5000.0, 5450.0]) > 3.0, "{}", odd(&[5000.0, 5450.0]));
}

/// One cell says BROKEN in 6,000 rows of a column of three words.
#[test]
fn a_value_that_occurs_once_has_the_largest_part() {
    let layout = Layout::new(1, vec![4, 6, 1]);
    let noise = |i: u32| (i.wrapping_mul(2_246_822_519) >> 9) % 1013;
    let mut codes: Vec<u32> = (0..6000).flat_map(|row| [noise(row) % 3, noise(row + 1) % 6, 0]).collect();
    codes[3 * 4321] = 3;
    let numbers = (0..6000).map(|row| (noise(row + 2) % 500) as f32 / 250.0 - 1.0).collect();
    let rows = Encoded::new(6000, codes, numbers);
    let cells = fit(&layout, &rows);
    let broken = rows.select(&[4321]);
    let split = cells.split_left_out(&broken).expect("a split").1;
    let parts = split.parts(0);
    assert!((0..4).all(|cell| cell == 1 || parts[cell] < 0.5 * parts[1]), "{parts:?}");
    let all = cells.split_left_out(&rows).expect("a split").1;
    let score = |row: usize| all.base[row] + all.parts(row).iter().sum::<f64>();
    let above = (0..6000).filter(|row| score(*row) > score(4321)).count();
    assert!(above < 60, "{above} rows are odder");
    // The same for a value that only scoring shows.
    let unseen = Encoded::new(1, vec![UNSEEN, broken.codes(0)[1], 0], broken.numbers(0).to_vec());
    let split = cells.split(&unseen);
    assert!((0..4).all(|cell| cell == 1 || split.parts(0)[cell] < 0.5 * split.parts(0)[1]), "{split:?}");
}

fn arrays(cells: &Cells) -> (Tensors, String) {
    let mut tensors = Tensors::default();
    let content = cells.save(&mut tensors).expect("content serialises").to_string();
    (tensors, content)
}

#[test]
fn neither_order_nor_threads_change_the_model() {
    let (layout, rows) = mixed(400);
    let rows = rows.concat(&rows.select(&[3, 3, 77, 200]));
    let order: Vec<usize> = (0..rows.n_rows()).map(|row| row * 151 % rows.n_rows()).collect();
    let cells = fit(&layout, &rows);
    let threads = |n: usize| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads");
    for n in [1, 3] {
        let other = threads(n).install(|| fit(&layout, &rows.select(&order)));
        assert!(arrays(&cells) == arrays(&other), "{n} threads");
        let scores = threads(n).install(|| other.score(&rows));
        assert_eq!(scores, cells.score(&rows));
    }
    let (mut tensors, content) = arrays(&cells);
    let content = serde_json::from_str(&content).expect("JSON");
    let loaded = Cells::load(content, &layout, &mut tensors).expect("a model");
    assert!(arrays(&loaded) == arrays(&cells));
    assert_eq!(loaded.split_left_out(&rows), cells.split_left_out(&rows));
}

/// The usual recipe is not in the file; another one is, and is what the model judges by.
#[test]
fn a_model_keeps_its_recipe() -> Result<()> {
    let (layout, rows) = mixed(200);
    let usual = fit(&layout, &rows);
    assert!(!arrays(&usual).1.contains("recipe"));
    let others = [
        Recipe { soft: 4.0, ..Recipe::default() },
        Recipe { largest_counts: 1.0, ..Recipe::default() },
        Recipe { summed: Kinds { near: false, ..Recipe::default().summed }, ..Recipe::default() },
        Recipe { counted: Figures { distance: false, ..Recipe::default().counted }, ..Recipe::default() },
        Recipe { most_bins: 6, straight: 1.0, ..Recipe::default() },
    ];
    for recipe in others {
        let cells = fit::fit(&CellsSettings { recipe }, &layout, &rows)?;
        let (mut tensors, content) = arrays(&cells);
        let content = serde_json::from_str(&content).expect("JSON");
        let loaded = Cells::load(content, &layout, &mut tensors).expect("a model");
        assert_eq!(loaded.config(), cells.config());
        assert_eq!(loaded.score(&rows), cells.score(&rows));
        assert_ne!(usual.score(&rows), cells.score(&rows), "{:?}", cells.config());
    }
    Ok(())
}

#[test]
fn degenerate_tables_are_no_trouble() {
    let nan = f32::NAN;
    let wide: Vec<f32> = (0..20 * 200).map(|i| ((i * 37 + i / 200 * 11) % 97) as f32 / 30.0).collect();
    let tables = [
        (Layout::new(0, vec![1]), Encoded::new(1, vec![0], vec![])),
        (Layout::new(1, vec![]), Encoded::new(30, vec![], vec![nan; 30])),
        (Layout::new(1, vec![]), Encoded::new(30, vec![], (0..30).map(|i| i as f32).collect())),
        (Layout::new(1, vec![]), Encoded::new(3, vec![], vec![f32::INFINITY, f32::NEG_INFINITY, -0.0])),
        (Layout::new(1, vec![2]).with_missing(vec![Some(1)]), Encoded::new(5, vec![1; 5], vec![nan; 5])),
        (Layout::new(0, vec![3]).with_missing(vec![Some(2)]), Encoded::new(5, vec![2; 5], vec![])),
        (Layout::new(0, vec![500, 500]), Encoded::new(400, (0..400).flat_map(|i| [i, i * 7 % 500]).collect(), vec![])),
        (Layout::new(200, vec![]), Encoded::new(20, vec![], wide)),
    ];
    for (case, (layout, rows)) in tables.iter().enumerate() {
        let cells = fit(layout, rows);
        let numbers = (0..2 * layout.n_numbers()).map(|i| if i < layout.n_numbers() { 20.0 } else { nan }).collect();
        let unseen = Encoded::new(2, vec![UNSEEN; 2 * layout.n_groups()], numbers);
        let all = rows.concat(&unseen);
        let asked = vec![true; all.n_rows() * layout.n_cells()];
        for left_out in [false, true] {
            let split = split(&cells, &all, left_out);
            assert!(split.base.iter().chain(&split.parts).all(|part| part.is_finite()), "case {case}");
            let expected = expected(&cells, &all, &asked, left_out);
            assert!(
                expected.probabilities.iter().chain(&expected.seen).all(|p| (0.0..=1.0).contains(p)),
                "case {case}"
            );
            assert!(expected.ranges.iter().flatten().all(|limit| limit.is_finite()), "case {case}");
        }
        let (mut tensors, content) = arrays(&cells);
        let content = serde_json::from_str(&content).expect("JSON");
        let loaded = Cells::load(content, layout, &mut tensors).expect("a model");
        assert_eq!(loaded.score(&all), cells.score(&all), "case {case}");
    }
}

/// What was broken is empty wherever a repair was planned, and by nothing else can it be told. So one that is filled in
/// there is odd, and that it is missing was to be expected.
#[test]
fn a_value_is_odd_where_it_should_be_missing() {
    let n_rows = 600;
    let row = |i: u32| {
        let is_planned = i.is_multiple_of(3);
        [u32::from(is_planned), if is_planned && i != 300 { 3 } else { i * 7 % 11 % 3 }, i % 5]
    };
    let rows = Encoded::new(n_rows as usize, (0..n_rows).flat_map(row).collect(), Vec::new());
    let layout = Layout::new(0, vec![2, 4, 5]).with_missing(vec![None, Some(3), None]);
    let cells = fit(&layout, &rows);
    let (split, expected) = (split(&cells, &rows, true), expected(&cells, &rows, &vec![true; 3 * 600], true));
    let missing = |row: usize| expected.probabilities[row * layout.width()..][layout.group(1)][3];
    assert!(missing(300) > 0.98 && expected.seen[3 * 300 + 1] < 0.01, "{}", missing(300));
    assert!(missing(301) < 0.02, "{}", missing(301));
    let score = |row: usize| split.base[row] + split.parts(row).iter().sum::<f64>();
    assert!((0..600).all(|row| row == 300 || score(row) < score(300)));
    assert!(split.parts(300)[1] > 0.5 * score(300), "{:?}", split.parts(300));
}
