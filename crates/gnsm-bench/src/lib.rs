//! The paper's benchmarks and the comparisons with other packages. Never published.

pub mod protocol;
pub mod tabular;
pub mod summary;
mod paper;
