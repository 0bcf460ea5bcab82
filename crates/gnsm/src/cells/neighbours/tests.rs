use super::compared::{cost, standard};
use super::*;
use crate::columns::UNSEEN;

/// Against all distances, written out.
#[test]
fn differences_are_those_to_the_five_nearest() {
    let nan = f32::NAN;
    let layout = Layout::new(1, vec![3, 1]);
    let mut codes: Vec<u32> = (0..60).flat_map(|row| [row * row % 3, 0]).collect();
    let mut numbers: Vec<f32> = (0..60).map(|row| (row * 7 % 23) as f32 / 5.0 - 2.0).collect();
    (numbers[7], codes[2 * 9]) = (nan, 2);
    let rows = Encoded::new(60, codes, numbers);
    let cells = crate::cells::tests::fit(&layout, &rows);
    let (columns, neighbours) = (&cells.experts.conditional.columns, &cells.experts.neighbours);
    let apart = |a: (&[u32], &[f32]), b: (&[u32], &[f32])| {
        let number = f64::from(standard(&columns[0], a.1[0]) - standard(&columns[0], b.1[0])).powi(2);
        let group = |group: usize| {
            let half = |code: u32| f64::from(cost(&neighbours.half_costs[group], code));
            if a.0[group] == b.0[group] { 0.0 } else { half(a.0[group]) + half(b.0[group]) }
        };
        [number, group(0), group(1)]
    };
    let queries = [(vec![1, 0], vec![0.3]), (vec![UNSEEN, UNSEEN], vec![nan])];
    let queries = queries.iter().map(|(codes, numbers)| (codes.as_slice(), numbers.as_slice(), None));
    let known = (0..60).map(|row| (rows.codes(row), rows.numbers(row), Some(row)));
    for (codes, numbers, left_out) in queries.chain(known) {
        let others = (0..60).filter(|row| Some(*row) != left_out);
        let mut all: Vec<[f64; 3]> =
            others.map(|row| apart((codes, numbers), (rows.codes(row), rows.numbers(row)))).collect();
        all.sort_by(|a, b| a.iter().sum::<f64>().total_cmp(&b.iter().sum()));
        let expected: f64 = all[..5].iter().flatten().sum::<f64>() / 5.0;
        let hash = left_out.map(|_| hash_row(codes, numbers));
        let nearest = neighbours.nearest(columns, codes, numbers, hash, &mut Search::default());
        let mut differences = [0.0; 3];
        neighbours.add_differences(columns, (codes, numbers), &nearest, &mut differences);
        let total: f64 = differences.iter().sum();
        assert!((total - expected).abs() < 1e-4 * expected.max(1.0), "{codes:?}: {total} and {expected}");
        assert!((nearest.mean_square() - total).abs() < 1e-4 * expected.max(1.0));
    }
}
