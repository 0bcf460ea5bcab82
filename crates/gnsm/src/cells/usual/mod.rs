//! The fifth expert: how far is a row from the most usual rows of its table?
//!
//! Odd rows come in company. Attacks of one kind have each other for neighbours, for contexts and for a class, and so
//! each looks usual to the other experts. What they are not is usual by the whole table: how common each value is by
//! itself (`marginals`), and how many random cuts it takes to set a row apart (`isolation-forest`, which cuts small
//! samples, in which a small group is hardly there). The 70 % of the rows that are the most usual by the sum of both
//! ranks are the *core*. A row is as far out as the sum over its cells of the mean difference to its five nearest rows of
//! the core, in the scales of the core.
//!
//! Nothing is left out of the other experts: they learn from all rows, so a table without odd rows loses nothing.
//!
//! A row of the core is no neighbour of its own. Where fewer than 20 distinct rows are left there is no core.

mod storage;

use super::conditional::{Column, learn_columns};
use super::neighbours::{self, Neighbours};
use super::recipe::Recipe;
use super::rows::{NO_PART, RowSlots};
use super::sample::{Limits, Sample};
use crate::columns::{Encoded, Layout};
use crate::detectors::{Detector, IsolationForest, IsolationForestConfig, Marginals, NoSettings};
use crate::error::Result;
use crate::train::{Run, Silent};

/// Distinct rows that a core has, at the least.
const FEWEST: usize = 20;

/// The most usual rows; none where a table has too few.
#[derive(Debug, Clone)]
pub(super) struct Usual(Option<Core>);

#[derive(Debug, Clone)]
struct Core {
    columns: Vec<Column>,
    neighbours: Neighbours,
    /// Which rows of the references these are, in the order of their hashes.
    chosen: Vec<bool>,
}

impl Usual {
    /// Chooses among the rows in which neighbours are looked for.
    pub fn learn(recipe: &Recipe, layout: &Layout, references: &Neighbours) -> Result<Self> {
        let (rows, _, copies) = references.rows();
        let chosen = most_usual(recipe, layout, &rows, &copies)?;
        Ok(Self::of(recipe, layout, references, chosen))
    }

    /// The core of these rows.
    fn of(recipe: &Recipe, layout: &Layout, references: &Neighbours, chosen: Vec<bool>) -> Self {
        let (rows, _, copies) = references.rows();
        let places: Vec<usize> = (0..rows.n_rows()).filter(|row| chosen[*row]).collect();
        if places.len() < FEWEST {
            return Self(None);
        }
        let (rows, counts): (_, Vec<u32>) = (rows.select(&places), places.iter().map(|row| copies[*row]).collect());
        let limits = Limits { counted: u64::MAX, calibrated: u64::MAX, references: u64::MAX };
        let sample = Sample { rows, counts, calibrated: Vec::new(), references: Vec::new(), limits };
        let columns = learn_columns(recipe, layout, &sample);
        let neighbours = Neighbours::of_rows(recipe, layout, &columns, &sample.rows, sample.counts);
        Self(Some(Core { columns, neighbours, chosen }))
    }

    /// Whether there is a core.
    pub fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// How far a row is from the core.
    pub fn ask(&self, row: RowSlots<'_>, scratch: &mut neighbours::Scratch) -> f64 {
        let Some(Core { columns, neighbours, .. }) = &self.0 else { return 0.0 };
        let differences = neighbours.ask(columns, row, scratch);
        let takes_part = row.slots.iter().enumerate().filter(|(_, slot)| **slot != NO_PART);
        takes_part.map(|(cell, _)| differences.near(cell)).sum()
    }
}

/// Which of some distinct rows are the most usual, by both views.
fn most_usual(recipe: &Recipe, layout: &Layout, rows: &Encoded, copies: &[u32]) -> Result<Vec<bool>> {
    let repeated = copies.iter().enumerate().flat_map(|(row, copies)| std::iter::repeat_n(row, *copies as usize));
    let all = rows.select(&repeated.collect::<Vec<_>>());
    let none = rows.select(&[]);
    let marginals = Marginals::fit(&NoSettings::default(), layout, [&all, &none], run(&mut Silent))?;
    let forest = IsolationForest::fit(&IsolationForestConfig::default(), layout, [&all, &none], run(&mut Silent))?;
    let views = [marginals.score(rows), forest.score(rows)].map(|view| ranks(&view, copies));
    let sums: Vec<f64> = views[0].iter().zip(&views[1]).map(|(a, b)| a + b).collect();
    let n = f64::from(copies.iter().sum::<u32>());
    Ok(ranks(&sums, copies).into_iter().map(|rank| rank <= recipe.core * n).collect())
}

/// A fit like any other: the forest's cuts are drawn from one seed.
fn run(watcher: &mut Silent) -> Run<'_> {
    Run { seed: 0, max_seconds: None, resume: None, save: None, watcher }
}

/// How many rows are at most as odd, of those that are equal one half.
fn ranks(oddness: &[f64], copies: &[u32]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..oddness.len()).collect();
    order.sort_by(|a, b| oddness[*a].total_cmp(&oddness[*b]));
    let mut ranks = vec![0.0; oddness.len()];
    let mut below = 0.0;
    for equal in order.chunk_by(|a, b| oddness[*a] == oddness[*b]) {
        let n: f64 = equal.iter().map(|row| f64::from(copies[*row])).sum();
        equal.iter().for_each(|row| ranks[*row] = below + n / 2.0);
        below += n;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::fit;

    #[test]
    fn ranks_count_copies_and_share_ties() {
        // One row of 3, four of 1, and two of 2 of which each has rank 4 + 1.
        assert_eq!(ranks(&[3.0, 1.0, 2.0, 2.0], &[1, 4, 1, 1]), [6.5, 2.0, 5.0, 5.0]);
    }

    /// 400 rows around 0, and 30 rows that are alike and far away in both numbers.
    fn rows() -> (Layout, Encoded) {
        let noise = |row: usize, by: usize| ((row * by) % 101) as f32 / 50.0 - 1.0;
        let number = |row: usize, by: usize| if row < 400 { noise(row, by) } else { 6.0 + 0.1 * noise(row, by) };
        let numbers = (0..430).flat_map(|row| [number(row, 37), number(row, 53)]).collect();
        let layout = Layout::new(2, vec![1, 1]);
        (layout, Encoded::new(430, vec![0; 860], numbers))
    }

    #[test]
    fn a_group_that_is_apart_is_far_from_the_core_and_near_its_own() {
        let (layout, rows) = rows();
        let cells = fit(&layout, &rows);
        let batch = cells.batch(&rows, true);
        let far = cells.experts.map_rows(&batch, |row, scratch| cells.experts.usual.ask(row, scratch));
        let least_apart = far[400..].iter().copied().fold(f64::INFINITY, f64::min);
        let most_usual = far[..400].iter().copied().fold(0.0, f64::max);
        assert!(least_apart > 10.0 * most_usual, "{least_apart} and {most_usual}");
        let scores = cells.score(&rows);
        let usual = scores[..400].iter().copied().fold(0.0, f64::max);
        assert!(scores[400..].iter().all(|score| *score > usual), "{:?} and {usual}", &scores[400..]);
    }

    #[test]
    fn few_rows_have_no_core() {
        let (layout, rows) = rows();
        let cells = fit(&layout, &rows.select(&(0..20).collect::<Vec<_>>()));
        assert!(!cells.experts.usual.is_known());
    }
}
