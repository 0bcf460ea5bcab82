//! An image and its mask as numbers: as they are, or with the usual random changes for training.

use gnsm::mask::{Sample, Setup};
use gnsm::{Error, Result};
use rand::Rng;

/// The smallest window that training cuts out of a picture, as a part of its side.
const SMALLEST_WINDOW: f32 = 0.6;

/// A pair that a network can be shown.
#[derive(Debug, Clone)]
pub struct Picture {
    /// The class of each pixel.
    pub codes: Vec<u32>,
    /// Red, green and blue of each pixel, from −1 to 1.
    pub colours: Vec<[f32; 3]>,
}

/// A square window of a picture, perhaps mirrored.
#[derive(Debug, Clone, Copy)]
struct Window {
    top: f32,
    left: f32,
    side: f32,
    mirrored: bool,
}

impl Picture {
    /// The whole picture.
    pub fn whole(sample: &Sample) -> Self {
        let colours = sample.image.as_ref().map(|image| image.cells().iter().map(|pixel| pixel.map(scaled)).collect());
        let codes: Vec<u32> = sample.mask.cells().iter().map(|code| u32::from(*code)).collect();
        let colours = colours.unwrap_or_else(|| vec![[0.0; 3]; codes.len()]);
        Self { codes, colours }
    }

    /// A window of the picture at random, brought to the picture's size, mirrored half of the time.
    pub fn drawn(sample: &Sample, rng: &mut impl Rng) -> Self {
        let side = sample.mask.shape()[0] as f32;
        let mut uniform = || (rng.next_u32() >> 8) as f32 / (1 << 24) as f32;
        let window_side = side * (SMALLEST_WINDOW + (1.0 - SMALLEST_WINDOW) * uniform());
        let room = side - window_side;
        let window =
            Window { side: window_side, top: room * uniform(), left: room * uniform(), mirrored: uniform() < 0.5 };
        Self::whole(sample).cut(side as usize, window)
    }

    /// The window in the size of the picture: classes from the nearest pixel, colours between the nearest four.
    fn cut(&self, side: usize, window: Window) -> Self {
        let step = window.side / side as f32;
        let place = |i: usize, start: f32| start + (i as f32 + 0.5) * step - 0.5;
        let last = (side - 1) as f32;
        let (mut codes, mut colours) = (Vec::with_capacity(side * side), Vec::with_capacity(side * side));
        for i in 0..side {
            let y = place(i, window.top).clamp(0.0, last);
            let (above, down) = (y as usize, y.fract());
            let below = (above + 1).min(side - 1);
            for j in 0..side {
                let j = if window.mirrored { side - 1 - j } else { j };
                let x = place(j, window.left).clamp(0.0, last);
                let (left, along) = (x as usize, x.fract());
                let right = (left + 1).min(side - 1);
                codes.push(self.codes[y.round() as usize * side + x.round() as usize]);
                let between = |a: f32, b: f32, share: f32| a + (b - a) * share;
                colours.push([0, 1, 2].map(|channel| {
                    let at = |row: usize, column: usize| self.colours[row * side + column][channel];
                    let upper = between(at(above, left), at(above, right), along);
                    between(upper, between(at(below, left), at(below, right), along), down)
                }));
            }
        }
        Self { codes, colours }
    }
}

/// Refuses samples without an image.
pub fn check_images(parts: &[&[Sample]]) -> Result<()> {
    if parts.iter().copied().flatten().any(|sample| sample.image.is_none()) {
        return Err(Error::fit("this method looks at images, and there are none", "give the folder of the images"));
    }
    Ok(())
}

/// The side of the pictures: a network works on squares of one size.
pub fn checked_side(setup: &Setup) -> Result<usize> {
    let size = setup.size.ok_or_else(|| Error::config("size", "is not given, and networks need one for all masks"))?;
    Ok(size as usize)
}

fn scaled(colour: u8) -> f32 {
    f32::from(colour) / 127.5 - 1.0
}

#[cfg(test)]
mod tests {
    use gnsm::internals::math::stream;
    use gnsm::mask::Grid;

    use super::*;

    fn sample() -> Sample {
        let mask: Vec<u8> = (0..64).collect();
        let image: Vec<[u8; 3]> = (0..64u8).map(|i| [4 * (i / 8), 4 * (i % 8), 255]).collect();
        Sample { mask: Grid::new([8, 8], mask).expect("a grid"), image: Grid::new([8, 8], image) }
    }

    #[test]
    fn the_whole_window_is_the_picture_itself() {
        let whole = Picture::whole(&sample());
        let window = Window { top: 0.0, left: 0.0, side: 8.0, mirrored: false };
        let cut = whole.cut(8, window);
        assert_eq!((&cut.codes, &cut.colours), (&whole.codes, &whole.colours));
        let mirrored = whole.cut(8, Window { mirrored: true, ..window });
        for (ours, row) in mirrored.codes.chunks_exact(8).zip(whole.codes.chunks_exact(8)) {
            assert!(ours.iter().eq(row.iter().rev()), "{ours:?} {row:?}");
        }
        for (ours, row) in mirrored.colours.chunks_exact(8).zip(whole.colours.chunks_exact(8)) {
            assert!(ours.iter().eq(row.iter().rev()), "{ours:?} {row:?}");
        }
    }

    #[test]
    fn a_window_keeps_mask_and_image_together() {
        // The pixel in row r and column c has class 8r + c; red grows by 4 a row, green by 4 a column.
        for seed in 0..20 {
            let drawn = Picture::drawn(&sample(), &mut stream(seed, 0, 0, 0));
            for (code, colour) in drawn.codes.iter().zip(&drawn.colours) {
                let [row, column] = [colour[0], colour[1]].map(|colour| (colour + 1.0) * 127.5 / 4.0);
                let away = [row - (code / 8) as f32, column - (code % 8) as f32];
                assert!(away.iter().all(|away| away.abs() <= 0.5 + 1e-4), "{row} {column} {code}");
            }
        }
    }
}
