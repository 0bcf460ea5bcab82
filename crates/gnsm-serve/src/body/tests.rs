//! Bodies with bad rows, and bodies that are none.

use super::*;
use crate::sheet::{Cells, Sheet};

fn try_read(bytes: &[u8], media: Media, most: usize) -> Result<Body, Problem> {
    let wanted = Wanted { most, used: &|name| name == "a", missing: &[] };
    Body::read(&Bytes::copy_from_slice(bytes), media, wanted)
}

fn read(text: &str, media: Media) -> Body {
    try_read(text.as_bytes(), media, 100).expect("a body")
}

/// The numbers of the rows that can be read, what the column `a` has there, and the rows that cannot be read.
fn rows(body: &Body) -> (Vec<u64>, String, Vec<u64>) {
    let cells = body.table.iter().flat_map(|table| {
        let values = &table.column("a").expect("a column").values;
        (0..table.n_rows()).map(|row| values.text(row).unwrap_or_default().into_owned())
    });
    let cells: Vec<String> = cells.collect();
    assert_eq!(cells.len(), body.rows.len());
    (body.rows.clone(), cells.join(" "), body.bad.iter().map(|(row, _)| *row).collect())
}

#[test]
fn a_bad_object_does_not_lose_the_others() {
    let body = read("[{\"a\": 1},\n {\"a\": 1e999}, 7, {\"a\": \"x\",\n \"b\": [1]}]", Media::Json);
    assert_eq!(rows(&body), (vec![0, 3], "1 x".into(), vec![1, 2]), "{body:?}");
    assert!(body.bad[0].1.starts_with("body, line 2, column `a`: the number 1e999 is out of range"), "{body:?}");
    assert!(body.bad[1].1.starts_with("body, line 2: is no object"), "{body:?}");
    let body = read("[{\"a\": 1},\n{\"a\": []}, {\"a\": 3, \"b\": {}}]", Media::Json);
    assert_eq!(rows(&body), (vec![0, 2], "1 3".into(), vec![1]), "{body:?}");
    assert!(body.bad[0].1.starts_with("body, line 2, column `a`: holds a list or an object"), "{body:?}");
    let body = read("{\"a\": 1}\n\n{\"a\": \n{\"a\": 3}\nPK\u{3}\u{4}\n", Media::Lines);
    assert_eq!(rows(&body), (vec![0, 2], "1 3".into(), vec![1, 3]), "{body:?}");
    assert!(body.bad[0].1.starts_with("body, line 3: "), "{body:?}");
}

#[test]
fn a_bad_line_does_not_lose_the_others() {
    let body = read("a,b\n1,2\n3\n4,5\n6,7,8\n9,10\n", Media::Csv);
    assert_eq!(rows(&body), (vec![0, 2, 4], "1 4 9".into(), vec![1, 3]), "{body:?}");
    assert!(body.bad[0].1.starts_with("body, line 3, column `b`: expected 2 fields, found 1"), "{body:?}");
    assert!(body.bad[1].1.starts_with("body, line 5: expected 2 fields, found 3"), "{body:?}");
    // A cell with a line break belongs to the bad row, and so does what follows it.
    let body = read("a,b\n1,2\n\"3\n4\",5,6\n7,\"8\n9\"\n", Media::Csv);
    assert_eq!(rows(&body), (vec![0, 2], "1 7".into(), vec![1]), "{body:?}");
    // A quote that is never closed, and one that is closed in another row.
    let body = read("sep=;\na;b\n1;2\n\"3;4\n5;6\n", Media::Csv);
    assert_eq!(rows(&body), (vec![0, 2], "1 5".into(), vec![1]), "{body:?}");
    assert!(body.bad[0].1.starts_with("body, line 4"), "{body:?}");
    let body = read("a,b\n1,2\n\"3,4\n5,6\n7,\"8\"\n9,10\n", Media::Csv);
    assert_eq!(rows(&body), (vec![0, 2, 3, 4], "1 5 7 9".into(), vec![1]), "{body:?}");
    // A quote within a cell is none.
    let body = read("a,b\n5\" pipe\n1,2\n3,4\n", Media::Csv);
    assert_eq!(rows(&body), (vec![1, 2], "1 3".into(), vec![0]), "{body:?}");
    let many: String = (0..300).map(|row| if row % 3 == 0 { "1,2,3\n" } else { "4,5\n" }).collect();
    let body = try_read(format!("a,b\n{many}").as_bytes(), Media::Csv, 300).expect("a body");
    assert_eq!((body.rows.len(), body.bad.len(), body.rows[0]), (200, 100, 1));
}

#[test]
fn what_is_no_body_is_refused() {
    let status = |text: &[u8], media| try_read(text, media, 2).expect_err("refused").status.as_u16();
    for media in Media::ALL {
        assert_eq!(status(b"", media), 400, "{media:?}");
    }
    assert_eq!(status(b"[{\"a\": 1}", Media::Json), 400);
    assert_eq!(status(b"[]", Media::Json), 400);
    assert_eq!(status(b"[{},{},{}]", Media::Json), 413);
    assert_eq!(status(b"a\n1\n2\n3\n", Media::Csv), 413);
    assert_eq!(status(b"a,b\n1,2\n3\n4\n", Media::Csv), 413, "bad rows are rows");
    assert_eq!(status("a,".repeat(MOST_COLUMNS).as_bytes(), Media::Csv), 422);
    assert_eq!(status(b"\xff\xff\xff\xff\x10", Media::Arrow), 400);
    assert_eq!(status(b"\xff\n", Media::Lines), 400);
    for compressed in [&b"\x1f\x8b\x08"[..], b"\x28\xb5\x2f\xfd\0", b"P*M\x18\0", b"PK\x03\x04\0", b"\xfd7zXZ\0"] {
        assert_eq!(status(compressed, Media::Csv), 415);
        assert_eq!(status(compressed, Media::Arrow), 415);
    }
}

#[test]
fn many_keys_take_little_room() {
    let keys = |row: usize| (0..40).map(|key| format!("\"k{row}_{key}\": 1")).collect::<Vec<_>>().join(", ");
    let list: Vec<String> = (0..1400).map(|row| format!("{{\"a\": {row}, {}}}", keys(row))).collect();
    let body = try_read(format!("[{}]", list.join(",")).as_bytes(), Media::Json, 2000).expect("a body");
    let table = body.table.expect("rows");
    assert_eq!((table.n_rows(), table.columns.len()), (1400, 1), "56,000 columns would have 78 million cells");
    assert_eq!(table.columns[0].values.text(1399).as_deref(), Some("1399"));
}

/// Spoils bodies, in the same way each time.
struct Spoiler {
    state: u64,
    seeds: Vec<(Media, Vec<u8>)>,
}

impl Spoiler {
    fn new(state: u64) -> Self {
        let csv = b"a,b,c\n1,\"x, y\",3\n4,\"5\n6\",7\n\n8,9,10\n\"11\",12,13\n";
        let json =
            b"[{\"a\": 1, \"b\": \"x\"}, {\"a\": null},\n{\"b\": [1, {\"c\": 2}]}, {\"a\": \"y\\\"z\", \"b\": 1e5}]";
        let lines = b"{\"a\": 1}\n{\"a\": \"x\"}\n\n{\"b\": {}}\n{\"a\": 2.5e3}\n";
        let text = |cells: [&str; 3]| Cells::Text(cells.map(|cell| Some(cell.to_owned())).into());
        let sheet = Sheet::default()
            .column("a", Cells::Number(vec![Some(1.0), None, Some(2.5)]))
            .column("b", text(["x", "", "y"]))
            .column("c", Cells::Count(vec![Some(1), Some(u64::MAX), None]));
        let arrow = sheet.arrow().expect("a stream");
        let seeds = vec![
            (Media::Csv, csv.to_vec()),
            (Media::Json, json.to_vec()),
            (Media::Lines, lines.to_vec()),
            (Media::Arrow, arrow),
        ];
        Self { state, seeds }
    }

    fn draw(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % n
    }

    /// A body of the kind whose turn it is, with a few places spoiled.
    fn body(&mut self, turn: usize) -> (Media, Vec<u8>) {
        const MARKS: &[u8] = b"\",\n\r{}[]:;\t|\\0e-\xff\x00a ";
        let (media, mut bytes) = self.seeds[turn % self.seeds.len()].clone();
        for _ in 0..=self.draw(4) {
            let (at, mark) = (self.draw(bytes.len()), MARKS[self.draw(MARKS.len())]);
            match self.draw(7) {
                0 => bytes[at] = mark,
                1 => bytes.insert(at, mark),
                2 => drop(bytes.remove(at)),
                3 => bytes[at] = self.draw(256) as u8,
                4 => bytes[at] ^= 1 << self.draw(8),
                5 => bytes.truncate(at),
                _ => bytes.extend_from_within(at..(at + 9).min(bytes.len())),
            }
            if bytes.is_empty() {
                bytes.push(mark);
            }
        }
        (media, bytes)
    }
}

/// Reads a body that was spoiled: every row is either read or told. Gives how many were.
fn check_spoiled(media: Media, bytes: &[u8]) -> [usize; 2] {
    let Ok(body) = try_read(bytes, media, 100) else { return [0, 0] };
    let mut numbers: Vec<u64> = body.rows.iter().copied().chain(body.bad.iter().map(|(row, _)| *row)).collect();
    numbers.sort_unstable();
    let text = String::from_utf8_lossy(bytes);
    assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "{text}: {body:?}");
    assert_eq!(body.rows.len(), body.table.as_ref().map_or(0, Table::n_rows), "{text}");
    [body.rows.len(), body.bad.len()]
}

#[test]
fn every_row_is_read_or_told() {
    let mut spoiler = Spoiler::new(1);
    let (mut read, mut told) = (0, 0);
    for turn in 0..20_000 {
        let (media, bytes) = spoiler.body(turn);
        let [good, bad] = check_spoiled(media, &bytes);
        (read, told) = (read + good, told + bad);
    }
    assert!(read > 15_000 && told > 500, "{read} read, {told} told");
}

/// `make fuzz` runs it with millions of bodies.
#[test]
#[ignore = "slow"]
fn fuzz_bodies() {
    let inputs = std::env::var("GNSM_FUZZ_INPUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000_usize);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let mut spoiler = Spoiler::new(1000 + thread as u64);
                for turn in 0..inputs / threads {
                    let (media, bytes) = spoiler.body(turn);
                    let caught = std::panic::catch_unwind(|| check_spoiled(media, &bytes));
                    assert!(caught.is_ok(), "{media:?} {bytes:?}");
                }
            });
        }
    });
}
