//! Turns a score into a p-value, and a p-value into yes or no.
//!
//! # The p-value
//!
//! A [`Calibration`] holds the scores s₁ … sₙ of rows that the model did not learn from. For a row of score s
//!
//! ```text
//! p(s) = (1 + #{i : sᵢ ≥ s}) / (n + 1)
//! ```
//!
//! If the row is exchangeable with the calibration rows, then P(p ≤ a) ≤ a for every a, whatever the model and the
//! distribution. The reason is that among n + 1 exchangeable scores, at most a (n + 1) have no more than a (n + 1)
//! scores at or above them (Vovk, Gammerman and Shafer, *Algorithmic Learning in a Random World*, 2005). Equal scores
//! count against the row, so ties only make p larger.
//!
//! # The decision
//!
//! - [`Rule::Contamination`] flags p ≤ c. Of rows like the calibration rows it flags at most a share c, on average over
//!   calibrations. Rows of equal scores are flagged together or not at all; where together would exceed c, not at all.
//! - [`Rule::Fdr`] keeps the expected share of false alarms *among the flagged rows* at most q, by Benjamini and
//!   Hochberg's procedure (1995). It is valid for p-values that share a calibration (Bates, Candès, Lei, Romano and
//!   Sesia, *Testing for outliers with conformal p-values*, Annals of Statistics, 2023).
//! - [`Rule::Threshold`] flags by the score itself and promises nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::density::BulkTail;
use crate::error::{Error, Result};

/// The most distinct scores that a calibration keeps.
const MOST_SCORES: usize = 10_000;

/// How many of the highest distinct scores are always kept.
const KEPT_HIGHEST: usize = 5_000;

/// The smallest p-value that is told: none is 0, however far out a row lies.
const SMALLEST: f64 = 1e-300;

/// The fewest calibration rows that show where a tail begins.
const FEWEST_FOR_TAIL: u64 = 50;

/// A score with its conformal p-value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// Higher is odder.
    pub score: f64,
    /// The share of usual rows that are at least as odd.
    pub p_value: f64,
}

/// The scores of rows that the model did not learn from.
///
/// At most 10,000 distinct ones are kept. If there are more, the highest 5,000 stay as they are, since small p-values
/// come from them. The others are put together in groups of neighbours, and each group counts as its highest score.
/// That can only make p-values larger, so all that is promised still holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Distinct scores, ascending.
    pub(crate) scores: Vec<f64>,
    /// For each of them the number of rows with that score or a higher one.
    pub(crate) at_least: Vec<u64>,
}

impl Calibration {
    /// Takes the score of each held-out row and the number of rows that have it.
    pub fn new(counted_scores: impl IntoIterator<Item = (f64, u64)>) -> Result<Self> {
        let mut counted: Vec<(f64, u64)> = counted_scores.into_iter().filter(|&(_, count)| count > 0).collect();
        if counted.is_empty() {
            return Err(Error::fit("there are no rows to calibrate scores with", "hold back some rows from training"));
        }
        if counted.iter().any(|(score, _)| score.is_nan()) {
            return Err(Error::fit("a score to calibrate with is not a number", "look for absurd values in the rows"));
        }
        counted.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        // From the highest score down; equal scores (−0 and 0 too) make one entry.
        let (mut scores, mut at_least) = (Vec::new(), Vec::new());
        let mut passed = 0;
        for group in counted.chunk_by(|a, b| a.0 == b.0) {
            passed += group.iter().map(|(_, count)| count).sum::<u64>();
            scores.push(group[0].0);
            at_least.push(passed);
        }
        if scores.len() > MOST_SCORES {
            let group = (scores.len() - KEPT_HIGHEST).div_ceil(MOST_SCORES - KEPT_HIGHEST);
            let kept = (0..KEPT_HIGHEST).chain((KEPT_HIGHEST..scores.len()).step_by(group));
            // A group's highest score stands for it, with the count of rows at or above its lowest.
            (scores, at_least) = kept
                .map(|first| {
                    let length = if first < KEPT_HIGHEST { 1 } else { group };
                    (scores[first], at_least[(first + length).min(scores.len()) - 1])
                })
                .unzip();
        }
        scores.reverse();
        at_least.reverse();
        Ok(Self { scores, at_least })
    }

    /// The number of calibration rows, n.
    pub fn rows(&self) -> u64 {
        self.at_least.first().copied().unwrap_or(0)
    }

    /// The probability that a row like the calibration rows scores this high. A score that is not a number is no
    /// evidence, and has 1.
    pub fn p_value(&self, score: f64) -> f64 {
        if score.is_nan() {
            return 1.0;
        }
        let position = self.scores.partition_point(|&other| other < score);
        let at_least = self.at_least.get(position).copied().unwrap_or(0);
        (1 + at_least) as f64 / (self.rows() + 1) as f64
    }

    /// p-values that go on beyond the bulk of the calibration rows.
    ///
    /// [`Self::p_value`] cannot be below 1 / (n + 1), and where a table is judged by its own rows it says no more than
    /// the rank of a row. So above the 97.5 % point a [`BulkTail`] takes the place of the rows. If the method knows how
    /// fast its scores become rare, the tail's step is the method's. It begins where the method says, or at the 97.5 %
    /// point if that is lower. Then odd rows cannot stretch it, however many there are. Otherwise, step and beginning
    /// come from quantiles, which a few odd rows hardly move.
    pub(crate) fn tail(&self, known: Option<BulkTail>) -> TailOfScores<'_> {
        if self.rows() < FEWEST_FOR_TAIL {
            return TailOfScores { calibration: self, tail: BulkTail::default() };
        }
        let from = self.scores.partition_point(|score| *score < self.quantile(0.9));
        if !BulkTail::can_tell(self.at_least[from], (self.scores.len() - from) as u64) {
            return TailOfScores { calibration: self, tail: BulkTail::default() };
        }
        let fitted = BulkTail::fit(|part| self.quantile(part));
        let tail = known.map_or(fitted, |known| BulkTail { from: known.from.min(fitted.from), ..known });
        TailOfScores { calibration: self, tail }
    }

    /// The lowest calibration score that at least this part of the calibration rows does not exceed.
    pub fn quantile(&self, part: f64) -> f64 {
        self.quantile_of(part * self.rows() as f64)
    }

    /// The lowest calibration score that at least so many rows do not exceed.
    fn quantile_of(&self, wanted: f64) -> f64 {
        // Rows at or below the score at a position are all that are not at or above the next one.
        let enough = |at_least_next: u64| (self.rows() - at_least_next) as f64 >= wanted;
        let position = self.at_least[1..].partition_point(|&at_least| !enough(at_least));
        self.scores[position]
    }

    /// The smallest p-value that exists, 1 / (n + 1). A contamination below it flags nothing. A false discovery rate q
    /// flags nothing unless a share 1 / (q (n + 1)) of the scored rows are odder than every calibration row.
    pub fn smallest_p(&self) -> f64 {
        1.0 / (self.rows() + 1) as f64
    }

    /// Checks lengths and order after reading from a file; says what is wrong.
    pub fn validate(&self) -> std::result::Result<(), String> {
        if self.scores.is_empty() || self.scores.len() != self.at_least.len() {
            return Err("a calibration needs scores, and a count for each".into());
        }
        if self.scores.iter().any(|score| score.is_nan()) || !self.scores.is_sorted_by(|a, b| a < b) {
            return Err("calibration scores must be numbers that ascend".into());
        }
        if !self.at_least.is_sorted_by(|a, b| a > b) || self.at_least.last() == Some(&0) {
            return Err("calibration counts must be positive and descend".into());
        }
        if self.rows() == u64::MAX {
            return Err("calibration counts are too large".into());
        }
        Ok(())
    }
}

/// p-values that go on beyond the bulk of the calibration rows: above their 97.5 % point, the share of rows with such a
/// score falls by a factor of e with every step of the same length.
#[derive(Debug, Clone, Copy)]
pub struct TailOfScores<'a> {
    calibration: &'a Calibration,
    tail: BulkTail,
}

impl TailOfScores<'_> {
    /// The p-value of a score.
    pub fn p_value(&self, score: f64) -> f64 {
        let counted = self.calibration.p_value(score);
        self.tail.nats(score).map_or(counted, |nats| (-nats).exp().max(SMALLEST))
    }
}

/// When a row is flagged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// At most this part of rows like the calibration rows.
    Contamination(f64),
    /// Among the flagged rows, at most this part of false alarms is expected.
    Fdr(f64),
    /// A score of at least this.
    Threshold(f64),
}

impl Rule {
    /// Names the setting that is out of its range.
    pub fn validate(&self) -> Result<()> {
        let (field, value) = match *self {
            Self::Contamination(part) => ("contamination", part),
            Self::Fdr(part) => ("fdr", part),
            Self::Threshold(score) if score.is_nan() => {
                return Err(Error::config("threshold", "must be a number"));
            }
            Self::Threshold(_) => return Ok(()),
        };
        if value > 0.0 && value < 1.0 {
            Ok(())
        } else {
            Err(Error::config(field, format!("is {value}, must lie between 0 and 1, such as 0.05")))
        }
    }

    /// Whether a row is flagged. Only [`Rule::Fdr`] looks at the cutoff, which [`FdrCounter::cutoff`] finds over all rows, and
    /// without one flags nothing.
    pub(super) fn flags(&self, row: &Scored, fdr_cutoff: Option<f64>) -> bool {
        match *self {
            Self::Contamination(part) => row.p_value <= part,
            Self::Fdr(_) => fdr_cutoff.is_some_and(|cutoff| row.p_value <= cutoff),
            Self::Threshold(threshold) => row.score >= threshold,
        }
    }
}

/// Benjamini and Hochberg's procedure over rows that come one by one.
///
/// With m p-values in ascending order, the cutoff is the largest p₍ₖ₎ ≤ q k / m. A calibration gives few distinct
/// p-values, so counting them takes memory that does not grow with the number of rows.
#[derive(Debug, Clone)]
pub(super) struct FdrCounter {
    level: f64,
    rows: u64,
    /// Positive floats are ordered as their bits are.
    counts: BTreeMap<u64, u64>,
}

impl FdrCounter {
    /// A counter for the false discovery rate `level`.
    pub fn new(level: f64) -> Result<Self> {
        Rule::Fdr(level).validate()?;
        Ok(Self { level, rows: 0, counts: BTreeMap::new() })
    }

    /// Adds the p-value of a row, as [`Calibration::p_value`] gives it: above 0, at most 1.
    pub fn add(&mut self, p_value: f64) {
        self.rows += 1;
        *self.counts.entry(p_value.to_bits()).or_default() += 1;
    }

    /// How many rows are flagged.
    pub fn flagged(&self) -> u64 {
        let Some(cutoff) = self.cutoff() else { return 0 };
        self.counts.range(..=cutoff.to_bits()).map(|(_, count)| count).sum()
    }

    /// Rows whose p-value is at most this are flagged; none where nothing is odd enough.
    pub fn cutoff(&self) -> Option<f64> {
        let mut cutoff = None;
        let mut rank = 0;
        for (&bits, count) in &self.counts {
            rank += count;
            let p_value = f64::from_bits(bits);
            if p_value * self.rows as f64 <= self.level * rank as f64 {
                cutoff = Some(p_value);
            }
        }
        cutoff
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn row(score: f64, p_value: f64) -> Scored {
        Scored { score, p_value }
    }

    fn calibration(scores: &[f64]) -> Result<Calibration> {
        Calibration::new(scores.iter().map(|&score| (score, 1)))
    }

    #[test]
    fn p_values_count_scores_at_or_above() -> Result<()> {
        let calibration = Calibration::new([(2.0, 3), (0.0, 1), (-0.0, 2), (5.0, 1), (9.0, 0), (2.0, 2)])?;
        assert_eq!(calibration.rows(), 9);
        for (score, expected) in [
            (f64::NEG_INFINITY, 10.0),
            (-1.0, 10.0),
            (0.0, 10.0),
            (-0.0, 10.0),
            (0.5, 7.0),
            (2.0, 7.0),
            (2.5, 2.0),
            (5.0, 2.0),
            (5.5, 1.0),
            (f64::INFINITY, 1.0),
            (f64::NAN, 10.0),
        ] {
            assert_eq!(calibration.p_value(score), expected / 10.0, "{score}");
        }
        assert_eq!(calibration.smallest_p(), 0.1);
        for (part, expected) in [(0.0, 0.0), (0.3, 0.0), (0.34, 2.0), (0.5, 2.0), (0.88, 2.0), (0.9, 5.0), (1.0, 5.0)] {
            assert_eq!(calibration.quantile(part), expected, "{part}");
        }
        assert_eq!(calibration.validate(), Ok(()));
        assert!(Calibration::new([]).is_err());
        assert!(Calibration::new([(f64::NAN, 1)]).is_err());
        Ok(())
    }

    /// Seeded; the error of 40,000 repetitions is below 0.003 at one standard deviation.
    #[test]
    fn p_values_are_valid_with_many_ties_and_few_calibration_rows() -> Result<()> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (n_rows, distinct) in [(5, 3), (19, 4), (99, 10), (19, 1_000_000)] {
            let repetitions = 40_000;
            let mut below = [0; 5];
            let levels = [0.01, 0.05, 0.1, 0.3, 0.8];
            for _ in 0..repetitions {
                let mut draw = || {
                    let (a, b) = (rng.random_range(0..distinct), rng.random_range(0..distinct));
                    f64::from(i32::min(a, b))
                };
                let scores: Vec<f64> = (0..n_rows).map(|_| draw()).collect();
                let p_value = calibration(&scores)?.p_value(draw());
                for (below, level) in below.iter_mut().zip(levels) {
                    *below += u32::from(p_value <= level);
                }
            }
            for (below, level) in below.into_iter().zip(levels) {
                let share = f64::from(below) / f64::from(repetitions);
                assert!(share <= level + 0.007, "{n_rows} rows, {distinct} scores: {share} at {level}");
                // Without ties and where a (n + 1) is whole, exactly a.
                if distinct == 1_000_000 && level > 0.01 {
                    assert!((share - level).abs() < 0.008, "{share} at {level}");
                }
            }
        }
        Ok(())
    }

    /// A fifth of the rows are anomalies; scores are tied.
    #[test]
    fn the_false_discovery_rate_is_kept_with_ties() -> Result<()> {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let (repetitions, level) = (2000, 0.2);
        let (mut false_share, mut found) = (0.0, 0);
        for _ in 0..repetitions {
            let mut draw = |anomaly: bool| f64::from(rng.random_range(0..12) + if anomaly { 9 } else { 0 });
            let scores: Vec<f64> = (0..200).map(|_| draw(false)).collect();
            let calibration = calibration(&scores)?;
            let tested: Vec<(bool, f64)> = (0..50).map(|row| (row < 10, calibration.p_value(draw(row < 10)))).collect();
            let mut counter = FdrCounter::new(level)?;
            for (_, p_value) in &tested {
                counter.add(*p_value);
            }
            let rule = Rule::Fdr(level);
            let flagged: Vec<bool> = tested
                .iter()
                .filter(|(_, p_value)| rule.flags(&row(0.0, *p_value), counter.cutoff()))
                .map(|(anomaly, _)| *anomaly)
                .collect();
            let false_alarms = flagged.iter().filter(|&&anomaly| !anomaly).count();
            false_share += false_alarms as f64 / flagged.len().max(1) as f64;
            found += flagged.len() - false_alarms;
        }
        assert!(false_share / f64::from(repetitions) <= level + 0.02, "{false_share}");
        assert!(found > 10_000, "{found}");
        Ok(())
    }

    #[test]
    fn thinning_keeps_the_tail_and_makes_no_p_value_smaller() -> Result<()> {
        let n_scores = 37_123_u32;
        let calibration = Calibration::new((0..n_scores).map(|score| (f64::from(score), u64::from(1 + score % 3))))?;
        assert!(calibration.scores.len() <= MOST_SCORES);
        assert_eq!(calibration.validate(), Ok(()));
        let total: u64 = (0..n_scores).map(|score| u64::from(1 + score % 3)).sum();
        assert_eq!(calibration.rows(), total);
        let mut at_least = 0;
        for score in (0..n_scores).rev() {
            at_least += u64::from(1 + score % 3);
            let exact = (1 + at_least) as f64 / (total + 1) as f64;
            let p_value = calibration.p_value(f64::from(score));
            assert!(p_value >= exact);
            assert!(p_value - exact <= 14.0 / total as f64);
            if (n_scores - score) as usize <= KEPT_HIGHEST {
                assert_eq!(p_value, exact);
            }
        }
        Ok(())
    }

    #[test]
    fn the_tail_goes_on_where_ranks_end() -> Result<()> {
        // Quantiles of the standard exponential distribution: beyond the bulk, p is e^−s.
        let usual: Vec<f64> = (0..2000).map(|i| -(1.0 - (f64::from(i) + 0.5) / 2000.0).ln()).collect();
        let table = calibration(&usual)?;
        for score in [4.0, 8.0, 20.0] {
            assert!((table.tail(None).p_value(score).ln() + score).abs() < 0.05 * score + 0.2, "{score}");
        }
        assert_eq!(table.tail(None).p_value(1.0), table.p_value(1.0));
        // Rows far outside stretch it a little, as long as they are fewer than one in a hundred: p-values become larger.
        for (n_odd, least) in [(2, 17.0), (10, 12.0), (19, 4.0)] {
            let spoiled = calibration(&[usual.as_slice(), &vec![1e3; n_odd]].concat())?;
            let nats = -spoiled.tail(None).p_value(20.0).ln();
            assert!(least < nats && nats < 20.5, "{n_odd}: {nats}");
        }
        // A tail that is known cannot be stretched: from ln 40 on, p falls by e with every 5.
        let known = BulkTail { from: 40f64.ln(), step: 5.0 };
        for n_odd in [0, 10, 40, 200] {
            let spoiled = calibration(&[usual.as_slice(), &vec![1e3; n_odd]].concat())?;
            let nats = -spoiled.tail(Some(known)).p_value(20.0).ln();
            let expected = 40f64.ln() + (20.0 - 40f64.ln()) / 5.0;
            assert!((nats - expected).abs() < 0.3, "{n_odd}: {nats} and {expected}");
        }
        // Ties and few rows leave nothing to go on.
        assert_eq!(calibration(&[1.0; 100])?.tail(None).p_value(9.0), 1.0 / 101.0);
        assert_eq!(calibration(&usual[..49])?.tail(None).p_value(9.0), 1.0 / 50.0);
        Ok(())
    }

    #[test]
    fn rules_flag_what_they_say() {
        assert!(Rule::Contamination(0.04).flags(&row(0.0, 4.0 / 100.0), None));
        assert!(!Rule::Contamination(0.04).flags(&row(9.0, 5.0 / 100.0), None));
        assert!(Rule::Threshold(2.0).flags(&row(2.0, 1.0), None));
        assert!(!Rule::Threshold(2.0).flags(&row(f64::NAN, 1.0), None));
        assert!(!Rule::Fdr(0.1).flags(&row(9.0, 0.001), None));
        assert!(Rule::Fdr(0.1).flags(&row(9.0, 0.001), Some(0.001)));
    }

    #[test]
    fn rules_out_of_range_are_refused() {
        for part in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
            assert!(Rule::Contamination(part).validate().is_err());
            assert!(Rule::Fdr(part).validate().is_err());
            assert!(FdrCounter::new(part).is_err());
        }
        assert!(Rule::Threshold(f64::NAN).validate().is_err());
        assert!(Rule::Threshold(-3.0).validate().is_ok());
        assert!(Rule::Contamination(0.05).validate().is_ok());
    }

    #[test]
    fn damaged_calibrations_are_refused() {
        for (scores, at_least) in [
            (vec![], vec![]),
            (vec![1.0], vec![]),
            (vec![1.0, 1.0], vec![2, 1]),
            (vec![1.0, f64::NAN], vec![2, 1]),
            (vec![f64::NAN], vec![1]),
            (vec![1.0, 2.0], vec![2, 2]),
            (vec![1.0, 2.0], vec![2, 0]),
            (vec![1.0], vec![u64::MAX]),
        ] {
            assert!(Calibration { scores, at_least }.validate().is_err());
        }
    }

    /// Benjamini and Hochberg as they wrote it, counting for every p-value anew.
    fn plain_cutoff(p_values: &[f64], level: f64) -> Option<f64> {
        let passes = |&p_value: &f64| {
            let rank = p_values.iter().filter(|&&other| other <= p_value).count();
            p_value * p_values.len() as f64 <= level * rank as f64
        };
        p_values.iter().copied().filter(passes).max_by(f64::total_cmp)
    }

    proptest! {
        #[test]
        fn counting_gives_the_plain_procedures_cutoff(
            ranks in prop::collection::vec(1_u32..=40, 0..80), level in 0.01..0.99
        ) {
            let p_values: Vec<f64> = ranks.iter().map(|&rank| f64::from(rank * rank) / 1600.0).collect();
            let mut counter = FdrCounter::new(level).map_err(|problem| TestCaseError::fail(problem.to_string()))?;
            for &p_value in &p_values {
                counter.add(p_value);
            }
            let cutoff = plain_cutoff(&p_values, level);
            prop_assert_eq!(counter.cutoff(), cutoff);
            let flagged = p_values.iter().filter(|p_value| Rule::Fdr(level).flags(&row(0.0, **p_value), cutoff)).count();
            prop_assert_eq!(counter.flagged(), flagged as u64);
        }

        #[test]
        fn a_higher_score_never_has_a_higher_p_value(
            scores in prop::collection::vec(-5..5, 1..50), a in -7.0..7.0, b in -7.0..7.0
        ) {
            let scores: Vec<f64> = scores.into_iter().map(f64::from).collect();
            let calibration = calibration(&scores).map_err(|problem| TestCaseError::fail(problem.to_string()))?;
            let (low, high) = (f64::min(a, b), f64::max(a, b));
            prop_assert!(calibration.p_value(high) <= calibration.p_value(low));
            prop_assert!(calibration.p_value(high) >= calibration.smallest_p());
            prop_assert!(calibration.p_value(low) <= 1.0);
        }

        #[test]
        fn a_larger_contamination_or_rate_flags_no_less(
            ranks in prop::collection::vec(1_u32..=40, 1..80), a in 0.01..0.99, b in 0.01..0.99
        ) {
            let (small, large) = (f64::min(a, b), f64::max(a, b));
            let cutoff = |level| {
                let mut counter = FdrCounter::new(level).ok()?;
                for &rank in &ranks {
                    counter.add(f64::from(rank) / 40.0);
                }
                counter.cutoff()
            };
            for &rank in &ranks {
                let p_value = f64::from(rank) / 40.0;
                prop_assert!(
                    Rule::Contamination(large).flags(&row(0.0, p_value), None)
                        >= Rule::Contamination(small).flags(&row(0.0, p_value), None)
                );
                prop_assert!(
                    Rule::Fdr(large).flags(&row(0.0, p_value), cutoff(large))
                        >= Rule::Fdr(small).flags(&row(0.0, p_value), cutoff(small))
                );
            }
        }
    }
}
