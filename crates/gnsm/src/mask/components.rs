//! Connected components: cells of one class that can be reached from each other over shared faces (4 neighbours in a
//! picture, 6 in a volume).

use super::grid::Grid;

/// The number of cells of the largest component of each class from 0 to 255; 0 for a class that does not occur.
pub fn largest_components<const D: usize>(mask: &Grid<u8, D>) -> [usize; 256] {
    let cells = mask.cells();
    // A forest over the cells: each cell points to another of its component, and the root to itself.
    let mut parents: Vec<usize> = (0..cells.len()).collect();
    for axis in 0..D {
        let stride = mask.stride(axis);
        for index in 0..cells.len() {
            if mask.position(index, axis) > 0 && cells[index] == cells[index - stride] {
                let (a, b) = (root(&mut parents, index), root(&mut parents, index - stride));
                parents[a.max(b)] = a.min(b);
            }
        }
    }
    let mut sizes = vec![0; cells.len()];
    let mut largest = [0; 256];
    for index in 0..cells.len() {
        let root = root(&mut parents, index);
        sizes[root] += 1;
        let best = &mut largest[usize::from(cells[index])];
        *best = sizes[root].max(*best);
    }
    largest
}

/// The root of a cell's component. On the way, each second pointer is made to skip one cell, so that the next search is
/// shorter.
fn root(parents: &mut [usize], mut index: usize) -> usize {
    while parents[index] != index {
        parents[index] = parents[parents[index]];
        index = parents[index];
    }
    index
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Walks from every cell to all it can reach.
    fn by_flooding<const D: usize>(mask: &Grid<u8, D>) -> [usize; 256] {
        let mut largest = [0; 256];
        let mut seen = vec![false; mask.cells().len()];
        for start in 0..seen.len() {
            let class = mask.cells()[start];
            let (mut waiting, mut size) = (vec![start], 0);
            while let Some(index) = waiting.pop() {
                if !std::mem::replace(&mut seen[index], true) {
                    size += 1;
                    waiting.extend(mask.neighbours(index).flatten().filter(|other| mask.cells()[*other] == class));
                }
            }
            let best = &mut largest[usize::from(class)];
            *best = size.max(*best);
        }
        largest
    }

    proptest! {
        #[test]
        fn components_agree_with_flooding(cells in prop::collection::vec(0u8..3, 512), a in 1usize..=8, b in 1usize..=8) {
            let plane = Grid::new([a * 8, b], cells[..a * 8 * b].to_vec()).expect("a grid");
            prop_assert_eq!(largest_components(&plane), by_flooding(&plane));
            let volume = Grid::new([a, 8, b], cells[..a * 8 * b].to_vec()).expect("a grid");
            prop_assert_eq!(largest_components(&volume), by_flooding(&volume));
        }
    }

    #[test]
    fn corners_do_not_connect() {
        let mask = Grid::new([3, 3], vec![1, 0, 2, 0, 1, 0, 1, 1, 0]).expect("a grid");
        assert_eq!(largest_components(&mask)[..4], [2, 3, 1, 0]);
    }
}
