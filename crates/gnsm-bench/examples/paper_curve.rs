//! One training run of the paper's recipe, scored on the way. `reference/paper.py` drives it over a grid of sizes.
//!
//!     paper_curve FILE SEED OBJECTIVE DEPTH WIDTH BATCH STEPS CHECKPOINTS OUT
//!
//! OBJECTIVE is `kl` or `mse`, both with the weight λ²K². CHECKPOINTS are numbers of steps with commas between them. At each of them two
//! lines are added to OUT for each of two points, `clean` (the paper's) and `centre`: one for the averaged weights as they are (`last`),
//! and one for those with the best validation loss so far (`best`, the paper's rule). A line also has the validation loss in both units, so
//! that networks which were trained by different objectives can be compared.
//!
//! The learning rate falls along its cosine until STEPS. So a checkpoint is a place on the way, not a shorter training.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use gnsm::internals::train::{Run, Saver, TrainingState};
use gnsm::metrics::{auroc, average_precision};
use gnsm::settings::{DensityKind, GnsmConfig, Head, NormsConfig, Objective, PaperSet, Point};
use gnsm::{Method, Result, Silent};
use gnsm_bench::protocol::{DataSet, TrainTestSplit};

const HEADER: &str =
    "dataset,seed,objective,depth,width,batch,steps,step,weights,point,ap,auroc,kl,squared_error,train_seconds";
/// Steps between two validations.
const VALIDATE_EVERY: u64 = 100;
/// Held-out rows to validate on, at the most.
const VALIDATION_ROWS: usize = 256;
/// Distinct rows for the density, at the most; bank and chess have more.
const DENSITY_ROWS: usize = 5000;
/// A learning rate that moves no weight.
const STANDSTILL: f32 = 1e-30;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, seed, objective, depth, width, batch, steps, checkpoints, out] = arguments.as_slice() else {
        return Err("FILE SEED OBJECTIVE DEPTH WIDTH BATCH STEPS CHECKPOINTS OUT".into());
    };
    let (seed, out): (u64, &Path) = (seed.parse()?, out.as_ref());
    let checkpoints = checkpoints.split(',').map(str::parse).collect::<std::result::Result<Vec<u64>, _>>()?;
    let mut config = GnsmConfig::paper(PaperSet::Any);
    config.objective = match objective.as_str() {
        "kl" => Objective::Kl,
        "mse" => Objective::Mse,
        _ => return Err("OBJECTIVE is kl or mse".into()),
    };
    (config.network.depth, config.network.width) = (depth.parse()?, width.parse()?);
    (config.training.batch, config.training.steps) = (batch.parse()?, steps.parse()?);
    config.training.validate_every = VALIDATE_EVERY;
    config.training.validation_rows = VALIDATION_ROWS;
    // Without it, the average of a short training is mostly its start.
    config.training.optimiser.average_warmup = true;

    let data = DataSet::read(file.as_ref())?;
    let split = data.split(seed)?;
    let run = format!("{},{seed},{objective},{depth},{width},{batch},{steps}", data.name);
    let (mut start, mut seconds) = (Instant::now(), 0.0);
    let mut save = |state: &TrainingState| {
        let step = state.optimiser.step;
        if !checkpoints.contains(&step) {
            return Ok(());
        }
        seconds += start.elapsed().as_secs_f64();
        let last = measure(&config, &state.optimiser.average, state, seed, &split)?;
        let best = match &state.best {
            Some((_, weights)) if state.since_best > 0 => measure(&config, weights, state, seed, &split)?,
            _ => last.clone(),
        };
        let mut text = String::new();
        for (name, lines) in [("best", &best), ("last", &last)] {
            for line in lines {
                text += &format!("{run},{step},{name},{line},{seconds:.2}\n");
            }
        }
        add(out, &text)?;
        start = Instant::now();
        Ok(())
    };
    let run = Run {
        seed,
        max_seconds: None,
        resume: None,
        save: Some(Saver { seconds: 0.0, save: &mut save }),
        watcher: &mut Silent,
    };
    // The density of the training run itself is not asked for anything, so it is the one that is quickly fitted.
    config_with(&config, Point::Clean, DensityKind::Neighbours).fit(
        split.encoder.layout(),
        &split.training,
        &split.validation,
        run,
    )?;
    Ok(())
}

/// The figures of some weights at both points: the end of a line for each. The validation loss comes from one step that moves nothing.
fn measure(
    config: &GnsmConfig,
    weights: &[f32],
    state: &TrainingState,
    seed: u64,
    split: &TrainTestSplit,
) -> Result<Vec<String>> {
    let mut standing = *config;
    (standing.training.learning_rate, standing.training.final_learning_rate) = (STANDSTILL, STANDSTILL);
    (standing.training.batch, standing.training.steps) = (1, state.optimiser.step + 1);
    let mut losses = Vec::new();
    let mut figures = Vec::new();
    for (name, point, objective) in [("clean", Point::Clean, Objective::Kl), ("centre", Point::Centre, Objective::Mse)]
    {
        standing.objective = objective;
        let mut state = state.clone();
        state.parameters.copy_from_slice(weights);
        state.optimiser.average.copy_from_slice(weights);
        state.best = None;
        let run = Run { seed, max_seconds: None, resume: Some(state), save: None, watcher: &mut Silent };
        let fitted = config_with(&standing, point, DensityKind::Mixture).fit(
            split.encoder.layout(),
            &split.training,
            &split.validation,
            run,
        )?;
        losses.extend(fitted.training().and_then(|(curve, _)| curve.last()).map(|point| point.validation));
        let scores = fitted.score_distinct(&split.test);
        let (ap, auroc) = (average_precision(&split.labels, &scores)?, auroc(&split.labels, &scores)?);
        figures.push(format!("{name},{:.4},{:.4}", 100.0 * ap, 100.0 * auroc));
    }
    let losses: Vec<String> = losses.iter().map(|loss| format!("{loss:.6}")).collect();
    Ok(figures.iter().map(|figures| format!("{figures},{}", losses.join(","))).collect())
}

/// The paper's head at a point, with a density.
fn config_with(config: &GnsmConfig, point: Point, density: DensityKind) -> Method {
    let mut norms = NormsConfig::paper();
    (norms.point, norms.density) = (point, density);
    (norms.most_rows, norms.most_compared) = (DENSITY_ROWS, DENSITY_ROWS);
    let mut config = *config;
    config.head = Head::Norms(norms);
    Method::Gnsm(config)
}

fn add(path: &Path, lines: &str) -> Result<()> {
    let is_new = !path.exists();
    let text = if is_new { format!("{HEADER}\n{lines}") } else { lines.to_owned() };
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| gnsm::Error::io(path, error))
}
