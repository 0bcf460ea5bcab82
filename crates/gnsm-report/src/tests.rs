//! Whole reports: what is in them, and that no text of a table can write the page.

use std::io::Cursor;

use gnsm::{Decision, Judge, Model, ReadOptions, Result, Rule, Table, TableReader};
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
    let judge = model.judge();
    let mut decision = Decision::new(rule)?;
    let mut collector = Collector::new(&judge);
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
        let batch = judge.read(&part)?;
        decision.add(batch.scores());
        collector.add(&batch)?;
        text.push_str("colour,shape,size,when,note\n");
        first = end;
    }
    Ok(collector.finish(decision.finish(), "table.csv", "m.gnsm").html())
}

/// What the file and the model are called.
const NAMES: [&str; 2] = ["m.gnsm", "new.csv"];

/// The page on one batch.
fn page<'a>(
    judge: &'a Judge<'a>,
    table: &Table,
    rule: Rule,
    set_up: impl FnOnce(Collector<'a>) -> Collector<'a>,
    names: [&str; 2],
) -> Result<String> {
    let mut collector = set_up(Collector::new(judge));
    let batch = judge.read(table)?;
    let mut decision = Decision::new(rule)?;
    decision.add(batch.scores());
    collector.add(&batch)?;
    Ok(collector.finish(decision.finish(), names[1], names[0]).html())
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
    let fit = Model::builder().fit_and_judge(&table)?;
    let (own, judge) = (fit.own(), fit.model.judge());
    let mut decision = Decision::new(Rule::Fdr(0.1))?;
    decision.add(own.scores());
    let flags = decision.finish();
    let mut collector = Collector::new(&judge).top(5);
    collector.add(&own)?;
    let report = collector.finish(flags, "table.csv", "m.gnsm");
    let flagged = own.scores().iter().filter(|row| flags.flags(row)).count();
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
    let html = page(&model.judge(), &table, Rule::Contamination(0.05), |it| it, [HOSTILE[0], HOSTILE[1]])?;
    assert_eq!(html.matches("<script").count(), 2, "the data and the page's own");
    assert_eq!(html.matches("</script>").count(), 2);
    for raw in ["<b>Hello", "alert(1)</", "\u{202e}gpj</", "x".repeat(400).as_str()] {
        assert!(!html.contains(raw), "{raw}");
    }
    assert!(html.contains("&#60;script&#62;alert(1)") && html.contains("Cells of more than 300 characters are cut."));
    let data = data(&html);
    let texts = data["texts"].as_array().expect("texts").iter();
    let cells = data["rows"].as_array().expect("rows").iter().flat_map(|row| row["c"].as_array().expect("cells"));
    let cells: Vec<&str> = cells.chain(texts).filter_map(Value::as_str).collect();
    assert!(HOSTILE.iter().filter(|text| cells.contains(*text)).count() >= 3, "texts come through as they are");
    Ok(())
}

#[test]
fn a_page_of_large_cells_stays_small() -> Result<()> {
    let mut text = (0..40).map(|at| format!("c{at}")).collect::<Vec<_>>().join(",") + "\n";
    for row in 0..800_usize {
        let cells: Vec<String> = (0..40).map(|at| format!("{} {}", row * 7 + at, "<".repeat(250))).collect();
        text += &(cells.join(",") + ",\n")[..];
        text.truncate(text.len() - 2);
        text.push('\n');
    }
    let table = read("large.csv", text)?;
    let model = Model::builder().categorical(["c0", "c1"]).method("marginals").fit(&table)?;
    let html = page(&model.judge(), &table, Rule::Contamination(0.5), |it| it.top(1000), NAMES)?;
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

#[test]
fn drift_comes_first() -> Result<()> {
    let usual = table(400, &[])?;
    let model = Model::fit(&usual)?;
    let html = report(&model, &usual, Rule::Contamination(0.01), usize::MAX)?;
    assert!(html.contains("No column has moved since the model learned (400 rows here, 400 learned from)."));
    assert!(!html.contains("class=\"drift"), "nothing is listed");

    let moved: Vec<String> = (0..200).map(|at| format!("<mauve>,round,{},2024-03-02,a\n", 10 + at % 7)).collect();
    let new = table(0, &moved.iter().map(String::as_str).collect::<Vec<_>>())?;
    let html = report(&model, &new, Rule::Contamination(0.01), usize::MAX)?;
    let drift = html.find("since the model learned (200 rows here, 400 learned from).").expect("drift");
    assert!(drift < html.find("class=\"tiles\"").expect("tiles"), "before all else");
    let place =
        data(&html)["columns"].as_array().expect("columns").iter().position(|column| column["name"] == "colour");
    let link = format!("<a href=\"#column-{}\"><bdi>colour</bdi></a>", place.expect("a column"));
    assert!(html.contains(&link) && html.contains(&format!("<article id=\"column-{}\">", place.unwrap_or(99))));
    assert!(html.contains("a new value in all of the rows that have a value"));
    assert!(!html.contains("no part of the scores"), "nothing was set aside");

    // With what is new in most rows set aside, the page says so, and still draws how the column falls.
    let mut counter = model.drift();
    counter.add(&new)?;
    let compared = counter.report();
    let rule = Rule::Contamination(0.01);
    let html = page(&model.judge_without(&compared), &new, rule, |it| it.compared(Some(compared.clone())), NAMES)?;
    assert!(html.contains("what is new there is no part of the scores"));
    assert!(html.contains("100 % of all rows never seen in training"));
    let rows = data(&html)["rows"].clone();
    let reasons = rows.as_array().expect("rows").iter().flat_map(|row| row["r"].as_array().expect("reasons"));
    assert!(reasons.clone().all(|reason| reason["c"] != place.expect("a column")));
    let html = page(&model.judge(), &new, rule, |it| it.compared(None), NAMES)?;
    assert!(!html.contains("since the model learned"));
    Ok(())
}

/// The bars of the strongest reason of a last row.
fn bars(html: &str, row: u64) -> Vec<(String, f64, bool)> {
    let data = data(html);
    let row = data["rows"].as_array().expect("rows").iter().find(|found| found["n"] == row).expect("the row");
    let text = |text: &Value| match text.as_u64() {
        Some(place) => data["texts"][place as usize].as_str().expect("a text").to_owned(),
        None => text.as_str().expect("a text").to_owned(),
    };
    let bar = |bar: &Value| (text(&bar[0]), bar[1].as_f64().expect("a number"), bar[2] == true);
    row["r"][0]["a"].as_array().expect("bars").iter().map(bar).collect()
}

#[test]
fn bars_tell_what_is_likely() -> Result<()> {
    let usual = table(400, &[])?;
    let model = Model::fit(&usual)?;
    let page = |line: &str| report(&model, &table(400, &[line])?, Rule::Contamination(0.01), usize::MAX);
    let category = bars(&page("red,square,12,2024-03-02,a\n")?, 400);
    assert!(category[0].0 == "square" && category[0].2 && category[0].1 < 0.1, "{category:?}");
    assert!(category[1].0 == "round" && !category[1].2 && category[1].1 > 0.9, "{category:?}");
    let number = bars(&page("red,round,95000,2024-03-02,a\n")?, 400);
    assert!(number[0].0 == "95000 or further out" && number[0].1 < 0.001, "{number:?}");
    assert!(number[1].0.contains(" to ") && number[1].1 == 0.9, "{number:?}");
    let date = bars(&page("red,round,12,1924-03-02,a\n")?, 400);
    assert!(date[0].2 && date[0].1 < 0.01, "{date:?}");
    Ok(())
}

#[test]
fn every_method_shows_training_beside_the_file() -> Result<()> {
    let usual = table(400, &[])?;
    for method in ["cells", "marginals", "ecod"] {
        let model = Model::builder().method(method).fit(&usual)?;
        let html = report(&model, &usual, Rule::Contamination(0.01), usize::MAX)?;
        let card = &html[html.find("<bdi>colour</bdi> <span").expect("a card")..];
        assert!(card.contains("<td class=\"share\">34 %</td><td class=\"share faint\">34 %</td>"), "{method}: {card}");
        let card = &html[html.find("<bdi>size</bdi> <span").expect("a card")..];
        assert!(card[..card.find("</figure>").expect("an end")].contains("class=\"usual\""), "{method}");
    }
    Ok(())
}

#[test]
fn a_thousand_wide_rows_fit() -> Result<()> {
    let mut text = (0..50).map(|at| format!("column {at}")).collect::<Vec<_>>().join(",") + "\n";
    let mut state = 1_u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for _ in 0..1200 {
        let cells: Vec<String> =
            (0..50)
                .map(|at| {
                    if at % 2 == 0 { format!("value {}", (draw() * 9.0) as u32) } else { format!("{}", draw() * 100.0) }
                })
                .collect();
        text += &(cells.join(",") + "\n");
    }
    let table = read("wide.csv", text)?;
    let model = Model::fit(&table)?;
    let html = page(&model.judge(), &table, Rule::Contamination(0.01), |it| it.top(1000), NAMES)?;
    assert!(html.len() < 3_000_000, "{}", html.len());
    assert_eq!(data(&html)["rows"].as_array().map(Vec::len), Some(1000));
    assert!(!html.contains("characters are cut"));
    Ok(())
}

/// A table that was spoiled: other values, other columns, fewer cells.
fn spoiled(draw: &mut impl FnMut(usize) -> usize) -> String {
    const CELLS: [&str; 16] = [
        "red",
        "blue",
        "round",
        "12",
        "1e308",
        "-1e-308",
        "",
        "NaN",
        "2024-03-02",
        "0001-01-01",
        "</script>",
        "\u{202e}",
        "\"a,\"\"b\"",
        "\"\n\"",
        "999999999999999999999",
        "👩\u{200d}👧",
    ];
    const NAMES: [&str; 8] = ["colour", "shape", "size", "when", "note", "<b>", "\"x\ny\"", "🦀"];
    let mut text = String::from("colour,shape,size,when,note");
    if draw(4) == 0 {
        text += &format!(",{}", NAMES[5 + draw(3)]);
    }
    let columns = text.split(',').count();
    text.push('\n');
    for _ in 0..=draw(6) {
        let cells: Vec<&str> = (0..columns).map(|_| CELLS[draw(CELLS.len())]).collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

/// `make fuzz` runs it with many tables.
#[test]
#[ignore = "slow"]
fn fuzz_tables() -> Result<()> {
    let inputs = std::env::var("GNSM_FUZZ_TABLES").ok().and_then(|text| text.parse().ok()).unwrap_or(1000_usize);
    let usual = table(200, &[])?;
    let models = [Model::fit(&usual)?, Model::builder().method("marginals").fit(&usual)?];
    let rules = [Rule::Contamination(0.01), Rule::Fdr(0.5), Rule::Threshold(1.0)];
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (models, rules) = (&models, &rules);
            scope.spawn(move || {
                let mut state = 7 + thread as u64;
                let mut draw = |n: usize| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) as usize % n
                };
                for turn in 0..inputs / threads {
                    let text = spoiled(&mut draw);
                    let made = || {
                        let table = read("spoiled.csv", text.clone())?;
                        page(&models[turn % 2].judge(), &table, rules[turn % 3], |it| it, NAMES)
                    };
                    let html = std::panic::catch_unwind(std::panic::AssertUnwindSafe(made));
                    let html = html.unwrap_or_else(|_| panic!("{text}"));
                    if let Ok(html) = html {
                        assert_eq!(
                            (html.matches("<script").count(), html.matches("</script").count()),
                            (2, 2),
                            "{text}"
                        );
                        data(&html);
                    }
                }
            });
        }
    });
    Ok(())
}
