//! From a row and its reconstruction to the two numbers that DAGMM adds to the code, and back.
//!
//! Relative distance ‖x − x̂‖/‖x‖ and cosine similarity x·x̂/(‖x‖ ‖x̂‖). A norm in a denominator is at least a
//! thousandth, so that a row of zeros has both numbers.

/// The smallest norm that is divided by.
const SMALLEST: f64 = 1e-3;

/// What is needed of a row and its reconstruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comparison {
    pub squared_error: f64,
    pub distance: f64,
    pub cosine: f64,
    /// Lengths of x and x̂, as they are.
    lengths: [f64; 2],
}

/// Gradients of a loss with respect to the three numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slopes {
    pub squared_error: f64,
    pub distance: f64,
    pub cosine: f64,
}

impl Comparison {
    /// Compares a row with its reconstruction.
    pub fn new(x: &[f32], seen: &[f32]) -> Self {
        let pairs = || x.iter().zip(seen).map(|(x, seen)| (f64::from(*x), f64::from(*seen)));
        let squared_error: f64 = pairs().map(|(x, seen)| (x - seen) * (x - seen)).sum();
        let lengths =
            [pairs().map(|(x, _)| x * x).sum::<f64>().sqrt(), pairs().map(|(_, s)| s * s).sum::<f64>().sqrt()];
        let [of_x, of_seen] = lengths.map(|length| length.max(SMALLEST));
        let dot: f64 = pairs().map(|(x, seen)| x * seen).sum();
        Self { squared_error, distance: squared_error.sqrt() / of_x, cosine: dot / (of_x * of_seen), lengths }
    }

    /// Writes the gradient with respect to the reconstruction.
    pub fn backward_seen(&self, x: &[f32], seen: &[f32], slopes: Slopes, d_seen: &mut [f32]) {
        let Factors { difference, cross, .. } = self.factors(slopes);
        let of_seen = self.shrinking(1, slopes);
        for ((d, x), seen) in d_seen.iter_mut().zip(x).zip(seen) {
            let (x, seen) = (f64::from(*x), f64::from(*seen));
            *d = (difference * (seen - x) + cross * x - of_seen * seen) as f32;
        }
    }

    /// Adds the gradient with respect to the row itself, its reconstruction held fast.
    pub fn backward_row(&self, x: &[f32], seen: &[f32], slopes: Slopes, d_x: &mut [f32]) {
        let Factors { difference, cross, length } = self.factors(slopes);
        let of_x = self.shrinking(0, slopes) + length;
        for ((d, x), seen) in d_x.iter_mut().zip(x).zip(seen) {
            let (x, seen) = (f64::from(*x), f64::from(*seen));
            *d += (difference * (x - seen) + cross * seen - of_x * x) as f32;
        }
    }

    fn factors(&self, slopes: Slopes) -> Factors {
        let [of_x, of_seen] = self.lengths.map(|length| length.max(SMALLEST));
        let error = self.squared_error.sqrt();
        // A perfect reconstruction has no direction in which its distance grows.
        let of_error = if error > 0.0 { slopes.distance / (error * of_x) } else { 0.0 };
        let grows = self.lengths[0] > SMALLEST;
        Factors {
            difference: 2.0 * slopes.squared_error + of_error,
            cross: slopes.cosine / (of_x * of_seen),
            length: if grows { slopes.distance * self.distance / (of_x * of_x) } else { 0.0 },
        }
    }

    /// What the cosine loses with a length.
    fn shrinking(&self, which: usize, slopes: Slopes) -> f64 {
        let length = self.lengths[which];
        if length > SMALLEST { slopes.cosine * self.cosine / (length * length) } else { 0.0 }
    }
}

struct Factors {
    difference: f64,
    cross: f64,
    /// What the relative distance loses with the row's length.
    length: f64,
}
