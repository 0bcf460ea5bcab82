//! The paper's benchmarks.
