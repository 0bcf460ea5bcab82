//! Random draws for the tables: one generator for each table, seed and purpose, so that planting does not change the
//! rows beneath.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A source of random values.
pub struct Draw(ChaCha8Rng);

impl Draw {
    /// The source of a table, a seed and a purpose.
    pub fn new(table: &str, seed: u64, purpose: &str) -> Self {
        // FNV-1a, 64 bits: any hash that stays the same would do.
        let bytes = table.bytes().chain([0]).chain(purpose.bytes()).chain(seed.to_le_bytes());
        let hash =
            bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self(ChaCha8Rng::seed_from_u64(hash))
    }

    /// A number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.0.random::<f64>()
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A whole number from 0 to `n`, exclusive.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n.saturating_sub(1))
    }

    /// A whole number from `low` to `high`, inclusive.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as usize) as i64
    }

    /// A number from the standard normal distribution (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A positive number around a middle; `spread` is the deviation of its logarithm.
    pub fn around(&mut self, middle: f64, spread: f64) -> f64 {
        middle * (spread * self.normal()).exp()
    }

    /// One of these, all as likely.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// One of these by weight.
    pub fn weighted<T: Copy>(&mut self, from: &[(T, f64)]) -> T {
        let total: f64 = from.iter().map(|(_, weight)| weight).sum();
        let mut at = self.unit() * total;
        for (value, weight) in from {
            at -= weight;
            if at < 0.0 {
                return *value;
            }
        }
        from[from.len() - 1].0
    }

    /// A place from 0 to `n`, exclusive; the first are the most common, as customers and suppliers are.
    pub fn often_first(&mut self, n: usize) -> usize {
        let weights: Vec<(usize, f64)> = (0..n).map(|place| (place, 1.0 / (place as f64 + 2.0))).collect();
        self.weighted(&weights)
    }

    /// These in a random order.
    pub fn shuffled<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        for i in (1..all.len()).rev() {
            all.swap(i, self.below(i + 1));
        }
        all
    }
}
