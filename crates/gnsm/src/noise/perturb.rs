//! Adds noise to the categories of a row.

use super::{Levels, concrete};
use crate::columns::{ABSENT, Layout, UNSEEN};

/// Turns raw noise (normal numbers, then Gumbel numbers) into a noisy row: z stays for the numbers, x̃ takes the groups' places.
///
/// A category that is absent or was never seen is hidden altogether.
#[inline(always)]
pub fn perturb(layout: &Layout, levels: &Levels, level: usize, codes: &[u32], noisy: &mut [f32]) {
    for (places, code) in layout.groups().zip(codes) {
        let alpha = levels.log_alpha(level, places.len());
        let x = &mut noisy[places];
        match *code {
            UNSEEN | ABSENT => concrete::unknown(x),
            code => concrete::sample(x, code as usize, alpha, levels.lambda(level)),
        }
    }
}
