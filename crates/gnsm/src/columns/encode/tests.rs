use proptest::prelude::*;

use super::*;
use crate::columns::ColumnChoices;
use crate::table::TextCells;

fn table(columns: &[(&str, &[String])]) -> Table {
    let columns: Vec<Column> = columns
        .iter()
        .map(|(name, cells)| {
            let mut text = TextCells::default();
            for cell in *cells {
                text.push(cell);
            }
            Column { name: (*name).to_owned(), values: Values::Text(text) }
        })
        .collect();
    let n_rows = columns[0].values.len() as u64;
    Table { file: "f".into(), columns, lines: (2..2 + n_rows).collect(), rows_may_omit_columns: false }
}

fn encoder(table: &Table) -> Encoder {
    let rows: Vec<usize> = (0..table.n_rows()).collect();
    Encoder::new(Schema::learn(table, &rows, &ColumnChoices::default()).expect("a schema"))
}

fn texts(cells: &[&str]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}

#[test]
fn missing_and_unseen_are_told_apart() {
    let learned = table(&[("c", &texts(&["a", "b", "", "a"])), ("x", &texts(&["1.5", "2.5", "3.5", "4.5"]))]);
    let encoder = encoder(&learned);
    assert_eq!((encoder.layout().n_numbers(), encoder.layout().size(0), encoder.layout().size(1)), (1, 3, 1));
    let rows = encoder.encode(&table(&[("x", &texts(&["", "3"])), ("c", &texts(&["new", "?"]))])).expect("encoded");
    assert_eq!(rows.codes(0), [UNSEEN, UNSEEN], "a new category; a number that was never missing before");
    assert_eq!(rows.codes(1), [2, 0], "missing is a category here");
    assert!(rows.numbers(0)[0].is_nan() && rows.numbers(1)[0] == 0.0);
}

#[test]
fn rare_categories_share_a_place_and_stay_known() {
    let mut cells: Vec<String> = (0..600).map(|i| format!("c{i}")).collect();
    cells.extend((0..600 * 2).map(|i| format!("c{}", i % 500)));
    let learned = table(&[("c", &cells)]);
    let encoder = encoder(&learned);
    assert_eq!(encoder.layout().size(0), 501);
    let rows = encoder.encode(&table(&[("c", &texts(&["c7", "c550", "c700"]))])).expect("encoded");
    assert_eq!((rows.codes(1)[0], rows.codes(2)[0]), (500, UNSEEN));
    assert_eq!(encoder.category_name(&encoder.columns()[0], 500), "(rare)");
}

#[test]
fn absurd_numbers_stay_in_bounds() {
    for (value, expected) in [(f64::INFINITY, 20.0), (f64::NEG_INFINITY, -20.0), (1e308, 20.0), (5.0, 5.0)] {
        assert!((scaled(value, 0.0, 1.0) - expected).abs() < 1e-6, "{value}");
    }
    assert!(scaled(f64::MAX, f64::MIN, 1.0).is_finite());
}

proptest! {
    #[test]
    fn scaling_is_monotone_bounded_and_reversible(a in -1e6..1e6f64, b in -1e6..1e6f64, scale in 1e-3..1e3f64) {
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        prop_assert!(scaled(low, 1.0, scale) <= scaled(high, 1.0, scale));
        let z = f64::from(scaled(a, 1.0, scale));
        prop_assert!(z.abs() <= 20.0);
        if z.abs() < 19.9 {
            let back = unscaled(z, 1.0, scale);
            prop_assert!((back - a).abs() <= 1e-3 * a.abs().max(scale), "{a} {back}");
        }
    }

    #[test]
    fn a_row_is_encoded_by_itself_whatever_its_neighbours(
        cells in prop::collection::vec(("[abc ?é]{0,2}", prop::option::of(-5.0..5.0f64)), 3..40),
        order in any::<u64>(),
    ) {
        let words: Vec<String> = cells.iter().map(|(word, _)| word.clone()).collect();
        let numbers: Vec<String> = cells.iter().map(|(_, n)| n.map_or(String::new(), |n| format!("{n:.2}"))).collect();
        let whole = table(&[("word", &words), ("number", &numbers)]);
        let encoder = encoder(&whole);
        let encoded = encoder.encode(&whole).expect("encoded");
        let row = (order % cells.len() as u64) as usize;
        let single = table(&[("number", &numbers[row..=row]), ("word", &words[row..=row])]);
        let alone = encoder.encode(&single).expect("encoded");
        prop_assert_eq!(alone.codes(0), encoded.codes(row));
        prop_assert_eq!(bytemuck::cast_slice::<f32, u32>(alone.numbers(0)), bytemuck::cast_slice::<f32, u32>(encoded.numbers(row)));
    }

    #[test]
    fn distinct_rows_stand_for_all(codes in prop::collection::vec(0..3u32, 2..60)) {
        let rows = Encoded::new(codes.len() / 2, codes[..codes.len() / 2 * 2].to_vec(), vec![]);
        let (firsts, of_row) = rows.distinct();
        for (row, which) in of_row.iter().enumerate() {
            prop_assert_eq!(rows.codes(row), rows.codes(firsts[*which as usize]));
        }
        let unique: HashSet<&[u32]> = (0..rows.n_rows()).map(|row| rows.codes(row)).collect();
        prop_assert_eq!(unique.len(), firsts.len());
    }
}
