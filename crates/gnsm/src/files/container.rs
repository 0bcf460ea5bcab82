//! The file format of models and checkpoints: safetensors with one JSON document in its metadata.
//!
//! The metadata has a single entry, `gnsm`, so that the bytes do not depend on the order of a hash map: `{"format": …,
//! "version": …, "blake3": …, "content": {…}}`. The hash covers the text of the content, and the name and bytes of
//! every tensor. So a flipped bit anywhere is found before anything is used. Nothing in the file can execute.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::files::atomic_file::AtomicFile;
use crate::files::store::{Damage, Loaded};

/// The version this library writes, and the newest it reads.
pub(crate) const VERSION: u32 = 1;
const KEY: &str = "gnsm";
/// The format of models of masks.
pub(crate) const MASK_MODEL: &str = "gnsm-mask-model";
/// The file's name in messages about a model that is in no file.
pub(crate) const NO_FILE: &str = "model";

/// Named arrays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tensors(BTreeMap<String, Array>);

/// An array of one of the types that a file may hold: networks are `f32`, densities `f64`, codes and counts `u32`.
#[derive(Debug, Clone, PartialEq)]
pub enum Array {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
    /// Whole numbers.
    U32(Vec<u32>),
}

/// A number that arrays are made of.
pub trait Element: bytemuck::Pod {
    /// An array of these.
    fn wrap(values: Vec<Self>) -> Array;
    /// The values of an array of this type.
    fn unwrap(array: Array) -> Option<Vec<Self>>;
    /// Whether a number may come from a file: infinity and NaN may not.
    fn is_usable(self) -> bool;
}

macro_rules! element {
    ($number:ty, $variant:ident, $is_usable:expr) => {
        impl Element for $number {
            fn wrap(values: Vec<Self>) -> Array {
                Array::$variant(values)
            }

            fn unwrap(array: Array) -> Option<Vec<Self>> {
                if let Array::$variant(values) = array { Some(values) } else { None }
            }

            fn is_usable(self) -> bool {
                $is_usable(self)
            }
        }
    };
}

element!(f32, F32, f32::is_finite);
element!(f64, F64, f64::is_finite);
element!(u32, U32, |_| true);

impl Array {
    fn dtype(&self) -> Dtype {
        match self {
            Self::F32(_) => Dtype::F32,
            Self::F64(_) => Dtype::F64,
            Self::U32(_) => Dtype::U32,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::U32(values) => values.len(),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::F32(values) => bytemuck::cast_slice(values),
            Self::F64(values) => bytemuck::cast_slice(values),
            Self::U32(values) => bytemuck::cast_slice(values),
        }
    }

    /// The array in the little-endian bytes of a file; `None` for a type that no array has.
    fn from_bytes(dtype: Dtype, bytes: &[u8]) -> Option<Self> {
        match dtype {
            Dtype::F32 => Some(Self::F32(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())),
            Dtype::F64 => Some(Self::F64(bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())),
            Dtype::U32 => Some(Self::U32(bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())),
            _ => None,
        }
    }
}

impl Tensors {
    /// Adds an array.
    pub fn put<T: Element>(&mut self, name: &str, values: Vec<T>) {
        self.0.insert(name.to_owned(), T::wrap(values));
    }

    /// Puts all of `others` in, under names that start with `name` and a dot.
    pub fn put_under(&mut self, name: &str, others: Self) {
        self.0.extend(others.0.into_iter().map(|(own, array)| (format!("{name}.{own}"), array)));
    }

    /// Takes out what [`Tensors::put_under`] put in.
    pub fn take_under(&mut self, name: &str) -> Self {
        let prefix = format!("{name}.");
        let (own, others) = std::mem::take(&mut self.0).into_iter().partition(|(other, _)| other.starts_with(&prefix));
        self.0 = others;
        let own: BTreeMap<String, Array> = own;
        Self(own.into_iter().map(|(other, array)| (other[prefix.len()..].to_owned(), array)).collect())
    }

    #[cfg(test)]
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// Takes the last number of an array away, if it has one.
    #[cfg(test)]
    pub(crate) fn shorten(&mut self, name: &str) -> bool {
        match self.0.get_mut(name) {
            Some(Array::F32(values)) => values.pop().is_some(),
            Some(Array::F64(values)) => values.pop().is_some(),
            Some(Array::U32(values)) => values.pop().is_some(),
            None => false,
        }
    }

    #[cfg(test)]
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Takes an array out, if it is there with this length and type and holds finite numbers.
    pub fn take<T: Element>(&mut self, name: &str, length: usize) -> Loaded<Vec<T>> {
        let values = self.take_any(name)?;
        if values.len() != length {
            return Err(format!("tensor `{name}` has {} elements instead of {length}", values.len()).into());
        }
        Ok(values)
    }

    /// [`Tensors::take`] where the length is for the caller to check.
    pub fn take_any<T: Element>(&mut self, name: &str) -> Loaded<Vec<T>> {
        let array = self.0.remove(name).ok_or_else(|| format!("tensor `{name}` is missing"))?;
        let values: Vec<T> = T::unwrap(array).ok_or_else(|| format!("tensor `{name}` is of another type"))?;
        if !values.iter().all(|value| value.is_usable()) {
            return Err(format!("tensor `{name}` holds numbers that are not finite").into());
        }
        Ok(values)
    }
}

/// The metadata entry.
#[derive(Serialize, Deserialize)]
struct Envelope {
    format: String,
    version: u32,
    blake3: String,
    content: Box<RawValue>,
}

fn hash(content: &str, tensors: &Tensors) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(content.as_bytes());
    for (name, values) in &tensors.0 {
        part(name.as_bytes());
        part(values.bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Writes a file of this `format` beside `path`, then renames it; returns the hash.
pub(crate) fn write(path: &Path, format: &str, content: &impl Serialize, tensors: &Tensors) -> Result<String> {
    let (bytes, blake3) = to_bytes(path, format, content, tensors)?;
    let mut file = AtomicFile::create(path)?;
    file.write_all(&bytes).map_err(|error| Error::io(path, error))?;
    file.finish()?;
    Ok(blake3)
}

/// The bytes of a file of this `format`, and their hash; `path` stands for it in messages.
pub(crate) fn to_bytes(
    path: &Path,
    format: &str,
    content: &impl Serialize,
    tensors: &Tensors,
) -> Result<(Vec<u8>, String)> {
    let unwritable = |problem: String| Error::io(path, std::io::Error::other(problem));
    let content = serde_json::value::to_raw_value(content).map_err(|error| unwritable(error.to_string()))?;
    let blake3 = hash(content.get(), tensors);
    let envelope = Envelope { format: format.to_owned(), version: VERSION, blake3: blake3.clone(), content };
    let envelope = serde_json::to_string(&envelope).map_err(|error| unwritable(error.to_string()))?;
    let views: Vec<(&String, TensorView<'_>)> = tensors
        .0
        .iter()
        .map(|(name, values)| {
            let view = TensorView::new(values.dtype(), vec![values.len()], values.bytes());
            view.map(|view| (name, view)).map_err(|error| unwritable(error.to_string()))
        })
        .collect::<Result<_>>()?;
    let metadata = HashMap::from([(KEY.to_owned(), envelope)]);
    let bytes = safetensors::serialize(views, Some(metadata)).map_err(|error| unwritable(error.to_string()))?;
    Ok((bytes, blake3))
}

/// What a file holds.
pub(crate) struct Contents {
    /// The JSON document.
    pub content: String,
    /// The arrays.
    pub tensors: Tensors,
    /// The hash of both.
    pub blake3: String,
}

/// Reads a file of this `format`, and checks all that can be checked without knowing the method.
pub(crate) fn read(path: &Path, format: &str) -> Result<Contents> {
    let bytes = std::fs::read(path).map_err(|error| Error::io(path, error))?;
    read_bytes(path, &bytes, format)
}

/// [`read`] where the bytes of the file are at hand; `path` stands for it in messages.
pub(crate) fn read_bytes(path: &Path, bytes: &[u8], format: &str) -> Result<Contents> {
    parse(bytes, format).map_err(|(problem, advice)| Error::ModelFile {
        path: path.to_path_buf(),
        problem,
        advice: advice.into(),
    })
}

/// The error of a model whose contents do not fit together.
pub(crate) fn unusable(path: &Path, Damage(problem): &Damage) -> Error {
    Error::ModelFile {
        path: path.to_path_buf(),
        problem: format!("its contents do not fit together ({problem})"),
        advice: "fit again".into(),
    }
}

/// The error of a file that cannot be used: what is wrong and what to do.
type Refusal = (String, &'static str);

const DAMAGED: &str = "the file is damaged or cut short; fit again or restore it from a copy";

/// Whether a file says of itself that it is a model of masks.
pub fn is_mask_model(path: &Path) -> bool {
    let envelope = std::fs::read(path).ok().and_then(|bytes| open(&bytes, |problem| (problem, DAMAGED)).ok());
    envelope.is_some_and(|envelope| envelope.format == MASK_MODEL)
}

/// The metadata entry of a file; `foreign` is the error of one that is not ours.
fn open(bytes: &[u8], foreign: impl Fn(String) -> Refusal) -> std::result::Result<Envelope, Refusal> {
    let (_, metadata) =
        SafeTensors::read_metadata(bytes).map_err(|error| foreign(format!("not a model file ({error})")))?;
    let envelope = metadata.metadata().as_ref().and_then(|entries| entries.get(KEY));
    let envelope = envelope.ok_or_else(|| foreign("a safetensors file, but not one of gnsm's".into()))?;
    serde_json::from_str(envelope).map_err(|error| (format!("its description is not readable ({error})"), DAMAGED))
}

fn parse(bytes: &[u8], format: &str) -> std::result::Result<Contents, Refusal> {
    let foreign = |problem: String| match format {
        MASK_MODEL => (problem, "give a file that `gnsm mask fit` wrote"),
        _ => (problem, "give a file that `gnsm fit` wrote"),
    };
    let envelope = open(bytes, foreign)?;
    if envelope.format != format {
        return Err(foreign(format!("this is a {} file, not a {format} file", envelope.format)));
    }
    if envelope.version > VERSION {
        let problem = format!("format version {} is newer than this program's {VERSION}", envelope.version);
        return Err((problem, "use a newer gnsm"));
    }
    let damaged = |error: safetensors::SafeTensorError| (format!("its arrays are not readable ({error})"), DAMAGED);
    let views = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let mut tensors = Tensors::default();
    for (name, view) in views.tensors() {
        let array = Array::from_bytes(view.dtype(), view.data())
            .ok_or_else(|| (format!("tensor `{name}` has the unknown type {:?}", view.dtype()), DAMAGED))?;
        tensors.0.insert(name, array);
    }
    // A fuzzer cannot forge the hash, so while fuzzing it is not checked: what lies behind the check must not panic
    // either.
    if !cfg!(fuzzing) && hash(envelope.content.get(), &tensors) != envelope.blake3 {
        return Err(("its contents do not match their hash".into(), DAMAGED));
    }
    Ok(Contents { content: envelope.content.get().to_owned(), tensors, blake3: envelope.blake3 })
}
