//! Turns what the network says about a mask into a score.
//!
//! The network sees the image with the mask hidden, and with the mask under the noise of every level. Each of these is
//! a *view*. For each pixel it says how probable each class is, π. The first views judge by the image, the last ones by
//! the shape as well. The *surprise* of a pixel in a view is −log π of the class it has. The evidence against a mask
//! has two parts:
//!
//! 1. In each view, the mean over the mask's classes of the mean surprise of their pixels. Classes count alike, since a
//!    small object that is wrong is as bad as a large one. An [`ExponentialTail`] tells in nats how far out this mean
//!    lies among those of held-out masks. The nats are averaged over the views.
//! 2. Without the network: the size of the largest piece of each class against those of training, in nats
//!    (`largest-component`). It knows nothing of the image, and weighs a quarter.
//!
//! The score is their sum. It is divided among the pixels: the first part in proportion to their surprise and the
//! weight of their class, the second evenly.

use gnsm::internals::density::ExponentialTail;
use gnsm::internals::files::{Loaded, Store, Tensors};
use gnsm::internals::train::Run;
use gnsm::mask::{LargestComponent, Mask, MaskDetector, MaskMethod, Sample, Setup};
use gnsm::{Result, Silent};

/// What the sizes of pieces weigh.
const PIECES: f64 = 0.25;

/// The head.
#[derive(Debug)]
pub struct Evidence {
    /// One for each view.
    tails: Vec<ExponentialTail>,
    pieces: Box<dyn MaskDetector>,
}

/// A class that a mask has, and the mean surprise of its pixels in a view.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Class {
    pixels: usize,
    surprise: f64,
}

impl Evidence {
    /// Learns tails from held-out masks and the surprises of their pixels, [views, pixels], and sizes from all masks.
    pub fn fit(training: &[Sample], held_out: &[Sample], surprises: &[Vec<f32>], setup: &Setup) -> Result<Self> {
        let means: Vec<Vec<f64>> =
            surprises.iter().zip(held_out).map(|(own, sample)| means(own, &sample.mask)).collect();
        let n_views = means.first().map_or(0, Vec::len);
        // Without held-out masks there are no views.
        let tail = |view: usize| ExponentialTail::fit(means.iter().map(|means| means[view]).collect());
        let tails = (0..n_views).filter_map(tail).collect();
        let run = Run { seed: setup.seed, max_seconds: None, resume: None, save: None, watcher: &mut Silent };
        let pieces = LargestComponent.fit(training, held_out, setup, run)?;
        Ok(Self { tails, pieces })
    }

    /// The nats of each view's evidence, averaged over them, and those of the pieces.
    fn nats(&self, surprises: &[f32], sample: &Sample) -> (Vec<f64>, f64) {
        let views = means(surprises, &sample.mask).into_iter().zip(&self.tails);
        let views = views.map(|(mean, tail)| tail.nats(mean) / self.tails.len() as f64);
        (views.collect(), PIECES * self.pieces.score(std::slice::from_ref(sample))[0])
    }

    /// The score of a mask, given the surprises of its pixels.
    pub fn score(&self, surprises: &[f32], sample: &Sample) -> f64 {
        let (views, pieces) = self.nats(surprises, sample);
        views.iter().sum::<f64>() + pieces
    }

    /// The score of a mask, and each pixel's share of it.
    pub fn score_with_map(&self, surprises: &[f32], sample: &Sample) -> (f64, Vec<f32>) {
        let (views, pieces) = self.nats(surprises, sample);
        let cells = sample.mask.cells();
        let evenly = 1.0 / cells.len() as f64;
        let mut shares = vec![pieces * evenly; cells.len()];
        for (surprises, nats) in surprises.chunks_exact(cells.len()).zip(&views) {
            let classes = classes(surprises, &sample.mask);
            let total: f64 = classes.iter().map(|class| class.surprise).sum();
            for ((share, label), own) in shares.iter_mut().zip(cells).zip(surprises) {
                let pixels = classes[usize::from(*label)].pixels as f64;
                *share += nats * if total > 0.0 { f64::from(*own) / (pixels * total) } else { evenly };
            }
        }
        (views.iter().sum::<f64>() + pieces, shares.into_iter().map(|share| share as f32).collect())
    }
}

impl Store for Evidence {
    /// What the pieces have.
    type Document = serde_json::Value;
    /// How many views there are, and what the pieces are told.
    type Shape = (usize, Setup);

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<serde_json::Value> {
        for (view, tail) in self.tails.iter().enumerate() {
            tensors.put(&tail_name(view), tail.values().to_vec());
        }
        let mut own = Tensors::default();
        let pieces = self.pieces.save(&mut own)?;
        tensors.put_under("pieces", own);
        Ok(pieces)
    }

    fn read(pieces: serde_json::Value, (n_views, setup): &Self::Shape, tensors: &mut Tensors) -> Loaded<Self> {
        let tail = |view: usize| {
            let name = tail_name(view);
            let tail = ExponentialTail::from_sorted(tensors.take_any(&name)?);
            Ok(tail.ok_or_else(|| format!("tensor `{name}` is empty or does not ascend"))?)
        };
        let tails = (0..*n_views).map(tail).collect::<Loaded<_>>()?;
        let pieces = LargestComponent.load(pieces, setup, &mut tensors.take_under("pieces"))?;
        Ok(Self { tails, pieces })
    }
}

fn tail_name(view: usize) -> String {
    format!("tail.{view}")
}

/// In each view, the mean over the classes of a mask.
fn means(surprises: &[f32], mask: &Mask) -> Vec<f64> {
    let mean = |surprises: &[f32]| {
        let found = classes(surprises, mask).into_iter().filter(|class| class.pixels > 0);
        let (count, sum) = found.fold((0usize, 0.0), |(count, sum), class| (count + 1, sum + class.surprise));
        sum / count as f64
    };
    surprises.chunks_exact(mask.cells().len()).map(mean).collect()
}

/// Every label, with no pixels where the mask does not have it.
fn classes(surprises: &[f32], mask: &Mask) -> [Class; 256] {
    let mut classes = [Class { pixels: 0, surprise: 0.0 }; 256];
    for (label, surprise) in mask.cells().iter().zip(surprises) {
        let class = &mut classes[usize::from(*label)];
        class.pixels += 1;
        class.surprise += f64::from(*surprise);
    }
    classes.map(|class| Class { surprise: class.surprise / class.pixels.max(1) as f64, ..class })
}

#[cfg(test)]
mod tests {
    use gnsm::mask::Grid;

    use super::*;

    fn sample(cells: [u8; 6]) -> Sample {
        Sample { mask: Grid::new([2, 3], cells.to_vec()).expect("a grid"), image: None }
    }

    #[test]
    fn classes_count_alike_whatever_their_size() {
        let mask = sample([0, 1, 1, 1, 2, 0]).mask;
        let views = [0.0, 1.0, 2.0, 3.0, 4.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        // 4.5 of the background, 2 of class 1, 4 of class 2.
        assert_eq!(means(&views, &mask), [3.5, 1.0]);
    }

    #[test]
    fn the_shares_of_the_pixels_sum_to_the_score() {
        let held_out: Vec<Sample> = (0..6).map(|i| sample([0, 1, 1, u8::from(i % 2 == 0), 2, 0])).collect();
        let surprises: Vec<Vec<f32>> =
            (0..6).map(|i| [[0.1, 0.2, 0.3, 0.1 * i as f32, 0.2, 0.1], [0.3; 6]].concat()).collect();
        let setup = Setup { classes: 3, size: None, seed: 0 };
        let evidence = Evidence::fit(&held_out, &held_out, &surprises, &setup).expect("a head");
        for (cells, own) in
            [([0, 1, 1, 2, 2, 0], [0.1, 0.9, 3.0, 2.0, 0.1, 0.2]), ([0; 6], [0.3; 6]), ([1; 6], [0.0; 6])]
        {
            let views = [own, [0.4; 6]].concat();
            let (score, map) = evidence.score_with_map(&views, &sample(cells));
            assert_eq!(score, evidence.score(&views, &sample(cells)));
            let sum: f64 = map.iter().map(|share| f64::from(*share)).sum();
            assert!(score > 0.0 && (sum - score).abs() < 1e-5 * score, "{sum} {score}");
        }
    }
}
