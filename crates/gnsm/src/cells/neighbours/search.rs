//! The search for the nearest rows, list by list.

#![allow(clippy::needless_range_loop, reason = "loops by index become vector instructions; zipped ones may not")]

use super::Neighbours;
use super::compared::{TERMS, cost, fill, mismatches, standard};
use super::screen::{Asked, CHUNK};
use crate::cells::conditional::Column;
use crate::columns::ABSENT;
use crate::math::simd;

/// How many neighbours a row has.
pub(super) const NEIGHBOURS: usize = 5;
/// Lists that are put in order at a time.
const ORDERED: usize = 32;

/// The neighbours of a row, nearest first; those beyond `len` are not there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Nearest {
    pub squares: [f32; NEIGHBOURS],
    pub rows: [u32; NEIGHBOURS],
    pub len: usize,
}

/// What a search is made in.
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
    pub lists: Vec<u64>,
}

impl Neighbours {
    /// The neighbours of a row; one copy of the row with the hash `left_out` is not one.
    pub(super) fn nearest(
        &self,
        columns: &[Column],
        codes: &[u32],
        numbers: &[f32],
        left_out: Option<u64>,
        search: &mut Search,
    ) -> Nearest {
        self.find_lists(columns, codes, numbers, search);
        let find = |hash: u64| self.hashes.binary_search_by_key(&hash, |(hash, _)| *hash).ok();
        let left_out = left_out.and_then(find).map(|at| self.hashes[at].1 as usize);
        simd(
            #[inline(always)]
            || self.search(left_out, search),
        )
    }

    /// Takes a row in, and finds how far the leader of each list is.
    pub(super) fn find_lists(&self, columns: &[Column], codes: &[u32], numbers: &[f32], search: &mut Search) {
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
            if met >= self.fewest_met || nearest.squares[NEIGHBOURS - 1] == 0.0 {
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

    /// Adds what a row's categories cost beside those of the row at a position, column by column.
    #[inline(always)]
    fn add_mismatches(&self, mut sum: f32, position: usize, search: &Search) -> f32 {
        let n_blocks = search.codes.len();
        let (codes, costs) = (&search.codes[..n_blocks], &search.costs[..n_blocks]);
        let others = &self.compared.codes[position * n_blocks..][..n_blocks];
        let other_costs = &self.compared.costs[position * n_blocks..][..n_blocks];
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
}

impl Nearest {
    /// Puts a row where it belongs; false if all others are at least as near.
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

    pub fn mean_square(&self) -> f64 {
        let sum: f64 = self.squares[..self.len].iter().map(|square| f64::from(*square)).sum();
        sum / self.len.max(1) as f64
    }
}
