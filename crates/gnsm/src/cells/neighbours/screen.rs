//! Which rows are too far away to be neighbours, told with small whole numbers.
//!
//! What it costs to differ in a category is kept in fifteenths, rounded down, and of each category the last eight bits
//! are compared. So the sum over all columns is never more than the distance. Where it is already as much as the
//! distance of the farthest neighbour so far, a row is none, and its distance does not have to be computed. Rows are
//! looked at in chunks of 32, which are one register of bytes each for codes and costs.

#![allow(clippy::needless_range_loop, reason = "loops by index become vector instructions; zipped ones may not")]

use std::ops::Range;

/// Rows that are looked at together.
pub(super) const CHUNK: usize = 32;
/// Parts of what a category costs that are counted. Half of a cost is at most 1, so eight columns fit into a byte.
const PARTS: f32 = 15.0;
/// Columns whose parts are summed in bytes.
const COLUMNS: usize = 8;

/// Rows as they are looked at, list by list; the last chunk of each list is filled up.
#[derive(Debug, Clone, Default)]
pub(super) struct Screen {
    n_numbers: usize,
    n_groups: usize,
    n_chunks: usize,
    /// The first chunk of each list.
    pub starts: Vec<usize>,
    /// Numbers in deviations, [chunks, numbers].
    numbers: Vec<[f32; CHUNK]>,
    /// [chunks, groups].
    categories: Vec<Categories>,
}

/// What is kept of the categories of a chunk in one column.
#[derive(Debug, Clone, Copy)]
struct Categories {
    codes: [u8; CHUNK],
    /// Half of what each costs, in parts.
    costs: [u8; CHUNK],
}

/// A category of the row under judgement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    group: usize,
    code: u8,
    cost: u8,
}

/// A chunk that was looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looked {
    /// Bit by bit, which rows may be nearer.
    pub near: u32,
    /// The squared distance in numbers alone.
    pub squares: [f32; CHUNK],
}

impl Asked {
    pub fn new(group: usize, code: u32, half_cost: f32) -> Self {
        Self { group, code: code as u8, cost: parts(half_cost) }
    }
}

impl Screen {
    /// Rows in lists, by their numbers [rows, numbers], and their categories [rows, `stride`] with half of what each
    /// costs.
    pub fn new(
        lists: &[usize],
        [n_numbers, n_groups, stride]: [usize; 3],
        (of_numbers, of_codes, of_costs): (&[f32], &[u32], &[f32]),
    ) -> Self {
        let mut screen = Self { n_numbers, n_groups, ..Self::default() };
        for list in lists.windows(2) {
            screen.starts.push(screen.n_chunks);
            for first in (list[0]..list[1]).step_by(CHUNK) {
                let rows = first..(first + CHUNK).min(list[1]);
                screen
                    .numbers
                    .extend((0..n_numbers).map(|number| chunk_of(of_numbers, n_numbers, number, &rows, |x| x)));
                screen.categories.extend((0..n_groups).map(|group| Categories {
                    codes: chunk_of(of_codes, stride, group, &rows, |code| code as u8),
                    costs: chunk_of(of_costs, stride, group, &rows, parts),
                }));
                screen.n_chunks += 1;
            }
        }
        screen
    }

    /// Which of the first `n` rows of a chunk may be nearer than `farthest`.
    #[inline(always)]
    pub fn look(&self, chunk: usize, n: usize, row: &[f32], asked: &[Asked], farthest: f32) -> Looked {
        let mut squares = [0.0; CHUNK];
        if n < CHUNK {
            squares[n..].fill(f32::INFINITY);
        }
        let numbers = &self.numbers[chunk * self.n_numbers..][..self.n_numbers];
        for (number, (x, others)) in row.iter().zip(numbers).enumerate() {
            add_squares(&mut squares, others, *x);
            if number % COLUMNS == COLUMNS - 1 && all_at_least(&squares, farthest) {
                return Looked { near: 0, squares };
            }
        }
        let (limit, is_limited) = limit(farthest, asked.len());
        let mut parts = [0; CHUNK];
        if !row.is_empty() {
            set_parts(&mut parts, &squares);
        }
        if n < CHUNK {
            parts[n..].fill(u16::MAX);
        }
        let categories = &self.categories[chunk * self.n_groups..][..self.n_groups];
        for asked in asked.chunks(COLUMNS) {
            let mut few = [0u8; CHUNK];
            for asked in asked {
                add_parts(&mut few, &categories[asked.group], asked.code, asked.cost);
            }
            add_few(&mut parts, &few);
            if is_limited && all_at_least(&parts, limit) {
                return Looked { near: 0, squares };
            }
        }
        let mut near = 0;
        for at in 0..n {
            near |= u32::from((parts[at] < limit || !is_limited) && squares[at] < farthest) << at;
        }
        Looked { near, squares }
    }
}

/// The parts from which on a row is certainly no nearer, and whether sums can tell. A distance is summed in single
/// precision, so it may be less than its terms by a rounding error for each of them.
#[inline(always)]
fn limit(farthest: f32, n_terms: usize) -> (u16, bool) {
    let slack = 1.0 + 1.2e-7 * (n_terms as f64 + 8.0);
    let limit = (f64::from(farthest) * f64::from(PARTS) * slack).ceil();
    (limit as u16, limit < f64::from(u16::MAX))
}

/// A column of some rows, with zeros for those that are not there.
pub(super) fn chunk_of<T: Copy, U: Copy + Default>(
    values: &[T],
    n_columns: usize,
    column: usize,
    rows: &Range<usize>,
    value: impl Fn(T) -> U,
) -> [U; CHUNK] {
    let mut all = [U::default(); CHUNK];
    for (all, row) in all.iter_mut().zip(rows.clone()) {
        *all = value(values[row * n_columns + column]);
    }
    all
}

/// Half of a cost in parts, rounded down.
fn parts(half_cost: f32) -> u8 {
    (half_cost.clamp(0.0, 1.0) * PARTS) as u8
}

/// Whether all are at least as large as this.
#[inline(always)]
fn all_at_least<T: Copy + PartialOrd>(values: &[T; CHUNK], least: T) -> bool {
    let mut all = true;
    for value in values {
        all &= *value >= least;
    }
    all
}

/// Squares in parts, rounded down. What is added makes the last bits of the sum a whole number, rounded to the nearest;
/// so a half is taken away before.
#[inline(always)]
fn set_parts(parts: &mut [u16; CHUNK], squares: &[f32; CHUNK]) {
    const WHOLE: f32 = 8_388_608.0;
    for at in 0..CHUNK {
        let rounded = ((squares[at] * PARTS).min(65_000.0) - 0.5).max(0.0) + WHOLE;
        parts[at] = (rounded.to_bits() & 0xffff) as u16;
    }
}

/// Adds the squared differences of a number to all others.
#[inline(always)]
pub(super) fn add_squares(sums: &mut [f32; CHUNK], others: &[f32; CHUNK], x: f32) {
    for at in 0..CHUNK {
        sums[at] += (x - others[at]) * (x - others[at]);
    }
}

/// Adds the parts that a category costs wherever another one stands.
#[inline(always)]
fn add_parts(sums: &mut [u8; CHUNK], others: &Categories, code: u8, cost: u8) {
    for at in 0..CHUNK {
        let differs = 0u8.wrapping_sub(u8::from(others.codes[at] != code));
        sums[at] = sums[at].wrapping_add(differs & cost.wrapping_add(others.costs[at]));
    }
}

/// Adds bytes to larger sums, which end at the largest number.
#[inline(always)]
fn add_few(sums: &mut [u16; CHUNK], few: &[u8; CHUNK]) {
    for at in 0..CHUNK {
        sums[at] = sums[at].saturating_add(u16::from(few[at]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No row that is nearer is ever left out, and most of those that are not are.
    #[test]
    fn what_is_left_out_is_no_nearer() {
        let (n_rows, n_numbers, n_groups) = (150, 3, 19);
        let mut state = 7u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let numbers: Vec<f32> = (0..n_rows * n_numbers).map(|_| next(100) as f32 / 100.0).collect();
        let codes: Vec<u32> = (0..n_rows * n_groups).map(|at| next(if at % 5 == 0 { 600 } else { 2 })).collect();
        let costs: Vec<f32> = codes.iter().map(|code| (*code % 97) as f32 / 97.0).collect();
        let lists = [0, 0, 70, 150];
        let screen = Screen::new(&lists, [n_numbers, n_groups, n_groups], (&numbers, &codes, &costs));
        assert_eq!(screen.starts, [0, 0, 3]);
        let (row, own) = (&numbers[..n_numbers], &codes[..n_groups]);
        let asked: Vec<Asked> = (0..n_groups).map(|group| Asked::new(group, own[group], costs[group])).collect();
        let distance = |other: usize| {
            let apart = |number: usize| (row[number] - numbers[other * n_numbers + number]).powi(2);
            let differ = |group: usize| {
                let at = other * n_groups + group;
                if codes[at] == own[group] { 0.0 } else { costs[group] + costs[at] }
            };
            (0..n_numbers).map(apart).sum::<f32>() + (0..n_groups).map(differ).sum::<f32>()
        };
        let (mut near, mut nearer) = (0, 0);
        for farthest in [0.0, 0.5, 3.0, 6.0, 9.0, 1e4, f32::INFINITY] {
            for list in 0..3 {
                for (chunk, first) in (screen.starts[list]..).zip((lists[list]..lists[list + 1]).step_by(CHUNK)) {
                    let n = (lists[list + 1] - first).min(CHUNK);
                    let looked = screen.look(chunk, n, row, &asked, farthest);
                    for at in 0..n {
                        let (is_near, is_nearer) = (looked.near >> at & 1 == 1, distance(first + at) < farthest);
                        assert!(is_near || !is_nearer, "row {} and {farthest}", first + at);
                        near += u32::from(is_near && farthest < 10.0);
                        nearer += u32::from(is_nearer && farthest < 10.0);
                    }
                    assert!(n == CHUNK || looked.near >> n == 0, "rows that are not there");
                }
            }
        }
        assert!(nearer > 20 && near < 3 * nearer, "{near} for {nearer}");
    }
}
