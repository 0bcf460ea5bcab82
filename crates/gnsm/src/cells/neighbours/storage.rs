//! The arrays of the rows among which neighbours are looked for.

use super::Neighbours;
use crate::cells::conditional::Column;
use crate::cells::recipe::Recipe;
use crate::columns::Layout;
use crate::files::{Loaded, Tensors};

impl Neighbours {
    pub fn write(&self, tensors: &mut Tensors) {
        let Self { codes, numbers, copies, scales, .. } = self;
        tensors.put("reference_copies", copies.clone());
        tensors.put("reference_codes", codes.clone());
        // As bits: a missing number is NaN, which an array of numbers may not hold.
        tensors.put("reference_numbers", numbers.iter().map(|number| number.to_bits()).collect::<Vec<u32>>());
        tensors.put("reference_scales", scales.clone());
    }

    pub fn read(recipe: &Recipe, layout: &Layout, columns: &[Column], tensors: &mut Tensors) -> Loaded<Self> {
        let copies: Vec<u32> = tensors.take_any("reference_copies")?;
        let n_rows = copies.len();
        if n_rows > recipe.most_references || copies.contains(&0) {
            return Err("tensor `reference_copies` holds what is not a number of rows".into());
        }
        let codes = tensors.take("reference_codes", n_rows * layout.n_groups())?;
        let bits: Vec<u32> = tensors.take("reference_numbers", n_rows * layout.n_numbers())?;
        let numbers: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
        let scales: Vec<f32> = tensors.take("reference_scales", n_rows)?;
        if scales.iter().any(|scale| *scale < 0.0) {
            return Err("tensor `reference_scales` holds what is not a squared distance".into());
        }
        Ok(Self::new(recipe, layout, columns, codes, numbers, copies, scales))
    }
}
