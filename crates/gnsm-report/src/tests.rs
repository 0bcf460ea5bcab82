//! Whole reports: what is in them, and that no text of a table can write the page.

use std::io::Cursor;

use gnsm::{Model, ReadOptions, Result, Rule, Table, TableReader};
use serde_json::Value;

use crate::Collector;
use crate::kind::ReasonKind;

const HOSTILE: [&str; 5] =
    ["<script>alert(1)</script>", "</script><b>", "\"'&><", "👩\u{200d}👧 \u{202e}gpj", "{{ 7 }} {% if %}"];

fn read(name: &str, text: String) -> Result<Table> {
    let mut reader = TableReader::from_reader(name, Box::new(Cursor::new(text)), &ReadOptions::default())?;
    Ok(reader.next_batch(usize::MAX)?.expect("rows"))
}

/// Rows in which the size follows from the colour, then those given.
fn table(n_rows: usize, more: &[&str]) -> Result<Table> {
    let mut text = String::from("colour,shape,size,when,note\n");
    for row in 0..n_rows {
        let (colour, size) = [("red", 10), ("green", 50), ("blue", 90)][row % 3];
        let shape = if row % 3 == 0 { "round" } else { "square" };
        let day = 1 + row % 28;
        text += &format!("{colour},{shape},{},2024-03-{day:02},{}\n", size + row % 7, ["a", "b"][row % 2]);
    }
    read("table.csv", text + &more.join(""))
}

fn report(model: &Model, table: &Table, rule: Rule, batch: usize) -> Result<String> {
    let mut collector = Collector::new(model, rule)?;
    let mut text = String::from("colour,shape,size,when,note\n");
    let mut first = 0;
    while first < table.n_rows() {
        let end = (first + batch).min(table.n_rows());
        for row in first..end {
            let cells: Vec<String> = table
                .columns
                .iter()
                .map(|column| format!("\"{}\"", column.values.text(row).unwrap_or_default().replace('"', "\"\"")))
                .collect();
            text += &format!("{}\n", cells.join(","));
        }
        let mut part = read("table.csv", std::mem::take(&mut text))?;
        part.lines = table.lines[first..end].to_vec();
        collector.add(&part)?;
        text.push_str("colour,shape,size,when,note\n");
        first = end;
    }
    Ok(collector.finish("table.csv", "m.gnsm").html())
}

fn data(html: &str) -> Value {
    let start = html.find("id=\"data\">").expect("data") + "id=\"data\">".len();
    let end = start + html[start..].find("</script>").expect("an end");
    serde_json::from_str(&html[start..end]).expect("json")
}

#[test]
fn a_page_does_not_depend_on_batches() -> Result<()> {
    let table = table(400, &["red,square,11,2024-03-02,a\n", "blue,square,900,2024-03-03,b\n"])?;
    let model = Model::fit(&table)?;
    for rule in [Rule::Contamination(0.01), Rule::Fdr(0.1), Rule::Threshold(20.0)] {
        let whole = report(&model, &table, rule, usize::MAX)?;
        for batch in [50, 123] {
            assert!(report(&model, &table, rule, batch)? == whole, "{rule:?}, batches of {batch}");
        }
        let data = data(&whole);
        let rows = data["rows"].as_array().expect("rows");
        let scores = model.score(&table)?;
        let highest = scores.iter().map(|row| row.score).fold(f64::MIN, f64::max);
        assert_eq!((rows.len(), rows[0]["s"].as_f64()), (100, Some(highest)));
        let row = rows[0]["n"].as_u64().expect("a number") as usize;
        assert_eq!(rows[0]["p"].as_f64(), Some(scores[row].p_value));
        assert!(rows[0]["u"].is_u64(), "a usual row stands beside it");
    }
    Ok(())
}

#[test]
fn flags_are_those_of_the_rule() -> Result<()> {
    let table = table(400, &["red,square,11,2024-03-02,a\n", "blue,square,900,2024-03-03,b\n"])?;
    let model = Model::fit(&table)?;
    let scores = model.score_own(&table)?;
    let mut collector = Collector::new(&model, Rule::Fdr(0.1))?.top(5);
    collector.add_own(&table, &scores)?;
    let report = collector.finish("table.csv", "m.gnsm");
    let mut counter = gnsm::FdrCounter::new(0.1)?;
    scores.iter().for_each(|row| counter.add(row.p_value));
    let flagged = scores.iter().filter(|row| Rule::Fdr(0.1).flags(row.score, row.p_value, counter.cutoff())).count();
    assert_eq!((report.rows(), report.flagged(), report.shown()), (402, flagged as u64, 5));
    let marked = data(&report.html())["rows"].as_array().expect("rows").iter().filter(|row| row["f"] == true).count();
    assert_eq!(marked, flagged.min(5));
    Ok(())
}

#[test]
fn no_text_can_write_the_page() -> Result<()> {
    let long = "x".repeat(10_000);
    let names: Vec<String> = HOSTILE.iter().map(|text| format!("\"{}\"", text.replace('"', "\"\""))).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..200 {
        let mut cells: Vec<String> = (0..5).map(|at| format!("{}", (row + at) % 3)).collect();
        if row % 20 == 0 {
            cells[row / 20 % 5] = if row == 0 { long.clone() } else { names[row / 20 % 5].clone() };
        }
        text += &(cells.join(",") + "\n");
    }
    let table = read(HOSTILE[1], text)?;
    let builder = Model::builder().categorical(HOSTILE);
    let model = builder.fit(&table)?;
    let mut collector = Collector::new(&model, Rule::Contamination(0.05))?;
    collector.add(&table)?;
    let html = collector.finish(HOSTILE[1], HOSTILE[0]).html();
    assert_eq!(html.matches("<script").count(), 2, "the data and the page's own");
    assert_eq!(html.matches("</script>").count(), 2);
    for raw in ["<b>Hello", "alert(1)</", "\u{202e}gpj</", "x".repeat(400).as_str()] {
        assert!(!html.contains(raw), "{raw}");
    }
    assert!(html.contains("&#60;script&#62;alert(1)") && html.contains("Cells of more than 300 characters are cut."));
    let data = data(&html);
    let cells: Vec<&str> = data["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .flat_map(|row| row["c"].as_array().expect("cells"))
        .filter_map(Value::as_str)
        .collect();
    assert!(HOSTILE.iter().filter(|text| cells.contains(*text)).count() >= 3, "texts come through as they are");
    Ok(())
}

#[test]
fn a_page_of_large_cells_stays_small() -> Result<()> {
    let mut text = (0..40).map(|at| format!("c{at}")).collect::<Vec<_>>().join(",") + "\n";
    for row in 0..1200_usize {
        let cells: Vec<String> = (0..40).map(|at| format!("{} {}", row * 7 + at, "<".repeat(250))).collect();
        text += &(cells.join(",") + ",\n")[..];
        text.truncate(text.len() - 2);
        text.push('\n');
    }
    let table = read("large.csv", text)?;
    let model = Model::builder().categorical(["c0", "c1"]).method("marginals").fit(&table)?;
    let mut collector = Collector::new(&model, Rule::Contamination(0.5))?.top(1000);
    collector.add(&table)?;
    let html = collector.finish("large.csv", "m.gnsm").html();
    assert!(html.len() < 3_000_000, "{}", html.len());
    assert!(html.contains("more would have made this page too large.") || html.contains("characters are cut."));
    Ok(())
}

#[test]
fn reasons_have_their_kinds() -> Result<()> {
    let usual = table(400, &[])?;
    let model = Model::fit(&usual)?;
    for (line, column, kind) in [
        ("purple,square,52,2024-03-02,a\n", "colour", ReasonKind::New),
        ("red,square,12,2024-03-02,a\n", "shape", ReasonKind::Together),
        ("red,round,95000,2024-03-02,a\n", "size", ReasonKind::Number),
        ("red,round,12,1924-03-02,a\n", "when", ReasonKind::Date),
        ("red,round,many,2024-03-02,a\n", "size", ReasonKind::Stray),
        ("red,,12,2024-03-02,a\n", "shape", ReasonKind::Missing),
    ] {
        let rows = table(400, &[line])?;
        let reasons = &model.explain(&rows, &[400], usize::MAX)?[0].reasons;
        let schema = model.schema().columns.iter().find(|schema| schema.name == column);
        let found = reasons.iter().find(|reason| reason.column == column).map(|reason| ReasonKind::of(reason, schema));
        assert_eq!(found, Some(kind), "{line} {reasons:?}");
    }
    Ok(())
}
