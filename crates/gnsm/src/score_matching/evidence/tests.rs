use super::*;

// By hand: 3 pairs of columns with 2·1, 2·3 and 1·3 free parameters cost ½·11·log 100000 = 63.3 nats; at 100,000 rows u = 50/51.
#[test]
fn couplings_count_by_how_far_their_evidence_exceeds_their_cost() {
    const N: usize = 100_000;
    let (cost, u) = (0.5 * 11.0 * (N as f64).ln(), 50.0 / 51.0);
    let weights = |surprises: &[[f64; 2]]| EvidenceWeights::new(surprises, N, &[2, 1, 3], 1.0);
    let expected = |w: f64| (1.0 - w) * (1.0 - 0.5 * (1.0 - u)) + 0.25 * w;
    let of_evidence = |nats: f64| weights(&[[2.0, 2.0 - nats / N as f64]; 50]);
    assert!((of_evidence(1.4 * cost).values - expected(0.4)).abs() < 1e-6);
    assert!((of_evidence(2.5 * cost).values - expected(1.0)).abs() < 1e-6);
    assert!((of_evidence(0.9 * cost).values - expected(0.0)).abs() < 1e-6, "that does not pay for it");
    let together = of_evidence(2.5 * cost);
    assert_eq!(together.doubt, together.residual);
    assert!((together.doubt - 0.25).abs() < 1e-6 && (together.patterns - 0.25).abs() < 1e-6, "{together:?}");
    for nothing in [&[[2.0, 2.5]; 50][..], &[[9.0, 0.0]], &[[0.0, 0.0]; 50]] {
        assert!((weights(nothing).values - expected(0.0)).abs() < 1e-6, "{nothing:?}");
    }
    // Mean 0.001, standard deviation 0.003·√(50/49): the standard error is 0.000429.
    let uneven: Vec<[f64; 2]> = (0..50).map(|i| [2.0, if i % 2 == 0 { 1.996 } else { 2.002 }]).collect();
    let evidence = N as f64 * (0.001 - 0.003 / 49f64.sqrt());
    assert!(evidence < cost && 0.001 * N as f64 > cost, "the error decides");
    assert!((weights(&uneven).values - expected(0.0)).abs() < 1e-6);
}

#[test]
fn patterns_take_over_where_the_rest_tells_half_of_many_rows() {
    let weights = |rest: f64, n_rows: usize| EvidenceWeights::new(&[[2.0, rest]; 50], n_rows, &[2, 1, 3], 0.0);
    let kinds = 1.0 / (1.0 + (-2.4f64).exp());
    assert!((weights(0.92, 1_000_000_000).patterns - (kinds + 0.25 * (1.0 - kinds))).abs() < 1e-4, "v = 0.54");
    let nearly_all = weights(0.8, 1_000_000_000);
    assert!(nearly_all.doubt > 0.2e-9 && nearly_all.patterns > 1.0 - 1.1e-9, "v = 0.6: {nearly_all:?}");
    let few = weights(0.8, 2000);
    assert!((few.values - 0.25).abs() < 1e-3 && (few.patterns - 0.25).abs() < 1e-3, "{few:?}");
    assert!((weights(1.9, 1_000_000_000).patterns - 0.25).abs() < 1e-3, "v = 0.05");
    for weights in [few, weights(0.8, 500), weights(1.2, 5000), weights(2.0, 100)] {
        let sum = weights.values + weights.doubt + weights.residual + weights.patterns;
        assert!((sum - 1.0).abs() < 1e-9, "{weights:?}");
    }
}

#[test]
fn in_small_tables_something_stands_beside_values() {
    let weights = |saving: f64, n_rows: usize| EvidenceWeights::new(&[[2.0, 2.0]; 50], n_rows, &[2, 1], saving);
    let found = weights(0.03, 2000);
    assert!((found.patterns - 0.25).abs() < 1e-9 && found.doubt == 0.0, "half of a half: {found:?}");
    let nothing_found = weights(0.02, 2000);
    assert_eq!(nothing_found.patterns, 0.0, "too little saved");
    assert!((nothing_found.doubt - 0.125).abs() < 1e-9 && nothing_found.residual == nothing_found.doubt);
    assert!(weights(0.5, 1_000_000).values > 0.99, "too many rows");
}

/// The last category of each column occurs in held-out rows alone: what has seen it finds it less odd than what has not.
#[test]
fn tails_come_from_rows_that_their_members_have_not_seen() -> Result<()> {
    let layout = Layout::new(1, vec![3, 3, 4]);
    let rows = |range: std::ops::Range<u32>, odd: u32| {
        let codes = range.clone().flat_map(|i| match i % 4 {
            0 => [odd, odd, 2 * odd - 1],
            _ => [i % 2, i / 2 % 2, i % 3],
        });
        let numbers =
            range.clone().map(|i| ((i * 7 % 11) as f32 - 5.0) / 4.0 + if i % 4 == 0 { odd as f32 } else { 0.0 });
        Encoded::new(range.len(), codes.collect(), numbers.collect())
    };
    let (training, held_out) = (rows(0..60, 1), rows(60..90, 2));
    let all = training.concat(&held_out);
    let weigh = |_| EvidenceWeights { values: 0.25, doubt: 0.25, residual: 0.25, patterns: 0.25 };
    let doubts = vec![0.5; held_out.n_rows() * layout.n_cells()];
    let head = EvidenceHead::fit(weigh, &layout, [&training, &held_out], &doubts)?;
    let (numbers, categories) = (numbers_of(&layout), categories_of(&layout));
    let whole: fn(&Encoded) -> Encoded = Encoded::clone;
    for (name, layout, part, member) in [
        ("marginals", &numbers, only_numbers as fn(&Encoded) -> Encoded, head.numbers),
        ("cbrw", &categories, only_codes, head.categories),
        ("pca", &layout, whole, head.residual),
        ("comprex", &layout, whole, head.patterns),
    ] {
        let member = member.expect("a member");
        let scores = |fitted_to: &Encoded| -> Result<Vec<f64>> {
            let detector = MemberDetector::fit(name, layout, &part(fitted_to))?;
            Ok(score_distinct(detector.detector(), &part(&held_out)))
        };
        assert_eq!(member.tail, HeavyTail::fit(scores(&training)?), "{name}");
        assert_eq!(score_distinct(member.detector.detector(), &part(&held_out)), scores(&all)?, "{name}");
        // Standardised numbers are measured by themselves, whatever rows there are.
        assert!(name == "marginals" || member.tail != HeavyTail::fit(scores(&all)?), "{name}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_measured_is_left_to_doubt() {
    let weights = EvidenceWeights { values: 0.1, doubt: 0.2, residual: 0.3, patterns: 0.4 };
    assert_eq!(weights.measurable(true, true), weights);
    let alone = weights.measurable(false, false);
    assert_eq!((alone.residual, alone.patterns), (0.0, 0.0));
    assert!((alone.doubt - 0.9).abs() < 1e-12);
}

#[test]
fn parts_follow_the_shares_of_the_cells() {
    let tail = HeavyTail::fit((1..=100).map(f64::from).collect());
    let own = Split { base: vec![10.0, 0.0], parts: vec![30.0, 10.0, 0.0, 0.0], n_cells: 2 };
    let measure = Measure::new(1, own, |(_, sum)| 0.5 * tail.nats(sum));
    let mut parts = vec![0.0; 6];
    let base = parts.chunks_exact_mut(3).enumerate().map(|(row, parts)| measure.add(row, parts)).collect();
    let split = Split { base, parts, n_cells: 3 };
    let nats = 0.5 * tail.nats(50.0);
    assert!((split.base[0] - 0.2 * nats).abs() < 1e-12);
    assert_eq!(split.parts(0)[0], 0.0, "cells before the first are left alone");
    assert!((split.parts(0)[1] - 0.6 * nats).abs() < 1e-12 && (split.parts(0)[2] - 0.2 * nats).abs() < 1e-12);
    assert_eq!((split.base[1], split.parts(1)), (0.5 * tail.nats(0.0), &[0.0; 3][..]));
}
