//! The second expert: what sets a row apart from its nearest training rows, cell by cell?
//!
//! Two numbers differ by the square of their distance in standard deviations; a missing one counts as the mean. Two
//! different categories differ by the mean of what each costs: −ln p(v)/H, but at most 2, where H is the column's
//! entropy. To differ in a rare value counts for more, but in a column of nearly one value not for more than all others
//! together. A row's neighbours are the five nearest in all columns together. Evidence in a cell is the mean difference
//! to them in that column (*near*), and the same over how far these neighbours are from their own neighbours (*local*;
//! after Breunig, Kriegel, Ng and Sander, *LOF: Identifying Density-Based Local Outliers*, SIGMOD 2000).
//!
//! Of more than 1,500 rows, some lead a list each: those with the smallest hashes. Each row is in the list of the
//! leader that it is nearest to. A row under judgement is compared with the leaders, and then with the lists of the
//! nearest ones until 1,500 rows were met (`search.rs`). That may miss a neighbour, but it finds nearer ones than a
//! search among fewer rows would. Rows that are too far away are told with small whole numbers (`screen.rs`).

mod compared;
mod leaders;
mod screen;
mod search;
mod storage;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use compared::{Compared, TERMS, cost, fill, half_costs, standard};
use leaders::Leaders;
use screen::Screen;
use search::{Nearest, Search};

use super::conditional::{Column, Training};
use super::recipe::Recipe;
use super::rows::RowSlots;
use crate::columns::{ABSENT, Encoded, Layout, hash_row};
use crate::error::stop_point;

/// Rows of a list, in the mean.
const PER_LIST: usize = 64;
/// What is added to how far neighbours are from their own: a share of the mean of that, and a number so that it is not
/// 0.
const SHARE_OF_MEAN: f64 = 1e-3;
const LEAST_SCALE: f64 = 1e-9;

/// Training rows among which neighbours are looked for, list by list.
#[derive(Debug, Clone)]
pub(super) struct Neighbours {
    /// [groups, rows].
    pub codes: Vec<u32>,
    /// [numbers, rows]; NaN where missing.
    pub numbers: Vec<f32>,
    /// How many copies of each row there are.
    pub copies: Vec<u32>,
    /// How far each row is from its own neighbours, in squares.
    pub scales: Vec<f32>,
    /// The hash of each row and its position, ascending.
    hashes: Vec<(u64, u32)>,
    compared: Compared,
    screen: Screen,
    leaders: Leaders,
    /// Where each list begins, and where the last one ends.
    lists: Vec<usize>,
    /// The category of all rows, where they have the same.
    constant: Vec<Option<u32>>,
    /// Half of what each category of each group costs, with a new one last.
    half_costs: Vec<Vec<f32>>,
    mean_scale: f64,
    /// Rows that are met in a search, at the least.
    fewest_met: usize,
}

/// How a row differs from its neighbours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Differences<'a> {
    cells: &'a [f64],
    scale: f64,
}

/// What an answer is made in.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    search: Search,
    cells: Vec<f64>,
}

impl Differences<'_> {
    /// The mean difference to the neighbours in a cell.
    pub fn near(&self, cell: usize) -> f64 {
        self.cells[cell]
    }

    /// The same, relative to how far the neighbours are from their own neighbours.
    pub fn local(&self, cell: usize) -> f64 {
        self.cells[cell] / self.scale
    }
}

impl Neighbours {
    /// The rows that the sample has chosen.
    pub fn learn(training: &Training<'_>) -> Self {
        let Training { recipe, layout, columns, sample, .. } = *training;
        let chosen: Vec<usize> = sample.references.iter().map(|(row, _)| *row).collect();
        let rows = sample.rows.select(&chosen);
        let all = 0..rows.n_rows();
        let copies = sample.references.iter().map(|(_, copies)| *copies).collect();
        let mut neighbours = Self::of_rows(recipe, layout, columns, &rows, copies);
        let of_row = |row: usize| {
            let (codes, numbers) = neighbours.row(row);
            (hash_row(&codes, &numbers), codes, numbers)
        };
        let rows: Vec<_> = all.map(of_row).collect();
        let scale = |search: &mut Search, (hash, codes, numbers): &(u64, Vec<u32>, Vec<f32>)| {
            stop_point();
            neighbours.nearest(columns, codes, numbers, Some(*hash), search).mean_square() as f32
        };
        let scales: Vec<f32> = rows.par_iter().map_init(Search::default, scale).collect();
        neighbours.mean_scale = mean(&scales, &neighbours.copies);
        neighbours.scales = scales;
        neighbours
    }

    /// These rows, without how far each is from its own neighbours.
    pub fn of_rows(recipe: &Recipe, layout: &Layout, columns: &[Column], rows: &Encoded, copies: Vec<u32>) -> Self {
        let all = 0..rows.n_rows();
        let codes =
            (0..layout.n_groups()).flat_map(|group| all.clone().map(|row| rows.codes(row)[group]).collect::<Vec<_>>());
        let numbers = (0..layout.n_numbers())
            .flat_map(|number| all.clone().map(|row| rows.numbers(row)[number]).collect::<Vec<_>>());
        let (codes, numbers) = (codes.collect(), numbers.collect());
        Self::new(recipe, layout, columns, codes, numbers, copies, vec![0.0; rows.n_rows()])
    }

    /// From what is stored of them, in any order.
    fn new(
        recipe: &Recipe,
        layout: &Layout,
        columns: &[Column],
        codes: Vec<u32>,
        numbers: Vec<f32>,
        copies: Vec<u32>,
        scales: Vec<f32>,
    ) -> Self {
        let half_costs: Vec<Vec<f32>> =
            columns[layout.n_numbers()..].iter().map(|column| half_costs(recipe, column)).collect();
        let mut neighbours = Self {
            codes,
            numbers,
            copies,
            scales,
            hashes: Vec::new(),
            compared: Compared::default(),
            screen: Screen::default(),
            leaders: Leaders::default(),
            lists: Vec::new(),
            constant: Vec::new(),
            half_costs,
            mean_scale: 0.0,
            fewest_met: recipe.fewest_met,
        };
        let n_rows = neighbours.len();
        let hash = |row: usize| {
            let (codes, numbers) = neighbours.row(row);
            (hash_row(&codes, &numbers), row as u32)
        };
        let mut hashes: Vec<(u64, u32)> = (0..n_rows).map(hash).collect();
        hashes.sort_unstable();
        let by_hash: Vec<usize> = hashes.iter().map(|(_, row)| *row as usize).collect();
        neighbours.take_order(&by_hash);
        let n_leaders = if n_rows > recipe.fewest_met { n_rows / PER_LIST } else { 0 };
        neighbours.leaders = Leaders::new(&neighbours.compared(columns), n_leaders, layout);
        let list_of = |search: &mut Search, row: usize| {
            let (codes, numbers) = neighbours.row(row);
            neighbours.find_lists(columns, &codes, &numbers, search);
            (search.lists.iter().min().map_or(0, |list| *list as u32), row)
        };
        let mut order: Vec<(u32, usize)> = (0..n_rows).into_par_iter().map_init(Search::default, list_of).collect();
        order.sort_unstable();
        let begins = |list: usize| order.partition_point(|(other, _)| (*other as usize) < list);
        neighbours.lists = (0..=n_leaders.max(1)).map(begins).collect();
        let order: Vec<usize> = order.into_iter().map(|(_, row)| row).collect();
        neighbours.take_order(&order);
        neighbours.compared = neighbours.compared(columns);
        let Compared { standardised, codes, costs } = &neighbours.compared;
        let of_rows = (&standardised[..], codes.as_flattened(), costs.as_flattened());
        let n_columns = [layout.n_numbers(), layout.n_groups(), layout.n_groups().next_multiple_of(TERMS)];
        neighbours.screen = Screen::new(&neighbours.lists, n_columns, of_rows);
        neighbours.hashes = order.iter().zip(0..).map(|(row, position)| (hashes[*row].0, position)).collect();
        neighbours.hashes.sort_unstable();
        let constant = neighbours.codes.chunks_exact(n_rows.max(1));
        neighbours.constant =
            constant.map(|codes| codes.iter().all(|code| *code == codes[0]).then(|| codes[0])).collect();
        neighbours.mean_scale = mean(&neighbours.scales, &neighbours.copies);
        neighbours
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
        for (_, position) in &self.hashes {
            let row = self.row(*position as usize);
            codes.extend(row.0);
            numbers.extend(row.1);
        }
        let copies = self.hashes.iter().map(|(_, position)| self.copies[*position as usize]).collect();
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
    fn compared(&self, columns: &[Column]) -> Compared {
        let n_rows = self.len();
        let of_numbers = || self.numbers.chunks_exact(n_rows.max(1)).zip(columns);
        let groups = || self.codes.chunks_exact(n_rows.max(1)).zip(&self.half_costs);
        let mut compared = Compared::default();
        for row in 0..n_rows {
            compared.standardised.extend(of_numbers().map(|(numbers, column)| standard(column, numbers[row])));
            fill(&mut compared.codes, groups().map(|(codes, _)| codes[row]), ABSENT);
            fill(&mut compared.costs, groups().map(|(codes, costs)| cost(costs, codes[row])), 0.0);
        }
        compared
    }

    /// How a row differs from its neighbours.
    pub fn ask<'s>(&self, columns: &[Column], row: RowSlots<'_>, scratch: &'s mut Scratch) -> Differences<'s> {
        let Scratch { search, cells } = scratch;
        let nearest = self.nearest(columns, row.codes, row.numbers, row.learned_from.references, search);
        cells.clear();
        cells.resize(columns.len(), 0.0);
        let scale = self.add_differences(columns, (row.codes, row.numbers), &nearest, cells);
        Differences { cells, scale }
    }

    /// Adds the mean difference to the neighbours in each cell; returns what to divide it by for the local evidence.
    fn add_differences(
        &self,
        columns: &[Column],
        (codes, numbers): (&[u32], &[f32]),
        nearest: &Nearest,
        cells: &mut [f64],
    ) -> f64 {
        let share = 1.0 / nearest.len.max(1) as f64;
        let mut scale = 0.0;
        let (of_numbers, of_groups) = cells.split_at_mut(numbers.len());
        for &row in &nearest.rows[..nearest.len] {
            let row = row as usize;
            scale += share * f64::from(self.scales[row]);
            let others = &self.compared.standardised[row * numbers.len()..][..numbers.len()];
            for (((cell, x), other), column) in of_numbers.iter_mut().zip(numbers).zip(others).zip(columns) {
                *cell += share * f64::from(standard(column, *x) - other).powi(2);
            }
            let n_blocks = codes.len().div_ceil(TERMS);
            let others = self.compared.codes[row * n_blocks..][..n_blocks].as_flattened();
            let costs = self.compared.costs[row * n_blocks..][..n_blocks].as_flattened();
            for (group, (cell, code)) in of_groups.iter_mut().zip(codes).enumerate() {
                if others[group] != *code && *code != ABSENT {
                    *cell += share * f64::from(cost(&self.half_costs[group], *code) + costs[group]);
                }
            }
        }
        scale + SHARE_OF_MEAN * self.mean_scale + LEAST_SCALE
    }
}

/// The mean over all copies.
fn mean(scales: &[f32], copies: &[u32]) -> f64 {
    let total: f64 = copies.iter().map(|copies| f64::from(*copies)).sum();
    let sum: f64 = scales.iter().zip(copies).map(|(scale, copies)| f64::from(*scale) * f64::from(*copies)).sum();
    if total > 0.0 { sum / total } else { 0.0 }
}
