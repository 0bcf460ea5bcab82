//! Any bytes as a mask and as an image: a picture, or an error; never a panic. A small mask is also compared with itself.
#![no_main]

use std::path::Path;

use gnsm::mask::{VOID, compare, image_from_bytes, largest_components, mask_from_bytes, png_of_image};

/// Pixels that are looked at further, at the most.
const MOST_PIXELS: usize = 1 << 14;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("input.png");
    if let Ok(mask) = mask_from_bytes(path, bytes)
        && mask.cells().len() <= MOST_PIXELS
    {
        let largest: usize = largest_components(&mask).iter().sum();
        assert!(largest <= mask.cells().len());
        let quality = compare(&mask, &mask, Some(VOID)).expect("one size");
        assert!(quality.n_unmatched == 0 && (quality.dice - 1.0).abs() < 1e-12, "{quality:?}");
    }
    if let Ok(image) = image_from_bytes(path, bytes)
        && image.cells().len() <= MOST_PIXELS
    {
        let again = image_from_bytes(path, &png_of_image(&image).expect("a small picture")).expect("our own PNG");
        assert_eq!(again.cells(), image.cells());
    }
});
