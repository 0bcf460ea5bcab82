//! What every target does with its bytes.

use std::io::Cursor;
use std::sync::Once;

use gnsm::{Format, ReadOptions, TableReader};

/// Rows taken at most: a few bytes may stand for millions of rows (run lengths, gzip), which is slow, not wrong.
const MAX_BATCHES: usize = 64;

static HOOK: Once = Once::new();

/// Walks the bytes once as `format`, once as whatever their content says (compression, tar, zip, other formats).
#[allow(dead_code)]
pub fn walk(bytes: &[u8], format: Format) {
    for format in [Some(format), None] {
        let mut options = ReadOptions::default();
        options.format = format;
        walk_with(bytes, &options);
    }
}

/// Walks the bytes once.
pub fn walk_with(bytes: &[u8], options: &ReadOptions) {
    // The fuzzer's own hook aborts at any panic, also at one inside the Parquet crate, which the library catches.
    // Without the hook, a panic that the library does not catch still reaches the fuzzer.
    HOOK.call_once(|| drop(std::panic::take_hook()));
    let input = Box::new(Cursor::new(bytes.to_vec()));
    let Ok(mut reader) = TableReader::from_reader("input", input, options) else { return };
    for _ in 0..MAX_BATCHES {
        let Ok(Some(table)) = reader.next_batch(1000) else { break };
        assert!(table.n_rows() > 0 && table.n_rows() <= 1000);
        for column in &table.columns {
            assert_eq!(column.values.len(), table.n_rows());
        }
    }
    let _ = reader.notes();
}
