//! Tests of the readers: every kind of file that there is, and every way one can be wrong.

use proptest::prelude::*;

use super::*;

/// A PNG of these packed rows.
fn png_file(width: u32, height: u32, color: ColorType, depth: BitDepth, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == ColorType::Indexed {
        encoder.set_palette((0..=255).flat_map(|i| [i, 255 - i, 7]).take(3 << depth as usize).collect::<Vec<u8>>());
    }
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(data).expect("pixels");
    writer.finish().expect("finished");
    bytes
}

fn refusal(bytes: &[u8]) -> String {
    mask_of_png(bytes).map(drop).expect_err("refused").0
}

#[test]
fn classes_are_the_values_of_palette_and_grey() {
    for color in [ColorType::Indexed, ColorType::Grayscale] {
        let mask = mask_of_png(&png_file(3, 2, color, BitDepth::Eight, &[0, 7, 255, 1, 2, 3])).expect("a mask");
        assert_eq!((mask.shape(), mask.cells()), ([2, 3], &[0, 7, 255, 1, 2, 3][..]));
        // Rows start at whole bytes.
        let mask = mask_of_png(&png_file(3, 2, color, BitDepth::Four, &[0x0f, 0x30, 0x12, 0x90])).expect("a mask");
        assert_eq!(mask.cells(), [0, 15, 3, 1, 2, 9]);
        let mask = mask_of_png(&png_file(3, 1, color, BitDepth::Two, &[0b0111_1000])).expect("a mask");
        assert_eq!(mask.cells(), [1, 3, 2]);
        let mask = mask_of_png(&png_file(9, 1, color, BitDepth::One, &[0b0110_1001, 0x80])).expect("a mask");
        assert_eq!(mask.cells(), [0, 1, 1, 0, 1, 0, 0, 1, 1]);
    }
}

#[test]
fn what_is_no_mask_is_refused_by_name() {
    let sixteen = png_file(1, 1, ColorType::Grayscale, BitDepth::Sixteen, &[1, 2]);
    assert_eq!(refusal(&sixteen), "has 16 bits a channel");
    assert_eq!(refusal(&png_file(1, 1, ColorType::Rgb, BitDepth::Eight, &[1, 2, 3])), "holds colours, not classes");
    assert_eq!(refusal(&png_file(1, 1, ColorType::Rgba, BitDepth::Eight, &[1, 2, 3, 4])), "holds colours, not classes");
    assert_eq!(refusal(&png_file(1, 1, ColorType::GrayscaleAlpha, BitDepth::Eight, &[1, 2])), "has transparency");
    assert_eq!(refusal(&[0xff, 0xd8, 0xff]), "is a JPEG, which does not keep classes");
    assert!(refusal(b"").starts_with("is not readable as a PNG ("));
    assert!(refusal(b"id,score\n").starts_with("is not readable as a PNG ("));
    let mut huge = png_file(1, 1, ColorType::Grayscale, BitDepth::Eight, &[1]);
    // The width in the header; its checksum is then wrong, or made right.
    huge[16..20].copy_from_slice(&1_000_000u32.to_be_bytes());
    assert!(mask_of_png(&huge).is_err());
    assert_eq!(check_size([1, 1 << 15]).expect_err("too large").0, "claims 32768 × 1 pixels");
}

#[test]
fn cut_short_is_an_error_wherever_it_was_cut() {
    let noise: Vec<u8> = (0..4000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let whole = png_file(50, 80, ColorType::Indexed, BitDepth::Eight, &noise);
    for length in [10, 40, whole.len() / 2, whole.len() - 30] {
        assert!(refusal(&whole[..length]).starts_with("is not readable as a PNG ("), "{length}");
        assert!(image_of_png(&whole[..length]).is_err(), "{length}");
    }
}

#[test]
fn images_become_red_green_and_blue() {
    let image =
        |color, depth, data: &[u8]| image_of_png(&png_file(1, 1, color, depth, data)).expect("an image").cells()[0];
    assert_eq!(image(ColorType::Rgb, BitDepth::Eight, &[1, 2, 3]), [1, 2, 3]);
    assert_eq!(image(ColorType::Rgba, BitDepth::Eight, &[1, 2, 3, 4]), [1, 2, 3]);
    assert_eq!(image(ColorType::Grayscale, BitDepth::Eight, &[9]), [9; 3]);
    assert_eq!(image(ColorType::Grayscale, BitDepth::One, &[0x80]), [255; 3]);
    assert_eq!(image(ColorType::GrayscaleAlpha, BitDepth::Eight, &[9, 1]), [9; 3]);
    assert_eq!(image(ColorType::Grayscale, BitDepth::Sixteen, &[9, 200]), [9; 3]);
    assert_eq!(image(ColorType::Indexed, BitDepth::Eight, &[5]), [5, 250, 7]);
}

/// Made by `reference/masks.py`: 3 × 2 pixels of (100, 100, 100).
const GREY: &[u8] = include_bytes!("grey.jpg");

#[test]
fn jpeg_is_read_and_its_end_is_missed() {
    let image = image_of_jpeg(GREY).expect("an image");
    assert_eq!(image.shape(), [2, 3]);
    assert!(image.cells().iter().all(|pixel| pixel.iter().all(|channel| channel.abs_diff(100) <= 2)), "{image:?}");
    for length in [2, 30, GREY.len() / 2] {
        let problem = image_of_jpeg(&GREY[..length]).expect_err("cut short").0;
        assert!(problem.starts_with("is not readable as a JPEG ("), "{length}: {problem}");
    }
}

#[test]
fn pictures_come_back_from_png() {
    let cells: Vec<[u8; 3]> = (0..20).map(|i| [i, 255 - i, i * 7]).collect();
    let image = Image::new([4, 5], cells).expect("an image");
    assert_eq!(image_of_png(&png_of_image(&image).expect("written")).expect("read"), image);
}

#[test]
fn pairs_must_be_there_and_of_one_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let write = |name: &str, bytes: &[u8]| std::fs::write(root.join(name), bytes).expect("written");
    std::fs::create_dir(root.join("images")).expect("a folder");
    let pairs = MaskFolder { masks: root.to_path_buf(), images: Some(root.join("images")) };
    let error =
        |name: &str| pairs.read(name).expect_err("no pair").to_string().replace(&root.display().to_string(), "");
    write("a.png", &png_file(3, 2, ColorType::Grayscale, BitDepth::Eight, &[0; 6]));
    assert_eq!(
        error("a"),
        "/images/a.jpg: there is no such image, nor one that ends in .jpeg or .png; look at the folder and the list"
    );
    write("images/a.png", &png_file(2, 3, ColorType::Rgb, BitDepth::Eight, &[0; 18]));
    assert_eq!(error("a"), "/a.png: has 3 × 2 pixels, its image 2 × 3; give pairs of one size");
    write("images/a.png", &png_file(3, 2, ColorType::Rgb, BitDepth::Eight, &[0; 18]));
    let (mask, image) = pairs.read("a").expect("a pair").remove(0);
    assert_eq!((mask.shape(), image.expect("an image").shape()), ([2, 3], [2, 3]));
    write("images/a.jpg", b"\xff\xd8");
    assert!(error("a").starts_with("/images/a.jpg: is not readable as a JPEG ("), "{}", error("a"));
    assert!(error("b").starts_with("/b.png: No such file"), "{}", error("b"));
    write("c.png", &png_file(1, 1, ColorType::Rgb, BitDepth::Eight, &[0; 3]));
    assert_eq!(
        error("c"),
        "/c.png: holds colours, not classes; save each pixel's class in a PNG with a palette or 8 bits of grey"
    );
}

proptest! {
    #[test]
    fn any_bytes_give_a_picture_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300), place in 0usize..300, value: u8) {
        let mut damaged = png_file(7, 5, ColorType::Indexed, BitDepth::Four, &[0x21; 20]);
        let at = place % damaged.len();
        damaged[at] = value;
        let mut jpeg = GREY.to_vec();
        let at = place % jpeg.len();
        jpeg[at] = value;
        for bytes in [&bytes, &damaged, &jpeg] {
            let _ = mask_of_png(bytes);
            let _ = image_of_png(bytes);
            let _ = image_of_jpeg(bytes);
        }
    }
}
