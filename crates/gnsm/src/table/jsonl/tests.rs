//! Tests of the JSON lines reader.

use proptest::prelude::*;

use super::super::tests::{batches, error_of, read, same};
use super::super::{Format, MISSING, MISSING_TEXTS, ReadOptions, TextCells};
use super::*;

fn options() -> ReadOptions {
    ReadOptions { format: Some(Format::Jsonl), ..ReadOptions::default() }
}

fn jsonl(text: &str) -> Table {
    read(text.as_bytes(), &options()).unwrap()
}

fn error(text: &str) -> String {
    error_of(text.as_bytes(), &options())
}

fn text(cells: &[&str]) -> Values {
    let mut all = TextCells::default();
    for cell in cells {
        all.push(cell);
    }
    Values::Text(all)
}

#[test]
fn types_of_cells() {
    let table = jsonl(
        "{\"s\":\"x\",\"b\":true,\"i\":1,\"f\":1.0,\"m\":1.0,\"n\":[1]}\r\n\n{\"i\":null,\"s\":\"\\u00e9\",\"m\":\"y\",\"late\":{}}\n  {\"b\":false,\"i\":-3}",
    );
    assert_eq!(table.lines, [1, 3, 4]);
    let names: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["s", "b", "i", "f", "m", "n", "late"]);
    let values = |name: &str| table.column(name).unwrap().values.clone();
    assert_eq!(values("s"), Values::Category { codes: vec![0, 1, MISSING], names: vec!["x".into(), "é".into()] });
    assert_eq!(
        values("b"),
        Values::Category { codes: vec![0, MISSING, 1], names: vec!["true".into(), "false".into()] }
    );
    let Values::Number { values: integers, integer: true } = values("i") else { panic!() };
    assert!(integers[0] == 1.0 && integers[1].is_nan() && integers[2] == -3.0);
    assert!(matches!(values("f"), Values::Number { integer: false, .. }));
    assert_eq!(values("m"), text(&["1", "y", ""]));
    assert_eq!(values("n"), Values::Unsupported { type_name: "array".into(), n_rows: 3 });
    assert_eq!(values("late"), Values::Unsupported { type_name: "object".into(), n_rows: 3 });
}

#[test]
fn no_value_is_no_value_whatever_stands_beside_it() {
    let lines =
        ["{\"x\":1,\"c\":\"a\"}", "{\"x\":\"NA\",\"c\":\"NA\"}", "{\"x\":\" ? \",\"c\":2}", "{\"x\":\"\",\"c\":null}"];
    let whole = jsonl(&lines.join("\n"));
    let Values::Number { values, integer: true } = &whole.columns[0].values else { panic!("{whole:?}") };
    assert!(values[0] == 1.0 && values[1..].iter().all(|value| value.is_nan()));
    assert_eq!(whole.columns[1].values, text(&["a", "", "2", ""]));
    for (row, line) in lines.iter().enumerate() {
        let alone = jsonl(line);
        for (column, cells) in whole.columns.iter().zip(&alone.columns) {
            assert_eq!(cells.values.text(0), column.values.text(row), "{line}");
        }
    }
}

#[test]
fn errors_say_where() {
    assert_eq!(
        error("{\"a\":1}\n\n{\"a\":1,}\n"),
        "input, line 3: invalid JSON at byte 8: trailing comma; correct the line, or write the objects again with one a line"
    );
    assert_eq!(
        error("{\"a\":1,\"b\":2,\"a\":3}"),
        "input, line 1, column `a`: this key stands twice in the object; keep one of the two"
    );
    assert!(
        error("[1, 2]\n").starts_with(
            "input, line 1: invalid JSON at byte 1: invalid type: integer `1`, expected an object such as"
        ),
        "{}",
        error("[1, 2]\n")
    );
    assert!(error("3\n").ends_with("each line must be one JSON object"));
    assert!(error("{\"a\":1} {\"a\":2}\n").contains("line 1: invalid JSON at byte 9: trailing characters"));
    assert!(error("{\"a\":1e999}\n").contains("line 1, column `a`: the number 1e999 is out of range"));
    assert!(error("{\"a\":\"\\ud800\"}\n").starts_with("input, line 1"));
    assert!(error("\n \n").contains("input: holds no rows"));
    assert!(error("").contains("input: is empty"));
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(jsonl(&deep).columns[0].values, Values::Unsupported { .. }));
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(|s| Value::from(s.replace('\0', ""))),
        prop::sample::select(MISSING_TEXTS.as_slice()).prop_map(Value::from),
        Just(serde_json::json!([1, {"a": "b"}])),
    ]
}

proptest! {
    #[test]
    fn strings_and_numbers_come_back(rows in prop::collection::vec((any::<String>(), any::<f64>().prop_filter("finite", |x| x.is_finite())), 1..10)) {
        let bytes: String = rows.iter().map(|(s, x)| serde_json::json!({"s": s, "x": x}).to_string() + "\n").collect();
        let table = jsonl(&bytes);
        let Values::Category { codes, names } = &table.columns[0].values else { panic!() };
        let strings: Vec<Option<&String>> = codes.iter().map(|&code| names.get(code as usize)).collect();
        prop_assert_eq!(strings, rows.iter().map(|(s, _)| Some(s).filter(|s| !is_missing(s))).collect::<Vec<_>>());
        let Values::Number { values, .. } = &table.columns[1].values else { panic!() };
        prop_assert_eq!(values, &rows.iter().map(|(_, x)| *x).collect::<Vec<_>>());
    }

    #[test]
    fn batches_of_any_size_make_the_same_table(rows in prop::collection::vec(prop::collection::hash_map("[abc]", value(), 0..4), 1..12), batch in 1..6_usize) {
        let bytes: String = rows.iter().map(|row| serde_json::to_string(row).unwrap() + "\n").collect();
        let whole = jsonl(&bytes);
        let put_together = batches(bytes.as_bytes(), &options(), batch).unwrap();
        prop_assert!(same(&whole, &put_together), "{whole:?}\n{put_together:?}");
    }

    #[test]
    fn any_bytes_are_rows_or_an_error(bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"{}[]\":,1ae\n".as_slice())], 0..60)) {
        let _ = read(&bytes, &options());
    }
}
