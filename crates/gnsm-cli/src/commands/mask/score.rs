//! `gnsm mask score`: a score, a p-value and a flag for each mask of a list.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use gnsm::internals::files::AtomicFile;
use gnsm::mask::{Grid, MaskFolder, MaskModel, Volume, image_file, is_volume, png_of_image, read_image, read_list};
use gnsm::{Decision, Error, Scored};

use super::super::{flagged_of, refuse_same_file, warn_of_small_contamination};
use super::arguments::{FolderArguments, ScoreArguments};
use super::overlay::overlay;
use super::{AT_A_TIME, Bar, Failures, Outcome, VOLUMES_AT_A_TIME, networks, note_device};
use crate::console::Console;
use crate::interrupt;
use crate::output::{Destination, csv_cell};

/// Runs it.
pub fn run(arguments: &ScoreArguments, console: Console) -> Result<Outcome> {
    let rule = arguments.rule.rule()?;
    let output = arguments.output.as_deref();
    if let Some(path) = output {
        refuse_same_file(path, &[&arguments.model, &arguments.folder.list])?;
    }
    let model = MaskModel::load(&arguments.model, networks::methods())?;
    if needs_images(&model) && arguments.folder.images.is_none() {
        bail!("{} looks at the images; give their folder with --images", model.method());
    }
    if model.detector().training().is_some() {
        note_device(console);
    }
    let mut maps = arguments.maps.as_deref().map(|folder| Maps::new(folder, &arguments.folder)).transpose()?;
    warn_of_small_contamination(console, model.calibration(), rule, "mask");
    let names = read_list(&arguments.folder.list)?;
    let folder = MaskFolder { masks: arguments.folder.masks.clone(), images: arguments.folder.images.clone() };
    interrupt::stop_soon()?;
    let mut destination = Destination::create(output)?;

    let has_volumes = names.iter().any(|name| is_volume(&folder.file(name)));
    let mut scored: Vec<(&str, Scored, usize)> = Vec::new();
    let mut failures = Failures::new(console);
    let bar = Bar::new(console, names.len());
    for part in names.chunks(if has_volumes { VOLUMES_AT_A_TIME } else { AT_A_TIME }) {
        let verdicts = model.judge(&folder, part, maps.is_some());
        for (name, verdict) in part.iter().zip(verdicts) {
            let drawn = verdict.and_then(|verdict| {
                maps.as_mut().map_or(Ok(()), |maps| maps.draw(name, &folder.file(name), &verdict.maps))?;
                Ok(verdict)
            });
            match drawn {
                Ok(verdict) => scored.push((name, verdict.scored, verdict.oddest)),
                Err(error) => failures.add(&error),
            }
        }
        bar.add(part.len());
        if interrupt::requested() {
            return Ok(Outcome::Interrupted);
        }
    }
    drop(bar);
    if maps.is_some_and(|maps| maps.drawn == 0) && !scored.is_empty() {
        console.warn(format_args!("{} cannot tell which pixels are odd, so --maps has drawn nothing", model.method()));
    }
    if scored.is_empty() {
        failures.finish(names.len(), "nothing is written")?;
        return Ok(Outcome::Done);
    }

    let mut decision = Decision::new(rule)?;
    decision.add(&scored.iter().map(|(_, found, _)| *found).collect::<Vec<_>>());
    let flags = decision.finish();
    let mut text = format!("id,score,p_value,anomaly{}\n", if has_volumes { ",slice" } else { "" });
    for (name, found, slice) in &scored {
        let Scored { score, p_value } = found;
        // Writing to a string cannot fail.
        let _ = write!(text, "{},{score},{p_value},{}", csv_cell(name), u8::from(flags.flags(found)));
        let _ = if has_volumes { writeln!(text, ",{slice}") } else { writeln!(text) };
    }
    let target = output.map_or_else(|| "standard output".into(), |path| path.display().to_string());
    destination.write_all(text.as_bytes()).with_context(|| target.clone())?;
    destination.finish().with_context(|| target.clone())?;
    console.note(flagged_of(&flags, "mask"));
    failures.finish(names.len(), format_args!("the scores of the others are in {target}"))?;
    Ok(Outcome::of_flagged(flags.flagged(), flags.rows(), &arguments.rule, console))
}

fn needs_images(model: &MaskModel) -> bool {
    networks::methods().iter().any(|method| method.name() == model.method() && method.needs_images())
}

/// Pictures of where masks are odd.
struct Maps<'a> {
    folder: &'a Path,
    images: &'a Path,
    drawn: usize,
}

impl<'a> Maps<'a> {
    fn new(folder: &'a Path, read: &'a FolderArguments) -> Result<Self> {
        let Some(images) = read.images.as_deref() else {
            bail!("--maps draws over the images; give their folder with --images")
        };
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        refuse_same_file(folder, &[images, &read.masks])?;
        Ok(Self { folder, images, drawn: 0 })
    }

    /// Draws the map of one mask, if the method can tell one. The map of a volume is a volume of numbers with the same
    /// position in space.
    fn draw(&mut self, name: &str, mask: &Path, maps: &[Grid<f32, 2>]) -> gnsm::Result<()> {
        let Some(first) = maps.first() else { return Ok(()) };
        let (ending, bytes) = if is_volume(mask) {
            ("nii.gz", Volume::read(mask)?.with_map(maps)?)
        } else {
            ("png", png_of_image(&overlay(&read_image(&image_file(self.images, name)?)?, first))?)
        };
        let path = self.folder.join(format!("{name}.{ending}"));
        let mut file = AtomicFile::create(&path)?;
        file.write_all(&bytes).map_err(|error| Error::io(&path, error))?;
        file.finish()?;
        self.drawn += 1;
        Ok(())
    }
}
