//! Any bytes as a volume: slices, or an error; never a panic. A small one is also measured against itself.
#![no_main]

use gnsm::mask::{Volume, compare_spaced};

/// Voxels that are looked at further, at the most.
const MOST_VOXELS: usize = 1 << 14;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(volume) = Volume::from_bytes("input.nii", bytes) else { return };
    if volume.shape().iter().product::<usize>() > MOST_VOXELS {
        return;
    }
    assert_eq!(volume.image_slices().len(), volume.shape()[0]);
    if let Ok(classes) = volume.classes("input.nii") {
        let quality = compare_spaced(&classes, &classes, None, volume.spacing()).expect("one size");
        assert!(quality.n_unmatched == 0 && (quality.dice - 1.0).abs() < 1e-12, "{quality:?}");
    }
});
