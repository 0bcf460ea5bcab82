//! The distinct values of a column with their counts: all of them while they are few, then those of the smallest
//! hashes.
//!
//! The limit below which hashes are kept never rises. So a value that is kept at the end was never dropped before, and
//! its count is exact. What is kept depends on the values alone, not on their order or on how they were cut into parts.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};

use super::super::schema::number_text;
use super::hash;

/// A distinct value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum SurveyedValue {
    /// A number, or the seconds of a date.
    Number(#[serde(with = "bits")] f64),
    /// Text.
    Word(String),
}

/// A number by its bits: JSON has no infinity.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(number.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u64::deserialize(deserializer).map(f64::from_bits)
    }
}

impl SurveyedValue {
    pub(super) fn hash(&self) -> u64 {
        match self {
            Self::Number(number) => hash::of_number(*number),
            Self::Word(text) => hash::of_text(text),
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Number(number) => number_text(*number),
            Self::Word(text) => text.clone(),
        }
    }
}

/// Takes a hash for its own hash.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::columns) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// By hash.
pub(in crate::columns) type ByHash<T> = HashMap<u64, T, BuildHasherDefault<AsItIs>>;

/// The values of the smallest hashes, with their counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub(super) struct SmallestValues {
    most: usize,
    /// The largest hash that is kept.
    limit: u64,
    values: ByHash<(SurveyedValue, u64)>,
}

/// As it is written: in the order of the hashes.
#[derive(Serialize, Deserialize)]
struct Listed {
    most: usize,
    limit: u64,
    values: Vec<(SurveyedValue, u64)>,
}

impl From<Listed> for SmallestValues {
    fn from(listed: Listed) -> Self {
        let values = listed.values.into_iter().map(|(value, count)| (value.hash(), (value, count)));
        Self { most: listed.most, limit: listed.limit, values: values.collect() }
    }
}

impl From<SmallestValues> for Listed {
    fn from(mut values: SmallestValues) -> Self {
        values.settle();
        Self { most: values.most, limit: values.limit, values: values.in_order() }
    }
}

impl SmallestValues {
    /// None yet, and `most` at the end.
    pub(super) fn new(most: usize) -> Self {
        Self { most, limit: u64::MAX, values: ByHash::default() }
    }

    /// Takes in `count` cells of a value.
    pub(super) fn add(&mut self, hash: u64, count: u64, value: impl FnOnce() -> SurveyedValue) {
        if hash > self.limit {
            return;
        }
        self.values.entry(hash).or_insert_with(|| (value(), 0)).1 += count;
        // Only now and then, so that each value is looked at a few times at the most.
        if self.values.len() > 2 * self.most {
            self.settle();
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.limit = self.limit.min(other.limit);
        for (hash, (value, count)) in other.values {
            self.add(hash, count, || value);
        }
        let limit = self.limit;
        self.values.retain(|hash, _| *hash <= limit);
    }

    /// Drops the surplus.
    pub(super) fn settle(&mut self) {
        if self.values.len() > self.most {
            let mut hashes: Vec<u64> = self.values.keys().copied().collect();
            let limit = *hashes.select_nth_unstable(self.most - 1).1;
            self.limit = limit;
            self.values.retain(|hash, _| *hash <= limit);
        }
    }

    /// Whether all values are kept.
    pub(super) fn is_exact(&self) -> bool {
        self.limit == u64::MAX && self.values.len() <= self.most
    }

    /// How many distinct values there are. If not all are kept, it is an estimate: below the limit, hashes are as dense
    /// as everywhere.
    pub(super) fn distinct(&self) -> u64 {
        let density = self.limit as f64 / 2f64.powi(64);
        if self.is_exact() { self.values.len() as u64 } else { ((self.values.len() as f64 - 1.0) / density) as u64 }
    }

    /// The share of the kept values that occur once.
    pub(super) fn singles(&self) -> f64 {
        let once = self.values.values().filter(|(_, count)| *count == 1).count();
        once as f64 / self.values.len().max(1) as f64
    }

    /// With their counts, in the order of their hashes.
    pub(super) fn in_order(&self) -> Vec<(SurveyedValue, u64)> {
        let mut values: Vec<(&u64, &(SurveyedValue, u64))> = self.values.iter().collect();
        values.sort_unstable_by_key(|(hash, _)| **hash);
        values.into_iter().map(|(_, value)| value.clone()).collect()
    }
}
