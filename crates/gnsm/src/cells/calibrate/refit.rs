//! Tails without the rows that are odd themselves.
//!
//! Odd rows would hide each other. Of three wrong cells in a column, each would be as usual as the other two. And where
//! one row in fifty has a wrong cell, in whatever column, these would stretch the tails of the rows' figures. So tails
//! are learned without odd rows: of n rows those that have ln n + ln 20 nats or more in one of their figures, which one
//! table in twenty has by chance. The distance to the core is not asked: it is large in every row of a kind of its own.
//!
//! Which rows these are is asked first by tails that the rows beyond a share of all (0.95) cannot stretch, then by the
//! tails without them, until no row is added, five times at the most. Those that were left out once stay out: a few
//! that are just not odd enough would stretch the tails for the next ones, and so on.
//!
//! More than one row in forty that are odd in the same way, by the same cell or figure, or more than a tenth in all,
//! are not odd but a kind of rows of their own, such as those of small suppliers. Then the search begins anew from
//! where fewer are: with tails that only the rows beyond 0.975 cannot stretch.

use rayon::prelude::*;

use super::{FigureTail, Tail, Tails};
use crate::cells::combine::{Evidence, FIGURES, Figures, Kinds, Totals};
use crate::cells::recipe::Recipe;

/// Tails, and the rows that they were learned without.
struct Refit {
    tails: Tails,
    /// The share of all rows that is odd.
    odd: f64,
    /// The largest share that is odd in one way.
    alike: f64,
}

impl Tails {
    /// The tails of all kinds of evidence in all cells and of the rows' figures, from the evidence of held-out rows,
    /// each with its copies.
    pub fn learn(recipe: &Recipe, n_cells: usize, held_out: &[Evidence], copies: &[u32]) -> Self {
        let refit = without_odd_rows(recipe, n_cells, held_out, copies, recipe.first_share);
        if refit.alike > recipe.most_alike || refit.odd > recipe.most_odd {
            return without_odd_rows(recipe, n_cells, held_out, copies, recipe.share).tails;
        }
        refit.tails
    }
}

/// Learns tails without odd rows, first such that those beyond a share of all rows cannot stretch them.
fn without_odd_rows(recipe: &Recipe, n_cells: usize, held_out: &[Evidence], copies: &[u32], first_share: f64) -> Refit {
    let n = copies.iter().map(|copies| f64::from(*copies)).sum::<f64>();
    let mut kept = copies.to_vec();
    let (mut tails, mut totals) = learn(recipe, n_cells, held_out, &kept, first_share);
    // Rows that are odd by each cell, and behind these by each figure of the row.
    let mut ways = vec![0.0; n_cells + FIGURES];
    for round in 0..recipe.most_rounds {
        let way = |row: usize| {
            let Totals { figures, largest_cell } = &totals[row];
            let mut odd = tails.nats(figures).zip(figures, |nats, _| *nats > n.ln() + recipe.odd_beyond);
            // A kind of rows of its own is far from the core.
            odd.core = false;
            let last = odd.each().iter().rposition(|is_odd| **is_odd)?;
            Some((row, if odd.largest { *largest_cell } else { n_cells + last }))
        };
        let odd: Vec<(usize, usize)> = (0..kept.len()).filter(|row| kept[*row] > 0).filter_map(way).collect();
        if odd.is_empty() && round > 0 {
            break;
        }
        for (row, way) in odd {
            ways[way] += f64::from(std::mem::take(&mut kept[row]));
        }
        (tails, totals) = learn(recipe, n_cells, held_out, &kept, recipe.share);
    }
    let odd = ways.iter().sum::<f64>() / n;
    Refit { tails, odd, alike: ways.iter().copied().fold(0.0, f64::max) / n }
}

/// The tails, and the figures of all rows by them. Rows that are kept 0 times take no part, and those beyond a share of
/// all cannot stretch the tails of figures.
fn learn(recipe: &Recipe, n_cells: usize, held_out: &[Evidence], kept: &[u32], share: f64) -> (Tails, Vec<Totals>) {
    let usual = || kept.iter().enumerate().filter(|(_, copies)| **copies > 0).map(|(row, copies)| (row, *copies));
    let tail_of = |cell: usize, kind: usize| {
        let evidence = |row: usize| f64::from(*held_out[row].kinds[cell].each()[kind]);
        let all = usual().map(|(row, copies)| (evidence(row), copies));
        Tail::learn(recipe, all.filter(|(evidence, _)| !evidence.is_nan()).collect())
    };
    let of_cell = |cell: usize| Kinds::from_array(std::array::from_fn(|kind| tail_of(cell, kind)));
    let of_cells = (0..n_cells).into_par_iter().map(of_cell).collect();
    let tails = Tails { of_cells, of_figures: Figures::default() };
    let totals: Vec<Totals> = held_out.iter().map(|evidence| tails.figures(recipe, evidence, true)).collect();
    let of_figure = |which: usize| {
        FigureTail::learn(share, usual().map(|(row, copies)| (*totals[row].figures.each()[which], copies)).collect())
    };
    (Tails { of_figures: Figures::from_array(std::array::from_fn(of_figure)), ..tails }, totals)
}
