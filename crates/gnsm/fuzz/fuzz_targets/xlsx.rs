//! Any bytes as an Excel file, and as the XML of its sheet, its texts and its formats: rows or an error, never a panic.
#![no_main]

#[path = "../packed.rs"]
mod packed;
#[path = "../walk.rs"]
mod walk;

use gnsm::{Format, ReadOptions};

const SHEET: &[u8] =
    b"<worksheet><sheetData><row><c t=\"s\"><v>0</v></c><c s=\"1\"><v>45000</v></c></row></sheetData></worksheet>";
const STRINGS: &[u8] = b"<sst uniqueCount=\"1\"><si><t>a</t></si></sst>";
const STYLES: &[u8] = b"<styleSheet><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs></styleSheet>";
const BOOK: &[u8] =
    b"<workbook xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"><sheets>\
    <sheet name=\"A\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>";
const LINKS: &[u8] = b"<Relationships><Relationship Id=\"rId1\" Target=\"worksheets/sheet1.xml\" \
    Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet\"/></Relationships>";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    walk::walk(bytes, Format::Xlsx);
    for replaced in ["xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/styles.xml", "xl/workbook.xml"] {
        let parts = [
            ("[Content_Types].xml", &b"<Types/>"[..]),
            ("xl/workbook.xml", BOOK),
            ("xl/_rels/workbook.xml.rels", LINKS),
            ("xl/worksheets/sheet1.xml", SHEET),
            ("xl/sharedStrings.xml", STRINGS),
            ("xl/styles.xml", STYLES),
        ];
        let parts = parts.map(|(name, part)| (name, if name == replaced { bytes } else { part }));
        walk::walk_with(&packed::packed(&parts), &ReadOptions::default());
    }
});
