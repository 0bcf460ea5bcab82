use super::super::schema::{ColumnChoices, Schema};
use super::*;
use crate::table::{ReadOptions, TableReader};

fn learned(csv: &str) -> Schema {
    let input = Box::new(std::io::Cursor::new(csv.to_owned()));
    let mut reader = TableReader::from_reader("t.csv", input, &ReadOptions::default()).expect("opened");
    let table = reader.next_batch(usize::MAX).expect("read").expect("rows");
    let rows: Vec<usize> = (0..table.n_rows()).collect();
    Schema::learn(&table, &rows, &ColumnChoices::default()).expect("a schema")
}

fn relations(csv: &str) -> Vec<String> {
    let schema = learned(csv);
    let text = |relation: &Relation| {
        let broken = if relation.broken { ", broken" } else { "" };
        format!("{} = {}{broken}", schema.columns[relation.of].name, relation.words(&schema.columns))
    };
    schema.relations.iter().map(text).collect()
}

/// Numbers without a pattern, from 0 to 999.
fn noise(row: u64, column: u64) -> f64 {
    let mixed = (row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ column.wrapping_mul(0xd1b5_4a32_d192_ed03));
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 % 1000.0
}

#[test]
fn sums_products_and_quotients_are_found() {
    let mut csv = "quantity,price,total,discount,net,rate,tax,gross,share,other\n".to_owned();
    for row in 0..200 {
        let quantity = noise(row, 1) % 9.0 + 1.0;
        let price = (noise(row, 2) * 7.0).round() / 100.0 + 1.0;
        let total = (quantity * price * 100.0).round() / 100.0 + if row == 7 { 10.0 } else { 0.0 };
        let discount = noise(row, 3) / 100.0;
        let net = total - discount;
        let rate = [7.0, 19.0][row as usize % 2];
        let tax = (net * rate).round() / 100.0;
        let share = discount / total;
        let other = noise(row, 4);
        csv += &format!(
            "{quantity},{price:.2},{total:.2},{discount:.2},{net:.2},{rate},{tax:.2},{:.2},{share:.3},{other}\n",
            net + tax
        );
    }
    let found = relations(&csv);
    for expected in [
        "total = discount + net",
        "gross = net + tax",
        "total = quantity × price, broken",
        "tax = net × rate %",
        "share = discount / total",
    ] {
        assert!(found.iter().any(|relation| relation == expected), "{expected} is not in {found:?}");
    }
}

#[test]
fn multiples_and_times_between_dates_are_found() {
    let mut csv = "opened,closed,born,hours,minutes,age,monthly,annual,rate\n".to_owned();
    for row in 0..300u64 {
        let start = 19_000.0 * 86_400.0 + row as f64 * 7200.0;
        let minutes = (noise(row, 1) * 3.7).round();
        let moment = |seconds: f64| {
            let (year, month, day) = crate::table::civil_of_days((seconds / 86_400.0).floor() as i64);
            let within = seconds.rem_euclid(86_400.0) / 60.0;
            format!("{year}-{month:02}-{day:02} {:02}:{:02}", (within / 60.0) as u32, within as u32 % 60)
        };
        let born = start - (20.0 * 365.0 + noise(row, 2) * 17.0) * 86_400.0;
        let age = ((start - born) / (365.25 * 86_400.0)).floor();
        let hours = minutes / 60.0 + if row == 9 { 40.0 } else { 0.0 };
        let monthly = 20.0 + noise(row, 3) / 7.0;
        let monthly = (monthly * 100.0).round() / 100.0;
        csv += &format!(
            "{},{},{},{hours:.1},{minutes},{age},{monthly:.2},{:.2},{}\n",
            moment(start),
            moment(start + minutes * 60.0),
            &moment(born)[..10],
            12.0 * monthly,
            noise(row, 4)
        );
    }
    let found = relations(&csv);
    for expected in [
        "minutes = closed − opened in minutes",
        "hours = closed − opened in hours, broken",
        "age = opened − born in years",
        "annual = 12 × monthly",
    ] {
        assert!(found.iter().any(|relation| relation == expected), "{expected} is not in {found:?}");
    }
    assert!(!found.iter().any(|relation| relation.contains("rate")), "{found:?}");
}

#[test]
fn the_second_best_formula_and_one_that_rounding_leaves_open_are_left_out() {
    let mut csv = "born,admitted,discharged,age,rooms,area\n".to_owned();
    let day = |days: f64| {
        let (year, month, day) = crate::table::civil_of_days(days as i64);
        format!("{year}-{month:02}-{day:02}")
    };
    for row in 0..600u64 {
        let admitted = 19_000.0 + row as f64;
        let born = admitted - 7000.0 - noise(row, 2) * 17.0;
        // Of stays of up to nine days one in a hundred has a birthday, so both dates give the age nearly always.
        let discharged = admitted + noise(row, 3) % 10.0;
        let age = ((admitted - born) / 365.25).floor();
        let rooms = noise(row, 4) % 5.0 + 1.0;
        // A room has 20 to 38 square metres: nearly always within half a room of 29 for each.
        let area = (rooms * (20.0 + noise(row, 5) % 19.0)).round();
        csv += &format!("{},{},{},{age},{rooms},{area}\n", day(born), day(admitted), day(discharged));
    }
    let found = relations(&csv);
    assert!(found.iter().any(|relation| relation.starts_with("age = admitted − born in years")), "{found:?}");
    assert!(!found.iter().any(|relation| relation.contains("discharged − born")), "{found:?}");
    assert!(!found.iter().any(|relation| relation.contains("rooms")), "{found:?}");
}

#[test]
fn results_are_written_as_the_column_is() {
    let relation = product(vec![]);
    assert_eq!([relation.text(266.0), relation.text(50.73), relation.text(-0.2)], ["266", "51", "0"]);
    let cents = Relation { decimals: 2, ..relation };
    assert_eq!([cents.text(266.0), cents.text(195.6949)], ["266.00", "195.69"]);
}

fn product(rounding: Vec<f64>) -> Relation {
    let by = RelationKind::Product;
    Relation {
        of: 0,
        terms: vec![1, 2],
        by,
        decimals: 0,
        broken: false,
        factor: 0.0,
        slack: 0.0,
        rounding,
        rounded_once: false,
    }
}

#[test]
fn each_number_is_told_by_the_others() {
    let with = |by: RelationKind, factor: f64| Relation { by, factor, ..product(vec![]) };
    for (relation, numbers) in [
        (product(vec![]), vec![12.0, 3.0, 4.0]),
        (with(RelationKind::Sum, 0.0), vec![9.0, 2.0, 3.0, 4.0]),
        (with(RelationKind::Percent, 0.0), vec![38.0, 200.0, 19.0]),
        (with(RelationKind::Quotient, 0.0), vec![0.25, 2.0, 8.0]),
        (with(RelationKind::Multiple, 12.0), vec![120.0, 10.0]),
        (with(RelationKind::Elapsed, 1.0 / DAY), vec![3.0, 10.0 * DAY, 13.0 * DAY]),
    ] {
        for at in 0..numbers.len() {
            let mut open = numbers.clone();
            open[at] = f64::NAN;
            let solved = relation.solved(at, &open).expect("a number");
            assert!((solved - numbers[at]).abs() < 1e-9 * numbers[at].abs(), "{:?} {at}: {solved}", relation.by);
        }
    }
    assert_eq!(product(vec![]).solved(1, &[12.0, 0.0, 0.0]), None);
}

#[test]
fn what_was_rounded_leaves_the_result_open() {
    let exact = product(vec![]);
    assert!(exact.holds(41.0, &[4.0, 10.2]) && !exact.holds(42.0, &[4.0, 10.2]));
    // 40.8 ± 4 · 0.05 ± 0.5.
    let rounded = product(vec![0.0, 0.05]);
    assert!(rounded.holds(41.4, &[4.0, 10.2]) && !rounded.holds(41.6, &[4.0, 10.2]));
    // 1,492 clicks at 3.4 %, which is anything from 3.35 % to 3.45 %.
    let percent = Relation { by: RelationKind::Percent, rounded_once: true, ..rounded.clone() };
    assert!(percent.holds(50.0, &[1492.0, 3.4]) && !percent.holds(49.9, &[1492.0, 3.4]));
    // 10 / 4 ± 10 · 0.05 / 16 ± 0.5.
    let quotient = Relation { by: RelationKind::Quotient, ..rounded.clone() };
    assert!(quotient.holds(3.03, &[10.0, 4.0]) && !quotient.holds(3.04, &[10.0, 4.0]));
    // 2 · 100 ± 2 · 1 ± 100 · 0.01 ± 0.5.
    let by = RelationKind::Multiple;
    let multiple = Relation { by, terms: vec![1], factor: 2.0, rounding: vec![1.0, 0.01], ..rounded };
    assert!(multiple.holds(203.5, &[100.0]) && !multiple.holds(203.6, &[100.0]));
}

#[test]
fn rows_tell_whether_numbers_were_rounded() {
    let mut csv = "clicks,rate,conversions,quantity,price,total,weight,value\n".to_owned();
    for row in 0..600 {
        let clicks = noise(row, 1) * if row % 9 == 0 { 3.0 } else { 0.4 } + 1.0;
        let clicks = clicks.round();
        let conversions = (clicks * (0.01 + noise(row, 2) / 12_000.0)).round();
        let (quantity, price) = (noise(row, 3) % 9.0 + 1.0, 1.0 + noise(row, 4) / 100.0);
        let rate = 100.0 * conversions / clicks;
        let weight = 3.0 + noise(row, 5) / 37.0;
        csv += &format!("{clicks},{rate:.1},{conversions},{quantity},{price:.2},{:.2},", quantity * price);
        csv += &format!("{weight:.1},{:.1}\n", 3.0 * weight);
    }
    let schema = learned(&csv);
    let of = |name: &str| {
        let found = schema.relations.iter().find(|relation| schema.columns[relation.of].name == name);
        found.unwrap_or_else(|| panic!("{name} is not among {:?}", schema.relations))
    };
    // The rate is rounded: no row breaks it, though some are off by more than a half.
    let conversions = of("conversions");
    assert_eq!((conversions.rounding[1], conversions.rounded_once, conversions.broken), (0.05, true, false));
    // A quantity and a price are what they are.
    assert_eq!((of("total").rounding[0], of("total").broken), (0.0, false));
    assert!(of("total").holds(51.0, &[3.0, 17.0]) && !of("total").holds(51.02, &[3.0, 17.0]));
    // Both the weight and the value were rounded.
    assert_eq!((of("value").rounding[0], of("value").rounded_once, of("value").broken), (0.05, false, false));
}

#[test]
fn a_factor_of_one_and_an_addend_of_zero_say_nothing() {
    let mut csv = "quantity,price,total,shipping,paid\n".to_owned();
    for row in 0..500 {
        let quantity = if row % 5 > 0 { 1.0 } else { noise(row, 1) % 5.0 + 2.0 };
        let price = 1.0 + noise(row, 2) / 100.0;
        let total = quantity * price + if row == 40 { 3.0 } else { 0.0 };
        let shipping = if row % 7 > 0 { 0.0 } else { 4.9 + noise(row, 3) / 100.0 };
        csv += &format!("{quantity},{price:.2},{total:.2},{shipping:.2},{:.2}\n", total + shipping);
    }
    let found = relations(&csv);
    for expected in ["total = quantity × price, broken", "paid = total + shipping"] {
        assert!(found.iter().any(|relation| relation == expected), "{expected} is not in {found:?}");
    }
}

#[test]
fn the_way_that_people_write_is_kept() {
    let mut csv = "net,tax,gross\n".to_owned();
    for row in 0..900 {
        let net = 20.0 + noise(row, 1) * 1.37 + noise(row, 2) / 100.0;
        let net = (net * 100.0).round() / 100.0;
        let tax = (net * 19.0).round() / 100.0;
        csv += &format!("{net:.2},{tax:.2},{:.2}\n", net + tax);
    }
    assert_eq!(relations(&csv), ["tax = 0.19 × net", "gross = 1.19 × net", "gross = net + tax"]);
}

#[test]
fn a_factor_is_not_believed_tighter_than_it_is_known() {
    // Of pounds up to 20, kilograms with one decimal tell the factor to 1 % or so.
    let mut csv = "kilograms,pounds\n".to_owned();
    for row in 0..300 {
        let kilograms = 2.0 + noise(row, 1) / 140.0;
        csv += &format!("{kilograms:.1},{:.1}\n", kilograms / 0.453_592_37);
    }
    let schema = learned(&csv);
    let relation = &schema.relations[0];
    assert_eq!(schema.relations.len(), 1, "{:?}", schema.relations);
    assert!(relation.holds(2204.6, &[1000.0]) || relation.holds(1000.0, &[2204.6]), "{relation:?}");
}

#[test]
fn a_stray_word_leaves_out_its_own_row() {
    let mut csv = "months,fee,total\n".to_owned();
    for row in 0..200 {
        let (months, fee) = ([1.0, 3.0, 6.0, 12.0][noise(row, 1) as usize % 4], 10.0 + noise(row, 2) / 10.0);
        let written = if row == 50 { "forever".to_owned() } else { months.to_string() };
        csv += &format!("{written},{fee:.2},{:.2}\n", months * fee);
    }
    assert_eq!(relations(&csv), ["total = months × fee"]);
}

#[test]
fn nothing_is_found_in_noise_nor_in_zeros_and_ones() {
    let mut csv = "a,b,c,one,zero,double\n".to_owned();
    let mut with_price = "before,used,after,price\n".to_owned();
    for row in 0..200 {
        let [a, b, c] = [1, 2, 3].map(|column| noise(row, column));
        csv += &format!("{a},{b},{c},1,{},{}\n", u8::from(row == 3), 2.0 * a);
        with_price += &format!("{a},{b},{},{}\n", a + b, 0.3 + c / 1e4);
    }
    assert_eq!(relations(&csv), ["double = 2 × a"]);
    // A price below ½ vanishes in a sum of whole numbers, and is no part of it.
    assert_eq!(relations(&with_price), ["after = before + used"]);
}
