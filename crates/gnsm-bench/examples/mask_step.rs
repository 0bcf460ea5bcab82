//! Seconds of a training step of the mask network, for `reference/masks_speed.py` to compare with PyTorch: `mask_step
//! CLASSES STEPS`.
//!
//! It times two fits that differ only in their number of steps. The difference is the time of those steps.

use std::time::Instant;

use gnsm::Silent;
use gnsm::mask::{Grid, MaskFitOptions, MaskModel, Preparation, Sample};
use gnsm_masks::{MaskGnsm, MaskGnsmConfig};

const SIDE: usize = 64;

#[expect(clippy::print_stdout, reason = "this is a program")]
fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let [classes, steps] = numbers[..] else {
        println!("usage: mask_step CLASSES STEPS");
        return;
    };
    let [short, long] = [2, 2 + steps].map(|steps| seconds(classes as usize, steps));
    println!("{}", (long - short) / steps as f64);
}

fn seconds(classes: usize, steps: u64) -> f64 {
    let cells = SIDE * SIDE;
    let sample = |i: usize| {
        vec![Sample {
            mask: Grid::new([SIDE; 2], (0..cells).map(|j| ((i + j / 200) % classes) as u8).collect()).expect("a grid"),
            image: Grid::new([SIDE; 2], (0..cells).map(|j| [(i * 7 + j) as u8; 3]).collect()),
        }]
    };
    let mut config = MaskGnsmConfig::fast();
    (config.training.steps, config.training.validate_every) = (steps, steps);
    let mut preparation = Preparation::default();
    (preparation.size, preparation.classes) = (Some(SIDE as u32), Some(classes as u32));
    let start = Instant::now();
    let (samples, options) = ((0..24).map(sample).collect(), MaskFitOptions::default());
    MaskModel::fit(samples, preparation, &MaskGnsm { config }, &options, &mut Silent).expect("a fit");
    start.elapsed().as_secs_f64()
}
