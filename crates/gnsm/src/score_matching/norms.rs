//! The paper's head: a density over the score norms, and how its anomaly is split over the cells.
//!
//! The negative log-likelihood A(η) is split by integrated gradients (Sundararajan et al. 2017), along the straight
//! line from the mean squared cell norms of the training rows to those of the row. The part of cell c is Σᵢ (u_{i,c} −
//! ū_{i,c})·∫ ∂A/∂ηᵢ dt, where ηᵢ is the sum of the squares u_{i,c} or, for [`NormKind::Plain`], its root. The parts and the
//! anomaly of the mean row (the base) sum to the anomaly.

use super::{DensityKind, NormKind, NormsConfig};
use crate::density::{
    Density, GaussianMixture, KernelDensity, MixtureConfig, NearestNeighbours, Rows, SelectionConfig, Standardizer,
};
use crate::error::Result;
use crate::files::{Loaded, Store, Tensors};

/// Points that a kernel or neighbour density keeps.
const DENSITY_POINTS: usize = 2_000;
/// Points of the line along which gradients are integrated.
const PATH_POINTS: usize = 32;

/// A density over standardised score norms.
#[derive(Debug, Clone)]
pub struct NormsHead {
    /// The scale of each level.
    pub standardizer: Standardizer,
    /// The density.
    pub density: Density,
    /// Mean squared cell norms of the training rows, [levels, cells].
    pub mean_norms: Vec<f32>,
    /// Which norm a level has.
    pub norm: NormKind,
}

/// Sums over embedded rows, from which the head is fitted.
#[derive(Debug)]
pub struct NormsOfRows {
    n_cells: usize,
    norms: Vec<f64>,
    counts: Vec<f64>,
    cell_sums: Vec<f64>,
}

impl NormsOfRows {
    /// No rows yet.
    pub fn new(n_levels: usize, n_cells: usize) -> Self {
        Self { n_cells, norms: Vec::new(), counts: Vec::new(), cell_sums: vec![0.0; n_levels * n_cells] }
    }

    /// Adds a row, given by its cell norms, that occurs `count` times.
    pub fn add(&mut self, cells: &[f32], count: f64) {
        self.norms.extend(level_squares(cells, self.n_cells));
        self.counts.push(count);
        for (sum, cell) in self.cell_sums.iter_mut().zip(cells) {
            *sum += f64::from(*cell) * count;
        }
    }

    /// Fits the density.
    pub fn fit(mut self, config: &NormsConfig, seed: u64) -> Result<NormsHead> {
        let n_levels = self.cell_sums.len() / self.n_cells;
        self.norms.iter_mut().for_each(|norm| *norm = config.norm.of_square(*norm));
        let standardizer = Standardizer::fit(Rows::new(&self.norms, n_levels, &self.counts)?);
        standardizer.transform(&mut self.norms);
        let rows = Rows::new(&self.norms, n_levels, &self.counts)?;
        let density = match config.density {
            DensityKind::Mixture => {
                let (criterion, most_rows) = (config.criterion, config.most_compared);
                let selection = SelectionConfig { criterion, most_rows, ..SelectionConfig::default() };
                let mixture = MixtureConfig { starts: 3, ..MixtureConfig::default() };
                Density::Mixture(GaussianMixture::fit_best(rows, &selection, &mixture, seed)?)
            }
            DensityKind::Kernel => Density::Kernel(KernelDensity::fit(rows, DENSITY_POINTS, seed)?),
            DensityKind::Neighbours => Density::Neighbours(NearestNeighbours::fit(rows, 5, DENSITY_POINTS, seed)?),
        };
        let total: f64 = self.counts.iter().sum();
        let mean_norms = self.cell_sums.iter().map(|sum| (sum / total) as f32).collect();
        Ok(NormsHead { standardizer, density, mean_norms, norm: config.norm })
    }
}

impl Store for NormsHead {
    type Document = (Standardizer, Density);
    /// Levels and cells, and which norm.
    type Shape = ([usize; 2], NormKind);

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<Self::Document> {
        tensors.put("mean_norms", self.mean_norms.clone());
        Ok((self.standardizer.clone(), self.density.clone()))
    }

    fn read(
        (standardizer, density): Self::Document,
        &([n_levels, n_cells], norm): &Self::Shape,
        tensors: &mut Tensors,
    ) -> Loaded<Self> {
        standardizer.validate()?;
        density.validate()?;
        if standardizer.dimension() != n_levels || density.dimension() != n_levels {
            return Err("the density does not have as many dimensions as there are levels".into());
        }
        let mean_norms = tensors.take("mean_norms", n_levels * n_cells)?;
        Ok(Self { standardizer, density, mean_norms, norm })
    }
}

impl NormsHead {
    /// The anomaly of a row, given by its cell norms.
    pub fn anomaly_of(&self, cells: &[f32], n_cells: usize) -> f64 {
        self.anomaly(level_squares(cells, n_cells).collect())
    }

    fn anomaly(&self, mut norms: Vec<f64>) -> f64 {
        norms.iter_mut().for_each(|norm| *norm = self.norm.of_square(*norm));
        self.standardizer.transform(&mut norms);
        self.density.anomaly(&norms)
    }

    /// Appends each cell's part of the anomaly, returns the base.
    pub fn integrate(&self, cells: &[f32], n_cells: usize, parts: &mut Vec<f64>) -> f64 {
        let to: Vec<f64> = level_squares(cells, n_cells).collect();
        let from: Vec<f64> = level_squares(&self.mean_norms, n_cells).collect();
        let mut slope = vec![0.0; to.len()];
        for point in 0..PATH_POINTS {
            let t = (point as f64 + 0.5) / PATH_POINTS as f64;
            let squares: Vec<f64> = from.iter().zip(&to).map(|(a, b)| a + t * (b - a)).collect();
            let mut on_the_way: Vec<f64> = squares.iter().map(|square| self.norm.of_square(*square)).collect();
            self.standardizer.transform(&mut on_the_way);
            for ((slope, gradient), square) in slope.iter_mut().zip(self.density.gradient(&on_the_way)).zip(squares) {
                *slope += gradient * self.norm.slope(square) / PATH_POINTS as f64;
            }
        }
        let start = parts.len();
        parts.extend((0..n_cells).map(|cell| {
            let levels = slope.iter().zip(self.standardizer.scale()).enumerate();
            levels
                .map(|(level, (slope, scale))| {
                    let at = level * n_cells + cell;
                    f64::from(cells[at] - self.mean_norms[at]) * slope / scale
                })
                .sum::<f64>()
        }));
        let base = self.anomaly(from);
        // What the quadrature missed is shared out in proportion, so that the parts sum exactly.
        let parts = &mut parts[start..];
        let missed = self.anomaly(to) - base - parts.iter().sum::<f64>();
        let total: f64 = parts.iter().map(|part| part.abs()).sum();
        for part in parts.iter_mut() {
            *part += missed * if total > 0.0 { part.abs() / total } else { 1.0 / n_cells as f64 };
        }
        base
    }
}

/// The squared norm of the whole score at each level.
fn level_squares(cells: &[f32], n_cells: usize) -> impl Iterator<Item = f64> + '_ {
    cells.chunks_exact(n_cells).map(|cells| cells.iter().map(|cell| f64::from(*cell)).sum())
}
