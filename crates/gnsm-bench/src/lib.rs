//! The paper's benchmarks, the comparisons with other packages, and tables with planted oddities. Never published.

pub mod protocol;
mod raw;
pub mod tabular;
pub mod dirty;
pub mod masks;
pub mod mistakes;
pub mod own;
pub mod planted;
pub mod summary;
mod paper;
