//! The values that training rows had of one number, at evenly spaced ranks: its quantiles.
//!
//! Each *rung* is a scaled number z with the number that it stands for, as it was read. A value that many rows repeat
//! stands on many rungs. So a share of the rungs between two limits is a share of the rows there, and a number drawn
//! among them is as frequent as it was. Where nearly all values differ, a drawn number lies between two rungs.

/// Rungs, at the most.
const MOST_RUNGS: usize = 513;
/// If a value has at least this many rows on average, the column's values repeat.
const REPEATS: usize = 20;

/// The quantiles of a number.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ladder {
    /// Ascending.
    pub(crate) rungs: Vec<f32>,
    /// The number of each rung.
    pub(crate) values: Vec<f64>,
    /// Whether numbers lie between the rungs too.
    pub(crate) smooth: bool,
}

impl Ladder {
    /// Learns from the scaled numbers of all rows that have one, each with what it stands for.
    pub fn learn(mut numbers: Vec<(f32, f64)>) -> Self {
        numbers.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let n_distinct = numbers.chunk_by(|a, b| a.0 == b.0).count();
        let n_rungs = numbers.len().min(MOST_RUNGS);
        let rank = |rung: usize| rung * (numbers.len() - 1) / (n_rungs - 1).max(1);
        let (rungs, values) = (0..n_rungs).map(|rung| numbers[rank(rung)]).unzip();
        Self { rungs, values, smooth: n_distinct * REPEATS > numbers.len() }
    }

    /// The rungs from `low` on and below `high`; the nearest one if there is none between.
    fn between(&self, low: f32, high: f32) -> std::ops::Range<usize> {
        let [from, to] = [low, high].map(|limit| self.rungs.partition_point(|rung| *rung < limit));
        if from < to {
            return from..to;
        }
        let nearest = from.min(self.rungs.len().saturating_sub(1));
        nearest..(nearest + 1).min(self.rungs.len())
    }

    /// The scaled number below which a share of the rows between two limits lies; NaN if no row had one.
    pub fn draw(&self, low: f32, high: f32, share: f64) -> f32 {
        let rungs = self.between(low, high);
        if rungs.is_empty() {
            return f32::NAN;
        }
        let place = share.clamp(0.0, 1.0) * rungs.len() as f64;
        let at = (rungs.start + place as usize).min(rungs.end - 1);
        let here = self.rungs[at];
        if !self.smooth || at + 1 >= rungs.end {
            return here;
        }
        here + (self.rungs[at + 1] - here) * place.fract() as f32
    }

    /// The mean of the numbers between two limits, and whether they are all the same; `None` if no row had one.
    pub fn mean(&self, low: f32, high: f32) -> Option<(f64, bool)> {
        let values = &self.values[self.between(low, high)];
        let first = *values.first()?;
        let is_one = values.iter().all(|value| *value == first);
        let n = values.len() as f64;
        Some((if is_one { first } else { values.iter().map(|value| value / n).sum() }, is_one))
    }

    /// What a scaled number stands for.
    pub fn value(&self, z: f32) -> f64 {
        let at = self.rungs.partition_point(|rung| *rung < z).min(self.rungs.len().saturating_sub(1));
        let Some(&right) = self.rungs.get(at) else { return f64::NAN };
        if right <= z || at == 0 {
            return self.values[at];
        }
        let left = self.rungs[at - 1];
        let share = f64::from((z - left) / (right - left));
        self.values[at - 1] + share * (self.values[at] - self.values[at - 1])
    }

    /// Checks a ladder that came from a file.
    pub fn is_usable(&self) -> bool {
        self.rungs.len() == self.values.len() && self.rungs.is_sorted() && self.values.iter().all(|x| x.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(n: usize) -> Ladder {
        Ladder::learn((0..n).map(|i| (i as f32 / 10.0, i as f64)).collect())
    }

    #[test]
    fn draws_are_as_frequent_as_the_rows() {
        // Half of the rows are 0, the others 1 to 50.
        let numbers = (0..5000).map(|i| if i % 2 == 0 { 0 } else { 1 + i / 2 % 50 });
        let ladder = Ladder::learn(numbers.map(|i| (i as f32, f64::from(i))).collect());
        assert!(!ladder.smooth);
        let drawn: Vec<f32> =
            (0..1000).map(|i| ladder.draw(f32::MIN, f32::MAX, (f64::from(i) + 0.5) / 1000.0)).collect();
        assert!((499..=502).contains(&drawn.iter().filter(|z| **z == 0.0).count()));
        assert!(drawn.iter().all(|z| z.fract() == 0.0 && ladder.value(*z) == f64::from(*z)));
        assert!((0..100).all(|i| (10.0..20.0).contains(&ladder.draw(10.0, 20.0, f64::from(i) / 100.0))));
    }

    #[test]
    fn numbers_that_differ_are_drawn_between_rungs_and_come_back() {
        let ladder = even(4000);
        assert!(ladder.smooth && ladder.rungs.len() == MOST_RUNGS);
        let z = ladder.draw(100.0, 200.0, 0.501);
        assert!((z - 150.0).abs() < 2.0 && !ladder.rungs.contains(&z), "{z}");
        assert!((ladder.value(z) - 10.0 * f64::from(z)).abs() < 1e-2);
        let (mean, is_one) = ladder.mean(100.0, 200.0).expect("a mean");
        assert!((mean - 1500.0).abs() < 10.0 && !is_one);
    }

    #[test]
    fn nothing_and_empty_ranges_are_no_trouble() {
        let none = Ladder::learn(Vec::new());
        assert!(none.draw(0.0, 1.0, 0.5).is_nan() && none.mean(0.0, 1.0).is_none() && none.value(1.0).is_nan());
        let one = Ladder::learn(vec![(2.0, 20.0)]);
        assert_eq!((one.draw(5.0, 6.0, 0.9), one.value(7.0), one.mean(0.0, 1.0)), (2.0, 20.0, Some((20.0, true))));
        assert!(none.is_usable() && one.is_usable() && even(30).is_usable());
    }
}
