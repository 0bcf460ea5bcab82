//! Against sums over all rows that there can be, and against counting by hand.

use super::*;
use crate::cells::conditional::Training;
use crate::cells::recipe::Recipe;
use crate::cells::sample::Sample;
use crate::cells::tests::row;
use crate::columns::{Encoded, Layout};

/// Columns of three categories each, their slots, and the sample they come from.
fn table(rows: &[[u32; 3]]) -> (Vec<Column>, Vec<Vec<u16>>, Sample) {
    let layout = Layout::new(0, vec![3; 3]);
    let all = Encoded::new(rows.len(), rows.concat(), vec![]);
    let sample = Sample::new(&Recipe::default(), &all, 3);
    let column = |group: usize| {
        let mut counts = vec![0; 3];
        for (row, copies) in sample.counts.iter().enumerate() {
            counts[sample.rows.codes(row)[group] as usize] += copies;
        }
        Column::group(&layout, group, counts)
    };
    let columns: Vec<Column> = (0..3).map(column).collect();
    let slot = |group: usize, row: usize| columns[group].slot_of_code(sample.rows.codes(row)[group]);
    let slots = (0..3).map(|group| (0..sample.rows.n_rows()).map(|row| slot(group, row)).collect()).collect();
    (columns, slots, sample)
}

fn learn(columns: &[Column], slots: &[Vec<u16>], sample: &Sample) -> Classes {
    let layout = &Layout::new(0, vec![3; 3]);
    Classes::learn(&Training { recipe: &Recipe::default(), layout, columns, slots, sample })
}

fn surprise(classes: &Classes, slots: [u16; 3]) -> f64 {
    classes.surprise(&[], row(&slots, false), &mut Scratch::default())
}

/// In 300 rows the first two cells are the same, and the third is 0, 1 or 2 in turn.
fn coupled() -> Vec<[u32; 3]> {
    (0..300).map(|row| [row / 7 % 2, row / 7 % 2, row % 3]).collect()
}

#[test]
fn the_probabilities_of_all_rows_sum_to_one() {
    let (columns, slots, sample) = table(&coupled());
    let classes = learn(&columns, &slots, &sample);
    let mut total = 0.0;
    for a in 0..4 {
        for b in 0..4 {
            for c in 0..4 {
                total += (-surprise(&classes, [a, b, c])).exp();
            }
        }
    }
    assert!((total - 1.0).abs() < 1e-4, "{total}");
}

#[test]
fn a_part_of_a_row_tells_the_chances_of_the_rest() {
    let (columns, slots, sample) = table(&coupled());
    let classes = learn(&columns, &slots, &sample);
    // P(cell | known) = Σ P(row) / Σ P(row), over all rows that have what is known.
    let share = |fits: &dyn Fn([u16; 3]) -> bool| {
        let mut total = 0.0;
        for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
            let rows = (0..4).map(|c| [a, b, c]).filter(|row| fits(*row));
            total += rows.map(|row| (-surprise(&classes, row)).exp()).sum::<f64>();
        }
        total
    };
    let within = classes.within(&[1, NO_PART, NO_PART]);
    for slot in 0..3 {
        let expected = share(&|row| row[0] == 1 && row[1] == slot) / share(&|row| row[0] == 1);
        let chance = classes.chance(1, slot as usize, &within);
        assert!((chance - expected).abs() < 1e-4, "{slot}: {chance}, not {expected}");
    }
    assert!(classes.chance(1, 1, &within) > 0.9);
    assert!(Classes::default().within(&[1, 0]).is_empty());
}

#[test]
fn classes_are_found_where_cells_go_together_and_not_where_they_do_not() {
    let (columns, slots, sample) = table(&coupled());
    let classes = learn(&columns, &slots, &sample);
    assert!(classes.rows.len() > 1);
    // Half of the rows have 0 and 0, a third of these a 0 behind them; 0 and 1 never stand together.
    assert!((surprise(&classes, [0, 0, 0]) - 6.0f64.ln()).abs() < 0.1);
    assert!(surprise(&classes, [0, 1, 0]) > 4.0);
    let independent: Vec<[u32; 3]> = (0..300).map(|row| [row % 2, row / 2 % 3, row / 6 % 2]).collect();
    let (columns, slots, sample) = table(&independent);
    assert_eq!(learn(&columns, &slots, &sample).rows.len(), 1);
}

#[test]
fn one_class_is_the_product_of_shares_and_a_row_can_be_left_out() {
    let rows: Vec<[u32; 3]> = vec![[0, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1], [2, 1, 0]];
    let (columns, slots, sample) = table(&rows);
    let classes = learn(&columns, &slots, &sample);
    assert_eq!(classes.rows, [5.0]);
    // By hand. P(new) of the first column is (2 + ½)/6, so P(0) = (7/12)·3/5 = 0.35, and in the class (3 + 0.35)/6.
    // Both others have no value that occurs once: P(new) = ½/6, P(0) = (11/12)·3/5 = 0.55, and (3 + 0.55)/6.
    let expected = -(3.35f64 / 6.0).ln() - 2.0 * (3.55f64 / 6.0).ln();
    assert!((surprise(&classes, [0, 0, 0]) - expected).abs() < 1e-5);
    let left_out = classes.surprise(&columns, row(&[0, 0, 1], true), &mut Scratch::default());
    let others: Vec<[u32; 3]> = rows.iter().copied().filter(|row| *row != [0, 0, 1]).collect();
    let (columns, slots, sample) = table(&others);
    let without = learn(&columns, &slots, &sample);
    // The third column then has one value that occurs once; 1 is that value, so it counts as what it is.
    assert!((left_out - surprise(&without, [0, 0, 1])).abs() < 1e-5, "{left_out}");
}
