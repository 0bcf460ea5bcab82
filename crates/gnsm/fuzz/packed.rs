//! Puts bytes into a zip, so that what is fuzzed is not only its checksums.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A zip with these files, not compressed.
pub fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, content) in files {
        writer.start_file(*name, options).expect("a file");
        writer.write_all(content).expect("written");
    }
    writer.finish().expect("finished").into_inner()
}
