//! Whether a cell is missing at all: a choice of its own, between present and missing.
//!
//! In a table of repairs `failure` is empty wherever `type = preventive`, though the type tells little about which
//! failure it was. So this choice has its own links and weights, learned like those of any column with two values
//! (`pool.rs`, `weights.rs`).

use super::column::Column;
use super::pool::{PoolScratch, Target};
use crate::cells::rows::{NO_PART, NO_VALUE};

/// The slot of a cell that has a value, and of one that misses it.
const HAS_VALUE: usize = 0;
const LACKS_VALUE: usize = 1;

/// What is known of a column's missing values.
#[derive(Debug, Clone)]
pub(in crate::cells) struct Absence {
    /// Two slots, and one for what was never seen: a missing value, where there was none.
    pub column: Column,
    pub target: Target,
}

impl Absence {
    /// The slots of the choice, from those of the column.
    pub fn slots(column: &Column, slots: &[u16]) -> Vec<u16> {
        let slot = |slot: &u16| match *slot {
            NO_VALUE => LACKS_VALUE as u16,
            NO_PART => NO_PART,
            slot if usize::from(slot) < column.n_slots() => HAS_VALUE as u16,
            _ => NO_PART,
        };
        slots.iter().map(slot).collect()
    }

    /// The probability that the value is missing; `own` tells of a row to be left out whether it misses it.
    pub fn probability(&self, row: &[u16], own: Option<bool>, scratch: &mut PoolScratch) -> f64 {
        let Self { column, target } = self;
        let own = own.map(|is_missing| if is_missing { LACKS_VALUE } else { HAS_VALUE });
        let own = own.filter(|slot| column.counts[*slot] > 0).map(|slot| (slot, column.leave_out(slot)));
        let mixed = target.pool(column, row, own, scratch).mixed;
        let [present, missing] = [&mixed[..LACKS_VALUE], &mixed[LACKS_VALUE..]]
            .map(|slots| slots.iter().map(|p| f64::from(*p)).sum::<f64>());
        missing / (present + missing)
    }
}
