//! Saves the state of a training run to a file, so that a later run can continue from it.
//!
//! `docs/format.md` describes the format for other programs.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files::container::{self, Contents, Tensors};
use crate::files::store::Damage;
use crate::network::{Optimiser, OptimiserConfig};
use crate::train::{CurvePoint, Run, Saver, TrainingState};

const CHECKPOINT: &str = "gnsm-checkpoint";
/// Seconds between two checkpoints, at the least.
const SECONDS: f64 = 2.0;

/// Where the state of a run goes, and what it belongs to.
pub(crate) struct Checkpoint<'a> {
    /// The file.
    pub path: &'a Path,
    /// What it must agree with to be continued.
    pub fingerprint: String,
    /// Whether to continue from it, if it is there.
    pub resume: bool,
    /// The settings of the optimiser whose state it holds.
    pub optimiser: OptimiserConfig,
}

/// Does a run, continuing from a checkpoint and writing one now and then. Without a checkpoint, it just does the run.
pub(crate) fn run<T>(
    checkpoint: Option<Checkpoint<'_>>,
    run: Run<'_>,
    fit: impl FnOnce(Run<'_>) -> Result<T>,
) -> Result<T> {
    let Some(checkpoint) = checkpoint else { return fit(run) };
    let resume = if checkpoint.resume && checkpoint.path.exists() { Some(load(&checkpoint)?) } else { None };
    let mut save = |state: &TrainingState| save(&checkpoint, state);
    let save = Some(Saver { seconds: SECONDS, save: &mut save });
    let Run { seed, max_seconds, watcher, .. } = run;
    fit(Run { seed, max_seconds, resume, save, watcher })
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointContent {
    fingerprint: String,
    step: u64,
    since_best: u64,
    best: Option<f64>,
    curve: Vec<CurvePoint>,
}

fn save(checkpoint: &Checkpoint<'_>, state: &TrainingState) -> Result<()> {
    let mut tensors = Tensors::default();
    tensors.put("parameters", state.parameters.clone());
    tensors.put("mean", state.optimiser.mean.clone());
    tensors.put("square", state.optimiser.square.clone());
    tensors.put("average", state.optimiser.average.clone());
    if let Some((_, best)) = &state.best {
        tensors.put("best", best.clone());
    }
    let content = CheckpointContent {
        fingerprint: checkpoint.fingerprint.clone(),
        step: state.optimiser.step,
        since_best: state.since_best,
        best: state.best.as_ref().map(|(loss, _)| *loss),
        curve: state.curve.clone(),
    };
    container::write(checkpoint.path, CHECKPOINT, &content, &tensors).map(drop)
}

fn load(checkpoint: &Checkpoint<'_>) -> Result<TrainingState> {
    let unusable = |Damage(problem)| Error::ModelFile {
        path: checkpoint.path.to_path_buf(),
        problem: format!("its contents do not fit together ({problem})"),
        advice: "remove it and start over".into(),
    };
    let Contents { content, mut tensors, .. } = container::read(checkpoint.path, CHECKPOINT)?;
    let content: CheckpointContent = serde_json::from_str(&content).map_err(|error| unusable(error.into()))?;
    if content.fingerprint != checkpoint.fingerprint {
        return Err(Error::ModelFile {
            path: checkpoint.path.to_path_buf(),
            problem: "this checkpoint was made with other data, settings or seed".into(),
            advice: "give the same ones again, or remove it and start over".into(),
        });
    }
    let mut state = || {
        // Whether the number of weights is right is checked when the network is built; see `train`.
        let parameters: Vec<f32> = tensors.take_any("parameters")?;
        let n = parameters.len();
        let mut optimiser = Optimiser::new(checkpoint.optimiser, &parameters);
        optimiser.step = content.step;
        optimiser.mean = tensors.take("mean", n)?;
        optimiser.square = tensors.take("square", n)?;
        optimiser.average = tensors.take("average", n)?;
        let best = match content.best {
            Some(loss) => Some((loss, tensors.take("best", n)?)),
            None => None,
        };
        Ok(TrainingState { parameters, optimiser, best, since_best: content.since_best, curve: content.curve.clone() })
    };
    state().map_err(unusable)
}
