//! How well scores rank anomalies above the rest.
//!
//! Both metrics walk down the distinct scores, so that rows with equal scores are judged together and their order
//! means nothing. With P anomalies and N others:
//!
//! - average precision = Σₜ (Rₜ − Rₜ₋₁) Pₜ, where Pₜ and Rₜ are precision and recall when all rows with at least
//!   the t-th highest score are flagged. No interpolation, as in scikit-learn's `average_precision_score`.
//! - area under the ROC curve = P(anomaly scores higher) + ½ P(equal) over all P·N pairs, which is the trapezoidal
//!   area of scikit-learn's `roc_auc_score`.

pub mod correlation;

use crate::error::{Error, Result};

/// Average precision; `labels` are true for anomalies, and higher scores mean odder.
pub fn average_precision(labels: &[bool], scores: &[f64]) -> Result<f64> {
    let groups = groups(labels, scores)?;
    let total: u64 = groups.iter().map(|group| group.anomalies).sum();
    let (mut anomalies, mut rows) = (0, 0);
    let mut sum = 0.0;
    for group in groups {
        anomalies += group.anomalies;
        rows += group.anomalies + group.others;
        sum += group.anomalies as f64 * (anomalies as f64 / rows as f64);
    }
    Ok(sum / total as f64)
}

/// Area under the ROC curve; `labels` are true for anomalies, and higher scores mean odder.
pub fn auroc(labels: &[bool], scores: &[f64]) -> Result<f64> {
    let (mut anomalies, mut others) = (0, 0);
    let mut half_pairs: u128 = 0; // an anomaly above another row counts 2, beside it 1
    for group in groups(labels, scores)? {
        half_pairs += u128::from(group.others) * u128::from(2 * anomalies + group.anomalies);
        anomalies += group.anomalies;
        others += group.others;
    }
    Ok(half_pairs as f64 / (2.0 * anomalies as f64 * others as f64))
}

/// Rows that share a score.
struct Group {
    anomalies: u64,
    others: u64,
}

/// The groups from the highest score down; an error where a metric is not defined.
fn groups(labels: &[bool], scores: &[f64]) -> Result<Vec<Group>> {
    if labels.len() != scores.len() {
        return Err(Error::schema(
            format!("there are {} labels and {} scores", labels.len(), scores.len()),
            "give one label for each score",
        ));
    }
    if let Some(row) = scores.iter().position(|score| score.is_nan()) {
        return Err(Error::schema(
            format!("the score of row {row} is not a number"),
            "score the row again or leave it out",
        ));
    }
    if labels.iter().all(|&label| label) || !labels.contains(&true) {
        return Err(Error::schema(
            "a ranking is judged by anomalies and other rows, and the labels hold only one kind",
            "give rows of both kinds",
        ));
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_unstable_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    // Equality, not the order's own idea of it: −0 and 0 are one score.
    let groups = order.chunk_by(|&a, &b| scores[a] == scores[b]).map(|rows| {
        let anomalies = rows.iter().filter(|&&row| labels[row]).count() as u64;
        Group { anomalies, others: rows.len() as u64 - anomalies }
    });
    Ok(groups.collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(labels: &[u8], scores: &[f64], precision: f64, area: f64) -> Result<()> {
        let labels: Vec<bool> = labels.iter().map(|&label| label == 1).collect();
        assert!((average_precision(&labels, scores)? - precision).abs() < 1e-15);
        assert!((auroc(&labels, scores)? - area).abs() < 1e-15);
        Ok(())
    }

    /// Values from `reference/metrics.py` in the benchmarks.
    #[test]
    fn metrics_agree_with_scikit_learn() -> Result<()> {
        check(&[0, 0, 1, 1], &[0.1, 0.4, 0.35, 0.8], 0.833_333_333_333_333_3, 0.75)?;
        check(&[1, 0, 1, 0, 0, 1, 0, 1], &[3.0, 3.0, 2.0, 2.0, 2.0, 1.0, 1.0, 5.0], 0.666_666_666_666_666_6, 0.625)?;
        check(&[1, 0, 0, 1, 0], &[7.0; 5], 0.4, 0.5)?;
        check(&[1, 0, 0, 1], &[0.0, -0.0, -1.0, 1.0], 0.833_333_333_333_333_3, 0.875)?;
        check(&[1, 1, 0, 0, 0], &[1.0, 2.0, 3.0, 4.0, 5.0], 0.325, 0.0)?;
        let labels: Vec<u8> = (0..60).map(|row| u8::from(row * row % 7 == 1)).collect();
        let scores: Vec<f64> = (0..60).map(|row| f64::from(row * 17 % 23 / 4)).collect();
        check(&labels, &scores, 0.305_200_170_812_426_6, 0.532_831_737_346_101_2)
    }

    #[test]
    fn what_has_no_metric_is_refused() {
        for (labels, scores) in [
            (vec![], vec![]),
            (vec![true, true], vec![1.0, 2.0]),
            (vec![false, false], vec![1.0, 2.0]),
            (vec![true, false], vec![1.0]),
            (vec![true, false], vec![1.0, f64::NAN]),
        ] {
            assert!(average_precision(&labels, &scores).is_err());
            assert!(auroc(&labels, &scores).is_err());
        }
        assert_eq!(auroc(&[true, false], &[f64::INFINITY, f64::NEG_INFINITY]).ok(), Some(1.0));
    }

    /// Labels of both kinds, and scores of which many are equal.
    fn ranking() -> impl Strategy<Value = Vec<(bool, f64)>> {
        prop::collection::vec((any::<bool>(), (-6_i32..6).prop_map(|score| f64::from(score) / 4.0)), 0..60).prop_map(
            |mut rows| {
                rows.extend([(true, 0.5), (false, 0.25)]);
                rows
            },
        )
    }

    proptest! {
        #[test]
        fn an_increasing_transform_changes_nothing(rows in ranking()) {
            let (labels, scores): (Vec<bool>, Vec<f64>) = rows.into_iter().unzip();
            let transformed: Vec<f64> = scores.iter().map(|score| 3.0 + score.exp()).collect();
            prop_assert_eq!(average_precision(&labels, &scores).ok(), average_precision(&labels, &transformed).ok());
            prop_assert_eq!(auroc(&labels, &scores).ok(), auroc(&labels, &transformed).ok());
        }

        #[test]
        fn the_order_of_rows_changes_nothing(
            (rows, permuted) in ranking().prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle()))
        ) {
            let (labels, scores): (Vec<bool>, Vec<f64>) = rows.into_iter().unzip();
            let (permuted_labels, permuted_scores): (Vec<bool>, Vec<f64>) = permuted.into_iter().unzip();
            prop_assert_eq!(
                average_precision(&labels, &scores).ok(),
                average_precision(&permuted_labels, &permuted_scores).ok()
            );
            prop_assert_eq!(auroc(&labels, &scores).ok(), auroc(&permuted_labels, &permuted_scores).ok());
        }

        #[test]
        fn reversed_scores_give_the_rest_of_the_area(rows in ranking()) {
            let (labels, scores): (Vec<bool>, Vec<f64>) = rows.into_iter().unzip();
            let reversed: Vec<f64> = scores.iter().map(|score| -score).collect();
            let sum = auroc(&labels, &scores).unwrap_or(f64::NAN) + auroc(&labels, &reversed).unwrap_or(f64::NAN);
            prop_assert!((sum - 1.0).abs() < 1e-12);
        }
    }
}
