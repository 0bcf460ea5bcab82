//! The paper's benchmarks and the comparisons with other packages. Never published.

pub mod protocol;
mod raw;
pub mod tabular;
pub mod masks;
pub mod summary;
mod paper;
