//! What the script of the page reads: the odd rows, each with the usual row that is most like it, within a limit of
//! bytes.

use std::collections::{HashMap, HashSet};

use gnsm::{Kind, Reason};
use serde::Serialize;

use crate::alternatives::{Alternatives, alternatives};
use crate::collect::{CELL, OddRow};
use crate::columns::NAME;
use crate::kind::ReasonKind;
use crate::page::Report;
use crate::words::cut;

/// Bytes that the rows may take. With charts and script, a page is then smaller than 3 MB.
const ROOM: usize = 2_200_000;
/// How many characters of a cell and reasons of a row are shown: the first pair with which all rows fit.
const SIZES: [RowSize; 5] = [
    RowSize { cell: CELL, reasons: 12 },
    RowSize { cell: CELL, reasons: 6 },
    RowSize { cell: 80, reasons: 6 },
    RowSize { cell: 80, reasons: 3 },
    RowSize { cell: 24, reasons: 3 },
];
/// Characters of a value inside a reason.
const SAW: usize = 120;
/// The share of the score that a reason needs to be shown. The first ones are always shown.
const SHARE: f64 = 0.002;
const FIRST: usize = 3;
/// The least length of a text that is named by its place.
const WORTH: usize = 5;

/// How much of each row is shown.
#[derive(Debug, Clone, Copy)]
struct RowSize {
    cell: usize,
    reasons: usize,
}

/// The data block of a page.
pub struct DataBlock {
    /// JSON that can stand inside a script element.
    pub json: String,
    /// How many rows are in it.
    pub rows: usize,
    /// Characters of a cell, at the most.
    pub cell: usize,
}

/// Names are short: there are thousands of them.
#[derive(Serialize)]
struct Data {
    key: String,
    columns: Vec<DataColumn>,
    kinds: Vec<&'static str>,
    /// Texts that occur more than once.
    texts: Vec<String>,
    rows: Vec<DataRow>,
    usual: Vec<DataUsual>,
}

#[derive(Serialize)]
struct DataColumn {
    name: String,
    numeric: bool,
}

#[derive(Serialize)]
struct DataRow {
    /// Its number.
    n: u64,
    /// Its line.
    l: u64,
    /// Score and p-value.
    s: f64,
    p: f64,
    /// Whether it is flagged.
    f: bool,
    /// Its cells.
    c: Vec<Option<SharedText>>,
    /// Its reasons.
    r: Vec<DataReason>,
    /// The share of the score that is no reason's.
    o: f64,
    /// The nearest usual row.
    u: Option<usize>,
}

#[derive(Serialize)]
struct DataReason {
    /// Its column.
    c: usize,
    /// Its share of the score.
    h: f64,
    /// Its kind.
    k: usize,
    /// Its words.
    w: SharedText,
    /// What was expected.
    x: Option<SharedText>,
    /// Values with their probabilities, and whether it is the one that was seen.
    a: Vec<(SharedText, f64, bool)>,
}

#[derive(Serialize)]
struct DataUsual {
    n: u64,
    c: Vec<Option<SharedText>>,
}

/// A text, or its place among those that occur more than once.
#[derive(Serialize)]
#[serde(untagged)]
enum SharedText {
    Own(String),
    Place(usize),
}

/// The data block of a report. If the rows do not fit, cells are cut shorter and reasons left out; if that is not
/// enough, rows are.
pub fn block_of(report: &Report<'_>) -> DataBlock {
    let alternatives = alternatives(report);
    let build = |rows: usize, size: RowSize| block(&data(report, &alternatives, rows, size));
    let mut rows = report.odd.len();
    let (mut json, mut cell) = (String::new(), CELL);
    for size in SIZES {
        (json, cell) = (build(rows, size), size.cell);
        if json.len() <= ROOM {
            break;
        }
    }
    while json.len() > ROOM && rows > 1 {
        rows = (rows as f64 * 0.95 * ROOM as f64 / json.len() as f64).max(1.0) as usize;
        json = build(rows, SIZES[SIZES.len() - 1]);
    }
    DataBlock { json, rows, cell }
}

fn data(report: &Report<'_>, alternatives: &[Vec<Alternatives>], rows: usize, size: RowSize) -> Data {
    let place: HashMap<&str, usize> = report.columns.iter().map(String::as_str).zip(0..).collect();
    let mut usual: Vec<DataUsual> = Vec::new();
    let mut place_of_usual: HashMap<u64, usize> = HashMap::new();
    let odd = report.odd.iter().zip(alternatives).take(rows).map(|(row, alternatives)| {
        let nearest = report.usual.nearest(&row.codes, &row.numbers).filter(|near| near.row != row.row);
        let u = nearest.map(|near| {
            *place_of_usual.entry(near.row).or_insert_with(|| {
                usual.push(DataUsual { n: near.row, c: texts_of(&near.cells, size.cell) });
                usual.len() - 1
            })
        });
        let r = reasons(report, row, alternatives, &place, size);
        DataRow {
            n: row.row,
            l: row.line,
            s: row.scored.score,
            p: row.scored.p_value,
            f: report.flags(row),
            c: texts_of(&row.cells, size.cell),
            o: rounded((1.0 - r.iter().map(|reason| reason.h).sum::<f64>()).max(0.0)),
            r,
            u,
        }
    });
    let mut rows: Vec<DataRow> = odd.collect();
    let schema = report.model.schema();
    let column = |name: &String| {
        let kind = schema.columns.iter().find(|column| column.name == *name).map(|column| &column.kind);
        DataColumn { name: cut(name, CELL), numeric: matches!(kind, Some(Kind::Numeric { .. })) }
    };
    let texts = share_texts(&mut rows, &mut usual);
    Data {
        key: format!("gnsm {} {} {}", report.model.hash().unwrap_or("-"), report.rows, cut(&report.file, NAME)),
        columns: report.columns.iter().map(column).collect(),
        kinds: ReasonKind::ALL.map(ReasonKind::name).to_vec(),
        texts,
        rows,
        usual,
    }
}

fn texts_of(cells: &[Option<String>], most: usize) -> Vec<Option<SharedText>> {
    cells.iter().map(|text| text.as_ref().map(|text| SharedText::Own(cut(text, most)))).collect()
}

fn reasons(
    report: &Report<'_>,
    row: &OddRow,
    alternatives: &[Alternatives],
    place: &HashMap<&str, usize>,
    size: RowSize,
) -> Vec<DataReason> {
    let most = SAW.min(size.cell);
    let reason = |(reason, alternatives): (&Reason, &Alternatives)| {
        let kind = report.kind(reason);
        let mut short = reason.clone();
        short.saw = cut(&reason.saw, most);
        short.similar = reason.similar.as_ref().map(|text| cut(text, most));
        short.expected = reason.expected.as_ref().map(|text| cut(text, most));
        DataReason {
            c: place.get(reason.column.as_str()).copied().unwrap_or(0),
            h: rounded(reason.share),
            k: ReasonKind::ALL.iter().position(|other| *other == kind).unwrap_or(0),
            w: SharedText::Own(short.words()),
            x: short.expected.map(SharedText::Own),
            a: alternatives
                .iter()
                .map(|(name, p, seen)| (SharedText::Own(cut(name, most)), rounded(*p), *seen))
                .collect(),
        }
    };
    let counts = |(at, (reason, _)): &(usize, (&Reason, &Alternatives))| *at < FIRST || reason.share >= SHARE;
    let all = row.explanation.reasons.iter().zip(alternatives).take(size.reasons);
    all.enumerate().filter(counts).map(|(_, both)| reason(both)).collect()
}

/// Replaces texts that occur more than once by their places in the list that is given back.
fn share_texts(rows: &mut [DataRow], usual: &mut [DataUsual]) -> Vec<String> {
    let (mut once, mut repeated) = (HashSet::new(), HashSet::new());
    for text in texts(rows, usual) {
        if let SharedText::Own(text) = text
            && text.len() >= WORTH
            && !once.insert(text.clone())
        {
            repeated.insert(text.clone());
        }
    }
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut list = Vec::new();
    for text in texts(rows, usual) {
        if let SharedText::Own(own) = text
            && repeated.contains(own)
        {
            let place = *places.entry(own.clone()).or_insert_with(|| {
                list.push(own.clone());
                list.len() - 1
            });
            *text = SharedText::Place(place);
        }
    }
    list
}

/// All texts, in a fixed order.
fn texts<'a>(rows: &'a mut [DataRow], usual: &'a mut [DataUsual]) -> impl Iterator<Item = &'a mut SharedText> {
    let of_reason = |reason: &'a mut DataReason| {
        let names = reason.a.iter_mut().map(|(name, ..)| name);
        [&mut reason.w].into_iter().chain(&mut reason.x).chain(names)
    };
    let of_row = move |row: &'a mut DataRow| row.c.iter_mut().flatten().chain(row.r.iter_mut().flat_map(of_reason));
    rows.iter_mut().flat_map(of_row).chain(usual.iter_mut().flat_map(|row| row.c.iter_mut().flatten()))
}

/// Enough decimals for a bar, which take less room.
fn rounded(share: f64) -> f64 {
    let steps = if share.abs() >= 1e-3 { 1e4 } else { 1e6 };
    (share * steps).round() / steps
}

/// JSON that can stand inside a script element: nothing in it can end the element.
fn block(data: &impl Serialize) -> String {
    // Maps with keys of text, numbers and texts can always be written.
    let json = serde_json::to_string(data).unwrap_or_default();
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_occur_twice_are_kept_once() {
        let row = |cells: [&str; 3]| DataUsual {
            n: 0,
            c: cells.map(|text| (!text.is_empty()).then(|| SharedText::Own(text.to_owned()))).into(),
        };
        let mut usual = [row(["Marketing", "", "412.50"]), row(["red", "Marketing", "red"])];
        let list = share_texts(&mut [], &mut usual);
        let json = serde_json::to_string(&usual).expect("json");
        assert_eq!(list, ["Marketing"]);
        assert_eq!(json, r#"[{"n":0,"c":[0,null,"412.50"]},{"n":0,"c":["red",0,"red"]}]"#);
    }

    #[test]
    fn nothing_ends_the_block() {
        assert_eq!(block(&"</script>&\u{2028}"), r#""\u003c/script\u003e\u0026\u2028""#);
    }
}
