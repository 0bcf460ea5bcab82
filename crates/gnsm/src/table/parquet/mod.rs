//! Reads Apache Parquet.
//!
//! The index of a Parquet file stands at its end. So a plain file is read in place, and what comes through a pipe or
//! out of compression is first written to a temporary file. [`super::arrow::columns`] turns its columns into ours.

mod headers;

use std::fs::File;

use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::Length;

use crate::error::Result;
use crate::table::arrow::columns::{ArrowRows, RecordBatches, damaged, undamaged};
use crate::table::input::source::Source;
use crate::table::parquet::headers::{check_footer, check_pages};

/// Rows that are decoded at once. Batches do not depend on it.
const BATCH_ROWS: usize = 8192;

/// The reader of a Parquet file.
pub(in crate::table) fn open_parquet(source: Source) -> Result<ArrowRows> {
    let name = source.name.clone();
    open(&name, source.into_file()?)
}

fn open(name: &str, input: File) -> Result<ArrowRows> {
    let parquet_error = |error: ParquetError| damaged(name, &error.to_string());
    let n_bytes = input.len();
    let (schema, reader) = undamaged(name, || {
        let impossible = |what| damaged(name, what);
        check_footer(&input).map_err(impossible)?;
        let metadata = ArrowReaderMetadata::load(&input, ArrowReaderOptions::default()).map_err(parquet_error)?;
        check_ranges(metadata.metadata(), n_bytes).map_err(impossible)?;
        check_pages(&input, metadata.metadata()).map_err(impossible)?;
        let schema = metadata.schema().clone();
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(input, metadata);
        Ok((schema, builder.with_batch_size(BATCH_ROWS).build().map_err(parquet_error)?))
    })?;
    ArrowRows::new(name, schema, batches(name, reader))
}

fn batches(name: &str, reader: ParquetRecordBatchReader) -> RecordBatches {
    let name = name.to_owned();
    Box::new(reader.map(move |batch| batch.map_err(|error| damaged(&name, &error.to_string()))))
}

/// What the index says must lie inside the file, before anything is allocated by it.
fn check_ranges(metadata: &ParquetMetaData, n_bytes: u64) -> std::result::Result<(), &'static str> {
    for group in metadata.row_groups() {
        if group.num_rows() < 0 {
            return Err("a row group has a negative number of rows");
        }
        for column in group.columns() {
            if column.data_page_offset() < 0
                || column.compressed_size() < 0
                || column.dictionary_page_offset().is_some_and(|o| o < 0)
            {
                return Err("a column's offset is negative");
            }
            let (start, length) = column.byte_range();
            if start.checked_add(length).is_none_or(|end| end > n_bytes) {
                return Err("a column lies outside of the file");
            }
        }
    }
    Ok(())
}
