//! The cells of one column by themselves: which slot a cell falls into, and how common each slot is.
//!
//! A number has its bins for slots, a group of categories has its categories and one more, for what was never seen.
//! With n rows of which n(v) have the category v and n₁ categories occur once,
//!
//! P(new) = (n₁ + ½)/(n + 1), P(v) = (1 − P(new))·n(v)/n, and for bins P(b) = (n(b) + ½)/(n + K/2).
//!
//! With a row left out, a category that occurs once becomes new. Where categories that occur once share a slot, a new
//! one is one more of these: P(new) is then that of the slot, and n₁ = 0 in the formula. Missing is not a value: a
//! group that can miss its value counts present cells only, and how often it is missing apart. Where the only other
//! value is "present", missing is a category like any other, and the group tells nothing about other cells.
//!
//! A key that repeats does so in two rows at least. With one of two left out no key repeats, and then it may be that
//! none ever does. Keys that repeat now and then, at a rate with Jeffreys' prior, have no repeat in n rows with a
//! probability of about 1/√(πn). Keys that never repeat are taken to be as likely before any row is seen. So P(repeat)
//! = ½/n · 1/(1 + √(πn)).

use super::bins::{Bins, tame};
use crate::cells::recipe::Recipe;
use crate::cells::rows::{NO_PART, NO_VALUE};
use crate::columns::{ABSENT, Layout};

/// Rows that repeat where one key does, at the most.
const OF_ONE_KEY: f64 = 3.0;
/// Slots that a column may have.
pub(in crate::cells) const MOST_SLOTS: usize = 60_000;

/// What is known of a column by itself.
#[derive(Debug, Clone)]
pub(in crate::cells) struct Column {
    /// The bins of a number.
    pub bins: Option<Bins>,
    /// Rows of each bin or category; 0 for the category that means missing.
    pub counts: Vec<u32>,
    /// Rows that miss their value.
    pub n_missing: u32,
    /// The category that means missing, where it is not a value.
    pub missing: Option<u32>,
    /// Whether it tells anything about other columns.
    pub tells_others: bool,
    /// How many categories share each slot.
    pub members: Vec<f32>,
    /// ln of the width of each bin, or of how many categories share each slot; empty where no category shares one.
    pub ln_sizes: Vec<f32>,
    /// The slot of categories that occur once, if several share it: what is new counts as one of them.
    once: Option<u32>,
    /// The slot of a key that repeats.
    repeat: Option<usize>,
    /// The probabilities of the slots, with that of a new category last.
    pub prior: Vec<f32>,
    /// Rows with a value.
    n: f64,
    /// Categories that occur once.
    n_once: f64,
}

/// The probabilities of a column's slots with one row left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cells) struct LeftOut {
    /// Where the row's cell falls now.
    pub slot: usize,
    /// The probability of the slot it was in.
    pub own: f64,
    /// The probability of the slot of what is new.
    pub new: f64,
    /// What the probabilities of all other slots are to be multiplied with.
    pub others: f64,
}

impl Column {
    /// A number's column.
    pub fn number(recipe: &Recipe, bins: Option<Bins>, counts: Vec<u32>) -> Self {
        let bins = Some(bins.unwrap_or_else(|| Bins::none(recipe)));
        let members = vec![1.0; counts.len()];
        Self { bins, members, tells_others: true, ..Self::bare(counts) }.with_prior()
    }

    /// A group's column, from the rows of each of its categories.
    pub fn group(layout: &Layout, group: usize, mut counts: Vec<u32>) -> Self {
        let declared = layout.missing(group).filter(|code| (*code as usize) < counts.len());
        let missing = declared.filter(|_| counts.len() > 2);
        let n_missing = missing.map_or(0, |code| std::mem::take(&mut counts[code as usize]));
        let members: Vec<f32> = layout.group(group).map(|place| layout.members(place).max(1) as f32).collect();
        let tells_others = declared.is_none() || missing.is_some();
        let is_shared = |slot: &usize| (2.0..=members[*slot]).contains(&(counts[*slot] as f32));
        let once = (0..counts.len()).rfind(is_shared).map(|slot| slot as u32);
        let bare = Self::bare(counts);
        let n_once = if once.is_some() { 0.0 } else { bare.n_once };
        let repeat = layout.group(group).position(|place| layout.is_repeat(place));
        Self { n_missing, missing, members, once, repeat, tells_others, n_once, ..bare }.with_prior()
    }

    /// Of a group that can miss its value the choice whether it does: rows with a value, and rows without.
    pub(in crate::cells) fn presence(&self) -> Option<Self> {
        let counts = vec![self.n as u32, self.n_missing];
        self.missing.map(|_| Self { members: vec![1.0; 2], ..Self::bare(counts) }.with_prior())
    }

    fn bare(counts: Vec<u32>) -> Self {
        let n = counts.iter().map(|count| f64::from(*count)).sum();
        let n_once = counts.iter().filter(|count| **count == 1).count() as f64;
        let (members, ln_sizes, prior) = (Vec::new(), Vec::new(), Vec::new());
        let (missing, once, repeat) = (None, None, None);
        let (bins, n_missing, tells_others) = (None, 0, true);
        Self { bins, counts, n_missing, missing, tells_others, members, ln_sizes, once, repeat, prior, n, n_once }
    }

    fn with_prior(mut self) -> Self {
        self.ln_sizes = match &self.bins {
            Some(bins) => (0..bins.len()).map(|bin| bins.ln_width(bin) as f32).collect(),
            None if self.members.iter().all(|members| *members == 1.0) => Vec::new(),
            None => self.members.iter().map(|members| members.ln()).collect(),
        };
        if self.bins.is_some() {
            let total = self.n + 0.5 * self.counts.len() as f64;
            self.prior = self.counts.iter().map(|count| ((f64::from(*count) + 0.5) / total) as f32).collect();
        } else {
            let new = share_of_new(self.n_once, self.n);
            let share = |count: &u32| if self.n > 0.0 { (1.0 - new) * f64::from(*count) / self.n } else { 0.0 };
            self.prior = self.counts.iter().map(|count| share(count) as f32).collect();
            self.prior.push(new as f32);
        }
        self
    }

    /// The slots that a value can be in, a new category's not counted.
    pub fn n_slots(&self) -> usize {
        self.counts.len()
    }

    /// Rows that were counted, those that miss their value too.
    pub(in crate::cells) fn n_rows(&self) -> f64 {
        self.n + f64::from(self.n_missing)
    }

    /// Whether there are two values at least, so that one can be expected rather than another.
    pub fn varies(&self) -> bool {
        self.counts.iter().filter(|count| **count > 0).count() > 1
    }

    /// The slot of a category.
    pub fn slot_of_code(&self, code: u32) -> u16 {
        match self.known(code) {
            code if self.missing == Some(code) => NO_VALUE,
            ABSENT => NO_PART,
            code if self.has(code) => code as u16,
            _ => self.n_slots() as u16,
        }
    }

    /// The category that a category counts as: one that was never seen may be one more of those that occur once.
    pub fn known(&self, code: u32) -> u32 {
        let is_new = self.missing != Some(code) && code != ABSENT && !self.has(code);
        self.once.filter(|_| is_new).unwrap_or(code)
    }

    /// Whether [`Self::known`] changes any category.
    pub fn takes_new_as_known(&self) -> bool {
        self.once.is_some()
    }

    fn has(&self, code: u32) -> bool {
        self.counts.get(code as usize).is_some_and(|count| *count > 0)
    }

    /// The slot of what is new.
    pub fn slot_of_new(&self) -> usize {
        self.once.map_or(self.n_slots(), |slot| slot as usize)
    }

    /// The slot of a number; one that is missing, or that was never there, takes no part.
    pub fn slot_of_number(&self, x: f32) -> u16 {
        match &self.bins {
            Some(bins) if !x.is_nan() && bins.len() > 0 => bins.bin(tame(x)) as u16,
            _ => NO_PART,
        }
    }

    /// The probability of a missing value, with one row left out, that is missing or not.
    pub fn missing_share(&self, left_out: Option<bool>) -> f64 {
        let own = f64::from(u8::from(left_out == Some(true)));
        let n = self.n + f64::from(self.n_missing) - f64::from(u8::from(left_out.is_some()));
        (f64::from(self.n_missing) - own + 0.5) / (n + 1.0)
    }

    /// The probabilities without one row, whose cell is in `slot`.
    pub fn leave_out(&self, slot: usize) -> LeftOut {
        let count = f64::from(self.counts[slot]);
        let left = (self.n - 1.0).max(0.0);
        if self.bins.is_some() {
            let half = 0.5 * self.counts.len() as f64;
            let own = (count - 0.5) / (left + half);
            return LeftOut { slot, own, new: 0.0, others: (self.n + half) / (left + half) };
        }
        let change = f64::from(u8::from(count == 2.0)) - f64::from(u8::from(count == 1.0));
        let n_once = if self.once.is_some() { 0.0 } else { self.n_once + change };
        let new = share_of_new(n_once, left);
        let share = if left > 0.0 { (1.0 - new) / left } else { 0.0 };
        let before = (1.0 - share_of_new(self.n_once, self.n)) / self.n;
        let left_slot = if count <= 1.0 { self.slot_of_new() } else { slot };
        let of_new =
            |once: u32| share * (f64::from(self.counts[once as usize]) - f64::from(u8::from(once as usize == slot)));
        let (own, new) = (share * (count - 1.0).max(0.0), self.once.map_or(new, of_new));
        if self.repeat == Some(slot) && count <= OF_ONE_KEY && left > 0.0 {
            let own = 0.5 / left / (1.0 + (std::f64::consts::PI * left).sqrt());
            return LeftOut { slot, own, new, others: share / before };
        }
        LeftOut { slot: left_slot, own, new, others: share / before }
    }
}

fn share_of_new(n_once: f64, n: f64) -> f64 {
    if n > 0.0 { (n_once + 0.5) / (n + 1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_key_that_repeats_is_rarer_than_what_occurs_once() {
        let layout = Layout::new(0, vec![2]).with_repeats([1].into());
        let without = |counts: Vec<u32>| Column::group(&layout, 0, counts).leave_out(1);
        // Python: .5/999/(1 + math.sqrt(math.pi*999))
        assert!((without(vec![998, 2]).own / 8.777_341e-6 - 1.0).abs() < 1e-6, "{:e}", without(vec![998, 2]).own);
        assert_eq!(without(vec![998, 2]).slot, 1);
        // Where others repeat too, it is how often they do.
        assert!((without(vec![996, 4]).own / (3.0 / 999.0) - 1.0).abs() < 1e-3);
        let plain = Column::group(&Layout::new(0, vec![2]), 0, vec![998, 2]).leave_out(1);
        assert!((plain.own / (1.0 / 999.0) - 1.0).abs() < 2e-3);
    }
}
