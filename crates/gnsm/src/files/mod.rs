//! Files that are written: the container of models and checkpoints, how fitted things go into it, and files that appear
//! whole or not at all.

mod atomic_file;
pub(crate) mod checkpoint;
pub(crate) mod container;
mod store;

pub use atomic_file::AtomicFile;
pub use container::{Array, Element, Tensors, is_mask_model};
pub use store::{Damage, Loaded, Store};
