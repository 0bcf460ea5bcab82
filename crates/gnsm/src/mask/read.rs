//! Reads masks and images from PNG and JPEG files, and finds out whether a name stands for a picture or a volume.
//!
//! The class of a pixel is the value in the file, not the colour that a palette shows for it. Masks are palette and
//! grey PNGs of 1 to 8 bits; all others are refused by name. An image may be any PNG or JPEG. It becomes red, green and
//! blue of 8 bits, and transparency is ignored.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use png::{BitDepth, ColorType, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::grid::{Grid, Image, Mask, Size};
use super::nifti::Volume;
use crate::error::{Error, Place, Result};

/// The longest side of a picture; a damaged header can claim anything.
const LONGEST: usize = 1 << 14;
/// The endings that an image may have, in the order in which they are looked for.
const IMAGE_ENDINGS: [&str; 6] = ["jpg", "jpeg", "png", "JPG", "JPEG", "PNG"];

/// The endings that a volume may have, in the order in which they are looked for.
const VOLUME_ENDINGS: [&str; 2] = ["nii.gz", "nii"];

/// Where the masks of a list are, and their images if they are to be looked at.
#[derive(Debug, Clone, Default)]
pub struct MaskFolder {
    /// The folder with `NAME.png`, `NAME.nii.gz` or `NAME.nii`.
    pub masks: PathBuf,
    /// The folder with `NAME.jpg` or `NAME.png`, or `NAME.nii.gz` or `NAME.nii`.
    pub images: Option<PathBuf>,
}

impl MaskFolder {
    /// The file of a mask: a picture, or a volume if there is one of that name and no picture.
    pub fn file(&self, name: &str) -> PathBuf {
        let picture = self.masks.join(format!("{name}.png"));
        if picture.exists() { picture } else { volume_file(&self.masks, name).unwrap_or(picture) }
    }

    /// The slices of the mask of that name, each with that of its image if there is a folder for images; a picture is
    /// one slice. The image must be of the same size.
    pub fn read(&self, name: &str) -> Result<Vec<(Mask, Option<Image>)>> {
        if is_volume(&self.file(name)) { self.read_volume(name) } else { Ok(vec![self.read_picture(name)?]) }
    }

    fn read_volume(&self, name: &str) -> Result<Vec<(Mask, Option<Image>)>> {
        let path = self.file(name);
        let volume = Volume::read(&path)?;
        let masks = volume.mask_slices(&path)?;
        let Some(folder) = &self.images else { return Ok(masks.into_iter().map(|mask| (mask, None)).collect()) };
        let image = volume_file(folder, name).ok_or_else(|| {
            let problem = "there is no such image, nor one that ends in .nii";
            bad(&folder.join(format!("{name}.nii.gz")), problem, "look at the folder and the list")
        })?;
        let image = Volume::read(image)?;
        if image.shape() != volume.shape() {
            let sizes = [Size(volume.shape()), Size(image.shape())];
            let problem = format!("has {} voxels, its image {}", sizes[0], sizes[1]);
            return Err(bad(&path, problem, "give pairs of one size"));
        }
        Ok(masks.into_iter().zip(image.image_slices().into_iter().map(Some)).collect())
    }

    fn read_picture(&self, name: &str) -> Result<(Mask, Option<Image>)> {
        let mask = read_mask(self.file(name))?;
        let Some(folder) = &self.images else { return Ok((mask, None)) };
        let image = read_image(image_file(folder, name)?)?;
        check_pair(&mask, Some(&image), &self.file(name).display().to_string())?;
        Ok((mask, Some(image)))
    }
}

/// The file of a volume of that name, if there is one.
pub fn volume_file(folder: impl AsRef<Path>, name: &str) -> Option<PathBuf> {
    let mut candidates = VOLUME_ENDINGS.iter().map(|ending| folder.as_ref().join(format!("{name}.{ending}")));
    candidates.find(|path| path.is_file())
}

/// Whether a file is a volume, by its name.
pub fn is_volume(path: &Path) -> bool {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    VOLUME_ENDINGS.iter().any(|ending| name.ends_with(&format!(".{ending}")))
}

/// Refuses an image that is not of its mask's size.
pub(super) fn check_pair(mask: &Mask, image: Option<&Image>, name: &str) -> Result<()> {
    match image.map(Grid::shape) {
        Some(shape) if shape != mask.shape() => {
            let problem = format!("has {} pixels, its image {}", Size(mask.shape()), Size(shape));
            Err(bad(Path::new(name), problem, "give pairs of one size"))
        }
        _ => Ok(()),
    }
}

/// The file of an image, by any of the endings that one may have.
pub fn image_file(folder: impl AsRef<Path>, name: &str) -> Result<PathBuf> {
    let folder = folder.as_ref();
    let mut candidates = IMAGE_ENDINGS.iter().map(|ending| folder.join(format!("{name}.{ending}")));
    candidates.find(|path| path.is_file()).ok_or_else(|| {
        let problem = "there is no such image, nor one that ends in .jpeg or .png";
        bad(&folder.join(format!("{name}.jpg")), problem, "look at the folder and the list")
    })
}

/// Reads a mask.
pub fn read_mask(path: impl AsRef<Path>) -> Result<Mask> {
    let path = path.as_ref();
    mask_from_bytes(path, &read(path)?)
}

/// Reads an image.
pub fn read_image(path: impl AsRef<Path>) -> Result<Image> {
    let path = path.as_ref();
    image_from_bytes(path, &read(path)?)
}

/// A mask from the bytes of a file, which errors name.
pub fn mask_from_bytes(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Mask> {
    mask_of_png(bytes).map_err(|(problem, advice)| bad(path.as_ref(), problem, advice))
}

/// An image from the bytes of a file, which errors name.
pub fn image_from_bytes(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Image> {
    let image = if bytes.starts_with(&[0xff, 0xd8]) { image_of_jpeg(bytes) } else { image_of_png(bytes) };
    image.map_err(|(problem, advice)| bad(path.as_ref(), problem, advice))
}

/// An image as the bytes of a PNG file.
pub fn png_of_image(image: &Image) -> Result<Vec<u8>> {
    let [height, width] = image.shape();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(bytemuck::cast_slice(image.cells()))?;
        writer.finish()
    });
    written.map_err(|error| Error::schema(format!("a picture cannot be written ({error})"), "look at its size"))?;
    Ok(bytes)
}

/// What is wrong with a file, and what to do.
type Refusal = (String, &'static str);

const DAMAGED: &str = "the file is damaged or cut short; restore it from a copy";
const CLASSES_ONLY: &str = "save each pixel's class in a PNG with a palette or 8 bits of grey";

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| Error::io(path, error))
}

fn bad(path: &Path, problem: impl Into<String>, advice: &str) -> Error {
    let place = Place { file: path.display().to_string(), ..Place::default() };
    Error::data(place, problem, advice)
}

fn mask_of_png(bytes: &[u8]) -> std::result::Result<Mask, Refusal> {
    if bytes.starts_with(&[0xff, 0xd8]) {
        return Err(("is a JPEG, which does not keep classes".into(), CLASSES_ONLY));
    }
    let Picture { shape: [height, width], color, depth, bytes } = decode_png(bytes, Transformations::IDENTITY)?;
    let bits = match (color, depth) {
        (ColorType::Indexed | ColorType::Grayscale, BitDepth::One) => 1,
        (ColorType::Indexed | ColorType::Grayscale, BitDepth::Two) => 2,
        (ColorType::Indexed | ColorType::Grayscale, BitDepth::Four) => 4,
        (ColorType::Indexed | ColorType::Grayscale, BitDepth::Eight) => 8,
        (_, BitDepth::Sixteen) => return Err(("has 16 bits a channel".into(), CLASSES_ONLY)),
        (ColorType::GrayscaleAlpha, _) => return Err(("has transparency".into(), CLASSES_ONLY)),
        _ => return Err(("holds colours, not classes".into(), CLASSES_ONLY)),
    };
    // Rows start at whole bytes, the first pixel in the highest bits.
    let row_bytes = (width * bits).div_ceil(8);
    let labels = bytes.chunks(row_bytes).flat_map(|row| {
        let pixel = |x: usize| {
            let bit = x * bits;
            (row[bit / 8] >> (8 - bits - bit % 8)) & (0xff >> (8 - bits))
        };
        (0..width).map(pixel).collect::<Vec<u8>>()
    });
    Grid::new([height, width], labels.collect()).ok_or_else(|| ("has no pixels".into(), DAMAGED))
}

fn image_of_png(bytes: &[u8]) -> std::result::Result<Image, Refusal> {
    let Picture { shape, color, bytes, .. } = decode_png(bytes, Transformations::normalize_to_color8())?;
    let cells: Vec<[u8; 3]> = match color {
        ColorType::Grayscale => bytes.iter().map(|grey| [*grey; 3]).collect(),
        ColorType::GrayscaleAlpha => bytes.as_chunks::<2>().0.iter().map(|[grey, _]| [*grey; 3]).collect(),
        ColorType::Rgba => bytes.as_chunks::<4>().0.iter().map(|[r, g, b, _]| [*r, *g, *b]).collect(),
        ColorType::Rgb | ColorType::Indexed => bytes.as_chunks::<3>().0.to_vec(),
    };
    Grid::new(shape, cells).ok_or_else(|| ("has no pixels".into(), DAMAGED))
}

/// A decoded PNG; each row starts at a whole byte.
struct Picture {
    shape: [usize; 2],
    color: ColorType,
    depth: BitDepth,
    bytes: Vec<u8>,
}

fn decode_png(bytes: &[u8], transformations: Transformations) -> std::result::Result<Picture, Refusal> {
    let refuse = |error: png::DecodingError| (format!("is not readable as a PNG ({error})"), DAMAGED);
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(transformations);
    let info = decoder.read_header_info().map_err(refuse)?;
    let shape = [info.height as usize, info.width as usize];
    check_size(shape)?;
    let mut reader = decoder.read_info().map_err(refuse)?;
    let mut pixels = vec![0; reader.output_buffer_size().unwrap_or(0)];
    let frame = reader.next_frame(&mut pixels).map_err(refuse)?;
    Ok(Picture { shape, color: frame.color_type, depth: frame.bit_depth, bytes: pixels })
}

fn image_of_jpeg(bytes: &[u8]) -> std::result::Result<Image, Refusal> {
    let refuse = |problem: String| (format!("is not readable as a JPEG ({problem})"), DAMAGED);
    // Strict, or else what is cut short comes out grey.
    let options = DecoderOptions::default()
        .jpeg_set_out_colorspace(ColorSpace::RGB)
        .set_strict_mode(true)
        .set_max_width(LONGEST)
        .set_max_height(LONGEST);
    let mut decoder = JpegDecoder::new_with_options(Cursor::new(bytes), options);
    let pixels = decoder.decode().map_err(|error| refuse(error.to_string()))?;
    let info = decoder.info().ok_or_else(|| refuse("no size".into()))?;
    let shape = [usize::from(info.height), usize::from(info.width)];
    Grid::new(shape, pixels.as_chunks::<3>().0.to_vec()).ok_or_else(|| refuse("no pixels".into()))
}

fn check_size(shape: [usize; 2]) -> std::result::Result<(), Refusal> {
    if shape.iter().any(|length| *length > LONGEST) {
        return Err((format!("claims {} pixels", Size(shape)), "give pictures of at most 16,384 pixels a side"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
