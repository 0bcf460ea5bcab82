//! Which columns make rows odd that come after those learned.
//!
//! After a rise of all salaries, most rows would be odd by their salary. Usually one row in a hundred is odd (p ≤
//! 0.01), for whatever reason. So a sample of the rows is scored. A column is at fault for an odd row if its part of
//! the score is at least half of the largest part. A column that is at fault for more than 2 % of the rows, and for
//! more than chance reaches once in a thousand times, is set aside. Then the rows are scored anew, until no such column
//! is left.

use super::report::take_all_of_a_value;
use super::sample::Sample;
use super::statistics::Share;
use crate::columns::{Aside, Aspect, Encoder, Feature};
use crate::decision::Calibration;
use crate::detectors::Detector;

/// The largest p-value of an odd row. It is the share of usual rows that are odd.
const ODD: f64 = 0.01;
/// The share of the rows that a column has to make odd.
const LEAST: f64 = 0.02;
/// The share of the largest part that a column's part needs to be at fault.
const AT_FAULT: f64 = 0.5;

/// What tells how odd rows are, and how odd is usual.
#[derive(Clone, Copy)]
pub(crate) struct Basis<'a> {
    pub encoder: &'a Encoder,
    pub detector: &'a dyn Detector,
    pub calibration: &'a Calibration,
}

impl std::fmt::Debug for Basis<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Basis").field("calibration", self.calibration).finish_non_exhaustive()
    }
}

impl Basis<'_> {
    /// The features that make too many rows odd without those that are set aside already, each with the share of rows.
    pub(super) fn makes_odd(&self, sample: &Sample, aside: &[usize]) -> Vec<(usize, f64)> {
        let (rows, copies) = sample.rows();
        let total: u64 = copies.iter().sum();
        let encoder = self.encoder;
        // The method's own tail has to agree: in a table without a pattern, the highest score in a hundred rows is not
        // odd.
        let known = self.detector.known_tail();
        let is_odd = |score: f64| {
            let nats = known.map_or(f64::INFINITY, |known| known.nats(score).unwrap_or(0.0));
            self.calibration.p_value(score) <= ODD && (-nats).exp() <= ODD
        };
        let mut aside = aside.to_vec();
        let mut found = Vec::new();
        loop {
            let without = Aside::of(encoder, &aside);
            let used_to = if without.is_empty() { None } else { self.detector.used_to(&without.lacking(encoder)) };
            let detector = used_to.as_deref().unwrap_or(self.detector);
            let hidden = without.hide(encoder, &rows);
            let mut split = detector.split(hidden.as_ref().unwrap_or(&rows));
            without.clear(encoder, &mut split.parts);
            let mut at_fault = vec![0; encoder.features().len()];
            for (row, score) in split.sums().into_iter().enumerate() {
                if is_odd(score) {
                    let parts: Vec<f64> =
                        encoder.features().iter().map(|feature| part(encoder, feature, split.parts(row))).collect();
                    let largest = parts.iter().copied().fold(0.0, f64::max);
                    for (count, part) in at_fault.iter_mut().zip(&parts) {
                        *count += if largest > 0.0 && *part >= AT_FAULT * largest { copies[row] } else { 0 };
                    }
                }
            }
            let usual = Share { part: ODD * self.calibration.rows() as f64, of: self.calibration.rows() as f64 };
            let too_many = |feature: &&Feature| {
                let share = Share::new(at_fault[feature.group], total);
                share.value() > LEAST && share.is_beyond_chance(usual) && may_move(feature)
            };
            let more: Vec<usize> = encoder.features().iter().filter(too_many).map(|feature| feature.group).collect();
            if more.is_empty() {
                return found;
            }
            found.extend(more.iter().map(|group| (*group, at_fault[*group] as f64 / total as f64)));
            aside.extend(more);
            take_all_of_a_value(encoder, &mut aside);
        }
    }
}

/// The part of a score that a feature has.
fn part(encoder: &Encoder, feature: &Feature, parts: &[f64]) -> f64 {
    parts[encoder.layout().n_numbers() + feature.group] + feature.number.map_or(0.0, |number| parts[number])
}

/// Whether time can change it. Whether a key repeats is not known of a new row.
fn may_move(feature: &Feature) -> bool {
    feature.aspect != Aspect::Repeat
}
