use super::*;

fn line(kind: &str, rank: Option<usize>, named: bool) -> Line {
    Line {
        table: "survey".into(),
        seed: 2,
        kind: kind.into(),
        row: 17,
        columns: "age+region".into(),
        rank,
        in_top_k: rank.is_some_and(|rank| rank <= 7),
        first_reason: if named { "age".into() } else { String::new() },
        named,
    }
}

/// Knows the truth.
fn oracle(made: &Made) -> Judged {
    let mut scores = vec![0.0; made.odd.rows.len()];
    let mut reasons = Vec::new();
    for oddity in &made.truth {
        for row in &oddity.rows {
            scores[*row] = 1.0;
            reasons.push(oddity.columns.clone());
        }
    }
    Judged { scores, reasons }
}

#[test]
fn lines_survive_the_file() {
    for line in [line("stray-word", Some(3), true), line("rare-row", None, false)] {
        assert_eq!(from_csv(&to_csv(&line)), Some(line));
    }
    assert_eq!(from_csv("survey,0,stray-word,17,age,3,2,age,1"), None);
    assert_eq!(HEADER.split(',').count(), 9);
}

#[test]
fn who_knows_the_truth_finds_all_of_it() {
    for name in ["survey", "sensors", "staff"] {
        let made = make(name, 0).expect("a table");
        let lines = measure(&made, Some(&oracle(&made)));
        assert!(lines.iter().all(|line| line.in_top_k && line.named), "{name}: {lines:?}");
        let mut ranks: Vec<usize> = lines.iter().filter_map(|line| line.rank).collect();
        ranks.sort_unstable();
        assert_eq!(ranks, (1..=made.truth.len()).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn who_has_no_idea_finds_nothing() {
    let made = make("survey", 0).expect("a table");
    let mut judged = oracle(&made);
    judged.scores.iter_mut().for_each(|score| *score = -*score);
    judged.reasons.iter_mut().for_each(Vec::clear);
    let lines = measure(&made, Some(&judged));
    assert!(lines.iter().all(|line| !line.in_top_k && !line.named && line.rank > Some(200)));
    assert!(measure(&made, None).iter().all(|line| line.rank.is_none() && !line.in_top_k));
}

#[test]
fn the_summary_counts_by_table_and_kind() {
    let text = summarise(&[
        line("stray-word", Some(3), true),
        line("stray-word", Some(90), true),
        line("rare-row", None, false),
    ]);
    assert!(text.contains("| survey | 3 | 1 (33 %) | 2 (67 %) | 90 |"), "{text}");
    assert!(text.contains("| stray-word | 2 | 1 (50 %) | 2 (100 %) | 90 |"), "{text}");
    assert!(text.contains("| rare-row | 1 | 0 (0 %) | 0 (0 %) | – |"), "{text}");
    assert!(
        text.ends_with("1 of them are of tables on which the detector failed, and count as not found.\n"),
        "{text}"
    );
}

#[test]
fn a_run_that_was_stopped_goes_on() {
    let out = std::env::temp_dir().join(format!("gnsm-planted-run-{}", std::process::id()));
    let options = Options { tables: vec!["survey".into()], seeds: 2, out: out.clone() };
    let judge = |table: &Table, asked: &[usize]| {
        let scores = (0..table.n_rows()).map(|row| f64::from(u8::from(asked.contains(&row)))).collect();
        Ok(Judged { scores, reasons: vec![vec!["age".to_owned()]; asked.len()] })
    };
    let mut seeds = Vec::new();
    run(&options, &judge, &mut |outcome| seeds.push(outcome.made.seed)).expect("run");
    assert_eq!(seeds, [0, 1]);
    let raw = out.join("raw.csv");
    let whole = std::fs::read_to_string(&raw).expect("read");
    // Cut off within the second seed.
    std::fs::write(&raw, &whole[..whole.len() - 30]).expect("written");
    run(&options, &judge, &mut |outcome| seeds.push(outcome.made.seed)).expect("run");
    assert_eq!(seeds, [0, 1, 1]);
    assert_eq!(std::fs::read_to_string(&raw).expect("read"), whole);
    run(&options, &judge, &mut |_| panic!("all is done")).expect("run");

    // A detector that fails is a result.
    std::fs::remove_file(&raw).expect("removed");
    let fails = |_: &Table, _: &[usize]| Err(Error::fit("no", "try again"));
    let mut failures = 0;
    run(&options, &fails, &mut |outcome| failures += usize::from(outcome.failure.is_some())).expect("run");
    assert_eq!(failures, 2);
    let unknown = Options { tables: vec!["magic".into()], ..options };
    let error = run(&unknown, &fails, &mut |_| {}).expect_err("unknown").to_string();
    assert!(error.starts_with("there is no table magic; there are ledger-us, "), "{error}");
    std::fs::remove_dir_all(&out).expect("removed");
}
