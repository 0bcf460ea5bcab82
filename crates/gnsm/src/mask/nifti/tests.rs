//! Tests of the reader and writer of volumes: types, orders of bytes, scales, and every way a file can be wrong.

use proptest::prelude::*;

use super::*;

/// A file of 2 × 3 × 4 voxels (z, y, x) that are 3, 2 and 1.5 apart, with numbers of a type.
fn file(datatype: i16, numbers: &[u8], big_endian: bool) -> Vec<u8> {
    let mut header = vec![0; HEADER + 4];
    let mut put = |at: usize, field: &[u8]| {
        let mut field = field.to_vec();
        if big_endian {
            field.reverse();
        }
        header[at..at + field.len()].copy_from_slice(&field);
    };
    put(0, &348i32.to_le_bytes());
    for (axis, length) in [3i16, 4, 3, 2].into_iter().enumerate() {
        put(40 + 2 * axis, &length.to_le_bytes());
    }
    put(70, &datatype.to_le_bytes());
    for (axis, distance) in [1.5f32, -2.0, 3.0].into_iter().enumerate() {
        put(80 + 4 * axis, &distance.to_le_bytes());
    }
    put(108, &352f32.to_le_bytes());
    header[344..348].copy_from_slice(b"n+1\0");
    header.extend(numbers);
    header
}

fn bytes(count: u8) -> Vec<u8> {
    (0..count).collect()
}

fn with(mut file: Vec<u8>, at: usize, field: &[u8]) -> Vec<u8> {
    file[at..at + field.len()].copy_from_slice(field);
    file
}

fn refusal(bytes: &[u8]) -> String {
    Volume::from_bytes("a.nii", bytes).expect_err("refused").to_string()
}

#[test]
fn axes_come_as_z_y_x_and_the_first_of_the_file_runs_fastest() {
    let volume = Volume::from_bytes("a.nii", &file(2, &bytes(24), false)).expect("a volume");
    assert_eq!((volume.shape(), volume.spacing()), ([2, 3, 4], [3.0, 2.0, 1.5]));
    let slices = volume.mask_slices("a.nii").expect("classes");
    assert_eq!((slices.len(), slices[1].shape()), (2, [3, 4]));
    assert_eq!(slices[1].cells(), (12..24).collect::<Vec<u8>>());
}

#[test]
fn all_types_in_both_orders_of_bytes() {
    macro_rules! check {
        ($($code:literal $type:ty),+) => {$(
            for big_endian in [false, true] {
                let number = |i: u8| i.to_string().parse::<$type>().expect("a number");
                let numbers = (0..24).map(number).flat_map(|value| {
                    if big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
                });
                let volume = Volume::from_bytes("a.nii", &file($code, &numbers.collect::<Vec<u8>>(), big_endian));
                let classes = volume.expect("a volume").classes("a.nii").expect("classes");
                assert_eq!(classes.cells(), bytes(24), "type {} {big_endian}", $code);
            }
        )+};
    }
    check!(2 u8, 4 i16, 8 i32, 16 f32, 64 f64, 256 i8, 512 u16, 768 u32, 1024 i64, 1280 u64);
}

#[test]
fn numbers_are_scaled_and_gzip_is_unwrapped() {
    let scaled = with(with(file(2, &bytes(24), false), 112, &2f32.to_le_bytes()), 116, &1f32.to_le_bytes());
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&scaled).expect("packed");
    for bytes in [scaled, encoder.finish().expect("packed")] {
        let volume = Volume::from_bytes("a.nii.gz", &bytes).expect("a volume");
        assert_eq!(volume.classes("a").expect("classes").cells()[..4], [1, 3, 5, 7]);
    }
}

#[test]
fn an_image_is_grey_between_its_darkest_and_brightest_voxels() {
    let numbers: Vec<u8> = (0..24).flat_map(|i| (-1000.0 + 100.0 * i as f32).to_le_bytes()).collect();
    let slices = Volume::from_bytes("a.nii", &file(16, &numbers, false)).expect("a volume").image_slices();
    assert_eq!([slices[0].cells()[0], slices[1].cells()[11]], [[0; 3], [255; 3]]);
    assert_eq!(slices[0].cells()[1], [11; 3]); // 255 / 23
    let mut with_hole = numbers;
    with_hole[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    let slices = Volume::from_bytes("a.nii", &file(16, &with_hole, false)).expect("a volume").image_slices();
    assert_eq!(slices[0].cells()[0], [0; 3]);
}

#[test]
fn what_is_no_volume_of_numbers_is_refused_by_name() {
    let good = file(2, &bytes(24), false);
    assert_eq!(refusal(b"id,score\n"), format!("a.nii: is too short for a NIfTI file; {DAMAGED}"));
    assert_eq!(refusal(&[7; 400]), format!("a.nii: is not a NIfTI file; {CONVERT}"));
    assert_eq!(
        refusal(&with(good.clone(), 0, &540i32.to_le_bytes())),
        format!("a.nii: is NIfTI of version 2; {CONVERT}")
    );
    assert!(refusal(&with(good.clone(), 344, b"ni1\0")).contains("has its numbers in another file"));
    assert!(refusal(&with(good.clone(), 70, &128i16.to_le_bytes())).contains("holds numbers of type 128"));
    assert!(refusal(&with(good.clone(), 42, &(-3i16).to_le_bytes())).contains("claims -3 voxels along axis 1"));
    let four_axes = with(with(good.clone(), 40, &4i16.to_le_bytes()), 48, &5i16.to_le_bytes());
    assert!(refusal(&four_axes).contains("holds 5 volumes"));
    assert!(refusal(&with(good.clone(), 80, &0f32.to_le_bytes())).contains("has voxels without a size"));
    assert!(refusal(&with(good.clone(), 108, &f32::NAN.to_le_bytes())).contains("start at byte NaN"));
    assert!(refusal(&good[..370]).contains("has 18 of 24 bytes of numbers"), "{}", refusal(&good[..370]));
    assert!(refusal(b"\x1f\x8b\x08\x00").contains("is not readable as gzip ("));
    let halves: Vec<u8> = (0..24).flat_map(|i| (0.5 * i as f32).to_le_bytes()).collect();
    let volume = Volume::from_bytes("a.nii", &file(16, &halves, false)).expect("a volume");
    let error = volume.classes("a.nii").expect_err("no classes").to_string();
    assert_eq!(error, format!("a.nii: holds 0.5, which is no class; {CLASSES_ONLY}"));
}

#[test]
fn a_map_has_the_place_of_its_volume() {
    for big_endian in [false, true] {
        let mut stored = file(2, &bytes(24), big_endian);
        // The first number of the matrix that places the volume in space, and its code.
        let place = if big_endian { 7.5f32.to_be_bytes() } else { 7.5f32.to_le_bytes() };
        stored = with(stored, 280, &place);
        let volume = Volume::from_bytes("a.nii", &stored).expect("a volume");
        let maps: Vec<Grid<f32, 2>> = (0..2)
            .map(|z| Grid::new([3, 2], (0..6).map(|i| 0.25 * (z * 6 + i) as f32).collect()).expect("a map"))
            .collect();
        let written = Volume::from_bytes("map.nii.gz", &volume.with_map(&maps).expect("a file")).expect("a volume");
        assert_eq!((written.shape(), written.spacing()), (volume.shape(), volume.spacing()));
        assert_eq!(written.header[280..284], 7.5f32.to_le_bytes());
        assert_eq!(written.voxels.cells()[..8], [0.0, 0.0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75]);
        assert!(volume.with_map(&maps[..1]).is_err());
    }
}

proptest! {
    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600), at in 0usize..348, value in any::<[u8; 2]>()) {
        let _ = Volume::from_bytes("a.nii", &bytes);
        let mut damaged = file(4, &[1; 48], false);
        damaged[at] = value[0];
        damaged[(at * 7) % 348] = value[1];
        if let Ok(volume) = Volume::from_bytes("a.nii", &damaged) {
            let _ = (volume.classes("a.nii"), volume.image_slices());
        }
    }
}
