//! Where each number and each category group lies in a row as the network sees it.
//!
//! Numbers come first, then one block of K places for each group of K categories.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The code of a category that training never saw: evidence.
pub const UNSEEN: u32 = u32::MAX;
/// The code of a cell that is left out: it is not scored, and it is no evidence about other cells.
pub const ABSENT: u32 = u32::MAX - 1;

/// The shape of an encoded row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "LayoutData", into = "LayoutData")]
pub struct Layout {
    n_numbers: usize,
    sizes: Vec<usize>,
    starts: Vec<usize>,
    width: usize,
    /// The code that means "missing", for each group that has one.
    missing: Vec<Option<u32>>,
    /// Places that several categories share, with how many do.
    shared: BTreeMap<usize, u32>,
    /// The family of each cell, `None` for a cell that is no evidence about any other; empty if each cell is a family
    /// of its own.
    families: Vec<Option<u32>>,
    /// Places that stand for a key which repeats.
    repeats: BTreeSet<usize>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LayoutData {
    numbers: usize,
    groups: Vec<usize>,
    #[serde(default)]
    missing: Vec<Option<u32>>,
    #[serde(default)]
    shared: BTreeMap<usize, u32>,
    #[serde(default)]
    families: Vec<Option<u32>>,
    #[serde(default)]
    repeats: BTreeSet<usize>,
}

impl From<LayoutData> for Layout {
    fn from(data: LayoutData) -> Self {
        Self::new(data.numbers, data.groups)
            .with_missing(data.missing)
            .with_shared(data.shared)
            .with_families(data.families)
            .with_repeats(data.repeats)
    }
}

impl From<Layout> for LayoutData {
    fn from(layout: Layout) -> Self {
        Self {
            numbers: layout.n_numbers,
            groups: layout.sizes,
            missing: layout.missing,
            shared: layout.shared,
            families: layout.families,
            repeats: layout.repeats,
        }
    }
}

impl Layout {
    /// `n_numbers` numbers and groups of these sizes.
    pub fn new(n_numbers: usize, sizes: Vec<usize>) -> Self {
        let mut width = n_numbers;
        let starts = sizes
            .iter()
            .map(|size| {
                width += size;
                width - size
            })
            .collect();
        let (missing, families) = (Vec::new(), Vec::new());
        let (shared, repeats) = (BTreeMap::new(), BTreeSet::new());
        Self { n_numbers, sizes, starts, width, missing, shared, families, repeats }
    }

    /// The same, told which code of each group means "missing".
    pub fn with_missing(mut self, missing: Vec<Option<u32>>) -> Self {
        self.missing = missing;
        self
    }

    /// The same layout, with the places that stand for several categories, and for how many.
    pub fn with_shared(mut self, shared: BTreeMap<usize, u32>) -> Self {
        self.shared = shared;
        self
    }

    /// The same layout, with the family of each cell, numbers first, then groups. A cell of no family is no evidence
    /// about any other.
    pub fn with_families(mut self, families: Vec<Option<u32>>) -> Self {
        self.families = families;
        self
    }

    /// The same layout, with the places that stand for a key that repeats. Such keys come in twos at least: a row
    /// cannot be the only one.
    pub fn with_repeats(mut self, repeats: BTreeSet<usize>) -> Self {
        self.repeats = repeats;
        self
    }

    /// Whether a place stands for a key that repeats.
    pub(crate) fn is_repeat(&self, place: usize) -> bool {
        self.repeats.contains(&place)
    }

    /// Whether two cells may be evidence about each other. Cells of one family say the same thing twice, and a cell of
    /// no family tells nothing.
    pub fn may_tell(&self, one: usize, other: usize) -> bool {
        matches!((self.family(one), self.family(other)), (Some(one), Some(other)) if one != other)
    }

    /// The family of a cell, if it is of one.
    pub(crate) fn family(&self, cell: usize) -> Option<u32> {
        self.families.get(cell).copied().unwrap_or(Some(cell as u32))
    }

    /// The code of a group that means "missing".
    pub fn missing(&self, group: usize) -> Option<u32> {
        self.missing.get(group).copied().flatten()
    }

    /// How many categories a place stands for.
    pub fn members(&self, place: usize) -> u32 {
        self.shared.get(&place).copied().unwrap_or(1)
    }

    /// How many numbers a row has.
    pub fn n_numbers(&self) -> usize {
        self.n_numbers
    }

    /// The cells of a row: numbers first, then groups.
    pub fn n_cells(&self) -> usize {
        self.n_numbers + self.n_groups()
    }

    /// How many category groups a row has.
    pub fn n_groups(&self) -> usize {
        self.sizes.len()
    }

    /// Places of a whole row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The places of a group.
    pub fn group(&self, group: usize) -> Range<usize> {
        self.starts[group]..self.starts[group] + self.sizes[group]
    }

    /// K of a group.
    pub fn size(&self, group: usize) -> usize {
        self.sizes[group]
    }

    /// The places of all groups, in order.
    pub fn groups(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        (0..self.n_groups()).map(|group| self.group(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_one_family_and_cells_that_stand_alone_tell_nothing() {
        let layout = Layout::new(1, vec![2, 3, 4]);
        assert!(layout.may_tell(0, 1) && !layout.may_tell(1, 1));
        let layout = layout.with_families(vec![Some(0), Some(0), Some(1), None]);
        let told: Vec<bool> = (0..4).map(|other| layout.may_tell(1, other)).collect();
        assert_eq!(told, [false, false, true, false]);
        assert!((0..4).all(|other| !layout.may_tell(3, other)));
    }
}
