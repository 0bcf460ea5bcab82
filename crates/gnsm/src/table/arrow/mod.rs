//! Reads Arrow IPC: the stream format, and the file format (Feather version 2) around it.
//!
//! A stream is a sequence of messages: the schema, dictionaries, record batches, an end mark. A file is the mark
//! `ARROW1`, a stream, and a footer that repeats where everything stands. So both are read as a stream, from a pipe
//! too. The footer only serves to notice that a file was cut short.
//!
//! We cut out the messages here and give them to the Arrow crate whole. Its own readers allocate whatever a length
//! field says, and a failed allocation ends the process. Here nothing is allocated beyond the bytes that are there.

pub(in crate::table) mod columns;

use std::io::{BufReader, Read};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{CompressionType, MessageHeader, root_as_message};

use crate::error::Result;
use crate::table::arrow::columns::{ArrowRows, damaged, undamaged};
use crate::table::input::source::{Source, read_error};

/// How the file format begins and ends.
const FILE_MARK: &[u8; 6] = b"ARROW1";

/// What begins a message, except in files from before 2019.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The most that bytes can grow in decompression: zstd's longest run is 128 KiB in 4 bytes, LZ4's factor is 255.
const MAX_GROWTH: u64 = 1 << 15;

/// A larger buffer of one column in one batch is refused.
const MAX_BUFFER: u64 = 4 << 30;

/// The reader of an Arrow file or stream.
pub(in crate::table) fn open_arrow(mut source: Source) -> Result<ArrowRows> {
    let name = source.name.clone();
    let is_file = source.peek(6)? == FILE_MARK;
    let mut input = BufReader::with_capacity(1 << 16, source);
    if is_file {
        read_exactly(&mut input, 8, &name)?;
    }
    let mut decoder = StreamDecoder::new();
    decoder.decode(&mut Buffer::from(&CONTINUATION)).map_err(|error| damaged(&name, &error.to_string()))?;
    let mut messages = Messages { name: name.clone(), input, decoder, is_file, finished: false };
    let schema = loop {
        match undamaged(&name, || messages.next_message())? {
            Message::Other => {}
            Message::Rows(_) => return Err(damaged(&name, "rows before the schema")),
            Message::End => return Err(damaged(&name, "there is no schema")),
        }
        if let Some(schema) = messages.decoder.schema() {
            break schema;
        }
    };
    ArrowRows::new(&name, schema, Box::new(messages))
}

struct Messages {
    name: String,
    input: BufReader<Source>,
    decoder: StreamDecoder,
    is_file: bool,
    finished: bool,
}

enum Message {
    Rows(RecordBatch),
    /// The schema or a dictionary, which the decoder keeps.
    Other,
    End,
}

impl Iterator for Messages {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_message() {
                Ok(Message::Rows(batch)) => return Some(Ok(batch)),
                Ok(Message::Other) => {}
                Ok(Message::End) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Messages {
    fn next_message(&mut self) -> Result<Message> {
        if self.finished {
            return Ok(Message::End);
        }
        let Some(length) = self.message_length()? else {
            self.finished = true;
            if self.is_file {
                self.check_footer()?;
            }
            return Ok(Message::End);
        };
        let mut bytes = length.to_le_bytes().to_vec();
        self.read_into(&mut bytes, u64::from(length))?;
        let body_length = {
            // Aligned anew: flatbuffers are read in place.
            let header = Buffer::from(&bytes[4..]);
            let message = root_as_message(&header).map_err(|error| self.damaged(&error.to_string()))?;
            u64::try_from(message.bodyLength()).map_err(|_| self.damaged("a message has a negative length"))?
        };
        let body_start = bytes.len();
        self.read_into(&mut bytes, body_length)?;
        self.check_buffers(&bytes[4..body_start], &bytes[body_start..])?;
        // The decoder handles a message without a body only when it sees what follows, so it always gets the beginning
        // of the next message with this one.
        bytes.extend_from_slice(&CONTINUATION);
        let mut buffer = Buffer::from(bytes);
        let mut batch = None;
        while !buffer.is_empty() {
            let found = self.decoder.decode(&mut buffer).map_err(|error| self.damaged(&error.to_string()))?;
            batch = batch.or(found);
        }
        Ok(batch.map_or(Message::Other, Message::Rows))
    }

    /// The length of the next message's header; `None` at the end mark, or where a stream just ends.
    fn message_length(&mut self) -> Result<Option<u32>> {
        let mut word = self.word()?;
        if self.is_file && self.decoder.schema().is_none() {
            // The mark is padded to a multiple of 8 by the specification, of 64 by some writers.
            for _ in 0..16 {
                if word != Some([0; 4]) {
                    break;
                }
                word = self.word()?;
            }
        }
        if word == Some(CONTINUATION) {
            word = Some(self.word()?.ok_or_else(|| self.damaged("it ends inside a message"))?);
        }
        match word.map(u32::from_le_bytes) {
            None if self.is_file => Err(self.damaged("the end mark is missing")),
            None | Some(0) => Ok(None),
            Some(length) => Ok(Some(length)),
        }
    }

    /// Four bytes, or none at the end of the input.
    fn word(&mut self) -> Result<Option<[u8; 4]>> {
        let mut word = Vec::with_capacity(4);
        (&mut self.input).take(4).read_to_end(&mut word).map_err(|error| read_error(&self.name, error))?;
        match word.try_into() {
            Ok(word) => Ok(Some(word)),
            Err(word) if word.is_empty() => Ok(None),
            Err(_) => Err(self.damaged("it ends inside a message")),
        }
    }

    fn read_into(&mut self, bytes: &mut Vec<u8>, n: u64) -> Result<()> {
        let read = (&mut self.input).take(n).read_to_end(bytes).map_err(|error| read_error(&self.name, error))?;
        if (read as u64) < n { Err(self.damaged("it ends inside a message")) } else { Ok(()) }
    }

    /// Refuses compressed buffers that claim to grow to an impossible length.
    fn check_buffers(&self, header: &[u8], body: &[u8]) -> Result<()> {
        let header = Buffer::from(header);
        let message = root_as_message(&header).map_err(|error| self.damaged(&error.to_string()))?;
        let batch = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|batch| batch.data()),
            _ => None,
        };
        let Some(batch) = batch else {
            return Ok(());
        };
        if u64::try_from(batch.length()).is_err() {
            return Err(self.damaged("a batch has a negative length"));
        }
        let compression = batch.compression().map(|compression| compression.codec());
        for buffer in batch.buffers().into_iter().flatten() {
            let range = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
            let bytes = range
                .and_then(|(start, length)| body.get(start..start.checked_add(length)?))
                .ok_or_else(|| self.damaged("a buffer lies outside of its message"))?;
            if !matches!(compression, Some(CompressionType::LZ4_FRAME | CompressionType::ZSTD)) {
                continue;
            }
            if let Some((grown, bytes)) = bytes.split_first_chunk() {
                let grown = i64::from_le_bytes(*grown);
                let most = (bytes.len() as u64).saturating_mul(MAX_GROWTH).min(MAX_BUFFER);
                // -1 marks a buffer that was left uncompressed.
                if grown != -1 && u64::try_from(grown).map_or(true, |grown| grown > most) {
                    return Err(self.damaged("a compressed buffer has an impossible length"));
                }
            }
        }
        Ok(())
    }

    /// After the stream: the footer, its length, and the mark again.
    fn check_footer(&mut self) -> Result<()> {
        let mut tail: Vec<u8> = Vec::new();
        let mut block = [0; 4096];
        loop {
            match self.input.read(&mut block) {
                Ok(0) => break,
                Ok(n) => tail.extend_from_slice(&block[..n]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(read_error(&self.name, error)),
            }
            tail.drain(..tail.len().saturating_sub(FILE_MARK.len()));
        }
        if tail == FILE_MARK { Ok(()) } else { Err(self.damaged("the footer is missing")) }
    }

    fn damaged(&self, what: &str) -> crate::error::Error {
        damaged(&self.name, what)
    }
}

fn read_exactly(input: &mut impl Read, n: u64, name: &str) -> Result<()> {
    let mut bytes = Vec::new();
    input.take(n).read_to_end(&mut bytes).map_err(|error| read_error(name, error))?;
    if (bytes.len() as u64) < n { Err(damaged(name, "it ends inside the first mark")) } else { Ok(()) }
}
