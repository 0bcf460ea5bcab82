//! Tests of the CSV reader.

use proptest::prelude::*;

use super::super::tests::{batches, error_of, read, texts};
use super::super::{Format, ReadOptions, TableReader};
use super::*;

fn csv(text: &str) -> Table {
    read(text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn error(text: &[u8]) -> String {
    error_of(text, &ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() })
}

#[test]
fn quotes_line_breaks_and_exact_lines() {
    let table = csv("\u{feff}a,b\r\n\n1,\"x\r\ny \"\"z\"\"\"\r\n\n\r\n2,\"\" \n3,é");
    assert_eq!(table.lines, [3, 7, 8]);
    assert_eq!(texts(&table, "a"), ["1", "2", "3"]);
    assert_eq!(texts(&table, "b"), ["x\r\ny \"z\"", "", "é"]);
    // A quote inside an unquoted cell is text.
    assert_eq!(texts(&csv("a,b\n5\" disk,1\n"), "a"), ["5\" disk"]);
}

/// Larger than a block, with a quoted cell that is longer than a piece and full of line breaks and commas.
#[test]
fn large_blocks_are_split_as_small_ones_are() {
    let plain = (0..40_000).fold(String::new(), |text, i| text + &format!("{i},a{}\n", i % 7));
    let lines = "x,y\n".repeat(PIECE / 2);
    let text = format!("n,c\n{plain}-1,\"{lines}\"\n{plain}{plain}{plain}");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let table = pool.install(|| csv(&text));
    assert_eq!(table.n_rows(), 160_001);
    assert_eq!(texts(&table, "c")[40_000], lines);
    for (row, number) in texts(&table, "n").iter().enumerate() {
        let (expected, line) = match row {
            0..40_000 => (row as i64, row as u64 + 2),
            40_000 => (-1, 40_002),
            _ => ((row as i64 - 40_001) % 40_000, row as u64 + 2 + PIECE as u64 / 2),
        };
        assert_eq!((number.as_str(), table.lines[row]), (expected.to_string().as_str(), line));
    }
    let broken = format!("{text}1,2,3\n{plain}");
    let message = pool.install(|| error(broken.as_bytes()));
    assert!(message.starts_with("input, line 225539: expected 2 fields, found 3"), "{message}");
}

#[test]
fn header_only_has_columns_and_no_rows() {
    let table = csv("a,,c\n");
    assert_eq!(table.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["a", "column_2", "c"]);
    assert_eq!(table.n_rows(), 0);
}

#[test]
fn options_overrule_what_is_found() {
    let options = ReadOptions { header: Some(false), delimiter: Some(b';'), ..ReadOptions::default() };
    let table = read(b"a,b\nc,d\n", &options).unwrap();
    assert_eq!(texts(&table, "column_1"), ["a,b", "c,d"]);
    let options = ReadOptions { header: Some(true), ..ReadOptions::default() };
    let table = read(b"1,2\n3,4\n", &options).unwrap();
    assert_eq!(texts(&table, "2"), ["4"]);
}

#[test]
fn comments_are_skipped_wherever_they_stand() {
    let options = ReadOptions { comment: Some(b'#'), ..ReadOptions::default() };
    let text = b"# made by hand, 2024\n#\na;b\n1;2\n# half-way\n3;#4\n\"#5\n#6\";7\n#end";
    let table = read(text, &options).unwrap();
    assert_eq!(texts(&table, "a"), ["1", "3", "#5\n#6"]);
    assert_eq!(texts(&table, "b"), ["2", "#4", "7"]);
    assert_eq!(table.lines, [4, 6, 7]);
    let many = (0..5000).fold("a,b\n".to_owned(), |text, i| text + &format!("{i},x\n# {i}, or not, \"\n"));
    let table = read(many.as_bytes(), &options).unwrap();
    assert_eq!((table.n_rows(), table.lines[4999]), (5000, 10_000));
    let error = error_of(b"a,b\n", &ReadOptions { comment: Some(b','), delimiter: Some(b','), ..options });
    assert!(error.starts_with("setting `comment`: must be one ASCII character"), "{error}");
}

#[test]
fn a_line_that_tells_the_delimiter_is_no_row() {
    let table = csv("\u{feff}sep=|\r\na;b|c\r\n1;2|3\r\n");
    assert_eq!(
        (texts(&table, "a;b"), texts(&table, "c"), table.lines),
        (vec!["1;2".into()], vec!["3".into()], vec![3])
    );
    // What the user says counts more.
    let options = ReadOptions { delimiter: Some(b','), ..ReadOptions::default() };
    assert_eq!(texts(&read(b"sep=;\na,b;c\n1,2;3\n", &options).unwrap(), "b;c"), ["2;3"]);
    assert!(error(b"sep=;\n").contains("is empty"));
}

#[test]
fn windows_1252_reads_like_the_same_text_in_utf_8() {
    let lines = (0..30_000).map(|i| format!("{i},Café Nr. {i} – 5 €,{}\n", if i % 3 == 0 { "naïve" } else { "plain" }));
    let text = format!("n,namé,kind\n{}1,\"zwölf\nBoxkämpfer\",x\n", lines.collect::<String>());
    let bytes: Vec<u8> = encoding_rs::WINDOWS_1252.encode(&text).0.into_owned();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let table = pool.install(|| read(&bytes, &ReadOptions::default())).unwrap();
    assert_eq!(table, csv(&text));
    let mut reader =
        TableReader::from_reader("f.csv", Box::new(std::io::Cursor::new(bytes)), &ReadOptions::default()).unwrap();
    while reader.next_batch(7000).unwrap().is_some() {}
    let note = "f.csv: 30003 lines are not UTF-8 (the first is line 1) and were read as Windows-1252";
    assert_eq!(reader.notes(), [format!("{note}; if that is wrong, name the encoding")]);
}

#[test]
fn errors_say_where_and_what_to_do() {
    assert_eq!(
        error(b"a,b,c\n1,2,3\n\n1,\"2\n\",3\n4,5\n"),
        "input, line 6, column `c`: expected 3 fields, found 2; complete or quote the row, or name the delimiter if it is not `,`"
    );
    assert!(error(b"a,b\n1,2\n1,2,3\n4,5\n").starts_with("input, line 3: expected 2 fields, found 3; "));
    assert_eq!(
        error(b"a,b\n1,2\n3,\"x\ny,z\n5,6\n"),
        "input, line 3, column `b`: the quote opened here is not closed before the end of the file; close it, or double it (\"\") if it belongs to the text"
    );
    assert!(
        error(b"a,b\n1,2\n3,\"x\"\"").starts_with("input, line 3, column `b`: the quote opened here is not closed")
    );
    let neither = "of the line is neither UTF-8 nor Windows-1252; name the encoding";
    assert!(error(b"a,b\n1,2\n3,caf\x9d\n").starts_with(&format!("input, line 3, column `b`: byte 6 {neither}")));
    assert!(error(b"a\n\x81\n").contains(&format!("line 2, column `a`: byte 1 {neither}")));
    assert!(error(b"a,b\n# x\n1,2\n").ends_with("if lines that begin with `#` are comments, say so"));
    assert!(error(b"a,b\n1,2\0\n").starts_with("input, line 2: holds a NUL byte"));
    assert!(error(b"a,b\n\"x\" y,z\n").starts_with("input, line 2, column `a`: text after a closing quote: ` y`"));
    assert!(
        error(b"a,b\n1,\"x\n2,\"y\"\n")
            .contains("line 3, column `b`: text after a closing quote: `y\"` (the quote was opened on line 2)")
    );
    assert!(error(b"a,b\rx,y\rz,w").starts_with("input, line 1: a carriage return within a line"));
    assert_eq!(error(b""), "input: is empty; give a file with a header and rows");
    assert_eq!(error(b"\n\r\n\n"), "input: is empty; give a file with a header and rows");
    assert_eq!(error(b"\xef\xbb\xbf"), "input: is empty; give a file with a header and rows");
}

#[test]
fn a_quote_that_never_closes_does_not_fill_memory() {
    let mut text = b"a,b\n\"x,1\n".to_vec();
    text.extend(std::iter::repeat_n(b"0123456789,0123456789\n".as_slice(), (MAX_LINE / 22) + 2).flatten());
    assert!(error(&text).starts_with("input, line 2, column `a`: the quote opened here is not closed within 2 MiB"));
}

#[test]
fn a_record_that_never_ends_does_not_fill_memory() {
    let mut text = b"a,b\n\"".to_vec();
    text.extend(std::iter::repeat_n(b"0123456789\n\",\"".as_slice(), (MAX_LINE / 11) + 2).flatten());
    assert!(error(&text).contains("the quote opened here is not closed within 2 MiB"));
}

fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c,;|\t\"' ]{0,4}",
        "[\"\n\ra,]{0,5}",
        any::<String>().prop_map(|text| text.replace('\0', "")),
        "-?[0-9]{1,3}(\\.[0-9])?"
    ]
}

fn cells(n_columns: usize) -> impl Strategy<Value = Vec<Vec<String>>> {
    prop::collection::vec(prop::collection::vec(cell(), n_columns), 0..8)
}

proptest! {
    #[test]
    fn what_is_written_is_read(rows in (1..5_usize).prop_flat_map(cells), delimiter in prop::sample::select(b",;\t|".as_slice()), batch in 1..5_usize) {
        let n_columns = rows.first().map_or(1, Vec::len);
        let mut writer = ::csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
        writer.write_record((0..n_columns).map(|i| format!("name {i}"))).unwrap();
        for row in &rows {
            writer.write_record(row).unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        let options = ReadOptions { format: Some(Format::Csv), delimiter: Some(delimiter), header: Some(true), ..ReadOptions::default() };
        let table = read(&bytes, &options).unwrap();
        prop_assert_eq!(table.n_rows(), rows.len());
        for i in 0..n_columns {
            let column: Vec<&str> = rows.iter().map(|row| row[i].as_str()).collect();
            prop_assert_eq!(texts(&table, &format!("name {i}")), column);
        }
        prop_assert_eq!(batches(&bytes, &options, batch).unwrap(), table);
    }

    /// Rows taken straight from the buffer are those of the careful walk, up to the same error.
    #[test]
    fn plain_lines_are_no_shortcut_around_the_rules(text in "[abé,\"\0 \r\n]{0,80}", rows in "(a,\"b c\"\r?\n){0,4}", batch in 1..5_usize) {
        let text = format!("x,y\n{rows}{text}{rows}");
        let options = ReadOptions { header: Some(true), delimiter: Some(b','), format: Some(Format::Csv), ..ReadOptions::default() };
        let open = || CsvReader::open(Source::new("input", Box::new(std::io::Cursor::new(text.clone().into_bytes()))), &options);
        let (mut careful, mut quick) = (open().unwrap(), open().unwrap());
        let mut expected = Vec::new();
        let end = loop {
            match careful.next_record() {
                Ok(true) => expected.push((careful.record.line, careful.record.cells.get(0).to_owned(), careful.record.cells.get(1).to_owned())),
                Ok(false) => break String::new(),
                Err(error) => break error.to_string(),
            }
        };
        let mut found = Vec::new();
        let found_end = loop {
            match quick.next_rows(batch) {
                Ok(Some(table)) => found.extend(table.lines.iter().zip(texts(&table, "x")).zip(texts(&table, "y")).map(|((line, x), y)| (*line, x, y))),
                Ok(None) => break String::new(),
                Err(error) => break error.to_string(),
            }
        };
        prop_assert_eq!(&end, &found_end);
        // An error takes the rows of its batch with it.
        let lost = expected.len() - found.len();
        prop_assert!(lost == 0 || (!end.is_empty() && lost < batch));
        expected.truncate(found.len());
        prop_assert_eq!(expected, found);
    }

    /// Where we accept a file, the `csv` crate reads the same cells.
    #[test]
    fn agrees_with_the_csv_crate(text in "[ab,\" \n]{0,40}") {
        let mut ours = Records::new("", text.as_bytes(), b',', None);
        let mut record = Record::default();
        let mut found: Vec<Vec<String>> = Vec::new();
        let accepted = loop {
            match ours.read(&mut record) {
                Ok(true) => found.push(record.cells.iter().map(str::to_owned).collect()),
                Ok(false) => break true,
                Err(_) => break false,
            }
        };
        // Spaces after a closing quote are dropped here and kept there.
        prop_assume!(accepted && !text.contains("\" "));
        let theirs = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes()).into_records()
            .map(|record| record.unwrap().iter().map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<_>>();
        prop_assert_eq!(found, theirs);
    }

    #[test]
    fn any_bytes_are_rows_or_an_error(bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"a1,;\"\n\r".as_slice())], 0..60)) {
        let _ = read(&bytes, &ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() });
        let _ = read(&bytes, &ReadOptions::default());
    }
}

#[test]
fn lines_that_are_no_rows_are_left_out_if_asked() {
    let options = ReadOptions { skip_bad_lines: true, ..ReadOptions::default() };
    let content = b"a,b\n1,2\n3\n4,5\n6,7,8\n\"x\" y,9\n10,caf\x9d\n11,12\n";
    for size in [1, 2, 100] {
        let mut reader =
            TableReader::from_reader("input", Box::new(std::io::Cursor::new(content.to_vec())), &options).unwrap();
        let mut rows = Vec::new();
        while let Some(batch) = reader.next_batch(size).unwrap() {
            rows.extend(texts(&batch, "b"));
        }
        assert_eq!(rows, ["2", "5", "12"]);
        let left_out = reader.left_out();
        assert_eq!(left_out.count, 4);
        assert_eq!(left_out.lines.iter().map(|line| line.line).collect::<Vec<_>>(), [3, 5, 6, 7]);
        assert_eq!(left_out.lines[1].problem, "expected 2 fields, found 3");
        let note = reader.notes().pop().unwrap();
        assert!(
            note.starts_with("input: 4 lines were left out: line 3 (expected 2 fields, found 1), line 5 ("),
            "{note}"
        );
    }
    // What has no end is an error all the same: everything behind it would be lost.
    let open = TableReader::from_reader("input", Box::new(&b"a,b\n1,\"2\n3,4\n"[..]), &options).unwrap().next_batch(9);
    assert!(open.unwrap_err().to_string().contains("the quote opened here is not closed"));
}

#[test]
fn names_that_occur_twice_are_numbered() {
    let mut reader =
        TableReader::from_reader("input", Box::new(&b"a,b,a\nx,y,z\n"[..]), &ReadOptions::default()).unwrap();
    assert_eq!(reader.columns(), ["a", "b", "a_2"]);
    let table = reader.next_batch(9).unwrap().unwrap();
    assert_eq!(texts(&table, "a_2"), ["z"]);
    assert_eq!(reader.notes(), ["input: columns have the same name; of those, a later `a` is `a_2`"]);
}
