//! Tests of the reader of spreadsheets, on files made here from their XML.

use proptest::prelude::*;
use zip::CompressionMethod;

use super::super::input::zip::tests::zip;
use super::super::tests::{batches, error_of, read, same, texts};
use super::*;
use crate::table::TableReader;

const NAMESPACES: &str = "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" \
    xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"";

/// An Excel file with these sheets, each the XML of its rows. Style 1 is a date, 2 a time, 3 a duration.
fn xlsx_with(sheets: &[(&str, &str)], strings: &str, more: &str) -> Vec<u8> {
    let types = "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"/>";
    let package = "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship \
        Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" \
        Target=\"xl/workbook.xml\"/></Relationships>";
    let styles = format!(
        "<styleSheet {NAMESPACES}><numFmts count=\"1\"><numFmt numFmtId=\"170\" formatCode=\"[h]:mm\"/></numFmts><cellXfs \
         count=\"4\"><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/><xf numFmtId=\"21\"/><xf numFmtId=\"170\"/></cellXfs></styleSheet>"
    );
    let (mut list, mut links) = (String::new(), String::new());
    let mut files: Vec<(String, String)> = Vec::new();
    for (at, (name, rows)) in sheets.iter().enumerate() {
        let id = at + 1;
        list += &format!("<sheet name=\"{name}\" sheetId=\"{id}\" r:id=\"rId{id}\"/>");
        links += &format!(
            "<Relationship Id=\"rId{id}\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet\" \
             Target=\"worksheets/sheet{id}.xml\"/>"
        );
        let sheet = format!("<worksheet {NAMESPACES}><sheetData>{rows}</sheetData></worksheet>");
        files.push((format!("xl/worksheets/sheet{id}.xml"), sheet));
    }
    files.push(("[Content_Types].xml".into(), types.into()));
    files.push(("_rels/.rels".into(), package.into()));
    files.push(("xl/workbook.xml".into(), format!("<workbook {NAMESPACES}>{more}<sheets>{list}</sheets></workbook>")));
    let links = format!(
        "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">{links}</Relationships>"
    );
    files.push(("xl/_rels/workbook.xml.rels".into(), links));
    files.push(("xl/styles.xml".into(), styles));
    files.push(("xl/sharedStrings.xml".into(), format!("<sst {NAMESPACES} {strings}</sst>")));
    packed(&files)
}

fn xlsx(sheets: &[(&str, &str)]) -> Vec<u8> {
    xlsx_with(sheets, "uniqueCount=\"2\"><si><t>red &amp; blue</t></si><si><t>green</t></si>", "")
}

/// An OpenDocument file with this content of its spreadsheet.
fn ods(content: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:body><office:spreadsheet>{content}</office:spreadsheet></office:body>\
         </office:document-content>"
    );
    let mimetype = "application/vnd.oasis.opendocument.spreadsheet".to_owned();
    packed(&[("mimetype".into(), mimetype), ("content.xml".into(), content)])
}

fn packed(files: &[(String, String)]) -> Vec<u8> {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    zip(&files, CompressionMethod::Deflated)
}

fn text_cell(text: &str) -> String {
    format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>")
}

fn table(bytes: &[u8]) -> Table {
    read(bytes, &ReadOptions::default()).unwrap()
}

fn problem(bytes: &[u8]) -> String {
    error_of(bytes, &ReadOptions::default())
}

fn claims_xlsx() -> Vec<u8> {
    let header = ["colour", "n", "day", "at", "long", "ok", "mixed"].map(text_cell).concat();
    let rows = format!(
        "<row r=\"2\">{header}</row>\
         <row r=\"4\"><c t=\"s\"><v>0</v></c><c><v>1.5</v></c><c s=\"1\"><v>45356</v></c><c s=\"2\"><v>0.25</v></c>\
         <c s=\"3\"><v>1.5</v></c><c t=\"b\"><v>1</v></c><c><v>7</v></c></row>\
         <row r=\"5\"><c t=\"s\"><v>1</v></c><c r=\"D5\" s=\"2\"><v>0.5</v></c><c r=\"F5\" t=\"b\"><v>0</v></c>\
         <c t=\"e\"><v>#DIV/0!</v></c></row>"
    );
    xlsx(&[("Data", &rows), ("Notes", "")])
}

#[test]
fn excel_cells_have_their_types() {
    let table = table(&claims_xlsx());
    assert_eq!(table.lines, [4, 5]);
    assert_eq!(texts(&table, "colour"), ["red & blue", "green"]);
    assert_eq!(texts(&table, "n"), ["1.5", ""]);
    let Values::Time { seconds, kind: TimeKind::Date } = &table.column("day").unwrap().values else { panic!() };
    assert!(TimeKind::Date.text(seconds[0]) == "2024-03-05" && seconds[1].is_nan());
    assert_eq!(texts(&table, "at"), ["06:00:00", "12:00:00"]);
    assert_eq!(texts(&table, "long"), ["129600", ""]);
    assert_eq!(texts(&table, "ok"), ["true", "false"]);
    assert_eq!(texts(&table, "mixed"), ["7", "#DIV/0!"]);
}

#[test]
fn days_are_counted_from_either_beginning() {
    let rows = |days: f64| format!("<row>{}</row><row><c s=\"1\"><v>{days}</v></c></row>", text_cell("d"));
    let day = |book: &[u8]| texts(&table(book), "d").remove(0);
    assert_eq!(day(&xlsx(&[("A", &rows(45356.75))])), "2024-03-05 18:00:00");
    assert_eq!(day(&xlsx(&[("A", &rows(1.0))])), "1900-01-01");
    assert_eq!(day(&xlsx(&[("A", &rows(61.0))])), "1900-03-01");
    let since_1904 = xlsx_with(&[("A", &rows(43894.0))], ">", "<workbookPr date1904=\"1\"/>");
    assert_eq!(day(&since_1904), "2024-03-05");
}

#[test]
fn a_sheet_is_chosen_by_name_or_is_the_first() {
    let row = |name: &str| format!("<row>{}</row><row><c><v>1</v></c></row>", text_cell(name));
    let book = xlsx(&[("One", &row("a")), ("Two", &row("b"))]);
    let input = Box::new(io::Cursor::new(book.clone()));
    let reader = TableReader::from_reader("f.xlsx", input, &ReadOptions::default()).unwrap();
    assert_eq!((reader.columns(), reader.format()), (vec!["a".to_owned()], Format::Xlsx));
    assert_eq!(reader.notes(), ["f.xlsx: read the sheet `One`; its sheets are `One`, `Two`"]);
    let named = |sheet: &str| ReadOptions { sheet: Some(sheet.into()), ..ReadOptions::default() };
    assert_eq!(read(&book, &named("Two")).unwrap().columns[0].name, "b");
    assert_eq!(error_of(&book, &named("Three")), "input: has no sheet `Three`; its sheets are `One`, `Two`");
    assert!(
        error_of(b"a,b\n1,2\n", &named("One")).starts_with("setting `sheet`: is for spreadsheets, and input is csv")
    );
}

#[test]
fn what_is_wrong_is_told() {
    let empty = xlsx(&[("One", ""), ("Two", "")]);
    assert_eq!(problem(&empty), "input: the sheet `One` is empty; name another of its sheets: `One`, `Two`");
    assert_eq!(
        problem(&ods("<table:table table:name=\"A\"/>")),
        "input: the sheet `A` is empty; give a file with a table"
    );
    assert!(problem(&ods("")).starts_with("input: has no sheets"));
    let twice = format!("<row>{0}{0}</row><row><c><v>1</v></c></row>", text_cell("a"));
    let columns = table(&xlsx(&[("A", &twice)])).columns;
    assert_eq!(columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["a", "a_2"]);
    let backwards = "<row r=\"2\"><c><v>1</v></c></row><row r=\"1\"><c><v>1</v></c></row>";
    assert!(problem(&xlsx(&[("A", backwards)])).contains("cells are out of order"));
    assert!(problem(&xlsx(&[("A", "<row><c><v>1")])).starts_with("input: the zip is damaged or cut short"));
    // Only names: columns without rows.
    let names = table(&xlsx(&[("A", &format!("<row>{}</row>", text_cell("a")))]));
    assert_eq!((names.columns.len(), names.n_rows()), (1, 0));
}

#[test]
fn files_that_claim_too_much_are_refused() {
    let rows = format!("<row>{}</row><row><c><v>1</v></c></row>", text_cell("a"));
    let claim = xlsx_with(&[("A", &rows)], "uniqueCount=\"99999999999999\">", "");
    assert!(problem(&claim).contains("more texts than bytes"));
    let far = "<row r=\"1\"><c r=\"A1\"><v>1</v></c></row><row r=\"2\"><c r=\"XFD2\"><v>1</v></c></row>\
        <row r=\"3\"><c r=\"A3\"><v>1</v></c></row><row r=\"4\"><c><v>1</v></c></row><row r=\"5\"><c><v>1</v></c></row>\
        <row r=\"6\"><c><v>1</v></c></row>";
    assert!(problem(&xlsx(&[("A", far)])).contains("the sheet has more than 65536 cells"));
    let cell = "<table:table-cell office:value-type=\"float\" office:value=\"1\" table:number-columns-repeated=\"N\"/>";
    let repeated = |columns: &str, rows: &str| {
        let cell = cell.replace('N', columns);
        let row = format!("<table:table-row table:number-rows-repeated=\"{rows}\">{cell}</table:table-row>");
        problem(&ods(&format!("<table:table table:name=\"A\">{row}</table:table>")))
    };
    assert!(repeated("16385", "1").contains("a row has more than 16384 cells"));
    assert!(repeated("16384", "1048576").contains("the sheet has more than 65536 cells"));
    assert!(repeated("18446744073709551615", "1").contains("a row has more than 16384 cells"));
    assert!(repeated("-1", "1").contains("`table:number-columns-repeated` is not a number"));
    let long = format!("<row>{}</row>", text_cell(&"a".repeat(1 << 24)));
    assert!(problem(&xlsx(&[("A", &long)])).contains("holds more than 16 MiB when unpacked"));
}

#[test]
fn open_document_cells_have_their_types() {
    let text = |text: &str| {
        format!("<table:table-cell office:value-type=\"string\"><text:p>{text}</text:p></table:table-cell>")
    };
    let content = format!(
        "<table:table table:name=\"Other\"><table:table-row>{}</table:table-row></table:table>\
         <table:table table:name=\"Data\"><table:table-column table:number-columns-repeated=\"9\"/>\
         <table:table-row table:number-rows-repeated=\"2\"><table:table-cell table:number-columns-repeated=\"16384\"/></table:table-row>\
         <table:table-header-rows><table:table-row>{}</table:table-row></table:table-header-rows>\
         <table:table-row>\
         <table:table-cell office:value-type=\"string\"><office:annotation><text:p>a note</text:p></office:annotation>\
         <text:p>two<text:s text:c=\"2\"/>&lt;words&gt;</text:p><text:p>and a <text:span>line</text:span></text:p></table:table-cell>\
         <table:table-cell office:value-type=\"currency\" office:value=\"1.5\"><text:p>1,50 €</text:p></table:table-cell>\
         <table:table-cell office:value-type=\"date\" office:date-value=\"2024-03-05\"/>\
         <table:table-cell office:value-type=\"time\" office:time-value=\"PT06H30M00S\"/>\
         <table:table-cell office:value-type=\"boolean\" office:boolean-value=\"true\"/></table:table-row>\
         <table:table-row table:number-rows-repeated=\"2\"><table:table-cell/>\
         <table:table-cell office:value-type=\"percentage\" office:value=\"0.25\"/></table:table-row>\
         </table:table>",
        text("x"),
        ["words", "n", "day", "at", "ok"].map(text).concat(),
    );
    let options = ReadOptions { sheet: Some("Data".into()), ..ReadOptions::default() };
    let table = read(&ods(&content), &options).unwrap();
    assert_eq!(table.lines, [4, 5, 6]);
    assert_eq!(texts(&table, "words"), ["two  <words>\nand a line", "", ""]);
    assert_eq!(texts(&table, "n"), ["1.5", "0.25", "0.25"]);
    assert_eq!(table.column("day").unwrap().values.text(0).unwrap(), "2024-03-05");
    assert_eq!(table.column("at").unwrap().values.text(0).unwrap(), "06:30:00");
    assert_eq!(texts(&table, "ok"), ["true", "<missing>", "<missing>"]);
}

#[test]
fn rows_come_in_batches_of_any_size() {
    let book = claims_xlsx();
    let whole = table(&book);
    for size in 1..4 {
        assert!(same(&batches(&book, &ReadOptions::default(), size).unwrap(), &whole));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn numbers_and_texts_come_back(numbers in prop::collection::vec(-1e9..1e9_f64, 1..30), words in "[a-zé]{1,6}") {
        let rows = numbers.iter().fold(String::new(), |rows, n| rows + &format!("<row><c><v>{n}</v></c>{}</row>", text_cell(&words)));
        let found = table(&xlsx(&[("A", &format!("<row>{}{}</row>{rows}", text_cell("n"), text_cell("w")))]));
        let Values::Number { values, .. } = &found.columns[0].values else { panic!() };
        prop_assert_eq!(values, &numbers);
        prop_assert_eq!(texts(&found, "w"), vec![words; numbers.len()]);
    }

    #[test]
    fn damage_is_rows_or_an_error(at: prop::sample::Index, byte: u8, open_document: bool) {
        let row = "<table:table-row><table:table-cell office:value-type=\"float\" office:value=\"1\"/></table:table-row>";
        let mut book = if open_document { ods(&format!("<table:table table:name=\"A\">{row}</table:table>")) } else { claims_xlsx() };
        let at = at.index(book.len());
        book[at] = byte;
        let _ = read(&book, &ReadOptions::default());
        let _ = read(&book[..at], &ReadOptions::default());
    }

    /// The XML itself may be anything too.
    #[test]
    fn any_content_is_rows_or_an_error(content in "(<row>|</row>|<c>|<c r=\"B2\">|</c>|<v>|</v>|<v/>|1|a|<row r=\"9\">|&amp;|&#x;|<table:table-row>|<table:table-cell office:value-type=\"date\">|</table:table-cell>|</table:table>|<text:p>|</text:p>| ){0,30}") {
        let _ = read(&xlsx(&[("A", &content)]), &ReadOptions::default());
        let _ = read(&ods(&format!("<table:table table:name=\"A\">{content}</table:table>")), &ReadOptions::default());
    }
}
