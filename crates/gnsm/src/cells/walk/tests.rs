//! Against the paper's example, by a script with numpy.

use super::*;
use crate::cells::combine::Shares;
use crate::cells::recipe::Recipe;
use crate::cells::sample::Sample;
use crate::cells::tests::row as row_slots;
use crate::columns::{Encoded, Layout};

/// The twelve people of the paper: gender, education, marriage and income.
const PEOPLE: [[u32; 4]; 12] = [
    [0, 0, 0, 0],
    [1, 0, 1, 1],
    [0, 0, 2, 2],
    [0, 1, 1, 1],
    [1, 0, 0, 2],
    [0, 2, 1, 2],
    [0, 0, 2, 2],
    [1, 2, 2, 1],
    [0, 2, 1, 1],
    [0, 1, 2, 0],
    [1, 2, 1, 1],
    [0, 0, 2, 0],
];

fn walk_of(rows: &[[u32; 4]]) -> (Vec<Column>, Walk) {
    let layout = Layout::new(0, vec![2, 3, 3, 3]);
    let sample = Sample::new(&Recipe::default(), &Encoded::new(rows.len(), rows.as_flattened().to_vec(), vec![]), 4);
    let column = |group: usize| {
        let mut counts = vec![0; layout.size(group)];
        rows.iter().for_each(|row| counts[row[group] as usize] += 1);
        Column::group(&layout, group, counts)
    };
    let columns: Vec<Column> = (0..4).map(column).collect();
    let slots_of = |group: usize| {
        let slot = |row: usize| columns[group].slot_of_code(sample.rows.codes(row)[group]);
        (0..sample.rows.n_rows()).map(slot).collect()
    };
    let slots: Vec<Vec<u16>> = (0..4).map(slots_of).collect();
    let walk = Walk::learn(&Training {
        recipe: &Recipe::default(),
        layout: &layout,
        columns: &columns,
        slots: &slots,
        sample: &sample,
    });
    (columns, walk)
}

fn slots(columns: &[Column], row: [u32; 4]) -> Vec<u16> {
    row.iter().zip(columns).map(|(code, column)| column.slot_of_code(*code)).collect()
}

/// Values of `reference/cbrw.py` in the benchmarks, which writes the walk out with numpy.
#[test]
fn the_papers_example() {
    let (columns, walk) = walk_of(&PEOPLE);
    let expected = [(0, 0.105_763_323_188_089_81), (1, 0.079_574_374_842_779_78), (8, 0.072_596_825_531_934_97)];
    for (row, expected) in expected {
        let oddness = walk.ask(&columns, row_slots(&slots(&columns, PEOPLE[row]), false));
        assert!((oddness - expected).abs() < 1e-9, "{row}: {oddness}, not {expected}");
    }
}

#[test]
fn a_value_that_no_other_row_has_is_new_without_its_row() {
    let mut people = PEOPLE.to_vec();
    people[3][3] = 1;
    people.iter_mut().for_each(|row| row[1] = row[1].min(1));
    people[0][1] = 2;
    let (columns, walk) = walk_of(&people);
    let own = slots(&columns, people[0]);
    let oddness = |slots: &[u16], left_out: bool| walk.ask(&columns, row_slots(slots, left_out));
    let unseen = *walk.parts.last().expect("the part of a new value");
    let value = walk.parts[2 + 2];
    let gained = oddness(&own, true) - oddness(&own, false);
    assert!((gained - (unseen - value)).abs() < 1e-12 && gained > 0.0, "{gained}");
    let mut new = own.clone();
    new[1] = 3;
    assert_eq!(oddness(&new, false), oddness(&own, true));
    new[1] = NO_VALUE;
    assert!(oddness(&new, false) < oddness(&own, false));
}

#[test]
fn one_column_has_no_walk() {
    let people: Vec<[u32; 4]> = PEOPLE.iter().map(|row| [0, row[1], 0, 0]).collect();
    let (columns, walk) = walk_of(&people);
    assert_eq!(walk.ask(&columns, row_slots(&slots(&columns, people[0]), false)), 0.0);
    assert!(!walk.has_values());
    assert_eq!(Shares::new(&Recipe::default(), &columns, walk.has_values(), false).values, 0.0);
    let (columns, walk) = walk_of(&PEOPLE);
    let Shares { categories, values, .. } = Shares::new(&Recipe::default(), &columns, walk.has_values(), false);
    assert!(categories == 1.0 && (values - 5000.0 / 5012.0 / 2.0).abs() < 1e-12, "{values}");
}
