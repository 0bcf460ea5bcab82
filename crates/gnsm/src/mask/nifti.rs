//! Reads and writes volumes in NIfTI files (`.nii`, `.nii.gz`).
//!
//! A file is a header of 348 bytes, then numbers, the first axis running fastest. Only what a volume needs is read: the
//! shape, the distance between voxels, the type of the numbers and how they are scaled. A volume here has the axes z,
//! y, x, so that a slice, the y and x of one z, is contiguous. Files with the header apart (`.hdr` and `.img`), of
//! version 2, with colours or with more than one volume are refused by name.
//!
//! Our own code reads it: it is one struct and one table of types, and the crate `nifti` brings `ndarray` and more.

use std::io::{Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::grid::{Grid, Image, Mask, Size};
use crate::error::{Error, Place, Result};

/// The length of the header.
const HEADER: usize = 348;
/// The longest axis; a damaged header can claim anything.
const LONGEST: i16 = 1 << 14;
/// Voxels of a volume, at the most.
const MOST_VOXELS: usize = 1 << 28;
/// The quantiles of an image's voxels that become black and white. With the extremes instead, a single bright voxel
/// would leave all others dark.
const WINDOW: [f64; 2] = [0.005, 0.995];
/// The type of the numbers that are written, and its bits.
const FLOAT32: (i16, i16) = (16, 32);

/// A volume as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Volume {
    header: Vec<u8>,
    spacing: [f64; 3],
    voxels: Grid<f32, 3>,
}

/// What is wrong with a file, and what to do.
type Refusal = (String, &'static str);

const DAMAGED: &str = "the file is damaged or cut short; restore it from a copy";
const CONVERT: &str = "convert it to one NIfTI-1 file (.nii or .nii.gz) with one volume of numbers";
const CLASSES_ONLY: &str = "save each voxel's class as a whole number from 0 to 255";

impl Volume {
    /// Reads a file, compressed or not.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| Error::io(path, error))?;
        Self::from_bytes(path, &bytes)
    }

    /// A volume from the bytes of a file, which errors name.
    pub fn from_bytes(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Self> {
        let volume = if bytes.starts_with(&[0x1f, 0x8b]) {
            inflate(bytes).and_then(|plain| parse(&plain))
        } else {
            parse(bytes)
        };
        volume.map_err(|(problem, advice)| bad(path.as_ref(), problem, advice))
    }

    /// The length of each axis: z, y, x.
    pub fn shape(&self) -> [usize; 3] {
        self.voxels.shape()
    }

    /// The distance between neighbours along each axis, in the file's unit, which is nearly always millimetres.
    pub fn spacing(&self) -> [f64; 3] {
        self.spacing
    }

    /// The classes of a mask, which `path` names in errors.
    pub fn classes(&self, path: impl AsRef<Path>) -> Result<Grid<u8, 3>> {
        let is_class = |value: &&f32| **value >= 0.0 && **value <= 255.0 && value.fract() == 0.0;
        if let Some(other) = self.voxels.cells().iter().find(|value| !is_class(value)) {
            return Err(bad(path.as_ref(), format!("holds {other}, which is no class"), CLASSES_ONLY));
        }
        Ok(self.voxels.map(|value| *value as u8))
    }

    /// The slices of a mask, by z.
    pub fn mask_slices(&self, path: impl AsRef<Path>) -> Result<Vec<Mask>> {
        Ok(slices(&self.classes(path)?))
    }

    /// The slices of an image as grey pictures, by z, all with the same black and white.
    pub fn image_slices(&self) -> Vec<Image> {
        let mut finite: Vec<f32> = self.voxels.cells().iter().copied().filter(|value| value.is_finite()).collect();
        let [black, white] = WINDOW.map(|share| {
            let place = (share * finite.len().saturating_sub(1) as f64).round() as usize;
            if finite.is_empty() { 0.0 } else { *finite.select_nth_unstable_by(place, f32::total_cmp).1 }
        });
        let grey = |value: &f32| {
            let share = if white > black { (value - black) / (white - black) } else { 0.0 };
            [(255.0 * share).round() as u8; 3]
        };
        slices(&self.voxels.map(grey))
    }

    /// A compressed file with the same position in space and other numbers: the slices of a map, each resized to the
    /// size of this volume.
    pub fn with_map(&self, maps: &[Grid<f32, 2>]) -> Result<Vec<u8>> {
        let [depth, height, width] = self.shape();
        let wrong = || Error::schema("a map does not fit its volume", "score the masks again");
        if maps.len() != depth {
            return Err(wrong());
        }
        let mut bytes = written_header(&self.header);
        for map in maps {
            let slice = map.resized([height, width]).ok_or_else(wrong)?;
            bytes.extend(slice.cells().iter().flat_map(|value| value.to_le_bytes()));
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        // Writing to memory cannot fail.
        encoder.write_all(&bytes).and_then(|()| encoder.finish()).map_err(|error| Error::io("a volume", error))
    }
}

/// The planes of the first axis.
fn slices<T: Copy>(volume: &Grid<T, 3>) -> Vec<Grid<T, 2>> {
    let [_, height, width] = volume.shape();
    let planes = volume.cells().chunks_exact(height * width);
    planes.filter_map(|plane| Grid::new([height, width], plane.to_vec())).collect()
}

fn bad(path: &Path, problem: impl Into<String>, advice: &str) -> Error {
    let place = Place { file: path.display().to_string(), ..Place::default() };
    Error::data(place, problem, advice)
}

fn inflate(bytes: &[u8]) -> std::result::Result<Vec<u8>, Refusal> {
    let mut plain = Vec::new();
    // A small file can claim to be an endless one.
    let most = (MOST_VOXELS * 8 + HEADER) as u64;
    let read = MultiGzDecoder::new(bytes).take(most).read_to_end(&mut plain);
    read.map_err(|error| (format!("is not readable as gzip ({error})"), DAMAGED))?;
    Ok(plain)
}

/// The fields of a header, in either order of bytes.
struct Fields<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl Fields<'_> {
    fn take<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut field: [u8; N] = std::array::from_fn(|i| self.bytes[at + i]);
        if self.big_endian {
            field.reverse();
        }
        field
    }

    fn short(&self, at: usize) -> i16 {
        i16::from_le_bytes(self.take(at))
    }

    fn float(&self, at: usize) -> f32 {
        f32::from_le_bytes(self.take(at))
    }
}

fn parse(bytes: &[u8]) -> std::result::Result<Volume, Refusal> {
    let Some(header) = bytes.get(..HEADER) else {
        return Err(("is too short for a NIfTI file".into(), DAMAGED));
    };
    let size = [bytes[0], bytes[1], bytes[2], bytes[3]];
    let big_endian = match (i32::from_le_bytes(size), i32::from_be_bytes(size)) {
        (348, _) => false,
        (_, 348) => true,
        (540, _) | (_, 540) => return Err(("is NIfTI of version 2".into(), CONVERT)),
        _ => return Err(("is not a NIfTI file".into(), CONVERT)),
    };
    match &header[344..348] {
        b"n+1\0" => {}
        b"ni1\0" => return Err(("has its numbers in another file".into(), CONVERT)),
        _ => return Err(("is not a NIfTI file".into(), CONVERT)),
    }
    let fields = Fields { bytes: header, big_endian };
    let shape = shape(&fields)?;
    let spacing = spacing(&fields, shape)?;
    let (slope, intercept) = (f64::from(fields.float(112)), f64::from(fields.float(116)));
    let scale = if slope == 0.0 || !slope.is_finite() { [1.0, 0.0] } else { [slope, intercept] };
    let start = fields.float(108);
    if !(start >= HEADER as f32 && f64::from(start) <= bytes.len() as f64) {
        return Err((format!("says that its numbers start at byte {start}"), DAMAGED));
    }
    let voxels = numbers(&fields, &bytes[start as usize..], shape.iter().product(), scale)?;
    let voxels = Grid::new(shape, voxels).ok_or_else(|| ("has no voxels".to_owned(), DAMAGED))?;
    Ok(Volume { header: little_endian(header, big_endian), spacing, voxels })
}

/// The lengths of z, y and x; further axes must have the length 1.
fn shape(fields: &Fields<'_>) -> std::result::Result<[usize; 3], Refusal> {
    let count = fields.short(40);
    if !(1..=7).contains(&count) {
        return Err((format!("claims {count} axes"), DAMAGED));
    }
    let length = |axis: i16| if axis <= count { fields.short(40 + 2 * axis as usize) } else { 1 };
    if let Some(axis) = (1..=3).find(|axis| !(1..=LONGEST).contains(&length(*axis))) {
        return Err((format!("claims {} voxels along axis {axis}", length(axis)), DAMAGED));
    }
    if let Some(axis) = (4..=7).find(|axis| length(*axis) > 1) {
        return Err((format!("holds {} volumes", length(axis)), CONVERT));
    }
    let shape = [3, 2, 1].map(|axis| length(axis) as usize);
    if shape.iter().product::<usize>() > MOST_VOXELS {
        return Err((format!("claims {} voxels", Size(shape)), "give smaller volumes"));
    }
    Ok(shape)
}

/// The distances along z, y and x; an axis of one voxel need not have one.
fn spacing(fields: &Fields<'_>, shape: [usize; 3]) -> std::result::Result<[f64; 3], Refusal> {
    let mut spacing = [88, 84, 80].map(|at| f64::from(fields.float(at)).abs());
    for (distance, length) in spacing.iter_mut().zip(shape) {
        if !(distance.is_finite() && *distance > 0.0) {
            if length > 1 {
                return Err(("has voxels without a size".into(), "set pixdim in its header"));
            }
            *distance = 1.0;
        }
    }
    Ok(spacing)
}

fn numbers(
    fields: &Fields<'_>,
    bytes: &[u8],
    count: usize,
    [slope, intercept]: [f64; 2],
) -> std::result::Result<Vec<f32>, Refusal> {
    macro_rules! read {
        ($type:ty, $as_float:expr) => {{
            const N: usize = size_of::<$type>();
            let whole = bytes.get(..count * N).ok_or_else(|| {
                let problem = format!("has {} of {} bytes of numbers", bytes.len(), count * N);
                (problem, DAMAGED)
            })?;
            let value = |field: &[u8; N]| {
                let value =
                    if fields.big_endian { <$type>::from_be_bytes(*field) } else { <$type>::from_le_bytes(*field) };
                ($as_float(value) * slope + intercept) as f32
            };
            Ok(whole.as_chunks::<N>().0.iter().map(value).collect())
        }};
    }
    match fields.short(70) {
        2 => read!(u8, f64::from),
        4 => read!(i16, f64::from),
        8 => read!(i32, f64::from),
        16 => read!(f32, f64::from),
        64 => read!(f64, |value: f64| value),
        256 => read!(i8, f64::from),
        512 => read!(u16, f64::from),
        768 => read!(u32, f64::from),
        1024 => read!(i64, |value: i64| value as f64),
        1280 => read!(u64, |value: u64| value as f64),
        other => Err((format!("holds numbers of type {other}"), CONVERT)),
    }
}

/// The fields of a header by the size of their numbers: the offset, and how many there are.
const SHORTS: [(usize, usize); 3] = [(36, 1), (40, 8), (68, 4)];
const WORDS: [(usize, usize); 6] = [(0, 1), (32, 1), (56, 3), (76, 11), (124, 6), (256, 18)];
/// The slice end and the quaternion codes are two bytes among four.
const MORE_SHORTS: [(usize, usize); 2] = [(120, 1), (252, 2)];

/// A header with its fields in this machine's order, so that it can be written with other numbers.
fn little_endian(header: &[u8], big_endian: bool) -> Vec<u8> {
    let mut header = header.to_vec();
    if big_endian {
        let shorts = SHORTS.iter().chain(&MORE_SHORTS).map(|&(at, count)| (at, count, 2));
        for (at, count, size) in shorts.chain(WORDS.iter().map(|&(at, count)| (at, count, 4))) {
            header[at..at + count * size].chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
    }
    header
}

/// The header of a map: numbers of 32 bits, not scaled, right after it and four bytes that say that nothing else
/// follows.
fn written_header(header: &[u8]) -> Vec<u8> {
    let mut header = header.to_vec();
    header[70..72].copy_from_slice(&FLOAT32.0.to_le_bytes());
    header[72..74].copy_from_slice(&FLOAT32.1.to_le_bytes());
    header[108..112].copy_from_slice(&(HEADER as f32 + 4.0).to_le_bytes());
    header[112..116].copy_from_slice(&1f32.to_le_bytes());
    header[116..120].copy_from_slice(&0f32.to_le_bytes());
    // The range that viewers show, and what the file says of itself.
    header[124..132].fill(0);
    header[148..228].fill(0);
    header[148..156].copy_from_slice(b"gnsm map");
    header.extend([0; 4]);
    header
}

#[cfg(test)]
mod tests;
