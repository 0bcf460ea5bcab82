//! How far out a number lies among those of training, on either side.

use crate::files::Tensors;

/// The numbers of training, ascending.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tail(Vec<f64>);

impl Tail {
    pub fn fit(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        Self(values)
    }

    /// −log of the two-sided tail, 2 min(P(X ≤ x), P(X ≥ x)) but at most 1, with each P counted as (1 + how many) / (1 + n): in nats, 0 in
    /// the middle and log((n + 1) / 2) beyond all that was seen.
    pub fn surprise(&self, x: f64) -> f64 {
        let n = self.0.len();
        let below = self.0.partition_point(|value| *value < x);
        let at_most = self.0.partition_point(|value| *value <= x);
        let fewer = at_most.min(n - below);
        let tail = 2.0 * (1 + fewer) as f64 / (1 + n) as f64;
        -tail.min(1.0).ln()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn save(&self, tensors: &mut Tensors, name: &str) {
        tensors.put(name, self.0.clone());
    }

    pub fn load(tensors: &mut Tensors, name: &str, length: usize) -> Result<Self, String> {
        let values: Vec<f64> = tensors.take(name, length)?;
        if values.is_sorted() { Ok(Self(values)) } else { Err(format!("tensor `{name}` does not ascend")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_worked_out_by_hand() {
        let tail = Tail::fit(vec![3.0, 1.0, 2.0, 2.0, 5.0, 4.0, 9.0]);
        // Of seven numbers, this many are on the thinner side, x itself included.
        for (x, fewer) in [(0.5, 0), (1.0, 1), (1.5, 1), (5.0, 2), (9.0, 1), (10.0, 0)] {
            let expected = -(2.0 * f64::from(1 + fewer) / 8.0).ln();
            assert_eq!(tail.surprise(x), expected, "{x}");
        }
        for middle in [2.0, 3.0, 4.0] {
            assert_eq!(tail.surprise(middle), 0.0, "{middle}");
        }
    }
}
