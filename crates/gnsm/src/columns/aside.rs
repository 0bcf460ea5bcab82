//! What does not count of a row: features that are set aside because they are new in most rows of a file.

use super::encode::Encoder;
use super::encoded::Encoded;
use super::features::{Aspect, Feature};

/// The features that are set aside, of those of an encoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// [features].
    features: Vec<bool>,
}

impl Aside {
    /// Nothing is set aside.
    pub fn nothing(encoder: &Encoder) -> Self {
        Self::of(encoder, &[])
    }

    /// These features are set aside, given by their groups.
    pub fn of(encoder: &Encoder, groups: &[usize]) -> Self {
        let mut features = vec![false; encoder.features().len()];
        for &group in groups {
            if let Some(aside) = features.get_mut(group) {
                *aside = true;
            }
        }
        Self { features }
    }

    /// Whether nothing is set aside.
    pub fn is_empty(&self) -> bool {
        !self.features.contains(&true)
    }

    fn has(&self, feature: &Feature) -> bool {
        self.features[feature.group]
    }

    /// The cells of a batch that the detector does not see; numbers come first, then groups. Whether a key repeats is not
    /// known of a batch. A detector that cannot do without a cell sees them all.
    fn hidden<'a>(&'a self, encoder: &'a Encoder) -> impl Iterator<Item = usize> + 'a {
        let is_hidden = |feature: &&Feature| self.has(feature) || feature.aspect == Aspect::Repeat;
        let hidden = encoder.features().iter().filter(move |feature| encoder.hides() && is_hidden(feature));
        hidden.flat_map(|feature| cells_of(encoder, feature))
    }

    /// The rows as the detector sees them, where that differs from what is there.
    pub(crate) fn hide(&self, encoder: &Encoder, rows: &Encoded) -> Option<Encoded> {
        let mut cells = self.hidden(encoder).peekable();
        cells.peek()?;
        let mut seen = rows.clone();
        cells.for_each(|cell| seen.take_out(cell));
        Some(seen)
    }

    /// The cells that no row has, if something is set aside; otherwise none.
    pub(crate) fn lacking(&self, encoder: &Encoder) -> Vec<bool> {
        let mut lacking = vec![false; encoder.layout().n_cells()];
        if !self.is_empty() {
            self.hidden(encoder).for_each(|cell| lacking[cell] = true);
        }
        lacking
    }

    /// Takes what is set aside out of rows of parts: numbers first, then groups.
    pub(crate) fn clear(&self, encoder: &Encoder, parts: &mut [f64]) {
        let aside = encoder.features().iter().filter(|feature| self.has(feature));
        let cells: Vec<usize> = aside.flat_map(|feature| cells_of(encoder, feature)).collect();
        for parts in parts.chunks_exact_mut(encoder.layout().n_cells().max(1)) {
            cells.iter().for_each(|cell| parts[*cell] = 0.0);
        }
    }
}

/// The cells of a feature: its number, if it has one, and its group.
fn cells_of(encoder: &Encoder, feature: &Feature) -> impl Iterator<Item = usize> + use<> {
    feature.number.into_iter().chain([encoder.layout().n_numbers() + feature.group])
}
