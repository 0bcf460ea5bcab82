//! Unwraps compression and a tar or zip around a file, recognised by content.
//!
//! gzip (also several members one after another), zstd, xz and a zip of one file ([`super::zip`]) are unwrapped, then a
//! tar of one file inside ([`super::tar`]). Nothing is held in memory as a whole.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};

use crate::error::{Error, Result};
use crate::table::input::source::Source;
use crate::table::input::tar;
use crate::table::input::zip::{self, Inside};

/// How many layers of compression are unwrapped; more is a mistake or an attack.
const MAX_LAYERS: usize = 2;

/// What an xz decoder may allocate. `xz -9` needs 65 MiB; a file may claim 4 GiB.
const XZ_MEMORY: u64 = 1 << 30;

/// Unwraps compression, tar and zip until a plain file is left.
pub(in crate::table) fn unwrap(mut source: Source) -> Result<Source> {
    for _ in 0..=MAX_LAYERS {
        if zip::is_zip(source.peek(4)?) {
            match zip::open(source)? {
                Inside::File(inner) => source = inner,
                Inside::Spreadsheet(sheet) => return Ok(sheet),
            }
            continue;
        }
        let Some(kind) = Compression::of(source.peek(6)?) else {
            return if tar::is_header(source.peek(tar::BLOCK)?) { tar::open(source) } else { Ok(source) };
        };
        source = source.through(|inner| kind.decoder(inner))?;
    }
    Err(Error::data(source.place(), format!("is compressed more than {MAX_LAYERS} times over"), "decompress it first"))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Compression {
    Gzip,
    Zstd,
    Xz,
}

impl Compression {
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // The second is a skippable frame, with which some writers begin.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
        }
    }

    fn decoder(self, source: Source) -> Result<Box<dyn Read + Send>> {
        let place = source.place();
        let name = self.name();
        let setup_error = |what: String| {
            Error::data(place.clone(), format!("cannot start the {name} decoder: {what}"), "decompress the file first")
        };
        let inner: Box<dyn Read + Send> = match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(source)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(source).map_err(|e| setup_error(e.to_string()))?),
            Self::Xz => {
                let stream =
                    Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED).map_err(|e| setup_error(e.to_string()))?;
                Box::new(XzDecoder::new_stream(source, stream))
            }
        };
        Ok(Box::new(Decoder { inner, name, place }))
    }
}

/// Says which layer is damaged, where a decoder alone says "corrupt deflate stream".
pub(in crate::table) struct Decoder {
    pub(in crate::table) inner: Box<dyn Read + Send>,
    pub(in crate::table) name: &'static str,
    pub(in crate::table) place: crate::error::Place,
}

impl Read for Decoder {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| {
            let from_below = error.raw_os_error().is_some()
                || error.kind() == io::ErrorKind::Interrupted
                || error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Error>);
            if from_below {
                return error;
            }
            io::Error::other(Error::data(
                self.place.clone(),
                format!("the {} data are damaged or cut short ({error})", self.name),
                "fetch or compress the file again",
            ))
        })
    }
}

#[cfg(test)]
pub(in crate::table) mod tests {
    use std::io::Write;

    use super::*;

    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
        ::zstd::encode_all(bytes, 3).unwrap()
    }

    pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn unwrapped(bytes: Vec<u8>) -> Result<Vec<u8>> {
        unwrap(Source::new("x.gz", Box::new(io::Cursor::new(bytes))))?.read_all()
    }

    #[test]
    fn all_three_are_unwrapped_also_one_after_another() {
        for encode in [gzip, zstd, xz] {
            assert_eq!(unwrapped(encode(b"hello")).unwrap(), b"hello");
            let twice = [encode(b"hello "), encode(b"world")].concat();
            assert_eq!(unwrapped(twice).unwrap(), b"hello world");
        }
        assert_eq!(unwrapped(b"plain".to_vec()).unwrap(), b"plain");
        assert_eq!(unwrapped(Vec::new()).unwrap(), b"");
    }

    #[test]
    fn cut_short_is_an_error_at_every_length() {
        let text: Vec<u8> = (0..200_u32).flat_map(|i| (i * i).to_string().into_bytes()).collect();
        for (encode, name, magic) in [(gzip as fn(&[u8]) -> Vec<u8>, "gzip", 2), (zstd, "zstd", 4), (xz, "xz", 6)] {
            let whole = encode(&text);
            for n in magic..whole.len() {
                let error = unwrapped(whole[..n].to_vec()).unwrap_err().to_string();
                assert!(error.starts_with(&format!("x.gz: the {name} data are damaged or cut short")), "{n}: {error}");
            }
        }
    }

    #[test]
    fn too_many_layers_are_refused() {
        let error = unwrapped(gzip(&zstd(&gzip(b"x")))).unwrap_err().to_string();
        assert!(error.contains("compressed more than 2 times over"), "{error}");
    }
}
