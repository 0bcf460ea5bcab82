//! A quick hash for what maps count: rows, and the texts of cells.
//!
//! Eight bytes at a time are multiplied into 128 bits, whose halves are put together. It starts from a random number
//! that is drawn when the program starts, so that nobody can make up rows with equal hashes. So nothing may depend on
//! the order of such a map. [`hash_row`], by which rows are chosen, is the same in every program.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// Makes hashers that all start from the same drawn number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quick(u64);

/// A hash of what was written so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct QuickHasher(u64);

impl Default for Quick {
    fn default() -> Self {
        static DRAWN: OnceLock<u64> = OnceLock::new();
        Self(*DRAWN.get_or_init(|| RandomState::new().hash_one(0)))
    }
}

impl BuildHasher for Quick {
    type Hasher = QuickHasher;

    fn build_hasher(&self) -> QuickHasher {
        QuickHasher(self.0)
    }
}

impl QuickHasher {
    #[inline(always)]
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64 ^ (product >> 64) as u64).rotate_left(23);
    }
}

impl Hasher for QuickHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            // The length tells zeros at the end from none.
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(last) ^ ((rest.len() as u64) << 56));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.mix(word as u64);
    }

    fn write_u8(&mut self, byte: u8) {
        self.mix(u64::from(byte));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A hash of what a row holds, the same in every program.
pub(crate) fn hash_row(codes: &[u32], numbers: &[f32]) -> u64 {
    let words = codes.iter().copied().chain(numbers.iter().map(|number| number.to_bits()));
    words.fold(0x243f_6a88_85a3_08d3, |hash, word| mix(hash ^ u64::from(word)))
}

/// SplitMix64's step (Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014).
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn what_differs_has_hashes_of_its_own() {
        let quick = Quick::default();
        let texts: Vec<String> =
            (0..3000).map(|i| "abcdefghijklmnopqrst"[..i % 20].to_owned() + &i.to_string()).collect();
        let hashes: HashSet<u64> = texts.iter().map(|text| quick.hash_one(text)).collect();
        assert_eq!(hashes.len(), texts.len());
        let rows: Vec<[u32; 3]> = (0..8000).map(|i| [i % 20, i / 20 % 20, i / 400]).collect();
        let hashes: HashSet<u64> = rows.iter().map(|row| quick.hash_one((&row[..2], &row[2..]))).collect();
        assert_eq!(hashes.len(), rows.len());
        // A map takes the low bits for the place and the high ones to compare: both are spread.
        for shift in [0, 57] {
            let mut counts = [0u32; 128];
            hashes.iter().for_each(|hash| counts[(hash >> shift) as usize % 128] += 1);
            assert!(counts.iter().all(|count| (20..130).contains(count)), "{counts:?}");
        }
        assert_ne!(quick.hash_one("a"), quick.hash_one("a\0"));
    }
}
