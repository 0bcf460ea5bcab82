//! Any bytes as a model file: a model that scores a row, or an error; never a panic. The hash is not checked when fuzzing.
#![no_main]

use std::io::Cursor;

use gnsm::{ReadOptions, TableReader};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(model) = gnsm::internals::model::file::from_bytes(bytes) else { return };
    let rows = Box::new(Cursor::new(b"colour,size\nred,1.5\n,\npink,1e300\n".to_vec()));
    let Ok(mut reader) = TableReader::from_reader("rows", rows, &ReadOptions::default()) else { return };
    if let Ok(Some(table)) = reader.next_batch(10) {
        let _ = model.score(&table);
        let _ = model.explain(&table, &[0, 2], usize::MAX);
    }
});
