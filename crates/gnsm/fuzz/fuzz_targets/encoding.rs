//! Any bytes in an encoding, with comments and other texts for missing values: rows or an error, never a panic.
#![no_main]

#[path = "../walk.rs"]
mod walk;

use gnsm::{Format, ReadOptions};

const ENCODINGS: [Option<&str>; 6] =
    [None, Some("utf-8"), Some("utf-16le"), Some("utf-16be"), Some("windows-1252"), Some("iso-2022-jp")];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for encoding in ENCODINGS {
        for format in [Format::Csv, Format::Jsonl, Format::Arff] {
            let mut options = ReadOptions::default();
            (options.format, options.encoding) = (Some(format), encoding.map(str::to_owned));
            (options.comment, options.missing) = (Some(b'#'), Some(vec!["x".to_owned(), "1".to_owned()]));
            walk::walk_with(bytes, &options);
        }
    }
});
