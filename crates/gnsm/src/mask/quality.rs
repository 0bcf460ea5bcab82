//! How good a mask is against the truth: overlap and distances between surfaces.
//!
//! For a class c, let T and P be its cells in truth and prediction.
//!
//! - Dice = 2 |T ∩ P| / (|T| + |P|), and IoU = |T ∩ P| / |T ∪ P|.
//! - The *surface* of a set: its cells with a face neighbour outside of the set. What lies beyond the image's border is
//!   outside, so an object that is cut off has a surface there, and an object of one cell is its own surface.
//! - d(T→P): for each surface cell of T the Euclidean distance between its centre and that of the nearest surface cell
//!   of P, in cells, or in the unit of the distances between cells where those are given ([`compare_spaced`]).
//! - MSD = the mean of d(T→P) and d(P→T) taken together, all surface cells counting the same.
//! - HD95 = the larger of the 95th percentiles of d(T→P) and of d(P→T), interpolated between neighbours as NumPy does.
//!
//! What a mask's value is over its classes, and where it has none:
//!
//! - **Void** cells, in truth or prediction, are background in both for Dice and distances, and are left out of `miou`
//!   and `pixacc`.
//! - `dice`: mean over the foreground classes of truth or prediction; a class on one side only counts 0. 1 where
//!   neither has any: there was nothing to find, and nothing was found.
//! - `miou`: mean IoU over the classes of truth or prediction, the background too. None where all is void.
//! - `msd`, `hd95`: mean over the foreground classes that both have. None where there is no such class.
//! - `msd_pen`, `hd95_pen`: mean over the foreground classes of truth or prediction; a class on one side only costs the
//!   image's diagonal. 0 where neither has any.
//! - `dice_fg`, `msd_fg`, `hd95_fg`: the same of foreground against background, as if there were one class.

use super::BACKGROUND;
use super::distance::spaced_distances;
use super::grid::{Grid, Size};
use crate::error::{Error, Result};

/// The quality of a mask. A distance is in cells; lower is better there, and higher everywhere else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// Mean Dice of the foreground classes.
    pub dice: f64,
    /// Dice of the foreground.
    pub dice_fg: f64,
    /// Mean intersection over union of all classes.
    pub miou: Option<f64>,
    /// The share of cells that have the right class.
    pub pixacc: Option<f64>,
    /// Surface distances of the classes that both have.
    pub common: Option<Distances>,
    /// The same over all foreground classes; one that only one of the two masks has counts as the image's diagonal.
    pub penalised: Distances,
    /// Surface distances of the foreground.
    pub foreground: Option<Distances>,
    /// Foreground classes of truth or prediction.
    pub n_classes: usize,
    /// Those on one side only.
    pub n_unmatched: usize,
}

/// Distances between two surfaces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distances {
    /// The mean surface distance.
    pub mean: f64,
    /// The 95 % Hausdorff distance.
    pub hausdorff95: f64,
}

impl Quality {
    /// The names of [`Quality::values`], which are the columns of a file.
    pub const NAMES: [&'static str; 12] = [
        "dice",
        "dice_fg",
        "miou",
        "pixacc",
        "msd",
        "hd95",
        "msd_pen",
        "hd95_pen",
        "msd_fg",
        "hd95_fg",
        "n_classes",
        "n_unmatched",
    ];

    /// Whether good masks have high values of the metric of that name; `None` for what is no metric.
    pub fn is_better_high(name: &str) -> Option<bool> {
        match name {
            "dice" | "dice_fg" | "miou" | "pixacc" => Some(true),
            "msd" | "hd95" | "msd_pen" | "hd95_pen" | "msd_fg" | "hd95_fg" => Some(false),
            _ => None,
        }
    }

    /// All values, in the order of [`Quality::NAMES`]; `None` where one is not defined.
    pub fn values(&self) -> [Option<f64>; 12] {
        let [msd, msd_fg] = [self.common, self.foreground].map(|distances| distances.map(|found| found.mean));
        let [hd95, hd95_fg] = [self.common, self.foreground].map(|distances| distances.map(|found| found.hausdorff95));
        [
            Some(self.dice),
            Some(self.dice_fg),
            self.miou,
            self.pixacc,
            msd,
            hd95,
            Some(self.penalised.mean),
            Some(self.penalised.hausdorff95),
            msd_fg,
            hd95_fg,
            Some(self.n_classes as f64),
            Some(self.n_unmatched as f64),
        ]
    }
}

/// The quality of a prediction; an error where it is not of the truth's size.
pub fn compare<const D: usize>(truth: &Grid<u8, D>, prediction: &Grid<u8, D>, void: Option<u8>) -> Result<Quality> {
    compare_spaced(truth, prediction, void, [1.0; D])
}

/// [`compare`] where neighbours along each axis lie `spacing` apart.
pub fn compare_spaced<const D: usize>(
    truth: &Grid<u8, D>,
    prediction: &Grid<u8, D>,
    void: Option<u8>,
    spacing: [f64; D],
) -> Result<Quality> {
    if truth.shape() != prediction.shape() {
        return Err(Error::schema(
            format!("the prediction has {} pixels and the truth {}", Size(prediction.shape()), Size(truth.shape())),
            "give masks of one size",
        ));
    }
    let is_void = |label: u8| Some(label) == void;
    let mut counts = [Counts::default(); 256];
    let (mut foreground, mut right, mut judged) = (Counts::default(), 0usize, 0usize);
    let (mut true_cells, mut predicted_cells) = (truth.clone(), prediction.clone());
    for (t, p) in true_cells.cells_mut().iter_mut().zip(predicted_cells.cells_mut()) {
        if is_void(*t) || is_void(*p) {
            (*t, *p) = (BACKGROUND, BACKGROUND);
            continue;
        }
        counts[usize::from(*t)].truth += 1;
        counts[usize::from(*p)].prediction += 1;
        counts[usize::from(*t)].both += usize::from(t == p);
        foreground.add(*t != BACKGROUND, *p != BACKGROUND);
        right += usize::from(t == p);
        judged += 1;
    }

    let present = |class: &usize| counts[*class].either() > 0;
    let all: Vec<usize> = (0..256).filter(present).collect();
    let classes: Vec<usize> = all.iter().copied().filter(|class| *class != usize::from(BACKGROUND)).collect();
    let matched = classes.iter().filter(|class| counts[**class].is_common());
    let distances = matched.map(|class| {
        let of_class = |label: &u8| usize::from(*label) == *class;
        surface_distances(&true_cells.map(of_class), &predicted_cells.map(of_class), spacing)
    });
    let distances: Vec<Distances> = distances.collect::<Option<_>>().unwrap_or_default();
    let n_unmatched = classes.len() - distances.len();
    let square: f64 = truth.shape().iter().zip(spacing).map(|(length, unit)| (*length as f64 * unit).powi(2)).sum();
    let diagonal = Distances { mean: square.sqrt(), hausdorff95: square.sqrt() };
    let penalised: Vec<Distances> =
        distances.iter().copied().chain(std::iter::repeat_n(diagonal, n_unmatched)).collect();
    let is_foreground = |label: &u8| *label != BACKGROUND;
    Ok(Quality {
        dice: mean(classes.iter().map(|class| counts[*class].dice())).unwrap_or(1.0),
        dice_fg: if classes.is_empty() { 1.0 } else { foreground.dice() },
        miou: mean(all.iter().map(|class| counts[*class].iou())),
        pixacc: (judged > 0).then(|| right as f64 / judged as f64),
        common: mean_distances(&distances),
        penalised: mean_distances(&penalised).unwrap_or(Distances { mean: 0.0, hausdorff95: 0.0 }),
        foreground: surface_distances(&true_cells.map(is_foreground), &predicted_cells.map(is_foreground), spacing),
        n_classes: classes.len(),
        n_unmatched,
    })
}

/// Cells of a class.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    truth: usize,
    prediction: usize,
    both: usize,
}

impl Counts {
    fn add(&mut self, is_true: bool, is_predicted: bool) {
        self.truth += usize::from(is_true);
        self.prediction += usize::from(is_predicted);
        self.both += usize::from(is_true && is_predicted);
    }

    fn either(self) -> usize {
        self.truth + self.prediction - self.both
    }

    fn is_common(self) -> bool {
        self.truth > 0 && self.prediction > 0
    }

    fn dice(self) -> f64 {
        2.0 * self.both as f64 / (self.truth + self.prediction) as f64
    }

    fn iou(self) -> f64 {
        self.both as f64 / self.either() as f64
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let n = values.len();
    (n > 0).then(|| values.sum::<f64>() / n as f64)
}

fn mean_distances(distances: &[Distances]) -> Option<Distances> {
    Some(Distances {
        mean: mean(distances.iter().map(|found| found.mean))?,
        hausdorff95: mean(distances.iter().map(|found| found.hausdorff95))?,
    })
}

/// The distances between the surfaces of two sets; `None` where one of them is empty.
fn surface_distances<const D: usize>(a: &Grid<bool, D>, b: &Grid<bool, D>, spacing: [f64; D]) -> Option<Distances> {
    let (a, b) = (surface(a), surface(b));
    let (to_a, to_b) = (spaced_distances(&a, spacing)?, spaced_distances(&b, spacing)?);
    let [forth, back] = [(&a, &to_b), (&b, &to_a)].map(|(from, squares)| {
        let pairs = from.cells().iter().zip(squares.cells());
        let mut found: Vec<f64> = pairs.filter(|(on_surface, _)| **on_surface).map(|(_, square)| *square).collect();
        found.sort_unstable_by(f64::total_cmp);
        found.into_iter().map(f64::sqrt).collect::<Vec<f64>>()
    });
    let sum: f64 = forth.iter().chain(&back).sum();
    Some(Distances {
        mean: sum / (forth.len() + back.len()) as f64,
        hausdorff95: percentile(&forth, 0.95).max(percentile(&back, 0.95)),
    })
}

/// The cells of a set with a face neighbour outside of it.
fn surface<const D: usize>(set: &Grid<bool, D>) -> Grid<bool, D> {
    let mut surface = set.clone();
    for (index, on_surface) in surface.cells_mut().iter_mut().enumerate() {
        let is_outside = |neighbour: Option<usize>| neighbour.is_none_or(|other| !set.cells()[other]);
        *on_surface = *on_surface && set.neighbours(index).any(is_outside);
    }
    surface
}

/// A percentile of ascending values, of which there is at least one.
fn percentile(ascending: &[f64], part: f64) -> f64 {
    let position = part * (ascending.len() - 1) as f64;
    let (below, share) = (position.floor(), position.fract());
    let low = ascending[below as usize];
    let high = ascending[(below as usize + 1).min(ascending.len() - 1)];
    low + (high - low) * share
}

#[cfg(test)]
mod tests;
