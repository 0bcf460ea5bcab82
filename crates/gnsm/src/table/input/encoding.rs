//! Text that is not UTF-8.
//!
//! | the content | is read as |
//! |---|---|
//! | a byte order mark of UTF-16; or NUL bytes in every other place, as plain letters have in UTF-16 | UTF-16 |
//! | a line that is not UTF-8 and has no character beyond ASCII that is | Windows-1252 (cp1252), this line only |
//! | a line that is not UTF-8 and has such characters, or bytes that Windows-1252 does not use | an error |
//!
//! The user may name the encoding instead. UTF-8 costs nothing extra: UTF-16 is found in the first bytes, and a line is
//! looked at again only if it turned out not to be UTF-8.

use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::error::{Error, Place, Result};
use crate::table::input::lines::n_lines;
use crate::table::input::source::Source;

/// How much of the input shows that it is UTF-16.
const HEAD: usize = 4096;

/// Bytes that are decoded at a time.
const BLOCK: usize = 1 << 16;

/// The encoding of this name, such as `windows-1252` or `shift_jis`.
pub(in crate::table) fn named(name: &str) -> Result<&'static Encoding> {
    Encoding::for_label(name.as_bytes()).ok_or_else(|| {
        let examples = "utf-8, utf-16le, windows-1252, iso-8859-2, windows-1251, shift_jis, gb18030";
        Error::config("encoding", format!("`{name}` is not the name of an encoding; some are {examples}"))
    })
}

/// The text as UTF-8, where it is UTF-16 or where the encoding is given; and a note for the user.
pub(in crate::table) fn decoded(mut source: Source, given: Option<&str>) -> Result<(Source, Option<String>)> {
    let (encoding, note) = match given {
        Some(name) => (named(name)?, None),
        None => match found(source.peek(HEAD)?) {
            Some(encoding) => (encoding, Some(format!("{}: read as {}", source.name, encoding.name()))),
            None => return Ok((source, None)),
        },
    };
    let decoder = encoding.new_decoder_with_bom_removal();
    let decode = |source: Source| {
        let place = source.place();
        let (raw, text) = (vec![0; BLOCK], vec![0; BLOCK]);
        let empty = (0, 0);
        Ok(Box::new(Decoded {
            source,
            place,
            encoding,
            decoder,
            raw,
            text,
            coming: empty,
            ready: empty,
            line: 1,
            state: State::Going,
        }) as Box<dyn Read + Send>)
    };
    Ok((source.through(decode)?, note))
}

/// The encoding that the first bytes show, if it is not one that extends ASCII.
fn found(head: &[u8]) -> Option<&'static Encoding> {
    match head {
        // A byte order mark of UTF-32, or two marks: nobody writes that.
        [0xff, 0xfe, 0, 0, ..] | [0xff, 0xfe, 0xff, 0xfe, ..] => return None,
        [0xff, 0xfe, ..] => return Some(UTF_16LE),
        [0xfe, 0xff, ..] => return Some(UTF_16BE),
        _ => {}
    }
    let (pairs, _) = head.as_chunks::<2>();
    // Characters beyond 16 bits, such as many emoji, take two units, in which NUL may stand in either place.
    let is_half = |other: u8| (0xd8..=0xdf).contains(&other);
    let nul = |place: usize| pairs.iter().filter(|pair| pair[place] == 0 && !is_half(pair[1 - place])).count();
    // A good part of any table are digits, delimiters and line ends, of which one byte is NUL in UTF-16; the other byte
    // hardly ever is.
    let shows = |n: usize, other: usize| n >= 2 && 4 * n >= pairs.len() && 8 * other <= n;
    match (nul(0), nul(1)) {
        (first, second) if shows(second, first) => Some(UTF_16LE),
        (first, second) if shows(first, second) => Some(UTF_16BE),
        _ => None,
    }
}

/// Decodes a line that is not UTF-8 by the most likely encoding; `None` if nothing shows which it is.
pub(in crate::table) fn as_windows_1252(line: &[u8]) -> Option<String> {
    let unused = |b: &u8| matches!(b, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d);
    let is_damaged = || line.utf8_chunks().any(|chunk| !chunk.valid().is_ascii());
    if line.iter().any(unused) || is_damaged() {
        return None;
    }
    Some(WINDOWS_1252.decode_without_bom_handling(line).0.into_owned())
}

/// How many lines were read as Windows-1252.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::table) struct Foreign {
    pub(in crate::table) lines: u64,
    /// The number of the first of them.
    pub(in crate::table) first: u64,
}

impl Foreign {
    /// One more, with this number.
    pub(in crate::table) fn add(&mut self, line: u64) {
        self.append(Self { lines: 1, first: line }, 0);
    }

    /// Those of later lines, whose numbers are still to be raised.
    pub(in crate::table) fn append(&mut self, later: Self, raise: u64) {
        if self.lines == 0 {
            self.first = later.first + raise;
        }
        self.lines += later.lines;
    }

    /// What the user should know.
    pub(in crate::table) fn note(self, file: &str) -> Option<String> {
        let Self { lines, first } = self;
        let which = match lines {
            0 => return None,
            1 => format!("line {first} is not UTF-8 and was"),
            _ => format!("{lines} lines are not UTF-8 (the first is line {first}) and were"),
        };
        Some(format!("{file}: {which} read as Windows-1252; if that is wrong, name the encoding"))
    }
}

/// Text on its way to UTF-8.
struct Decoded {
    source: Source,
    place: Place,
    encoding: &'static Encoding,
    decoder: Decoder,
    /// Bytes as they come, and which of them are to be decoded.
    raw: Vec<u8>,
    coming: (usize, usize),
    /// Decoded text, and which of it is to be given out.
    text: Vec<u8>,
    ready: (usize, usize),
    line: u64,
    state: State,
}

enum State {
    Going,
    LastBytes,
    Malformed,
    Finished,
}

impl Decoded {
    /// Decodes the next text; there may be none although more will come.
    fn decode(&mut self) -> io::Result<()> {
        if self.coming.0 == self.coming.1 && matches!(self.state, State::Going) {
            let n = self.source.read(&mut self.raw)?;
            self.coming = (0, n);
            if n == 0 {
                self.state = State::LastBytes;
            }
        }
        let is_last = matches!(self.state, State::LastBytes);
        let bytes = &self.raw[self.coming.0..self.coming.1];
        let (result, n_read, n_written) =
            self.decoder.decode_to_utf8_without_replacement(bytes, &mut self.text, is_last);
        self.coming.0 += n_read;
        self.ready = (0, n_written);
        self.line += n_lines(&self.text[..n_written]) as u64;
        match result {
            DecoderResult::Malformed(..) => self.state = State::Malformed,
            DecoderResult::InputEmpty if is_last => self.state = State::Finished,
            _ => {}
        }
        Ok(())
    }
}

impl Read for Decoded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.ready.0 == self.ready.1 {
            match self.state {
                State::Finished => return Ok(0),
                State::Malformed => {
                    let place = Place { line: Some(self.line), ..self.place.clone() };
                    let problem = format!("holds what is not {}, or is cut short", self.encoding.name());
                    return Err(io::Error::other(Error::data(place, problem, "name the encoding, or write it again")));
                }
                _ => self.decode()?,
            }
        }
        let ready = &self.text[self.ready.0..self.ready.1];
        let n = ready.len().min(buffer.len());
        buffer[..n].copy_from_slice(&ready[..n]);
        self.ready.0 += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn utf_16(text: &str, little: bool) -> Vec<u8> {
        text.encode_utf16().flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
    }

    fn read(bytes: &[u8], given: Option<&str>) -> Result<(String, Option<String>)> {
        let source = Source::new("f", Box::new(io::Cursor::new(bytes.to_vec())));
        let (source, note) = decoded(source, given)?;
        Ok((String::from_utf8(source.read_all()?).unwrap(), note))
    }

    #[test]
    fn utf_16_is_found_with_and_without_a_mark() {
        let text = "city,n\nKöln,1\nŁódź,2\n東京,3\n😀,4\n";
        for little in [true, false] {
            let name = if little { "f: read as UTF-16LE" } else { "f: read as UTF-16BE" };
            for mark in ["\u{feff}", ""] {
                let (found, note) = read(&utf_16(&format!("{mark}{text}"), little), None).unwrap();
                assert_eq!((found.as_str(), note.as_deref()), (text, Some(name)));
            }
        }
        // One NUL is damage, not UTF-16.
        assert_eq!(read(b"a,b\n1,2\0\n3,4\n", None).unwrap().1, None);
        assert_eq!(found(b""), None);
    }

    #[test]
    fn what_is_cut_short_is_an_error_with_its_line() {
        let whole = utf_16("\u{feff}a,b\n1,2\n", true);
        let error = read(&whole[..whole.len() - 1], None).unwrap_err().to_string();
        assert!(error.starts_with("f, line 2: holds what is not UTF-16LE, or is cut short; "), "{error}");
        let error = read(b"a\n\xe9\n", Some("utf-8")).unwrap_err().to_string();
        assert!(error.starts_with("f, line 2: holds what is not UTF-8"), "{error}");
    }

    #[test]
    fn an_encoding_may_be_named() {
        assert_eq!(read(b"\x8ct\x9b\n", Some("latin2")).unwrap().0, "\u{8c}t\u{9b}\n");
        assert_eq!(read(b"\x93\x8c\n", Some("shift_jis")).unwrap().0, "東\n");
        let error = named("klingon").unwrap_err().to_string();
        assert!(error.starts_with("setting `encoding`: `klingon` is not the name of an encoding"), "{error}");
    }

    #[test]
    fn lines_are_windows_1252_only_if_nothing_speaks_against_it() {
        assert_eq!(as_windows_1252(b"caf\xe9 \x80 5").as_deref(), Some("café € 5"));
        assert_eq!(as_windows_1252(b"\x9d"), None);
        // The first is UTF-8, so the second is damage.
        assert_eq!(as_windows_1252(b"\xc3\xa9 \xe9"), None);
    }

    proptest! {
        #[test]
        fn utf_16_reads_as_its_text_does(text in "[a-z,;0-9\n]{20,40}[ -~\u{a1}-\u{ff}\u{151}-\u{17f}😀\n]{0,20}", little: bool) {
            prop_assert_eq!(read(&utf_16(&text, little), None).unwrap().0, text);
        }

        #[test]
        fn any_bytes_are_text_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200), name in prop::sample::select(vec!["utf-16le", "utf-16be", "gb18030", "iso-2022-jp"])) {
            let _ = read(&bytes, Some(name));
        }
    }
}
