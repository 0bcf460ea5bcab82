//! The one way to save and to load what was fitted.
//!
//! A file keeps a fitted thing in two parts: named arrays ([`Tensors`]), and one JSON document for everything else.
//! With [`Store`], a type says which arrays and which document it has, and checks lengths and ranges when they are
//! loaded. Only this module converts to and from JSON.

use std::fmt::Display;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::container::Tensors;

/// What is wrong with a file's contents, as a clause for an error message.
///
/// Anything that can be displayed becomes one with `?`. It has no `Display` itself, since it would then be converted
/// from itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage(pub String);

impl<T: Display> From<T> for Damage {
    fn from(problem: T) -> Self {
        Self(problem.to_string())
    }
}

/// What was read from a file, or what is wrong with it.
pub type Loaded<T> = Result<T, Damage>;

/// Something fitted that a file can keep.
pub trait Store: Sized {
    /// What stands in the file beside the arrays.
    type Document: Serialize + DeserializeOwned;
    /// What stands elsewhere in the file and a reader needs: the layout of rows, the classes of masks.
    type Shape;

    /// Puts the arrays into `tensors`; returns the document.
    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<Self::Document>;

    /// Takes the arrays out of `tensors`, and checks them and the document.
    fn read(document: Self::Document, shape: &Self::Shape, tensors: &mut Tensors) -> Loaded<Self>;

    /// [`Store::write`] with the document as a JSON value.
    fn save(&self, tensors: &mut Tensors) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(self.write(tensors)?)
    }

    /// [`Store::read`] from what [`Store::save`] made.
    fn load(document: serde_json::Value, shape: &Self::Shape, tensors: &mut Tensors) -> Loaded<Self> {
        Self::read(serde_json::from_value(document)?, shape, tensors)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Line {
        slope: f64,
        points: Vec<u32>,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct LineDocument {
        slope: f64,
    }

    impl Store for Line {
        type Document = LineDocument;
        type Shape = usize;

        fn write(&self, tensors: &mut Tensors) -> serde_json::Result<LineDocument> {
            tensors.put("points", self.points.clone());
            Ok(LineDocument { slope: self.slope })
        }

        fn read(LineDocument { slope }: LineDocument, n: &usize, tensors: &mut Tensors) -> Loaded<Self> {
            Ok(Self { slope, points: tensors.take("points", *n)? })
        }
    }

    #[test]
    fn what_is_saved_comes_back_and_what_is_wrong_is_said() {
        let (line, mut tensors) = (Line { slope: 0.5, points: vec![3, 1] }, Tensors::default());
        let document = line.save(&mut tensors).expect("saved");
        assert_eq!(document, serde_json::json!({ "slope": 0.5 }));
        let load = |document, n| Line::load(document, &n, &mut tensors.clone());
        assert_eq!(load(document.clone(), 2), Ok(line));
        assert_eq!(load(document, 3), Err(Damage("tensor `points` has 2 elements instead of 3".into())));
        assert_eq!(load(serde_json::json!({}), 2), Err(Damage("missing field `slope`".into())));
    }
}
