//! What the rest of a row tells about one of its cells.
//!
//! How odd a cell is comes from the probabilities on their own scale:
//!
//! - a category: p*·ln(p*/p), where p* is the probability of the likeliest. 0 if the cell is as expected, and little
//!   where nothing is;
//! - a missing value, where a value has the probability q > m: q·max(−ln m, −ln(1 − q));
//! - a missing value, where none is as likely as that it is missing, with m: (1 − m)·v·min(−ln(1 − v), ln(v/u)), where
//!   v is the likeliest value's probability if there is one at all, and u the same without the rest of the row. So it
//!   is odd where the rest of the row tells what should stand there, and not where it tells that nothing does. In both,
//!   m is the mean of what the rest of the row tells and of the share that is missing in the column: a source that
//!   never tells the time of a flight should tell it all the same;
//! - a number: 0 within its range, the middle nine tenths; beyond it −ln of the probability of a number as far out.

use super::bins::Bins;
use super::column::Column;
use crate::cells::rows::{NO_PART, NO_VALUE};
use crate::math::{ln, simd, sum_by};

/// The smallest probability.
const LEAST: f64 = 1e-30;
/// The smallest probability that another value than the likeliest should stand where one is missing.
const LEAST_OTHER: f64 = 1e-9;

/// The probabilities of a cell's values, and what was seen there.
#[derive(Debug, Clone, Copy)]
pub(in crate::cells) struct Opinion<'a> {
    pub column: &'a Column,
    /// The probabilities of the slots by themselves, if there is a value.
    pub prior: &'a [f32],
    /// The pool of what the rest of the row tells.
    pub(super) pool: &'a [f32],
    /// The probabilities of the slots given the rest of the row, if there is a value: the mixture of the two.
    pub mixed: &'a [f32],
    /// The probability that the value is missing, given the rest of the row.
    pub missing: f64,
    /// The slot of what was seen, with the row left out.
    pub slot: u16,
    /// What was seen, in a column of numbers.
    pub(super) number: f32,
    /// Whether the row is one of those that were counted, and is left out.
    pub(super) counted: bool,
}

impl Opinion<'_> {
    /// Whether the cell takes part.
    pub fn takes_part(&self) -> bool {
        self.slot != NO_PART
    }

    /// Whether the cell misses its value.
    pub fn lacks_value(&self) -> bool {
        self.slot == NO_VALUE
    }

    /// The probability of what was seen; 0 where the cell takes no part.
    pub fn seen(&self) -> f64 {
        if self.takes_part() { self.seen_by(self.mixed, self.missing) } else { 0.0 }
    }

    fn seen_by(&self, probabilities: &[f32], missing: f64) -> f64 {
        if self.lacks_value() {
            return missing;
        }
        let slot = self.slot as usize;
        let members = self.column.members.get(slot).copied().unwrap_or(1.0);
        (1.0 - missing) * f64::from(probabilities[slot]) / f64::from(members)
    }

    /// −ln of the probability of what was seen, or of its density.
    pub fn surprise(&self) -> f64 {
        self.surprise_by(self.mixed, self.missing)
    }

    /// The same for a category by itself.
    pub fn surprise_alone(&self) -> f64 {
        let left_out = self.counted.then_some(self.lacks_value());
        let missing = self.column.missing.map_or(0.0, |_| self.column.missing_share(left_out));
        self.surprise_by(self.prior, missing)
    }

    fn surprise_by(&self, probabilities: &[f32], missing: f64) -> f64 {
        let surprise = -self.seen_by(probabilities, missing).max(LEAST).ln();
        match &self.column.bins {
            None => surprise,
            Some(bins) => surprise + bins.ln_width(self.slot as usize) + bins.beyond(self.number, self.counted),
        }
    }

    /// The surprise that is to be expected where a cell has a value: the entropy of its probabilities, or of their
    /// density.
    pub fn usual_surprise(&self) -> f64 {
        let entropy = simd(
            #[inline(always)]
            || -sum_by(self.mixed, |p| p * ln(p.max(f32::MIN_POSITIVE))),
        );
        let size: f32 = self.mixed.iter().zip(&self.column.ln_sizes).map(|(p, size)| p * size).sum();
        f64::from(entropy + size)
    }

    /// How odd the cell is; 0 where it is as expected.
    pub fn odd(&self) -> f64 {
        match &self.column.bins {
            Some(bins) => self.odd_number(bins),
            None => self.odd_category(),
        }
    }

    fn odd_number(&self, bins: &Bins) -> f64 {
        let (x, [low, high]) = (self.number, bins.range(self.mixed));
        if low <= x && x <= high {
            return 0.0;
        }
        bins.beyond(x, self.counted) - bins.two_sided(self.mixed, &self.column.counts, x).ln()
    }

    fn odd_category(&self) -> f64 {
        let values = self.mixed.iter().zip(&self.column.members).map(|(p, members)| p / members);
        let (slot, likeliest) =
            values.enumerate().fold((0, 0.0), |best, (slot, p)| if p > best.1 { (slot, p) } else { best });
        let likeliest = f64::from(likeliest);
        if self.lacks_value() {
            return self.odd_without_value(slot, likeliest);
        }
        let most = ((1.0 - self.missing) * likeliest).max(self.missing);
        let seen = self.seen().max(LEAST);
        if seen < most { most * (most / seen).ln() } else { 0.0 }
    }

    /// How odd it is that the value is missing, by the slot of the likeliest one and its probability if there is one.
    fn odd_without_value(&self, slot: usize, likeliest: f64) -> f64 {
        let missing = f64::midpoint(self.missing, self.column.missing_share(self.counted.then_some(true)));
        let value = (1.0 - missing) * likeliest;
        let sure = |p: f64| -(1.0 - p).max(LEAST_OTHER).ln();
        if value > missing {
            return value * (-missing.max(LEAST).ln()).max(sure(value));
        }
        let alone = self.prior.get(slot).zip(self.column.members.get(slot)).map_or(1.0, |(p, members)| p / members);
        value * sure(likeliest).min((likeliest / f64::from(alone).max(LEAST)).ln()).max(0.0)
    }

    /// A number's range, and the probability of one that is at least as far out as that which was seen, or 0.
    pub fn range(&self) -> ([f32; 2], f32) {
        let Some(bins) = self.column.bins.as_ref().filter(|bins| bins.len() > 0) else { return ([0.0; 2], 0.0) };
        let range = bins.range(self.mixed);
        if !self.takes_part() {
            return (range, 0.0);
        }
        let beyond = bins.beyond(self.number, self.counted);
        (range, (bins.two_sided(self.mixed, &self.column.counts, self.number) * (-beyond).exp()) as f32)
    }

    /// The probability of each category of a group, that of one category where several share a slot. Of what is
    /// missing, it is that of what should stand there.
    pub fn categories(&self, probabilities: &mut [f32]) {
        let missing = if self.lacks_value() { 0.0 } else { self.missing };
        for (slot, probability) in probabilities.iter_mut().enumerate() {
            *probability = ((1.0 - missing) * f64::from(self.mixed[slot] / self.column.members[slot])) as f32;
        }
        if let Some(code) = self.column.missing {
            probabilities[code as usize] = missing as f32;
        }
    }
}
