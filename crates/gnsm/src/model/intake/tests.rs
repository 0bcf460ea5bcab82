use std::fmt::Write as _;
use std::io::Cursor;

use super::*;
use crate::method::Method;
use crate::model::Model;
use crate::table::ReadOptions;

fn text(n_rows: usize, order: impl Fn(usize) -> usize) -> String {
    let mut text = String::from("shop,day,amount,odd\n");
    for i in (0..n_rows).map(order) {
        let shop = ["north", "south", "east"][i % 3];
        let _ = writeln!(
            text,
            "{shop},2024-{:02}-{:02},{}.{:02},{}",
            i % 12 + 1,
            i % 27 + 1,
            i % 3 * 100 + i % 61,
            i % 100,
            i % 50 / 49
        );
    }
    text
}

fn reader(text: &str) -> TableReader {
    let input = Box::new(Cursor::new(text.to_owned()));
    TableReader::from_reader("shops.csv", input, &ReadOptions::default()).expect("opened")
}

fn builder() -> ModelBuilder<'static> {
    Model::builder().label("odd").anomaly("1")
}

fn rows(text: &str, room: Room) -> RowsToLearn {
    builder().read(&mut reader(text), room, &mut |_| true).expect("read").expect("rows")
}

#[test]
fn true_is_the_label_1_however_it_is_spelled() {
    for (label, anomaly, says) in [
        ("1", "1", true),
        ("true", "1", true),
        ("True", "1", true),
        ("TRUE", "true", true),
        ("false", "1", false),
        ("0", "1", false),
        ("yes", "1", false),
        ("1", "true", false),
        ("True", "0", false),
    ] {
        assert_eq!(says_anomaly(label, anomaly), says, "{label} {anomaly}");
    }
}

#[test]
fn what_fits_gives_the_same_model_as_ever() {
    let text = text(8_000, |i| i);
    let whole = reader(&text).next_batch(usize::MAX).expect("read").expect("rows");
    let expected = builder().fit(&whole).expect("fitted");
    let held = rows(&text, Room::default());
    assert!(held.chosen_from().is_none() && *held.table() == whole);
    let model = builder().fit_rows(&held).expect("fitted");
    assert!(model.to_bytes().expect("bytes") == expected.to_bytes().expect("bytes"));
}

#[test]
fn what_does_not_fit_gives_the_same_model_in_any_order() {
    let room = Room { rows: Some(2000), ..Room::default() };
    let mut models = Vec::new();
    // 20,011 is prime: every row goes to another place.
    for order in [1, 7919] {
        let rows = rows(&text(20_011, |i| i * order % 20_011), room);
        assert_eq!((rows.table().n_rows(), rows.chosen_from()), (2000, Some(19_611)));
        let model = builder().fit_rows(&rows).expect("fitted");
        let report = model.report();
        assert_eq!((report.chosen_from, report.labelled_anomalies), (Some(19_611), 400));
        models.push(model.to_bytes().expect("bytes"));
    }
    assert!(models[0] == models[1]);
    let model = Model::from_bytes(&models[0]).expect("a model");
    assert_eq!(model.report().chosen_from, Some(19_611));
}

#[test]
fn the_kinds_and_categories_are_those_of_all_rows() {
    let mut text = text(20_000, |i| i);
    text += "elsewhere,2024-01-01,5.00,0\n,2024-01-01,5.00,0\n";
    let all = rows(&text, Room::default());
    let some = rows(&text, Room { rows: Some(300), ..Room::default() });
    let schema = |rows: &RowsToLearn| builder().fit_rows(rows).expect("fitted").schema().clone();
    assert_eq!(schema(&some).columns, schema(&all).columns);
}

/// Every method meets categories that only other rows have.
#[test]
fn all_methods_learn_from_chosen_rows() {
    let text = text(1500, |i| i) + "elsewhere,2031-01-01,5.00,0\n,never,five,0\n";
    let rows = rows(&text, Room { rows: Some(200), ..Room::default() });
    for name in Method::NAMES {
        let mut method = Method::named(name).expect(name);
        if let Method::Gnsm(settings) = &mut method {
            (settings.network.width, settings.network.depth, settings.training.steps) = (8, 1, 12);
        }
        let model = builder().settings(method).max_seconds(0.5).fit_rows(&rows).expect(name);
        let whole = reader(&text).next_batch(usize::MAX).expect("read").expect("rows");
        let scores = model.score(&whole).expect(name);
        assert!(scores.iter().all(|row| row.score.is_finite() && row.p_value > 0.0), "{name}");
    }
}

#[test]
fn memory_decides_how_many_rows_are_chosen() {
    let text = text(30_000, |i| i);
    let whole = rows(&text, Room::default());
    let of_row = whole.table().n_bytes() / whole.table().n_rows();
    let half = Room { bytes: (BYTES_OF_FIT * of_row * 15_000) as u64, rows: None };
    let n = rows(&text, half).table().n_rows();
    assert!((14_000..=15_000).contains(&n) && n.is_multiple_of(1000), "{n}");
    // There is always room for some.
    assert_eq!(rows(&text, Room { bytes: 1, rows: None }).table().n_rows(), FEWEST_CHOSEN);
}

#[test]
fn parts_of_a_table_on_many_machines_give_the_same_model() {
    // Rows that repeat, so that what is done with copies is compared too.
    let text = text(6000, |i| i % 5000);
    let most = 700;
    let expected = builder().fit_rows(&rows(&text, Room { rows: Some(most), ..Room::default() })).expect("fitted");
    let whole = reader(&text).next_batch(usize::MAX).expect("read").expect("rows");
    let parts = [0..100, 100..4000, 4000..6000].map(|rows| whole.select(&rows.collect::<Vec<_>>()));
    let (mut survey, mut hashes) = (Survey::default(), SmallestHashes::new(most));
    for part in parts.iter().rev() {
        let text = csv(part);
        let (here, smallest) = builder().survey(&mut reader(&text), most).expect("surveyed");
        survey.merge(here);
        hashes.merge(&smallest);
    }
    let limit = hashes.clone().limit();
    let mut chosen = String::from("shop,day,amount,odd\n");
    for part in &parts {
        let flags = builder().is_chosen(part, limit).expect("told");
        let rows: Vec<usize> = (0..part.n_rows()).filter(|row| flags[*row]).collect();
        chosen += csv(&part.select(&rows)).split_once('\n').expect("a header").1;
    }
    let rows = builder().read_chosen(&mut reader(&chosen), survey, hashes).expect("read").expect("rows");
    let model = builder().fit_rows(&rows).expect("fitted");
    assert!(model.to_bytes().expect("bytes") == expected.to_bytes().expect("bytes"));
}

fn csv(table: &Table) -> String {
    let mut text = String::from("shop,day,amount,odd\n");
    for row in 0..table.n_rows() {
        let cells: Vec<_> =
            table.columns.iter().map(|column| column.values.text(row).unwrap_or_default().into_owned()).collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

#[test]
fn nothing_to_learn_from_is_told() {
    let text = "a,odd\n".to_owned() + &"1,1\n".repeat(30_000);
    let room = Room { rows: Some(100), ..Room::default() };
    let problem = builder().read(&mut reader(&text), room, &mut |_| true).expect_err("refused").to_string();
    assert!(problem.starts_with("all rows of shops.csv have the label of an anomaly"), "{problem}");
    let stopped = builder().read(&mut reader(&text), room, &mut |_| false).expect("read");
    assert!(stopped.is_none());
}
