//! What sets a row apart from its nearest training rows, cell by cell.
//!
//! Two numbers differ by the square of their distance in standard deviations; a missing one counts as the mean. Two
//! different categories differ by the mean of what each costs: −ln p(v)/H, but at most 2, where H is the column's
//! entropy. To differ in a rare value counts for more, but in a column of nearly one value not for more than all others
//! together. A row's neighbours are the five nearest in all columns together. Evidence in a cell is the mean difference to
//! them in that column (*near*), and the same over how far these neighbours are from their own neighbours (*local*; after
//! Breunig, Kriegel, Ng and Sander, *LOF: Identifying Density-Based Local Outliers*, SIGMOD 2000).
//!
//! Of more than 1,500 rows, some lead a list each: those with the smallest hashes. Each row is in the list of the leader that
//! it is nearest to. A row under judgement is compared with the leaders, and then with the lists of the nearest ones until
//! 1,500 rows were met. That may miss a neighbour, but it finds nearer ones than a search among fewer rows would.

#![allow(clippy::needless_range_loop, reason = "loops by index become vector instructions; zipped ones may not")]

use rayon::prelude::*;

use super::column::Column;
use super::sample::Sample;
use super::screen::{Asked, CHUNK, Screen, add_squares, chunk_of};
use crate::columns::{ABSENT, Encoded, Layout, hash_row};
use crate::error::stop_point;
use crate::math::simd;

/// How many neighbours a row has.
const NEIGHBOURS: usize = 5;
/// Rows that are met in a search, at the least.
const MET: usize = 1_500;
/// Rows of a list, in the mean.
const PER_LIST: usize = 64;
/// Lists that are put in order at a time.
const ORDERED: usize = 32;
/// Columns whose differences are found together.
const TERMS: usize = 8;
/// The smallest entropy, in nats.
const LEAST_ENTROPY: f64 = 0.1;
/// What a category costs at the most; on average they cost 1.
const HIGHEST_COST: f64 = 2.0;

/// Training rows among which neighbours are looked for, list by list.
#[derive(Debug, Clone)]
pub(super) struct References {
    /// [groups, rows].
    pub codes: Vec<u32>,
    /// [numbers, rows]; NaN where missing.
    pub numbers: Vec<f32>,
    /// How many copies of each row there are.
    pub copies: Vec<u32>,
    /// How far each row is from its own neighbours, in squares.
    pub scales: Vec<f32>,
    /// The hash of each row and its place, ascending.
    hashes: Vec<(u64, u32)>,
    places: Places,
    screen: Screen,
    leaders: Leaders,
    /// Where each list begins, and where the last one ends.
    lists: Vec<usize>,
    /// The category of all rows, where they have the same.
    constant: Vec<Option<u32>>,
    /// Half of what each category of each group costs, with a new one last.
    half_costs: Vec<Vec<f32>>,
    mean_scale: f64,
}

/// All rows as they are compared, row by row.
#[derive(Debug, Clone, Default)]
struct Places {
    /// The numbers in deviations, [rows, numbers]; 0 where missing.
    standardised: Vec<f32>,
    /// [rows, groups, filled up].
    codes: Vec<[u32; TERMS]>,
    /// Half of what the category of each row costs, [rows, groups, filled up].
    costs: Vec<[f32; TERMS]>,
}

/// The rows that lead the lists, in chunks, the last one filled up; none where there is one list.
#[derive(Debug, Clone, Default)]
struct Leaders {
    n_rows: usize,
    /// The numbers in deviations, [chunks, numbers].
    standardised: Vec<[f32; CHUNK]>,
    /// [chunks, groups].
    codes: Vec<[u32; CHUNK]>,
    /// Half of what the category of each costs, [chunks, groups].
    costs: Vec<[f32; CHUNK]>,
}

/// The neighbours of a row, nearest first; those beyond `len` are not there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Nearest {
    squares: [f32; NEIGHBOURS],
    rows: [u32; NEIGHBOURS],
    len: usize,
}

/// Room for a search.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// The row under judgement, in deviations.
    row: Vec<f32>,
    /// Its categories, and nothing where there are no more.
    codes: Vec<[u32; TERMS]>,
    /// Half of what each of them costs.
    costs: Vec<[f32; TERMS]>,
    /// Whether it has all of its categories.
    is_whole: bool,
    /// The categories that can differ.
    asked: Vec<Asked>,
    /// The lists: the bits of the distance to the leader, and which it is.
    lists: Vec<u64>,
}

impl References {
    /// The rows that the sample has chosen.
    pub fn learn(layout: &Layout, columns: &[Column], sample: &Sample) -> Self {
        let chosen: Vec<usize> = sample.references.iter().map(|(row, _)| *row).collect();
        let rows = sample.rows.select(&chosen);
        let all = 0..rows.n_rows();
        let codes =
            (0..layout.n_groups()).flat_map(|group| all.clone().map(|row| rows.codes(row)[group]).collect::<Vec<_>>());
        let numbers = (0..layout.n_numbers())
            .flat_map(|number| all.clone().map(|row| rows.numbers(row)[number]).collect::<Vec<_>>());
        let copies = sample.references.iter().map(|(_, copies)| *copies).collect();
        let (codes, numbers) = (codes.collect(), numbers.collect());
        let mut references = Self::new(layout, columns, codes, numbers, copies, vec![0.0; rows.n_rows()]);
        let of_row = |row: usize| {
            let (codes, numbers) = references.row(row);
            (hash_row(&codes, &numbers), codes, numbers)
        };
        let rows: Vec<_> = all.map(of_row).collect();
        let scale = |search: &mut Search, (hash, codes, numbers): &(u64, Vec<u32>, Vec<f32>)| {
            stop_point();
            references.nearest(columns, codes, numbers, Some(*hash), search).mean_square() as f32
        };
        let scales: Vec<f32> = rows.par_iter().map_init(Search::default, scale).collect();
        references.mean_scale = mean(&scales, &references.copies);
        references.scales = scales;
        references
    }

    /// From what is stored of them, in any order.
    pub fn new(
        layout: &Layout,
        columns: &[Column],
        codes: Vec<u32>,
        numbers: Vec<f32>,
        copies: Vec<u32>,
        scales: Vec<f32>,
    ) -> Self {
        let half_costs: Vec<Vec<f32>> = columns[layout.n_numbers()..].iter().map(half_costs).collect();
        let mut references = Self {
            codes,
            numbers,
            copies,
            scales,
            hashes: Vec::new(),
            places: Places::default(),
            screen: Screen::default(),
            leaders: Leaders::default(),
            lists: Vec::new(),
            constant: Vec::new(),
            half_costs,
            mean_scale: 0.0,
        };
        let n_rows = references.len();
        let hash = |row: usize| {
            let (codes, numbers) = references.row(row);
            (hash_row(&codes, &numbers), row as u32)
        };
        let mut hashes: Vec<(u64, u32)> = (0..n_rows).map(hash).collect();
        hashes.sort_unstable();
        let by_hash: Vec<usize> = hashes.iter().map(|(_, row)| *row as usize).collect();
        references.take_order(&by_hash);
        let n_leaders = if n_rows > MET { n_rows / PER_LIST } else { 0 };
        references.leaders = Leaders::new(&references.places(columns), n_leaders, layout);
        let list_of = |search: &mut Search, row: usize| {
            let (codes, numbers) = references.row(row);
            references.find_lists(columns, &codes, &numbers, search);
            (search.lists.iter().min().map_or(0, |list| *list as u32), row)
        };
        let mut order: Vec<(u32, usize)> = (0..n_rows).into_par_iter().map_init(Search::default, list_of).collect();
        order.sort_unstable();
        let begins = |list: usize| order.partition_point(|(other, _)| (*other as usize) < list);
        references.lists = (0..=n_leaders.max(1)).map(begins).collect();
        let order: Vec<usize> = order.into_iter().map(|(_, row)| row).collect();
        references.take_order(&order);
        references.places = references.places(columns);
        let Places { standardised, codes, costs } = &references.places;
        let of_rows = (&standardised[..], codes.as_flattened(), costs.as_flattened());
        let n_columns = [layout.n_numbers(), layout.n_groups(), layout.n_groups().next_multiple_of(TERMS)];
        references.screen = Screen::new(&references.lists, n_columns, of_rows);
        references.hashes = order.iter().zip(0..).map(|(row, place)| (hashes[*row].0, place)).collect();
        references.hashes.sort_unstable();
        let constant = references.codes.chunks_exact(n_rows.max(1));
        references.constant =
            constant.map(|codes| codes.iter().all(|code| *code == codes[0]).then(|| codes[0])).collect();
        references.mean_scale = mean(&references.scales, &references.copies);
        references
    }

    fn len(&self) -> usize {
        self.copies.len()
    }

    /// The codes and numbers of a row.
    fn row(&self, row: usize) -> (Vec<u32>, Vec<f32>) {
        let n_rows = self.len();
        let codes = self.codes.iter().skip(row).step_by(n_rows).copied().collect();
        (codes, self.numbers.iter().skip(row).step_by(n_rows).copied().collect())
    }

    /// All rows in the order of their hashes, these, and how many copies there are of each.
    pub fn rows(&self) -> (Encoded, Vec<u64>, Vec<u32>) {
        let (mut codes, mut numbers) = (Vec::new(), Vec::new());
        for (_, place) in &self.hashes {
            let row = self.row(*place as usize);
            codes.extend(row.0);
            numbers.extend(row.1);
        }
        let copies = self.hashes.iter().map(|(_, place)| self.copies[*place as usize]).collect();
        (Encoded::new(self.len(), codes, numbers), self.hashes.iter().map(|(hash, _)| *hash).collect(), copies)
    }

    /// Puts the rows in this order.
    fn take_order(&mut self, order: &[usize]) {
        fn ordered<T: Copy>(values: &[T], order: &[usize]) -> Vec<T> {
            values.chunks_exact(order.len().max(1)).flat_map(|column| order.iter().map(|row| column[*row])).collect()
        }
        self.codes = ordered(&self.codes, order);
        self.numbers = ordered(&self.numbers, order);
        self.copies = ordered(&self.copies, order);
        self.scales = ordered(&self.scales, order);
    }

    /// The rows as they are compared.
    fn places(&self, columns: &[Column]) -> Places {
        let n_rows = self.len();
        let of_numbers = || self.numbers.chunks_exact(n_rows.max(1)).zip(columns);
        let groups = || self.codes.chunks_exact(n_rows.max(1)).zip(&self.half_costs);
        let mut places = Places::default();
        for row in 0..n_rows {
            places.standardised.extend(of_numbers().map(|(numbers, column)| standard(column, numbers[row])));
            fill(&mut places.codes, groups().map(|(codes, _)| codes[row]), ABSENT);
            fill(&mut places.costs, groups().map(|(codes, costs)| cost(costs, codes[row])), 0.0);
        }
        places
    }

    /// The neighbours of a row; one copy of the row with the hash `left_out` is not one.
    pub fn nearest(
        &self,
        columns: &[Column],
        codes: &[u32],
        numbers: &[f32],
        left_out: Option<u64>,
        search: &mut Search,
    ) -> Nearest {
        self.find_lists(columns, codes, numbers, search);
        let place_of = |hash: u64| self.hashes.binary_search_by_key(&hash, |(hash, _)| *hash).ok();
        let left_out = left_out.and_then(place_of).map(|at| self.hashes[at].1 as usize);
        simd(
            #[inline(always)]
            || self.search(left_out, search),
        )
    }

    /// Takes a row in, and finds how far the leader of each list is.
    fn find_lists(&self, columns: &[Column], codes: &[u32], numbers: &[f32], search: &mut Search) {
        let Search { row, codes: own, costs, is_whole, asked, lists } = search;
        *is_whole = !codes.contains(&ABSENT);
        row.clear();
        row.extend(numbers.iter().zip(columns).map(|(x, column)| standard(column, *x)));
        own.clear();
        fill(own, codes.iter().copied(), ABSENT);
        costs.clear();
        fill(costs, codes.iter().zip(&self.half_costs).map(|(code, costs)| cost(costs, *code)), 0.0);
        asked.clear();
        for (group, (code, cost)) in codes.iter().zip(costs.as_flattened()).enumerate() {
            if *code != ABSENT && self.constant.get(group) != Some(&Some(*code)) {
                asked.push(Asked::new(group, *code, *cost));
            }
        }
        lists.clear();
        simd(
            #[inline(always)]
            || self.leaders.distances(row, codes, costs.as_flattened(), lists),
        );
        if lists.is_empty() {
            lists.push(0);
        }
    }

    /// Looks for neighbours in the nearest lists.
    #[inline(always)]
    fn search(&self, left_out: Option<usize>, search: &mut Search) -> Nearest {
        let mut lists = std::mem::take(&mut search.lists);
        let mut nearest = Nearest { squares: [f32::INFINITY; NEIGHBOURS], ..Nearest::default() };
        let mut met = 0;
        for at in 0..lists.len() {
            if met >= MET || nearest.squares[NEIGHBOURS - 1] == 0.0 {
                break;
            }
            if at % ORDERED == 0 {
                let rest = &mut lists[at..];
                if rest.len() > ORDERED {
                    rest.select_nth_unstable(ORDERED);
                }
                let n_ordered = rest.len().min(ORDERED);
                rest[..n_ordered].sort_unstable();
            }
            let list = lists[at] as u32 as usize;
            let rows = self.lists[list]..self.lists[list + 1];
            met += rows.len();
            for (chunk, first) in (self.screen.starts[list]..).zip(rows.clone().step_by(CHUNK)) {
                let n_rows = (rows.end - first).min(CHUNK);
                let farthest = nearest.squares[NEIGHBOURS - 1];
                let looked = self.screen.look(chunk, n_rows, &search.row, &search.asked, farthest);
                let mut near = looked.near;
                while near != 0 {
                    let at = near.trailing_zeros() as usize;
                    near &= near - 1;
                    let square = self.add_mismatches(looked.squares[at], first + at, search);
                    self.insert(square, first + at, left_out, &mut nearest);
                }
            }
        }
        search.lists = lists;
        nearest
    }

    /// Adds what a row's categories cost beside those of the row at a place, column by column.
    #[inline(always)]
    fn add_mismatches(&self, mut sum: f32, place: usize, search: &Search) -> f32 {
        let n_blocks = search.codes.len();
        let (codes, costs) = (&search.codes[..n_blocks], &search.costs[..n_blocks]);
        let others = &self.places.codes[place * n_blocks..][..n_blocks];
        let other_costs = &self.places.costs[place * n_blocks..][..n_blocks];
        for block in 0..n_blocks {
            let terms = mismatches(&codes[block], &costs[block], &others[block], &other_costs[block]);
            if search.is_whole {
                for term in terms {
                    sum += term;
                }
            } else {
                for (term, code) in terms.iter().zip(&codes[block]) {
                    sum += if *code == ABSENT { 0.0 } else { *term };
                }
            }
        }
        sum
    }

    /// Puts a row among the nearest, as often as there are copies.
    fn insert(&self, square: f32, row: usize, left_out: Option<usize>, nearest: &mut Nearest) {
        let copies = self.copies[row] - u32::from(left_out == Some(row));
        for _ in 0..copies.min(NEIGHBOURS as u32) {
            if !nearest.insert(square, row as u32) {
                break;
            }
        }
    }

    /// The mean difference to the neighbours in each cell, and what to divide it by for the local evidence.
    pub fn differences(
        &self,
        columns: &[Column],
        codes: &[u32],
        numbers: &[f32],
        nearest: &Nearest,
        cells: &mut [f64],
    ) -> f64 {
        cells.fill(0.0);
        let share = 1.0 / nearest.len.max(1) as f64;
        let mut scale = 0.0;
        let (of_numbers, of_groups) = cells.split_at_mut(numbers.len());
        for &row in &nearest.rows[..nearest.len] {
            let row = row as usize;
            scale += share * f64::from(self.scales[row]);
            let others = &self.places.standardised[row * numbers.len()..][..numbers.len()];
            for (((cell, x), other), column) in of_numbers.iter_mut().zip(numbers).zip(others).zip(columns) {
                *cell += share * f64::from(standard(column, *x) - other).powi(2);
            }
            let n_blocks = codes.len().div_ceil(TERMS);
            let others = self.places.codes[row * n_blocks..][..n_blocks].as_flattened();
            let costs = self.places.costs[row * n_blocks..][..n_blocks].as_flattened();
            for (group, (cell, code)) in of_groups.iter_mut().zip(codes).enumerate() {
                if others[group] != *code && *code != ABSENT {
                    *cell += share * f64::from(cost(&self.half_costs[group], *code) + costs[group]);
                }
            }
        }
        scale + 1e-3 * self.mean_scale + 1e-9
    }
}

impl Nearest {
    /// Puts a row in its place; false if all others are at least as near.
    fn insert(&mut self, square: f32, row: u32) -> bool {
        if square >= self.squares[NEIGHBOURS - 1] {
            return false;
        }
        let at = self.squares.partition_point(|other| *other <= square);
        self.squares.copy_within(at..NEIGHBOURS - 1, at + 1);
        self.rows.copy_within(at..NEIGHBOURS - 1, at + 1);
        (self.squares[at], self.rows[at]) = (square, row);
        self.len = (self.len + 1).min(NEIGHBOURS);
        true
    }

    fn mean_square(&self) -> f64 {
        let sum: f64 = self.squares[..self.len].iter().map(|square| f64::from(*square)).sum();
        sum / self.len.max(1) as f64
    }
}

impl Leaders {
    /// The first rows of some places.
    fn new(places: &Places, n_rows: usize, layout: &Layout) -> Self {
        let (n_numbers, n_groups) = (layout.n_numbers(), layout.n_groups());
        let stride = n_groups.next_multiple_of(TERMS);
        let (codes, costs) = (places.codes.as_flattened(), places.costs.as_flattened());
        let mut leaders = Self { n_rows, ..Self::default() };
        for first in (0..n_rows).step_by(CHUNK) {
            let rows = first..(first + CHUNK).min(n_rows);
            let numbers = (0..n_numbers).map(|number| chunk_of(&places.standardised, n_numbers, number, &rows, |x| x));
            leaders.standardised.extend(numbers);
            leaders.codes.extend((0..n_groups).map(|group| chunk_of(codes, stride, group, &rows, |code| code)));
            leaders.costs.extend((0..n_groups).map(|group| chunk_of(costs, stride, group, &rows, |cost| cost)));
        }
        leaders
    }

    /// The bits of the squared distance to each leader, and its number. Distances are not negative, so their bits are in
    /// their order.
    #[inline(always)]
    fn distances(&self, row: &[f32], codes: &[u32], costs: &[f32], lists: &mut Vec<u64>) {
        for (chunk, first) in (0..self.n_rows).step_by(CHUNK).enumerate() {
            let mut sums = [0.0; CHUNK];
            let numbers = &self.standardised[chunk * row.len()..][..row.len()];
            for number in 0..row.len() {
                add_squares(&mut sums, &numbers[number], row[number]);
            }
            let others = &self.codes[chunk * codes.len()..][..codes.len()];
            let other_costs = &self.costs[chunk * codes.len()..][..codes.len()];
            for group in 0..codes.len() {
                if codes[group] != ABSENT {
                    add_mismatches(&mut sums, &others[group], &other_costs[group], codes[group], costs[group]);
                }
            }
            let here = sums.iter().zip(first as u64..self.n_rows as u64);
            lists.extend(here.map(|(sum, list)| u64::from(sum.to_bits()) << 32 | list));
        }
    }
}

/// Adds what a category costs wherever another one stands.
#[inline(always)]
fn add_mismatches(sums: &mut [f32; CHUNK], others: &[u32; CHUNK], costs: &[f32; CHUNK], code: u32, own: f32) {
    for at in 0..CHUNK {
        sums[at] += if others[at] == code { 0.0 } else { own + costs[at] };
    }
}

/// What each category of a block costs where another one stands.
#[inline(always)]
fn mismatches(
    codes: &[u32; TERMS],
    costs: &[f32; TERMS],
    others: &[u32; TERMS],
    other_costs: &[f32; TERMS],
) -> [f32; TERMS] {
    let mut terms = [0.0; TERMS];
    for at in 0..TERMS {
        let cost = costs[at] + other_costs[at];
        terms[at] = if codes[at] == others[at] { 0.0 } else { cost };
    }
    terms
}

/// Adds values in blocks, the last one filled up.
fn fill<T: Copy>(blocks: &mut Vec<[T; TERMS]>, values: impl Iterator<Item = T>, rest: T) {
    let mut at = TERMS;
    for value in values {
        if at == TERMS {
            blocks.push([rest; TERMS]);
            at = 0;
        }
        if let Some(block) = blocks.last_mut() {
            block[at] = value;
        }
        at += 1;
    }
}

/// A number in deviations, 0 where it is missing.
fn standard(column: &Column, x: f32) -> f32 {
    match &column.bins {
        Some(bins) if !x.is_nan() => bins.standardised(x),
        _ => 0.0,
    }
}

/// The mean over all copies.
fn mean(scales: &[f32], copies: &[u32]) -> f64 {
    let total: f64 = copies.iter().map(|copies| f64::from(*copies)).sum();
    let sum: f64 = scales.iter().zip(copies).map(|(scale, copies)| f64::from(*scale) * f64::from(*copies)).sum();
    if total > 0.0 { sum / total } else { 0.0 }
}

fn cost(half_costs: &[f32], code: u32) -> f32 {
    let new = half_costs.len() - 1;
    half_costs[(code as usize).min(new)]
}

/// Half of what each category of a group costs, with a new one last.
fn half_costs(column: &Column) -> Vec<f32> {
    let mut counts: Vec<f64> = column.counts.iter().map(|count| f64::from(*count)).collect();
    if let Some(missing) = column.missing {
        counts[missing as usize] = f64::from(column.n_missing);
    }
    let n = counts.iter().sum::<f64>().max(1.0);
    let once = counts.iter().filter(|count| **count == 1.0).count() as f64;
    let new = (once + 0.5) / (n + 1.0);
    let shares: Vec<f64> = counts.iter().map(|count| (1.0 - new) * count / n).chain([new]).collect();
    let surprise = |share: &f64| -share.max(0.5 / n).ln();
    let entropy: f64 = shares.iter().map(|share| share * surprise(share)).sum();
    let cost = |share: &f64| (surprise(share) / entropy.max(LEAST_ENTROPY)).min(HIGHEST_COST);
    shares.iter().map(|share| (0.5 * cost(share)) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{Encoded, UNSEEN};

    #[test]
    fn a_rare_category_costs_no_more_than_two_usual_ones() {
        let of = |counts: Vec<u32>| half_costs(&Column::group(&Layout::new(0, vec![counts.len()]), 0, counts));
        assert_eq!(of(vec![999, 1])[1..], [1.0, 1.0], "the rare one, and a new one");
        let even = of(vec![500, 500]);
        assert!((even[0] - 0.5).abs() < 0.01, "{even:?}");
    }

    /// Against all distances, written out.
    #[test]
    fn differences_are_those_to_the_five_nearest() {
        let nan = f32::NAN;
        let layout = Layout::new(1, vec![3, 1]);
        let mut codes: Vec<u32> = (0..60).flat_map(|row| [row * row % 3, 0]).collect();
        let mut numbers: Vec<f32> = (0..60).map(|row| (row * 7 % 23) as f32 / 5.0 - 2.0).collect();
        (numbers[7], codes[2 * 9]) = (nan, 2);
        let rows = Encoded::new(60, codes, numbers);
        let cells = super::super::fit::fit(&layout, &rows).expect("a fit");
        let (columns, references) = (&cells.columns, &cells.references);
        let apart = |a: (&[u32], &[f32]), b: (&[u32], &[f32])| {
            let number = f64::from(standard(&columns[0], a.1[0]) - standard(&columns[0], b.1[0])).powi(2);
            let group = |group: usize| {
                let half = |code: u32| f64::from(cost(&references.half_costs[group], code));
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
            let nearest = references.nearest(columns, codes, numbers, hash, &mut Search::default());
            let mut differences = [0.0; 3];
            references.differences(columns, codes, numbers, &nearest, &mut differences);
            let total: f64 = differences.iter().sum();
            assert!((total - expected).abs() < 1e-4 * expected.max(1.0), "{codes:?}: {total} and {expected}");
            assert!((nearest.mean_square() - total).abs() < 1e-4 * expected.max(1.0));
        }
    }
}
