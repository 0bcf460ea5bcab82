//! A number as a choice among bins: about 24 of equal share, and one of its own for every value that many rows repeat.
//!
//! Ages 20 to 64 fall into bins of two years or so; the 0 that a third of the rows have in `capital-gain` is a bin by
//! itself, a spike. Given the probabilities of the bins, a number has a density (bins are weighed by their width), a
//! distribution function F (numbers are spread evenly between four knots of their bin) and a range that holds the
//! middle nine tenths. A bin does not end all at once: a number near an edge is in part in the bin behind it. Else 248
//! seconds would be odd beside 4.13 minutes where the one begins a bin and the other ends one. Beyond the smallest and
//! the largest number seen, the surprise grows with the distance, in units of the mean excess of the outer twentieth,
//! and later with its logarithm.

use crate::cells::recipe::Recipe;

/// The share of rows outside of an expected range, on each side.
const OUTSIDE: f64 = 0.05;
/// A number's size at which it is cut off.
const LARGEST: f32 = 1e6;
/// The smallest width of a bin, in deviations.
const FINEST: f64 = 1e-3;
/// The shares of a bin's rows that lie below its knots.
const SHARES: [f64; 4] = [0.0, OUTSIDE, 1.0 - OUTSIDE, 1.0];

/// How a number falls into bins.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cells) struct Bins {
    /// Where the bins but the first begin, ascending.
    pub edges: Vec<f32>,
    /// Of each bin the smallest number, the 5 % and 95 % points, and the largest.
    pub knots: Vec<[f32; 4]>,
    /// The mean and the standard deviation of all numbers, the deviation by their quartiles, and the finest step
    /// between two of them.
    pub moments: [f64; 4],
    /// The mean excess of the outer twentieth below and above.
    pub excess: [f64; 2],
    /// The two smallest numbers and the two largest, ascending.
    pub ends: [f32; 4],
    /// Excesses beyond these that count in full.
    pub straight: f64,
}

impl Bins {
    /// Learns from distinct values, ascending, with their counts; also gives the rows of each bin. None without values.
    pub fn learn(recipe: &Recipe, values: &[(f32, u32)]) -> Option<(Self, Vec<u32>)> {
        let (&(first, first_count), &(last, last_count)) = (values.first()?, values.last()?);
        let n: f64 = values.iter().map(|(_, count)| f64::from(*count)).sum();
        let mean = values.iter().map(|(x, count)| f64::from(*x) * f64::from(*count)).sum::<f64>() / n;
        let square = |(x, count): &(f32, u32)| (f64::from(*x) - mean).powi(2) * f64::from(*count);
        let deviation = (values.iter().map(square).sum::<f64>() / n).sqrt();
        let deviation = if deviation > 0.0 { deviation } else { 1.0 };
        let [low, q1, q3, high] = [OUTSIDE, 0.25, 0.75, 1.0 - OUTSIDE].map(|share| quantile(values, share));
        let scale = if q3 > q1 { (q3 - q1) / 1.349 } else { deviation };
        let gap =
            values.windows(2).map(|pair| f64::from(pair[1].0) - f64::from(pair[0].0)).fold(f64::INFINITY, f64::min);
        let step = if gap.is_finite() { gap.max(FINEST * scale) } else { scale };
        let excess = [
            mean_excess(values.iter().map(|(x, count)| (low - f64::from(*x), *count))).max(step),
            mean_excess(values.iter().map(|(x, count)| (f64::from(*x) - high, *count))).max(step),
        ];
        let alone = |count: u32, neighbour: Option<&(f32, u32)>, end: f32| match neighbour {
            Some(neighbour) if count == 1 => neighbour.0,
            _ => end,
        };
        let next = alone(last_count, values.iter().rev().nth(1), last);
        let ends = [first, alone(first_count, values.get(1), first), next, last];
        let edges = occupied(values, &cuts(recipe, values, n));
        let bin_of = |x: f32| edges.partition_point(|edge| *edge <= x);
        let bins: Vec<&[(f32, u32)]> = values.chunk_by(|a, b| bin_of(a.0) == bin_of(b.0)).collect();
        let counts = bins.iter().map(|bin| bin.iter().map(|(_, count)| count).sum()).collect();
        let knots = bins.iter().map(|bin| knots(bin)).collect();
        Some((
            Self { edges, knots, moments: [mean, deviation, scale, step], excess, ends, straight: recipe.straight },
            counts,
        ))
    }

    /// The bins of a number that no row has.
    pub fn none(recipe: &Recipe) -> Self {
        let (edges, knots) = (Vec::new(), Vec::new());
        Self {
            edges,
            knots,
            moments: [0.0, 1.0, 1.0, 1.0],
            excess: [1.0; 2],
            ends: [0.0; 4],
            straight: recipe.straight,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.knots.len()
    }

    /// The bin of a number.
    pub fn bin(&self, x: f32) -> usize {
        self.edges.partition_point(|edge| *edge <= x)
    }

    /// The number in deviations from the mean.
    pub fn standardised(&self, x: f32) -> f32 {
        ((f64::from(x) - self.moments[0]) / self.moments[1]).clamp(-30.0, 30.0) as f32
    }

    /// ln of a bin's width, in deviations by the quartiles.
    pub fn ln_width(&self, bin: usize) -> f64 {
        let [_, _, scale, step] = self.moments;
        let width = if self.is_spike(bin) { step } else { self.width(bin).max(step) };
        (width / scale).ln()
    }

    fn is_spike(&self, bin: usize) -> bool {
        self.knots[bin][0] == self.knots[bin][3]
    }

    fn width(&self, bin: usize) -> f64 {
        let [low, .., high] = self.knots[bin];
        let left = if bin == 0 { low } else { self.edges[bin - 1] };
        let right = self.edges.get(bin).copied().unwrap_or(high);
        f64::from(right) - f64::from(left)
    }

    /// The bin beside its own that a number is near to, and how near: ½ at the edge between them, and 0 from half the
    /// narrower one's width on. None where one of them is a spike.
    pub fn beside(&self, x: f32) -> Option<(usize, f64)> {
        let bin = self.bin(x);
        let near = |edge: usize, other: usize| {
            let narrower = self.width(bin).min(self.width(other));
            let distance = (f64::from(x) - f64::from(self.edges[edge])).abs();
            let is_smooth = !self.is_spike(bin) && !self.is_spike(other) && narrower > 0.0;
            is_smooth.then(|| (other, 0.5 - distance / narrower)).filter(|(_, near)| *near > 0.0)
        };
        let below = bin.checked_sub(1).and_then(|other| near(other, other));
        let above = (bin < self.edges.len()).then(|| near(bin, bin + 1)).flatten();
        below.into_iter().chain(above).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The nats that a number beyond all others costs; with itself left out if it is `counted` among them.
    pub fn beyond(&self, x: f32, counted: bool) -> f64 {
        let [first, second, next, last] = self.ends.map(f64::from);
        let x = f64::from(x);
        let low = if counted && x <= first { second } else { first };
        let high = if counted && x >= last { next } else { last };
        let excess = if x > high {
            (x - high) / self.excess[1]
        } else if x < low {
            (low - x) / self.excess[0]
        } else {
            return 0.0;
        };
        let straight = self.straight;
        if excess > straight { straight + straight * (excess / straight).ln() } else { excess }
    }

    /// The numbers between which nine tenths lie, given the probabilities of the bins.
    pub fn range(&self, probabilities: &[f32]) -> [f32; 2] {
        let mut below = 0.0;
        let mut range = [self.ends[0], self.ends[3]];
        for (p, knots) in probabilities.iter().map(|p| f64::from(*p)).zip(&self.knots) {
            if below + p >= OUTSIDE && p > 0.0 {
                range[0] = value_at(knots, (OUTSIDE - below) / p);
                break;
            }
            below += p;
        }
        let mut above = 0.0;
        for (p, knots) in probabilities.iter().map(|p| f64::from(*p)).zip(&self.knots).rev() {
            if above + p >= OUTSIDE && p > 0.0 {
                range[1] = value_at(knots, 1.0 - (OUTSIDE - above) / p);
                break;
            }
            above += p;
        }
        range
    }

    /// The probability of a number at least as far out on its side of the distribution, times two: at most 1.
    pub fn two_sided(&self, probabilities: &[f32], counts: &[u32], x: f32) -> f64 {
        let bin = self.bin(x);
        let sum = |ps: &[f32]| ps.iter().map(|p| f64::from(*p)).sum::<f64>();
        let (below, own, above) =
            (sum(&probabilities[..bin]), f64::from(probabilities[bin]), sum(&probabilities[bin + 1..self.len()]));
        let [low, .., high] = self.knots[bin];
        let least = 1.0 / f64::from(counts[bin].max(1));
        let [at_most, at_least] = if low == high && x == low {
            [1.0, 1.0]
        } else {
            let share = share_below(&self.knots[bin], x);
            [share.max(least), (1.0 - share).max(least)]
        };
        (2.0 * (below + own * at_most).min(above + own * at_least)).clamp(1e-12, 1.0)
    }
}

/// A number that arithmetic can rely on: not infinite, and with one zero.
pub(in crate::cells) fn tame(x: f32) -> f32 {
    x.clamp(-LARGEST, LARGEST) + 0.0
}

/// Where bins may begin.
fn cuts(recipe: &Recipe, values: &[(f32, u32)], n: f64) -> Vec<f32> {
    let between = |at: usize| {
        let (a, b) = (values[at].0, values[at + 1].0);
        let middle = f64::midpoint(f64::from(a), f64::from(b)) as f32;
        if middle > a { middle } else { b }
    };
    if values.len() <= recipe.most_bins {
        return (0..values.len() - 1).map(between).collect();
    }
    let is_spike = |count: u32| f64::from(count) >= (n / recipe.most_bins as f64).max(recipe.fewest_repeats);
    let mut cuts = Vec::new();
    for (at, _) in values.iter().enumerate().filter(|(_, (_, count))| is_spike(*count)) {
        cuts.extend((at > 0).then(|| between(at - 1)));
        cuts.extend((at + 1 < values.len()).then(|| between(at)));
    }
    let rest: Vec<(f32, u32)> = values.iter().copied().filter(|(_, count)| !is_spike(*count)).collect();
    if !rest.is_empty() {
        let share = rest.iter().map(|(_, count)| f64::from(*count)).sum::<f64>() / n;
        let n_bins = ((recipe.most_bins as f64 * share).round() as usize).max(2);
        let fewest = 0.5 * n * share / n_bins as f64;
        let spikes = cuts.clone();
        let rows_between = |from: f32, to: f32| {
            let within = |x: f32| from.min(to) <= x && x < from.max(to);
            rest.iter().filter(|(x, _)| within(*x)).map(|(_, count)| f64::from(*count)).sum::<f64>()
        };
        // A cut beside a spike would leave a bin of a few rows that nobody else has.
        let is_apart = |cut: &f32| spikes.iter().all(|spike| rows_between(*cut, *spike) >= fewest);
        cuts.extend((1..n_bins).map(|bin| quantile(&rest, bin as f64 / n_bins as f64) as f32).filter(is_apart));
    }
    cuts.sort_unstable_by(f32::total_cmp);
    cuts.dedup();
    cuts
}

/// The cuts that leave no bin empty.
fn occupied(values: &[(f32, u32)], cuts: &[f32]) -> Vec<f32> {
    let bins = values.iter().map(|(x, _)| cuts.partition_point(|cut| cut <= x));
    let mut bins: Vec<usize> = bins.collect();
    bins.dedup();
    bins.iter().skip(1).map(|bin| cuts[bin - 1]).collect()
}

/// A quantile of repeated values, interpolated.
fn quantile(values: &[(f32, u32)], share: f64) -> f64 {
    let n: f64 = values.iter().map(|(_, count)| f64::from(*count)).sum();
    let rank = (n - 1.0) * share;
    let at = |rank: f64| {
        let mut passed = 0.0;
        let found = values.iter().find(|(_, count)| {
            passed += f64::from(*count);
            rank < passed
        });
        found.or(values.last()).map_or(0.0, |value| f64::from(value.0))
    };
    let (low, high) = (at(rank.floor()), at(rank.ceil()));
    low + (high - low) * rank.fract()
}

/// The mean of what is above 0.
fn mean_excess(excesses: impl Iterator<Item = (f64, u32)>) -> f64 {
    let positive = excesses.filter(|(excess, _)| *excess > 0.0);
    let (sum, n) = positive.fold((0.0, 0.0), |(sum, n), (x, count)| (sum + x * f64::from(count), n + f64::from(count)));
    if n > 0.0 { sum / n } else { 0.0 }
}

/// The knots of a bin's values. One odd row cannot move the two inner ones far.
fn knots(values: &[(f32, u32)]) -> [f32; 4] {
    let last = values.iter().map(|(_, count)| u64::from(*count)).sum::<u64>().saturating_sub(1);
    let at = |rank: u64| {
        let mut passed = 0;
        let found = values.iter().find(|(_, count)| {
            passed += u64::from(*count);
            rank < passed
        });
        found.or(values.last()).map_or(0.0, |value| value.0)
    };
    let (low, high) = ((OUTSIDE * last as f64).ceil() as u64, ((1.0 - OUTSIDE) * last as f64).floor() as u64);
    let (low, high) = if low <= high { (low, high) } else { (last / 2, last / 2) };
    [at(0), at(low), at(high), at(last)]
}

/// The share of a bin below a number.
fn share_below(knots: &[f32; 4], x: f32) -> f64 {
    if x <= knots[0] {
        return 0.0;
    }
    for piece in 0..3 {
        let (a, b) = (f64::from(knots[piece]), f64::from(knots[piece + 1]));
        if f64::from(x) < b {
            return SHARES[piece] + (SHARES[piece + 1] - SHARES[piece]) * (f64::from(x) - a) / (b - a);
        }
    }
    1.0
}

/// The number below which a share of a bin lies.
fn value_at(knots: &[f32; 4], share: f64) -> f32 {
    for piece in 0..3 {
        if share <= SHARES[piece + 1] {
            let (a, b) = (f64::from(knots[piece]), f64::from(knots[piece + 1]));
            return (a + (b - a) * ((share - SHARES[piece]) / (SHARES[piece + 1] - SHARES[piece])).max(0.0)) as f32;
        }
    }
    knots[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 numbers from 0 to 9.99, of which 500 are 5.
    fn spiked() -> (Bins, Vec<u32>) {
        let values: Vec<(f32, u32)> = (0..1000).map(|i| (i as f32 / 100.0, if i == 500 { 1000 } else { 1 })).collect();
        Bins::learn(&Recipe::default(), &values).expect("values")
    }

    #[test]
    fn a_number_near_an_edge_is_near_the_bin_behind_it() {
        // 240 numbers in 24 bins of ten; one value that many repeat is a bin by itself.
        let mut values: Vec<(f32, u32)> = (0..240).map(|x| (x as f32, 1)).collect();
        values[125].1 = 40;
        let (bins, _) = Bins::learn(&Recipe::default(), &values).expect("values");
        let edge = f64::from(bins.edges[2]);
        let width = |bin: usize| f64::from(bins.edges[bin] - bins.edges[bin - 1]);
        let narrower = width(2).min(width(3));
        let beside = |x: f64| bins.beside(x as f32);
        for (x, other) in [(edge - 0.1 * narrower, 3), (edge + 0.1 * narrower, 2)] {
            let (bin, near) = beside(x).expect("near");
            assert!(bin == other && (near - 0.4).abs() < 1e-6, "{x}: {bin} {near}");
        }
        assert!(beside(edge + 0.5 * narrower).is_none_or(|(_, near)| near < 1e-5));
        let spike = bins.bin(125.0);
        assert!([125.0, 124.4, 125.6].iter().all(|x| beside(*x).is_none_or(|(bin, _)| bin != spike)));
        assert_eq!(beside(125.0), None);
    }

    #[test]
    fn a_repeated_value_has_a_bin_of_its_own() {
        let (bins, counts) = spiked();
        assert_eq!(counts.iter().sum::<u32>(), 1999);
        assert_eq!((counts[bins.bin(5.0)], bins.knots[bins.bin(5.0)]), (1000, [5.0; 4]));
        assert!(counts.iter().filter(|count| **count != 1000).all(|count| (30..=130).contains(count)), "{counts:?}");
        assert_eq!((bins.bin(4.99) + 1, bins.bin(5.0) + 1), (bins.bin(5.0), bins.bin(5.01)));
        assert_eq!((bins.bin(-3.0), bins.bin(99.0)), (0, bins.len() - 1));
        let few = Bins::learn(&Recipe::default(), &[(1.0, 3), (2.0, 4), (9.0, 1)]).expect("values");
        assert_eq!((few.0.edges, few.1), (vec![1.5, 5.5], vec![3, 4, 1]));
    }

    #[test]
    fn ranges_and_tails_are_those_of_the_distribution() {
        let (bins, counts) = spiked();
        let total: f32 = counts.iter().map(|count| *count as f32).sum();
        let all: Vec<f32> = counts.iter().map(|count| *count as f32 / total).collect();
        let [low, high] = bins.range(&all);
        // Of 1,999 rows 100 lie below 1 and 100 above 9.
        assert!((low - 1.0).abs() < 0.06 && (high - 9.0).abs() < 0.06, "{low} to {high}");
        for (x, expected) in [(0.5, 0.05), (9.7, 0.03), (5.0, 1.0), (2.5, 0.25)] {
            let found = bins.two_sided(&all, &counts, x);
            assert!((found - expected).abs() < 0.02, "{x}: {found}");
        }
        // All in one bin: the range is nine tenths of it.
        let mut one = vec![0.0; bins.len()];
        one[0] = 1.0;
        assert_eq!(bins.range(&one), [bins.knots[0][1], bins.knots[0][2]]);
        one[0] = 0.0;
        one[bins.bin(5.0)] = 1.0;
        assert_eq!(bins.range(&one), [5.0, 5.0]);
    }

    #[test]
    fn one_odd_row_does_not_stretch_a_range() {
        let mut values: Vec<(f32, u32)> = (0..300).map(|i| (i as f32 / 100.0, 1)).collect();
        values.push((20.0, 1));
        let (bins, counts) = Bins::learn(&Recipe::default(), &values).expect("values");
        let mut top = vec![0.0; bins.len()];
        top[bins.len() - 1] = 1.0;
        assert!(bins.range(&top)[1] < 3.0, "{:?}", bins.range(&top));
        assert!(bins.two_sided(&top, &counts, 20.0) <= 2.0 / f64::from(counts[bins.len() - 1]) + 1e-9);
        // It lies 17 beyond the next: in units of the mean excess, 3 in full, then by the logarithm.
        let excess = 17.01 / bins.excess[1];
        assert!((bins.beyond(20.0, true) - (3.0 + 3.0 * (excess / 3.0).ln())).abs() < 1e-4);
        assert_eq!(bins.beyond(20.0, false), 0.0);
        assert_eq!(bins.beyond(1.5, true), 0.0);
    }
}
