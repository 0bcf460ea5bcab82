//! The `gnsm` binary.
fn main() {}
