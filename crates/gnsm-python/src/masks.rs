//! Segmentation masks as Python holds them: from folders, or as arrays.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use gnsm::mask::{
    Grid, Image, Mask, MaskFitOptions, MaskFolder, MaskModel, Preparation, Quality, Sample, compare, read_list,
    read_mask,
};
use gnsm::{Error, Place, Scored};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyTuple};
use rayon::prelude::*;

use crate::model::{check_seconds, flags, numbers, problem, rule_of, text, write};
use crate::work::{Teller, work};

/// Masks that are read and scored at a time; few, so that Ctrl-C is heard in between.
const AT_A_TIME: usize = 16;
/// Masks that could not be used and are named, at the most.
const NAMED_FAILURES: usize = 20;

/// The names of the methods for masks, the default first.
pub fn method_names() -> Vec<&'static str> {
    gnsm_cli::mask_methods().iter().map(|method| method.name()).collect()
}

/// The default settings of a method for masks, as JSON.
#[pyfunction]
#[pyo3(signature = (method, preset=None, head=None))]
pub fn mask_settings(method: &str, preset: Option<&str>, head: Option<&str>) -> PyResult<String> {
    let method = gnsm_cli::mask_method_with(method, preset, head, serde_json::Value::Null);
    Ok(method.map_err(|error| problem(&error))?.settings().to_string())
}

/// The names in a file with one a line.
#[pyfunction]
pub fn mask_names(path: PathBuf) -> PyResult<Vec<String>> {
    read_list(path).map_err(|error| problem(&error))
}

/// Masks that somebody gave, and their images if there are any.
enum Pictures {
    Folder { folder: MaskFolder, names: Vec<String> },
    Arrays { names: Vec<String>, masks: Vec<OrProblem<Mask>>, images: Option<Vec<OrProblem<Image>>> },
}

/// What was given, or why it cannot be used.
type OrProblem<T> = Result<T, String>;

/// An array of bytes: its height, its width, and all of it.
type Pixels<'py> = (usize, usize, Bound<'py, PyBytes>);

/// What Python makes of one array.
#[derive(FromPyObject)]
enum Given<'py> {
    Pixels(Pixels<'py>),
    /// Why it is none.
    Problem(String),
}

impl Given<'_> {
    /// The grid of that name, its cells made from its bytes.
    fn grid<T>(&self, name: &str, cells: impl Fn(&[u8]) -> Vec<T>) -> OrProblem<Grid<T, 2>> {
        match self {
            Self::Pixels((height, width, bytes)) => Grid::new([*height, *width], cells(bytes.as_bytes()))
                .ok_or_else(|| format!("{name}: has no pixels; give masks and images with pixels")),
            Self::Problem(problem) => Err(problem.clone()),
        }
    }
}

impl Pictures {
    /// What Python gives: a word and what belongs to it.
    ///
    /// | word | then |
    /// |---|---|
    /// | `folder` | names, the folder of masks, the folder of images or `None` |
    /// | `arrays` | names, (height, width, bytes) of each mask or what is wrong with it, the same of each image or `None` |
    fn open(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let source = source.cast::<PyTuple>()?;
        let word: String = source.get_item(0)?.extract()?;
        let names: Vec<String> = source.get_item(1)?.extract()?;
        if word == "folder" {
            let (masks, images): (PathBuf, Option<PathBuf>) =
                (source.get_item(2)?.extract()?, source.get_item(3)?.extract()?);
            return Ok(Self::Folder { folder: MaskFolder { masks, images }, names });
        }
        let masks: Vec<Given<'_>> = source.get_item(2)?.extract()?;
        let images: Option<Vec<Given<'_>>> = source.get_item(3)?.extract()?;
        let masks = masks.iter().zip(&names).map(|(mask, name)| mask.grid(name, <[u8]>::to_vec)).collect();
        let colours = |bytes: &[u8]| bytes.as_chunks::<3>().0.to_vec();
        let images =
            images.map(|images| images.iter().zip(&names).map(|(image, name)| image.grid(name, colours)).collect());
        Ok(Self::Arrays { names, masks, images })
    }

    fn names(&self) -> &[String] {
        match self {
            Self::Folder { names, .. } | Self::Arrays { names, .. } => names,
        }
    }

    fn has_images(&self) -> bool {
        match self {
            Self::Folder { folder, .. } => folder.images.is_some(),
            Self::Arrays { images, .. } => images.is_some(),
        }
    }

    /// Some of them as detectors see them; each comes or fails by itself.
    fn samples(&self, preparation: &Preparation, part: Range<usize>) -> Vec<OrProblem<Sample>> {
        match self {
            Self::Folder { folder, names } => {
                let slices = preparation.read(folder, &names[part.clone()]).into_iter().zip(&names[part]);
                slices.map(|(slices, name)| only_slice(slices.map_err(text)?, folder, name).map_err(text)).collect()
            }
            Self::Arrays { names, masks, images } => {
                let sample = |at: usize| {
                    let image = images.as_ref().map(|images| images[at].clone()).transpose()?;
                    preparation.prepare(masks[at].clone()?, image, &names[at]).map_err(text)
                };
                part.map(sample).collect()
            }
        }
    }

    /// A mask as it is stored.
    fn mask(&self, at: usize) -> OrProblem<Mask> {
        match self {
            Self::Folder { folder, names } => read_mask(folder.file(&names[at])).map_err(text),
            Self::Arrays { masks, .. } => masks[at].clone(),
        }
    }

    /// Goes over all of them, some at a time.
    fn in_parts(
        &self,
        what: &'static str,
        teller: &mut Teller,
        mut take: impl FnMut(Range<usize>) -> Result<(), String>,
    ) -> Result<(), String> {
        let total = self.names().len();
        for start in (0..total).step_by(AT_A_TIME) {
            let end = total.min(start + AT_A_TIME);
            take(start..end)?;
            teller.tell(what, end as u64, total as u64, None);
            if teller.is_stopped() {
                return Err("stopped".into());
            }
        }
        Ok(())
    }
}

/// The one slice of a picture; a volume has more.
fn only_slice(mut slices: Vec<Sample>, folder: &MaskFolder, name: &str) -> gnsm::Result<Sample> {
    let n_slices = slices.len();
    slices.pop().filter(|_| n_slices == 1).ok_or_else(|| {
        let place = Place { file: folder.file(name).display().to_string(), ..Place::default() };
        let problem = format!("is a volume of {n_slices} slices");
        Error::data(place, problem, "give its slices as arrays, or use `gnsm mask` on the command line")
    })
}

/// What could not be used: the first are told in full.
#[derive(Default)]
struct Failures(Vec<String>);

impl Failures {
    /// The value, or nothing after one more failure.
    fn take<T>(&mut self, outcome: OrProblem<T>) -> Option<T> {
        outcome.map_err(|error| self.0.push(error)).ok()
    }

    /// A sentence for each of the first, and how many more there are.
    fn notes(self) -> Vec<String> {
        let more = self.0.len().saturating_sub(NAMED_FAILURES);
        let mut notes: Vec<String> = self.0.into_iter().take(NAMED_FAILURES).collect();
        if more > 0 {
            notes.push(format!("{more} more masks could not be used"));
        }
        notes
    }
}

/// Scores as arrays of bytes: scores, p-values, flags; and what a user should know.
type Scores<'py> = (Bound<'py, PyByteArray>, Bound<'py, PyByteArray>, Bound<'py, PyByteArray>, Vec<String>);

/// Arrays of numbers by their names.
type Measures<'py> = Vec<(&'static str, Bound<'py, PyByteArray>)>;

/// A fitted model of masks.
#[pyclass(frozen, module = "gnsm._gnsm")]
pub struct MaskCore {
    model: Arc<MaskModel>,
}

#[pymethods]
impl MaskCore {
    /// Fits a model; also gives what a user should know.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    #[pyo3(signature = (source, *, method, preset, head, settings, classes, size, void, seed, max_seconds, tell))]
    fn fit(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        method: String,
        preset: Option<String>,
        head: Option<String>,
        settings: &str,
        classes: Option<u32>,
        size: Option<u32>,
        void: Option<u8>,
        seed: u64,
        max_seconds: Option<f64>,
        tell: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Self, Vec<String>)> {
        let settings = serde_json::from_str(settings).map_err(|error| problem(&error))?;
        check_seconds(max_seconds)?;
        let pictures = Pictures::open(source)?;
        let (model, warnings) = work(py, tell, move |teller| {
            let method = gnsm_cli::mask_method_with(&method, preset.as_deref(), head.as_deref(), settings);
            let method = method.map_err(|error| format!("{error:#}"))?;
            need_images(method.needs_images(), method.name(), &pictures)?;
            let mut preparation = Preparation::default();
            (preparation.void, preparation.classes) = (void, classes);
            preparation.size = size.or(method.default_size());
            preparation.validate().map_err(text)?;
            let samples = read(&pictures, &preparation, teller)?;
            let mut options = MaskFitOptions::default();
            (options.seed, options.max_seconds) = (seed, max_seconds);
            let model = MaskModel::fit(
                samples.into_iter().map(|sample| vec![sample]).collect(),
                preparation,
                &*method,
                &options,
                teller,
            )
            .map_err(text)?;
            let mut warnings = Vec::from_iter(model.detector().warning());
            warnings.extend(gnsm_cli::few_masks_warning(model.report().masks[1], model.calibration()));
            if max_seconds.is_some() && method.training().is_none() {
                warnings.push(format!("max_seconds limits training, and `{}` has none", method.name()));
            }
            Ok((model, warnings))
        })?;
        Ok((Self { model: Arc::new(model) }, warnings))
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = work(py, None, |_| MaskModel::load(path, gnsm_cli::mask_methods()).map_err(text))?;
        Ok(Self { model: Arc::new(model) })
    }

    /// A model from the bytes of a file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let model = work(py, None, |_| MaskModel::from_bytes(bytes, gnsm_cli::mask_methods()).map_err(text))?;
        Ok(Self { model: Arc::new(model) })
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = work(py, None, |_| self.model.to_bytes().map_err(text))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        work(py, None, |_| write(&path, &self.model.to_bytes().map_err(text)?))
    }

    /// All about the model, as JSON.
    fn describe(&self) -> PyResult<String> {
        Ok(gnsm_cli::describe_masks(&self.model).map_err(|error| problem(&error))?.to_string())
    }

    /// Scores masks. One that cannot be used has no score, and is told.
    #[pyo3(signature = (source, rule, tell))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        rule: (String, f64),
        tell: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Scores<'py>> {
        let rule = rule_of(&rule)?;
        let pictures = Pictures::open(source)?;
        let (scores, flags, notes) = work(py, tell, |teller| {
            let none = Scored { score: f64::NAN, p_value: f64::NAN };
            let (found, failures) = self.each(&pictures, teller, MaskModel::score_samples)?;
            let scores: Vec<Scored> = found.into_iter().map(|scored| scored.unwrap_or(none)).collect();
            let mut notes = failures.notes();
            notes.extend(gnsm_cli::contamination_warning(self.model.calibration(), rule, "mask"));
            let flags = flags(rule, &scores)?;
            Ok((scores, flags, notes))
        })?;
        let bytes = |part: fn(&Scored) -> f64| numbers(py, scores.iter().map(part));
        Ok((bytes(|mask| mask.score)?, bytes(|mask| mask.p_value)?, PyByteArray::new(py, &flags), notes))
    }

    /// How much of each mask's score is due to each pixel, as numbers of four bytes; `None` where that cannot be told.
    #[pyo3(signature = (source, tell))]
    fn maps<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        tell: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Vec<Option<Pixels<'py>>>, Vec<String>)> {
        let pictures = Pictures::open(source)?;
        let (maps, failures) = work(py, tell, |teller| self.each(&pictures, teller, MaskModel::maps))?;
        let maps = maps.into_iter().map(|map| {
            map.flatten().map(|map| {
                let bytes: Vec<u8> = map.cells().iter().flat_map(|part| part.to_le_bytes()).collect();
                (map.shape()[0], map.shape()[1], PyBytes::new(py, &bytes))
            })
        });
        Ok((maps.collect(), failures.notes()))
    }
}

impl MaskCore {
    /// What `find` makes of each mask that can be used.
    fn each<T>(
        &self,
        pictures: &Pictures,
        teller: &mut Teller,
        find: impl Fn(&MaskModel, &[Sample]) -> Vec<T>,
    ) -> Result<(Vec<Option<T>>, Failures), String> {
        let needs = gnsm_cli::mask_methods().iter().any(|one| one.name() == self.model.method() && one.needs_images());
        need_images(needs, self.model.method(), pictures)?;
        let preparation = self.model.preparation();
        let (mut all, mut failures) = (Vec::new(), Failures::default());
        pictures.in_parts("scoring", teller, |part| {
            let samples = pictures.samples(&preparation, part).into_iter().map(|sample| failures.take(sample));
            let samples: Vec<Option<Sample>> = samples.collect();
            let usable: Vec<bool> = samples.iter().map(Option::is_some).collect();
            let mut found = find(&self.model, &samples.into_iter().flatten().collect::<Vec<_>>()).into_iter();
            all.extend(usable.into_iter().map(|usable| if usable { found.next() } else { None }));
            Ok(())
        })?;
        Ok((all, failures))
    }
}

fn need_images(needs: bool, method: &str, pictures: &Pictures) -> Result<(), String> {
    if needs && !pictures.has_images() {
        return Err(format!("{method} looks at the images; give them with `images`"));
    }
    Ok(())
}

/// All samples; an error if there is one that cannot be used.
fn read(pictures: &Pictures, preparation: &Preparation, teller: &mut Teller) -> Result<Vec<Sample>, String> {
    let (mut samples, mut failures) = (Vec::new(), Failures::default());
    pictures.in_parts("reading", teller, |part| {
        samples.extend(pictures.samples(preparation, part).into_iter().filter_map(|sample| failures.take(sample)));
        Ok(())
    })?;
    let (n, total) = (failures.0.len(), pictures.names().len());
    match failures.0.into_iter().next() {
        Some(first) if n == 1 => Err(first),
        Some(first) => Err(format!("{n} of {total} masks cannot be used; the first: {first}")),
        None => Ok(samples),
    }
}

/// The names of the metrics with their values for each mask, as bytes; what is not defined is NaN. Also gives what a user should know.
#[pyfunction]
pub fn mask_metrics<'py>(
    py: Python<'py>,
    truth: &Bound<'py, PyAny>,
    prediction: &Bound<'py, PyAny>,
    void: Option<u8>,
) -> PyResult<(Measures<'py>, Vec<String>)> {
    let (truth, prediction) = (Pictures::open(truth)?, Pictures::open(prediction)?);
    let (rows, notes) = work(py, None, |teller| {
        let (mut rows, mut failures) = (Vec::new(), Failures::default());
        prediction.in_parts("measuring", teller, |part| {
            let measured: Vec<_> = part.into_par_iter().map(|at| measure(&truth, &prediction, at, void)).collect();
            rows.extend(measured.into_iter().map(|quality| failures.take(quality).map(|quality| quality.values())));
            Ok(())
        })?;
        let mut notes = failures.notes();
        let n_classes = Quality::NAMES.iter().position(|name| *name == "n_classes").unwrap_or_default();
        if rows.iter().all(|row| row.is_none_or(|row| row[n_classes] == Some(0.0))) {
            notes.push("no mask has any foreground; if 255 is a class of yours and not void, give `void=None`".into());
        }
        Ok((rows, notes))
    })?;
    let column = |at: usize| numbers(py, rows.iter().map(|row| row.and_then(|row| row[at]).unwrap_or(f64::NAN)));
    let columns = Quality::NAMES.iter().enumerate().map(|(at, name)| Ok((*name, column(at)?)));
    Ok((columns.collect::<PyResult<_>>()?, notes))
}

fn measure(truth: &Pictures, prediction: &Pictures, at: usize, void: Option<u8>) -> OrProblem<Quality> {
    let measured = compare(&truth.mask(at)?, &prediction.mask(at)?, void).map_err(|error| match error {
        Error::Schema { problem, advice } => {
            let place = Place { file: prediction.names()[at].clone(), ..Place::default() };
            Error::data(place, problem, advice)
        }
        other => other,
    });
    measured.map_err(text)
}
