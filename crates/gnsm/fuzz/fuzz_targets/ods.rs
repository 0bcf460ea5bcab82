//! Any bytes as an OpenDocument spreadsheet, and as the XML in one: rows or an error, never a panic.
#![no_main]

#[path = "../packed.rs"]
mod packed;
#[path = "../walk.rs"]
mod walk;

use gnsm::{Format, ReadOptions};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    walk::walk(bytes, Format::Ods);
    let mimetype = b"application/vnd.oasis.opendocument.spreadsheet";
    walk::walk_with(&packed::packed(&[("mimetype", mimetype), ("content.xml", bytes)]), &ReadOptions::default());
});
