//! From evidence to a score.
//!
//! A cell has up to five kinds of evidence ([`Kinds`]). Each becomes T, its nats in its own column (`calibrate`). A
//! value that is nearly as likely as the likeliest is not odd, however predictable the column mostly is: where another
//! column is missing that usually tells it, say. So T given the rest and T beyond usual are at most ln 20 + 4·odd,
//! where odd is how odd the cell is (`conditional/opinion.rs`).
//!
//! A row has six figures ([`Figures`]). The *sum* of all T but T beyond usual finds rows in which many cells are a
//! little odd. It is a soft one, 10·ln(1 + Σ(e^(T/10) − 1)): nearly the plain sum where all T are small, and T itself
//! where there is one alone. So one large T counts for more than many small ones. The *distance* to the nearest rows,
//! the plain sum of what *near* has, counts each column by how much it varies. Categories have no distances that tell
//! much, so for them there is the *whole*: −ln of the probability of the row (`classes`). Few rows tell little about
//! combinations, so there is how odd the *values* are, wherever they stand (`walk`). None of these can find one wrong
//! cell among two hundred usual ones, so there is the *largest*: of all cells that are odd the one with the most
//! evidence, odd + T(beyond usual) + (T(near) + T(local)) / 4. Of a missing value it is T(given the rest), since no
//! value can be beyond usual there. Rows that are odd in company hide each other from all of these, but not from the
//! *core*: the distance to the most usual rows of the table (`usual`).
//!
//! Each figure becomes nats among held-out rows (`calibrate`). Where a share c of the columns are categories, n rows
//! were learned from, and v = c²/2·5000/(5000 + n), the score is
//!
//! (1 − s)·((1 − v)·((1 − c)·(sum + distance)/2 + c·whole) + v·values) + s·core + 4·max(0, largest − ln 100),
//!
//! where s = (1 − c)/3, since categories have no distances that tell much, and 0 where a table is too small for a core.
//!
//! All of these numbers stand in the [`Recipe`]. Nothing here knows rows, columns or tails, so the same formulas can be
//! written out once more, slowly, as a test (`cells/tests/twin.rs`).

mod evidence;

pub(in crate::cells) use evidence::{Evidence, FIGURES, KINDS};
pub use evidence::{Figures, Kinds};

use super::conditional::Column;
use super::recipe::Recipe;

/// How much the columns of a table count, by what they are.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::cells) struct Shares {
    /// c: the share of the columns that are categories.
    pub categories: f64,
    /// v: the share of the score that values by themselves have.
    pub values: f64,
    /// The share of the distance to the core in what is not the largest cell.
    pub core: f64,
}

/// What a row comes to.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cells) struct Totals {
    pub figures: Figures<f64>,
    /// The cell that has the largest figure.
    pub largest_cell: usize,
}

impl Shares {
    /// Those of a table's columns; values count where the walk between them has any, and the core where there is one.
    pub fn new(recipe: &Recipe, columns: &[Column], has_values: bool, has_core: bool) -> Self {
        let categories = share_of_categories(columns);
        let n_rows = columns.iter().map(Column::n_rows).fold(0.0, f64::max);
        let values = if has_values { share_of_values(recipe, categories, n_rows) } else { 0.0 };
        let core = if has_core { recipe.share_of_core * (1.0 - categories) } else { 0.0 };
        Self { categories, values, core }
    }
}

/// The share of the score that values have: the less, the more rows there are to tell about combinations.
fn share_of_values(recipe: &Recipe, categories: f64, n_rows: f64) -> f64 {
    recipe.share_of_values * categories * categories * recipe.few_rows / (recipe.few_rows + n_rows)
}

/// The share of the columns that are categories, of those that vary.
pub(in crate::cells) fn share_of_categories(columns: &[Column]) -> f64 {
    let varying = || columns.iter().filter(|column| column.tells_others && column.varies());
    let categories = varying().filter(|column| column.bins.is_none()).count();
    if categories == 0 { 0.0 } else { categories as f64 / varying().count() as f64 }
}

/// The figures of a row; `nats` are those of all kinds of evidence in a cell.
#[inline]
pub(in crate::cells) fn figures(
    recipe: &Recipe,
    evidence: &Evidence,
    nats: impl Fn(usize, &Kinds<f32>) -> Kinds<f64>,
) -> Totals {
    let (mut sum, mut distance) = (0.0, 0.0);
    let (mut largest, mut largest_cell) = (0.0, 0);
    for (cell, (kinds, odd)) in evidence.kinds.iter().zip(&evidence.odd).enumerate() {
        let nats = bounded(recipe, nats(cell, kinds), *odd);
        sum += soft_sum(recipe, &nats);
        distance += if kinds.near.is_nan() { 0.0 } else { f64::from(kinds.near) };
        if *odd > 0.0 {
            // Where nothing stands, no value can be beyond what is usual.
            let given = if kinds.beyond_usual.is_nan() { nats.given_the_rest } else { nats.beyond_usual };
            let own = odd + given + recipe.neighbours_count * (nats.near + nats.local);
            (largest, largest_cell) = if own > largest { (own, cell) } else { (largest, largest_cell) };
        }
    }
    let sum = recipe.soft * sum.ln_1p();
    let Evidence { whole, values, core, .. } = *evidence;
    let figures = Figures { sum, largest, distance, whole, values, core };
    Totals { figures, largest_cell }
}

/// T of all kinds in a cell that is so odd, those that are bounded by it at the most so large.
#[inline]
fn bounded(recipe: &Recipe, mut nats: Kinds<f64>, odd: f64) -> Kinds<f64> {
    let most = recipe.bound + recipe.odd_allows * odd;
    let bound = |nats: &mut f64, is_bounded: bool| *nats = if is_bounded { nats.min(most) } else { *nats };
    bound(&mut nats.given_the_rest, recipe.bounded.given_the_rest);
    bound(&mut nats.near, recipe.bounded.near);
    bound(&mut nats.local, recipe.bounded.local);
    bound(&mut nats.alone, recipe.bounded.alone);
    bound(&mut nats.beyond_usual, recipe.bounded.beyond_usual);
    nats
}

/// Σ(e^(T/10) − 1) over the kinds that are summed.
#[inline]
fn soft_sum(recipe: &Recipe, nats: &Kinds<f64>) -> f64 {
    let term = |nats: f64, is_summed: bool| if is_summed { (nats / recipe.soft).exp_m1() } else { 0.0 };
    term(nats.given_the_rest, recipe.summed.given_the_rest)
        + term(nats.near, recipe.summed.near)
        + term(nats.local, recipe.summed.local)
        + term(nats.alone, recipe.summed.alone)
        + term(nats.beyond_usual, recipe.summed.beyond_usual)
}

/// The score of a row whose figures have so many nats.
pub(in crate::cells) fn score(recipe: &Recipe, shares: Shares, nats: &Figures<f64>) -> f64 {
    let nats = nats.zip(&recipe.counted, |nats, counts| if *counts { *nats } else { 0.0 });
    let Shares { categories: c, values: v, core } = shares;
    let summed = recipe.share_of_sum * nats.sum + (1.0 - recipe.share_of_sum) * nats.distance;
    let combined = (1.0 - c) * summed + c * nats.whole;
    let of_all = (1.0 - v) * combined + v * nats.values;
    (1.0 - core) * of_all + core * nats.core + recipe.largest_counts * (nats.largest - recipe.largest_from).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nats that are the evidence itself.
    fn themselves(_: usize, kinds: &Kinds<f32>) -> Kinds<f64> {
        Kinds::from_array(kinds.each().map(|evidence| f64::from(*evidence).max(0.0)))
    }

    /// The soft sum of some T, all of one kind.
    fn sum(evidence: &[f32]) -> f64 {
        let alone = |alone: &f32| Kinds { alone: *alone, ..Kinds::from_array([f32::NAN; 5]) };
        let row = Evidence {
            kinds: evidence.iter().map(alone).collect(),
            odd: vec![0.0; evidence.len()],
            ..Evidence::default()
        };
        figures(&Recipe::default(), &row, themselves).figures.sum
    }

    #[test]
    fn the_largest_cell_counts_by_what_is_beyond_the_usual() {
        // Two cells, each 4 nats odd; the first is less likely, and the second more so than others like it.
        let kinds = [[9.0, 1.0, 1.0, f32::NAN, 2.0], [5.0, 1.0, 1.0, f32::NAN, 6.0]].map(Kinds::from_array).to_vec();
        let row = Evidence { kinds, odd: vec![4.0; 2], ..Evidence::default() };
        let Totals { figures, largest_cell } = figures(&Recipe::default(), &row, themselves);
        assert_eq!((largest_cell, figures.largest), (1, 4.0 + 6.0 + 0.25 * 2.0));
        // The sum has the first kind: 9, 1, 1 and 5, 1, 1.
        let sum: f64 = [9.0, 1.0, 1.0, 5.0, 1.0, 1.0].map(|nats: f64| (nats / 10.0).exp_m1()).iter().sum();
        assert!((figures.sum - 10.0 * sum.ln_1p()).abs() < 1e-9);
    }

    #[test]
    fn values_count_by_half_at_most() {
        let share = |categories: f64| share_of_values(&Recipe::default(), categories, 12.0);
        let half = 5000.0 / 5012.0 / 2.0;
        assert!((share(1.0) - half).abs() < 1e-12 && (share(0.5) - half / 4.0).abs() < 1e-12);
    }

    #[test]
    fn one_large_cell_counts_for_more_than_many_small_ones() {
        assert!((sum(&[7.0, 0.0]) - 7.0).abs() < 1e-9);
        // Python: 10*math.log(1 + math.expm1(.1) + math.expm1(.2))
        assert!((sum(&[1.0, 2.0]) - 2.825_994_348_8).abs() < 1e-9, "{}", sum(&[1.0, 2.0]));
        assert!(sum(&[9.0, 0.0, 0.0]) > sum(&[3.0, 3.0, 3.0]));
    }
}
