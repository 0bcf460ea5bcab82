//! The arrays of the core: which of the references it has. All else is computed from these rows anew.

use super::Usual;
use crate::cells::neighbours::Neighbours;
use crate::cells::recipe::Recipe;
use crate::columns::Layout;
use crate::files::{Loaded, Tensors};

impl Usual {
    pub fn write(&self, tensors: &mut Tensors) {
        let chosen = self.0.as_ref().map_or_else(Vec::new, |core| core.chosen.clone());
        tensors.put("core", chosen.into_iter().map(u32::from).collect::<Vec<u32>>());
    }

    pub fn read(recipe: &Recipe, layout: &Layout, references: &Neighbours, tensors: &mut Tensors) -> Loaded<Self> {
        let chosen: Vec<u32> = tensors.take_any("core")?;
        if chosen.is_empty() {
            return Ok(Self(None));
        }
        if chosen.len() != references.copies.len() || chosen.iter().any(|chosen| *chosen > 1) {
            return Err("tensor `core` does not say which references are in it".into());
        }
        Ok(Self::of(recipe, layout, references, chosen.into_iter().map(|chosen| chosen == 1).collect()))
    }
}
