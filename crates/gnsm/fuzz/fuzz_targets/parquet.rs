//! Any bytes as parquet: rows or an error, never a panic.
#![no_main]

#[path = "../walk.rs"]
mod walk;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| walk::walk(bytes, gnsm::Format::Parquet));
