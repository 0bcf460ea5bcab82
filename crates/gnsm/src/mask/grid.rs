//! Values on a grid of D axes, such as the rows and columns of a picture, or a volume. The last axis is contiguous in
//! memory.

use std::fmt;

/// A value for each cell of a grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid<T, const D: usize> {
    shape: [usize; D],
    cells: Vec<T>,
}

/// A class for each pixel; height, then width.
pub type Mask = Grid<u8, 2>;
/// Red, green and blue for each pixel; height, then width.
pub type Image = Grid<[u8; 3], 2>;

impl<T, const D: usize> Grid<T, D> {
    /// A grid of this shape; `None` where the number of cells is another or there are none.
    pub fn new(shape: [usize; D], cells: Vec<T>) -> Option<Self> {
        let count = shape.iter().try_fold(1usize, |product, length| product.checked_mul(*length))?;
        (count == cells.len() && count > 0).then_some(Self { shape, cells })
    }

    /// The length of each axis; none is 0.
    pub fn shape(&self) -> [usize; D] {
        self.shape
    }

    /// All cells, the last axis running fastest.
    pub fn cells(&self) -> &[T] {
        &self.cells
    }

    /// All cells, to be changed.
    pub fn cells_mut(&mut self) -> &mut [T] {
        &mut self.cells
    }

    /// The same shape with other values.
    pub fn map<U>(&self, value: impl FnMut(&T) -> U) -> Grid<U, D> {
        Grid { shape: self.shape, cells: self.cells.iter().map(value).collect() }
    }

    /// How far apart neighbours along an axis lie in memory.
    pub(super) fn stride(&self, axis: usize) -> usize {
        self.shape[axis + 1..].iter().product()
    }

    /// The position along an axis of the cell at `index`.
    pub(super) fn position(&self, index: usize, axis: usize) -> usize {
        index / self.stride(axis) % self.shape[axis]
    }

    /// The neighbours that share a face with the cell at `index`: two along each axis, `None` outside the grid.
    pub(super) fn neighbours(&self, index: usize) -> impl Iterator<Item = Option<usize>> + '_ {
        (0..D).flat_map(move |axis| {
            let (stride, position) = (self.stride(axis), self.position(index, axis));
            let before = (position > 0).then(|| index - stride);
            let after = (position + 1 < self.shape[axis]).then(|| index + stride);
            [before, after]
        })
    }
}

impl<T: Copy, const D: usize> Grid<T, D> {
    /// A grid of another shape, each cell from where its centre lies in the old one: the nearest neighbour, without
    /// inventing a class.
    ///
    /// Cell i of m takes cell ⌊(i + ½) n / m⌋ of n, as Pillow and OpenCV's exact mode do. `None` where an axis would
    /// have no cells.
    pub fn resized(&self, shape: [usize; D]) -> Option<Self> {
        let mut grid = self.clone();
        for axis in 0..D {
            let (n, m) = (grid.shape[axis], shape[axis]);
            if n == m {
                continue;
            }
            let stride = grid.stride(axis);
            let source: Vec<usize> = (0..m).map(|i| (2 * i + 1) * n / (2 * m)).collect();
            let planes = grid.cells.chunks_exact(n * stride);
            let cells = planes.flat_map(|plane| source.iter().flat_map(|i| &plane[i * stride..][..stride])).copied();
            let cells: Vec<T> = cells.collect();
            let mut resized = grid.shape;
            resized[axis] = m;
            grid = Self::new(resized, cells)?;
        }
        Some(grid)
    }
}

impl Image {
    /// An image of another shape, each pixel the mean of what it covers; where it covers less than a pixel, the one at
    /// its centre.
    ///
    /// Pixel i of m covers the pixels of n from ⌊in/m⌋ to before ⌈(i+1)n/m⌉, each with the part of it that is covered.
    /// `None` where an axis would have no pixels.
    pub fn averaged(&self, shape: [usize; 2]) -> Option<Self> {
        let [rows, columns] = [0, 1].map(|axis| covered(self.shape[axis], shape[axis]));
        let width = self.shape[1];
        let mut cells = Vec::with_capacity(shape[0] * shape[1]);
        for row in &rows {
            for column in &columns {
                let mut sum = [0.0; 3];
                for (y, high) in row {
                    for (x, wide) in column {
                        let pixel = self.cells[y * width + x];
                        sum = [0, 1, 2].map(|c| sum[c] + high * wide * f64::from(pixel[c]));
                    }
                }
                cells.push(sum.map(|sum| sum.round() as u8));
            }
        }
        Self::new(shape, cells)
    }
}

/// For each of m places, which of n places it covers, and their shares of it, which sum to 1.
fn covered(n: usize, m: usize) -> Vec<Vec<(usize, f64)>> {
    let place = |i: usize| {
        if m >= n {
            return vec![((2 * i + 1) * n / (2 * m), 1.0)];
        }
        // In units of 1/m of a place: the one at j reaches from jm to (j + 1)m.
        let (start, end) = (i * n, (i + 1) * n);
        let share = |j: usize| (end.min((j + 1) * m) - start.max(j * m)) as f64 / n as f64;
        (start / m..end.div_ceil(m)).map(|j| (j, share(j))).collect()
    };
    (0..m).map(place).collect()
}

/// A shape for people: `219 × 160`, the width of a picture first.
pub(super) struct Size<const D: usize>(pub [usize; D]);

impl<const D: usize> fmt::Display for Size<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths: Vec<String> = self.0.iter().rev().map(ToString::to_string).collect();
        f.write_str(&lengths.join(" × "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(shape: [usize; 2], cells: &[u8]) -> Mask {
        Grid::new(shape, cells.to_vec()).expect("a grid")
    }

    #[test]
    fn shapes_must_fit_their_cells() {
        assert!(Mask::new([2, 3], vec![0; 5]).is_none());
        assert!(Mask::new([0, 3], vec![]).is_none());
        assert!(Mask::new([usize::MAX, 2], vec![]).is_none());
        assert!(Grid::new([2, 1, 3], vec![0u8; 6]).is_some());
    }

    #[test]
    fn neighbours_end_at_the_border() {
        let grid = mask([2, 3], &[0; 6]);
        assert_eq!(grid.neighbours(0).collect::<Vec<_>>(), [None, Some(3), None, Some(1)]);
        assert_eq!(grid.neighbours(4).collect::<Vec<_>>(), [Some(1), None, Some(3), Some(5)]);
        let volume = Grid::new([2, 2, 2], vec![0u8; 8]).expect("a grid");
        assert_eq!(volume.neighbours(6).flatten().collect::<Vec<_>>(), [2, 4, 7]);
    }

    #[test]
    fn averages_worked_out_by_hand() {
        let image = Image::new([1, 3], vec![[0; 3], [90; 3], [30; 3]]).expect("a grid");
        // The first covers pixel 0 and half of pixel 1: (0 + 45) / 1.5.
        assert_eq!(image.averaged([1, 2]).expect("a size").cells(), [[30; 3], [50; 3]]);
        assert_eq!(image.averaged([2, 1]).expect("a size").cells(), [[40; 3]; 2]);
        assert_eq!(image.averaged([1, 3]), Some(image.clone()));
        assert!(image.averaged([0, 3]).is_none());
    }

    /// Values from `reference/masks.py` in the benchmarks.
    #[test]
    fn resizing_agrees_with_pillow() {
        let cells: Vec<u8> = (0..35).collect();
        let grid = mask([5, 7], &cells);
        let smaller = grid.resized([3, 4]).expect("a size");
        assert_eq!(smaller.cells(), [0, 2, 4, 6, 14, 16, 18, 20, 28, 30, 32, 34]);
        let larger = grid.resized([6, 10]).expect("a size");
        assert_eq!(larger.cells()[..10], [0, 1, 1, 2, 3, 3, 4, 5, 5, 6]);
        let first_column: Vec<u8> = larger.cells().iter().step_by(10).copied().collect();
        assert_eq!(first_column, [0, 7, 14, 14, 21, 28]);
        assert_eq!(grid.resized([5, 7]), Some(grid.clone()));
        assert!(grid.resized([0, 4]).is_none());
    }
}
