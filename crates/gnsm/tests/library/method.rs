//! GNSM through the front door: what it learns, what it says, and what its files survive.

use std::fmt::Write;
use std::io::Cursor;

use gnsm::settings::{DensityKind, GnsmConfig, Head, NormKind, NormsConfig, Point};
use gnsm::{Error, Method, Model, ReadOptions, Table, TableReader};

/// `colour` decides `shape`; `size` is near 10 for squares, near 50 for the others, and sometimes missing.
fn text(n: usize) -> String {
    let mut text = String::from("colour,shape,size,weekday\n");
    for i in 0..n {
        let (colour, shape, size) = match i % 3 {
            0 => ("red", "square", 10.0),
            1 => ("green", "circle", 50.0),
            _ => ("blue", "circle", 50.0),
        };
        let size = if i % 17 == 0 { String::new() } else { format!("{:.1}", size + ((i * 37) % 11) as f64 * 0.3) };
        let weekday = ["mon", "tue", "wed"][(i / 3) % 3];
        writeln!(text, "{colour},{shape},{size},{weekday}").expect("written");
    }
    text
}

fn table(text: &str) -> Table {
    let input = Box::new(Cursor::new(text.as_bytes().to_vec()));
    let mut reader = TableReader::from_reader("test.csv", input, &ReadOptions::default()).expect("readable");
    reader.next_batch(usize::MAX).expect("readable").expect("not empty")
}

fn small(head: Head, steps: u64) -> Method {
    let mut config = match head {
        Head::Evidence { .. } | Head::Surprise => GnsmConfig::fast(),
        Head::Norms(_) => GnsmConfig::fast().with_paper_head(),
    };
    config.head = head;
    config.levels.count = 5;
    config.network.width = 32;
    config.network.depth = 2;
    config.network.embedding = 16;
    config.training.steps = steps;
    config.training.batch = 128;
    Method::Gnsm(config)
}

fn fitted(head: Head) -> Model {
    Model::builder().settings(small(head, 400)).fit(&table(&text(600))).expect("fitted")
}

/// For what holds of a network that has learned little, too.
fn briefly_fitted(head: Head) -> Model {
    Model::builder().settings(small(head, 40)).fit(&table(&text(300))).expect("fitted")
}

const EVIDENCE: Head = Head::Evidence { weights: None };

fn norms(point: Point, norm: NormKind, density: DensityKind) -> Head {
    let mut config = NormsConfig::paper();
    (config.point, config.norm, config.density) = (point, norm, density);
    Head::Norms(config)
}

fn heads() -> [Head; 6] {
    [
        EVIDENCE,
        Head::Surprise,
        norms(Point::Clean, NormKind::Squared, DensityKind::Mixture),
        norms(Point::Clean, NormKind::Plain, DensityKind::Mixture),
        norms(Point::Centre, NormKind::Squared, DensityKind::Kernel),
        norms(Point::Centre, NormKind::Plain, DensityKind::Neighbours),
    ]
}

#[test]
fn odd_combinations_numbers_and_gaps_score_above_usual_rows_and_say_why() {
    let model = fitted(EVIDENCE);
    let rows = table(
        "colour,shape,size,weekday\nred,square,11,mon\nred,circle,11,mon\ngreen,circle,10,tue\nred,square,900,mon\n",
    );
    let scored = model.score(&rows).expect("scored");
    for odd in 1..4 {
        assert!(scored[odd].score > scored[0].score + 0.5, "row {odd}: {scored:?}");
    }
    assert!(scored[0].p_value > 0.05, "{scored:?}");
    assert!(scored[3].p_value < 0.03, "{scored:?}");
    let explained = model.explain(&rows, &[1, 3], 2).expect("explained");
    let first = &explained[0].reasons[0];
    assert!(["colour", "shape", "size"].contains(&first.column.as_str()), "{explained:?}");
    let top = &explained[1].reasons[0];
    assert_eq!((top.column.as_str(), top.saw.as_str()), ("size", "900"));
    assert!(top.expected.as_ref().is_some_and(|range| range.contains(" to ")), "{top:?}");
}

#[test]
fn parts_and_base_sum_to_the_score_under_every_head() {
    let rows = table("colour,shape,size,weekday\nred,circle,11,mon\npink,circle,,tue\ngreen,circle,-1e300,sun\n");
    for head in heads() {
        let model = briefly_fitted(head);
        let scores = model.score(&rows).expect("scored");
        for (scored, explanation) in scores.iter().zip(model.explain(&rows, &[0, 1, 2], usize::MAX).expect("explained"))
        {
            let sum =
                explanation.base + explanation.rest + explanation.reasons.iter().map(|reason| reason.part).sum::<f64>();
            assert!(scored.score.is_finite());
            assert!((sum - scored.score).abs() < 1e-6 * scored.score.abs().max(1.0), "{head:?}: {sum} {scored:?}");
        }
    }
}

#[test]
fn an_unseen_category_is_evidence_under_every_head() {
    let rows = table("colour,shape,size,weekday\nred,square,11,mon\nred,square,11,sunday\n");
    for head in heads() {
        let model = briefly_fitted(head);
        let explained = &model.explain(&rows, &[1], usize::MAX).expect("explained")[0];
        let reason = explained.reasons.iter().find(|reason| reason.column == "weekday").expect("a reason");
        assert!(reason.note.as_deref() == Some("never seen") && reason.saw == "sunday");
        assert!(reason.part > 1.0, "{reason:?}");
        let scored = model.score(&rows).expect("scored");
        assert!(scored[1].score > scored[0].score, "{head:?}: {scored:?}");
    }
}

#[test]
fn the_schema_guard_names_what_is_different() {
    let model = fitted(EVIDENCE);
    let reordered = table("weekday,size,extra,shape,colour\nmon,11,x,square,red\n");
    let report = model.check(&reordered).expect("usable");
    assert!(report.reordered);
    assert_eq!(report.extra, ["extra"]);
    let straight = table("colour,shape,size,weekday\nred,square,11,mon\n");
    assert_eq!(model.score(&reordered).expect("scored"), model.score(&straight).expect("scored"));

    let renamed = table("colour,form,size,weekday\nred,square,11,mon\n");
    let message = model.check(&renamed).expect_err("a column is missing").to_string();
    assert_eq!(message, "test.csv lacks the model's column `shape`; the file has `form` instead; rename them back");

    let text = format!("colour,shape,size,weekday\n{}", "3.5,square,11,mon\n".repeat(30));
    let message = model.check(&table(&text)).expect_err("numbers for words").to_string();
    assert!(message.contains("column `colour`") && message.contains("now holds numbers, `3.5` for one"), "{message}");

    let wrong = table("colour,shape,size,weekday\nred,square,large,mon\n");
    let explained = &model.explain(&wrong, &[0], usize::MAX).expect("a stray cell is evidence, not an error")[0];
    let reason = explained.reasons.iter().find(|reason| reason.column == "size").expect("a reason");
    assert_eq!(reason.note.as_deref(), Some("not a number"));
}

#[test]
fn a_model_file_gives_the_same_scores_and_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = table(&text(40));
    for head in heads() {
        let mut model = briefly_fitted(head);
        let path = folder.path().join("model.gnsm");
        model.save(&path).expect("saved");
        let loaded = Model::load(&path).expect("loaded");
        assert_eq!(loaded.score(&rows).expect("scored"), model.score(&rows).expect("scored"), "{head:?}");
        assert_eq!(
            loaded.explain(&rows, &[3], 9).expect("explained"),
            model.explain(&rows, &[3], 9).expect("explained")
        );
        assert_eq!(loaded.hash(), model.hash());
        let bytes = std::fs::read(&path).expect("read");
        briefly_fitted(head).save(&path).expect("saved");
        assert!(bytes == std::fs::read(&path).expect("read"), "{head:?}: a second fit gives another file");
    }
}

#[test]
fn every_flipped_bit_and_every_cut_of_a_model_file_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.gnsm");
    let mut config = GnsmConfig::fast();
    config.levels.count = 2;
    (config.network.width, config.network.depth, config.network.embedding) = (4, 1, 4);
    config.training.steps = 2;
    let mut model = Model::builder().settings(Method::Gnsm(config)).fit(&table(&text(60))).expect("fitted");
    model.save(&path).expect("saved");
    let bytes = std::fs::read(&path).expect("read");
    for length in (0..bytes.len()).step_by(7) {
        assert!(gnsm::internals::model::file::from_bytes(&bytes[..length]).is_err(), "cut to {length} bytes");
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        // Padding and white space of the header may change without a meaning changing.
        if let Ok(loaded) = gnsm::internals::model::file::from_bytes(&damaged) {
            assert_eq!(loaded.hash(), model.hash(), "byte {at}");
        }
    }
}

#[test]
fn other_files_and_other_versions_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.gnsm");
    fitted(EVIDENCE).save(&path).expect("saved");
    let text = std::fs::read(&path).expect("read");
    let at = text.windows(14).position(|window| window == b"\\\"version\\\":1,").expect("a version");
    let mut newer = text.clone();
    newer[at + 12] = b'7';
    let message = gnsm::internals::model::file::from_bytes(&newer).expect_err("newer").to_string();
    assert_eq!(message, "model: format version 7 is newer than this program's 1; use a newer gnsm");

    std::fs::write(&path, "a,b\n1,2\n").expect("written");
    let message = Model::load(&path).expect_err("a table").to_string();
    assert!(message.contains("not a model file") && message.contains("give a file that `gnsm fit` wrote"), "{message}");
    let missing = Model::load("nowhere.gnsm").expect_err("missing");
    assert!(matches!(missing, Error::Io { .. }));
}

#[test]
fn hopeless_tables_are_refused_with_advice() {
    let fit = |text: &str| {
        Model::builder().settings(small(Head::Surprise, 400)).fit(&table(text)).expect_err("refused").to_string()
    };
    assert_eq!(fit("a,b\nx,y\n"), "test.csv has 1 row to learn from; give at least 20");
    let same = format!("a,b\n{}", "x,y\n".repeat(50));
    assert_eq!(fit(&same), "all 50 rows of test.csv are the same; there is nothing to compare; give rows that differ");
}
