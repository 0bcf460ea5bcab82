//! Files that are written: the container of models and checkpoints, and files that appear whole or not at all.

mod atomic_file;
pub(crate) mod checkpoint;
pub(crate) mod container;

pub use atomic_file::AtomicFile;
pub use container::{Array, Element, Tensors, is_mask_model};
