//! The arrays of the classes.

use super::{Classes, entries_of};
use crate::cells::combine::share_of_categories;
use crate::cells::conditional::Column;
use crate::cells::recipe::Recipe;
use crate::files::{Loaded, Tensors};

impl Classes {
    pub fn write(&self, tensors: &mut Tensors) {
        tensors.put("class_rows", self.rows.clone());
        tensors.put("class_counts", self.counts.clone());
    }

    pub fn read(recipe: &Recipe, columns: &[Column], tensors: &mut Tensors) -> Loaded<Self> {
        let rows: Vec<f32> = tensors.take_any("class_rows")?;
        if rows.len() > recipe.most_classes || rows.is_empty() != (share_of_categories(columns) == 0.0) {
            return Err(format!("{} classes are not what these columns have", rows.len()).into());
        }
        let n_entries: usize = columns.iter().map(entries_of).sum();
        let counts: Vec<f32> = tensors.take("class_counts", n_entries * rows.len())?;
        let is_count = |rows: &f32| (0.0..=1e9).contains(rows);
        if !rows.iter().chain(&counts).all(is_count) {
            return Err("the classes hold what is not a number of rows".into());
        }
        let mut classes = Self { rows, counts, ..Self::empty(columns) };
        classes.finish();
        Ok(classes)
    }
}
