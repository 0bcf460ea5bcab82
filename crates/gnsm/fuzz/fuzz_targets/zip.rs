//! Any bytes as a zip, and any bytes as the one file in a zip: rows or an error, never a panic.
#![no_main]

#[path = "../packed.rs"]
mod packed;
#[path = "../walk.rs"]
mod walk;

use gnsm::{Format, ReadOptions};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    walk::walk(bytes, Format::Csv);
    walk::walk_with(&packed::packed(&[("table.csv", bytes)]), &ReadOptions::default());
});
