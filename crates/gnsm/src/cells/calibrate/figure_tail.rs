//! How far out a figure of a row lies among held-out rows: −ln of the share of rows that have at least as much, and
//! beyond the bulk of them a [`BulkTail`].
//!
//! Where nearly all rows have one figure there is no such tail. Figures are nats themselves, so beyond the largest one
//! they count as they are.

use super::tail::{between, knots};
use crate::density::BulkTail;

/// The curve of one figure.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::cells) struct FigureTail {
    /// Figures, ascending.
    pub at: Vec<f64>,
    /// Nats at each of them, ascending.
    pub nats: Vec<f64>,
    pub top: BulkTail,
}

impl FigureTail {
    /// Learns from figures and how many rows have them. Those beyond a share of all rows cannot stretch the tail.
    pub fn learn(share: f64, mut rows: Vec<(f64, u32)>) -> Self {
        rows.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let n: f64 = rows.iter().map(|(_, count)| f64::from(*count)).sum();
        let quantile = |share: f64| {
            let mut above = 0.0;
            let found = rows.iter().find(|(_, count)| {
                above += f64::from(*count);
                above > (1.0 - share) * n
            });
            found.map_or(0.0, |row| row.0)
        };
        let (at, nats) = knots(&rows, n);
        let from = quantile(0.9);
        let (tenth, distinct) = count_distinct(rows.iter().copied().take_while(|(figure, _)| *figure >= from));
        let can_tell = BulkTail::can_tell(tenth, distinct);
        let top = if can_tell { BulkTail::from_bulk(share, quantile) } else { BulkTail::default() };
        Self { at, nats, top }
    }

    /// Nats of a figure.
    pub fn nats(&self, figure: f64) -> f64 {
        self.top.nats(figure).unwrap_or_else(|| {
            let beyond = self.at.last().map_or(0.0, |largest| (figure - largest).max(0.0));
            let right = self.at.partition_point(|at| *at < figure);
            between(&self.at, &self.nats, right, figure) + beyond
        })
    }

    /// Checks a curve that came from a file.
    pub fn is_usable(&self) -> bool {
        self.at.len() == self.nats.len()
            && self.at.windows(2).all(|pair| pair[0] < pair[1])
            && self.nats.windows(2).all(|pair| pair[0] <= pair[1])
            && self.nats.first().is_none_or(|nats| *nats >= 0.0)
            && self.top.from.is_finite()
            && self.top.step >= 0.0
    }
}

/// How many rows there are, and how many distinct figures they have; the figures descend.
fn count_distinct(rows: impl Iterator<Item = (f64, u32)>) -> (u64, u64) {
    let (mut n, mut distinct, mut last) = (0, 0, f64::NAN);
    for (figure, count) in rows {
        n += u64::from(count);
        distinct += u64::from(figure != last);
        last = figure;
    }
    (n, distinct)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::BULK;

    #[test]
    fn a_row_is_far_out_by_counting_and_then_by_steps() {
        // An exponential law: −ln of the share above x is x.
        let rows: Vec<(f64, u32)> = (0..4000).map(|i| (-(1.0 - (f64::from(i) + 0.5) / 4000.0).ln(), 1)).collect();
        let tail = FigureTail::learn(BULK, rows.clone());
        assert!(tail.is_usable());
        for x in [0.5, 1.0, 2.0, 3.0, 5.0, 9.0, 30.0] {
            assert!((tail.nats(x) - x).abs() < 0.05 + 0.03 * x, "{x}: {}", tail.nats(x));
        }
        // Rows far outside do not stretch it.
        let spoiled = FigureTail::learn(BULK, [rows.as_slice(), &[(1e4, 40)]].concat());
        assert!(spoiled.nats(30.0) > 20.0, "{}", spoiled.nats(30.0));
        // Nothing, one figure, and ties tell no step; what is beyond ties counts as it is.
        assert_eq!(FigureTail::learn(BULK, vec![]).nats(7.0), 0.0);
        let ties = FigureTail::learn(BULK, vec![(2.0, 30)]);
        assert_eq!([1.0, 2.0, 9.0].map(|x| ties.nats(x)), [0.0, 0.0, 7.0]);
    }
}
