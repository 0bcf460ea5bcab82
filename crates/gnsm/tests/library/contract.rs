//! What every detector promises, checked for every detector of the one list.
//!
//! Everything goes through what users call: [`Model::builder`], [`Model::score`], [`Model::explain`], files. Rows so few that a model
//! refuses them go to [`Method::fit`] directly.

use gnsm::internals::columns::{Encoded, Layout, UNSEEN};
use gnsm::internals::train::Run;
use gnsm::{Column, Error, Method, Model, Result, Silent, Table, TextCells, Values};

/// A method with its default settings, but for a network that trains in no time.
pub fn quick(name: &str) -> Result<Method> {
    let mut method = Method::named(name)?;
    match &mut method {
        Method::Gnsm(config) => {
            (config.network.width, config.network.depth, config.network.embedding) = (16, 1, 8);
            (config.training.steps, config.training.batch) = (60, 64);
        }
        Method::Dsvdd(config) => {
            (config.layers, config.training.steps, config.training.batch) = (vec![32, 16], 200, 64);
        }
        Method::Dagmm(config) => {
            (config.layers, config.training.steps, config.training.batch) = (vec![16, 8], 200, 64);
        }
        _ => {}
    }
    Ok(method)
}

fn each_method(check: impl Fn(&str, &Method) -> Result<()>) -> Result<()> {
    Method::NAMES.iter().try_for_each(|name| check(name, &quick(name)?))
}

const NAMES: [&str; 5] = ["colour", "shape", "size", "same", "amount"];

/// A row: three categories of which the second hangs on the first, a constant, and a number that is missing now and then.
fn cells(row: usize) -> [String; 5] {
    let noise = (row * 7919 + 13) % 1009;
    let colour = ["red", "green", "blue", "blue"][noise % 4];
    let shape = if noise.is_multiple_of(17) { "ring" } else { ["disc", "square"][usize::from(colour == "blue")] };
    let amount =
        if noise.is_multiple_of(11) { String::new() } else { format!("{:.3}", (noise as f64 / 100.0).sin() * 3.0) };
    [colour.into(), shape.into(), format!("{}", noise % 3), "always".into(), amount]
}

fn table_of(rows: &[[String; 5]]) -> Table {
    let column = |(index, name): (usize, &&str)| {
        let mut texts = TextCells::default();
        for row in rows {
            texts.push(&row[index]);
        }
        Column { name: (*name).to_owned(), values: Values::Text(texts) }
    };
    let columns = NAMES.iter().enumerate().map(column).collect();
    Table {
        file: "rows.csv".into(),
        columns,
        lines: (2..2 + rows.len() as u64).collect(),
        rows_may_omit_columns: false,
        parts: Vec::new(),
    }
}

fn training_rows() -> Vec<[String; 5]> {
    (0..400).map(cells).collect()
}

/// Rows that training may or may not have seen, and some with categories and numbers it never did.
fn other_rows() -> Vec<[String; 5]> {
    let mut rows: Vec<[String; 5]> = (1000..1060).map(cells).collect();
    for (row, (column, value)) in
        [(0, "violet"), (1, "cone"), (2, "9"), (3, "never"), (4, "1e300"), (4, "-inf"), (4, "")].into_iter().enumerate()
    {
        rows[3 * row][column] = value.into();
    }
    rows
}

fn fit(method: &Method) -> Result<Model> {
    Model::builder().settings(method.clone()).seed(5).fit(&table_of(&training_rows()))
}

fn scores(model: &Model, rows: &[[String; 5]]) -> Result<Vec<u64>> {
    Ok(model.score(&table_of(rows))?.iter().map(|scored| scored.score.to_bits()).collect())
}

fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool").install(work)
}

#[test]
fn a_score_for_each_row_and_each_one_finite() -> Result<()> {
    each_method(|name, method| {
        let model = fit(method)?;
        let rows = other_rows();
        let scored = model.score(&table_of(&rows))?;
        assert_eq!(scored.len(), rows.len(), "{name}");
        for (row, scored) in scored.iter().enumerate() {
            assert!(scored.score.is_finite(), "{name}, row {row}: {}", scored.score);
            assert!(scored.p_value > 0.0 && scored.p_value <= 1.0, "{name}, row {row}: {}", scored.p_value);
        }
        assert!(model.score(&table_of(&[]))?.is_empty(), "{name}");
        Ok(())
    })
}

#[test]
fn a_score_does_not_depend_on_batch_order_or_threads() -> Result<()> {
    each_method(|name, method| {
        let model = fit(method)?;
        let rows = other_rows();
        let together = scores(&model, &rows)?;
        let mut alone = Vec::new();
        for row in &rows {
            alone.extend(scores(&model, std::slice::from_ref(row))?);
        }
        assert_eq!(together, alone, "{name}: one by one");
        let backwards: Vec<[String; 5]> = rows.iter().rev().cloned().collect();
        let mut reversed = scores(&model, &backwards)?;
        reversed.reverse();
        assert_eq!(together, reversed, "{name}: in reverse");
        for threads in [1, 3] {
            assert_eq!(together, on_threads(threads, || scores(&model, &rows))?, "{name}: {threads} threads");
        }
        Ok(())
    })
}

#[test]
fn the_same_seed_gives_the_same_file_and_loading_it_the_same_scores() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    each_method(|name, method| {
        let mut files = Vec::new();
        for threads in [1, 3] {
            let path = folder.path().join(format!("{name}-{threads}.gnsm"));
            let mut model = on_threads(threads, || fit(method))?;
            model.save(&path)?;
            files.push(std::fs::read(&path).map_err(|error| Error::io(&path, error))?);
            let loaded = Model::load(&path)?;
            assert_eq!(scores(&model, &other_rows())?, scores(&loaded, &other_rows())?, "{name}");
            assert_eq!(loaded.fitted().method(), *method, "{name}");
            let again = folder.path().join(format!("{name}-again.gnsm"));
            loaded.clone().save(&again)?;
            files.push(std::fs::read(&again).map_err(|error| Error::io(&again, error))?);
        }
        assert!(files.iter().all(|file| *file == files[0]), "{name}: the files differ");
        Ok(())
    })
}

/// More than half of the rows have a colour that training never saw, and an amount beyond all others.
#[test]
fn what_is_set_aside_is_no_part_of_a_score() -> Result<()> {
    each_method(|name, method| {
        let model = fit(method)?;
        let spoiled = |colour: &str, amount: &str| -> Vec<[String; 5]> {
            let mut rows = other_rows();
            for row in &mut rows {
                (row[0], row[4]) = (colour.into(), amount.into());
            }
            rows
        };
        let mut drift = model.drift();
        drift.add(&table_of(&spoiled("violet", "77")))?;
        let report = drift.report();
        let aside: Vec<&str> =
            report.columns.iter().filter(|column| column.set_aside).map(|column| column.column.as_str()).collect();
        assert_eq!(aside, ["colour", "amount"], "{name}");
        let judge = model.judge_without(&report);
        let table = table_of(&spoiled("violet", "77"));
        let batch = judge.read(&table)?;
        for (explanation, scored) in batch.explain_all(usize::MAX).iter().zip(batch.scores()) {
            assert!(scored.score.is_finite(), "{name}");
            assert_eq!(explanation.score, scored.score, "{name}");
            assert!(explanation.reasons.iter().all(|reason| !aside.contains(&reason.column.as_str())), "{name}");
        }
        let scores = |rows: &[[String; 5]]| -> Result<Vec<u64>> {
            Ok(judge.read(&table_of(rows))?.scores().iter().map(|scored| scored.score.to_bits()).collect())
        };
        let mut alone = Vec::new();
        for row in spoiled("violet", "77") {
            alone.extend(scores(&[row])?);
        }
        assert_eq!(alone, scores(&spoiled("violet", "77"))?, "{name}: one by one");
        if *name == *"cells" {
            // It judges rows as if they did not have it, whatever stands there.
            assert_eq!(alone, scores(&spoiled("indigo", ""))?);
        }
        Ok(())
    })
}

#[test]
fn base_and_parts_sum_to_the_score() -> Result<()> {
    each_method(|name, method| {
        let model = fit(method)?;
        let table = table_of(&other_rows());
        let all: Vec<usize> = (0..table.n_rows()).collect();
        let explanations = model.explain(&table, &all, usize::MAX)?;
        for (row, (explanation, scored)) in explanations.iter().zip(model.score(&table)?).enumerate() {
            let sum =
                explanation.base + explanation.rest + explanation.reasons.iter().map(|reason| reason.part).sum::<f64>();
            let tolerance = 1e-9 * scored.score.abs().max(1.0);
            assert!((sum - scored.score).abs() <= tolerance, "{name}, row {row}: {sum} and {}", scored.score);
            assert!(explanation.reasons.len() <= NAMES.len(), "{name}");
        }
        for (few, all) in model.explain(&table, &all, 2)?.iter().zip(&explanations) {
            assert_eq!(
                few.reasons,
                all.reasons[..all.reasons.len().min(2)],
                "{name}: reasons do not depend on how many there are"
            );
        }
        Ok(())
    })
}

/// In the categorical columns, the constant one among them, and in a number that training never missed.
#[test]
fn an_unseen_category_makes_a_row_odder() -> Result<()> {
    each_method(|name, method| {
        let model = fit(method)?;
        let usual = cells(3);
        for (column, unseen) in [(0, "violet"), (1, "cone"), (2, "9"), (3, "never")] {
            let mut changed = usual.clone();
            changed[column] = unseen.into();
            let scored = model.score(&table_of(&[usual.clone(), changed]))?;
            assert!(scored[1].score > scored[0].score, "{name}, {}: {scored:?}", NAMES[column]);
            assert!(scored[1].p_value <= scored[0].p_value, "{name}: {scored:?}");
        }
        Ok(())
    })
}

#[test]
fn a_table_with_other_columns_is_refused() -> Result<()> {
    each_method(|name, method| {
        let model = fit(method)?;
        let mut table = table_of(&other_rows());
        table.columns.remove(1);
        let problem = model.check(&table).expect_err("a column is missing").to_string();
        assert!(problem.contains("`shape`"), "{name}: {problem}");
        Ok(())
    })
}

#[test]
fn rows_that_say_nothing_are_refused_with_advice() -> Result<()> {
    each_method(|name, method| {
        let fit = |rows: &[[String; 5]]| Model::builder().settings(method.clone()).fit(&table_of(rows));
        for (rows, words) in
            [(vec![], "at least 20"), (vec![cells(3); 5], "at least 20"), (vec![cells(3); 50], "the same")]
        {
            let problem = fit(&rows).map(drop).expect_err("nothing to learn").to_string();
            assert!(problem.contains(words), "{name}: {problem}");
        }
        Ok(())
    })
}

/// One row, two rows, a constant table, one column, only numbers, everything missing: each gives finite scores.
#[test]
fn tiny_and_constant_rows_are_learned_from() -> Result<()> {
    let nan = f32::NAN;
    let tables = [
        (Layout::new(0, vec![1]), Encoded::new(1, vec![0], vec![])),
        (Layout::new(0, vec![2]), Encoded::new(2, vec![0, 1], vec![])),
        (Layout::new(0, vec![1, 1]), Encoded::new(30, vec![0; 60], vec![])),
        (Layout::new(1, vec![1]), Encoded::new(3, vec![0; 3], vec![0.5, -1.0, 0.5])),
        (Layout::new(1, vec![1]), Encoded::new(25, vec![0; 25], vec![0.0; 25])),
        (Layout::new(1, vec![2]), Encoded::new(2, vec![1, 1], vec![nan, nan])),
        (Layout::new(2, vec![1, 2]), Encoded::new(2, vec![0, 0, 0, 1], vec![1.0, -1.0, -1.0, nan])),
    ];
    each_method(|name, method| {
        for (case, (layout, rows)) in tables.iter().enumerate() {
            let run = Run { seed: 2, max_seconds: None, resume: None, save: None, watcher: &mut Silent };
            let fitted = method.fit(layout, rows, rows, run)?;
            let unseen = Encoded::new(
                2,
                vec![UNSEEN; 2 * layout.n_groups()],
                (0..2 * layout.n_numbers()).map(|i| if i < layout.n_numbers() { 20.0 } else { nan }).collect(),
            );
            let scores = fitted.detector().score(&rows.concat(&unseen));
            assert!(scores.iter().all(|score| score.is_finite()), "{name}, case {case}: {scores:?}");
            // Not more than: with fewer rows than neighbours, every row is as far as it can be.
            assert!(scores[rows.n_rows()] >= scores[0], "{name}, case {case}: {scores:?}");
        }
        Ok(())
    })
}

#[test]
fn no_rows_are_refused() -> Result<()> {
    each_method(|name, method| {
        let none = Encoded::new(0, vec![], vec![]);
        let run = Run { seed: 2, max_seconds: None, resume: None, save: None, watcher: &mut Silent };
        let layout = Layout::new(1, vec![2]);
        let problem = method.fit(&layout, &none, &none, run).map(drop).expect_err("no rows");
        assert!(matches!(problem, Error::Fit { .. }), "{name}: {problem}");
        let some = Encoded::new(2, vec![0, 1], vec![0.5, -0.5]);
        for (training, validation) in [(&some, &none), (&none, &some)] {
            let run = Run { seed: 2, max_seconds: None, resume: None, save: None, watcher: &mut Silent };
            match method.fit(&layout, training, validation, run) {
                Ok(fitted) => assert!(fitted.detector().score(&some).iter().all(|score| score.is_finite()), "{name}"),
                Err(problem) => assert!(matches!(problem, Error::Fit { .. }), "{name}: {problem}"),
            }
        }
        Ok(())
    })
}

#[test]
fn a_method_without_expectations_expects_no_empty_text() {
    let row = |i: usize| format!("2024-{:02}-{:02},{}\n", i % 12 + 1, i % 28 + 1, ["a", "b"][i % 2]);
    let text = format!("posted,kind\n{}", (0..300).map(row).collect::<String>());
    let source = Box::new(std::io::Cursor::new(text));
    let mut reader = gnsm::TableReader::from_reader("t.csv", source, &gnsm::ReadOptions::default()).expect("read");
    let table = reader.next_batch(usize::MAX).expect("read").expect("rows");
    let fit = gnsm::Model::builder().method("isolation-forest").fit_and_judge(&table).expect("fitted");
    let explanations = fit.own().explain_all(9);
    let reasons: Vec<_> = explanations.iter().flat_map(|explanation| &explanation.reasons).collect();
    assert!(reasons.iter().any(|reason| reason.column == "posted"));
    assert!(reasons.iter().all(|reason| reason.expected.as_deref() != Some("")));
}
