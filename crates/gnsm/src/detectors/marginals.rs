//! The surprise of each cell by itself: a row is odd if its cells are rare, whatever they are together with.
//!
//! score(x) = Σ_g −log(n_g(x_g)/n) + Σ_j z_j²/2, where n_g(k) of the n training rows have category k in group g. It is
//! the negative log-likelihood of independent columns, up to a constant, in nats. A category that all rows have costs
//! nothing.
//!
//! - Numbers: z²/2, the surprise of a standard normal number above that of its mean. z is what the encoder scaled.
//! - A missing number costs what its absence costs in its group: −log of the share of rows that miss it.
//! - An unseen category costs log(n + 1), the rule of succession. That is more than any that was seen.

use serde::{Deserialize, Serialize};

use super::{NoSettings, ScoreByCell, category_counts, rows_to_fit, take_category_counts, unseen_surprise};
use crate::columns::{Encoded, Layout};
use crate::detectors::Expected;
use crate::error::Result;
use crate::files::{Loaded, Store, Tensors};
use crate::train::Run;

/// Counts of every category.
#[derive(Debug, Clone)]
pub struct Marginals {
    layout: Layout,
    n_rows: f64,
    /// Rows of each category, `[width]`; 0 in the places of numbers.
    counts: Vec<f64>,
}

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredMarginals {
    n_rows: f64,
}

impl Marginals {
    /// Counts the categories.
    pub fn fit(_: &NoSettings, layout: &Layout, rows: [&Encoded; 2], _: Run<'_>) -> Result<Self> {
        let (rows, row_counts) = rows_to_fit(rows)?;
        let counts = category_counts(layout, &rows, &row_counts);
        Ok(Self { layout: layout.clone(), n_rows: row_counts.iter().sum(), counts })
    }

    /// There are no settings.
    pub fn config(&self) -> &NoSettings {
        &NoSettings {}
    }

    /// −log p of a category.
    fn surprise(&self, group: usize, code: u32) -> f64 {
        match self.counts[self.layout.group(group)].get(code as usize) {
            Some(&count) if count > 0.0 => (self.n_rows / count).ln(),
            _ => unseen_surprise(self.n_rows),
        }
    }
}

impl Store for Marginals {
    type Document = StoredMarginals;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredMarginals> {
        tensors.put("counts", self.counts.clone());
        Ok(StoredMarginals { n_rows: self.n_rows })
    }

    fn read(StoredMarginals { n_rows }: StoredMarginals, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        let counts = take_category_counts(layout, n_rows, tensors)?;
        Ok(Self { layout: layout.clone(), n_rows, counts })
    }
}

impl ScoreByCell for Marginals {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn split_row(&self, codes: &[u32], numbers: &[f32], parts: &mut [f64]) -> f64 {
        let (of_numbers, of_groups) = parts.split_at_mut(numbers.len());
        for (part, z) in of_numbers.iter_mut().zip(numbers).filter(|(_, z)| !z.is_nan()) {
            *part = f64::from(*z).powi(2) / 2.0;
        }
        for (group, (part, code)) in of_groups.iter_mut().zip(codes).enumerate() {
            *part = self.surprise(group, *code);
        }
        0.0
    }

    fn expected_cells(&self, rows: &Encoded) -> Option<Expected> {
        // The same for every row: two deviations around the mean, and the shares of the categories.
        let shares: Vec<f32> = self.counts.iter().map(|count| (count / self.n_rows) as f32).collect();
        Some(Expected {
            ranges: vec![[-2.0, 2.0]; rows.n_rows() * self.layout.n_numbers()],
            probabilities: shares[self.layout.n_numbers()..].repeat(rows.n_rows()),
            seen: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::UNSEEN;
    use crate::detectors::Detector;
    use crate::detectors::tests::{fit_on, rows_of};

    #[test]
    fn a_small_table_worked_out_by_hand() -> Result<()> {
        let layout = Layout::new(1, vec![3, 1]);
        let rows = rows_of(&[(&[0, 0], &[0.5]), (&[0, 0], &[0.5]), (&[0, 0], &[-1.0]), (&[1, 0], &[0.0])]);
        let detector = fit_on(&rows, |all, run| Marginals::fit(&NoSettings {}, &layout, all, run))?;
        let queries = rows_of(&[
            (&[0, 0], &[2.0]),
            (&[1, 0], &[0.0]),
            (&[UNSEEN, 0], &[f32::NAN]),
            (&[2, UNSEEN], &[0.0]), // place 2 exists, but no row has it
        ]);
        let expected = [(4.0f64 / 3.0).ln() + 2.0, 4.0f64.ln(), 5.0f64.ln(), 2.0 * 5.0f64.ln()];
        assert_eq!(detector.score(&queries), expected);
        assert_eq!(detector.split(&queries).parts(0), [2.0, (4.0f64 / 3.0).ln(), 0.0]);
        let expected =
            Expected { ranges: vec![[-2.0, 2.0]], probabilities: vec![0.75, 0.25, 0.0, 1.0], seen: Vec::new() };
        assert_eq!(detector.expected(&queries.select(&[0]), &[true; 3]), Some(expected));
        Ok(())
    }
}
