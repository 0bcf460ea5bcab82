//! Files that moved in known ways.

use super::*;
use crate::columns::{Aspect, ColumnChoices, Encoder, Feature, KindChoice, Schema};
use crate::decision::Calibration;
use crate::error::Result;
use crate::files::Store;
use crate::files::container::Tensors;
use crate::method::{Fitted, Method};
use crate::table::{Column, Table, TextCells, TimeKind, Values};
use crate::train::{Run, Silent};

/// Rows of an orders file: a key, a date, a category, a code with many values, a number that may be missing.
fn orders(rows: std::ops::Range<usize>, spoil: impl Fn(usize, &mut [String; 5])) -> Table {
    let names = ["order", "date", "country", "supplier", "amount"];
    let mut columns = names.map(|_| TextCells::default());
    for row in rows.clone() {
        let noise = row * 7919 % 1009;
        let mut cells = [
            format!("A-{}", 10_000 + row),
            format!("2024-{:02}-{:02}", 1 + row / 28 / 4 % 12, 1 + row / 4 % 28),
            ["Germany", "France", "Poland"][noise % 3].to_owned(),
            format!("S{:04}", noise * 31 % 400),
            if noise.is_multiple_of(20) { String::new() } else { format!("{}.5", 100 + noise % 250) },
        ];
        spoil(row, &mut cells);
        columns.iter_mut().zip(&cells).for_each(|(column, cell)| column.push(cell));
    }
    let columns = names.iter().zip(columns);
    Table {
        file: "orders.csv".into(),
        columns: columns
            .map(|(name, cells)| Column { name: (*name).to_owned(), values: Values::Text(cells) })
            .collect(),
        lines: rows.map(|row| row as u64).collect(),
        rows_may_omit_columns: false,
        parts: Vec::new(),
    }
}

fn usual(_: usize, _: &mut [String; 5]) {}

/// What a model is made of.
struct Learned {
    encoder: Encoder,
    reference: Reference,
    fitted: Fitted,
    calibration: Calibration,
}

impl Learned {
    fn of(table: &Table, choices: &ColumnChoices) -> Result<Self> {
        let rows: Vec<usize> = (0..table.n_rows()).collect();
        let method = Method::default();
        let encoder = Encoder::new(Schema::learn(table, &rows, choices)?).for_detector(true);
        let encoded = encoder.encode_whole(table)?;
        let reference = Reference::learn(&encoder, table, &rows, &encoded);
        let run = Run { seed: 1, max_seconds: None, resume: None, save: None, watcher: &mut Silent };
        let fitted = method.fit(encoder.layout(), &encoded, &encoded.select(&[]), run)?;
        let left_out = fitted.detector().score_left_out(&encoded).expect("rows can be left out");
        let calibration = Calibration::new(left_out.into_iter().map(|score| (score, 1)))?;
        Ok(Self { encoder, reference, fitted, calibration })
    }

    fn basis(&self) -> Basis<'_> {
        Basis { encoder: &self.encoder, detector: self.fitted.detector(), calibration: &self.calibration }
    }

    fn counter(&self) -> DriftCounter<'_> {
        DriftCounter::new(self.basis(), &self.reference)
    }

    fn compared(&self, table: &Table) -> Result<DriftReport> {
        let mut counter = self.counter();
        counter.add(table)?;
        Ok(counter.report())
    }
}

fn learned() -> Result<Learned> {
    learned_from(&orders(0..1000, usual))
}

fn learned_from(table: &Table) -> Result<Learned> {
    Learned::of(table, &ColumnChoices::default())
}

fn report(table: &Table) -> Result<DriftReport> {
    learned()?.compared(table)
}

fn of<'a>(report: &'a DriftReport, name: &str) -> &'a ColumnDrift {
    report.columns.iter().find(|column| column.column == name).expect(name)
}

#[test]
fn the_same_rows_have_not_moved() -> Result<()> {
    let report = report(&orders(0..1000, usual))?;
    assert!(report.columns.iter().all(|column| !column.moved && !column.set_aside), "{report:?}");
    assert!(report.columns.iter().all(|column| column.shift.is_none_or(|shift| shift < 1e-12)));
    assert_eq!((report.rows, report.learned_rows), (1000, 1000));
    assert_eq!(of(&report, "amount").out_of_range, Some(0.0));
    let missing = of(&report, "amount").missing;
    assert_eq!(missing.then, missing.now);
    Ok(())
}

#[test]
fn a_number_that_moves_while_time_goes_on_is_set_aside() -> Result<()> {
    let moved = |row: usize, cells: &mut [String; 5]| {
        if !cells[4].is_empty() && row.is_multiple_of(4) {
            cells[4] = format!("{}.5", 400 + row % 100);
        }
    };
    // A quarter of the numbers is beyond all that was learned, and the keys and dates come after those learned.
    let later = report(&orders(1000..1300, moved))?;
    assert!(of(&later, "amount").moved && of(&later, "amount").set_aside, "{later:?}");
    // The same numbers among keys and dates that were learned are odd rows.
    let same = report(&orders(0..300, moved))?;
    assert!(of(&same, "amount").moved && !of(&same, "amount").set_aside, "{same:?}");
    assert!(!of(&report(&orders(1000..1300, usual))?, "amount").set_aside);
    Ok(())
}

#[test]
fn new_values_that_come_up_while_time_goes_on_are_set_aside() -> Result<()> {
    let new_in = |one_in: usize| {
        move |row: usize, cells: &mut [String; 5]| {
            if row.is_multiple_of(one_in) {
                cells[2] = format!("Country {row}");
            }
        }
    };
    let later = report(&orders(1000..1300, new_in(5)))?;
    assert!(of(&later, "country").moved && of(&later, "country").set_aside, "{later:?}");
    // Many new values among keys and dates that were learned are odd rows.
    let same = report(&orders(0..300, new_in(5)))?;
    assert!(of(&same, "country").moved && !of(&same, "country").set_aside, "{same:?}");
    Ok(())
}

#[test]
fn a_column_that_makes_many_rows_odd_while_time_goes_on_is_set_aside() -> Result<()> {
    let learned = learned()?;
    let new_in = |one_in: usize| {
        move |row: usize, cells: &mut [String; 5]| {
            if row.is_multiple_of(one_in) {
                cells[2] = "Malta".into();
            }
        }
    };
    // One row in twelve: fewer than tell by themselves that the column has moved, but all of them would be flagged.
    let later = learned.compared(&orders(1000..1300, new_in(12)))?;
    let country = of(&later, "country");
    assert!(country.moved && country.set_aside, "{later:?}");
    assert!(country.notes.iter().any(|note| note.starts_with("makes 8")), "{country:?}");
    assert_eq!(later.columns.iter().filter(|column| column.set_aside).count(), 1, "{later:?}");
    // A few are odd rows, and so are many among keys and dates that were learned.
    for table in [orders(1000..1300, new_in(100)), orders(0..300, new_in(12))] {
        let report = learned.compared(&table)?;
        assert!(!of(&report, "country").set_aside, "{report:?}");
    }
    Ok(())
}

/// Five of a thousand orders went to Malta, and later each third does.
#[test]
fn rare_values_that_become_common_while_time_goes_on_are_set_aside() -> Result<()> {
    let to_malta = |row: usize, cells: &mut [String; 5]| {
        if row.is_multiple_of(3) && !(3..990).contains(&row) {
            cells[2] = "Malta".into();
        }
    };
    let report = |rows| learned_from(&orders(0..1000, to_malta))?.compared(&orders(rows, to_malta));
    assert!(of(&report(1000..1300)?, "country").set_aside);
    assert!(!of(&report(700..1000)?, "country").set_aside);
    Ok(())
}

/// Of the orders that come last a fifth are not paid yet.
#[test]
fn what_more_rows_miss_while_time_goes_on_is_set_aside() -> Result<()> {
    let unpaid = |row: usize, cells: &mut [String; 5]| {
        if row.is_multiple_of(5) {
            cells[4].clear();
        }
    };
    let later = report(&orders(1000..1300, unpaid))?;
    assert!(of(&later, "amount").moved && of(&later, "amount").set_aside, "{later:?}");
    let same = report(&orders(0..300, unpaid))?;
    assert!(of(&same, "amount").moved && !of(&same, "amount").set_aside, "{same:?}");
    Ok(())
}

/// A plate begins with a place. Plates of a new place come up later: neither the plate nor its beginning counts then.
#[test]
fn all_sides_of_a_value_are_set_aside_together() -> Result<()> {
    let plates = |from: u64| {
        move |row: usize, cells: &mut [String; 5]| {
            let place = if row as u64 >= from && row.is_multiple_of(3) { "HH" } else { ["B", "M", "K"][row % 3] };
            cells[3] = format!("{place}-{}", 1000 + row * 7919 % 700);
        }
    };
    let learned = learned_from(&orders(0..1000, plates(2000)))?;
    let report = learned.compared(&orders(1000..1300, plates(1000)))?;
    assert_eq!(report.columns.iter().filter(|column| column.set_aside).count(), 1, "{report:?}");
    let is_side = |feature: &&Feature| {
        learned.encoder.schema_of(feature).name == "supplier" && matches!(feature.aspect, Aspect::Shape | Aspect::Lead)
    };
    let sides = learned.encoder.features().iter().filter(is_side);
    let of_plates: Vec<usize> = sides.map(|side| side.group).collect();
    assert_eq!(of_plates.len(), 2, "the shape and the beginning are looked at");
    assert!(
        of(&report, "supplier").set_aside && of_plates.iter().all(|group| report.aside.contains(group)),
        "{report:?}"
    );
    Ok(())
}

/// Orders that are paid much later have no date yet. That is no Thursday.
#[test]
fn a_missing_date_has_no_weekday() -> Result<()> {
    let paid = |missing: usize| {
        move |row: usize, cells: &mut [String; 5]| {
            let day = row * 7919 % 1009;
            cells[4] = format!("2024-{:02}-{:02}", 1 + day / 28 % 12, 1 + day % 28);
            if !row.is_multiple_of(missing) {
                cells[4].clear();
            }
        }
    };
    let report = learned_from(&orders(0..1000, paid(2)))?.compared(&orders(0..1000, paid(10)))?;
    let notes = &of(&report, "amount").notes;
    assert!(notes.iter().any(|note| note.starts_with("missing in 90 %")), "{notes:?}");
    assert!(!notes.iter().any(|note| note.contains("day")), "{notes:?}");
    Ok(())
}

#[test]
fn times_and_dates_by_type_are_looked_up_as_they_were_counted() -> Result<()> {
    let mut table = orders(0..240, usual);
    let seconds = |step: f64| (0..240).map(|row| f64::from(row % 24) * step).collect();
    table.columns[1].values = Values::Time { seconds: seconds(3600.0), kind: TimeKind::TimeOfDay };
    table.columns[2].values = Values::Time { seconds: seconds(86400.0), kind: TimeKind::Date };
    let mut choices = ColumnChoices::default();
    choices.choose("country", KindChoice::Categorical)?;
    let report = Learned::of(&table, &choices)?.compared(&table)?;
    for column in ["date", "country"] {
        assert_eq!(of(&report, column).new.map(|new| new.now), Some(0.0), "{column}");
    }
    assert!(!report.sets_aside(), "{report:?}");
    Ok(())
}

#[test]
fn what_goes_on_is_named_and_does_not_alarm() -> Result<()> {
    let report = report(&orders(1000..1300, usual))?;
    for name in ["order", "date"] {
        let column = of(&report, name);
        assert!(!column.moved && column.notes.len() == 1, "{column:?}");
    }
    assert_eq!(of(&report, "order").notes, ["all keys are beyond those learned, as is usual for keys"]);
    assert!(of(&report, "date").notes[0].starts_with("all dates are later than those learned (2024-01-01 to 2024-09-"));
    assert!(report.moved().next().is_none(), "{report:?}");
    // A column of nine months has no month that is looked at, so nothing of a row is new.
    assert!(!report.sets_aside(), "{report:?}");
    Ok(())
}

#[test]
fn each_kind_of_change_is_found_and_measured() -> Result<()> {
    let report = report(&orders(0..1000, |row, cells| {
        if row % 5 < 4 {
            cells[3] = format!("T{row}");
        }
        if row % 2 == 0 {
            cells[2] = "Poland".into();
        }
        cells[4] = if row % 4 == 0 { String::new() } else { cells[4].replace(".5", "0.5") };
    }))?;
    let supplier = of(&report, "supplier");
    assert_eq!(supplier.new.map(|new| new.now), Some(0.8));
    assert!(supplier.moved && supplier.set_aside);
    assert!(supplier.notes[0].starts_with("a new value in 80 % of the rows that have a value, "), "{supplier:?}");
    let country = of(&report, "country");
    assert!(country.moved && !country.set_aside);
    // By hand: of the rows about a third were Poland, now about two thirds.
    let counts = |table: &Table| {
        let cells = &table.column("country").expect("a column").values;
        let count = |name: &str| (0..1000).filter(|row| cells.text(*row).as_deref() == Some(name)).count() as f64;
        ["Germany", "France", "Poland"].map(|name| (count(name) + 0.5) / 1001.5)
    };
    let before = counts(&orders(0..1000, usual));
    let now = counts(&orders(0..1000, |row, cells| {
        if row % 2 == 0 {
            cells[2] = "Poland".into();
        }
    }));
    let index: f64 = before.iter().zip(now).map(|(q, p)| (p - q) * (p / q).ln()).sum();
    assert!(country.shift.is_some_and(|shift| (shift - index).abs() < 1e-12), "{country:?} {index}");
    assert!(country.notes[0].contains("Poland in 6"), "{country:?}");
    let amount = of(&report, "amount");
    assert!(amount.moved && amount.missing.now > 0.24 && amount.out_of_range.is_some_and(|share| share > 0.9));
    assert!(amount.notes.iter().any(|note| note.contains("outside of all that was learned (100.5 to 349.5)")));
    assert!(amount.notes.iter().any(|note| note.starts_with("missing in ")), "{amount:?}");
    assert!(amount.set_aside);
    Ok(())
}

#[test]
fn few_rows_prove_nothing() -> Result<()> {
    let report = report(&orders(0..5, |_, cells| cells[3] = "new".into()))?;
    assert!(!report.sets_aside() && !of(&report, "country").moved);
    Ok(())
}

#[test]
fn parts_of_a_file_add_up_in_any_order() -> Result<()> {
    let learned = learned()?;
    let parts = [orders(500..700, usual), orders(700..1400, usual), orders(0..3, usual)];
    let counter = |parts: &[&Table]| -> Result<DriftCounter<'_>> {
        let mut counter = learned.counter();
        parts.iter().try_for_each(|part| counter.add(part))?;
        Ok(counter)
    };
    let [a, b, c] = &parts;
    let mut merged = counter(&[c])?;
    merged.merge(&counter(&[b, a])?);
    assert_eq!(merged.report(), counter(&[a, b, c])?.report());
    Ok(())
}

#[test]
fn a_reference_comes_back_from_a_file() -> Result<()> {
    let Learned { encoder, reference, .. } = learned()?;
    let mut tensors = Tensors::default();
    let document = reference.save(&mut tensors).expect("saved");
    let load = |document, tensors: &Tensors| Reference::load(document, &encoder, &mut tensors.clone());
    assert_eq!(load(document.clone(), &tensors).expect("loaded"), reference);
    let mut damaged = document.clone();
    damaged["rows"] = 3.into();
    assert!(load(damaged, &tensors).is_err());
    let mut damaged = document;
    damaged["missing"] = serde_json::json!([1]);
    assert!(load(damaged, &tensors).is_err());
    Ok(())
}

#[test]
fn counting_goes_on_without_the_model() -> Result<()> {
    let learned = learned()?;
    let parts = [orders(0..300, usual), orders(300..700, usual)];
    let mut all = learned.counter();
    let mut kept = DriftCounts::default();
    for part in &parts {
        all.add(part)?;
        let mut counter = DriftCounter::from_counts(learned.basis(), &learned.reference, kept).expect("the same model");
        counter.add(part)?;
        kept = counter.into_counts();
    }
    assert_eq!(kept.rows(), 700);
    let other = learned_from(&orders(0..1000, |_, cells| cells[2] = "Poland".into()))?;
    assert!(DriftCounter::from_counts(other.basis(), &other.reference, kept.clone()).is_none(), "of other values");
    let counter = DriftCounter::from_counts(learned.basis(), &learned.reference, kept).expect("the same model");
    assert_eq!(counter.report(), all.report());
    Ok(())
}
