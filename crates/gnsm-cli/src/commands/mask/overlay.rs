//! Draws where a mask is odd, in red over its image.

use gnsm::mask::{Grid, Image};

/// How much of the image's own brightness is kept, so that red stands out.
const IMAGE_LIGHT: f32 = 0.6;

/// The image in grey, and each pixel as red as its part of the score is large beside the largest.
pub fn overlay(image: &Image, map: &Grid<f32, 2>) -> Image {
    let largest = map.cells().iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    let [height, width] = image.shape();
    let mut picture = image.clone();
    for (place, pixel) in picture.cells_mut().iter_mut().enumerate() {
        let [row, column] = [(place / width, height, 0), (place % width, width, 1)].map(|(i, n, axis)| {
            let m = map.shape()[axis];
            (2 * i + 1) * m / (2 * n)
        });
        let share = (map.cells()[row * map.shape()[1] + column] / largest).clamp(0.0, 1.0);
        let [red, green, blue] = pixel.map(f32::from);
        let grey = IMAGE_LIGHT * (0.3 * red + 0.59 * green + 0.11 * blue);
        *pixel = [grey + (255.0 - grey) * share, grey * (1.0 - share), grey * (1.0 - share)].map(|light| light as u8);
    }
    picture
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oddest_place_is_red_and_the_usual_ones_are_grey() {
        let image = Image::new([2, 4], vec![[100; 3]; 8]).expect("an image");
        let map = Grid::new([1, 2], vec![0.0, 3.0]).expect("a map");
        let picture = overlay(&image, &map);
        assert_eq!(picture.cells()[0], [60; 3]);
        assert_eq!(picture.cells()[7], [255, 0, 0]);
        let nothing = overlay(&image, &Grid::new([1, 1], vec![0.0]).expect("a map"));
        assert!(nothing.cells().iter().all(|pixel| *pixel == [60; 3]));
    }
}
