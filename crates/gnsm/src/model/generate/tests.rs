use std::collections::{BTreeMap, HashSet};

use super::*;
use crate::table::{ReadOptions, TableReader};

fn table(text: &str) -> Table {
    let reader =
        TableReader::from_reader("t.csv", Box::new(std::io::Cursor::new(text.to_owned())), &ReadOptions::default());
    reader.expect("a reader").next_batch(usize::MAX).expect("rows").expect("some")
}

/// 1 of n by a fixed sequence.
fn draws() -> impl FnMut(u64) -> u64 {
    let mut state = 1u64;
    move |n| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    }
}

/// Shops in three countries: the currency follows from the country but for one in twenty, the amount from the currency,
/// and every tenth note is missing.
fn shops(n_rows: usize) -> Table {
    let mut draw = draws();
    let mut text = String::from("country,currency,amount,colour,note\n");
    for _ in 0..n_rows {
        let country = [0, 0, 0, 0, 0, 1, 1, 1, 2, 2][draw(10) as usize];
        let currency = if draw(20) == 0 { draw(3) as usize } else { country };
        let amount = [100, 2000, 30][currency] + draw([40, 900, 10][currency]);
        let colour = ["red", "green", "blue", "grey"][draw(4) as usize];
        let note = ["", "paid", "open"][if draw(10) == 0 { 0 } else { 1 + (draw(4) / 3) as usize }];
        let (country, currency) = (["Spain", "Japan", "Chad"][country], ["EUR", "JPY", "XAF"][currency]);
        text += &format!("{country},{currency},{amount},{colour},{note}\n");
    }
    table(&text)
}

fn cells(table: &Table, name: &str) -> Vec<String> {
    let values = &table.column(name).expect(name).values;
    (0..table.n_rows()).map(|row| values.text(row).unwrap_or_default().into_owned()).collect()
}

/// An amount by its order of size.
fn sized(amounts: Vec<String>) -> Vec<String> {
    amounts.iter().map(|amount| amount.len().to_string()).collect()
}

/// Half of the differences between two lists' frequencies.
fn apart(a: &[String], b: &[String]) -> f64 {
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    a.iter().for_each(|x| *counts.entry(x).or_default() += 1.0 / a.len() as f64);
    b.iter().for_each(|x| *counts.entry(x).or_default() -= 1.0 / b.len() as f64);
    0.5 * counts.values().map(|difference| difference.abs()).sum::<f64>()
}

fn pairs(a: &[String], b: &[String]) -> Vec<String> {
    a.iter().zip(b).map(|(a, b)| format!("{a}|{b}")).collect()
}

fn tiny_gnsm() -> Method {
    let mut method = Method::named("gnsm").expect("a method");
    if let Method::Gnsm(settings) = &mut method {
        (settings.network.width, settings.network.depth, settings.training.steps) = (32, 2, 600);
        settings.training.batch = 128;
    }
    method
}

#[test]
fn frequencies_are_those_of_the_table() {
    let real = shops(3000);
    for (method, most) in [(Method::named("cells").expect("a method"), 0.04), (tiny_gnsm(), 0.12)] {
        let model = Model::builder().settings(method.clone()).fit(&real).expect("a model");
        let made = model.sample(0..3000, 3, None).expect("rows");
        let columns = |table: &Table| {
            ["country", "currency", "amount", "colour", "note"].map(|name| {
                let cells = cells(table, name);
                if name == "amount" { sized(cells) } else { cells }
            })
        };
        let (real, made) = (columns(&real), columns(&made));
        for (i, one) in real.iter().enumerate() {
            let single = apart(one, &made[i]);
            assert!(single < most, "{}: column {i} by {single}", method.name());
            for (j, other) in real.iter().enumerate().skip(i + 1) {
                let pair = apart(&pairs(one, other), &pairs(&made[i], &made[j]));
                assert!(pair < 2.0 * most, "{}: columns {i} and {j} by {pair}", method.name());
            }
        }
        // The test can fail: columns by themselves are far off.
        let mut turned = made[1].clone();
        turned.rotate_left(1);
        assert!(apart(&pairs(&real[0], &real[1]), &pairs(&made[0], &turned)) > 0.3);
    }
}

#[test]
fn rows_depend_on_their_number_and_seed_alone() {
    let real = shops(600);
    for method in [Method::named("cells").expect("a method"), tiny_gnsm()] {
        let model = Model::builder().settings(method).fit(&real).expect("a model");
        let with_threads = |n: usize, rows: Range<u64>| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads");
            pool.install(|| model.sample(rows, 5, None).expect("rows"))
        };
        let whole = with_threads(1, 0..90);
        let parts = [with_threads(3, 0..37), with_threads(2, 37..90)];
        for column in &whole.columns {
            let joined: Vec<String> = parts.iter().flat_map(|part| cells(part, &column.name)).collect();
            assert_eq!(cells(&whole, &column.name), joined, "{}", column.name);
        }
        assert_ne!(whole, model.sample(0..90, 6, None).expect("rows"));
        assert_eq!(model.sample(0..0, 5, None).expect("rows").n_rows(), 0);
        // The same from a file.
        let again = Model::from_bytes(&model.to_bytes().expect("bytes")).expect("a model");
        assert_eq!(whole, again.sample(0..90, 5, None).expect("rows"));
    }
}

#[test]
fn given_cells_are_kept_and_the_others_go_with_them() {
    let real = shops(2000);
    let model = Model::fit(&real).expect("a model");
    let given = model.given([("country", "Japan"), ("colour", "red")]).expect("given");
    let made = model.sample(0..400, 1, Some(&given)).expect("rows");
    assert!(cells(&made, "country").iter().all(|country| country == "Japan"));
    assert!(cells(&made, "colour").iter().all(|colour| colour == "red"));
    let yens = cells(&made, "currency").iter().filter(|currency| *currency == "JPY").count();
    assert!((360..=398).contains(&yens), "{yens} of 400");
    // Cells of rows, by turns; what is missing is drawn.
    let like = table("currency,amount,other\nXAF,35,x\n,2500,y\n");
    let made = model.sample(0..40, 1, Some(&like)).expect("rows");
    let (currency, amount) = (cells(&made, "currency"), cells(&made, "amount"));
    assert!((0..40).step_by(2).all(|row| currency[row] == "XAF" && amount[row] == "35"));
    assert!((1..40).step_by(2).all(|row| amount[row] == "2500"));
    assert!((1..40).step_by(2).filter(|row| currency[*row] == "JPY").count() >= 16, "{currency:?}");
    assert!(made.column("other").is_none());
}

#[test]
fn what_cannot_be_given_is_said() {
    let real = shops(300);
    let model = Model::fit(&real).expect("a model");
    let problem = |name: &str, value: &str| model.given([(name, value)]).expect_err("refused").to_string();
    assert_eq!(
        problem("city", "Tokyo"),
        "the model has no column `city`; its columns are `country`, `currency`, `amount`, `colour`, `note`"
    );
    assert_eq!(
        problem("country", "Atlantis"),
        "column `country` never held `Atlantis`; its values are `Chad`, `Japan`, `Spain`"
    );
    assert_eq!(problem("amount", "many"), "column `amount` never held `many`; give a number");
    assert!(problem("country", "").starts_with("column `country` was never missing, so it cannot be given empty"));
    let twice = model.given([("country", "Chad"), ("country", "Chad")]).expect_err("refused").to_string();
    assert_eq!(twice, "column `country` is given twice; give it once");
    let knn = Model::builder().method("knn").fit(&real).expect("a model");
    for (doing, problem) in [
        ("make rows", knn.sample(0..3, 0, None).map(drop)),
        ("fill cells", knn.impute(&table("country,currency,amount,colour,note\n,EUR,1,red,\n"), 0).map(drop)),
    ] {
        assert_eq!(
            problem.expect_err("refused").to_string(),
            format!("method `knn` cannot {doing}; fit a model with the default method, `cells`, or with `gnsm`")
        );
    }
}

#[test]
fn cells_that_are_there_never_change() {
    let real = shops(2000);
    let holed = table(
        "country,currency,amount,colour,note,extra\nJapan,,2400,red,paid,1\n,EUR,,blue,,2\nChad,XAF,NA,,open,3\n,,,,,\nSpain,EUR,120,red,paid,5\n",
    );
    for method in [Method::named("cells").expect("a method"), tiny_gnsm()] {
        let model = Model::builder().settings(method).fit(&real).expect("a model");
        let one = model.impute(&holed, 0).expect("filled");
        let many = model.impute_draws(&holed, 0, 3, 9).expect("filled");
        assert_eq!((one.table.n_rows(), many.table.n_rows()), (5, 15));
        for column in &holed.columns {
            for row in 0..holed.n_rows() {
                let before = column.values.text(row);
                let after = |table: &Table, row: usize| {
                    table
                        .column(&column.name)
                        .expect("the same columns")
                        .values
                        .text(row)
                        .map(std::borrow::Cow::into_owned)
                };
                for after in [after(&one.table, row), after(&many.table, 3 * row), after(&many.table, 3 * row + 2)] {
                    match &before {
                        Some(before) => assert_eq!(Some(before.as_ref()), after.as_deref()),
                        None => assert_eq!(after.is_some(), column.name != "extra", "{}", column.name),
                    }
                }
            }
        }
        assert_eq!(one.filled.values().sum::<usize>(), 11);
        assert_eq!(cells(&one.table, "currency")[0], "JPY");
        assert_eq!(cells(&one.table, "country")[1], "Spain");
        let amount: f64 = cells(&one.table, "amount")[2].parse().expect("a number");
        assert!((20.0..300.0).contains(&amount), "{amount}");
        let probabilities = &one.probabilities["currency"];
        assert!(probabilities[0] > 0.6 && probabilities[1].is_nan(), "{probabilities:?}");
        // A row is filled as it would be in any other batch.
        let alone = model.impute(&table("country,currency,amount,colour,note\n,EUR,,blue,\n"), 1).expect("filled");
        assert_eq!(cells(&alone.table, "amount")[0], cells(&one.table, "amount")[1]);
    }
}

#[test]
fn draws_are_as_likely_as_they_should_be() {
    let model = Model::fit(&shops(3000)).expect("a model");
    let holed = table("country,currency,amount,colour,note\nSpain,,,red,paid\n");
    let drawn = model.impute_draws(&holed, 0, 1000, 2).expect("filled");
    let euros = cells(&drawn.table, "currency").iter().filter(|currency| *currency == "EUR").count();
    // 29 of 30 rows from Spain have euros.
    assert!((900..=995).contains(&euros), "{euros}");
    assert!(model.impute_draws(&holed, 0, 0, 2).is_err());
}

/// Orders with a key, a date, a second date some days later, money with a sign, a time and a sentence.
fn orders(n_rows: usize) -> Table {
    let mut draw = draws();
    let mut text = String::from("order,day,shipped,price,opens,remark\n");
    for row in 0..n_rows {
        // Mondays to Fridays of 2023, from Monday the second of January on.
        let day = 7 * draw(50) as i64 + draw(5) as i64;
        let date = |day: i64| {
            let (year, month, day) = crate::table::civil_of_days(19_359 + day);
            format!("{day}.{month}.{year}")
        };
        let shipped = if draw(5) == 0 { String::new() } else { date(day + 1 + draw(4) as i64) };
        let price = format!("\"${},{:03}.{:02}\"", 1 + draw(9), draw(1000), draw(100));
        let opens = ["7:10 am", "8:00 am", "12:30 pm"][draw(3) as usize];
        let remark = format!("please leave parcel {} at the door number {}", draw(10_000), draw(10_000));
        text += &format!("ORD-{:05},{},{shipped},{price},{opens},{remark}\n", 100 + row, date(day));
    }
    table(&text)
}

#[test]
fn cells_are_written_as_the_columns_have_them() {
    let real = orders(600);
    let model = Model::fit(&real).expect("a model");
    let made = model.sample(0..300, 0, None).expect("rows");
    let keys: HashSet<String> = cells(&made, "order").into_iter().collect();
    assert_eq!((keys.len(), keys.contains("ORD-00700")), (300, true), "keys go on behind ORD-00699");
    let date = |text: &str| crate::columns::DateFormat::DayFirst.parse(text);
    let (days, shipped) = (cells(&made, "day"), cells(&made, "shipped"));
    for (day, shipped) in days.iter().zip(&shipped) {
        let day = date(day).expect(day);
        assert!(day.weekday() < 5 && day.civil().0 == 2023, "{day:?}");
        if let Some(shipped) = date(shipped) {
            let later = (shipped.local - day.local) / 86_400.0;
            assert!((1.0..=7.0).contains(&later) && later.fract() == 0.0, "{later} days");
        }
    }
    let missing = shipped.iter().filter(|shipped| shipped.is_empty()).count();
    assert!((35..=85).contains(&missing), "{missing} of 300 are missing, of 600 there were 120");
    let known: HashSet<String> = cells(&real, "price").into_iter().collect();
    let prices = cells(&made, "price");
    let is_money = |price: &String| {
        let digits = price.strip_prefix('$').and_then(|rest| rest.split_once('.'));
        digits.is_some_and(|(whole, cents)| whole.contains(',') && cents.len() == 2)
    };
    assert!(prices.iter().all(is_money), "{prices:?}");
    assert!(prices.iter().filter(|price| !known.contains(*price)).count() > 150, "drawn between, not copied");
    assert!(cells(&made, "opens").iter().all(|time| ["7:10 am", "8:00 am", "12:30 pm"].contains(&time.as_str())));
    assert!(cells(&made, "remark").iter().all(String::is_empty));
    // What was made is nothing odd.
    model.score(&made).expect("made rows can be read");
    // A missing date is filled where another date tells it.
    let holed = table("order,day,shipped,price,opens,remark\nORD-00001,2.1.2023,,\"$1,000.00\",8:00 am,hello\n,,,,,\n");
    let filled = model.impute(&holed, 0).expect("filled");
    assert!(date(&cells(&filled.table, "shipped")[0]).is_some(), "{filled:?}");
    assert_eq!(
        (filled.left.get("order"), filled.left.get("remark"), filled.left.get("day")),
        (Some(&1), Some(&1), Some(&1))
    );
}

#[test]
fn dates_of_one_row_go_together() -> Result<()> {
    let day = |days: i64| crate::table::TimeKind::Date.text(86_400.0 * days as f64);
    let mut draw = draws();
    let mut text = String::from("born,admitted,discharged,ward\n");
    for _ in 0..600 {
        let (age, stay) = (365 * (20 + draw(60) as i64), draw(6) as i64);
        let admitted = 19_600 + draw(300) as i64;
        let ward = ["a", "b"][draw(2) as usize];
        text += &format!("{},{},{},{ward}\n", day(admitted - age), day(admitted), day(admitted + stay));
    }
    let visits = table(&text);
    let model = Model::fit(&visits)?;
    let made = model.sample(0..200, 0, None)?;
    let seconds = |name: &str| -> Vec<f64> {
        cells(&made, name)
            .iter()
            .map(|text| crate::columns::DateFormat::YearFirst.parse(text).expect("a date").local)
            .collect()
    };
    let [born, admitted, discharged] = ["born", "admitted", "discharged"].map(seconds);
    for row in 0..200 {
        let stay = (discharged[row] - admitted[row]) / 86_400.0;
        let age = (admitted[row] - born[row]) / 86_400.0 / 365.0;
        assert!((-3.0..=9.0).contains(&stay), "{stay} days");
        assert!((19.0..=81.0).contains(&age), "{age} years");
        assert!((19_600.0..19_900.0).contains(&(admitted[row] / 86_400.0)), "{}", admitted[row]);
    }
    Ok(())
}

/// Stays in a hotel: nights tell one date from the other, nights and rate the total, and total and tip what is paid. Every tenth
/// tip is missing. A tip has no decimals, and the channel goes with the nights.
fn stays(n_rows: usize) -> Table {
    let mut draw = draws();
    let mut text = String::from("key,arrival,departure,nights,channel,rate,total,tip,paid\n");
    for row in 0..n_rows {
        let (first, nights) = (19_400 + draw(600) as i64, 1 + draw(14) as i64);
        let day = |days: i64| crate::table::TimeKind::Date.text(86_400.0 * days as f64);
        let cents = 6000 + draw(9000) as i64;
        let tip = if draw(10) == 0 { None } else { Some(draw(40) as i64) };
        let total = nights * cents;
        text += &format!("K-{},{},{},{nights},", 1000 + row, day(first), day(first + nights));
        text += if nights > 9 { "Agency" } else { ["Web", "Phone"][draw(2) as usize] };
        text += &format!(",${}.{:02},\"${}.{:02}\",", cents / 100, cents % 100, total / 100, total % 100);
        match tip {
            Some(tip) => text += &format!("{tip},{}.{:02}\n", total / 100 + tip, total % 100),
            None => text += ",\n",
        }
    }
    table(&text)
}

/// The cents of an amount of money.
fn cents(text: &str) -> i64 {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.parse().expect(text)
}

/// The days since 1970 of a date.
fn days(text: &str) -> i64 {
    let moment = crate::columns::DateFormat::YearFirst.parse(text).expect(text);
    (moment.local / 86_400.0) as i64
}

#[test]
fn made_rows_keep_the_relations_of_the_table() {
    let real = stays(900);
    let model = Model::fit(&real).expect("a model");
    let given = model.given([("nights", "3"), ("arrival", "2024-02-27")]).expect("known");
    for given in [None, Some(&given)] {
        let made = model.sample(0..200, 5, given).expect("rows");
        let [arrival, departure, nights, rate, total] =
            ["arrival", "departure", "nights", "rate", "total"].map(|name| cells(&made, name));
        // Where a column cannot hold what would have to stand there, a row breaks a relation: no stay had 15 nights.
        let mut broken = [0, 0];
        for row in 0..200 {
            let n: i64 = nights[row].parse().expect("a number");
            broken[0] += usize::from(days(&departure[row]) - days(&arrival[row]) != n);
            broken[1] += usize::from(cents(&total[row]) != n * cents(&rate[row]));
            assert!(total[row].starts_with('$') && given.is_none_or(|_| departure[row] == "2024-03-01"));
        }
        assert!(broken.iter().all(|rows| *rows <= 4), "{broken:?} of 200");
    }
    let made = model.sample(0..1000, 5, None).expect("rows");
    let [channel, tip] = ["channel", "tip"].map(|name| cells(&made, name));
    // 5 in 14 stays have more than nine nights.
    let agency = channel.iter().filter(|channel| *channel == "Agency").count();
    assert!((305..=410).contains(&agency), "{agency} of 1000, not 357");
    let missing = tip.iter().filter(|tip| tip.is_empty()).count();
    assert!((60..=150).contains(&missing), "{missing} of 1000, not 100");
    // The same rows in pieces.
    let [first, second] = [0..37, 37..90].map(|rows| cells(&model.sample(rows, 5, None).expect("rows"), "total"));
    assert_eq!([first, second].concat(), cells(&made, "total")[..90]);
    let missing_tips = model.given([("tip", "")]).expect("tips were missing");
    let made = model.sample(0..20, 1, Some(&missing_tips)).expect("rows");
    assert!(cells(&made, "tip").iter().all(String::is_empty));
}

#[test]
fn what_a_relation_gives_is_filled_in_wherever_the_hole_is() {
    let model = Model::fit(&stays(900)).expect("a model");
    let whole = ["2024-02-27", "2024-03-01", "3", "Web", "$70.10", "$210.30"];
    let mut text = String::from("arrival,departure,nights,channel,rate,total,tip,paid\n");
    let holes = [0, 1, 2, 4, 5];
    for hole in holes {
        let cells: Vec<&str> = (0..6).map(|at| if at == hole { "" } else { whole[at] }).collect();
        text += &format!("{},5,215.30\n", cells.join(","));
    }
    // Two holes, one told by the other: three nights, then the total.
    text += "2024-02-27,2024-03-01,,Web,$70.10,,5,\n";
    let holed = table(&text);
    model.check_to_fill(&holed).expect("keys may be left out");
    assert!(model.check(&holed).is_err());
    let filled = model.impute(&holed, 0).expect("filled");
    for (row, hole) in holes.into_iter().enumerate() {
        let name = ["arrival", "departure", "nights", "channel", "rate", "total"][hole];
        assert_eq!(cells(&filled.table, name)[row], whole[hole], "{name}");
        let probability = filled.probabilities[name][row];
        assert!(probability > 0.97 && probability <= 1.0, "{name}: {probability}");
    }
    assert_eq!(
        (cells(&filled.table, "nights")[5].as_str(), cells(&filled.table, "total")[5].as_str()),
        ("3", "$210.30")
    );
    assert_eq!(filled.filled["total"], 2);
    assert!(filled.left.is_empty(), "{:?}", filled.left);
    let drawn = model.impute_draws(&holed, 0, 2, 3).expect("filled");
    assert_eq!(cells(&drawn.table, "departure")[2..4], ["2024-03-01", "2024-03-01"]);
}
