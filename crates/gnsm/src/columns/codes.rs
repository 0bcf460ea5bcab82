//! Finds the code of a category quickly: every cell of a categorical column is looked up.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Category to code.
pub(crate) type Codes = HashMap<String, u32, BuildHasherDefault<WordHasher>>;

/// A hash for one short text.
///
/// Whoever chooses the rows can find texts of equal hash. Only training adds to the map, though, so that costs no more
/// than a lookup.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WordHasher(u64);

impl WordHasher {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        // Both ends overlap where the text is short, so that no byte is left over or padded.
        self.mix(bytes.len() as u64);
        if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            for word in bytes.as_chunks::<8>().0.iter().skip(1) {
                self.mix(u64::from_le_bytes(*word));
            }
            self.mix(u64::from_le_bytes(*first));
            self.mix(u64::from_le_bytes(*last));
        } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            self.mix((u64::from(first) << 32) | u64::from(last));
        } else {
            for &byte in bytes {
                self.mix(byte.into());
            }
        }
    }

    /// A `str` writes a mark after its bytes. It is left out: there is only one text, and its length counts already.
    fn write_u8(&mut self, _: u8) {}

    fn finish(&self) -> u64 {
        // The map takes the low bits, which a product leaves poor.
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn words_of_every_length_have_hashes_of_their_own() {
        let words: Vec<String> =
            (0..2000).map(|i| "abcdefghijklmnopqrstuvwxyz"[..i % 26].to_owned() + &i.to_string()).collect();
        let hashes: HashSet<u64> = words.iter().map(|word| Codes::default().hasher().hash_one(word.as_str())).collect();
        assert_eq!(hashes.len(), words.len());
        let codes: Codes = words.iter().cloned().zip(0..).collect();
        assert!(words.iter().zip(0..).all(|(word, code)| codes.get(word) == Some(&code)));
        assert_eq!(codes.get("abc"), None);
    }
}
