//! The exact Euclidean distance from every cell to the nearest of some cells, in time linear in the number of cells.
//!
//! The square of the distance is a sum over axes, so it is computed axis by axis. Let g be the squared distance along
//! the axes done so far. The next axis gives f(x) = min_y (x − y)² + g(y). That is the lower envelope of parabolas, one
//! for each y of the line, and it is found in one sweep (Meijster, Roerdink and Hesselink 2000; Felzenszwalb and
//! Huttenlocher 2012). Where cells are cubes of side 1, all numbers are whole, and the result is exact. Where the axes
//! have other distances between cells, the same is done with floating-point numbers.

use super::grid::Grid;

/// The squared distance of every cell to the nearest one that is true; `None` where none is.
pub fn squared_distances<const D: usize>(sites: &Grid<bool, D>) -> Option<Grid<u64, D>> {
    if !sites.cells().contains(&true) {
        return None;
    }
    let mut squares = sites.map(|is_site| if *is_site { 0 } else { FAR });
    let mut line = Line::default();
    for axis in 0..D {
        let (stride, length) = (squares.stride(axis), squares.shape()[axis]);
        for plane in squares.cells_mut().chunks_exact_mut(stride * length) {
            for start in 0..stride {
                line.transform(&mut plane[start..], stride, length);
            }
        }
    }
    Some(squares.map(|square| *square as u64))
}

/// The same where neighbours along each axis lie `spacing` apart.
pub fn spaced_distances<const D: usize>(sites: &Grid<bool, D>, spacing: [f64; D]) -> Option<Grid<f64, D>> {
    if spacing == [1.0; D] {
        return Some(squared_distances(sites)?.map(|square| *square as f64));
    }
    if !sites.cells().contains(&true) {
        return None;
    }
    let mut squares = sites.map(|is_site| if *is_site { 0.0 } else { f64::INFINITY });
    let mut line = SpacedLine::default();
    for (axis, spacing) in spacing.into_iter().enumerate() {
        let (stride, length) = (squares.stride(axis), squares.shape()[axis]);
        for plane in squares.cells_mut().chunks_exact_mut(stride * length) {
            for start in 0..stride {
                line.transform(&mut plane[start..], stride, length, spacing);
            }
        }
    }
    Some(squares)
}

/// A line of the grid along one axis, the distance between its cells, and the parabolas of its lower envelope.
#[derive(Default)]
struct SpacedLine {
    heights: Vec<f64>,
    /// For each parabola of the envelope its place, and the point from which on it is the lowest.
    envelope: Vec<(usize, f64)>,
}

impl SpacedLine {
    fn transform(&mut self, cells: &mut [f64], stride: usize, length: usize, spacing: f64) {
        self.heights.clear();
        self.heights.extend(cells.iter().step_by(stride).take(length));
        self.envelope.clear();
        let (heights, at) = (&self.heights, |place: usize| place as f64 * spacing);
        for place in (0..length).filter(|place| heights[*place].is_finite()) {
            let mut from = f64::NEG_INFINITY;
            while let Some(&(other, others_from)) = self.envelope.last() {
                // Where both parabolas have the same height.
                let gap = at(place).powi(2) + heights[place] - at(other).powi(2) - heights[other];
                from = gap / (2.0 * (at(place) - at(other)));
                if from > others_from {
                    break;
                }
                self.envelope.pop();
                from = f64::NEG_INFINITY;
            }
            self.envelope.push((place, from));
        }
        let mut parabolas = self.envelope.iter().rev();
        let Some(mut current) = parabolas.next() else { return };
        for x in (0..length).rev() {
            while current.1 > at(x) {
                let Some(next) = parabolas.next() else { break };
                current = next;
            }
            cells[x * stride] = (at(x) - at(current.0)).powi(2) + heights[current.0];
        }
    }
}

/// Stands for no site on the axes done so far.
const FAR: i64 = i64::MAX;

/// A line of the grid along one axis, and the parabolas of its lower envelope.
#[derive(Default)]
struct Line {
    heights: Vec<i64>,
    /// For each parabola of the envelope its place, and the first cell where it is the lowest.
    envelope: Vec<(i64, i64)>,
}

impl Line {
    fn transform(&mut self, cells: &mut [i64], stride: usize, length: usize) {
        self.heights.clear();
        self.heights.extend(cells.iter().step_by(stride).take(length));
        self.envelope.clear();
        let heights = &self.heights;
        let value = |x: i64, place: i64| (x - place).pow(2) + heights[place as usize];
        for place in 0..length as i64 {
            if heights[place as usize] == FAR {
                continue;
            }
            let mut first = 0;
            while let Some(&(other, from)) = self.envelope.last() {
                if value(from, other) > value(from, place) {
                    self.envelope.pop();
                    continue;
                }
                // The last cell where the other is not above this one: (x − o)² + g(o) ≤ (x − p)² + g(p).
                let gap = place.pow(2) + heights[place as usize] - other.pow(2) - heights[other as usize];
                first = gap.div_euclid(2 * (place - other)) + 1;
                break;
            }
            if first < length as i64 {
                self.envelope.push((place, first));
            }
        }
        let mut parabolas = self.envelope.iter().rev();
        let Some(mut current) = parabolas.next() else { return };
        for x in (0..length).rev() {
            while current.1 > x as i64 {
                let Some(next) = parabolas.next() else { break };
                current = next;
            }
            cells[x * stride] = value(x as i64, current.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_pairs<const D: usize>(sites: &Grid<bool, D>) -> Vec<u64> {
        let place = |index: usize| std::array::from_fn::<i64, D, _>(|axis| sites.position(index, axis) as i64);
        let all: Vec<[i64; D]> = (0..sites.cells().len()).map(place).collect();
        let square = |a: &[i64; D], b: &[i64; D]| a.iter().zip(b).map(|(a, b)| (a - b).pow(2) as u64).sum::<u64>();
        let true_ones: Vec<_> = all.iter().zip(sites.cells()).filter(|(_, is_site)| **is_site).collect();
        all.iter().map(|x| true_ones.iter().map(|(y, _)| square(x, y)).min().expect("a site")).collect()
    }

    fn check<const D: usize>(shape: [usize; D], cells: &[bool]) {
        let count = shape.iter().product();
        let sites = Grid::new(shape, cells[..count].to_vec()).expect("a grid");
        match squared_distances(&sites) {
            None => assert!(!sites.cells().contains(&true)),
            Some(squares) => assert_eq!(squares.cells(), by_pairs(&sites)),
        }
    }

    fn sites() -> impl Strategy<Value = Vec<bool>> {
        (0.0..1.0f64).prop_flat_map(|share| prop::collection::vec(prop::bool::weighted(share * share), 512))
    }

    proptest! {
        #[test]
        fn distances_agree_with_all_pairs(cells in sites(), a in 1usize..=8, b in 1usize..=8, c in 1usize..=8) {
            check([a * b * c], &cells);
            check([a * b, c], &cells);
            check([c, a * b], &cells);
            check([a, b, c], &cells);
        }
    }

    proptest! {
        #[test]
        fn spaced_distances_agree_with_all_pairs(
            cells in sites(), a in 1usize..=8, b in 1usize..=8, c in 1usize..=8, spacing in [0.1..5.0f64, 0.1..5.0, 0.1..5.0],
        ) {
            let grid = Grid::new([a, b, c], cells[..a * b * c].to_vec()).expect("a grid");
            let place = |index: usize| std::array::from_fn::<f64, 3, _>(|axis| grid.position(index, axis) as f64 * spacing[axis]);
            let found = spaced_distances(&grid, spacing);
            prop_assert_eq!(found.is_some(), grid.cells().contains(&true));
            for (index, square) in found.iter().flat_map(|found| found.cells().iter().enumerate()) {
                let here = place(index);
                let to = |other: usize| place(other).iter().zip(here).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
                let sites = (0..grid.cells().len()).filter(|other| grid.cells()[*other]);
                let nearest = sites.map(to).fold(f64::INFINITY, f64::min);
                prop_assert!((square - nearest).abs() < 1e-9 * nearest.max(1.0), "{} {}", square, nearest);
            }
        }
    }

    /// Values from `reference/masks.py` in the benchmarks.
    #[test]
    fn distances_agree_with_scipy() {
        let cells: Vec<bool> = (0..40 * 31).map(|i| i * 7919 % 353 == 11).collect();
        let squares = squared_distances(&Grid::new([40, 31], cells).expect("a grid")).expect("sites");
        let sum: f64 = squares.cells().iter().map(|square| (*square as f64).sqrt()).sum();
        assert!((sum - 11_242.101_829_673_284).abs() < 1e-9, "{sum}");
        assert_eq!(squares.cells().iter().max(), Some(&485));
    }
}
