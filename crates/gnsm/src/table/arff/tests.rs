//! Tests of the ARFF reader.

use proptest::prelude::*;

use super::super::tests::{batches, error_of, read, same, texts};
use super::super::{Format, ReadOptions};
use super::*;

fn options() -> ReadOptions {
    ReadOptions { format: Some(Format::Arff), ..ReadOptions::default() }
}

fn arff(text: &str) -> Table {
    read(text.as_bytes(), &options()).unwrap()
}

fn error(text: &str) -> String {
    error_of(text.as_bytes(), &options())
}

const HEAD: &str = "% a comment\r\n@RELATION 'x y'\n\n@Attribute color {red, 'dark blue',\"it's\"} % why\n@attribute 'the size' real\r\n@attribute n INTEGER [0, 9]\n@attribute note string\n@attribute day date \"yyyy-MM-dd\"%x\n@DATA\n";

#[test]
fn all_kinds_of_values() {
    let table = arff(&format!(
        "{HEAD}red,1.5,2,'a, b',2001-04-03 % comment\r\n\n% comment\n 'dark blue' ,?,?,?,\"2001\"\n\"it's\"\t-1e3\t4\t'?'\tx\n?,NaN,1,z,?,{{5}}\n"
    ));
    assert_eq!(table.lines, [10, 13, 14, 15]);
    assert_eq!(texts(&table, "color"), ["red", "dark blue", "it's", "<missing>"]);
    assert_eq!(texts(&table, "the size"), ["1.5", "", "-1000", ""]);
    assert_eq!(texts(&table, "n"), ["2", "", "4", "1"]);
    assert!(matches!(table.columns[2].values, Values::Number { integer: true, .. }));
    assert_eq!(texts(&table, "note"), ["a, b", "<missing>", "?", "z"]);
    assert_eq!(texts(&table, "day"), ["2001-04-03", "2001", "x", "<missing>"]);
}

#[test]
fn sparse_rows() {
    let table = arff(&format!("{HEAD}{{0 'dark blue', 2 3}}\n{{}}\n{{1 ?, 3 'x y' }}, {{2.5}}\n{{4 d}} % c\n"));
    assert_eq!(texts(&table, "color"), ["dark blue", "red", "red", "red"]);
    assert_eq!(texts(&table, "the size"), ["0", "0", "", "0"]);
    assert_eq!(texts(&table, "n"), ["3", "0", "0", "0"]);
    assert_eq!(texts(&table, "note"), ["<missing>", "<missing>", "x y", "<missing>"]);
    let nothing_declared = arff("@attribute a {}\n@attribute b real\n@data\n{1 2}\n?,1\n");
    assert_eq!(texts(&nothing_declared, "a"), ["<missing>", "<missing>"]);
}

#[test]
fn columns_without_rows() {
    let table = arff(HEAD);
    assert_eq!((table.columns.len(), table.n_rows()), (5, 0));
    let Values::Category { names, .. } = &table.columns[0].values else { panic!() };
    assert_eq!(names, &["red", "dark blue", "it's"]);
}

#[test]
fn a_fraction_in_an_integer_column_is_kept() {
    let table = arff("@attribute n integer\n@data\n1\n2.5\n");
    assert!(matches!(table.columns[0].values, Values::Number { integer: false, .. }));
}

#[test]
fn errors_say_where_and_what_to_do() {
    let row = |row: &str| error(&format!("{HEAD}red,1,1,a,b\n{row}\n"));
    assert_eq!(
        row("'dark blu',1,1,a,b"),
        "input, line 11, column `color`: `dark blu` is not a declared category; add it to the attribute's declaration, or write `dark blue`"
    );
    assert!(row("green-ish,1,1,a,b").ends_with("add it to the attribute's declaration"));
    assert_eq!(
        row("red,big,1,a,b"),
        "input, line 11, column `the size`: `big` is not a number; correct it, or write ? where a value is missing"
    );
    assert!(row("red,inf,1,a,b").contains("`inf` is not a number"));
    assert!(row("red,1,1,a").starts_with("input, line 11, column `day`: expected 5 values, found 4; complete the row"));
    assert!(row("red,1,1,a,b,c").starts_with("input, line 11: expected 5 values, found 6"));
    assert!(row("red,1,,a,b").starts_with("input, line 11, column `n`: an empty value; write ?"));
    assert!(row("red,1,1,a,b,").contains("line 11: a comma after the last value"));
    assert!(row("red,1,1,'a,b").starts_with("input, line 11, column `note`: the quote ' is not closed on this line"));
    assert!(row("red,1,1,'a'b,c").contains("column `note`: text after a closing quote: `b,c`"));
    assert!(row("red,1,1,a,b,{x}").contains("the weight at the end of the row is not a number"));
    assert!(row("{9 x}").contains("`9` is not a position from 0 to 4"));
    assert!(row("{2 1, 1 1}").contains("`1` is not a position from 3 to 4"));
    assert!(row("{3 x").contains("a sparse row without its closing brace"));
    assert!(row("{3}").contains("`3}` is not a position"));
    assert!(row("{3 }").contains("column `note`: a position without a value"));
    assert!(row("{3 x} y").contains("`y` after the end of the row"));

    assert!(
        error("@attribute a relational\n@data\n").contains("line 1, column `a`: relational attributes are not read")
    );
    assert!(error("@attribute a complex\n").contains("line 1, column `a`: unknown type `complex`; use numeric"));
    assert!(error("@attribute a\n").contains("the attribute has no type"));
    assert!(error("@attribute\n").contains("an @attribute without a name"));
    assert!(
        error("@attribute a real\n\n@attribute a real\n@data\n")
            .contains("line 3, column `a`: two attributes have this name")
    );
    assert!(error("@attribute a {x,y\n").contains("the list of categories is not closed"));
    assert!(error("@attribute a {x,,y}\n").contains("an empty category in the list"));
    assert!(error("@attribute a {'x' y}\n").contains("expected a comma or a closing brace, found `y}`"));
    assert!(error("@attribute a {x} y\n").contains("`y` after the attribute's type"));
    assert!(error("@attribute 'a real\n").contains("the quote ' is not closed"));
    assert!(error("hello\n").contains("expected @relation, @attribute or @data, found `hello`"));
    assert!(error("@data\n1\n").contains("@data before any @attribute"));
    assert!(error("@attribute a real\n").contains("the file ends before @data"));
}

/// As Weka quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("'");
    for c in text.chars() {
        match c {
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\\' | '\'' | '"' | '%' => quoted.extend(['\\', c]),
            _ => quoted.push(c),
        }
    }
    quoted + "'"
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{1,3}", "[a,'\"%{}\\\\? \t\n\r]{0,5}", any::<String>()]
        .prop_map(|text: String| text.replace('\0', ""))
}

proptest! {
    #[test]
    fn quoted_words_come_back(name in word(), rows in prop::collection::vec((word(), word()), 1..8), batch in 1..5_usize) {
        let nominal: Vec<String> = rows.iter().map(|(a, _)| quoted(a)).collect();
        let mut text = format!("@relation r\n@attribute {} {{{}}}\n@attribute 'the other one' string\n@data\n", quoted(&format!("x{name}")), nominal.join(","));
        for (a, b) in &rows {
            text.extend([&quoted(a), ",", &quoted(b), "\n"]);
        }
        let table = arff(&text);
        prop_assert_eq!(texts(&table, &format!("x{name}")), rows.iter().map(|(a, _)| a.clone()).collect::<Vec<_>>());
        prop_assert_eq!(texts(&table, "the other one"), rows.iter().map(|(_, b)| b.clone()).collect::<Vec<_>>());
        prop_assert!(same(&batches(text.as_bytes(), &options(), batch).unwrap(), &table));
    }

    #[test]
    fn any_bytes_are_rows_or_an_error(bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"{},'\"%? a1\n\\".as_slice())], 0..40)) {
        let _ = read(&bytes, &options());
        let rows = [HEAD.as_bytes(), &bytes].concat();
        let _ = read(&rows, &options());
        let list = [b"@attribute a {".as_slice(), &bytes].concat();
        let _ = read(&list, &options());
    }
}
