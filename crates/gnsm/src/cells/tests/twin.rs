//! The combination and the refit without odd rows once more, slowly and plainly: written from what the heads of
//! `calibrate` and `combine` say, with their numbers, and without their code.
//!
//! Rows are repeated as often as they have copies, and counted by going through all of them.

use super::*;
use crate::cells::combine::Evidence;
use crate::density::BulkTail;

/// The kinds of evidence of a cell, in the order in which `combine` lists them.
type Five = [f64; 5];

/// A row as the twin sees it.
#[derive(Clone)]
struct Seen {
    /// Of each cell the five kinds, NaN where there is none, and how odd it is.
    cells: Vec<(Five, f64)>,
    whole: f64,
    values: f64,
    core: f64,
}

impl Seen {
    fn of(evidence: &Evidence) -> Self {
        let five = |kinds: &Kinds<f32>| {
            let Kinds { given_the_rest, near, local, alone, beyond_usual } = *kinds;
            [given_the_rest, near, local, alone, beyond_usual].map(f64::from)
        };
        let cells = evidence.kinds.iter().zip(&evidence.odd).map(|(kinds, odd)| (five(kinds), *odd)).collect();
        Self { cells, whole: evidence.whole, values: evidence.values, core: evidence.core }
    }
}

/// Points through which straight lines go: of the distinct numbers, descending, those whose nats are a twentieth less
/// than those of the last point, and the smallest.
fn points(descending: &[f64]) -> Vec<[f64; 2]> {
    let n = descending.len() as f64;
    let mut points: Vec<[f64; 2]> = Vec::new();
    for (at, x) in descending.iter().enumerate() {
        if descending.get(at + 1) == Some(x) {
            continue;
        }
        let nats = -((at as f64 + 2.0) / (n + 1.0)).ln();
        if points.last().is_none_or(|last| nats <= last[1] - 0.05) || at + 1 == descending.len() {
            points.push([*x, nats]);
        }
    }
    points.reverse();
    points
}

fn on_lines(points: &[[f64; 2]], x: f64) -> f64 {
    if points.is_empty() {
        return 0.0;
    }
    if x <= points[0][0] {
        return points[0][1];
    }
    for pair in points.windows(2) {
        let ([a, at_a], [b, at_b]) = (pair[0], pair[1]);
        if x <= b {
            return at_a + (at_b - at_a) * (x - a) / (b - a);
        }
    }
    points[points.len() - 1][1]
}

/// T of one kind of evidence in one column, from that of all held-out cells; itself one of them if `held_out`.
fn nats(all: &[f64], evidence: f64, held_out: bool) -> f64 {
    let n = all.len();
    let held_out = held_out && all.first().is_some_and(|largest| evidence <= *largest);
    if n == 0 || evidence.is_nan() || (held_out && n == 1) {
        return 0.0;
    }
    let size = (n / 20).max(5).min(n);
    let begins = all[size - 1];
    let mut top = all[..size].to_vec();
    let mut others = n as f64;
    let mut largest = all[0];
    if held_out && evidence == all[0] {
        top.remove(0);
        others -= 1.0;
        largest = all[1];
    }
    if evidence > largest {
        let excess = top.iter().map(|x| x - begins).sum::<f64>() / top.len() as f64;
        let least = (others + 1.0).ln();
        // Rounding may leave a little where there is no excess.
        if top.is_empty() || excess < 1e-12 {
            return least;
        }
        let grown = ((others + 1.0) / (top.len() as f64 + 1.0)).ln() + (evidence - begins) / excess;
        return grown.max(least).min(least + 10.0);
    }
    let nats = on_lines(&points(all), evidence);
    // As many have at least as much, so many of n without itself.
    let at_least = ((n as f64 + 1.0) / nats.exp() - 1.0).max(1.0).min(n as f64);
    if held_out { -(at_least / n as f64).ln() } else { nats }
}

/// A row's figures: sum, largest, distance, whole, values and core; and the cell that is the largest.
fn figures(seen: &Seen, all: &[[Vec<f64>; 5]], held_out: bool) -> ([f64; 6], usize) {
    let (mut sum, mut distance, mut largest, mut which) = (0.0, 0.0, 0.0, 0);
    for (cell, (kinds, odd)) in seen.cells.iter().enumerate() {
        let mut t: Five = std::array::from_fn(|kind| nats(&all[cell][kind], kinds[kind], held_out));
        t[0] = t[0].min(20f64.ln() + 4.0 * odd);
        t[4] = t[4].min(20f64.ln() + 4.0 * odd);
        for nats in &t[..4] {
            sum += (nats / 10.0).exp() - 1.0;
        }
        if !kinds[1].is_nan() {
            distance += kinds[1];
        }
        let given = if kinds[4].is_nan() { t[0] } else { t[4] };
        let own = odd + given + (t[1] + t[2]) / 4.0;
        if *odd > 0.0 && own > largest {
            (largest, which) = (own, cell);
        }
    }
    ([10.0 * (1.0 + sum).ln(), largest, distance, seen.whole, seen.values, seen.core], which)
}

/// Nats of one figure, by those of usual rows. What lies beyond a share of these cannot stretch the tail.
fn figure_nats(usual: &[f64], share: f64, figure: f64) -> f64 {
    let n = usual.len() as f64;
    let quantile = |share: f64| usual.get(((1.0 - share) * n) as usize).copied().unwrap_or(0.0);
    let tenth: Vec<f64> = usual.iter().copied().filter(|x| *x >= quantile(0.9)).collect();
    let mut distinct = tenth.clone();
    distinct.dedup();
    if BulkTail::can_tell(tenth.len() as u64, distinct.len() as u64) {
        // A step is how far apart the points are below which a share lies, and four times as many rows not.
        let step = (quantile(share) - quantile(1.0 - 4.0 * (1.0 - share))) / 4f64.ln();
        let from = quantile(share) + step * ((1.0 - share) / 0.025).ln();
        if step > 0.0 && figure > from {
            return 40f64.ln() + (figure - from) / step;
        }
    }
    let beyond = usual.first().map_or(0.0, |largest| (figure - largest).max(0.0));
    on_lines(&points(usual), figure) + beyond
}

/// What is usual: all evidence of each kind, and all figures of usual rows, descending.
struct Usual {
    kinds: Vec<[Vec<f64>; 5]>,
    figures: [Vec<f64>; 6],
    share: f64,
}

impl Usual {
    fn of(rows: &[&Seen], share: f64) -> Self {
        let descending = |mut all: Vec<f64>| {
            all.retain(|x| !x.is_nan());
            all.sort_by(|a, b| b.total_cmp(a));
            all
        };
        let n_cells = rows[0].cells.len();
        let kind = |cell: usize, kind: usize| descending(rows.iter().map(|seen| seen.cells[cell].0[kind]).collect());
        let kinds: Vec<[Vec<f64>; 5]> =
            (0..n_cells).map(|cell| std::array::from_fn(|which| kind(cell, which))).collect();
        let of_rows: Vec<[f64; 6]> = rows.iter().map(|seen| figures(seen, &kinds, true).0).collect();
        let figure = |which: usize| descending(of_rows.iter().map(|figures| figures[which]).collect());
        Self { figures: std::array::from_fn(figure), kinds, share }
    }

    fn nats(&self, seen: &Seen, held_out: bool) -> ([f64; 6], usize) {
        let (figures, largest) = figures(seen, &self.kinds, held_out);
        (std::array::from_fn(|which| figure_nats(&self.figures[which], self.share, figures[which])), largest)
    }

    /// The score of a row, where a share c of the columns are categories, and n rows were learned from.
    fn score(&self, seen: &Seen, held_out: bool, c: f64, n: f64) -> f64 {
        let ([sum, largest, distance, whole, values, core], _) = self.nats(seen, held_out);
        let v = c * c / 2.0 * 5000.0 / (5000.0 + n);
        let apart = (1.0 - v) * ((1.0 - c) * (sum + distance) / 2.0 + c * whole) + v * values;
        let s = (1.0 - c) / 3.0;
        (1.0 - s) * apart + s * core + 4.0 * (largest - 100f64.ln()).max(0.0)
    }
}

/// How many rows are odd, and how many in the way in which most are.
#[derive(Debug, Clone, Copy)]
struct Odd {
    all: usize,
    alike: usize,
}

/// What is usual without odd rows.
fn without_odd_rows(rows: &[Seen], first_share: f64) -> (Usual, Odd) {
    let n = rows.len();
    let mut is_odd = vec![false; n];
    let mut ways = std::collections::BTreeMap::new();
    let mut usual = Usual::of(&rows.iter().collect::<Vec<_>>(), first_share);
    for round in 0..5 {
        let before = is_odd.clone();
        for (row, seen) in rows.iter().enumerate().filter(|(row, _)| !before[*row]) {
            let (nats, largest) = usual.nats(seen, true);
            let beyond: Vec<usize> = (0..5).filter(|which| nats[*which] > (n as f64).ln() + 20f64.ln()).collect();
            let Some(last) = beyond.last() else { continue };
            is_odd[row] = true;
            let way = if beyond.contains(&1) { ("cell", largest) } else { ("figure", *last) };
            *ways.entry(way).or_insert(0) += 1;
        }
        if is_odd == before && round > 0 {
            break;
        }
        usual = Usual::of(
            &rows.iter().zip(&is_odd).filter(|(_, odd)| !**odd).map(|(seen, _)| seen).collect::<Vec<_>>(),
            0.975,
        );
    }
    (usual, Odd { all: ways.values().sum(), alike: ways.values().copied().max().unwrap_or(0) })
}

/// Compares the scores of a table's own rows and of newer ones; returns which rows the twin found odd, first and in the
/// end.
fn compare(layout: &Layout, rows: &Encoded, newer: &Encoded) -> [Option<Odd>; 2] {
    let cells = fit(layout, rows);
    let seen = |rows: &Encoded, left_out: bool| -> Vec<Seen> {
        let evidence = |row: RowSlots<'_>, scratch: &mut _| Seen::of(cells.experts.evidence(row, scratch));
        cells.experts.map_rows(&cells.batch(rows, left_out), evidence)
    };
    let own = seen(rows, true);
    let n = own.len() as f64;
    let (mut usual, first) = without_odd_rows(&own, 0.95);
    let mut second = None;
    if first.alike as f64 > 0.025 * n || first.all as f64 > 0.1 * n {
        let (again, odd) = without_odd_rows(&own, 0.975);
        (usual, second) = (again, Some(odd));
    }
    let c = cells.experts.shares.categories;
    let has_values = cells.experts.shares.values > 0.0;
    assert!(has_values || c == 0.0, "values count where columns are categories");
    let split = split(&cells, rows, true);
    for (row, seen) in own.iter().enumerate() {
        let (found, expected) = (split.base[row] + split.parts(row).iter().sum::<f64>(), usual.score(seen, true, c, n));
        assert!((found - expected).abs() < 1e-6 * expected.max(1.0), "row {row}: {found} and {expected}");
    }
    for (row, (found, seen)) in cells.score(newer).into_iter().zip(seen(newer, false)).enumerate() {
        let expected = usual.score(&seen, false, c, n);
        assert!((found - expected).abs() < 1e-6 * expected.max(1.0), "newer row {row}: {found} and {expected}");
    }
    [Some(first), second]
}

/// The first rows of [`mixed`], the numbers of some of which are changed.
fn spoiled(n_rows: u32, change: impl Fn(usize, &mut [f32])) -> (Layout, Encoded) {
    let (layout, rows) = mixed(n_rows);
    let (mut codes, mut numbers) = (Vec::new(), Vec::new());
    for row in 0..rows.n_rows() {
        codes.extend_from_slice(rows.codes(row));
        let mut own = rows.numbers(row).to_vec();
        change(row, &mut own);
        numbers.extend(own);
    }
    (layout, Encoded::new(rows.n_rows(), codes, numbers))
}

#[test]
fn the_score_is_what_the_formulas_say() {
    let (layout, newer) = mixed(330);
    let (_, rows) = mixed(300);
    let [first, second] = compare(&layout, &rows, &newer);
    assert!(first.is_some_and(|odd| odd.alike <= 7) && second.is_none(), "{first:?}");
    // Repeated rows count as often as they occur.
    let repeated = rows.concat(&rows.select(&[3, 3, 77, 200]));
    compare(&layout, &repeated, &newer);
}

#[test]
fn odd_rows_are_left_out_as_the_formulas_say() {
    let (layout, rows) = spoiled(400, |row, numbers| numbers[0] += if row % 90 == 7 { 400.0 } else { 0.0 });
    let [first, second] = compare(&layout, &rows, &rows);
    assert!(first.is_some_and(|odd| odd.all >= 4) && second.is_none(), "{first:?}");
}

/// More than one row in forty is far from all others, and each of these from each other.
#[test]
fn many_rows_that_are_odd_alike_are_a_kind_of_their_own() {
    let (layout, rows) = spoiled(400, |row, numbers| {
        numbers[0] += if row % 29 == 7 { 100.0 + 5.0 * (row * row % 97) as f32 } else { 0.0 };
    });
    let [first, second] = compare(&layout, &rows, &rows);
    assert!(first.is_some_and(|odd| odd.alike > 10) && second.is_some(), "{first:?}, {second:?}");
}

#[test]
fn tables_of_numbers_alone_have_no_whole_and_no_values() {
    let noise = |i: u32| (i.wrapping_mul(2_654_435_761) >> 7) % 1009;
    let numbers: Vec<f32> = (0..900).map(|i| (noise(i) + noise(i / 3)) as f32 / 300.0 - 3.0).collect();
    compare(&Layout::new(3, vec![]), &Encoded::new(300, vec![], numbers.clone()), &Encoded::new(300, vec![], numbers));
}
