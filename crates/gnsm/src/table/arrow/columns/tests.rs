//! Tests of Parquet and Arrow.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type, UInt16Type};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal32Array, Decimal128Array, Decimal256Array,
    DictionaryArray, DurationNanosecondArray, Float16Array, Float32Array, Int8Array, Int64Array, LargeStringArray,
    ListArray, NullArray, StringArray, StringViewArray, Time32SecondArray, Time64MicrosecondArray,
    TimestampMillisecondArray, UInt16Array, UInt64Array,
};
use arrow_buffer::i256;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

use super::*;
use crate::table::input::compression::tests::{gzip, xz, zstd};
use crate::table::input::tar::tests::entry;
use crate::table::input::zip::tests::zip;
use crate::table::tests::{batches, error_of, read, same, texts};
use crate::table::{Format, ReadOptions, TableReader};

fn strings(cells: [Option<&str>; 3]) -> ArrayRef {
    Arc::new(StringArray::from(cells.to_vec()))
}

/// One column of every kind, three rows.
fn every_type() -> RecordBatch {
    let cells = [Some("b"), None, Some("a")];
    let short: DictionaryArray<Int8Type> = cells.into_iter().collect();
    let large = DictionaryArray::<UInt16Type>::new(
        UInt16Array::from(vec![Some(2), None, Some(1)]),
        Arc::new(LargeStringArray::from(vec!["unused", "a", "b"])),
    );
    let empty = DictionaryArray::<Int32Type>::new(
        vec![None, None, None].into(),
        Arc::new(StringArray::from(Vec::<&str>::new())),
    );
    let numbers =
        DictionaryArray::<Int8Type>::new(Int8Array::from(vec![1, 0, 1]), Arc::new(Int64Array::from(vec![7, -7])));
    let large_decimal = [125, -5, 0].map(i256::from_i128).to_vec();
    let missing_numbers =
        DictionaryArray::<Int32Type>::new(vec![Some(0), None, Some(0)].into(), Arc::new(Int64Array::from(vec![7])));
    let half = |x: f32| num_traits::cast::<_, <Float16Type as ArrowPrimitiveType>::Native>(x).unwrap();
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)]), None, Some(vec![])]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("utf8", strings(cells)),
        ("large", Arc::new(LargeStringArray::from(cells.to_vec()))),
        ("view", Arc::new(StringViewArray::from(cells.to_vec()))),
        ("dictionary8", Arc::new(short)),
        ("dictionary16", Arc::new(large)),
        ("dictionary of nothing", Arc::new(empty)),
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("int8", Arc::new(Int8Array::from(vec![Some(-1), None, Some(3)]))),
        ("uint64", Arc::new(UInt64Array::from(vec![0, 1, u64::MAX]))),
        ("float16", Arc::new(Float16Array::from(vec![Some(half(0.5)), None, Some(half(-2.0))]))),
        ("float32", Arc::new(Float32Array::from(vec![Some(0.5), None, Some(-2.0)]))),
        ("dictionary of numbers", Arc::new(numbers)),
        ("dictionary with missing numbers", Arc::new(missing_numbers)),
        ("decimal", Arc::new(Decimal128Array::from(vec![150, -25, 0]).with_precision_and_scale(10, 2).unwrap())),
        ("small decimal", Arc::new(Decimal32Array::from(vec![15, -3, 0]).with_precision_and_scale(5, 1).unwrap())),
        ("large decimal", Arc::new(Decimal256Array::from(large_decimal).with_precision_and_scale(50, 1).unwrap())),
        ("date32", Arc::new(Date32Array::from(vec![0, 365, -1]))),
        ("date64", Arc::new(Date64Array::from(vec![86_400_000, 0, -86_400_000]))),
        ("time32", Arc::new(Time32SecondArray::from(vec![0, 60, 86_399]))),
        ("time64", Arc::new(Time64MicrosecondArray::from(vec![0, 1_500_000, 2]))),
        ("timestamp", Arc::new(TimestampMillisecondArray::from(vec![1500, -1000, 0]).with_timezone("+01:00"))),
        ("nowhere", Arc::new(TimestampMillisecondArray::from(vec![1500, -1000, 0]).with_timezone("Mars/Base"))),
        ("duration", Arc::new(DurationNanosecondArray::from(vec![2_000_000_000, 0, 500_000_000]))),
        ("null", Arc::new(NullArray::new(3))),
        ("binary", Arc::new(BinaryArray::from(vec![b"x".as_slice(), b"y", b"z"]))),
        ("list", Arc::new(list)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn parquet_bytes(batches: &[RecordBatch], compression: Compression) -> Vec<u8> {
    let properties =
        WriterProperties::builder().set_compression(compression).set_max_row_group_row_count(Some(4)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batches[0].schema(), Some(properties)).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

fn ipc_options(compression: Option<CompressionType>) -> IpcWriteOptions {
    IpcWriteOptions::default().try_with_compression(compression).unwrap()
}

fn file_bytes(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let mut writer =
        FileWriter::try_new_with_options(Vec::new(), &batches[0].schema(), ipc_options(compression)).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

fn stream_bytes(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let mut writer =
        StreamWriter::try_new_with_options(Vec::new(), &batches[0].schema(), ipc_options(compression)).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

fn check_every_type(table: &Table) {
    assert_eq!(table.lines, [1, 2, 3]);
    for name in ["utf8", "large", "view", "dictionary8", "dictionary16"] {
        let expected = Values::Category { codes: vec![0, MISSING, 1], names: vec!["b".into(), "a".into()] };
        assert_eq!(table.column(name).unwrap().values, expected, "{name}");
    }
    let all_missing = Values::Category { codes: vec![MISSING; 3], names: vec![] };
    assert_eq!(table.column("null").unwrap().values, all_missing);
    assert_eq!(table.column("dictionary of nothing").unwrap().values, all_missing);
    assert_eq!(texts(table, "bool"), ["true", "<missing>", "false"]);
    for (name, cells, is_integer) in [
        ("int8", ["-1", "", "3"], true),
        ("uint64", ["0", "1", "18446744073709552000"], true),
        ("float16", ["0.5", "", "-2"], false),
        ("float32", ["0.5", "", "-2"], false),
        ("dictionary of numbers", ["-7", "7", "-7"], true),
        ("dictionary with missing numbers", ["7", "", "7"], true),
        ("decimal", ["1.5", "-0.25", "0"], false),
        ("small decimal", ["1.5", "-0.3", "0"], false),
        ("large decimal", ["12.5", "-0.5", "0"], false),
        ("duration", ["2", "0", "0.5"], false),
    ] {
        assert_eq!(texts(table, name), cells, "{name}");
        let Values::Number { integer, .. } = &table.column(name).unwrap().values else { panic!("{name}") };
        assert_eq!(*integer, is_integer, "{name}");
    }
    for (name, cells, expected) in [
        ("date32", ["1970-01-01", "1971-01-01", "1969-12-31"], TimeKind::Date),
        ("date64", ["1970-01-02", "1970-01-01", "1969-12-31"], TimeKind::Date),
        ("time32", ["00:00:00", "00:01:00", "23:59:59"], TimeKind::TimeOfDay),
        ("time64", ["00:00:00", "00:00:01.500000", "00:00:00.000002"], TimeKind::TimeOfDay),
        ("timestamp", ["1970-01-01 01:00:01.500000", "1970-01-01 00:59:59", "1970-01-01 01:00:00"], TimeKind::DateTime),
    ] {
        assert_eq!(texts(table, name), cells, "{name}");
        assert!(
            matches!(&table.column(name).unwrap().values, Values::Time { kind, .. } if *kind == expected),
            "{name}"
        );
    }
    assert!(
        matches!(&table.column("binary").unwrap().values, Values::Unsupported { type_name, n_rows: 3 } if type_name == "Binary")
    );
    assert!(matches!(&table.column("list").unwrap().values, Values::Unsupported { n_rows: 3, .. }));
    assert!(matches!(&table.column("nowhere").unwrap().values, Values::Unsupported { n_rows: 3, .. }));
}

#[test]
fn every_type_from_arrow() {
    let batch = [every_type()];
    for compression in [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)] {
        check_every_type(&read(&file_bytes(&batch, compression), &ReadOptions::default()).unwrap());
        check_every_type(&read(&stream_bytes(&batch, compression), &ReadOptions::default()).unwrap());
    }
}

#[test]
fn every_type_from_parquet() {
    // The Parquet crate cannot write dictionaries without values, nor durations other than as numbers.
    let batch = [every_type()];
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4_RAW] {
        check_every_type(&read(&parquet_bytes(&batch, compression), &ReadOptions::default()).unwrap());
    }
}

fn several() -> Vec<RecordBatch> {
    let batch = |cells: [Option<&str>; 3], numbers: [i64; 3]| {
        let dictionary: DictionaryArray<Int32Type> = cells.into_iter().collect();
        let columns: [(&str, ArrayRef); 3] =
            [("s", strings(cells)), ("d", Arc::new(dictionary)), ("n", Arc::new(Int64Array::from(numbers.to_vec())))];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
    };
    vec![
        batch([Some("x"), Some("y"), None], [1, 2, 3]),
        batch([Some("z"), Some("y"), Some("x")], [4, 5, 6]),
        batch([None, None, Some("w")], [7, 8, 9]),
    ]
}

#[test]
fn batches_of_any_size_make_the_same_table() {
    let several = several();
    // A file of the file format cannot replace a dictionary, so only the stream has one a batch.
    for bytes in [parquet_bytes(&several, Compression::UNCOMPRESSED), stream_bytes(&several, None)] {
        let whole = read(&bytes, &ReadOptions::default()).unwrap();
        assert_eq!(whole.lines, (1..=9).collect::<Vec<u64>>());
        assert_eq!(texts(&whole, "s"), texts(&whole, "d"));
        assert_eq!(texts(&whole, "s")[3..6], ["z", "y", "x"]);
        for max_rows in 1..12 {
            assert!(same(&batches(&bytes, &ReadOptions::default(), max_rows).unwrap(), &whole), "{max_rows}");
        }
    }
}

#[test]
fn no_rows_still_have_columns() {
    let none = [every_type().slice(0, 0)];
    for bytes in [parquet_bytes(&none, Compression::UNCOMPRESSED), file_bytes(&none, None), stream_bytes(&none, None)] {
        let table = read(&bytes, &ReadOptions::default()).unwrap();
        assert_eq!((table.n_rows(), table.columns.len()), (0, 26));
    }
}

#[test]
fn empty_texts_are_missing_as_in_every_other_format() {
    let empty: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::from_iter([Some(""), Some("a"), Some(" ")]));
    for array in [strings([Some(""), Some("a"), Some(" ")]), empty] {
        let batch = RecordBatch::try_from_iter_with_nullable([("t", array, true)]).unwrap();
        for bytes in [parquet_bytes(std::slice::from_ref(&batch), Compression::SNAPPY), file_bytes(&[batch], None)] {
            let table = read(&bytes, &ReadOptions::default()).unwrap();
            let expected = Values::Category { codes: vec![MISSING, 0, MISSING], names: vec!["a".into()] };
            assert_eq!(table.columns[0].values, expected);
        }
    }
}

#[test]
fn duplicate_and_absent_columns_are_errors() {
    let array = strings([None; 3]);
    let twice = RecordBatch::try_from_iter([("a", array.clone()), ("a", array)]).unwrap();
    let error = error_of(&stream_bytes(&[twice], None), &ReadOptions::default());
    assert_eq!(error, "input, column `a`: two columns have this name; rename one of them");
    let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
    assert!(error_of(&stream_bytes(&[none], None), &ReadOptions::default()).contains("has no columns"));
}

#[test]
fn a_null_column_of_absurd_length_is_refused() {
    let batch = RecordBatch::try_from_iter([("n", Arc::new(NullArray::new(1 << 40)) as ArrayRef)]).unwrap();
    let error = error_of(&stream_bytes(&[batch], None), &ReadOptions::default());
    assert!(error.contains("a batch has more rows than bytes"), "{error}");
}

#[test]
fn files_cut_short_are_errors() {
    let several = several();
    for (bytes, format) in [
        (parquet_bytes(&several, Compression::SNAPPY), Format::Parquet),
        (file_bytes(&several[..1], Some(CompressionType::ZSTD)), Format::Arrow),
        (stream_bytes(&several, None), Format::Arrow),
    ] {
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let whole = read(&bytes, &options).unwrap().n_rows();
        for n in 1..bytes.len() {
            match read(&bytes[..n], &options) {
                Err(error) => assert!(error.to_string().contains("damaged or cut short"), "{n}: {error}"),
                // A stream may end without its end mark, after any message.
                Ok(table) => {
                    assert!(format == Format::Arrow && !bytes.starts_with(b"ARROW1") && table.n_rows() <= whole, "{n}");
                }
            }
        }
    }
}

#[test]
fn flipped_bits_never_panic() {
    let several = several();
    for (bytes, format) in [
        (parquet_bytes(&several, Compression::SNAPPY), Format::Parquet),
        (file_bytes(&several[..1], Some(CompressionType::LZ4_FRAME)), Format::Arrow),
        (stream_bytes(&several, Some(CompressionType::ZSTD)), Format::Arrow),
    ] {
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let mut damaged = bytes.clone();
        for i in 0..bytes.len() {
            for bit in [0, 4, 7] {
                damaged[i] ^= 1 << bit;
                // Not every flip can be noticed; what is read must still be a table.
                if let Ok(mut reader) =
                    TableReader::from_reader("input", Box::new(std::io::Cursor::new(damaged.clone())), &options)
                {
                    for _ in 0..10 {
                        let Ok(Some(table)) = reader.next_batch(1000) else {
                            break;
                        };
                        assert!(table.columns.iter().all(|column| column.values.len() == table.n_rows()));
                    }
                }
                damaged[i] = bytes[i];
            }
        }
    }
}

/// Where fuzzing starts from: `GNSM_FUZZ_CORPUS=crates/gnsm/fuzz/corpus cargo test -p gnsm -- --ignored seeds`.
#[test]
#[ignore = "writes files"]
fn seeds_for_fuzzing() {
    let Ok(corpus) = std::env::var("GNSM_FUZZ_CORPUS") else { return };
    let (every, several) = ([every_type()], several());
    for (name, bytes) in [
        ("parquet/every", parquet_bytes(&every, Compression::UNCOMPRESSED)),
        ("parquet/several", parquet_bytes(&several, Compression::SNAPPY)),
        ("parquet/strings", parquet_bytes(&[several[0].project(&[0]).unwrap()], Compression::UNCOMPRESSED)),
        ("arrow/every", file_bytes(&every, None)),
        ("arrow/several", stream_bytes(&several, Some(CompressionType::ZSTD))),
        ("arrow/lz4", stream_bytes(&several, Some(CompressionType::LZ4_FRAME))),
        ("arrow/strings", stream_bytes(&[several[0].project(&[0]).unwrap()], None)),
        ("csv/quotes", b"a;b,c\n\"x\r\n\"\"y\";1,2\r\n\n?;NA,2019\n".to_vec()),
        ("csv/gzip", gzip(b"a,b\n1,2\n")),
        ("csv/xz", xz(b"a\tb\n1\t2\n")),
        ("csv/zstd", zstd(b"2019|b\n1|2\n")),
        ("encoding/latin", b"# c\na,b\ncaf\xe9,x\n1,2\n".to_vec()),
        ("encoding/wide", "sep=;\na;b\né;1\n".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("zip/one", zip(&[("a/", b""), ("a/t.csv", b"a,b\n1,2\n")], ::zip::CompressionMethod::Deflated)),
        ("zip/two", zip(&[("a.csv", b"a\n1\n"), ("b.csv", b"a\n1\n")], ::zip::CompressionMethod::Stored)),
        ("xlsx/sheet", b"<worksheet><dimension ref=\"A1:C2\"/><sheetData><row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>a</t></is></c><c t=\"s\"><v>0</v></c></row><row><c><v>1.5</v></c><c s=\"1\"><v>45000</v></c><c t=\"b\"><v>1</v></c><c t=\"e\"><v>#N/A</v></c></row></sheetData></worksheet>".to_vec()),
        ("xlsx/strings", b"<sst count=\"2\" uniqueCount=\"2\"><si><t>a&amp;b</t></si><si><r><t>c</t></r></si></sst>".to_vec()),
        ("ods/content", b"<table:table table:name=\"A\"><table:table-row table:number-rows-repeated=\"2\"><table:table-cell office:value-type=\"string\"><text:p>a<text:s text:c=\"2\"/></text:p></table:table-cell><table:table-cell office:value-type=\"date\" office:date-value=\"2024-03-05T07:10:00\" table:number-columns-repeated=\"3\"/><table:table-cell office:value-type=\"time\" office:time-value=\"PT07H10M00S\"/></table:table-row></table:table>".to_vec()),
        ("csv/tar", [entry("a.csv", b'0', b"a,b\n1,2\n"), vec![0; 512]].concat()),
        ("jsonl/all", b"{\"a\":1,\"b\":\"x\\u00e9\",\"c\":[{}]}\n\n{\"a\":\"y\",\"b\":null,\"d\":true}\n".to_vec()),
        ("arff/all", b"% c\n@relation r\n@attribute a {x, 'y z'}\n@attribute b real [0,1]\n@attribute c string\n@attribute d date \"y\"\n@data\nx,1,'\\u001Eq',d\n{0 'y z', 1 2}, {5}\n?,?,?,? % c\n".to_vec()),
    ] {
        let path = std::path::Path::new(&corpus).join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_panic_becomes_an_error() {
    let error = undamaged::<()>("f", || panic!("index {} out of bounds", 7)).unwrap_err().to_string();
    assert_eq!(error, "f: the file is damaged or cut short (index 7 out of bounds); fetch or write the file again");
}

proptest! {
    #[test]
    fn any_bytes_are_rows_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200), format in prop::sample::select(vec![Format::Parquet, Format::Arrow])) {
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let _ = read(&bytes, &options);
        let _ = read(&[b"ARROW1\0\0\xff\xff\xff\xff".as_slice(), &bytes].concat(), &ReadOptions::default());
        let _ = read(&[b"PAR1".as_slice(), &bytes, b"\x20\0\0\0PAR1"].concat(), &ReadOptions::default());
    }
}
